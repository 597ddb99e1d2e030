/**
 * What the two sides of a route call one site: its domain rules, applied to header fields. Request conditions of a rule
 * hold here as they do for bodies; `types`, `status`, `responseHeaders`, `between`, `once` and `max` are about bodies.
 */
import { parseAuthority } from '@prexy/http/authority'
import {
  type ConditionRequest,
  type ConditionSet,
  hostOf,
  prepareConditions,
  rulesForRequest,
} from '@prexy/http/conditions'
import type { CookieScope } from '@prexy/http/set-cookie'
import { type HostMap, hostMapOf, hostMapper } from '@prexy/rewrite/host-map'
import type { DomainRule, Rule } from '@prexy/rewrite/rules'

export interface SiteNames {
  readonly map: HostMap
  /** Undefined if every rule always holds. */
  readonly conditions: ConditionSet | undefined
  /** Of all rules. */
  readonly mappers: NameMappers
  /** Of some of the rules, by which; bounded by {@link MAX_MAPPERS}. */
  readonly partial: Map<string, NameMappers>
}

/** The rules that hold for one request. */
export interface NameMappers {
  /** The origin's names to those of clients. */
  readonly down: (text: string) => string
  readonly up: (text: string) => string
  /** Of the rules of all routes. */
  readonly clientNames: readonly string[]
  /** What rules that hold for other requests make of a name, on this route or another. */
  readonly othersUp: readonly ((text: string) => string)[]
  readonly leadsElsewhere: CookieScope['leadsElsewhere']
  /** One byte per rule of the map, nonzero where it holds; absent if all do. */
  readonly active?: Uint8Array
}

/** Combinations of conditions whose mappers are kept; others are made for the request. */
const MAX_MAPPERS = 64

/**
 * `elsewhere`: the rules of each of the other routes, which serve the same browsers; `leadsElsewhere`: what is known of
 * those without rules, and of other sites.
 */
export function siteNamesOf(
  rules: readonly Rule[],
  elsewhere: readonly (readonly Rule[])[] = [],
  leadsElsewhere?: CookieScope['leadsElsewhere'],
): SiteNames | undefined {
  const map = hostMapOf(rules)
  if (map === undefined) return undefined
  const conditional = map.rules.some(hasRequestCondition)
  const others = elsewhere.map(hostMapOf).filter((other) => other !== undefined)
  const othersUp = [
    ...sometimesUp(map),
    ...others.flatMap((other) => [
      hostMapper(other.up.filter((_, rule) => isAlways(other, rule))),
      ...sometimesUp(other),
    ]),
  ]
  const clientNames = [...new Set([map, ...others].flatMap((one) => one.clientNames))]
  return {
    map,
    conditions: conditional ? prepareConditions(map.rules.map(requestConditions)) : undefined,
    mappers: { ...mappersOf(map, () => true), othersUp, clientNames, leadsElsewhere },
    partial: new Map(),
  }
}

/** What each rule that does not always hold makes of a name, but for those that one that always holds comes before. */
function sometimesUp(map: HostMap): readonly ((text: string) => string)[] {
  const settled = new Set<string>()
  return map.up.flatMap((name, rule) => {
    const from = name.from.ascii.toLowerCase()
    if (isAlways(map, rule)) settled.add(from)
    return settled.has(from) ? [] : [hostMapper([name])]
  })
}

function isAlways({ rules }: HostMap, rule: number): boolean {
  return !hasRequestCondition(rules[rule])
}

function hasRequestCondition({ hosts, methods, paths, requestHeaders }: DomainRule): boolean {
  return [hosts, methods, paths, requestHeaders].some((condition) => condition !== undefined)
}

function requestConditions({
  hosts,
  methods,
  paths,
  requestHeaders,
}: DomainRule): Parameters<typeof prepareConditions>[0][0] {
  return { types: ['*'], hosts, methods, paths, requestHeaders }
}

function mappersOf({ down, up }: HostMap, holds: (rule: number) => boolean): Pick<NameMappers, 'down' | 'up'> {
  const active = <T>(names: readonly T[]): readonly T[] => names.filter((_, rule) => holds(rule))
  return { down: hostMapper(active(down)), up: hostMapper(active(up)) }
}

/** Undefined if no rule holds. */
export function namesForRequest(site: SiteNames, request: ConditionRequest): NameMappers | undefined {
  if (site.conditions === undefined) return site.mappers
  const active = rulesForRequest(site.conditions, request)
  if (typeof active === 'string') return undefined
  const key = active.join('')
  const known = site.partial.get(key)
  if (known !== undefined) return known
  // Names of rules that do not hold are names of some site all the same.
  const mappers = { ...site.mappers, ...mappersOf(site.map, (rule) => active[rule] !== 0), active }
  if (site.partial.size < MAX_MAPPERS) site.partial.set(key, mappers)
  return mappers
}

/**
 * What Host says upstream. The client's with `preserveHost`, the upstream's own without; if that is left open
 * (undefined), what the rules call the client's, with its port, since the origin makes its links from it.
 */
export function hostForUpstream(
  authority: string | undefined,
  upstream: string,
  preserveHost: boolean | undefined,
  names: NameMappers | undefined,
): string {
  if (authority === undefined) return upstream
  if (preserveHost === true) return authority
  if (preserveHost === false || names === undefined) return upstream
  const mapped = names.up(authority)
  return mapped !== authority && parseAuthority(mapped) !== undefined ? mapped : upstream
}

/** A request's path and query with the client's names in the query made the origin's; the path stays. */
export function mapQuery(path: string, names: NameMappers): string {
  const query = path.indexOf('?') + 1
  return query === 0 ? path : path.slice(0, query) + names.up(path.slice(query))
}

/** `hostSent` is what Host said upstream. */
export function cookieScope(authority: string | undefined, hostSent: string, names: NameMappers): CookieScope {
  const clientHost = hostOf(authority)
  return {
    originHosts: [...new Set([hostOf(hostSent), names.up(clientHost).toLowerCase()])],
    clientHost,
    mapDown: names.down,
    mapUp: names.up,
    othersUp: names.othersUp,
    clientNames: names.clientNames,
    leadsElsewhere: names.leadsElsewhere,
  }
}
