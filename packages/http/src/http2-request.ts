/**
 * A request as HTTP/2 carries it (RFC 9113 §8.2, §8.3) made into the head that an HTTP/1.1 parser would have given.
 *
 * SECURITY: HTTP/2 delimits values by lengths, so a value may hold what ends a line, a target or a message in HTTP/1.1.
 * Every octet is judged here by the rules of HTTP/1.1, whatever a library below has judged already.
 */

import { parseAuthority } from './authority.ts'
import { type FieldList, isFieldValue, nameSet, setHasName, trimBlanks } from './fields.ts'
import { gatherFraming, judgeFraming } from './framing.ts'
import type { MessageLimits } from './limits.ts'
import type { BodyFraming, RequestHead } from './message.ts'
import { TOKEN_OCTET } from './octets.ts'
import { parseTarget } from './request-target.ts'
import { requestFault, type WireFault, type WireFaultCode } from './wire-fault.ts'

export type Http2Request =
  | { readonly kind: 'head'; readonly head: RequestHead }
  | { readonly kind: 'fault'; readonly fault: WireFault; readonly method: string }

const NO_BODY: BodyFraming = { kind: 'none' }
const CHUNKED: BodyFraming = { kind: 'chunked' }

/** RFC 9113 §8.2.2: these speak of a connection, of which HTTP/2 speaks by other means. TE has a rule of its own. */
const FORBIDDEN = nameSet(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

interface Pseudo {
  method: string | undefined
  scheme: string | undefined
  authority: string | undefined
  path: string | undefined
}

/**
 * Reads a header block: name, value and so on, in the order of the block, pseudo-header fields first, one octet per
 * character. `endsStream`: no body and no trailers follow. The fields of the head begin with Host, which `:authority`
 * becomes, and lines of Cookie are joined (RFC 9113 §8.2.3). The body's length is `chunked` where none is told.
 */
export function readHttp2Request(block: FieldList, endsStream: boolean, limits: MessageLimits): Http2Request {
  const pseudo: Pseudo = { method: undefined, scheme: undefined, authority: undefined, path: undefined }
  const fields: string[] = []
  const code = readFields(block, pseudo, fields, limits)
  return code === undefined ? makeHead(pseudo, fields, endsStream, limits) : faulty(code, pseudo)
}

/** A trailer section as it may be passed on, or what is wrong with it. */
export function readHttp2Trailers(block: FieldList, limits: MessageLimits): FieldList | WireFault {
  const fields: string[] = []
  let bytes = 0
  for (let at = 0; at < block.length; at += 2) {
    const code = http2FieldFault(block[at], block[at + 1])
    if (code !== undefined) return requestFault(code, 0)
    bytes += http2LineBytes(block[at], block[at + 1])
    fields.push(block[at], block[at + 1])
  }
  if (bytes > limits.maxTrailerBytes) return requestFault('trailer-bytes', 0)
  if (fields.length / 2 > limits.maxTrailerCount) return requestFault('trailer-count', 0)
  const framing = gatherFraming(fields)
  const forbidden = framing.hostCount + framing.contentLengthCount > 0
  return forbidden ? requestFault('trailer-forbidden', 0) : fields
}

function faulty(code: WireFaultCode, { method }: Pseudo): Http2Request {
  return { kind: 'fault', fault: requestFault(code, 0), method: method ?? '' }
}

function readFields(
  block: FieldList,
  pseudo: Pseudo,
  fields: string[],
  limits: MessageLimits,
): WireFaultCode | undefined {
  let bytes = 0
  let cookieAt = -1
  for (let at = 0; at < block.length; at += 2) {
    const name = block[at]
    const value = block[at + 1]
    if (name.startsWith(':')) {
      if (fields.length > 0 || !keepPseudo(pseudo, name, value)) return 'pseudo-field'
      continue
    }
    const code = http2FieldFault(name, value)
    if (code !== undefined) return code
    bytes += http2LineBytes(name, value)
    if (bytes > limits.maxHeaderBytes) return 'header-bytes'
    if (name === 'cookie' && cookieAt >= 0) {
      fields[cookieAt] = `${fields[cookieAt]}; ${value}`
      continue
    }
    fields.push(name, value)
    if (name === 'cookie') cookieAt = fields.length - 1
    if (fields.length / 2 > limits.maxHeaderCount) return 'header-count'
  }
  return undefined
}

/** What a line takes in HTTP/1.1, by which the limits count. */
export function http2LineBytes(name: string, value: string): number {
  return name.length + value.length + 4
}

/** False for a pseudo-header field that a request has not, or has already. */
function keepPseudo(pseudo: Pseudo, name: string, value: string): boolean {
  switch (name) {
    case ':method':
      if (pseudo.method !== undefined) return false
      pseudo.method = value
      return true
    case ':scheme':
      if (pseudo.scheme !== undefined) return false
      pseudo.scheme = value
      return true
    case ':authority':
      if (pseudo.authority !== undefined) return false
      pseudo.authority = value
      return true
    case ':path':
      if (pseudo.path !== undefined) return false
      pseudo.path = value
      return true
    default:
      return false
  }
}

/** What is wrong with a field line of HTTP/2, names as they came. */
export function http2FieldFault(name: string, value: string): WireFaultCode | undefined {
  if (!isLowerToken(name)) return 'field-name'
  if (!isFieldValue(value)) return trimBlanks(value) === value ? 'control-octet' : 'field-blanks'
  if (setHasName(FORBIDDEN, name)) return 'connection-field'
  if (name === 'te' && value.toLowerCase() !== 'trailers') return 'connection-field'
  return undefined
}

/** A token without upper-case letters (RFC 9113 §8.2.1). */
function isLowerToken(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const unit = name.charCodeAt(i)
    if (unit > 0x7e || TOKEN_OCTET[unit] === 0 || (unit >= 0x41 && unit <= 0x5a)) return false
  }
  return name.length > 0
}

function makeHead(pseudo: Pseudo, fields: string[], endsStream: boolean, limits: MessageLimits): Http2Request {
  const { method, scheme, path } = pseudo
  if (method === undefined || method === '') return faulty('pseudo-field', pseudo)
  for (let i = 0; i < method.length; i++) {
    const unit = method.charCodeAt(i)
    if (unit > 0x7e || TOKEN_OCTET[unit] === 0) return faulty('method', { ...pseudo, method: undefined })
  }
  if (method.length > limits.maxMethodBytes) return faulty('method-long', { ...pseudo, method: undefined })
  if (method === 'CONNECT' || method === 'TRACE') return faulty('method-refused', pseudo)
  if (path === undefined || path === '') return faulty('pseudo-field', pseudo)
  // RFC 9110 §4.2.3: a scheme is read without regard to case. Another than that of the connection is for the operator
  // who put a proxy in front.
  if (scheme === undefined || !/^https?$/i.test(scheme)) return faulty('scheme', pseudo)
  if (path.length > limits.maxTargetBytes) return faulty('target-long', pseudo)
  for (let i = 0; i < path.length; i++) {
    const unit = path.charCodeAt(i)
    if (unit <= 0x20 || unit >= 0x7f) return faulty('target-octet', pseudo)
  }
  const target = parseTarget(method, path)
  if (target.kind === 'fault') return faulty(target.code, pseudo)
  if (target.kind === 'absolute') return faulty('target-form', pseudo)

  const found = gatherFraming(fields)
  if (found.hostCount > 1) return faulty('host-repeated', pseudo)
  const host = found.hostAt < 0 ? undefined : fields[found.hostAt + 1]
  const authority = pseudo.authority ?? host
  if (authority === undefined) return faulty('host-missing', pseudo)
  if (parseAuthority(authority) === undefined) return faulty('host-invalid', pseudo)
  if (host !== undefined && host !== authority) return faulty('authority-differs', pseudo)

  const framing = judgeFraming(found, fields, 1)
  if (framing.kind === 'fault') return faulty(framing.code, pseudo)
  if (framing.kind === 'length' && framing.bytes > limits.maxBodyBytes) return faulty('body-bytes', pseudo)
  if (endsStream && framing.kind === 'length' && framing.bytes > 0) return faulty('content-length-sum', pseudo)
  const body: BodyFraming = framing.kind === 'length' ? framing : endsStream ? NO_BODY : CHUNKED
  const expects = found.expectCount > 0
  if (expects && (found.expectCount > 1 || fields[found.expectAt + 1].toLowerCase() !== '100-continue')) {
    return faulty('expectation', pseudo)
  }
  return {
    kind: 'head',
    head: {
      method,
      target: path,
      targetForm: target.kind,
      path: target.path,
      authority,
      minorVersion: 1,
      majorVersion: 2,
      fields: host === undefined ? ['host', authority, ...fields] : fields,
      body,
      keepAlive: true,
      expectContinue: expects && body.kind !== 'none',
      upgrade: undefined,
    },
  }
}
