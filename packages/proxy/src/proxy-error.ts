import type { ExchangeOutcome } from '@prexy/events/exchange'
import type { FieldList } from '@prexy/http/fields'
import type { Page } from './page.ts'

export type ProxyErrorCode =
  | 'E_REQUEST_INVALID'
  | 'E_NO_ROUTE'
  | 'E_NO_PATH'
  | 'E_FORBIDDEN'
  | 'E_UNAUTHORIZED'
  | 'E_RATE_LIMITED'
  | 'E_MAINTENANCE'
  | 'E_LOOP'
  | 'E_PRECONDITION'
  | 'E_CLIENT_TIMEOUT'
  | 'E_CLIENT_STALLED'
  | 'E_CLIENT_ABORTED'
  | 'E_UPSTREAM_CONNECT'
  | 'E_UPSTREAM_CONNECT_TIMEOUT'
  | 'E_UPSTREAM_TLS'
  | 'E_UPSTREAM_BUSY'
  | 'E_UPSTREAM_REFUSED'
  | 'E_UPSTREAM_HTTP1'
  | 'E_UPSTREAM_TIMEOUT'
  | 'E_UPSTREAM_ABORTED'
  | 'E_UPSTREAM_INVALID'
  | 'E_BODY_DECODE'
  | 'E_BODY_ENCODE'
  | 'E_REWRITE_ABORTED'
  | 'E_INTERNAL'
  | 'E_SHUTDOWN'

/**
 * Everything that can go wrong with an exchange, once. `status` is what the client is answered while no response head
 * has gone out to it; afterwards its connection is broken off visibly. `retry`: whether the same request may be sent
 * again on another connection, where its method and body allow it. `text` goes to the client and says nothing of the
 * inside.
 */
export const PROXY_ERROR_CODES: Readonly<Record<ProxyErrorCode, CodeInfo>> = {
  E_REQUEST_INVALID: { outcome: 'answered', status: 400, retry: 'never', text: 'The request is malformed.' },
  E_NO_ROUTE: { outcome: 'answered', status: 421, retry: 'never', text: 'This host is not served here.' },
  E_NO_PATH: { outcome: 'answered', status: 404, retry: 'never', text: 'There is nothing at this address.' },
  E_FORBIDDEN: { outcome: 'answered', status: 403, retry: 'never', text: 'This address may not ask here.' },
  E_UNAUTHORIZED: { outcome: 'answered', status: 401, retry: 'never', text: 'A name and a password are needed.' },
  E_RATE_LIMITED: {
    outcome: 'answered',
    status: 429,
    retry: 'never',
    text: 'Too many requests came from this address.',
  },
  E_MAINTENANCE: { outcome: 'answered', status: 503, retry: 'never', text: 'This site is closed for a while.' },
  E_LOOP: { outcome: 'answered', status: 508, retry: 'never', text: 'The request came back to this proxy.' },
  E_PRECONDITION: { outcome: 'answered', status: 412, retry: 'never', text: 'The entity tag is not a current one.' },
  E_CLIENT_TIMEOUT: { outcome: 'client-timeout', status: 408, retry: 'never', text: 'The request took too long.' },
  E_CLIENT_STALLED: { outcome: 'client-timeout', status: 0, retry: 'never', text: 'The client stopped reading.' },
  E_CLIENT_ABORTED: { outcome: 'client-aborted', status: 0, retry: 'never', text: 'The client went away.' },
  E_UPSTREAM_CONNECT: {
    outcome: 'upstream-connect-failed',
    status: 502,
    retry: 'if-unsent',
    text: 'The upstream server cannot be reached.',
  },
  E_UPSTREAM_CONNECT_TIMEOUT: {
    outcome: 'upstream-timeout',
    status: 504,
    retry: 'if-unsent',
    text: 'The upstream server does not accept connections.',
  },
  E_UPSTREAM_TLS: {
    outcome: 'upstream-connect-failed',
    status: 502,
    retry: 'if-unsent',
    text: 'No secure connection to the upstream server can be made.',
  },
  E_UPSTREAM_BUSY: {
    outcome: 'upstream-busy',
    status: 503,
    retry: 'never',
    text: 'Too many requests are waiting for the upstream server.',
  },
  E_UPSTREAM_REFUSED: {
    outcome: 'upstream-busy',
    status: 503,
    retry: 'if-unprocessed',
    text: 'The upstream server takes no more requests.',
  },
  E_UPSTREAM_HTTP1: {
    outcome: 'upstream-connect-failed',
    status: 502,
    retry: 'if-unprocessed',
    text: 'The upstream server cannot be reached.',
  },
  E_UPSTREAM_TIMEOUT: {
    outcome: 'upstream-timeout',
    status: 504,
    retry: 'never',
    text: 'The upstream server did not answer in time.',
  },
  E_UPSTREAM_ABORTED: {
    outcome: 'upstream-aborted',
    status: 502,
    retry: 'if-reused',
    text: 'The upstream server closed the connection.',
  },
  E_UPSTREAM_INVALID: {
    outcome: 'upstream-invalid',
    status: 502,
    retry: 'never',
    text: 'The upstream server sent a response that is not valid.',
  },
  E_BODY_DECODE: {
    outcome: 'rewrite-aborted',
    status: 502,
    retry: 'never',
    text: 'The body of the upstream server does not decode.',
  },
  E_BODY_ENCODE: {
    outcome: 'rewrite-aborted',
    status: 502,
    retry: 'never',
    text: 'The body cannot be compressed.',
  },
  E_REWRITE_ABORTED: {
    outcome: 'rewrite-aborted',
    status: 502,
    retry: 'never',
    text: 'The response holds more text than the rules may hold back.',
  },
  E_INTERNAL: { outcome: 'proxy-failed', status: 500, retry: 'never', text: 'The proxy failed.' },
  E_SHUTDOWN: { outcome: 'shutdown', status: 503, retry: 'never', text: 'The proxy is shutting down.' },
}

export interface CodeInfo {
  readonly outcome: ExchangeOutcome
  /** 0: no answer is possible, the client is gone or does not read. */
  readonly status: number
  /**
   * `if-reused`: on a new connection, when a kept one broke before an octet of the response. `if-unsent`: on another
   * server, when the connection never came up, so that no octet of the request has left. `if-unprocessed`: anywhere, since
   * the server says that it did nothing with the request.
   */
  readonly retry: 'never' | 'if-reused' | 'if-unsent' | 'if-unprocessed'
  readonly text: string
}

export interface ProxyErrorInit {
  /** One clause for events and logs; never sent to the client. */
  readonly detail?: string | undefined
  readonly cause?: Error | undefined
  /** Overrides the code's status: a refused request has the one of its fault. */
  readonly status?: number
  /** More fields of the answer. */
  readonly fields?: FieldList
  /** A page of its own, before those for the status. */
  readonly page?: Page | undefined
}

const NO_FIELDS: FieldList = []

/** The error of this package; what its code means stands in {@link PROXY_ERROR_CODES}. */
export class ProxyError extends Error {
  readonly code: ProxyErrorCode
  readonly status: number
  readonly detail: string | undefined
  readonly fields: FieldList
  readonly page: Page | undefined

  constructor(code: ProxyErrorCode, init: ProxyErrorInit = {}) {
    super(PROXY_ERROR_CODES[code].text, init.cause === undefined ? undefined : { cause: init.cause })
    this.name = 'ProxyError'
    this.code = code
    this.status = init.status ?? PROXY_ERROR_CODES[code].status
    this.detail = init.detail ?? init.cause?.message
    this.fields = init.fields ?? NO_FIELDS
    this.page = init.page
  }
}
