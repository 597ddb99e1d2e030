/** Whether a response that came uncompressed is compressed on its way to the client, and what its head says then. Pure. */
import { type ConditionSet, rulesForType } from './conditions.ts'
import { type Coding, compressionCoding, contentCoding } from './content-coding.ts'
import { type FieldList, fieldValue, parseMediaType, removeField, setField, singleValue } from './fields.ts'
import type { ResponseHead } from './message.ts'
import { appendVary, BY_CODING, forbidsTransform, removeDigests } from './validators.ts'

/** What a route compresses. */
export interface CompressionRoute {
  /** Codings that the runtime can make, the favourite first. */
  readonly codings: readonly Coding[]
  /** One entry with the media types. */
  readonly types: ConditionSet
  /** What is known to be shorter stays as it is. Unit: bytes. */
  readonly minBytes: number
}

/** Those of nginx: 206 is a part of other octets, 304 has none, most others are a line of text. */
const COMPRESSED_STATUSES: ReadonlySet<number> = new Set([200, 403, 404])

const ALL = new Uint8Array([1])

/**
 * The coding for the client, `identity` if it accepts none or likes that better; undefined for a response that no client
 * gets compressed. What it depends on besides Accept-Encoding is the same for all clients, but for `no-transform`.
 */
export function compressionOf(
  requestFields: FieldList,
  { status, fields }: Pick<ResponseHead, 'status' | 'fields'>,
  route: CompressionRoute,
  ignoreNoTransform: boolean,
): Coding | 'identity' | undefined {
  if (!COMPRESSED_STATUSES.has(status) || fieldValue(fields, 'content-range') !== undefined) return undefined
  if (contentCoding(fields, route.codings) !== 'identity') return undefined
  const contentType = singleValue(fields, 'content-type')
  const type = contentType === undefined ? undefined : parseMediaType(contentType)
  if (rulesForType(route.types, ALL, type?.essence) === undefined) return undefined
  const length = singleValue(fields, 'content-length')
  if (length !== undefined && Number(length) < route.minBytes) return undefined
  if (!ignoreNoTransform && (forbidsTransform(fields) || forbidsTransform(requestFields))) return undefined
  return compressionCoding(requestFields, route.codings)
}

/**
 * Makes the fields of a response those of its compressed form. A strong entity tag promises the same octets, which the
 * coding changes (RFC 9110 §8.8.3.3); the weak one still finds its way back in If-None-Match.
 */
export function setCompressed(fields: string[], coding: Coding): void {
  setField(fields, 'Content-Encoding', coding)
  removeDigests(fields)
  weakenEntityTag(fields)
  appendVary(fields, BY_CODING)
}

export function weakenEntityTag(fields: string[]): void {
  const tag = singleValue(fields, 'etag')
  if (tag === undefined) removeField(fields, 'etag')
  else if (tag.startsWith('"')) setField(fields, 'ETag', `W/${tag}`)
}
