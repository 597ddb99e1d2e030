import type { UpstreamChange, UpstreamEvent } from '@prexy/events/upstream'
import type { HeadMemo } from '@prexy/http/head-memo'
import type { MessageLimits } from '@prexy/http/limits'
import type { ResponseHead } from '@prexy/http/message'
import type { Resolve } from '@prexy/net/address-cache'
import type { TimerWheel } from '@prexy/net/timer-wheel'
import {
  DEFAULT_BALANCE,
  DEFAULT_UPSTREAM_ATTEMPTS,
  DEFAULT_UPSTREAM_WAITING,
  type ProxyTimeouts,
  type UpstreamConfig,
} from './proxy-config.ts'
import { type BalancePolicy, isInTier, pickServer, tierOf } from './upstream-balance.ts'
import type { UpstreamChannel } from './upstream-channel.ts'
import { type PoolClient, type ServerHost, UpstreamServer } from './upstream-server.ts'

export interface UpstreamPoolInit {
  readonly config: UpstreamConfig
  readonly limits: MessageLimits
  /** Of parsers with these limits. */
  readonly memo?: HeadMemo<ResponseHead> | undefined
  readonly wheel: TimerWheel
  readonly timeouts: ProxyTimeouts
  readonly resolve?: Resolve | undefined
  readonly onUpstream?: ((event: UpstreamEvent) => void) | undefined
  readonly onError: (error: Error) => void
}

/** The servers of one upstream: which of them gets a request, and who waits while all are busy. */
export class UpstreamPool implements ServerHost {
  /** `host[:port]` for Host. */
  readonly authority: string
  /** For events. */
  readonly name: string
  readonly keepsAlive: boolean
  readonly #servers: readonly UpstreamServer[]
  readonly #balance: BalancePolicy
  readonly #maxWaiting: number
  readonly #maxAttempts: number
  readonly #onUpstream: ((event: UpstreamEvent) => void) | undefined
  readonly #onError: (error: Error) => void
  /** In the order in which they came. */
  readonly #waiting = new Set<PoolClient>()

  constructor({ config, onUpstream, ...init }: UpstreamPoolInit) {
    const shared = { ...init, config, resolve: init.resolve, host: this }
    this.#servers = config.servers.map((server) => new UpstreamServer({ ...shared, server }))
    const first = this.#servers.at(0)
    if (first === undefined) throw new Error('an upstream needs at least one server')
    this.authority = config.hostHeader ?? first.authority
    this.name = config.name ?? first.name
    this.keepsAlive = first.keepsAlive
    this.#balance = config.balance ?? DEFAULT_BALANCE
    this.#maxWaiting = config.maxWaiting ?? DEFAULT_UPSTREAM_WAITING
    this.#maxAttempts = Math.min(config.maxAttempts ?? DEFAULT_UPSTREAM_ATTEMPTS, this.#servers.length)
    this.#onUpstream = onUpstream
    this.#onError = init.onError
  }

  /** Begins the health checks, if there are any. */
  start(): void {
    for (const server of this.#servers) server.start()
  }

  /** Closes what is free, and each connection once it is; resolves when all are closed. */
  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()))
  }

  /**
   * A connection: kept, or new and perhaps not up yet. `wait`: the client is called when there is one. `full`: too many
   * wait already.
   */
  acquire(client: PoolClient): UpstreamChannel | 'wait' | 'full' {
    const server = this.#pick(client)
    const upstream = server === undefined ? 'full' : server.acquire(client)
    if (typeof upstream !== 'string') return upstream
    if (upstream === 'full' && this.#waiting.size >= this.#maxWaiting) return 'full'
    this.#waiting.add(client)
    for (const one of this.#servers) one.hurry()
    return 'wait'
  }

  #pick(client: PoolClient): UpstreamServer | undefined {
    // With one server there is nothing to choose.
    if (this.#servers.length === 1) return this.#servers[0]
    return pickServer(this.#servers, this.#balance, client.triedServers)
  }

  /** Whether there is a server left that the request can be tried on. */
  canTryAnother({ triedServers }: PoolClient): boolean {
    return triedServers.length < this.#maxAttempts
  }

  /** The client no longer wants a connection. */
  cancel(client: PoolClient): void {
    this.#waiting.delete(client)
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  takeWaiting(server: UpstreamServer): PoolClient | undefined {
    for (const client of this.#waiting) {
      const { triedServers } = client
      if (triedServers.includes(server) || !isInTier(server, tierOf(this.#servers, triedServers))) continue
      this.#waiting.delete(client)
      return client
    }
    return undefined
  }

  isOtherUp(server: UpstreamServer): boolean {
    return this.#servers.some((other) => other !== server && other.isUp)
  }

  onServerChange(server: UpstreamServer, change: UpstreamChange | undefined): void {
    if (change !== undefined) this.#report(server, change)
    if (change?.kind === 'check-failed' && !this.#servers.some(({ isUp }) => isUp)) {
      this.#report(server, { kind: 'none-up' })
    }
    this.#serveWaiting()
  }

  /** Other servers may take requests than did when these began to wait. */
  #serveWaiting(): void {
    for (const client of this.#waiting) {
      const upstream = this.#pick(client)?.acquire(client)
      if (upstream === undefined || typeof upstream === 'string') return
      this.#waiting.delete(client)
      client.onUpstreamAssigned(upstream)
    }
  }

  #report(server: UpstreamServer, change: UpstreamChange): void {
    if (this.#onUpstream === undefined) return
    try {
      this.#onUpstream({ atMs: Date.now(), upstream: this.name, server: server.name, ...change })
    } catch (error) {
      this.#onError(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
