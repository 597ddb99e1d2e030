import { answering, flood, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { encodeFrame, handshake, readFrame, SAMPLE_KEY, switching } from '@prexy/testing/websocket-peer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS } from '../src/proxy-config.ts'
import { type SetupInit, setUp } from './harness.ts'

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
}

/** Takes the handshake and sends every message back, until one of the sides closes. */
async function echo(connection: OriginConnection): Promise<void> {
  const head = await connection.readHead()
  await connection.send(switching(head?.value('sec-websocket-key') ?? ''))
  for (
    let frame = await readFrame(connection.reader);
    frame !== undefined;
    frame = await readFrame(connection.reader)
  ) {
    await connection.send(encodeFrame(frame.opcode, frame.payload, false))
    if (frame.opcode === 8) break
  }
  connection.end()
}

/** A tunnel with both its ends in the test's hands. */
async function openTunnel(init: Partial<SetupInit> = {}) {
  let opened: (connection: OriginConnection) => void = () => {}
  const origin = new Promise<OriginConnection>((resolve) => {
    opened = resolve
  })
  const setup = await setUp({
    script: async (connection) => {
      await connection.readHead()
      await connection.send(switching(SAMPLE_KEY))
      opened(connection)
      await connection.ended
    },
    ...init,
  })
  const client = await setup.connect()
  await client.send(handshake('/chat'))
  expect((await client.readHead()).status).toBe(101)
  return { setup, client, origin: await origin, [Symbol.asyncDispose]: () => setup[Symbol.asyncDispose]() }
}

describe('a WebSocket', () => {
  it('carries messages of every size both ways, and the event counts them', async () => {
    await using setup = await setUp({ script: echo })
    const client = await setup.connect()
    await client.send(handshake('/chat'))
    const head = await client.readHead()
    expect([head.status, head.value('upgrade'), head.value('connection'), head.values('sec-websocket-accept')]).toEqual(
      [101, 'websocket', 'Upgrade', ['s3pPLMBiTxaQ9kYGzzhZRbK+xOo=']],
    )
    let up = 0
    let down = 0
    for (const size of [0, 1, 125, 126, 65_535, 65_536, 1_000_000]) {
      const payload = Buffer.alloc(size, `${size}.`)
      const frame = encodeFrame(2, payload, true)
      up += frame.length
      down += frame.length - 4
      void client.send(frame)
      expect((await readFrame(client.reader))?.payload.equals(payload)).toBe(true)
    }
    await client.send(encodeFrame(8, Buffer.from([3, 232]), true))
    up += 8
    down += 4
    expect((await readFrame(client.reader))?.opcode).toBe(8)
    expect(await client.ended).toBe('end')
    client.end()
    const event = await setup.event(1)
    expect([event.outcome, event.status, event.treatment, event.upstreamOutBytes, event.upstreamInBytes]).toEqual([
      'completed',
      101,
      { kind: 'passed', reason: 'upgrade' },
      up,
      down,
    ])
    expect([event.clientInBytes, event.clientOutBytes]).toEqual([
      up + handshake('/chat').length,
      down + head.head.length,
    ])
    expect(setup.phases.get(1)?.slice(-3)).toEqual(['response-head', 'tunnel', 'end'])
  })

  const why = typeof WebSocket === 'undefined' ? ' (skipped: this runtime has no WebSocket client)' : ''
  it.skipIf(why !== '')(`of the runtime's own client works${why}`, async () => {
    await using setup = await setUp({ script: echo })
    const socket = new WebSocket(`ws://127.0.0.1:${setup.proxy.address.port}/chat`)
    socket.binaryType = 'arraybuffer'
    const next = (name: 'open' | 'message' | 'close') =>
      new Promise<Event>((resolve, reject) => {
        socket.addEventListener(name, resolve, { once: true })
        socket.addEventListener('error', () => reject(new Error('the WebSocket failed')), { once: true })
      })
    await next('open')
    for (const text of ['hello', 'x'.repeat(200_000)]) {
      const message = next('message')
      socket.send(text)
      expect((await message) as MessageEvent).toMatchObject({ data: text })
    }
    const closed = next('close')
    socket.close(1000)
    expect((await closed) as CloseEvent).toMatchObject({ code: 1000, wasClean: true })
    expect(await setup.event(1)).toMatchObject({ outcome: 'completed', status: 101 })
  })

  it('reaches the origin with the fields of its handshake, and Upgrade alone in Connection', async () => {
    await using setup = await setUp({
      upstream: { maxIdleConnections: 0 },
      script: async (connection) => {
        const head = await connection.readHead()
        await connection.send(`${switching(SAMPLE_KEY).slice(0, -2)}X-Head: ${JSON.stringify(head?.head)}\r\n\r\n`)
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send(
      handshake(
        '/chat',
        'Connection: keep-alive, X-Secret',
        'X-Secret: 1',
        'HTTP2-Settings: AAMAAABk',
        'Origin: http://proxy.test',
      ),
    )
    const seen = String(JSON.parse((await client.readHead()).value('x-head') ?? '""'))
    expect(seen).toContain(
      `\r\nSec-WebSocket-Key: ${SAMPLE_KEY}\r\nSec-WebSocket-Version: 13\r\nOrigin: http://proxy.test\r\n`,
    )
    expect(seen).toContain('\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    expect(seen).not.toMatch(/secret|settings|close/i)
  })

  it('begins with what stands behind either head in the same segment, and no sooner', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        const head = await connection.readHead()
        await settled()
        expect(connection.reader.receivedBytes).toBe(head?.head.length)
        const first = encodeFrame(1, Buffer.from('first'), false)
        await connection.send(Buffer.concat([Buffer.from(switching(SAMPLE_KEY)), first]))
        const frame = await readFrame(connection.reader)
        await connection.send(encodeFrame(1, Buffer.from(`got ${String(frame?.payload)}`), false))
        await connection.ended
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(Buffer.concat([Buffer.from(handshake('/chat')), encodeFrame(1, Buffer.from('early'), true)]))
    expect((await client.readHead()).status).toBe(101)
    expect(String((await readFrame(client.reader))?.payload)).toBe('first')
    expect(String((await readFrame(client.reader))?.payload)).toBe('got early')
    client.end()
    expect((await setup.event(1)).outcome).toBe('completed')
  })
})

describe('a tunnel', () => {
  it('whose client ends its side goes on the other way', async () => {
    await using tunnel = await openTunnel()
    const { client, origin, setup } = tunnel
    await client.send('last')
    client.end()
    expect(await origin.ended).toBe('end')
    expect((await origin.reader.toEnd()).toString()).toBe('last')
    await origin.send('still here')
    expect((await client.reader.exactly(10)).toString()).toBe('still here')
    expect(setup.events).toEqual([])
    origin.end()
    expect(await client.ended).toBe('end')
    expect(await setup.event(1)).toMatchObject({ outcome: 'completed', upstreamOutBytes: 4, upstreamInBytes: 10 })
  })

  it('whose upstream ends its side goes on the other way', async () => {
    await using tunnel = await openTunnel()
    const { client, origin, setup } = tunnel
    await origin.send('last')
    origin.end()
    expect((await client.reader.toEnd()).toString()).toBe('last')
    await client.send('still here')
    expect((await origin.reader.exactly(10)).toString()).toBe('still here')
    expect(setup.events).toEqual([])
    client.end()
    expect(await origin.ended).toBe('end')
    expect((await setup.event(1)).outcome).toBe('completed')
  })

  const CHUNK = Buffer.alloc(65_536, 'flood')
  const ENOUGH = 256 * 1_048_576

  it('pauses an upstream whose client does not read, and loses nothing', async () => {
    await using tunnel = await openTunnel()
    const { client, origin } = tunnel
    client.reader.pause()
    const sent = await origin.flood(CHUNK, ENOUGH)
    expect(sent).toBeLessThan(ENOUGH / 4)
    client.reader.resume()
    origin.end()
    expect((await client.reader.toEnd()).length).toBe(sent)
  })

  it('pauses a client whose upstream does not read, and loses nothing', async () => {
    await using tunnel = await openTunnel()
    const { client, origin } = tunnel
    origin.reader.pause()
    const sent = await flood(client.socket, CHUNK, ENOUGH)
    expect(sent).toBeLessThan(ENOUGH / 4)
    origin.reader.resume()
    client.end()
    expect((await origin.reader.toEnd()).length).toBe(sent)
  })

  it('carries any octets, cut in any way, both ways at once, whichever side ends first', async () => {
    const pieces = fc.array(fc.tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 0, max: 255 })), {
      maxLength: 12,
    })
    const pattern = Buffer.from(Array.from({ length: 512 }, (_, i) => (7 * i + (i >> 8)) & 255))
    const bytesOf = (list: readonly (readonly [number, number])[]): Buffer[] =>
      list.map(([size, first]) => Buffer.alloc(size, pattern.subarray(first)))
    await fc.assert(
      fc.asyncProperty(pieces, pieces, fc.boolean(), async (up, down, clientFirst) => {
        await using tunnel = await openTunnel()
        const { client, origin, setup } = tunnel
        const send = async (to: typeof client | typeof origin, list: readonly Buffer[]): Promise<void> => {
          for (const piece of list) await to.send(piece)
        }
        const [upBytes, downBytes] = [bytesOf(up), bytesOf(down)]
        const upDone = send(client, upBytes)
        const downDone = send(origin, downBytes)
        const [first, firstDone, second, secondDone] = clientFirst
          ? [client, upDone, origin, downDone]
          : [origin, downDone, client, upDone]
        await firstDone
        first.end()
        expect(await second.ended).toBe('end')
        await secondDone
        second.end()
        const received = [await origin.reader.toEnd(), await client.reader.toEnd()]
        expect(received[0].equals(Buffer.concat(upBytes)) && received[1].equals(Buffer.concat(downBytes))).toBe(true)
        const event = await setup.event(1)
        expect([event.outcome, event.upstreamOutBytes, event.upstreamInBytes]).toEqual([
          'completed',
          received[0].length,
          received[1].length,
        ])
      }),
      { numRuns: 8 },
    )
  })

  it('that is cut off on one side is cut off on the other', async () => {
    for (const cut of ['client', 'origin'] as const) {
      await using tunnel = await openTunnel()
      const { client, origin, setup } = tunnel
      await client.send('a')
      await origin.reader.exactly(1)
      if (cut === 'client') {
        client.socket.resetAndDestroy()
        expect(await origin.ended).toBe('reset')
      } else {
        origin.reset()
        expect(await client.ended).toBe('reset')
      }
      const outcome = cut === 'client' ? 'client-aborted' : 'upstream-aborted'
      expect(await setup.event(1)).toMatchObject({ outcome, status: 101, upstreamOutBytes: 1 })
    }
  })

  it('in which nothing moves for tunnelIdleMs is closed; either way counts as moving', async () => {
    await using tunnel = await openTunnel({ manualTime: true })
    const { client, origin, setup } = tunnel
    const half = Math.ceil(DEFAULT_TIMEOUTS.tunnelIdleMs / 2 / setup.wheel.tickMs)
    for (let i = 0; i < 4; i++) {
      setup.wheel.advance(half)
      if (i % 2 === 0) {
        await client.send('x')
        await origin.reader.exactly(1)
      } else {
        await origin.send('x')
        await client.reader.exactly(1)
      }
    }
    expect(setup.events).toEqual([])
    setup.wheel.advance(2 * half + 2)
    expect(await client.ended).toBe('end')
    expect(await origin.ended).toBe('end')
    expect(await setup.event(1)).toMatchObject({
      outcome: 'tunnel-timeout',
      detail: 'tunnelIdleMs passed',
      status: 101,
    })
    expect(setup.wheel.linked).toBeLessThanOrEqual(2)
  })

  it('with a client that takes nothing is reset after tunnelIdleMs', async () => {
    await using tunnel = await openTunnel({ manualTime: true })
    const { client, origin, setup } = tunnel
    client.reader.pause()
    await origin.flood(CHUNK, ENOUGH)
    setup.wheel.advance(Math.ceil(DEFAULT_TIMEOUTS.tunnelIdleMs / setup.wheel.tickMs) + 2)
    expect((await setup.event(1)).outcome).toBe('tunnel-timeout')
    client.reader.resume()
    expect(await client.ended).toBe('reset')
  })

  it('outlives a stop until its deadline', async () => {
    await using tunnel = await openTunnel()
    const { client, origin, setup } = tunnel
    const stopped = setup.proxy.stop(60_000)
    await client.send('on')
    expect((await origin.reader.exactly(2)).toString()).toBe('on')
    expect(setup.events).toEqual([])
    await setup.proxy.stop(0)
    await stopped
    expect((await setup.event(1)).outcome).toBe('shutdown')
    expect(await origin.ended).toBe('end')
  })

  it('is not among the maxConnections of its upstream', async () => {
    await using setup = await setUp({
      upstream: { maxConnections: 1 },
      script: async (connection) => {
        for (let head = await connection.readHead(); head !== undefined; head = await connection.readHead()) {
          const upgrade = head.value('upgrade') !== undefined
          await connection.send(upgrade ? switching(SAMPLE_KEY) : plainResponse('plain'))
          if (upgrade) await connection.ended
        }
        connection.end()
      },
    })
    for (let i = 0; i < 5; i++) {
      const client = await setup.connect()
      await client.send(handshake('/chat'))
      expect((await client.readHead()).status).toBe(101)
    }
    expect((await (await setup.connect()).get('/')).body.toString()).toBe('plain')
  })

  it('beyond maxTunnels is 503, until one is over', async () => {
    await using setup = await setUp({ script: echo, config: { limits: { maxTunnels: 1 } } })
    const ask = async () => {
      const client = await setup.connect()
      await client.send(handshake('/chat'))
      return { client, status: (await client.readHead()).status }
    }
    const first = await ask()
    const second = await ask()
    expect([first.status, second.status, setup.events[0].detail]).toEqual([101, 503, 'maxTunnels was met'])
    first.client.end()
    await setup.event(2)
    expect((await ask()).status).toBe(101)
  })
})

// T14 of the threat model.
describe('no tunnel is opened', () => {
  const CONNECTION = 'Connection: Upgrade'
  const WEBSOCKET = 'Upgrade: websocket'
  const KEY = `Sec-WebSocket-Key: ${SAMPLE_KEY}`
  const VERSION = 'Sec-WebSocket-Version: 13'
  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const request = (...lines: readonly string[]): string =>
    ['GET /chat HTTP/1.1', 'Host: a', ...lines, '', ''].join('\r\n')
  const respond = (line: string, ...lines: readonly string[]): string => [line, ...lines, '', ''].join('\r\n')
  const SWITCH = 'HTTP/1.1 101 Switching Protocols'

  it.each([
    // What the client asks for is not passed on: the origin sees no Upgrade, whatever it answers.
    [
      'h2c',
      request('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'),
      OK,
      200,
      'plain',
    ],
    [
      'h2c, and the origin agrees',
      request('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'),
      respond(SWITCH, CONNECTION, 'Upgrade: h2c'),
      502,
      'plain',
    ],
    [
      'h2c without its settings',
      request(CONNECTION, 'Upgrade: h2c'),
      respond(SWITCH, CONNECTION, 'Upgrade: h2c'),
      502,
      'plain',
    ],
    [
      'h2c under a websocket key',
      request(CONNECTION, 'Upgrade: h2c', KEY, VERSION),
      respond(SWITCH, CONNECTION, 'Upgrade: h2c'),
      502,
      'plain',
    ],
    ['TLS', request(CONNECTION, 'Upgrade: TLS/1.2'), respond(SWITCH, CONNECTION, 'Upgrade: TLS/1.2'), 502, 'plain'],
    [
      'a protocol of its own',
      request(CONNECTION, 'Upgrade: tcp'),
      respond(SWITCH, CONNECTION, 'Upgrade: tcp'),
      502,
      'plain',
    ],
    [
      'Upgrade that Connection does not name',
      request(WEBSOCKET, KEY, VERSION),
      respond(SWITCH, CONNECTION, WEBSOCKET),
      502,
      'plain',
    ],
    [
      'Connection without Upgrade',
      request(CONNECTION, KEY, VERSION),
      respond(SWITCH, CONNECTION, WEBSOCKET),
      502,
      'plain',
    ],
    ['no key', request(CONNECTION, WEBSOCKET, VERSION), respond(SWITCH, CONNECTION, WEBSOCKET), 502, 'plain'],
    [
      'a POST',
      request(CONNECTION, WEBSOCKET, KEY, VERSION, 'Content-Length: 0').replace('GET', 'POST'),
      respond(SWITCH, CONNECTION, WEBSOCKET),
      502,
      'plain',
    ],
    [
      'a request with a body',
      `${request(CONNECTION, WEBSOCKET, KEY, VERSION, 'Content-Length: 4')}body`,
      respond(SWITCH, CONNECTION, WEBSOCKET),
      502,
      'plain',
    ],
    [
      'HTTP/1.0',
      request(CONNECTION, WEBSOCKET, KEY, VERSION).replace('HTTP/1.1', 'HTTP/1.0'),
      respond(SWITCH, CONNECTION, WEBSOCKET),
      502,
      'plain',
    ],
    ['nothing', request(), respond(SWITCH, CONNECTION, WEBSOCKET), 502, 'plain'],
    // The origin does not switch, or not to that.
    [
      'websocket, refused',
      handshake('/chat'),
      'HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n',
      426,
      'asked',
    ],
    [
      'websocket with a version that is refused',
      handshake('/chat').replace('n: 13', 'n: 1337'),
      'HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n',
      426,
      'asked',
    ],
    ['websocket, answered 200', handshake('/chat'), OK, 200, 'asked'],
    [
      'websocket, answered 200 that says Upgrade',
      handshake('/chat'),
      respond('HTTP/1.1 200 OK', CONNECTION, WEBSOCKET, 'Content-Length: 0'),
      200,
      'asked',
    ],
    ['websocket, answered with h2c', handshake('/chat'), respond(SWITCH, CONNECTION, 'Upgrade: h2c'), 502, 'asked'],
    [
      'websocket, answered with two protocols',
      handshake('/chat'),
      respond(SWITCH, CONNECTION, 'Upgrade: websocket, h2c'),
      502,
      'asked',
    ],
    ['websocket, answered 101 without Upgrade', handshake('/chat'), respond(SWITCH, CONNECTION), 502, 'asked'],
    ['websocket, answered 101 without Connection', handshake('/chat'), respond(SWITCH, WEBSOCKET), 502, 'asked'],
    [
      'websocket, answered 101 in HTTP/1.0',
      handshake('/chat'),
      respond('HTTP/1.0 101 Switching Protocols', CONNECTION, WEBSOCKET),
      502,
      'asked',
    ],
    [
      'websocket as early data that comes to nothing',
      handshake('/chat', 'Early-Data: 1'),
      'HTTP/1.1 425 Too Early\r\nContent-Length: 0\r\n\r\n',
      425,
      'asked',
    ],
  ])('for %s', async (_name, sent, reply, status, upgrade) => {
    const heads: string[] = []
    let raw = 0
    await using setup = await setUp({
      script: async (connection) => {
        for (let seen = await connection.readRequest(); seen !== undefined; seen = await connection.readRequest()) {
          heads.push(seen.head)
          raw += seen.head.length + seen.body.length
          await connection.send(heads.length === 1 ? reply : OK)
        }
        expect(connection.reader.receivedBytes).toBeLessThanOrEqual(raw)
        connection.end()
      },
    })
    const client = await setup.connect()
    // What a tunnel would carry up as it is, a proxy passes on with fields of its own.
    const probe = 'GET /probe HTTP/1.1\r\nHost: a\r\n\r\n'
    await client.send(sent + probe)
    const response = await client.readResponse()
    expect([response.status, response.values('upgrade')]).toEqual([status, []])
    if (response.value('connection') !== 'close') expect((await client.readResponse()).status).toBe(200)
    expect(/^upgrade:/im.test(heads[0])).toBe(upgrade === 'asked')
    for (const head of heads.slice(1)) expect(head).toMatch(/^GET \/probe HTTP\/1\.1\r\n[^]*\r\nVia: 1\.1 prexy/)
    expect(setup.events.every((event) => event.status !== 101)).toBe(true)
  })

  it('when the upstream says nothing, and what the client sends meanwhile stays below', async () => {
    await using setup = await setUp({
      manualTime: true,
      script: async (connection) => {
        const head = await connection.readHead()
        await connection.ended
        expect(connection.reader.receivedBytes).toBe(head?.head.length)
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(Buffer.concat([Buffer.from(handshake('/chat')), encodeFrame(1, Buffer.from('early'), true)]))
    await setup.reached('upstream-connected')
    await settled()
    setup.wheel.advance(Math.ceil(DEFAULT_TIMEOUTS.upstreamHeadersMs / setup.wheel.tickMs) + 2)
    expect((await client.readResponse()).status).toBe(504)
  })

  it('over a connection that the client flooded before the 101', async () => {
    let answer: () => void = () => {}
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve
    })
    await using setup = await setUp({
      manualTime: true,
      config: { limits: { maxPipelinedBytes: 1_000 } },
      script: async (connection) => {
        await connection.readHead()
        await mayAnswer
        await connection.send(switching(SAMPLE_KEY))
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send(handshake('/chat'))
    await setup.reached('upstream-connected')
    await client.send(Buffer.alloc(5_000, 'x'))
    await settled()
    setup.wheel.advance(10)
    answer()
    expect([(await client.readResponse()).status, await client.ended]).toEqual([400, 'end'])
    expect(setup.events[0].detail).toBe('more than maxPipelinedBytes came before the 101')
  })
})

it('a 426 names WebSocket if that is what the origin requires, and nothing else', async () => {
  await using setup = await setUp({
    script: answering(
      ({ target }) =>
        `HTTP/1.1 426 No\r\nConnection: Upgrade\r\nUpgrade: ${target.slice(1)}\r\nContent-Length: 0\r\n\r\n`,
    ),
  })
  const client = await setup.connect()
  const named = async (target: string): Promise<unknown> => {
    const { status, values } = await client.get(target)
    return [status, values('upgrade'), values('connection')]
  }
  expect(await named('/websocket')).toEqual([426, ['websocket'], ['Upgrade']])
  expect(await named('/h2c,websocket')).toEqual([426, ['websocket'], ['Upgrade']])
  expect(await named('/h2c')).toEqual([426, [], []])
  expect(setup.origin.connections).toBe(1)
})

it('a kept upstream connection serves a handshake, and a request after a refused one', async () => {
  await using setup = await setUp({
    script: answering((request) => plainResponse(request.value('upgrade') ?? 'none')),
  })
  const client = await setup.connect()
  expect((await client.get('/')).body.toString()).toBe('none')
  await client.send(handshake('/chat'))
  expect((await client.readResponse()).body.toString()).toBe('websocket')
  expect((await client.get('/')).body.toString()).toBe('none')
  expect(setup.origin.connections).toBe(1)
})
