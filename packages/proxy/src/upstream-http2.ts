/**
 * Connections of HTTP/2 to one server, and the streams on them: what `UpstreamConnection` is for HTTP/1.1, for many
 * requests at a time.
 */

import { readHttp2Trailers } from '@prexy/http/http2-request'
import { readHttp2Response } from '@prexy/http/http2-response'
import type { FieldList } from '@prexy/http/fields'
import { fieldValue } from '@prexy/http/fields'
import type { MessageLimits } from '@prexy/http/limits'
import type { ResponseHead } from '@prexy/http/message'
import { describeConnectFault, isTlsFault } from '@prexy/net/client-tls'
import { connect, type ConnectHandler, type Connection, type ConnectOptions } from '@prexy/net/connection'
import {
  type Http2StreamEnd,
  Http2Upstream,
  type Http2UpstreamHandler,
  type Http2UpstreamStream,
  type Http2UpstreamStreamHandler,
} from '@prexy/net/http2-upstream'
import { Timer, type TimerWheel } from '@prexy/net/timer-wheel'
import { ProxyError } from './proxy-error.ts'
import type { ProxyTimeouts } from './proxy-config.ts'
import type { ServerWatch, UpstreamChannel, UpstreamHead, UpstreamUser } from './upstream-channel.ts'
import { addressOf } from './upstream-connection.ts'

export interface Http2Home extends ServerWatch {
  /** ALPN chose HTTP/1.1: the connection is the home's; the requests that waited for it ask for another. */
  onHttp1(connection: Connection): void
  /** It did not; or the connection is one without ALPN. */
  onHttp2(): void
  /** A request is over, or the server takes more of them. */
  onHttp2Room(channel: UpstreamChannel | undefined): void
  onHttp2Closed(connection: Http2Connection): void
}

export interface Http2ConnectionInit {
  readonly connect: ConnectOptions
  readonly home: Http2Home
  /** Requests at one time, where the server does not take fewer. */
  readonly maxStreams: number
  /** False closes a connection as soon as no request is on it. */
  readonly keepsAlive: boolean
  readonly limits: MessageLimits
  readonly wheel: TimerWheel
  readonly timeouts: ProxyTimeouts
  readonly onError: (error: Error) => void
}

/** Octets of a request body that are kept until the server answers, to be sent anew if it did not process them. */
const MAX_REPLAY_BYTES = 65_536

/** How long a server may take to close a connection that we have closed. Unit: milliseconds. */
const CLOSE_MS = 1_000

/** A connection is left before its identifiers of streams run out (RFC 9113 §5.1.1: 2^30 of them). */
const MAX_STREAMS_BEGUN = 2 ** 29

/** How many octets a header line counts for beyond its own (RFC 9113 §10.5.1). */
const LINE_BYTES = 32

/** One connection: dialled, then spoken on if HTTP/2 was chosen. */
export class Http2Connection implements ConnectHandler, Http2UpstreamHandler {
  readonly connection: Connection
  readonly #init: Http2ConnectionInit
  readonly #timer: Timer
  #waiting: 'connect' | 'tls' | 'sign' | 'ping' | 'idle' | 'close' | 'nothing' = 'connect'
  #link: Http2Upstream | undefined = undefined
  readonly #channels = new Set<Http2Channel>()
  #begun = 0
  /** Takes no further request. */
  #retired = false
  #closed = false
  /** ALPN chose HTTP/1.1, and the connection was given away. */
  #left = false
  /** Responses that came whole. */
  served = 0
  /** Something came from the server since it was waited for. */
  #heard = false

  constructor(init: Http2ConnectionInit) {
    this.#init = init
    this.#timer = new Timer(init.wheel, () => this.#onTimeout())
    this.#timer.arm(init.timeouts.upstreamConnectMs)
    this.connection = connect(init.connect, this, init.onError)
  }

  get init(): Http2ConnectionInit {
    return this.#init
  }

  get link(): Http2Upstream | undefined {
    return this.#link
  }

  get connected(): boolean {
    return this.#link !== undefined
  }

  get address(): string | undefined {
    return this.connected ? addressOf(this.connection, this.#init.connect) : undefined
  }

  /** Requests under way. */
  get busy(): number {
    return this.#channels.size
  }

  get hasRoom(): boolean {
    if (this.#retired || this.#closed || this.#left || this.#begun >= MAX_STREAMS_BEGUN) return false
    const link = this.#link
    if (link === undefined) return this.busy < this.#init.maxStreams
    return link.usable && this.busy < Math.min(this.#init.maxStreams, link.maxStreams)
  }

  /** A stream for one request. */
  open(): UpstreamChannel {
    if (this.#waiting === 'idle') this.#awaitSign()
    const channel = new Http2Channel(this)
    this.#begun++
    this.#channels.add(channel)
    return channel
  }

  /** Takes no further request, and closes when the last one is over. */
  retire(): void {
    this.#retired = true
    if (this.busy > 0) return
    if (this.#link === undefined) {
      this.connection.destroy()
    } else {
      this.#link.close()
      this.#wait('close', CLOSE_MS)
    }
  }

  /** @internal */
  onChannelOver(channel: Http2Channel, isWhole: boolean): void {
    if (!this.#channels.delete(channel)) return
    if (isWhole) this.served++
    if (this.busy === 0 && this.connected) {
      if (this.#retired || !this.#init.keepsAlive || this.#link?.usable !== true) this.retire()
      else this.#wait('idle', this.#init.timeouts.upstreamIdleMs)
    }
    this.#init.home.onHttp2Room(channel)
  }

  onHandshake(): void {
    this.#wait('tls', this.#init.timeouts.upstreamTlsMs)
  }

  onConnect(version: 'h2' | 'http/1.1'): void {
    this.#rest()
    const { home, limits, onError } = this.#init
    if (version === 'http/1.1') {
      this.#left = true
      this.#timer.release()
      home.onHttp1(this.connection)
      home.onHttp2Closed(this)
      for (const channel of [...this.#channels]) channel.lose(new ProxyError('E_UPSTREAM_HTTP1'))
      return
    }
    const heard = limits.maxHeaderBytes + limits.maxHeaderCount * LINE_BYTES
    // Our own limits are looked at first: they tell what was wrong.
    const linkLimits = { maxHeaderListBytes: heard + LINE_BYTES, maxHeaderPairs: limits.maxHeaderCount + 8 }
    this.#link = new Http2Upstream(this.connection, linkLimits, this, onError)
    home.onHttp2()
    for (const channel of [...this.#channels]) channel.onUp()
    if (this.busy === 0) this.#wait('idle', this.#init.timeouts.upstreamIdleMs)
    else this.#awaitSign()
    if (this.#retired) this.retire()
  }

  onSettings(): void {
    this.hear()
    this.#init.home.onHttp2Room(undefined)
  }

  onGoaway(): void {
    this.retire()
    this.#init.home.onHttp2Room(undefined)
  }

  /** Octets are read by the session, or the connection is not up. */
  onData(): boolean {
    return false
  }

  onEnd(): void {
    if (this.#link === undefined) this.connection.destroy()
  }

  onDrain(): void {}

  onClose(cause: Error | undefined): void {
    if (this.#left) return
    this.#closed = true
    this.#timer.release()
    this.#init.home.onHttp2Closed(this)
    const detail = describeConnectFault(cause) ?? 'the connection was closed'
    for (const channel of [...this.#channels]) {
      const code = isTlsFault(cause) && this.served === 0 ? 'E_UPSTREAM_TLS' : this.#lossCode()
      channel.lose(new ProxyError(code, { cause, detail }))
    }
  }

  #lossCode(): 'E_UPSTREAM_ABORTED' | 'E_UPSTREAM_TLS' | 'E_UPSTREAM_CONNECT' {
    if (this.connected) return 'E_UPSTREAM_ABORTED'
    return this.#waiting === 'tls' ? 'E_UPSTREAM_TLS' : 'E_UPSTREAM_CONNECT'
  }

  #rest(): void {
    this.#waiting = 'nothing'
    this.#timer.disarm()
  }

  /**
   * Requests are under way, and the server owes a sign of life. Also Node may need it: of a connection that is lost while
   * writing to it, its session does not always hear.
   */
  #awaitSign(): void {
    this.#heard = false
    this.#wait('sign', this.#init.timeouts.upstreamPingMs)
  }

  /** @internal Something came from the server. */
  hear(): void {
    this.#heard = true
  }

  #wait(waiting: 'tls' | 'sign' | 'ping' | 'idle' | 'close', delayMs: number): void {
    this.#waiting = waiting
    this.#timer.arm(delayMs)
  }

  #onTimeout(): void {
    if (this.#waiting === 'idle') return this.retire()
    if (this.#waiting === 'close') return this.connection.destroy()
    if (this.#waiting === 'nothing') return
    if (this.#waiting === 'sign' || this.#waiting === 'ping') return this.#onSilence()
    const detail = this.#waiting === 'tls' ? 'upstreamTlsMs passed' : 'upstreamConnectMs passed'
    for (const channel of [...this.#channels]) channel.lose(new ProxyError('E_UPSTREAM_CONNECT_TIMEOUT', { detail }))
    this.connection.destroy()
  }

  #onSilence(): void {
    if (this.#heard) return this.#awaitSign()
    if (this.#waiting === 'ping') {
      return this.connection.loseTo(new Error('nothing came within upstreamPingMs, not even the answer to a PING'))
    }
    this.#link?.ping(() => this.hear())
    this.#wait('ping', this.#init.timeouts.upstreamPingMs)
  }
}

/** One request and its response. */
class Http2Channel implements UpstreamChannel, Http2UpstreamStreamHandler {
  readonly #over: Http2Connection
  readonly #timer: Timer
  #waiting: 'write' | 'headers' | 'body' = 'headers'
  #user: UpstreamUser | undefined = undefined
  #method = ''
  #head: UpstreamHead | undefined = undefined
  #stream: Http2UpstreamStream | undefined = undefined
  /** Of the response, once its head came: what its body has to be long. */
  #expectedBytes: number | undefined = undefined
  #receivedBytes = 0
  #headDone = false
  #interims = 0
  #requestDone = false
  #held = false
  #takenBytes = 0
  #sent: Uint8Array[] | undefined = []
  #sentBytes = 0
  responseBegun = false
  served: number

  constructor(over: Http2Connection) {
    this.#over = over
    this.served = over.served
    this.#timer = new Timer(over.init.wheel, () => this.#onTimeout())
  }

  get home(): ServerWatch {
    return this.#over.init.home
  }

  get connected(): boolean {
    return this.#over.connected
  }

  get address(): string | undefined {
    return this.#over.address
  }

  get sentBody(): readonly Uint8Array[] | undefined {
    return this.responseBegun ? undefined : this.#sent
  }

  // The request

  assign(user: UpstreamUser, method: string, _upgradeAsked: boolean): void {
    this.#user = user
    this.#method = method
  }

  sendHead(head: UpstreamHead): void {
    this.#head = head
    if (this.connected) this.#begin()
  }

  /** @internal The connection is up. */
  onUp(): void {
    const user = this.#user
    if (user === undefined) return
    this.#begin()
    if (this.#user === user) user.onUpstreamConnect()
  }

  #begin(): void {
    const head = this.#head
    const { link, init } = this.#over
    if (head === undefined || link === undefined) return
    const { method, target, fields, body } = head
    this.#requestDone = body === 'none'
    const stream = link.request(
      {
        method,
        scheme: init.connect.tls === undefined ? 'http' : 'https',
        authority: fieldValue(fields, 'host') ?? '',
        path: target,
        fields: withoutHost(fields),
        takesTrailers: fieldValue(fields, 'te') !== undefined,
        follows: body === 'none' ? 'nothing' : body === 'length' ? 'body' : 'trailers',
      },
      this,
    )
    if (stream === undefined) {
      // The server took its leave since the connection was chosen.
      setImmediate(() => this.lose(new ProxyError('E_UPSTREAM_REFUSED', { detail: 'the connection takes no more' })))
      return
    }
    this.#stream = stream
    this.#wait('headers', init.timeouts.upstreamHeadersMs)
  }

  sendBody(data: Uint8Array): boolean {
    this.#sentBytes += data.length
    if (this.#sentBytes > MAX_REPLAY_BYTES) this.#sent = undefined
    this.#sent?.push(data)
    const stream = this.#stream
    if (stream === undefined) return true
    const below = stream.write(data)
    this.#moved()
    return below
  }

  endBody(trailers: FieldList): void {
    if (this.#requestDone) return
    this.#requestDone = true
    this.#stream?.end(trailers)
    this.#moved()
  }

  /** Octets of the request were written. */
  #moved(): void {
    const stream = this.#stream
    if (stream === undefined || this.#headDone || this.#user === undefined) return
    const { timeouts } = this.#over.init
    if (stream.unsentBytes === 0) {
      this.#wait('headers', timeouts.upstreamHeadersMs)
    } else if (this.#waiting !== 'write') {
      this.#takenBytes = stream.takenBytes
      this.#wait('write', timeouts.upstreamWriteMs)
    }
  }

  onDrain(): void {
    this.#moved()
    this.#user?.onUpstreamDrain()
  }

  // The response

  onInterim(block: FieldList): void {
    const head = this.#read(block, false)
    if (head === undefined) return
    if (++this.#interims > this.#over.init.limits.maxInterimResponses) {
      return this.#refuse('more interim responses than maxInterimResponses')
    }
    const user = this.#user
    if (user === undefined) return
    user.onInterim(head)
    user.onUpstreamChunkEnd()
  }

  onHead(block: FieldList, endsStream: boolean): void {
    const head = this.#read(block, endsStream)
    const user = this.#user
    if (head === undefined || user === undefined) return
    this.#headDone = true
    this.#sent = undefined
    this.#expectedBytes = head.body.kind === 'none' ? 0 : head.body.kind === 'length' ? head.body.bytes : undefined
    this.home.onUpstreamAnswered()
    user.onResponseHead(head)
    this.#endChunk(user)
  }

  #read(block: FieldList, endsStream: boolean): ResponseHead | undefined {
    this.#heard()
    if (this.#user === undefined) return undefined
    const read = readHttp2Response(block, this.#method, endsStream, this.#over.init.limits)
    if (read.kind === 'head') return read.head
    this.#refuse(read.fault.reason)
    return undefined
  }

  onData(chunk: Uint8Array): void {
    this.#heard()
    const user = this.#user
    if (user === undefined) return
    if (!this.#headDone) return this.#refuse('a body ahead of its head')
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > (this.#expectedBytes ?? this.#over.init.limits.maxBodyBytes)) {
      return this.#refuse('the body is longer than its Content-Length or maxBodyBytes')
    }
    if (!user.onResponseData(chunk)) this.pause()
    this.#endChunk(user)
  }

  /** At once, not when more frames have come: a `ResponseSink` is flushed before the event loop goes on. */
  #endChunk(user: UpstreamUser): void {
    user.onUpstreamChunkEnd()
    if (this.#user === user && !this.#held) this.#wait('body', this.#over.init.timeouts.upstreamBodyMs)
  }

  onEnd(trailers: FieldList): void {
    this.#heard()
    const user = this.#user
    if (user === undefined || !this.#headDone) return
    if (this.#expectedBytes !== undefined && this.#receivedBytes !== this.#expectedBytes) {
      return this.#refuse('the body is not as long as Content-Length says', 'E_UPSTREAM_ABORTED')
    }
    const read = readHttp2Trailers(trailers, this.#over.init.limits)
    if ('code' in read) return this.#refuse(read.reason)
    this.#finish(true)
    // What is left of the request is not wanted.
    if (!this.#requestDone) this.#stream?.cancel()
    user.onResponseEnd(read)
    user.onUpstreamChunkEnd()
  }

  onClose({ refused, lost, reason, cause }: Http2StreamEnd): void {
    // A reset is the server's word on this request; that its connection is gone may have nothing to do with it.
    if (!lost) this.served = 0
    const code = refused && !this.responseBegun ? 'E_UPSTREAM_REFUSED' : 'E_UPSTREAM_ABORTED'
    this.lose(new ProxyError(code, { detail: reason, cause }))
  }

  #heard(): void {
    this.#over.hear()
    this.responseBegun = true
  }

  #refuse(detail: string, code: 'E_UPSTREAM_INVALID' | 'E_UPSTREAM_ABORTED' = 'E_UPSTREAM_INVALID'): void {
    this.#stream?.cancel()
    this.lose(new ProxyError(code, { detail }))
  }

  pause(): void {
    if (this.#held) return
    this.#held = true
    this.#timer.disarm()
    this.#stream?.pause()
  }

  resume(): void {
    if (!this.#held) return
    this.#held = false
    this.#stream?.resume()
    if (this.#user !== undefined) this.#wait('body', this.#over.init.timeouts.upstreamBodyMs)
  }

  // Ends

  abort(): void {
    if (this.#user === undefined) return
    this.#finish(false)
    this.#stream?.cancel()
  }

  /** @internal The channel cannot bring the response any more. */
  lose(error: ProxyError): void {
    const user = this.#user
    if (user === undefined) {
      this.#finish(false)
      return
    }
    const isStale = error.code === 'E_UPSTREAM_ABORTED' && this.served > 0 && !this.responseBegun
    const isBusy = error.code === 'E_UPSTREAM_REFUSED' || error.code === 'E_UPSTREAM_HTTP1'
    this.#finish(false)
    if (!isStale && !isBusy) this.home.onUpstreamFailed(error)
    user.onUpstreamError(error)
  }

  #finish(isWhole: boolean): void {
    this.#user = undefined
    this.#timer.release()
    this.#over.onChannelOver(this, isWhole)
  }

  #wait(waiting: 'write' | 'headers' | 'body', delayMs: number): void {
    this.#waiting = waiting
    this.#timer.arm(delayMs)
  }

  #onTimeout(): void {
    const stream = this.#stream
    const { timeouts } = this.#over.init
    if (stream === undefined) return
    if (this.#waiting === 'write' && (stream.unsentBytes === 0 || stream.takenBytes > this.#takenBytes)) {
      this.#waiting = 'headers'
      this.#moved()
      return
    }
    if (this.#waiting === 'headers' && !this.#requestDone) {
      // Nothing is owed before the request is whole; until then its sender is timed.
      return this.#wait('headers', timeouts.upstreamHeadersMs)
    }
    const name = { write: 'upstreamWriteMs', headers: 'upstreamHeadersMs', body: 'upstreamBodyMs' }[this.#waiting]
    stream.cancel()
    this.lose(new ProxyError('E_UPSTREAM_TIMEOUT', { detail: `${name} passed` }))
  }
}

/** `:authority` says it. */
function withoutHost(fields: FieldList): FieldList {
  return fields.filter((_, at) => fields[at - (at % 2)].toLowerCase() !== 'host')
}
