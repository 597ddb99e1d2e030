import type { MessageLimits } from '@prexy/http/limits'
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
 */
export class UpstreamPool implements UpstreamHome {
  /** `host[:port]` for Host and for events. */
  readonly authority: string
  readonly #init: UpstreamPoolInit
  readonly #maxConnections: number
  readonly #maxIdle: number
  readonly #maxWaiting: number
  readonly #idle: UpstreamConnection[] = []
  readonly #all = new Set<UpstreamConnection>()
  readonly #waiting = new Set<PoolClient>()
  #stopped = false
  readonly #emptied = new Set<() => void>()

  constructor(init: UpstreamPoolInit) {
    this.#init = init
    const { config } = init
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
   * wait already. With `fresh`, kept connections are not considered.
   */
  acquire(client: PoolClient, fresh: boolean): UpstreamConnection | 'wait' | 'full' {
    if (!fresh) {
      for (let upstream = this.#idle.pop(); upstream !== undefined; upstream = this.#idle.pop()) {
        if (upstream.usable) return upstream
      }
    }
    if (this.#all.size >= this.#maxConnections) {
      // A kept connection that the request must not have makes room for a new one.
      const oldest = this.#idle.shift()
      if (oldest === undefined) {
        if (this.#waiting.size >= this.#maxWaiting) return 'full'
        this.#waiting.add(client)
        return 'wait'
      }
      this.#all.delete(oldest)
      oldest.close()
    }
    return this.#open()
  }

  /** The client no longer wants a connection. */
  cancel(client: PoolClient): void {
    this.#waiting.delete(client)
  }

  /** Closes kept connections, and from now on each connection once it is free; resolves when all are closed. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const upstream of this.#idle.splice(0)) upstream.close()
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
      home: this,
      limits,
      wheel,
      timeouts,
      onError,
    })
    this.#all.add(upstream)
    return upstream
  }

  #next(): PoolClient | undefined {
    for (const client of this.#waiting) {
      this.#waiting.delete(client)
      return client
    }
    return undefined
  }

  onUpstreamFree(upstream: UpstreamConnection): void {
    const client = this.#next()
    if (client !== undefined) {
      client.onUpstreamAssigned(upstream)
      return
    }
    if (this.#stopped || this.#maxIdle === 0) {
      upstream.close()
      return
    }
    upstream.rest()
    this.#idle.push(upstream)
    if (this.#idle.length > this.#maxIdle) this.#idle.shift()?.close()
  }

  onUpstreamClosed(upstream: UpstreamConnection): void {
    this.#all.delete(upstream)
    const at = this.#idle.indexOf(upstream)
    if (at !== -1) this.#idle.splice(at, 1)
    if (this.#all.size === 0) for (const resolve of this.#emptied) resolve()
    if (this.#all.size >= this.#maxConnections) return
    const client = this.#next()
    if (client !== undefined) client.onUpstreamAssigned(this.#open())
  }
}
