import { parseIpAddress } from '@prexy/http/ip-address'
import type { MessageLimits } from '@prexy/http/limits'
import { isPrivateAddress } from '@prexy/http/private-addresses'
import type { TimerWheel } from '@prexy/net/timer-wheel'
import {
  DEFAULT_UPSTREAM_CONNECTIONS,
  DEFAULT_UPSTREAM_IDLE_CONNECTIONS,
  DEFAULT_UPSTREAM_WAITING,
  type ProxyTimeouts,
  type UpstreamConfig,
} from './proxy-config.ts'
import { UpstreamConnection, type UpstreamHome } from './upstream-connection.ts'

/** A request that wants a connection; compared by identity. */
export interface PoolClient {
  /** Called when a connection is there for it, maybe not up yet. */
  onUpstreamAssigned(upstream: UpstreamConnection): void
}

export interface UpstreamPoolInit {
  readonly config: UpstreamConfig
  readonly limits: MessageLimits
  readonly wheel: TimerWheel
  readonly timeouts: ProxyTimeouts
  readonly onError: (error: Error) => void
}

/**
 * The connections to one upstream. The most recently used kept connection is taken first, so that those no longer
 * needed grow old and close.
 *
 * SECURITY: a connection that has become free settles before it serves again: the event loop must have looked at its
 * socket once and found nothing. Octets that follow a response would else be taken for the next request's response,
 * which may be another client's (queue poisoning).
 */
export class UpstreamPool implements UpstreamHome {
  /** `host[:port]` for Host and for events. */
  readonly authority: string
  readonly #init: UpstreamPoolInit
  readonly #maxConnections: number
  readonly #maxIdle: number
  readonly #maxWaiting: number
  readonly #idle: UpstreamConnection[] = []
  /** Connections that are settling, by the turn of the event loop after which they have settled. */
  readonly #settling = new Map<UpstreamConnection, number>()
  /** Turns of the event loop seen while something was settling. */
  #turns = 0
  /** Comes after this turn of the event loop; there while something is settling. */
  #nextTurn: NodeJS.Immediate | undefined = undefined
  readonly #all = new Set<UpstreamConnection>()
  /** Those of `#all` that are being closed to make room, or are tunnels: they do not count against `maxConnections`. */
  readonly #retired = new Set<UpstreamConnection>()
  /** In the order in which they came; whether they want a connection that served nobody. */
  readonly #waiting = new Map<PoolClient, boolean>()
  #stopped = false
  readonly #emptied = new Set<() => void>()

  constructor(init: UpstreamPoolInit) {
    this.#init = init
    const { config } = init
    if (config.denyPrivate === true && parseIpAddress(config.host) !== undefined && isPrivateAddress(config.host)) {
      throw new Error(`upstream ${config.host} is not an address of the public internet, and denyPrivate is set`)
    }
    const host = config.host.includes(':') ? `[${config.host}]` : config.host
    this.authority = config.port === 80 ? host : `${host}:${config.port}`
    this.#maxConnections = config.maxConnections ?? DEFAULT_UPSTREAM_CONNECTIONS
    this.#maxIdle = config.maxIdleConnections ?? DEFAULT_UPSTREAM_IDLE_CONNECTIONS
    this.#maxWaiting = config.maxWaiting ?? DEFAULT_UPSTREAM_WAITING
  }

  /** Whether connections are kept at all; without, requests say `Connection: close`. */
  get keepsAlive(): boolean {
    return this.#maxIdle > 0
  }

  /**
   * A connection: kept, or new and perhaps not up yet. `wait`: the client is called when there is one. `full`: too many
   * wait already. With `fresh`, it will be a new one.
   */
  acquire(client: PoolClient, fresh: boolean): UpstreamConnection | 'wait' | 'full' {
    if (!fresh) {
      for (let upstream = this.#idle.pop(); upstream !== undefined; upstream = this.#idle.pop()) {
        if (upstream.usable) return upstream
      }
      // Within a turn of the event loop or two one of them can be had: sooner than a new connection.
      if (this.#settling.size > this.#waiting.size) return this.#wait(client, false)
    }
    if (this.#isFull) {
      // A kept connection that the request must not have makes room for a new one.
      const oldest = this.#idle.shift()
      if (oldest === undefined) {
        if (this.#waiting.size >= this.#maxWaiting) return 'full'
        return this.#wait(client, fresh)
      }
      this.#retire(oldest)
    }
    return this.#open()
  }

  #wait(client: PoolClient, fresh: boolean): 'wait' {
    this.#waiting.set(client, fresh)
    // The loop must not sleep while a connection settles that somebody waits for.
    this.#nextTurn?.ref()
    return 'wait'
  }

  get #isFull(): boolean {
    return this.#all.size - this.#retired.size >= this.#maxConnections
  }

  #retire(upstream: UpstreamConnection): void {
    this.#retired.add(upstream)
    upstream.close()
  }

  /** The client no longer wants a connection. */
  cancel(client: PoolClient): void {
    this.#waiting.delete(client)
  }

  /** Closes kept connections, and from now on each connection once it is free; resolves when all are closed. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const upstream of [...this.#idle.splice(0), ...this.#settling.keys()]) upstream.close()
    this.#settling.clear()
    if (this.#all.size === 0) return
    await new Promise<void>((resolve) => {
      this.#emptied.add(resolve)
    })
  }

  #open(): UpstreamConnection {
    const { config, limits, wheel, timeouts, onError } = this.#init
    const upstream = new UpstreamConnection({
      host: config.host,
      port: config.port,
      denyPrivate: config.denyPrivate === true,
      home: this,
      limits,
      wheel,
      timeouts,
      onError,
    })
    this.#all.add(upstream)
    return upstream
  }

  onUpstreamFree(upstream: UpstreamConnection): void {
    // Also where others wait: without keeping, the upstream was told that the connection closes.
    if (this.#stopped || !this.keepsAlive) {
      upstream.close()
      return
    }
    upstream.rest()
    // Two: the first comes before sockets are looked at again, the second after.
    this.#settling.set(upstream, this.#turns + 2)
    if (this.#nextTurn === undefined) this.#awaitTurn()
  }

  #awaitTurn(): void {
    this.#nextTurn = setImmediate(this.#onTurn)
    // Where nobody waits, the loop need not turn for this; it turns with the next request at the latest.
    if (this.#waiting.size === 0) this.#nextTurn.unref()
  }

  readonly #onTurn = (): void => {
    this.#nextTurn = undefined
    this.#turns++
    try {
      // In the order in which they became free, so those that have settled come first.
      for (const [upstream, settledAfter] of this.#settling) {
        if (settledAfter > this.#turns) break
        this.#settled(upstream)
      }
    } finally {
      if (this.#settling.size > 0 && this.#nextTurn === undefined) this.#awaitTurn()
    }
  }

  #settled(upstream: UpstreamConnection): void {
    this.#settling.delete(upstream)
    // One that is not usable any more is on its way to onUpstreamClosed.
    if (!upstream.usable) return
    for (const [client, fresh] of this.#waiting) {
      this.#waiting.delete(client)
      if (fresh) this.#retire(upstream)
      client.onUpstreamAssigned(fresh ? this.#open() : upstream)
      return
    }
    this.#idle.push(upstream)
    if (this.#idle.length > this.#maxIdle) this.#idle.shift()?.close()
  }

  onUpstreamClosed(upstream: UpstreamConnection): void {
    this.#all.delete(upstream)
    this.#retired.delete(upstream)
    this.#settling.delete(upstream)
    const at = this.#idle.indexOf(upstream)
    if (at !== -1) this.#idle.splice(at, 1)
    if (this.#all.size === 0) for (const resolve of this.#emptied) resolve()
    this.#fillRoom()
  }

  onUpstreamUpgraded(upstream: UpstreamConnection): void {
    // One that is closed already no longer counts.
    if (!this.#all.has(upstream)) return
    this.#retired.add(upstream)
    this.#fillRoom()
  }

  /** A connection less: who waits longest may open one. */
  #fillRoom(): void {
    if (this.#isFull) return
    for (const client of this.#waiting.keys()) {
      this.#waiting.delete(client)
      client.onUpstreamAssigned(this.#open())
      return
    }
  }
}
