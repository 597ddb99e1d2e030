/** An origin (nginx) and the proxies in front of it, each in a process of its own. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { get } from 'node:http'
import { get as getSecurely } from 'node:https'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pageFor, rulesOf } from './bench-rules.ts'
import type { BenchRule, ConnectionsDefinition, ProxyDefinition, ProxyName, ProxyTransport } from './definition.ts'
import { findProgram, startPinned, stop, type Runtime } from './programs.ts'

const RELAY = fileURLToPath(new URL('./relay.js', import.meta.url))
const MIDDLEWARE = fileURLToPath(new URL('./middleware-proxy.js', import.meta.url))
const START_DEADLINE_MS = 10_000
/** The unit of /proc/PID/stat on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100
/** That of prexy's encoder, see `ENCODER_LEVELS` in packages/net. */
const GZIP_LEVEL = 4

export type SetupDefinition = (
  | Pick<ProxyDefinition, 'bodies' | 'type' | 'coding' | 'transport'>
  | Pick<ConnectionsDefinition, 'body'>
) &
  Pick<ProxyDefinition, 'name' | 'rules' | 'page'>

/** A folder with everything that the servers of one bench need, and the origin, which runs. */
export interface Setup {
  readonly definition: SetupDefinition
  readonly folder: string
  readonly originPort: number
  close(): Promise<void>
}

export interface RunningServer {
  readonly name: ProxyName
  /** `node v24.22.3`; `C` for nginx. */
  readonly runtime: string
  readonly pid: number
  readonly port: number
  close(): Promise<void>
}

/** Undefined, with a line that says why, where a program is missing. */
export async function startOrigin(definition: SetupDefinition, needed: readonly string[]): Promise<Setup | undefined> {
  const missing = ['nginx', ...needed].filter((name) => findProgram(name) === undefined)
  if (missing.length > 0) {
    process.stdout.write(`bench: ${definition.name} did not run: ${missing.join(' and ')} not found through PATH\n`)
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'prexy-bench-'))
  // Workers of an nginx that root started run as another user.
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'pages'))
  const originPort = await freePort()
  const compressed = codingOf(definition) === 'gzip'
  for (const bytes of bodiesOf(definition)) {
    const page = pageFor(definition.page, definition.rules, bytes)
    const file = join(folder, 'pages', fileName(definition, bytes))
    writeFileSync(file, page)
    if (compressed) writeFileSync(`${file}.gz`, gzipSync(page, { level: GZIP_LEVEL }))
  }
  const server = `server {
    listen 127.0.0.1:${originPort} backlog=4096;
    root ${folder}/pages;
    default_type application/octet-stream;
    ${compressed ? 'gzip_static always;' : ''}
  }`
  writeFileSync(join(folder, 'origin.conf'), nginxConfig('origin', server))
  if (transportOf(definition) !== 'http') makeCertificate(folder)
  const origin = startPinned(1, 'nginx', ['-p', folder, '-c', 'origin.conf', '-e', 'stderr'])
  await listening(originPort)
  return {
    definition,
    folder,
    originPort,
    async close() {
      await stop(origin)
      rmSync(folder, { recursive: true })
    },
  }
}

/** Starts a proxy on core 0 and sees that its answers are right. `runtime` is undefined for nginx. */
export async function startServer(
  root: string,
  setup: Setup,
  name: ProxyName,
  runtime: Runtime | undefined,
): Promise<RunningServer> {
  const port = await freePort()
  const [command, args] =
    runtime === undefined ? nativeCommand(setup, port, name) : [runtime.command, scriptArgs(root, setup, port, name)]
  const child: ChildProcess = startPinned(0, command, args)
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} did not start`)
  try {
    await listening(port)
    for (const bytes of bodiesOf(setup.definition)) await requireRight(setup.definition, port, bytes, name)
  } catch (error) {
    await stop(child)
    throw error
  }
  return {
    name,
    runtime: runtime === undefined ? 'C' : `${runtime.name} ${runtime.version}`,
    pid,
    port,
    close: () => stop(child),
  }
}

function isNative(proxy: ProxyName): boolean {
  return proxy.startsWith('nginx-') || proxy === 'apache-substitute' || proxy === 'haproxy-pass'
}

/** The program of a proxy that is one by itself, for those that need more than nginx. */
export function programOf(proxy: ProxyName): string | undefined {
  if (proxy === 'apache-substitute') return 'apache2'
  return proxy === 'haproxy-pass' ? 'haproxy' : undefined
}

function nativeCommand(setup: Setup, port: number, name: ProxyName): [string, string[]] {
  switch (programOf(name)) {
    case 'apache2':
      return ['apache2', apacheArgs(setup, port)]
    case 'haproxy':
      return ['haproxy', haproxyArgs(setup, port)]
    default:
      return ['nginx', nginxArgs(setup, port, name)]
  }
}

/** The runtimes that a proxy runs under: none but itself for a program, and Bun alone for what only Bun has. */
export function runtimesOf(proxy: ProxyName, runtimes: readonly Runtime[]): readonly (Runtime | undefined)[] {
  if (isNative(proxy)) return [undefined]
  return proxy === 'relay-native' ? runtimes.filter(({ name }) => name === 'bun') : runtimes
}

export function pagePath(definition: SetupDefinition, bytes: number): string {
  return `/${fileName(definition, bytes)}`
}

/** Header lines that the load sends. */
export function requestFields(definition: SetupDefinition): readonly string[] {
  return codingOf(definition) === 'gzip' ? ['Accept-Encoding: gzip'] : []
}

/** User and system time of a process and its children, so far. */
export function cpuSeconds(pid: number): number {
  let ticks = 0
  for (const id of familyOf(pid)) {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / TICKS_PER_SECOND
}

/** Resident memory of a process and its children that is not of files. Unit: bytes. */
export function residentBytes(pid: number): number {
  let kilobytes = 0
  for (const id of familyOf(pid)) {
    kilobytes += Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0)
  }
  return kilobytes * 1_024
}

function familyOf(pid: number): readonly string[] {
  const family = [String(pid)]
  for (const id of family) {
    for (const task of readdirSync(`/proc/${id}/task`)) {
      family.push(...readFileSync(`/proc/${id}/task/${task}/children`, 'utf8').split(' ').filter(Boolean))
    }
  }
  return family
}

function bodiesOf(definition: SetupDefinition): readonly number[] {
  return 'bodies' in definition ? definition.bodies : [definition.body]
}

function codingOf(definition: SetupDefinition): ProxyDefinition['coding'] {
  return 'coding' in definition ? definition.coding : 'identity'
}

export function transportOf(definition: SetupDefinition): ProxyTransport {
  return 'transport' in definition ? definition.transport : 'http'
}

/** For all proxies of a bench the same: EC, P-256, as most sites have. */
function makeCertificate(folder: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(folder, 'key.pem')]
  const out = ['-out', join(folder, 'cert.pem'), '-days', '30', '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', '-x509', ...key, ...out], { stdio: 'ignore' })
}

function isText(definition: SetupDefinition): boolean {
  return !('type' in definition) || definition.type === 'text/html'
}

function fileName(definition: SetupDefinition, bytes: number): string {
  return `${bytes}.${isText(definition) ? 'html' : 'data'}`
}

const REPLACING: ReadonlySet<ProxyName> = new Set([
  'nginx-sub-filter',
  'nginx-gunzip-sub-filter',
  'apache-substitute',
  'http-proxy-middleware',
])

/** A proxy that answers wrongly is not measured. */
async function requireRight(definition: SetupDefinition, port: number, bytes: number, name: ProxyName): Promise<void> {
  const path = pagePath(definition, bytes)
  const compressed = codingOf(definition) === 'gzip'
  const answer = await ask(port, path, compressed, transportOf(definition) !== 'http')
  const body = compressed ? gunzipSync(answer.body) : answer.body
  let expected = Buffer.from(pageFor(definition.page, definition.rules, bytes)).toString('latin1')
  const replaces = name.startsWith('prexy') || REPLACING.has(name)
  if (replaces && isText(definition)) {
    for (const rule of rulesOf(definition.rules)) expected = expected.replaceAll(literal(rule), rule.with)
  }
  const coded = answer.coding === (compressed ? 'gzip' : undefined)
  if (answer.status === 200 && coded && body.toString('latin1') === expected) return
  const what = `status ${answer.status}, coding ${answer.coding}, ${body.length} of ${expected.length} bytes`
  throw new Error(`${name} answers ${path} wrongly: ${what}`)
}

function ask(
  port: number,
  path: string,
  compressed: boolean,
  secure: boolean,
): Promise<{ status: number | undefined; coding: string | undefined; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = { 'Accept-Encoding': compressed ? 'gzip' : 'identity' }
    const options = { host: '127.0.0.1', port, path, headers, agent: false, rejectUnauthorized: false } as const
    const request = (secure ? getSecurely : get)(options, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status } = response
        resolve({ status, coding: response.headers['content-encoding'], body: Buffer.concat(pieces) })
      })
    })
    request.on('error', reject)
  })
}

export function literal(rule: BenchRule): string {
  if ('text' in rule) return rule.text
  throw new Error('the rules of a proxy definition are literals, because sub_filter knows no others')
}

function nginxArgs({ definition, folder, originPort }: Setup, port: number, name: ProxyName): string[] {
  const filters =
    name === 'nginx-pass'
      ? ''
      : rulesOf(definition.rules)
          .map((rule) => `sub_filter '${literal(rule)}' '${rule.with}';`)
          .concat('sub_filter_once off;')
          .join('\n        ')
  const transport = transportOf(definition)
  const pass = (upstream: string): string => `proxy_pass http://${upstream};
        proxy_http_version 1.1;
        proxy_set_header Connection '';`
  const compresses = `gzip on;
        gzip_comp_level ${GZIP_LEVEL};
        gzip_min_length 0;`
  const plain = `
    server {
      listen 127.0.0.1:${port}${transport === 'http' ? '' : ' ssl'}${transport === 'h2' ? ' http2' : ''} backlog=4096;
      ${transport === 'http' ? '' : `ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem;`}
      location / {
        ${pass('origin')}
        ${filters}
      }
    }`
  const gunzip = `
    upstream inner { server unix:${folder}/inner.sock; keepalive 32; keepalive_requests 100000000; }
    server {
      listen unix:${folder}/inner.sock;
      gunzip on;
      location / {
        ${pass('origin')}
        proxy_set_header Accept-Encoding gzip;
      }
    }
    server {
      listen 127.0.0.1:${port};
      location / {
        ${pass('inner')}
        proxy_set_header Accept-Encoding '';
        ${compresses}
        ${filters}
      }
    }`
  const servers = `
    upstream origin { server 127.0.0.1:${originPort}; keepalive 128; keepalive_requests 100000000; }
    ${name === 'nginx-gunzip-sub-filter' ? gunzip : plain}`
  writeFileSync(join(folder, `${name}.conf`), nginxConfig(name, servers))
  return ['-p', folder, '-c', `${name}.conf`, '-e', 'stderr']
}

/** One process with threads, as the event module has it. Modules lie where Debian puts them, beside the program's folder. */
function apacheArgs({ definition, folder, originPort }: Setup, port: number): string[] {
  const program = realpathSync(findProgram('apache2') ?? 'apache2')
  const modules = join(dirname(dirname(program)), 'lib/apache2/modules')
  const loaded = ['mpm_event', 'authz_core', 'filter', 'proxy', 'proxy_http', 'substitute']
  const rules = rulesOf(definition.rules).map((rule) => `    Substitute "s|${literal(rule)}|${rule.with}|nq"`)
  writeFileSync(
    join(folder, 'apache.conf'),
    `${loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
ServerRoot ${folder}
ServerName localhost
PidFile ${folder}/apache.pid
ErrorLog ${folder}/apache-error.log
LogLevel error
Listen 127.0.0.1:${port}
<IfModule mpm_event_module>
  ServerLimit 1
  StartServers 1
  ThreadsPerChild 64
  MaxRequestWorkers 64
</IfModule>
User www-data
Group www-data
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 600
ProxyPass / http://127.0.0.1:${originPort}/
<Location />
    AddOutputFilterByType SUBSTITUTE text/html
    SubstituteMaxLineLength 20m
${rules.join('\n')}
</Location>
`,
  )
  return ['-d', folder, '-f', join(folder, 'apache.conf'), '-DFOREGROUND']
}

function haproxyArgs({ folder, originPort }: Setup, port: number): string[] {
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `global
  nbthread 1
  maxconn 2000
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  http-reuse always
frontend clients
  bind 127.0.0.1:${port}
  default_backend origin
backend origin
  server origin 127.0.0.1:${originPort}
`,
  )
  return ['-f', join(folder, 'haproxy.cfg'), '-db']
}

export function nginxConfig(name: string, servers: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${name}-${kind};`)
  return `
daemon off;
worker_processes 1;
pid ${name}.pid;
error_log stderr error;
worker_rlimit_nofile 20000;
events { worker_connections 19000; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 600s;
  keepalive_requests 100000000;
  open_file_cache max=100;
  types { text/html html; }
  ${paths.join(' ')}
  ${servers}
}
`
}

function scriptArgs(root: string, { definition, originPort, folder }: Setup, port: number, name: ProxyName): string[] {
  if (name === 'http-proxy-middleware') {
    const peers = join(root, 'bench/peers')
    return [MIDDLEWARE, peers, String(originPort), String(port), JSON.stringify(rulesOf(definition.rules))]
  }
  if (!name.startsWith('prexy'))
    return [RELAY, String(originPort), String(port), ...(name === 'relay-native' ? ['native'] : [])]
  const entry = join(root, 'apps/prexy/bin/prexy.mjs')
  if (transportOf(definition) !== 'http') {
    const certificates = [{ certFile: 'cert.pem', keyFile: 'key.pem' }]
    const listen = { address: `127.0.0.1:${port}`, tls: { certificates }, http2: transportOf(definition) === 'h2' }
    const rules = rulesOf(definition.rules).map((rule) => ({ text: literal(rule), with: rule.with }))
    // JSON is YAML.
    const file = join(folder, 'prexy.yaml')
    writeFileSync(file, JSON.stringify({ listen, upstream: `http://127.0.0.1:${originPort}`, rules, log: 'off' }))
    return [entry, 'serve', file]
  }
  if (name === 'prexy-record') {
    const rules = rulesOf(definition.rules).map((rule) => ({ text: literal(rule), with: rule.with }))
    const record = { directory: join(folder, `recordings-${port}`), maxTotalBytes: 1_000_000_000 }
    const file = join(folder, `record-${port}.yaml`)
    const upstream = `http://127.0.0.1:${originPort}`
    writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${port}`, upstream, rules, log: 'off', record }))
    return [entry, 'serve', file]
  }
  const rules = rulesOf(definition.rules).flatMap((rule) => ['--text', literal(rule), '--with', rule.with])
  return [entry, `http://127.0.0.1:${originPort}`, '--listen', `127.0.0.1:${port}`, '--log', 'off', ...rules]
}

export function freePort(): Promise<number> {
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

export async function listening(port: number): Promise<void> {
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
