import { describe, expect, it } from 'vitest'
import { type CaseRule, latin1, type PatternTree, toReference } from './src/arbitraries.ts'
import { rewriteWhole } from './src/reference.ts'
import { continuationsOf, lookAhead, streamReference } from './src/reference-stream.ts'
import { startOfBody } from './src/reference.ts'

const char = (text: string): PatternTree => ({ kind: 'char', value: text.codePointAt(0) ?? 0 })
const seq = (...parts: PatternTree[]): PatternTree => ({ kind: 'concat', parts })
const text = (chars: string): PatternTree => seq(...Array.from(chars, char))
const or = (...parts: PatternTree[]): PatternTree => ({ kind: 'alternate', parts })
const repeat = (part: PatternTree, min: number, max: number, isGreedy = true): PatternTree => ({
  kind: 'repeat',
  min,
  max,
  isGreedy,
  part,
})
const group = (part: PatternTree): PatternTree => ({ kind: 'group', isCapturing: true, part })
const space: PatternTree = { kind: 'escape', letter: 's' }
const any: PatternTree = { kind: 'any' }
const lineStart: PatternTree = { kind: 'assert', assertion: 'lineStart' }
const lineEnd: PatternTree = { kind: 'assert', assertion: 'lineEnd' }
const wordBoundary: PatternTree = { kind: 'assert', assertion: 'wordBoundary' }
const digit: PatternTree = { kind: 'escape', letter: 'd' }
const rule = (pattern: PatternTree, replacement: string, max = Infinity): CaseRule => ({
  pattern,
  with: replacement,
  isCaseless: false,
  isLiteral: false,
  max,
})

interface Row {
  readonly it: string
  readonly rules: readonly CaseRule[]
  readonly body: string
  readonly gives: string
  readonly mode?: 'text'
  readonly priority?: 'longest'
  readonly compat?: 'nginx'
}

const WHOLE: readonly Row[] = [
  {
    it: 'never scans replaced text again',
    rules: [rule(text('a'), 'b'), rule(text('b'), 'a')],
    body: 'ab',
    gives: 'ba',
  },
  {
    it: 'replaces empty matches between letters',
    rules: [rule(repeat(digit, 0, Infinity), 'X')],
    body: 'abc',
    gives: 'XaXbXcX',
  },
  {
    it: 'allows an empty match after a match',
    rules: [rule(repeat(text('a'), 0, Infinity), '<$&>')],
    body: 'baac',
    gives: '<>b<aa><>c<>',
  },
  {
    it: 'tries nothing else where it matched empty',
    rules: [rule(repeat(char('a'), 0, 1, false), 'X')],
    body: 'a',
    gives: 'XaX',
  },
  {
    it: 'also not another rule',
    rules: [rule(repeat(char('a'), 0, Infinity), 'X'), rule(text('b'), 'Y')],
    body: 'b',
    gives: 'XbX',
  },
  {
    it: 'lets a spent rule go',
    rules: [rule(text('a'), 'X', 1), rule(text('ab'), 'Y')],
    body: 'a ab ab b',
    gives: 'X Y Y b',
  },
  {
    it: 'keeps the token of a fired once-rule in nginx mode',
    compat: 'nginx',
    rules: [rule(text('a'), 'X', 1), rule(text('ab'), 'Y')],
    body: 'a ab ab b',
    gives: 'X ab ab b',
  },
  {
    it: 'trims as Perl does',
    rules: [rule(or(seq(lineStart, repeat(space, 1, Infinity)), seq(repeat(space, 1, Infinity), lineEnd)), '[$&]')],
    body: 'b\n \n',
    gives: 'b[\n \n]',
  },
  {
    it: 'takes the longest span, then the earliest rule',
    priority: 'longest',
    rules: [rule(or(text('a'), text('ab')), '1'), rule(text('ab'), '2'), rule(repeat(any, 3, 3, false), '3')],
    body: 'abab',
    gives: '3ab'.replace('ab', 'b'),
  },
  {
    it: 'steps over whole characters',
    mode: 'text',
    rules: [rule(repeat(char('a'), 0, Infinity), 'X')],
    body: '\xc3\xa9',
    gives: 'X\xc3\xa9X',
  },
  {
    it: 'steps over broken characters byte by byte',
    mode: 'text',
    rules: [rule(repeat(char('a'), 0, Infinity), 'X')],
    body: '\xe2\x82',
    gives: 'X\xe2X\x82X',
  },
  {
    it: 'keeps the last value of a group',
    rules: [rule(repeat(group(or(group(text('a')), text('b'))), 1, Infinity), '$1$2')],
    body: 'ab',
    gives: 'ba',
  },
]

const octets = (values: readonly number[]): string => String.fromCharCode(...values)
const referenceOf = (row: Omit<Row, 'it' | 'gives' | 'body'>) =>
  toReference({ mode: row.mode ?? 'octet', priority: row.priority ?? 'first', compat: row.compat, rules: row.rules })

describe('the reference', () => {
  it.each(WHOLE)('$it', (row) => {
    expect(octets(rewriteWhole(referenceOf(row), latin1(row.body)).output)).toBe(row.gives)
  })
})

interface HeldRow {
  readonly rules: readonly CaseRule[]
  readonly prefix: string
  readonly held: number
  readonly pending: number
  readonly settledEnd: number
}

const HELD: readonly HeldRow[] = [
  { rules: [rule(or(text('abce'), text('b')), 'X')], prefix: 'abc', held: 2, pending: 1, settledEnd: 0 },
  { rules: [rule(or(text('abce'), text('b')), '[$&]')], prefix: 'abc', held: 3, pending: 1, settledEnd: 0 },
  { rules: [rule(repeat(space, 1, Infinity), ' ')], prefix: 'a   ', held: 0, pending: 1, settledEnd: 1 },
  { rules: [rule(repeat(space, 1, Infinity), '$&')], prefix: 'a   ', held: 3, pending: 1, settledEnd: 1 },
  { rules: [rule(seq(text('a'), wordBoundary), 'X')], prefix: 'a', held: 1, pending: 1, settledEnd: 0 },
  { rules: [rule(text('a'), 'X')], prefix: 'a', held: 0, pending: 0, settledEnd: 1 },
  { rules: [rule(text('ab'), 'X')], prefix: 'xa', held: 1, pending: 0, settledEnd: 1 },
]

describe('the brute-force outlook', () => {
  it.each(HELD)('holds $held bytes of $prefix', ({ rules, prefix, held, pending, settledEnd }) => {
    const reference = referenceOf({ rules })
    const body = latin1(prefix)
    const { least, most } = lookAhead(reference, body, startOfBody(reference), continuationsOf(reference, body, 100))
    expect({ held: least.heldBytes, pending: least.pending, settledEnd: least.settledEnd }).toEqual({
      held,
      pending,
      settledEnd,
    })
    expect(most).toEqual(least)
  })

  it('knows where several ways together cover every continuation', () => {
    const end: PatternTree = { kind: 'assert', assertion: 'textEnd' }
    const reference = referenceOf({ rules: [rule(or(seq(text('a'), end), seq(text('a'), any)), 'X')] })
    const { least, most } = lookAhead(reference, [0x61], startOfBody(reference), continuationsOf(reference, [0x61], 20))
    expect([least.heldBytes, most.heldBytes]).toEqual([0, 1])
  })
})

interface OverflowRow {
  readonly it: string
  readonly rules: readonly CaseRule[]
  readonly body: string
  readonly overflow: 'skip' | 'passthrough' | 'abort'
  readonly gives: string
  readonly overflows: number
}

const OVERFLOWS: readonly OverflowRow[] = [
  {
    it: 'starts afresh',
    rules: [rule(seq(text('a'), repeat(any, 0, Infinity), text('z')), 'X')],
    body: 'abcdefaz',
    overflow: 'skip',
    gives: 'abcdefX',
    overflows: 1,
  },
  {
    it: 'takes complete matches',
    rules: [rule(text('abcdefz'), 'X'), rule(text('b'), 'Y')],
    body: 'abcdefb',
    overflow: 'skip',
    gives: 'aYcdefY',
    overflows: 1,
  },
  {
    it: 'copies the rest',
    rules: [rule(text('abcdefz'), 'X'), rule(text('b'), 'Y')],
    body: 'abcdefb',
    overflow: 'passthrough',
    gives: 'aYcdefb',
    overflows: 1,
  },
  {
    it: 'breaks off',
    rules: [rule(text('abcdefz'), 'X'), rule(text('b'), 'Y')],
    body: 'abcdefb',
    overflow: 'abort',
    gives: 'aYcd',
    overflows: 1,
  },
]

describe('the limit', () => {
  it.each(OVERFLOWS)('$overflow $it', ({ rules, body, overflow, gives, overflows }) => {
    const record = streamReference(referenceOf({ rules }), latin1(body), [body.length], {
      maxHeldBytes: 4,
      overflow,
      continuations: 100,
    })
    expect([octets(record.output), record.overflows, record.isUndecided]).toEqual([gives, overflows, false])
  })
})
