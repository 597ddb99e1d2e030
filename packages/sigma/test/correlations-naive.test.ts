import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compile, eventOf, hits } from './rules-of.ts'

/** One event: seconds since the one before, which of the rules it matches, group, number. */
interface Given {
  readonly gap: number
  readonly rules: readonly string[]
  readonly group: string
  readonly number: number
}

interface Timed extends Given {
  readonly time: number
}

const SPAN = 5
const LETTERS = ['A', 'B', 'C']

const given: fc.Arbitrary<Given> = fc.record({
  gap: fc.integer({ min: 0, max: 4 }),
  rules: fc.subarray(LETTERS),
  group: fc.constantFrom('x', 'y'),
  number: fc.integer({ min: 0, max: 3 }),
})

/** What a window, all of it, makes of the condition. */
const CONDITIONS: Readonly<Record<string, (window: readonly Timed[], least: number) => boolean>> = {
  event_count: (window, least) => window.reduce((sum, { rules }) => sum + rules.length, 0) >= least,
  value_count: (window, least) => new Set(window.map(({ number }) => number)).size >= least,
  value_sum: (window, least) => window.reduce((sum, { number, rules }) => sum + number * rules.length, 0) >= least,
  temporal: (window) => LETTERS.every((letter) => window.some(({ rules }) => rules.includes(letter))),
  temporal_ordered: (window) => {
    let next = 0
    for (const { rules } of window) if (next < LETTERS.length && rules.includes(LETTERS[next])) next++
    return next === LETTERS.length
  },
}

/** Straight from the documentation: at each event of a group, look at all that came before. */
function naive(type: string, least: number, events: readonly Timed[]): number[] {
  const fired: number[] = []
  const latest = new Map<string, { time: number; holds: boolean }>()
  events.forEach(({ time, group, rules }, index) => {
    if (rules.length === 0) return
    const window = events
      .slice(0, index + 1)
      .filter((other) => other.group === group && other.time >= time - SPAN && other.rules.length > 0)
    const holds = CONDITIONS[type](window, least)
    const before = latest.get(group)
    if (holds && !(before !== undefined && before.holds && before.time >= time - SPAN)) fired.push(index)
    latest.set(group, { time, holds })
  })
  return fired
}

const RULES = LETTERS.map(
  (letter) =>
    `title: ${letter}\nname: ${letter}\nlogsource: {category: c}\ndetection:\n  s: {rules: ${letter}}\n  condition: s\n---\n`,
).join('')

test.each(Object.keys(CONDITIONS))('%s: at events by chance, as a naive evaluator has it', (type) => {
  fc.assert(
    fc.property(fc.array(given, { maxLength: 40 }), fc.integer({ min: 1, max: 8 }), (list, least) => {
      let time = 0
      const events = list.map((own): Timed => ({ ...own, time: (time += own.gap) }))
      const condition = type.startsWith('temporal')
        ? ''
        : `  condition: {gte: ${least}${type.startsWith('value') ? ', field: number' : ''}}\n`
      const { set, problems } = compile(
        `${RULES}title: Corr\ncorrelation:\n  type: ${type}\n  rules: [A, B, C]\n  group-by: [group]\n  timespan: ${SPAN}s\n${condition}`,
      )
      expect(problems).toEqual([])
      const found = hits(
        set,
        events.map((event, index) =>
          eventOf(
            { rules: event.rules, group: event.group, number: event.number, index },
            { time: event.time * 1_000 },
          ),
        ),
      )
      expect({ events, fired: found.map(({ event }) => event?.get('index')) }).toEqual({
        events,
        fired: naive(type, least, events),
      })
    }),
    { numRuns: 80 },
  )
})
