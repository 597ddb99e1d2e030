import { TEXT_OCTET, TOKEN_OCTET } from './octets.ts'

/**
 * Header or trailer lines as they came: `[name, value, name, value, ...]`, in order, names in their case, values
 * without surrounding white space, one octet per character. Lookups ignore case; `lowerName` is in lower case.
 */
export type FieldList = readonly string[]

/**
 * Whether `name` is `lowerName` in any case of US-ASCII letters.
 *
 * PERF: a copy in lower case to compare with was a tenth of what an exchange costs under Bun 1.4.
 */
export function isNamed(name: string, lowerName: string): boolean {
  const { length } = lowerName
  if (name.length !== length) return false
  for (let at = 0; at < length; at++) {
    const unit = name.charCodeAt(at)
    const wanted = lowerName.charCodeAt(at)
    if (unit !== wanted && ((unit | 0x20) !== wanted || wanted < 0x61 || wanted > 0x7a)) return false
  }
  return true
}

/** Few names in lower case by their length, so that most names are told apart without a lower-case copy. */
export type NameSet = readonly (readonly string[] | undefined)[]

/** The names begin with a letter. */
export function nameSet(lowerNames: Iterable<string>): NameSet {
  const byLength: string[][] = []
  for (const name of lowerNames) {
    byLength[name.length] ??= []
    byLength[name.length].push(name)
  }
  return byLength
}

export function setHasName(names: NameSet, name: string): boolean {
  const candidates = names[name.length]
  if (candidates === undefined) return false
  for (const candidate of candidates) if (isNamed(name, candidate)) return true
  return false
}

/** Value of the first line of that name. */
export function fieldValue(fields: FieldList, lowerName: string): string | undefined {
  const at = indexOfField(fields, lowerName, 0)
  return at < 0 ? undefined : fields[at + 1]
}

/**
 * The value of a field that has one (RFC 9110 §5.3): lines that repeat it count once. Undefined where there is none, and
 * where lines differ: recipients take one or the other, so none can be relied on.
 */
export function singleValue(fields: FieldList, lowerName: string): string | undefined {
  const first = indexOfField(fields, lowerName, 0)
  if (first < 0) return undefined
  const value = fields[first + 1]
  for (let at = first; at >= 0; at = indexOfField(fields, lowerName, at + 2))
    if (fields[at + 1] !== value) return undefined
  return value
}

/** Values of all lines of that name, in order; Set-Cookie and the like stay separate. */
export function fieldValues(fields: FieldList, lowerName: string): string[] {
  const values: string[] = []
  for (let at = 0; at < fields.length; at += 2) if (isNamed(fields[at], lowerName)) values.push(fields[at + 1])
  return values
}

/** All lines of that name as one list value (RFC 9110 §5.3); undefined if there is none. */
export function joinedValue(fields: FieldList, lowerName: string): string | undefined {
  const first = indexOfField(fields, lowerName, 0)
  if (first < 0) return undefined
  if (indexOfField(fields, lowerName, first + 2) < 0) return fields[first + 1]
  return fieldValues(fields, lowerName).join(', ')
}

/** Puts the value on the first line of that name and removes the others, or appends a line. Changes `fields`. */
export function setField(fields: string[], name: string, value: string): void {
  const lowerName = name.toLowerCase()
  const at = indexOfField(fields, lowerName, 0)
  if (at < 0) {
    fields.push(name, value)
    return
  }
  fields[at + 1] = value
  removeFrom(fields, lowerName, at + 2)
}

/** Removes every line of that name. Changes `fields`. */
export function removeField(fields: string[], lowerName: string): void {
  removeFrom(fields, lowerName, 0)
}

function indexOfField(fields: FieldList, lowerName: string, start: number): number {
  for (let at = start; at < fields.length; at += 2) if (isNamed(fields[at], lowerName)) return at
  return -1
}

function removeFrom(fields: string[], lowerName: string, start: number): void {
  let kept = indexOfField(fields, lowerName, start)
  if (kept < 0) return
  for (let at = kept + 2; at < fields.length; at += 2) {
    if (isNamed(fields[at], lowerName)) continue
    fields[kept] = fields[at]
    fields[kept + 1] = fields[at + 1]
    kept += 2
  }
  fields.length = kept
}

/** A copy without the lines of these names. */
export function withoutFields(fields: FieldList, names: NameSet): string[] {
  const kept: string[] = []
  for (let at = 0; at < fields.length; at += 2) {
    if (!setHasName(names, fields[at])) kept.push(fields[at], fields[at + 1])
  }
  return kept
}

/** Fields that speak of one connection: RFC 9110 §7.6.1 and §11.7, and the h2c upgrade's settings (smuggling). */
export const CONNECTION_NAMES: readonly string[] = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'upgrade',
]
/** Fields that say where a message ends, and what follows its body. */
export const FRAMING_NAMES: readonly string[] = ['content-length', 'trailer', 'transfer-encoding']
const HOP_BY_HOP_NAMES: readonly string[] = [...CONNECTION_NAMES, ...FRAMING_NAMES]
const HOP_BY_HOP: NameSet = nameSet(HOP_BY_HOP_NAMES)

/**
 * SECURITY: a client that lists one of these in Connection would have us take away what the origin decides by, such as
 * the address we add (CVE-2026-33805 in a sibling). RFC 9110 §7.6.1 forbids to list fields meant for all recipients.
 */
const ESSENTIAL_NAMES: readonly string[] = [
  'age',
  'authorization',
  'cache-control',
  'content-encoding',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'etag',
  'expires',
  'forwarded',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'location',
  'max-forwards',
  'origin',
  'range',
  'referer',
  'set-cookie',
  'vary',
  'via',
  'www-authenticate',
  'x-real-ip',
  'x-request-id',
]
const CONNECTION_CANNOT_NAME: NameSet = nameSet(['close', ...HOP_BY_HOP_NAMES, ...ESSENTIAL_NAMES])

/**
 * A copy of what may travel on: without Connection and what it names, the other hop-by-hop fields, Content-Length and
 * Trailer (the sender frames anew). Strip first, then add our own fields. Connection cannot name essentials away:
 * Host, Authorization, Cookie, X-Forwarded-* and the like.
 */
export function endToEndFields(fields: FieldList): string[] {
  return withoutHopByHop(fields, HOP_BY_HOP)
}

/** Names for {@link withoutHopByHop}: the hop-by-hop ones and these. */
export function hopByHopAnd(lowerNames: readonly string[]): NameSet {
  return nameSet([...HOP_BY_HOP_NAMES, ...lowerNames])
}

/** {@link endToEndFields} without further names, in one pass: `names` is what {@link hopByHopAnd} gave. */
export function withoutHopByHop(fields: FieldList, names: NameSet): string[] {
  const kept = withoutFields(fields, names)
  // A hash set, since a client may name thousands.
  let named: Set<string> | undefined
  for (let at = indexOfField(fields, 'connection', 0); at >= 0; at = indexOfField(fields, 'connection', at + 2)) {
    const value = fields[at + 1]
    if (connectionCannotName(value)) continue
    for (const element of listElements(value)) {
      if (connectionCannotName(element)) continue
      named ??= new Set()
      named.add(element.toLowerCase())
    }
  }
  if (named === undefined) return kept
  const unnamed: string[] = []
  for (let at = 0; at < kept.length; at += 2) {
    if (!named.has(kept[at].toLowerCase())) unnamed.push(kept[at], kept[at + 1])
  }
  return unnamed
}

/** Whether naming this in Connection has no effect: what is removed anyway counts, `close` and `keep-alive` too. */
function connectionCannotName(option: string): boolean {
  return setHasName(CONNECTION_CANNOT_NAME, option) || option.toLowerCase().startsWith('x-forwarded-')
}

/**
 * What a recipient would have to have known before the body: framing, routing, authentication, cookies, caching and
 * how to read the content (RFC 9110 §6.5.1).
 */
const NOT_IN_TRAILERS: NameSet = nameSet([
  ...HOP_BY_HOP_NAMES,
  ...ESSENTIAL_NAMES,
  'accept-ranges',
  'content-disposition',
  'expect',
  'pragma',
  'retry-after',
])

/** What may travel on of a trailer section. */
export function endToEndTrailers(trailers: FieldList): string[] {
  const kept: string[] = []
  for (let at = 0; at < trailers.length; at += 2) {
    const name = trailers[at]
    if (!setHasName(NOT_IN_TRAILERS, name) && !name.toLowerCase().startsWith('x-forwarded-')) {
      kept.push(name, trailers[at + 1])
    }
  }
  return kept
}

/**
 * Elements of a comma separated list (RFC 9110 §5.6.1), without surrounding white space, empty ones left out. A comma
 * in a quoted string does not separate.
 */
export function listElements(value: string): string[] {
  return splitOutsideQuotes(value, ',').filter((element) => element !== '')
}

/** Whether a list holds this token, ignoring case; a parameter after `=` or `;` makes it another element. */
export function listHasToken(value: string, lowerToken: string): boolean {
  if (!value.includes(',')) return isNamed(trimBlanks(value), lowerToken)
  return listElements(value).some((element) => isNamed(element, lowerToken))
}

/** The parts between `separator`s, trimmed; separators within a quoted string do not count. */
export function splitOutsideQuotes(value: string, separator: string): string[] {
  if (!value.includes(separator)) return [trimBlanks(value)]
  if (!value.includes('"')) return value.split(separator).map(trimBlanks)
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let i = 0; i < value.length; i++) {
    if (quoted && value[i] === '\\') i++
    else if (value[i] === '"') quoted = !quoted
    else if (value[i] === separator && !quoted) {
      parts.push(trimBlanks(value.slice(start, i)))
      start = i + 1
    }
  }
  parts.push(trimBlanks(value.slice(start)))
  return parts
}

/** Without SP and HTAB at the ends; `String.trim` would take U+00A0, an octet of the value, too. */
export function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  if (end === 0 || (text.charCodeAt(0) > 0x20 && text.charCodeAt(end - 1) > 0x20)) return text
  while (start < end && isBlank(text, start)) start++
  while (end > start && isBlank(text, end - 1)) end--
  return text.slice(start, end)
}

function isBlank(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t'
}

/** A token (RFC 9110 §5.6.2), such as a method or a field name. */
export function isToken(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!isOctetOf(TOKEN_OCTET, text.charCodeAt(i))) return false
  return text.length > 0
}

/** A value safe to write: no control but HTAB, nothing above U+00FF, no white space around (RFC 9110 §5.5). */
export function isFieldValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!isOctetOf(TEXT_OCTET, text.charCodeAt(i))) return false
  return text === '' || !(isBlank(text, 0) || isBlank(text, text.length - 1))
}

function isOctetOf(octets: Uint8Array, unit: number): boolean {
  return unit < 256 && octets[unit] !== 0
}

export interface MediaType {
  /** `type/subtype` in lower case, without parameters. */
  readonly essence: string
  /** The charset parameter in lower case, unquoted. */
  readonly charset: string | undefined
}

/**
 * Undefined if the value does not begin with `type/subtype` (RFC 9110 §8.3.1). Of two charsets the first counts.
 *
 * PERF: the last value is kept, because all that want to know the type of a response ask one after the other.
 */
export function parseMediaType(value: string): MediaType | undefined {
  if (value !== lastValue) {
    lastMediaType = readMediaType(value)
    lastValue = value
  }
  return lastMediaType
}

let lastValue = ''
let lastMediaType: MediaType | undefined

function readMediaType(value: string): MediaType | undefined {
  const parts = splitOutsideQuotes(value, ';')
  const essence = parts[0].toLowerCase()
  const slash = essence.indexOf('/')
  if (!isToken(essence.slice(0, Math.max(slash, 0))) || !isToken(essence.slice(slash + 1))) return undefined
  for (let i = 1; i < parts.length; i++) {
    const equals = parts[i].indexOf('=')
    if (equals >= 0 && trimBlanks(parts[i].slice(0, equals)).toLowerCase() === 'charset') {
      return { essence, charset: unquote(trimBlanks(parts[i].slice(equals + 1))).toLowerCase() }
    }
  }
  return { essence, charset: undefined }
}

/** The text of a quoted string; anything else as it is. */
function unquote(text: string): string {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return text
  let plain = ''
  for (let i = 1; i < text.length - 1; i++) {
    if (text[i] === '\\' && i + 1 < text.length - 1) i++
    plain += text[i]
  }
  return plain
}
