/**
 * Rule sets that nobody meant: those of the adversarial corpus, mutated. Whatever comes of it is compiled or refused by
 * `RuleSetError`; what is compiled rewrites the same however the body is cut, as the reference does, within its bounds.
 * Found failures belong into regressions/mutations/kept.json, in the form in which a failure prints its row.
 */
import { readFileSync } from 'node:fs'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { type RegexRule, type Rule, RuleSetError, type RuleSetOptions, type TextRule } from '@prexy/rewrite/rules'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ADVERSARIAL_CASES } from './src/adversarial.ts'
import { latin1 } from './src/arbitraries.ts'
import { octetString } from './src/compare.ts'
import { watch } from './src/count-steps.ts'
import { itHolds } from './src/properties.ts'
import { rewriteWhole } from './src/reference.ts'
import { referenceOfRules } from './src/rows.ts'

interface Row {
  readonly name: string
  readonly rules: readonly Rule[]
  readonly options: RuleSetOptions
  /** One octet per character. */
  readonly body: string
}

/** Larger programs are compiled and not run: the reference would take minutes. */
const MAX_RUN_INSTRUCTIONS = 1_500
const MAX_RULES = 6
const BODY_BYTES = 80
/** What the reference may do for one body: positions times positions times instructions. */
const MAX_REFERENCE_WORK = 5e6

const SPLICES = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '*',
  '+',
  '?',
  '|',
  '^',
  '$',
  '.',
  '\\',
  '\\b',
  '\\B',
  '\\z',
  '\\A',
  '(?:',
  '(?i)',
  '(?s:',
  '{0}',
  '{2,}',
  '{3,7}',
  '{1000}',
  '*?',
  '+?',
  '??',
  '(?<n>',
  '[^',
  '[:alpha:]',
  '\\p{L}',
  '\\x{1f600}',
  '\\d',
  '\\W',
  '-',
  '\u00e9',
  '\u20ac',
  '\u{1f600}',
  '\ud800',
  '\u0000',
  'a',
  'ab',
  '$1',
  '${1|upper}',
  '$&',
  '${host}',
  '.',
  'xn--',
  '<',
  '>',
] as const

interface Mutation {
  readonly field: number
  readonly at: number
  readonly cut: number
  readonly splice: string
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  field: fc.nat({ max: 100 }),
  at: fc.nat({ max: 200 }),
  cut: fc.nat({ max: 4 }),
  splice: fc.oneof(fc.constantFrom(...SPLICES), fc.string({ maxLength: 3 })),
})

/** One of a rule's texts with something cut out and something put in. */
function mutate(rule: Rule, { field, at, cut, splice }: Mutation): Rule {
  const fields = Object.entries(rule).filter(([, value]) => typeof value === 'string' && value.length < 500)
  const [name, value] = fields[field % fields.length]
  const from = at % (String(value).length + 1)
  return { ...rule, [name]: String(value).slice(0, from) + splice + String(value).slice(from + cut) }
}

const mutated = fc
  .record({
    base: fc.constantFrom(...ADVERSARIAL_CASES),
    mutations: fc.array(fc.tuple(fc.nat(), mutation), { minLength: 1, maxLength: 4 }),
    extra: fc.option(fc.constantFrom(...ADVERSARIAL_CASES)),
    tail: fc.array(fc.nat({ max: 255 }), { maxLength: 20 }),
    priority: fc.constantFrom('first' as const, 'longest' as const),
    seed: fc.nat(),
  })
  .map(({ base, mutations, extra, tail, priority, seed }): Row & { readonly seed: number } => {
    const first = seed % Math.max(1, base.rules.length - MAX_RULES + 1)
    const rules = [...base.rules.slice(first, first + MAX_RULES), ...(extra === null ? [] : extra.rules.slice(0, 2))]
    for (const [which, change] of mutations) {
      const index = which % rules.length
      rules[index] = mutate(rules[index], change)
    }
    const { maxHeldBytes: _, ...unlimited } = base.options
    const options = unlimited.compat === undefined ? { ...unlimited, priority } : unlimited
    return { name: base.name, rules, options, body: octetString([...base.body(BODY_BYTES), ...tail]), seed }
  })

function compiles({ rules, options }: Row): boolean {
  try {
    compileRuleSet(rules, options)
    return true
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    for (const { rule, message, at } of error.problems) {
      expect(message).not.toBe('')
      expect(rule).toBeLessThan(rules.length)
      if (at !== undefined) expect(at).toBeGreaterThanOrEqual(0)
    }
    return false
  }
}

/** Rules that the reference reads: texts and patterns whose replacement has groups and no variables or filters. */
function isPlain(rule: Rule): rule is TextRule | RegexRule {
  if ('text' in rule) return rule.keepCase !== true
  return 'regex' in rule && !/\$(?!&|\$|[0-9]|\{[0-9]+\})/.test(rule.with.replaceAll('$$', ''))
}

/** Returns whether the rule set ran. */
function check(row: Row): boolean {
  if (!compiles(row)) return false
  const body = Uint8Array.from(latin1(row.body))
  const watched = watch(row.rules, row.options)
  const { instructions } = watched.tokenizer.automaton.program
  if (instructions.length > MAX_RUN_INSTRUCTIONS) return false
  const whole = watched.run(body, body.length)
  expect(whole.automatonSteps).toBeLessThan((2 + row.rules.length) * body.length + 16)
  const size = instructions.length + row.rules.length
  expect(whole.threadVisits).toBeLessThanOrEqual(4 * size * whole.automatonSteps)
  // With compat: nginx the limit is looked at where a write ends.
  for (const chunkBytes of row.options.compat === 'nginx' ? [] : [1, 7]) {
    const cut = watched.run(body, chunkBytes)
    expect([octetString([...cut.output]), cut.hits]).toEqual([octetString([...whole.output]), whole.hits])
  }
  const { rules } = row
  if (!rules.every(isPlain) || size * body.length ** 2 > MAX_REFERENCE_WORK) return true
  const mode = row.options.compat === 'nginx' ? ({ mode: 'octet' } as const) : {}
  // A byte order mark is no part of the body that rules see, which the reference does not know.
  if (row.body.startsWith('\u00ef')) return true
  const wanted = rewriteWhole(referenceOfRules(rules, { ...mode, ...row.options }), [...body])
  expect([octetString([...whole.output]), whole.hits]).toEqual([octetString(wanted.output), wanted.hits])
  return true
}

function checkAndTell(row: Row): boolean {
  try {
    return check(row)
  } catch (error) {
    const { name, rules, options, body } = row
    throw new Error(`row to keep: ${JSON.stringify({ name, rules, options, body })}`, { cause: error })
  }
}

describe('mutations', () => {
  const kept: readonly Row[] = JSON.parse(
    readFileSync(new URL('./regressions/mutations/kept.json', import.meta.url), 'utf8'),
  )
  it.each(kept)('$name, kept', (row) => {
    check(row)
  })

  let ran = 0
  itHolds('are refused, or rewrite as the reference does', mutated, 150, (row) => {
    if (checkAndTell(row)) ran++
  })

  it('are not so wild that none compiles', () => {
    expect(ran).toBeGreaterThan(15)
  })
})
