import type { ExchangeEvent } from '@prexy/events/exchange'
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import { eventName, type ExchangeRecord, type RecordedEvent } from '@prexy/events/recorded-event'
import { toWire } from '@prexy/events/recorded-wire'
import { Redactor } from '@prexy/events/redact'
import { fieldDelta } from '@prexy/events/field-delta'
import type { RequestHead, ResponseHead } from '@prexy/http/message'
import { decode } from '@prexy/msgpack/decode'
import { encode } from '@prexy/msgpack/encode'
import { ExchangeWriter } from '@prexy/record/exchange-writer.hot'
import { LiveFeed } from '@prexy/record/live-feed'
import { newRun, Recorder, type RecorderInit } from '@prexy/record/recorder'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addExchanges, exchange, RUN, startWriter, temporaryDirectory } from './recorded.ts'

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

function eventOf(record: ExchangeRecord): ExchangeEvent {
  const { kind: _k, run: _r, sequence: _s, request: _q, response: _p, bodies: _b, webSocket: _w, ...event } = record
  return event
}

function request(fields: readonly string[], hasBody = false): RequestHead {
  return {
    method: hasBody ? 'POST' : 'GET',
    target: '/',
    targetForm: 'origin',
    path: '/',
    authority: 'a.example',
    minorVersion: 1,
    fields,
    body: hasBody ? { kind: 'chunked' } : { kind: 'none' },
    keepAlive: true,
    expectContinue: false,
    upgrade: undefined,
  }
}

function response(fields: readonly string[]): ResponseHead {
  return { status: 200, minorVersion: 1, fields, body: { kind: 'chunked' }, contentLength: undefined, keepAlive: true }
}

interface Setup {
  readonly recorder: Recorder
  readonly events: () => RecordedEvent[]
}

function setUp(init: Partial<RecorderInit> = {}): Setup {
  const feed = new LiveFeed()
  const recorder = new Recorder({ run: RUN, feed, redactor: new Redactor(), ...init })
  return {
    recorder,
    events: () =>
      Array.from({ length: feed.newest - feed.oldest + 1 }, (_, at) => {
        const event = parseRecordedEvent(decode(feed.at(feed.oldest + at) ?? new Uint8Array(0)))
        if (event === undefined) throw new Error('no event')
        return event
      }),
  }
}

interface Told {
  readonly type?: string
  readonly coding?: string
  readonly isRewritten?: boolean
  readonly before?: string
  readonly after?: string
  readonly sent?: string
}

/** One exchange whose response has that body. */
function tell({ recorder }: Setup, told: Told): void {
  const { type, coding, isRewritten = true, before, after, sent } = told
  const head = request(['Content-Type', 'text/plain'], sent !== undefined)
  const recording = recorder.begin(head, 'shop')
  recording?.requestSent(head.fields)
  if (sent !== undefined && recording?.wantsRequestBody === true) recording.requestData(utf8(sent))
  const fields = [
    ...(type === undefined ? [] : ['Content-Type', type]),
    ...(coding === undefined ? [] : ['Content-Encoding', coding]),
  ]
  const wants = recording?.responseHead(response(fields), fields, isRewritten) ?? false
  if (wants && before !== undefined) for (const part of before) recording?.responseData(utf8(part))
  if (wants && after !== undefined) recording?.responseDataSent(utf8(after))
  recording?.end(eventOf(exchange(1)))
}

function bodiesOf({ events }: Setup): unknown[] {
  return events().map((event) => (event.kind === 'exchange' ? event.bodies : undefined))
}

describe('which exchanges are recorded', () => {
  test('all, numbered, unless it is switched off', () => {
    const setup = setUp()
    tell(setup, {})
    setup.recorder.enabled = false
    tell(setup, {})
    setup.recorder.refused(eventOf(exchange(1)))
    setup.recorder.enabled = true
    setup.recorder.refused(eventOf(exchange(1)))
    expect(setup.events().map(eventName)).toEqual([`${RUN}-1`, `${RUN}-2`])
    expect(setup.recorder.recorded).toBe(2)
  })

  test('a share of them', () => {
    const draws = [0.1, 0.9, 0.29, 0.3]
    const setup = setUp({ sample: 0.3, random: () => draws.shift() ?? 1 })
    for (let count = 0; count < 4; count++) tell(setup, {})
    expect(setup.events()).toHaveLength(2)
  })

  test('those of some routes', () => {
    const { recorder } = setUp({ routes: ['shop'] })
    const head = request([])
    expect(recorder.begin(head, 'shop')).toBeDefined()
    expect(recorder.begin(head, 'other')).toBeUndefined()
    expect(recorder.begin(head, undefined)).toBeUndefined()
  })

  test('runs have names of their own', () => {
    expect(newRun()).toMatch(/^[0-9a-f]{8}$/)
    expect(newRun()).not.toBe(newRun())
  })
})

describe('bodies', () => {
  test('are not kept unless they are asked for', () => {
    const setup = setUp()
    tell(setup, { type: 'text/html', before: 'a', after: 'b', sent: 'c' })
    expect(bodiesOf(setup)).toEqual([undefined])
  })

  test('are kept before and after, without secrets', () => {
    const setup = setUp({ bodies: {} })
    tell(setup, { type: 'application/json', before: '{"password":"x1","a":1}', after: '{"a":2}', sent: 'token: x2' })
    expect(bodiesOf(setup)).toEqual([
      {
        request: { bytes: 9, octets: utf8('token: [redacted]') },
        response: { bytes: 23, octets: utf8('{"password":"[redacted]","a":1}') },
        responseSent: { bytes: 7, octets: utf8('{"a":2}') },
      },
    ])
  })

  test.each<[string, Told, object]>([
    ['a picture', { type: 'image/png', before: 'abc' }, { bytes: 1_000, omitted: 'type' }],
    ['of no known type', { before: 'abc' }, { bytes: 1_000, omitted: 'type' }],
    [
      'compressed and not read',
      { type: 'text/html', coding: 'gzip', isRewritten: false, before: 'x' },
      { bytes: 1_000, omitted: 'coded' },
    ],
    ['in UTF-16', { type: 'text/html', before: 'a\0b\0' }, { bytes: 4, omitted: 'type' }],
    [
      'too long',
      { type: 'text/css', before: 'abcdefghijk' },
      { bytes: 11, octets: utf8('abcdefgh'), omitted: 'length' },
    ],
    [
      'longer than others may be',
      { type: 'text/html', before: 'abcdefghijk' },
      { bytes: 11, octets: utf8('abcdefghijk') },
    ],
  ])('say why they are not whole: %s', (_what, told, body) => {
    const setup = setUp({
      bodies: {
        maxBodyBytes: 8,
        maxBytesByType: [
          ['text/html', 99],
          ['image/*', 0],
        ],
      },
    })
    tell(setup, told)
    expect(bodiesOf(setup)).toEqual([{ response: body }])
  })

  test('share their memory, which is free again afterwards', () => {
    const setup = setUp({ bodies: { maxBodyMemoryBytes: 3_000 } })
    const { recorder } = setup
    const big = utf8('x'.repeat(2_000))
    const begin = (): ReturnType<Recorder['begin']> => {
      const recording = recorder.begin(request([]), undefined)
      recording?.responseHead(response(['Content-Type', 'text/plain']), [], true)
      recording?.responseData(big)
      return recording
    }
    const first = begin()
    const second = begin()
    first?.end(eventOf(exchange(1)))
    second?.end(eventOf(exchange(2)))
    begin()?.end(eventOf(exchange(3)))
    expect(bodiesOf(setup)).toMatchObject([
      { response: { bytes: 2_000, octets: big } },
      { response: { bytes: 2_000, omitted: 'memory' } },
      { response: { bytes: 2_000, octets: big } },
    ])
  })
})

test('what the disk does not take is counted, told as a gap, and still seen live', async () => {
  await using directory = await temporaryDirectory()
  const disk = startWriter(directory.path, { limits: { maxQueuedBytes: 4_000 } })
  const setup = setUp({ writer: disk.writer })
  addExchanges(disk, 1, 3)
  while (setup.recorder.dropped < 2) tell(setup, {})
  const taken = setup.recorder.recorded
  await disk.writer.sync()
  tell(setup, {})
  await disk.writer.stop()
  const events = setup.events()
  expect(events.at(-2)).toMatchObject({ kind: 'gap', dropped: 2 })
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
  expect([setup.recorder.recorded, setup.recorder.dropped]).toEqual([taken + 1, 2])
})

const NAME = fc.constantFrom('Host', 'Cookie', 'A', 'Authorization', 'X-Long', 'Referer')
const VALUE = fc.oneof(
  fc.constantFrom('x', 'Bearer abcdefghijkl', 'a=b; c=d', 'caf\u00e9', 'https://a/?token=1'),
  fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\u0000-\u00ff]/g, '?')),
)
const LINES = fc.array(fc.tuple(NAME, VALUE), { maxLength: 12 }).map((lines) => lines.flat())
const RECORD = fc.record({ lines: LINES, sent: LINES, answer: LINES, size: fc.nat(2 ** 33), path: VALUE })

const STATS = { hits: [1, 300, 70_000], overflows: 0, peakHeldBytes: 9, inBytes: 2 ** 32, outBytes: 5 }
const TREATMENTS: readonly ExchangeRecord['treatment'][] = [
  undefined,
  { kind: 'passed', reason: 'no-rules' },
  { kind: 'rewritten', decode: 'gzip', encode: 'identity', stats: STATS },
  {
    kind: 'rewritten',
    decode: 'gzip',
    encode: 'br',
    stats: STATS,
    notes: { charset: 'utf-8', unencodable: 3, keptIntegrity: true },
  },
]

test('the writer of exchanges writes what the codec would, whatever came before', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fc.array(RECORD, { maxLength: 12 }), fc.boolean(), (drafts, isRedacted) => {
      const redactor = isRedacted ? new Redactor() : undefined
      const writer = new ExchangeWriter(redactor)
      for (const [at, { lines, sent, answer, size, path }] of drafts.entries()) {
        const record = exchange(at + 1, {
          target: `/${path}`,
          detail: path,
          clientOutBytes: size,
          request: { minorVersion: 1, fields: lines, sentFields: sent },
          response: { status: 299, fields: answer, sentFields: lines },
          fieldEdits: { request: ['host'], response: [] },
          treatment: TREATMENTS[at % TREATMENTS.length],
          ...(at % 2 === 0 ? { bodies: { request: { bytes: 3, octets: utf8(path) } } } : {}),
        })
        const { request: q, response: p, bodies } = record
        const octets = writer.write(record.run, record.sequence, {
          kind: record.kind,
          event: eventOf(record),
          request: { minorVersion: 1, status: undefined, fields: lines, sent: fieldDelta(lines, q?.sentFields ?? []) },
          response: {
            minorVersion: undefined,
            status: 299,
            fields: answer,
            sent: fieldDelta(answer, p?.sentFields ?? []),
          },
          webSocket: undefined,
          bodies,
        })
        const wanted = redactor === undefined ? record : redactor.exchange(record)
        expect(parseRecordedEvent(decode(octets))).toEqual(
          parseRecordedEvent(decode(encode(toWire(wanted), { ignoreUndefined: true }))),
        )
      }
    }),
    { numRuns: 100 },
  )
})

test('a line that begins where another exchange had a value is written for itself', () => {
  const writer = new ExchangeWriter(new Redactor())
  const base = ['host', 'h', 'accept', '*/*']
  const deltas = [
    [1, 'cookie', 'x-name', 'cookie', 'v=1'],
    ['x-first', '1', 'x-name', 'cookie', 1],
    [0, 'x-a', 'authorization', 'authorization', 'Basic eDp5', 1],
    ['x-a', 'b', 'authorization', 'authorization', 'x', 'y'],
  ]
  for (const [at, sent] of deltas.entries()) {
    const record = exchange(at + 1, {})
    const parts = {
      kind: record.kind,
      event: eventOf(record),
      request: { minorVersion: 1, status: undefined, fields: base, sent },
      response: undefined,
      webSocket: undefined,
      bodies: undefined,
    }
    const octets = writer.write(record.run, record.sequence, parts)
    const alone = new ExchangeWriter(new Redactor()).write(record.run, record.sequence, parts)
    expect(decode(octets)).toEqual(decode(alone))
  }
})

const MAYBE_US = fc.option(fc.oneof(fc.nat({ max: 1_000 }), fc.constant(2 ** 33)), { nil: undefined, freq: 4 })
const COUNT = fc.oneof(fc.nat({ max: 300 }), fc.constantFrom(2 ** 32 - 1, 2 ** 32, 2 ** 40))
const FORM = fc.record({
  kind: fc.constantFrom('exchange' as const, 'websocket' as const),
  method: fc.constantFrom('GET', 'POST', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6In0.c2lnbmF0dXJl'),
  route: fc.constantFrom('a', 'b', undefined),
  scheme: fc.constantFrom('http' as const, 'https' as const, undefined),
  status: fc.constantFrom(200, 404, undefined),
  attempts: fc.constantFrom(1, undefined),
  outcome: fc.constantFrom('completed' as const, 'answered' as const),
  startedAtMs: fc.constantFrom(5, 1_796_000_000_000, 1_796_000_000_000.25),
  bytes: COUNT,
  hits: fc.array(COUNT, { maxLength: 3 }),
  isRewritten: fc.boolean(),
  notes: fc.constantFrom(undefined, { charset: 'windows-1252' }),
  headUs: MAYBE_US,
  askedUs: MAYBE_US,
  rewriteUs: MAYBE_US,
})

test('exchanges with this and that in common are written as the codec would', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fc.array(FORM, { minLength: 2, maxLength: 40 }), (forms) => {
      const writer = new ExchangeWriter(new Redactor())
      for (const [at, form] of forms.entries()) {
        const { hits, notes, bytes } = form
        const stats = { hits, overflows: 0, peakHeldBytes: 1, inBytes: bytes, outBytes: 2 }
        const record = exchange(at + 1, {
          kind: form.kind,
          method: form.method,
          route: form.route,
          scheme: form.scheme,
          status: form.status,
          upstreamAttempts: form.attempts,
          outcome: form.outcome,
          startedAtMs: form.startedAtMs,
          clientOutBytes: bytes,
          timings: {
            requestHeadUs: form.headUs,
            upstreamAskedUs: form.askedUs,
            upstreamConnectedUs: 7,
            responseHeadUs: undefined,
            rewriteUs: form.rewriteUs,
            endUs: bytes,
          },
          treatment: form.isRewritten
            ? {
                kind: 'rewritten',
                decode: 'identity',
                encode: 'gzip',
                stats,
                ...(notes === undefined ? {} : { notes }),
              }
            : { kind: 'passed', reason: 'no-rules' },
        })
        const { request: _request, response: _response, ...plain } = record
        const octets = writer.write(record.run, record.sequence, {
          kind: record.kind,
          event: eventOf(record),
          request: undefined,
          response: undefined,
          webSocket: undefined,
          bodies: undefined,
        })
        const wanted = new Redactor().exchange(plain)
        expect(decode(octets)).toEqual(decode(encode(toWire(wanted), { ignoreUndefined: true })))
      }
    }),
    { numRuns: 150 },
  )
})
