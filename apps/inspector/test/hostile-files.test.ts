/** Files that somebody made to do harm, and files that were damaged: what is whole in them is shown, the rest is told. */
import { gzipSync } from 'node:zlib'
import { encode } from '@prexy/msgpack/encode'
import { describe, expect, test } from 'vitest'
import { parseFilter } from '../src/filter.ts'
import { findEvents, histogramOf, totalsOf } from '../src/query.ts'
import { type FileOutcome, readSegment } from '../src/sources.ts'
import { EventStore } from '../src/store.ts'
import { applicationOf, exchangeOf, segmentOf } from './segment-file.ts'

async function open(octets: Uint8Array): Promise<{ store: EventStore; outcome: FileOutcome }> {
  const store = new EventStore()
  const sink = { append: (events: Uint8Array) => store.append(events), progress: () => {} }
  return { store, outcome: await readSegment(new Blob([octets.slice()]), sink) }
}

async function find(store: EventStore, filter: string): Promise<number> {
  const parsed = parseFilter(filter)
  if (parsed.kind === 'problem') throw new Error(parsed.problem.message)
  const everything = { from: 0, to: Infinity }
  const found = await findEvents(store, { terms: parsed.terms, range: undefined }, everything, async () => true)
  return found?.length ?? 0
}

const EVENTS = Array.from({ length: 12 }, (_, at) =>
  at % 3 === 2 ? applicationOf(at + 1, `application ${at}`) : exchangeOf(at + 1, `exchange ${at}`, 'text/html'),
)
const WHOLE = segmentOf(EVENTS.flatMap((event) => [encode(event).slice()]))

test('damage at any place takes one frame with it, and never the page', { timeout: 120_000 }, async () => {
  const places = Array.from({ length: 60 }, (_, at) => Math.floor((at * WHOLE.length) / 60))
  for (const place of places) {
    const damaged = WHOLE.slice()
    damaged[place] ^= 0x41
    const { store, outcome } = await open(damaged)
    expect(store.count, `octet ${place}`).toBeGreaterThanOrEqual(EVENTS.length - 1)
    expect(store.count === EVENTS.length || outcome.damagedBytes > 0, `octet ${place}`).toBe(true)
    for (let number = 0; number < store.count; number++) expect(store.event(number)).toBeDefined()
  }
})

test('cut at any place it gives the events before', async () => {
  for (let at = 200; at < WHOLE.length; at += 997) {
    const { store } = await open(WHOLE.subarray(0, at))
    for (let number = 0; number < store.count; number++) {
      expect(store.event(number)).toMatchObject({ sequence: number + 1 })
    }
  }
})

const HOSTILE: readonly (readonly [string, Uint8Array])[] = [
  ['arrays that claim 65,535 elements each', repeated([0xdc, 0xff, 0xff], 60_000)],
  ['a map that claims 4 billion pairs', Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff, 0xa1, 0x61, 0x01)],
  ['a text that claims 4 GB', Uint8Array.of(0x81, 0xa1, 0x61, 0xdb, 0xff, 0xff, 0xff, 0xff, 0x61)],
  ['binary that claims 4 GB', Uint8Array.of(0x81, 0xa1, 0x61, 0xc6, 0xff, 0xff, 0xff, 0xff, 0x00)],
  ['an octet that is no MessagePack', Uint8Array.of(0xc1)],
  ['a number where an event should be', Uint8Array.of(0x07)],
]

describe('frames whose checksums are right', () => {
  test.each(HOSTILE)('with %s are left out', async (_, payload) => {
    const [before, after] = [exchangeOf(1, 'before', 'text/html'), exchangeOf(2, 'after', 'text/html')]
    const { store, outcome } = await open(segmentOf([before, payload, after]))
    expect(store.count).toBe(2)
    expect(outcome.damagedBytes).toBe(payload.length)
    expect(await find(store, 'host:after')).toBe(1)
  })

  test('with maps in maps, too deep to be decoded, leave lists and searches to the others', async () => {
    const depth = 50_000
    const nested = new Uint8Array([...repeated([0x81, 0xa1, 0x61], depth), 0x01])
    const event = new Uint8Array([
      0x83,
      ...encode('kind'),
      ...encode('exchange'),
      ...encode('method'),
      ...encode('GET'),
      ...encode('response'),
      ...nested,
    ])
    const { store } = await open(segmentOf([exchangeOf(1, 'before', 'text/html'), event]))
    expect(await find(store, 'before')).toBe(1)
    expect(await find(store, 'body:before')).toBe(1)
    expect(await find(store, 'type:text/html')).toBe(1)
    const all = Uint32Array.from({ length: store.count }, (_, at) => at)
    expect(totalsOf(store, all).by.type).toHaveLength(1)
    expect(histogramOf(store, all, 10).counts.length).toBe(10)
  })
})

test.each([
  ['a compressed segment', gzipSync(WHOLE)],
  ['zeros that became small', gzipSync(new Uint8Array(20_000_000))],
  ['zeros', new Uint8Array(5_000_000)],
  ['marks that lead nowhere', repeated([0xd8, 0x45], 500_000)],
  ['nothing', new Uint8Array(0)],
])('%s is refused with what to do', async (_, octets) => {
  await expect(open(octets)).rejects.toThrow('is no recording of prexy: open a segment')
})

test('a filter with many stars takes linear time, whatever values are', async () => {
  const event = exchangeOf(1, 'a'.repeat(400_000), 'text/html')
  const { store } = await open(segmentOf([event]))
  expect(await find(store, `host:${'*a'.repeat(30)}*b`)).toBe(0)
  expect(await find(store, `host:${'*a'.repeat(30)}`)).toBe(1)
})

function repeated(octets: readonly number[], times: number): Uint8Array {
  return Uint8Array.from({ length: octets.length * times }, (_, at) => octets[at % octets.length])
}
