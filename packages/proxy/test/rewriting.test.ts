import * as zlib from 'node:zlib'
import { CONTENT_CODINGS, type ContentCoding } from '@prexy/net/content-decoder'
import { encodeWhole } from '@prexy/net/whole-body'
import type { RawResponse } from '@prexy/testing/raw-client'
import { answering, chunkedResponse, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const HTML = 'Content-Type: text/html'
const UTF8 = 'Content-Type: text/html; charset=utf-8'
const rules = [
  { text: 'www.example.org', with: 'www.example.de' },
  { regex: 'UA-[0-9]+-[0-9]+', with: 'UA-99-1' },
]
const page = (lines: number): string =>
  Array.from({ length: lines }, (_, i) => `<a href="https://www.example.org/${i}">UA-1234-${i} über</a>\n`).join('')
const rewritten = (text: string): string =>
  text.replaceAll('www.example.org', 'www.example.de').replaceAll(/UA-\d+-\d+/g, 'UA-99-1')

function decoded(response: RawResponse): string {
  const coding = response.value('content-encoding')
  const { body } = response
  if (coding === undefined) return body.toString()
  if (coding === 'gzip') return zlib.gunzipSync(body).toString()
  if (coding === 'deflate') return zlib.inflateSync(body).toString()
  if (coding === 'br') return zlib.brotliDecompressSync(body).toString()
  return (zlib as unknown as { zstdDecompressSync: (body: Buffer) => Buffer }).zstdDecompressSync(body).toString()
}

/** Sends the octets in pieces, each in a packet of its own as far as the kernel allows. */
async function sendCut(connection: OriginConnection, octets: Uint8Array, size: number): Promise<void> {
  for (let at = 0; at < octets.length; at += size) {
    await connection.send(octets.subarray(at, at + size))
    await new Promise(setImmediate)
  }
}

function cutting(size: number, respond: () => Uint8Array) {
  return async (connection: OriginConnection): Promise<void> => {
    while ((await connection.readRequest()) !== undefined) await sendCut(connection, respond(), size)
    connection.end()
  }
}

describe('a body that rules apply to', () => {
  it('that came in one read gets its true length', async () => {
    const text = page(20)
    await using setup = await setUp({ rules, script: answering(() => plainResponse(text, HTML, 'ETag: "a"')) })
    const client = await setup.connect()
    for (let i = 0; i < 3; i++) {
      const response = await client.get('/')
      expect([response.framing, decoded(response) === rewritten(text)]).toEqual(['length', true])
      expect(response.value('etag')).toMatch(/^W\/"a-p[0-9a-f]{16}"$/)
    }
    const { treatment, outcome } = setup.events[0]
    expect(outcome).toBe('completed')
    expect(treatment).toMatchObject({
      kind: 'rewritten',
      decode: 'identity',
      encode: 'identity',
      stats: { hits: [20, 20] },
    })
    expect(setup.origin.connections).toBe(1)
  })

  it.each([
    ['a length', (text: string) => plainResponse(text, HTML)],
    ['chunks', (text: string) => chunkedResponse([text.slice(0, 999), text.slice(999)], HTML)],
  ])('with %s is rewritten however it is cut', async (_name, make) => {
    const text = page(200)
    for (const size of [100_000, 1_000, 37]) {
      await using setup = await setUp({ rules, script: cutting(size, () => make(text)) })
      const client = await setup.connect()
      for (let i = 0; i < 2; i++) expect(decoded(await client.get('/'))).toBe(rewritten(text))
    }
  })

  it('of megabytes streams through', async () => {
    const text = page(100_000)
    const response = plainResponse(text, HTML)
    await using setup = await setUp({ rules, script: answering(() => response) })
    const client = await setup.connect()
    const got = await client.get('/')
    expect([got.framing, decoded(got) === rewritten(text)]).toEqual(['chunked', true])
  })

  it('of another type passes unchanged, with its reason in the event', async () => {
    await using setup = await setUp({
      rules,
      script: answering(() => plainResponse('www.example.org', 'Content-Type: image/png', 'ETag: "a"')),
    })
    const response = await (await setup.connect()).get('/')
    expect([response.body.toString(), response.value('etag')]).toEqual(['www.example.org', '"a"'])
    expect(setup.events[0].treatment).toEqual({ kind: 'passed', reason: 'content-type' })
  })

  it('of a 304 and after HEAD has its head edited only', async () => {
    await using setup = await setUp({
      rules,
      script: answering((request) =>
        request.method === 'HEAD'
          ? Buffer.from(`HTTP/1.1 200 OK\r\n${HTML}\r\nETag: "a"\r\nContent-Length: 10\r\n\r\n`)
          : Buffer.from('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 10\r\n\r\n'),
      ),
    })
    const client = await setup.connect()
    await client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n')
    const head = await client.readResponse('HEAD')
    const notModified = await client.get('/')
    for (const response of [head, notModified]) {
      expect([response.value('etag')?.startsWith('W/"a-p'), response.value('content-length')]).toEqual([
        true,
        undefined,
      ])
    }
    expect(setup.events.map(({ treatment }) => treatment)).toEqual([
      { kind: 'head-only', reason: 'head' },
      { kind: 'head-only', reason: 'not-modified' },
    ])
  })

  it('goes to an HTTP/1.0 client with a length if it is small, else until the close', async () => {
    let text = page(5)
    await using setup = await setUp({ rules, script: answering(() => plainResponse(text, HTML)) })
    const small = await setup.connect()
    await small.send('GET / HTTP/1.0\r\n\r\n')
    const short = await small.readResponse()
    expect([short.framing, decoded(short)]).toEqual(['length', rewritten(text)])
    text = page(10_000)
    const big = await setup.connect()
    await big.send('GET / HTTP/1.0\r\n\r\n')
    const long = await big.readResponse()
    expect([long.framing, long.complete, decoded(long) === rewritten(text)]).toEqual(['close', true, true])
  })

  it('is empty if it is', async () => {
    await using setup = await setUp({
      rules,
      script: answering(() => chunkedResponse([], HTML, 'Content-Encoding: gzip')),
    })
    const response = await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect([response.complete, decoded(response)]).toEqual([true, ''])
  })

  it('keeps trailers but digests of what the origin sent', async () => {
    await using setup = await setUp({
      rules,
      script: answering(() =>
        Buffer.from(
          `HTTP/1.1 200 OK\r\n${HTML}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nContent-Digest: sha-256=:eA==:\r\n\r\n`,
        ),
      ),
    })
    const response = await (await setup.connect()).get('/', 'TE: trailers', 'Connection: TE')
    expect([decoded(response), response.trailers]).toEqual(['hi', ['X-Sum: 1']])
  })
})

describe.each(CONTENT_CODINGS)('a body coded %s', (coding: ContentCoding) => {
  const lines = [HTML, `Content-Encoding: ${coding}`]

  it.each([...CONTENT_CODINGS, 'identity'])('is rewritten and leaves as %s', async (accepted) => {
    for (const text of [page(10), page(6_000)]) {
      const coded = encodeWhole(coding, Buffer.from(text))
      for (const size of [1_000_000, 4_000]) {
        await using setup = await setUp({ rules, script: cutting(size, () => plainResponse(coded, ...lines)) })
        const client = await setup.connect()
        for (let i = 0; i < 2; i++) {
          const response = await client.get('/', `Accept-Encoding: ${accepted}`)
          expect(response.value('content-encoding')).toBe(accepted === 'identity' ? undefined : accepted)
          expect(response.value('vary')?.toLowerCase()).toContain('accept-encoding')
          expect(decoded(response) === rewritten(text)).toBe(true)
        }
        expect(setup.origin.connections).toBe(1)
      }
    }
  })

  it('that is truncated is never cleanly ended, and 502 if nothing has gone out', async () => {
    const coded = encodeWhole(coding, Buffer.from(page(20_000)))
    await using setup = await setUp({
      rules,
      script: answering((request) => plainResponse(coded.subarray(0, Number(request.target.slice(1))), ...lines)),
    })
    for (const length of [5, 40, coded.length >> 1, coded.length - 1]) {
      const client = await setup.connect()
      await client.send(`GET /${length} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n\r\n`)
      const outcome = await client.readResponse().then(
        (response) => (response.status === 502 ? 'refused' : response.complete ? 'clean' : 'broken'),
        () => 'broken',
      )
      expect([length, outcome === 'clean']).toEqual([length, false])
    }
    expect(setup.events.map(({ outcome, detail }) => [outcome, detail])).toEqual(
      Array.from({ length: 4 }, () => ['rewrite-aborted', 'the coded body ends early']),
    )
  })

  it('that is something else is refused', async () => {
    await using setup = await setUp({ rules, script: answering(() => plainResponse(page(3), ...lines)) })
    const response = await (await setup.connect()).get('/')
    const { outcome, detail, treatment } = setup.events[0]
    expect([response.status, outcome, detail, treatment]).toEqual([
      502,
      'rewrite-aborted',
      'the body is not what its Content-Encoding says',
      undefined,
    ])
  })

  it('that grows beyond maxDecodedBytes is broken off', async () => {
    const bomb = encodeWhole(coding, Buffer.alloc(30_000_000))
    await using setup = await setUp({
      rules,
      script: answering(() => plainResponse(bomb, ...lines)),
      config: { limits: { maxDecodedBytes: 5_000_000 } },
    })
    const response = await (await setup.connect()).get('/')
    expect([response.complete, response.body.length <= 5_000_000]).toEqual([false, true])
    expect([setup.events[0].outcome, setup.events[0].detail]).toEqual([
      'rewrite-aborted',
      'the body decodes to more than maxDecodedBytes',
    ])
  })

  it('that came in one read and grows beyond maxDecodedBytes is refused', async () => {
    const body = plainResponse(encodeWhole(coding, Buffer.alloc(5_001)), ...lines)
    for (const [maxDecodedBytes, status] of [
      [5_000, 502],
      [5_001, 200],
    ] as const) {
      await using setup = await setUp({ rules, script: answering(() => body), config: { limits: { maxDecodedBytes } } })
      expect((await (await setup.connect()).get('/')).status).toBe(status)
    }
  })

  it('of events is passed on event by event', async () => {
    const events = Array.from({ length: 5 }, (_, i) => `data: www.example.org ${i}\n\n`)
    let next: (() => void) | undefined
    await using setup = await setUp({
      rules,
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(
          `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n`,
        )
        const encoder = streamingEncoder(coding)
        for (const event of events) {
          await new Promise<void>((resolve) => {
            next = resolve
          })
          const coded = await encoder(event)
          await connection.send(
            Buffer.concat([Buffer.from(`${coded.length.toString(16)}\r\n`), coded, Buffer.from('\r\n')]),
          )
        }
        await connection.ended
      },
    })
    for (const accepted of ['identity', 'gzip']) {
      const client = await setup.connect()
      await client.send(`GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${accepted}\r\n\r\n`)
      const head = await client.readHead()
      expect(head.value('content-encoding')).toBe(accepted === 'identity' ? undefined : accepted)
      const gunzip = zlib.createGunzip()
      for (const event of events) {
        while (next === undefined) await new Promise(setImmediate)
        next()
        next = undefined
        // The next event is not made before this one has come.
        const expected = event.replace('org', 'de')
        let seen = ''
        while (seen !== expected) {
          const size = Number.parseInt(String(await client.reader.until('\r\n')), 16)
          const data = await client.reader.exactly(size)
          await client.reader.exactly(2)
          if (accepted === 'identity') {
            seen += data.toString()
            continue
          }
          gunzip.write(data)
          for (let part = gunzip.read() as Buffer | null; seen !== expected; part = gunzip.read() as Buffer | null) {
            if (part === null) {
              // Output may come in a later turn, or with the next chunk of the response.
              const readable = new Promise((resolve) => gunzip.once('readable', resolve))
              await Promise.race([readable, flushed(gunzip)])
              part = gunzip.read() as Buffer | null
              if (part === null) break
            }
            seen += part.toString()
          }
        }
      }
      client.destroy()
    }
  })
})

/** Resolves after everything written to the stream has been worked on. */
function flushed(stream: zlib.Gunzip): Promise<void> {
  return new Promise((resolve) => {
    stream.write(Buffer.alloc(0), () => setImmediate(resolve))
  })
}

function streamingEncoder(coding: ContentCoding): (text: string) => Promise<Buffer> {
  const { createZstdCompress } = zlib as unknown as { createZstdCompress: () => zlib.Gzip }
  const make = {
    gzip: zlib.createGzip,
    deflate: zlib.createDeflate,
    br: zlib.createBrotliCompress,
    zstd: createZstdCompress,
  }
  const stream = make[coding]() as zlib.Gzip
  return (text) =>
    new Promise((resolve) => {
      const parts: Buffer[] = []
      const collect = (part: Buffer): void => void parts.push(part)
      stream.on('data', collect)
      stream.write(text)
      stream.flush(() => {
        setImmediate(() => {
          stream.off('data', collect)
          resolve(Buffer.concat(parts))
        })
      })
    })
}

it('junk after a gzip body is dropped and told', async () => {
  const coded = Buffer.concat([zlib.gzipSync(page(3)), Buffer.from('<!-- cached -->')])
  await using setup = await setUp({
    rules,
    script: answering(() => plainResponse(coded, HTML, 'Content-Encoding: gzip')),
  })
  const response = await (await setup.connect()).get('/')
  expect(decoded(response)).toBe(rewritten(page(3)))
  const event = await setup.event(1)
  expect([event.outcome, event.detail]).toEqual(['completed', '15 octets of junk followed the coded body'])
})

it('a stacked or unknown coding passes unchanged', async () => {
  await using setup = await setUp({
    rules,
    script: answering((request) =>
      plainResponse('www.example.org', HTML, `Content-Encoding: ${request.target.slice(1)}`),
    ),
  })
  const client = await setup.connect()
  for (const coding of ['gzip,br', 'compress']) {
    const response = await client.get(`/${coding}`)
    expect([response.body.toString(), response.value('content-encoding')]).toEqual(['www.example.org', coding])
  }
  expect(setup.events.map(({ treatment }) => treatment)).toEqual([
    { kind: 'passed', reason: 'coding-stacked' },
    { kind: 'passed', reason: 'coding-unknown' },
  ])
})

it('the head of a streamed response does not wait for its body', async () => {
  await using setup = await setUp({
    rules,
    script: async (connection) => {
      const request = await connection.readRequest()
      const coding = request?.target === '/gzip' ? 'Content-Encoding: gzip\r\n' : ''
      await connection.send(`HTTP/1.1 200 OK\r\n${HTML}\r\n${coding}Transfer-Encoding: chunked\r\n\r\n`)
      // The header of a gzip member decodes to nothing.
      if (coding !== '')
        await connection.send(
          Buffer.concat([Buffer.from('a\r\n'), zlib.gzipSync('').subarray(0, 10), Buffer.from('\r\n')]),
        )
      await connection.ended
    },
  })
  for (const [target, accepted] of [
    ['/plain', 'identity'],
    ['/plain', 'gzip'],
    ['/gzip', 'identity'],
    ['/gzip', 'gzip'],
  ]) {
    const client = await setup.connect()
    await client.send(`GET ${target} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${accepted}\r\n\r\n`)
    expect((await client.readHead()).status).toBe(200)
    client.destroy()
  }
})

it('text that a match may begin with is held, and only that', async () => {
  let proceed = (): void => {}
  await using setup = await setUp({
    rules: [{ text: 'abcdef', with: 'X' }],
    script: async (connection) => {
      await connection.readRequest()
      await connection.send(`HTTP/1.1 200 OK\r\n${UTF8}\r\nTransfer-Encoding: chunked\r\n\r\n7\r\none abc\r\n`)
      await new Promise<void>((resolve) => {
        proceed = resolve
      })
      await connection.send('7\r\ndef two\r\n0\r\n\r\n')
      await connection.ended
    },
  })
  const client = await setup.connect()
  await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.readHead()
  expect(String(await client.reader.exactly('4\r\none \r\n'.length))).toBe('4\r\none \r\n')
  proceed()
  expect(String(await client.reader.until('0\r\n\r\n'))).toBe('5\r\nX two\r\n0\r\n\r\n')
  expect(setup.events[0].treatment).toMatchObject({ stats: { peakHeldBytes: 3, inBytes: 14, outBytes: 9 } })
})

it.each([
  ['that matches it', { regex: '$', with: 'added' }, 'added'],
  ['that does not', { text: 'a', with: 'b' }, ''],
])('an empty body and a rule %s: however it is framed or coded, and after HEAD', async (_name, rule, expected) => {
  const lines = `${HTML}\r\nETag: "a"\r\n`
  const heads: Readonly<Record<string, string>> = {
    '/length': `${lines}Content-Length: 0\r\n\r\n`,
    '/chunked': `${lines}Transfer-Encoding: chunked\r\n\r\n`,
    '/gzip': `${lines}Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n`,
  }
  await using setup = await setUp({
    rules: [rule],
    script: answering(({ method, target }) => {
      const end = method === 'GET' && target === '/chunked' ? '0\r\n\r\n' : ''
      return `HTTP/1.1 200 OK\r\n${heads[target]}${end}`
    }),
  })
  const client = await setup.connect()
  for (const target of Object.keys(heads)) {
    for (const accepts of target === '/gzip' ? ['identity', 'gzip'] : ['identity']) {
      const response = await client.get(target, `Accept-Encoding: ${accepts}`)
      await client.send(`HEAD ${target} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${accepts}\r\n\r\n`)
      const head = await client.readResponse('HEAD')
      expect([target, accepts, decoded(response)]).toEqual([target, accepts, expected])
      expect(response.value('etag')).toMatch(/^W\/"a-p[0-9a-f]{16}"$/)
      for (const name of ['etag', 'vary', 'content-encoding', 'content-type']) {
        expect([name, head.value(name)]).toEqual([name, response.value(name)])
      }
    }
  }
  expect(setup.origin.connections).toBe(1)
})

it('overflow: abort breaks the response off', async () => {
  await using setup = await setUp({
    rules: [{ regex: '<a.*</a>', flags: 's', with: '' }],
    ruleOptions: { overflow: 'abort', maxHeldBytes: 1_000 },
    script: answering(() => plainResponse(`${'x'.repeat(200_000)}<a${'y'.repeat(5_000)}`, HTML)),
  })
  const response = await (await setup.connect()).get('/')
  expect(response.complete).toBe(false)
  expect([setup.events[0].outcome, setup.events[0].detail]).toEqual(['rewrite-aborted', 'maxHeldBytes was met'])
})

it('request variables reach templates', async () => {
  await using setup = await setUp({
    rules: [{ regex: 'VARS', with: '${method} ${host} ${path} ${query} ${status} ${scheme}' }],
    script: answering(() => plainResponse('VARS', 'Content-Type: text/plain')),
  })
  const response = await (await setup.connect()).get('/a/b?c=d')
  expect(response.body.toString()).toBe('GET proxy.test /a/b c=d 200 http')
})
