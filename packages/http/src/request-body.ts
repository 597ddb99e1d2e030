import { charsetOfLabel } from '@prexy/bytes/charset-labels'
import {
  fieldValue,
  joinedValue,
  listElements,
  type MediaType,
  nameSet,
  parseMediaType,
  splitOutsideQuotes,
  trimBlanks,
  withoutFields,
} from './fields.ts'
import type { RequestHead } from './message.ts'
import { forbidsTransform } from './validators.ts'

/** Why a request body goes up as it came; a closed set, for events and metrics. */
export type RequestPassReason =
  /** Not a form, JSON, XML or other text. */
  | 'content-type'
  /** A charset in which an ASCII octet may be part of another character. */
  | 'charset'
  /** Compressed. */
  | 'coding'
  /** A part of something (Content-Range). */
  | 'partial-content'
  | 'no-transform'
  /** A signature covers the body's digest (RFC 9421). */
  | 'signed'

export type RequestBodyDecision =
  | { readonly action: 'map' }
  /** Of a form's parts those that are text; see `isMappableType`. */
  | { readonly action: 'map-parts'; readonly boundary: string }
  | { readonly action: 'pass'; readonly reason: RequestPassReason }

/** Whether host names in a request body may be changed. Pure. Undefined if there is no body. */
export function decideRequestBody(
  { fields, body }: Pick<RequestHead, 'fields' | 'body'>,
  ignoreNoTransform: boolean,
): RequestBodyDecision | undefined {
  if (body.kind === 'none' || (body.kind === 'length' && body.bytes === 0)) return undefined
  const pass = (reason: RequestPassReason): RequestBodyDecision => ({ action: 'pass', reason })
  const coding = joinedValue(fields, 'content-encoding')
  if (coding !== undefined && listElements(coding).some((one) => one.toLowerCase() !== 'identity'))
    return pass('coding')
  if (fieldValue(fields, 'content-range') !== undefined) return pass('partial-content')
  if (!ignoreNoTransform && forbidsTransform(fields)) return pass('no-transform')
  const signed = joinedValue(fields, 'signature-input')
  if (signed !== undefined && /"(?:content-digest|repr-digest|digest|content-length)"/i.test(signed))
    return pass('signed')
  const value = fieldValue(fields, 'content-type')
  const type = value === undefined ? undefined : parseMediaType(value)
  if (value === undefined || type === undefined) return pass('content-type')
  if (type.essence === 'multipart/form-data') {
    const boundary = boundaryOf(value)
    return boundary === undefined ? pass('content-type') : { action: 'map-parts', boundary }
  }
  if (!isTextType(type.essence)) return pass('content-type')
  return isPlainCharset(type) ? { action: 'map' } : pass('charset')
}

/** Whether a part of a form says of itself that it is a text; one without a type is (RFC 7578 §4.4). */
export function isMappableType(contentType: string | undefined): boolean {
  if (contentType === undefined) return true
  const type = parseMediaType(contentType)
  return type !== undefined && isTextType(type.essence) && isPlainCharset(type)
}

const TEXT_TYPES = new Set([
  'application/x-www-form-urlencoded',
  'application/graphql',
  'application/javascript',
  'application/json',
  'application/xml',
])

function isTextType(essence: string): boolean {
  return essence.startsWith('text/') || TEXT_TYPES.has(essence) || /^application\/[^/]*\+(?:json|xml)$/.test(essence)
}

/** Octets below 0x80 are ASCII wherever they stand. */
const PLAIN_CHARSETS = /^(?:utf-8|windows-12\d\d|windows-874|iso-8859-|koi8-|ibm866|macintosh|x-mac-)/i

function isPlainCharset({ charset }: MediaType): boolean {
  if (charset === undefined) return true
  const known = charsetOfLabel(charset)
  return known !== undefined && PLAIN_CHARSETS.test(known)
}

/** RFC 2046 §5.1.1: at most 70 characters; here any that do not end a line. */
function boundaryOf(contentType: string): string | undefined {
  for (const parameter of splitOutsideQuotes(contentType, ';').slice(1)) {
    const equals = parameter.indexOf('=')
    if (equals < 0 || trimBlanks(parameter.slice(0, equals)).toLowerCase() !== 'boundary') continue
    const value = trimBlanks(parameter.slice(equals + 1)).replace(/^"(.*)"$/, '$1')
    return /^[\x21-\x7e](?:[\x20-\x7e]{0,68}[\x21-\x7e])?$/.test(value) && !value.includes('\\') ? value : undefined
  }
  return undefined
}

const DIGESTS = nameSet(['content-md5', 'digest', 'content-digest', 'repr-digest'])

/** A copy without digests of what the client sent, for a body that may change. */
export function withoutDigests(fields: readonly string[]): string[] {
  return withoutFields(fields, DIGESTS)
}
