/**
 * The client's side of an exchange. An exchange does not know which version of HTTP its client speaks: it writes a
 * response to a `ResponseSink`, and asks the `ExchangeClient` for everything else. HTTP/1.1 is `ClientConnection` with
 * its `ResponseOutput`, HTTP/2 is one stream of an `Http2Client`.
 */

import type { FieldList } from '@prexy/http/fields'
import type { ForwardingPeer } from '@prexy/http/forwarded'
import type { Connection } from '@prexy/net/connection'
import type { AnswerInit } from './answer.ts'
import type { Entrance } from './entrance.ts'
import type { UpstreamFields } from './upstream-fields.ts'

/**
 * How the client finds the end of the body. `none`: there is no body, whatever the head says. HTTP/2 has an end of its
 * own and takes `chunked` and `close` alike.
 */
export type OutputFraming =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'close' }

/** What a response is written to: a head, a body, an end. Whoever writes flushes before the event loop goes on. */
export interface ResponseSink {
  /** Octets given to the connection for this response, head and framing included. */
  readonly sentBytes: number
  /** Of these, octets of heads. */
  readonly headBytes: number
  /** The head was announced and nothing of it has been sent. */
  readonly headPending: boolean
  /** What the body ends by if it is cut off now: an end that cannot be told from a good one needs a reset. */
  readonly endsByClose: boolean
  /** Before the first octet of an exchange. */
  reset(): void
  /** Announces a response. Nothing is sent before body octets, `flush` or `finish`. The fields are the sink's. */
  begin(status: number, fields: string[], framing: OutputFraming): void
  /**
   * Lets `finish` send the body with its true length, if all of it is written before the next `flush` and fits into
   * what the sink keeps. Call after `begin`.
   */
  preferLength(): void
  /**
   * Keeps the body back, up to `limitBytes`, so that a client that knows no chunks can be given its length; a longer one
   * ends by close. Call after `begin` with that framing and without a Connection field, which says what comes of it.
   * `keepsAlive`: whether the connection outlives a body with a length.
   */
  holdForLength(limitBytes: number, keepsAlive: boolean): void
  /** One more line of the head, which is still pending. */
  addField(name: string, value: string): void
  /** Sends a 1xx response ahead of the head. */
  interim(status: number, fields: FieldList): void
  /**
   * Body octets that the sink may keep. Whether the writer should pause tells the next `flush`, and whether the chunk is
   * in use after it `ExchangeClient.unsentBytes`.
   */
  writeKept(chunk: Uint8Array): void
  /** Body octets that are valid only during the call. Returns false when the writer should pause. */
  writeBorrowed(piece: Uint8Array): boolean
  /** Sends what is staged, and the head if it has not gone out. Returns false when the writer should pause. */
  flush(): boolean
  /** Ends the response; nothing is left unflushed. */
  finish(trailers: FieldList): void
  /** Forgets what is staged and announced: the response is about to be broken off, or another answer begins. */
  discard(): void
}

/** Whoever asked for an exchange. */
export interface ExchangeClient {
  readonly connectionId: number
  readonly output: ResponseSink
  readonly peer: ForwardingPeer
  readonly entrance: Entrance
  /** No request after the current one is served. */
  readonly lastRequest: boolean
  /** What an exchange kept for the next one of the same client. */
  upstreamFields: UpstreamFields | undefined
  /** Octets of the response that have not left yet. While it is 0, no chunk given to `output` is in use. */
  readonly unsentBytes: number
  /** Whether `onClientDrain` will tell when everything written has left. False when it has, or nearly so. */
  awaitDrain(): boolean
  /** Sends an answer of our own; nothing of a response has been sent. Returns its size in octets. */
  answer(answer: Omit<AnswerInit, 'date'>): number
  /** The exchange takes octets of the request body again. */
  resumeRequest(): void
  /** The exchange waits for a connection to its upstream, which must not last. */
  onUpstreamWait(): void
  /** The client takes nothing at the moment, or does so again. */
  waitForWrite(stalled: boolean): void
  /** Gives the connection away for another protocol. Only a request whose head has an `upgrade` may lead to that. */
  giveAway(): GivenAway
  /** The response cannot be completed: the client must see that it is broken. */
  breakOff(): void
  /** Nothing of the exchange is left. `reusable`: whether the response let the connection live. */
  onExchangeEnd(reusable: boolean): void
}

/** A connection that is no longer HTTP. */
export interface GivenAway {
  readonly connection: Connection
  /** What was read of it and not parsed. */
  readonly early: readonly Uint8Array[]
}
