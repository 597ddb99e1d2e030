import { gzipSync } from 'node:zlib'
import { answering, chunkedResponse, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { headTiming, rewriteTiming } from '../src/server-timing.ts'
import { setUp } from './harness.ts'

const HTML = 'Content-Type: text/html; charset=utf-8'
const rules = [{ text: 'a', with: 'b' }]
const HEAD = /^prexy;dur=\d+\.\d\d, upstream;dur=\d+\.\d\d$/
const REWRITE = /^rewrite;dur=\d+\.\d\d$/

it('durations are milliseconds with two decimals, and never negative', () => {
  expect(headTiming(1_000, 1_002, 1_010.5, 1_011)).toBe('prexy;dur=2.50, upstream;dur=8.50')
  expect(headTiming(1_000, 1_000, 999.9, 999.9)).toBe('prexy;dur=0.00, upstream;dur=0.00')
  expect(rewriteTiming(0.004)).toBe('rewrite;dur=0.00')
})

describe('Server-Timing', () => {
  it('is not sent unasked, and the origin’s passes', async () => {
    await using setup = await setUp({
      rules,
      script: answering(() => plainResponse('a', HTML, 'Server-Timing: db;dur=5')),
    })
    expect((await (await setup.connect()).get('/')).values('server-timing')).toEqual(['db;dur=5'])
  })

  it('stands beside the origin’s, with the rewriting of a body that came whole', async () => {
    for (const lines of [[HTML], [HTML, 'Content-Encoding: gzip']]) {
      const body = lines.length === 1 ? 'a' : gzipSync('a')
      await using setup = await setUp({
        rules,
        route: { serverTiming: true },
        script: answering(() => plainResponse(body, ...lines, 'Server-Timing: db;dur=5')),
      })
      const response = await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
      expect(response.values('server-timing')).toEqual([
        'db;dur=5',
        expect.stringMatching(HEAD),
        expect.stringMatching(REWRITE),
      ])
      expect(response.framing).toBe('length')
    }
  })

  it('tells of the rewriting in a trailer where the head has gone out, to a client that wants trailers', async () => {
    const big = 'a'.repeat(200_000)
    await using setup = await setUp({
      rules,
      route: { serverTiming: true },
      script: answering(() => chunkedResponse([big, big], HTML)),
    })
    const client = await setup.connect()
    const asked = await client.get('/', 'TE: trailers', 'Connection: TE')
    expect([asked.body.length, asked.values('trailer'), asked.values('server-timing')]).toEqual([
      400_000,
      ['Server-Timing'],
      [expect.stringMatching(HEAD)],
    ])
    expect(asked.trailers).toEqual([expect.stringMatching(/^Server-Timing: rewrite;dur=\d+\.\d\d$/)])
    const plain = await client.get('/')
    expect([plain.values('trailer'), plain.values('server-timing'), plain.trailers]).toEqual([
      [],
      [expect.stringMatching(HEAD)],
      [],
    ])
  })

  it('is sent for what is not rewritten, too, but not with answers of our own', async () => {
    await using setup = await setUp({
      route: { serverTiming: true, hosts: ['proxy.test'] },
      script: answering(() => plainResponse('a')),
    })
    const client = await setup.connect()
    expect((await client.get('/')).values('server-timing')).toEqual([expect.stringMatching(HEAD)])
    await client.send('GET / HTTP/1.1\r\nHost: other.test\r\n\r\n')
    expect((await client.readResponse()).values('server-timing')).toEqual([])
  })
})
