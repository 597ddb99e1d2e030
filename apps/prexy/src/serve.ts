/** From a configuration to a running proxy, and back down again. */
import { networkInterfaces } from 'node:os'
import type { Config, RouteConfig } from '@prexy/config/config'
import { configFromValue } from '@prexy/config/load'
import type { RewriteOptions } from '@prexy/config/config-schema'
import type { ExchangeRecorder } from '@prexy/events/recorder'
import type { UpstreamSettings } from '@prexy/config/upstream-settings'
import type { ProxyConfig } from '@prexy/proxy/proxy-config'
import { type RunningProxy, startProxy } from '@prexy/proxy/start-proxy'
import type { AccessLog } from './access-log.ts'
import type { CompiledLists } from './config-compile.ts'
import { type ConfigurationLoad, type KnownConfiguration, loadConfiguration } from './config-load.ts'
import { proxyRoutes } from './config-proxy.ts'
import { listenOf } from './config-tls.ts'
import { CommandError } from './exit-codes.ts'
import type { LogFormat } from './program.ts'
import type { RuleEntry } from './rule-options.ts'
import { compileRuleEntries } from './rule-source.ts'
import { runServer } from './run-server.ts'
import { unixListenOf } from './socket-files.ts'
import type { Source, WorkerCount } from './source.ts'

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
  const load: ConfigurationLoad = {
    config: loaded.value,
    compiled: {
      setOf: () => set,
      headersOf: () => undefined,
      targetOf: () => undefined,
      patternOf: () => undefined,
      ignoredOf: () => undefined,
    },
    problems: [],
    ruleCount: set.rules.length,
    routeCount: 1,
    watched: [],
    changedMs: Date.now(),
  }
  return await runServer({ ...SERVED, read: () => load, path: undefined, workers: 1, watch: false, pidFile: undefined })
}

/** What `prexy serve` is told beside the file. */
export interface ServeFlags {
  readonly listen?: readonly string[]
  readonly log?: LogFormat
  readonly workers?: WorkerCount
  readonly watch?: boolean
  readonly pidFile?: string
}

/** `prexy serve`. Ends when a signal does it; the exit code. */
export async function serveFile(file: string, flags: ServeFlags): Promise<number> {
  const { listen = [], log } = flags
  const overridden = configFromValue({ upstream: 'http://localhost', ...listenField(listen) })
  if (overridden.value === undefined) throw new CommandError(`--listen: ${overridden.problems[0].message}`)
  const { value } = overridden
  const known: KnownConfiguration = { sources: new Map(), sets: new Map() }
  return await runServer({
    ...SERVED,
    read(files) {
      const load = loadConfiguration(file, process.env, files, 'serve', known)
      if (load.config === undefined) return load
      const config: Config = {
        ...load.config,
        ...(listen.length === 0 ? {} : { listen: value.listen }),
        ...(log === undefined ? {} : { log }),
      }
      return { ...load, config }
    },
    path: file === '-' ? undefined : file,
    workers: flags.workers,
    watch: flags.watch === true,
    pidFile: flags.pidFile,
  })
}

const SERVED: Pick<Source, 'proxyConfig' | 'describe'> = { proxyConfig: proxyConfigOf, describe: describeRoutes }

function listenField(listen: readonly string[]): { listen?: readonly (string | number)[] } {
  if (listen.length === 0) return {}
  return { listen: listen.map((address) => (/^\d+$/.test(address) ? Number(address) : address)) }
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

/** Starts what `config` says, in this process. */
export async function startServer(
  config: Config,
  compiled: CompiledLists,
  rulesChangedMs: number,
  log: AccessLog,
): Promise<RunningProxy> {
  return await startProxy(proxyConfigOf(config, compiled, rulesChangedMs, log))
}

/** What `config` says, for the proxy. */
function proxyConfigOf(
  config: Config,
  compiled: CompiledLists,
  rulesChangedMs: number,
  log: AccessLog,
  recorder?: ExchangeRecorder,
): ProxyConfig {
  return {
    listen: config.listen.map((address) => {
      const unix = unixListenOf(address)
      return {
        ...listenOf(address),
        host: address.host ?? everyAddress(),
        ...(unix === undefined ? {} : { unix }),
      }
    }),
    ...proxyRoutes(config, compiled, rulesChangedMs),
    timeouts: config.timeouts,
    limits: config.limits,
    ...(config.trustedProxies === undefined ? {} : { trustedProxies: config.trustedProxies }),
    ...(config.forwarded === undefined ? {} : { forwarded: config.forwarded }),
    ...(config.requestId === undefined ? {} : { requestId: config.requestId }),
    ...(config.trace === undefined ? {} : { trace: config.trace }),
    ...(log.upstream === undefined ? {} : { onUpstream: log.upstream }),
    ...(log.refused === undefined ? {} : { onRefused: log.refused }),
    ...(log.exchange === undefined ? {} : { onExchange: log.exchange }),
    ...(recorder === undefined ? {} : { recorder }),
    onError: (error) => process.stderr.write(`prexy: ${error.message}\n`),
  }
}

/** Both families where the machine has IPv6. */
function everyAddress(): string {
  const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some((one) => one.family === 'IPv6') === true)
  return hasIpv6 ? '::' : '0.0.0.0'
}
