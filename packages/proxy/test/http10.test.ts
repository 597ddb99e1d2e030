import { chunkedResponse, type OriginConnection } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const KEEP = 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'

/** Answers every request with these octets; `close` ends the connection after the first. */
function replying(response: string | Uint8Array, close: 'close' | 'keep' = 'keep') {
  return async (connection: OriginConnection): Promise<void> => {
    while ((await connection.readRequest()) !== undefined) {
      await connection.send(response)
      if (close === 'close') break
    }
    connection.end()
  }
}

describe('an HTTP/1.0 client', () => {
  it.each([
    ['in chunks', chunkedResponse(['one ', 'two']), 'keep'],
    ['until the origin closes', 'HTTP/1.1 200 OK\r\n\r\none two', 'close'],
  ] as const)('gets the length of a body that came %s, and keeps its connection', async (_name, response, close) => {
    await using setup = await setUp({ script: replying(response, close) })
    const client = await setup.connect()
    for (let i = 0; i < 3; i++) {
      await client.send(KEEP)
      const { body, framing, complete, head, values } = await client.readResponse()
      expect([body.toString(), framing, complete, values('connection')]).toEqual([
        'one two',
        'length',
        true,
        ['keep-alive'],
      ])
      expect(head).not.toContain('Transfer-Encoding')
    }
    expect(setup.events.map(({ outcome }) => outcome)).toEqual(['completed', 'completed', 'completed'])
  })

  it('gets the octets of each read, however many reads they come in', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\n\r\n')
        for (const letter of 'abcdefgh') {
          await connection.send(letter.repeat(100))
          for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
        }
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(KEEP)
    const { body, framing } = await client.readResponse()
    expect([body.toString(), framing]).toEqual([[...'abcdefgh'].map((letter) => letter.repeat(100)).join(''), 'length'])
  })

  it.each([
    [999, 'length'],
    [1_000, 'length'],
    [1_001, 'close'],
    [30_000, 'close'],
  ] as const)('gets a body of %d octets, each a chunk, ended by %s at a limit of 1,000', async (size, framing) => {
    const octets = Array.from({ length: size }, (_, at) => String.fromCharCode(97 + (at % 26)))
    await using setup = await setUp({
      script: replying(chunkedResponse(octets)),
      config: { limits: { maxHttp10BufferBytes: 1_000 } },
    })
    const client = await setup.connect()
    await client.send(KEEP)
    const response = await client.readResponse()
    expect([response.body.toString(), response.framing]).toEqual([octets.join(''), framing])
  })

  it('that does not ask to be kept gets the length and a close', async () => {
    await using setup = await setUp({ script: replying(chunkedResponse(['one ', 'two'])) })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.0\r\n\r\n')
    const { body, framing, values } = await client.readResponse()
    expect([body.toString(), framing, values('connection')]).toEqual(['one two', 'length', ['close']])
    expect(await client.ended).toBe('end')
  })

  it('gets the length of a rewritten body in pieces', async () => {
    await using setup = await setUp({
      script: replying(chunkedResponse(['<p>one', ' two</p>'], 'Content-Type: text/html')),
      rules: [{ text: 'one two', with: 'three' }],
    })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) {
      await client.send(KEEP)
      const { body, values } = await client.readResponse()
      expect([body.toString(), values('content-length'), values('connection')]).toEqual([
        '<p>three</p>',
        ['12'],
        ['keep-alive'],
      ])
    }
  })

  it.each([
    [10, 'length'],
    [11, 'close'],
  ])('with maxHttp10BufferBytes 10 and a body of %i octets finds its end by %s', async (size, framing) => {
    for (const cut of [1, 4, size]) {
      const body = 'x'.repeat(size)
      const chunks = Array.from({ length: Math.ceil(size / cut) }, (_, i) => body.slice(i * cut, (i + 1) * cut))
      await using setup = await setUp({
        script: replying(chunkedResponse(chunks)),
        config: { limits: { maxHttp10BufferBytes: 10 } },
      })
      const client = await setup.connect()
      await client.send(KEEP)
      const response = await client.readResponse()
      expect([response.body.toString(), response.framing, response.complete, response.values('connection')]).toEqual([
        body,
        framing,
        true,
        [framing === 'length' ? 'keep-alive' : 'close'],
      ])
    }
  })

  it('gets a big body whole, ended by close', async () => {
    const big = Buffer.alloc(300_000, 'abc')
    await using setup = await setUp({ script: replying(chunkedResponse([big, big])) })
    const client = await setup.connect()
    await client.send(KEEP)
    const { body, framing } = await client.readResponse()
    expect([body.equals(Buffer.concat([big, big])), framing]).toEqual([true, 'close'])
  })

  it('gets an error, and not a part, when the origin fails before the limit', async () => {
    await using setup = await setUp({
      script: replying('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', 'close'),
    })
    const client = await setup.connect()
    await client.send(KEEP)
    const response = await client.readResponse()
    expect([response.status, response.body.toString().includes('hello')]).toEqual([502, false])
    expect((await setup.event(1)).outcome).toBe('upstream-aborted')
  })

  it('sees a break where a part has gone out', async () => {
    await using setup = await setUp({
      script: replying('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', 'close'),
      config: { limits: { maxHttp10BufferBytes: 0 } },
    })
    const client = await setup.connect()
    await client.send(KEEP)
    expect((await client.readResponse()).complete).toBe(false)
  })

  it.each([
    'Content-Type: text/event-stream',
    'Content-Type: multipart/x-mixed-replace; boundary=b',
    'X-Accel-Buffering: no',
  ])('gets each part of a stream at once: %s', async (line) => {
    let goOn: () => void = () => {}
    const may = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(`HTTP/1.1 200 OK\r\n${line}\r\n\r\ndata: 1\n\n`)
        await may
        await connection.send('data: 2\n\n')
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(KEEP)
    expect((await client.readHead()).value('connection')).toBe('close')
    expect((await client.reader.exactly(9)).toString()).toBe('data: 1\n\n')
    goOn()
    expect((await client.reader.toEnd()).toString()).toBe('data: 2\n\n')
  })

  it('is not told to go on, and its wish is not passed up', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        const request = await connection.readRequest()
        expect(request?.values('expect')).toEqual([])
        await connection.send('HTTP/1.1 100 Continue\r\n\r\n')
        await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send('POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi')
    expect((await client.readResponse()).status).toBe(200)
  })
})
