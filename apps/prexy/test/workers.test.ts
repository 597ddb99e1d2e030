import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { runPrexy, startPrexy, waitFor } from './run-prexy.ts'

/** Trials of spreading; hundreds are in the records of `bench`. */
const TRIALS = 20
const CONNECTIONS = 10

const folder = mkdtempSync(join(tmpdir(), 'prexy-workers-'))
const server = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' })
  if (request.url === '/slow') {
    response.write('one Acme, ')
    setTimeout(() => response.end('two Acme'), 300)
  } else {
    response.end('Acme')
  }
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

interface Line {
  readonly path: string
  readonly worker: number
}

class Fleet {
  readonly child: ChildProcessWithoutNullStreams
  readonly url: string
  readonly lines: Line[] = []
  readonly #wake = new Set<() => void>()
  text = ''

  constructor(child: ChildProcessWithoutNullStreams, url: string) {
    this.child = child
    this.url = url
    let rest = ''
    child.stderr.on('data', (chunk: Buffer) => {
      this.text += chunk.toString()
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.startsWith('{')) this.lines.push(JSON.parse(line))
      this.#wakeAll()
    })
    child.once('exit', () => this.#wakeAll())
  }

  #wakeAll(): void {
    for (const wake of this.#wake) wake()
    this.#wake.clear()
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  async until(probe: () => boolean): Promise<void> {
    while (!probe()) {
      await new Promise<void>((resolve) => {
        this.#wake.add(resolve)
      })
      if (this.child.exitCode !== null && !probe()) throw new Error(`ended: ${this.text}`)
    }
  }

  /** The process ids of the workers, as the system tells them. */
  workers(): number[] {
    const { pid } = this.child
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    return text.trim().split(' ').map(Number)
  }
}

async function fleet(config: string, ...args: string[]): Promise<Fleet> {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, config)
  const child = startPrexy(['serve', path, ...args])
  running.add(child)
  const [, url] = await waitFor(child.stderr, /listening on (http:\/\/\S+)/)
  return new Fleet(child, url)
}

const configOf = (name: string): string => `listen: 127.0.0.1:0
upstream: http://${origin}
rules: [{text: Acme, with: ${name}}]
workers: 2
log: json
`

async function open(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a.example\r\n\r\n`)
  await once(socket, 'data')
  return socket
}

test(`of ${CONNECTIONS} connections no worker of two holds more than 6 (${TRIALS} trials)`, async () => {
  const it = await fleet(configOf('Zenith'))
  const most: number[] = []
  for (let trial = 0; trial < TRIALS; trial++) {
    const paths = Array.from({ length: CONNECTIONS }, (_, number) => `/${trial}/${number}`)
    const sockets = await Promise.all(paths.map((path) => open(it.port, path)))
    await it.until(() => paths.every((path) => it.lines.some((line) => line.path === path)))
    const counts = new Map<number, number>()
    for (const { path, worker } of it.lines) {
      if (path.startsWith(`/${trial}/`)) counts.set(worker, (counts.get(worker) ?? 0) + 1)
    }
    most.push(Math.max(...counts.values()))
    // The next trial begins when both workers know that these are gone.
    const closed = sockets.map((socket) => once(socket, 'close'))
    for (const socket of sockets) socket.end()
    await Promise.all(closed)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // On a machine that is busy otherwise a worker can be so, too; then the other one rightly takes what there is.
  expect(most.toSorted((a, b) => a - b).at(-1 - TRIALS / 10)).toBeLessThanOrEqual(6)
})

test('a worker that dies is replaced, and the others go on', async () => {
  const it = await fleet(configOf('Zenith'))
  const [first, second] = it.workers()
  process.kill(first, 'SIGKILL')
  await it.until(() => it.text.includes('a worker died with signal SIGKILL; another one starts in 0.1 s'))
  expect(await (await fetch(it.url)).text()).toBe('Zenith')
  for (;;) {
    const now = it.workers()
    if (now.length === 2 && !now.includes(first)) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect(it.workers()).toContain(second)
  it.child.kill('SIGTERM')
  expect(await once(it.child, 'exit')).toEqual([0, null])
})

test('a configuration changes in all workers, and a faulty one in none, also not in one that starts later', async () => {
  const it = await fleet(configOf('First'))
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, configOf('Second'))
  it.child.kill('SIGHUP')
  await it.until(() => it.text.includes('the new configuration is served'))
  writeFileSync(path, `${configOf('Third')}rulez: []\n`)
  it.child.kill('SIGHUP')
  await it.until(() => /the old one stays\n.*prexy\.yaml:6:1: rulez: .*\n/.test(it.text))
  const [first] = it.workers()
  process.kill(first, 'SIGKILL')
  await it.until(() => it.text.includes('another one starts'))
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => await (await fetch(it.url, { headers: { connection: 'close' } })).text()),
  )
  expect(new Set(answers)).toEqual(new Set(['Second']))
})

test('a configuration that changes while no worker is alive is served by those that come', async () => {
  const it = await fleet(configOf('First'))
  for (const worker of it.workers()) process.kill(worker, 'SIGKILL')
  await it.until(() => it.text.split('another one starts').length === 3)
  writeFileSync(join(folder, 'prexy.yaml'), configOf('Second'))
  it.child.kill('SIGHUP')
  await it.until(() => it.text.includes('the new configuration is served'))
  // A port that was free is another one once nobody holds it any more.
  const url = [...it.text.matchAll(/listening on (http:\/\/\S+)/g)].at(-1)?.[1] ?? it.url
  expect(await (await fetch(url)).text()).toBe('Second')
})

test('what is under way ends before the workers do', async () => {
  const it = await fleet(configOf('Zenith'))
  const responses = await Promise.all(Array.from({ length: 6 }, async () => await fetch(`${it.url}slow`)))
  it.child.kill('SIGTERM')
  expect(await Promise.all(responses.map((response) => response.text()))).toEqual(
    Array.from({ length: 6 }, () => 'one Zenith, two Zenith'),
  )
  expect(await once(it.child, 'exit')).toEqual([0, null])
})

test('an address that is taken is told of once', async () => {
  const taken = createTcpServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const path = join(folder, 'taken.yaml')
  writeFileSync(path, configOf('Zenith'))
  const { code, stderr } = await runPrexy(['serve', path, '--listen', `127.0.0.1:${port}`])
  taken.close()
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `prexy: cannot listen on 127.0.0.1:${port}: something else does; choose another with --listen, 0 takes a free one\n`,
  })
})

test.each(['0', '257', 'many'])('--workers %s is refused', async (count) => {
  expect(await runPrexy(['serve', 'x.yaml', '--workers', count])).toMatchObject({
    code: 2,
    stderr: `prexy: --workers ${count} is no number from 1 to 256; auto takes one per core\n`,
  })
})

test('a faulty configuration ends workers that were started before it was read', { timeout: 60_000 }, async () => {
  const path = join(folder, 'early.yaml')
  writeFileSync(path, 'upstream: http://127.0.0.1:1\nworkers: 3\nrulez: []\n')
  const { code, stderr } = await runPrexy(['serve', path])
  expect([code, stderr]).toEqual([2, expect.stringContaining('rulez')])
})
