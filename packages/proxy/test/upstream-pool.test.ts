import { DEFAULT_RESPONSE_LIMITS } from '@prexy/http/limits'
import { TimerWheel } from '@prexy/net/timer-wheel'
import type { RawClient } from '@prexy/testing/raw-client'
import { type OriginConnection, plainResponse, startRawOrigin } from '@prexy/testing/raw-origin'
import { describe, expect, it, vi } from 'vitest'
import { DEFAULT_TIMEOUTS } from '../src/proxy-config.ts'
import { type UpstreamUser, upstreamHead } from '../src/upstream-channel.ts'
import { UpstreamPool } from '../src/upstream-pool.ts'
import { UpstreamServer } from '../src/upstream-server.ts'
import { type Setup, setUp } from './harness.ts'

/** Answers each request with its target; `held` ones once `release` is called. */
function holding(): { readonly script: (connection: OriginConnection) => Promise<void>; readonly release: () => void } {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const script = async (connection: OriginConnection): Promise<void> => {
    for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
      if (request.target.startsWith('/held')) await released
      await connection.send(plainResponse(`${connection.number}${request.target}`))
    }
    connection.end()
  }
  return { script, release: () => release() }
}

/** Resolves when so many exchanges wait for a connection. */
async function waiters(setup: Setup, count: number): Promise<void> {
  const waiting = (): number => [...setup.phases.values()].filter((phases) => phases.at(-1) === 'upstream-wait').length
  while (waiting() < count) await new Promise(setImmediate)
}

describe('a connection that has become free', () => {
  it('is not given to one that waits when more octets follow its response', async () => {
    let served = 0
    await using setup = await setUp({
      upstream: { maxConnections: 1 },
      script: async (connection) => {
        for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
          served++
          if (request.target === '/evil') {
            await waiters(setup, 1)
            await connection.send(plainResponse('evil'))
            // Not in the same read, and before the event loop of the proxy has looked at the socket again.
            await setup.reached('response-end')
            await connection.send(plainResponse('poison'))
          } else {
            await connection.send(plainResponse(`own ${connection.number}`))
          }
        }
        connection.end()
      },
    })
    const [one, two] = [await setup.connect(), await setup.connect()]
    const evil = one.get('/evil')
    await setup.reached('request-sent')
    const own = two.get('/own')
    expect((await evil).body.toString()).toBe('evil')
    expect((await own).body.toString()).toBe('own 2')
    expect(served).toBe(2)
  })

  it('is kept for one client after the other, also when they come in the turns in which it settles', async () => {
    const { script } = holding()
    await using setup = await setUp({ script })
    const clients = await Promise.all([setup.connect(), setup.connect()])
    for (let i = 0; i < 40; i++) {
      for (let turn = 0; turn < i % 4; turn++) await new Promise(setImmediate)
      expect((await clients[i % 2].get('/x')).body.toString()).toBe('1/x')
    }
    expect(setup.origin.connections).toBe(1)
  })

  it('serves those that wait, one after the other', async () => {
    const { script, release } = holding()
    await using setup = await setUp({ script, upstream: { maxConnections: 1 } })
    const clients = await Promise.all(Array.from({ length: 5 }, () => setup.connect()))
    const responses = clients.map((client) => client.get('/held'))
    await waiters(setup, 4)
    release()
    for (const response of responses) expect((await response).body.toString()).toBe('1/held')
    expect(setup.origin.connections).toBe(1)
  })

  it('serves none of them with maxIdleConnections 0, because its upstream was told that it closes', async () => {
    const { script, release } = holding()
    await using setup = await setUp({ script, upstream: { maxConnections: 1, maxIdleConnections: 0 } })
    const clients = await Promise.all(Array.from({ length: 4 }, () => setup.connect()))
    const responses = clients.map((client) => client.get('/held'))
    await waiters(setup, 3)
    release()
    const bodies = (await Promise.all(responses)).map(({ body }) => body.toString())
    expect(bodies.toSorted()).toEqual(['1/held', '2/held', '3/held', '4/held'])
  })
})

describe('a retry that finds all connections taken', () => {
  /** The second connection is lost on its second request while a third request waits, which takes its place. */
  async function retryWaits(setup: Setup): Promise<RawClient> {
    const [busy, retrying, third] = [await setup.connect(), await setup.connect(), await setup.connect()]
    await busy.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
    while (setup.origin.requests.length < 1) await new Promise(setImmediate)
    expect((await retrying.get('/first')).body.toString()).toBe('2/first')
    await retrying.send('GET /lost HTTP/1.1\r\nHost: a\r\n\r\n')
    while (setup.origin.requests.length < 3) await new Promise(setImmediate)
    await third.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
    while (setup.origin.requests.length < 4) await new Promise(setImmediate)
    await waiters(setup, 1)
    return retrying
  }

  const losing =
    (script: (connection: OriginConnection) => Promise<void>, setup: () => Setup) =>
    async (connection: OriginConnection): Promise<void> => {
      if (connection.number !== 2) return script(connection)
      await connection.readRequest()
      await connection.send(plainResponse('2/first'))
      await connection.readRequest()
      await waiters(setup(), 1)
      connection.destroy()
    }

  it('gets a new one once one of them is free', async () => {
    const { script, release } = holding()
    await using setup: Setup = await setUp({ script: losing(script, () => setup), upstream: { maxConnections: 2 } })
    const retrying = await retryWaits(setup)
    release()
    expect((await retrying.readResponse()).body.toString()).toBe('4/lost')
  })

  it('is 503 after upstreamQueueMs', async () => {
    const { script } = holding()
    await using setup: Setup = await setUp({
      script: losing(script, () => setup),
      upstream: { maxConnections: 2 },
      manualTime: true,
    })
    const retrying = await retryWaits(setup)
    setup.wheel.advance(Math.ceil(DEFAULT_TIMEOUTS.upstreamQueueMs / setup.wheel.tickMs) + 2)
    expect((await retrying.readResponse()).status).toBe(503)
    expect((await setup.event(2)).detail).toBe('upstreamQueueMs passed')
  })
})

it('stop waits also for a connection that was closed to make room for a new one', async () => {
  await using origin = await startRawOrigin(holding().script)
  const pool = new UpstreamPool({
    config: { servers: [{ host: '127.0.0.1', port: origin.port }], maxConnections: 1 },
    limits: DEFAULT_RESPONSE_LIMITS,
    wheel: new TimerWheel({ drive: 'manual' }),
    timeouts: DEFAULT_TIMEOUTS,
    onError: (error) => {
      throw error
    },
  })
  const closed = vi.spyOn(UpstreamServer.prototype, 'onUpstreamClosed')
  /** One request and its response. */
  const serve = (fresh: boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const upstream = pool.acquire({
        wantsHttp1: false,
        wantsFresh: fresh,
        triedServers: [],
        onUpstreamAssigned: () => reject(new Error('it had to wait')),
      })
      if (typeof upstream === 'string') return reject(new Error(upstream))
      const user: UpstreamUser = {
        onUpstreamConnect: () => {},
        onInterim: () => {},
        onUpgrade: () => false,
        onResponseHead: () => {},
        onResponseData: () => true,
        onResponseEnd: () => resolve(),
        onUpstreamChunkEnd: () => false,
        onUpstreamDrain: () => {},
        onUpstreamError: reject,
      }
      upstream.assign(user, 'GET', false)
      upstream.sendHead(upstreamHead('GET', '/', ['Host', 'a'], 'none'))
    })
  await serve(false)
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  const served = serve(true)
  expect(closed).toHaveBeenCalledTimes(0)
  const stopped = pool.stop()
  await served
  await stopped
  expect(closed).toHaveBeenCalledTimes(2)
})
