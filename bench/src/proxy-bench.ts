/**
 * Proxies in front of one origin: what a request costs the proxy, in CPU time. All proxies are up at the same time and
 * share core 0; origin (nginx) and load (wrk) share core 1. Each is warmed up once; then they take turns.
 */
import type { ProxyDefinition, ProxyGoal } from './definition.ts'
import { installPeers } from './peers.ts'
import { runPinned, type Runtime } from './programs.ts'
import {
  cpuSeconds,
  pagePath,
  programOf,
  requestFields,
  type RunningServer,
  runtimesOf,
  type Setup,
  startOrigin,
  startServer,
} from './proxy-setup.ts'
import { currentLoad, type Result } from './record.ts'

/**
 * A server is warm after so many requests, or as many octets; a JIT compiles the last of what a request needs after some
 * ten thousand. Neither takes longer than `MAX_WARM_UP_SECONDS`.
 */
const WARM_UP_REQUESTS = 25_000
const WARM_UP_BYTES = 500_000_000
const MAX_WARM_UP_SECONDS = 20
/** CPU time is counted in hundredths of a second: on a machine that is busy a sample goes on until it has so many. */
const LEAST_REQUESTS = 200
const MAX_PARTS = 5

export async function runProxyBench(
  root: string,
  definition: ProxyDefinition,
  runtimes: readonly Runtime[],
  maxWarmUpSeconds: number = MAX_WARM_UP_SECONDS,
): Promise<Result[]> {
  const load = definition.transport === 'h2' ? 'h2load' : 'wrk'
  const programs = definition.proxies.flatMap((proxy) => programOf(proxy) ?? [])
  if (definition.proxies.includes('http-proxy-middleware') && installPeers(root, 'http-proxy-middleware') === undefined)
    return []
  const secure = definition.transport === 'http' ? [] : ['openssl']
  const setup = await startOrigin(definition, [load, ...secure, ...programs])
  if (setup === undefined) return []
  const results: Result[] = []
  const servers: RunningServer[] = []
  try {
    for (const proxy of definition.proxies) {
      for (const runtime of runtimesOf(proxy, runtimes)) servers.push(await startServer(root, setup, proxy, runtime))
    }
    for (const bytes of definition.bodies) {
      for (const server of servers) warmUp(setup, definition, server, bytes, maxWarmUpSeconds)
      for (let round = 1; round <= definition.samples; round++) {
        process.stdout.write(`bench: ${bytes} bytes, round ${round} of ${definition.samples}\n`)
        results.push(...roundOf(setup, definition, servers, bytes))
      }
    }
  } finally {
    for (const server of servers) await server.close()
    await setup.close()
  }
  return results
}

export function proxyRatioName({ subject, against, body }: ProxyGoal): string {
  return `${subject} / ${against} ${body} B`
}

/** Every server once, and the ratios of the goals: the two sides of one ran within seconds of each other. */
function roundOf(
  setup: Setup,
  definition: ProxyDefinition,
  servers: readonly RunningServer[],
  bytes: number,
): Result[] {
  const measured = servers.map((server) => {
    const load = currentLoad()
    const before = cpuSeconds(server.pid)
    let count = 0
    for (let part = 0; part < MAX_PARTS && count < LEAST_REQUESTS; part++) {
      count += requests(setup, definition, server, bytes, definition.secondsPerSample)
    }
    return { server, load, value: ((cpuSeconds(server.pid) - before) / count) * 1_000_000 }
  })
  const results: Result[] = measured.map(({ server: { name, runtime }, load, value }) => ({
    subject: `${name} ${bytes} B`,
    runtime,
    value,
    unit: 'us/request',
    load,
  }))
  for (const goal of definition.goals) {
    if (goal.body !== bytes) continue
    const against = measured.find(({ server }) => server.name === goal.against)
    if (against === undefined) continue
    for (const { server, load, value } of measured) {
      if (server.name !== goal.subject) continue
      const { runtime } = server
      results.push({ subject: proxyRatioName(goal), runtime, value: value / against.value, unit: 'x', load })
    }
  }
  return results
}

function warmUp(
  setup: Setup,
  definition: ProxyDefinition,
  server: RunningServer,
  bytes: number,
  maxSeconds: number,
): void {
  const enough = Math.min(WARM_UP_REQUESTS, WARM_UP_BYTES / bytes)
  let count = 0
  for (let seconds = 0; count < enough && seconds < maxSeconds; seconds++) {
    count += requests(setup, definition, server, bytes, 1)
  }
}

/** Requests that the load made in so many seconds. Throws when one of them failed. */
function requests(
  setup: Setup,
  definition: ProxyDefinition,
  { port }: RunningServer,
  bytes: number,
  seconds: number,
): number {
  const scheme = definition.transport === 'http' ? 'http' : 'https'
  const url = `${scheme}://127.0.0.1:${port}${pagePath(setup.definition, bytes)}`
  if (definition.transport === 'h2') return streams(definition, url, seconds)
  const fields = requestFields(setup.definition).flatMap((line) => ['-H', line])
  const options = ['-t1', `-c${definition.connections}`, `-d${seconds}s`, '--timeout', '10s', ...fields]
  const output = runPinned(1, 'wrk', [...options, url])
  const count = Number(/(\d+) requests in/.exec(output)?.[1] ?? 0)
  if (count === 0 || /Non-2xx|Socket errors/.test(output)) throw new Error(`the load did not go through:\n${output}`)
  return count
}

/** Of each connection. */
const STREAMS = 10

function streams({ connections }: ProxyDefinition, url: string, seconds: number): number {
  const options = ['-t1', `-c${connections}`, `-m${STREAMS}`, `-D${seconds}`, '--warm-up-time=0']
  const output = runPinned(1, 'h2load', [...options, url])
  const count = Number(/requests: \d+ total, \d+ started, (\d+) done/.exec(output)?.[1] ?? 0)
  if (count === 0 || !/ 0 failed, 0 errored, 0 timeout/.test(output) || !/ 0 3xx, 0 4xx, 0 5xx/.test(output)) {
    throw new Error(`the load did not go through:\n${output}`)
  }
  return count
}
