import type { ExchangeEvent } from '@prexy/events/exchange'
import { TimerWheel } from '@prexy/net/timer-wheel'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import type { Rule, RuleSetOptions } from '@prexy/rewrite/rules'
import { connectRawClient, type RawClient } from '@prexy/testing/raw-client'
import { type OriginConnection, type RawOrigin, startRawOrigin } from '@prexy/testing/raw-origin'
import { expect } from 'vitest'
import type { Phase } from '../src/phases.ts'
import type { ProxyConfig, RouteConfig, SeenRequest, UpstreamConfig } from '../src/proxy-config.ts'
import { type RunningProxy, startProxy } from '../src/start-proxy.ts'

export interface Setup extends AsyncDisposable {
  readonly origin: RawOrigin
  readonly proxy: RunningProxy
  readonly events: readonly ExchangeEvent[]
  /** Phases per exchange, in order. */
  readonly phases: ReadonlyMap<number, readonly Phase[]>
  /** Driven by hand when the set-up says so. */
  readonly wheel: TimerWheel
  /** The event of the n-th exchange to end, from 1. */
  event(n: number): Promise<ExchangeEvent>
  /** Resolves once some exchange has been through the phase. */
  reached(phase: Phase): Promise<void>
  connect(): Promise<RawClient>
}

export interface SetupInit {
  readonly script: (connection: OriginConnection) => Promise<void>
  readonly rules?: readonly Rule[]
  readonly ruleOptions?: RuleSetOptions
  readonly route?: Partial<RouteConfig>
  readonly config?: Partial<ProxyConfig>
  /** Of the origin, unless `servers` names others. */
  readonly upstream?: Partial<UpstreamConfig> & { readonly host?: string; readonly port?: number }
  readonly manualTime?: boolean
  /** What is known of each exchange beside its event, before the event. */
  readonly onSeen?: (seen: SeenRequest) => void
}

export async function setUp(init: SetupInit): Promise<Setup> {
  const origin = await startRawOrigin(init.script)
  const events: ExchangeEvent[] = []
  const phases = new Map<number, Phase[]>()
  const waiters = new Set<() => void>()
  const errors: Error[] = []
  const wheel = new TimerWheel(init.manualTime === true ? { drive: 'manual' } : {})
  const { host = '127.0.0.1', port = origin.port, ...upstream } = init.upstream ?? {}
  const wake = (): void => {
    for (const waiter of waiters) waiter()
  }
  const proxy = await startProxy({
    listen: [{ host: '127.0.0.1', port: 0 }],
    routes: [
      {
        name: 'all',
        upstream: { servers: [{ host, port }], ...upstream },
        ...(init.rules === undefined ? {} : { rules: compileRuleSet(init.rules, init.ruleOptions ?? {}) }),
        ...init.route,
      },
    ],
    wheel,
    onExchange: (event, seen) => {
      init.onSeen?.(seen)
      events.push(event)
      wake()
    },
    onPhase: (exchangeId, phase) => {
      const list = phases.get(exchangeId) ?? []
      list.push(phase)
      phases.set(exchangeId, list)
      wake()
    },
    onError: (error) => errors.push(error),
    ...init.config,
  })
  const until = async <T>(probe: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = probe()
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        const waiter = (): void => {
          waiters.delete(waiter)
          resolve()
        }
        waiters.add(waiter)
      })
    }
  }
  const clients: RawClient[] = []
  return {
    origin,
    proxy,
    events,
    phases,
    wheel,
    event: (n) => until(() => events.at(n - 1)),
    reached: (phase) =>
      until(() => ([...phases.values()].some((list) => list.includes(phase)) ? true : undefined)).then(() => {}),
    connect: async () => {
      const client = await connectRawClient(proxy.address.port)
      clients.push(client)
      return client
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy()
      await proxy.stop(0)
      expect(proxy.connections).toBe(0)
      expect(errors.map(({ stack }) => stack)).toEqual([])
      await origin.close()
    },
  }
}
