/**
 * Which character encoding a body is in, told by the body's beginning and the response's Content-Type, as browsers do:
 * byte order mark, Content-Type, a declaration in the first 1,024 octets, the type's default (WHATWG HTML §13.2.3, CSS
 * Syntax §3.2, XML appendix F).
 */
import { type Charset, charsetOfLabel, isForeignCharset } from '@prexy/bytes/charset-labels'
import { decodeLatin1 } from '@prexy/bytes/latin1'
import { parseMediaType } from './fields.ts'

/** Octets of a body in which a declaration is looked for. */
export const CHARSET_WINDOW_BYTES = 1_024

export interface DetectedCharset {
  /** `foreign`: one that Content-Type names, that browsers do not know and that is not ASCII-compatible. */
  readonly charset: Charset | 'foreign'
  readonly from: 'mark' | 'content-type' | 'declaration' | 'default'
}

/** How a type declares its encoding, and what holds where it does not. */
interface TypeCharset {
  readonly declares: keyof typeof DECLARATIONS | undefined
  readonly byDefault: Charset
}

/** Tells the encoding of bodies of one Content-Type. */
export class CharsetDetector {
  readonly #declared: Charset | 'foreign' | undefined
  readonly #type: TypeCharset
  readonly #windowBytes: number

  /**
   * `contentType` is the field's value. `windowBytes` is how much of a body may be held until it is known; at most
   * {@link CHARSET_WINDOW_BYTES} are looked at.
   */
  constructor(contentType: string | undefined, windowBytes: number = CHARSET_WINDOW_BYTES) {
    const type = contentType === undefined ? undefined : parseMediaType(contentType)
    const label = type?.charset
    this.#declared =
      label === undefined ? undefined : (charsetOfLabel(label) ?? (isForeignCharset(label) ? 'foreign' : undefined))
    this.#type = typeCharset(type?.essence)
    this.#windowBytes = Math.min(windowBytes, CHARSET_WINDOW_BYTES)
  }

  /**
   * The encoding of a body that begins with `head`, or undefined while more octets could tell. With `isWhole`, or when
   * `head` fills the window, there is always an answer. The answer for a longer head is the same.
   */
  detect(head: Uint8Array, isWhole: boolean): DetectedCharset | undefined {
    const isAll = isWhole || head.length >= this.#windowBytes
    const mark = markOf(head, isAll)
    if (mark === 'undecided') return undefined
    if (mark !== undefined) return { charset: mark, from: 'mark' }
    if (this.#declared !== undefined) return { charset: this.#declared, from: 'content-type' }
    const { declares, byDefault } = this.#type
    const found = declares === undefined ? undefined : declaration(head.subarray(0, this.#windowBytes), declares)
    if (found === 'undecided') return isAll ? { charset: byDefault, from: 'default' } : undefined
    if (found === undefined) return { charset: byDefault, from: 'default' }
    return { charset: found, from: 'declaration' }
  }
}

/** An answer, none whatever follows, or one that what follows may give. */
type Found = Charset | 'undecided' | undefined

function declaration(head: Uint8Array, declares: keyof typeof DECLARATIONS): Found {
  // PERF: a page that declares nothing is not made a string for that.
  if (declares === 'html' && head.length >= 2 && head[1] !== 0 && head[1] !== QUESTION_MARK && !saysCharset(head)) {
    return 'undecided'
  }
  return DECLARATIONS[declares](decodeLatin1(head))
}

const QUESTION_MARK = 0x3f
const CHARSET_WORD: readonly number[] = [...'charset'].map((letter) => letter.charCodeAt(0))
/** By octet: how far the word's end is away at least where that octet stands at the end (Horspool). */
const CHARSET_SHIFT: Uint8Array = new Uint8Array(256).fill(CHARSET_WORD.length)
for (const [at, letter] of CHARSET_WORD.slice(0, -1).entries()) {
  CHARSET_SHIFT[letter] = CHARSET_WORD.length - 1 - at
  CHARSET_SHIFT[letter - 0x20] = CHARSET_WORD.length - 1 - at
}

function saysCharset(head: Uint8Array): boolean {
  const last = CHARSET_WORD.length - 1
  for (let end = last; end < head.length; end += CHARSET_SHIFT[head[end]]) {
    let at = last
    while (at >= 0 && (head[end - last + at] | 0x20) === CHARSET_WORD[at]) at--
    if (at < 0) return true
  }
  return false
}

function typeCharset(essence: string | undefined): TypeCharset {
  if (essence === 'text/html') return { declares: 'html', byDefault: 'windows-1252' }
  if (essence === 'text/plain') return { declares: undefined, byDefault: 'windows-1252' }
  if (essence === 'text/css') return { declares: 'css', byDefault: 'utf-8' }
  if (essence !== undefined && /[/+]xml$/.test(essence)) return { declares: 'xml', byDefault: 'utf-8' }
  return { declares: undefined, byDefault: 'utf-8' }
}

const MARKS: readonly (readonly [Charset, readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
]

function markOf(head: Uint8Array, isAll: boolean): Found {
  // No mark begins with an octet below this one.
  if (head.length > 0 && head[0] < 0xef) return undefined
  for (const [charset, octets] of MARKS) {
    const same = octets.findIndex((octet, at) => head[at] !== octet)
    if (same < 0) return charset
    if (same === head.length && !isAll) return 'undecided'
  }
  return undefined
}

/** UTF-16 said in ASCII cannot be true, and `x-user-defined` is not meant (WHATWG HTML §13.2.3.2). */
function declared(label: string): Charset | undefined {
  const charset = charsetOfLabel(label)
  if (charset === 'utf-16le' || charset === 'utf-16be') return 'utf-8'
  return charset === 'x-user-defined' ? 'windows-1252' : charset
}

const CSS_CHARSET = '@charset "'

const DECLARATIONS = { html: htmlCharset, xml: xmlCharset, css: cssCharset }

function cssCharset(text: string): Found {
  if (!text.startsWith(CSS_CHARSET)) return CSS_CHARSET.startsWith(text) ? 'undecided' : undefined
  const quote = text.indexOf('"', CSS_CHARSET.length)
  if (quote < 0 || quote + 1 === text.length) return 'undecided'
  return text[quote + 1] === ';' ? declared(text.slice(CSS_CHARSET.length, quote)) : undefined
}

const XML_START = '<?xml'
const WIDE_STARTS: readonly (readonly [Charset, string])[] = [
  ['utf-16le', '<\0?\0x\0'],
  ['utf-16be', '\0<\0?\0x'],
]

function xmlCharset(text: string): Found {
  for (const [charset, start] of WIDE_STARTS) {
    if (text.startsWith(start)) return charset
    if (start.startsWith(text)) return 'undecided'
  }
  if (!text.startsWith(XML_START)) return XML_START.startsWith(text) ? 'undecided' : undefined
  const end = text.indexOf('>')
  if (end < 0) return 'undecided'
  const found = /[\t\n\r ]encoding[\t\n\r ]*=[\t\n\r ]*(?:"([^"]*)"|'([^']*)')/.exec(text.slice(0, end))
  return found === null ? undefined : declared(found[1] ?? found[2] ?? '')
}

/** WHATWG HTML §13.2.3.2, "prescan a byte stream to determine its encoding". */
function htmlCharset(text: string): Found {
  const byXml = xmlCharset(text)
  if (byXml !== undefined) return byXml
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf('<', at)
    if (open < 0) return 'undecided'
    if (text.startsWith('<!--', open)) {
      const close = text.indexOf('-->', open + 2)
      if (close < 0) return 'undecided'
      at = close + 3
    } else if (META_TAG.test(text.slice(open, open + 6))) {
      const meta = readMeta(text, open + 5)
      if (meta === undefined) return 'undecided'
      if (meta.charset !== undefined) return meta.charset
      at = meta.end
    } else if (/^<\/?[A-Za-z]/.test(text.slice(open, open + 3))) {
      const end = skipTag(text, open)
      if (end === undefined) return 'undecided'
      at = end
    } else if (/^<[!/?]/.test(text.slice(open, open + 2))) {
      const close = text.indexOf('>', open)
      if (close < 0) return 'undecided'
      at = close + 1
    } else {
      at = open + 1
    }
  }
  return 'undecided'
}

const TAG_NAME = /[^\t\n\f\r >]*/y
const META_TAG = /^<meta[\t\n\f\r /]/i

interface Attribute {
  readonly name: string
  readonly value: string
  readonly end: number
}

/** Undefined where the text ends first. */
function skipTag(text: string, open: number): number | undefined {
  TAG_NAME.lastIndex = open
  const name = TAG_NAME.exec(text)?.[0] ?? ''
  if (open + name.length === text.length) return undefined
  for (let at = open + name.length; ; ) {
    const attribute = readAttribute(text, at)
    if (attribute === undefined) return undefined
    if (attribute.name === '') return attribute.end
    at = attribute.end
  }
}

/** What a `meta` says, from after its name; undefined where the text ends first. */
function readMeta(text: string, from: number): { charset: Charset | undefined; end: number } | undefined {
  const seen = new Set<string>()
  let isPragma = false
  let byContent: Charset | undefined
  let byCharset: Charset | 'bad' | undefined
  for (let at = from; ; ) {
    const attribute = readAttribute(text, at)
    if (attribute === undefined) return undefined
    at = attribute.end
    const { name, value } = attribute
    if (name === '') {
      const charset = byCharset ?? (isPragma ? byContent : undefined)
      return { charset: charset === 'bad' ? undefined : charset, end: at }
    }
    if (seen.has(name)) continue
    seen.add(name)
    if (name === 'http-equiv') isPragma = value === 'content-type'
    else if (name === 'content') byContent = contentCharset(value)
    else if (name === 'charset') byCharset = declared(value) ?? 'bad'
  }
}

/** WHATWG HTML, "extracting a character encoding from a meta element". */
function contentCharset(value: string): Charset | undefined {
  const found = /charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;"'][^\t\n\f\r ;]*))/.exec(value)
  return found === null ? undefined : declared(found[1] ?? found[2] ?? found[3] ?? '')
}

/**
 * WHATWG HTML §13.2.3.2, "get an attribute", in lower case; an empty name where the tag ends, with the place after it.
 * Undefined where the text ends first.
 */
function readAttribute(text: string, from: number): Attribute | undefined {
  const match = (pattern: RegExp, at: number): string => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0] ?? ''
  }
  let at = from + match(BLANKS_AND_SLASHES, from).length
  if (at >= text.length) return undefined
  if (text[at] === '>') return { name: '', value: '', end: at + 1 }
  // The first character may be `=`.
  const name = text[at] + match(ATTRIBUTE_NAME, at + 1)
  at += name.length
  const blanks = match(BLANKS, at).length
  if (at + blanks >= text.length) return undefined
  const lowerName = name.toLowerCase()
  if (text[at + blanks] !== '=') return { name: lowerName, value: '', end: at }
  at += blanks + 1
  at += match(BLANKS, at).length
  if (at >= text.length) return undefined
  const quote = text[at]
  if (quote === '"' || quote === "'") {
    const close = text.indexOf(quote, at + 1)
    return close < 0 ? undefined : { name: lowerName, value: text.slice(at + 1, close).toLowerCase(), end: close + 1 }
  }
  const value = match(UNQUOTED, at)
  const end = at + value.length
  return end >= text.length ? undefined : { name: lowerName, value: value.toLowerCase(), end }
}

const BLANKS_AND_SLASHES = /[\t\n\f\r /]*/y
const BLANKS = /[\t\n\f\r ]*/y
const ATTRIBUTE_NAME = /[^\t\n\f\r />=]*/y
const UNQUOTED = /[^\t\n\f\r >]*/y
