/**
 * HTTP/2 on the client's side (RFC 9113) over node:http2: one connection to a server, and the streams on it, without
 * stream classes. Ownership of bytes as in `connection.ts`.
 *
 * SECURITY: node:http2 ends a stream alike whether the server ended it (END_STREAM), reset it with NO_ERROR, or the
 * connection was lost with streams open: `end` comes, and no error. Only whether the stream was closed when its readable
 * side was ended tells them apart, and under Bun 1.4 not even that. A broken body must not look whole.
 */

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectSession,
  constants,
  sensitiveHeaders,
} from 'node:http2'
import type { Connection } from './connection.ts'
import { WRITE_HIGH_WATER_BYTES } from './connection.ts'
import { type Fields, headersOf, isFields, NO_FIELDS } from './http2-headers.ts'

/** Why this runtime cannot be a client of HTTP/2; undefined where it can. */
export function http2UpstreamFault(): string | undefined {
  if (!('bun' in process.versions)) return undefined
  return 'Bun does not tell a response that its server broke off (RST_STREAM with NO_ERROR) from a whole one'
}

/** Octets that a server may send on one stream before we took any: what a slow client costs. Unit: bytes. */
const STREAM_WINDOW_BYTES = 262_144
/** Of all streams together: node:http2 gives it back as they come, so that slow ones do not hold up others. Unit: bytes. */
const SESSION_WINDOW_BYTES = 1_048_576

/** Beyond it node:http2 resets streams. */
const MAX_SESSION_MIB = 256

/** What others must not guess by the size of compressed heads that they share a connection with (RFC 7541 §7.1.3). */
const SENSITIVE = ['authorization', 'cookie', 'proxy-authorization']

export interface Http2UpstreamLimits {
  /** Header octets of a response by RFC 9113 §10.5.1, and its lines; beyond them its stream is reset. */
  readonly maxHeaderListBytes: number
  readonly maxHeaderPairs: number
}

export interface Http2UpstreamHandler {
  /** The server said something about the connection: how many streams it takes may have changed. */
  onSettings(): void
  /** It takes no more streams (GOAWAY); those that it does not process are closed with `refused`. */
  onGoaway(): void
}

export interface Http2UpstreamStreamHandler {
  /** A 1xx response. `block` has `:status` first. */
  onInterim(block: Fields): void
  /** `endsStream`: there is no body. */
  onHead(block: Fields, endsStream: boolean): void
  /** Octets of the body, the receiver's. */
  onData(chunk: Uint8Array): void
  /** The server ended the response, which is whole as far as HTTP/2 can tell. */
  onEnd(trailers: Fields): void
  /** What `write` returned false for has left. */
  onDrain(): void
  /** The last call, exactly once. */
  onClose(end: Http2StreamEnd): void
}

export interface Http2StreamEnd {
  /** The server says that it did nothing with the request (REFUSED_STREAM, or beyond a GOAWAY): it may be sent again. */
  readonly refused: boolean
  /** The connection is gone, and the stream with it. */
  readonly lost: boolean
  /** For logs: what ended the stream. */
  readonly reason: string
  readonly cause: Error | undefined
}

export interface Http2RequestHead {
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly authority: string
  readonly path: string
  /** Those of the connection are left out. */
  readonly fields: Fields
  /** Whether `TE: trailers` is said. */
  readonly takesTrailers: boolean
  /** What follows. */
  readonly follows: 'nothing' | 'body' | 'trailers'
}

export class Http2Upstream {
  readonly #session: ClientHttp2Session
  readonly #onError: (error: Error) => void

  /** The connection is up, and nobody has read or written it. */
  constructor(
    connection: Connection,
    limits: Http2UpstreamLimits,
    handler: Http2UpstreamHandler,
    onError: (error: Error) => void,
  ) {
    const { socket } = connection
    // HTTP/2 has no use for half a connection.
    socket.allowHalfOpen = false
    const session = connectSession('http://upstream', {
      createConnection: () => socket,
      maxHeaderListPairs: limits.maxHeaderPairs,
      // What waits to be sent is bounded for each stream by who writes it.
      maxSessionMemory: MAX_SESSION_MIB,
      settings: {
        enablePush: false,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: limits.maxHeaderListBytes,
      },
    })
    this.#session = session
    this.#onError = onError
    // The cause of a lost connection is told by the connection.
    session.on('error', (error: Error) => connection.loseTo(error))
    session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
    session.on('remoteSettings', () => this.#guard(() => handler.onSettings()))
    session.on('goaway', () => this.#guard(() => handler.onGoaway()))
  }

  /** Streams that the server takes at one time; infinite until it says how many. */
  get maxStreams(): number {
    return this.#session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY
  }

  /** False once no further stream may be begun. */
  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed
  }

  /** Begins a stream; undefined where the session takes none any more. */
  request(head: Http2RequestHead, handler: Http2UpstreamStreamHandler): Http2UpstreamStream | undefined {
    if (!this.usable) return undefined
    const headers = headersOf(head.fields)
    headers[':method'] = head.method
    headers[':scheme'] = head.scheme
    headers[':authority'] = head.authority
    headers[':path'] = head.path
    if (head.takesTrailers) headers['te'] = 'trailers'
    const stream = this.#session.request(
      { ...headers, [sensitiveHeaders]: SENSITIVE },
      { endStream: head.follows === 'nothing', waitForTrailers: head.follows === 'trailers' },
    )
    return new Http2UpstreamStream(
      stream,
      head.follows === 'nothing',
      () => this.#session.destroyed,
      handler,
      this.#onError,
    )
  }

  /** Asks the server for a sign of life; `onAnswer` tells of it. */
  ping(onAnswer: () => void): void {
    if (this.#session.destroyed) return
    this.#session.ping((error) => {
      if (error === null) this.#guard(onAnswer)
    })
  }

  /** Closes the connection, on which no stream is open. */
  close(): void {
    if (this.usable) this.#session.close()
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (thrown) {
      this.#session.destroy()
      this.#onError(thrown instanceof Error ? thrown : new Error(String(thrown)))
    }
  }
}

export class Http2UpstreamStream {
  readonly #stream: ClientHttp2Stream
  readonly #handler: Http2UpstreamStreamHandler
  readonly #onError: (error: Error) => void
  readonly #isLost: () => boolean
  /** Whether END_STREAM came; undefined while the readable side is open. */
  #endedWell: boolean | undefined = undefined
  #ended: boolean
  #cause: Error | undefined = undefined
  #wantsDrain = false
  #givenBytes = 0
  #responseTrailers: Fields = NO_FIELDS
  #requestTrailers: Fields = NO_FIELDS

  /** @internal */
  constructor(
    stream: ClientHttp2Stream,
    endsStream: boolean,
    isLost: () => boolean,
    handler: Http2UpstreamStreamHandler,
    onError: (error: Error) => void,
  ) {
    this.#stream = stream
    this.#ended = endsStream
    this.#isLost = isLost
    this.#handler = handler
    this.#onError = onError
    const push = stream.push.bind(stream)
    stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunk === null) this.#endedWell ??= !stream.closed && !stream.destroyed
      return push(chunk, encoding)
    }
    stream.on('error', (error: Error) => {
      this.#cause = error
    })
    stream.on('headers', (_headers: unknown, _flags: unknown, raw: unknown) => {
      if (isFields(raw)) this.#guard(() => handler.onInterim(raw))
    })
    stream.on('response', (_headers: unknown, flags: number, raw: unknown) => {
      const endsResponse = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      this.#guard(() => handler.onHead(isFields(raw) ? raw : NO_FIELDS, endsResponse))
      // SECURITY: not before. node:http2 tells of a head with the next tick and of octets at once, so that over TLS, where
      // many frames come of one call, a body could overtake its head.
      stream.on('data', (chunk: Uint8Array) => this.#guard(() => handler.onData(chunk)))
    })
    stream.on('trailers', (_headers: unknown, _flags: unknown, raw: unknown) => {
      if (isFields(raw)) this.#responseTrailers = raw
    })
    stream.on('end', () => {
      if (this.#endedWell === true) this.#guard(() => handler.onEnd(this.#responseTrailers))
    })
    stream.on('drain', () => this.#drained())
    stream.on('wantTrailers', () => {
      if (!stream.destroyed) this.#guard(() => stream.sendTrailers(headersOf(this.#requestTrailers)))
    })
    stream.on('close', () => this.#guard(() => handler.onClose(this.#endOf())))
  }

  /** Octets taken by `write` that have not left, because the server gave no room for them or because it is slow. */
  get unsentBytes(): number {
    return this.#stream.writableLength
  }

  /** Octets that have left so far. */
  get takenBytes(): number {
    return this.#givenBytes - this.#stream.writableLength
  }

  /** Sends a chunk, which belongs to the stream from now on. False: the caller should pause until `onDrain`. */
  write(chunk: Uint8Array): boolean {
    const stream = this.#stream
    if (!stream.writable) return true
    this.#givenBytes += chunk.length
    stream.write(chunk)
    if (stream.writableLength < WRITE_HIGH_WATER_BYTES) return true
    this.#wantsDrain = stream.writableNeedDrain
    return !this.#wantsDrain
  }

  /** Ends the request. */
  end(trailers: Fields): void {
    if (this.#ended) return
    this.#ended = true
    this.#requestTrailers = trailers
    if (this.#stream.writable) this.#stream.end()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  /** Gives the request up (RST_STREAM), or what is left of it when the response is over. */
  cancel(): void {
    const stream = this.#stream
    if (stream.destroyed) return
    // SECURITY: `close` ends a request that is not whole with END_STREAM before it resets the stream: the server would act
    // on half a body.
    if (this.#ended && !stream.closed) stream.close(constants.NGHTTP2_CANCEL)
    else stream.destroy(this.#endedWell === true ? undefined : new Error('the request was given up'))
  }

  #drained(): void {
    if (!this.#wantsDrain) return
    this.#wantsDrain = false
    this.#guard(() => this.#handler.onDrain())
  }

  #endOf(): Http2StreamEnd {
    const code = this.#stream.rstCode ?? constants.NGHTTP2_NO_ERROR
    const refused = code === constants.NGHTTP2_REFUSED_STREAM
    const cause = this.#cause
    if (this.#isLost() && !refused) {
      return { refused, lost: true, reason: cause?.message ?? 'the connection was closed', cause }
    }
    return { refused, lost: false, reason: `the server reset the stream (${CODE_NAMES[code] ?? code})`, cause }
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (thrown) {
      this.cancel()
      this.#onError(thrown instanceof Error ? thrown : new Error(String(thrown)))
    }
  }
}

/** RFC 9113 §7. */
const CODE_NAMES: readonly string[] = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
]
