/** Clients of HTTP/2 and TLS that nobody here wrote, against the built proxy: curl, nghttp, h2load, openssl, Chromium. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate } from '@prexy/testing/certificates'
import { browse, CHROMIUM_MISSING, findChromium } from '@prexy/testing/chromium'
import { curl } from '@prexy/testing/curl'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const noCurl = missingPrograms('curl')
const noNghttp = missingPrograms('nghttp', 'h2load')
const noOpenssl = missingPrograms('openssl')
const chromium = findChromium()
for (const reason of [noCurl, noNghttp, noOpenssl, chromium === undefined ? CHROMIUM_MISSING : undefined]) {
  if (reason !== undefined) process.stdout.write(`http2-clients: some tests are left out: ${reason}\n`)
}

const LINE = 'one two one\n'
const TEXT = LINE.repeat(20_000)
const REWRITTEN = TEXT.replaceAll('one', 'three')
const PAGE =
  '<!doctype html><script>fetch("/report", { method: "POST", body: "one: " + performance.getEntriesByType("navigation")[0].nextHopProtocol })</script>'

const folder = mkdtempSync(join(tmpdir(), 'prexy-http2-clients-'))
const certificate = join(folder, 'cert.pem')
let origin: Server
let prexy: PrexyServer
let plain: PrexyServer
let reported: (text: string) => void = () => {}

beforeAll(async () => {
  origin = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      response.setHeader('Content-Type', request.url === '/page' ? 'text/html' : 'text/plain')
      if (request.url === '/page') response.end(PAGE)
      else if (request.url === '/echo') response.end(Buffer.concat(pieces))
      else if (request.url === '/report') {
        reported(Buffer.concat(pieces).toString())
        response.end()
      } else response.end(TEXT)
    })
  })
  await new Promise<void>((resolve) => {
    origin.listen(0, '127.0.0.1', resolve)
  })
  const address = origin.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const { cert, key } = makeCertificate(['localhost'])
  writeFileSync(certificate, cert)
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 })
  const common = { upstream: `http://127.0.0.1:${port}`, rules: [{ text: 'one', with: 'three' }], log: 'off' }
  const tls = { certificates: [{ certFile: 'cert.pem', keyFile: 'key.pem' }] }
  const start = async (name: string, listen: unknown): Promise<PrexyServer> => {
    const file = join(folder, name)
    writeFileSync(file, JSON.stringify({ ...common, listen }))
    return await startPrexyServer(['serve', file])
  }
  prexy = await start('tls.yaml', { address: '127.0.0.1:0', tls })
  plain = await start('plain.yaml', '127.0.0.1:0')
}, 30_000)

afterAll(async () => {
  await Promise.all([prexy.stop(), plain.stop()])
  await new Promise((resolve) => origin.close(resolve))
  rmSync(folder, { recursive: true })
}, 60_000)

function run(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { encoding: 'latin1', maxBuffer: 64 * 2 ** 20 }, (error, out, told) => {
      if (error === null) resolve(out + told)
      else reject(new Error(`${program}: ${error.message}\n${told}`))
    }).stdin?.end()
  })
}

/** For `localhost`, with the certificate as its authority. */
const secure = (path: string, ...options: readonly string[]): string[] => [
  ...['--cacert', certificate, '--resolve', `localhost:${prexy.port}:127.0.0.1`, ...options],
  `https://localhost:${prexy.port}${path}`,
]

describe.skipIf(noCurl !== undefined || noOpenssl !== undefined)('curl', () => {
  test.each([
    ['HTTP/2 over TLS', (path: string) => secure(path, '--http2'), '2'],
    ['HTTP/1.1 over TLS', (path: string) => secure(path, '--http1.1'), '1.1'],
    ['HTTP/2 by prior knowledge', (path: string) => ['--http2-prior-knowledge', `${plain.origin}${path}`], '2'],
    ['HTTP/1.1 that offers h2c', (path: string) => ['--http2', `${plain.origin}${path}`], '1.1'],
  ])('%s: bodies both ways', async (_name, args, version) => {
    const down = await curl(['-v', ...args('/')])
    expect(down.exit).toBe(0)
    expect(down.body.toString() === REWRITTEN).toBe(true)
    expect(down.told).toContain(`< HTTP/${version} 200`)
    const input = Buffer.alloc(3_000_000, 'some ')
    const up = await curl(['--data-binary', '@-', '-H', 'Expect: 100-continue', ...args('/echo')], { input })
    expect(up.body.equals(input)).toBe(true)
  })

  test('many at a time on one connection', async () => {
    // Not by prior knowledge, with which curl 7.88 fails at any server ("Error in the HTTP2 framing layer").
    const urls = Array.from({ length: 40 }, (_, i) => `https://localhost:${prexy.port}/${i}`)
    const { transfers, body } = await curl([...secure('/', '--http2', '-Z', '--parallel-max', '40'), ...urls.slice(1)])
    expect(transfers.map(({ status }) => status)).toEqual(urls.map(() => 200))
    expect(body.length).toBe(40 * REWRITTEN.length)
  })
})

describe.skipIf(noNghttp !== undefined || noOpenssl !== undefined)('nghttp and h2load', () => {
  test('nghttp gets it whole, and is not told of anything wrong', async () => {
    const told = await run('nghttp', ['-nv', '--no-verify-peer', `https://127.0.0.1:${prexy.port}/`])
    expect(told).toMatch(/:status: 200/)
    expect(told).not.toMatch(/RST_STREAM|error_code=(?!NO_ERROR)/)
  })

  test('h2load: none of 400 requests fails', { timeout: 60_000 }, async () => {
    for (const url of [`https://127.0.0.1:${prexy.port}/`, `${plain.origin}/`]) {
      const told = await run('h2load', ['-n', '200', '-c', '4', '-m', '25', url])
      expect(told).toContain('200 succeeded, 0 failed, 0 errored, 0 timeout')
      expect(told).toContain('200 2xx')
    }
  })
})

describe.skipIf(noOpenssl !== undefined)('openssl s_client', () => {
  const connectTo = (...options: readonly string[]): Promise<string> =>
    run('openssl', ['s_client', '-connect', `127.0.0.1:${prexy.port}`, '-servername', 'localhost', ...options])

  test.each([
    [['-tls1_3'], /New, TLSv1\.3, Cipher is TLS_/],
    [['-tls1_2'], /New, TLSv1\.2, Cipher is ECDHE-ECDSA-/],
    [['-alpn', 'h2,http/1.1'], /ALPN protocol: h2/],
    [['-alpn', 'http/1.1'], /ALPN protocol: http\/1\.1/],
    [['-tls1_2'], /Secure Renegotiation IS supported/],
    [['-tls1_2'], /Compression: NONE/],
    [['-verifyCAfile', certificate, '-verify_return_error'], /Verify return code: 0 \(ok\)/],
  ])('%j', async (options, expected) => {
    expect(await connectTo(...options)).toMatch(expected)
  })

  test.each([
    [['-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0']],
    [['-tls1_2', '-cipher', 'AES128-GCM-SHA256']],
    [['-alpn', 'h3']],
  ])('%j is refused', async (options) => {
    await expect(connectTo(...options)).rejects.toThrow()
  })
})

describe.skipIf(chromium === undefined || noOpenssl !== undefined)('Chromium', () => {
  test('speaks HTTP/2, and what it sends and gets is rewritten', { timeout: 60_000 }, async () => {
    if (chromium === undefined) return
    const report = new Promise<string>((resolve) => {
      reported = resolve
    })
    const url = `https://localhost:${prexy.port}/page`
    expect(await browse(chromium, url, report, ['--ignore-certificate-errors'])).toBe('three: h2')
  })
})
