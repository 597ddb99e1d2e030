import { connect } from 'node:net'
import { Redactor } from '@prexy/events/redact'
import { encode } from '@prexy/msgpack/encode'
import { decode } from '@prexy/msgpack/decode'
import { LiveFeed } from '@prexy/record/live-feed'
import { type ApplicationEvent, Recorder } from '@prexy/record/recorder'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { type AdminServer, startAdmin } from '../src/admin-server.ts'
import { Ingest, type IngestInit, MAX_CLIENTS } from '../src/ingest.ts'
import type { AdminHost } from '../src/host.ts'

const TOKEN = 'the-token-of-the-listener'
const EVENTS_TOKEN = 'the-token-of-applications'
const PAGE = 'https://shop.example'
const NOW = 1_796_000_000_000
const CLIENT = 'a-client-of-this-test'

const running: AdminServer[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()))
})

/** What a batch needs, and nothing else. */
const event = (changes: object = {}): object => ({ type: 'log', name: 'n', ...changes })
const batch = (events: unknown, changes: object = {}): object => ({ version: 1, source: 'shop', events, ...changes })

function ingestOf(init: Partial<IngestInit> = {}): { ingest: Ingest; taken: ApplicationEvent[] } {
  const taken: ApplicationEvent[] = []
  const record = (one: ApplicationEvent): boolean => {
    taken.push(one)
    return true
  }
  return { ingest: new Ingest({ record, token: EVENTS_TOKEN, origins: [PAGE], ...init }), taken }
}

async function start(ingest: Ingest | undefined): Promise<string> {
  const host: Pick<AdminHost, 'isReady'> = { isReady: () => true }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of the host is asked for
  const server = await startAdmin({
    listen: { host: '127.0.0.1', port: 0 },
    token: TOKEN,
    host: host as AdminHost,
    ...(ingest === undefined ? {} : { ingest }),
  })
  running.push(server)
  return `http://127.0.0.1:${server.address.port}/api/events`
}

const MESSAGEPACK = { 'content-type': 'application/vnd.msgpack', authorization: `Bearer ${EVENTS_TOKEN}` }
const JSON_HEADERS = { ...MESSAGEPACK, 'content-type': 'application/json' }

async function post(url: string, body: unknown, headers: Record<string, string> = MESSAGEPACK): Promise<Response> {
  return await fetch(url, { method: 'POST', headers, body: encode(body) })
}

describe('events of applications', () => {
  test.each(['messagepack', 'json'] as const)('are taken as %s and recorded with all they have', async (format) => {
    const { ingest, taken } = ingestOf()
    const url = await start(ingest)
    const atMs = Date.now() - 1_000
    const all = {
      atMs,
      type: 'query',
      level: 'warn',
      name: 'orders by customer',
      message: 'slow',
      durationMs: 12.5,
      requestId: 'request-1',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      data: { rows: 3, cached: false, table: 'orders' },
    }
    const body = batch([all, event()])
    const answer =
      format === 'json'
        ? await fetch(url, { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) })
        : await post(url, body)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ accepted: 2, dropped: 0, known: 0, refused: 0, reasons: [] })
    const { atMs: _, ...rest } = all
    expect(taken[0]).toEqual({ ...rest, startedAtMs: atMs, source: 'shop' })
    expect(taken[1]).toMatchObject({ source: 'shop', type: 'log', name: 'n' })
    expect(ingest.counts).toEqual({ accepted: 2, dropped: 0, refused: 0 })
  })

  test.each<[string, number, Record<string, string>, string?]>([
    ['the token of applications', 200, MESSAGEPACK],
    ['the token of the listener', 200, { ...MESSAGEPACK, authorization: `Bearer ${TOKEN}` }],
    ['no token', 401, { 'content-type': 'application/vnd.msgpack' }],
    ['another token', 401, { ...MESSAGEPACK, authorization: 'Bearer another' }],
    ['a page that is named', 200, { ...MESSAGEPACK, origin: PAGE }],
    ['a page that is not named', 403, { ...MESSAGEPACK, origin: 'https://evil.example' }],
    ['a page without an origin', 403, { ...MESSAGEPACK, origin: 'null' }],
    ['another scheme', 403, { ...MESSAGEPACK, origin: 'http://shop.example' }],
    ['a form of a page', 415, { ...MESSAGEPACK, 'content-type': 'text/plain' }],
    ['a coding', 415, { ...MESSAGEPACK, 'content-encoding': 'gzip' }],
    ['GET', 405, MESSAGEPACK, 'GET'],
    ['PUT', 405, MESSAGEPACK, 'PUT'],
  ])('%s: %i', async (_what, status, headers, method = 'POST') => {
    const { ingest, taken } = ingestOf()
    const url = await start(ingest)
    const body = method === 'GET' ? {} : { body: encode(batch([event()])) }
    const answer = await fetch(url, { method, headers, ...body })
    expect(answer.status).toBe(status)
    expect(taken.length).toBe(status === 200 ? 1 : 0)
    const named = headers.origin === PAGE
    expect(answer.headers.get('access-control-allow-origin')).toBe(named ? PAGE : null)
    expect(answer.headers.get('access-control-allow-credentials')).toBe(null)
  })

  test('a preflight is answered to pages that are named, and the token for events opens nothing else', async () => {
    const { ingest } = ingestOf()
    const url = await start(ingest)
    const ask = (origin: string): Promise<Response> =>
      fetch(url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
    const allowed = await ask(PAGE)
    expect(allowed.status).toBe(204)
    expect(allowed.headers.get('access-control-allow-origin')).toBe(PAGE)
    expect(allowed.headers.get('access-control-allow-headers')).toBe('authorization, content-type')
    expect(allowed.headers.get('vary')).toBe('Origin')
    expect((await ask('https://evil.example')).headers.get('access-control-allow-origin')).toBe(null)
    for (const path of ['/api/status', '/api/routes', '/metrics', '/api/recordings', '/api/openapi.json']) {
      expect((await fetch(new URL(path, url), { headers: MESSAGEPACK })).status).toBe(401)
    }
    expect((await fetch(new URL('/api/reload', url), { method: 'POST', headers: MESSAGEPACK })).status).toBe(401)
    const session = await fetch(new URL('/api/session', url), { method: 'POST', body: EVENTS_TOKEN })
    expect(session.status).toBe(401)
  })

  test('a cookie of a browser that is signed in does not send events', async () => {
    const { ingest, taken } = ingestOf()
    const url = await start(ingest)
    const signedIn = await fetch(new URL('/api/session', url), { method: 'POST', body: TOKEN })
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';', 1)[0]
    const headers = { 'content-type': 'application/json', cookie, origin: new URL(url).origin }
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(batch([event()])) })
    expect(answer.status).toBe(401)
    expect(taken).toEqual([])
  })

  test('are not taken where the configuration does not say so', async () => {
    const answer = await post(await start(undefined), batch([event()]))
    expect(answer.status).toBe(404)
    expect(await answer.text()).toContain('admin.ingest')
  })

  test('maxBatchBytes: a longer batch is refused, whether it says its length or not', async () => {
    const { ingest, taken } = ingestOf({ limits: { maxBatchBytes: 2_000 } })
    const url = await start(ingest)
    const long = encode(batch([event({ message: 'x'.repeat(3_000) })]))
    expect((await fetch(url, { method: 'POST', headers: MESSAGEPACK, body: long })).status).toBe(413)
    const { port } = new URL(url)
    const head = `POST /api/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/vnd.msgpack\r\nAuthorization: Bearer ${EVENTS_TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', () => socket.destroy())
      socket.write(head)
      socket.write(`${long.length.toString(16)}\r\n`)
      socket.write(long)
      socket.once('data', (data) => {
        resolve(data.toString())
        socket.destroy()
      })
    })
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(taken).toEqual([])
  })

  test('a client that goes while it sends leaves room for others', async () => {
    const { ingest } = ingestOf({ limits: { maxBatchBytes: 2_000, maxPendingBytes: 2_000 } })
    const url = await start(ingest)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST /api/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${EVENTS_TOKEN}\r\nContent-Length: 1000\r\n\r\n{`,
    )
    await expect.poll(async () => (await post(url, batch([event()]))).status, { timeout: 20_000 }).toBe(503)
    socket.destroy()
    await expect.poll(async () => (await post(url, batch([event()]))).status, { timeout: 20_000 }).toBe(200)
  })
})

describe('a batch', () => {
  test.each<[string, unknown, string]>([
    ['no map', 5, 'a batch is a map'],
    ['a list', [], 'a batch is a map'],
    ['another version', batch([], { version: 2 }), 'version: has to be 1'],
    ['no source', { version: 1, events: [] }, 'source: '],
    ['a long source', batch([], { source: 'x'.repeat(201) }), 'source: '],
    ['a stray field', batch([], { more: 1 }), 'a batch has no field "more"'],
    ['no list of events', batch({}), 'events: has to be a list'],
    ['too many events', batch([event(), event(), event()]), 'events: at most 2 of them'],
    ['half an origin', batch([], { client: CLIENT }), 'client and first'],
    ['a short client', batch([], { client: 'x', first: 0 }), 'client: '],
    ['a time that is none', batch([], { sentAtMs: Number.NaN }), 'sentAtMs: '],
  ])('%s is refused', async (_what, value, reason) => {
    const { ingest, taken } = ingestOf({ limits: { maxBatchEvents: 2 } })
    const outcome = await ingest.take(encode(value), 'messagepack', NOW)
    expect(outcome).toMatchObject({ kind: 'refused' })
    expect(outcome.kind === 'refused' ? outcome.reason : '').toContain(reason)
    expect(taken).toEqual([])
  })

  test.each<[string, unknown, string]>([
    ['no map', 'text', 'an event is a map'],
    ['no type', { name: 'n' }, 'type: has to be one of log, timing, query, custom'],
    ['no name', { type: 'log' }, 'name: '],
    ['a stray field', event({ user: 'x' }), 'an event has no field "user"'],
    ['another level', event({ level: 'fatal' }), 'level: '],
    ['a message that is no text', event({ message: 5 }), 'message: '],
    ['a negative duration', event({ durationMs: -1 }), 'durationMs: '],
    ['an endless duration', event({ durationMs: Infinity }), 'durationMs: '],
    ['a trace that is none', event({ traceId: '0AF7651916CD43DD8448EB211C80319C' }), 'traceId: '],
    ['a list as data', event({ data: [1] }), 'data: '],
    ['nested data', event({ data: { a: null } }), 'data: '],
    ['much data', event({ data: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, i])) }), 'data: '],
    ['a long message', event({ message: 'x'.repeat(300) }), 'has 301 characters; at most 300'],
    ['long data', event({ data: { a: 'x'.repeat(300) } }), 'has 302 characters; at most 300'],
    ['yesterday', event({ atMs: NOW - 25 * 3_600_000 }), 'atMs: '],
    ['tomorrow', event({ atMs: NOW + 60_000 }), 'atMs: '],
  ])('an event with %s is refused, and the others are taken', async (_what, bad, reason) => {
    const { ingest, taken } = ingestOf({ limits: { maxEventCharacters: 300 } })
    const outcome = await ingest.take(encode(batch([event(), bad, event()])), 'messagepack', NOW)
    expect(outcome).toMatchObject({ kind: 'taken', accepted: 2, refused: 1 })
    expect(outcome.kind === 'taken' ? outcome.reasons : []).toEqual([
      { index: 1, reason: expect.stringContaining(reason) },
    ])
    expect(taken.length).toBe(2)
  })

  test.each<[string, Uint8Array, 'messagepack' | 'json']>([
    ['nothing', new Uint8Array(0), 'messagepack'],
    ['half a value', encode(batch([event()])).subarray(0, 20), 'messagepack'],
    ['levels without end', Uint8Array.from(new Array<number>(5_000).fill(0x91)), 'messagepack'],
    ['a claim of four thousand million elements', Uint8Array.from([0xdd, 255, 255, 255, 255]), 'messagepack'],
    ['two values', Uint8Array.from([0x80, 0x80]), 'messagepack'],
    ['no JSON', new TextEncoder().encode('{'), 'json'],
    ['JSON without end', new TextEncoder().encode('['.repeat(200_000)), 'json'],
  ])('%s is refused', async (_what, octets, format) => {
    const { ingest } = ingestOf()
    expect(await ingest.take(octets, format, NOW)).toMatchObject({ kind: 'refused' })
  })

  test('whatever the octets are, it is refused or taken', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.anything().map((value) => {
            try {
              return encode(batch([value], { source: 's' }))
            } catch {
              return new Uint8Array(1)
            }
          }),
        ),
        async (octets) => {
          const { ingest } = ingestOf()
          expect(['taken', 'refused']).toContain((await ingest.take(octets, 'messagepack', NOW)).kind)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('names of properties that are special stay names', async () => {
    const { ingest, taken } = ingestOf()
    const text =
      '{"version":1,"source":"s","events":[{"type":"log","name":"n","data":{"__proto__":"a","constructor":"b"}}]}'
    await ingest.take(new TextEncoder().encode(text), 'json', NOW)
    expect(Object.entries(taken[0].data ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  test('of a clock that is wrong is put right, small differences stay', async () => {
    const { ingest, taken } = ingestOf()
    const hour = 3_600_000
    const wrong = batch([event({ atMs: NOW + hour - 100 })], { sentAtMs: NOW + hour })
    await ingest.take(encode(wrong), 'messagepack', NOW)
    const near = batch([event({ atMs: NOW - 200 })], { sentAtMs: NOW - 150 })
    await ingest.take(encode(near), 'messagepack', NOW)
    expect(taken.map(({ startedAtMs }) => startedAtMs)).toEqual([NOW - 100, NOW - 200])
  })

  test('that comes again is taken once', async () => {
    const { ingest, taken } = ingestOf()
    const names = (from: number, count: number): object[] =>
      Array.from({ length: count }, (_, i) => event({ name: String(from + i) }))
    const send = (first: number, count: number): Promise<unknown> =>
      ingest.take(encode(batch(names(first, count), { client: CLIENT, first })), 'messagepack', NOW)
    expect(await send(0, 3)).toMatchObject({ accepted: 3, known: 0 })
    expect(await send(0, 3)).toMatchObject({ accepted: 0, known: 3 })
    expect(await send(0, 5)).toMatchObject({ accepted: 2, known: 3 })
    expect(await send(9, 1)).toMatchObject({ accepted: 1, known: 0 })
    await Promise.all([send(10, 4), send(10, 4)])
    expect(taken.map(({ name }) => Number(name))).toEqual([0, 1, 2, 3, 4, 9, 10, 11, 12, 13])
  })

  test('as many senders as MAX_CLIENTS are remembered', async () => {
    const { ingest } = ingestOf({ limits: { maxEventsPerSecond: 10_000_000, maxBytesPerSecond: 1_000_000_000 } })
    const send = (client: number): Promise<unknown> => {
      const named = { client: `client-number-${String(client).padStart(6, '0')}`, first: 0 }
      return ingest.take(encode(batch([event()], named)), 'messagepack', NOW)
    }
    for (let client = 0; client <= MAX_CLIENTS; client++) await send(client)
    expect(await send(1)).toMatchObject({ known: 1 })
    expect(await send(0)).toMatchObject({ known: 0 })
  })

  test('maxEventsPerSecond and maxBytesPerSecond put off what comes too fast', async () => {
    const octets = encode(batch([event(), event(), event()]))
    const { ingest: events } = ingestOf({ limits: { maxEventsPerSecond: 2 } })
    expect(await events.take(octets, 'messagepack', NOW)).toMatchObject({ accepted: 3 })
    expect(await events.take(octets, 'messagepack', NOW + 100)).toEqual({ kind: 'later', why: 'rate', seconds: 1 })
    expect(await events.take(octets, 'messagepack', NOW + 1_000)).toMatchObject({ accepted: 3 })
    const { ingest: bytes } = ingestOf({ limits: { maxBytesPerSecond: 10 } })
    expect(await bytes.take(octets, 'messagepack', NOW)).toMatchObject({ accepted: 3 })
    expect(await bytes.take(octets, 'messagepack', NOW + 1_000)).toMatchObject({ kind: 'later', why: 'rate' })
    expect(await bytes.take(octets, 'messagepack', NOW + 60_000)).toMatchObject({ accepted: 3 })
  })

  test('what the recorder has no room for is counted', async () => {
    const { ingest } = ingestOf({ record: () => false })
    expect(await ingest.take(encode(batch([event()])), 'messagepack', NOW)).toMatchObject({ accepted: 0, dropped: 1 })
    expect(ingest.counts).toEqual({ accepted: 0, dropped: 1, refused: 0 })
  })

  test('the event loop has its turn while many events are recorded', async () => {
    let turns = 0
    let isDone = false
    const turn = (): void => {
      turns++
      if (!isDone) setImmediate(turn)
    }
    const record = (): boolean => {
      // Each as slow as the slowest that is allowed.
      const from = performance.now()
      while (performance.now() - from < 5) continue
      return true
    }
    const { ingest } = ingestOf({ record })
    setImmediate(turn)
    await ingest.take(encode(batch(new Array(20).fill(event()))), 'messagepack', NOW)
    isDone = true
    expect(turns).toBeGreaterThanOrEqual(19)
  })
})

test('secrets are taken out of events before they are kept', async () => {
  const feed = new LiveFeed()
  const recorder = new Recorder({ run: '0badcafe', feed, redactor: new Redactor() })
  const { ingest } = ingestOf({ record: (one) => recorder.application(one) })
  const secret = 'canary-0f3a'
  const sent = batch(
    [
      event({ message: `login with password=${secret}&x=1` }),
      event({ name: `https://user:${secret}@host/` }),
      event({ data: { password: secret, sessionToken: secret, url: `/?token=${secret}`, [`key token=${secret}`]: 1 } }),
      event({ requestId: `token=${secret}` }),
    ],
    { source: `password=${secret}` },
  )
  expect(await ingest.take(encode(sent), 'messagepack', NOW)).toMatchObject({ accepted: 4 })
  const kept = [1, 2, 3, 4].map((number) => decode(feed.at(number) ?? []))
  expect(JSON.stringify(kept)).not.toContain('canary')
  expect(kept[2]).toMatchObject({ kind: 'application', run: '0badcafe', sequence: 3, data: { password: '[redacted]' } })
})
