import type { AssertionKind, CodePointRanges, PatternError } from './ast.ts'
import { negateRanges, universeOf } from './class-set.ts'
import { escapedClass } from './named-classes.ts'
import {
  accept,
  caseClosure,
  END,
  errorAt,
  hex,
  isAsciiLetter,
  isDigit,
  isOctalDigit,
  isSurrogate,
  looksAt,
  type PatternSource,
  textBetween,
} from './pattern-source.ts'
import { propertyRanges } from './unicode.ts'

/** What one escape stands for. A `set` has its case forms already. */
export type Escape =
  | { readonly kind: 'point'; readonly point: number }
  | { readonly kind: 'set'; readonly ranges: CodePointRanges }
  | { readonly kind: 'assert'; readonly assertion: AssertionKind }

const CONTROL_ESCAPES: ReadonlyMap<string, number> = new Map([
  ['t', 0x09],
  ['n', 0x0a],
  ['r', 0x0d],
  ['f', 0x0c],
  ['a', 0x07],
  ['e', 0x1b],
])

const ASSERTIONS: ReadonlyMap<string, AssertionKind> = new Map([
  ['A', 'textStart'],
  ['z', 'textEnd'],
  ['b', 'wordBoundary'],
  ['B', 'notWordBoundary'],
])

/** Escapes of other engines that mean something else than a character: reason and what to write. */
const REFUSED_ESCAPES: ReadonlyMap<string, readonly [message: string, hint: string]> = new Map([
  ['Z', ['\\Z is not supported', 'write (?-m:$), which also holds before a final line break']],
  ['G', ['\\G is not supported: a match does not depend on where the one before ended', 'remove it']],
  [
    'K',
    [
      '\\K is not supported',
      'put what comes before into a group and repeat it in the replacement: (before)after -> $1...',
    ],
  ],
  ['R', ['\\R is not supported', 'write (?:\\r\\n|\\v)']],
  ['X', ['\\X is not supported: grapheme clusters are not matched as units', 'write the characters that can occur']],
  ['k', ['a back-reference cannot be matched in linear time', 'write what the group can match once more']],
  ['g', ['a back-reference cannot be matched in linear time', 'write what the group can match once more']],
  ['Q', ['\\Q is not supported', 'write a backslash before each special character, or use a text rule']],
  ['E', ['\\E is not supported', 'remove it']],
  ['L', ['case changes in a pattern are not supported', 'write the letters as they are to match, or use (?i:...)']],
  ['U', ['case changes in a pattern are not supported', 'write the letters as they are to match, or use (?i:...)']],
  ['F', ['case changes in a pattern are not supported', 'write the letters as they are to match, or use (?i:...)']],
  ['l', ['case changes in a pattern are not supported', 'write the letter as it is to match, or use (?i:...)']],
  ['u', ['\\u is not supported', 'write \\x{...} with the hexadecimal code point']],
])

/** Reads the escape whose backslash is at `source.at`. */
export function readEscape(source: PatternSource, inClass: boolean): Escape {
  const start = source.at
  const point = source.points[start + 1]
  if (point === END) {
    throw errorAt(source, start, 'E_PATTERN_SYNTAX', 'the pattern ends after a backslash', 'write \\\\ for a backslash')
  }
  source.at += 2
  if (isDigit(point)) return { kind: 'point', point: readDigitEscape(source, start, inClass) }
  if (!isAsciiLetter(point)) return { kind: 'point', point }
  const letter = String.fromCharCode(point)

  const control = CONTROL_ESCAPES.get(letter)
  if (control !== undefined) return { kind: 'point', point: control }
  const named = escapedClass(letter.toLowerCase(), source.mode, source.nginx)
  if (named !== undefined) return set(letter === letter.toLowerCase() ? named : negateRanges(named, source.mode))
  switch (letter) {
    case 'x':
      return { kind: 'point', point: readHexEscape(source, start) }
    case 'o':
      return { kind: 'point', point: readOctalBraces(source, start) }
    case 'c':
      return { kind: 'point', point: readControl(source, start) }
    case 'p':
    case 'P':
      return set(readProperty(source, start, letter === 'P'))
    default:
  }
  if (inClass) {
    if (letter === 'b') return { kind: 'point', point: 0x08 }
  } else {
    const assertion = ASSERTIONS.get(letter)
    if (assertion !== undefined) return { kind: 'assert', assertion }
    if (letter === 'N') return set(readNotNewline(source, start))
    if (letter === 'C' && source.nginx) return set(universeOf(source.mode))
  }
  const refused = REFUSED_ESCAPES.get(letter)
  if (refused !== undefined) throw errorAt(source, start, 'E_PATTERN_UNSUPPORTED', refused[0], refused[1])
  if (source.nginx && !(inClass && letter === 'N')) return { kind: 'point', point }
  throw unknownEscape(source, start, letter, inClass)
}

function set(ranges: CodePointRanges): Escape {
  return { kind: 'set', ranges }
}

function unknownEscape(source: PatternSource, start: number, letter: string, inClass: boolean): PatternError {
  if (letter === 'C') {
    return errorAt(
      source,
      start,
      'E_PATTERN_UNSUPPORTED',
      '\\C is not supported: in text mode a match never ends inside a character',
      'write (?s:.), in octet mode it matches any octet',
    )
  }
  if (inClass && (letter === 'N' || ASSERTIONS.has(letter))) {
    return errorAt(
      source,
      start,
      'E_PATTERN_SYNTAX',
      `\\${letter} has no meaning in a class`,
      letter === 'N' ? 'write [^\\n] or an alternative outside the class' : 'write it outside the class',
    )
  }
  return errorAt(
    source,
    start,
    'E_PATTERN_SYNTAX',
    `unknown escape \\${letter}`,
    `write ${letter} for the letter itself`,
  )
}

/** After `\N`, a brace that is no count is Perl's name of a character. */
function readNotNewline(source: PatternSource, start: number): CodePointRanges {
  const afterBrace = source.points[source.at + 1]
  if (!source.nginx && looksAt(source, source.at, '{') && !isDigit(afterBrace)) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_UNSUPPORTED',
      'characters are not known by name',
      'write \\x{...} with the hexadecimal code point',
    )
  }
  return negateRanges([0x0a, 0x0a], source.mode)
}

/** `source.at` is after the first digit. */
function readDigitEscape(source: PatternSource, start: number, inClass: boolean): number {
  const first = source.points[start + 1]
  if (source.nginx && isOctalDigit(first)) return readOctalDigits(source, start, inClass)
  if (first === 0x30) {
    if (!isDigit(source.points[source.at])) return 0
    throw errorAt(
      source,
      start,
      'E_PATTERN_SYNTAX',
      'octal numbers are written in braces',
      'write \\o{12} or \\x0A; a NUL before a digit is \\x00',
    )
  }
  if (inClass) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_SYNTAX',
      'a number of a character is octal in braces or hexadecimal',
      'write \\o{101} or \\x41; a class cannot hold a back-reference',
    )
  }
  throw errorAt(
    source,
    start,
    'E_PATTERN_UNSUPPORTED',
    'a back-reference cannot be matched in linear time',
    'write what the group can match once more; a character by its number is \\o{12} or \\x0A',
  )
}

/**
 * nginx only. Up to three digits. One digit other than 0 is a back-reference outside a class, as in the engine that
 * this mode follows.
 */
function readOctalDigits(source: PatternSource, start: number, inClass: boolean): number {
  while (source.at < start + 4 && isOctalDigit(source.points[source.at])) source.at++
  const value = Number.parseInt(textBetween(source, start + 1, source.at), 8)
  if (value > 0xff) {
    throw errorAt(source, start, 'E_PATTERN_SYNTAX', 'an octal number goes up to \\377', 'write at most \\377')
  }
  if (!inClass && value > 0 && source.at === start + 2) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_UNSUPPORTED',
      'a back-reference cannot be matched in linear time',
      'write what the group can match once more',
    )
  }
  return value
}

/** `\xHH` and `\x{H..}`; `source.at` is after the `x`. */
function readHexEscape(source: PatternSource, start: number): number {
  if (source.points[source.at] === 0x7b) return readBracedNumber(source, start, 16)
  const from = source.at
  while (source.at < from + 2 && hexValue(source.points[source.at]) >= 0) source.at++
  if (source.at < from + 2 && !source.nginx) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_SYNTAX',
      '\\x needs two hexadecimal digits',
      'write \\x0A, or \\x{...} for any other number of digits',
    )
  }
  return source.at === from ? 0 : Number.parseInt(textBetween(source, from, source.at), 16)
}

function readOctalBraces(source: PatternSource, start: number): number {
  if (source.points[source.at] === 0x7b) return readBracedNumber(source, start, 8)
  throw errorAt(source, start, 'E_PATTERN_SYNTAX', '\\o needs a number in braces', 'write \\o{12}')
}

/** The number in the braces that open at `source.at`. In nginx mode empty braces are NUL. */
function readBracedNumber(source: PatternSource, start: number, radix: 8 | 16): number {
  const letter = radix === 8 ? 'o' : 'x'
  const digits = radix === 8 ? 'octal' : 'hexadecimal'
  source.at++
  const from = source.at
  const limit = source.mode === 'text' ? 0x10ffff : 0xff
  let value = 0
  for (;;) {
    const digit = hexValue(source.points[source.at])
    if (digit < 0 || digit >= radix) break
    // Saturates, so that any number of digits is safe.
    value = Math.min(value * radix + digit, limit + 1)
    source.at++
  }
  if (source.points[source.at] !== 0x7d || (source.at === from && !source.nginx)) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_SYNTAX',
      `\\${letter}{ needs ${digits} digits and a closing brace`,
      `write \\${letter}{${radix === 8 ? '12' : 'A'}}`,
    )
  }
  source.at++
  if (value > limit) {
    throw source.mode === 'text'
      ? errorAt(source, start, 'E_PATTERN_SYNTAX', 'the last code point is U+10FFFF', `write at most \\x{10FFFF}`)
      : errorAt(
          source,
          start,
          'E_PATTERN_SYNTAX',
          `an octet goes up to ${radix === 8 ? '377' : 'FF'}`,
          'write the octets of the character, or use text mode',
        )
  }
  if (source.mode === 'text' && isSurrogate(value)) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_SYNTAX',
      `U+${hex(value)} is a surrogate, not a character`,
      'write the code point that the pair of surrogates stands for',
    )
  }
  return value
}

/** -1 for what is no digit of base 16. */
function hexValue(point: number): number {
  if (isDigit(point)) return point - 0x30
  const lower = point | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** `\cK`: control character of a letter or of one of `@[\]^_?`. nginx mode takes any octet, as the engine does. */
function readControl(source: PatternSource, start: number): number {
  const point = source.points[source.at]
  const upper = point >= 0x61 && point <= 0x7a ? point - 32 : point
  const valid = source.nginx ? point > 0 && point <= 0xff : (upper >= 0x40 && upper <= 0x5f) || upper === 0x3f
  if (!valid) {
    throw errorAt(source, start, 'E_PATTERN_SYNTAX', '\\c needs a letter or one of @[\\]^_?', 'write \\cA to \\cZ')
  }
  source.at++
  return upper ^ 0x40
}

/** `\pL`, `\p{..}` and their negations, with case forms; `source.at` is after the letter. */
function readProperty(source: PatternSource, start: number, negatedByLetter: boolean): CodePointRanges {
  if (source.mode !== 'text') {
    throw errorAt(
      source,
      start,
      'E_PATTERN_UNSUPPORTED',
      'Unicode properties need text mode',
      'use text mode, or write the octets in a class',
    )
  }
  const braced = accept(source, '{')
  const from = source.at
  if (source.points[from] === END) {
    throw errorAt(source, start, 'E_PATTERN_SYNTAX', '\\p needs the name of a property', 'write \\p{Lu}')
  }
  let to = from + 1
  if (braced) {
    to = from
    while (source.points[to] !== 0x7d && source.points[to] !== END) to++
    if (source.points[to] === END) {
      throw errorAt(source, start, 'E_PATTERN_SYNTAX', 'the property name has no closing brace', 'write \\p{Lu}')
    }
  }
  source.at = braced ? to + 1 : to
  const negatedByCaret = source.points[from] === 0x5e
  const text = textBetween(source, negatedByCaret ? from + 1 : from, to)
  const key = `${source.flags.i ? 'i' : ''}:${text}`
  const closed = source.propertySets.get(key) ?? caseClosure(source, lookUpProperty(source, start, text))
  source.propertySets.set(key, closed)
  return negatedByLetter === negatedByCaret ? closed : negateRanges(closed, source.mode)
}

function lookUpProperty(source: PatternSource, start: number, text: string): CodePointRanges {
  const [name, value, ...rest] = text.split(/[=:]/)
  const ranges = rest.length > 0 ? undefined : propertyRanges(name, value)
  if (ranges !== undefined) return ranges
  throw errorAt(
    source,
    start,
    'E_PATTERN_SYNTAX',
    `unknown Unicode property ${text}`,
    'write a general category (Lu), a script (Greek, Script=Greek) or a binary property (Alphabetic)',
  )
}
