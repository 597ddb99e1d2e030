/** Where a route leads, as an upstream of ours. */
import { configSchema } from './config-schema.ts'
import type { NginxLocation } from './nginx-locations.ts'
import { inForce, type NginxNotes, type NginxScope, oneInForce } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import type { NginxTarget, NginxUpstream } from './nginx-upstream.ts'
import type { RawUpstream, RawUpstreamServer, RawUpstreamTls } from './upstream-schema.ts'

/** An address, the name of an entry of `upstreams`, or a mapping. */
export type ImportedUpstream = string | RawUpstream

/** Entries of `upstreams` that routes name, by name. */
export type NamedUpstreams = Map<string, RawUpstream>

export interface ImportedMount {
  readonly at: string
  readonly to: string
}

/** Whether routes of ours can say that: what is being built stands here until it is there. */
export function schemaHas(route: object): boolean {
  return configSchema.safeParse({ routes: [{ upstream: 'http://127.0.0.1', ...route }] }).success
}

/** Undefined if there is none for it, which is told. */
export function upstreamOf(
  target: NginxTarget,
  upstreams: ReadonlyMap<string, NginxUpstream>,
  named: NamedUpstreams,
  scope: NginxScope,
  directive: NginxDirective,
  notes: NginxNotes,
): ImportedUpstream | undefined {
  const group = upstreams.get(target.authority)
  const tls = target.scheme === 'https' ? tlsOf(scope, directive, notes) : {}
  if (group !== undefined) return groupOf(group, target, tls, named, directive, notes)
  const url = target.socket === undefined ? `${target.scheme}://${target.authority}` : `unix:${target.socket}`
  const upstream: ImportedUpstream =
    target.socket !== undefined
      ? { url, hostHeader: target.authority }
      : Object.keys(tls).length === 0
        ? url
        : { url, tls }
  if (schemaHas({ upstream })) return upstream
  notes.add('missing', directive, `${url} is no address that a route can have; answered 502 until it has an upstream`)
  return undefined
}

function groupOf(
  { peers, keepalive, isLeastConnections }: NginxUpstream,
  { scheme, authority }: NginxTarget,
  tls: RawUpstreamTls,
  named: NamedUpstreams,
  directive: NginxDirective,
  notes: NginxNotes,
): ImportedUpstream | undefined {
  const servers = peers.map(({ address, weight, isBackup }): RawUpstreamServer => {
    const url = address.startsWith('unix:') ? address : `${scheme}://${address}`
    if (weight === 1 && !isBackup) return url
    return { url, ...(weight === 1 ? {} : { weight }), ...(isBackup ? { backup: true } : {}) }
  })
  const upstream: RawUpstream = {
    servers,
    ...(isLeastConnections ? { balance: 'least-connections' } : {}),
    // What nginx says where proxy_set_header says nothing: the name of the group.
    hostHeader: authority,
    ...(keepalive === undefined || !Number.isSafeInteger(keepalive) ? {} : { maxIdleConnections: keepalive }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  }
  if (servers.length === 0 || !schemaHas({ upstream })) {
    notes.add('missing', directive, `the upstream ${authority} has servers that a route cannot have; answered 502`)
    return undefined
  }
  return nameOf(upstream, authority, named)
}

/** The same name for the same upstream, another where there is another of that name. */
function nameOf(upstream: RawUpstream, wanted: string, named: NamedUpstreams): string {
  const plain = `${/^[A-Za-z]/.test(wanted) ? '' : 'u-'}${wanted.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`.slice(0, 60)
  for (let number = 1; ; number++) {
    const name = number === 1 ? plain : `${plain}-${number}`
    const known = named.get(name)
    if (known === undefined) named.set(name, upstream)
    if (known === undefined || JSON.stringify(known) === JSON.stringify(upstream)) return name
  }
}

function tlsOf(scope: NginxScope, directive: NginxDirective, notes: NginxNotes): RawUpstreamTls {
  const first = (name: string): string | undefined => oneInForce(scope, name)?.args[0]
  const [ca, cert, key] = ['trusted_certificate', 'certificate', 'certificate_key'].map((one) =>
    first(`proxy_ssl_${one}`),
  )
  const serverName = first('proxy_ssl_name')
  if (first('proxy_ssl_verify') !== 'on') {
    notes.add(
      'differs',
      directive,
      'the certificate of the upstream must be valid; nginx takes any without proxy_ssl_verify',
    )
  }
  for (const one of inForce(scope, 'proxy_ssl_password_file')) notes.add('missing', one, 'keys have no password here')
  return {
    ...(serverName === undefined || serverName.startsWith('$') ? {} : { serverName }),
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(cert === undefined || key === undefined ? {} : { certFile: cert, keyFile: key }),
  }
}

/** How the path changes on the way up; undefined if it does not. */
export function mountOf(
  { uri }: NginxTarget,
  path: string | undefined,
  kind: NginxLocation['kind'],
  directive: NginxDirective,
  notes: NginxNotes,
): ImportedMount | undefined | 'refused' {
  if (uri === undefined || uri === path) return undefined
  // The end is a slash on both sides or on none: then the rest of the path is the same.
  if (path !== undefined && kind !== 'exact' && path.endsWith('/') && uri.endsWith('/')) {
    const mount = { at: path.replace(/(.)\/$/, '$1'), to: uri.replace(/(.)\/$/, '$1') }
    if (schemaHas({ mount, upstream: 'http://127.0.0.1' })) {
      notes.add('differs', directive, 'Location without a host and paths of cookies get the path of the location, too')
      return mount
    }
  }
  notes.add('missing', directive, `paths go up as they came, not as ${uri}; answered 502 until the route is looked at`)
  return 'refused'
}
