import { gzipSync } from 'node:zlib'
import { answering, flood, plainResponse } from '@prexy/testing/raw-origin'
import { TimerWheel } from '@prexy/net/timer-wheel'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS } from '../src/proxy-config.ts'
import { type Setup, setUp } from './harness.ts'

/** Lets `ms` pass on the wheel, which fires at most two ticks late and never early. */
function pass(setup: Setup, ms: number): void {
  setup.wheel.advance(Math.ceil(ms / setup.wheel.tickMs) + 2)
}

/** Time that is not enough. */
function almost(setup: Setup, ms: number): void {
  setup.wheel.advance(Math.floor(ms / setup.wheel.tickMs) - 1)
}

const silent = async (connection: { ended: Promise<unknown> }): Promise<void> => {
  await connection.ended
}

/** Lets the event loop turn, so that the proxy has worked on what the kernel has passed on to it. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
}

describe('a client', () => {
  it('that connects and says nothing is closed after clientIdleMs, without an answer', async () => {
    await using setup = await setUp({ script: silent, manualTime: true })
    const client = await setup.connect()
    await settled()
    almost(setup, DEFAULT_TIMEOUTS.clientIdleMs)
    await settled()
    expect(setup.proxy.connections).toBe(1)
    pass(setup, 1_000)
    expect((await client.reader.toEnd()).length).toBe(0)
  })

  it('that sends its head drop by drop is answered 408 after clientHeadersMs in all', async () => {
    await using setup = await setUp({ script: silent, manualTime: true })
    const client = await setup.connect()
    const before = Date.now()
    const begin = 'GET / HTTP/1.1\r\nHost: a\r\nX: '
    await client.send(begin)
    await settled()
    for (let i = 0; i < 3; i++) {
      pass(setup, DEFAULT_TIMEOUTS.clientHeadersMs / 4)
      await client.send('x')
      await settled()
    }
    expect(setup.events.length).toBe(0)
    pass(setup, DEFAULT_TIMEOUTS.clientHeadersMs / 4)
    expect((await client.readResponse()).status).toBe(408)
    const { outcome, detail, clientInBytes, startedAtMs, timings } = setup.events[0]
    expect([outcome, detail, clientInBytes]).toEqual(['client-timeout', 'clientHeadersMs passed', begin.length + 3])
    expect(timings.endUs).toBeGreaterThan(0)
    // Two clocks, and rounding: the start and the end lie within the test to a few milliseconds.
    expect(startedAtMs).toBeGreaterThan(before - 5)
    expect(startedAtMs + timings.endUs / 1_000).toBeLessThan(Date.now() + 5)
    expect(await client.ended).toBe('end')
  })

  it('that stops within its body is answered 408 after clientBodyMs', async () => {
    await using setup = await setUp({ script: silent, manualTime: true })
    const client = await setup.connect()
    const begin = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab'
    await client.send(begin)
    await setup.reached('upstream-connected')
    await settled()
    pass(setup, DEFAULT_TIMEOUTS.clientBodyMs / 2)
    await client.send('c')
    await settled()
    pass(setup, DEFAULT_TIMEOUTS.clientBodyMs / 2)
    await settled()
    expect(setup.events.length).toBe(0)
    pass(setup, DEFAULT_TIMEOUTS.clientBodyMs / 2)
    expect((await client.readResponse()).status).toBe(408)
    const { outcome, detail, clientInBytes } = setup.events[0]
    expect([outcome, detail, clientInBytes]).toEqual(['client-timeout', 'clientBodyMs passed', begin.length + 1])
  })

  it.each([
    ['drop by drop', 1, false],
    ['at the least rate', 100 * (DEFAULT_TIMEOUTS.clientBodyMs / 2_000), true],
  ])('that sends its body %s is served only at the least rate', async (_how, bytes, isServed) => {
    const times = 6
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      },
      manualTime: true,
    })
    const client = await setup.connect()
    await client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${times * bytes}\r\n\r\n`)
    await setup.reached('upstream-connected')
    for (let i = 0; i < times && setup.events.length === 0; i++) {
      await settled()
      pass(setup, DEFAULT_TIMEOUTS.clientBodyMs / 2 - 1_000)
      await settled()
      if (setup.events.length === 0) await client.send('x'.repeat(bytes))
    }
    expect((await client.readResponse()).status).toBe(isServed ? 200 : 408)
    if (!isServed) expect(setup.events[0].detail).toBe('slower than minRequestBodyBytesPerSecond')
  })

  it('that asked while the event loop stood still is answered, not closed for saying nothing', async () => {
    const clientIdleMs = 200
    await using setup = await setUp({
      script: answering(() => plainResponse('ok')),
      config: { timeouts: { clientIdleMs }, wheel: new TimerWheel({ tickMs: 20 }) },
    })
    const client = await setup.connect()
    while (setup.proxy.connections === 0) await new Promise(setImmediate)
    client.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    for (const until = performance.now() + 2 * clientIdleMs; performance.now() < until; );
    expect((await client.readResponse()).status).toBe(200)
  })

  it('that is kept is closed after clientIdleMs, counted from its last response', async () => {
    await using setup = await setUp({ script: answering(() => plainResponse('ok')), manualTime: true })
    const client = await setup.connect()
    for (let i = 0; i < 3; i++) {
      await client.get('/')
      almost(setup, DEFAULT_TIMEOUTS.clientIdleMs)
    }
    await client.get('/')
    pass(setup, DEFAULT_TIMEOUTS.clientIdleMs)
    expect(await client.ended).toBe('end')
  })

  it('that takes nothing of its response is reset after clientWriteMs', async () => {
    await using setup = await setUp({
      manualTime: true,
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\n\r\n')
        await connection.flood(Buffer.alloc(65_536), 100_000_000)
        await setup.reached('response-body')
        almost(setup, DEFAULT_TIMEOUTS.clientWriteMs)
        await settled()
        expect(setup.events.length).toBe(0)
        pass(setup, 1_000)
        await settled()
        pass(setup, DEFAULT_TIMEOUTS.clientWriteMs)
        await connection.ended
      },
    })
    const client = await setup.connect()
    client.reader.pause()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const event = await setup.event(1)
    expect([event.outcome, event.detail]).toEqual(['client-timeout', 'clientWriteMs passed'])
  })

  it('that takes nothing of a response on its way through a decoder is reset after clientWriteMs', async () => {
    // The upstream is done with it at once: no octet of it tells later that the client stands still.
    const coded = gzipSync(Buffer.alloc(40_000_000, 'x'))
    await using setup = await setUp({
      manualTime: true,
      rules: [{ text: 'needle', with: 'pin' }],
      script: answering(() => plainResponse(coded, 'Content-Type: text/html', 'Content-Encoding: gzip')),
    })
    const client = await setup.connect()
    client.reader.pause()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('response-end')
    const event = setup.event(1)
    let over = false
    void event.then(() => {
      over = true
    })
    while (!over) {
      await settled()
      pass(setup, DEFAULT_TIMEOUTS.clientWriteMs)
    }
    const { outcome, detail } = await event
    expect([outcome, detail]).toEqual(['client-timeout', 'clientWriteMs passed'])
  })

  it('that took its response late, or takes it slowly, is left alone', async () => {
    const piece = Buffer.alloc(8_000_000)
    let proceed = (): void => {}
    await using setup = await setUp({
      manualTime: true,
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${2 * piece.length}\r\n\r\n`)
        void connection.send(piece)
        await new Promise<void>((resolve) => {
          proceed = resolve
        })
        await connection.send(piece)
        await connection.ended
      },
    })
    const client = await setup.connect()
    client.reader.pause()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('response-body')
    await settled()
    almost(setup, DEFAULT_TIMEOUTS.clientWriteMs)
    client.reader.resume()
    await client.readHead()
    expect((await client.reader.exactly(piece.length)).length).toBe(piece.length)
    // Nothing waits for the client now, however long the upstream takes.
    pass(setup, 2 * DEFAULT_TIMEOUTS.clientWriteMs)
    expect(setup.events.length).toBe(0)
    proceed()
    expect((await client.reader.exactly(piece.length)).length).toBe(piece.length)
    expect((await setup.event(1)).outcome).toBe('completed')
  })

  it('that was answered and goes on sending is listened to for clientLingerMs', async () => {
    await using setup = await setUp({ script: silent, manualTime: true })
    const client = await setup.connect()
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n')
    expect((await client.readResponse()).status).toBe(400)
    await client.send('still sending')
    await settled()
    expect(setup.proxy.connections).toBe(1)
    pass(setup, DEFAULT_TIMEOUTS.clientLingerMs)
    await settled()
    expect(setup.proxy.connections).toBe(0)
  })
})

it('a client that was answered and sends megabytes more is not read any further, and can read its answer', async () => {
  await using setup = await setUp({ script: silent, manualTime: true })
  const client = await setup.connect()
  client.reader.pause()
  await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n')
  expect(await flood(client.socket, Buffer.alloc(65_536), 100_000_000)).toBeLessThan(100_000_000)
  almost(setup, DEFAULT_TIMEOUTS.clientLingerMs)
  client.reader.resume()
  expect((await client.readResponse()).status).toBe(400)
  expect(setup.proxy.connections).toBe(1)
  pass(setup, 1_000)
  while (setup.proxy.connections > 0) await settled()
})

describe('an upstream', () => {
  it('that waits for a request body is not timed: its client is', async () => {
    await using setup = await setUp({
      script: silent,
      manualTime: true,
      config: { timeouts: { upstreamHeadersMs: 1_000 } },
    })
    const client = await setup.connect()
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na')
    await setup.reached('upstream-connected')
    await settled()
    almost(setup, DEFAULT_TIMEOUTS.clientBodyMs)
    expect(setup.events).toEqual([])
    await client.send('b')
    await setup.reached('request-sent')
    pass(setup, 1_000)
    expect((await client.readResponse()).status).toBe(504)
    expect(setup.events[0].detail).toBe('upstreamHeadersMs passed')
  })

  it('that says nothing is 504 after upstreamHeadersMs', async () => {
    await using setup = await setUp({ script: silent, manualTime: true })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('upstream-connected')
    almost(setup, DEFAULT_TIMEOUTS.upstreamHeadersMs)
    expect(setup.events.length).toBe(0)
    pass(setup, 1_000)
    expect((await client.readResponse()).status).toBe(504)
    expect([setup.events[0].outcome, setup.events[0].detail]).toEqual(['upstream-timeout', 'upstreamHeadersMs passed'])
  })

  it('that drips its head is 504 after upstreamHeadersMs in all', async () => {
    await using setup = await setUp({
      manualTime: true,
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nX: ')
        for (let i = 0; i < 4; i++) {
          await settled()
          pass(setup, DEFAULT_TIMEOUTS.upstreamHeadersMs / 4)
          await connection.send('x')
        }
        await connection.ended
      },
    })
    expect((await (await setup.connect()).get('/')).status).toBe(504)
  })

  it('that stops within its body breaks the response off after upstreamBodyMs', async () => {
    await using setup = await setUp({
      manualTime: true,
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome')
        await setup.reached('response-body')
        pass(setup, DEFAULT_TIMEOUTS.upstreamBodyMs)
        await connection.ended
      },
    })
    expect((await (await setup.connect()).get('/')).complete).toBe(false)
    expect([setup.events[0].outcome, setup.events[0].detail]).toEqual(['upstream-timeout', 'upstreamBodyMs passed'])
  })

  it('that is not timed while it waits for a slow client', async () => {
    let accepted = 0
    await using setup = await setUp({
      manualTime: true,
      config: { timeouts: { clientWriteMs: 10 * DEFAULT_TIMEOUTS.upstreamBodyMs } },
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
        accepted = await connection.flood(Buffer.alloc(65_536), 100_000_000)
        await connection.ended
      },
    })
    const client = await setup.connect()
    client.reader.pause()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    while (accepted === 0) await new Promise(setImmediate)
    pass(setup, 2 * DEFAULT_TIMEOUTS.upstreamBodyMs)
    expect(setup.events.length).toBe(0)
  })

  it('that takes nothing of a request body is 504 after upstreamWriteMs', async () => {
    await using setup = await setUp({
      manualTime: true,
      script: async (connection) => {
        await connection.readHead()
        connection.reader.pause()
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n')
    await setup.reached('upstream-connected')
    await flood(client.socket, Buffer.alloc(65_536), 100_000_000)
    pass(setup, DEFAULT_TIMEOUTS.upstreamWriteMs)
    await settled()
    pass(setup, DEFAULT_TIMEOUTS.upstreamWriteMs)
    expect((await client.readResponse()).status).toBe(504)
    expect(setup.events[0].detail).toBe('upstreamWriteMs passed')
  })

  it('that does not accept is 504 after upstreamConnectMs', async (context) => {
    // Nobody answers in TEST-NET-1 (RFC 5737).
    await using setup = await setUp({ script: silent, manualTime: true, upstream: { host: '192.0.2.1', port: 9 } })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('upstream-selected')
    pass(setup, DEFAULT_TIMEOUTS.upstreamConnectMs)
    const { status } = await client.readResponse()
    if (status === 502) return context.skip('this machine has no route to 192.0.2.1, so connecting fails at once')
    expect(status).toBe(504)
    expect(setup.events[0].detail).toBe('upstreamConnectMs passed')
  })

  it('that has no free connection is 503 after upstreamQueueMs', async () => {
    await using setup = await setUp({ script: silent, manualTime: true, upstream: { maxConnections: 1 } })
    const [one, two] = [await setup.connect(), await setup.connect()]
    await one.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('request-sent')
    await two.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('upstream-wait')
    await settled()
    almost(setup, DEFAULT_TIMEOUTS.upstreamQueueMs)
    expect(setup.events.length).toBe(0)
    pass(setup, 1_000)
    expect((await two.readResponse()).status).toBe(503)
    expect([setup.events[0].outcome, setup.events[0].detail]).toEqual(['upstream-busy', 'upstreamQueueMs passed'])
  })

  it('connection that is kept is closed after upstreamIdleMs', async () => {
    let ended = 0
    await using setup = await setUp({
      manualTime: true,
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(plainResponse('ok'))
        await connection.ended
        ended++
      },
    })
    const client = await setup.connect()
    await client.get('/')
    pass(setup, DEFAULT_TIMEOUTS.upstreamIdleMs)
    while (ended === 0) await new Promise(setImmediate)
    await client.get('/')
    expect(setup.origin.connections).toBe(2)
  })
})

it('maxConnections: further clients are closed at once', async () => {
  await using setup = await setUp({
    script: answering(() => plainResponse('ok')),
    config: { limits: { maxConnections: 2 } },
  })
  const [one, two, three] = [await setup.connect(), await setup.connect(), await setup.connect()]
  expect((await one.get('/')).status).toBe(200)
  expect((await two.get('/')).status).toBe(200)
  expect((await three.reader.toEnd()).length).toBe(0)
})
