import type { CodePointRanges } from './ast.ts'
import { canonicalRanges, subtractRanges, unionRanges } from './class-set.ts'
import {
  BINARY_PROPERTIES,
  CASE_VARIANTS,
  CATEGORY_NAMES,
  GENERAL_CATEGORY,
  SCRIPT,
  SCRIPT_EXTENSIONS,
  SCRIPT_NAMES,
} from './unicode-tables.ts'

/**
 * What patterns know about Unicode: properties for `\p{..}` and simple case folding. The tables are text and are
 * decoded on first use; nothing is decoded for a rule set that uses neither.
 */

/** Unions of general categories that have names of their own (UAX #44, table 12). */
const CATEGORY_UNIONS: readonly (readonly [short: string, long: string, members: string])[] = [
  ['LC', 'Cased_Letter', 'Lu+Ll+Lt'],
  ['L&', 'Cased_Letter', 'Lu+Ll+Lt'],
  ['L', 'Letter', 'Lu+Ll+Lt+Lm+Lo'],
  ['M', 'Mark', 'Mn+Mc+Me'],
  ['N', 'Number', 'Nd+Nl+No'],
  ['P', 'Punctuation', 'Pc+Pd+Ps+Pe+Pi+Pf+Po'],
  ['S', 'Symbol', 'Sm+Sc+Sk+So'],
  ['Z', 'Separator', 'Zs+Zl+Zp'],
  ['C', 'Other', 'Cc+Cf+Cs+Co+Cn'],
]

const CATEGORY_ALIASES: readonly (readonly [alias: string, members: string])[] = [
  ['punct', 'Pc+Pd+Ps+Pe+Pi+Pf+Po'],
  ['digit', 'Nd'],
  ['cntrl', 'Cc'],
  ['Combining_Mark', 'Mn+Mc+Me'],
]

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Unsigned numbers of five bits a digit, low bits first, 32 marking that more follow. */
function decodeNumbers(text: string): number[] {
  const out: number[] = []
  let value = 0
  let shift = 0
  for (const char of text) {
    const digit = BASE64.indexOf(char)
    value |= (digit & 31) << shift
    if (digit >= 32) shift += 5
    else {
      out.push(value)
      value = 0
      shift = 0
    }
  }
  return out
}

function decodeRanges(text: string): CodePointRanges {
  const out: number[] = []
  let border = 0
  const numbers = decodeNumbers(text)
  for (let i = 0; i < numbers.length; i += 2) {
    const low = border + numbers[i]
    out.push(low, low + numbers[i + 1])
    border = low + numbers[i + 1] + 1
  }
  return out
}

/** Ranges of each value of a partition of all code points. */
function decodePartition(text: string, values: number): CodePointRanges[] {
  const out: number[][] = Array.from({ length: values }, () => [])
  let start = 0
  const numbers = decodeNumbers(text)
  for (let i = 0; i < numbers.length; i += 2) {
    out[numbers[i + 1]].push(start, start + numbers[i] - 1)
    start += numbers[i]
  }
  return out
}

/** What is in exactly one of the two. */
function differenceOf(a: CodePointRanges, b: CodePointRanges): CodePointRanges {
  return unionRanges(subtractRanges(a, b), subtractRanges(b, a))
}

/** Loose matching of names (UAX #44, LM3, without the prefix `is`). */
function looseName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '')
}

interface UnicodeTables {
  /** By loose name, short and long. */
  readonly categories: ReadonlyMap<string, CodePointRanges>
  readonly scripts: ReadonlyMap<string, CodePointRanges>
  readonly scriptExtensions: ReadonlyMap<string, () => CodePointRanges>
  readonly binaries: ReadonlyMap<string, () => CodePointRanges>
}

function decodeTables(): UnicodeTables {
  const categories = new Map<string, CodePointRanges>()
  const categoryRanges = decodePartition(GENERAL_CATEGORY, CATEGORY_NAMES.length)
  CATEGORY_NAMES.forEach((names, i) => {
    for (const name of names.split(' ')) categories.set(looseName(name), categoryRanges[i])
  })
  const unionOf = (members: string): CodePointRanges =>
    members === '-'
      ? []
      : canonicalRanges(members.split('+').flatMap((member) => categories.get(looseName(member)) ?? []))
  for (const [short, long, members] of CATEGORY_UNIONS) {
    const ranges = unionOf(members)
    categories.set(looseName(short), ranges)
    categories.set(looseName(long), ranges)
  }
  for (const [alias, members] of CATEGORY_ALIASES) categories.set(looseName(alias), unionOf(members))

  const scripts = new Map<string, CodePointRanges>()
  const scriptExtensions = new Map<string, () => CodePointRanges>()
  const scriptRanges = decodePartition(SCRIPT, SCRIPT_NAMES.length)
  const extensions = new Map<string, string>()
  for (const row of SCRIPT_EXTENSIONS) {
    const [long, difference] = row.split(' ')
    extensions.set(long, difference)
  }
  SCRIPT_NAMES.forEach((names, i) => {
    const [long, code] = names.split(' ')
    const difference = extensions.get(long) ?? ''
    for (const name of [looseName(long), looseName(code)]) {
      scripts.set(name, scriptRanges[i])
      scriptExtensions.set(name, () => differenceOf(scriptRanges[i], decodeRanges(difference)))
    }
  })

  const binaries = new Map<string, () => CodePointRanges>()
  for (const row of BINARY_PROPERTIES) {
    const [long, short, members, difference] = row.split(' ')
    const ranges = (): CodePointRanges => differenceOf(unionOf(members), decodeRanges(difference))
    binaries.set(looseName(long), ranges)
    binaries.set(looseName(short), ranges)
  }
  binaries.set('any', () => [0, 0x10ffff])
  binaries.set('ascii', () => [0, 0x7f])
  binaries.set('assigned', () => subtractRanges([0, 0x10ffff], unionOf('Cn')))
  return { categories, scripts, scriptExtensions, binaries }
}

let tables: UnicodeTables | undefined

/**
 * The characters of `\p{name}` or `\p{name=value}`, surrogates left out; undefined when there is no such property.
 * A name alone is a general category, a script or a binary property, looked up in this order; names are compared
 * without regard to case, spaces, `-` and `_`.
 */
export function propertyRanges(name: string, value: string | undefined): CodePointRanges | undefined {
  tables ??= decodeTables()
  const all = lookUp(tables, looseName(name), value === undefined ? undefined : looseName(value))
  return all === undefined ? undefined : withoutSurrogates(all)
}

function lookUp(known: UnicodeTables, name: string, value: string | undefined): CodePointRanges | undefined {
  if (value === undefined) return known.categories.get(name) ?? known.scripts.get(name) ?? known.binaries.get(name)?.()
  if (name === 'gc' || name === 'generalcategory') return known.categories.get(value)
  if (name === 'sc' || name === 'script') return known.scripts.get(value)
  if (name === 'scx' || name === 'scriptextensions') return known.scriptExtensions.get(value)?.()
  return undefined
}

function withoutSurrogates(ranges: CodePointRanges): CodePointRanges {
  return subtractRanges(ranges, [0xd800, 0xdfff])
}

interface CaseVariants {
  /** Every character that has variants, ascending. */
  readonly points: readonly number[]
  /** The next variant of each, in a cycle. */
  readonly next: ReadonlyMap<number, number>
}

function decodeCaseVariants(): CaseVariants {
  const points: number[] = []
  const next = new Map<number, number>()
  let border = 0
  const numbers = decodeNumbers(CASE_VARIANTS)
  for (let i = 0; i < numbers.length; i += 4) {
    const [gap, more, stride, zigzag] = numbers.slice(i, i + 4)
    const distance = (zigzag & 1) === 1 ? -((zigzag + 1) >> 1) : zigzag >> 1
    for (let k = 0; k <= more; k++) {
      const point = border + gap + k * (stride + 1)
      points.push(point)
      next.set(point, point + distance)
    }
    border = points[points.length - 1] + 1
  }
  return { points, next }
}

let caseVariants: CaseVariants | undefined

/** The ranges and every character that Unicode simple case folding makes equal to one of theirs. */
export function unicodeCaseClosure(ranges: CodePointRanges): CodePointRanges {
  caseVariants ??= decodeCaseVariants()
  const { points, next } = caseVariants
  const added: number[] = []
  for (let i = 0; i < ranges.length; i += 2) {
    for (let k = firstAtLeast(points, ranges[i]); k < points.length && points[k] <= ranges[i + 1]; k++) {
      for (let form = next.get(points[k]); form !== undefined && form !== points[k]; form = next.get(form)) {
        added.push(form, form)
      }
    }
  }
  return added.length === 0 ? ranges : unionRanges(ranges, canonicalRanges(added))
}

function firstAtLeast(sorted: readonly number[], bound: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle] < bound) low = middle + 1
    else high = middle
  }
  return low
}

/** The ranges and the other case of every ASCII letter among them. */
export function asciiCaseClosure(ranges: CodePointRanges): CodePointRanges {
  const added: number[] = []
  for (let i = 0; i < ranges.length; i += 2) {
    addShifted(added, Math.max(ranges[i], 0x41), Math.min(ranges[i + 1], 0x5a), 32)
    addShifted(added, Math.max(ranges[i], 0x61), Math.min(ranges[i + 1], 0x7a), -32)
  }
  return added.length === 0 ? ranges : unionRanges(ranges, canonicalRanges(added))
}

function addShifted(out: number[], low: number, high: number, distance: number): void {
  if (low <= high) out.push(low + distance, high + distance)
}
