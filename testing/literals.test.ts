/** Sets of literals, which the kernel compares with the text itself where nothing else can begin. */
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import fc from 'fast-check'
import { describe } from 'vitest'
import { type CaseRule, LETTERS, type PatternTree, toOptions, toReference, toRule } from './src/arbitraries.ts'
import { outputComparison } from './src/compare.ts'
import { itHolds } from './src/properties.ts'
import { randomSplit } from './src/splits.ts'

const letters = fc.constantFrom(...LETTERS.letters)
/** Short alphabets make literals that begin with, end with and contain each other. */
const text = fc.array(letters, { minLength: 1, maxLength: 9 })
const literal = (values: readonly number[]): PatternTree => ({
  kind: 'concat',
  parts: values.map((value) => ({ kind: 'char', value })),
})

const rule = fc.record({
  text: fc.oneof(
    { weight: 8, arbitrary: fc.array(letters, { minLength: 4, maxLength: 9 }) },
    { weight: 1, arbitrary: text },
  ),
  with: fc.constantFrom('X', '', 'YY', '$&'),
  isRegex: fc.integer({ min: 0, max: 5 }).map((dice) => dice === 0),
  isCaseless: fc.integer({ min: 0, max: 5 }).map((dice) => dice === 0),
})

const bodies = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: text },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 80 }).map((size) => new Array<number>(size).fill(0x20)) },
  ),
  { maxLength: 24, size: 'max' },
)

describe('literals', () => {
  itHolds(
    'are found as the reference finds them, however the body is cut',
    fc.record({
      rules: fc.array(rule, { minLength: 1, maxLength: 12 }),
      pieces: bodies,
      whole: fc.array(fc.nat({ max: 11 }), { maxLength: 6 }),
      seed: fc.nat({ max: 1_000 }),
    }),
    400,
    ({ rules, pieces, whole, seed }) => {
      const made = rules.map(
        (each): CaseRule => ({
          pattern: literal(each.text),
          with: each.isRegex && each.with === '$&' ? '<$&>' : each.with,
          isCaseless: each.isCaseless,
          max: Infinity,
          isLiteral: !each.isRegex,
          between: undefined,
        }),
      )
      const body = [...pieces, ...whole.map((index) => rules[index % rules.length].text)].flat()
      const shape = { mode: 'octet', priority: 'first', compat: undefined } as const
      const compare = outputComparison({
        reference: toReference({ ...shape, rules: made }),
        ruleSet: compileRuleSet(made.map(toRule), toOptions(shape)),
        body,
        row: { name: 'literals', rules: made.map(toRule), options: toOptions(shape) },
      })
      compare([body.length])
      compare(randomSplit(body.length, seed))
      compare(body.map(() => 1))
    },
  )
})
