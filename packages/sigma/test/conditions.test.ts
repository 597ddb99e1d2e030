import { describe, expect, test } from 'vitest'
import { matchesIdentifier, parseCondition } from '../src/condition.ts'
import { compile, eventOf, matches, ruleAround, titles } from './rules-of.ts'

const SELECTIONS = `a: {A: 1}
b: {B: 1}
c: {C: 1}
sel_x: {X: 1}
sel_y: {Y: 1}
_hidden: {H: 1}`

/** Fields that are set to 1; all others are absent. */
function holds(condition: string, set: string): boolean {
  const fields = Object.fromEntries([...set].map((name) => [name, 1]))
  return matches(`${SELECTIONS}\ncondition: ${JSON.stringify(condition)}`, eventOf(fields))
}

describe('conditions', () => {
  const cases: readonly [condition: string, yes: readonly string[], no: readonly string[]][] = [
    ['a', ['A', 'AB'], ['', 'B']],
    ['not a', ['', 'B'], ['A']],
    ['a or b and c', ['A', 'BC', 'AB'], ['B', 'C']],
    ['a and b or c', ['AB', 'C'], ['A', 'B']],
    ['(a or b) and c', ['AC', 'BC'], ['A', 'AB', 'C']],
    ['not a and b', ['B'], ['AB', '']],
    ['not (a and b)', ['A', 'B', ''], ['AB']],
    ['not not a', ['A'], ['']],
    ['a and not b and not c', ['A'], ['AB', 'AC']],
    ['1 of sel_*', ['X', 'Y', 'XY'], ['A', '']],
    ['any of sel_*', ['X'], ['']],
    ['all of sel_*', ['XY'], ['X', 'Y']],
    ['not 1 of sel_*', ['', 'A'], ['X', 'XY']],
    ['a and not all of sel_*', ['A', 'AX'], ['AXY']],
    ['1 of them', ['A', 'X'], ['', 'H']],
    ['all of them', ['ABCXY'], ['ABCX', 'ABCH']],
    ['1 of *_y', ['Y'], ['X']],
    ['1 of s*l_*', ['X'], ['A']],
    ['1 of _*', ['H'], ['A']],
    ['1 of a', ['A'], ['B']],
    ['a AND NOT b', ['A'], ['AB']],
    ['((a))', ['A'], ['']],
    ['_hidden', ['H'], ['A']],
    ['all of sel_* or 1 of a', ['A', 'XY'], ['X']],
  ]
  test.each(cases)('%s', (condition, yes, no) => {
    expect({
      missed: yes.filter((set) => !holds(condition, set)),
      wrong: no.filter((set) => holds(condition, set)),
    }).toEqual({
      missed: [],
      wrong: [],
    })
  })

  test('a list of conditions is their disjunction', () => {
    const rule = `${SELECTIONS}\ncondition: [a and b, c]`
    expect(matches(rule, eventOf({ A: 1, B: 1 }))).toBe(true)
    expect(matches(rule, eventOf({ C: 1 }))).toBe(true)
    expect(matches(rule, eventOf({ A: 1 }))).toBe(false)
  })

  test('maps are conjunctions, lists of maps disjunctions', () => {
    const rule = `s:\n  - A: 1\n    B: 1\n  - C: 1\ncondition: s`
    expect(matches(rule, eventOf({ A: 1, B: 1 }))).toBe(true)
    expect(matches(rule, eventOf({ C: '1' }))).toBe(true)
    expect(matches(rule, eventOf({ A: 1 }))).toBe(false)
  })

  test.each([
    ['a*', 'ab', true],
    ['*a', 'ba', true],
    ['a*a', 'a', false],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'acb', false],
    ['a', 'ab', false],
    ['*', '_x', false],
    ['_*', '_x', true],
    ['a*a*a', 'aa', false],
  ])('the pattern %s and %s: %s', (pattern, name, expected) => {
    expect(matchesIdentifier(pattern, name)).toBe(expected)
  })

  test('the obsolete aggregation', () => {
    expect(parseCondition('a | count() > 5', 0).aggregation).toEqual({
      aggregate: 'count',
      field: undefined,
      groupBy: [],
      operator: 'gt',
      value: 5,
    })
    expect(parseCondition('a and b | count(User) by Host, Domain >= 10', 0).aggregation).toEqual({
      aggregate: 'count',
      field: 'User',
      groupBy: ['Host', 'Domain'],
      operator: 'gte',
      value: 10,
    })
    expect(parseCondition('a | sum(bytes) by ip = 1.5', 0).aggregation).toMatchObject({ aggregate: 'sum', value: 1.5 })
  })
})

describe('log sources', () => {
  const rules = [
    ['both', 'category: process_creation\n  product: windows'],
    ['category', 'category: process_creation'],
    ['product', 'product: windows'],
    ['service', 'product: windows\n  service: security'],
    ['upper', 'product: WINDOWS'],
  ]
  const yaml = rules
    .map(([title, source]) => `title: ${title}\nlogsource:\n  ${source}\ndetection:\n  s: {A: 1}\n  condition: s\n`)
    .join('---\n')
  const { set } = compile(yaml)
  test.each([
    [[{ category: 'process_creation', product: 'windows' }], ['both', 'category', 'product', 'upper']],
    [[{ product: 'windows', service: 'security' }], ['product', 'service', 'upper']],
    [
      [
        { category: 'process_creation', product: 'linux' },
        { product: 'windows', service: 'security' },
      ],
      ['category', 'product', 'service', 'upper'],
    ],
    [[{ category: 'process_creation' }], ['category']],
    [[], []],
    [undefined, ['both', 'category', 'product', 'service', 'upper']],
  ])('%j', (sources, expected) => {
    expect(titles(set, [eventOf({ A: 1 }, sources === undefined ? {} : { sources })])).toEqual(expected)
  })
})

describe('filters', () => {
  const rule = (name: string): string =>
    `title: ${name}\nname: ${name}\nlogsource: {category: c, product: p}\ndetection:\n  s: {A: 1}\n  condition: s\n---\n`
  const filter = (source: string, rules: string, condition: string): string =>
    `title: F\nlogsource: ${source}\nfilter:\n  rules: ${rules}\n  selection: {U|startswith: adm_}\n  condition: ${condition}\n`
  const events = [eventOf({ A: 1, U: 'adm_1' }), eventOf({ A: 1, U: 'joe' })]
  const cases: readonly [string, string, readonly string[]][] = [
    ['what the selection takes is filtered out', filter('{category: c}', '[one]', 'selection'), ['two', 'one', 'two']],
    ['a negation says what is kept', filter('{category: c}', '[one]', 'not selection'), ['two', 'one', 'two']],
    ['any means every rule of the log source', filter('{product: p}', 'any', 'selection'), ['one', 'two']],
    ['another log source is left alone', filter('{product: q}', 'any', 'selection'), ['one', 'two', 'one', 'two']],
  ]
  test.each(cases)('%s', (_, text, expected) => {
    expect(titles(compile(rule('one') + rule('two') + text).set, events)).toEqual(expected)
  })
  test('a filter that applies to nothing is said', () => {
    expect(compile(rule('one') + filter('{category: c}', '[three]', 'selection')).problems).toEqual([
      'rule.yml:11: warning: F: the filter applies to no rule: none is called so and has its logsource',
    ])
  })
  test('a broken filter is listed and filters nothing', () => {
    const { set, problems } = compile(rule('one') + filter('{category: c}', '[one]', 'selektion'))
    expect(problems).toEqual([
      'rule.yml:13: F: the condition names "selektion", which is no search identifier of the rule',
    ])
    expect(titles(set, events)).toEqual(['one', 'one'])
  })
})

test('a rule whose detection was shared is evaluated once for every document', () => {
  const rule = ruleAround('s: {A: 1}\ncondition: s')
  expect(titles(compile(`${rule}---\n${rule}`).set, [eventOf({ A: 1 })])).toEqual(['Test', 'Test'])
})
