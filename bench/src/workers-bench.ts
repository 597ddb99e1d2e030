/** Two workers: how evenly connections are spread over them, and how much more they do than one. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkersDefinition } from './definition.ts'
import { findProgram, type Runtime, stop } from './programs.ts'
import { cpuSeconds } from './proxy-setup.ts'
import { currentLoad, type Result } from './record.ts'

/** Workers tell how many connections they have at most every few milliseconds. */
const REST_MS = 60
const WARM_UP_SECONDS = 2
/** So many segments that patterns have something to do. */
const ASKED_PATH = `/${Array.from({ length: 8 }, (_, n) => `some-folder-${n}`).join('/')}`

export async function runWorkersBench(
  root: string,
  definition: WorkersDefinition,
  runtimes: readonly Runtime[],
): Promise<Result[]> {
  if (findProgram('wrk') === undefined) {
    process.stdout.write(`bench: ${definition.name} did not run: wrk not found through PATH\n`)
    return []
  }
  const folder = mkdtempSync(join(tmpdir(), 'prexy-workers-bench-'))
  const config = join(folder, 'prexy.yaml')
  // Work for prexy and none for its client: a long answer would cost the client as much again.
  const others = Array.from(
    { length: definition.answerRoutes },
    (_, n) => `  - {path: '/**/part-${n}/*.html', respond: {body: other}}\n`,
  )
  writeFileSync(
    config,
    `listen: 127.0.0.1:0
routes:
${others.join('')}  - {path: '/**', respond: {body: hello}}
`,
  )
  const results: Result[] = []
  try {
    for (let round = 1; round <= definition.samples; round++) {
      process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
      for (const runtime of runtimes) results.push(...(await sample(root, config, definition, runtime)))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  return results
}

async function sample(
  root: string,
  config: string,
  definition: WorkersDefinition,
  runtime: Runtime,
): Promise<Result[]> {
  const base = { runtime: `${runtime.name} ${runtime.version}`, load: currentLoad() }
  const rates: number[] = []
  let ceiling = 0
  for (const workers of [1, 2]) {
    const server = await start(root, config, runtime, workers, 'off')
    try {
      loadFor(server.port, definition.connections, WARM_UP_SECONDS)
      const before = serverSeconds(server.child)
      const { perSecond, requests, loadSeconds } = loadFor(
        server.port,
        definition.connections,
        definition.secondsPerSample,
      )
      rates.push(perSecond)
      if (workers === 1) ceiling = ceilingOf((serverSeconds(server.child) - before) / requests, loadSeconds / requests)
    } finally {
      await stop(server.child)
    }
  }
  const uneven = await unevenTrials(root, config, definition, runtime)
  const [one, two] = rates
  return [
    { ...base, subject: 'one worker, a request', value: 1e6 / one, unit: 'us/request' },
    { ...base, subject: 'two workers against one', value: two / one, unit: 'x' },
    { ...base, subject: 'the most that two cores allow beside the load', value: ceiling, unit: 'x' },
    {
      ...base,
      subject: `trials with more than ${definition.most}`,
      value: (uneven / definition.trials) * 100,
      unit: '%',
    },
  ]
}

interface Started {
  readonly child: ChildProcess
  readonly port: number
  /** Lines of the access log, as they come. */
  onLine: (line: string) => void
}

/** Not pinned: the workers are to have both cores, and the load what is left. */
async function start(
  root: string,
  config: string,
  runtime: Runtime,
  workers: number,
  log: 'off' | 'json',
): Promise<Started> {
  const prexy = join(root, 'apps/prexy/bin/prexy.mjs')
  const child = spawn(runtime.command, [prexy, 'serve', config, '--workers', String(workers), '--log', log])
  let rest = ''
  return await new Promise((resolve, reject) => {
    const started = { child, port: 0, onLine: (_line: string): void => {} }
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const match = /listening on http:\/\/\S+:(\d+)/.exec(line)
        if (match !== null) resolve(Object.assign(started, { port: Number(match[1]) }))
        else if (line.startsWith('{')) started.onLine(line)
      }
    })
    child.once('exit', () => reject(new Error('prexy ended by itself')))
  })
}

/**
 * One worker has a core to itself, and the load the other; two workers share both with it. More than this no server
 * could gain, however good it was.
 */
function ceilingOf(server: number, load: number): number {
  return (2 * server) / (server + load)
}

function serverSeconds({ pid }: ChildProcess): number {
  return pid === undefined ? 0 : cpuSeconds(pid)
}

interface Load {
  readonly perSecond: number
  readonly requests: number
  /** Of the load itself. */
  readonly loadSeconds: number
}

function loadFor(port: number, connections: number, seconds: number): Load {
  const wrk = `TIMEFORMAT='cpu %U %S'; time wrk -t1 -c${connections} -d${seconds} http://127.0.0.1:${port}${ASKED_PATH}`
  const { stdout, stderr } = spawnSync('bash', ['-c', wrk], { encoding: 'utf8' })
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(stdout)
  const requests = /(\d+) requests in/.exec(stdout)
  const cpu = /cpu ([\d.]+) ([\d.]+)/.exec(stderr)
  if (rate === null || requests === null || cpu === null || /Non-2xx|Socket errors/.test(stdout)) {
    throw new Error(`wrk failed:\n${stdout}${stderr}`)
  }
  return {
    perSecond: Number(rate[1]),
    requests: Number(requests[1]),
    loadSeconds: Number(cpu[1]) + Number(cpu[2]),
  }
}

/** How often one of two workers had more connections than it may. */
async function unevenTrials(
  root: string,
  config: string,
  definition: WorkersDefinition,
  runtime: Runtime,
): Promise<number> {
  const { connections, trials, most } = definition
  const server = await start(root, config, runtime, 2, 'json')
  let uneven = 0
  try {
    for (let trial = 0; trial < trials; trial++) {
      const counts = await countPerWorker(server, connections)
      if (Math.max(...counts.values()) > most) uneven++
      await new Promise((resolve) => setTimeout(resolve, REST_MS))
    }
  } finally {
    await stop(server.child)
  }
  return uneven
}

async function countPerWorker(server: Started, connections: number): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  let seen = 0
  const all = new Promise<void>((resolve) => {
    server.onLine = (line) => {
      const event: { readonly worker: number } = JSON.parse(line)
      counts.set(event.worker, (counts.get(event.worker) ?? 0) + 1)
      if (++seen === connections) resolve()
    }
  })
  const sockets: Socket[] = []
  for (let number = 0; number < connections; number++) {
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: bench.example\r\n\r\n')
    socket.resume()
    sockets.push(socket)
  }
  await all
  const closed = sockets.map((socket) => once(socket, 'close'))
  for (const socket of sockets) socket.end()
  await Promise.all(closed)
  return counts
}
