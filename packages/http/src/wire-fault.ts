/**
 * What can be wrong with a message, as a closed table. A request's fault says what to answer; a response's fault is
 * always a 502 (or, once the head has gone out, a connection broken off visibly).
 */

/**
 * `status`: what a client that sent this is answered; from an upstream it is 502 throughout. `reason`: one clause for
 * logs and error events.
 */
const FAULTS = {
  'leading-bytes': { status: 400, reason: 'more than one empty line before the start line' },
  'start-line': { status: 400, reason: 'the start line does not parse' },
  method: { status: 400, reason: 'the method is not a token' },
  'method-long': { status: 501, reason: 'the method is longer than maxMethodBytes' },
  'method-refused': { status: 405, reason: 'CONNECT and TRACE are not served' },
  'target-octet': { status: 400, reason: 'the target has an octet outside visible US-ASCII' },
  'target-fragment': { status: 400, reason: 'the target has a fragment' },
  'target-form': { status: 400, reason: 'the target is neither a path, an http(s) URI nor the * of OPTIONS' },
  'target-userinfo': { status: 400, reason: 'the target has user information before the host' },
  'target-long': { status: 414, reason: 'the target is longer than maxTargetBytes' },
  version: { status: 400, reason: 'the protocol version does not parse' },
  'version-major': { status: 505, reason: 'the major protocol version is not 1' },
  status: { status: 502, reason: 'the status code is not 100 to 999' },
  'bare-cr': { status: 400, reason: 'a carriage return without a line feed' },
  'bare-lf': { status: 400, reason: 'a line feed without a carriage return' },
  'control-octet': { status: 400, reason: 'a control octet in the head or the trailer section' },
  'obs-fold': { status: 400, reason: 'a header line begins with white space' },
  'field-name': { status: 400, reason: 'a field name is empty or not a token' },
  'space-before-colon': { status: 400, reason: 'white space between a field name and its colon' },
  'header-bytes': { status: 431, reason: 'the header section is longer than maxHeaderBytes' },
  'header-count': { status: 431, reason: 'more header lines than maxHeaderCount' },
  'host-missing': { status: 400, reason: 'an HTTP/1.1 request without Host' },
  'host-repeated': { status: 400, reason: 'more than one Host line' },
  'host-invalid': { status: 400, reason: 'Host is not a host name or address with an optional port' },
  'content-length': { status: 400, reason: 'Content-Length is not one decimal number' },
  'content-length-repeated': { status: 400, reason: 'more than one Content-Length line' },
  'content-length-and-transfer-encoding': { status: 400, reason: 'both Content-Length and Transfer-Encoding' },
  'transfer-encoding': { status: 400, reason: 'Transfer-Encoding is malformed or does not end in one chunked' },
  'transfer-encoding-unsupported': { status: 501, reason: 'a transfer coding other than chunked' },
  'transfer-encoding-version': { status: 400, reason: 'Transfer-Encoding in an HTTP/1.0 message' },
  expectation: { status: 417, reason: 'an expectation other than one 100-continue' },
  'body-bytes': { status: 413, reason: 'the body is longer than maxBodyBytes' },
  'chunk-size': { status: 400, reason: 'a chunk size is not a hexadecimal number' },
  'chunk-end': { status: 400, reason: 'chunk data is not followed by CR LF' },
  'chunk-extension': { status: 400, reason: 'a chunk extension has a control octet or an open quote' },
  'chunk-extension-bytes': { status: 413, reason: 'chunk extensions are longer than maxChunkExtensionBytes' },
  'trailer-bytes': { status: 431, reason: 'the trailer section is longer than maxTrailerBytes' },
  'trailer-count': { status: 431, reason: 'more trailer lines than maxTrailerCount' },
  'trailer-forbidden': { status: 400, reason: 'a framing or routing field in the trailer section' },
  'interim-count': { status: 502, reason: 'more interim responses than maxInterimResponses' },
  'upgrade-unasked': { status: 502, reason: 'a 101 that no request asked for' },
  'response-unasked': { status: 502, reason: 'octets from an upstream that was asked nothing' },
  'no-response': { status: 502, reason: 'the connection ended before a response began' },
  'pseudo-field': { status: 400, reason: 'a pseudo-header field is missing, repeated, unknown or out of place' },
  scheme: { status: 400, reason: ':scheme is neither http nor https' },
  'authority-differs': { status: 400, reason: 'Host is not what :authority is' },
  'connection-field': { status: 400, reason: 'a field of the connection, which HTTP/2 does not have' },
  'field-blanks': { status: 400, reason: 'white space around a field value' },
  'content-length-sum': { status: 400, reason: 'the body is not as long as Content-Length says' },
  truncated: { status: 400, reason: 'the connection ended inside a message' },
} as const

export type WireFaultCode = keyof typeof FAULTS

/** Why a message was refused. A value, never thrown. The parser that gave it is dead; close the connection. */
export interface WireFault {
  readonly code: WireFaultCode
  /** What to answer the client: for a request 400, 405, 413, 414, 417, 431, 501 or 505; for a response 502. */
  readonly status: number
  readonly reason: string
  /** Octets of this message before the line or octet at fault, counted from its first octet. */
  readonly at: number
}

export function requestFault(code: WireFaultCode, at: number): WireFault {
  return { code, status: FAULTS[code].status, reason: FAULTS[code].reason, at }
}

export function responseFault(code: WireFaultCode, at: number): WireFault {
  return { code, status: 502, reason: FAULTS[code].reason, at }
}

/** Every code, for tables in documentation and tests. */
export const WIRE_FAULT_CODES: readonly string[] = Object.keys(FAULTS)
