import { TEXT_OCTET, TOKEN_OCTET } from './octets.ts'

/**
 * Header or trailer lines as they came: `[name, value, name, value, ...]`, in order, names in their case, values
 * without surrounding white space, one octet per character. Lookups ignore case; `lowerName` is in lower case.
 */
export type FieldList = readonly string[]

/** Whether `name` is `lowerName` in any case. */
function isNamed(name: string, lowerName: string): boolean {
  return name.length === lowerName.length && (name === lowerName || name.toLowerCase() === lowerName)
}

/** Value of the first line of that name. */
export function fieldValue(fields: FieldList, lowerName: string): string | undefined {
  for (let at = 0; at < fields.length; at += 2) if (isNamed(fields[at], lowerName)) return fields[at + 1]
  return undefined
}

/** Values of all lines of that name, in order; Set-Cookie and the like stay separate. */
export function fieldValues(fields: FieldList, lowerName: string): string[] {
  const values: string[] = []
  for (let at = 0; at < fields.length; at += 2) if (isNamed(fields[at], lowerName)) values.push(fields[at + 1])
  return values
}

/** All lines of that name as one list value (RFC 9110 §5.3); undefined if there is none. */
export function joinedValue(fields: FieldList, lowerName: string): string | undefined {
  const values = fieldValues(fields, lowerName)
  return values.length === 0 ? undefined : values.join(', ')
}

/** Puts the value on the first line of that name and removes the others, or appends a line. Changes `fields`. */
export function setField(fields: string[], name: string, value: string): void {
  const lowerName = name.toLowerCase()
  let kept = 0
  let placed = false
  for (let at = 0; at < fields.length; at += 2) {
    const named = isNamed(fields[at], lowerName)
    if (named && placed) continue
    fields[kept] = fields[at]
    fields[kept + 1] = named ? value : fields[at + 1]
    kept += 2
    placed ||= named
  }
  fields.length = kept
  if (!placed) fields.push(name, value)
}

/** Removes every line of that name. Changes `fields`. */
export function removeField(fields: string[], lowerName: string): void {
  let kept = 0
  for (let at = 0; at < fields.length; at += 2) {
    if (isNamed(fields[at], lowerName)) continue
    fields[kept] = fields[at]
    fields[kept + 1] = fields[at + 1]
    kept += 2
  }
  fields.length = kept
}

/** A copy without the lines of these names. */
export function withoutFields(fields: FieldList, lowerNames: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let at = 0; at < fields.length; at += 2) {
    if (!lowerNames.has(fields[at].toLowerCase())) kept.push(fields[at], fields[at + 1])
  }
  return kept
}

/** RFC 9110 §7.6.1 and §11.7, framing, and the h2c upgrade's settings (smuggling). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * SECURITY: a client that lists one of these in Connection would have us take away what the origin decides by, such as
 * the address we add (CVE-2026-33805 in a sibling). RFC 9110 §7.6.1 forbids to list fields meant for all recipients.
 */
const ESSENTIALS: ReadonlySet<string> = new Set([
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
])

/**
 * A copy of what may travel on: without Connection and what it names, the other hop-by-hop fields, Content-Length and
 * Trailer (the sender frames anew). Strip first, then add our own fields. Connection cannot name essentials away:
 * Host, Authorization, Cookie, X-Forwarded-* and the like.
 */
export function endToEndFields(fields: FieldList): string[] {
  let named: Set<string> | undefined
  for (let at = 0; at < fields.length; at += 2) {
    if (!isNamed(fields[at], 'connection')) continue
    for (const element of listElements(fields[at + 1])) {
      const option = element.toLowerCase()
      if (ESSENTIALS.has(option) || option.startsWith('x-forwarded-') || HOP_BY_HOP.has(option)) continue
      named ??= new Set()
      named.add(option)
    }
  }
  const kept = withoutFields(fields, HOP_BY_HOP)
  return named === undefined ? kept : withoutFields(kept, named)
}

/**
 * What a recipient would have to have known before the body: framing, routing, authentication, cookies, caching and
 * how to read the content (RFC 9110 §6.5.1).
 */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...ESSENTIALS,
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
    const name = trailers[at].toLowerCase()
    if (!NOT_IN_TRAILERS.has(name) && !name.startsWith('x-forwarded-')) kept.push(trailers[at], trailers[at + 1])
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
  return listElements(value).some((element) => isNamed(element, lowerToken))
}

/** The parts between `separator`s, trimmed; separators within a quoted string do not count. */
export function splitOutsideQuotes(value: string, separator: string): string[] {
  if (!value.includes(separator)) return [trimBlanks(value)]
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

/** Undefined if the value does not begin with `type/subtype` (RFC 9110 §8.3.1). Of two charsets the first counts. */
export function parseMediaType(value: string): MediaType | undefined {
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
