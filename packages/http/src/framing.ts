import { type FieldList, isNamed, listElements, splitOutsideQuotes } from './fields.ts'
import type { WireFaultCode } from './wire-fault.ts'

/**
 * What the header lines say about the connection and the body, gathered in one pass over them; both parsers decide on
 * it. Counts tell repeated lines, which no framing field may have.
 */
export interface FramingFields {
  hostCount: number
  /** Position in the field list of the last line of that name, or -1. */
  hostAt: number
  contentLengthCount: number
  contentLengthAt: number
  transferEncodingCount: number
  transferEncodingAt: number
  expectCount: number
  expectAt: number
  upgradeAt: number
  /** What Connection lists, over all its lines. */
  close: boolean
  keepAlive: boolean
  connectionUpgrade: boolean
}

export function gatherFraming(fields: FieldList): FramingFields {
  const found: FramingFields = {
    hostCount: 0,
    hostAt: -1,
    contentLengthCount: 0,
    contentLengthAt: -1,
    transferEncodingCount: 0,
    transferEncodingAt: -1,
    expectCount: 0,
    expectAt: -1,
    upgradeAt: -1,
    close: false,
    keepAlive: false,
    connectionUpgrade: false,
  }
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]
    switch (name.length) {
      case 4:
        if (isNamed(name, 'host')) {
          found.hostCount++
          found.hostAt = at
        }
        break
      case 6:
        if (isNamed(name, 'expect')) {
          found.expectCount++
          found.expectAt = at
        }
        break
      case 7:
        if (isNamed(name, 'upgrade')) found.upgradeAt = at
        break
      case 10:
        if (isNamed(name, 'connection')) gatherConnection(found, fields[at + 1])
        break
      case 14:
        if (isNamed(name, 'content-length')) {
          found.contentLengthCount++
          found.contentLengthAt = at
        }
        break
      case 17:
        if (isNamed(name, 'transfer-encoding')) {
          found.transferEncodingCount++
          found.transferEncodingAt = at
        }
        break
    }
  }
  return found
}

function gatherConnection(found: FramingFields, value: string): void {
  if (!gatherOption(found, value)) for (const element of listElements(value)) gatherOption(found, element)
}

function gatherOption(found: FramingFields, option: string): boolean {
  if (isNamed(option, 'close')) found.close = true
  else if (isNamed(option, 'keep-alive')) found.keepAlive = true
  else if (isNamed(option, 'upgrade')) found.connectionUpgrade = true
  else return false
  return true
}

/** Whether the connection survives the exchange, by what its head says (RFC 9112 §9.3). */
export function keepsAlive(found: FramingFields, minorVersion: number): boolean {
  return !found.close && (minorVersion === 1 || found.keepAlive)
}

/** `1*DIGIT` up to 2^53 - 1, else undefined. */
function parseContentLength(value: string): number | undefined {
  if (value.length === 0) return undefined
  let bytes = 0
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return undefined
    bytes = bytes * 10 + digit
    if (bytes > Number.MAX_SAFE_INTEGER) return undefined
  }
  return bytes
}

/** A verdict on framing: how many octets, chunked, or what is wrong and on which field. */
export type FramingVerdict =
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'fault'; readonly code: WireFaultCode; readonly fieldAt: number }

const CHUNKED: FramingVerdict = { kind: 'chunked' }
const ABSENT: FramingVerdict = { kind: 'absent' }

/**
 * One Content-Length, or one Transfer-Encoding that is exactly `chunked`, or neither; everything else is refused, for
 * requests and responses alike (RFC 9112 §6.1 to §6.3 and §11.2; stricter where it leaves a choice: a repeated
 * Content-Length is refused also if equal, and Transfer-Encoding does not win over Content-Length).
 */
export function judgeFraming(found: FramingFields, fields: FieldList, minorVersion: number): FramingVerdict {
  if (found.transferEncodingCount > 0) {
    const fieldAt = found.transferEncodingAt
    if (minorVersion === 0) return { kind: 'fault', code: 'transfer-encoding-version', fieldAt }
    if (found.contentLengthCount > 0) {
      return { kind: 'fault', code: 'content-length-and-transfer-encoding', fieldAt }
    }
    if (found.transferEncodingCount > 1) return { kind: 'fault', code: 'transfer-encoding', fieldAt }
    const value = fields[fieldAt + 1]
    if (value.toLowerCase() === 'chunked') return CHUNKED
    return { kind: 'fault', code: transferEncodingFault(value), fieldAt }
  }
  if (found.contentLengthCount === 0) return ABSENT
  const fieldAt = found.contentLengthAt
  if (found.contentLengthCount > 1) return { kind: 'fault', code: 'content-length-repeated', fieldAt }
  const bytes = parseContentLength(fields[fieldAt + 1])
  return bytes === undefined ? { kind: 'fault', code: 'content-length', fieldAt } : { kind: 'length', bytes }
}

/** RFC 9112 §6.1: a coding we do not know is 501, a body whose end nobody can find is 400. */
function transferEncodingFault(value: string): WireFaultCode {
  const codings = splitOutsideQuotes(value.toLowerCase(), ',')
  const known = codings.every((coding) => TRANSFER_CODINGS.has(coding))
  const chunkedOnceLast = codings.indexOf('chunked') === codings.length - 1
  return known && chunkedOnceLast ? 'transfer-encoding-unsupported' : 'transfer-encoding'
}

/** The registered transfer codings. */
const TRANSFER_CODINGS: ReadonlySet<string> = new Set([
  'chunked',
  'gzip',
  'x-gzip',
  'deflate',
  'compress',
  'x-compress',
  'identity',
])
