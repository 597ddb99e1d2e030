import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Outcome, runPrexy } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-try-'))
let origin = ''
let tlsOrigin = ''
const asked: string[] = []

const PAGE = `<html>\n<head></head>\n<body>${'x'.repeat(200)} Acme ${'y'.repeat(200)}</body>\n<script>u="https:\\/\\/a.example\\/Acme"</script>\n`

const answer: RequestListener = (request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers.host} ${request.headers.cookie ?? ''}`)
  switch (request.url) {
    case '/gzip':
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip', etag: '"1"' })
        .end(gzipSync(PAGE))
      return
    case '/br':
      response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'br' }).end(brotliCompressSync(PAGE))
      return
    case '/latin1':
      response
        .writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' })
        .end(Buffer.from('café Acme', 'latin1'))
      return
    case '/image':
      response.writeHead(200, { 'content-type': 'image/png' }).end('Acme')
      return
    case '/fixed':
      response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-transform' }).end('Acme')
      return
    case '/moved':
      response.writeHead(302, { location: '/gzip' }).end()
      return
    case '/loop':
      response.writeHead(302, { location: '/loop' }).end()
      return
    case '/escape':
      response.writeHead(200, { 'content-type': 'text/plain' }).end('Acme \u001b[31m\u0007')
      return
    default:
      response.writeHead(200, { 'content-type': 'text/html', location: 'http://a.example/x' }).end(PAGE)
  }
}
const server = createServer(answer)
const servers = [server]

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address === 'object' && address !== null) origin = `http://127.0.0.1:${address.port}`
})
afterAll(() => {
  for (const one of servers) {
    one.closeAllConnections()
    one.close()
  }
  rmSync(folder, { recursive: true })
})

async function attempt(path: string, ...args: string[]): Promise<Outcome> {
  return await runPrexy(['try', `${origin}${path}`, ...args])
}

const RULES = ['--text', 'Acme', '--with', 'Zenith', '--domain', 'a.example', '--with', 'b.example']

test('each change with its rule, the header fields, and the counts', async () => {
  const { code, stdout, stderr } = await attempt('/page', ...RULES, '--regex', 'nowhere', '--with', '')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.replaceAll(origin, 'ORIGIN')).toMatchInlineSnapshot(`
    "ORIGIN/page: 200, 488 B as it came

    @@ line 3 @@ rule 1, text "Acme"
    -…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx Acme yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
    +…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx Zenith yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…

    @@ line 4 @@ rule 2, domain "a.example"; rule 1, text "Acme"
    -<script>u="https:\\/\\/a.example\\/Acme"</script>
    +<script>u="https:\\/\\/b.example\\/Zenith"</script>

    Header fields:
    -location: http://a.example/x
    +location: http://b.example/x
    +Vary: Accept-Encoding

    Rules:
      1  text "Acme": 2
      2  domain "a.example": 1
      3  regex "nowhere": 0
    The text is in windows-1252.
    "
  `)
})

test('rules from a file, of which some are not for the response', async () => {
  const rules = join(folder, 'rules.yaml')
  writeFileSync(rules, '- {text: Acme, with: Zenith, types: text/css}\n- {text: html, with: HTML, once: true}\n')
  const { code, stdout } = await attempt('/gzip', '--rules', rules)
  expect(code).toBe(0)
  expect(stdout).toContain('@@ line 1 @@ rule 2, text "html"\n-<html>\n+<HTML>\n')
  expect(stdout).toContain('  1  text "Acme": not for this response\n  2  text "html": 1\n')
})

test.each([
  ['/gzip', 'Acme'],
  ['/br', 'Acme'],
])('compressed: %s', async (path, text) => {
  const { code, stdout } = await attempt(path, '--text', text, '--with', 'Zenith', '--json')
  const result = JSON.parse(stdout)
  expect([code, result.rewritten, result.rules]).toEqual([
    0,
    true,
    [{ rule: 1, about: 'text "Acme"', active: true, hits: 2 }],
  ])
  expect(result.changes[1]).toEqual({
    line: 4,
    rules: [1],
    before: '<script>u="https:\\/\\/a.example\\/Acme"</script>',
    after: '<script>u="https:\\/\\/a.example\\/Zenith"</script>',
  })
})

test('another encoding is shown as text', async () => {
  const { stdout } = await attempt('/latin1', '--text', 'é A', '--with', 'è B')
  expect(stdout).toContain('-café Acme\n+cafè Bcme\n')
  expect(stdout).toContain('The text is in windows-1252.')
})

test.each([
  ['/image', 'content-type', 'no rule is for this media type; see types'],
  [
    '/fixed',
    'no-transform',
    'Cache-Control: no-transform forbids it; ignoreNoTransform: true rewrites it all the same',
  ],
])('what is not rewritten says why: %s', async (path, reason, text) => {
  const told = await attempt(path, '--text', 'Acme', '--with', 'B')
  expect([told.code, told.stdout]).toEqual([1, expect.stringContaining(`Not rewritten: ${text}.\n`)])
  const json = await attempt(path, '--text', 'Acme', '--with', 'B', '--json')
  expect(JSON.parse(json.stdout)).toMatchObject({ rewritten: false, reason })
})

test('redirects are shown, and followed when asked to', async () => {
  const shown = await attempt('/moved', ...RULES)
  expect(shown.stdout).toContain(`it leads to ${origin}/gzip, which -L follows`)
  const followed = await attempt('/moved', '-L', ...RULES)
  expect(followed.stdout).toContain(`${origin}/moved: 302 to ${origin}/gzip\n${origin}/gzip: 200`)
  const loop = await attempt('/loop', '-L', ...RULES)
  expect([loop.code, loop.stderr]).toEqual([2, `prexy: ${origin}/loop redirects more than 10 times\n`])
})

test('the page is asked for once, as told', async () => {
  asked.length = 0
  const { code } = await attempt('/page', '--text', 'Acme', '--with', 'B', '-H', 'Cookie: a=b', '--host', 'copy.test')
  expect([code, asked]).toEqual([0, [`GET /page ${new URL(origin).host} a=b`]])
})

test('limits and slips', async () => {
  const long = await attempt('/page', '--text', 'a', '--with', 'b', '--max-bytes', '100')
  expect([long.code, long.stderr]).toEqual([
    2,
    `prexy: ${origin}/page: the body is longer than 100 B; --max-bytes allows more than 100\n`,
  ])
  const few = await attempt('/page', '--text', 'Acme', '--with', 'b', '--max-changes', '1')
  expect(few.stdout).toContain('1 more places; --max-changes shows more than 1')
  const none = await runPrexy(['try', origin])
  expect(none.stderr).toBe('prexy: no rules; add --text a --with b, or --rules rules.yaml\n')
  const ftp = await runPrexy(['try', 'ftp://a.example', '--text', 'a', '--with', 'b'])
  expect(ftp.stderr).toBe('prexy: ftp://a.example is no address of a page; it begins with http:// or https://\n')
  const bad = await runPrexy(['try', 'http://127.0.0.1:1/', '--text', 'a', '--with', 'b'])
  expect([bad.code, bad.stderr]).toEqual([2, 'prexy: http://127.0.0.1:1/: nothing listens there\n'])
})

test('colours on request, and no control characters of the page on a terminal', async () => {
  const { stdout } = await runPrexy(['try', `${origin}/escape`, '--text', 'Acme', '--with', 'B'], '', {
    FORCE_COLOR: '1',
  })
  expect(stdout).toContain('\u001b[31mAcme')
  expect(stdout).toContain('\\u001b[31m\\u0007')
  expect(stdout).not.toContain('\u0007')
})

test('https, with the authorities that the runtime knows', async () => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '2', ...subject],
    {
      stdio: 'ignore',
    },
  )
  const { readFileSync } = await import('node:fs')
  const tls = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer)
  servers.push(tls)
  tls.listen(0, '127.0.0.1')
  await once(tls, 'listening')
  const address = tls.address()
  if (typeof address === 'object' && address !== null) tlsOrigin = `https://localhost:${address.port}`
  const known = await runPrexy(['try', `${tlsOrigin}/gzip`, ...RULES], '', { NODE_EXTRA_CA_CERTS: cert })
  expect([known.stderr, known.code]).toEqual(['', 0])
  const unknown = await runPrexy(['try', `${tlsOrigin}/gzip`, ...RULES])
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringMatching(/^prexy: https:.*self[- ]signed/i)])
})
