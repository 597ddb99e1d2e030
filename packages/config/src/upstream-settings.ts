/** Upstreams as the proxy takes them, from what a file says. */
import { nearMiss } from './near-miss.ts'
import type { ConfigPath } from './problem.ts'
import type { RawHealthCheck, RawUpstream, RawUpstreamServer, RawUpstreamTls } from './upstream-schema.ts'

export type ServerSettings =
  /** Name or address; an IPv6 address without brackets. */
  (
    | { readonly host: string; readonly port: number }
    /** A Unix socket. */
    | { readonly path: string }
  ) & { readonly tls?: boolean; readonly weight?: number; readonly backup?: boolean }

export interface UpstreamSettings extends Omit<RawUpstream, 'url' | 'servers' | 'healthCheck' | 'tls'> {
  /** At least one. */
  readonly servers: readonly ServerSettings[]
  /** Of an entry of `upstreams`. */
  readonly name?: string
  readonly healthCheck?: Omit<RawHealthCheck, 'status'> & { readonly status?: readonly [number, number] }
  readonly tls?: UpstreamTlsSettings
}

export interface UpstreamTlsSettings extends Pick<RawUpstreamTls, 'serverName' | 'insecureAcceptAnyCertificate'> {
  /** PEM, the content of the files. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** Reads a file that an upstream names; undefined if that fails, which the reader reports. */
export type ReadUpstreamFile = (field: 'caFile' | 'certFile' | 'keyFile', file: string) => string | undefined

const HTTP_PORT = 80
const HTTPS_PORT = 443

/** One server. The schema has let the address through. */
export function serverOf(server: RawUpstreamServer): ServerSettings {
  const { url, ...rest } = typeof server === 'string' ? { url: server } : server
  if (url.startsWith('unix:')) return { path: url.slice('unix:'.length), ...rest }
  const tls = /^https:/i.test(url)
  const authority = url.slice(url.indexOf('//') + 2).replace(/\/$/, '')
  const port = /:(\d+)$/.exec(authority)
  const host = authority.slice(0, port?.index).replace(/^\[|\]$/g, '')
  const defaultPort = tls ? HTTPS_PORT : HTTP_PORT
  return { host, port: port === null ? defaultPort : Number(port[1]), ...(tls ? { tls } : {}), ...rest }
}

/** An upstream that is written out, not named. */
export function upstreamOf(
  upstream: string | RawUpstream,
  readFile: ReadUpstreamFile,
  name?: string,
): UpstreamSettings {
  const { url, servers, healthCheck, tls, ...rest } = typeof upstream === 'string' ? { url: upstream } : upstream
  return {
    servers: [...(url === undefined ? [] : [url]), ...(servers ?? [])].map(serverOf),
    ...(name === undefined ? {} : { name }),
    ...rest,
    ...(healthCheck === undefined ? {} : { healthCheck: healthCheckOf(healthCheck) }),
    ...(tls === undefined ? {} : { tls: tlsOf(tls, readFile) }),
  }
}

function healthCheckOf({ status, ...rest }: RawHealthCheck): NonNullable<UpstreamSettings['healthCheck']> {
  return { ...rest, ...(status === undefined ? {} : { status: statusRange(status) }) }
}

function statusRange(status: number | string): readonly [number, number] {
  if (typeof status === 'number') return [status, status]
  if (status.endsWith('xx')) return [Number(status[0]) * 100, Number(status[0]) * 100 + 99]
  const [least, greatest] = status.split('-').map(Number)
  return [least, greatest]
}

function tlsOf(
  { caFile, certFile, keyFile, ...rest }: RawUpstreamTls,
  readFile: ReadUpstreamFile,
): UpstreamTlsSettings {
  const ca = caFile === undefined ? undefined : readFile('caFile', caFile)
  const cert = certFile === undefined ? undefined : readFile('certFile', certFile)
  const key = keyFile === undefined ? undefined : readFile('keyFile', keyFile)
  return {
    ...rest,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

export interface UpstreamFinding {
  readonly severity: 'error' | 'warning'
  /** Below the upstream. */
  readonly path: ConfigPath
  readonly message: string
  readonly hint: string
}

/** What no single field of an upstream shows. `names` are those of `upstreams`. */
export function checkUpstream(upstream: string | RawUpstream, names: readonly string[]): readonly UpstreamFinding[] {
  const findings: UpstreamFinding[] = []
  const error = (path: ConfigPath, message: string, hint: string): void => {
    findings.push({ severity: 'error', path, message, hint })
  }
  if (typeof upstream === 'string') {
    if (!isName(upstream)) checkPort(upstream, [], error)
    else if (!names.includes(upstream)) {
      const near = nearMiss(upstream, names)
      const hint = near === undefined ? 'an address begins with http://, https:// or unix:' : `did you mean ${near}?`
      error([], `there is no ${upstream} among the upstreams`, hint)
    }
    return findings
  }
  const { url, servers, denyPrivate, tls, ejection, healthCheck, http2, maxStreams } = upstream
  if (url === undefined && servers === undefined)
    error([], 'says no server', 'add url: http://127.0.0.1:9000, or servers')
  if (url !== undefined && servers !== undefined) error(['servers'], 'does not go with url', 'put the url into servers')
  if (servers?.length === 0) error(['servers'], 'is empty', 'add a server')
  if (url !== undefined) checkPort(url, ['url'], error)
  for (const [index, server] of (servers ?? []).entries()) {
    checkPort(typeof server === 'string' ? server : server.url, ['servers', index], error)
  }
  const all = [...(url === undefined ? [] : [url]), ...(servers ?? [])].map(serverOf)
  if (all.length > 0 && all.every(({ backup }) => backup === true)) {
    error(['servers'], 'has only backups', 'leave backup out at one of them')
  }
  const fixed = all.find((server) => 'path' in server || /^[0-9.]+$|:/.test(server.host))
  if (denyPrivate === true && fixed !== undefined) {
    const what = 'path' in fixed ? 'a socket' : 'an address'
    error(
      ['denyPrivate'],
      `is for names, and ${'path' in fixed ? fixed.path : fixed.host} is ${what}`,
      'remove one of the two',
    )
  }
  if (http2 === 'alpn' && !all.some((server) => server.tls === true)) {
    error(
      ['http2'],
      'is agreed on with https:// servers, and there is none here',
      'write prior-knowledge if they speak it',
    )
  }
  if (maxStreams !== undefined && (http2 ?? 'off') === 'off') {
    error(['maxStreams'], 'is for http2, which is off', 'add http2: alpn, or leave it out')
  }
  if (tls !== undefined) {
    if (!all.some((server) => server.tls === true)) error(['tls'], 'is for https:// servers', 'there is none here')
    if ((tls.certFile === undefined) !== (tls.keyFile === undefined)) {
      const [there, missing] = tls.certFile === undefined ? ['keyFile', 'certFile'] : ['certFile', 'keyFile']
      error(['tls', there], `needs ${missing}`, 'a certificate and its key go together')
    }
    if (tls.insecureAcceptAnyCertificate === true) {
      const message = 'certificates are not checked: whoever is in between can read and change everything'
      const hint = 'name the authority with caFile instead'
      findings.push({ severity: 'warning', path: ['tls', 'insecureAcceptAnyCertificate'], message, hint })
    }
  }
  const { baseMs, maxMs } = ejection ?? {}
  if (baseMs !== undefined && maxMs !== undefined && baseMs > maxMs) {
    error(['ejection', 'baseMs'], `is more than maxMs, ${maxMs}`, 'make it less')
  }
  if (typeof healthCheck?.status === 'string') {
    const [least, greatest] = statusRange(healthCheck.status)
    if (least > greatest)
      error(['healthCheck', 'status'], `${healthCheck.status} is no range`, 'the lower one goes first')
  }
  return findings
}

/** Whether the text names an entry of `upstreams` rather than being an address. */
export function isName(upstream: string): boolean {
  return !upstream.includes(':')
}

function checkPort(
  url: string,
  path: ConfigPath,
  error: (path: ConfigPath, message: string, hint: string) => void,
): void {
  const server = serverOf(url)
  if ('path' in server || (server.port >= 1 && server.port <= 65_535)) return
  error(path, `there is no port ${server.port}`, 'ports go from 1 to 65535')
}
