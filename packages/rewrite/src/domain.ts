/**
 * `domain` rules: one host name for another in whatever form a page writes it.
 *
 * Only the name itself is matched and replaced; scheme, port, path and the way separators are escaped stay as they
 * came. What makes it safe are its edges. Left: the start of the body, a byte that no host name holds, or an escape
 * that stands for one such byte (`%2F`, `%252F`, `\u002f`: their last byte is a letter or digit). Right: the end or a
 * byte that no host name holds, where a `.` counts as part of a name only when a label follows.
 *
 * A name with letters beyond ASCII has several spellings, and each label may use its own: `xn--` (the only one that
 * headers and most links use), the letters themselves, and the letters as JSON, URLs and HTML escape them.
 */
import { decodeLatin1 } from '@prexy/bytes/latin1'
import { encodeUtf8 } from '@prexy/bytes/utf8'
import type { CodePointRanges, Node, PatternMode } from '@prexy/regex/ast'
import { isHostByte } from '@prexy/regex/context'
import type { ProgramNode } from '@prexy/regex/program'
import { unicodeCaseClosure } from '@prexy/regex/unicode'
import { joinBytes } from './filters.ts'
import type { HostName } from './host-name.ts'
import type { DomainRule } from './rules.ts'
import { fixedTemplate, type Template, templateOf } from './template.ts'

/** RFC 1035 §2.3.4. */
const MAX_LABEL_BYTES = 63
/** Labels before the name that `subdomains: map` takes away; deeper names lose only these. */
const MAX_SUBDOMAIN_LABELS = 8

const NO_SPAN = { start: 0, end: 0 }
const LABEL_BYTES: CodePointRanges = [0x2d, 0x2d, 0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
const DOT: CodePointRanges = [0x2e, 0x2e]
const MAX_ASCII = 0x7f

/** The tree of a domain rule; to be compiled with `hostEnd`. */
export function domainNode(host: HostName, subdomains: DomainRule['subdomains'], mode: PatternMode): ProgramNode {
  const name = nameNode(host, mode)
  if (subdomains !== 'map') {
    const assertion = subdomains === 'keep' ? 'hostStartOrSubdomain' : 'hostStart'
    return { kind: 'sequence', nodes: [{ kind: 'hostEdge', assertion }, name] }
  }
  const label = repeat({ kind: 'class', ranges: LABEL_BYTES, span: NO_SPAN }, 1, MAX_LABEL_BYTES)
  const labelDot = concat([label, { kind: 'class', ranges: DOT, span: NO_SPAN }])
  // An escape's letters look like the beginning of a label: the match takes them along, and `escapeBytes` keeps them.
  const escapeSign = repeat({ kind: 'class', ranges: ESCAPE_SIGNS, span: NO_SPAN }, 0, 1)
  return {
    kind: 'sequence',
    nodes: [escapeSign, { kind: 'hostEdge', assertion: 'hostStart' }, repeat(labelDot, 0, MAX_SUBDOMAIN_LABELS), name],
  }
}

/** What replaces a name: `to` in the spelling that was found, where there is a choice. */
export function domainTemplate(from: HostName, to: HostName, subdomains: DomainRule['subdomains']): Template {
  const hasChoice = from.ascii !== from.unicode && to.ascii !== to.unicode
  if (subdomains !== 'map') {
    return hasChoice ? templateOf([{ kind: 'derived', derive: spellingOf(to) }]) : fixedTemplate(encodeUtf8(to.ascii))
  }
  const ascii = encodeUtf8(to.ascii)
  const spell = hasChoice ? spellingOf(to) : (): Uint8Array => ascii
  const derive = (match: Uint8Array): Uint8Array => {
    const kept = escapeBytes(match)
    return joinBytes([match.subarray(0, kept), spell(match.subarray(kept))])
  }
  return templateOf([{ kind: 'derived', derive }])
}

/** How many bytes at the beginning of a match are an escape for something that is no part of a name. */
function escapeBytes(match: Uint8Array): number {
  if (match[0] !== PERCENT && match[0] !== BACKSLASH) return 0
  const found = ESCAPE.exec(decodeLatin1(match, 0, Math.min(match.length, MAX_ESCAPE_BYTES)))
  if (found === null) return 1
  const value = Number.parseInt(found[1] ?? found[2] ?? '0', 16)
  return isHostByte(value) ? 0 : found[0].length
}

/** `%2f`, `%252f`, `\u002f`, `\x2f`, `\n`. */
const ESCAPE = /^(?:%(?:25)?([0-9a-f]{2})|\\(?:u00|x)([0-9a-f]{2})|\\[bfnrtv])/i
const MAX_ESCAPE_BYTES = 6
const ESCAPE_SIGNS: CodePointRanges = [0x25, 0x25, 0x5c, 0x5c]

/** A function from a match to `to` in the same spelling. */
function spellingOf(to: HostName): (match: Uint8Array) => Uint8Array {
  const ascii = encodeUtf8(to.ascii)
  const spelled = (spell: (point: number) => string): Uint8Array =>
    encodeUtf8(
      Array.from(to.unicode, (character) => {
        const point = character.codePointAt(0) ?? 0
        return point <= MAX_ASCII ? character : spell(point)
      }).join(''),
    )
  const unicode = encodeUtf8(to.unicode)
  const json = spelled(jsonSpelling)
  const percent = spelled((point) => percentSpelling(point).toUpperCase())
  const decimal = spelled((point) => `&#${point};`)
  const hexadecimal = spelled((point) => `&#x${point.toString(16)};`)
  return (match) => {
    if (match.some((byte) => byte > MAX_ASCII)) return unicode
    if (match.includes(BACKSLASH)) return json
    if (match.includes(PERCENT)) return percent
    const reference = match.indexOf(NUMBER_SIGN)
    if (reference < 0) return ascii
    return (match[reference + 1] | 0x20) === LOWER_X ? hexadecimal : decimal
  }
}

const BACKSLASH = 0x5c
const PERCENT = 0x25
const NUMBER_SIGN = 0x23
const LOWER_X = 0x78

function nameNode(host: HostName, mode: PatternMode): Node {
  const unicodeLabels = host.unicode.split('.')
  const labels = host.ascii.split('.').map((ascii, index) => {
    const unicode = unicodeLabels[index]
    const asciiNode = concat([...ascii].map(caselessLetter))
    if (ascii === unicode) return asciiNode
    return alternate([asciiNode, concat(Array.from(unicode, (character) => anySpelling(character, mode)))])
  })
  return concat(labels.flatMap((label, index) => (index === 0 ? [label] : [caselessLetter('.'), label])))
}

function anySpelling(character: string, mode: PatternMode): Node {
  const point = character.codePointAt(0) ?? 0
  if (point <= MAX_ASCII) return caselessLetter(character)
  const ranges = unicodeCaseClosure([point, point])
  const points: number[] = []
  for (let i = 0; i < ranges.length; i += 2) for (let each = ranges[i]; each <= ranges[i + 1]; each++) points.push(each)
  return alternate(
    points.flatMap((each) => [
      letterNode(each, mode),
      literal(jsonSpelling(each)),
      literal(percentSpelling(each)),
      literal(`&#${each};`),
      literal(`&#x${each.toString(16)};`),
    ]),
  )
}

/** `\u00fc`, two of them for a character beyond U+FFFF. */
function jsonSpelling(point: number): string {
  const text = String.fromCodePoint(point)
  return Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join(
    '',
  )
}

function percentSpelling(point: number): string {
  const octets = encodeUtf8(String.fromCodePoint(point))
  return Array.from(octets, (octet) => `%${octet.toString(16).padStart(2, '0')}`).join('')
}

function letterNode(point: number, mode: PatternMode): Node {
  const units = mode === 'text' ? [point] : Array.from(encodeUtf8(String.fromCodePoint(point)))
  return concat(units.map((unit): Node => ({ kind: 'class', ranges: [unit, unit], span: NO_SPAN })))
}

function literal(text: string): Node {
  return concat([...text].map(caselessLetter))
}

function concat(nodes: readonly Node[]): Node {
  return { kind: 'concat', nodes, span: NO_SPAN }
}

function alternate(nodes: readonly Node[]): Node {
  return { kind: 'alternate', nodes, span: NO_SPAN }
}

function repeat(node: Node, min: number, max: number): Node {
  return { kind: 'repeat', min, max, greedy: true, node, span: NO_SPAN }
}

/** ASCII letters in either case; nothing beyond ASCII has a place here, so `k` is not the Kelvin sign. */
function caselessLetter(character: string): Node {
  const lower = character.toLowerCase().charCodeAt(0)
  const upper = character.toUpperCase().charCodeAt(0)
  const ranges = lower === upper ? [lower, lower] : [upper, upper, lower, lower]
  return { kind: 'class', ranges, span: NO_SPAN }
}
