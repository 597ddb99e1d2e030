import * as zlib from 'node:zlib'
import { CONTENT_CODINGS, type ContentCoding } from '@prexy/net/content-decoder'
import { createZstdDecoder } from '@prexy/net/zstd'
import { curl } from '@prexy/testing/curl'
import { missingPrograms } from '@prexy/testing/programs'
import { answering, chunkedResponse, plainResponse, type RawRequest, startRawOrigin } from '@prexy/testing/raw-origin'
import { describe, expect, it, test } from 'vitest'
import type { CompressConfig } from '../src/proxy-config.ts'
import { type Setup, setUp, type SetupInit } from './harness.ts'

const HTML = 'Content-Type: text/html'
const CODINGS = CONTENT_CODINGS.filter((coding) => coding !== 'deflate')
const COMPRESS: CompressConfig = { codings: ['br', 'zstd', 'gzip'], types: ['text/*'], minBytes: 100, levels: {} }

function compressing(
  respond: (request: RawRequest) => string | Uint8Array,
  more: Partial<Omit<SetupInit, 'script'>> = {},
): Promise<Setup> {
  return setUp({ ...more, script: answering(respond), route: { compress: COMPRESS, ...more.route } })
}

async function decoded(coding: ContentCoding, body: Uint8Array): Promise<string> {
  const engine = {
    gzip: zlib.createGunzip,
    deflate: zlib.createInflate,
    br: zlib.createBrotliDecompress,
    zstd: () => createZstdDecoder(32_768),
  }[coding]()
  engine.end(body)
  const parts: Buffer[] = []
  for await (const part of engine) parts.push(Buffer.from(part))
  return Buffer.concat(parts).toString()
}

const page = 'A page of some length. '.repeat(20)
const large = Array.from({ length: 40_000 }, (_, line) => `${line} ${(line * 2_654_435_761) >>> 0}`).join('\n')

describe.each(CODINGS)('in %s', (coding) => {
  it.each([
    ['of one read', () => plainResponse(page, HTML), page],
    ['of many reads', () => plainResponse(large, HTML), large],
    ['in chunks', () => chunkedResponse([page, page, page], HTML), page.repeat(3)],
    ['that is empty and of unknown length', () => chunkedResponse([], HTML), ''],
  ])('a body %s arrives whole and compressed', async (_name, respond, text) => {
    await using setup = await compressing(respond)
    const response = await (await setup.connect()).get('/', `Accept-Encoding: ${coding}`)
    expect([response.value('content-encoding'), response.value('vary')]).toEqual([coding, 'Accept-Encoding'])
    expect((await decoded(coding, response.body)) === text).toBe(true)
    if (text.length > 0) expect(response.body.length).toBeLessThan(text.length * 0.8)
    expect((await setup.event(1)).treatment).toEqual({ kind: 'passed', reason: 'no-rules', encode: coding })
  })

  it('what rules changed is compressed, too', async () => {
    await using setup = await compressing(() => plainResponse(page, HTML), { rules: [{ text: 'page', with: 'leaf' }] })
    const response = await (await setup.connect()).get('/', `Accept-Encoding: ${coding}`)
    expect(await decoded(coding, response.body)).toBe(page.replaceAll('page', 'leaf'))
    expect((await setup.event(1)).treatment).toMatchObject({ kind: 'rewritten', decode: 'identity', encode: coding })
  })
})

describe('a response', () => {
  it('of one read tells its length', async () => {
    await using setup = await compressing(() => plainResponse(page, HTML))
    const response = await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect(response.value('content-length')).toBe(String(response.body.length))
  })

  it.each([
    ['that is known to be short', () => plainResponse('short', HTML)],
    ['of another type', () => plainResponse(page, 'Content-Type: image/png')],
    ['that is coded', () => plainResponse(zlib.gzipSync(page), HTML, 'Content-Encoding: gzip')],
    ['that may not be changed', () => plainResponse(page, HTML, 'Cache-Control: no-transform')],
    [
      'that is a part',
      () =>
        `HTTP/1.1 206 Partial Content\r\n${HTML}\r\nContent-Range: bytes 0-199/460\r\nContent-Length: 200\r\n\r\n${page.slice(0, 200)}`,
    ],
  ])('%s passes octet for octet', async (_name, respond) => {
    const origin = Buffer.from(respond())
    await using setup = await compressing(respond)
    const response = await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect(response.body.equals(origin.subarray(origin.indexOf('\r\n\r\n') + 4))).toBe(true)
  })

  it('to HEAD has the head of GET, without a length', async () => {
    const head = `HTTP/1.1 200 OK\r\n${HTML}\r\nETag: "a"\r\nContent-Length: ${page.length}\r\n\r\n`
    await using setup = await compressing(({ method }) => (method === 'HEAD' ? head : head + page))
    const client = await setup.connect()
    const told: unknown[] = []
    for (const method of ['GET', 'HEAD']) {
      await client.send(`${method} / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\n\r\n`)
      const response = await client.readResponse(method)
      told.push(['content-type', 'content-encoding', 'etag', 'vary'].map((name) => response.value(name)))
      if (method === 'HEAD') expect(response.value('content-length')).toBeUndefined()
    }
    expect(told).toEqual([
      ['text/html', 'br', 'W/"a"', 'Accept-Encoding'],
      ['text/html', 'br', 'W/"a"', 'Accept-Encoding'],
    ])
  })

  it('is not sent again to who has it: its weak tag finds its way to the origin', async () => {
    await using setup = await compressing(({ value }) =>
      value('if-none-match') === 'W/"a"'
        ? 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'
        : plainResponse(page, HTML, 'ETag: "a"'),
    )
    const client = await setup.connect()
    const first = await client.get('/', 'Accept-Encoding: gzip')
    const again = await client.get('/', 'Accept-Encoding: gzip', `If-None-Match: ${first.value('etag')}`)
    expect([again.status, again.value('etag'), again.value('vary')]).toEqual([304, 'W/"a"', 'Accept-Encoding'])
  })

  it('that breaks off does not look whole', async () => {
    const origin = await startRawOrigin(async (connection) => {
      await connection.readRequest()
      await connection.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nContent-Length: 1000\r\n\r\n${page}`)
      connection.end()
    })
    await using setup = await setUp({
      script: answering(() => ''),
      upstream: { port: origin.port },
      route: { compress: COMPRESS },
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n')
    const { status, complete } = await client.readResponse()
    expect(status === 200 && complete).toBe(false)
    expect((await setup.event(1)).outcome).toBe('upstream-aborted')
    await setup.proxy.stop(0)
    await origin.close()
  })

  it('to a client of HTTP/1.0 ends with the connection, or tells its length', async () => {
    await using setup = await compressing(() => plainResponse(large, HTML))
    const client = await setup.connect()
    await client.send('GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n')
    const response = await client.readResponse()
    expect((await decoded('gzip', response.body)) === large).toBe(true)
  })

  it('under shadow is compressed while its rules are tried', async () => {
    await using setup = await compressing(() => plainResponse(large, HTML), {
      rules: [{ text: '99', with: 'x', once: false }],
      route: { rollout: { kind: 'shadow' } },
    })
    const response = await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect((await decoded('gzip', response.body)) === large).toBe(true)
    const { treatment, shadow } = await setup.event(1)
    expect([treatment?.kind, shadow?.kind]).toEqual(['passed', 'rewritten'])
    const hits = large.split('99').length - 1
    expect(shadow?.kind === 'rewritten' ? shadow.stats.hits : []).toEqual([hits])
  })

  it('is compared with that of another proxy by its text', async () => {
    const other = await startRawOrigin(answering(() => plainResponse(page, HTML)))
    const compareWith = {
      upstream: { servers: [{ host: '127.0.0.1', port: other.port }], maxWaiting: 0 },
      percent: 100,
      headers: [],
      maxBodyBytes: 1_000_000,
      timeoutMs: 60_000,
      ignored: undefined,
    }
    await using setup = await compressing(() => plainResponse(page, HTML), { route: { compareWith } })
    await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect((await setup.event(1)).comparison).toEqual({ kind: 'same', bytes: page.length, isWhole: true })
    await setup.proxy.stop(0)
    await other.close()
  })
})

describe('what is made piece by piece', () => {
  it.each(CODINGS)('arrives piece by piece in %s', async (coding) => {
    const events = 10
    let onSeen: (() => void) | undefined
    await using setup = await setUp({
      route: { compress: COMPRESS },
      script: async (connection) => {
        await connection.readRequest()
        await connection.send(
          'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n',
        )
        for (let n = 0; n < events; n++) {
          const seen = new Promise<void>((resolve) => {
            onSeen = resolve
          })
          const text = `data: ${n}\n\n`
          await connection.send(`${text.length.toString(16)}\r\n${text}\r\n`)
          await seen
        }
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(`GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\n\r\n`)
    expect((await client.readHead()).value('content-encoding')).toBe(coding)
    const engine = {
      gzip: zlib.createGunzip,
      deflate: zlib.createInflate,
      br: zlib.createBrotliDecompress,
      zstd: () => createZstdDecoder(32_768),
    }[coding]()
    let text = ''
    engine.on('data', (part: Buffer) => {
      text += part.toString()
    })
    for (let n = 0; n < events; n++) {
      while (!text.includes(`data: ${n}\n\n`)) {
        const size = Number.parseInt((await client.reader.until('\r\n'))?.toString() ?? '0', 16)
        expect(size).toBeGreaterThan(0)
        const data = await client.reader.exactly(size)
        await client.reader.exactly(2)
        await new Promise<void>((resolve) => engine.write(data, () => setImmediate(resolve)))
      }
      onSeen?.()
    }
    engine.destroy()
  })
})

const missing = missingPrograms('curl')
test.skipIf(missing !== undefined)('curl reads what it asks for', async () => {
  await using setup = await compressing(() => plainResponse(large, HTML))
  const { exit, body, last } = await curl(['--compressed', `http://127.0.0.1:${setup.proxy.address.port}/`])
  expect(exit).toBe(0)
  expect(body.toString() === large).toBe(true)
  expect(last.wireBytes).toBeLessThan(large.length)
})
if (missing !== undefined) process.stdout.write(`compress with curl: left out: ${missing}\n`)
