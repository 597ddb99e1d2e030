import { charsetOfLabel, isForeignCharset } from '@prexy/bytes/charset-labels'
import {
  type ConditionRequest,
  type RequestMismatch,
  rulesForFields,
  rulesForRequest,
  rulesForStatus,
  rulesForType,
} from './conditions.ts'
import { compressionOf, setCompressed, weakenEntityTag } from './compression.ts'
import { type Coding, compressionCoding, contentCoding, outputCoding } from './content-coding.ts'
import { endToEndFields, fieldValue, parseMediaType, removeField, setField, singleValue } from './fields.ts'
import type { GateRoute } from './gate-route.ts'
import type { ResponseHead } from './message.ts'
import { appendVary, BY_CODING, changedResponseFields, forbidsTransform, mayConcern } from './validators.ts'

/** Why a response was passed on unchanged; a closed set, it goes into events and metrics. */
export type PassReason =
  /** The route has no rules. */
  | 'no-rules'
  /** No rule holds for the request: host, method, path, a header field. */
  | RequestMismatch
  /** No rule holds for the response: status, media type, a header field. */
  | 'status'
  | 'content-type'
  | 'response-header'
  /** The text is in an encoding that the rules cannot be applied to. */
  | 'charset'
  /** 1xx, 204, 205. */
  | 'no-content'
  /** 206, 226, 416, Content-Range, multipart/byteranges. */
  | 'partial-content'
  /** Asked for by the request or the response, and not ignored. */
  | 'no-transform'
  | 'coding-unknown'
  | 'coding-stacked'
  /** 101: no longer HTTP. */
  | 'upgrade'
  /** No active rule found anything in the same version of the resource before; not told by {@link decide}. */
  | 'nothing-found'

export type GateDecision =
  /** Decode, rewrite with the active rules, encode; the body's length is not known beforehand. */
  | {
      readonly action: 'rewrite'
      readonly decode: Coding | 'identity'
      readonly encode: Coding | 'identity'
      /** One byte per rule of the route, nonzero where it applies. */
      readonly active: Uint8Array
      /** End-to-end fields to send, edited; no framing fields. The caller's. */
      readonly fields: string[]
    }
  /** No rule changes the body (`reason`), but it is compressed; its length is not known beforehand. */
  | { readonly action: 'compress'; readonly reason: PassReason; readonly encode: Coding; readonly fields: string[] }
  /** No body follows (HEAD, 304), but the head describes a changed one: send these fields, without Content-Length. */
  | { readonly action: 'edit-head'; readonly reason: 'head' | 'not-modified'; readonly fields: string[] }
  /** Leave the body as it is. `fields` are the end-to-end fields unchanged; no framing fields. */
  | { readonly action: 'pass'; readonly reason: PassReason; readonly fields: string[] }

/**
 * Whether and how a response body is changed. Pure; one call per final response. Does not look at the body, so a
 * caller must not start a decoder before the first octet (an empty body is no valid gzip).
 *
 * An empty body is rewritten like any other, whether its length says so or its first chunk is the last: a rule that
 * matches the empty text adds to it, HEAD tells the same validators as GET, and those of all bodies of a URL are ours.
 * nginx differs: its sub_filter leaves alone what has `Content-Length: 0`.
 *
 * `forRequest` is for callers that have worked it out for {@link upstreamRequestFields}.
 */
export function decide(
  request: ConditionRequest,
  response: Pick<ResponseHead, 'status' | 'fields'>,
  route: GateRoute,
  forRequest: Uint8Array | RequestMismatch = rulesForRequest(route.conditions, request),
): GateDecision {
  const verdict = judge(request, response, route, forRequest)
  if (typeof verdict === 'string') {
    const fields = endToEndFields(response.fields)
    // Another request may get it rewritten, which a cache must not mix up.
    appendVary(fields, route.variesBy)
    return passedOn(request, response, route, verdict, fields)
  }
  const fields = changedResponseFields(response.fields, route)
  if (verdict === NOT_MODIFIED) return { action: 'edit-head', reason: 'not-modified', fields }
  const encode =
    (verdict.decode === 'identity' ? compressionFor(request, response, route) : undefined) ??
    outputCoding(request.fields, verdict.decode, route.codings)
  if (encode === 'identity') removeField(fields, 'content-encoding')
  else setField(fields, 'Content-Encoding', encode)
  if (request.method === 'HEAD') return { action: 'edit-head', reason: 'head', fields }
  return { action: 'rewrite', decode: verdict.decode, encode, active: verdict.active, fields }
}

function compressionFor(
  request: ConditionRequest,
  response: Pick<ResponseHead, 'status' | 'fields'>,
  { compression, ignoreNoTransform }: GateRoute,
): Coding | 'identity' | undefined {
  return compression === undefined ? undefined : compressionOf(request.fields, response, compression, ignoreNoTransform)
}

/** The decision where no rule changes the body. */
function passedOn(
  request: ConditionRequest,
  response: Pick<ResponseHead, 'status' | 'fields'>,
  route: GateRoute,
  reason: PassReason,
  fields: string[],
): GateDecision {
  const { compression } = route
  if (compression !== undefined && response.status === 304) {
    // Its type is not told: the tag is that of the 200 if that was compressed, and as good as that if it was not.
    if (compressionCoding(request.fields, compression.codings) === 'identity') return { action: 'pass', reason, fields }
    weakenEntityTag(fields)
    appendVary(fields, BY_CODING)
    return { action: 'edit-head', reason: 'not-modified', fields }
  }
  const encode = compressionFor(request, response, route)
  if (encode === undefined) return { action: 'pass', reason, fields }
  if (encode === 'identity') {
    appendVary(fields, BY_CODING)
    return { action: 'pass', reason, fields }
  }
  setCompressed(fields, encode)
  if (request.method === 'HEAD') return { action: 'edit-head', reason: 'head', fields }
  return { action: 'compress', reason, encode, fields }
}

interface Changeable {
  readonly decode: Coding | 'identity'
  readonly active: Uint8Array
}

/** A 304 says nothing about the content but validators. */
const NOT_MODIFIED: Changeable = { decode: 'identity', active: new Uint8Array(0) }

/** The reasons in their order: the first that holds is the one reported. */
function judge(
  request: ConditionRequest,
  response: Pick<ResponseHead, 'status' | 'fields'>,
  route: GateRoute,
  forRequest: Uint8Array | RequestMismatch,
): PassReason | Changeable {
  const { status, fields } = response
  if (status === 101) return 'upgrade'
  if (status < 200 || status === 204 || status === 205) return 'no-content'
  if (route.conditions.length === 0) return 'no-rules'
  if (typeof forRequest === 'string') return forRequest
  const contentType = singleValue(fields, 'content-type')
  const type = contentType === undefined ? undefined : parseMediaType(contentType)
  if (
    status === 206 ||
    // RFC 3229 §10.4.1: the difference to an earlier response.
    status === 226 ||
    status === 416 ||
    fieldValue(fields, 'content-range') !== undefined ||
    type?.essence === 'multipart/byteranges'
  ) {
    return 'partial-content'
  }
  if (!route.ignoreNoTransform && (forbidsTransform(fields) || forbidsTransform(request.fields))) {
    return 'no-transform'
  }
  if (status === 304) return mayConcern(route, forRequest, request) ? NOT_MODIFIED : 'content-type'
  const forStatus = rulesForStatus(route.conditions, forRequest, status)
  if (forStatus === undefined) return 'status'
  const forType = rulesForType(route.conditions, forStatus, type?.essence)
  if (forType === undefined) return 'content-type'
  const active = rulesForFields(route.conditions, forType, fields)
  if (active === undefined) return 'response-header'
  if (!isReadable(type?.charset, route.charsets)) return 'charset'
  const decode = contentCoding(fields, route.codings)
  if (decode === 'unknown') return 'coding-unknown'
  if (decode === 'stacked') return 'coding-stacked'
  return { decode, active }
}

/**
 * A label that names no encoding is none, as for browsers: the body tells, or its type. Not so the labels of encodings
 * in which ASCII text would be found where there is none.
 */
function isReadable(label: string | undefined, charsets: GateRoute['charsets']): boolean {
  if (label === undefined || charsets === 'any') return true
  const charset = charsetOfLabel(label)
  return charset === undefined ? !isForeignCharset(label) : charsets.has(charset)
}
