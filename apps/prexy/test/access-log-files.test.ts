import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

let folder = ''
const received: string[] = []
const server = createServer((request, response) => {
  received.push(`${String(request.headers.traceparent)} ${String(request.headers.tracestate)}`)
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.end('Acme')
})

const origin = await openOrigin(server)

const running = new Set<ChildProcessWithoutNullStreams>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prexy-log-'))
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
  rmSync(folder, { recursive: true })
})

async function serve(more: string): Promise<{ child: ChildProcessWithoutNullStreams; url: string; path: string }> {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, `listen: 127.0.0.1:0\nupstream: http://${origin}\nrules: [{text: Acme, with: Emca}]\n${more}`)
  const child = startPrexy(['serve', path], { XDG_RUNTIME_DIR: folder })
  running.add(child)
  const [, url] = await waitFor(child.stderr, /listening on (http:\/\/\S+)/)
  return { child, url, path }
}

async function ask(url: string, agent?: Agent, headers: Record<string, string> = {}): Promise<string> {
  const [response]: IncomingMessage[] = await once(
    get(url, agent === undefined ? { headers } : { agent, headers }),
    'response',
  )
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}

/** Each line exactly once, whichever file it is in. */
function numbersIn(...files: string[]): number[] {
  return files
    .flatMap((file) => readFileSync(file, 'latin1').trimEnd().split('\n'))
    .map((line) => Number(/^(\d+) 200 4 a{2000}$/.exec(line)?.[1]))
    .sort((a, b) => a - b)
}

test.each([1, 2])('%i workers: every line whole and once, also while the file is moved away', async (workers) => {
  const log = join(folder, 'access.log')
  const more = `workers: ${workers}\naccessLog: {file: access.log, format: '$http_x_number $status $body_bytes_sent $http_x_long'}\n`
  const { child, url } = await serve(more)
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const long = 'a'.repeat(2_000)
  const total = 400
  let next = 0
  const client = async (): Promise<void> => {
    for (let number = next++; number < total; number = next++) {
      expect(await ask(url, agent, { 'x-number': String(number), 'x-long': long })).toBe('Emca')
      if (number === total / 2) {
        renameSync(log, `${log}.1`)
        child.kill('SIGUSR1')
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, client))
  agent.destroy()
  const ended = collect(child)
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  expect(code).toBe(0)
  // With an access log, standard error tells of failures only.
  expect(stderr).not.toMatch(/GET/)
  expect(existsSync(log)).toBe(true)
  expect(numbersIn(`${log}.1`, log)).toEqual(Array.from({ length: total }, (_, number) => number))
  expect(numbersIn(log).length).toBeGreaterThan(0)
})

test('a file that cannot be opened: nothing starts, and a reload changes nothing', async () => {
  const path = join(folder, 'broken.yaml')
  writeFileSync(path, `listen: 127.0.0.1:0\nupstream: http://${origin}\naccessLog: {file: none/access.log}\n`)
  const { code, stderr } = await runPrexy(['serve', path])
  expect(code).toBe(2)
  expect(stderr).toMatch(/accessLog\.file: ENOENT.*none\/access\.log/)

  const it = await serve('log: off\n')
  const text = readFileSync(it.path, 'utf8')
  writeFileSync(it.path, `${text.replace('Emca', 'Other')}accessLog: {file: none/access.log}\n`)
  it.child.kill('SIGHUP')
  await waitFor(it.child.stderr, /the old configuration stays: accessLog\.file: ENOENT/)
  expect(await ask(it.url, undefined)).toBe('Emca')
})

test('failures stay on standard error, with the identifier that the upstream would have got', async () => {
  const { child, url } = await serve(
    'accessLog: {file: access.log}\nroutes: [{path: /gone, upstream: "http://127.0.0.1:1"}]\n',
  )
  const told = waitFor(child.stderr, /502 GET \S+\/gone .*, request ([0-9a-f]{16}-\d+)/)
  await ask(new URL('/ok', url).href, undefined)
  await ask(new URL('/gone', url).href, undefined)
  const [line] = await told
  expect(line).not.toContain('/ok')
})

test('a trace is begun where there is none, and passed on where there is, with its state', async () => {
  const { child, url } = await serve("log: off\ntrace: begin\naccessLog: {format: 'trace=$traceparent'}\n")
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  received.length = 0
  const passed = waitFor(child.stderr, new RegExp(`trace=${parent}\n`))
  await ask(url, undefined, { traceparent: parent, tracestate: 'vendor=1' })
  await passed
  const begun = waitFor(child.stderr, /trace=(00-[0-9a-f]{32}-[0-9a-f]{16}-01)\n/)
  await ask(url, undefined, { tracestate: 'vendor=1' })
  const [, own] = await begun
  expect(received).toEqual([`${parent} vendor=1`, `${own} undefined`])
})
