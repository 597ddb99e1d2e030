import { describe, expect, test } from 'vitest'
import type { SigmaEvent } from '../src/event.ts'
import type { Hit } from '../src/correlator.ts'
import { Matcher } from '../src/matcher.hot.ts'
import { compile, eventOf, type Fields, hits, titles } from './rules-of.ts'

const BASE = `title: Base
name: base
id: base-id
logsource: {category: c}
detection:
  s: {A: 1}
  condition: s
---
title: Other
name: other
logsource: {category: c}
detection:
  s: {B: 1}
  condition: s
---
title: Third
name: third
logsource: {category: c}
detection:
  s: {C: 1}
  condition: s
---
`

function correlation(body: string, title = 'Corr'): string {
  return `title: ${title}\nname: ${title.toLowerCase()}\ncorrelation:\n${body
    .trim()
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('')}`
}

/** Events as `second: fields`. */
function at(second: number, fields: Fields): SigmaEvent {
  return eventOf(fields, { time: second * 1000 })
}

function found(yaml: string, events: readonly SigmaEvent[]): readonly (readonly [string, number, readonly string[]])[] {
  return hits(compile(yaml).set, events).map(({ rule, correlation: c }) => [rule.title, c?.value ?? 0, c?.group ?? []])
}

const times = (seconds: readonly number[], fields: Fields = { A: 1 }): SigmaEvent[] =>
  seconds.map((second) => at(second, fields))

describe('event_count', () => {
  const three = correlation('type: event_count\nrules: [base]\ntimespan: 10s\ncondition:\n  gte: 3')
  test.each([
    ['three in the window', [0, 5, 10], 1],
    ['three, but not in one window', [0, 5, 11], 0],
    ['a window that no clock aligns', [9, 12, 19], 1],
    ['the condition stays true: one match', [0, 1, 2, 3, 4, 12], 1],
    ['true, false and true again', [0, 1, 2, 30, 31, 32], 2],
    ['equal times', [5, 5, 5], 1],
  ])('%s', (_, seconds, count) => {
    expect(found(BASE + three, times(seconds))).toEqual(Array.from({ length: count }, () => ['Corr', 3, []]))
  })

  test('groups are counted apart, and events without the field are in none', () => {
    const yaml =
      BASE + correlation('type: event_count\nrules: [base]\ngroup-by: [U, V]\ntimespan: 10s\ncondition: {gt: 1}')
    const events = [
      at(0, { A: 1, U: 'x', V: 'y' }),
      at(1, { A: 1, U: 'x', V: 'z' }),
      at(2, { A: 1, U: 'x' }),
      at(3, { A: 1, U: 'xy', V: '' }),
      at(4, { A: 1, U: 'x', V: 'y' }),
    ]
    expect(found(yaml, events)).toEqual([['Corr', 2, ['x', 'y']]])
    const matcher = new Matcher(compile(yaml).set)
    for (const event of events) matcher.match(event, () => {})
    expect(matcher.correlationCounters()[0]).toMatchObject({ incompleteEvents: 1, groups: 3 })
  })

  test('several rules are counted together', () => {
    const yaml = BASE + correlation('type: event_count\nrules: [base-id, other]\ntimespan: 10s\ncondition: {gte: 2}')
    expect(found(yaml, [at(0, { A: 1 }), at(1, { B: 1 })])).toEqual([['Corr', 2, []]])
  })

  test('a range and an upper bound are tested when the window is over', () => {
    const yaml = BASE + correlation('type: event_count\nrules: [base]\ntimespan: 10s\ncondition: {gt: 1, lte: 3}')
    expect(found(yaml, times([0, 1, 2]))).toEqual([['Corr', 3, []]])
    expect(found(yaml, times([0, 1, 2, 3]))).toEqual([])
    expect(found(yaml, times([0, 11, 12]))).toEqual([['Corr', 2, []]])
    const few = BASE + correlation('type: event_count\nrules: [base]\ntimespan: 10s\ncondition: {lt: 2}')
    expect(found(few, times([0, 20, 21]))).toEqual([['Corr', 1, []]])
  })

  test('generate lets the rules report too', () => {
    const yaml =
      BASE + correlation('type: event_count\nrules: [base]\ntimespan: 10s\ngenerate: true\ncondition: {gte: 2}')
    expect(titles(compile(yaml).set, times([0, 1]))).toEqual(['Base', 'Base', 'Corr'])
  })
})

describe('values', () => {
  const users = (names: string): SigmaEvent[] => [...names].map((name, second) => at(second, { A: 1, U: name }))
  test('value_count counts distinct values', () => {
    const yaml = BASE + correlation('type: value_count\nrules: [base]\ntimespan: 3s\ncondition: {field: U, gte: 3}')
    expect(found(yaml, users('aabbab'))).toEqual([])
    expect(found(yaml, users('aabc'))).toEqual([['Corr', 3, []]])
    expect(found(yaml, users('abaaac'))).toEqual([])
  })
  test('value_count over two fields counts pairs', () => {
    const yaml =
      BASE + correlation('type: value_count\nrules: [base]\ntimespan: 9s\ncondition: {field: [U, V], gte: 2}')
    expect(found(yaml, [at(0, { A: 1, U: 'x', V: 'y' }), at(1, { A: 1, U: 'x', V: 'z' })])).toEqual([['Corr', 2, []]])
  })
  const numbers = (values: readonly (number | string)[]): SigmaEvent[] =>
    values.map((value, second) => at(second, { A: 1, N: value }))
  test.each([
    ['value_sum', '{field: N, gt: 10}', [5, '6'], [['Corr', 11, []]]],
    ['value_sum', '{field: N, gt: 10}', [5, 'x', 5], []],
    ['value_sum', '{field: N, lt: 3}', [1, 1], [['Corr', 2, []]]],
    ['value_avg', '{field: N, gt: 4}', [5, 3, 7], [['Corr', 5, []]]],
    ['value_avg', '{field: N, gt: 5}', [5, 3, 7], []],
    ['value_median', '{field: N, gte: 4}', [9, 4, 1], [['Corr', 4, []]]],
    ['value_percentile', '{field: N, percentile: 90, gte: 9}', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [['Corr', 9, []]]],
    ['value_percentile', '{field: N, percentile: 0, eq: 1}', [3, 1, 2], [['Corr', 1, []]]],
    ['value_percentile', '{field: N, lte: 10}', ['a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'b'], [['Corr', 10, []]]],
    ['value_percentile', '{field: N, lte: 9}', ['a', 'a', 'b'], []],
  ])('%s %s of %j', (type, condition, values, expected) => {
    const yaml = BASE + correlation(`type: ${type}\nrules: [base]\ntimespan: 1m\ncondition: ${condition}`)
    expect(found(yaml, numbers(values))).toEqual(expected)
  })
})

describe('temporal', () => {
  const yaml = BASE + correlation('type: temporal\nrules: [base, other, third]\ngroup-by: [U]\ntimespan: 10s')
  const event = (second: number, letter: string, user = 'u'): SigmaEvent => at(second, { [letter]: 1, U: user })
  test('in any order, within the span, in one group', () => {
    expect(found(yaml, [event(0, 'C'), event(1, 'A'), event(10, 'B')])).toEqual([['Corr', 3, ['u']]])
    expect(found(yaml, [event(0, 'C'), event(1, 'A'), event(11, 'B')])).toEqual([])
    expect(found(yaml, [event(0, 'C'), event(1, 'A'), event(2, 'B', 'v')])).toEqual([])
  })
  test('one event may be all of them', () => {
    expect(found(yaml, [at(0, { A: 1, B: 1, C: 1, U: 'u' })])).toEqual([['Corr', 3, ['u']]])
  })
  test('a condition asks for some of them', () => {
    const two = BASE + correlation('type: temporal\nrules: [base, other, third]\ntimespan: 10s\ncondition: {gte: 2}')
    expect(found(two, [event(0, 'C'), event(1, 'C'), event(3, 'B')])).toEqual([['Corr', 2, []]])
  })
  test('aliases give one name to different fields', () => {
    const aliased = `${BASE}${correlation('type: temporal\nrules: [base, other]\ngroup-by: [ip]\ntimespan: 10s\naliases:\n  ip:\n    base: src\n    other: dst')}`
    expect(found(aliased, [at(0, { A: 1, src: '1', dst: '9' }), at(1, { B: 1, src: '9', dst: '1' })])).toEqual([
      ['Corr', 2, ['1']],
    ])
    expect(found(aliased, [at(0, { A: 1, src: '1' }), at(1, { B: 1, src: '1', dst: '2' })])).toEqual([])
  })
})

describe('temporal_ordered', () => {
  const yaml = BASE + correlation('type: temporal_ordered\nrules: [base, other, third]\ntimespan: 10s')
  const order = (letters: string, step = 1): SigmaEvent[] =>
    [...letters].map((letter, index) => at(index * step, { [letter]: 1 }))
  test.each([
    ['ABC', 1, 1],
    ['ACB', 1, 0],
    ['ABBC', 1, 1],
    ['BAC', 1, 0],
    ['CBABC', 1, 1],
    ['ABC', 5, 1],
    ['ABC', 6, 0],
    ['AXXXXXXXABC', 1, 1],
    ['AAAAAAAAAAABC', 1, 1],
  ])('%s, a step of %i s: %i', (letters, step, count) => {
    expect(found(yaml, order(letters, step))).toHaveLength(count)
  })
  test('one event cannot be two steps', () => {
    const two = BASE + correlation('type: temporal_ordered\nrules: [base, other]\ntimespan: 10s')
    expect(found(two, [at(0, { A: 1, B: 1 })])).toEqual([])
    expect(found(two, [at(0, { A: 1, B: 1 }), at(1, { A: 1, B: 1 })])).toHaveLength(1)
  })
})

describe('chains', () => {
  const many = correlation(
    'type: event_count\nrules: [base]\ngroup-by: [U]\ntimespan: 10s\ncondition: {gte: 2}',
    'Many',
  )
  test('many failures, then a success of the same user, as in the specification', () => {
    const yaml = `${BASE}${correlation('type: temporal_ordered\nrules: [many, other]\ngroup-by: [U]\ntimespan: 1m')}---\n${many}`
    const fail = (second: number, user: string): SigmaEvent => at(second, { A: 1, U: user })
    expect(found(yaml, [fail(0, 'x'), fail(1, 'x'), at(2, { B: 1, U: 'x' })])).toEqual([['Corr', 2, ['x']]])
    expect(found(yaml, [fail(0, 'x'), fail(1, 'y'), at(2, { B: 1, U: 'x' })])).toEqual([])
    expect(found(yaml, [fail(0, 'x'), fail(1, 'x'), at(2, { B: 1, U: 'y' })])).toEqual([])
  })
  test('the group of a correlation may be another one than that of the rule it refers to', () => {
    const yaml = `${BASE}${many}---\n${correlation('type: event_count\nrules: [many]\ngroup-by: [H]\ntimespan: 1m\ncondition: {gte: 2}')}`
    const events = ['x', 'x', 'y', 'y'].map((user, second) => at(second, { A: 1, U: user, H: 'h' }))
    expect(found(yaml, events)).toEqual([['Corr', 2, ['h']]])
  })
  test('a window that closed has its groups only, and a rule that asks for more is refused', () => {
    const few = correlation(
      'type: event_count\nrules: [base]\ngroup-by: [U]\ntimespan: 10s\ncondition: {lte: 2}',
      'Few',
    )
    const over = (groupBy: string): string =>
      `${BASE}${few}---\n${correlation(`type: event_count\nrules: [few]\ngroup-by: [${groupBy}]\ntimespan: 1h\ncondition: {gte: 2}`)}`
    expect(found(over('U'), times([0, 60, 120], { A: 1, U: 'u' }))).toEqual([['Corr', 2, ['u']]])
    expect(compile(over('H')).problems).toEqual([
      'rule.yml:34: Corr: "few" matches when its window ends and has no "H" then; add "H" to the group-by of "few"',
    ])
  })
  test.each([
    [
      'a rule that is not there',
      correlation('type: temporal\nrules: [base, nobody]\ntimespan: 1m'),
      'there is no rule "nobody"; load it too; rules go by id or name',
    ],
    [
      'itself',
      correlation('type: temporal\nrules: [base, corr]\ntimespan: 1m'),
      'the correlation refers to itself through "corr"',
    ],
    [
      'a rule twice',
      correlation('type: temporal\nrules: [base, base-id]\ntimespan: 1m'),
      'the correlation names a rule twice',
    ],
  ])('a correlation cannot refer to %s', (_, text, message) => {
    expect(compile(BASE + text).problems).toEqual([`rule.yml:25: Corr: ${message}`])
  })
  test('a correlation over a broken rule is refused with it', () => {
    const yaml = `${BASE.replace('A: 1', 'A|nope: 1')}${correlation('type: event_count\nrules: [base]\ntimespan: 1m\ncondition: {gte: 2}')}`
    expect(compile(yaml).problems).toEqual([
      'rule.yml:6: Base: there is no modifier "nope"',
      'rule.yml:25: Corr: the rule "base" is not used, so neither is the correlation',
    ])
  })
  test('two correlations that refer to each other are refused, both', () => {
    const circle = (title: string, other: string): string =>
      correlation(`type: event_count\nrules: [${other}]\ntimespan: 1m\ncondition: {gte: 2}`, title)
    expect(compile(`${circle('One', 'two')}---\n${circle('Two', 'one')}`).problems).toEqual([
      'rule.yml:11: Two: the correlation refers to itself through "one"',
      'rule.yml:3: One: the rule "two" is not used, so neither is the correlation',
    ])
  })
})

describe('the obsolete aggregations', () => {
  const rule = (condition: string, timeframe = 'timeframe: 10s'): string =>
    `title: Old\nlogsource: {category: c}\ndetection:\n  s: {A: 1}\n  ${timeframe}\n  condition: ${condition}\n`
  test('count() by', () => {
    const events = ['x', 'y', 'x', 'x'].map((user, second) => at(second, { A: 1, U: user }))
    expect(found(rule('s | count() by U > 2'), events)).toEqual([['Old', 3, ['x']]])
  })
  test('count(field) counts distinct values', () => {
    const events = ['x', 'y', 'x', 'z'].map((user, second) => at(second, { A: 1, U: user }))
    expect(found(rule('s | count(U) >= 3'), events)).toEqual([['Old', 3, []]])
  })
  test('without a timeframe, over all events', () => {
    expect(found(rule('s | count() >= 3', 'x: {B: 1}'), times([0, 9_000, 90_000]))).toEqual([['Old', 3, []]])
  })
  test.each([
    ['max(N) > 4', [['Old', 5, []]]],
    ['min(N) < 2', [['Old', 1, []]]],
    ['avg(N) = 3', [['Old', 3, []]]],
    ['sum(N) > 5', [['Old', 6, []]]],
  ])('%s', (aggregation, expected) => {
    const events = [1, 5].map((value, second) => at(second, { A: 1, N: value }))
    expect(found(rule(`s | ${aggregation}`), events)).toEqual(expected)
  })
})

describe('time', () => {
  const yaml = BASE + correlation('type: event_count\nrules: [base]\ntimespan: 10s\ncondition: {lte: 5}')
  test('events without a time are counted, not correlated', () => {
    const matcher = new Matcher(compile(yaml).set)
    matcher.match(eventOf({ A: 1 }), () => {})
    expect(matcher.counters.untimedEvents).toBe(1)
  })
  test('a late event counts as if it came with the latest one', () => {
    const matcher = new Matcher(compile(yaml).set)
    const seen: Hit[] = []
    for (const second of [20, 5, 21]) matcher.match(at(second, { A: 1 }), (hit) => void seen.push(hit))
    matcher.finish((hit) => void seen.push(hit))
    expect(seen.map(({ correlation: c }) => c)).toEqual([
      { group: [], groupBy: [], value: 3, from: 20_000, to: 21_000 },
    ])
    expect(matcher.correlationCounters()[0].lateEvents).toBe(1)
  })
  test('advance closes the windows that are over', () => {
    const matcher = new Matcher(compile(yaml).set)
    const seen: Hit[] = []
    matcher.match(at(0, { A: 1 }), (hit) => void seen.push(hit))
    matcher.advance(10_000, (hit) => void seen.push(hit))
    expect(seen).toEqual([])
    matcher.advance(10_001, (hit) => void seen.push(hit))
    expect(seen).toHaveLength(1)
    expect(seen[0].event).toBe(undefined)
  })
})

describe('limits', () => {
  const run = (body: string, limits: { maxGroups: number; maxEntries: number }, events: readonly SigmaEvent[]) => {
    const matcher = new Matcher(compile(BASE + correlation(body)).set, limits)
    const seen: Hit[] = []
    for (const event of events) matcher.match(event, (hit) => void seen.push(hit))
    return { seen: seen.length, ...matcher.correlationCounters()[0] }
  }
  test('the group that was quiet the longest is given up, and counted', () => {
    const events = ['x', 'y', 'z', 'z', 'x'].map((user, second) => at(second, { A: 1, U: user }))
    const body = 'type: event_count\nrules: [base]\ngroup-by: [U]\ntimespan: 1h\ncondition: {gte: 2}'
    expect(run(body, { maxGroups: 2, maxEntries: 100 }, events)).toMatchObject({ seen: 1, groups: 2, evictedGroups: 2 })
  })
  test('entries of a single group are given up, oldest first, and counted', () => {
    const events = Array.from({ length: 50 }, (_, second) => at(second, { A: 1, N: 1 }))
    const body = 'type: value_sum\nrules: [base]\ntimespan: 1h\ncondition: {field: N, gte: 40}'
    expect(run(body, { maxGroups: 2, maxEntries: 10 }, events)).toMatchObject({
      seen: 0,
      entries: 10,
      evictedEntries: 40,
    })
  })
  test('many groups and values stay within the limits', () => {
    const events = Array.from({ length: 5_000 }, (_, n) => at(n / 100, { A: 1, U: `u${n % 700}`, V: `v${n}` }))
    for (const type of ['value_count', 'value_percentile']) {
      const body = `type: ${type}\nrules: [base]\ngroup-by: [U]\ntimespan: 1h\ncondition: {field: V, gte: 1000}`
      const { groups, entries } = run(body, { maxGroups: 500, maxEntries: 1_000 }, events)
      expect(groups).toBeLessThanOrEqual(500)
      expect(entries).toBeLessThanOrEqual(1_000)
    }
  })
  test('what left the window is not kept', () => {
    const events = Array.from({ length: 1_000 }, (_, n) => at(n, { A: 1, U: `u${n}`, V: `v${n}` }))
    const body = 'type: value_count\nrules: [base]\ngroup-by: [U]\ntimespan: 10s\ncondition: {field: V, gte: 5}'
    expect(run(body, { maxGroups: 500, maxEntries: 1_000 }, events)).toMatchObject({ groups: 11, evictedGroups: 0 })
  })
})
