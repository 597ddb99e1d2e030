/**
 * One client's HTTP/2 connection, and its streams: the client's side of many exchanges at a time.
 *
 * What node:http2 does not bound is bounded here: how long a connection without streams may last, how long a stream may
 * stand still, how many streams may be begun and given up, how many control frames may come.
 */

import type { FieldList } from '@prexy/http/fields'
import type { ForwardingPeer } from '@prexy/http/forwarded'
import { readHttp2Request, readHttp2Trailers } from '@prexy/http/http2-request'
import type { RequestHead } from '@prexy/http/message'
import { requestFault, type WireFault } from '@prexy/http/wire-fault'
import {
  H2_ENHANCE_YOUR_CALM,
  H2_NO_ERROR,
  type Http2Session,
  type Http2SessionHandler,
  type Http2Stream,
  type Http2StreamHandler,
} from '@prexy/net/http2-session'
import { Timer } from '@prexy/net/timer-wheel'
import { type AnswerInit, answerParts } from './answer.ts'
import { type Entrance, isTrustedClient, peerOf } from './entrance.ts'
import { bodyTimeout } from './body-pace.ts'
import { ClientClock } from './client-clock.ts'
import { Exchange, SERVED_METHODS } from './exchange.ts'
import type { ExchangeClient, GivenAway } from './exchange-client.ts'
import { fieldBytes, Http2Output, type Http2Stage } from './http2-output.ts'
import { OctetQueue } from './octet-queue.ts'
import { ProxyError } from './proxy-error.ts'
import { reportRefusal } from './refused-request.ts'
import { wantsTrailers } from './request-edits.ts'
import type { ProxyRuntime, RuntimeSource } from './runtime.ts'

const MINUTE_MS = 60_000

/** How much of an answered request is read and thrown away, so that its sender reads the answer. Unit: bytes. */
const MAX_LINGER_BYTES = 1_048_576

/** How often something happened within the minute that began with the first of them. */
class MinuteCount {
  #count = 0
  #beganAt = 0

  /** Counts one more; returns how many there are. */
  next(): number {
    const now = performance.now()
    if (now - this.#beganAt > MINUTE_MS) {
      this.#beganAt = now
      this.#count = 0
    }
    return ++this.#count
  }
}

export class Http2Client implements Http2SessionHandler {
  readonly connectionId: number
  readonly entrance: Entrance
  peer: ForwardingPeer
  readonly stage: Http2Stage
  readonly #session: Http2Session
  readonly #runtimes: RuntimeSource
  /** That of the latest request. */
  #runtime: ProxyRuntime
  readonly #onClosed: (client: Http2Client) => void
  readonly #streams = new Set<Http2StreamClient>()
  readonly #idle: Timer
  readonly #resets = new MinuteCount()
  readonly #controlFrames = new MinuteCount()
  #requestNumber = 0

  constructor(
    session: Http2Session,
    address: string | undefined,
    runtimes: RuntimeSource,
    entrance: Entrance,
    stage: Http2Stage,
    onClosed: (client: Http2Client) => void,
  ) {
    const runtime = runtimes.current
    this.connectionId = ++runtime.life.lastConnectionId
    this.entrance = entrance
    this.peer = peerOf(address, entrance, runtime)
    this.stage = stage
    this.#session = session
    this.#runtimes = runtimes
    this.#runtime = runtime
    this.#onClosed = onClosed
    // PINGs do not keep a connection alive on which nothing is asked for.
    this.#idle = new Timer(runtime.life.wheel, () => this.#session.destroy(H2_NO_ERROR))
    this.#idle.arm(runtime.timeouts.clientIdleMs)
  }

  /** Takes no further request, and closes the connection when the last one is over. */
  drain(): void {
    this.#session.close()
  }

  /** Closes the connection now. */
  abort(error: ProxyError): void {
    for (const stream of this.#streams) stream.abort(error)
    this.#session.destroy(H2_NO_ERROR)
  }

  onStream(stream: Http2Stream, block: FieldList, endsStream: boolean): Http2StreamHandler {
    const { current } = this.#runtimes
    if (current !== this.#runtime) {
      this.#runtime = current
      this.peer = { ...this.peer, trusted: isTrustedClient(this.peer.address, this.entrance, current) }
    }
    this.#idle.disarm()
    const client = new Http2StreamClient(this, current, stream, ++this.#requestNumber)
    this.#streams.add(client)
    client.begin(block, endsStream)
    return client
  }

  onControl(): void {
    const { maxHttp2ControlFramesPerMinute } = this.#runtime.limits
    if (this.#controlFrames.next() > maxHttp2ControlFramesPerMinute)
      this.#calm('maxHttp2ControlFramesPerMinute was met')
  }

  /** @internal A stream is over. `wasGivenUp`: before its response ended, and not by us. */
  onStreamClosed(client: Http2StreamClient, wasGivenUp: boolean): void {
    this.#streams.delete(client)
    if (wasGivenUp && this.#resets.next() > this.#runtime.limits.maxHttp2ResetsPerMinute) {
      this.#calm('maxHttp2ResetsPerMinute was met')
    }
    if (this.#streams.size > 0) return
    if (this.#runtime.life.draining) this.#session.close()
    this.#idle.arm(this.#runtime.timeouts.clientIdleMs)
  }

  /** Closes the connection of a client that asks for more work than its requests are worth. */
  #calm(detail: string): void {
    for (const stream of this.#streams) stream.abort(new ProxyError('E_CLIENT_ABORTED', { detail }))
    this.#session.destroy(H2_ENHANCE_YOUR_CALM)
  }

  onClose(): void {
    this.#idle.release()
    this.#onClosed(this)
  }
}

class Http2StreamClient implements ExchangeClient, Http2StreamHandler {
  readonly #client: Http2Client
  readonly #runtime: ProxyRuntime
  readonly #stream: Http2Stream
  readonly #requestNumber: number
  readonly #startedAt = performance.now()
  readonly #clock: ClientClock<'linger'>
  #output: Http2Output | undefined = undefined
  upstreamFields: undefined = undefined
  #exchange: Exchange | undefined = undefined
  #bodyBytes = 0
  /** Octets of the body that came when the upstream could not take them. */
  readonly #pending = new OctetQueue()
  /** The trailers of a request that ended while octets of it were pending, or the exchange took nothing. */
  #pendingEnd: FieldList | undefined = undefined
  #requestEnded = false
  /** Octets that came after the answer. */
  #lingerBytes = 0
  #closed = false

  constructor(client: Http2Client, runtime: ProxyRuntime, stream: Http2Stream, requestNumber: number) {
    this.#client = client
    this.#runtime = runtime
    this.#stream = stream
    this.#requestNumber = requestNumber
    this.#clock = new ClientClock(runtime.life.wheel, () => this.#onTimeout())
  }

  begin(block: FieldList, endsStream: boolean): void {
    this.#requestEnded = endsStream
    const read = readHttp2Request(block, endsStream, this.#runtime.requestLimits)
    if (read.kind === 'fault') {
      this.#refuse(read.fault, fieldBytes(block), read.method === 'HEAD')
      return
    }
    const { head } = read
    this.#output = new Http2Output(this.#stream, this.#client.stage, wantsTrailers(head.fields))
    const exchange = new Exchange(this, this.#runtime, head, this.#requestNumber, this.#startedAt)
    exchange.clientInBytes = fieldBytes(block)
    this.#exchange = exchange
    exchange.begin()
    if (endsStream) this.#exchange?.onRequestEnd([])
    else if (!exchange.takesBody) this.#stream.pause()
    this.#watch()
  }

  // The request body

  onData(chunk: Uint8Array): void {
    const exchange = this.#exchange
    if (exchange === undefined) {
      this.#lingerBytes += chunk.length
      if (this.#lingerBytes > MAX_LINGER_BYTES) this.#stream.pause()
      return
    }
    exchange.clientInBytes += chunk.length
    this.#bodyBytes += chunk.length
    const fault = this.#bodyFault(exchange.request)
    if (fault !== undefined) {
      this.#failRequest(fault)
      return
    }
    if (!this.#pending.empty || !exchange.takesBody) {
      this.#pending.push(chunk)
      this.#stream.pause()
    } else if (!exchange.onRequestData(chunk)) {
      this.#stream.pause()
    }
    this.#watch()
  }

  /** SECURITY: an upstream that is told a length reads no further, and would take the rest for another request. */
  #bodyFault({ body }: RequestHead): WireFault | undefined {
    if (body.kind === 'length' && this.#bodyBytes > body.bytes) return requestFault('content-length-sum', 0)
    if (this.#bodyBytes > this.#runtime.requestLimits.maxBodyBytes) return requestFault('body-bytes', 0)
    return undefined
  }

  onEnd(trailers: FieldList): void {
    const exchange = this.#exchange
    if (this.#requestEnded) return
    this.#requestEnded = true
    if (exchange === undefined) return
    const { body } = exchange.request
    if (body.kind === 'length' && this.#bodyBytes < body.bytes) {
      this.#failRequest(requestFault('content-length-sum', 0))
      return
    }
    const read = readHttp2Trailers(trailers, this.#runtime.requestLimits)
    if ('code' in read) {
      this.#failRequest(read)
      return
    }
    // While the exchange takes nothing it would have nobody to tell of the end.
    if (this.#pending.empty && exchange.takesBody) exchange.onRequestEnd(read)
    else this.#pendingEnd = read
    this.#watch()
  }

  #failRequest({ status, reason }: WireFault): void {
    this.#pending.clear()
    this.#exchange?.failRequest(new ProxyError('E_REQUEST_INVALID', { status, detail: reason }))
  }

  resumeRequest(): void {
    while (this.#exchange?.takesBody === true) {
      const chunk = this.#pending.take()
      if (chunk === undefined) break
      this.#exchange.onRequestData(chunk)
    }
    const exchange = this.#exchange
    if (exchange === undefined) return
    if (this.#pending.empty && exchange.takesBody) {
      const end = this.#pendingEnd
      this.#pendingEnd = undefined
      if (end === undefined) this.#stream.resume()
      else exchange.onRequestEnd(end)
    }
    this.#watch()
  }

  // The client's side of the exchange

  get connectionId(): number {
    return this.#client.connectionId
  }

  get peer(): ForwardingPeer {
    return this.#client.peer
  }

  get entrance(): Entrance {
    return this.#client.entrance
  }

  get output(): Http2Output {
    if (this.#output === undefined) throw new Error('an exchange begins with a head')
    return this.#output
  }

  /** Requests of one connection do not wait for each other. */
  get lastRequest(): boolean {
    return false
  }

  get unsentBytes(): number {
    return this.#stream.unsentBytes
  }

  awaitDrain(): boolean {
    return this.#stream.awaitDrain()
  }

  answer(answer: Omit<AnswerInit, 'date'>): number {
    const { fields, body } = answerParts({ ...answer, date: this.#runtime.life.date.now() })
    this.#stream.respond(answer.status, fields, body.length === 0 ? 'nothing' : 'body')
    if (body.length > 0) this.#stream.end(body, [])
    return fieldBytes(fields) + body.length
  }

  onUpstreamWait(): void {
    this.#watch()
  }

  waitForWrite(stalled: boolean): void {
    if (stalled) {
      // Not once more while it waits already: that would give a client that takes nothing more time with every write.
      if (this.#clock.waiting !== 'write') this.#clock.waitForWrite(this.#stream.takenBytes, this.#runtime)
    } else {
      this.#clock.waiting = 'nothing'
      this.#watch()
    }
  }

  /** HTTP/2 has no Upgrade (RFC 9113 §8.6), so that no head of it has one. */
  giveAway(): GivenAway {
    throw new Error('a stream of HTTP/2 cannot be given away')
  }

  breakOff(): void {
    this.#stream.reset()
  }

  onExchangeEnd(): void {
    this.#exchange = undefined
    this.#clock.wait('nothing', 0)
    this.#pending.clear()
    if (!this.#closed && !this.#requestEnded) this.#linger()
  }

  /**
   * The client is answered and still sends: what comes is thrown away, and after a while it is told to stop. Not at once
   * (RFC 9113 §8.1 allows that): clients may drop what they have not read of a response when its stream is reset.
   */
  #linger(): void {
    this.#clock.wait('linger', this.#runtime.timeouts.clientLingerMs)
    this.#stream.resume()
  }

  // Timeouts

  /** Times the client for what it owes next. */
  #watch(): void {
    const exchange = this.#exchange
    if (exchange === undefined || this.#closed) return
    this.#clock.watch(exchange, this.#runtime, this.#requestEnded, this.#bodyBytes)
  }

  #onTimeout(): void {
    const exchange = this.#exchange
    switch (this.#clock.waiting) {
      case 'nothing':
        return
      case 'queue':
        exchange?.failRequest(new ProxyError('E_UPSTREAM_BUSY', { detail: 'upstreamQueueMs passed' }))
        return
      case 'body':
        exchange?.failRequest(bodyTimeout(this.#clock.isPaced))
        return
      case 'linger':
        this.#stream.resetAfterEnd()
        return
      case 'write':
        if (this.#stream.unsentBytes === 0) {
          this.#clock.waiting = 'nothing'
          this.#watch()
        } else if (this.#stream.takenBytes > this.#clock.takenBytes) {
          this.#clock.waitForWrite(this.#stream.takenBytes, this.#runtime)
        } else {
          exchange?.abort(new ProxyError('E_CLIENT_STALLED', { detail: 'clientWriteMs passed' }))
          this.#stream.reset()
        }
    }
  }

  // Ends

  onDrain(): void {
    this.#exchange?.onClientDrain()
  }

  onClose(completed: boolean): void {
    this.#closed = true
    if (completed) this.#exchange?.onClientDrain()
    const wasGivenUp = !completed && !this.#stream.resetByUs && this.#clock.waiting !== 'linger'
    this.#exchange?.abort(new ProxyError('E_CLIENT_ABORTED', { detail: 'the client reset the stream or left' }))
    this.#exchange = undefined
    this.#clock.release()
    this.#client.onStreamClosed(this, wasGivenUp)
  }

  /** The connection is about to be closed. */
  abort(error: ProxyError): void {
    this.#exchange?.abort(error)
  }

  #refuse(fault: WireFault, clientInBytes: number, head: boolean): void {
    const error = new ProxyError('E_REQUEST_INVALID', { status: fault.status, detail: fault.reason })
    const exchangeId = ++this.#runtime.life.lastExchangeId
    const fields = fault.status === 405 ? ['Allow', SERVED_METHODS] : []
    const clientOutBytes = this.answer({
      status: error.status,
      text: error.message,
      exchangeId,
      close: false,
      head,
      fields,
    })
    reportRefusal(this.#runtime, error, {
      exchangeId,
      connectionId: this.connectionId,
      requestNumber: this.#requestNumber,
      startedAt: this.#startedAt,
      clientInBytes,
      clientOutBytes,
    })
    if (!this.#requestEnded) this.#linger()
  }
}
