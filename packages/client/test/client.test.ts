import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Client, type ClientOptions, createClient } from '../src/client.ts'
import { type ScriptedServer, startScripted } from './scripted-server.ts'

const TOKEN = 'the-token-of-applications'
const TRACE = '0af7651916cd43dd8448eb211c80319c'
/** Nothing is sent unless a test says so, and what failed comes again at once. */
const NEVER_MS = 3_600_000
const QUIET = { flushMs: NEVER_MS, minRetryMs: 1, maxRetryMs: 1 }

let server: ScriptedServer
const clients: Client[] = []

beforeEach(async () => {
  server = await startScripted()
})
afterEach(async () => {
  await server.stop()
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

function clientOf(options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ url: server.url, token: TOKEN, source: 'shop', limits: QUIET, ...options })
  clients.push(client)
  return client
}

/** Without the time, which is that of now. */
function sentEvents(): readonly Readonly<Record<string, unknown>>[] {
  return server.batches
    .flatMap(({ events }) => events)
    .map((event) => Object.fromEntries(Object.entries(event).filter(([name]) => name !== 'atMs')))
}

describe('an event', () => {
  test('of each kind is sent as what it is', async () => {
    const client = clientOf()
    client.log('warn', 'card refused', { code: 51, test: false, nothing: undefined, none: null })
    client.timing('render', 12.5)
    client.query('select 1', 3)
    client.query('select 2')
    client.custom('order placed', { total: 9.5 })
    client.forRequest({ requestId: 'r-1', traceparent: `00-${TRACE}-b7ad6b7169203331-01` }).log('info', 'mine')
    client.forRequest({ traceparent: 'nonsense' }).log('debug', 'nobody’s')
    expect(await client.flush()).toBe(true)
    expect(sentEvents()).toEqual([
      { type: 'log', level: 'warn', name: 'card refused', data: { code: 51, test: false } },
      { type: 'timing', name: 'render', durationMs: 12.5 },
      { type: 'query', name: 'select 1', durationMs: 3 },
      { type: 'query', name: 'select 2' },
      { type: 'custom', name: 'order placed', data: { total: 9.5 } },
      { type: 'log', level: 'info', name: 'mine', requestId: 'r-1', traceId: TRACE },
      { type: 'log', level: 'debug', name: 'nobody’s' },
    ])
    expect(server.batches[0]).toMatchObject({ version: 1, source: 'shop', first: 0 })
    expect(server.authorizations).toEqual([`Bearer ${TOKEN}`])
    expect(client.counts).toEqual({ sent: 7, waiting: 0, dropped: 0, refused: 0, filtered: 0 })
  })

  test('that is too long for the proxy is cut', async () => {
    const client = clientOf()
    client.log('info', 'x'.repeat(20_000))
    client.custom(
      'y'.repeat(300),
      Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`k${i}`, 'v'.repeat(2_000)])),
    )
    client.custom('', { list: [1, { a: 2 }], error: new RangeError('wrong'), big: 5n, ring: ring(), not: Number.NaN })
    await client.flush()
    const [long, wide, odd] = sentEvents()
    expect(String(long.name)).toHaveLength(200)
    expect(String(long.message)).toHaveLength(8_000)
    const data: Record<string, unknown> = { ...(wide.data as object) }
    expect(Object.keys(data)).toEqual(['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6'])
    expect(String(data.k0)).toHaveLength(1_000)
    expect(odd).toMatchObject({ type: 'custom', name: 'custom' })
    expect(odd.data).toMatchObject({ list: '[1,{"a":2}]', big: '5', ring: '[object Object]', not: 'NaN' })
    expect(String((odd.data as Record<string, unknown>).error)).toContain('RangeError: wrong')
  })

  test('goes through the filter first, which may change it, hold it back, or fail', async () => {
    const client = clientOf({
      filter(event) {
        if (event.name === 'secret') return undefined
        if (event.name === 'broken') throw new Error('a fault of the filter')
        return { ...event, data: { ...event.data, password: 'gone' } }
      },
    })
    client.custom('secret')
    client.custom('broken')
    client.custom('kept', { password: 'p', n: 1 })
    await client.flush()
    expect(sentEvents()).toEqual([{ type: 'custom', name: 'kept', data: { password: 'gone', n: 1 } }])
    expect(client.counts.filtered).toBe(2)
  })

  test('is made of what is timed, whether it returns, resolves, throws or rejects', async () => {
    const client = clientOf()
    expect(client.time('returns', () => 5)).toBe(5)
    await expect(client.time('resolves', async () => 'x')).resolves.toBe('x')
    const fail = (): never => {
      throw new Error('its own')
    }
    expect(() => client.time('throws', fail)).toThrow('its own')
    await expect(client.time('rejects', async () => fail(), { n: 1 })).rejects.toThrow('its own')
    await client.flush()
    expect(sentEvents().map(({ name, data }) => [name, data])).toEqual([
      ['returns', undefined],
      ['resolves', undefined],
      ['throws', { failed: true }],
      ['rejects', { n: 1, failed: true }],
    ])
    expect(sentEvents().every(({ durationMs }) => Number(durationMs) >= 0)).toBe(true)
  })

  test('is made of what is printed, which is printed all the same', async () => {
    const printed: unknown[][] = []
    const original = console.warn
    console.warn = (...values: unknown[]) => printed.push(values)
    try {
      const client = clientOf({
        filter(event) {
          console.warn('from within')
          return event
        },
      })
      const restore = client.captureConsole(['warn'])
      console.warn('disk', 5, { full: true })
      restore()
      console.warn('not captured')
      await client.flush()
      expect(sentEvents()).toEqual([{ type: 'log', level: 'warn', name: 'disk 5 {"full":true}' }])
      expect(printed).toEqual([['disk', 5, { full: true }], ['from within'], ['not captured']])
    } finally {
      console.warn = original
    }
  })
})

function ring(): object {
  const it: { self?: object } = {}
  it.self = it
  return it
}

describe('delivery', () => {
  test.each([
    ['maxBatchEvents', { maxBatchEvents: 3 }, 3],
    ['maxBatchBytes', { maxBatchBytes: 200 }, 3],
    ['flushMs', { flushMs: 1 }, 1],
  ])('begins by %s', async (_name, limits, events) => {
    const client = clientOf({ limits: { ...QUIET, ...limits } })
    for (let i = 0; i < events; i++) client.log('info', 'x'.repeat(60))
    await server.until(1)
    await client.flush()
    expect(sentEvents()).toHaveLength(events)
  })

  test('sends more than a batch holds in several, in order', async () => {
    const client = clientOf({ limits: { ...QUIET, maxBatchEvents: 10 } })
    for (let i = 0; i < 95; i++) client.custom(String(i))
    expect(await client.flush()).toBe(true)
    expect(server.names()).toEqual(Array.from({ length: 95 }, (_, i) => String(i)))
    expect(Math.max(...server.batches.map(({ events }) => events.length))).toBe(10)
  })

  test.each([['break' as const], [500], [503], [429], [408]])(
    'tries again after %s, and nothing is lost',
    async (answer) => {
      const client = clientOf()
      server.answers.push(answer, answer, answer)
      for (let i = 0; i < 5; i++) client.custom(String(i))
      expect(await client.flush()).toBe(false)
      expect(client.counts).toMatchObject({ sent: 0, waiting: 5 })
      await server.until(4)
      await client.flush()
      expect(server.names()).toEqual(['0', '1', '2', '3', '4'])
      expect(new Set(server.batches.map(({ client: name, first }) => `${name} ${first}`)).size).toBe(1)
      expect(client.counts).toMatchObject({ sent: 5, waiting: 0, dropped: 0 })
    },
  )

  test('waits as long as Retry-After says', async () => {
    const limits = { ...QUIET, maxRetryMs: NEVER_MS }
    const client = clientOf({ limits })
    server.answers.push({ status: 429, retryAfter: '1000' })
    client.custom('a')
    expect(await client.flush()).toBe(false)
    for (let i = 0; i < 1_000; i++) client.custom('b')
    // A batch is full, but the time has not come.
    await new Promise((resolve) => setImmediate(resolve))
    expect(server.batches).toHaveLength(1)
    expect(await client.flush()).toBe(true)
  })

  test('gives up what is refused, tells why once, and goes on', async () => {
    const problems: string[] = []
    const client = clientOf({ onProblem: (problem) => problems.push(problem) })
    const unauthorized = { status: 401, body: { error: 'this is not the token' } }
    server.answers.push(unauthorized, unauthorized)
    for (const name of ['a', 'b', 'c']) {
      client.custom(name)
      expect(await client.flush()).toBe(true)
    }
    expect(server.names()).toEqual(['c'])
    expect(client.counts).toMatchObject({ sent: 1, refused: 2, waiting: 0 })
    expect(problems).toEqual(['the proxy answered 401: this is not the token'])
  })

  test('counts what the proxy did not record', async () => {
    const problems: string[] = []
    const client = clientOf({ onProblem: (problem) => problems.push(problem) })
    const body = { accepted: 1, dropped: 1, refused: 2, reasons: [{ index: 0, reason: 'name: is long' }] }
    server.answers.push({ status: 200, body })
    for (let i = 0; i < 4; i++) client.custom(String(i))
    await client.flush()
    expect(client.counts).toMatchObject({ sent: 1, dropped: 1, refused: 2 })
    expect(problems).toEqual(['the proxy refused 2 events: name: is long', 'the proxy had no room for 1 events'])
  })

  test('halves batches that are too long for the proxy, and gives up an event that is', async () => {
    const client = clientOf()
    server.answers.push(413, 413, 413)
    for (let i = 0; i < 8; i++) client.custom(String(i))
    await client.flush()
    expect(server.batches.map(({ events }) => events.length)).toEqual([8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1])
    expect(server.names()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
    server.answers.push(413)
    client.custom('monster')
    client.custom('mouse')
    await client.flush()
    expect(server.names()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', 'mouse'])
    expect(client.counts).toMatchObject({ sent: 9, refused: 1 })
  })

  test('maxBufferedBytes: the oldest make room while the proxy is away, and that is told when it is back', async () => {
    const limits = { ...QUIET, maxBufferedBytes: 10_000, maxRetryMs: NEVER_MS, minRetryMs: NEVER_MS }
    const client = clientOf({ limits })
    server.answers.push('break')
    client.custom('first')
    expect(await client.flush()).toBe(false)
    for (let i = 0; i < 1_000; i++) client.custom(`event ${i}`)
    const { waiting, dropped } = client.counts
    expect(waiting + dropped).toBe(1_001)
    expect(waiting).toBeLessThan(400)
    expect(await client.flush()).toBe(true)
    expect(await client.flush()).toBe(true)
    const names = server.names()
    expect(names.at(-1)).toBe('events dropped')
    expect(names.at(-2)).toBe('event 999')
    const told = sentEvents().find(({ name }) => name === 'events dropped')
    // The event that tells takes the place of some more.
    expect(told).toMatchObject({ level: 'warn', data: { dropped: expect.any(Number) } })
    expect(client.counts.dropped + names.length - 1).toBe(1_001)
  })

  test('an answer that is not there after requestMs is not waited for', async () => {
    const client = clientOf({ limits: { ...QUIET, minRetryMs: NEVER_MS, maxRetryMs: NEVER_MS, requestMs: 1 } })
    server.answers.push('hold', 'hold')
    client.custom('a')
    expect(await client.flush()).toBe(false)
    expect(await client.close()).toBe(false)
    expect(client.counts).toMatchObject({ sent: 0, dropped: 1 })
  })

  test('ends with close: what waits is sent, what comes later is dropped', async () => {
    const client = clientOf()
    client.custom('a')
    expect(await client.close()).toBe(true)
    client.custom('b')
    expect(await client.flush()).toBe(true)
    expect(server.names()).toEqual(['a'])
    expect(client.counts).toMatchObject({ sent: 1, dropped: 1, waiting: 0 })
  })
})
