/**
 * The life of an exchange, in the order in which its steps come. A step that does not happen is left out; nothing
 * follows `end`.
 *
 *     request-head ── route ─┬─ upstream-wait ─┐
 *                            └─────────────────┴─ upstream-selected ─ upstream-connected ─ request-sent
 *                                                   ▲                                        │
 *                                                   └────────────── retry ◄──────────────────┤
 *                                                                                            ▼
 *                    end ◄─ response-sent ◄─ response-end ◄─ response-body ◄─ response-head ─┘
 *
 * After a 101, `response-head` is followed by `tunnel`, and that by `end`.
 * On a new connection `request-sent` may come before `upstream-connected`: what is written waits inside it.
 * `answered` (an answer of our own), `client-aborted` and `upstream-failed` may come at any point and lead to `end`.
 */
export type Phase =
  /** A request's head is parsed and valid. */
  | 'request-head'
  /** A route took it. */
  | 'route'
  /** All upstream connections are busy and there may be no more: it waits. */
  | 'upstream-wait'
  /** It has an upstream connection, kept or new. */
  | 'upstream-selected'
  /** That connection is up; at once for a kept one. */
  | 'upstream-connected'
  /** The last octet of the request was given to the upstream connection. */
  | 'request-sent'
  /** A kept connection turned out dead before any octet of a response; the request is sent again. */
  | 'retry'
  /** The final response head came and was decided upon. */
  | 'response-head'
  /** The first octets of a response body came. */
  | 'response-body'
  /** The upstream changed the protocol: octets go both ways until `end`. */
  | 'tunnel'
  /** The upstream's response is complete. */
  | 'response-end'
  /** The last octet of the response was given to the client's connection. */
  | 'response-sent'
  | 'answered'
  | 'client-aborted'
  | 'upstream-failed'
  | 'end'
