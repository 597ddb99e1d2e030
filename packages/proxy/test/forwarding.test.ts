import { answering, chunkedResponse, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

/** Answers every request with the request as the origin saw it. */
const echo = answering((request) =>
  plainResponse(Buffer.concat([Buffer.from(request.head, 'latin1'), request.body]), 'Content-Type: text/plain'),
)

/** Answers the first request on each connection with these octets and leaves the connection open. */
function replying(response: string | Uint8Array) {
  return async (connection: OriginConnection): Promise<void> => {
    while ((await connection.readRequest()) !== undefined) await connection.send(response)
    connection.end()
  }
}

describe('connections', () => {
  it('are kept on both sides, one upstream connection for one client at a time', async () => {
    await using setup = await setUp({ script: echo })
    const client = await setup.connect()
    for (let i = 0; i < 5; i++) expect((await client.get(`/${i}`)).status).toBe(200)
    const other = await setup.connect()
    await other.get('/other')
    expect([setup.origin.connections, setup.proxy.connections]).toEqual([1, 2])
    expect(setup.events.map(({ requestNumber, outcome }) => [requestNumber, outcome])).toEqual([
      [1, 'completed'],
      [2, 'completed'],
      [3, 'completed'],
      [4, 'completed'],
      [5, 'completed'],
      [1, 'completed'],
    ])
  })

  it('upstream are as many as there are requests at once, and then kept', async () => {
    const waiting: (() => void)[] = []
    await using setup = await setUp({
      script: async (connection) => {
        for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
          if (request.target === '/slow') await new Promise<void>((resolve) => waiting.push(resolve))
          await connection.send(plainResponse('ok'))
          if (waiting.length === 2) for (const go of waiting.splice(0)) go()
        }
        connection.end()
      },
    })
    const [one, two, three] = [await setup.connect(), await setup.connect(), await setup.connect()]
    const slow = [one.get('/slow'), two.get('/slow')]
    await setup.reached('request-sent')
    while (waiting.length < 2) await new Promise(setImmediate)
    await three.get('/fast')
    await Promise.all(slow)
    for (const client of [one, two, three]) await client.get('/again')
    expect(setup.origin.connections).toBe(3)
  })

  it('that the client or the origin wants closed are closed', async () => {
    await using setup = await setUp({
      script: replying(plainResponse('bye', 'Connection: close')),
    })
    const client = await setup.connect()
    expect((await client.get('/a')).value('connection')).toBe(undefined)
    const last = await client.get('/b', 'Connection: close')
    expect([last.value('connection'), last.body.toString(), await client.ended]).toEqual(['close', 'bye', 'end'])
    expect(setup.origin.connections).toBe(2)
  })

  it('beyond maxIdleConnections are not kept; with 0 the origin is told so', async () => {
    await using setup = await setUp({ script: echo, upstream: { maxIdleConnections: 0 } })
    const client = await setup.connect()
    expect((await client.get('/a')).body.toString()).toContain('\r\nConnection: close\r\n')
    await client.get('/b')
    expect(setup.origin.connections).toBe(2)
  })

  it('beyond maxConnections make requests wait, beyond maxWaiting they are 503', async () => {
    const release: (() => void)[] = []
    await using setup = await setUp({
      upstream: { maxConnections: 1, maxWaiting: 1 },
      script: async (connection) => {
        for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
          if (request.target === '/held') await new Promise<void>((resolve) => release.push(resolve))
          await connection.send(plainResponse(request.body.length > 0 ? request.body : 'none'))
        }
        connection.end()
      },
    })
    const [one, two, three] = [await setup.connect(), await setup.connect(), await setup.connect()]
    const held = one.get('/held')
    await setup.reached('request-sent')
    await two.send('POST /waits HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody')
    await setup.reached('upstream-wait')
    const refused = await three.get('/refused')
    expect([refused.status, setup.events[0].outcome, setup.events[0].detail]).toEqual([
      503,
      'upstream-busy',
      'maxWaiting was met',
    ])
    while (release.length === 0) await new Promise(setImmediate)
    release[0]()
    expect((await held).status).toBe(200)
    expect((await two.readResponse()).body.toString()).toBe('body')
    expect(setup.origin.connections).toBe(1)
  })
})

describe('a response body', () => {
  const big = Buffer.alloc(300_000, 'x')
  it.each([
    ['with a length', plainResponse('hello'), 'hello', 'length'],
    ['that is empty', plainResponse(''), '', 'length'],
    ['in chunks', chunkedResponse(['he', 'l', 'lo']), 'hello', 'chunked'],
    ['in no chunks', chunkedResponse([]), '', 'chunked'],
    ['that is big', plainResponse(big), big.toString(), 'length'],
    ['that is big and chunked', chunkedResponse([big, big]), big.toString() + big.toString(), 'chunked'],
  ])('%s passes unchanged', async (_name, response, body, framing) => {
    await using setup = await setUp({ script: replying(response) })
    const client = await setup.connect()
    for (let i = 0; i < 3; i++) {
      const got = await client.get('/')
      expect([got.status, got.body.toString() === body, got.framing, got.complete]).toEqual([200, true, framing, true])
    }
    expect(setup.origin.connections).toBe(1)
  })

  it('that lasts until the origin closes becomes chunks, and for HTTP/1.0 a length', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\n\r\nuntil the end')
        connection.end()
      },
    })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) {
      const { body, framing, complete } = await client.get('/')
      expect([body.toString(), framing, complete]).toEqual(['until the end', 'chunked', true])
    }
    const old = await setup.connect()
    await old.send('GET / HTTP/1.0\r\n\r\n')
    const { body, framing, complete, head } = await old.readResponse()
    expect([body.toString(), framing, complete]).toEqual(['until the end', 'length', true])
    expect(head).toContain('Connection: close')
  })

  it('with a length keeps an HTTP/1.0 client that asks for it', async () => {
    await using setup = await setUp({ script: replying(plainResponse('hello')) })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) {
      await client.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
      const response = await client.readResponse()
      expect([response.body.toString(), response.value('connection')]).toEqual(['hello', 'keep-alive'])
    }
  })

  it('is absent after HEAD, 204 and 304, whatever length they tell', async () => {
    const heads: Readonly<Record<string, string>> = {
      '/head': 'HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n',
      '/chunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      '/204': 'HTTP/1.1 204 No Content\r\n\r\n',
      '/304': 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 1234\r\n\r\n',
    }
    await using setup = await setUp({ script: answering((request) => heads[request.target]) })
    const client = await setup.connect()
    const ask = async (method: string, target: string) => {
      await client.send(`${method} ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)
      const { status, values } = await client.readResponse(method)
      return [status, values('content-length'), values('transfer-encoding')]
    }
    expect(await ask('HEAD', '/head')).toEqual([200, ['1234'], []])
    expect(await ask('HEAD', '/chunked')).toEqual([200, [], []])
    expect(await ask('GET', '/204')).toEqual([204, [], []])
    expect(await ask('GET', '/304')).toEqual([304, ['1234'], []])
    expect(await ask('HEAD', '/head')).toEqual([200, ['1234'], []])
    expect(setup.origin.connections).toBe(1)
  })

  it('of a 205 is dropped', async () => {
    await using setup = await setUp({
      script: replying('HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello'),
    })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) {
      const { status, body, values } = await client.get('/')
      expect([status, body.length, values('content-length')]).toEqual([205, 0, ['0']])
    }
  })

  it('of a 205 that never ends holds nobody', async () => {
    for (const send of [
      'HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhe',
      'HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n',
      'HTTP/1.1 205 Reset Content\r\n\r\nhello',
    ]) {
      let discarded = 0
      await using setup = await setUp({
        script: async (connection) => {
          await connection.readRequest()
          await connection.send(send)
          await connection.ended
          discarded++
          connection.end()
        },
      })
      const client = await setup.connect()
      for (let i = 1; i <= 2; i++) {
        const { status, body, values } = await client.get('/')
        expect([status, body.length, values('content-length')]).toEqual([205, 0, ['0']])
        const event = await setup.event(i)
        expect([event.outcome, event.status]).toEqual(['completed', 205])
      }
      while (discarded < 2) await new Promise(setImmediate)
      expect(setup.origin.connections).toBe(2)
    }
  })

  it('of a 205 with none keeps the connection to the origin', async () => {
    await using setup = await setUp({ script: replying('HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n') })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) expect((await client.get('/')).status).toBe(205)
    expect(setup.origin.connections).toBe(1)
  })

  it('has its trailers passed on to a client that wants them, except what may not stand there', async () => {
    await using setup = await setUp({
      script: replying(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, Set-Cookie, ?\r\n\r\n' +
          '2\r\nhi\r\n0\r\nX-Sum: 7\r\nSet-Cookie: a=b\r\n\r\n',
      ),
    })
    const client = await setup.connect()
    const asked = await client.get('/', 'TE: trailers', 'Connection: TE')
    expect([asked.trailers, asked.values('trailer')]).toEqual([['X-Sum: 7'], ['X-Sum']])
    const plain = await client.get('/')
    expect([plain.trailers, plain.values('trailer')]).toEqual([[], []])
  })
})

describe('a request', () => {
  it('reaches the origin with its fields in order, ours added and hop-by-hop ones gone', async () => {
    await using setup = await setUp({ script: echo })
    const client = await setup.connect()
    const lines = [
      'X-One: 1',
      'Connection: keep-alive, X-Secret, Host',
      'x-Two: b',
      'X-Secret: s',
      'X-Forwarded-For: 6.6.6.6',
      'Forwarded: for=6.6.6.6',
      'X-Real-IP: 6.6.6.6',
      'Via: 1.1 other',
      'X-One: 2',
      'Keep-Alive: timeout=5',
      'Upgrade: websocket',
      'TE: trailers',
      'Proxy-Authorization: Basic eA==',
    ]
    const seen = (await client.get('/p?q=%2e//x', ...lines)).body.toString()
    const host = `127.0.0.1:${setup.origin.port}`
    const shown = seen.split('\r\n').map((line) => line.replace(/prexy-[0-9a-f]{8}|[0-9a-f]{16}-1$/, 'ID'))
    expect(shown).toEqual([
      'GET /p?q=%2e//x HTTP/1.1',
      `Host: ${host}`,
      'X-One: 1',
      'x-Two: b',
      'X-One: 2',
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Host: proxy.test',
      'X-Forwarded-Proto: http',
      `X-Forwarded-Port: ${setup.proxy.address.port}`,
      'X-Real-IP: 127.0.0.1',
      'X-Request-Id: ID',
      'Via: 1.1 other, 1.1 ID',
      'TE: trailers',
      'Connection: TE',
      '',
      '',
    ])
  })

  it('keeps its Host with preserveHost, and that of an absolute target wins', async () => {
    await using setup = await setUp({ script: echo, route: { preserveHost: true } })
    const client = await setup.connect()
    expect((await client.get('/')).body.toString()).toContain('\r\nHost: proxy.test\r\n')
    const absolute = (await client.get('http://Other.test:81/x?y')).body.toString()
    expect(absolute).toContain('GET /x?y HTTP/1.1\r\nHost: Other.test:81\r\n')
  })

  it.each([
    ['a length', 'Content-Length: 11\r\n\r\nhello world', 'Content-Length: 11'],
    [
      'chunks',
      'Transfer-Encoding: chunked\r\n\r\n6;x=y\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked',
    ],
  ])('body with %s is sent on, framed anew', async (_name, rest, framing) => {
    await using setup = await setUp({ script: echo })
    const client = await setup.connect()
    for (const cut of [1, 7, 1_000]) {
      const message = `POST /in HTTP/1.1\r\nHost: a\r\n${rest}`
      for (let at = 0; at < message.length; at += cut) await client.send(message.slice(at, at + cut))
      const seen = (await client.readResponse()).body.toString()
      expect(seen).toContain(`\r\n${framing}\r\n`)
      expect(seen.endsWith('\r\n\r\nhello world')).toBe(true)
    }
    expect(setup.events.map(({ upstreamOutBytes }) => upstreamOutBytes)).toEqual([11, 11, 11])
  })

  it('body of megabytes arrives whole', async () => {
    const body = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251))
    await using setup = await setUp({
      script: answering((request) => plainResponse(String(request.body.equals(body)))),
    })
    const client = await setup.connect()
    void client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`)
    void client.send(body)
    expect((await client.readResponse()).body.toString()).toBe('true')
    void client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2dc6c0\r\n')
    void client.send(body)
    void client.send('\r\n0\r\n\r\n')
    expect((await client.readResponse()).body.toString()).toBe('true')
  })

  it('body of octets in chunks of their own goes on in few chunks', async () => {
    const count = 20_000
    let arrived = 0
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readHead()
        const body = await connection.reader.until('\r\n0\r\n\r\n')
        arrived = body?.length ?? 0
        expect(body?.filter((octet) => octet === 0x78).length).toBe(count)
        await connection.send(plainResponse('ok'))
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send(
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`,
    )
    expect((await client.readResponse()).body.toString()).toBe('ok')
    // Six octets each, had they been passed on as they came.
    expect(arrived).toBeLessThan(2 * count)
  })

  it('that waits for 100 gets the origin’s, and then its final response', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        const head = await connection.readHead()
        expect(head?.value('expect')).toBe('100-continue')
        await connection.send('HTTP/1.1 100 Continue\r\n\r\n')
        const body = await connection.reader.exactly(4)
        await connection.send(plainResponse(body))
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n')
    expect((await client.readHead()).status).toBe(100)
    await client.send('body')
    expect((await client.readResponse()).body.toString()).toBe('body')
  })

  it('that waits for 100 and is refused gets the refusal without sending its body', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readHead()
        await connection.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno')
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n')
    const response = await client.readResponse()
    expect([response.status, response.body.toString(), await client.ended]).toEqual([413, 'no', 'end'])
  })

  it('whose response comes before its body is over never shares its upstream connection', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readHead()
        await connection.send(plainResponse('early'))
        await connection.ended
      },
    })
    const client = await setup.connect()
    const sent = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome'
    await client.send(sent)
    const early = await client.readResponse()
    expect((await setup.event(1)).clientInBytes).toBe(sent.length)
    expect([early.body.toString(), early.values('connection')]).toEqual(['early', ['close']])
    expect(await client.ended).toBe('end')
    await (await setup.connect()).get('/next')
    expect(setup.origin.connections).toBe(2)
  })
})

describe('interim responses', () => {
  it('are relayed, but not to HTTP/1.0', async () => {
    await using setup = await setUp({
      script: replying(
        Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n'), plainResponse('done')]),
      ),
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const hints = await client.readHead()
    expect([hints.status, hints.value('link')]).toEqual([103, '</a.css>'])
    expect((await client.readResponse()).body.toString()).toBe('done')
    const old = await setup.connect()
    await old.send('GET / HTTP/1.0\r\n\r\n')
    expect((await old.readResponse()).status).toBe(200)
  })
})

describe('pipelined requests', () => {
  it('are answered in order, one at a time', async () => {
    let concurrent = 0
    await using setup = await setUp({
      script: async (connection) => {
        for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
          expect(++concurrent).toBe(1)
          await new Promise(setImmediate)
          concurrent--
          await connection.send(plainResponse(`${request.target}:${request.body.toString()}`))
        }
        connection.end()
      },
    })
    const client = await setup.connect()
    const requests = Array.from({ length: 20 }, (_, i) =>
      i % 3 === 0
        ? `POST /${i} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n${100 + i}`
        : i % 3 === 1
          ? `GET /${i} HTTP/1.1\r\nHost: a\r\n\r\n`
          : `POST /${i} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n${100 + i}\r\n0\r\n\r\n`,
    ).join('')
    for (const cut of [requests.length, 50, 3]) {
      void (async () => {
        for (let at = 0; at < requests.length; at += cut) await client.send(requests.slice(at, at + cut))
      })()
      const bodies: string[] = []
      for (let i = 0; i < 20; i++) bodies.push((await client.readResponse()).body.toString())
      expect(bodies).toEqual(Array.from({ length: 20 }, (_, i) => `/${i}:${i % 3 === 1 ? '' : 100 + i}`))
    }
  })

  it('beyond maxPipelinedBytes are left in the socket until their turn', async () => {
    await using setup = await setUp({ script: echo, config: { limits: { maxPipelinedBytes: 1_000 } } })
    const client = await setup.connect()
    const count = 800
    void client.send('GET /x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count))
    for (let i = 0; i < count; i++) expect((await client.readResponse()).status).toBe(200)
  })

  it('of our own answers do not pile up on the stack', async () => {
    await using setup = await setUp({ script: echo, route: { hosts: ['served.test'] } })
    const client = await setup.connect()
    const count = 5_000
    void client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count))
    for (let i = 0; i < count; i++) expect((await client.readResponse()).status).toBe(421)
  })
})

describe('routing', () => {
  it('goes by host and path, the first route that fits; 421 without one', async () => {
    await using setup = await setUp({
      script: replying(plainResponse('one')),
      route: { hosts: ['one.test', '*.below.test'], paths: ['/a/**', '/'] },
    })
    const client = await setup.connect()
    const status = async (host: string, target: string): Promise<number> => {
      await client.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      return (await client.readResponse()).status
    }
    expect(await status('one.test', '/a/b')).toBe(200)
    expect(await status('ONE.test:8080', '/')).toBe(200)
    expect(await status('x.below.test', '/a/?q')).toBe(200)
    expect(await status('below.test', '/a/b')).toBe(421)
    expect(await status('one.test', '/b')).toBe(421)
    expect(await status('one.test', '//one.test/a/b')).toBe(421)
    expect(await status('one.test.evil', '/a/b')).toBe(421)
  })
})

describe('answers of our own', () => {
  it('are short, uncacheable and tell nothing of the inside', async () => {
    await using setup = await setUp({ script: echo, upstream: { port: 1 } })
    const client = await setup.connect()
    const response = await client.get('/')
    expect([response.status, response.value('cache-control'), response.value('content-type')]).toEqual([
      502,
      'no-store',
      'text/plain; charset=utf-8',
    ])
    expect(response.body.toString()).toBe('502 Bad Gateway\nThe upstream server cannot be reached.\nExchange 1\n')
    expect([setup.events[0].outcome, setup.events[0].status]).toEqual(['upstream-connect-failed', 502])
    // The connection goes on.
    expect((await client.get('/')).status).toBe(502)
    await client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect((await client.readResponse('HEAD')).value('content-length')).toBe('66')
  })

  it.each([
    ['a loop', 'GET / HTTP/1.1\r\nHost: a\r\nVia: 1.1 PSEUDONYM\r\n\r\n', 508],
    ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 204],
    ['OPTIONS that goes no further', 'OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n', 204],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 405],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a malformed request', 'GET / HTTP/1.1\r\nHost: a\r\nbad line\r\n\r\n', 400],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a long target', `GET /${'x'.repeat(9_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414],
    ['many fields', `GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(200)}\r\n`, 431],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n', 417],
    ['both framings', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['a bad chunk', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', 400],
  ])('to %s', async (_name, request, status) => {
    await using setup = await setUp({ script: echo })
    const client = await setup.connect()
    const via = (await client.get('/')).body.toString()
    const pseudonym = /prexy-[0-9a-f]{8}/.exec(via)?.[0] ?? ''
    const sent = request.replace('PSEUDONYM', pseudonym)
    await client.send(sent)
    const response = await client.readResponse()
    expect(response.status).toBe(status)
    if (status === 204 || status === 405) expect(response.value('allow')).toContain('GET, HEAD')
    expect(setup.origin.requests.length).toBe(1)
    const event = await setup.event(2)
    expect([event.outcome, event.status, event.clientInBytes]).toEqual(['answered', status, sent.length])
  })

  it('to a body beyond maxBodyBytes, told beforehand or not', async () => {
    await using setup = await setUp({ script: echo, config: { limits: { request: { maxBodyBytes: 10 } } } })
    for (const rest of [
      'Content-Length: 11\r\n\r\nhello world',
      'Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n',
    ]) {
      const client = await setup.connect()
      await client.send(`POST / HTTP/1.1\r\nHost: a\r\n${rest}`)
      expect([(await client.readResponse()).status, await client.ended]).toEqual([413, 'end'])
    }
    expect(setup.origin.requests.length).toBe(0)
  })

  it('hide a 407 of the origin', async () => {
    await using setup = await setUp({
      script: replying('HTTP/1.1 407 Auth\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n'),
    })
    const response = await (await setup.connect()).get('/')
    expect([response.status, response.value('proxy-authenticate')]).toEqual([502, undefined])
  })
})
