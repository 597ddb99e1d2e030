import { codePointBytes } from '@prexy/bytes/utf8'
import { type CodePointRanges, PatternError, type PatternErrorCode, type PatternMode } from './ast.ts'
import { asciiCaseClosure, unicodeCaseClosure } from './unicode.ts'

/** Flags of a whole pattern; inline groups such as `(?i-s)` change them for a part of it. */
export interface PatternFlags {
  /** Caseless: Unicode simple case folding in text mode, ASCII in octet mode. */
  readonly i: boolean
  /** `^` and `$` at line breaks too. */
  readonly m: boolean
  /** `.` takes `\n` too. */
  readonly s: boolean
  /** White space and `#` comments between the parts of a pattern are ignored. */
  readonly x: boolean
}

/** Limits of one pattern. Passing one is E_PATTERN_LIMIT. */
export interface PatternLimits {
  /** Octets of the pattern; default 65,536. */
  readonly maxPatternBytes: number
  /** Groups inside groups; default 250, so that later passes may recurse. */
  readonly maxNestingDepth: number
  /** Capturing groups; default 1,000. */
  readonly maxGroups: number
  /** Each number in `{n,m}`; default 1,000, in `compat: 'nginx'` 499. */
  readonly maxRepeatCount: number
  /** Characters and assertions after all counted repetitions are written out; default 100,000. */
  readonly maxExpandedItems: number
  /** Ranges of all classes together; default 250,000. `\p{L}` alone has hundreds. */
  readonly maxClassRanges: number
}

/** Stands after the last character of {@link PatternSource.points}. */
export const END = -1

/** The pattern as characters, with a reading position and the flags in force there. */
export interface PatternSource {
  readonly mode: PatternMode
  readonly nginx: boolean
  readonly limits: PatternLimits
  /** Code points in text mode, octets in octet mode, then {@link END}. */
  readonly points: Int32Array
  /** Octet offset of each of `points`, of {@link END} too. */
  readonly offsets: Int32Array
  /** Index into `points`. */
  at: number
  flags: PatternFlags
  /** Ranges of the classes read so far. */
  classRanges: number
  /** Classes of `\p{..}` read so far, by their text and whether case forms are in. */
  readonly propertySets: Map<string, CodePointRanges>
}

export interface PatternSourceOptions {
  readonly mode: PatternMode
  readonly nginx: boolean
  readonly flags: PatternFlags
  readonly limits: PatternLimits
}

/** Throws a PatternError for text that is too long or has no meaning in the mode. */
export function openPattern(text: string, options: PatternSourceOptions): PatternSource {
  const { mode, limits } = options
  if (text.length > limits.maxPatternBytes) throw patternTooLong(limits)
  const points = new Int32Array(text.length + 1)
  const offsets = new Int32Array(text.length + 1)
  let count = 0
  let offset = 0
  for (let i = 0; i < text.length; ) {
    const point = mode === 'text' ? (text.codePointAt(i) ?? END) : text.charCodeAt(i)
    if (mode === 'octet' && point > 0xff) {
      throw new PatternError(
        'E_PATTERN_SYNTAX',
        offset,
        `U+${hex(point)} is not an octet`,
        'write the octets of the character, for example \\xC3\\xA9, or use text mode',
      )
    }
    if (isSurrogate(point)) {
      throw new PatternError('E_PATTERN_SYNTAX', offset, `U+${hex(point)} is a surrogate, not a character`)
    }
    points[count] = point
    offsets[count] = offset
    count++
    i += point > 0xffff ? 2 : 1
    offset += mode === 'text' ? codePointBytes(point) : 1
  }
  if (offset > limits.maxPatternBytes) throw patternTooLong(limits)
  points[count] = END
  offsets[count] = offset
  return { ...options, points: points.subarray(0, count + 1), offsets, at: 0, classRanges: 0, propertySets: new Map() }
}

function patternTooLong(limits: PatternLimits): PatternError {
  return new PatternError(
    'E_PATTERN_LIMIT',
    limits.maxPatternBytes,
    `the pattern is longer than ${limits.maxPatternBytes} octets`,
    'split it into several rules',
  )
}

/** Builds the error for the character at `index`. */
export function errorAt(
  source: PatternSource,
  index: number,
  code: PatternErrorCode,
  message: string,
  hint?: string,
): PatternError {
  return new PatternError(code, source.offsets[index], message, hint)
}

/** True and past it when the next characters are exactly `text` (ASCII). */
export function accept(source: PatternSource, text: string): boolean {
  if (!looksAt(source, source.at, text)) return false
  source.at += text.length
  return true
}

export function looksAt(source: PatternSource, index: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (source.points[index + i] !== text.charCodeAt(i)) return false
  }
  return true
}

/** The characters `[from, to)` as text, for messages and names. */
export function textBetween(source: PatternSource, from: number, to: number): string {
  return String.fromCodePoint(...source.points.subarray(from, to))
}

/** With flag `x`, goes past white space and comments. */
export function skipIgnored(source: PatternSource): void {
  if (!source.flags.x) return
  for (;;) {
    const point = source.points[source.at]
    if (point === 0x23) {
      while (source.points[source.at] !== END && source.points[source.at] !== 0x0a) source.at++
    } else if (point === 0x20 || (point >= 0x09 && point <= 0x0d)) source.at++
    else return
  }
}

/** The ranges as they are, or with all case forms under flag `i`. */
export function caseClosure(source: PatternSource, ranges: CodePointRanges): CodePointRanges {
  if (!source.flags.i) return ranges
  return source.mode === 'text' ? unicodeCaseClosure(ranges) : asciiCaseClosure(ranges)
}

export function isSurrogate(point: number): boolean {
  return point >= 0xd800 && point <= 0xdfff
}

export function isDigit(point: number): boolean {
  return point >= 0x30 && point <= 0x39
}

export function isOctalDigit(point: number): boolean {
  return point >= 0x30 && point <= 0x37
}

export function isAsciiLetter(point: number): boolean {
  return (point >= 0x41 && point <= 0x5a) || (point >= 0x61 && point <= 0x7a)
}

/** As in U+0041: at least four digits, capitals. */
export function hex(point: number): string {
  return point.toString(16).toUpperCase().padStart(4, '0')
}
