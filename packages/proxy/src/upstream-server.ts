import type { UpstreamChange } from '@prexy/events/upstream'
import type { HeadMemo } from '@prexy/http/head-memo'
import type { MessageLimits } from '@prexy/http/limits'
import type { ResponseHead } from '@prexy/http/message'
import { parseIpAddress } from '@prexy/http/ip-address'
import { isPrivateAddress } from '@prexy/http/private-addresses'
import { AddressCache, type Resolve } from '@prexy/net/address-cache'
import { ClientTls } from '@prexy/net/client-tls'
import type { Connection, ConnectOptions } from '@prexy/net/connection'
import { http2UpstreamFault } from '@prexy/net/http2-upstream'
import { Timer, type TimerWheel } from '@prexy/net/timer-wheel'
import type { ProxyError } from './proxy-error.ts'
import {
  DEFAULT_UPSTREAM_CONNECTIONS,
  DEFAULT_UPSTREAM_HTTP2,
  DEFAULT_UPSTREAM_IDLE_CONNECTIONS,
  DEFAULT_UPSTREAM_STREAMS,
  type ProxyTimeouts,
  type UpstreamConfig,
  type UpstreamServerConfig,
} from './proxy-config.ts'
import type { Candidate } from './upstream-balance.ts'
import type { ServerWatch, UpstreamChannel } from './upstream-channel.ts'
import { HealthCheck } from './upstream-check.ts'
import { UpstreamConnection, type UpstreamHome } from './upstream-connection.ts'
import { DEFAULT_EJECTION, Ejection, type EjectionLimits } from './upstream-ejection.ts'
import { Http2Connection, type Http2Home } from './upstream-http2.ts'

/** A request that wants a connection; compared by identity. */
export interface PoolClient {
  /** Only HTTP/1.1 will do. */
  readonly wantsHttp1: boolean
  /** Only a connection that has served nobody will do. */
  readonly wantsFresh: boolean
  /** Servers that it could not be sent to. */
  readonly triedServers: readonly ServerWatch[]
  /** Called when a connection is there for it, maybe not up yet. */
  onUpstreamAssigned(upstream: UpstreamChannel): void
}

/** What a server needs of its upstream. */
export interface ServerHost {
  /** Clients that wait for a connection to any server. */
  readonly waitingCount: number
  /** The client that waits longest and may have a connection to this server; it waits no more. */
  takeWaiting(server: UpstreamServer): PoolClient | undefined
  /** Whether a server other than this one is up. */
  isOtherUp(server: UpstreamServer): boolean
  /** `isUp` of the server changed, or it may take a request again. */
  onServerChange(server: UpstreamServer, change: UpstreamChange | undefined): void
}

export interface UpstreamServerInit {
  readonly config: UpstreamConfig
  readonly server: UpstreamServerConfig
  readonly host: ServerHost
  readonly limits: MessageLimits
  /** Of parsers with these limits. */
  readonly memo?: HeadMemo<ResponseHead> | undefined
  readonly wheel: TimerWheel
  readonly timeouts: ProxyTimeouts
  readonly resolve: Resolve | undefined
  readonly onError: (error: Error) => void
}

const HTTP_PORT = 80
const HTTPS_PORT = 443

/**
 * One server of an upstream: its connections and how it is. The most recently used kept connection is taken first, so
 * that those no longer needed grow old and close.
 *
 * SECURITY: a connection that has become free settles before it serves again: the event loop must have looked at its
 * socket once and found nothing. Octets that follow a response would else be taken for the next request's response,
 * which may be another client's (queue poisoning).
 */
export class UpstreamServer implements UpstreamHome, Http2Home, Candidate {
  /** `host:port`, or the path of a socket. */
  readonly name: string
  /** What Host would say: `host[:port]`. */
  readonly authority: string
  readonly weight: number
  readonly backup: boolean
  credit = 0
  isUp = true
  readonly #init: UpstreamServerInit
  readonly #host: ServerHost
  readonly #connectOptions: ConnectOptions
  /** Undefined where HTTP/2 is not spoken. */
  readonly #http2Options: ConnectOptions | undefined
  readonly #maxStreams: number
  readonly #http2Connections = new Set<Http2Connection>()
  /** What ALPN chose last; undefined while there is no connection that could tell. */
  #speaks: 'h2' | 'http/1.1' | undefined
  /** HTTP/2 and nothing else, without asking. */
  readonly #isHttp2Known: boolean
  readonly #addresses: AddressCache | undefined
  readonly #refreshTimer: Timer
  readonly #maxConnections: number
  readonly #maxIdle: number
  readonly #idle: UpstreamConnection[] = []
  /**
   * Connections that are settling, in the order in which they became free.
   *
   * PERF: a Map makes its table anew after a few turns in which something came and went.
   */
  readonly #settling: UpstreamConnection[] = []
  /** Turns of the event loop seen while something was settling. */
  #turns = 0
  /** Comes after this turn of the event loop; there while something is settling. */
  #nextTurn: NodeJS.Immediate | undefined = undefined
  readonly #all = new Set<UpstreamConnection>()
  /** Those of `#all` that are being closed to make room, or are tunnels: they do not count against `maxConnections`. */
  readonly #retired = new Set<UpstreamConnection>()
  /** Those of `#all` to addresses that the name no longer has: they serve no further request. */
  readonly #outdated = new Set<UpstreamConnection>()
  readonly #ejectionLimits: EjectionLimits
  readonly #ejection: Ejection
  readonly #ejectionTimer: Timer
  #ejected = false
  /** What the one request is on that the server gets on trial. */
  #trial: UpstreamChannel | undefined = undefined
  /** When it was last told that the server is not ejected though it fails; monotonic, milliseconds. */
  #toldAt = Number.NEGATIVE_INFINITY
  readonly #check: HealthCheck | undefined
  #stopped = false
  readonly #emptied = new Set<() => void>()

  constructor(init: UpstreamServerInit) {
    this.#init = init
    this.#host = init.host
    const { config, server, wheel } = init
    this.weight = server.weight ?? 1
    this.backup = server.backup ?? false
    this.#maxConnections = config.maxConnections ?? DEFAULT_UPSTREAM_CONNECTIONS
    this.#maxIdle = config.maxIdleConnections ?? DEFAULT_UPSTREAM_IDLE_CONNECTIONS
    this.#ejectionLimits = { ...DEFAULT_EJECTION, ...config.ejection }
    this.#ejection = new Ejection(this.#ejectionLimits)
    this.#ejectionTimer = new Timer(wheel, () => this.#onReturn())
    this.#refreshTimer = new Timer(wheel, () => this.#onRefresh())
    let tlsName = 'localhost'
    if ('path' in server) {
      this.name = server.path
      this.authority = 'localhost'
      this.#addresses = undefined
    } else {
      const { host, port } = server
      tlsName = host
      const isAddress = parseIpAddress(host) !== undefined
      if (config.denyPrivate === true && isAddress && isPrivateAddress(host)) {
        throw new Error(`upstream ${host} is not an address of the public internet, and denyPrivate is set`)
      }
      const written = host.includes(':') ? `[${host}]` : host
      this.name = `${written}:${port}`
      this.authority = port === (server.tls === true ? HTTPS_PORT : HTTP_PORT) ? written : this.name
      this.#addresses = isAddress ? undefined : this.#makeAddresses(host)
    }
    const tls = server.tls === true ? this.#makeTls(config.tls?.serverName ?? tlsName) : undefined
    const connectOptions: ConnectOptions = {
      ...('path' in server ? { path: server.path } : { host: server.host, port: server.port }),
      ...(this.#addresses === undefined ? {} : { addresses: this.#addresses }),
      ...(tls === undefined ? {} : { tls }),
    }
    this.#connectOptions = connectOptions
    const { http2 = DEFAULT_UPSTREAM_HTTP2 } = config
    const asks = http2 === 'alpn' && server.tls === true
    const fault = asks || http2 === 'prior-knowledge' ? http2UpstreamFault() : undefined
    if (fault !== undefined) throw new Error(`upstream ${this.name}: http2 is not spoken to servers here: ${fault}`)
    this.#maxStreams = config.maxStreams ?? DEFAULT_UPSTREAM_STREAMS
    this.#speaks = http2 === 'prior-knowledge' ? 'h2' : asks ? undefined : 'http/1.1'
    this.#http2Options = asks
      ? { ...connectOptions, versions: ['h2', 'http/1.1'] }
      : http2 === 'prior-knowledge'
        ? { ...connectOptions, versions: ['h2'] }
        : undefined
    this.#isHttp2Known = http2 === 'prior-knowledge'
    if (config.healthCheck !== undefined) {
      this.#check = new HealthCheck({
        config: config.healthCheck,
        hostHeader: config.hostHeader ?? this.authority,
        open: () => this.#openForCheck(),
        wheel,
        onDown: (reason) => this.#setUp({ kind: 'check-failed', reason }),
        onUp: () => this.#setUp({ kind: 'check-passed' }),
      })
    }
  }

  #makeTls(serverName: string): ClientTls {
    try {
      return new ClientTls({ ...this.#init.config.tls, serverName })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(`upstream ${this.name}: the files under tls cannot be used: ${reason}`, { cause: error })
    }
  }

  #makeAddresses(host: string): AddressCache {
    const { config, timeouts, resolve } = this.#init
    return new AddressCache({
      host,
      // A little more than the timer, so that connecting never waits for a name that is in use.
      maxAgeMs: timeouts.upstreamResolveMs * 2,
      ...(config.denyPrivate === true ? { allowsAddress: isPublicAddress } : {}),
      ...(resolve === undefined ? {} : { resolve }),
      onChange: (addresses) => this.#onAddresses(addresses),
      onFailure: (error) => this.#host.onServerChange(this, { kind: 'lookup-failed', reason: error.message }),
    })
  }

  /** Begins to check how the server is, if it is to be checked. */
  start(): void {
    this.#check?.start()
  }

  // Connections

  /** Whether connections are kept at all; without, requests say `Connection: close`. */
  get keepsAlive(): boolean {
    return this.#maxIdle > 0
  }

  /** Requests under way, tunnels included. */
  get busy(): number {
    let busy = this.#all.size - this.#idle.length - this.#settling.length
    for (const one of this.#http2Connections) busy += one.busy
    return busy
  }

  get hasRoom(): boolean {
    if (this.#isTried) return false
    if (this.#roomOnHttp2() !== undefined) return true
    return this.#idle.length > 0 || !this.#isFull || this.#settling.length > this.#host.waitingCount
  }

  /**
   * A connection: kept, or new and perhaps not up yet. `settles`: one will be free in a moment, and its client is taken
   * from those that wait. `full`: there may be no more.
   */
  acquire(client: PoolClient): UpstreamChannel | 'settles' | 'full' {
    const upstream = this.#speaks === 'http/1.1' ? this.#acquire(client.wantsFresh) : this.#acquireHttp2(client)
    if (this.#ejection.onTrial && typeof upstream !== 'string') this.#trial = upstream
    return upstream
  }

  #acquire(fresh: boolean): UpstreamConnection | 'settles' | 'full' {
    if (!fresh) {
      for (let upstream = this.#idle.pop(); upstream !== undefined; upstream = this.#idle.pop()) {
        if (upstream.usable) return upstream
      }
      // Within a turn of the event loop or two one of them can be had: sooner than a new connection.
      if (this.#settling.length > this.#host.waitingCount) return 'settles'
    }
    if (this.#isFull) {
      // A kept connection that the request must not have makes room for a new one.
      const oldest = this.#idle.shift()
      if (oldest === undefined) return 'full'
      this.#retire(oldest)
    }
    return this.#open()
  }

  #acquireHttp2(client: PoolClient): UpstreamChannel | 'full' {
    if (client.wantsHttp1) {
      // Few, and soon tunnels: they do not count.
      const upstream = this.#open()
      this.#retired.add(upstream)
      return upstream
    }
    const usable = client.wantsFresh && !this.#isFull ? undefined : this.#roomOnHttp2()
    if (usable !== undefined) return usable.open()
    return this.#isFull ? 'full' : this.#openHttp2(this).open()
  }

  #roomOnHttp2(): Http2Connection | undefined {
    for (const one of this.#http2Connections) if (one.hasRoom) return one
    return undefined
  }

  #openHttp2(home: Http2Home): Http2Connection {
    const { limits, wheel, timeouts, onError } = this.#init
    if (this.#http2Options === undefined) throw new Error('HTTP/2 is not spoken to this server')
    const connection = new Http2Connection({
      connect: this.#http2Options,
      home,
      maxStreams: this.#maxStreams,
      keepsAlive: this.keepsAlive,
      limits,
      wheel,
      timeouts,
      onError,
    })
    if (home === this) {
      this.#http2Connections.add(connection)
      this.#watchAddresses()
    }
    return connection
  }

  /** A connection of its own, which is closed behind the check. */
  #openForCheck(): UpstreamChannel {
    const { limits, wheel, timeouts, onError } = this.#init
    if (!this.#isHttp2Known) {
      return new UpstreamConnection({ connect: this.#connectOptions, home: STRAY, limits, wheel, timeouts, onError })
    }
    const connection = this.#openHttp2(STRAY)
    const channel = connection.open()
    connection.retire()
    return channel
  }

  onHttp2(): void {
    this.#speaks = 'h2'
  }

  onHttp1(connection: Connection): void {
    this.#speaks = 'http/1.1'
    const upstream = this.#open(connection)
    upstream.rest()
    this.#idle.push(upstream)
  }

  onHttp2Room(channel: UpstreamChannel | undefined): void {
    if (channel !== undefined && this.#trial === channel) this.#trial = undefined
    this.#fillRoom()
  }

  onHttp2Closed(connection: Http2Connection): void {
    this.#http2Connections.delete(connection)
    this.#onFewer()
  }

  /** A client waits: the loop must not sleep while a connection settles. */
  hurry(): void {
    this.#nextTurn?.ref()
  }

  /** The one request that it gets on trial is under way. */
  get #isTried(): boolean {
    return this.#trial !== undefined && this.#ejection.onTrial
  }

  get #isFull(): boolean {
    return this.#all.size - this.#retired.size + this.#http2Connections.size >= this.#maxConnections
  }

  #retire(upstream: UpstreamConnection): void {
    this.#retired.add(upstream)
    upstream.close()
  }

  /** Closes kept connections, and from now on each connection once it is free; resolves when all are closed. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#check?.stop()
    this.#ejectionTimer.release()
    this.#refreshTimer.release()
    this.#closeFree()
    if (this.#isEmpty) return
    await new Promise<void>((resolve) => {
      this.#emptied.add(resolve)
    })
  }

  get #isEmpty(): boolean {
    return this.#all.size + this.#http2Connections.size === 0
  }

  #closeFree(): void {
    for (const one of this.#http2Connections) one.retire()
    for (const upstream of [...this.#idle.splice(0), ...this.#settling.splice(0)]) upstream.close()
  }

  #open(connection?: Connection): UpstreamConnection {
    const { limits, memo, wheel, timeouts, onError } = this.#init
    const upstream = new UpstreamConnection({
      connect: this.#connectOptions,
      connection,
      home: this,
      limits,
      memo,
      wheel,
      timeouts,
      onError,
    })
    this.#all.add(upstream)
    this.#watchAddresses()
    return upstream
  }

  #watchAddresses(): void {
    if (this.#addresses === undefined || this.#refreshTimer.armed || this.#stopped) return
    this.#refreshTimer.arm(this.#init.timeouts.upstreamResolveMs)
  }

  onUpstreamFree(upstream: UpstreamConnection): void {
    if (this.#trial === upstream) this.#trial = undefined
    // Also where others wait: without keeping, the upstream was told that the connection closes.
    if (this.#stopped || this.#ejected || !this.keepsAlive || this.#outdated.has(upstream)) {
      upstream.close()
      return
    }
    upstream.rest()
    // Two: the first comes before sockets are looked at again, the second after.
    upstream.settledAfter = this.#turns + 2
    this.#settling.push(upstream)
    if (this.#nextTurn === undefined) this.#awaitTurn()
  }

  #awaitTurn(): void {
    this.#nextTurn = setImmediate(this.#onTurn)
    // Where nobody waits, the loop need not turn for this; it turns with the next request at the latest.
    if (this.#host.waitingCount === 0) this.#nextTurn.unref()
  }

  readonly #onTurn = (): void => {
    this.#nextTurn = undefined
    this.#turns++
    try {
      for (let first = this.#settling.at(0); first !== undefined; first = this.#settling.at(0)) {
        if (first.settledAfter > this.#turns) break
        this.#settling.shift()
        this.#settled(first)
      }
    } finally {
      if (this.#settling.length > 0 && this.#nextTurn === undefined) this.#awaitTurn()
    }
  }

  #settled(upstream: UpstreamConnection): void {
    // One that is not usable any more is on its way to onUpstreamClosed.
    if (!upstream.usable) return
    const client = this.#nextClient()
    if (client === undefined) {
      this.#idle.push(upstream)
      if (this.#idle.length > this.#maxIdle) this.#idle.shift()?.close()
      return
    }
    if (client.wantsFresh) this.#retire(upstream)
    this.#assign(client, client.wantsFresh ? this.#open() : upstream)
  }

  #nextClient(): PoolClient | undefined {
    return this.#host.waitingCount === 0 || this.#isTried ? undefined : this.#host.takeWaiting(this)
  }

  #assign(client: PoolClient, upstream: UpstreamChannel): void {
    if (this.#ejection.onTrial) this.#trial = upstream
    client.onUpstreamAssigned(upstream)
  }

  onUpstreamClosed(upstream: UpstreamConnection): void {
    if (this.#trial === upstream) this.#trial = undefined
    this.#all.delete(upstream)
    this.#retired.delete(upstream)
    this.#outdated.delete(upstream)
    for (const free of [this.#settling, this.#idle]) {
      const at = free.indexOf(upstream)
      if (at !== -1) free.splice(at, 1)
    }
    this.#onFewer()
  }

  #onFewer(): void {
    if (this.#isEmpty) {
      for (const resolve of this.#emptied) resolve()
      // What the server speaks may be another thing by the next connection.
      if (this.#http2Options !== undefined && !this.#isHttp2Known) this.#speaks = undefined
    }
    this.#fillRoom()
  }

  onUpstreamUpgraded(upstream: UpstreamConnection): void {
    if (this.#trial === upstream) this.#trial = undefined
    // One that is closed already no longer counts.
    if (!this.#all.has(upstream)) return
    this.#retired.add(upstream)
    this.#fillRoom()
  }

  /** A connection less, or more streams: those who wait longest get them. */
  #fillRoom(): void {
    if (this.#speaks === 'http/1.1') {
      const client = this.#isFull ? undefined : this.#nextClient()
      if (client !== undefined) this.#assign(client, this.#open())
      return
    }
    while (!this.#stopped && (this.#roomOnHttp2() !== undefined || !this.#isFull)) {
      const client = this.#nextClient()
      if (client === undefined) return
      const upstream = this.#acquireHttp2(client)
      if (upstream !== 'full') this.#assign(client, upstream)
    }
  }

  // How it is

  onUpstreamAnswered(): void {
    if (this.#ejected) return
    const wasOnTrial = this.#ejection.onTrial
    this.#ejection.answered()
    this.#trial = undefined
    if (wasOnTrial) this.#host.onServerChange(this, undefined)
  }

  onUpstreamFailed({ message, detail }: ProxyError): void {
    if (this.#stopped || !this.isUp) return
    const now = performance.now()
    if (!this.#ejection.failed(now)) return
    const reason = detail ?? message
    if (!this.#host.isOtherUp(this)) {
      this.#ejection.restart()
      if (now - this.#toldAt < this.#ejectionLimits.windowMs) return
      this.#toldAt = now
      this.#host.onServerChange(this, { kind: 'not-ejected', reason })
      return
    }
    const forMs = this.#ejection.eject(now)
    this.#ejected = true
    this.isUp = false
    this.#closeFree()
    this.#ejectionTimer.arm(forMs)
    this.#host.onServerChange(this, { kind: 'ejected', forMs, reason })
  }

  #onReturn(): void {
    this.#ejected = false
    this.#ejection.returned(performance.now())
    this.#setUp({ kind: 'returned' })
  }

  #setUp(change: UpstreamChange): void {
    const wasUp = this.isUp
    this.isUp = !this.#ejected && this.#check?.isDown !== true
    if (wasUp && !this.isUp) this.#closeFree()
    this.#host.onServerChange(this, change)
  }

  // Its addresses

  #onRefresh(): void {
    if (this.#isEmpty) return
    this.#addresses?.refresh()
    this.#refreshTimer.arm(this.#init.timeouts.upstreamResolveMs)
  }

  #onAddresses(addresses: readonly string[]): void {
    for (const upstream of this.#all) {
      const { remoteAddress } = upstream.connection
      if (remoteAddress !== undefined && !addresses.includes(remoteAddress)) this.#outdated.add(upstream)
    }
    for (const upstream of this.#idle.filter((one) => this.#outdated.has(one))) upstream.close()
    for (const one of this.#http2Connections) {
      const { remoteAddress } = one.connection
      if (remoteAddress !== undefined && !addresses.includes(remoteAddress)) one.retire()
    }
    this.#host.onServerChange(this, { kind: 'addresses-changed', addresses })
  }
}

function isPublicAddress(address: string): boolean {
  return !isPrivateAddress(address)
}

/** Connections of checks belong to no pool: each is closed after its answer. */
const STRAY: UpstreamHome & Http2Home = {
  name: 'health check',
  onUpstreamUpgraded() {},
  onUpstreamFree: (upstream) => upstream.close(),
  onUpstreamClosed() {},
  onUpstreamAnswered() {},
  onUpstreamFailed() {},
  onHttp1: (connection) => connection.destroy(),
  onHttp2() {},
  onHttp2Room() {},
  onHttp2Closed() {},
}
