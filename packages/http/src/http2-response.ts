/**
 * A response as HTTP/2 carries it (RFC 9113 §8.3.2) made into the head that an HTTP/1.1 parser would have given, and
 * judged as strictly: values may hold what ends a line in HTTP/1.1.
 */

import type { FieldList } from './fields.ts'
import { gatherFraming, judgeFraming } from './framing.ts'
import { http2FieldFault, http2LineBytes } from './http2-request.ts'
import type { MessageLimits } from './limits.ts'
import type { BodyFraming, ResponseHead } from './message.ts'
import { responseFault, type WireFault, type WireFaultCode } from './wire-fault.ts'

export type Http2Response =
  | { readonly kind: 'head'; readonly head: ResponseHead }
  | { readonly kind: 'fault'; readonly fault: WireFault }

const NO_BODY: BodyFraming = { kind: 'none' }
const EMPTY_BODY: BodyFraming = { kind: 'length', bytes: 0 }
/** HTTP/2 has an end of its own: what is passed on to a client of HTTP/1.1 is chunks. */
const CHUNKED_BODY: BodyFraming = { kind: 'chunked' }

/**
 * Reads a header block: name, value and so on, `:status` first, one octet per character. `method` is that of the
 * request; `endsStream`: no body and no trailers follow.
 */
export function readHttp2Response(
  block: FieldList,
  method: string,
  endsStream: boolean,
  limits: MessageLimits,
): Http2Response {
  // RFC 9113 §8.3.2: one pseudo-header field, ahead of the others. §8.6: there is no 101.
  if (block[0] !== ':status' || !/^[1-9][0-9][0-9]$/.test(block[1])) return faulty('status')
  const status = Number(block[1])
  if (status === 101) return faulty('upgrade-unasked')
  const fields = block.slice(2)
  if (fields.length / 2 > limits.maxHeaderCount) return faulty('header-count')
  let bytes = 0
  for (let at = 0; at < fields.length; at += 2) {
    const code = http2FieldFault(fields[at], fields[at + 1])
    if (code !== undefined) return faulty(code)
    bytes += http2LineBytes(fields[at], fields[at + 1])
    if (bytes > limits.maxHeaderBytes) return faulty('header-bytes')
  }
  const framing = judgeFraming(gatherFraming(fields), fields, 1)
  if (framing.kind === 'fault') return faulty(framing.code)
  const contentLength = framing.kind === 'length' ? framing.bytes : undefined
  let body: BodyFraming = framing.kind === 'length' ? framing : CHUNKED_BODY
  if (status < 200 || status === 204 || status === 304 || method === 'HEAD') {
    body = NO_BODY
  } else if (endsStream) {
    if (framing.kind === 'length' && framing.bytes > 0) return faulty('content-length-sum')
    body = EMPTY_BODY
  }
  if (body.kind === 'length' && body.bytes > limits.maxBodyBytes) return faulty('body-bytes')
  return { kind: 'head', head: { status, minorVersion: 1, fields, body, contentLength, keepAlive: true } }
}

function faulty(code: WireFaultCode): Http2Response {
  return { kind: 'fault', fault: responseFault(code, 0) }
}
