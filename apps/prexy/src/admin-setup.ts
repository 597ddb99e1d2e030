/** From the `admin` part of a configuration to its listener. */
import { newToken } from '@prexy/admin/access'
import { type AdminServer, startAdmin } from '@prexy/admin/admin-server'
import type { AdminHost, AdminRoute, AdminStatus, ReloadOutcome } from '@prexy/admin/host'
import type { Ingest } from '@prexy/admin/ingest'
import { mergeSnapshots } from '@prexy/admin/metrics'
import type { AdminSettings, IngestSettings, RouteConfig } from '@prexy/config/config'
import { UNIX_PREFIX } from '@prexy/net/unix-socket'
import { addressUrl } from './address-url.ts'
import { inspectorAssets } from './inspector-assets.ts'
import { listenError } from './listen-error.ts'
import type { Plan, Service } from './service.ts'
import { gaugesOf, ingestGauge } from './statistics.ts'
import { VERSION } from './version.ts'

/** What the server does for its admin listener. */
export interface AdminDuties {
  readonly service: Service
  /** That is served now. */
  readonly plan: () => Plan
  readonly workers: number
  readonly startedAtMs: number
  readonly loadedAtMs: () => number
  readonly isDraining: () => boolean
  readonly reload: () => Promise<ReloadOutcome>
  readonly drain: () => void
}

/** Opens the listener and tells where it is. Rejects with an error for the user when the address cannot be had. */
export async function startAdminListener(
  settings: AdminSettings,
  duties: AdminDuties,
  say: (line: string) => void,
): Promise<AdminServer> {
  const token = settings.token ?? newToken()
  const { host = '0.0.0.0', port } = settings.listen
  const assets = await inspectorAssets()
  const ingest = await ingestOf(settings.ingest, duties.service)
  let server: AdminServer
  try {
    server = await startAdmin({
      listen: { host, port },
      token,
      hosts: settings.hosts,
      openMetrics: settings.openMetrics,
      host: adminHost(duties, ingest),
      ...(ingest === undefined ? {} : { ingest }),
      ...(assets === undefined ? {} : { assets }),
      onError: (error) => say(`admin: ${error.message}`),
    })
  } catch (error) {
    throw listenError(error)
  }
  const url = addressUrl('http', host === '0.0.0.0' ? '127.0.0.1' : host, server.address.port)
  // In the fragment it stays in the browser: no server gets it, and no log.
  say(settings.token === undefined ? `admin on ${url}#token=${token}` : `admin on ${url}`)
  return server
}

async function ingestOf(
  settings: IngestSettings | undefined,
  { recordApplication }: Service,
): Promise<Ingest | undefined> {
  if (settings === undefined || recordApplication === undefined) return undefined
  const { Ingest } = await import('@prexy/admin/ingest')
  const { token, origins, ...limits } = settings
  return new Ingest({ record: recordApplication, origins, limits, ...(token === undefined ? {} : { token }) })
}

function adminHost(
  { service, plan, workers, startedAtMs, loadedAtMs, isDraining, reload, drain }: AdminDuties,
  ingest: Ingest | undefined,
): AdminHost {
  const { feed } = service
  const directory = plan().config.record?.directory
  return {
    async status(): Promise<AdminStatus> {
      const all = await service.statistics()
      return {
        version: VERSION,
        runtime: runtimeName(),
        startedAtMs,
        configurationLoadedAtMs: loadedAtMs(),
        workers,
        listeners: service.addresses.map(({ address, port }) => addressText(address, port)),
        state: isDraining() ? 'draining' : 'ready',
        openConnections: all.reduce((sum, { connections }) => sum + connections, 0),
        residentBytes: all.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
      }
    },
    async measure() {
      const all = await service.statistics()
      const gauges = [...gaugesOf(all), ...(ingest === undefined ? [] : [ingestGauge(ingest.counts)])]
      return { metrics: mergeSnapshots(all.map(({ metrics }) => metrics)), gauges }
    },
    routes: () => routesOf(plan()),
    isReady: () => !isDraining(),
    reload,
    drain,
    ...(feed === undefined ? {} : { feed }),
    ...(directory === undefined ? {} : { recordings: directory }),
  }
}

function routesOf({ config, compiled }: Plan): readonly AdminRoute[] {
  const make = (route: RouteConfig, hosts: readonly string[]): AdminRoute => {
    const set = compiled.setOf(route.ruleList)
    return {
      name: route.name,
      hosts,
      paths: route.paths,
      target: targetOf(route),
      rules: set?.rules ?? [],
      options: route.ruleList.options,
    }
  }
  return [
    ...config.sites.flatMap((site) => site.routes.map((route) => make(route, site.hosts))),
    ...config.routes.map((route) => make(route, route.hosts)),
  ]
}

function targetOf({ action }: RouteConfig): string {
  if (action.kind === 'redirect') return `${action.status} ${action.to}`
  if (action.kind === 'respond') return `${action.status}`
  const { name, servers } = action.upstream
  return (
    name ??
    servers
      .map((server) => ('path' in server ? `unix:${server.path}` : addressText(server.host, server.port)))
      .join(', ')
  )
}

function addressText(host: string, port: number): string {
  if (host.startsWith(UNIX_PREFIX)) return host
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function runtimeName(): string {
  const { bun } = process.versions
  return bun === undefined ? `Node.js ${process.versions.node}` : `Bun ${bun}`
}
