/**
 * The upstream's side of an exchange: a connection of HTTP/1.1, or a stream of HTTP/2. An exchange does not know which: it
 * gives a head and a body, and is told of a response.
 */

import type { FieldList } from '@prexy/http/fields'
import type { ResponseHead } from '@prexy/http/message'
import { encodeRequestHead } from '@prexy/http/serialize'
import type { ProxyError } from './proxy-error.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

/** What a channel tells the exchange that it works for. */
export interface UpstreamUser {
  onUpstreamConnect(): void
  onInterim(head: ResponseHead): void
  onResponseHead(head: ResponseHead): void
  /**
   * The upstream changed the protocol, as it was asked to. From here on the connection is the user's, who puts a handler
   * of its own on it. `rest` are octets behind the head. Returns true when they are in use.
   */
  onUpgrade(upstream: UpstreamConnection, head: ResponseHead, rest: Uint8Array): boolean
  /** Body octets, a view of the chunk read. Returns false when reading should pause. */
  onResponseData(data: Uint8Array): boolean
  /** The response is complete; the channel is nobody's any more. */
  onResponseEnd(trailers: FieldList): void
  /** All events of one chunk were delivered. Returns true when octets of it are still in use. */
  onUpstreamChunkEnd(): boolean
  /** The upstream has taken what a `write` to it returned false for. */
  onUpstreamDrain(): void
  /** The channel is lost or its response is refused; it is no longer this user's. */
  onUpstreamError(error: ProxyError): void
}

/** What is told of a server by the requests that go to it. */
export interface ServerWatch {
  readonly name: string
  /** The head of a response came. */
  onUpstreamAnswered(): void
  /** A request failed on it, other than by a kept connection that its server had closed meanwhile. */
  onUpstreamFailed(error: ProxyError): void
}

/** A request as it goes up. */
export interface UpstreamHead {
  readonly method: string
  /** `/path?query`, octet for octet, or `*`. */
  readonly target: string
  /** Those of HTTP/1.1, Host and framing included. */
  readonly fields: FieldList
  /** The head as HTTP/1.1 sends it, checked octet for octet. */
  readonly octets: Uint8Array
  /** How the end of the body is told where its protocol has no other way. */
  readonly body: 'none' | 'length' | 'chunked'
}

/** Throws where the head could not be sent by HTTP/1.1. */
export function upstreamHead(
  method: string,
  target: string,
  fields: FieldList,
  body: UpstreamHead['body'],
): UpstreamHead {
  return { method, target, fields, octets: encodeRequestHead(method, target, fields), body }
}

export interface UpstreamChannel {
  readonly home: ServerWatch
  /** While it is not up, nothing has left. */
  readonly connected: boolean
  /** `address:port` that the server's name stood for; undefined where it is no name, or the connection is not up. */
  readonly address: string | undefined
  /** Responses that its connection has brought before. */
  readonly served: number
  /** An octet of the current response has come. */
  readonly responseBegun: boolean
  /** The octets of the body that were sent, while all of them can be sent anew; undefined where they cannot. */
  readonly sentBody: readonly Uint8Array[] | undefined
  /** Begins a request of this user. */
  assign(user: UpstreamUser, method: string, upgradeAsked: boolean): void
  /** May be called before the connection is up; the head leaves when it is. */
  sendHead(head: UpstreamHead): void
  /** Octets of the body, which are the channel's from now on. Returns false when no more should come. */
  sendBody(data: Uint8Array): boolean
  /** The request is whole. May be called again. */
  endBody(trailers: FieldList): void
  /** Reads no more of the current response until `resume`. */
  pause(): void
  /** Goes on reading after `pause`, or after `onResponseData` returned false. */
  resume(): void
  /** Gives the request up without waiting for its response. */
  abort(): void
}
