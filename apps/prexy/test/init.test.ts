import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-init-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('what it writes is valid, and is written once', async () => {
  const output = join(folder, 'first.yaml')
  const { code, stdout, stderr } = await runPrexy(['init', 'www.example.org', 'www.example.com', '--output', output])
  expect([code, stdout]).toEqual([0, ''])
  expect(stderr).toBe(`wrote ${output}; look through it, then: prexy check ${output} && prexy serve ${output}\n`)
  const checked = await runPrexy(['check', output])
  expect([checked.code, checked.stdout]).toEqual([0, `${output}: ok: 2 rules, 1 route\n`])
  expect(readFileSync(output, 'utf8')).toContain('\nupstream: https://www.example.org\n')
  const again = await runPrexy(['init', 'a.example', 'b.example', '--output', output])
  expect([again.code, again.stderr]).toEqual([
    2,
    `prexy: ${output}: there is such a file already; name another, or remove it\n`,
  ])
})

test.each([
  [['a.example', 'a.example'], 'a.example and a.example are the same host; name two'],
  [
    ['https://a.example/x', 'b.example'],
    'https://a.example/x: a site is a host, without path and user name; write it like a.example',
  ],
  [['ftp://a.example', 'b.example'], 'ftp://a.example: a site is http or https; write it like www.example.org'],
  [
    ['a.example', 'https://b.example'],
    'https://b.example is no host name; write it like www.example.com, without scheme, port and path',
  ],
])('%s', async (args, message) => {
  const { code, stdout, stderr } = await runPrexy(['init', ...args])
  expect([code, stdout, stderr]).toEqual([2, '', `prexy: ${message}\n`])
})

test('it serves the site under the other name', async () => {
  const seen: string[] = []
  const site = createServer((asked, response) => {
    seen.push(`${asked.headers.host}`)
    response.writeHead(200, {
      'content-type': 'text/html',
      'set-cookie': 'a=b; Domain=localhost',
      'strict-transport-security': 'max-age=1',
      link: '<http://localhost/x>; rel=canonical',
    })
    response.end('<head></head><a href="https://localhost/">')
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  const address = site.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const output = join(folder, 'served.yaml')
  const made = await runPrexy(['init', `http://localhost:${port}`, 'copy.test'])
  writeFileSync(output, made.stdout)
  const child = startPrexy(['serve', output, '--listen', '127.0.0.1:0', '--log', 'off'])
  const outcome = collect(child)
  try {
    const [, url] = await waitFor(child.stderr, /listening on (http:\/\/\S+)/)
    const asked = request(url, { headers: { host: 'copy.test' } })
    asked.end()
    const [response] = await once(asked, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe(
      '<head><meta name="robots" content="noindex"></head><a href="https://copy.test/">',
    )
    expect(response.headers).toMatchObject({ link: '<http://copy.test/x>; rel=canonical', 'x-robots-tag': 'noindex' })
    expect(response.headers).not.toHaveProperty('strict-transport-security')
    expect(seen).toEqual([`localhost:${port}`])
  } finally {
    child.kill('SIGTERM')
    await outcome
    site.closeAllConnections()
    site.close()
  }
})
