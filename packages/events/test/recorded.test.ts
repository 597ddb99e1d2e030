import { applyDelta, fieldDelta } from '@prexy/events/field-delta'
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import type { ExchangeRecord, RecordedEvent } from '@prexy/events/recorded-event'
import { eventName } from '@prexy/events/recorded-event'
import { toWire } from '@prexy/events/recorded-wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const line = fc.tuple(fc.constantFrom('A', 'B', 'Cookie', 'a'), fc.constantFrom('1', '2', ''))
const fieldList = fc.array(line, { maxLength: 80 }).map((lines) => lines.flat())

describe('a list of fields as a delta', () => {
  test('holds the lines that are the same as numbers', () => {
    const base = ['Host', 'a', 'Accept', '*/*', 'Cookie', 'x']
    const delta = fieldDelta(base, ['Host', 'b', 'Accept', '*/*', 'Via', '1.1 p'])
    expect(delta).toEqual(['Host', 'b', 1, 'Via', '1.1 p'])
    expect(applyDelta(base, delta)).toEqual(['Host', 'b', 'Accept', '*/*', 'Via', '1.1 p'])
  })

  test('comes back, whatever the lists', () => {
    fc.assert(
      fc.property(fieldList, fieldList, (base, fields) => {
        expect(applyDelta(base, fieldDelta(base, fields))).toEqual(fields)
      }),
    )
  })

  test.each([[[1]], [[-1]], [[0.5]], [['A']], [['A', 0]]])('that does not fit is none: %j', (delta) => {
    expect(applyDelta(['Host', 'a'], delta)).toBeUndefined()
  })

  test('takes time in proportion to the lines', () => {
    const lines = (name: string): string[] => Array.from({ length: 20_000 }, (_, at) => [`${name}${at}`, 'x']).flat()
    const begun = process.cpuUsage()
    fieldDelta(lines('a'), lines('b'))
    expect(process.cpuUsage(begun).user).toBeLessThan(500_000)
  })
})

const EVENT: ExchangeRecord = {
  kind: 'exchange',
  version: 2,
  run: '4f2a9c01',
  sequence: 3,
  startedAtMs: 1_764_547_200_000,
  exchangeId: 3,
  connectionId: 1,
  requestNumber: 2,
  timings: { requestHeadUs: 1, upstreamConnectedUs: undefined, responseHeadUs: undefined, endUs: 9 },
  method: 'GET',
  host: 'a.example',
  target: '/',
  status: 200,
  route: undefined,
  upstream: undefined,
  clientInBytes: 1,
  clientOutBytes: 2,
  upstreamOutBytes: 3,
  upstreamInBytes: 4,
  outcome: 'completed',
  detail: undefined,
  treatment: undefined,
  request: { minorVersion: 1, fields: ['Host', 'a'], sentFields: ['Host', 'b'] },
  response: { status: 200, fields: ['A', '1'], sentFields: ['A', '1', 'B', '2'] },
}

describe('an event on the wire', () => {
  const others: readonly RecordedEvent[] = [
    { kind: 'gap', run: '00000000', sequence: 1, startedAtMs: 5, dropped: 9 },
    {
      kind: 'application',
      run: '00000000',
      sequence: 1,
      startedAtMs: 5,
      source: 'shop',
      type: 'query',
      name: 'select',
      durationMs: 1.5,
      data: { rows: 3, cached: false, table: 'item' },
    },
  ]
  test.each([EVENT, { ...EVENT, response: { status: 500, fields: [] } }, ...others])('comes back: %j', (event) => {
    expect(parseRecordedEvent(toWire(event))).toEqual(event)
    expect(parseRecordedEvent(event)).toBe(event)
  })

  test('has its name', () => {
    expect(eventName(EVENT)).toBe('4f2a9c01-3')
  })

  test.each([
    ['no map', 5],
    ['an array', [EVENT]],
    ['another kind', { ...EVENT, kind: 'other' }],
    ['another version', { ...EVENT, version: 1 }],
    ['no run', { ...EVENT, run: undefined }],
    ['a negative sequence', { ...EVENT, sequence: -1 }],
    ['no time', { ...EVENT, startedAtMs: Number.NaN }],
    ['a name without a value', { ...EVENT, request: { minorVersion: 1, fields: ['Host'] } }],
    ['a value that is no text', { ...EVENT, request: { minorVersion: 1, fields: ['Host', 1] } }],
    ['a delta beyond its base', { ...EVENT, request: { minorVersion: 1, fields: [], sent: [0] } }],
    ['a delta of something else', { ...EVENT, request: { minorVersion: 1, fields: [], sent: [{}] } }],
    ['a body that is text', { ...EVENT, bodies: { request: { bytes: 1, octets: 'x' } } }],
    ['hits that are no numbers', { ...EVENT, treatment: { kind: 'rewritten', stats: { hits: ['x'] } } }],
    ['timings without an end', { ...EVENT, timings: {} }],
    ['nested data', { ...others[1], data: { a: { b: 1 } } }],
  ])('is refused with %s', (_what, value) => {
    expect(parseRecordedEvent(value)).toBeUndefined()
  })

  test('of any values is read without a throw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(EVENT)), fc.jsonValue(), (key, value) => {
        parseRecordedEvent({ ...EVENT, [key]: value })
      }),
    )
  })
})
