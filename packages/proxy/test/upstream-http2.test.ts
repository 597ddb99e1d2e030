/** HTTP/2 to upstreams: the same exchanges as over HTTP/1.1, many at a time on one connection. */

import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  HEADERS,
  headerBlock,
  PREFACE,
  RST_STREAM,
  SETTINGS,
  settings,
  uint32,
} from '@prexy/testing/http2-frames'
import type { RawClient } from '@prexy/testing/raw-client'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS, type UpstreamConfig } from '../src/proxy-config.ts'
import { type Setup, type SetupInit, setUp } from './harness.ts'

const isBun = 'bun' in process.versions
const noScript = async (): Promise<void> => {}

interface Http2Origin extends AsyncDisposable {
  readonly port: number
  readonly sessions: readonly ServerHttp2Session[]
}

type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, number: number) => void

async function startOrigin(serve: Serve, options: Parameters<typeof createServer>[0] = {}): Promise<Http2Origin> {
  const server: Http2Server = createServer(options)
  const sessions: ServerHttp2Session[] = []
  let number = 0
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => {})
  })
  server.on('sessionError', () => {})
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    serve(stream, headers, ++number)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    sessions,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A server by the frame: `act` is called for each header block that comes. */
type Act = (peer: FrameOrigin, stream: number, count: number) => void
interface FrameOrigin {
  readonly socket: Socket
  send(...frames: readonly Uint8Array[]): void
}

async function startFrames(act: Act, first: Uint8Array = settings()): Promise<AsyncDisposable & { port: number }> {
  const sockets = new Set<Socket>()
  let count = 0
  const server: Server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const send = (...frames: readonly Uint8Array[]): void => void socket.write(Buffer.concat(frames))
    send(first)
    let rest = Buffer.alloc(0)
    let isOpen = false
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      if (!isOpen) {
        if (rest.length < PREFACE.length) return
        rest = rest.subarray(PREFACE.length)
        isOpen = true
      }
      while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
        const [type, flags, stream] = [rest[3], rest[4], rest.readUInt32BE(5)]
        rest = rest.subarray(9 + rest.readUIntBE(0, 3))
        if (type === SETTINGS && (flags & 1) === 0) send(frame(SETTINGS, 1, 0))
        if (type === HEADERS) act({ socket, send }, stream, ++count)
      }
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function setUpTo(port: number, upstream: Partial<UpstreamConfig> = {}, init: Partial<SetupInit> = {}): Promise<Setup> {
  return setUp({
    script: noScript,
    ...init,
    upstream: { servers: [{ host: '127.0.0.1', port }], http2: 'prior-knowledge', ...upstream },
  })
}

async function get(setup: Setup, target = '/', fields: readonly string[] = []) {
  const client = await setup.connect()
  await client.send([`GET ${target} HTTP/1.1`, 'Host: proxy.test', ...fields, '', ''].join('\r\n'))
  return await client.readResponse()
}

const post = (length: number, more: readonly string[] = []): string =>
  ['POST / HTTP/1.1', 'Host: proxy.test', `Content-Length: ${length}`, ...more, '', ''].join('\r\n')
const ok = (stream: number, body: string): Buffer =>
  Buffer.concat([
    frame(HEADERS, END_HEADERS, stream, headerBlock([':status', '200', 'content-type', 'text/plain'])),
    frame(DATA, END_STREAM, stream, Buffer.from(body)),
  ])

it.runIf(isBun)('is refused under Bun, with the reason', async () => {
  await expect(setUpTo(1)).rejects.toThrow(/http2 is not spoken to servers here: Bun does not tell/)
})

describe.skipIf(isBun)('a request', () => {
  it('goes up with pseudo-header fields, without those of a connection', async () => {
    let seen: IncomingHttpHeaders = {}
    await using origin = await startOrigin((stream, headers) => {
      seen = headers
      stream.respond({ ':status': 200 })
      stream.end('ok')
    })
    await using setup = await setUpTo(origin.port, { hostHeader: 'origin.test' })
    const fields = ['Connection: x-hop', 'X-Hop: 1', 'Cookie: a=1', 'Cookie: b=2', 'X-Y: \xe9', 'TE: trailers']
    const { status, body } = await get(setup, '//a/%2e?b', fields)
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: 'ok' })
    expect(seen).toMatchObject({
      ':method': 'GET',
      ':scheme': 'http',
      ':authority': 'origin.test',
      ':path': '//a/%2e?b',
      cookie: 'a=1; b=2',
      'x-y': '\xe9',
      'x-forwarded-host': 'proxy.test',
    })
    for (const name of ['host', 'connection', 'x-hop', 'transfer-encoding']) expect(seen).not.toHaveProperty(name)
    expect(await setup.event(1)).toMatchObject({ outcome: 'completed', status: 200 })
  })

  it.each([
    ['with a length', 'Content-Length: 300000', (body: string) => body],
    ['in chunks', 'Transfer-Encoding: chunked', (body: string) => `493e0\r\n${body}\r\n0\r\nX-Sum: 7\r\n\r\n`],
  ])('has its body, and its trailers: %s', async (_name, framing, encode) => {
    let seen = ''
    let trailers: IncomingHttpHeaders = {}
    await using origin = await startOrigin((stream) => {
      stream.setEncoding('latin1')
      stream.on('data', (text: string) => {
        seen += text
      })
      stream.on('trailers', (one: IncomingHttpHeaders) => {
        trailers = one
      })
      stream.on('end', () => {
        stream.respond({ ':status': 200 })
        stream.end('ok')
      })
    })
    await using setup = await setUpTo(origin.port)
    const body = 'one two\n'.repeat(37_500)
    const client = await setup.connect()
    await client.send(`POST / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n${encode(body)}`)
    expect((await client.readResponse()).status).toBe(200)
    expect(seen === body).toBe(true)
    expect(trailers).toEqual(framing.startsWith('T') ? expect.objectContaining({ 'x-sum': '7' }) : {})
  })

  it('that its client breaks off is reset, and is no whole one', async () => {
    let ended = false
    let closed: (code: number) => void = () => {}
    const code = new Promise<number>((resolve) => {
      closed = resolve
    })
    await using origin = await startOrigin((stream) => {
      stream.on('data', () => {})
      stream.on('end', () => {
        ended = !stream.aborted
      })
      stream.on('close', () => closed(stream.rstCode ?? 0))
    })
    await using setup = await setUpTo(origin.port)
    const client = await setup.connect()
    await client.send(`${post(100_000)}some`)
    await setup.reached('upstream-connected')
    client.destroy()
    expect(await code).not.toBe(0)
    expect(ended).toBe(false)
  })

  it('to a server that takes nothing of its body pauses its client', async () => {
    await using origin = await startOrigin((stream) => stream.pause())
    await using setup = await setUpTo(origin.port)
    const client = await setup.connect()
    await client.send(post(200_000_000))
    let sent = 0
    let isFull = false
    while (!isFull && sent < 200_000_000) {
      isFull = !client.socket.write(new Uint8Array(65_536)) && client.socket.writableLength > 4_000_000
      sent += 65_536
      await new Promise(setImmediate)
    }
    expect(sent).toBeLessThan(64_000_000)
  })
})

describe.skipIf(isBun)('a response', () => {
  it('is rewritten; interim ones and trailers come along', async () => {
    await using origin = await startOrigin((stream) => {
      stream.additionalHeaders({ ':status': 103, link: '</a>' })
      stream.respond(
        { ':status': 200, 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'] },
        { waitForTrailers: true },
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
      stream.end('one two one\n')
    })
    await using setup = await setUpTo(origin.port, {}, { rules: [{ text: 'one', with: 'three' }] })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n')
    expect((await client.readResponse()).status).toBe(103)
    const { status, body, trailers, values } = await client.readResponse()
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: 'three two three\n' })
    expect(trailers).toEqual(['x-sum: 7'])
    expect(values('set-cookie')).toEqual(['a=1', 'b=2'])
  })

  it('of megabytes comes octet for octet, with others on the same connection', async () => {
    const octets = Buffer.from(Uint8Array.from({ length: 1_000_000 }, (_, i) => (i * 7) % 251))
    const serve: Serve = (stream) => {
      stream.respond({ ':status': 200 })
      stream.end(octets)
    }
    await using origin = await startOrigin(serve, { maxSessionMemory: 100 })
    await using setup = await setUpTo(origin.port)
    const bodies = await Promise.all(Array.from({ length: 8 }, async () => (await get(setup)).body))
    expect(bodies.every((body) => octets.equals(body))).toBe(true)
    expect(origin.sessions.length).toBe(1)
  })

  it('that nobody takes stops its server, and no other response', async () => {
    let sent = 0
    await using origin = await startOrigin((stream, headers) => {
      stream.respond({ ':status': 200 })
      if (headers[':path'] !== '/flood') {
        stream.end('ok')
        return
      }
      const more = (): void => {
        while (!stream.destroyed && sent < 500_000_000) {
          sent += 65_536
          if (!stream.write(Buffer.alloc(65_536))) break
        }
      }
      stream.on('drain', more)
      more()
    })
    await using setup = await setUpTo(origin.port)
    const client = await setup.connect()
    client.reader.pause()
    await client.send('GET /flood HTTP/1.1\r\nHost: a\r\n\r\n')
    let before = -1
    for (let still = 0; still < 50; still = sent === before ? still + 1 : 0) {
      before = sent
      expect(String((await get(setup)).body)).toBe('ok')
    }
    expect(sent).toBeLessThan(64_000_000)
    expect(origin.sessions.length).toBe(1)
  })

  const part = frame(DATA, 0, 1, Buffer.from('part'))
  const head = (...more: readonly string[]): Buffer =>
    frame(HEADERS, END_HEADERS, 1, headerBlock([':status', '200', 'content-type', 'text/plain', ...more]))

  it.each<[string, Act]>([
    ['a reset', ({ send }) => send(head(), part, frame(RST_STREAM, 0, 1, uint32(2)))],
    ['a reset without an error', ({ send }) => send(head(), part, frame(RST_STREAM, 0, 1, uint32(0)))],
    ['a reset that says CANCEL', ({ send }) => send(head(), part, frame(RST_STREAM, 0, 1, uint32(8)))],
    [
      'the end of the connection',
      ({ send, socket }) => {
        send(head(), part)
        socket.end()
      },
    ],
    [
      'a reset of the connection',
      ({ send, socket }) => {
        send(head(), part)
        setImmediate(() => socket.resetAndDestroy())
      },
    ],
    [
      'a GOAWAY with an error',
      ({ send }) => send(head(), part, frame(GOAWAY, 0, 0, Buffer.concat([uint32(1), uint32(2)]))),
    ],
    [
      'fewer octets than Content-Length says',
      ({ send }) => send(head('content-length', '9'), part, frame(DATA, END_STREAM, 1)),
    ],
    [
      'more octets than Content-Length says',
      ({ send }) => send(head('content-length', '3'), part, frame(DATA, END_STREAM, 1)),
    ],
  ])('that ends with %s is broken for its client', async (_name, act) => {
    await using origin = await startFrames(act)
    for (const rules of [[], [{ text: 'never there', with: 'x' }]]) {
      await using setup = await setUpTo(origin.port, {}, { rules })
      const { status, complete } = await get(setup)
      expect(status === 200 && complete).toBe(false)
      expect((await setup.event(1)).outcome).toMatch(/^upstream-/)
    }
  })

  it('of which nothing more comes for upstreamBodyMs is broken', async () => {
    await using origin = await startFrames(({ send }) => send(head(), part))
    const config = { timeouts: { upstreamPingMs: 2 * DEFAULT_TIMEOUTS.upstreamBodyMs } }
    await using setup = await setUpTo(origin.port, {}, { manualTime: true, config })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    // The timer begins when the client was sent what came.
    await client.reader.until('part')
    setup.wheel.advance(DEFAULT_TIMEOUTS.upstreamBodyMs / setup.wheel.tickMs + 2)
    expect(await setup.event(1)).toMatchObject({ outcome: 'upstream-timeout', detail: 'upstreamBodyMs passed' })
  })

  it.each([
    ['a status that is none', [':status', '2000']],
    ['no status', ['content-type', 'text/plain']],
    ['a 101', [':status', '101']],
    ['a field of the connection', [':status', '200', 'transfer-encoding', 'chunked']],
    ['two lengths', [':status', '200', 'content-length', '1', 'content-length', '2']],
    ['a name in upper case', [':status', '200', 'X-Y', '1']],
    ['too many lines', [':status', '200', ...Array.from({ length: 600 }, (_, i) => (i % 2 === 0 ? `x-${i}` : ''))]],
    ['407', [':status', '407']],
  ])('with %s is a 502, or goes without the line at fault', async (_name, block) => {
    await using origin = await startFrames(({ send }, stream) =>
      send(frame(HEADERS, END_HEADERS, stream, headerBlock(block)), frame(DATA, END_STREAM, stream)),
    )
    await using setup = await setUpTo(origin.port)
    const { status, values } = await get(setup)
    expect(status === 502 || (status === 200 && values('x-y').length + values('transfer-encoding').length <= 1)).toBe(
      true,
    )
  })

  it('that comes before the request has ended is delivered, and the rest of the request given up', async () => {
    await using origin = await startFrames(({ send }, stream) =>
      send(ok(stream, 'early'.repeat(2_000)), frame(RST_STREAM, 0, stream, uint32(0))),
    )
    await using setup = await setUpTo(origin.port)
    const client = await setup.connect()
    await client.send(`${post(500_000)}${'x'.repeat(150_000)}`)
    const { status, body, complete } = await client.readResponse()
    expect({ status, bytes: body.length, complete }).toEqual({ status: 200, bytes: 10_000, complete: true })
  })
})

describe.skipIf(isBun)('what a server did not process is sent anew', () => {
  const refused = (stream: number): Buffer => frame(RST_STREAM, 0, stream, uint32(7))

  it('after REFUSED_STREAM, with its body', async () => {
    await using origin = await startFrames(({ send }, stream, count) =>
      setTimeout(() => send(count === 1 ? refused(stream) : ok(stream, 'second')), 10),
    )
    await using setup = await setUpTo(origin.port)
    const client = await setup.connect()
    await client.send(`${post(5)}hello`)
    expect(String((await client.readResponse()).body)).toBe('second')
    expect(await setup.event(1)).toMatchObject({ outcome: 'completed', upstreamAttempts: 2 })
  })

  it('and its body is whole the second time', async () => {
    let count = 0
    let seen = ''
    await using origin = await startOrigin((stream) => {
      if (++count === 1) {
        stream.once('data', () => stream.destroy(new Error('refused')))
        stream.destroy = ((destroy) => () => {
          stream.close(7)
          return destroy
        })(stream)
        return
      }
      stream.on('data', (chunk: Buffer) => {
        seen += chunk.toString('latin1')
      })
      stream.on('end', () => {
        stream.respond({ ':status': 200 })
        stream.end(String(seen.length))
      })
    })
    await using setup = await setUpTo(origin.port)
    const client = await setup.connect()
    const body = 'one two '.repeat(2_500)
    await client.send(post(body.length) + body)
    expect(String((await client.readResponse()).body)).toBe(String(body.length))
    expect(seen).toBe(body)
  })

  it('until that was so three times: 503', async () => {
    await using origin = await startFrames(({ send }, stream) => send(refused(stream)))
    await using setup = await setUpTo(origin.port)
    expect((await get(setup)).status).toBe(503)
    expect(await setup.event(1)).toMatchObject({ outcome: 'upstream-busy', upstreamAttempts: 3 })
  })

  it('beyond a GOAWAY, on another connection; what it did process goes on', async () => {
    const streams: number[] = []
    await using origin = await startFrames(({ send, socket }, stream, count) => {
      streams.push(socket.remotePort ?? 0)
      if (count < 3) return
      if (count > 3) return send(ok(stream, 'anew'))
      send(frame(GOAWAY, 0, 0, Buffer.concat([uint32(3), uint32(0)])))
      setTimeout(() => send(ok(1, 'first'), ok(3, 'second')), 10)
    })
    await using setup = await setUpTo(origin.port)
    const clients: RawClient[] = []
    for (let i = 0; i < 3; i++) {
      const client = await setup.connect()
      await client.send(`${post(4)}body`)
      clients.push(client)
    }
    const bodies = await Promise.all(clients.map(async (client) => String((await client.readResponse()).body)))
    expect(bodies.toSorted()).toEqual(['anew', 'first', 'second'])
    expect(new Set(streams).size).toBe(2)
  })

  it('but not what it may have begun: an interim response, or a reset of another kind', async () => {
    await using origin = await startFrames(({ send }, stream) =>
      send(frame(HEADERS, END_HEADERS, stream, headerBlock([':status', '103'])), refused(stream)),
    )
    await using setup = await setUpTo(origin.port)
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect((await client.readResponse()).status).toBe(103)
    expect((await client.readResponse()).status).toBe(502)
    expect(await setup.event(1)).toMatchObject({ outcome: 'upstream-aborted', upstreamAttempts: 1 })
  })
})

describe.skipIf(isBun)('connections', () => {
  it('carry as many requests as the server takes, and no more are opened than maxConnections', async () => {
    let active = 0
    let most = 0
    await using origin = await startOrigin(
      (stream) => {
        most = Math.max(most, ++active)
        setTimeout(() => {
          active--
          stream.respond({ ':status': 200 })
          stream.end('ok')
        }, 5)
      },
      { settings: { maxConcurrentStreams: 2 } },
    )
    await using setup = await setUpTo(origin.port, { maxConnections: 2 })
    await get(setup)
    const answers = await Promise.all(Array.from({ length: 24 }, () => get(setup)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(most).toBeLessThanOrEqual(4)
    expect(origin.sessions.length).toBe(2)
  })

  it('beyond which requests wait, up to maxWaiting', async () => {
    const held: ServerHttp2Stream[] = []
    await using origin = await startOrigin((stream) => void held.push(stream))
    await using setup = await setUpTo(origin.port, { maxConnections: 1, maxStreams: 1, maxWaiting: 1 })
    const first = get(setup)
    await setup.reached('upstream-connected')
    const second = get(setup)
    await setup.reached('upstream-wait')
    expect((await get(setup)).status).toBe(503)
    for (const answer of [first, second]) {
      while (held.length === 0) await new Promise(setImmediate)
      const stream = held.shift()
      stream?.respond({ ':status': 200 })
      stream?.end()
      expect((await answer).status).toBe(200)
    }
  })

  it('that are refused: the next server gets the request, whatever its method', async () => {
    await using origin = await startOrigin((stream) => {
      stream.respond({ ':status': 200 })
      stream.end('ok')
    })
    const closed = await startFrames(() => {})
    await closed[Symbol.asyncDispose]()
    const servers = [closed.port, origin.port].map((port) => ({ host: '127.0.0.1', port }))
    await using setup = await setUpTo(origin.port, { servers })
    const client = await setup.connect()
    await client.send(`${post(5)}hello`)
    expect((await client.readResponse()).status).toBe(200)
    expect(await setup.event(1)).toMatchObject({ upstreamAttempts: 2 })
  })

  it('that answer no response within upstreamHeadersMs: 504', async () => {
    let count = 0
    await using origin = await startFrames(() => void count++)
    const config = { timeouts: { upstreamPingMs: 2 * DEFAULT_TIMEOUTS.upstreamHeadersMs } }
    await using setup = await setUpTo(origin.port, {}, { manualTime: true, config })
    const answer = get(setup)
    while (count === 0) await new Promise(setImmediate)
    setup.wheel.advance(DEFAULT_TIMEOUTS.upstreamHeadersMs / setup.wheel.tickMs + 2)
    expect((await answer).status).toBe(504)
    expect(await setup.event(1)).toMatchObject({ outcome: 'upstream-timeout', detail: 'upstreamHeadersMs passed' })
  })

  it('on which nothing comes, not even the answer to a PING, are lost after twice upstreamPingMs', async () => {
    let count = 0
    await using origin = await startFrames(({ send }, stream) => (++count === 1 ? undefined : send(ok(stream, 'ok'))))
    await using setup = await setUpTo(origin.port, {}, { manualTime: true })
    const client = await setup.connect()
    await client.send(`${post(5)}hello`)
    await setup.reached('request-sent')
    while (count === 0) await new Promise(setImmediate)
    const { tickMs } = setup.wheel
    // SETTINGS came first.
    for (let i = 0; i < 3; i++) setup.wheel.advance(DEFAULT_TIMEOUTS.upstreamPingMs / tickMs + 2)
    expect((await client.readResponse()).status).toBe(502)
    expect(await setup.event(1)).toMatchObject({ outcome: 'upstream-aborted', detail: expect.stringMatching(/PING/) })
    expect((await get(setup)).status).toBe(200)
  })

  it('are closed upstreamIdleMs after the last request', async () => {
    await using origin = await startOrigin((stream) => {
      stream.respond({ ':status': 200 })
      stream.end('ok')
    })
    await using setup = await setUpTo(origin.port, {}, { manualTime: true })
    await get(setup)
    const closed = new Promise<void>((resolve) => {
      origin.sessions[0]?.on('close', resolve)
    })
    await setup.event(1)
    setup.wheel.advance(DEFAULT_TIMEOUTS.upstreamIdleMs / setup.wheel.tickMs + 2)
    await closed
  })

  it('are checked by health checks of the same kind', async () => {
    let checks = 0
    let isSick = false
    await using origin = await startOrigin((stream, headers) => {
      if (headers[':path'] === '/health') checks++
      stream.respond({ ':status': headers[':path'] === '/health' && isSick ? 500 : 200 })
      stream.end('ok')
    })
    const changes: string[] = []
    await using setup = await setUpTo(
      origin.port,
      { healthCheck: { path: '/health', intervalMs: 10, fall: 2, rise: 2 } },
      { config: { onUpstream: ({ kind }) => void changes.push(kind) } },
    )
    while (checks < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    isSick = true
    while (!changes.includes('check-failed')) await new Promise((resolve) => setTimeout(resolve, 5))
    isSick = false
    while (!changes.includes('check-passed')) await new Promise((resolve) => setTimeout(resolve, 5))
    expect((await get(setup)).status).toBe(200)
  })
})
