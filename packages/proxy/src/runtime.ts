import type { ExchangeEvent } from '@prexy/events/exchange'
import {
  type ConditionSet,
  hostMatches,
  hostOf,
  hostPatterns,
  prepareConditions,
  requestFieldNames,
  rulesForPath,
} from '@prexy/http/conditions'
import type { ForwardedForm } from '@prexy/http/forwarded'
import type { GateRoute } from '@prexy/http/gate-route'
import { type AddressRange, parseAddressRange } from '@prexy/http/ip-address'
import { DEFAULT_REQUEST_LIMITS, DEFAULT_RESPONSE_LIMITS, type MessageLimits } from '@prexy/http/limits'
import { CONTENT_CODINGS } from '@prexy/net/content-decoder'
import { TimerWheel } from '@prexy/net/timer-wheel'
import { domainRulesOf, hostMapOf } from '@prexy/rewrite/host-map'
import { charsetsOf } from '@prexy/rewrite/rule-charsets'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { type Rule, typesOf } from '@prexy/rewrite/rules'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { HttpDate } from './answer.ts'
import { ApplicabilityMemory } from './applicability-memory.ts'
import type { HeaderRules } from './header-rules.ts'
import { changesHashed } from './integrity.ts'
import { requestFieldsOf } from './request-variables.ts'
import { type SiteNames, siteNamesOf } from './site-names.ts'
import type { Phase } from './phases.ts'
import {
  DEFAULT_FORWARDED,
  DEFAULT_LIMITS,
  DEFAULT_REQUEST_ID_FIELD,
  DEFAULT_TIMEOUTS,
  type ProxyConfig,
  type ProxyLimits,
  type ProxyTimeouts,
  type RouteConfig,
  type UpstreamConfig,
} from './proxy-config.ts'
import { Stage } from './response-output.ts'
import { UpstreamPool } from './upstream-pool.ts'

/** A route ready to serve. */
export interface Route {
  readonly name: string
  /** As `hostPatterns` makes them; undefined: any. */
  readonly hosts: readonly string[] | undefined
  readonly paths: ConditionSet | undefined
  readonly pool: UpstreamPool
  readonly rules: RuleSet | undefined
  readonly gate: GateRoute
  readonly serverTiming: boolean
  /** What to do about integrity attributes; undefined if no rule may change what they are about. */
  readonly integrity: 'warn' | 'drop' | undefined
  readonly memory: ApplicabilityMemory
  readonly preserveHost: boolean | undefined
  /** What domain rules make of header fields; undefined if there are none. */
  readonly names: SiteNames | undefined
  readonly requestQuery: boolean
  /** The inverse of its domain rules for request bodies; undefined to leave them alone. */
  readonly requestBodies: RuleSet | undefined
  readonly requestHeaders: HeaderRules | undefined
  readonly responseHeaders: HeaderRules | undefined
}

/** What outlives every configuration of a running proxy. */
export interface ProxyLife {
  readonly wheel: TimerWheel
  readonly stage: Stage
  readonly date: HttpDate
  /** Our name in Via; not a host name, and unlike that of any other proxy. */
  readonly pseudonym: string
  /** What identifiers of ours begin with; unlike that of any other run. */
  readonly requestIdPrefix: string
  lastExchangeId: number
  lastConnectionId: number
  /** Exchanges that are tunnels or ask to become one. */
  upgrades: number
  /** Set by `stop`: no connection outlives its exchange. */
  draining: boolean
}

/** Where a client's connection finds the runtime for its next request. */
export interface RuntimeSource {
  readonly current: ProxyRuntime
}

/**
 * One configuration, ready to serve. A reload makes another one, which requests that begin later get; an exchange keeps
 * the one that it began with.
 */
export interface ProxyRuntime {
  readonly life: ProxyLife
  readonly routes: readonly Route[]
  readonly timeouts: ProxyTimeouts
  readonly limits: ProxyLimits
  readonly requestLimits: MessageLimits
  readonly trustedRanges: readonly AddressRange[]
  readonly forwarded: ForwardedForm
  /** Undefined: upstreams get no request identifier. */
  readonly requestIdField: string | undefined
  readonly onExchange: ((event: ExchangeEvent) => void) | undefined
  readonly onPhase: ((exchangeId: number, phase: Phase) => void) | undefined
  readonly onError: (error: Error) => void
}

export function createLife({ wheel, onError = () => {} }: ProxyConfig): ProxyLife {
  return {
    wheel: wheel ?? new TimerWheel({ onError }),
    stage: new Stage(),
    date: new HttpDate(),
    pseudonym: `prexy-${crypto.randomUUID().slice(0, 8)}`,
    requestIdPrefix: crypto.randomUUID().replaceAll('-', '').slice(0, 16),
    lastExchangeId: 0,
    lastConnectionId: 0,
    upgrades: 0,
    draining: false,
  }
}

/** Throws for a configuration that cannot be served. */
export function createRuntime(config: ProxyConfig, life: ProxyLife): ProxyRuntime {
  const onError = config.onError ?? (() => {})
  const { wheel } = life
  const timeouts: ProxyTimeouts = { ...DEFAULT_TIMEOUTS, ...config.timeouts }
  const limits: ProxyLimits = { ...DEFAULT_LIMITS, ...config.limits }
  const responseLimits = { ...DEFAULT_RESPONSE_LIMITS, ...limits.response }
  const rulesBeside = (route: RouteConfig): readonly (readonly Rule[])[] =>
    config.routes.flatMap((other) => (other === route || other.rules === undefined ? [] : [other.rules.rules]))
  const pools = new Map<UpstreamConfig, UpstreamPool>()
  /** Routes that name the same upstream share it. */
  const poolOf = (upstream: UpstreamConfig): UpstreamPool => {
    let pool = pools.get(upstream)
    if (pool === undefined) {
      const { onUpstream, resolve } = config
      pool = new UpstreamPool({ config: upstream, limits: responseLimits, wheel, timeouts, resolve, onUpstream, onError })
      pools.set(upstream, pool)
    }
    return pool
  }
  const makeRoute = (route: RouteConfig): Route => ({
    name: route.name,
    hosts: route.hosts === undefined ? undefined : hostPatterns(route.hosts),
    paths: route.paths === undefined ? undefined : prepareConditions([{ types: ['*'], paths: route.paths }]),
    pool: poolOf(route.upstream),
    rules: route.rules,
    serverTiming: route.serverTiming ?? false,
    gate: makeGateRoute(route),
    integrity: integrityOf(route),
    memory: new ApplicabilityMemory(limits.maxRememberedResources),
    preserveHost: route.preserveHost,
    requestQuery: route.requestQuery ?? false,
    requestBodies: requestBodyRules(route),
    requestHeaders: route.requestHeaders,
    responseHeaders: route.responseHeaders,
    names: route.rules === undefined ? undefined : siteNamesOf(route.rules.rules, rulesBeside(route)),
  })
  const routes = config.routes.map(makeRoute)
  // Only now, because a fault in a later route would leave them running.
  for (const pool of pools.values()) pool.start()
  return {
    life,
    routes,
    timeouts,
    limits,
    requestLimits: { ...DEFAULT_REQUEST_LIMITS, ...limits.request },
    trustedRanges: (config.trustedProxies ?? []).map(trustedRange),
    forwarded: config.forwarded ?? DEFAULT_FORWARDED,
    requestIdField: config.requestId === 'off' ? undefined : (config.requestId ?? DEFAULT_REQUEST_ID_FIELD),
    onExchange: config.onExchange,
    onPhase: config.onPhase,
    onError,
  }
}

function trustedRange(text: string): AddressRange {
  const range = parseAddressRange(text)
  if (range === undefined) throw new Error(`trustedProxies: "${text}" is no address and no range like 10.0.0.0/8`)
  return range
}

function requestBodyRules({ rules, requestBodies }: RouteConfig): RuleSet | undefined {
  const map = requestBodies === true && rules !== undefined ? hostMapOf(rules.rules) : undefined
  return map === undefined ? undefined : compileRuleSet(domainRulesOf(map.up), { mode: 'octet' })
}

function integrityOf({ rules, integrity }: RouteConfig): Route['integrity'] {
  return changesHashed(rules?.rules ?? []) ? (integrity ?? 'warn') : undefined
}

function makeGateRoute({ rules, ignoreNoTransform, lastModified }: RouteConfig): GateRoute {
  const conditions = prepareConditions((rules?.rules ?? []).map((rule) => ({ ...rule, types: typesOf(rule) })))
  const variables = rules?.variables ?? []
  return {
    conditions,
    ruleSetHash: rules?.hash ?? '',
    ignoreNoTransform: ignoreNoTransform ?? false,
    lastModified: lastModified ?? { kind: 'remove' },
    variesBy: [...new Set([...requestFieldNames(conditions), ...requestFieldsOf(variables)])],
    alwaysNew: variables.includes('time'),
    codings: CONTENT_CODINGS,
    charsets: charsetsOf(rules),
  }
}

/** The first route that takes the request. `authority` is that of a parsed head. */
export function findRoute(routes: readonly Route[], authority: string | undefined, path: string): Route | undefined {
  let host: string | undefined
  for (const route of routes) {
    if (route.hosts !== undefined) {
      host ??= hostOf(authority)
      if (!hostMatches(route.hosts, host)) continue
    }
    if (route.paths === undefined || rulesForPath(route.paths, path) !== undefined) return route
  }
  return undefined
}
