import { expect, test } from 'vitest'
import { completionsAt, parseFilter, type Term } from '../src/filter.ts'
import { harmlessHtml } from '../src/harmless-html.ts'
import { findEvents } from '../src/query.ts'
import { readSegment } from '../src/sources.ts'
import { EventStore } from '../src/store.ts'
import { applicationOf, exchangeOf, segmentOf } from './segment-file.ts'

function termsOf(filter: string): readonly Term[] {
  const parsed = parseFilter(filter)
  if (parsed.kind === 'problem') throw new Error(parsed.problem.message)
  return parsed.terms
}

async function storeOf(events: readonly Readonly<Record<string, unknown>>[], limits = {}): Promise<EventStore> {
  const store = new EventStore(limits)
  const sink = { append: (octets: Uint8Array) => store.append(octets), progress: () => {} }
  await readSegment(new Blob([segmentOf(events).slice()]), sink)
  return store
}

const EVERYTHING = { from: 0, to: Infinity }

const EVENTS = [
  { ...exchangeOf(1, 'shop.example', 'text/html'), status: 404, target: '/static/a', method: 'GET' },
  { ...exchangeOf(2, 'www.example', 'application/json'), status: 200, target: '/b c', method: 'POST' },
  { ...exchangeOf(3, 'shop.test', 'text/html'), status: 500, target: '/STATIC/d', method: 'GET' },
  applicationOf(4, 'checkout'),
]

test.each<readonly [string, readonly number[]]>([
  ['', [0, 1, 2, 3]],
  ['status:>=400', [0, 2]],
  ['status:4xx,500', [0, 2]],
  ['-status:404', [1, 2, 3]],
  ['host:shop.*', [0, 2]],
  ['path:/static', [0, 2]],
  ['path:*c', [1]],
  ['-path:/static kind:exchange', [1]],
  ['type:application/json', [1]],
  ['rule:1', [0, 2]],
  ['rule:2', []],
  ['dur:>3.001ms', [1, 2, 3]],
  ['level:error', [3]],
  ['level:warn', []],
  ['dur:<=3001us', [0]],
  ['size:>1kb', []],
  ['size:>=1kb', [0, 1, 2]],
  ['SHOP', [0, 2]],
  ['body:"shop."', [0, 2]],
  ['body:static', []],
  ['"/b c"', [1]],
  // A word that every event has as the name of a field.
  ['target', []],
  ['checkout', [3]],
  ['method:post,get', [0, 1, 2]],
])('%s finds events %j', async (filter, expected) => {
  const store = await storeOf(EVENTS)
  const found = await findEvents(store, { terms: termsOf(filter), range: undefined }, EVERYTHING, async () => true)
  expect([...(found ?? [])]).toEqual(expected)
})

test.each([
  ['status:oops', 7, 11, '"oops" is no number'],
  ['a nope:1', 2, 6, 'there is no field "nope"'],
  ['dur:>5h', 6, 7, '"h" is no unit here'],
  ['host:"a', 5, 7, 'the quote is not closed'],
  ['rule:0', 5, 6, 'a rule is a number from 1'],
  ['x host:', 2, 7, 'host: lacks a value'],
])('%s is wrong from %i to %i: %s', (filter, start, end, message) => {
  expect(parseFilter(filter)).toMatchObject({ kind: 'problem', problem: { start, end, message } })
})

test('fields and values are completed', () => {
  expect(completionsAt('rou', 3, () => []).map(({ text }) => text)).toEqual(['route:'])
  const values = (field: string): string[] => (field === 'host' ? ['shop.example', 'a b'] : [])
  expect(completionsAt('-host:sh', 8, values)).toMatchObject([{ start: 6, end: 8, text: 'shop.example' }])
  expect(completionsAt('host:x,a', 8, values)).toMatchObject([{ start: 7, end: 8, text: '"a b"' }])
})

test('the oldest events make room, and are counted', async () => {
  const events = Array.from({ length: 20_000 }, (_, at) => applicationOf(at + 1, `e${at}`))
  const store = await storeOf(events, { maxEvents: 10_000 })
  expect(store.count + store.evicted).toBe(20_000)
  expect(store.count).toBeLessThanOrEqual(10_000)
  expect(store.event(0)).toBeUndefined()
  expect(store.event(19_999)).toMatchObject({ sequence: 20_000 })
})

test('a cut segment gives what is whole in it', async () => {
  const whole = segmentOf(EVENTS)
  const store = new EventStore()
  const cut = new Blob([whole.slice(0, -10)])
  const sink = { append: (octets: Uint8Array) => store.append(octets), progress: () => {} }
  expect((await readSegment(cut, sink)).damagedBytes).toBeGreaterThan(0)
  expect(store.count).toBe(0)
  await expect(readSegment(new Blob(['x'.repeat(99)]), sink)).rejects.toThrow('is no recording')
})

test.each([
  ['<p onclick="x">a<b>c</b></p>', '<p>a<b>c</b></p>'],
  ['<script>a</script>b', '</script>b'],
  ['a < b <img src=x onerror=y> <!-- c --> <p', 'a &lt; b   &lt;p'],
])('of %j the page view shows %j', (page, expected) => {
  expect(harmlessHtml(page).replace(/^<!doctype html><meta charset="utf-8">/, '')).toBe(
    expected.replace('</script>', ''),
  )
})

test('hostile markup takes linear time', () => {
  // Of so much, a quadratic one would see nothing of the end within the time that a test has.
  expect(harmlessHtml('<script '.repeat(100_000))).toHaveLength(31 + 6 + 1_100_000)
  expect(harmlessHtml('<script>'.repeat(100_000))).toHaveLength(31 + 6)
  expect(harmlessHtml('<!--'.repeat(200_000))).toHaveLength(31 + 6 + 1_400_000)
})
