import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { collect, type Outcome, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-serve-'))
/** Responses to /slow that the test ends. */
const slow: ServerResponse[] = []
const server = createServer((request, response) => {
  if (request.url === '/slow') {
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write('one Acme, ')
    slow.push(response)
    return
  }
  response.writeHead(200, { 'content-type': request.url === '/data' ? 'application/octet-stream' : 'text/plain' })
  response.end(`Acme at a.example, UA-12-3, asked as ${request.headers.host ?? ''}`)
})

const origin = await openOrigin(server)
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const running = new Set<ChildProcessWithoutNullStreams>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})

interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly url: string
  readonly outcome: Promise<Outcome>
}

async function serve(...args: string[]): Promise<Running> {
  const child = startPrexy(args)
  running.add(child)
  const outcome = collect(child)
  const [, url] = await waitFor(child.stderr, /listening on (http:\/\/\S+)/)
  return { child, url, outcome }
}

function configFile(content: string): string {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, content)
  return path
}

test('the one-liner', async () => {
  const rules = [
    '--text',
    'Acme',
    '--with',
    'Zenith',
    '--regex',
    'UA-([0-9]+)-[0-9]+',
    '--with',
    'UA-$1-1',
    '--domain',
    'a.example',
    '--with',
    'b.example',
  ]
  const { child, url, outcome } = await serve(`http://${origin}`, '--listen', '127.0.0.1:0', ...rules)
  const response = await fetch(url)
  expect(await response.text()).toBe(`Zenith at b.example, UA-12-1, asked as ${origin}`)
  child.kill('SIGTERM')
  const { code, stdout, stderr } = await outcome
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toMatch(/ 200 GET 127\.0\.0\.1:\d+\/ [\d.]+ ms, 3 replaced\n/)
})

test('the same from a file, and what the command line says wins', async () => {
  const path = configFile(`listen: 127.0.0.1:1
upstream: http://${origin}
log: text
rules:
  - {text: Acme, with: Zenith}
`)
  const { child, url, outcome } = await serve('serve', path, '--listen', '127.0.0.1:0', '--log', 'json')
  expect(await (await fetch(`${url}x?token=secret`)).text()).toMatch(/^Zenith at/)
  expect(await (await fetch(`${url}data`)).text()).toMatch(/^Acme at/)
  child.kill('SIGINT')
  const { code, stderr } = await outcome
  expect(code).toBe(0)
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'))
  // Exchanges are logged when they end, which need not be in the order of their requests.
  expect(
    lines
      .toSorted((a, b) => Number(a.includes('/data')) - Number(b.includes('/data')))
      .map((line): unknown => JSON.parse(line)),
  ).toMatchObject([
    { method: 'GET', path: '/x?...', status: 200, outcome: 'completed', treatment: 'rewritten', hits: [1] },
    { method: 'GET', path: '/data', status: 200, treatment: 'passed', reason: 'content-type' },
  ])
  expect(stderr).not.toContain('secret')
})

test('routes by host, each with rules of its own or those of the file', async () => {
  const path = configFile(`listen: 127.0.0.1:0
upstream: http://${origin}
log: off
rules: [{text: Acme, with: File}]
routes:
  - {host: one.example, upstream: 'http://${origin}', rules: [{text: Acme, with: One}], preserveHost: true}
  - {path: /bare, upstream: 'http://${origin}', rules: []}
`)
  const { url } = await serve('serve', path)
  const { request } = await import('node:http')
  const ask = async (target: string, host: string): Promise<string> => {
    const sent = request(new URL(target, url), { headers: { host } })
    sent.end()
    const response = await new Promise<NodeJS.ReadableStream>((resolve) => sent.once('response', resolve))
    let body = ''
    for await (const chunk of response) body += String(chunk)
    return body
  }
  expect(await ask('/', 'one.example')).toBe('One at a.example, UA-12-3, asked as one.example')
  expect(await ask('/', 'two.example')).toBe(`File at a.example, UA-12-3, asked as ${origin}`)
  expect(await ask('/bare', 'two.example')).toBe(`Acme at a.example, UA-12-3, asked as ${origin}`)
})

test('a signal lets the response under way end, then the process', async () => {
  const { child, url, outcome } = await serve(
    `http://${origin}`,
    '--listen',
    '127.0.0.1:0',
    '--log',
    'off',
    '--text',
    'Acme',
    '--with',
    'Zenith',
  )
  const response = await fetch(`${url}slow`)
  const reader = response.body?.getReader()
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('one Zenith, ')
  const draining = waitFor(child.stderr, /SIGTERM: finishing/)
  child.kill('SIGTERM')
  await draining
  await expect(fetch(url)).rejects.toThrow()
  slow.pop()?.end('two Acme')
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('two Zenith')
  expect((await outcome).code).toBe(0)
})

test('a second signal ends it at once', async () => {
  const { child, url, outcome } = await serve(`http://${origin}`, '--listen', '127.0.0.1:0', '--log', 'off')
  const response = await fetch(`${url}slow`)
  const draining = waitFor(child.stderr, /SIGINT: finishing/)
  child.kill('SIGINT')
  await draining
  child.kill('SIGINT')
  expect((await outcome).code).toBe(130)
  await expect(response.text()).rejects.toThrow()
  slow.pop()?.destroy()
})

test.each(['text', 'json'])('it goes on when nobody reads its log any more: %s', async (format) => {
  const { child, url, outcome } = await serve(`http://${origin}`, '--listen', '127.0.0.1:0', '--log', format)
  child.stderr.destroy()
  for (let number = 0; number < 20; number++) expect((await fetch(url)).status).toBe(200)
  child.kill('SIGTERM')
  expect((await outcome).code).toBe(0)
})

test('a faulty configuration starts nothing', async () => {
  const path = configFile('upstream: http://127.0.0.1:9000\nrules: [{regex: "(", with: ""}]\n')
  expect(await runPrexy(['serve', path])).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr: `prexy: the configuration has errors, nothing was started\n${path}:2:18: rules[0].regex: the group has no closing parenthesis; write \\( for a parenthesis\n`,
  })
})

test('an address that is taken', async () => {
  const taken = createTcpServer()
  taken.listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const { code, stderr } = await runPrexy([`http://${origin}`, '--listen', `127.0.0.1:${port}`])
  taken.close()
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `prexy: cannot listen on 127.0.0.1:${port}: something else does; choose another with --listen, 0 takes a free one\n`,
  })
})

test('a name to listen on that no host has is said', async () => {
  expect(await runPrexy([`http://${origin}`, '--listen', 'nosuchhost.invalid:80'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^prexy: cannot listen on nosuchhost\.invalid: .+ like 127\.0\.0\.1:8080\n$/),
  })
})
