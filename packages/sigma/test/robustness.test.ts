import fc from 'fast-check'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { MAX_CONDITION_CHARACTERS } from '../src/condition.ts'
import { MAX_CORRELATED_RULES } from '../src/correlation-spec.ts'
import { Matcher, MAX_ROUTES } from '../src/matcher.hot.ts'
import { MAX_PLACEHOLDER_VALUES, parsePlaceholderFile } from '../src/placeholders.ts'
import { compile, eventOf, matches, ruleAround, titles } from './rules-of.ts'

const BROKEN = fileURLToPath(new URL('./broken', import.meta.url))
const DOCUMENTS = readdirSync(BROKEN)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => readFileSync(`${BROKEN}/${name}`, 'utf8').split('---\n'))

test('whatever a file holds, reading and compiling it does not throw, and what is used runs', () => {
  const piece = fc.constantFrom(
    ':',
    '- ',
    '|',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '*',
    '&a',
    '\\',
    '\n',
    '  ',
    'null',
    'not ',
    '1 of ',
    '%x%',
    '\u0000',
    '---\n',
    '|re',
    '|all',
  )
  const edit = fc.record({ at: fc.nat(150), remove: fc.nat(12), insert: fc.array(piece, { maxLength: 3 }) })
  fc.assert(
    fc.property(fc.constantFrom(...DOCUMENTS), fc.array(edit, { minLength: 1, maxLength: 4 }), (file, edits) => {
      let text = file
      for (const { at, remove, insert } of edits) text = text.slice(0, at) + insert.join('') + text.slice(at + remove)
      const { set, problems } = compile(text)
      expect(problems.every((problem) => /^rule\.yml:\d+: /.test(problem))).toBe(true)
      titles(set, [eventOf({ A: 'abc', B: 1 }, { time: 1 })])
    }),
    { numRuns: 150 },
  )
})

describe('limits', () => {
  test('a placeholder file holds values, one a line', () => {
    expect(parsePlaceholderFile('# servers\n\n srv* \r\ndb1\n')).toEqual(['srv*', 'db1'])
    expect(() => parsePlaceholderFile('a\n'.repeat(MAX_PLACEHOLDER_VALUES + 1))).toThrow(
      '10001 values; a placeholder takes up to 10000',
    )
  })
  test('a condition that is too long is refused', () => {
    const { problems } = compile(ruleAround(`s: {A: 1}\ncondition: ${'s or '.repeat(MAX_CONDITION_CHARACTERS / 5)}s`))
    expect(problems).toEqual(['rule.yml:6: Test: the condition is longer than 20000 characters'])
  })
  test('a correlation of too many rules is refused', () => {
    const names = Array.from({ length: MAX_CORRELATED_RULES + 1 }, (_, n) => `r${n}`).join(', ')
    const { problems } = compile(`title: C\ncorrelation:\n  type: temporal\n  rules: [${names}]\n  timespan: 1m\n`)
    expect(problems).toEqual(['rule.yml:3: C: a correlation takes up to 1000 rules'])
  })
  test('more kinds of log sources than are remembered are routed all the same', () => {
    const { set } = compile(ruleAround('s: {A: 1}\ncondition: s').replace('category: test', 'product: p7'))
    const matcher = new Matcher(set)
    let found = 0
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < MAX_ROUTES + 10; n++) {
        matcher.match(eventOf({ A: 1 }, { sources: [{ product: `p${n}` }] }), () => void found++)
      }
    }
    expect(found).toBe(2)
  })
})

test('a list of many wildcards is evaluated', () => {
  const values = Array.from({ length: 3_000 }, (_, n) => `    - 'a${n}?z'\n`).join('')
  const { set, problems } = compile(ruleAround(`s:\n  A:\n${values}condition: s`))
  expect(problems).toEqual([])
  expect(titles(set, [eventOf({ A: 'A777xZ' }), eventOf({ A: 'b777z' })])).toEqual(['Test'])
})

test('long values take time in proportion', () => {
  const long = 'a'.repeat(1_000_000)
  const items = [
    "A: '*a*a*a*b'",
    "A: '*a?a?a?b*'",
    "A|re: '(a|aa)*b'",
    "A|contains: [aab, aaab, ba, 'aaaaaaaaaaaaaaaab']",
  ]
  for (const item of items) expect(matches(`s:\n  ${item}\ncondition: s`, eventOf({ A: long }))).toBe(false)
})
