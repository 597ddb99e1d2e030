import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { missingPrograms } from '@prexy/testing/programs'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const WAITS = 'POST /in HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n'

/** Reads a head, says what it is told to, and answers with what it read of the body. */
function origin(interim: string, body: 'length' | 'chunked' = 'length') {
  return async (connection: OriginConnection): Promise<void> => {
    const head = await connection.readHead()
    expect(head?.values('expect')).toEqual(['100-continue'])
    await connection.send(interim)
    const octets = body === 'length' ? await connection.reader.exactly(4) : await connection.reader.until('0\r\n\r\n')
    await connection.send(plainResponse(octets ?? 'none'))
    await connection.ended
  }
}

describe('a client that waits for 100', () => {
  it.each([
    ['a length', 'Content-Length: 4\r\n\r\n', 'body', 'length', 'body'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n', '4\r\nbody\r\n0\r\n\r\n', 'chunked', '4\r\nbody\r\n0\r\n\r\n'],
  ] as const)('and then sends %s gets it from the origin', async (_name, framing, body, kind, seen) => {
    await using setup = await setUp({ script: origin('HTTP/1.1 100 Continue\r\n\r\n', kind) })
    const client = await setup.connect()
    await client.send(WAITS + framing)
    expect((await client.readHead()).head).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    await client.send(body)
    expect((await client.readResponse()).body.toString()).toBe(seen)
    expect((await setup.event(1)).outcome).toBe('completed')
  })

  it('does not have to: the body may come before', async () => {
    await using setup = await setUp({ script: origin('') })
    const client = await setup.connect()
    await client.send(`${WAITS}Content-Length: 4\r\n\r\n`)
    await setup.reached('upstream-connected')
    await client.send('body')
    expect((await client.readResponse()).body.toString()).toBe('body')
  })

  it('for a body that has none gets the final response', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        while ((await connection.readRequest()) !== undefined) await connection.send(plainResponse('ok'))
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(`${WAITS}Content-Length: 0\r\n\r\n`)
    expect((await client.readResponse()).status).toBe(200)
    await client.send('GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-CONTINUE\r\n\r\n')
    expect((await client.readResponse()).status).toBe(200)
  })

  it.each([401, 403, 413, 417, 200])('gets a %i at once, sends nothing, and its connection closes', async (status) => {
    await using setup = await setUp({
      script: async (connection) => {
        const head = await connection.readHead()
        await connection.send(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`)
        await connection.ended
        expect(connection.reader.receivedBytes).toBe(head?.head.length)
      },
    })
    const client = await setup.connect()
    await client.send(`${WAITS}Content-Length: 4\r\n\r\n`)
    const { status: got, body, values } = await client.readResponse()
    expect([got, body.toString(), values('connection')]).toEqual([status, 'no', ['close']])
    expect(await client.ended).toBe('end')
  })

  it('gets our own refusal at once', async () => {
    await using setup = await setUp({ script: origin(''), route: { hosts: ['served.test'] } })
    const client = await setup.connect()
    await client.send(`${WAITS}Content-Length: 4\r\n\r\n`)
    expect([(await client.readResponse()).status, await client.ended]).toEqual([421, 'end'])
  })

  const missing = missingPrograms('curl')
  it.skipIf(missing !== undefined)(`may be curl${missing === undefined ? '' : ` (skipped: ${missing})`}`, async () => {
    await using setup = await setUp({ script: origin('HTTP/1.1 100 Continue\r\n\r\n') })
    const url = `http://127.0.0.1:${setup.proxy.address.port}/in`
    const args = [
      '-sS',
      '--max-time',
      '10',
      '--expect100-timeout',
      '9',
      '-H',
      'Expect: 100-continue',
      '-d',
      'body',
      url,
    ]
    expect((await promisify(execFile)('curl', args)).stdout).toBe('body')
  })
})

describe('interim responses', () => {
  const hints = (n: number): string => `HTTP/1.1 103 Early Hints\r\nLink: </${n}.css>; rel=preload\r\nX-N: ${n}\r\n\r\n`

  it('are relayed one by one, each before the origin goes on', async () => {
    const relayed: (() => void)[] = []
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        for (let n = 0; n < 16; n++) {
          await connection.send(n === 3 ? 'HTTP/1.1 102 Processing\r\n\r\n' : hints(n))
          await new Promise<void>((resolve) => relayed.push(resolve))
        }
        await connection.send(plainResponse('done'))
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    for (let n = 0; n < 16; n++) {
      const { status, value } = await client.readHead()
      expect([status, value('x-n')]).toEqual(n === 3 ? [102, undefined] : [103, String(n)])
      while (relayed.length === n) await new Promise(setImmediate)
      relayed[n]()
    }
    expect((await client.readResponse()).body.toString()).toBe('done')
  })

  it('lose their hop-by-hop fields', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(
          'HTTP/1.1 103 Early Hints\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 5\r\nLink: </a>\r\n\r\n',
        )
        await connection.send(plainResponse('done'))
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect((await client.readHead()).head).toBe('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')
  })

  it('beyond maxInterimResponses end in a 502', async () => {
    await using setup = await setUp({
      config: { limits: { response: { maxInterimResponses: 2 } } },
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(hints(0) + hints(1) + hints(2))
        await connection.ended
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const statuses = [
      (await client.readHead()).status,
      (await client.readHead()).status,
      (await client.readResponse()).status,
    ]
    expect(statuses).toEqual([103, 103, 502])
    expect(setup.events[0].detail).toContain('maxInterimResponses')
  })
})
