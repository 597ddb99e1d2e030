/** A cloned site posts its own host name back: request bodies under `requestBodies: true`. */
import type { ExchangeEvent } from '@prexy/events/exchange'
import { hostMapOf, hostMapper } from '@prexy/rewrite/host-map'
import type { Rule } from '@prexy/rewrite/rules'
import { answering, plainResponse, type RawRequest } from '@prexy/testing/raw-origin'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { type Setup, setUp, type SetupInit } from './harness.ts'

const rules: readonly Rule[] = [{ domain: 'www.a.example', to: 'b.test', subdomains: 'keep' }]
const FORM = 'Content-Type: application/x-www-form-urlencoded'

function start(init: Partial<SetupInit> = {}): Promise<Setup> {
  return setUp({
    rules,
    script: answering(() => plainResponse('ok')),
    ...init,
    route: { requestBodies: true, ...init.route },
  })
}

interface Seen {
  readonly request: RawRequest
  readonly event: ExchangeEvent
  readonly status: number
}

/** Sends a request in pieces of `size` octets; what the origin saw of it. */
async function post(setup: Setup, head: readonly string[], body: string, size = 1_000_000): Promise<Seen> {
  const client = await setup.connect()
  const before = setup.events.length
  await client.send(`POST / HTTP/1.1\r\nHost: b.test\r\n${head.map((line) => `${line}\r\n`).join('')}\r\n`)
  const octets = Buffer.from(body, 'latin1')
  for (let at = 0; at < octets.length; at += size) {
    await client.send(octets.subarray(at, at + size))
    await new Promise(setImmediate)
  }
  const { status } = await client.readResponse('POST')
  const event = await setup.event(before + 1)
  return { request: setup.origin.requests[setup.origin.requests.length - 1], event, status }
}

const withLength = (body: string, ...lines: readonly string[]): readonly string[] => [
  ...lines,
  `Content-Length: ${body.length}`,
]

const chunked = (body: string, size: number): string => {
  let text = ''
  for (let at = 0; at < body.length; at += size) {
    const piece = body.slice(at, at + size)
    text += `${piece.length.toString(16)}\r\n${piece}\r\n`
  }
  return `${text}0\r\n\r\n`
}

describe('names of the copy become the origin’s', () => {
  test.each([
    [
      FORM,
      'next=https%3A%2F%2Fb.test%2Fhome&host=b.test&q=a',
      'next=https%3A%2F%2Fwww.a.example%2Fhome&host=www.a.example&q=a',
      2,
    ],
    [
      'Content-Type: application/json',
      '{"u":"https:\\/\\/x.b.test\\/","n":"nob.test"}',
      '{"u":"https:\\/\\/x.www.a.example\\/","n":"nob.test"}',
      1,
    ],
    ['Content-Type: text/plain; charset=utf-8', 'b.test', 'www.a.example', 1],
    ['Content-Type: text/plain', 'nothing here', 'nothing here', 0],
  ])('in %s: %s', async (type, body, expected, hits) => {
    await using setup = await start()
    for (const size of [1_000, 7, 1]) {
      const { request, event } = await post(setup, withLength(body, type), body, size)
      expect(request.body.toString('latin1')).toBe(expected)
      expect(request.values('content-length')).toEqual([String(expected.length)])
      expect(request.value('transfer-encoding')).toBeUndefined()
      expect(event.requestTreatment).toEqual({ kind: 'mapped', hits, inBytes: body.length, outBytes: expected.length })
      expect(event.upstreamOutBytes).toBe(expected.length)
    }
  })

  it('in a chunked body, which gets a length if it is short', async () => {
    await using setup = await start()
    const { request } = await post(setup, [FORM, 'Transfer-Encoding: chunked'], chunked('host=b.test&x=1', 3))
    expect(request.body.toString()).toBe('host=www.a.example&x=1')
    expect(request.value('content-length')).toBe('22')
  })

  it.each([
    ['a length', (body: string) => [withLength(body, FORM), body] as const],
    ['chunks', (body: string) => [[FORM, 'Transfer-Encoding: chunked'], chunked(body, 999)] as const],
  ])('in a long one with %s, which goes up in chunks', async (_, make) => {
    await using setup = await start()
    const body = 'host=b.test&'.repeat(40_000)
    const [head, octets] = make(body)
    const { request, event } = await post(setup, head, octets, 10_000)
    expect(request.body.toString()).toBe(body.replaceAll('b.test', 'www.a.example'))
    expect(request.value('content-length')).toBeUndefined()
    expect(request.value('transfer-encoding')).toBe('chunked')
    expect(event.requestTreatment).toMatchObject({ kind: 'mapped', hits: 40_000 })
  })

  it('in one at the limit of what is gathered', async () => {
    await using setup = await start({ config: { limits: { maxRequestBufferBytes: 13 } } })
    const short = await post(setup, withLength('b.test', FORM), 'b.test')
    expect(short.request.value('content-length')).toBe('13')
    const longer = await post(setup, withLength('b.test&b.test&', FORM), 'b.test&b.test&', 1)
    expect(longer.request.body.toString()).toBe('www.a.example&www.a.example&')
    expect(longer.request.value('transfer-encoding')).toBe('chunked')
  })

  it('in the fields of a form with a file, and not in the file', async () => {
    await using setup = await start()
    const form = (host: string): string =>
      `--x\r\nContent-Disposition: form-data; name="home"\r\n\r\nhttp://${host}/\r\n` +
      '--x\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\nContent-Type: text/plain\r\n\r\nb.test\0\r\n' +
      `--x\r\nContent-Disposition: form-data; name="b.test"\r\n\r\n${host}\r\n--x--\r\n`
    const body = form('b.test')
    for (const size of [1_000, 11]) {
      const { request, event } = await post(
        setup,
        withLength(body, 'Content-Type: multipart/form-data; boundary=x'),
        body,
        size,
      )
      expect(request.body.toString('latin1')).toBe(form('www.a.example'))
      expect(event.requestTreatment).toMatchObject({ kind: 'mapped', hits: 2 })
    }
  })

  it('and what vouched for the old octets goes', async () => {
    await using setup = await start()
    const { request } = await post(
      setup,
      ['Content-Digest: sha-256=:x:', 'Digest: x', 'Content-MD5: x', 'X-A: 1', ...withLength('b.test', FORM)],
      'b.test',
    )
    expect(['content-digest', 'digest', 'content-md5', 'x-a'].map((name) => request.value(name))).toEqual([
      undefined,
      undefined,
      undefined,
      '1',
    ])
  })

  it('by the rules whose conditions hold', async () => {
    await using setup = await start({
      rules: [
        { domain: 'x.example', to: 'b.test', methods: ['PUT'] },
        { domain: 'a.example', to: 'b.test', types: ['text/html'], once: true },
      ],
    })
    const { request } = await post(setup, withLength('b.test b.test', FORM), 'b.test b.test')
    expect(request.body.toString()).toBe('a.example a.example')
  })
})

it('any body, however it is framed and cut, arrives whole, and the next request after it', async () => {
  await using setup = await start({ config: { limits: { maxRequestBufferBytes: 40 } } })
  const client = await setup.connect()
  const up = hostMapper(hostMapOf(rules)?.up ?? [])
  const piece = fc.constantFrom(
    'b.test',
    'x.b.test',
    'b.',
    'test',
    '&',
    '%2F',
    'aaaaaaaaaaaaaaaaaaaa',
    '\r\n',
    '0\r\n\r\n',
  )
  const body = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  const size = fc.integer({ min: 1, max: 60 })
  await fc.assert(
    fc.asyncProperty(body, fc.boolean(), size, size, async (text, inChunks, chunkSize, cut) => {
      const framing = inChunks ? 'Transfer-Encoding: chunked' : `Content-Length: ${text.length}`
      const octets = Buffer.from(
        `POST / HTTP/1.1\r\nHost: b.test\r\n${FORM}\r\n${framing}\r\n\r\n${inChunks ? chunked(text, chunkSize) : text}` +
          'GET /next HTTP/1.1\r\nHost: b.test\r\n\r\n',
        'latin1',
      )
      const before = setup.origin.requests.length
      for (let at = 0; at < octets.length; at += cut * 5) await client.send(octets.subarray(at, at + cut * 5))
      expect([(await client.readResponse('POST')).status, (await client.readResponse('GET')).status]).toEqual([
        200, 200,
      ])
      const [posted, next] = setup.origin.requests.slice(before)
      const expected = up(text)
      expect(posted.body.toString('latin1')).toBe(expected)
      expect([next.method, next.target, next.body.length]).toEqual(['GET', '/next', 0])
    }),
    { numRuns: 100 },
  )
})

describe('a body goes up as it came', () => {
  test.each<[what: string, init: Partial<SetupInit>, head: readonly string[], treatment: unknown]>([
    ['without requestBodies', { route: { requestBodies: false } }, [FORM], undefined],
    ['without domain rules', { rules: [{ text: 'b.test', with: 'x' }] }, [FORM], undefined],
    ['of another type', {}, ['Content-Type: application/octet-stream'], { kind: 'passed', reason: 'content-type' }],
    ['compressed', {}, [FORM, 'Content-Encoding: gzip'], { kind: 'passed', reason: 'coding' }],
    ['under no-transform', {}, [FORM, 'Cache-Control: no-transform'], { kind: 'passed', reason: 'no-transform' }],
  ])('%s', async (_, init, head, treatment) => {
    await using setup = await start(init)
    const { request, event } = await post(setup, withLength('u=b.test', ...head), 'u=b.test')
    expect(request.body.toString()).toBe('u=b.test')
    expect(request.value('content-length')).toBe('8')
    expect(event.requestTreatment).toEqual(treatment)
  })
})

describe('while a body is gathered', () => {
  it('no connection to the upstream is held, and a client that leaves is noticed', async () => {
    await using setup = await start()
    const client = await setup.connect()
    await client.send(`POST / HTTP/1.1\r\nHost: b.test\r\n${FORM}\r\nContent-Length: 100\r\n\r\nhost=b.test`)
    await setup.reached('route')
    expect(setup.origin.connections).toBe(0)
    client.destroy()
    expect((await setup.event(1)).outcome).toBe('client-aborted')
    expect(setup.origin.connections).toBe(0)
  })

  it('one that stands still is answered 408', async () => {
    await using setup = await start({ manualTime: true })
    const client = await setup.connect()
    await client.send(`POST / HTTP/1.1\r\nHost: b.test\r\n${FORM}\r\nContent-Length: 100\r\n\r\nhost=b.test`)
    await setup.reached('route')
    await new Promise(setImmediate)
    setup.wheel.advance(120_000)
    expect((await client.readResponse('POST')).status).toBe(408)
    expect((await setup.event(1)).outcome).toBe('client-timeout')
  })

  it('one that is malformed is answered 400, and the upstream never hears of it', async () => {
    await using setup = await start()
    const client = await setup.connect()
    await client.send(`POST / HTTP/1.1\r\nHost: b.test\r\n${FORM}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`)
    expect((await client.readResponse('POST')).status).toBe(400)
    expect(setup.origin.connections).toBe(0)
  })

  it('a client that waits for a 100 gets that of the upstream', async () => {
    await using setup = await start({
      script: async (connection) => {
        const head = await connection.readHead()
        await connection.send('HTTP/1.1 100 Continue\r\n\r\n')
        const chunk = await connection.reader.until('0\r\n\r\n')
        await connection.send(
          plainResponse(`${head?.value('transfer-encoding') ?? ''} ${JSON.stringify(chunk?.toString())}`),
        )
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(`POST / HTTP/1.1\r\nHost: b.test\r\n${FORM}\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n`)
    expect((await client.readResponse('POST')).status).toBe(100)
    await client.send('b.test')
    expect((await client.readResponse('POST')).body.toString()).toBe(
      'chunked "d\\r\\nwww.a.example\\r\\n0\\r\\n\\r\\n"',
    )
  })
})
