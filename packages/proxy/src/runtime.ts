import type { ExchangeRecorder } from '@prexy/events/recorder'
import type { RefusalEvent } from '@prexy/events/refusal'
import type { ForwardedForm } from '@prexy/http/forwarded'
import { HeadMemo } from '@prexy/http/head-memo'
import { type AddressRange, parseAddressRange } from '@prexy/http/ip-address'
import type { ResponseHead } from '@prexy/http/message'
import type { JudgedFields } from '@prexy/http/request-parser'
import type { TracePolicy } from '@prexy/http/trace-context'
import { DEFAULT_REQUEST_LIMITS, DEFAULT_RESPONSE_LIMITS, type MessageLimits } from '@prexy/http/limits'
import { TimerWheel } from '@prexy/net/timer-wheel'
import { UNIX_PREFIX } from '@prexy/net/unix-socket'
import { HttpDate } from './answer.ts'
import { type CompareConfig, Comparer } from './compare-with.ts'
import type { Comparison } from './comparison.ts'
import { CompiledSets } from './compiled-sets.ts'
import type { ErrorPages } from './own-pages.ts'
import type { Phase } from './phases.ts'
import {
  DEFAULT_FORWARDED,
  DEFAULT_LIMITS,
  DEFAULT_REQUEST_ID_FIELD,
  DEFAULT_TIMEOUTS,
  type ProxyConfig,
  type ProxyLimits,
  type ProxyTimeouts,
  type UpstreamConfig,
} from './proxy-config.ts'
import { Stage } from './response-output.ts'
import { RouteTable } from './route-table.ts'
import { UpstreamPool } from './upstream-pool.ts'

/** What outlives every configuration of a running proxy. */
export interface ProxyLife {
  /** Of those that are compiled when they are needed. */
  readonly sets: CompiledSets
  readonly wheel: TimerWheel
  readonly stage: Stage
  readonly date: HttpDate
  /** Our name in Via; not a host name, and unlike that of any other proxy. */
  readonly pseudonym: string
  /** What identifiers of ours begin with; unlike that of any other run. */
  readonly requestIdPrefix: string
  /** Seals session tickets of listeners that have no keys of their own. */
  readonly ticketKeys: Uint8Array
  /** Under way, also those of exchanges that have ended. */
  readonly comparisons: Set<Comparison>
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
  readonly routes: RouteTable
  /** For requests that no route takes. */
  readonly errorPages: ErrorPages | undefined
  /** Of all routes, and of what they are compared with. */
  readonly pools: readonly UpstreamPool[]
  readonly timeouts: ProxyTimeouts
  readonly limits: ProxyLimits
  readonly requestLimits: MessageLimits
  /** Of parsers with these limits. */
  readonly requestMemo: HeadMemo<JudgedFields>
  readonly trustedRanges: readonly AddressRange[]
  readonly trustsUnixSockets: boolean
  readonly forwarded: ForwardedForm
  /** Undefined: upstreams get no request identifier. */
  readonly requestIdField: string | undefined
  readonly trace: TracePolicy
  readonly onExchange: ProxyConfig['onExchange'] | undefined
  readonly recorder: ExchangeRecorder | undefined
  readonly onPhase: ((exchangeId: number, phase: Phase) => void) | undefined
  readonly onRefused: ((event: RefusalEvent) => void) | undefined
  readonly onError: (error: Error) => void
}

export function createLife({ wheel, onError = () => {} }: ProxyConfig): ProxyLife {
  return {
    sets: new CompiledSets(DEFAULT_LIMITS.maxCompiledRuleSets),
    wheel: wheel ?? new TimerWheel({ onError }),
    stage: new Stage(),
    date: new HttpDate(),
    pseudonym: `prexy-${crypto.randomUUID().slice(0, 8)}`,
    requestIdPrefix: crypto.randomUUID().replaceAll('-', '').slice(0, 16),
    ticketKeys: crypto.getRandomValues(new Uint8Array(48)),
    comparisons: new Set(),
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
  const responseMemo = new HeadMemo<ResponseHead>()
  const pools = new Map<UpstreamConfig, UpstreamPool>()
  /** Routes that name the same upstream share it. */
  const poolOf = (upstream: UpstreamConfig): UpstreamPool => {
    let pool = pools.get(upstream)
    if (pool === undefined) {
      const { onUpstream, resolve } = config
      pool = new UpstreamPool({
        config: upstream,
        limits: responseLimits,
        memo: responseMemo,
        wheel,
        timeouts,
        resolve,
        onUpstream,
        onError,
      })
      pools.set(upstream, pool)
    }
    return pool
  }
  const comparers = new Map<CompareConfig, Comparer>()
  const comparerOf = (compare: CompareConfig): Comparer => {
    let comparer = comparers.get(compare)
    if (comparer === undefined) {
      const pool = new UpstreamPool({
        config: compare.upstream,
        limits: responseLimits,
        wheel,
        timeouts,
        resolve: config.resolve,
        onError,
      })
      comparer = new Comparer(compare, pool)
      comparers.set(compare, comparer)
    }
    return comparer
  }
  const sites = config.sites ?? []
  const forwarding = [...config.routes, ...sites.flatMap((site) => site.routes)]
  for (const { upstream } of forwarding) if (upstream !== undefined) poolOf(upstream)
  life.sets.limit = limits.maxCompiledRuleSets
  const routes = new RouteTable({
    sites,
    routes: config.routes,
    pathMatching: config.pathMatching ?? 'normalized',
    maxRememberedResources: limits.maxRememberedResources,
    sets: life.sets,
    onError,
    poolOf({ name, upstream }) {
      if (upstream === undefined) throw new Error(`the route ${name} has neither upstream nor answer`)
      return poolOf(upstream)
    },
    comparerOf: ({ compareWith }) => (compareWith === undefined ? undefined : comparerOf(compareWith)),
  })
  const all = [...pools.values(), ...[...comparers.values()].map(({ pool }) => pool)]
  // Only now, because a fault in a later route would leave them running.
  for (const pool of all) pool.start()
  return {
    life,
    routes,
    errorPages: config.errorPages,
    pools: all,
    timeouts,
    limits,
    requestLimits: { ...DEFAULT_REQUEST_LIMITS, ...limits.request },
    requestMemo: new HeadMemo(),
    trustedRanges: (config.trustedProxies ?? []).filter((text) => text !== UNIX_PREFIX).map(trustedRange),
    trustsUnixSockets: config.trustedProxies?.includes(UNIX_PREFIX) === true,
    forwarded: config.forwarded ?? DEFAULT_FORWARDED,
    requestIdField: config.requestId === 'off' ? undefined : (config.requestId ?? DEFAULT_REQUEST_ID_FIELD),
    trace: config.trace ?? 'pass',
    onExchange: config.onExchange,
    recorder: config.recorder,
    onPhase: config.onPhase,
    onRefused: config.onRefused,
    onError,
  }
}

/** Of a runtime that no request begins with any more. Resolves when its upstreams have no connection left. */
export async function stopRuntime({ pools, routes }: ProxyRuntime): Promise<void> {
  routes.release()
  await Promise.all(pools.map((pool) => pool.stop()))
}

function trustedRange(text: string): AddressRange {
  const range = parseAddressRange(text)
  if (range === undefined) throw new Error(`trustedProxies: "${text}" is no address and no range like 10.0.0.0/8`)
  return range
}
