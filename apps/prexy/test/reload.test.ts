import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { runPrexy, startPrexy, waitFor } from './run-prexy.ts'

/** Reloads under load; with PREXY_LONG set there are 500. */
const RELOADS = process.env.PREXY_LONG === undefined ? 20 : 500
const CLIENTS = 4

let folder = ''
const streams = new Set<{ end(text: string): unknown }>()
let streamBegan = (): void => {}
const server = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' })
  if (request.url === '/stream') {
    response.write('Acme ')
    streams.add(response)
    streamBegan()
  } else {
    response.end('Acme')
  }
})

const origin = await openOrigin(server)

const running = new Set<ChildProcessWithoutNullStreams>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prexy-reload-'))
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
  rmSync(folder, { recursive: true })
})

const configOf = (name: string, more = ''): string => `listen: 127.0.0.1:0
upstream: http://${origin}
rules: [{text: Acme, with: ${name}}]
log: off
${more}`

async function serve(...args: string[]): Promise<{ child: ChildProcessWithoutNullStreams; url: string }> {
  const child = startPrexy(['serve', ...args], { XDG_RUNTIME_DIR: folder })
  running.add(child)
  const [, url] = await waitFor(child.stderr, /listening on (http:\/\/\S+)/)
  return { child, url }
}

async function ask(url: string): Promise<string> {
  return await (await fetch(url)).text()
}

test('SIGHUP: a new configuration, what is wrong with one, and addresses that come', async () => {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, configOf('First'))
  const { child, url } = await serve(path)
  expect(await ask(url)).toBe('First')
  writeFileSync(path, configOf('Second').replace('listen: 127.0.0.1:0', 'listen: [127.0.0.1:0, 127.0.0.1:0]'))
  const listening = waitFor(child.stderr, /listening on (http:\S+)\n[^]*SIGHUP: the new configuration is served/)
  child.kill('SIGHUP')
  const [, other] = await listening
  expect([await ask(url), await ask(other)]).toEqual(['Second', 'Second'])
  writeFileSync(path, `${configOf('Third')}rulez: []\nroutes: 7\n`)
  const refused = waitFor(child.stderr, /SIGHUP: the new configuration has errors, the old one stays\n.+\n.+\n/)
  child.kill('SIGHUP')
  expect((await refused)[0]).toMatch(/prexy\.yaml:5:1: rulez: .+\n.*prexy\.yaml:6:9: routes: .+\n/)
  expect([await ask(url), await ask(other)]).toEqual(['Second', 'Second'])
})

test('an address that cannot be had leaves the old configuration', async () => {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, configOf('First'))
  const { child, url } = await serve(path)
  writeFileSync(path, configOf('Second').replace('listen: 127.0.0.1:0', `listen: ["127.0.0.1:0", "${origin}"]`))
  const refused = waitFor(child.stderr, /SIGHUP: the old configuration stays: cannot listen on .+: something else does/)
  child.kill('SIGHUP')
  await refused
  expect(await ask(url)).toBe('First')
})

test('prexy reload finds the server, and sends it no faulty configuration', async () => {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, configOf('First'))
  const env = { XDG_RUNTIME_DIR: folder }
  expect(await runPrexy(['reload', path], '', env)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^prexy: no running prexy serves .+; a server that was started with --pid-file is/),
  })
  const { child, url } = await serve(path)
  writeFileSync(path, configOf('Second'))
  expect(await runPrexy(['reload', path], '', env)).toMatchObject({
    code: 0,
    stderr: `prexy: process ${child.pid} serves ${path}\n`,
  })
  expect(await ask(url)).toBe('Second')
  writeFileSync(path, `${configOf('Third')}rulez: []\n`)
  expect(await runPrexy(['reload', path], '', env)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^prexy: the configuration has errors, the running one stays\n.+:5:1: rulez: /),
  })
})

test.each(['1', '2'])(
  'prexy reload ends when the new configuration serves, with workers: %s',
  { timeout: 120_000 },
  async (workers) => {
    const path = join(folder, 'prexy.yaml')
    writeFileSync(path, configOf('Start'))
    const env = { XDG_RUNTIME_DIR: folder }
    const { child, url } = await serve(path, '--workers', workers)
    for (const name of ['First', 'Second']) {
      writeFileSync(path, configOf(name))
      expect(await runPrexy(['reload', path], '', env)).toMatchObject({ code: 0 })
      expect(await Promise.all([1, 2, 3, 4].map(() => ask(url)))).toEqual([name, name, name, name])
    }
    writeFileSync(path, configOf('Third').replace('listen: 127.0.0.1:0', `listen: ["127.0.0.1:0", "${origin}"]`))
    const refused = await runPrexy(['reload', path], '', env)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^prexy: process \d+ refused it, the running configuration stays\ncannot listen on .+: something else/,
      ),
    ])
    expect(await ask(url)).toBe('Second')
    // What takes a restart is told here, too.
    writeFileSync(path, `${configOf('Third')}record: {}\n`)
    expect(await runPrexy(['reload', path], '', env)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('record: takes a restart, it stays as it was'),
    })
    expect(child.exitCode).toBeNull()
  },
)

test('prexy reload waits so long for a server that does nothing, and not for one that is gone', {
  timeout: 60_000,
}, async () => {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, configOf('First'))
  const env = { XDG_RUNTIME_DIR: folder }
  const { child } = await serve(path)
  child.kill('SIGSTOP')
  expect(await runPrexy(['reload', path, '--timeout', '1'], '', env)).toMatchObject({
    code: 1,
    stderr: `prexy: process ${child.pid} does not serve it after 1 s; see its log\n`,
  })
  expect(await runPrexy(['reload', path, '--timeout', '0'], '', env)).toMatchObject({
    code: 0,
    stderr: `prexy: process ${child.pid} was told to read ${path} anew\n`,
  })
  const waiting = runPrexy(['reload', path], '', env)
  child.kill('SIGKILL')
  const { code, stderr } = await waiting
  // Which of them depends on when it looked.
  expect([1, 2]).toContain(code)
  expect(stderr).toMatch(/ended\n$|no longer a prexy|no running prexy|cannot be told/)
})

test('--pid-file: the id while it runs, and nothing afterwards', async () => {
  const path = join(folder, 'prexy.yaml')
  const pidFile = join(folder, 'prexy.pid')
  writeFileSync(path, configOf('First'))
  const { child } = await serve(path, '--pid-file', pidFile)
  expect(readFileSync(pidFile, 'latin1')).toBe(`${child.pid}\n`)
  child.kill('SIGTERM')
  await once(child, 'exit')
  expect(() => readFileSync(pidFile)).toThrow('ENOENT')
  // An id that is another program's now.
  writeFileSync(pidFile, `${process.pid}\n`)
  expect(await runPrexy(['reload', path, '--pid-file', pidFile])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/is no longer a prexy\n$/),
  })
})

test('--watch: a file written over, one put in its place, and the links of a ConfigMap', async () => {
  // As a kubelet does it: the names lead through a link that is swapped.
  const put = (version: string, name: string): void => {
    mkdirSync(join(folder, version))
    writeFileSync(join(folder, version, 'prexy.yaml'), configOf(name))
    symlinkSync(version, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  put('..1', 'First')
  const path = join(folder, 'prexy.yaml')
  symlinkSync(join('..data', 'prexy.yaml'), path)
  const { child, url } = await serve(path, '--watch')
  expect(await ask(url)).toBe('First')
  const changed = async (): Promise<unknown> =>
    await waitFor(child.stderr, /the configuration changed: the new configuration is served/)
  let told = changed()
  put('..2', 'Second')
  await told
  expect(await ask(url)).toBe('Second')
  told = changed()
  writeFileSync(path, configOf('Third'))
  await told
  expect(await ask(url)).toBe('Third')
  told = changed()
  writeFileSync(join(folder, 'new'), configOf('Fourth'))
  renameSync(join(folder, 'new'), path)
  await told
  expect(await ask(url)).toBe('Fourth')
})

test.each(['1', '2'])(
  `${RELOADS} reloads under load lose nothing, with workers: %s`,
  async (workers) => {
    const path = join(folder, 'prexy.yaml')
    writeFileSync(path, configOf('Name0'))
    const { child, url } = await serve(path, '--workers', workers)
    let text = ''
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
    const exchange = async (target: string, options: { agent?: Agent }): Promise<string> =>
      await new Promise((resolve, reject) => {
        get(new URL(target, url), options, (response: IncomingMessage) => {
          let body = ''
          response.on('data', (chunk: Buffer) => {
            body += chunk.toString()
          })
          response.on('end', () => resolve(body))
          response.on('error', reject)
        }).on('error', reject)
      })
    // One that begins before the first reload and ends after the last.
    const began = new Promise<void>((resolve) => {
      streamBegan = resolve
    })
    const stream = exchange('/stream', {})
    await began
    let over = false
    const bodies = new Set<string>()
    let served = 0
    const load = Array.from({ length: CLIENTS }, async (_, number) => {
      while (!over) {
        // Half of them on connections that are kept, half on new ones.
        bodies.add(await exchange('/', number % 2 === 0 ? { agent } : {}))
        served++
      }
    })
    for (let reload = 1; reload <= RELOADS; reload++) {
      writeFileSync(path, configOf(`Name${reload}`))
      child.kill('SIGHUP')
      while (text.split('SIGHUP: the new configuration is served').length <= reload) await once(child.stderr, 'data')
      // However quick reloads are, each of them has the load upon it.
      const before = served
      while (served === before) bodies.add(await exchange('/', {}))
    }
    over = true
    await Promise.all(load)
    agent.destroy()
    expect(await ask(url)).toBe(`Name${RELOADS}`)
    for (const one of streams) one.end('Acme')
    streams.clear()
    expect(await stream).toBe('Name0 Name0')
    expect([...bodies].filter((body) => !/^Name\d+$/.test(body))).toEqual([])
    expect(served).toBeGreaterThanOrEqual(RELOADS)
    expect(text).not.toMatch(/errors|stays|died/)
  },
  RELOADS * 1_500,
)
