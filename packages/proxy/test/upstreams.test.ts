import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UpstreamEvent } from '@prexy/events/upstream'
import type { Resolve } from '@prexy/net/address-cache'
import {
  answering,
  type OriginConnection,
  plainResponse,
  type RawOrigin,
  startRawOrigin,
} from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS, type UpstreamConfig, type UpstreamServerConfig } from '../src/proxy-config.ts'
import { DEFAULT_EJECTION } from '../src/upstream-ejection.ts'
import { type Setup, setUp } from './harness.ts'

/** Each answers with its letter. */
async function lettered(count: number): Promise<RawOrigin[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, index) => startRawOrigin(answering(() => plainResponse('abcdef'[index])))),
  )
}

function serverAt(port: number, rest: Partial<UpstreamServerConfig> = {}): UpstreamServerConfig {
  return { host: '127.0.0.1', port, ...rest }
}

/** A port on which nothing listens: of a server that is gone. */
async function refusingPort(): Promise<number> {
  const origin = await startRawOrigin(async () => {})
  await origin.close()
  return origin.port
}

/** With upstream events, time by hand, and servers in place of the origin's own. */
async function setUpServers(
  upstream: Partial<UpstreamConfig>,
  more: { readonly resolve?: Resolve; readonly script?: (connection: OriginConnection) => Promise<void> } = {},
): Promise<{ readonly setup: Setup; readonly changes: UpstreamEvent[]; readonly kinds: () => string[] }> {
  const changes: UpstreamEvent[] = []
  const setup = await setUp({
    script: more.script ?? answering(() => plainResponse('origin')),
    upstream,
    manualTime: true,
    config: {
      onUpstream: (change) => changes.push(change),
      ...(more.resolve === undefined ? {} : { resolve: more.resolve }),
    },
  })
  return { setup, changes, kinds: () => changes.map(({ kind }) => kind) }
}

async function bodies(setup: Setup, count: number): Promise<string> {
  const client = await setup.connect()
  const all: string[] = []
  for (let i = 0; i < count; i++) {
    const { status, body } = await client.get('/')
    all.push(status === 200 ? body.toString() : String(status))
  }
  return all.join(' ')
}

function pass(setup: Setup, ms: number): void {
  setup.wheel.advance(Math.ceil(ms / setup.wheel.tickMs) + 2)
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate)
}

describe('several servers', () => {
  it('get requests in turn, by weight, each over its own kept connections', async () => {
    const origins = await lettered(3)
    const [a, b, c] = origins.map(({ port }) => port)
    const { setup } = await setUpServers({ servers: [serverAt(a, { weight: 2 }), serverAt(b), serverAt(c)] })
    await using _ = setup
    expect(await bodies(setup, 8)).toBe('a b c a a b c a')
    expect(origins.map(({ connections }) => connections)).toEqual([1, 1, 1])
    expect(setup.events.map(({ upstream }) => upstream).slice(0, 3)).toEqual(
      [a, b, c].map((port) => `127.0.0.1:${port}`),
    )
    expect(setup.events.map(({ upstreamAttempts }) => upstreamAttempts)).toEqual(Array.from({ length: 8 }, () => 1))
    await Promise.all(origins.map((origin) => origin.close()))
  })

  it('get each request where the fewest are under way, under least-connections', async () => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await using slow = await startRawOrigin(async (connection) => {
      await connection.readRequest()
      await released
      await connection.send(plainResponse('slow'))
    })
    await using quick = await startRawOrigin(answering(() => plainResponse('quick')))
    const servers = [serverAt(slow.port), serverAt(quick.port)]
    const { setup } = await setUpServers({ servers, balance: 'least-connections' })
    await using _ = setup
    const held = (await setup.connect()).get('/')
    await until(() => slow.requests.length === 1)
    expect(await bodies(setup, 4)).toBe('quick quick quick quick')
    release()
    expect((await held).body.toString()).toBe('slow')
  })

  it('share one queue: who waits is served by the first that has room', async () => {
    const gates = [0, 1].map(() => {
      let open = (): void => {}
      const opened = new Promise<void>((resolve) => {
        open = resolve
      })
      return { opened, open: () => open() }
    })
    const origins = await Promise.all(
      gates.map(({ opened }, index) =>
        startRawOrigin(async (connection) => {
          for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
            await opened
            await connection.send(plainResponse('ab'[index]))
          }
          connection.end()
        }),
      ),
    )
    const servers = origins.map(({ port }) => serverAt(port))
    const { setup } = await setUpServers({ servers, maxConnections: 1, maxWaiting: 1 })
    await using _ = setup
    const clients = await Promise.all([0, 1, 2, 3].map(() => setup.connect()))
    const first = clients.slice(0, 2).map((client) => client.get('/'))
    await until(() => origins.every(({ requests }) => requests.length === 1))
    const third = clients[2].get('/')
    await setup.reached('upstream-wait')
    expect((await clients[3].get('/')).status).toBe(503)
    gates[1].open()
    expect((await third).body.toString()).toBe('b')
    gates[0].open()
    expect((await Promise.all(first)).map(({ body }) => body.toString())).toEqual(['a', 'b'])
    await Promise.all(origins.map((origin) => origin.close()))
  })
})

describe('a server that refuses connections', () => {
  it('costs no request, whatever its method and body, and is left out after three', async () => {
    const [origin] = await lettered(1)
    const gone = await refusingPort()
    const { setup, changes } = await setUpServers({ servers: [serverAt(gone), serverAt(origin.port)] })
    await using _ = setup
    const client = await setup.connect()
    const big = 'x'.repeat(300_000)
    await client.send(`POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: ${big.length}\r\n\r\n${big}`)
    expect((await client.readResponse()).status).toBe(200)
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n')
    expect((await client.readResponse()).status).toBe(200)
    // Now the other server has a kept connection.
    for (let i = 0; i < 2; i++) {
      await client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${big.length}\r\n\r\n${big}`)
      expect((await client.readResponse()).status).toBe(200)
    }
    expect(origin.requests.map(({ body }) => body.length)).toEqual([big.length, 3, big.length, big.length])
    expect(await bodies(setup, 4)).toBe('a a a a')
    expect(setup.events.filter(({ upstreamAttempts }) => upstreamAttempts === 2).length).toBe(3)
    expect(setup.events.every(({ upstream }) => upstream === `127.0.0.1:${origin.port}`)).toBe(true)
    expect(setup.phases.get(1)?.slice(2)).toEqual([
      'upstream-selected',
      'retry',
      'upstream-selected',
      'upstream-connected',
      'request-sent',
      'response-head',
      'response-body',
      'response-end',
      'response-sent',
      'end',
    ])
    expect(changes.map(({ kind, server }) => [kind, server])).toEqual([['ejected', `127.0.0.1:${gone}`]])
    await origin.close()
  })

  it('costs no request of an HTTP/2 client either', async () => {
    const [origin] = await lettered(1)
    const gone = await refusingPort()
    const { setup } = await setUpServers({ servers: [serverAt(gone), serverAt(origin.port)] })
    await using _ = setup
    const session = connectHttp2(`http://127.0.0.1:${setup.proxy.address.port}`)
    for (const size of [0, 3, 300_000]) {
      const stream = session.request({ ':method': 'POST', ':path': '/' })
      let body = ''
      stream.setEncoding('latin1').on('data', (text: string) => {
        body += text
      })
      stream.end('x'.repeat(size))
      await once(stream, 'end')
      expect(body).toBe('a')
    }
    expect(origin.requests.map(({ body }) => body.length)).toEqual([0, 3, 300_000])
    expect(setup.events.map(({ upstreamAttempts }) => upstreamAttempts)).toContain(2)
    session.destroy()
    await origin.close()
  })

  it('is answered 502 when all do, after maxAttempts', async () => {
    const ports = await Promise.all([0, 1, 2, 3].map(() => refusingPort()))
    const { setup } = await setUpServers({ servers: ports.map((port) => serverAt(port)), maxAttempts: 2 })
    await using _ = setup
    expect((await (await setup.connect()).get('/')).status).toBe(502)
    const { outcome, detail, upstreamAttempts } = setup.events[0]
    expect([outcome, upstreamAttempts]).toEqual(['upstream-connect-failed', 2])
    expect(detail).toContain('ECONNREFUSED')
  })

  it('gives way to a backup, which is left in peace once it is back', async () => {
    const [main, backup] = await lettered(2)
    const { setup, kinds } = await setUpServers({
      servers: [serverAt(main.port), serverAt(backup.port, { backup: true })],
    })
    await using _ = setup
    expect(await bodies(setup, 2)).toBe('a a')
    await main.close()
    expect(await bodies(setup, 5)).toBe('b b b b b')
    expect(kinds()).toEqual(['ejected'])
    await backup.close()
  })
})

describe('a server that breaks off', () => {
  const dropping = async (connection: OriginConnection): Promise<void> => {
    await connection.readRequest()
    connection.destroy()
  }

  it('fails those requests, which may have had an effect, and is ejected for longer each time', async () => {
    let broken = true
    await using bad = await startRawOrigin(async (connection) => {
      if (broken) return dropping(connection)
      await answering(() => plainResponse('mended'))(connection)
    })
    await using good = await startRawOrigin(answering(() => plainResponse('good')))
    const ejection = { baseMs: 1_000, maxMs: 60_000 }
    const { setup, changes, kinds } = await setUpServers({
      servers: [serverAt(bad.port), serverAt(good.port)],
      ejection,
    })
    await using _ = setup
    expect(await bodies(setup, 8)).toBe('502 good 502 good 502 good good good')
    pass(setup, ejection.baseMs)
    expect(await bodies(setup, 4)).toMatch(/^(good 502|502 good) good good$/)
    expect(kinds()).toEqual(['ejected', 'returned', 'ejected'])
    // Two ticks are the precision of the wheel.
    setup.wheel.advance((2 * ejection.baseMs) / setup.wheel.tickMs - 1)
    expect(kinds().length).toBe(3)
    broken = false
    setup.wheel.advance(4)
    expect(kinds()[3]).toBe('returned')
    expect((await bodies(setup, 4)).split(' ').toSorted().join(' ')).toBe('good good mended mended')
    expect(changes.flatMap((change) => (change.kind === 'ejected' ? change.forMs : []))).toEqual([1_000, 2_000])
    expect(DEFAULT_EJECTION.failures).toBe(3)
  })

  it('gets one request at a time when it comes back', async () => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let mended = false
    await using origin = await startRawOrigin(async (connection) => {
      if (!mended) return dropping(connection)
      for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
        await released
        await connection.send(plainResponse('trial'))
      }
      connection.end()
    })
    await using good = await startRawOrigin(answering(() => plainResponse('good')))
    const { setup, kinds } = await setUpServers({ servers: [serverAt(origin.port), serverAt(good.port)] })
    await using _ = setup
    await bodies(setup, 6)
    mended = true
    pass(setup, DEFAULT_EJECTION.baseMs)
    expect(kinds()).toEqual(['ejected', 'returned'])
    const clients = await Promise.all(Array.from({ length: 6 }, () => setup.connect()))
    const responses = clients.map((client) => client.get('/'))
    await until(() => setup.events.length === 6 + 5)
    release()
    const all = (await Promise.all(responses)).map(({ body }) => body.toString())
    expect(all.filter((body) => body === 'trial').length).toBe(1)
    expect((await bodies(setup, 2)).split(' ').toSorted()).toEqual(['good', 'trial'])
  })

  it('stays in when it is the last one up, which is said once in a while', async () => {
    const { setup, changes, kinds } = await setUpServers({}, { script: dropping })
    await using _ = setup
    expect(await bodies(setup, 10)).toBe(Array.from({ length: 10 }, () => '502').join(' '))
    expect(kinds()).toEqual(['not-ejected'])
    expect(changes[0].kind === 'not-ejected' && changes[0].reason).not.toBe('')
  })

  it('is not blamed for a kept connection that it closed meanwhile', async () => {
    const once = async (connection: OriginConnection): Promise<void> => {
      await connection.readRequest()
      await connection.send(plainResponse('once'))
      await connection.readRequest()
      connection.destroy()
    }
    const { setup, kinds } = await setUpServers({}, { script: once })
    await using _ = setup
    expect(await bodies(setup, 20)).toBe(Array.from({ length: 20 }, () => 'once').join(' '))
    expect(kinds()).toEqual([])
    expect(setup.events.filter(({ upstreamAttempts }) => upstreamAttempts === 2).length).toBe(19)
  })
})

describe('health checks', () => {
  const healthCheck = { path: '/health?x', intervalMs: 1_000, timeoutMs: 2_000, rise: 2, fall: 3 }

  const checksOf = (origin: RawOrigin): number => origin.requests.filter(({ target }) => target === '/health?x').length

  async function settled(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  }

  /** Lets the next check come and end. */
  async function nextCheck(setup: Setup, origins: readonly RawOrigin[]): Promise<void> {
    const before = origins.map(checksOf)
    await settled()
    pass(setup, healthCheck.intervalMs)
    await until(() => origins.every((origin, index) => checksOf(origin) > before[index]))
    await settled()
  }

  it('take a server out after `fall` failures and bring it back after `rise` passes', async () => {
    // 0: no answer.
    let [healthy, sick] = [200, 200]
    const script =
      (letter: string, status: () => number) =>
      async (connection: OriginConnection): Promise<void> => {
        for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
          if (request.target !== '/health?x') await connection.send(plainResponse(letter))
          else if (status() === 0) await connection.ended
          else await connection.send(`HTTP/1.1 ${status()} X\r\nContent-Length: 0\r\n\r\n`)
        }
        connection.end()
      }
    await using a = await startRawOrigin(script('a', () => healthy))
    await using b = await startRawOrigin(script('b', () => sick))
    const { setup, changes, kinds } = await setUpServers({
      servers: [serverAt(a.port), serverAt(b.port)],
      healthCheck,
    })
    await using _ = setup
    await until(() => checksOf(a) === 1 && checksOf(b) === 1)
    expect([a.requests[0].value('host'), a.requests[0].value('user-agent')]).toEqual([
      `127.0.0.1:${a.port}`,
      'prexy-health-check',
    ])
    sick = 503
    for (let i = 0; i < 2; i++) await nextCheck(setup, [a, b])
    expect(await bodies(setup, 4)).toBe('a b a b')
    await nextCheck(setup, [a, b])
    expect(changes.map(({ kind, server }) => [kind, server])).toEqual([['check-failed', `127.0.0.1:${b.port}`]])
    expect(changes[0].kind === 'check-failed' && changes[0].reason).toBe('it answered 503')
    expect(await bodies(setup, 4)).toBe('a a a a')
    // None is up: requests go to all, and it is said.
    healthy = 500
    for (let i = 0; i < 3; i++) await nextCheck(setup, [a, b])
    expect(kinds()).toEqual(['check-failed', 'check-failed', 'none-up'])
    expect((await bodies(setup, 4)).split(' ').toSorted().join(' ')).toBe('a a b b')
    sick = 204
    for (let i = 0; i < 2; i++) await nextCheck(setup, [a, b])
    expect(kinds()).toEqual(['check-failed', 'check-failed', 'none-up', 'check-passed'])
    expect(await bodies(setup, 3)).toBe('b b b')
    // One that does not answer fails after timeoutMs.
    sick = 0
    for (let i = 0; i < 3; i++) {
      await nextCheck(setup, [b])
      pass(setup, healthCheck.timeoutMs)
    }
    expect(kinds().at(-1)).toBe('none-up')
    const last = changes.findLast(({ kind }) => kind === 'check-failed')
    expect(last?.kind === 'check-failed' && last.reason).toBe('no answer within healthCheck.timeoutMs (2000)')
  })
})

describe('where a server is', () => {
  it('may be a Unix socket or an IPv6 address', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'prexy-upstream-'))
    const path = join(folder, 'app.sock')
    const listening = async (server: Server, where: string | number): Promise<Server> => {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        if (typeof where === 'string') server.listen(where, resolve)
        else server.listen(where, '::1', resolve)
      })
      return server
    }
    const echo = (): Server => createServer((request, response) => response.end(`${request.headers.host}`))
    const unix = await listening(echo(), path)
    const six = await listening(echo(), 0)
    const { port } = six.address() as AddressInfo
    const { setup } = await setUpServers({ servers: [{ path }, { host: '::1', port }] })
    await using _ = setup
    expect(await bodies(setup, 4)).toBe('localhost localhost localhost localhost')
    expect(setup.events.map(({ upstream }) => upstream).slice(0, 2)).toEqual([path, `[::1]:${port}`])
    unix.closeAllConnections()
    unix.close()
    six.closeAllConnections()
    six.close()
    await rm(folder, { recursive: true })
  })

  /** Answers what `now` says and counts how often it was asked. */
  function resolver(): { resolve: Resolve; now: readonly string[] | Error; asked: number } {
    const state = {
      now: [] as readonly string[] | Error,
      asked: 0,
      resolve: ((_host, done) => {
        state.asked++
        const { now } = state
        setImmediate(() => (now instanceof Error ? done(now, []) : done(undefined, now)))
      }) satisfies Resolve,
    }
    return state
  }

  it('may be a name: its addresses are tried in turn, looked up anew, and kept while DNS fails', async () => {
    const names = resolver()
    const { setup, changes, kinds } = await setUpServers({ host: 'app.test' } as Partial<UpstreamConfig>, names)
    await using _ = setup
    const { port } = setup.origin
    // Nothing listens on the first one.
    names.now = ['127.0.0.3', '127.0.0.1']
    expect(await bodies(setup, 2)).toBe('origin origin')
    const [{ upstream, upstreamAddress, upstreamAttempts }] = setup.events
    expect([upstream, upstreamAddress, upstreamAttempts]).toEqual([`app.test:${port}`, `127.0.0.1:${port}`, 1])
    expect(names.asked).toBe(1)
    names.now = new Error('DNS is down')
    pass(setup, DEFAULT_TIMEOUTS.upstreamResolveMs)
    await until(() => kinds().length === 1)
    expect(changes[0]).toMatchObject({ kind: 'lookup-failed', server: `app.test:${port}`, reason: 'DNS is down' })
    expect(await bodies(setup, 2)).toBe('origin origin')
  })

  it('may move: connections to addresses that the name no longer has serve no further request', async () => {
    const names = resolver()
    names.now = ['127.0.0.1']
    const { setup, changes, kinds } = await setUpServers({ host: 'app.test' } as Partial<UpstreamConfig>, names)
    await using _ = setup
    const client = await setup.connect()
    await client.get('/')
    names.now = ['127.0.0.9']
    setup.wheel.advance(DEFAULT_TIMEOUTS.upstreamIdleMs / setup.wheel.tickMs - 2)
    await client.get('/')
    setup.wheel.advance(DEFAULT_TIMEOUTS.upstreamIdleMs / setup.wheel.tickMs - 2)
    await client.get('/')
    setup.wheel.advance(DEFAULT_TIMEOUTS.upstreamIdleMs / setup.wheel.tickMs - 2)
    await until(() => kinds().length === 1)
    expect(changes[0]).toMatchObject({ kind: 'addresses-changed', addresses: ['127.0.0.9'] })
    expect(setup.origin.connections).toBe(1)
    expect((await client.get('/')).status).toBe(502)
  })
})
