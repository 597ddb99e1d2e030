/**
 * Proxies in front of one origin: what a request costs the proxy, in CPU time. The proxy has core 0; origin (nginx) and
 * load (wrk) share core 1. Each sample starts the proxy anew, sees that its answers are right, warms up, and measures.
 */
import { chmodSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchRule, ProxyDefinition, ProxyName } from './definition.ts'
import { htmlPage } from './html-page.ts'
import { findProgram, runPinned, startPinned, stop, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'

const WARM_UP_SECONDS = 1
const START_DEADLINE_MS = 10_000
/** The unit of /proc/PID/stat on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

export async function runProxyBench(
  root: string,
  definition: ProxyDefinition,
  runtimes: readonly Runtime[],
): Promise<Result[]> {
  const missing = ['nginx', 'wrk'].filter((name) => findProgram(name) === undefined)
  if (missing.length > 0) {
    process.stdout.write(`bench: ${definition.name} did not run: ${missing.join(' and ')} not found through PATH\n`)
    return []
  }
  const folder = mkdtempSync(join(tmpdir(), 'prexy-bench-'))
  // Workers of an nginx that root started run as another user.
  chmodSync(folder, 0o755)
  const originPort = await freePort()
  writeOrigin(folder, definition, originPort)
  const origin = startPinned(1, 'nginx', ['-p', folder, '-c', 'origin.conf', '-e', 'stderr'])
  const results: Result[] = []
  try {
    await listening(originPort)
    for (let round = 1; round <= definition.samples; round++) {
      for (const bytes of definition.bodies) {
        process.stdout.write(`bench: round ${round} of ${definition.samples}, ${bytes} bytes\n`)
        for (const proxy of definition.proxies) {
          for (const runtime of proxy === 'prexy' ? runtimes : [undefined]) {
            results.push(await sample(root, folder, definition, originPort, bytes, proxy, runtime))
          }
        }
      }
    }
  } finally {
    await stop(origin)
    rmSync(folder, { recursive: true })
  }
  return results
}

async function sample(
  root: string,
  folder: string,
  definition: ProxyDefinition,
  originPort: number,
  bytes: number,
  proxy: ProxyName,
  runtime: Runtime | undefined,
): Promise<Result> {
  const port = await freePort()
  const load = currentLoad()
  const [command, args] =
    runtime === undefined
      ? ['nginx', nginxArgs(folder, definition, originPort, port, proxy)]
      : [runtime.command, prexyArgs(root, definition, originPort, port)]
  const server = startPinned(0, command, args)
  try {
    await listening(port)
    const url = `http://127.0.0.1:${port}/${bytes}.html`
    await requireRight(url, definition, bytes, proxy)
    requests(url, definition.connections, WARM_UP_SECONDS)
    const { pid } = server
    if (pid === undefined) throw new Error(`${command} did not start`)
    const before = cpuSeconds(pid)
    const count = requests(url, definition.connections, definition.secondsPerSample)
    const value = ((cpuSeconds(pid) - before) / count) * 1_000_000
    const name = runtime === undefined ? 'C' : `${runtime.name} ${runtime.version}`
    return { subject: `${proxy} ${bytes} B`, runtime: name, value, unit: 'us/request', load }
  } finally {
    await stop(server)
  }
}

/** A proxy that answers wrongly is not measured. */
async function requireRight(url: string, definition: ProxyDefinition, bytes: number, proxy: ProxyName): Promise<void> {
  const response = await fetch(url, { headers: { 'accept-encoding': 'identity' } })
  const got = Buffer.from(await response.arrayBuffer()).toString('latin1')
  let expected = Buffer.from(htmlPage(definition.page, bytes)).toString('latin1')
  if (proxy !== 'nginx-pass') {
    for (const rule of definition.rules) expected = expected.replaceAll(literal(rule), rule.with)
  }
  if (response.status !== 200 || got !== expected) {
    throw new Error(
      `${proxy} answers ${url} wrongly: status ${response.status}, ${got.length} of ${expected.length} bytes`,
    )
  }
}

function literal(rule: BenchRule): string {
  if ('text' in rule) return rule.text
  throw new Error('the rules of a proxy definition are literals, because sub_filter knows no others')
}

/** Requests that wrk made in so many seconds. Throws when one of them failed. */
function requests(url: string, connections: number, seconds: number): number {
  const output = runPinned(1, 'wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', url])
  const count = Number(/(\d+) requests in/.exec(output)?.[1] ?? 0)
  if (count === 0 || /Non-2xx|Socket errors/.test(output)) throw new Error(`the load did not go through:\n${output}`)
  return count
}

/** User and system time of a process and its children, so far. */
function cpuSeconds(pid: number): number {
  let ticks = 0
  const open = [String(pid)]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
    for (const task of readdirSync(`/proc/${id}/task`)) {
      open.push(...readFileSync(`/proc/${id}/task/${task}/children`, 'utf8').split(' ').filter(Boolean))
    }
  }
  return ticks / TICKS_PER_SECOND
}

function writeOrigin(folder: string, definition: ProxyDefinition, port: number): void {
  mkdirSync(join(folder, 'pages'))
  for (const bytes of definition.bodies) {
    writeFileSync(join(folder, 'pages', `${bytes}.html`), htmlPage(definition.page, bytes))
  }
  const server = `server { listen 127.0.0.1:${port}; root ${folder}/pages; }`
  writeFileSync(join(folder, 'origin.conf'), nginxConfig('origin', server))
}

function nginxArgs(
  folder: string,
  definition: ProxyDefinition,
  originPort: number,
  port: number,
  proxy: ProxyName,
): string[] {
  const filters =
    proxy === 'nginx-pass'
      ? []
      : ['sub_filter_once off;', ...definition.rules.map((rule) => `sub_filter '${literal(rule)}' '${rule.with}';`)]
  const server = `
    upstream origin { server 127.0.0.1:${originPort}; keepalive 32; keepalive_requests 100000000; }
    server {
      listen 127.0.0.1:${port};
      location / {
        proxy_pass http://origin;
        proxy_http_version 1.1;
        proxy_set_header Connection '';
        ${filters.join('\n        ')}
      }
    }`
  writeFileSync(join(folder, `${proxy}.conf`), nginxConfig(proxy, server))
  return ['-p', folder, '-c', `${proxy}.conf`, '-e', 'stderr']
}

function nginxConfig(name: string, server: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${name}-${kind};`)
  return `
daemon off;
worker_processes 1;
pid ${name}.pid;
error_log stderr error;
events { worker_connections 512; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  open_file_cache max=100;
  types { text/html html; }
  ${paths.join(' ')}
  ${server}
}
`
}

function prexyArgs(root: string, definition: ProxyDefinition, originPort: number, port: number): string[] {
  const rules = definition.rules.flatMap((rule) => ['--text', literal(rule), '--with', rule.with])
  const entry = join(root, 'apps/prexy/bin/prexy.mjs')
  return [entry, `http://127.0.0.1:${originPort}`, '--listen', `127.0.0.1:${port}`, '--log', 'off', ...rules]
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port)
      })
    })
  })
}

async function listening(port: number): Promise<void> {
  for (const until = performance.now() + START_DEADLINE_MS; performance.now() < until; ) {
    if (await accepts(port)) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`nothing listens on port ${port} after ${START_DEADLINE_MS} ms`)
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
