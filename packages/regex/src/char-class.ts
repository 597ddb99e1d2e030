import type { CodePointRanges } from './ast.ts'
import { canonicalRanges, negateRanges, subtractRanges, unionRanges } from './class-set.ts'
import { readEscape } from './escapes.ts'
import { POSIX_CLASSES } from './named-classes.ts'
import { caseClosure, END, errorAt, isAsciiLetter, looksAt, type PatternSource, textBetween } from './pattern-source.ts'
import { asciiCaseClosure } from './unicode.ts'

/** One member of a class: a character, which may begin a range, or a set that is complete already. */
type ClassItem =
  | { readonly kind: 'point'; readonly point: number }
  | { readonly kind: 'set'; readonly ranges: CodePointRanges }

const HYPHEN = 0x2d

/**
 * Reads the class whose bracket is at `source.at`.
 *
 * INVARIANT: characters and ranges get their case forms before the class is negated, so `(?i)[^k]` matches neither
 * `K` nor U+212A. Sets (`\w`, `[:upper:]`, `\p{..}`) bring their own: those that are ASCII by definition stay ASCII.
 */
export function readClass(source: PatternSource): CodePointRanges {
  const start = source.at
  refusePosixClassWithoutBrackets(source)
  source.at++
  const negated = source.points[source.at] === 0x5e
  if (negated) source.at++
  const folding: number[] = []
  let complete: CodePointRanges = []
  const add = (item: ClassItem): void => {
    if (item.kind === 'point') folding.push(item.point, item.point)
    else complete = unionRanges(complete, item.ranges)
  }

  // A bracket that closes nothing yet is a member.
  for (let first = true; first || source.points[source.at] !== 0x5d; first = false) {
    const lowStart = source.at
    const low = readItem(source, start)
    if (!startsRange(source)) {
      add(low)
      continue
    }
    const hyphen = source.at
    source.at++
    const high = readItem(source, start)
    if (low.kind === 'point' && high.kind === 'point') {
      if (low.point > high.point) {
        throw errorAt(
          source,
          lowStart,
          'E_PATTERN_SYNTAX',
          `the range ${textBetween(source, lowStart, source.at)} runs backwards`,
          'write the smaller end first, or \\- for a hyphen',
        )
      }
      folding.push(low.point, high.point)
    } else if (source.nginx) {
      add(low)
      add({ kind: 'point', point: HYPHEN })
      if (low.kind === 'point') add(high)
      // Perl goes on after the hyphen: in [\d-a-z] the rest is a range of its own.
      else source.at = hyphen + 1
    } else {
      throw errorAt(
        source,
        lowStart,
        'E_PATTERN_SYNTAX',
        'a class cannot be the end of a range',
        'write \\- for a hyphen',
      )
    }
  }
  source.at++
  const all = unionRanges(caseClosure(source, withoutSurrogates(source, folding)), complete)
  return negated ? negateRanges(all, source.mode) : all
}

function withoutSurrogates(source: PatternSource, flat: readonly number[]): CodePointRanges {
  const ranges = canonicalRanges(flat)
  return source.mode === 'text' ? subtractRanges(ranges, [0xd800, 0xdfff]) : ranges
}

/** A hyphen is a member, not a range, before the closing bracket. */
function startsRange(source: PatternSource): boolean {
  const next = source.points[source.at + 1]
  return source.points[source.at] === HYPHEN && next !== 0x5d && next !== END
}

function readItem(source: PatternSource, classStart: number): ClassItem {
  const point = source.points[source.at]
  if (point === END) {
    const emptyLooking = looksAt(source, classStart, '[]') || looksAt(source, classStart, '[^]')
    throw errorAt(
      source,
      classStart,
      'E_PATTERN_SYNTAX',
      'the class has no closing bracket',
      emptyLooking ? 'a ] that comes first is a member: [^]] is any other character' : 'write \\[ for a bracket',
    )
  }
  if (point === 0x5b) {
    const posix = readPosixClass(source)
    if (posix !== undefined) return { kind: 'set', ranges: posix }
  }
  if (point !== 0x5c) {
    source.at++
    return { kind: 'point', point }
  }
  const start = source.at
  const escape = readEscape(source, true)
  if (escape.kind === 'assert') throw errorAt(source, start, 'E_PATTERN_SYNTAX', 'a class holds characters only')
  return escape
}

interface PosixName {
  readonly negated: boolean
  readonly name: string
  /** Index after the closing bracket. */
  readonly end: number
}

/** `[:name:]` or `[:^name:]` at `index`; anything else that begins with `[:` is ordinary characters, as in Perl. */
function posixNameAt(source: PatternSource, index: number): PosixName | undefined {
  if (!looksAt(source, index, '[:')) return undefined
  const negated = source.points[index + 2] === 0x5e
  const from = negated ? index + 3 : index + 2
  let to = from
  while (isAsciiLetter(source.points[to])) to++
  if (to === from || !looksAt(source, to, ':]')) return undefined
  return { negated, name: textBetween(source, from, to), end: to + 2 }
}

function readPosixClass(source: PatternSource): CodePointRanges | undefined {
  refuseCollation(source)
  const posix = posixNameAt(source, source.at)
  if (posix === undefined) return undefined
  const ranges = POSIX_CLASSES.get(posix.name)
  if (ranges === undefined) {
    throw errorAt(
      source,
      source.at,
      'E_PATTERN_SYNTAX',
      `unknown POSIX class ${posix.name}`,
      `write one of ${[...POSIX_CLASSES.keys()].join(' ')}`,
    )
  }
  source.at = posix.end
  const closed = source.flags.i ? asciiCaseClosure(ranges) : ranges
  return posix.negated ? negateRanges(closed, source.mode) : closed
}

/** `[.x.]`, `[=x=]` and the like are reserved in POSIX and Perl; in nginx mode they are ordinary characters. */
function refuseCollation(source: PatternSource): void {
  if (source.nginx) return
  for (const mark of ['.', '=']) {
    if (!looksAt(source, source.at, `[${mark}`) || source.points[source.at + 2] === 0x5d) continue
    let end = source.at + 3
    while (isAsciiLetter(source.points[end]) || source.points[end] === HYPHEN) end++
    if (!looksAt(source, end, `${mark}]`)) continue
    throw errorAt(
      source,
      source.at,
      'E_PATTERN_UNSUPPORTED',
      'collating elements and equivalence classes are not supported',
      'write \\[ for a bracket',
    )
  }
}

function refusePosixClassWithoutBrackets(source: PatternSource): void {
  const posix = source.nginx ? undefined : posixNameAt(source, source.at)
  if (posix === undefined) return
  throw errorAt(
    source,
    source.at,
    'E_PATTERN_SYNTAX',
    'a POSIX class stands inside a class',
    `write [[:${posix.negated ? '^' : ''}${posix.name}:]]`,
  )
}
