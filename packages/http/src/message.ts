import type { FieldList } from './fields.ts'

/**
 * How the end of a body is found (RFC 9112 §6.3). `until-close` occurs in responses only, `tunnel` after a 101 that
 * was asked for: from there on the octets are no longer HTTP.
 */
export type BodyFraming =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' }
  | { readonly kind: 'tunnel' }

/** A request head that passed every check. Strings hold one octet per character (latin-1). */
export interface RequestHead {
  /** A token, in the client's case; never CONNECT or TRACE. */
  readonly method: string
  /** The target octet for octet. */
  readonly target: string
  readonly targetForm: 'origin' | 'absolute' | 'asterisk'
  /**
   * What to ask an upstream for: the target in origin form (`/path?query`, octet for octet; of an absolute target the
   * part after the authority) or `*`. Never resolve it against a base URL: `//host/x` is a path.
   */
  readonly path: string
  /** `host[:port]` as sent: the URI's of an absolute target, else Host's. Undefined only in HTTP/1.0 without Host. */
  readonly authority: string | undefined
  /** 0 or 1; a higher minor version counts as 1. */
  readonly minorVersion: number
  /** Present if the request came by HTTP/2; `minorVersion` is 1 then, for that is how it goes on. */
  readonly majorVersion?: 2
  /** All header lines in their order and case, hop-by-hop and framing fields too. Never copy those onwards. */
  readonly fields: FieldList
  /** These fields came before, octet for octet, and `fields` is the same object as then: see `HeadMemo`. */
  readonly isRepeated?: boolean
  readonly body: BodyFraming
  /** Whether the client lets us keep the connection after this exchange. */
  readonly keepAlive: boolean
  /** The client waits for a 100 before it sends the body. Never true in HTTP/1.0 or without a body. */
  readonly expectContinue: boolean
  /** Value of Upgrade if Connection names it, HTTP/1.1 only. */
  readonly upgrade: string | undefined
}

/** A response head that passed every check, interim or final. The reason phrase is dropped (RFC 9112 §4). */
export interface ResponseHead {
  /** 100 to 999; 101 only where it was asked for. */
  readonly status: number
  readonly minorVersion: number
  /** All header lines in their order and case, hop-by-hop and framing fields too. Never copy those onwards. */
  readonly fields: FieldList
  readonly body: BodyFraming
  /** The head came before, octet for octet, and this is the same object as then: see `HeadMemo`. */
  readonly isRepeated?: boolean
  /** Content-Length as announced, for HEAD and 304 too, where no such body follows. */
  readonly contentLength: number | undefined
  /** Whether the connection may carry another request after `end` (and if no octet follows it). */
  readonly keepAlive: boolean
}
