/** Which route takes a request, however many sites there are. Routes are made ready when the first request needs them. */
import {
  type ConditionRequest,
  type ConditionSet,
  hostMatches,
  hostOf,
  hostPatterns,
  prepareConditions,
  rulesForRequest,
} from '@prexy/http/conditions'
import { type Glob, globMatches, prepareGlob } from '@prexy/http/path-glob'
import { decodedPath, matchingPath } from '@prexy/http/request-target'
import { hostMapOf, hostMapper } from '@prexy/rewrite/host-map'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import type { Rule } from '@prexy/rewrite/rules'
import type { Access } from './access.ts'
import type { Comparer } from './compare-with.ts'
import type { CompiledSets, DeferredRuleSet, UsedSet } from './compiled-sets.ts'
import { HostTable } from './host-table.ts'
import type { Mount } from './mount.ts'
import { type Neighbour, Neighbours } from './neighbours.ts'
import type { ErrorPages, Maintenance } from './own-pages.ts'
import type { RouteConfig, SiteConfig, UpstreamConfig } from './proxy-config.ts'
import { ProxyError } from './proxy-error.ts'
import type { Rollout } from './rollout.ts'
import { makeRoute, type Route, type RouteParts } from './route.ts'
import type { RouteAnswer } from './route-answer.ts'
import { patternHolds, type TextPattern } from './text-pattern.ts'
import type { UpstreamPool } from './upstream-pool.ts'

export interface RouteTableInit {
  readonly sites: readonly SiteConfig[]
  /** Of requests that belong to no site. */
  readonly routes: readonly RouteConfig[]
  readonly pathMatching: 'normalized' | 'decoded'
  readonly maxRememberedResources: number
  /** Outlives the table. */
  readonly sets: CompiledSets
  readonly poolOf: (route: RouteConfig) => UpstreamPool
  readonly comparerOf: (route: RouteConfig) => Comparer | undefined
  /** Told once of rules that do not compile when they are needed. */
  readonly onError: (error: Error) => void
}

/** Routes among which the first that fits takes the request. */
interface RouteGroup {
  readonly entries: readonly RouteEntry[]
  /** What a host that no route takes is told. */
  readonly unknown: 'E_NO_ROUTE' | 'E_NO_PATH'
}

export class RouteTable {
  readonly #hosts = new HostTable<RouteGroup>()
  /** Sites that are served on some addresses only, by the names of those. */
  readonly #hostsOfListener = new Map<string, HostTable<RouteGroup>>()
  readonly #rest: RouteGroup
  readonly #looksAtHosts: boolean
  readonly #decodesPaths: boolean
  readonly #looksAtPaths: boolean
  readonly #all: readonly RouteEntry[]
  readonly #neighbours: Neighbours<RouteEntry>

  constructor(init: RouteTableInit) {
    const all: RouteEntry[] = []
    const hosts = [...init.sites, ...init.routes].flatMap((one) => one.hosts ?? [])
    this.#neighbours = new Neighbours(hosts, (name) => this.#takersOf(name))
    for (const { hosts, listeners, routes } of init.sites) {
      const group: RouteGroup = { entries: this.#entriesOf(routes, init, false), unknown: 'E_NO_PATH' }
      for (const table of listeners === undefined ? [this.#hosts] : listeners.map((name) => this.#hostsOf(name))) {
        for (const host of hosts) table.add(host, group)
      }
      all.push(...group.entries)
    }
    this.#rest = { entries: this.#entriesOf(init.routes, init, true), unknown: 'E_NO_ROUTE' }
    const looksAtHost = (route: RouteConfig): boolean => (route.hosts ?? route.hostPatterns) !== undefined
    this.#looksAtHosts = init.sites.length > 0 || init.routes.some(looksAtHost)
    this.#decodesPaths = init.pathMatching === 'decoded'
    this.#looksAtPaths = all.some((entry) => entry.looksAtPath) || this.#rest.entries.some((entry) => entry.looksAtPath)
    // What is compiled already is worth being ready, and shows its faults at once.
    for (const entry of this.#rest.entries) entry.prepareNow()
    this.#all = [...all, ...this.#rest.entries]
  }

  #hostsOf(listener: string): HostTable<RouteGroup> {
    const table = this.#hostsOfListener.get(listener) ?? new HostTable<RouteGroup>()
    this.#hostsOfListener.set(listener, table)
    return table
  }

  #entriesOf(routes: readonly RouteConfig[], init: RouteTableInit, byHost: boolean): readonly RouteEntry[] {
    const fields = [...new Set(routes.flatMap((route) => Object.keys(route.fields ?? {})))]
    const neighbours = this.#neighbours
    const group: GroupParts = { ...init, routes, fields: fields.map((name) => name.toLowerCase()), neighbours }
    return routes.map((route) => new RouteEntry(route, group, byHost))
  }

  /**
   * The route that takes the request, or what to answer where there is none. `listener`: the name of the address where
   * it came in.
   */
  find(request: ConditionRequest, listener?: string): RouteEntry | 'E_NO_ROUTE' | 'E_NO_PATH' | 'E_REQUEST_INVALID' {
    const path = this.#pathOf(request)
    if (path === undefined) return 'E_REQUEST_INVALID'
    // Where nothing is told apart by it, nobody need know it.
    const host = this.#looksAtHosts ? withoutRootDot(hostOf(request.authority)) : ''
    const ofListener = listener === undefined ? undefined : this.#hostsOfListener.get(listener)?.find(host)
    const { entries, unknown } = ofListener ?? this.#hosts.find(host) ?? this.#rest
    const subject: RouteSubject = { request, host, path, listener, known: undefined }
    for (const entry of entries) if (entry.takes(subject)) return entry
    return unknown
  }

  /** The routes that may take a request for the name, wherever it comes in and whatever else it is. */
  #takersOf(name: string): readonly RouteEntry[] {
    const found = [this.#hosts, ...this.#hostsOfListener.values()].map((table) => table.find(name) ?? this.#rest)
    return [...new Set(found)].flatMap(({ entries }) => {
      const takers = entries.filter((entry) => entry.takesHost(name))
      const last = takers.findIndex((entry) => entry.takesAll)
      return last < 0 ? takers : takers.slice(0, last + 1)
    })
  }

  /** Undefined: it is refused. */
  #pathOf({ path }: ConditionRequest): string | undefined {
    if (this.#decodesPaths && path !== '*') return decodedPath(path)
    return this.#looksAtPaths ? matchingPath(path) : path
  }

  /** No request will be looked up any more. */
  release(): void {
    for (const entry of this.#all) entry.release()
  }
}

/** What routes are chosen by. */
interface RouteSubject {
  readonly request: ConditionRequest
  readonly host: string
  readonly path: string
  readonly listener: string | undefined
  /** Patterns that were asked for this request already. */
  known: Map<TextPattern, boolean> | undefined
}

function holds(patterns: readonly TextPattern[], text: string, subject: RouteSubject): boolean {
  const known: Map<TextPattern, boolean> = (subject.known ??= new Map<TextPattern, boolean>())
  return patterns.every((pattern) => {
    const isHeld = known.get(pattern) ?? patternHolds(pattern, text)
    known.set(pattern, isHeld)
    return isHeld
  })
}

/** `a.example.` is the same name (RFC 1034 §3.1). */
function withoutRootDot(host: string): string {
  return host.length > 1 && host.endsWith('.') ? host.slice(0, -1) : host
}

interface GroupParts extends RouteTableInit {
  readonly routes: readonly RouteConfig[]
  /** Names of request fields by which routes of the group are told apart. */
  readonly fields: readonly string[]
  readonly neighbours: Neighbours<RouteEntry>
}

/** What a route takes requests by, its hosts apart. */
const CONDITIONS = ['paths', 'pathPatterns', 'hostPatterns', 'listeners', 'methods', 'fields'] as const

/** Domains of cookies of which it is kept where they lead; what of others is worked out each time. */
const MAX_KNOWN_COOKIE_SCOPES = 64

/** A route and, while it is needed, what was made of it. */
export class RouteEntry implements Neighbour {
  readonly name: string
  /** Undefined: the request is forwarded. */
  readonly answer: RouteAnswer | undefined
  /** What is said before the route does anything. */
  readonly access: Access | undefined
  readonly maintenance: Maintenance | undefined
  readonly errorPages: ErrorPages | undefined
  readonly robots: string | undefined
  readonly mount: Mount | undefined
  /** Which of its requests the rules are for; undefined: all. */
  readonly rollout: Rollout | undefined
  readonly comparer: Comparer | undefined
  readonly #config: RouteConfig
  readonly #group: GroupParts
  readonly #hosts: readonly string[] | undefined
  /** Undefined until they are needed. */
  #paths: readonly Glob[] | undefined = undefined
  /** Of methods and fields; likewise. */
  #conditions: ConditionSet | undefined = undefined
  /** Takes every request for a host that it takes. */
  readonly takesAll: boolean
  #route: Route | undefined = undefined
  #unruled: Route | undefined = undefined
  #used: UsedSet | undefined = undefined
  /** Why the rules cannot be compiled. */
  #fault: ProxyError | undefined = undefined

  constructor(config: RouteConfig, group: GroupParts, byHost: boolean) {
    this.name = config.name
    this.answer = config.answer
    this.access = config.access
    this.maintenance = config.maintenance
    this.errorPages = config.errorPages
    this.robots = config.robots
    this.mount = config.mount
    this.rollout = config.rollout
    this.comparer = group.comparerOf(config)
    this.#config = config
    this.#group = group
    this.#hosts = byHost && config.hosts !== undefined ? hostPatterns(config.hosts) : undefined
    this.takesAll = CONDITIONS.every((name) => config[name] === undefined)
  }

  get upstream(): UpstreamConfig | undefined {
    return this.#config.upstream
  }

  takesHost(host: string): boolean {
    const { hostPatterns: ofHost = [] } = this.#config
    const isOne = this.#hosts === undefined || hostMatches(this.#hosts, host)
    return isOne && ofHost.every((pattern) => patternHolds(pattern, host))
  }

  counterpartOf(name: string): string {
    const { preserveHost, rules } = this.#config
    if (preserveHost === true) return name
    const map = hostMapOf(rules?.rules ?? [])
    const mapped = map === undefined ? name : hostMapper(map.up)(name).toLowerCase()
    return mapped === name ? hostOf(this.#group.poolOf(this.#config).authority) : mapped
  }

  get looksAtPath(): boolean {
    return this.#config.paths !== undefined || this.#config.pathPatterns !== undefined
  }

  takes(subject: RouteSubject): boolean {
    const { host, path, listener, request } = subject
    if (this.#hosts !== undefined && !hostMatches(this.#hosts, host)) return false
    if (this.takesAll) return true
    const { paths, methods, fields, listeners, pathPatterns, hostPatterns: ofHost } = this.#config
    if (listeners !== undefined && (listener === undefined || !listeners.includes(listener))) return false
    if (paths !== undefined) {
      this.#paths ??= paths.map(prepareGlob)
      if (!this.#paths.some((glob) => globMatches(glob, path))) return false
    }
    this.#conditions ??= prepareConditions([{ types: ['*'], methods, requestHeaders: fields }])
    if (typeof rulesForRequest(this.#conditions, request) === 'string') return false
    if (ofHost !== undefined && !holds(ofHost, host, subject)) return false
    return pathPatterns === undefined || holds(pathPatterns, path, subject)
  }

  /** Of a route that forwards. Throws a ProxyError if its rules cannot be compiled. */
  route(): Route {
    this.#used?.touch()
    return this.#route ?? this.#prepare()
  }

  /** The same, as it would be if it had no rules. */
  routeWithoutRules(): Route {
    const { rules: _rules, ...config } = this.#config
    this.#unruled ??= makeRoute(config, { ...this.#parts(), rules: undefined, rulesBeside: [] })
    return this.#unruled
  }

  prepareNow(): void {
    const { rules } = this.#config
    if (this.answer === undefined && (rules === undefined || !isDeferred(rules))) this.#prepare()
  }

  #prepare(): Route {
    if (this.#fault !== undefined) throw this.#fault
    const beside = this.#group.routes.filter((other) => other !== this.#config)
    const rulesBeside = beside.flatMap(({ rules }): (readonly Rule[])[] => (rules === undefined ? [] : [rules.rules]))
    const parts = this.#parts()
    const known = new Map<string, boolean>()
    const leadsElsewhere = (name: string, domain: string): boolean => {
      const key = `${name} ${domain}`
      const answer = known.get(key) ?? this.#group.neighbours.leadsElsewhere(this, name, domain)
      if (known.size < MAX_KNOWN_COOKIE_SCOPES) known.set(key, answer)
      return answer
    }
    this.#route = makeRoute(this.#config, { ...parts, rules: this.#rules(), rulesBeside, leadsElsewhere })
    return this.#route
  }

  #parts(): Pick<RouteParts, 'pool' | 'fieldsBeside' | 'maxRememberedResources'> {
    const { fields, maxRememberedResources, poolOf } = this.#group
    const isByCookie = this.rollout?.kind === 'percent' && this.rollout.cookie !== undefined
    const fieldsBeside = isByCookie ? [...fields, 'cookie'] : fields
    return { pool: poolOf(this.#config), fieldsBeside, maxRememberedResources }
  }

  #rules(): RuleSet | undefined {
    const { rules } = this.#config
    if (rules === undefined || !isDeferred(rules)) return rules
    try {
      this.#used = this.#group.sets.use(rules, () => this.#forget())
      return this.#used.set
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error))
      const detail = `the rules of ${this.name} do not compile`
      this.#fault = new ProxyError('E_INTERNAL', { detail, cause })
      this.#group.onError(new Error(`${detail}: ${cause.message}`, { cause }))
      throw this.#fault
    }
  }

  release(): void {
    this.#used?.release()
    this.#forget()
  }

  #forget(): void {
    this.#route = undefined
    this.#used = undefined
  }
}

function isDeferred(rules: RuleSet | DeferredRuleSet): rules is DeferredRuleSet {
  return 'compile' in rules
}
