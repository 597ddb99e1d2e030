/** Exchanges of clients that speak HTTP/2, by prior knowledge: the same exchanges, other ends. */

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2'
import { answering, flood, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS } from '../src/proxy-config.ts'
import { type Setup, type SetupInit, setUp } from './harness.ts'

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly trailers: IncomingHttpHeaders
  readonly interim: readonly IncomingHttpHeaders[]
  /** Of the RST_STREAM that ended it. */
  readonly code: number
}

interface Http2Setup extends AsyncDisposable {
  readonly setup: Setup
  readonly session: ClientHttp2Session
  begin(headers: Readonly<Record<string, string | string[]>>, endStream?: boolean): ClientHttp2Stream
  ask(headers?: Readonly<Record<string, string | string[]>>, body?: string): Promise<Answer>
}

async function setUpHttp2(init: SetupInit): Promise<Http2Setup> {
  const setup = await setUp(init)
  const session = connect(`http://127.0.0.1:${setup.proxy.address.port}`)
  session.on('error', () => {})
  const begin: Http2Setup['begin'] = (headers, endStream = true) =>
    session.request({ ':authority': 'proxy.test', ...headers }, { endStream })
  return {
    setup,
    session,
    begin,
    ask: (headers = {}, body) => {
      const stream = begin(headers, body === undefined)
      if (body !== undefined) stream.end(body, 'latin1')
      return answerOf(stream)
    },
    async [Symbol.asyncDispose]() {
      session.destroy()
      await setup[Symbol.asyncDispose]()
    },
  }
}

function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve) => {
    let headers: IncomingHttpHeaders = {}
    let trailers: IncomingHttpHeaders = {}
    const interim: IncomingHttpHeaders[] = []
    let body = ''
    stream.on('error', () => {})
    stream.on('headers', (one) => interim.push(one))
    stream.on('response', (head) => {
      headers = head
    })
    stream.on('trailers', (one) => {
      trailers = one
    })
    stream.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1')
    })
    stream.on('close', () => {
      const status = headers[':status']
      resolve({
        status: status === undefined ? undefined : Number(status),
        headers,
        body,
        trailers,
        interim,
        code: stream.rstCode ?? 0,
      })
    })
  })
}

/** Answers each request with the same octets. */
const always = (response: string) => async (connection: OriginConnection) => {
  while ((await connection.readHead()) !== undefined) await connection.send(response)
}
const plainText = (start: string): string => `${start}\r\nContent-Length: 0\r\n\r\n`
const TEXT = 'Content-Type: text/plain'
const RULES = [{ text: 'one', with: 'three' }]

const pass = (h2: Http2Setup, ms: number): void => h2.setup.wheel.advance(Math.ceil(ms / h2.setup.wheel.tickMs) + 2)

describe('a response', () => {
  it('is rewritten, with its length, and its lines stay apart', async () => {
    const page = plainResponse(
      'one two one\n',
      'Content-Type: text/html',
      'Set-Cookie: a=1',
      'Set-Cookie: b=2',
      'X-Y: \xe9',
    )
    await using h2 = await setUpHttp2({ script: answering(() => page), rules: RULES })
    const { status, headers, body, code } = await h2.ask({ ':path': '/x?y=1' })
    expect({ status, body, code }).toEqual({ status: 200, body: 'three two three\n', code: 0 })
    expect(headers).toMatchObject({ 'content-length': '16', 'set-cookie': ['a=1', 'b=2'], 'x-y': '\xe9' })
    expect(headers).not.toHaveProperty('connection')
    expect(await h2.setup.event(1)).toMatchObject({
      target: '/x?y=1',
      host: 'proxy.test',
      outcome: 'completed',
      status: 200,
    })
  })

  it('of many reads is rewritten while it streams', async () => {
    const text = 'one of these lines\n'.repeat(20_000)
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse(text, TEXT)), rules: RULES })
    const { body, headers, code } = await h2.ask()
    expect(body === text.replaceAll('one', 'three')).toBe(true)
    expect(headers).not.toHaveProperty('content-length')
    expect(headers).not.toHaveProperty('transfer-encoding')
    expect(code).toBe(0)
  })

  it('without rules passes octet for octet', async () => {
    const octets = Uint8Array.from({ length: 200_000 }, (_, i) => i % 251)
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse(octets)) })
    const { body, headers } = await h2.ask()
    expect(body === Buffer.from(octets).toString('latin1')).toBe(true)
    expect(headers['content-length']).toBe('200000')
  })

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: image/png\r\n\r\n', 200, '5'],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n', 204, undefined],
    ['GET', 'HTTP/1.1 304 Not Modified\r\n\r\n', 304, undefined],
    ['GET', 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n', 205, '0'],
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 200, '0'],
  ])('to %s without a body: %s', async (method, response, status, length) => {
    await using h2 = await setUpHttp2({ script: always(response), rules: RULES })
    const answer = await h2.ask({ ':method': method })
    expect(answer).toMatchObject({ status, body: '', code: 0 })
    expect(answer.headers['content-length']).toBe(length)
  })

  it('has its interim responses and, where they are wanted, its trailers', async () => {
    const head =
      'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n'
    const script = always(`${head}Trailer: X-Sum\r\n\r\n3\r\none\r\n0\r\nX-Sum: 7\r\n\r\n`)
    await using h2 = await setUpHttp2({ script })
    const wanted = await h2.ask({ te: 'trailers' })
    expect(wanted).toMatchObject({ status: 200, body: 'one', trailers: { 'x-sum': '7' }, code: 0 })
    expect(wanted.interim).toMatchObject([{ ':status': 103, link: '</a>; rel=preload' }])
    expect(await h2.ask()).toMatchObject({ status: 200, body: 'one', trailers: {}, code: 0 })
  })

  it.each([
    [404, 404],
    [599, 599],
    [700, 500],
    [999, 500],
  ])('with status %i is %i for the client', async (status, seen) => {
    await using h2 = await setUpHttp2({ script: always(`HTTP/1.1 ${status} X\r\nContent-Length: 2\r\n\r\nhi`) })
    expect(await h2.ask()).toMatchObject({ status: seen, body: 'hi', code: 0 })
  })

  it('may have any names of fields', async () => {
    const odd = [
      '__proto__: a',
      'constructor: b',
      'X-Empty:',
      'Connection: x-gone',
      'X-Gone: c',
      'Location: /1',
      'Location: /2',
    ]
    const script = always(`HTTP/1.1 200 OK\r\n${odd.join('\r\n')}\r\nContent-Length: 2\r\n\r\nhi`)
    await using h2 = await setUpHttp2({ script })
    const { status, headers, body } = await h2.ask()
    expect({ status, body }).toEqual({ status: 200, body: 'hi' })
    expect(Object.entries(headers)).toEqual(
      expect.arrayContaining([
        ['constructor', 'b'],
        ['x-empty', ''],
      ]),
    )
    expect(headers).not.toHaveProperty('x-gone')
    expect(headers.location).toBe('/1, /2')
  })

  it('that its upstream breaks off ends with a reset', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readRequest()
      await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Type: text/plain\r\n\r\nsome')
      await h2.setup.reached('response-body')
      connection.destroy()
    }
    await using h2: Http2Setup = await setUpHttp2({ script })
    expect(await h2.ask()).toMatchObject({ status: 200, code: constants.NGHTTP2_INTERNAL_ERROR })
    expect(await h2.setup.event(1)).toMatchObject({ outcome: 'upstream-aborted' })
  })

  it('of our own tells why there is none of the upstream', async () => {
    await using h2 = await setUpHttp2({ script: always('HTTP/1.1 abc\r\n\r\n'), route: { hosts: ['proxy.test'] } })
    expect(await h2.ask()).toMatchObject({ status: 502, code: 0 })
    expect(await h2.ask({ ':authority': 'other.test' })).toMatchObject({ status: 421, code: 0 })
    expect(await h2.ask({ ':method': 'HEAD' })).toMatchObject({ status: 502, body: '', code: 0 })
  })
})

describe('a request', () => {
  it('goes up as HTTP/1.1', async () => {
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse('')) })
    await h2.ask({ ':path': '//a/%2e?b', cookie: ['a=1', 'b=2'], te: 'trailers', 'x-forwarded-for': '192.0.2.1' })
    const [request] = h2.setup.origin.requests
    expect(request.startLine).toBe('GET //a/%2e?b HTTP/1.1')
    expect(request.value('host')).toBe(`127.0.0.1:${h2.setup.origin.port}`)
    expect(request.value('cookie')).toBe('a=1; b=2')
    expect(request.value('via')).toMatch(/^2\.0 prexy-/)
    expect(request.value('te')).toBe('trailers')
    expect(request.value('x-forwarded-for')).toBe('127.0.0.1')
    expect(request.value('x-forwarded-host')).toBe('proxy.test')
    expect(request.value('x-forwarded-proto')).toBe('http')
  })

  it.each([
    ['with a length', { 'content-length': '5' }, 'hello'],
    ['without one', {}, 'hello'],
    ['of many frames', {}, 'x'.repeat(300_000)],
    ['that is empty', { 'content-length': '0' }, ''],
  ])('has its body: %s', async (_name, headers, body) => {
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse('ok')) })
    expect(await h2.ask({ ':method': 'POST', ...headers }, body)).toMatchObject({ status: 200, body: 'ok', code: 0 })
    const [request] = h2.setup.origin.requests
    expect(request.body.toString() === body).toBe(true)
    expect(request.value('content-length')).toBe('content-length' in headers ? headers['content-length'] : undefined)
  })

  it('has its trailers', async () => {
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse('ok')) })
    const stream = h2.session.request({ ':method': 'POST', ':authority': 'a' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
    stream.end('hello')
    expect(await answerOf(stream)).toMatchObject({ status: 200, code: 0 })
    expect(h2.setup.origin.requests[0].trailers).toEqual(['x-sum: 7'])
  })

  it('that waits for a 100 gets that of the upstream', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readHead()
      await connection.send('HTTP/1.1 100 Continue\r\n\r\n')
      expect(String(await connection.reader.exactly(5))).toBe('hello')
      await connection.send(plainResponse('ok'))
    }
    await using h2 = await setUpHttp2({ script })
    const stream = h2.begin({ ':method': 'POST', expect: '100-continue', 'content-length': '5' }, false)
    const answer = answerOf(stream)
    stream.once('headers', () => stream.end('hello'))
    expect(await answer).toMatchObject({ status: 200, body: 'ok' })
  })

  it('that is answered before it ended is told to stop after clientLingerMs, and the connection goes on', async () => {
    await using h2 = await setUpHttp2({
      script: always(plainText('HTTP/1.1 413 Content Too Large')),
      manualTime: true,
      config: { timeouts: { clientLingerMs: 1_000 } },
    })
    const stream = h2.begin({ ':method': 'POST' }, false)
    stream.write('some')
    const answer = answerOf(stream)
    await h2.setup.event(1)
    expect(stream.closed).toBe(false)
    pass(h2, 1_000)
    expect(await answer).toMatchObject({ status: 413, code: constants.NGHTTP2_NO_ERROR })
    expect(await h2.ask({ ':path': '/next' })).toMatchObject({ status: 413 })
  })

  // Node 20's client never closes a stream that is reset while it has not read the answer, and Bun's drops what it has
  // not read of it.
  it.each([98_000, 186_000, 900_000])(
    'of %i octets that is answered at once may be sent whole first',
    async (bytes) => {
      const script = async (connection: OriginConnection): Promise<void> => {
        await connection.readHead()
        await connection.send(plainResponse('x'.repeat(20_000), 'Connection: close'))
        connection.end()
      }
      await using h2 = await setUpHttp2({ script, manualTime: true })
      const stream = h2.begin({ ':method': 'POST' }, false)
      const answer = answerOf(stream)
      stream.pause()
      stream.write(Buffer.alloc(bytes - 1_000))
      await h2.setup.event(1)
      await new Promise<void>((resolve) => {
        stream.end(Buffer.alloc(1_000), () => resolve())
      })
      stream.resume()
      const { status, body, code } = await answer
      expect({ status, bytes: body.length, code }).toEqual({ status: 200, bytes: 20_000, code: 0 })
    },
  )

  it('that is answered before it ended and is given up then does not count as given up', async () => {
    await using h2 = await setUpHttp2({
      script: always(plainText('HTTP/1.1 413 Content Too Large')),
      config: { limits: { maxHttp2ResetsPerMinute: 3 } },
    })
    for (let n = 1; n <= 5; n++) {
      const stream = h2.begin({ ':method': 'POST' }, false)
      const answer = answerOf(stream)
      stream.write('some')
      stream.on('end', () => stream.close(constants.NGHTTP2_CANCEL))
      expect(await answer).toMatchObject({ status: 413 })
      await h2.setup.event(n)
    }
    expect(await h2.ask()).toMatchObject({ status: 413 })
  })

  it.each([
    ['longer than its Content-Length', '3'],
    ['shorter than its Content-Length', '9'],
  ])('%s never reaches the upstream as a whole one', async (_name, length) => {
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse('ok')) })
    const { status, code } = await h2.ask({ ':method': 'POST', 'content-length': length }, 'hello')
    // The library below resets such a stream; without it the answer is ours.
    expect(status === 400 || code === constants.NGHTTP2_PROTOCOL_ERROR).toBe(true)
    expect(h2.setup.origin.requests.filter(({ complete }) => complete)).toEqual([])
  })

  it.each([
    ['longer than maxBodyBytes', { request: { maxBodyBytes: 4 } }, {}, 413],
    [
      'with more lines than maxHeaderCount',
      { request: { maxHeaderCount: 3 } },
      { a: '1', b: '2', c: '3', d: '4' },
      431,
    ],
    ['with more octets than maxHeaderBytes', { request: { maxHeaderBytes: 256 } }, { a: 'x'.repeat(256) }, 431],
    ['with a target longer than maxTargetBytes', { request: { maxTargetBytes: 8 } }, { ':path': '/12345678' }, 414],
  ])('%s is answered', async (_name, limits, headers, status) => {
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse('ok')), config: { limits } })
    expect(await h2.ask({ ':method': 'POST', ...headers }, 'hello')).toMatchObject({ status })
    expect(h2.setup.origin.requests.filter(({ complete }) => complete)).toEqual([])
  })

  it.each(['CONNECT', 'TRACE'])('with %s is refused', async (method) => {
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse('ok')) })
    const headers = method === 'CONNECT' ? { ':method': method } : { ':method': method, ':path': '/' }
    const answer = await h2.ask(headers)
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toContain('GET')
    expect(h2.setup.origin.requests).toEqual([])
  })

  it('that its client gives up is given up upstream', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readRequest()
      h2.session.destroy()
      await connection.ended
    }
    await using h2: Http2Setup = await setUpHttp2({ script })
    await h2.ask()
    expect(await h2.setup.event(1)).toMatchObject({ outcome: 'client-aborted' })
  })
})

describe('many requests on one connection', () => {
  it('are served side by side, each with its own response', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      for (
        let request = await connection.readRequest();
        request !== undefined;
        request = await connection.readRequest()
      ) {
        await connection.send(plainResponse(`one ${request.target}\n`.repeat(2_000), TEXT))
      }
    }
    await using h2 = await setUpHttp2({ script, rules: RULES })
    const targets = Array.from({ length: 100 }, (_, i) => `/${i}`)
    const bodies = await Promise.all(targets.map(async (path) => (await h2.ask({ ':path': path })).body))
    expect(bodies.every((body, i) => body === `three ${targets[i]}\n`.repeat(2_000))).toBe(true)
  })

  it('beyond maxHttp2Streams are refused, so that they may be sent again', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readRequest()
      await connection.ended
    }
    await using h2 = await setUpHttp2({ script, config: { limits: { maxHttp2Streams: 2 } } })
    // Before the client knows the limit.
    const streams = [1, 2, 3].map(() => h2.begin({}))
    expect(await answerOf(streams[2])).toMatchObject({ status: undefined, code: constants.NGHTTP2_REFUSED_STREAM })
  })

  it('given up too often close it', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readRequest()
      await connection.ended
    }
    await using h2 = await setUpHttp2({ script, config: { limits: { maxHttp2ResetsPerMinute: 3 } } })
    const closed = new Promise<number>((resolve) => {
      h2.session.on('goaway', resolve)
    })
    for (let i = 0; i < 4; i++) {
      const stream = h2.begin({ ':path': `/${i}` })
      const over = answerOf(stream)
      await h2.setup.reached('request-sent')
      stream.close(constants.NGHTTP2_CANCEL)
      await over
    }
    expect(await closed).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })

  it('are finished when the proxy stops, and no further one is taken', async () => {
    let release: () => void = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readRequest()
      await released
      await connection.send(plainResponse('late'))
    }
    await using h2 = await setUpHttp2({ script })
    const under = h2.ask()
    await h2.setup.reached('request-sent')
    const goaway = new Promise((resolve) => {
      h2.session.on('goaway', resolve)
    })
    const stopped = h2.setup.proxy.stop(10_000)
    await goaway
    release()
    expect(await under).toMatchObject({ status: 200, body: 'late' })
    await stopped
    expect(h2.setup.proxy.connections).toBe(0)
  })
})

describe('control frames', () => {
  it('beyond maxHttp2ControlFramesPerMinute close the connection', async () => {
    const limits = { maxHttp2ControlFramesPerMinute: 5 }
    await using h2 = await setUpHttp2({ script: answering(() => plainResponse('ok')), config: { limits } })
    await h2.ask()
    const closed = new Promise<number>((resolve) => {
      h2.session.on('goaway', resolve)
    })
    for (let i = 0; i < 6; i++) h2.session.ping(() => {})
    expect(await closed).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })
})

describe('back-pressure', () => {
  it('a client that takes nothing stops the upstream', async () => {
    let sent = Number.POSITIVE_INFINITY
    let flooded: () => void = () => {}
    const done = new Promise<void>((resolve) => {
      flooded = resolve
    })
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readRequest()
      await connection.send('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n')
      sent = await connection.flood(Buffer.alloc(65_536, 'one '), 256 * 2 ** 20)
      flooded()
      await connection.ended
    }
    await using h2 = await setUpHttp2({ script, rules: RULES })
    const stream = h2.begin({})
    stream.on('error', () => {})
    await done
    expect(sent).toBeLessThan(32 * 2 ** 20)
    stream.destroy()
  })

  it('an upstream that takes nothing stops the client', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readHead()
      connection.socket.pause()
      await h2.setup.event(1)
    }
    await using h2: Http2Setup = await setUpHttp2({ script })
    const stream = h2.begin({ ':method': 'POST' }, false)
    stream.on('error', () => {})
    let taken = 0
    let isOpen = true
    const chunk = Buffer.alloc(65_536)
    for (let turn = 0; isOpen && taken < 256 * 2 ** 20; turn++) {
      isOpen = await new Promise<boolean>((resolve) => {
        stream.write(chunk, () => resolve(true))
        let turns = 0
        const wait = (): void => {
          if (++turns > 500) resolve(false)
          else setImmediate(wait)
        }
        wait()
      })
      taken += chunk.length
    }
    expect(taken).toBeLessThan(32 * 2 ** 20)
    stream.destroy()
  })
})

describe('timeouts', () => {
  const silent = async (connection: OriginConnection): Promise<void> => {
    await connection.readHead()
    await connection.ended
  }

  it('clientBodyMs: a body that stands still is answered 408', async () => {
    await using h2 = await setUpHttp2({
      script: silent,
      manualTime: true,
      config: { timeouts: { clientBodyMs: 1_000 } },
    })
    const stream = h2.begin({ ':method': 'POST' }, false)
    const answer = answerOf(stream)
    stream.write('some')
    await h2.setup.reached('upstream-connected')
    pass(h2, 1_000)
    expect(await h2.setup.event(1)).toMatchObject({ outcome: 'client-timeout' })
    pass(h2, DEFAULT_TIMEOUTS.clientLingerMs)
    expect(await answer).toMatchObject({ status: 408, code: constants.NGHTTP2_NO_ERROR })
  })

  it('upstreamHeadersMs: 504', async () => {
    await using h2 = await setUpHttp2({
      script: silent,
      manualTime: true,
      config: { timeouts: { upstreamHeadersMs: 1_000 } },
    })
    const answer = h2.ask()
    await h2.setup.reached('upstream-connected')
    pass(h2, 1_000)
    expect(await answer).toMatchObject({ status: 504, code: 0 })
  })

  it('clientWriteMs: a stream whose client gives no room is reset, and others go on', async () => {
    const script = answering(() => plainResponse('x'.repeat(1_000_000)))
    await using h2 = await setUpHttp2({ script, manualTime: true, config: { timeouts: { clientWriteMs: 1_000 } } })
    const stream = h2.begin({})
    stream.on('error', () => {})
    stream.pause()
    const closed = new Promise<number>((resolve) => {
      stream.on('close', () => resolve(stream.rstCode ?? 0))
    })
    await h2.setup.reached('response-body')
    // What was written first may leave after the first look.
    let event: unknown
    h2.setup.event(1).then(
      (one) => {
        event = one
      },
      () => {},
    )
    for (let i = 0; i < 200 && event === undefined; i++) {
      await new Promise(setImmediate)
      pass(h2, 250)
    }
    expect(event).toMatchObject({ outcome: 'client-timeout', detail: 'clientWriteMs passed' })
    stream.resume()
    expect(await closed).toBe(constants.NGHTTP2_INTERNAL_ERROR)
    expect(await h2.ask({ ':method': 'HEAD' })).toMatchObject({ status: 200 })
  })

  it('clientIdleMs: a connection without requests is closed, PINGs or not', async () => {
    await using h2 = await setUpHttp2({
      script: silent,
      manualTime: true,
      config: { timeouts: { clientIdleMs: 1_000 } },
    })
    const closed = new Promise<void>((resolve) => {
      h2.session.on('close', resolve)
    })
    await new Promise((resolve) => {
      h2.session.on('remoteSettings', resolve)
    })
    await new Promise<void>((resolve) => {
      h2.session.ping(() => resolve())
    })
    pass(h2, 1_000)
    await closed
  })
})

describe('HTTP/1.1 on the same address', () => {
  it.each([
    ['in one piece', ['GET / HTTP/1.1\r\nHost: a\r\n\r\n'], 200],
    ['that begins like the preface', ['P', 'R', 'I /x HTTP/1.1\r\nHost: a\r\n\r\n'], 200],
    ['octet by octet', [...'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx'], 200],
    ['with the first line of the preface', ['PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n'], 505],
  ])('a request %s', async (_name, pieces, status) => {
    await using setup = await setUp({ script: answering(() => plainResponse('ok')) })
    const client = await setup.connect()
    for (const piece of pieces) {
      await client.send(piece)
      await new Promise(setImmediate)
    }
    expect((await client.readResponse()).status).toBe(status)
  })

  it('a body that its upstream does not take pauses the client, from the first octets on', async () => {
    const script = async (connection: OriginConnection): Promise<void> => {
      await connection.readHead()
      connection.socket.pause()
      await setup.event(1)
    }
    await using setup: Setup = await setUp({ script })
    const client = await setup.connect()
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n')
    const sent = await flood(client.socket, Buffer.alloc(65_536), 256 * 2 ** 20)
    expect(sent).toBeLessThan(32 * 2 ** 20)
    client.destroy()
  })

  it('is all there is where HTTP/2 is off', async () => {
    const listen = [{ host: '127.0.0.1', port: 0, http2: false }]
    await using setup = await setUp({ script: answering(() => plainResponse('ok')), config: { listen } })
    const client = await setup.connect()
    await client.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    expect((await client.readResponse()).status).toBe(505)
  })
})
