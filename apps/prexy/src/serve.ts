/** From a configuration to a running proxy, and back down again. */
import { networkInterfaces } from 'node:os'
import type { Config, RouteConfig } from '@prexy/config/config'
import { configFromValue } from '@prexy/config/load'
import type { RewriteOptions } from '@prexy/config/config-schema'
import { formatProblem } from '@prexy/config/problem'
import type { ExchangeRecorder } from '@prexy/events/recorder'
import type { UpstreamSettings } from '@prexy/config/upstream-settings'
import { type RunningProxy, startProxy } from '@prexy/proxy/start-proxy'
import { type AccessLog, createAccessLog } from './access-log.ts'
import type { CompiledLists } from './config-compile.ts'
import { loadConfiguration } from './config-load.ts'
import { proxyRoutes } from './config-proxy.ts'
import { listenOf } from './config-tls.ts'
import { startRecording } from './record-setup.ts'
import { CommandError, EXIT_OK } from './exit-codes.ts'
import type { LogFormat } from './program.ts'
import type { RuleEntry } from './rule-options.ts'
import { compileRuleEntries } from './rule-source.ts'
import { stylesFor } from './terminal.ts'

/** How long exchanges under way may go on after the first signal, unless the configuration says otherwise. */
export const DEFAULT_DRAIN_MS = 30_000

/** `prexy URL`. Ends when a signal does it; the exit code. */
export async function serveOrigin(
  url: string,
  listen: readonly string[],
  entries: readonly RuleEntry[],
  options: RewriteOptions,
  log: LogFormat | undefined,
): Promise<number> {
  const loaded = configFromValue({ upstream: url, ...listenField(listen), ...(log === undefined ? {} : { log }) })
  if (loaded.value === undefined) {
    throw new CommandError(
      loaded.problems
        .map(({ path, message, hint }) => {
          const what = path.startsWith('listen') ? '--listen: ' : path === 'upstream' ? '' : `${path}: `
          return `${what}${message}${hint === undefined ? '' : `; ${hint}`}`
        })
        .join('\n'),
    )
  }
  const set = await compileRuleEntries(entries, options)
  return await runServer(
    loaded.value,
    { setOf: () => set, headersOf: () => undefined, targetOf: () => undefined },
    Date.now(),
  )
}

/** `prexy serve`. Ends when a signal does it; the exit code. */
export async function serveFile(file: string, listen: readonly string[], log: LogFormat | undefined): Promise<number> {
  const { config: loaded, compiled, problems, changedMs } = loadConfiguration(file)
  if (loaded === undefined) {
    const errors = problems.filter((problem) => problem.severity === 'error')
    throw new CommandError(`the configuration has errors, nothing was started\n${errors.map(formatProblem).join('\n')}`)
  }
  for (const problem of problems) process.stderr.write(`${formatProblem(problem)}\n`)
  const overridden = configFromValue({ upstream: 'http://localhost', ...listenField(listen) })
  if (overridden.value === undefined) throw new CommandError(`--listen: ${overridden.problems[0].message}`)
  const config: Config = {
    ...loaded,
    ...(listen.length === 0 ? {} : { listen: overridden.value.listen }),
    ...(log === undefined ? {} : { log }),
  }
  return await runServer(config, compiled, changedMs)
}

function listenField(listen: readonly string[]): { listen?: readonly (string | number)[] } {
  if (listen.length === 0) return {}
  return { listen: listen.map((address) => (/^\d+$/.test(address) ? Number(address) : address)) }
}

async function runServer(config: Config, compiled: CompiledLists, changedMs: number): Promise<number> {
  const log = createAccessLog(config.log)
  const style = stylesFor(process.stderr, process.env)
  const say = (line: string): void => {
    process.stderr.write(`${style.bold('prexy:')} ${line}\n`)
  }
  const recording = config.record === undefined ? undefined : await startRecording(config.record, say)
  let server: RunningProxy
  try {
    server = await startServer(config, compiled, changedMs, log, recording?.recorder)
  } catch (error) {
    await recording?.stop()
    throw listenError(error)
  }
  for (const [index, { address, port }] of server.addresses.entries()) {
    const scheme = config.listen.at(index)?.tls === undefined ? 'http' : 'https'
    say(`listening on ${style.cyan(addressUrl(scheme, address, port))}`)
  }
  for (const line of describeRoutes(config, compiled)) say(style.dim(line))
  const signal = await stopSignal()
  const deadlineMs = config.timeouts.drainMs ?? DEFAULT_DRAIN_MS
  say(`${signal}: finishing what is under way, at most ${deadlineMs / 1_000} s; once more ends it at once`)
  await server.stop(deadlineMs)
  await recording?.stop()
  log.flush()
  return EXIT_OK
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const

/** Resolves with the first signal to stop. From then on a second one ends the process. */
function stopSignal(): Promise<keyof typeof SIGNAL_NUMBERS> {
  return new Promise((resolve) => {
    let stopping = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (stopping) process.exit(128 + SIGNAL_NUMBERS[signal])
        stopping = true
        resolve(signal)
      })
    }
  })
}

/** An address that can be opened in a browser on this machine. */
function addressUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const open = host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  const everywhere = host === '::' || host === '0.0.0.0' ? ' (every address of this machine)' : ''
  return `${scheme}://${open}:${port}/${everywhere}`
}

/** Sites and routes that are told of at the start; of more, their number. */
const MAX_DESCRIBED_ROUTES = 20

/** What goes where, one line each. */
function describeRoutes({ sites, routes }: Config, compiled: CompiledLists): readonly string[] {
  const all = [...sites.flatMap((site) => site.routes), ...routes]
  if (all.length > MAX_DESCRIBED_ROUTES) return [`${sites.length} sites, ${all.length} routes`]
  return all.map((route) => describeRoute(route, compiled.setOf(route.ruleList)?.rules.length ?? 0))
}

function describeRoute({ name, action }: RouteConfig, count: number): string {
  if (action.kind === 'redirect') return `${name} -> ${action.status} ${action.to}`
  if (action.kind === 'respond') return `${name} -> ${action.status}, ${action.body.length} bytes`
  return `${name} -> ${upstreamText(action.upstream)}, ${count} rule${count === 1 ? '' : 's'}`
}

function upstreamText({ name, servers }: UpstreamSettings): string {
  if (name !== undefined) return name
  const [first, ...others] = servers.map((server) => {
    if ('path' in server) return `unix:${server.path}`
    const host = server.host.includes(':') ? `[${server.host}]` : server.host
    return `${server.tls === true ? 'https' : 'http'}://${host}:${server.port}`
  })
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

/** Starts what `config` says. */
export async function startServer(
  config: Config,
  compiled: CompiledLists,
  rulesChangedMs: number,
  log: AccessLog,
  recorder?: ExchangeRecorder,
): Promise<RunningProxy> {
  return await startProxy({
    listen: config.listen.map((address) => ({ ...listenOf(address), host: address.host ?? everyAddress() })),
    ...proxyRoutes(config, compiled, rulesChangedMs),
    timeouts: config.timeouts,
    limits: config.limits,
    ...(config.trustedProxies === undefined ? {} : { trustedProxies: config.trustedProxies }),
    ...(config.forwarded === undefined ? {} : { forwarded: config.forwarded }),
    ...(config.requestId === undefined ? {} : { requestId: config.requestId }),
    ...(log.upstream === undefined ? {} : { onUpstream: log.upstream }),
    ...(log.exchange === undefined ? {} : { onExchange: log.exchange }),
    ...(recorder === undefined ? {} : { recorder }),
    onError: (error) => process.stderr.write(`prexy: ${error.message}\n`),
  })
}

/** Both families where the machine has IPv6. */
function everyAddress(): string {
  const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some((one) => one.family === 'IPv6') === true)
  return hasIpv6 ? '::' : '0.0.0.0'
}

function unknownHost(host: string, reason: string): CommandError {
  return new CommandError(`cannot listen on ${host}: ${reason}; name an address of this machine, like 127.0.0.1:8080`)
}

function listenError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  // Bun says no more than this when a name is not found.
  const unknown = /^Failed to listen at (\S+)$/.exec(error.message)?.[1]
  if (unknown !== undefined) return unknownHost(unknown, 'there is no host of that name')
  if (!('code' in error) || !('syscall' in error)) return error
  if (error.syscall === 'getaddrinfo') {
    const host = 'hostname' in error ? String(error.hostname) : 'the address'
    return unknownHost(host, error.code === 'ENOTFOUND' ? 'there is no host of that name' : error.message)
  }
  if (error.syscall !== 'listen') return error
  const where = 'address' in error && 'port' in error ? `${String(error.address)}:${String(error.port)}` : 'the address'
  switch (error.code) {
    case 'EADDRINUSE':
      return new CommandError(
        `cannot listen on ${where}: something else does; choose another with --listen, 0 takes a free one`,
      )
    case 'EACCES':
      return new CommandError(`cannot listen on ${where}: permission denied; ports below 1024 need privileges`)
    case 'EADDRNOTAVAIL':
      return new CommandError(`cannot listen on ${where}: this machine has no such address`)
    default:
      return new CommandError(`cannot listen on ${where}: ${error.message}`)
  }
}
