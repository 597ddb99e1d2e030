import { request as httpRequest } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decode } from '@prexy/msgpack/decode'
import { encode } from '@prexy/msgpack/encode'
import { LiveFeed } from '@prexy/record/live-feed'
import { newSession, writeSession } from '@prexy/record/sessions'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type AdminInit, type AdminServer, startAdmin } from '../src/admin-server.ts'
import { OPERATIONS } from '../src/api.ts'
import type { AdminHost } from '../src/host.ts'
import { ProxyMetrics } from '../src/metrics.ts'
import { sampleEvent } from './sample-event.ts'

const TOKEN = 'a-token-of-this-test'
const running: AdminServer[] = []
const directories: string[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()))
  await Promise.all(directories.splice(0).map((directory) => rm(directory, { recursive: true })))
})

interface Seen {
  reloads: number
  drains: number
}

function hostOf(seen: Seen, changes: Partial<AdminHost> = {}): AdminHost {
  const metrics = new ProxyMetrics()
  metrics.observe(sampleEvent())
  return {
    status: async () => ({
      version: '1.2.3',
      runtime: 'test',
      startedAtMs: 1,
      configurationLoadedAtMs: 2,
      workers: 1,
      listeners: ['127.0.0.1:80'],
      state: 'ready',
      openConnections: 0,
      residentBytes: 1,
    }),
    measure: async () => ({
      metrics: metrics.snapshot(),
      gauges: [{ name: 'prexy_open_connections', help: 'Now.', type: 'gauge', values: [{ value: 7 }] }],
    }),
    routes: () => [
      {
        name: 'shop',
        hosts: [],
        paths: [],
        target: 'http://127.0.0.1:9000',
        rules: [{ text: 'a', with: 'b' }],
        options: {},
      },
    ],
    isReady: () => seen.drains === 0,
    async reload() {
      seen.reloads++
      return seen.reloads === 1
        ? { kind: 'reloaded', warnings: [] }
        : { kind: 'refused', problems: ['prexy.yaml:3:5: routes: there is none'] }
    },
    drain() {
      seen.drains++
    },
    ...changes,
  }
}

async function start(
  changes: Partial<AdminInit> = {},
  seen: Seen = { reloads: 0, drains: 0 },
): Promise<{ server: AdminServer; seen: Seen }> {
  const server = await startAdmin({
    listen: { host: '127.0.0.1', port: 0 },
    token: TOKEN,
    host: hostOf(seen),
    ...changes,
  })
  running.push(server)
  return { server, seen }
}

interface Answer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly octets: Buffer
}

const WITH_TOKEN = { authorization: `Bearer ${TOKEN}` }

function call(
  { address }: AdminServer,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: address.host, port: address.port, path, method, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, octets: Buffer.concat(chunks) }),
        )
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

describe('the admin API', () => {
  test.each<[string, string, Record<string, string>, number]>([
    ['GET', '/healthz', {}, 200],
    ['GET', '/readyz', {}, 200],
    ['GET', '/healthz', { host: 'whatever.example' }, 200],
    ['GET', '/metrics', {}, 401],
    ['GET', '/metrics', WITH_TOKEN, 200],
    ['GET', '/api/status', {}, 401],
    ['GET', '/api/status', { authorization: 'Bearer wrong' }, 401],
    ['GET', '/api/status', WITH_TOKEN, 200],
    ['HEAD', '/api/status', WITH_TOKEN, 200],
    ['GET', '/api/status', { ...WITH_TOKEN, host: 'evil.example' }, 421],
    ['GET', '/api/routes', WITH_TOKEN, 200],
    ['GET', '/api/metrics', WITH_TOKEN, 200],
    ['GET', '/api/openapi.json', WITH_TOKEN, 200],
    ['GET', '/api/recordings', WITH_TOKEN, 404],
    ['GET', '/api/reload', WITH_TOKEN, 405],
    ['POST', '/api/reload', { ...WITH_TOKEN, origin: 'http://evil.example' }, 403],
    ['POST', '/api/reload', WITH_TOKEN, 200],
    ['POST', '/api/drain', WITH_TOKEN, 202],
    ['GET', '/api/nothing', WITH_TOKEN, 404],
    ['GET', '/../etc/passwd', WITH_TOKEN, 404],
    ['GET', '//evil.example/api/status', WITH_TOKEN, 200],
  ])('%s %s with %o is answered %i', async (method, path, headers, status) => {
    const { server } = await start()
    const answer = await call(server, path, { method, headers })
    // The target of a request is a path here, whatever stands before it.
    expect(answer.status).toBe(status)
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
  })

  test('opens the metrics when told to, and no more', async () => {
    const { server } = await start({ openMetrics: true })
    const answer = await call(server, '/metrics', { headers: { host: 'prometheus.internal' } })
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(answer.octets.toString()).toContain('prexy_open_connections 7\n')
    expect((await call(server, '/api/status')).status).toBe(401)
  })

  test('reloads, and says why it did not', async () => {
    const { server } = await start()
    const good = await call(server, '/api/reload', { method: 'POST', headers: WITH_TOKEN })
    expect(JSON.parse(good.octets.toString())).toEqual({ kind: 'reloaded', warnings: [] })
    const bad = await call(server, '/api/reload', { method: 'POST', headers: WITH_TOKEN })
    expect(bad.status).toBe(422)
    expect(JSON.parse(bad.octets.toString())).toEqual({
      kind: 'refused',
      problems: ['prexy.yaml:3:5: routes: there is none'],
    })
  })

  test('is not ready once it drains', async () => {
    const { server } = await start()
    await call(server, '/api/drain', { method: 'POST', headers: WITH_TOKEN })
    expect((await call(server, '/readyz')).status).toBe(503)
    expect((await call(server, '/healthz')).status).toBe(200)
  })

  test('describes every operation', async () => {
    const { server } = await start()
    const { octets } = await call(server, '/api/openapi.json', { headers: WITH_TOKEN })
    const description: { paths: Record<string, Record<string, { summary: string }>> } = JSON.parse(octets.toString())
    for (const { method, path, summary } of OPERATIONS) {
      expect(description.paths[path][method.toLowerCase()].summary).toBe(summary)
    }
  })

  test('refuses heads and bodies beyond its limits', async () => {
    const { server } = await start({ limits: { maxHeadBytes: 2_048 } })
    expect((await call(server, '/healthz', { headers: { x: 'y'.repeat(4_096) } })).status).toBe(431)
    const answer = await call(server, '/api/session', { method: 'POST', body: 'x'.repeat(5_000) })
    expect(answer.status).toBe(413)
  })

  test('closes connections beyond its limit', async () => {
    const { server } = await start({ limits: { maxConnections: 1 } })
    const ask = (): Socket => {
      const socket = connect(server.address.port, server.address.host)
      socket.on('error', () => socket.destroy())
      socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
      return socket
    }
    const first = ask()
    await new Promise((resolve) => first.once('data', resolve))
    const second = ask()
    let received = 0
    second.on('data', (chunk) => {
      received += chunk.length
    })
    await new Promise((resolve) => second.once('close', resolve))
    expect(received).toBe(0)
    first.destroy()
  })
})

describe('a browser', () => {
  test('signs in with the token, and out', async () => {
    const { server } = await start()
    const origin = `http://127.0.0.1:${server.address.port}`
    const wrong = await call(server, '/api/session', { method: 'POST', headers: { origin }, body: 'wrong' })
    expect(wrong.status).toBe(401)
    expect(wrong.headers['set-cookie']).toBeUndefined()
    const right = await call(server, '/api/session', { method: 'POST', headers: { origin }, body: TOKEN })
    const [cookie] = String(right.headers['set-cookie']).split(';')
    expect((await call(server, '/api/status', { headers: { cookie } })).status).toBe(200)
    expect((await call(server, '/api/drain', { method: 'POST', headers: { cookie } })).status).toBe(403)
    expect((await call(server, '/api/drain', { method: 'POST', headers: { cookie, origin } })).status).toBe(202)
    const out = await call(server, '/api/session', { method: 'DELETE', headers: { cookie, origin } })
    expect(String(out.headers['set-cookie'])).toContain('Max-Age=0')
    expect((await call(server, '/api/status', { headers: { cookie } })).status).toBe(401)
  })

  test('gets the files of the inspector without a token', async () => {
    const page = { type: 'text/html; charset=utf-8', octets: Buffer.from('<!doctype html>'), isImmutable: false }
    const { server } = await start({ assets: new Map([['/', page]]) })
    const answer = await call(server, '/')
    expect([answer.status, answer.headers['content-type'], answer.octets.toString()]).toEqual([
      200,
      'text/html; charset=utf-8',
      '<!doctype html>',
    ])
    expect((await call(server, '/', { headers: { host: 'evil.example' } })).status).toBe(421)
  })
})

describe('recordings', () => {
  test('are listed by session', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prexy-admin-'))
    directories.push(directory)
    const session = newSession('monday', ['a'], 5)
    await writeSession(directory, session)
    const { server } = await start({ host: hostOf({ reloads: 0, drains: 0 }, { recordings: directory }) })
    const listed = await call(server, '/api/recordings', { headers: WITH_TOKEN })
    expect(JSON.parse(listed.octets.toString())).toMatchObject([{ id: session.id, name: 'monday', events: 0 }])
    const events = await call(server, `/api/recordings/${session.id}/events`, { headers: WITH_TOKEN })
    expect([events.status, events.headers['content-type'], events.octets.length]).toEqual([
      200,
      'application/vnd.msgpack',
      0,
    ])
    for (const name of ['none', '..%2f..', '']) {
      expect((await call(server, `/api/recordings/${name}/events`, { headers: WITH_TOKEN })).status).toBe(404)
    }
  })
})

interface Message {
  feed: string
  sequence: number
  dropped: number
  events: { n: number }[]
}

describe('live events', () => {
  function watch(server: AdminServer, query = '', headers: Record<string, string> = WITH_TOKEN): WebSocket {
    return new WebSocket(`ws://127.0.0.1:${server.address.port}/api/live${query}`, { headers })
  }

  /** Events until there are `count`, and the last message. */
  function collect(socket: WebSocket, count: number): Promise<{ numbers: number[]; last: Message; dropped: number }> {
    return new Promise((resolve, reject) => {
      const numbers: number[] = []
      let dropped = 0
      socket.on('message', (data: Buffer) => {
        const message = decode(data) as Message
        dropped += message.dropped
        numbers.push(...message.events.map(({ n }) => n))
        if (numbers.length >= count) resolve({ numbers, last: message, dropped })
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('closed')))
    })
  }

  function publish(feed: LiveFeed, from: number, to: number): void {
    for (let n = from; n <= to; n++) feed.publish(encode({ n }))
  }

  test('come as they are published, and go on where a viewer left off', async () => {
    const feed = new LiveFeed()
    const { server } = await start({ host: hostOf({ reloads: 0, drains: 0 }, { feed }) })
    publish(feed, 1, 3)
    const socket = watch(server, '?from=oldest')
    const early = await collect(socket, 3)
    expect(early.numbers).toEqual([1, 2, 3])
    socket.terminate()
    publish(feed, 4, 6)
    const again = watch(server, `?after=${early.last.feed}:3`)
    const late = collect(again, 5)
    await new Promise((resolve) => again.once('open', resolve))
    publish(feed, 7, 8)
    expect((await late).numbers).toEqual([4, 5, 6, 7, 8])
    again.terminate()
  })

  test('that were missed are counted', async () => {
    const feed = new LiveFeed({ maxEvents: 10 })
    const { server } = await start({ host: hostOf({ reloads: 0, drains: 0 }, { feed }) })
    publish(feed, 1, 25)
    const socket = watch(server, `?after=${feed.id}:5`)
    const { numbers, dropped } = await collect(socket, 10)
    expect([numbers[0], numbers.length, dropped]).toEqual([16, 10, 10])
    socket.terminate()
  })

  test.each<[string, string, Record<string, string>, number]>([
    ['without a token', '', {}, 401],
    ['from another page', '', { ...WITH_TOKEN, origin: 'https://evil.example' }, 403],
    ['by another name', '', { ...WITH_TOKEN, host: 'evil.example' }, 421],
    ['after what is no place', '?after=x', WITH_TOKEN, 400],
  ])('are refused %s', async (_, query, headers, status) => {
    const { server } = await start({ host: hostOf({ reloads: 0, drains: 0 }, { feed: new LiveFeed() }) })
    const socket = watch(server, query, headers)
    const refused = new Promise<number>((resolve) => {
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
      socket.on('error', (error) => resolve(Number(/\d{3}/.exec(error.message)?.[0] ?? 0)))
    })
    expect(await refused).toBe(status)
    socket.terminate()
  })

  test('are refused to too many viewers, and leave no viewer behind', async () => {
    const feed = new LiveFeed({ maxViewers: 1 })
    const { server } = await start({ host: hostOf({ reloads: 0, drains: 0 }, { feed }) })
    const first = watch(server)
    await new Promise((resolve) => first.once('message', resolve))
    const second = watch(server)
    const code = await new Promise((resolve) => second.once('close', resolve))
    expect(code).toBe(1013)
    first.close()
    await new Promise((resolve) => first.once('close', resolve))
    await expect.poll(() => feed.viewers).toBe(0)
  })
})
