/** `server` blocks: which are meant, what names they have, and which takes the hosts that no other has. */
import { inForce, type NginxNotes, type NginxScope, oneInForce } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import { type ImportedPattern, readPattern } from './nginx-conditions.ts'
import type { RuleRefusal } from './nginx-rules.ts'
import { constantsOf, escapePattern, type NginxConstants } from './nginx-variables.ts'
import { listenSchema, type RawListen } from './listen-schema.ts'

export interface NginxServer {
  readonly scope: NginxScope
  readonly directive: NginxDirective
  readonly constants: NginxConstants
  /** As our hosts are written: exact, or `*.` and a name. */
  readonly hosts: readonly string[]
  /** `length`: by which one that ends with a star goes before others. */
  readonly patterns: readonly (HostPattern & { readonly length: number })[]
  /** None if all of them are of a kind that prexy has not. */
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

/** A name that is no host of a site: with a star at the end, or a pattern. */
interface HostPattern {
  /** Undefined: every host. */
  readonly hostRegex: ImportedPattern | undefined
  /** The pattern of nginx cannot be read; `hostRegex` takes more, and all of that is closed. */
  readonly isClosed: boolean
}

/** A server for some hosts. `listeners`: names of addresses; undefined: all. */
interface Placed {
  readonly server: NginxServer
  readonly listeners: readonly string[] | undefined
}

export interface OrderedServers {
  readonly listen: readonly (string | RawListen)[]
  readonly sites: readonly (Placed & { readonly hosts: readonly string[] })[]
  /** Of hosts that no site has, in their order. */
  readonly rest: readonly (Placed & HostPattern)[]
}

/** Which server takes which hosts on an address. */
interface HostPlan {
  readonly sites: ReadonlyMap<NginxServer, readonly string[]>
  readonly patterns: readonly (HostPattern & { readonly server: NginxServer })[]
  /** Undefined: it is not imported. */
  readonly fallback: NginxServer | undefined
}

/** Addresses where the same servers take the same hosts. */
interface ListenGroup {
  readonly name: string
  readonly addresses: Set<string>
  readonly plan: HostPlan
}

export function orderedServers(
  http: NginxScope,
  { site, refusalOf }: { readonly site?: string; readonly refusalOf: RuleRefusal },
  notes: NginxNotes,
): OrderedServers | { readonly message: string } {
  const all = http.directives.flatMap((directive) =>
    directive.name === 'server' && directive.block !== undefined ? [serverOf(directive, http, refusalOf, notes)] : [],
  )
  if (all.length === 0) return { message: 'there is no server in it' }
  const isChosen = (server: NginxServer): boolean =>
    site === undefined || server.hosts.some((host) => hostTakes(host, site))
  const chosen = all.filter((server) => isChosen(server) && server.listens.length > 0)
  if (chosen.length === 0) {
    if (site === undefined) return { message: 'no server in it listens on an address that prexy can have' }
    const names = [...new Set(all.flatMap(({ hosts }) => hosts))]
    return { message: `no server has the name ${site}; there are ${names.join(', ') || 'none with a name'}` }
  }
  const redirects = redirectAddresses(chosen, notes)
  const addresses = [...new Set(chosen.flatMap(({ listens }) => listens.map(({ address }) => address)))].filter(
    (address) => !redirects.has(address),
  )
  const groups = new Map<string, ListenGroup>()
  const reached = new Set<NginxServer>()
  for (const address of addresses) {
    const plan = planOf(address, all, isChosen)
    for (const server of [...plan.sites.keys(), ...plan.patterns.map((one) => one.server)]) reached.add(server)
    if (plan.fallback !== undefined) reached.add(plan.fallback)
    const key = JSON.stringify([
      [...plan.sites].map(([server, hosts]) => [all.indexOf(server), hosts]),
      plan.patterns.map(({ server, hostRegex }) => [all.indexOf(server), hostRegex]),
      plan.fallback === undefined ? -1 : all.indexOf(plan.fallback),
    ])
    const plain = address.replaceAll(/[^\w.:[\]-]/g, '-').slice(0, 90)
    const isTaken = [...groups.values()].some(({ name }) => name === plain)
    const name = isTaken ? `${plain}-${groups.size}` : plain
    const group = groups.get(key) ?? { name, addresses: new Set(), plan }
    group.addresses.add(address)
    groups.set(key, group)
  }
  for (const server of chosen) {
    if (reached.has(server) || server.listens.some(({ address }) => redirects.has(address))) continue
    notes.add('missing', server.directive, 'no name of it leads here')
  }
  const found = [...groups.values()]
  const isOne = found.length === 1
  return {
    listen: listenOf(chosen, redirects, isOne ? [] : found, notes),
    sites: joined(
      found.flatMap(({ name, plan }) => [...plan.sites].map(([server, hosts]) => ({ server, hosts, name }))),
      isOne,
    ),
    // The patterns of all addresses first: none may come behind what takes every host.
    rest: joined(
      [
        ...found.flatMap(({ name, plan }) => plan.patterns.map((one) => ({ ...one, name }))),
        ...found.flatMap(({ name, plan: { fallback } }) =>
          fallback === undefined ? [] : [{ server: fallback, hostRegex: undefined, isClosed: false, name }],
        ),
      ],
      isOne,
    ),
  }
}

/** What is the same on several addresses once. */
function joined<T extends { readonly server: NginxServer; readonly name: string }>(
  all: readonly T[],
  isOne: boolean,
): readonly (Omit<T, 'name'> & Placed)[] {
  const found: { readonly key: string; readonly one: Omit<T, 'name'> & { readonly listeners: string[] } }[] = []
  const servers = [...new Set(all.map(({ server }) => server))]
  for (const { name, ...one } of all) {
    const key = JSON.stringify({ ...one, server: servers.indexOf(one.server) })
    const same = found.find((other) => other.key === key)
    if (same === undefined) found.push({ key, one: { ...one, listeners: [name] } })
    else same.one.listeners.push(name)
  }
  return found.map(({ one }) => (isOne ? { ...one, listeners: undefined } : one))
}

/** As nginx finds a server: by the exact name, the longest that begins or ends with a star, a pattern, or the default. */
function planOf(address: string, all: readonly NginxServer[], isChosen: (server: NginxServer) => boolean): HostPlan {
  const here = all.filter(({ listens }) => listens.some((one) => one.address === address))
  const isDefault = ({ listens }: NginxServer): boolean =>
    listens.some((one) => one.address === address && one.isDefault)
  const fallback = here.find(isDefault) ?? here.at(0)
  const sites = new Map<NginxServer, readonly string[]>()
  const taken = new Set<string>()
  for (const server of here) {
    const hosts = server.hosts.filter((host) => !taken.has(host))
    for (const host of hosts) taken.add(host)
    if (hosts.length > 0) sites.set(server, hosts)
  }
  const patterns = here
    .flatMap((server) => server.patterns.map((pattern) => ({ server, ...pattern })))
    .toSorted((a, b) => b.length - a.length)
  const isWhole = here.every(isChosen)
  while (isWhole && patterns.at(-1)?.server === fallback && patterns.at(-1)?.isClosed === false) patterns.pop()
  // Where nothing else could take its names, they need not be said.
  const own = fallback === undefined ? undefined : sites.get(fallback)
  if (isWhole && fallback !== undefined && own !== undefined) {
    const others = [...taken].filter((host) => !own.includes(host))
    const isTaken = own.some((host) => others.some((other) => other.startsWith('*.') && hostTakes(other, host)))
    if (!isTaken && patterns.length === 0) sites.delete(fallback)
  }
  for (const server of sites.keys()) if (!isChosen(server)) sites.delete(server)
  return {
    sites,
    patterns: patterns
      .filter(({ server }) => isChosen(server))
      .map(({ server, hostRegex, isClosed }) => ({ server, hostRegex, isClosed })),
    // Hosts of servers that were left out are not those of another.
    fallback: isWhole ? fallback : undefined,
  }
}

function hostTakes(pattern: string, host: string): boolean {
  return pattern === host.toLowerCase() || (pattern.startsWith('*.') && host.toLowerCase().endsWith(pattern.slice(1)))
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
  named: readonly ListenGroup[],
  notes: NginxNotes,
): readonly (string | RawListen)[] {
  const entries: (string | RawListen)[] = [...redirects].map(([address, redirectPort]) => ({ address, redirectPort }))
  const addresses = new Set(servers.flatMap(({ listens }) => listens.map(({ address }) => address)))
  for (const address of addresses) {
    if (redirects.has(address)) continue
    const here = servers.flatMap((server) =>
      server.listens.filter((one) => one.address === address).map((listen) => ({ server, listen })),
    )
    const wildcard = address.replace(/^.*:/, '0.0.0.0:')
    if (address !== wildcard && !address.startsWith('[') && addresses.has(wildcard)) {
      const [{ listen }] = here
      const reason = `prexy cannot listen on ${wildcard} beside it, and does not start; take one of the two out`
      if (listen.directive !== undefined) notes.add('missing', listen.directive, reason)
    }
    const entry = here.some(({ listen }) => listen.isTls) ? tlsListen(address, here, notes) : address
    const name = named.find((group) => group.addresses.has(address))?.name
    if (name === undefined) entries.push(entry)
    else if (typeof entry === 'string') entries.push({ address: entry, name })
    else {
      const { address: at, ...rest } = entry
      entries.push({ address: at, name, ...rest })
    }
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

function serverOf(directive: NginxDirective, http: NginxScope, refusalOf: RuleRefusal, notes: NginxNotes): NginxServer {
  const scope: NginxScope = { directives: directive.block ?? [], parent: http }
  const names = scope.directives.filter(({ name }) => name === 'server_name')
  const said = names.flatMap((name) => name.args.map((arg) => ({ name, arg: arg.toLowerCase(), written: arg })))
  const hosts = [...new Set(said.flatMap(({ arg }) => hostsOf(arg)))]
  const serverName: readonly [string, string][] = hosts.length === 0 ? [] : [['server_name', hosts[0]]]
  const listens = scope.directives.filter(({ name }) => name === 'listen')
  return {
    scope,
    directive,
    constants: constantsOf(scope, new Map(serverName)),
    hosts,
    patterns: said.flatMap(({ name, arg, written }) =>
      hostsOf(arg).length > 0 ? [] : patternOf(written, name, refusalOf, notes),
    ),
    listens:
      listens.length > 0
        ? listens.flatMap((one) => listenAt(one, notes))
        : [{ address: '0.0.0.0:80', isTls: false, isDefault: false, hasHttp2: false, directive: undefined }],
  }
}

/** Hosts of a site. */
function hostsOf(name: string): readonly string[] {
  if (/^\.[a-z0-9_.-]+$/.test(name)) return [name.slice(1), `*${name}`]
  return /^(\*\.)?[a-z0-9_.-]+$/.test(name) ? [name] : []
}

function patternOf(
  name: string,
  directive: NginxDirective,
  refusalOf: RuleRefusal,
  notes: NginxNotes,
): NginxServer['patterns'] {
  if (name.startsWith('~')) {
    const { exact, wider } = readPattern(name.slice(1), true, refusalOf)
    if (exact !== undefined) return [{ hostRegex: exact, isClosed: false, length: 0 }]
    const reason = `${name} cannot be matched in linear time; hosts that it may be about are closed`
    notes.add('missing', directive, reason)
    return [{ hostRegex: wider, isClosed: true, length: 0 }]
  }
  const lower = name.toLowerCase()
  // Of requests without a host.
  if (lower === '') return [{ hostRegex: '^$', isClosed: false, length: Infinity }]
  const stem = /^([a-z0-9_.-]+\.)\*$/.exec(lower)?.[1]
  if (stem !== undefined) return [{ hostRegex: `^${escapePattern(stem)}.`, isClosed: false, length: stem.length }]
  notes.add('missing', directive, `${name}: hosts of sites are names, *.names and patterns, in ASCII`)
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
