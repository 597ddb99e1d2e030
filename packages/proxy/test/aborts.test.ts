import { gzipSync } from 'node:zlib'
import { answering, chunkedResponse, flood, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { type Setup, setUp } from './harness.ts'

const HTML = 'Content-Type: text/html'
const rules = [{ text: 'needle', with: 'pin' }]

describe('the phases', () => {
  const phasesOf = (setup: Setup, exchange: number): string => (setup.phases.get(exchange) ?? []).join(' ')

  it('of a success, on a new and on a kept connection', async () => {
    await using setup = await setUp({ script: answering(() => plainResponse('ok')) })
    const client = await setup.connect()
    await client.get('/')
    await client.get('/')
    await setup.event(2)
    expect(phasesOf(setup, 1)).toBe(
      'request-head route upstream-selected request-sent upstream-connected response-head response-body response-end response-sent end',
    )
    expect(phasesOf(setup, 2)).toBe(
      'request-head route upstream-selected upstream-connected request-sent response-head response-body response-end response-sent end',
    )
  })

  it('of a retry after a kept connection turned out dead', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(plainResponse(`from ${connection.number}`))
        // The next request on this connection is read, and the connection then closed without an answer.
        if (connection.number === 1) {
          await connection.readHead()
          connection.destroy()
        } else {
          await connection.ended
        }
      },
    })
    const client = await setup.connect()
    expect((await client.get('/')).body.toString()).toBe('from 1')
    expect((await client.get('/')).body.toString()).toBe('from 2')
    expect(phasesOf(setup, 2)).toBe(
      'request-head route upstream-selected upstream-connected request-sent retry upstream-selected request-sent upstream-connected response-head response-body response-end response-sent end',
    )
    expect(setup.events[1].outcome).toBe('completed')
  })

  it('of a client abort', async () => {
    const ends: string[] = []
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        ends.push(await connection.ended)
      },
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('upstream-connected')
    client.destroy()
    expect((await setup.event(1)).outcome).toBe('client-aborted')
    expect(phasesOf(setup, 1)).toBe(
      'request-head route upstream-selected request-sent upstream-connected client-aborted end',
    )
    while (ends.length === 0) await new Promise(setImmediate)
  })

  it('of an upstream reset within the body', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome')
        await setup.reached('response-body')
        connection.reset()
      },
    })
    const client = await setup.connect()
    const response = await client.get('/')
    expect([response.complete, response.body.toString()]).toEqual([false, 'some'])
    expect(phasesOf(setup, 1)).toBe(
      'request-head route upstream-selected request-sent upstream-connected response-head response-body upstream-failed end',
    )
  })

  it('of an answer of our own', async () => {
    await using setup = await setUp({ script: answering(() => plainResponse('')), route: { hosts: ['other.test'] } })
    await (await setup.connect()).get('/')
    expect(phasesOf(setup, 1)).toBe('request-head answered end')
  })
})

describe('a retry', () => {
  const dyingOnSecond = async (connection: OriginConnection): Promise<void> => {
    await connection.readRequest()
    await connection.send(plainResponse('first'))
    await connection.readHead()
    connection.destroy()
  }

  it('is not made for POST', async () => {
    await using setup = await setUp({ script: dyingOnSecond })
    const client = await setup.connect()
    await client.get('/')
    await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n')
    expect((await client.readResponse()).status).toBe(502)
    expect(setup.events[1].outcome).toBe('upstream-aborted')
  })

  it('is not made once an octet of a response has come', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(plainResponse('first'))
        await connection.readHead()
        await connection.send('HTTP/1.1 2')
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.get('/')
    expect((await client.get('/')).status).toBe(502)
    expect(setup.origin.connections).toBe(1)
  })

  it('is not made on a new connection, and made once only', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        if (connection.number === 1) {
          await connection.readRequest()
          await connection.send(plainResponse('first'))
        }
        await connection.readHead()
        connection.destroy()
      },
    })
    const client = await setup.connect()
    await client.get('/')
    expect((await client.get('/')).status).toBe(502)
    expect(setup.origin.connections).toBe(2)
    expect((await client.get('/')).status).toBe(502)
    expect(setup.origin.connections).toBe(3)
  })

  it('is not needed for a connection that the origin closed in time', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(plainResponse('once'))
        connection.end()
        await connection.ended
      },
    })
    const client = await setup.connect()
    for (let i = 0; i < 10; i++) expect((await client.get('/')).body.toString()).toBe('once')
  })
})

describe('an upstream that breaks off', () => {
  const bodies: readonly (readonly [string, Uint8Array])[] = [
    ['with a length', plainResponse('x'.repeat(5_000), HTML).subarray(0, 3_000)],
    ['in chunks', chunkedResponse(['x'.repeat(2_000), 'y'.repeat(2_000)], HTML).subarray(0, 3_000)],
    ['before the last chunk', chunkedResponse(['x'.repeat(2_000)], HTML).subarray(0, -5)],
  ]
  const endings = ['end', 'destroy', 'reset'] as const

  it.each(bodies)('a body %s is never taken for whole, rewritten or not', async (_name, octets) => {
    for (const ending of endings) {
      for (const withRules of [[], rules]) {
        await using setup = await setUp({
          rules: withRules,
          script: async (connection) => {
            await connection.readRequest()
            await connection.send(octets)
            connection[ending]()
          },
        })
        const outcome = await (await setup.connect()).get('/').then(
          (response) => (response.status === 502 ? 'refused' : response.complete ? 'clean' : 'broken'),
          () => 'broken',
        )
        expect([ending, withRules.length, outcome]).not.toEqual([ending, withRules.length, 'clean'])
        expect((await setup.event(1)).outcome).toBe('upstream-aborted')
      }
    }
  })

  it('with RST a body that lasts until the close is a reset for the client, HTTP/1.0 too', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\n\r\nsome text')
        connection.reset()
      },
    })
    for (const version of ['1.1', '1.0']) {
      for (let i = 0; i < 10; i++) {
        const client = await setup.connect()
        await client.send(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`)
        const outcome = await client.readResponse().then(
          (response) => (response.status === 502 ? 'refused' : response.complete ? 'clean' : 'broken'),
          () => 'broken',
        )
        expect(outcome).not.toBe('clean')
      }
    }
  })

  it('early with 502 and a kept client connection if nothing of its response has gone out', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nContent-')
        connection.end()
      },
    })
    const client = await setup.connect()
    for (let i = 0; i < 3; i++) expect((await client.get('/')).status).toBe(502)
  })
})

describe('a client that goes away', () => {
  it.each([
    ['before the response', async (_connection: OriginConnection) => {}],
    [
      'within a streamed response',
      async (connection: OriginConnection) => {
        await connection.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)
      },
    ],
    [
      'within a coded one',
      async (connection: OriginConnection) => {
        const coded = gzipSync('x'.repeat(100_000))
        await connection.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nContent-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n`)
        await connection.send(coded)
      },
    ],
  ])('%s takes the upstream with it', async (_name, respond) => {
    let ended: Promise<string> | undefined
    await using setup = await setUp({
      rules,
      script: async (connection) => {
        await connection.readRequest()
        await respond(connection)
        ended = connection.ended
        await ended
      },
    })
    for (const leave of ['destroy', 'end'] as const) {
      ended = undefined
      const client = await setup.connect()
      await client.send('GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n')
      while (ended === undefined) await new Promise(setImmediate)
      client[leave]()
      await Promise.resolve(ended)
    }
    expect((await setup.event(2)).outcome).toBe('client-aborted')
  })

  it('within its request body takes the upstream with it', async () => {
    let ended: Promise<string> | undefined
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readHead()
        ended = connection.ended
        await ended
      },
    })
    const client = await setup.connect()
    const sent = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf'
    await client.send(sent)
    while (ended === undefined) await new Promise(setImmediate)
    client.destroy()
    await ended
    const { outcome, clientInBytes } = await setup.event(1)
    expect([outcome, clientInBytes]).toEqual(['client-aborted', sent.length])
  })

  it('while it waits for a connection gives up its place', async () => {
    await using setup = await setUp({
      upstream: { maxConnections: 1 },
      script: async (connection) => {
        await connection.readRequest()
        await connection.ended
      },
    })
    const [one, two] = [await setup.connect(), await setup.connect()]
    await one.send('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('request-sent')
    await two.send('GET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('upstream-wait')
    two.destroy()
    expect((await setup.event(1)).target).toBe('/2')
    one.destroy()
    await setup.event(2)
    expect(setup.origin.requests.map(({ target }) => target)).toEqual(['/1'])
  })
})

/** What one TCP connection on loopback may hold on its way, both buffers together. */
const KERNEL_BYTES = 12_000_000
const FLOOD_BYTES = 100_000_000

describe('back-pressure', () => {
  const chunk = Buffer.alloc(65_536, 'needles and pins. ')
  const gzipped = gzipSync(Buffer.alloc(40_000_000, 'x'))

  it.each([
    ['passed on', [], `HTTP/1.1 200 OK\r\nContent-Length: ${FLOOD_BYTES}\r\n\r\n`],
    ['in chunks', [], 'HTTP/1.1 200 OK\r\n\r\n'],
    ['rewritten', rules, `HTTP/1.1 200 OK\r\n${HTML}\r\nContent-Length: ${FLOOD_BYTES}\r\n\r\n`],
  ])('a client that does not read stops the origin of a body %s', async (_name, withRules, head) => {
    let accepted: number | undefined
    await using setup = await setUp({
      rules: withRules,
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(head)
        accepted = await connection.flood(chunk, FLOOD_BYTES)
        await connection.ended
      },
    })
    const client = await setup.connect()
    client.reader.pause()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    while (accepted === undefined) await new Promise(setImmediate)
    expect(accepted).toBeLessThan(2 * KERNEL_BYTES)
  })

  it('a client that does not read stops the decoder of a bomb, and gets all of it when it reads on', async () => {
    await using setup = await setUp({
      rules,
      script: answering(() => plainResponse(gzipped, HTML, 'Content-Encoding: gzip')),
    })
    const client = await setup.connect()
    client.reader.pause()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await setup.reached('response-end')
    const before = process.memoryUsage().rss
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
    expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000)
    expect(setup.events).toEqual([])
    client.reader.resume()
    expect((await client.readResponse()).body.length).toBe(40_000_000)
    expect((await setup.event(1)).outcome).toBe('completed')
  })

  it('a client that asks on and on and never reads is not read further, also when the answers are ours', async () => {
    for (const hosts of [['other.test'], ['a']]) {
      await using setup = await setUp({ script: answering(() => plainResponse('x'.repeat(500))), route: { hosts } })
      const client = await setup.connect()
      client.reader.pause()
      const requests = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000))
      const total = 2 * KERNEL_BYTES
      const sent = await flood(client.socket, requests, total)
      expect(sent).toBeLessThan(total)
    }
  })

  it('an origin that does not read stops the client', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readHead()
        connection.reader.pause()
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${FLOOD_BYTES}\r\n\r\n`)
    await setup.reached('upstream-connected')
    expect(await flood(client.socket, chunk, FLOOD_BYTES)).toBeLessThan(2 * KERNEL_BYTES)
  })

  it('a slow client gets everything, rewritten and coded', async () => {
    const text = 'a needle in a haystack\n'.repeat(300_000)
    await using setup = await setUp({
      rules,
      script: answering((request) =>
        request.target === '/gzip'
          ? plainResponse(gzipSync(text), HTML, 'Content-Encoding: gzip')
          : plainResponse(text, HTML),
      ),
    })
    for (const target of ['/plain', '/gzip']) {
      const client = await setup.connect()
      await client.send(`GET ${target} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n\r\n`)
      // Pausing between reads, so that every buffer on the way fills up again and again.
      client.socket.on('data', () => {
        client.reader.pause()
        setImmediate(() => setImmediate(() => client.reader.resume()))
      })
      const { body, complete } = await client.readResponse()
      expect([complete, body.toString() === text.replaceAll('needle', 'pin')]).toEqual([true, true])
    }
  })
})

describe('stop', () => {
  it('lets exchanges finish, closes idle connections at once and says Connection: close', async () => {
    let proceed = (): void => {}
    await using setup = await setUp({
      script: async (connection) => {
        for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
          if (request.target === '/slow') {
            await new Promise<void>((resolve) => {
              proceed = resolve
            })
          }
          await connection.send(plainResponse('done'))
        }
        connection.end()
      },
    })
    const [busy, idle] = [await setup.connect(), await setup.connect()]
    await idle.get('/')
    const slow = busy.get('/slow')
    while (setup.origin.requests.length < 2) await new Promise(setImmediate)
    const stopped = setup.proxy.stop(60_000)
    expect(await idle.ended).toBe('end')
    proceed()
    const response = await slow
    expect([response.body.toString(), response.value('connection')]).toEqual(['done', 'close'])
    busy.end()
    await stopped
    expect(setup.events.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
  })

  it('breaks off what is left at the deadline', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome')
        await connection.ended
      },
    })
    const client = await setup.connect()
    const response = client.get('/')
    await setup.reached('response-body')
    await setup.proxy.stop(1)
    expect((await response).complete).toBe(false)
    expect(setup.events[0].outcome).toBe('shutdown')
  })
})
