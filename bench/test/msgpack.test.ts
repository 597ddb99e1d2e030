import { decode as theirDecode } from '@msgpack/msgpack'
import { openColumns } from '@prexy/msgpack/columns'
import { decode, Decoder } from '@prexy/msgpack/decode'
import { LazyValue } from '@prexy/msgpack/lazy-value'
import { describe, expect, test } from 'vitest'
import { eventDocument, MOST_EVENTS } from '../src/event-document.ts'
import { EVENT_SHAPES } from '../src/event-shapes.ts'
import { describeRatios } from '../src/msgpack-bench.ts'
import { msgpackDocument } from '../src/msgpack-documents.ts'

const EVENTS = 2_000
const document = eventDocument(EVENTS)
const events = theirDecode(document) as Record<string, unknown>[]

describe('the recording', () => {
  test('is the same every time, and as long as it says', () => {
    expect(Buffer.compare(eventDocument(EVENTS), document)).toBe(0)
    expect(events).toHaveLength(EVENTS)
    expect(() => eventDocument(MOST_EVENTS + 1)).toThrow('no document of 1000001 events')
  })

  test('has the statistics of the recording that it stands for', () => {
    let maps = 0
    let keys = 0
    const texts: string[] = []
    const visit = (value: unknown): void => {
      if (typeof value === 'string') texts.push(value)
      else if (Array.isArray(value)) value.forEach(visit)
      else if (typeof value === 'object' && value?.constructor === Object) {
        maps++
        keys += Object.keys(value).length
        Object.values(value).forEach(visit)
      }
    }
    visit(events)
    expect(document.length / EVENTS).toBeGreaterThan(500)
    expect(document.length / EVENTS).toBeLessThan(600)
    expect(maps / EVENTS).toBeCloseTo(2.9, 0)
    expect(keys / EVENTS).toBeCloseTo(23.7, -1)
    expect(texts.length / EVENTS).toBeCloseTo(12, 0)
  })

  test('is read alike by all codecs and in all ways', () => {
    expect(decode(document)).toEqual(events)
    expect(new Decoder({ shapes: EVENT_SHAPES }).decode(document)).toEqual(events)
    const lazy = new Decoder().decodeLazy(document, 2) as Record<string, unknown>[]
    expect(lazy[7].payload).toBeInstanceOf(LazyValue)
    expect(JSON.stringify(lazy[7])).toBe(JSON.stringify(events[7]))
    const { columns } = openColumns(document, [{ name: 'seq', path: ['seq'], kind: 'number' }])
    expect([...columns[0].data]).toEqual(events.map(({ seq }) => seq))
  })
})

test('the small document has 24 keys and 960 bytes', () => {
  const bytes = msgpackDocument({ kind: 'small' })
  expect(bytes).toHaveLength(960)
  expect(Object.keys(decode(bytes) as object)).toHaveLength(24)
})

test('ratios say how often the first holds the others', () => {
  const base = { runtime: 'node v1', unit: 'ms', load: 0 } as const
  const results = [9, 8, 10].map((value) => ({ ...base, subject: 'a', value }))
  expect(describeRatios([...results, { ...base, subject: 'b', value: 3 }]).replace(/ +/g, ' ')).toBe(
    'node v1 a / b: 3.00\n',
  )
})
