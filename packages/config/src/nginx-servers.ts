/** `server` blocks: which are meant, what names they have, and which takes the hosts that no other has. */
import { type NginxNotes, type NginxScope } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import { constantsOf, type NginxConstants } from './nginx-variables.ts'

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
  readonly directive: NginxDirective | undefined
}

export interface OrderedServers {
  readonly listen: readonly string[]
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
  const served = withoutOtherPorts(chosen, notes)
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
  return { listen: listenOf(served, notes), sites, fallback }
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

function listenOf(servers: readonly NginxServer[], notes: NginxNotes): readonly string[] {
  const addresses = new Set<string>()
  for (const { listens } of servers) {
    for (const { address, isTls, directive } of listens) {
      addresses.add(address)
      if (isTls && directive !== undefined)
        notes.add('missing', directive, 'TLS is not carried over: this port speaks plain HTTP')
    }
  }
  return [...addresses]
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
      listens.length > 0 ? listens : [{ address: '0.0.0.0:80', isTls: false, isDefault: false, directive: undefined }],
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
  for (const option of options) {
    if (/^(proxy_protocol|quic|http3)$/.test(option)) notes.add('missing', directive, `${option} has no counterpart`)
  }
  const shown = host === undefined || host === '*' ? '0.0.0.0' : host
  return [
    {
      address: `${shown}:${port ?? '80'}`,
      isTls: options.includes('ssl'),
      isDefault: options.includes('default_server') || options.includes('default'),
      directive,
    },
  ]
}
