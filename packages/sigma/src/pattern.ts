/**
 * Text values with wildcards, and the rules of the backslash.
 *
 * A pattern is tested against the whole value: `*` takes any text, `?` one character (a code point).
 */

export const ANY_TEXT = 0
export const ANY_CHARACTER = 1
export type PatternPart = string | typeof ANY_TEXT | typeof ANY_CHARACTER

/** INVARIANT: no two texts and no two `ANY_TEXT` side by side, no empty text. */
export type Pattern = readonly PatternPart[]

/**
 * Reads a value as Sigma writes it. A backslash escapes `*`, `?` and a backslash and stands for itself before anything
 * else and at the end: `\*` is a star, `\\*` a backslash and a wildcard, `\\\*` a backslash and a star, `\\\\` two
 * backslashes, `\a` is `\a`.
 */
export function parsePatternText(text: string): Pattern {
  const parts: PatternPart[] = []
  let literal = ''
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '\\') {
      const next = text[at + 1]
      if (next === '*' || next === '?' || next === '\\') {
        literal += next
        at++
      } else literal += '\\'
    } else if (character === '*' || character === '?') {
      if (literal !== '') parts.push(literal)
      literal = ''
      parts.push(character === '*' ? ANY_TEXT : ANY_CHARACTER)
    } else literal += character
  }
  if (literal !== '') parts.push(literal)
  return joinParts(parts)
}

/** Restores the invariant after parts were put together. */
export function joinParts(parts: readonly PatternPart[]): Pattern {
  const joined: PatternPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part === '') continue
    if (typeof part === 'string' && typeof last === 'string') joined[joined.length - 1] = last + part
    else if (part !== ANY_TEXT || last !== ANY_TEXT) joined.push(part)
  }
  return joined
}

/** The text of a pattern without wildcards; undefined when it has some. */
export function plainText(pattern: Pattern): string | undefined {
  if (pattern.length === 0) return ''
  return pattern.length === 1 && typeof pattern[0] === 'string' ? pattern[0] : undefined
}

/** A run of texts and single-character wildcards between two `*`. */
type Segment = readonly (string | typeof ANY_CHARACTER)[]

export interface WildcardTest {
  readonly segments: readonly Segment[]
  /** The first segment stands at the beginning, the last one at the end. */
  readonly anchoredStart: boolean
  readonly anchoredEnd: boolean
}

export function compileWildcards(pattern: Pattern): WildcardTest {
  const segments: (string | typeof ANY_CHARACTER)[][] = [[]]
  for (const part of pattern) {
    if (part === ANY_TEXT) segments.push([])
    else segments[segments.length - 1].push(part)
  }
  return {
    segments: segments.filter((segment) => segment.length > 0),
    anchoredStart: pattern[0] !== ANY_TEXT,
    anchoredEnd: pattern.at(-1) !== ANY_TEXT,
  }
}

/**
 * Whether a text matches; `text` and the pattern are both folded or both not. Each segment is taken at its first place,
 * so the cost is O(text) for texts without `?` and O(text × segment) at worst.
 */
export function matchesWildcards(test: WildcardTest, text: string): boolean {
  const { segments, anchoredStart, anchoredEnd } = test
  if (segments.length === 0) return !anchoredStart || text === ''
  let from = 0
  let first = 0
  let last = segments.length
  if (anchoredStart) {
    from = endOfSegment(segments[0], text, 0)
    if (from < 0) return false
    first = 1
    if (last === 1) return !anchoredEnd || from === text.length
  }
  let end = text.length
  if (anchoredEnd) {
    last--
    end = startOfLastSegment(segments[last], text)
    if (end < from) return false
  }
  for (let index = first; index < last; index++) {
    from = findSegment(segments[index], text, from, end)
    if (from < 0) return false
  }
  return true
}

/** End of the segment when it stands at `at`, or -1. */
function endOfSegment(segment: Segment, text: string, at: number): number {
  for (const part of segment) {
    if (part === ANY_CHARACTER) {
      if (at >= text.length) return -1
      at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
    } else {
      if (!text.startsWith(part, at)) return -1
      at += part.length
    }
  }
  return at
}

/** Where the segment begins that ends with the text, or -1. */
function startOfLastSegment(segment: Segment, text: string): number {
  let at = text.length
  for (let index = segment.length - 1; index >= 0; index--) {
    const part = segment[index]
    if (part === ANY_CHARACTER) {
      if (at <= 0) return -1
      at -= at >= 2 && (text.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1
    } else {
      at -= part.length
      if (at < 0 || !text.startsWith(part, at)) return -1
    }
  }
  return at
}

/** End of the first occurrence from `from` on that ends at or before `limit`, or -1. */
function findSegment(segment: Segment, text: string, from: number, limit: number): number {
  const lead = segment[0]
  for (let at = from; at <= limit; at++) {
    if (lead !== ANY_CHARACTER) {
      at = text.indexOf(lead, at)
      if (at < 0 || at > limit) return -1
    } else if (isLowHalf(text, at)) continue
    const end = endOfSegment(segment, text, at)
    if (end >= 0 && end <= limit) return end
  }
  return -1
}

/** Inside a surrogate pair. */
function isLowHalf(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff
}
