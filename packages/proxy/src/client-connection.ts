import type { ForwardingPeer } from '@prexy/http/forwarded'
import { RequestParser } from '@prexy/http/request-parser'
import type { WireFault } from '@prexy/http/wire-fault'
import type { Connection, ConnectionHandler } from '@prexy/net/connection'
import { Timer } from '@prexy/net/timer-wheel'
import { type AnswerInit, encodeAnswer } from './answer.ts'
import { bodyTimeout } from './body-pace.ts'
import { ClientClock } from './client-clock.ts'
import { type Entrance, isTrustedClient, peerOf } from './entrance.ts'
import { Exchange, SERVED_METHODS } from './exchange.ts'
import type { ExchangeClient, GivenAway } from './exchange-client.ts'
import { OctetQueue } from './octet-queue.ts'
import { ProxyError } from './proxy-error.ts'
import { reportRefusal } from './refused-request.ts'
import { ResponseOutput } from './response-output.ts'
import type { ProxyRuntime, RuntimeSource } from './runtime.ts'
import type { UpstreamFields } from './upstream-fields.ts'

/** Octets read while a closing client is listened to; then what it still sends is left alone. */
const MAX_LINGER_BYTES = 1_048_576

/**
 * Shorter pieces of a request body go on together with what follows in the same read: a client that sends each octet in
 * a chunk of its own would make each a write of ours. Unit: bytes.
 */
const SMALL_DATA_BYTES = 1_024

/**
 * How long reading may pause because of later requests while one exchange goes on, whose client may have left: a
 * connection that is not read does not tell. Then they are dropped. Unit: milliseconds.
 */
export const OVERRUN_MS = 1_000

/**
 * One client's connection: reads requests one after the other and hands each to an exchange. Requests that come while
 * one is served wait as octets, up to `maxPipelinedBytes`; then reading pauses, for `OVERRUN_MS` at most per exchange.
 */
export class ClientConnection implements ConnectionHandler, ExchangeClient {
  readonly connection: Connection
  readonly connectionId: number
  readonly output: ResponseOutput
  readonly entrance: Entrance
  peer: ForwardingPeer
  upstreamFields: UpstreamFields | undefined = undefined
  readonly #runtimes: RuntimeSource
  /** That of the exchange under way, or of the last one. */
  #runtime: ProxyRuntime
  readonly #parser: RequestParser
  readonly #clock: ClientClock<'request' | 'headers' | 'linger'>
  readonly #onClosed: (client: ClientConnection) => void
  #exchange: Exchange | undefined = undefined
  #requestNumber = 0
  #messageBytes = 0
  /** When the first octet of the current request was read; monotonic, milliseconds. */
  #messageStartedAt = 0
  /** Octets read but not parsed: of a request body that its upstream does not take yet, or of later requests. */
  readonly #pending = new OctetQueue()
  #parsing = false
  /** Made when reading pauses because of later requests; then `#overrunBy` is the exchange during which it did. */
  #overrunTimer: Timer | undefined = undefined
  #overrunBy: Exchange | undefined = undefined
  #dropsLater = false
  /** No further request is read; what comes is dropped. */
  #closing = false
  #lingerBytes = 0
  #closed = false

  constructor(
    connection: Connection,
    runtimes: RuntimeSource,
    entrance: Entrance,
    onClosed: (client: ClientConnection) => void,
  ) {
    const runtime = runtimes.current
    this.connection = connection
    this.connectionId = ++runtime.life.lastConnectionId
    this.entrance = entrance
    this.peer = peerOf(connection.remoteAddress, entrance, runtime)
    this.output = new ResponseOutput(connection, runtime.life.stage)
    this.#runtimes = runtimes
    this.#runtime = runtime
    this.#onClosed = onClosed
    this.#parser = new RequestParser(runtime.requestLimits, runtime.requestMemo)
    this.#clock = new ClientClock(runtime.life.wheel, () => this.#onTimeout())
    this.#clock.wait('request', runtime.timeouts.clientIdleMs)
  }

  /** Closes the connection as soon as it serves nothing. */
  drain(): void {
    if (this.#exchange === undefined && !this.#closing) this.connection.destroy()
  }

  /** Closes the connection now. */
  abort(error: ProxyError): void {
    this.#closing = true
    this.#exchange?.abort(error)
    this.connection.destroy()
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#closing || this.#dropsLater) {
      this.#lingerBytes += chunk.length
      if (this.#lingerBytes <= MAX_LINGER_BYTES) return false
      // A client that sends all before it reads still needs its answer, which a close would destroy on its way: it has
      // clientLingerMs, and what it sends meanwhile stays with the kernel.
      if (this.#clock.waiting === 'linger') this.connection.pause()
      else this.abort(new ProxyError('E_CLIENT_ABORTED', { detail: 'the client sent on while one request was served' }))
      return false
    }
    if (!this.#pending.empty || this.#parsing || !this.#takesOctets()) {
      this.#pending.push(chunk)
      this.#limitPending()
    } else {
      this.#parse(chunk)
    }
    return true
  }

  /** Whether the parser may go on: not into a later request, and not into a body that cannot go on. */
  #takesOctets(): boolean {
    const exchange = this.#exchange
    return exchange === undefined || (!exchange.requestEnded && exchange.takesBody)
  }

  /** Keeps what is left of the chunk being parsed, in front of what came later. */
  #keepRest(rest: Uint8Array): void {
    this.#pending.putBack(rest)
    this.#limitPending()
  }

  #limitPending(): void {
    if (this.#pending.bytes <= this.#maxPending) return
    this.connection.pause()
    const exchange = this.#exchange
    if (exchange?.requestEnded === true && this.#overrunBy !== exchange) this.#watchOverrun(exchange)
  }

  /** A body that cannot go on pauses at once; later requests only when they are many, so that a hang-up is seen. */
  get #maxPending(): number {
    const exchange = this.#exchange
    return exchange === undefined || exchange.requestEnded ? this.#runtime.limits.maxPipelinedBytes : 0
  }

  #watchOverrun(exchange: Exchange): void {
    this.#overrunBy = exchange
    this.#overrunTimer ??= new Timer(this.#runtime.life.wheel, () => this.#onOverrun())
    this.#overrunTimer.arm(OVERRUN_MS)
  }

  #onOverrun(): void {
    const exchange = this.#exchange
    const by = this.#overrunBy
    this.#overrunBy = undefined
    if (this.#closing || this.#closed || exchange === undefined || this.#pending.bytes <= this.#maxPending) return
    // While something waits for the client, the connection tells of a hang-up without being read.
    if (exchange !== by || this.connection.unsentBytes > 0) {
      this.#watchOverrun(exchange)
      return
    }
    this.#dropsLater = true
    this.#pending.clear()
    this.connection.resume()
  }

  get lastRequest(): boolean {
    return this.#dropsLater
  }

  #parse(chunk: Uint8Array): void {
    const parser = this.#parser
    this.#parsing = true
    if (parser.idle) this.#messageStartedAt = performance.now()
    let at = 0
    let small: Uint8Array[] | undefined
    for (;;) {
      const event = parser.read(chunk, at)
      const used = parser.consumed - at
      at = parser.consumed
      // After a fault nothing is parsed any more: all that was read is part of it.
      this.#messageBytes += event === 'fault' ? chunk.length - at : used
      if (this.#exchange !== undefined) this.#exchange.clientInBytes = this.#messageBytes
      if (event === 'data') {
        if (parser.data.length < SMALL_DATA_BYTES && at < chunk.length) {
          small ??= []
          small.push(parser.data)
          continue
        }
        const data = small === undefined ? parser.data : Buffer.concat([...small, parser.data])
        small = undefined
        if (this.#exchange === undefined || this.#exchange.onRequestData(data)) continue
        this.#keepRest(chunk.subarray(at))
        break
      }
      if (small !== undefined && event !== 'fault') {
        this.#exchange?.onRequestData(Buffer.concat(small))
        small = undefined
      }
      if (event === 'more') break
      if (event === 'head') {
        this.#begin(parser.head)
        if (this.#closing) break
        if (this.#exchange !== undefined && !this.#exchange.takesBody && parser.head.body.kind !== 'none') {
          this.#keepRest(chunk.subarray(at))
          break
        }
        continue
      }
      if (event === 'fault') {
        this.#refuse(parser.fault)
        break
      }
      const exchange = this.#exchange
      this.#messageBytes = 0
      exchange?.onRequestEnd(parser.trailers)
      if (this.#closing) break
      if (this.#exchange !== undefined) {
        if (at < chunk.length) this.#keepRest(chunk.subarray(at))
        break
      }
      if (at === chunk.length) break
      this.#messageStartedAt = performance.now()
    }
    this.#parsing = false
    this.#watch()
  }

  #begin(head: RequestParser['head']): void {
    this.#requestNumber++
    const { current } = this.#runtimes
    if (current !== this.#runtime) {
      this.#runtime = current
      this.peer = { ...this.peer, trusted: isTrustedClient(this.peer.address, this.entrance, current) }
    }
    const exchange = new Exchange(this, this.#runtime, head, this.#requestNumber, this.#messageStartedAt)
    exchange.clientInBytes = this.#messageBytes
    this.#exchange = exchange
    this.#clock.begin()
    exchange.begin()
  }

  /** Times the client for what it owes next. */
  #watch(): void {
    if (this.#closing || this.#closed) return
    const { timeouts } = this.#runtime
    const exchange = this.#exchange
    if (exchange === undefined) {
      if (this.#parser.idle) this.#clock.wait('request', timeouts.clientIdleMs)
      else if (this.#clock.waiting !== 'headers') this.#clock.wait('headers', timeouts.clientHeadersMs)
    } else {
      this.#clock.watch(exchange, this.#runtime, exchange.requestEnded, this.#messageBytes)
    }
  }

  resumeRequest(): void {
    this.#goOn()
  }

  /** Parses what waits, as far as it may be parsed now, and reads on. */
  #goOn(): void {
    if (this.#parsing) return
    while (!this.#closing && !this.#closed && this.#takesOctets()) {
      const chunk = this.#pending.take()
      if (chunk === undefined) break
      this.#parse(chunk)
    }
    if (this.#pending.bytes <= this.#maxPending && !this.#closed) this.connection.resume()
    this.#watch()
  }

  onUpstreamWait(): void {
    this.#watch()
  }

  waitForWrite(stalled: boolean): void {
    if (stalled) {
      // Not once more while it waits already: that would give a client that takes nothing more time with every write.
      if (this.#clock.waiting !== 'write') this.#clock.waitForWrite(this.connection.takenBytes, this.#runtime)
    } else {
      this.#clock.waiting = 'nothing'
      this.#watch()
    }
  }

  get unsentBytes(): number {
    return this.connection.unsentBytes
  }

  awaitDrain(): boolean {
    return this.connection.awaitDrain()
  }

  answer(answer: Omit<AnswerInit, 'date'>): number {
    const octets = encodeAnswer({ ...answer, date: this.#runtime.life.date.now() })
    this.connection.write(octets)
    return octets.length
  }

  giveAway(): GivenAway {
    const early: Uint8Array[] = []
    for (let octets = this.#pending.take(); octets !== undefined; octets = this.#pending.take()) early.push(octets)
    this.#closing = true
    this.#clock.wait('nothing', 0)
    this.#overrunTimer?.disarm()
    this.connection.resume()
    return { connection: this.connection, early }
  }

  breakOff(): void {
    // An end that the client cannot tell from a good one must be a reset.
    if (this.output.endsByClose) this.connection.reset()
    else this.connection.destroy()
  }

  onExchangeEnd(reusable: boolean): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    this.#clock.waiting = 'nothing'
    const requestOver = exchange === undefined || exchange.requestEnded || exchange.request.body.kind === 'none'
    if (this.#closing) return
    if (!this.connection.writable) {
      this.connection.destroy()
      return
    }
    if (!reusable || !requestOver || this.#dropsLater || this.#runtime.life.draining) {
      this.#close()
      return
    }
    if (this.#parsing) return
    // Later requests may be waiting; the loop of #parse goes on by itself.
    this.#goOn()
  }

  /** Ends our side and listens for a while: a close with unread octets would destroy the answer on its way. */
  #close(): void {
    this.#closing = true
    this.#pending.clear()
    this.connection.end()
    this.connection.resume()
    this.#clock.wait('linger', this.#runtime.timeouts.clientLingerMs)
  }

  /** A request that does not parse, or a body that does not. */
  #refuse(fault: WireFault): void {
    const error = new ProxyError('E_REQUEST_INVALID', { status: fault.status, detail: fault.reason })
    if (this.#exchange !== undefined) {
      this.#exchange.failRequest(error)
      return
    }
    this.#refuseHead(error, fault.status === 405 ? ['Allow', SERVED_METHODS] : [])
  }

  #refuseHead(error: ProxyError, fields: readonly string[]): void {
    const runtime = this.#runtime
    const exchangeId = ++runtime.life.lastExchangeId
    const { status, message: text } = error
    const clientOutBytes = this.answer({ status, text, exchangeId, close: true, head: false, fields })
    reportRefusal(runtime, error, {
      exchangeId,
      connectionId: this.connectionId,
      requestNumber: ++this.#requestNumber,
      startedAt: this.#messageStartedAt,
      clientInBytes: this.#messageBytes,
      clientOutBytes,
    })
    this.#close()
  }

  /** The connection turned out to speak another version of HTTP, and is not ours any more. */
  leaveToHttp2(): void {
    this.#closing = true
    this.#closed = true
    this.#clock.release()
  }

  onEnd(): void {
    // A client that closed and one that only ended its side look alike until something is written. As with nginx and
    // Node, both are taken for gone, so that the upstream stops working for nobody.
    this.#leave()
    this.connection.destroy()
  }

  onDrain(): void {
    this.#exchange?.onClientDrain()
  }

  onClose(): void {
    this.#closed = true
    this.#leave()
    this.#clock.release()
    this.#overrunTimer?.release()
    this.#onClosed(this)
  }

  #leave(): void {
    this.#closing = true
    this.#exchange?.abort(new ProxyError('E_CLIENT_ABORTED', { detail: 'the client closed the connection' }))
  }

  #onTimeout(): void {
    const exchange = this.#exchange
    switch (this.#clock.waiting) {
      case 'nothing':
        return
      case 'request':
      case 'linger':
        this.connection.destroy()
        return
      case 'headers':
        this.#refuseHead(new ProxyError('E_CLIENT_TIMEOUT', { detail: 'clientHeadersMs passed' }), [])
        return
      case 'queue':
        exchange?.failRequest(new ProxyError('E_UPSTREAM_BUSY', { detail: 'upstreamQueueMs passed' }))
        return
      case 'body':
        exchange?.failRequest(bodyTimeout(this.#clock.isPaced))
        return
      case 'write':
        if (this.connection.unsentBytes === 0) {
          this.#clock.waiting = 'nothing'
          this.#watch()
          return
        }
        if (this.connection.takenBytes > this.#clock.takenBytes) {
          this.#clock.waitForWrite(this.connection.takenBytes, this.#runtime)
          return
        }
        this.#closing = true
        exchange?.abort(new ProxyError('E_CLIENT_STALLED', { detail: 'clientWriteMs passed' }))
        this.connection.reset()
        return
    }
  }
}
