/** `server` blocks: which are meant, what names they have, and which takes the hosts that no other has. */
import { inForce, type NginxNotes, type NginxScope, oneInForce } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import { constantsOf, type NginxConstants } from './nginx-variables.ts'
import { listenSchema, type RawListen } from './listen-schema.ts'

export interface NginxServer {
  readonly scope: NginxScope
  readonly directive: NginxDirective
  readonly constants: NginxConstants
  /** As our hosts are written: exact, or `*.` and a name. */
  readonly hosts: readonly string[]
  readonly listens: readonly NginxListen[]
}

interface NginxListen {
  /** `0.0.0.0:80`, `[::]:443`. */
  readonly address: string
  readonly isTls: boolean
  readonly isDefault: boolean
  readonly hasHttp2: boolean
  readonly directive: NginxDirective | undefined
}

export interface OrderedServers {
  readonly listen: readonly (string | RawListen)[]
  readonly sites: readonly { readonly server: NginxServer; readonly hosts: readonly string[] }[]
  readonly fallback: NginxServer | undefined
}

export function orderedServers(
  http: NginxScope,
  site: string | undefined,
  notes: NginxNotes,
): OrderedServers | { readonly message: string } {
  const all = http.directives.flatMap((directive) =>
    directive.name === 'server' && directive.block !== undefined ? [serverOf(directive, http, notes)] : [],
  )
  if (all.length === 0) return { message: 'there is no server in it' }
  const chosen = site === undefined ? all : all.filter((server) => server.hosts.some((host) => hostTakes(host, site)))
  if (site !== undefined && chosen.length === 0) {
    const names = [...new Set(all.flatMap(({ hosts }) => hosts))]
    return { message: `no server has the name ${site}; there are ${names.join(', ') || 'none with a name'}` }
  }
  const redirects = redirectAddresses(chosen, notes)
  const served = withoutOtherPorts(
    chosen.filter(({ listens }) => !listens.every(({ address }) => redirects.has(address))),
    notes,
  )
  const fallback = served.find(({ listens }) => listens.some(({ isDefault }) => isDefault)) ?? served.at(0)
  const sites: { server: NginxServer; hosts: readonly string[] }[] = []
  const taken = new Set<string>()
  for (const server of served) {
    const hosts = server.hosts.filter((host) => !taken.has(host))
    for (const host of hosts) taken.add(host)
    const isReached = server !== fallback || served.some((other) => other !== server && mayTake(other, hosts))
    if (hosts.length > 0 && isReached) sites.push({ server, hosts })
    else if (server !== fallback) notes.add('missing', server.directive, 'no name of it leads here')
  }
  return { listen: listenOf(served, redirects, notes), sites, fallback }
}

/** Whether a pattern of another server would take one of the hosts. */
function mayTake(other: NginxServer, hosts: readonly string[]): boolean {
  return other.hosts.some((pattern) => pattern.startsWith('*.') && hosts.some((host) => hostTakes(pattern, host)))
}

function hostTakes(pattern: string, host: string): boolean {
  return pattern === host.toLowerCase() || (pattern.startsWith('*.') && host.toLowerCase().endsWith(pattern.slice(1)))
}

/** Routes do not tell the port that a request came to: of two servers for one name, the one with TLS or content stays. */
function withoutOtherPorts(servers: readonly NginxServer[], notes: NginxNotes): readonly NginxServer[] {
  const isAnswer = ({ scope }: NginxServer): boolean => scope.directives.some(({ name }) => name === 'return')
  const rank = (server: NginxServer): number =>
    (isAnswer(server) ? 0 : 2) + (server.listens.some(({ isTls }) => isTls) ? 1 : 0)
  const dropped = new Set<NginxServer>()
  for (const [index, server] of servers.entries()) {
    for (const other of servers.slice(index + 1)) {
      const isSameName =
        server.hosts.some((host) => other.hosts.includes(host)) ||
        (server.hosts.length === 0 && other.hosts.length === 0)
      if (!isSameName || dropped.has(server) || dropped.has(other)) continue
      const loser = rank(other) > rank(server) ? server : other
      const winner = loser === server ? other : server
      dropped.add(loser)
      const reason = `sites do not tell ports, and the server of line ${winner.directive.line} has the same name`
      notes.add('missing', loser.directive, reason)
    }
  }
  return servers.filter((server) => !dropped.has(server))
}

/**
 * Addresses where every server sends every client to https, by the port that it sends them to: `redirectPort` does that
 * for the address as a whole.
 */
function redirectAddresses(servers: readonly NginxServer[], notes: NginxNotes): ReadonlyMap<string, number> {
  const tls = servers.flatMap(({ listens }) => listens).find(({ isTls }) => isTls)
  if (tls === undefined) return new Map()
  const addresses = new Map<string, number>()
  const all = new Set(
    servers.flatMap(({ listens }) => listens.filter((one) => !one.isTls).map(({ address }) => address)),
  )
  for (const address of all) {
    const here = servers.filter(({ listens }) => listens.some((one) => one.address === address))
    const found = here.map((server) => httpsRedirect(server))
    if (found.some((one) => one === undefined) || here.some(({ listens }) => listens.some(({ isTls }) => isTls)))
      continue
    for (const one of found) {
      if (one !== undefined) notes.add('differs', one, 'the redirect is 308, to the name that the client asked for')
    }
    addresses.set(address, Number(/\d+$/.exec(tls.address)?.[0] ?? '443'))
  }
  return addresses
}

function httpsRedirect({ scope, hosts }: NginxServer): NginxDirective | undefined {
  if (scope.directives.some(({ name }) => /^(location|if|rewrite)$/.test(name))) return undefined
  const [given] = scope.directives.filter(({ name }) => name === 'return')
  const to = /^https:\/\/([^/]+?)(?::\d+)?\$request_uri$/.exec(given?.args.at(-1) ?? '')?.[1]
  const isOwn =
    to !== undefined && (/^\$(host|http_host|server_name)$/.test(to) || (hosts.length === 1 && hosts[0] === to))
  return isOwn ? given : undefined
}

/** The addresses of all servers, with the certificates of those that speak TLS there. */
function listenOf(
  servers: readonly NginxServer[],
  redirects: ReadonlyMap<string, number>,
  notes: NginxNotes,
): readonly (string | RawListen)[] {
  const entries: (string | RawListen)[] = [...redirects].map(([address, redirectPort]) => ({ address, redirectPort }))
  const addresses = new Set(servers.flatMap(({ listens }) => listens.map(({ address }) => address)))
  for (const address of addresses) {
    if (redirects.has(address)) continue
    const here = servers.flatMap((server) =>
      server.listens.filter((one) => one.address === address).map((listen) => ({ server, listen })),
    )
    entries.push(here.some(({ listen }) => listen.isTls) ? tlsListen(address, here, notes) : address)
  }
  return entries
}

function tlsListen(
  address: string,
  here: readonly { readonly server: NginxServer; readonly listen: NginxListen }[],
  notes: NginxNotes,
): string | RawListen {
  const certificates = new Map<string, { readonly certFile: string; readonly keyFile: string }>()
  // That of the default server is shown to clients that name no host.
  for (const { server } of here.toSorted((a, b) => Number(b.listen.isDefault) - Number(a.listen.isDefault))) {
    const certs = inForce(server.scope, 'ssl_certificate')
    const keys = inForce(server.scope, 'ssl_certificate_key')
    for (const [index, cert] of certs.entries()) {
      const [certFile, keyFile] = [cert.args[0], keys[index]?.args[0]]
      if (certFile === undefined || keyFile === undefined || /\$|^data:|^engine:/.test(certFile + keyFile)) {
        notes.add('missing', cert, 'a certificate is a file, and its key another')
      } else certificates.set(`${certFile}\n${keyFile}`, { certFile, keyFile })
    }
  }
  const [{ server, listen }] = here
  if (certificates.size === 0) {
    if (listen.directive !== undefined)
      notes.add('missing', listen.directive, 'without a certificate it speaks plain HTTP')
    return address
  }
  const protocols = oneInForce(server.scope, 'ssl_protocols')
  const old = protocols?.args.filter((name) => !/^TLSv1\.[23]$/.test(name)) ?? []
  if (protocols !== undefined && old.length > 0)
    notes.add('missing', protocols, `${old.join(' ')}: TLS 1.2 is the oldest`)
  const ciphers = oneInForce(server.scope, 'ssl_ciphers')?.args[0]
  const isNew = protocols !== undefined && !protocols.args.some((name) => name !== 'TLSv1.3')
  const hasHttp2 = here.some((one) => one.listen.hasHttp2 || oneInForce(one.server.scope, 'http2')?.args[0] === 'on')
  return {
    address,
    tls: {
      certificates: [...certificates.values()],
      ...(isNew ? { minVersion: 'TLSv1.3' } : {}),
      ...(ciphers === undefined ? {} : { ciphers }),
    },
    ...(hasHttp2 ? {} : { http2: false }),
  }
}

function serverOf(directive: NginxDirective, http: NginxScope, notes: NginxNotes): NginxServer {
  const scope: NginxScope = { directives: directive.block ?? [], parent: http }
  const names = scope.directives.filter(({ name }) => name === 'server_name')
  const hosts = [...new Set(names.flatMap((name) => name.args.flatMap((arg) => hostsOf(arg, name, notes))))]
  const serverName: readonly [string, string][] = hosts.length === 0 ? [] : [['server_name', hosts[0]]]
  const listens = scope.directives.filter(({ name }) => name === 'listen').flatMap((one) => listenAt(one, notes))
  return {
    scope,
    directive,
    constants: constantsOf(scope, new Map(serverName)),
    hosts,
    listens:
      listens.length > 0
        ? listens
        : [{ address: '0.0.0.0:80', isTls: false, isDefault: false, hasHttp2: false, directive: undefined }],
  }
}

function hostsOf(name: string, directive: NginxDirective, notes: NginxNotes): readonly string[] {
  const lower = name.toLowerCase()
  // Names that no client asks for, by convention for a server that takes the rest.
  if (lower === '' || lower === '_' || lower === '-') return []
  if (lower.startsWith('~')) {
    notes.add('missing', directive, `${name}: hosts of sites are names and *.names, no patterns`)
    return []
  }
  if (lower.startsWith('.')) return [lower.slice(1), `*${lower}`]
  if (/^(\*\.)?[a-z0-9_.-]+$/.test(lower)) return [lower]
  notes.add('missing', directive, `${name}: hosts of sites are names and *.names, in ASCII`)
  return []
}

function listenAt(directive: NginxDirective, notes: NginxNotes): readonly NginxListen[] {
  const [address = '', ...options] = directive.args
  if (address.startsWith('unix:')) {
    notes.add('missing', directive, 'sockets with a path are not carried over')
    return []
  }
  const bracketed = /^(\[[0-9A-Fa-f:.]+\])(?::(\d+))?$/.exec(address)
  const [, host, port] = bracketed ?? /^(?:([^:]*[^:\d][^:]*|[\d.]*\.[\d.]*):?)?(\d+)?$/.exec(address) ?? []
  if (host === undefined && port === undefined) {
    notes.add('missing', directive, `${address} is no address`)
    return []
  }
  const whole = `${host === undefined || host === '*' ? '0.0.0.0' : host}:${port ?? '80'}`
  if (!listenSchema.safeParse(whole).success || Number(port ?? 80) > 65_535) {
    notes.add('missing', directive, `${address} is no address`)
    return []
  }
  for (const option of options) {
    if (/^(proxy_protocol|quic|http3)$/.test(option)) notes.add('missing', directive, `${option} has no counterpart`)
  }
  return [
    {
      address: whole,
      isTls: options.includes('ssl'),
      isDefault: options.includes('default_server') || options.includes('default'),
      hasHttp2: options.includes('http2'),
      directive,
    },
  ]
}
