/** Reloads, certificates, signals and deaths while many connections are in use. PREXY_LONG=1 does the full counts. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { makeCertificate } from '@prexy/testing/certificates'
import { missingPrograms } from '@prexy/testing/programs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { collect, startPrexy, waitFor } from './run-prexy.ts'

const isLong = process.env.PREXY_LONG !== undefined
const RELOADS = isLong ? 500 : 6
const SWAPS = isLong ? 100 : 6
const WEB_SOCKETS = 200
const EVENT_STREAMS = 50
const CLIENTS = 4
/** Most is waiting for other work of the machine. */
const SLOWEST_RELOAD_MS = 3_000

const withoutOpenssl = missingPrograms('openssl')
if (withoutOpenssl !== undefined) process.stdout.write(`under-load: certificates are left out: ${withoutOpenssl}\n`)

let folder = ''
const streams = new Set<ServerResponse>()
/** Numbers of slow requests that the origin was asked. */
const asked = new Set<string>()

const server = createServer((incoming, response) => {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://origin')
  if (pathname === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: Acme begins\n\n')
    streams.add(response)
    response.on('close', () => streams.delete(response))
    return
  }
  response.writeHead(200, { 'content-type': 'text/plain' })
  if (pathname !== '/slow') {
    response.end('Acme')
    return
  }
  asked.add(searchParams.get('number') ?? '')
  response.write('one Acme, ')
  setTimeout(() => response.end('two Acme'), 100)
})
// Echoes whole text frames of fewer than 126 octets, each in one piece, as the clients here send them.
server.on('upgrade', (_request: IncomingMessage, socket: Duplex) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  socket.on('data', (frame: Buffer) => {
    const payload = frame.subarray(6)
    socket.write(Buffer.concat([Buffer.of(0x81, payload.length), payload]))
  })
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
})

const origin = await openOrigin(server)

const running = new Set<ChildProcessWithoutNullStreams>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prexy-under-load-'))
  asked.clear()
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
  rmSync(folder, { recursive: true })
})

interface Started {
  readonly child: ChildProcessWithoutNullStreams
  readonly url: string
  /** Changes the configuration and waits until it is served. */
  reload(config: string): Promise<void>
  text(): string
}

async function serve(config: string): Promise<Started> {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, config)
  const child = startPrexy(['serve', path], { XDG_RUNTIME_DIR: folder })
  running.add(child)
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  const [, url] = await waitFor(child.stderr, /listening on (https?:\/\/\S+)/)
  let reloads = 0
  return {
    child,
    url,
    text: () => text,
    async reload(next) {
      writeFileSync(path, next)
      reloads++
      child.kill('SIGHUP')
      while (text.split('SIGHUP: the new configuration is served').length <= reloads) {
        if (/errors|stays|died/.test(text)) throw new Error(text)
        await once(child.stderr, 'data')
      }
    },
  }
}

const configOf = (name: string, workers: number): string => `listen: 127.0.0.1:0
upstream: http://${origin}
rules: [{text: Acme, with: ${name}}]
log: off
workers: ${workers}
`

async function textOf(url: URL | string, agent?: Agent): Promise<string> {
  return await new Promise((resolve, reject) => {
    get(url, agent === undefined ? {} : { agent }, (response: IncomingMessage) => {
      let body = ''
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString()
      })
      response.on('end', () => resolve(body))
      response.on('error', reject)
    }).on('error', reject)
  })
}

class WebSocketClient {
  readonly #socket: Socket
  isOpen = true

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('close', () => {
      this.isOpen = false
    })
    socket.on('error', () => {})
  }

  static async open(url: string): Promise<WebSocketClient> {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    }
    const asking = request(new URL('/socket', url), { headers, agent: false })
    asking.end()
    const [, socket]: [IncomingMessage, Socket] = await new Promise((resolve, reject) => {
      asking.on('upgrade', (response: IncomingMessage, opened: Socket) => resolve([response, opened]))
      asking.on('response', (response: IncomingMessage) => reject(new Error(`status ${response.statusCode}`)))
      asking.on('error', reject)
    })
    return new WebSocketClient(socket)
  }

  /** Sends a text, and returns what comes back. */
  async echo(text: string): Promise<string> {
    const payload = Buffer.from(text)
    const wanted = payload.length + 2
    const received: Buffer[] = []
    const answer = new Promise<string>((resolve, reject) => {
      const onData = (chunk: Buffer): void => {
        received.push(chunk)
        const all = Buffer.concat(received)
        if (all.length < wanted) return
        this.#socket.off('data', onData)
        this.#socket.off('close', onClose)
        resolve(all.subarray(2).toString())
      }
      const onClose = (): void => reject(new Error('the WebSocket was closed'))
      this.#socket.on('data', onData)
      this.#socket.on('close', onClose)
    })
    // With a mask of zeros the payload stands as it is.
    this.#socket.write(Buffer.concat([Buffer.of(0x81, 0x80 | payload.length, 0, 0, 0, 0), payload]))
    return await answer
  }

  close(): void {
    this.#socket.destroy()
  }
}

interface EventStream {
  readonly events: string[]
  isOpen: boolean
  close(): void
}

async function openEvents(url: string): Promise<EventStream> {
  const asking = get(new URL('/events', url), { agent: false })
  const [response]: IncomingMessage[] = await once(asking, 'response')
  let rest = ''
  const stream: EventStream = { events: [], isOpen: true, close: () => asking.destroy() }
  response.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n\n')
    rest = parts.pop() ?? ''
    stream.events.push(...parts)
  })
  response.on('error', () => {})
  response.on('close', () => {
    stream.isOpen = false
  })
  return stream
}

async function until(probe: () => boolean): Promise<void> {
  while (!probe()) await new Promise((resolve) => setTimeout(resolve, 10))
}

test.each([1, 2])(
  `${RELOADS} reloads with ${WEB_SOCKETS} WebSockets and ${EVENT_STREAMS} event streams lose nothing, %i workers`,
  async (workers) => {
    const it = await serve(configOf('Name0', workers))
    const sockets = await Promise.all(Array.from({ length: WEB_SOCKETS }, () => WebSocketClient.open(it.url)))
    const events = await Promise.all(Array.from({ length: EVENT_STREAMS }, () => openEvents(it.url)))
    await until(() => streams.size === EVENT_STREAMS)
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
    let over = false
    let served = 0
    const bodies = new Set<string>()
    const load = Array.from({ length: CLIENTS }, async (_, number) => {
      while (!over) {
        bodies.add(await textOf(it.url, number % 2 === 0 ? agent : undefined))
        served++
      }
    })
    for (let reload = 1; reload <= RELOADS; reload++) {
      await it.reload(configOf(`Name${reload}`, workers))
      for (const stream of streams) stream.write(`data: Acme ${reload}\n\n`)
      const some = sockets.filter((_, number) => number % 10 === reload % 10)
      const texts = some.map((_, number) => `Acme ${reload} ${number}`)
      expect(await Promise.all(some.map((socket, number) => socket.echo(texts[number])))).toEqual(texts)
    }
    over = true
    await Promise.all(load)
    agent.destroy()
    // What is in a WebSocket is nobody else's; event streams end with the rules that they began with.
    expect(await Promise.all(sockets.map((socket) => socket.echo('Acme')))).toEqual(sockets.map(() => 'Acme'))
    await until(() => events.every((stream) => stream.events.length === RELOADS + 1 || !stream.isOpen))
    const all = ['data: Name0 begins', ...Array.from({ length: RELOADS }, (_, number) => `data: Name0 ${number + 1}`)]
    for (const stream of events) expect(stream.events).toEqual(all)
    expect([...bodies].filter((body) => !/^Name\d+$/.test(body))).toEqual([])
    expect(served).toBeGreaterThan(RELOADS)
    for (const one of [...sockets, ...events]) one.close()
    const ended = collect(it.child)
    it.child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  },
  60_000 + RELOADS * SLOWEST_RELOAD_MS,
)

test.each([1, 2])(
  'SIGTERM under heavy load: what reached the upstream is answered whole, %i workers',
  async (workers) => {
    const it = await serve(configOf('Zenith', workers))
    const answered = new Map<string, string>()
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    let over = false
    let number = 0
    const client = async (kept?: Agent): Promise<void> => {
      while (!over) {
        const mine = String(number++)
        // After the signal a new connection is refused, and a kept one that was idle is closed.
        const text = await textOf(new URL(`/slow?number=${mine}`, it.url), kept).catch(() => undefined)
        if (text !== undefined) answered.set(mine, text)
      }
    }
    const load = Array.from({ length: 32 }, (_, index) => client(index % 2 === 0 ? agent : undefined))
    await until(() => answered.size > 100)
    const ended = collect(it.child)
    it.child.kill('SIGTERM')
    const { code } = await ended
    over = true
    await Promise.all(load)
    agent.destroy()
    expect(code).toBe(0)
    expect(asked.size).toBeGreaterThan(100)
    expect([...asked].filter((mine) => answered.get(mine) !== 'one Zenith, two Zenith')).toEqual([])
  },
)

test.skipIf(withoutOpenssl !== undefined).each([1, 2])(
  `${SWAPS} changes of certificates under load: no handshake fails, %i workers`,
  async (workers) => {
    const certificates = ['a', 'b'].map((name) => makeCertificate([`${name}.example`]))
    const put = (index: number): void => {
      const { cert, key } = certificates[index % 2]
      writeFileSync(join(folder, 'site.pem'), cert)
      writeFileSync(join(folder, 'site.key'), key, { mode: 0o600 })
    }
    put(0)
    const config = `listen: {address: '127.0.0.1:0', tls: {certificates: [{certFile: site.pem, keyFile: site.key}]}}
upstream: http://${origin}
rules: [{text: Acme, with: Zenith}]
log: off
workers: ${workers}
`
    const it = await serve(config)
    const port = Number(new URL(it.url).port)
    const fetched = async (): Promise<{ name: string; body: string }> =>
      await new Promise((resolve, reject) => {
        const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
        let text = ''
        let name = ''
        socket.on('secureConnect', () => {
          name = String(socket.getPeerCertificate().subject?.CN)
          socket.write('GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n')
        })
        socket.on('data', (chunk: Buffer) => {
          text += chunk.toString()
        })
        socket.on('end', () => resolve({ name, body: text }))
        socket.on('error', reject)
      })
    let over = false
    let handshakes = 0
    const names = new Set<string>()
    const load = Array.from({ length: CLIENTS }, async () => {
      while (!over) {
        const { name, body } = await fetched()
        expect(body).toContain('Zenith')
        names.add(name)
        handshakes++
      }
    })
    const first = await fetched()
    for (let swap = 1; swap <= SWAPS; swap++) {
      put(swap)
      await it.reload(`${config}# ${swap}\n`)
      const served = await fetched()
      expect(served.name === first.name).toBe(swap % 2 === 0)
    }
    over = true
    await Promise.all(load)
    expect(names.size).toBe(2)
    expect(handshakes).toBeGreaterThan(SWAPS)
  },
  60_000 + SWAPS * SLOWEST_RELOAD_MS,
)

test('ten deaths of workers within a minute end it, with the reason', async () => {
  const it = await serve(configOf('Zenith', 5))
  const { pid } = it.child
  const ended = collect(it.child)
  const killed = new Set<number>()
  while (it.child.exitCode === null) {
    let children: number[] = []
    try {
      children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number)
    } catch {
      break
    }
    for (const child of children) {
      if (child === 0 || killed.has(child)) continue
      killed.add(child)
      try {
        process.kill(child, 'SIGKILL')
      } catch {
        // It is gone already.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await ended
  expect(it.child.exitCode).toBe(2)
  expect(it.text()).toMatch(/prexy: 10 workers died within \d+ s, the last with signal SIGKILL; giving up\n/)
})
