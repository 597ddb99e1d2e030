/**
 * The built command line between a real nginx and a real curl. What has to arrive is worked out from the files that
 * nginx serves, by JavaScript's own replacing. Broken upstreams, slow clients and clients that go away are in
 * packages/proxy/test/curl.test.ts, because nginx is never broken.
 */
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { curl, curlHas, type CurlResult, type CurlTransfer } from '@prexy/testing/curl'
import { type Nginx, startNginx } from '@prexy/testing/nginx'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  BLOB,
  expectedHugeHash,
  expectedPage,
  HUGE_BYTES,
  nginxServer,
  type PageName,
  PAGES,
  RULES,
  SITE_CHANGED,
  writeSite,
} from './site.ts'

const RULES_CHANGED = new Date('2020-01-01T00:00:00Z')
const EXPECTED: Readonly<Record<PageName, Buffer>> = {
  '1k': expectedPage(PAGES['1k']),
  '64k1': expectedPage(PAGES['64k1']),
  '1m': expectedPage(PAGES['1m']),
}
const PAGE_NAMES: readonly PageName[] = ['1k', '64k1', '1m']

const missing = missingPrograms('nginx', 'curl')
let folder = ''
let nginx: Nginx
let prexy: PrexyServer
/** The same configuration once more, used for what must not meet connections of other tests. */
let twin: PrexyServer
/** Another rule. */
let changed: PrexyServer

if (missing === undefined) {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'prexy-e2e-'))
    chmodSync(folder, 0o755)
    writeSite(folder)
    nginx = await startNginx(folder, nginxServer(folder))
    const same = configFile('prexy.yaml', RULES)
    const other = configFile('changed.yaml', RULES.replace('www.example.de', 'www.example.fr'))
    ;[prexy, twin, changed] = await Promise.all([same, same, other].map((file) => startPrexyServer(['serve', file])))
  })
  afterAll(async () => {
    const ends = await Promise.all([prexy, twin, changed].map((server) => server.stop()))
    await nginx.stop()
    rmSync(folder, { recursive: true })
    expect(ends).toEqual([0, 0, 0])
  })
  describe('pages', () => {
    describePages()
  })
  describe('keep-alive', () => {
    describeKeepAlive()
  })
  describe('conditions and ranges', () => {
    describeConditions()
  })
  describe('other responses', () => {
    describeOtherResponses()
  })
  describe('other requests', () => {
    describeOtherRequests()
  })
} else {
  test('nginx, prexy and curl', (context) => context.skip(missing))
}

/** Writes a configuration whose rules count as changed in 2020. */
function configFile(name: string, rules: string): string {
  const upstream = `http://127.0.0.1:${nginx.port}`
  const path = join(folder, name)
  writeFileSync(
    path,
    `listen: 127.0.0.1:0
upstream: ${upstream}
log: off
timeouts: {upstreamIdleMs: 30000}
rules:${rules}
routes:
  - {path: /since/**, upstream: '${upstream}', lastModified: keep}
`,
  )
  utimesSync(path, RULES_CHANGED, RULES_CHANGED)
  return path
}

/** Octets that differ are not printed: a megabyte of them says nothing. */
function expectBody(got: CurlResult, expected: Uint8Array): void {
  expect(got.exit).toBe(0)
  expect(got.body.length).toBe(expected.length)
  expect(got.body.equals(expected)).toBe(true)
}

/** A tag that stands for the origin's content under the present rules. */
function derivedFrom(originTag: string | undefined): RegExp {
  const opaque = /"(.+)"$/.exec(originTag ?? '')?.[1]
  if (opaque === undefined) throw new Error(`nginx gave no entity tag but ${originTag}`)
  return new RegExp(`^W/"${opaque}-p[0-9a-f]{16}"$`)
}

function describePages(): void {
  /** What curl names in Accept-Encoding; `any` is what it names by itself. */
  const clients = ['nothing', 'any', 'gzip', 'deflate', 'br', 'zstd'] as const
  const origins = ['plain', 'gz', 'gz-close', 'coded/gzip', 'coded/br'] as const
  const features = { nothing: '', any: 'libz', gzip: 'libz', deflate: 'libz', br: 'brotli', zstd: 'zstd' } as const
  const curlTakes = (coding: 'gzip' | 'br'): boolean => curlHas(features[coding])
  const prexyMakes = (coding: string): boolean => coding !== 'zstd' || 'createZstdCompress' in zlib

  /** A coded page keeps its coding where the client takes that, else gets the client's; a plain one stays plain. */
  function expectedCoding(origin: (typeof origins)[number], asks: (typeof clients)[number]): string {
    const accepts = (coding: 'gzip' | 'br'): boolean => asks === coding || (asks === 'any' && curlTakes(coding))
    if (origin === 'plain') return ''
    if (origin.startsWith('gz')) return accepts('gzip') ? 'gzip' : ''
    const coding = origin === 'coded/br' ? 'br' : 'gzip'
    if (accepts(coding)) return coding
    if (asks === 'any') return 'gzip'
    return asks !== 'nothing' && prexyMakes(asks) ? asks : ''
  }

  describe.each(origins)('from nginx at /%s/', (origin) => {
    test.for(clients)('for a curl that asks for %s', async (asks, context) => {
      if (asks !== 'nothing' && !curlHas(features[asks])) return context.skip(`this curl cannot decode ${asks}`)
      const args = asks === 'nothing' ? [] : ['--compressed']
      if (asks !== 'nothing' && asks !== 'any') args.push('-H', `Accept-Encoding: ${asks}`)
      const ask = (name: PageName): Promise<CurlResult> => curl([...args, `${prexy.origin}/${origin}/${name}.html`])
      for (const [i, result] of (await Promise.all(PAGE_NAMES.map(ask))).entries()) {
        const name = PAGE_NAMES[i]
        const { last } = result
        expectBody(result, EXPECTED[name])
        expect(last.status).toBe(200)
        expect(last.value('content-encoding') ?? '').toBe(expectedCoding(origin, asks))
        expect(last.value('vary')?.toLowerCase()).toContain('accept-encoding')
        expect(last.value('accept-ranges')).toBeUndefined()
        expect(last.value('last-modified')).toBeUndefined()
        expectFraming(last, name, origin)
      }
    })
  })

  test('of 100 MB, whole and in order', { timeout: 60_000 }, async () => {
    const hash = createHash('sha256')
    let bytes = 0
    const { exit, last } = await curl([`${prexy.origin}/plain/100m.html`], {
      onBody: (chunk) => {
        bytes += chunk.length
        hash.update(chunk)
      },
    })
    expect({ exit, status: last.status }).toEqual({ exit: 0, status: 200 })
    expect(bytes).toBeGreaterThan(HUGE_BYTES * 0.9)
    expect(hash.digest('hex')).toBe(expectedHugeHash())
  })

  /** A page that came in one read gets its true length, one of many reads cannot. */
  function expectFraming(transfer: CurlTransfer, name: PageName, origin: string): void {
    const length = transfer.value('content-length')
    const coding = transfer.value('transfer-encoding')
    expect([length === undefined, coding === undefined]).toContain(true)
    if (length !== undefined) expect(length).toBe(String(transfer.wireBytes))
    if (name === '1m') expect(coding).toBe('chunked')
    // Whether the close comes with the last octets is up to the kernel.
    else if (name === '1k' && origin !== 'gz-close') expect(coding).toBeUndefined()
    else if (length === undefined) expect(coding).toBe('chunked')
  }
}

function describeKeepAlive(): void {
  const servedBy = ({ transfers }: CurlResult): string[] => transfers.map((one) => one.value('x-served') ?? '')
  const repeat = (url: string, count: number): string[] => Array.from({ length: count }, () => url)

  test('one connection on either side serves one request after the other', async () => {
    const { origin } = twin
    const urls = ['1k', '64k1', '1m'].flatMap((name) => [
      `${origin}/plain/${name}.html`,
      `${origin}/gz/${name}.html`,
      `${origin}/gz/${name}.html`,
    ])
    const first = await curl(urls)
    expectBody(first, Buffer.concat(PAGE_NAMES.flatMap((name) => repeat(name, 3).map(() => EXPECTED[name]))))
    expect(first.transfers.map((one) => one.newConnections)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0])
    const [connection] = servedBy(first)[0].split(' ')
    expect(servedBy(first)).toEqual(urls.map((_, i) => `${connection} ${i + 1}`))
    // Another client comes over the same upstream connection, and hears the whole story if it asks.
    const second = await curl(['-v', ...repeat(`${origin}/plain/1k.html`, 2)])
    expect(servedBy(second)).toEqual([`${connection} 10`, `${connection} 11`])
    expect(second.told).toContain('Re-using existing connection')
  })

  test('eight at a time need no more than eight connections', async () => {
    const { origin } = twin
    mkdirSync(join(folder, 'parallel'))
    const result = await curl([
      ...['-Z', '--parallel-max', '8', '-o', join(folder, 'parallel/#1')],
      `${origin}/plain/64k1.html?[1-32]`,
    ])
    expect(result.exit).toBe(0)
    for (let i = 1; i <= 32; i++) {
      expect(readFileSync(join(folder, `parallel/${i}`)).equals(EXPECTED['64k1'])).toBe(true)
    }
    expect(new Set(servedBy(result).map((served) => served.split(' ')[0])).size).toBeLessThanOrEqual(8)
  })

  test('bodies with no length, none at all, and errors do not cost the connection', async () => {
    const { origin } = twin
    const paths = ['none', 'gone', 'plain/empty.html', 'missing/x', 'moved', 'plain/blob.zip', 'plain/1k.html']
    const { exit, transfers } = await curl(paths.map((path) => `${origin}/${path}`))
    expect(exit).toBe(0)
    expect(transfers.map((one) => one.status)).toEqual([204, 410, 200, 404, 302, 200, 200])
    expect(transfers.map((one) => one.newConnections)).toEqual([1, 0, 0, 0, 0, 0, 0])
    // Whichever kept connection serves: none is new, that is, on its first request.
    for (const one of transfers.slice(1)) expect(one.value('x-served')).not.toMatch(/ 1$/)
  })

  test('what nginx closes is opened again, unseen by the client', async () => {
    const { origin } = twin
    const result = await curl(repeat(`${origin}/few/1k.html`, 40))
    expectBody(result, Buffer.concat(Array.from({ length: 40 }, () => EXPECTED['1k'])))
    expect(result.transfers.map((one) => one.newConnections)).toEqual([1, ...Array.from({ length: 39 }, () => 0)])
    // First those are used up that are left from the other tests.
    const counts = servedBy(result).map((served) => served.split(' ')[1])
    expect('123123123123').toContain(counts.slice(-9).join(''))
    const closing = await curl(repeat(`${origin}/gz-close/1m.html`, 3).flatMap((url) => ['--compressed', url]))
    expectBody(closing, Buffer.concat(Array.from({ length: 3 }, () => EXPECTED['1m'])))
    expect(closing.transfers.map((one) => one.newConnections)).toEqual([1, 0, 0])
  })
}

function describeConditions(): void {
  test('the tag of a rewritten page vouches for it until the rules change', async () => {
    for (const path of ['plain/1k.html', 'gz/1m.html']) {
      const [direct, first] = await Promise.all(
        [`http://127.0.0.1:${nginx.port}`, prexy.origin].map((origin) => curl(['--compressed', `${origin}/${path}`])),
      )
      const tag = first.last.value('etag') ?? ''
      expect(tag).toMatch(derivedFrom(direct.last.value('etag')))
      const askWith = (origin: string, sent: string, ...more: string[]): Promise<CurlResult> =>
        curl(['--compressed', '-H', `If-None-Match: ${sent}`, ...more, `${origin}/${path}`])
      const asked = [prexy.origin, twin.origin].flatMap((origin) =>
        [[], ['-I'], ['-0']].map((more) => ({ origin, more })),
      )
      const answers = asked.map(({ origin, more }) => askWith(origin, `"other", ${tag}`, ...more))
      for (const [i, { exit, last, body }] of (await Promise.all(answers)).entries()) {
        expect({ exit, status: last.status, tag: last.value('etag') }).toEqual({ exit: 0, status: 304, tag })
        expect([last.value('content-length'), last.value('last-modified')]).toEqual([undefined, undefined])
        if (!asked[i].more.includes('-I')) expect(body.length).toBe(0)
      }
      const renewed = await askWith(changed.origin, tag)
      expect(renewed.last.status).toBe(200)
      expect(renewed.last.value('etag')).toMatch(derivedFrom(direct.last.value('etag')))
      expect(renewed.last.value('etag')).not.toBe(tag)
      expect(renewed.body.includes('www.example.fr')).toBe(true)
      // The origin's own tag says nothing about what prexy makes of its content.
      expect((await askWith(prexy.origin, direct.last.value('etag') ?? '')).last.status).toBe(200)
    }
  })

  test('the date of a file says nothing about the rules', async () => {
    const later = 'If-Modified-Since: Fri, 01 Jan 2038 00:00:00 GMT'
    const page = await curl(['-H', later, `${prexy.origin}/plain/1k.html`])
    expectBody(page, EXPECTED['1k'])
    expect(page.last.value('last-modified')).toBeUndefined()
    expectBody(await curl(['-z', 'Fri, 01 Jan 2038 00:00:00 GMT', `${prexy.origin}/plain/1k.html`]), EXPECTED['1k'])
  })

  test('with lastModified: keep it is that of the rules where they are newer', async () => {
    const url = `${prexy.origin}/since/1k.html`
    const whole = await curl([url])
    expectBody(whole, EXPECTED['1k'])
    expect(whole.last.value('last-modified')).toBe(RULES_CHANGED.toUTCString())
    const ask = async (date: Date): Promise<number> =>
      (await curl(['-H', `If-Modified-Since: ${date.toUTCString()}`, url])).last.status
    expect(await ask(RULES_CHANGED)).toBe(304)
    expect(await ask(new Date(RULES_CHANGED.getTime() - 1_000))).toBe(200)
    expect(await ask(SITE_CHANGED)).toBe(200)
  })

  test('what no rule is for keeps its validators, ranges and length', async () => {
    const direct = (await curl([`http://127.0.0.1:${nginx.port}/plain/blob.zip`])).last
    const url = `${prexy.origin}/plain/blob.zip`
    const whole = await curl(['--compressed', url])
    expectBody(whole, BLOB)
    for (const name of ['etag', 'last-modified', 'content-length', 'accept-ranges', 'content-type', 'vary']) {
      expect([name, whole.last.value(name)]).toEqual([name, direct.value(name)])
    }
    expect((await curl(['-H', `If-None-Match: ${direct.value('etag')}`, url])).last.status).toBe(304)
    expect((await curl(['-z', 'Fri, 01 Jan 2038 00:00:00 GMT', url])).last.status).toBe(304)
    const part = await curl(['-r', '1000-1099', url])
    expectBody(part, BLOB.subarray(1_000, 1_100))
    expect(part.last.status).toBe(206)
    expect(part.last.value('content-range')).toBe(`bytes 1000-1099/${BLOB.length}`)
    const conditional = await curl(['-r', '-50', '-H', `If-Range: ${direct.value('etag')}`, url])
    expectBody(conditional, BLOB.subarray(-50))
    const parts = await curl(['-r', '0-9,1000-1014', url])
    expect([parts.last.status, parts.exit]).toEqual([206, 0])
    expect(parts.last.value('content-type')).toMatch(/^multipart\/byteranges/)
    expect(parts.body.includes('www.example.org')).toBe(true)
    expect((await curl(['-r', '999999-', url])).last.status).toBe(416)
  })

  test('a download broken off goes on where it was', async () => {
    const path = join(folder, 'partial.mp4')
    writeFileSync(path, BLOB.subarray(0, 123_456))
    const { exit, last } = await curl(['-C', '-', '-o', path, `${prexy.origin}/plain/blob.mp4`])
    expect([exit, last.status, last.wireBytes]).toEqual([0, 206, BLOB.length - 123_456])
    expect(readFileSync(path).equals(BLOB)).toBe(true)
  })

  test('a range of what a rule may change is answered with the whole', async () => {
    for (const condition of [[], ['-H', 'If-Range: "x"']]) {
      const page = await curl(['-r', '100-199', ...condition, `${prexy.origin}/plain/64k1.html`])
      expect([page.last.status, page.last.value('content-range')]).toEqual([200, undefined])
      expectBody(page, EXPECTED['64k1'])
    }
    // Its name does not tell that it is no text, and then it is too late for a part.
    const data = await curl(['-r', '100-199', `${prexy.origin}/plain/blob.dat`])
    expect(data.last.status).toBe(200)
    expectBody(data, BLOB)
  })
}

function describeOtherResponses(): void {
  test('HEAD has the fields of GET, and only a length that is true', async () => {
    const notOfContent = ['content-length', 'transfer-encoding', 'date', 'x-served', 'connection']
    for (const [path, ...args] of [
      ['plain/1k.html'],
      ['plain/1m.html', '--compressed'],
      ['gz/64k1.html', '--compressed'],
      ['coded/gzip/1m.html'],
      ['plain/blob.zip'],
    ]) {
      const url = `${prexy.origin}/${path}`
      const both = await curl([...args, '-I', url, '--next', '-s', '-w', '', ...args, url])
      const get = await curl([...args, url])
      expect([path, both.exit, both.last.status]).toEqual([path, 0, 200])
      const fieldsOf = ({ fields }: CurlTransfer): unknown =>
        Object.fromEntries(Object.entries(fields).filter(([name]) => !notOfContent.includes(name)))
      expect(fieldsOf(both.last)).toEqual(fieldsOf(get.last))
      expect(both.last.value('content-length')).toBe(path.endsWith('zip') ? String(BLOB.length) : undefined)
    }
  })

  test('204 has nothing, an empty page stays empty', async () => {
    const none = await curl([`${prexy.origin}/none`])
    expect([none.exit, none.last.status, none.body.length]).toEqual([0, 204, 0])
    expect([none.last.value('content-length'), none.last.value('transfer-encoding')]).toEqual([undefined, undefined])
    const empty = await curl(['--compressed', `${prexy.origin}/plain/empty.html`])
    expect([empty.exit, empty.last.status, empty.body.length]).toEqual([0, 200, 0])
    expect(empty.last.value('content-length')).toBe('0')
  })

  test('redirects are passed on and can be followed', async () => {
    const redirect = await curl([`${prexy.origin}/moved`])
    expect([redirect.last.status, redirect.last.value('location')]).toEqual([302, '/plain/1k.html'])
    const followed = await curl(['-L', '-o', join(folder, 'followed.html'), `${prexy.origin}/moved`])
    expect([followed.exit, followed.last.status]).toEqual([0, 200])
    expect(readFileSync(join(folder, 'followed.html')).equals(EXPECTED['1k'])).toBe(true)
  })

  test('error pages are rewritten as others and keep their status', async () => {
    for (const [path, status, body] of [
      ['missing/page', 404, '<p>Nothing here; see www.example.de</p>\n'],
      ['gone', 410, 'gone to www.example.de'],
    ] as const) {
      const result = await curl(['--compressed', `${prexy.origin}/${path}`])
      expect([result.exit, result.last.status, result.body.toString()]).toEqual([0, status, body])
    }
    for (const [path, status] of [
      ['plain/no-such-file', 404],
      ['broken', 500],
    ] as const) {
      const direct = await curl([`http://127.0.0.1:${nginx.port}/${path}`])
      const result = await curl([`${prexy.origin}/${path}`])
      expect(result.last.status).toBe(status)
      expectBody(result, expectedPage(direct.body))
    }
  })

  test('types that no rule is for pass as they are, compressed or not', async () => {
    for (const path of ['plain/blob.png', 'plain/blob.dat', 'gz/blob.png', 'gz/blob.dat']) {
      const result = await curl(['--compressed', `${prexy.origin}/${path}`])
      expectBody(result, BLOB)
      expect(result.last.value('content-encoding')).toBe(path.startsWith('gz') ? 'gzip' : undefined)
      if (path.startsWith('plain')) expect(result.last.value('content-length')).toBe(String(BLOB.length))
    }
  })
}

function describeOtherRequests(): void {
  test('an HTTP/1.0 client gets no chunks', async () => {
    for (const [path, expected] of [
      ['plain/1k.html', EXPECTED['1k']],
      ['plain/1m.html', EXPECTED['1m']],
      ['gz/1m.html', EXPECTED['1m']],
      ['gz-close/64k1.html', EXPECTED['64k1']],
      ['plain/blob.zip', BLOB],
    ] as const) {
      const ask = (args: string[]): Promise<CurlResult> => curl([...args, `${prexy.origin}/${path}`])
      for (const result of await Promise.all([['-0'], ['-0', '--compressed']].map(ask))) {
        expectBody(result, expected)
        expect(result.last.value('transfer-encoding')).toBeUndefined()
        expect(result.last.value('connection')).toBe('close')
      }
    }
  })

  test('an HTTP/1.0 client that asks for it keeps its connection where the length is known', async () => {
    const url = `${prexy.origin}/plain/blob.zip`
    const kept = await curl(['-0', '-H', 'Connection: keep-alive', url, url])
    expectBody(kept, Buffer.concat([BLOB, BLOB]))
    expect(kept.transfers.map((one) => [one.value('connection'), one.newConnections])).toEqual([
      ['keep-alive', 1],
      ['keep-alive', 0],
    ])
  })

  test('an upload arrives as it was sent, with a length and in chunks', async () => {
    const sent = Buffer.concat([PAGES['1m'], BLOB, PAGES['1m']])
    const source = join(folder, 'upload.bin')
    writeFileSync(source, sent)
    const heads = join(folder, 'heads.txt')
    // curl waits for 100 (Continue) far longer than the test may take.
    const wait = ['--expect100-timeout', '50', '-D', heads]
    for (const [name, args] of [
      ['length.html', ['-T', source]],
      ['chunks.html', ['-T', '-']],
    ] as const) {
      const url = `${prexy.origin}/upload/${name}`
      const result = await curl([...wait, ...args, url], args[1] === '-' ? { input: sent } : {})
      expect([name, result.exit, result.last.status]).toEqual([name, 0, 201])
      expect(readFileSync(heads, 'latin1')).toMatch(/^HTTP\/1\.1 100 /)
      expect(readFileSync(join(folder, 'upload', name)).equals(sent)).toBe(true)
      expectBody(await curl(['--compressed', url]), expectedPage(sent))
    }
  })

  test('a refused POST leaves a connection that works', async () => {
    const url = `${prexy.origin}/plain/1k.html`
    const result = await curl(['--data-binary', '@-', '-o', join(folder, 'refused.html'), url], {
      input: PAGES['64k1'],
    })
    expect([result.exit, result.last.status]).toEqual([0, 405])
    expectBody(await curl([url]), EXPECTED['1k'])
  })
}
