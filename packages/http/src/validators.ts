import { type ConditionRequest, type RequestMismatch, rulesForRequest, rulesForType } from './conditions.ts'
import { upstreamAcceptEncoding } from './content-coding.ts'
import {
  endToEndFields,
  endToEndTrailers,
  type FieldList,
  fieldValue,
  hopByHopAnd,
  isToken,
  joinedValue,
  listElements,
  listHasToken,
  type NameSet,
  nameSet,
  removeField,
  setField,
  singleValue,
  trimBlanks,
  withoutFields,
  withoutHopByHop,
} from './fields.ts'
import type { GateRoute, LastModifiedPolicy } from './gate-route.ts'
import type { RequestHead } from './message.ts'
import { matchingPath } from './request-target.ts'

/**
 * Validators and conditions across a route whose content changes (RFC 9110 §8.8, §13).
 *
 * The client never sees the origin's tag of changed content but one derived from it and from the rules, so that a
 * new rule set makes every cached copy stale. On the way up a derived tag becomes the origin's again; a tag that is
 * not derived from the present rules cannot vouch for anything and its condition goes, where that is safe.
 */

/** `W/"<orig>-p<hash>"` of a weak or strong tag; undefined if that is no entity tag. */
export function deriveEntityTag(origin: string, ruleSetHash: string): string | undefined {
  const opaque = opaqueTag(origin)
  return opaque === undefined ? undefined : `W/"${opaque}-p${ruleSetHash}"`
}

/** A tag a client sent: derived with the present rules, with others, or not derived at all. */
export type TagOrigin =
  | { readonly kind: 'current' | 'stale' /** The origin's, as a strong tag. */; readonly originTag: string }
  | { readonly kind: 'foreign' }

const HASH_CHARACTERS = 16

/** The inverse of {@link deriveEntityTag}. Whether the origin's tag was weak is lost; comparing allows for that. */
export function resolveEntityTag(tag: string, ruleSetHash: string): TagOrigin {
  const opaque = opaqueTag(tag)
  const split = (opaque ?? '').length - HASH_CHARACTERS - 2
  if (opaque === undefined || split < 0 || !tag.startsWith('W/') || opaque.slice(split, split + 2) !== '-p') {
    return { kind: 'foreign' }
  }
  const hash = opaque.slice(split + 2)
  if (!isLowerHex(hash)) return { kind: 'foreign' }
  return { kind: hash === ruleSetHash ? 'current' : 'stale', originTag: `"${opaque.slice(0, split)}"` }
}

/** What stands between the quotes of `"..."` or `W/"..."` (RFC 9110 §8.8.3). */
function opaqueTag(tag: string): string | undefined {
  const start = tag.startsWith('W/') ? 2 : 0
  const last = tag.length - 1
  if (last <= start || tag[start] !== '"' || tag.indexOf('"', start + 1) !== last) return undefined
  return tag.slice(start + 1, last)
}

function isLowerHex(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!'0123456789abcdef'.includes(text[i])) return false
  return true
}

/**
 * Elements of a list of entity tags. Unlike other lists, a backslash is an ordinary character in a tag
 * (RFC 9110 §8.8.3), so commas are looked for with the quotes alone.
 */
function entityTags(value: string): string[] {
  const tags: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at <= value.length; at++) {
    if (value[at] === '"') quoted = !quoted
    if (at < value.length && (quoted || value[at] !== ',')) continue
    const tag = trimBlanks(value.slice(start, at))
    if (tag !== '') tags.push(tag)
    start = at + 1
  }
  return tags
}

/**
 * If-None-Match for the origin, or undefined to leave the condition out. A safe method loses the tags that cannot
 * vouch for present content: the answer is then a full one. An unsafe method keeps every tag, translated if derived
 * from whatever rules: fewer tags would let through what the client wanted to prevent.
 */
export function translateIfNoneMatch(value: string, ruleSetHash: string, safe: boolean): string | undefined {
  if (value === '*') return value
  const sent: string[] = []
  for (const tag of entityTags(value)) {
    const resolved = resolveEntityTag(tag, ruleSetHash)
    if (resolved.kind === 'foreign') {
      if (!safe) sent.push(tag)
    } else if (resolved.kind === 'current' || !safe) sent.push(resolved.originTag)
  }
  return sent.length === 0 ? undefined : sent.join(', ')
}

/**
 * If-Match for the origin, or undefined if no tag is derived from the present rules: then the condition is false
 * (412), for it must never be dropped (a lost update).
 */
export function translateIfMatch(value: string, ruleSetHash: string): string | undefined {
  if (value === '*') return value
  const sent: string[] = []
  for (const tag of entityTags(value)) {
    const resolved = resolveEntityTag(tag, ruleSetHash)
    if (resolved.kind === 'current') sent.push(resolved.originTag)
  }
  return sent.length === 0 ? undefined : sent.join(', ')
}

/** The fields to send upstream, or the status to answer without asking (412: a tag we cannot translate). */
export type UpstreamRequestFields =
  | { readonly kind: 'send'; readonly fields: string[] }
  | { readonly kind: 'answer'; readonly status: 412 }

/**
 * End-to-end fields of a request on its way up. Where a rule may change the response, Accept-Encoding is narrowed,
 * Range and If-Range go (a range of the origin's octets is none of ours), and conditions are translated. Elsewhere
 * only hop-by-hop fields go, and Expect of an HTTP/1.0 client, which has none (RFC 9110 §10.1.1). Host stays as sent;
 * the caller sets it, and adds framing, Via and X-Forwarded-*. `isRewritable` is for callers that have worked it out.
 */
export function upstreamRequestFields(
  request: ConditionRequest & Pick<RequestHead, 'minorVersion'>,
  route: GateRoute,
  isRewritable: boolean = mayRewrite(request, route),
): UpstreamRequestFields {
  const fields = endToEndFields(request.fields)
  if (request.minorVersion === 0) removeField(fields, 'expect')
  if (!isRewritable) return { kind: 'send', fields }
  setField(fields, 'Accept-Encoding', upstreamAcceptEncoding(request.fields, route.codings))
  removeField(fields, 'range')
  removeField(fields, 'if-range')

  const safe = request.method === 'GET' || request.method === 'HEAD'
  const ifMatch = joinedValue(fields, 'if-match')
  if (ifMatch !== undefined) {
    const translated = translateIfMatch(ifMatch, route.ruleSetHash)
    if (translated === undefined) return { kind: 'answer', status: 412 }
    setField(fields, 'If-Match', translated)
  }
  const ifNoneMatch = joinedValue(fields, 'if-none-match')
  if (ifNoneMatch !== undefined) {
    const translated = translateIfNoneMatch(ifNoneMatch, route.ruleSetHash, safe)
    if (translated === undefined) removeField(fields, 'if-none-match')
    else setField(fields, 'If-None-Match', translated)
  }
  const modifiedSince = fieldValue(fields, 'if-modified-since')
  if (modifiedSince !== undefined && !mayKeepModifiedSince(modifiedSince, route)) {
    removeField(fields, 'if-modified-since')
  }
  return { kind: 'send', fields }
}

function mayKeepModifiedSince(value: string, route: GateRoute): boolean {
  // A client may send the date at which it got a copy, also of content that no date of the origin's can vouch for.
  if (lacksValidators(route)) return false
  const policy = route.lastModified
  return policy.kind === 'keep' && Date.parse(value) >= wholeSecondAfter(policy.rulesChangedMs)
}

/** Dates have no fractions: rounded up, so that a copy made in the second of the change counts as older. */
function wholeSecondAfter(ms: number): number {
  return Math.ceil(ms / 1_000) * 1_000
}

/**
 * Whether a rule may change the response to this request, as far as the request tells: some rule holds for it,
 * `no-transform` does not stand in the way, and it is not plainly a request for media that no such rule wants. Those
 * keep ranges and validators.
 */
export function mayRewrite(
  request: ConditionRequest,
  route: GateRoute,
  forRequest: Uint8Array | RequestMismatch = rulesForRequest(route.conditions, request),
): boolean {
  if (typeof forRequest === 'string') return false
  if (!route.ignoreNoTransform && forbidsTransform(request.fields)) return false
  return mayConcern(route, forRequest, request)
}

/** Whether the request is not plainly one for media that none of these rules wants. */
export function mayConcern(route: GateRoute, active: Uint8Array, request: ConditionRequest): boolean {
  const type = typeAskedFor(request)
  return type === undefined || rulesForType(route.conditions, active, type) !== undefined
}

/** `Cache-Control: no-transform` (RFC 9111 §5.2.1.6, §5.2.2.6). */
export function forbidsTransform(fields: FieldList): boolean {
  const value = joinedValue(fields, 'cache-control')
  return value !== undefined && listHasToken(value, 'no-transform')
}

/** Sec-Fetch-Dest where it names one family of types. `image` does not: SVG is text. */
const TYPE_BY_DESTINATION: ReadonlyMap<string, string> = new Map([
  ['audio', 'audio/mpeg'],
  ['video', 'video/mp4'],
  ['font', 'font/woff2'],
])

/** Extensions of files that are large or fetched in ranges, and never text. */
const TYPE_BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  ...['mp4', 'm4v', 'webm', 'mkv', 'mov', 'avi', 'ogv'].map((name): [string, string] => [name, 'video/mp4']),
  ...['mp3', 'm4a', 'aac', 'oga', 'ogg', 'opus', 'wav', 'flac'].map((name): [string, string] => [name, 'audio/mpeg']),
  ...['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'ico'].map((name): [string, string] => [name, 'image/png']),
  ...['woff', 'woff2', 'ttf', 'otf'].map((name): [string, string] => [name, 'font/woff2']),
  ...['zip', '7z', 'rar', 'gz', 'tgz', 'bz2', 'xz', 'zst'].map((name): [string, string] => [name, 'application/zip']),
  ...['iso', 'img', 'dmg', 'exe', 'msi', 'deb', 'rpm', 'apk', 'jar', 'bin', 'wasm'].map((name): [string, string] => [
    name,
    'application/octet-stream',
  ]),
  ['pdf', 'application/pdf'],
])

function typeAskedFor(request: ConditionRequest): string | undefined {
  const destination = fieldValue(request.fields, 'sec-fetch-dest')
  const type = destination === undefined ? undefined : TYPE_BY_DESTINATION.get(destination)
  if (type !== undefined) return type
  const path = matchingPath(request.path)
  const dot = path.lastIndexOf('.')
  return dot < 0 ? undefined : TYPE_BY_EXTENSION.get(path.slice(dot + 1).toLowerCase())
}

/** Digests of what the origin sent (RFC 9530, RFC 3230, RFC 1864). */
const DIGEST_NAMES: readonly string[] = ['content-md5', 'digest', 'content-digest', 'repr-digest']
const DIGESTS: NameSet = nameSet(DIGEST_NAMES)
/**
 * The origin's ranges are none of ours, and a signature over what we change (RFC 9421: digests, length, tag) would be
 * taken for a forgery.
 */
const NOT_OF_OTHER_OCTETS = [...DIGEST_NAMES, 'accept-ranges', 'signature', 'signature-input'] as const
const NOT_OF_CHANGED: NameSet = hopByHopAnd(NOT_OF_OTHER_OCTETS)

/** Takes away what holds for the octets that the origin sent: digests, signatures, ranges. */
export function removeDigests(fields: string[]): void {
  for (const name of NOT_OF_OTHER_OCTETS) removeField(fields, name)
}

/** Trailers of a changed body: end-to-end, without digests of what the origin sent. */
export function changedTrailers(trailers: FieldList): string[] {
  return withoutFields(endToEndTrailers(trailers), DIGESTS)
}

/**
 * The names in Trailer (RFC 9110 §6.6.2) of fields that may follow the body, as one value; undefined if there are none.
 * `changed`: whether the body is.
 */
export function announcedTrailers(fields: FieldList, changed: boolean): string | undefined {
  const announced = joinedValue(fields, 'trailer')
  if (announced === undefined) return undefined
  const trailers = listElements(announced).flatMap((name) => (isToken(name) ? [name, ''] : []))
  const kept = changed ? changedTrailers(trailers) : endToEndTrailers(trailers)
  return kept.length === 0 ? undefined : kept.filter((_, at) => at % 2 === 0).join(', ')
}

/** What choosing a content coding depends on. */
export const BY_CODING: readonly string[] = ['Accept-Encoding']

/**
 * End-to-end fields of a response whose content is, or in a 304 and for HEAD would have been, changed: own entity tag,
 * `Vary`, no digests, signatures, ranges or dates of the origin's. Content-Encoding is left to the caller.
 */
export function changedResponseFields(response: FieldList, route: GateRoute): string[] {
  const fields = withoutHopByHop(response, NOT_OF_CHANGED)
  if (lacksValidators(route)) {
    removeField(fields, 'etag')
    removeField(fields, 'last-modified')
  }
  const tag = singleValue(fields, 'etag')
  const derived = tag === undefined ? undefined : deriveEntityTag(tag, route.ruleSetHash)
  if (derived === undefined) removeField(fields, 'etag')
  else setField(fields, 'ETag', derived)
  const modified = fieldValue(fields, 'last-modified')
  if (modified !== undefined) {
    const date = changedDate(modified, route.lastModified)
    if (date === undefined) removeField(fields, 'last-modified')
    else setField(fields, 'Last-Modified', date)
  }
  appendVary(fields, route.variesBy.length === 0 ? BY_CODING : ['Accept-Encoding', ...route.variesBy])
  return fields
}

/** Whether changed content depends on more than the origin's content and the rules. */
function lacksValidators({ variesBy, alwaysNew }: GateRoute): boolean {
  return variesBy.length > 0 || alwaysNew
}

function changedDate(modified: string, policy: LastModifiedPolicy): string | undefined {
  if (policy.kind === 'remove') return undefined
  const originMs = Date.parse(modified)
  if (Number.isNaN(originMs)) return undefined
  return new Date(Math.max(originMs, wholeSecondAfter(policy.rulesChangedMs))).toUTCString()
}

/** Adds names of request fields to Vary, those that it lacks. */
export function appendVary(fields: string[], names: readonly string[]): void {
  if (names.length === 0) return
  const vary = joinedValue(fields, 'vary')
  if (vary === undefined) {
    fields.push('Vary', names.length === 1 ? names[0] : names.join(', '))
    return
  }
  const missing = names.filter((name) => !listHasToken(vary, name.toLowerCase()))
  if (missing.length === 0 || listHasToken(vary, '*')) return
  setField(fields, 'Vary', listElements(vary).concat(missing).join(', '))
}
