/**
 * Filters of templates (`${1|upper}`), and what keeps a client's text from becoming markup where it lands.
 *
 * All work on bytes. In text mode `upper`, `lower` and `json` read UTF-8 and leave every byte that is not as it is; in
 * octet mode they know ASCII only.
 */
import { decodeUtf8, encodeUtf8, stepUtf8 } from '@prexy/bytes/utf8'

export const FILTER_NAMES = ['upper', 'lower', 'url', 'html', 'json', 'base64', 'raw'] as const

export type FilterName = (typeof FILTER_NAMES)[number]

/** What a response's text is read as, as far as escaping goes. */
export type Landing =
  /** HTML, XML and SVG. */
  | 'markup'
  | 'script'
  | 'json'
  /** Anything else that is known: plain text, style sheets. */
  | 'plain'
  /** No type, or one that says nothing: a browser may take it for HTML. */
  | 'unknown'

export interface FilterContext {
  readonly mode: 'text' | 'octet'
  readonly landing: Landing
}

/**
 * `mediaType`: `type/subtype`, any letter case, parameters allowed; undefined or empty when there is none.
 *
 * SECURITY: a comma tells of several types, of which browsers take the last, others the first.
 */
export function landingOf(mediaType: string | undefined): Landing {
  if (mediaType?.includes(',')) return 'unknown'
  const essence = (mediaType ?? '').split(';', 1)[0].trim().toLowerCase()
  if (!MEDIA_TYPE.test(essence) || SNIFFED_TYPES.includes(essence) || essence.startsWith('multipart/')) return 'unknown'
  const subtype = essence.slice(essence.indexOf('/') + 1)
  if (subtype === 'html' || subtype === 'xml' || subtype === 'xsl' || subtype.endsWith('+xml')) return 'markup'
  if (/^(?:x-)?(?:java|ecma|j|live)script/.test(subtype)) return 'script'
  if (subtype === 'json' || subtype.endsWith('+json') || subtype === 'importmap') return 'json'
  return 'plain'
}

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+$/
/** MIME Sniffing Standard §7: as good as no type. */
const SNIFFED_TYPES: readonly string[] = ['unknown/unknown', 'application/unknown', '*/*']

export function applyFilters(bytes: Uint8Array, filters: readonly FilterName[], context: FilterContext): Uint8Array {
  return filters.reduce((text, filter) => applyFilter(text, filter, context), bytes)
}

function applyFilter(bytes: Uint8Array, filter: FilterName, context: FilterContext): Uint8Array {
  switch (filter) {
    case 'upper':
    case 'lower':
      return changeCase(bytes, filter, context.mode)
    case 'url':
      return substitute(bytes, URL_FORMS)
    case 'html':
      return substitute(bytes, HTML_FORMS)
    case 'json':
      return escapeJson(bytes, context)
    case 'base64':
      return encodeBase64(bytes)
    case 'raw':
      return bytes
  }
}

/**
 * A value that the client chose, after its filters: escaped for where it lands unless a filter has seen to that or
 * `raw` says not to. Control characters other than tab never pass.
 */
export function protect(bytes: Uint8Array, filters: readonly FilterName[], context: FilterContext): Uint8Array {
  if (filters.includes('raw')) return bytes
  const last = filters.at(-1)
  if (last === 'url' || last === 'base64') return bytes
  const { landing } = context
  if (landing === 'json' || landing === 'script') return last === 'json' ? bytes : escapeJson(bytes, context)
  if (landing === 'plain') return substitute(bytes, CONTROL_FORMS)
  if (last === 'html' || (last === 'json' && landing === 'markup')) return substitute(bytes, CONTROL_FORMS)
  return substitute(substitute(bytes, CONTROL_FORMS), HTML_FORMS)
}

/** What each byte becomes; undefined for itself. */
type Forms = readonly (Uint8Array | undefined)[]

function formsOf(form: (byte: number) => string | undefined): Forms {
  return Array.from({ length: 256 }, (_, byte) => {
    const text = form(byte)
    return text === undefined ? undefined : encodeUtf8(text)
  })
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

function isControl(byte: number): boolean {
  return byte < 0x20 || byte === 0x7f
}

const HTML_NAMES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

const JSON_NAMES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\f', '\\f'],
  ['\r', '\\r'],
])

const HTML_FORMS = formsOf((byte) => HTML_NAMES.get(String.fromCharCode(byte)))
/** RFC 3986 §2.3: all but unreserved characters. */
const URL_FORMS = formsOf((byte) =>
  /[A-Za-z0-9._~-]/.test(String.fromCharCode(byte)) ? undefined : `%${hex(byte, 2).toUpperCase()}`,
)
const CONTROL_FORMS = formsOf((byte) => (isControl(byte) && byte !== 0x09 ? '' : undefined))
/** As `JSON.stringify` writes it. */
const JSON_FORMS = formsOf((byte) => {
  const name = JSON_NAMES.get(String.fromCharCode(byte))
  return name ?? (byte < 0x20 ? `\\u${hex(byte, 4)}` : undefined)
})
/**
 * SECURITY: inside a page or a script the value must end neither its string, whatever quotes that has, nor the script
 * element, nor an attribute, nor begin an expression in a template literal.
 */
const SCRIPT_FORMS = formsOf((byte) => {
  const character = String.fromCharCode(byte)
  return '"\'`<>&$'.includes(character) ? `\\u${hex(byte, 4)}` : encodedText(JSON_FORMS[byte])
})

function encodedText(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : decodeUtf8(bytes)
}

function substitute(bytes: Uint8Array, forms: Forms): Uint8Array {
  let size = 0
  let changed = false
  for (const byte of bytes) {
    const form = forms[byte]
    if (form === undefined) size++
    else {
      size += form.length
      changed = true
    }
  }
  if (!changed) return bytes
  const result = new Uint8Array(size)
  let at = 0
  for (const byte of bytes) {
    const form = forms[byte]
    if (form === undefined) result[at++] = byte
    else {
      result.set(form, at)
      at += form.length
    }
  }
  return result
}

const LINE_SEPARATORS: readonly (readonly [number, Uint8Array])[] = [
  [0xa8, encodeUtf8('\\u2028')],
  [0xa9, encodeUtf8('\\u2029')],
]

function escapeJson(bytes: Uint8Array, { mode, landing }: FilterContext): Uint8Array {
  const forms = landing === 'markup' || landing === 'script' ? SCRIPT_FORMS : JSON_FORMS
  const escaped = substitute(bytes, forms)
  // U+2028 and U+2029 end a line in older JavaScript.
  if (mode === 'octet') return escaped
  const pieces: Uint8Array[] = []
  let from = 0
  for (let at = escaped.indexOf(0xe2); at >= 0; at = escaped.indexOf(0xe2, at + 1)) {
    if (escaped[at + 1] !== 0x80) continue
    const form = LINE_SEPARATORS.find(([last]) => last === escaped[at + 2])?.[1]
    if (form === undefined) continue
    pieces.push(escaped.subarray(from, at), form)
    from = at + 3
  }
  if (from === 0) return escaped
  pieces.push(escaped.subarray(from))
  return joinBytes(pieces)
}

/** ASCII in octet mode; in text mode Unicode's full mapping of every well-formed part, all other bytes as they are. */
export function changeCase(bytes: Uint8Array, to: 'upper' | 'lower', mode: 'text' | 'octet'): Uint8Array {
  if (mode === 'octet' || bytes.every((byte) => byte < 0x80)) {
    const first = to === 'upper' ? 0x61 : 0x41
    return bytes.map((byte) => (byte >= first && byte < first + 26 ? byte ^ 0x20 : byte))
  }
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const start = at
    for (let step = 1; at < bytes.length && step > 0; at += Math.max(step, 0)) step = stepUtf8(bytes, at, bytes.length)
    const text = decodeUtf8(bytes, start, at)
    pieces.push(encodeUtf8(to === 'upper' ? text.toUpperCase() : text.toLowerCase()))
    if (at < bytes.length) pieces.push(bytes.subarray(at, ++at))
  }
  return joinBytes(pieces)
}

const BASE64_DIGITS = encodeUtf8('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
const PAD = 0x3d

/** RFC 4648 §4, padded. */
function encodeBase64(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(PAD)
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const left = bytes.length - from
    const group = (bytes[from] << 16) | ((left > 1 ? bytes[from + 1] : 0) << 8) | (left > 2 ? bytes[from + 2] : 0)
    for (let digit = 0; digit < Math.min(left, 3) + 1; digit++) {
      result[to + digit] = BASE64_DIGITS[(group >> (18 - 6 * digit)) & 0x3f]
    }
  }
  return result
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  let size = 0
  for (const piece of pieces) size += piece.length
  const joined = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
