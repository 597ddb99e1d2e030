import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LiteralIndex, type LiteralKind, type Marks } from '../src/literal-index.hot.ts'
import { Matcher } from '../src/matcher.hot.ts'
import { readRuleFile } from '../src/rule.ts'
import { compileRules } from '../src/rule-set.ts'
import { type NaiveCondition, naiveMatches, type NaiveRule, type NaiveSelection, writeCondition } from './naive.ts'
import { eventOf, type Fields } from './rules-of.ts'

/** Few characters, so that rules and events meet: cases, folds of one and two units, wildcards, dashes, astral ones. */
const CHARACTERS = [
  'a',
  'A',
  'b',
  'B',
  '\\',
  ' ',
  '-',
  '/',
  'k',
  '\u212a',
  's',
  '\u017f',
  'σ',
  'ς',
  'é',
  'É',
  '😀',
  '1',
  '2',
]
const text = fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 6 })
const pattern = fc.string({ unit: fc.constantFrom(...CHARACTERS, '*', '?', '\\', 'ab', 'ba'), maxLength: 5 })
const field = fc.constantFrom('F', 'G', 'H')

const anchors = fc.constantFrom('', '|contains', '|startswith', '|endswith')
const textItem = fc
  .tuple(
    field,
    anchors,
    fc.constantFrom('', '', '', '|cased', '|windash', '|neq'),
    fc.oneof(pattern, fc.array(pattern, { minLength: 1, maxLength: 4 })),
  )
  .map(([name, anchor, extra, value]) => ({ [name + anchor + extra]: value }))
const item = fc.oneof(
  { weight: 8, arbitrary: textItem },
  fc
    .tuple(field, fc.array(pattern, { minLength: 2, maxLength: 3 }))
    .map(([name, value]) => ({ [`${name}|contains|all`]: value })),
  fc
    .tuple(field, fc.constantFrom('lt', 'gte'), fc.integer({ min: 0, max: 30 }))
    .map(([name, how, n]) => ({ [`${name}|${how}`]: n })),
  fc.tuple(field, fc.integer({ min: 0, max: 30 })).map(([name, n]) => ({ [name]: n })),
  fc.tuple(field, fc.boolean()).map(([name, value]) => ({ [`${name}|exists`]: value })),
  field.map((name) => ({ [name]: null })),
  fc.tuple(field, field, anchors).map(([name, other, anchor]) => ({ [`${name}|fieldref${anchor}`]: other })),
  fc
    .tuple(
      field,
      fc.constantFrom('re', 're|i'),
      fc.constantFrom('ab', 'a+b?$', '^(?:a|b)', '[ab]{2}', 'k.s', 'a|σ', '\\d\\d', '^$'),
    )
    .map(([name, how, source]) => ({ [`${name}|${how}`]: source })),
)
const map = fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => Object.assign({}, ...items) as NaiveSelection)
const keyword = fc
  .string({ unit: fc.constantFrom(...CHARACTERS, '*'), minLength: 1, maxLength: 3 })
  .filter((word) => /[^*]/.test(word))
const selection: fc.Arbitrary<NaiveSelection> = fc.oneof(
  { weight: 5, arbitrary: map },
  fc.array(map, { minLength: 1, maxLength: 3 }).map((maps) => maps as NaiveSelection),
  fc.array(keyword, { minLength: 1, maxLength: 2 }),
)

const condition: fc.Arbitrary<NaiveCondition> = fc.letrec<{ node: NaiveCondition }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: fc.constantFrom<NaiveCondition>('a1', 'a2', 'b1') },
    fc.record({ of: fc.constantFrom('all' as const, '1' as const), prefix: fc.constantFrom('a', 'b') }),
    tie('node').map((not) => ({ not })),
    fc.array(tie('node'), { minLength: 2, maxLength: 3 }).map((and) => ({ and })),
    fc.array(tie('node'), { minLength: 2, maxLength: 3 }).map((or) => ({ or })),
  ),
})).node

const rule: fc.Arbitrary<NaiveRule> = fc.record({
  selections: fc.record({ a1: selection, a2: selection, b1: selection }),
  condition,
})

const scalar = fc.oneof(
  { weight: 4, arbitrary: text },
  fc.integer({ min: 0, max: 30 }),
  fc.constant(null),
  fc.boolean(),
)
const fields: fc.Arbitrary<Fields> = fc.dictionary(
  field,
  fc.oneof({ weight: 4, arbitrary: scalar }, fc.array(scalar, { maxLength: 3 })),
)

test('rule sets and events by chance: the engine agrees with the naive evaluator', () => {
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 1, maxLength: 8 }),
      fc.array(fc.tuple(fields, text), { minLength: 1, maxLength: 8 }),
      (rules, events) => {
        const file = rules
          .map(({ selections, condition: own }, index) =>
            JSON.stringify({
              title: String(index),
              logsource: { category: 'c' },
              detection: { ...selections, condition: writeCondition(own) },
            }),
          )
          .join('\n---\n')
        const { documents, problems } = readRuleFile(file, 'rules.yml')
        const set = compileRules(documents, { placeholders: new Map() })
        const errors = [...problems, ...set.problems].filter(({ severity }) => severity === 'error')
        expect(errors).toEqual([])
        const matcher = new Matcher(set)
        for (const [own, whole] of events) {
          const found: number[] = []
          matcher.match(eventOf(own, { text: whole }), ({ rule: { title } }) => void found.push(Number(title)))
          const expected = rules.flatMap((one, index) => (naiveMatches(one, own, whole) ? [index] : []))
          expect({ event: own, found }).toEqual({ event: own, found: expected })
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('an index finds what each text has, however small its tables are', () => {
  const literal: fc.Arbitrary<{ kind: LiteralKind; text: string }> = fc.record({
    kind: fc.constantFrom<LiteralKind>('equals', 'startswith', 'endswith', 'contains'),
    text: fc.string({ unit: fc.constantFrom('a', 'b', 'ab', 'é', '😀', '\ud83d'), minLength: 1, maxLength: 14 }),
  })
  const value = fc.string({ unit: fc.constantFrom('a', 'b', 'ab', 'abab', 'é', '😀', 'x'), maxLength: 20 })
  const unique = fc.uniqueArray(literal, { minLength: 1, maxLength: 40, selector: (own) => own.kind + own.text })
  fc.assert(
    fc.property(
      unique,
      fc.array(value, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(1, 60, 1_000_000),
      (own, values, cells) => {
        const index = new LiteralIndex(
          own.map((one, id) => ({ ...one, id, targets: [id] })),
          cells,
        )
        const marks: Marks = {
          epochOf: new Int32Array(own.length),
          foundIn: new Int32Array(own.length),
          epoch: 0,
          fired: new Int32Array(own.length),
          firedCount: 0,
        }
        for (const given of values) {
          marks.epoch++
          marks.firedCount = 0
          index.scan(given, marks)
          const expected = own.flatMap(({ kind, text: wanted }, id) => {
            const found =
              kind === 'equals'
                ? given === wanted
                : kind === 'contains'
                  ? given.includes(wanted)
                  : kind === 'startswith'
                    ? given.startsWith(wanted)
                    : given.endsWith(wanted)
            // Half of a pair is not looked for inside one.
            return found && !/[\ud800-\udbff]$/.test(wanted) ? [id] : []
          })
          const got = [...marks.fired.subarray(0, marks.firedCount)].sort((a, b) => a - b)
          expect(got.filter((id) => !/[\ud800-\udbff]$/.test(own[id].text))).toEqual(expected)
        }
      },
    ),
    { numRuns: 300 },
  )
})
