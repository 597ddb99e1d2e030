/** curl as the client of a proxy whose origin misbehaves, or which itself is slow or goes away. */
import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { readChunked, readLength } from '@prexy/testing/byte-reader'
import { curl } from '@prexy/testing/curl'
import { missingPrograms } from '@prexy/testing/programs'
import {
  answering,
  chunkedResponse,
  type OriginConnection,
  plainResponse,
  type RawRequest,
} from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const rules = [{ text: 'needle', with: 'pin' }]
const HTML = 'Content-Type: text/html'
const TEXT = Array.from({ length: 20_000 }, (_, line) => `line ${line} of a haystack with a needle\n`).join('')
const REWRITTEN = TEXT.replaceAll('needle', 'pin')

const missing = missingPrograms('curl')
if (missing === undefined) {
  describe('curl', () => {
    describe('an upstream that breaks off', () => {
      testBrokenUpstreams()
    })
    describe('the client', () => {
      testClients()
    })
  })
} else {
  it('curl', (context) => context.skip(missing))
}

interface Truncation {
  readonly how: string
  readonly octets: Uint8Array
  /** Its framing says that it is whole: only who decodes it can know better. */
  readonly onlyDecoded?: boolean
  /** There is no length: only a reset tells. */
  readonly untilClose?: boolean
}

function testBrokenUpstreams(): void {
  const gzipped = gzipSync(TEXT, { level: 0 })
  const coded = 'Content-Encoding: gzip'
  const truncations: readonly Truncation[] = [
    { how: 'before its length', octets: plainResponse(TEXT, HTML).subarray(0, 300_000) },
    { how: 'within a chunk', octets: chunkedResponse([TEXT, TEXT], HTML).subarray(0, 300_000) },
    { how: 'before the last chunk', octets: chunkedResponse([TEXT], HTML).subarray(0, -5) },
    { how: 'before its length, coded', octets: plainResponse(gzipped, HTML, coded).subarray(0, 300_000) },
    {
      how: 'before the end of its coding',
      octets: plainResponse(gzipped.subarray(0, 300_000), HTML, coded),
      onlyDecoded: true,
    },
    { how: 'without a length', octets: Buffer.from(`HTTP/1.1 200 OK\r\n${HTML}\r\n\r\n${TEXT}`), untilClose: true },
  ]
  const clients = [[], ['--compressed'], ['-0']] as const

  describe.each(truncations)('$how', ({ octets, onlyDecoded = false, untilClose = false }) => {
    const endings = [...(untilClose ? [] : ['end' as const]), ...(onlyDecoded ? [] : ['reset' as const])]
    it.each(endings)('by %s', async (ending) => {
      for (const withRules of onlyDecoded ? [rules] : [rules, []]) {
        await using setup = await setUp({
          rules: withRules,
          script: async (connection) => {
            await connection.readRequest()
            await connection.send(octets)
            await setup.reached('response-body')
            connection[ending]()
          },
        })
        const url = `http://127.0.0.1:${setup.proxy.address.port}/`
        const results = await Promise.all(clients.map((args) => curl([...args, url])))
        for (const [i, { exit, last, body }] of results.entries()) {
          const about = { client: clients[i].join(' '), rewritten: withRules.length > 0 }
          // What broke before anything of it went out is answered with an error.
          if (last.status !== 502)
            expect({ ...about, exit: [18, 56].includes(exit ?? 0) }).toEqual({ ...about, exit: true })
          else expect(exit).toBe(0)
          if (last.status === 200 && withRules.length > 0) {
            expect(REWRITTEN.startsWith(body.toString('latin1'))).toBe(true)
          }
        }
        await setup.event(3)
        const outcome = onlyDecoded ? 'rewrite-aborted' : 'upstream-aborted'
        expect(setup.events.map((event) => event.outcome)).toEqual([outcome, outcome, outcome])
      }
    })
  })
}

/** What TCP connections on loopback may hold on the way, both hops together. */
const KERNEL_BYTES = 24_000_000
const ENDLESS_BYTES = 2_000_000_000

function testClients(): void {
  it('slow, stops the origin; gone, takes the origin with it', async () => {
    const chunk = Buffer.from(TEXT)
    const sent = new Map<string, number>()
    const ends: string[] = []
    await using setup = await setUp({
      rules,
      script: async ({ readRequest, send, socket, ended }: OriginConnection) => {
        const target = (await readRequest())?.target ?? ''
        const type = target === '/rewritten' ? HTML : 'Content-Type: application/octet-stream'
        await send(`HTTP/1.1 200 OK\r\n${type}\r\nContent-Length: ${ENDLESS_BYTES}\r\n\r\n`)
        let gone = false
        const closed = ended.then((end) => {
          gone = true
          ends.push(end)
        })
        while (!gone && !socket.destroyed) {
          sent.set(target, (sent.get(target) ?? 0) + chunk.length)
          if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => {}), closed])
        }
        await closed
      },
    })
    const url = `http://127.0.0.1:${setup.proxy.address.port}`
    for (const target of ['/rewritten', '/passed']) {
      // curl itself sees to the time: it reads a little, waits, and leaves.
      const { exit, last, body } = await curl(['--limit-rate', '20k', '-m', '1.5', url + target])
      const taken = sent.get(target) ?? 0
      expect([exit, last.status]).toEqual([28, 200])
      expect(body.length).toBeLessThan(20_000_000)
      expect(taken).toBeGreaterThan(body.length)
      expect(taken).toBeLessThan(2 * body.length + KERNEL_BYTES)
    }
    await setup.event(2)
    expect(setup.events.map((event) => event.outcome)).toEqual(['client-aborted', 'client-aborted'])
    while (ends.length < 2) await new Promise(setImmediate)
  })

  it('out of patience before the response, takes the origin with it', async () => {
    let ended: Promise<string> | undefined
    await using setup = await setUp({
      rules,
      script: async (connection) => {
        await connection.readRequest()
        ended = connection.ended
        await ended
      },
    })
    const { exit } = await curl(['-m', '0.2', `http://127.0.0.1:${setup.proxy.address.port}/`])
    expect(exit).toBe(28)
    expect((await setup.event(1)).outcome).toBe('client-aborted')
    await ended
  })

  it('posts, and both bodies go through', async () => {
    const body = Buffer.from(TEXT)
    await using setup = await setUp({
      rules,
      script: async (connection) => {
        for (let head = await connection.readHead(); head; head = await connection.readHead()) {
          if (head.value('expect') !== undefined) await connection.send('HTTP/1.1 100 Continue\r\n\r\n')
          const chunked = head.value('transfer-encoding') === 'chunked'
          const length = Number(head.value('content-length') ?? 0)
          const request = await (chunked ? readChunked(connection.reader) : readLength(connection.reader, length))
          await connection.send(plainResponse(request.body, HTML))
        }
        connection.end()
      },
    })
    const url = `http://127.0.0.1:${setup.proxy.address.port}/`
    for (const args of [
      ['--data-binary', '@-'],
      ['-X', 'POST', '-T', '-'],
      ['-X', 'POST', '-T', '-', '-H', 'Expect: 100-continue', '--expect100-timeout', '50'],
      ['-0', '--data-binary', '@-'],
    ]) {
      const result = await curl([...args, url], { input: body })
      expect([args, result.exit, result.last.status]).toEqual([args, 0, 200])
      expect(result.body.toString() === REWRITTEN).toBe(true)
    }
  })

  it('keeps its connection from one POST to the next', async () => {
    const bodies: string[] = []
    await using setup = await setUp({
      script: answering((request: RawRequest) => {
        bodies.push(request.body.toString())
        return plainResponse(request.body)
      }),
    })
    const url = `http://127.0.0.1:${setup.proxy.address.port}/`
    const { exit, transfers, body } = await curl(['-d', 'a=1', url, url, url])
    expect([exit, body.toString(), bodies]).toEqual([0, 'a=1a=1a=1', ['a=1', 'a=1', 'a=1']])
    expect(transfers.map((one) => one.newConnections)).toEqual([1, 0, 0])
    expect(setup.origin.connections).toBe(1)
  })
}
