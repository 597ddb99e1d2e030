import type { HeadMemo } from '@prexy/http/head-memo'
import type { ResponseHead } from '@prexy/http/message'
import { ResponseParser } from '@prexy/http/response-parser'
import type { MessageLimits } from '@prexy/http/limits'
import { CRLF, encodeChunkHead, encodeLastChunk } from '@prexy/http/serialize'
import { describeConnectFault, isTlsFault } from '@prexy/net/client-tls'
import { connect, type ConnectHandler, type Connection, type ConnectOptions } from '@prexy/net/connection'
import { Timer, type TimerWheel } from '@prexy/net/timer-wheel'
import type { FieldList } from '@prexy/http/fields'
import { ProxyError, type ProxyErrorCode } from './proxy-error.ts'
import type { ProxyTimeouts } from './proxy-config.ts'
import type { ServerWatch, UpstreamChannel, UpstreamHead, UpstreamUser } from './upstream-channel.ts'

/** Where a connection goes when it is free or lost: its server. */
export interface UpstreamHome extends ServerWatch {
  /** It never comes back: it was given away for another protocol. */
  onUpstreamUpgraded(upstream: UpstreamConnection): void
  onUpstreamFree(upstream: UpstreamConnection): void
  onUpstreamClosed(upstream: UpstreamConnection): void
}

export interface UpstreamConnectionInit {
  readonly connect: ConnectOptions
  /** One that is up, on which nothing was said yet; without it a connection is opened. */
  readonly connection?: Connection | undefined
  readonly home: UpstreamHome
  readonly limits: MessageLimits
  /** Of parsers with these limits. */
  readonly memo?: HeadMemo<ResponseHead> | undefined
  readonly wheel: TimerWheel
  readonly timeouts: ProxyTimeouts
  readonly onError: (error: Error) => void
}

const NO_OCTETS = new Uint8Array(0)

/** What the one timer of the connection is waiting for. */
type Waiting = 'connect' | 'tls' | 'write' | 'headers' | 'body' | 'idle'

/** One connection to an upstream: at most one request on it at a time, no pipelining. */
export class UpstreamConnection implements ConnectHandler, UpstreamChannel {
  readonly connection: Connection
  readonly home: UpstreamHome
  readonly #timeouts: ProxyTimeouts
  readonly #parser: ResponseParser
  readonly #timer: Timer
  readonly #options: ConnectOptions
  #waiting: Waiting = 'connect'
  #user: UpstreamUser | undefined = undefined
  /** What the upstream had taken when it began to be waited for. */
  #takenBytes = 0
  #connected = false
  #reading = false
  #held = false
  /** Octets read but not parsed yet, because the user paused. */
  #rest: Uint8Array = NO_OCTETS
  #ended = false
  #upgraded = false
  #failure: ProxyError | undefined = undefined
  #closed = false
  /** An octet of the current response has come. */
  responseBegun = false
  /** Its final head has come. */
  #headDone = false
  /** The current request is sent whole. Without that, the connection is no other request's. */
  #requestDone = true
  /** How the body of the current request is framed. */
  #chunked = false
  /** Requests before the current one. */
  served = 0
  /** Kept by its server while it settles: the turn of the event loop after which it has. */
  settledAfter = 0
  #keepAlive = true
  readonly sentBody = undefined

  constructor(init: UpstreamConnectionInit) {
    this.home = init.home
    this.#timeouts = init.timeouts
    this.#parser = new ResponseParser(init.limits, init.memo)
    this.#timer = new Timer(init.wheel, () => this.#onTimeout())
    this.#options = init.connect
    if (init.connection === undefined) {
      this.#timer.arm(init.timeouts.upstreamConnectMs)
      this.connection = connect(init.connect, this, init.onError)
    } else {
      this.connection = init.connection
      this.connection.handler = this
      this.#connected = true
    }
  }

  get connected(): boolean {
    return this.#connected
  }

  get address(): string | undefined {
    return this.#connected ? addressOf(this.connection, this.#options) : undefined
  }

  /** True while the connection can take a request. */
  get usable(): boolean {
    return this.#keepAlive && !this.#ended && !this.#closed && this.#failure === undefined && this.connection.writable
  }

  assign(user: UpstreamUser, method: string, upgradeAsked: boolean): void {
    this.#user = user
    this.responseBegun = false
    this.#headDone = false
    this.#parser.expect(method, upgradeAsked)
    if (this.#connected) this.#wait('headers', this.#timeouts.upstreamHeadersMs)
  }

  sendHead({ octets, body }: UpstreamHead): void {
    this.#requestDone = body === 'none'
    this.#chunked = body === 'chunked'
    this.connection.write(octets)
  }

  sendBody(data: Uint8Array): boolean {
    const { connection } = this
    let below: boolean
    if (this.#chunked) {
      connection.cork()
      connection.write(encodeChunkHead(data.length))
      connection.write(data)
      connection.write(CRLF)
      connection.uncork()
      below = connection.takesMore()
    } else {
      below = connection.write(data)
    }
    this.#requestMoved()
    return below
  }

  endBody(trailers: FieldList): void {
    if (this.#requestDone) return
    this.#requestDone = true
    if (!this.#chunked) return
    this.connection.write(encodeLastChunk(trailers))
    this.#requestMoved()
  }

  /** The request's last octet was written, or some were and more will come. */
  #requestMoved(): void {
    if (!this.#connected || this.#headDone || this.#user === undefined) return
    if (this.connection.unsentBytes === 0) this.#wait('headers', this.#timeouts.upstreamHeadersMs)
    else if (this.#waiting !== 'write') this.#waitForWrite()
  }

  #waitForWrite(): void {
    this.#takenBytes = this.connection.takenBytes
    this.#wait('write', this.#timeouts.upstreamWriteMs)
  }

  abort(): void {
    this.#user = undefined
    this.connection.destroy()
  }

  /** Closes a connection that no request is on, nor will be. */
  close(): void {
    this.#keepAlive = false
    this.connection.destroy()
  }

  pause(): void {
    if (!this.#held) this.#hold(NO_OCTETS)
  }

  resume(): void {
    if (!this.#held || this.#reading) return
    this.#held = false
    const rest = this.#rest
    this.#rest = NO_OCTETS
    this.#read(rest)
    this.#readOn()
  }

  #readOn(): void {
    if (this.#held || this.#closed) return
    if (this.#ended) this.#onEof()
    this.connection.resume()
  }

  /** Waits in the pool. */
  rest(): void {
    this.#wait('idle', this.#timeouts.upstreamIdleMs)
  }

  onHandshake(): void {
    if (this.#user !== undefined) this.#wait('tls', this.#timeouts.upstreamTlsMs)
  }

  onConnect(): void {
    this.#connected = true
    if (this.#user === undefined) {
      // Given up before it was up.
      this.connection.destroy()
      return
    }
    this.#wait('headers', this.#timeouts.upstreamHeadersMs)
    this.#user.onUpstreamConnect()
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#held) {
      // Reading was paused with octets on their way: they wait behind those that are not parsed yet.
      this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
      return true
    }
    return this.#read(chunk)
  }

  #read(chunk: Uint8Array): boolean {
    const user = this.#user
    if (user === undefined) {
      // SECURITY: octets that nobody asked for would be taken for the next request's response (queue poisoning).
      this.close()
      return false
    }
    this.#reading = true
    this.responseBegun = true
    const parser = this.#parser
    let at = 0
    let kept = false
    for (;;) {
      const event = parser.read(chunk, at)
      at = parser.consumed
      if (event === 'more') break
      if (event === 'data') {
        if (user.onResponseData(parser.data)) continue
        if (this.#user !== user) break
        // Also an empty rest is read again: it is what the response may end with.
        this.#hold(chunk.subarray(at))
        kept = at < chunk.length
        break
      }
      if (event === 'end') {
        const { trailers } = parser
        this.#endResponse(at < chunk.length)
        user.onResponseEnd(trailers)
        break
      }
      if (event === 'head') {
        if (parser.head.body.kind === 'tunnel') return this.#upgrade(user, chunk.subarray(at))
        this.#headDone = true
        this.#keepAlive = parser.head.keepAlive
        this.home.onUpstreamAnswered()
        user.onResponseHead(parser.head)
      } else if (event === 'interim') {
        user.onInterim(parser.head)
      } else {
        this.#fail(new ProxyError('E_UPSTREAM_INVALID', { detail: parser.fault.reason }))
        break
      }
      if (this.#user !== user) break
    }
    this.#reading = false
    if (user.onUpstreamChunkEnd()) kept = true
    if (this.#user === user && this.#headDone && !this.#held) this.#wait('body', this.#timeouts.upstreamBodyMs)
    return kept
  }

  /** Gives the connection away. What comes from now on is not HTTP. */
  #upgrade(user: UpstreamUser, rest: Uint8Array): boolean {
    this.#reading = false
    this.#user = undefined
    this.#keepAlive = false
    this.#upgraded = true
    this.#timer.disarm()
    const kept = user.onUpgrade(this, this.#parser.head, rest)
    this.home.onUpstreamUpgraded(this)
    return kept
  }

  #hold(rest: Uint8Array): void {
    this.#held = true
    this.#rest = rest
    this.connection.pause()
    this.#timer.disarm()
  }

  /** Back to the pool, unless the connection cannot be trusted with another request. */
  #endResponse(moreOctets: boolean): void {
    this.#user = undefined
    this.served++
    this.#timer.disarm()
    // SECURITY: what is left of a request would be read as the next one's head (request smuggling).
    if (moreOctets || !this.#requestDone) this.#keepAlive = false
    if (this.usable) this.home.onUpstreamFree(this)
    else this.connection.destroy()
  }

  #fail(error: ProxyError): void {
    this.#failure ??= error
    const user = this.#user
    this.#user = undefined
    this.connection.destroy()
    if (user !== undefined) this.#tell(user, error)
  }

  onEnd(): void {
    this.#ended = true
    // While held, octets that came before the end wait to be parsed first.
    if (!this.#held) this.#onEof()
  }

  #onEof(): void {
    if (this.#upgraded) {
      // The end came while reading was paused, ahead of what made another its handler.
      if (this.connection.handler !== this) this.connection.handler.onEnd()
      return
    }
    const user = this.#user
    if (user === undefined) {
      this.close()
      return
    }
    const fault = this.#parser.close()
    if (fault !== undefined) {
      this.#fail(new ProxyError('E_UPSTREAM_ABORTED', { detail: fault.reason }))
      return
    }
    this.#keepAlive = false
    this.#endResponse(false)
    user.onResponseEnd([])
    user.onUpstreamChunkEnd()
  }

  onDrain(): void {
    this.#requestMoved()
    this.#user?.onUpstreamDrain()
  }

  onClose(cause: Error | undefined): void {
    this.#closed = true
    this.#timer.release()
    this.home.onUpstreamClosed(this)
    const user = this.#user
    if (user === undefined) return
    this.#user = undefined
    this.#tell(user, new ProxyError(this.#lossOf(cause), { cause, detail: describeConnectFault(cause) }))
  }

  /** What it means that the connection was lost. */
  #lossOf(cause: Error | undefined): ProxyErrorCode {
    // Of a connection that has served, it is how its server closed it.
    if (isTlsFault(cause) && this.served === 0) return 'E_UPSTREAM_TLS'
    if (this.#connected) return 'E_UPSTREAM_ABORTED'
    return this.#waiting === 'tls' ? 'E_UPSTREAM_TLS' : 'E_UPSTREAM_CONNECT'
  }

  #tell(user: UpstreamUser, error: ProxyError): void {
    // A kept connection that its server closes just when a request is sent on it says nothing about the server.
    const isStale = error.code === 'E_UPSTREAM_ABORTED' && this.served > 0 && !this.responseBegun
    if (!isStale) this.home.onUpstreamFailed(error)
    user.onUpstreamError(error)
  }

  #wait(waiting: Waiting, delayMs: number): void {
    this.#waiting = waiting
    this.#timer.arm(delayMs)
  }

  #onTimeout(): void {
    switch (this.#waiting) {
      case 'idle':
        this.close()
        return
      case 'connect':
        this.#fail(new ProxyError('E_UPSTREAM_CONNECT_TIMEOUT', { detail: 'upstreamConnectMs passed' }))
        return
      case 'tls':
        this.#fail(new ProxyError('E_UPSTREAM_CONNECT_TIMEOUT', { detail: 'upstreamTlsMs passed' }))
        return
      case 'write':
        if (this.connection.unsentBytes === 0) {
          this.#wait('headers', this.#timeouts.upstreamHeadersMs)
          return
        }
        if (this.connection.takenBytes > this.#takenBytes) {
          this.#waitForWrite()
          return
        }
        this.#fail(new ProxyError('E_UPSTREAM_TIMEOUT', { detail: 'upstreamWriteMs passed' }))
        return
      case 'headers':
        if (!this.#requestDone) {
          // Nothing is owed before the request is whole; until then its sender is timed.
          this.#wait('headers', this.#timeouts.upstreamHeadersMs)
          return
        }
        this.#fail(new ProxyError('E_UPSTREAM_TIMEOUT', { detail: 'upstreamHeadersMs passed' }))
        return
      case 'body':
        this.#fail(new ProxyError('E_UPSTREAM_TIMEOUT', { detail: 'upstreamBodyMs passed' }))
        return
    }
  }
}

/** `address:port` that a server's name stood for, where it is a name. */
export function addressOf(connection: Connection, options: ConnectOptions): string | undefined {
  if (!('host' in options) || options.addresses === undefined) return undefined
  const { remoteAddress } = connection
  if (remoteAddress === undefined) return undefined
  return `${remoteAddress.includes(':') ? `[${remoteAddress}]` : remoteAddress}:${options.port}`
}
