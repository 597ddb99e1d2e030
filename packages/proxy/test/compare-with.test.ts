import * as zlib from 'node:zlib'
import type { ExchangeEvent, ResponseComparison } from '@prexy/events/exchange'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { answering, plainResponse, type RawOrigin, type RawRequest, startRawOrigin } from '@prexy/testing/raw-origin'
import { describe, expect, it, test } from 'vitest'
import type { CompareConfig } from '../src/compare-with.ts'
import type { SeenRequest } from '../src/proxy-config.ts'
import { type Setup, type SetupInit, setUp } from './harness.ts'

const TEXT = 'Content-Type: text/plain'
const rules = [{ text: 'Acme', with: 'Emca' }]

interface Compared extends AsyncDisposable {
  readonly setup: Setup
  readonly other: RawOrigin
  readonly seen: readonly SeenRequest[]
  comparison(n: number): Promise<ResponseComparison | undefined>
}

interface ComparedInit extends Omit<SetupInit, 'script'> {
  readonly ours: (request: RawRequest) => string | Uint8Array
  readonly theirs: (request: RawRequest) => string | Uint8Array
  readonly compare?: Partial<CompareConfig>
}

async function setUpCompared({ ours, theirs, compare, ...init }: ComparedInit): Promise<Compared> {
  const other = await startRawOrigin(answering(theirs))
  const seen: SeenRequest[] = []
  const setup = await setUp({
    rules,
    ...init,
    script: answering(ours),
    route: { ...init.route, compareWith: compareWith(other.port, compare) },
    onSeen: (one) => seen.push(one),
  })
  return {
    setup,
    other,
    seen,
    comparison: async (n) => (await setup.event(n)).comparison,
    async [Symbol.asyncDispose]() {
      await setup[Symbol.asyncDispose]()
      await other.close()
    },
  }
}

function compareWith(port: number, more: Partial<CompareConfig> = {}): CompareConfig {
  return {
    upstream: { servers: [{ host: '127.0.0.1', port }], maxConnections: 4, maxWaiting: 0 },
    percent: 100,
    headers: ['content-type'],
    maxBodyBytes: 1_048_576,
    timeoutMs: 60_000,
    ignored: undefined,
    ...more,
  }
}

async function ask(setup: Setup, request: string, method = 'GET'): Promise<void> {
  const client = await setup.connect()
  await client.send(request)
  await client.readResponse(method)
}

const long = 'Acme and more. '.repeat(20_000)

describe('a response', () => {
  const gzipped = (text: string): Uint8Array => plainResponse(zlib.gzipSync(text), TEXT, 'Content-Encoding: gzip')

  it.each([
    ['of one read', () => plainResponse('Acme', TEXT), () => plainResponse('Emca', TEXT), 4],
    ['of many', () => plainResponse(long, TEXT), () => plainResponse(long.replaceAll('Acme', 'Emca'), TEXT), 300_000],
    ['coded by one only', () => gzipped('Acme'), () => plainResponse('Emca', TEXT), 4],
    ['coded by the other only', () => plainResponse('Acme', TEXT), () => gzipped('Emca'), 4],
    ['that is empty', () => plainResponse('', TEXT), () => plainResponse('', TEXT), 0],
    [
      'that no rule is for',
      () => plainResponse('Acme', 'Content-Type: image/png'),
      () => plainResponse('Acme', 'Content-Type: image/png'),
      4,
    ],
  ])('%s is the same', async (_name, ours, theirs, bytes) => {
    await using compared = await setUpCompared({ ours, theirs })
    await (await compared.setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect(await compared.comparison(1)).toEqual({ kind: 'same', bytes, isWhole: true })
  })

  it('that is coded and passed on is compared by its text', async () => {
    const png = (text: string): Uint8Array =>
      plainResponse(zlib.gzipSync(text), 'Content-Type: image/svg', 'Content-Encoding: gzip')
    await using compared = await setUpCompared({ ours: () => png('Acme'), theirs: () => png('Acme!') })
    await (await compared.setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect(await compared.comparison(1)).toEqual({ kind: 'different', parts: ['body'], bodyAt: 4, isExact: true })
  })

  it.each([
    [
      'status',
      () => plainResponse('Acme', TEXT),
      () => 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n',
      ['status'],
      '200',
      '404',
    ],
    [
      'content-type',
      () => plainResponse('Acme', TEXT),
      () => plainResponse('Emca', 'Content-Type: text/html'),
      ['content-type'],
      'text/plain',
      'text/html',
    ],
    [
      'body',
      () => plainResponse('is Acme here', TEXT),
      () => plainResponse('is Acme here', TEXT),
      ['body'],
      'is Emca here',
      'is Acme here',
    ],
    [
      'fields and body',
      () => plainResponse('a', TEXT),
      () => plainResponse('b', 'Content-Type: text/html'),
      ['content-type', 'body'],
      'text/plain',
      'text/html',
    ],
  ])('with another %s is told, with an example', async (_name, ours, theirs, parts, own, their) => {
    await using compared = await setUpCompared({ ours, theirs })
    await (await compared.setup.connect()).get('/a?b=c')
    expect(await compared.comparison(1)).toMatchObject({ kind: 'different', parts })
    expect(compared.seen[0].difference).toMatchObject({
      method: 'GET',
      path: '/a',
      part: parts[0],
      ours: own,
      theirs: their,
    })
  })

  it('shows no secret in an example', async () => {
    const page = (tail: string) => () => plainResponse(`{"password": "hunter2-hunter2"}${tail}`, TEXT)
    await using compared = await setUpCompared({ ours: page('a'), theirs: page('b') })
    await (await compared.setup.connect()).get('/')
    expect(await compared.comparison(1)).toMatchObject({ kind: 'different' })
    expect(JSON.stringify(compared.seen[0].difference)).not.toContain('hunter2')
  })

  it('is compared without what is to be ignored', async () => {
    const page = (token: string) => () => plainResponse(`${'x'.repeat(20_000)}<input value="${token}">Emca`, TEXT)
    const ignored = compileRuleSet([{ regex: 'value="[^"]*"', with: '', types: ['*'] }], { mode: 'octet' })
    await using compared = await setUpCompared({ ours: page('abc'), theirs: page('longer'), compare: { ignored } })
    await (await compared.setup.connect()).get('/')
    expect(await compared.comparison(1)).toEqual({ kind: 'same', bytes: 20_012, isWhole: true })
  })

  it('is compared up to a limit', async () => {
    const compare = { maxBodyBytes: 16_384 }
    const page = (): Uint8Array => plainResponse('x'.repeat(300_000), TEXT)
    await using compared = await setUpCompared({ ours: page, theirs: page, compare })
    expect((await (await compared.setup.connect()).get('/')).body.length).toBe(300_000)
    expect(await compared.comparison(1)).toEqual({ kind: 'same', bytes: 16_384, isWhole: false })
  })

  it('to HEAD is compared by its head', async () => {
    const page = (): string => `HTTP/1.1 200 OK\r\nContent-Length: 4\r\n${TEXT}\r\n\r\n`
    await using compared = await setUpCompared({ ours: page, theirs: page })
    await ask(compared.setup, 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n', 'HEAD')
    expect(await compared.comparison(1)).toEqual({ kind: 'same', bytes: 0, isWhole: true })
  })
})

describe('under shadow', () => {
  it('what the rules would make of it is compared, while the client gets what the origin sent', async () => {
    const script = { ours: () => plainResponse('Acme', TEXT), theirs: () => plainResponse('Emca', TEXT) }
    await using compared = await setUpCompared({ ...script, route: { rollout: { kind: 'shadow' } } })
    expect((await (await compared.setup.connect()).get('/')).body.toString()).toBe('Acme')
    const { shadow, comparison } = await compared.setup.event(1)
    expect([shadow?.kind, comparison]).toEqual(['rewritten', { kind: 'same', bytes: 4, isWhole: true }])
  })

  it('nothing is compared under off', async () => {
    const page = (): Uint8Array => plainResponse('Acme', TEXT)
    await using compared = await setUpCompared({ ours: page, theirs: page, route: { rollout: { kind: 'off' } } })
    await (await compared.setup.connect()).get('/')
    expect(await compared.comparison(1)).toBeUndefined()
    expect(compared.other.connections).toBe(0)
  })
})

describe('the other proxy', () => {
  const ours = (): Uint8Array => plainResponse('Acme', TEXT)

  it('is asked what the client asked, without conditions', async () => {
    await using compared = await setUpCompared({ ours, theirs: ours })
    const client = await compared.setup.connect()
    await client.get('/a?b=c', 'Cookie: d=e', 'Range: bytes=0-1', 'If-None-Match: "x"', 'X-Own: f')
    await compared.comparison(1)
    const { method, target, value } = compared.other.requests[0]
    expect([method, target]).toEqual(['GET', '/a?b=c'])
    expect(['host', 'cookie', 'x-own', 'range', 'if-none-match'].map((name) => value(name))).toEqual([
      expect.any(String),
      'd=e',
      'f',
      undefined,
      undefined,
    ])
  })

  it.each([
    ['POST', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx'],
    ['GET with a body', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx'],
  ])('is not asked a %s', async (_name, request) => {
    await using compared = await setUpCompared({ ours, theirs: ours })
    await ask(compared.setup, request)
    expect(await compared.comparison(1)).toBeUndefined()
    expect(compared.other.connections).toBe(0)
  })

  it('is not asked where nothing is drawn', async () => {
    await using compared = await setUpCompared({ ours, theirs: ours, compare: { percent: 0 } })
    await (await compared.setup.connect()).get('/')
    expect(await compared.comparison(1)).toBeUndefined()
    expect(compared.other.connections).toBe(0)
  })

  it('that cannot be reached is told, and costs the client nothing', async () => {
    await using setup = await setUp({
      rules,
      script: answering(ours),
      route: { compareWith: compareWith(0, { upstream: { servers: [{ path: '/no/such/folder/proxy.sock' }] } }) },
    })
    expect((await (await setup.connect()).get('/')).body.toString()).toBe('Emca')
    expect((await setup.event(1)).comparison).toMatchObject({ kind: 'failed' })
  })

  test.each([
    ['breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Type: text/plain\r\n\r\nEm'],
    ['sends no HTTP', 'what?\r\n\r\n'],
  ])('that %s has failed', async (_name, answer) => {
    const other = await startRawOrigin(async (connection) => {
      await connection.readRequest()
      await connection.send(answer)
      connection.end()
    })
    await using setup = await setUp({ rules, script: answering(ours), route: { compareWith: compareWith(other.port) } })
    expect((await (await setup.connect()).get('/')).body.toString()).toBe('Emca')
    expect((await setup.event(1)).comparison).toMatchObject({ kind: 'failed' })
    await other.close()
  })

  it('that does not answer has failed after a while, and the client has its response long before', async () => {
    const other = await startRawOrigin(async (connection) => {
      await connection.readRequest()
      await connection.ended
    })
    await using setup = await setUp({
      rules,
      script: answering(ours),
      route: { compareWith: compareWith(other.port, { timeoutMs: 2_000 }) },
      manualTime: true,
    })
    const client = await setup.connect()
    expect((await client.get('/')).body.toString()).toBe('Emca')
    expect((await client.get('/')).body.toString()).toBe('Emca')
    expect(setup.events).toEqual([])
    setup.wheel.advance(3_000)
    expect((await setup.event(1)).comparison).toMatchObject({ kind: 'failed' })
    await setup.proxy.stop(0)
    await other.close()
  })

  it('is asked by so many at a time; of more it is told that they were too many', async () => {
    const other = await startRawOrigin(async (connection) => {
      await connection.readRequest()
      await connection.ended
    })
    const upstream = { servers: [{ host: '127.0.0.1', port: other.port }], maxConnections: 1, maxWaiting: 0 }
    await using setup = await setUp({
      rules,
      script: answering(ours),
      route: { compareWith: compareWith(other.port, { upstream }) },
    })
    const client = await setup.connect()
    await client.get('/')
    await client.get('/')
    expect((await setup.event(1)).comparison).toEqual({ kind: 'skipped', reason: 'busy' })
    await setup.proxy.stop(0)
    expect((await setup.event(2)).comparison).toEqual({ kind: 'skipped', reason: 'stopped' })
    await other.close()
  })

  it('is asked on a new connection when a kept one turns out closed', async () => {
    const other = await startRawOrigin(async (connection) => {
      const request = await connection.readRequest()
      if (request === undefined) return
      await connection.send(plainResponse('Emca', TEXT))
      if ((await connection.readRequest()) !== undefined) connection.reset()
    })
    await using setup = await setUp({ rules, script: answering(ours), route: { compareWith: compareWith(other.port) } })
    const client = await setup.connect()
    const all: (ExchangeEvent['comparison'] | undefined)[] = []
    for (let request = 1; request <= 3; request++) {
      await client.get('/')
      all.push((await setup.event(request)).comparison)
    }
    expect(all.map((one) => one?.kind)).toEqual(['same', 'same', 'same'])
    await setup.proxy.stop(0)
    await other.close()
  })
})
