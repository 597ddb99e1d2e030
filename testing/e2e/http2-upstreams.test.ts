/**
 * HTTP/2 to servers that nobody here wrote: nginx, nghttpd and h2o, by ALPN and by prior knowledge; and to one that is
 * stopped and killed while bodies come and go. Every body is compared octet for octet.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer as createHttp1 } from 'node:https'
import { createSecureServer } from 'node:http2'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExchangeEvent } from '@prexy/events/exchange'
import type { ProxyTimeouts, UpstreamConfig } from '@prexy/proxy/proxy-config'
import { startProxy } from '@prexy/proxy/start-proxy'
import { issueCertificate } from '@prexy/testing/issued-certificates'
import { NGINX_HTTP, NGINX_PREAMBLE, startNginxFile } from '@prexy/testing/nginx'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const isBun = 'bun' in process.versions
const missing = isBun ? 'HTTP/2 to upstreams is not spoken under Bun' : missingPrograms('nginx', 'nghttpd', 'h2o')
const SIZES = [0, 1, 16_384, 16_385, 65_535, 65_536, 300_000, 2_000_000]
const CLIENTS = 8

const authority = issueCertificate({ names: 'DNS:authority.test', signs: true })
const pair = issueCertificate({ names: 'DNS:origin.test,IP:127.0.0.1', authority })
let folder = ''

function octetsOf(bytes: number): Buffer {
  const block = createHash('sha512').update(String(bytes)).digest()
  return Buffer.alloc(bytes, block)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Resolves once somebody listens. */
async function listens(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`)
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.once('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => setTimeout(() => resolve(false), 20))
    })
    if (isUp) return
  }
}

interface Running extends AsyncDisposable {
  readonly port: number
}

async function run(port: number, program: string, ...args: readonly string[]): Promise<Running> {
  const child = spawn(program, args, { cwd: folder, stdio: 'ignore' })
  await listens(port, child)
  return {
    port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => child.once('close', resolve))
      child.kill('SIGKILL')
      await closed
    },
  }
}

const nginxFile = (listen: string) => (port: number) =>
  `${NGINX_PREAMBLE}
http {
  access_log off;
${NGINX_HTTP}
  client_max_body_size 0;
  server {
    listen 127.0.0.1:${port} ${listen};
    ssl_certificate ${folder}/cert.pem;
    ssl_certificate_key ${folder}/key.pem;
    root ${folder}/files;
    keepalive_requests 20;
  }
}
`

async function nginx(listen: string): Promise<Running> {
  const place = mkdtempSync(join(folder, 'nginx-'))
  chmodSync(place, 0o755)
  const server = await startNginxFile(place, nginxFile(listen))
  return { port: server.port, [Symbol.asyncDispose]: () => server.stop() }
}

async function nghttpd(...tls: readonly string[]): Promise<Running> {
  const port = await freePort()
  const keys = tls.length === 0 ? ['key.pem', 'cert.pem'] : []
  return await run(port, 'nghttpd', ...tls, '-a', '127.0.0.1', '-d', join(folder, 'files'), String(port), ...keys)
}

async function h2o(): Promise<Running> {
  const port = await freePort()
  const file = join(folder, `h2o-${port}.conf`)
  const ssl = `ssl: {certificate-file: ${folder}/cert.pem, key-file: ${folder}/key.pem}`
  const user = process.getuid?.() === 0 ? 'user: root\n' : ''
  writeFileSync(
    file,
    `${user}listen: {host: 127.0.0.1, port: ${port}, ${ssl}}\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: ${folder}/files\n`,
  )
  return await run(port, 'h2o', '-c', file)
}

const origins: Readonly<Record<string, { start(): Promise<Running>; http2: UpstreamConfig['http2']; tls: boolean }>> = {
  'nginx by ALPN': { start: () => nginx('ssl http2'), http2: 'alpn', tls: true },
  'nginx by prior knowledge': { start: () => nginx('http2'), http2: 'prior-knowledge', tls: false },
  'nginx that chooses HTTP/1.1': { start: () => nginx('ssl'), http2: 'alpn', tls: true },
  'nghttpd by ALPN': { start: () => nghttpd(), http2: 'alpn', tls: true },
  'nghttpd by prior knowledge': { start: () => nghttpd('--no-tls'), http2: 'prior-knowledge', tls: false },
  'h2o by ALPN': { start: h2o, http2: 'alpn', tls: true },
}

async function proxyTo(
  port: number,
  upstream: Partial<UpstreamConfig>,
  tls: boolean,
  timeouts: Partial<ProxyTimeouts> = {},
) {
  const events: ExchangeEvent[] = []
  const proxy = await startProxy({
    listen: [{ host: '127.0.0.1', port: 0 }],
    routes: [
      {
        name: 'all',
        upstream: {
          servers: [{ host: '127.0.0.1', port, tls }],
          ...(tls ? { tls: { ca: authority.cert } } : {}),
          ...upstream,
        },
      },
    ],
    timeouts,
    onExchange: (event) => events.push(event),
    onError: (error) => {
      throw error
    },
  })
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const ask = (path: string, body?: Buffer): Promise<{ status: number; body: Buffer } | undefined> =>
    new Promise((resolve) => {
      const asked = request(
        { port: proxy.address.port, host: '127.0.0.1', path, agent, method: body === undefined ? 'GET' : 'POST' },
        (response) => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part))
          response.on('error', () => resolve(undefined))
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) }))
        },
      )
      asked.on('error', () => resolve(undefined))
      asked.end(body)
    })
  return {
    ask,
    port: proxy.address.port,
    events,
    async [Symbol.asyncDispose]() {
      agent.destroy()
      await proxy.stop(0)
    },
  }
}

describe.skipIf(missing !== undefined)(`servers of others${missing === undefined ? '' : `: ${missing}`}`, () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'prexy-http2-upstreams-'))
    chmodSync(folder, 0o755)
    mkdirSync(join(folder, 'files'))
    for (const bytes of SIZES) writeFileSync(join(folder, `files/${bytes}.dat`), octetsOf(bytes))
    writeFileSync(join(folder, 'cert.pem'), pair.cert)
    writeFileSync(join(folder, 'key.pem'), pair.key)
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each(Object.keys(origins))('%s: bodies of all sizes, many at a time', async (name) => {
    const { start, http2, tls } = origins[name] ?? expect.unreachable()
    await using origin = await start()
    await using proxy = await proxyTo(origin.port, { http2: http2 ?? 'off' }, tls)
    const asked = SIZES.flatMap((bytes) => [bytes, bytes, bytes])
    const answers = await Promise.all(asked.map((bytes) => proxy.ask(`/${bytes}.dat`)))
    for (const [index, answer] of answers.entries()) {
      expect([asked[index], answer?.status]).toEqual([asked[index], 200])
      expect(answer?.body.equals(octetsOf(asked[index]))).toBe(true)
    }
    // A file is no place to send to; the answer comes before the body has gone.
    const refused = await proxy.ask('/1.dat', octetsOf(300_000))
    expect([404, 405, 200]).toContain(refused?.status)
  })

  // Over TLS node:http2 may tell of a body before it tells of its head; one in a hundred of these came so.
  test('uploads and downloads side by side over TLS: every response begins with its head', async () => {
    await using origin = await nghttpd()
    await using proxy = await proxyTo(origin.port, { http2: 'alpn' }, true)
    let asked = 0
    const client = async (): Promise<void> => {
      for (; asked < 400; ) {
        const bytes = [1, 16_384, 300_000][asked++ % 3] ?? 0
        const upload = asked % 5 < 2 ? octetsOf([20_000, 300_000][asked % 2] ?? 0) : undefined
        const answer = await proxy.ask(`/${bytes}.dat`, upload)
        expect([bytes, answer?.status, answer?.body.equals(octetsOf(bytes))]).toEqual([bytes, 200, true])
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  })

  test('a server that ends connections all the time: no request fails', async () => {
    // keepalive_requests: a GOAWAY after every 20 requests, with others under way.
    await using origin = await nginx('ssl http2')
    await using proxy = await proxyTo(origin.port, { http2: 'alpn' }, true)
    let asked = 0
    const client = async (): Promise<void> => {
      for (; asked < 400; ) {
        const bytes = SIZES[asked++ % 6] ?? 0
        const answer = await proxy.ask(`/${bytes}.dat`)
        expect([bytes, answer?.status, answer?.body.equals(octetsOf(bytes))]).toEqual([bytes, 200, true])
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  })
})

describe.skipIf(isBun)('a server of node:http2 over TLS', () => {
  test('uploads and downloads are whole or visibly broken while it is restarted', async () => {
    const start = async (port: number) => {
      const sessions = new Set<{ close(): void; destroy(): void }>()
      const server = createSecureServer({ ...pair, allowHTTP1: true, maxSessionMemory: 100 })
      server.on('session', (session) => {
        // One that came with the last connection: the server would wait for it for ever.
        if (!server.listening) session.destroy()
        sessions.add(session)
        session.on('error', () => {})
        session.on('close', () => sessions.delete(session))
      })
      server.on('sessionError', () => {})
      server.on('stream', (stream) => {
        stream.on('error', () => {})
        const hash = createHash('sha256')
        let bytes = 0
        stream.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          hash.update(chunk)
        })
        stream.on('end', () => {
          if (stream.destroyed) return
          stream.respond({ ':status': 200, 'x-sum': hash.digest('hex') })
          stream.end(octetsOf(bytes))
        })
      })
      await new Promise<void>((resolve) => {
        server.listen(port, '127.0.0.1', resolve)
      })
      return { server, sessions, port: (server.address() as AddressInfo).port }
    }
    let origin = await start(0)
    // Node's session does not always hear of a connection that is lost while it is written to.
    await using proxy = await proxyTo(origin.port, { http2: 'alpn' }, true, { upstreamPingMs: 1_000 })
    let whole = 0
    let going = true
    const client = async (): Promise<void> => {
      for (let i = 0; going; i++) {
        const bytes = SIZES[i % 7] ?? 0
        const answer = await proxy.ask('/', octetsOf(bytes))
        if (answer?.status !== 200) continue
        expect([bytes, answer.body.equals(octetsOf(bytes))]).toEqual([bytes, true])
        whole++
      }
    }
    const clients = Array.from({ length: CLIENTS }, client)
    for (const end of ['close', 'destroy', 'close', 'destroy'] as const) {
      const before = whole
      while (whole < before + 20) await new Promise(setImmediate)
      const closed = new Promise((resolve) => origin.server.close(resolve))
      for (const session of origin.sessions) session[end]()
      await closed
      origin = await start(origin.port)
    }
    const before = whole
    while (whole < before + 20) await new Promise(setImmediate)
    going = false
    await Promise.all(clients)
    for (const session of origin.sessions) session.destroy()
    await new Promise((resolve) => origin.server.close(resolve))
    // What failed was under way on a session that was destroyed, or met a server that was not there.
    const outcomes = new Set(proxy.events.map(({ outcome }) => outcome))
    for (const outcome of outcomes) expect(outcome).toMatch(/^(completed|upstream-(aborted|connect-failed|busy))$/)
  }, 180_000)

  test('a WebSocket goes by HTTP/1.1, which the same server is offered for it', async () => {
    const server = createSecureServer({ ...pair, allowHTTP1: true })
    server.on('upgrade', (asked, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.end(`version ${asked.httpVersion}`)
    })
    server.on('stream', (stream) => {
      stream.respond({ ':status': 200 })
      stream.end('ok')
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const { port } = server.address() as AddressInfo
    await using proxy = await proxyTo(port, { http2: 'alpn' }, true)
    expect(String((await proxy.ask('/'))?.body)).toBe('ok')
    const answer = await upgrade(proxy.port)
    expect(answer).toContain('101 Switching Protocols')
    expect(answer).toContain('version 1.1')
    server.close()
  })

  test('a server that stops speaking HTTP/2 is spoken to by HTTP/1.1', async () => {
    const first = createSecureServer(pair, (_, response) => void response.end('two'))
    await new Promise<void>((resolve) => {
      first.listen(0, '127.0.0.1', resolve)
    })
    const { port } = first.address() as AddressInfo
    await using proxy = await proxyTo(port, { http2: 'alpn', maxIdleConnections: 0 }, true)
    expect(String((await proxy.ask('/'))?.body)).toBe('two')
    await new Promise((resolve) => first.close(resolve))
    const second = createHttp1(pair, (_, response) => void response.end('one'))
    await new Promise<void>((resolve) => {
      second.listen(port, '127.0.0.1', resolve)
    })
    const answers = await Promise.all(Array.from({ length: 5 }, () => proxy.ask('/')))
    expect(answers.map((answer) => String(answer?.body))).toEqual(Array.from({ length: 5 }, () => 'one'))
    second.closeAllConnections()
    second.close()
  })
})

/** What came in answer to a request for a WebSocket, until the other side ended. */
function upgrade(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    let seen = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      seen += text
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(seen))
    socket.write(
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
  })
}
