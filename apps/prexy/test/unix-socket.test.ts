import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-unix-'))
const file = join(folder, 'prexy.yaml')
const path = join(folder, 'a.sock')
const other = join(folder, 'b.sock')
let asked: IncomingHttpHeaders = {}
const server = createServer(({ headers }, response) => {
  asked = headers
  response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Acme</p>')
})
const origin = await openOrigin(server)
const children: ChildProcessWithoutNullStreams[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => {
  rmSync(folder, { recursive: true })
})

interface Served {
  readonly child: ChildProcessWithoutNullStreams
  readonly log: () => string
}

function configure(listen: string, more = ''): void {
  writeFileSync(
    file,
    `listen: ${listen}\nupstream: http://${origin}\nlog: json\nrules: [{ text: Acme, with: Zenith }]\n${more}\n`,
  )
}

async function serve(...flags: readonly string[]): Promise<Served> {
  const child = startPrexy(['serve', file, ...flags])
  children.push(child)
  let log = ''
  child.stderr.on('data', (text: Buffer) => {
    log += text.toString()
  })
  // Said after everything is listened on.
  await waitFor(child.stderr, /-> http/)
  return { child, log: () => log }
}

function get(socketPath: string, headers: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path: '/', headers: { host: 'a', ...headers }, agent: false }, (response) => {
      let body = ''
      response.on('data', (text: Buffer) => {
        body += text.toString()
      })
      response.on('end', () => resolve(body))
    })
      .on('error', reject)
      .end()
  })
}

async function end(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<void> {
  const closed = once(child, 'close')
  child.kill(signal)
  await closed
}

describe.each([
  ['one process', []],
  ['two workers', ['--workers', '2']],
] as const)('a socket of %s', (_name, flags) => {
  test('is there with its mode, serves, tells of clients without an address, and goes', {
    timeout: 120_000,
  }, async () => {
    configure(`{ address: 'unix:${path}', mode: "0666" }`)
    const { child, log } = await serve(...flags)
    expect(statSync(path).mode & 0o777).toBe(0o666)
    expect(log()).toContain(`listening on unix:${path}\n`)
    expect(await Promise.all([1, 2, 3, 4].map(() => get(path)))).toEqual(new Array(4).fill('<p>Zenith</p>'))
    expect([asked['x-forwarded-for'], asked['x-forwarded-port']]).toEqual([undefined, '80'])
    await end(child, 'SIGTERM')
    expect(existsSync(path)).toBe(false)
    expect(log()).toContain('"status":200')
  })

  test('takes the place of one that a killed process left', { timeout: 120_000 }, async () => {
    configure(`unix:${path}`)
    const killed = await serve(...flags)
    await end(killed.child, 'SIGKILL')
    // Workers end when the process that looks after them has.
    while (await isAnswered(path)) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(existsSync(path)).toBe(true)
    const { child } = await serve(...flags)
    expect(await get(path)).toBe('<p>Zenith</p>')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await end(child, 'SIGTERM')
  })

  test('comes and goes with a reload, while one that stays is never gone', { timeout: 120_000 }, async () => {
    configure(`unix:${path}`)
    const { child } = await serve(...flags)
    const served = waitFor(child.stderr, /the new configuration is served/)
    configure(`[unix:${path}, unix:${other}]`)
    child.kill('SIGHUP')
    await served
    expect([await get(path), await get(other)]).toEqual(['<p>Zenith</p>', '<p>Zenith</p>'])
    const again = waitFor(child.stderr, /the new configuration is served/)
    configure(`unix:${other}`)
    child.kill('SIGHUP')
    await again
    expect(existsSync(path)).toBe(false)
    expect(await get(other)).toBe('<p>Zenith</p>')
    await end(child, 'SIGTERM')
  })
})

test('a socket that another process listens on is left alone', { timeout: 120_000 }, async () => {
  configure(`unix:${path}`)
  const { child } = await serve()
  const second = startPrexy(['serve', file])
  children.push(second)
  const { code, stderr } = await collect(second)
  expect(code).toBe(2)
  expect(stderr).toContain(`cannot listen on unix:${path} is listened on by another process; choose another path`)
  expect(await get(path)).toBe('<p>Zenith</p>')
  await end(child, 'SIGTERM')
})

test('a worker that dies takes no socket along', { timeout: 120_000 }, async () => {
  configure(`unix:${path}`)
  const { child, log } = await serve('--workers', '2')
  await get(path)
  const replaced = waitFor(child.stderr, /another one starts in/)
  const workers = await workersOf(child, log)
  process.kill(workers[0], 'SIGKILL')
  await replaced
  for (let request = 0; request < 5; request++) expect(await get(path)).toBe('<p>Zenith</p>')
  await end(child, 'SIGTERM')
  expect(existsSync(path)).toBe(false)
})

test('a proxy in front, trusted as unix:, says who its clients are', { timeout: 120_000 }, async () => {
  configure(`unix:${path}`, "trustedProxies: ['unix:']\naccessLog: { format: '$remote_addr $realip_remote_addr|' }")
  const { child, log } = await serve()
  await get(path, { 'x-forwarded-for': '192.0.2.7' })
  expect(asked['x-forwarded-for']).toBe('192.0.2.7')
  expect(asked['x-real-ip']).toBe('192.0.2.7')
  await end(child, 'SIGTERM')
  expect(log()).toContain('192.0.2.7 unix:|')
})

test('what is no socket is left alone', { timeout: 120_000 }, async () => {
  const taken = join(folder, 'file')
  writeFileSync(taken, 'mine')
  configure(`unix:${taken}`)
  const { code, stderr } = await runPrexy(['serve', file])
  expect([code, stderr]).toEqual([2, expect.stringContaining('is there and is no socket')])
})

test('an owner that the machine does not know is refused', { timeout: 120_000 }, async () => {
  configure(`{ address: 'unix:${path}', owner: nobody-of-that-name }`)
  const { code, stderr } = await runPrexy(['serve', file])
  expect([code, stderr]).toEqual([2, expect.stringContaining('there is no user nobody-of-that-name')])
})

function isAnswered(at: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(at, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Processes of workers: each tells of a request. */
async function workersOf(child: ChildProcessWithoutNullStreams, log: () => string): Promise<readonly number[]> {
  const { readFileSync } = await import('node:fs')
  const text = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()
  expect(log()).toContain('2 workers')
  return text.split(' ').map(Number)
}
