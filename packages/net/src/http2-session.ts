/**
 * HTTP/2 on the server's side (RFC 9113) over node:http2: sessions and streams without stream classes.
 *
 * Ownership of bytes as in `connection.ts`: a chunk given to `write` belongs to the stream from then on, a chunk that
 * `onData` gets is the receiver's.
 */

import { constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { WRITE_HIGH_WATER_BYTES } from './connection.ts'
import { type Fields, headersOf, isFields, NO_FIELDS } from './http2-headers.ts'
import { rawSocketOf } from './raw-socket.ts'

/** Error codes of RFC 9113 §7. */
export const H2_NO_ERROR = 0
export const H2_INTERNAL_ERROR = 2
export const H2_ENHANCE_YOUR_CALM = 11

export interface Http2StreamHandler {
  /** Octets of the request body, never empty. Not called while the stream is paused, but for what was read before. */
  onData(chunk: Uint8Array): void
  /** The client ended its side. */
  onEnd(trailers: Fields): void
  /** What `write` returned false for has left, or everything after `end`; called only if it was waited for. */
  onDrain(): void
  /** The last call, exactly once. `completed`: both sides ended, and everything of ours was taken. */
  onClose(completed: boolean): void
}

export interface Http2SessionHandler {
  /** A request. `block` has the pseudo-header fields first; `endsStream`: there is no body. */
  onStream(stream: Http2Stream, block: Fields, endsStream: boolean): Http2StreamHandler
  /** A PING or a SETTINGS frame came. */
  onControl(): void
  /** The last call, exactly once, after those of all streams. */
  onClose(): void
}

export interface Http2Limits {
  /** Streams that a client may have open; more are refused. */
  readonly maxConcurrentStreams: number
  /** Header octets of a request by RFC 9113 §10.5.1 (32 more for each line); beyond it the stream is reset. */
  readonly maxHeaderListBytes: number
  /** Header lines; beyond it the stream is reset. */
  readonly maxHeaderPairs: number
  /** Octets that a client may send on one stream, and on all together, before we took any. */
  readonly streamWindowBytes: number
  readonly sessionWindowBytes: number
}

export class Http2Session {
  readonly #session: ServerHttp2Session
  #openStreams = 0

  /** @internal */
  constructor(session: ServerHttp2Session) {
    this.#session = session
  }

  get openStreams(): number {
    return this.#openStreams
  }

  /** @internal */
  count(change: 1 | -1): void {
    this.#openStreams += change
  }

  /** Tells the client that no further stream is served (GOAWAY); closes when the last one is over. */
  close(): void {
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close()
  }

  /** Closes now, every stream with it. `code` is that of the GOAWAY. */
  destroy(code: number): void {
    if (this.#session.destroyed) return
    // Without an error node:http2 overrules the code; with one it tells `error`, to which nobody listens.
    if (code === H2_NO_ERROR) this.#session.destroy()
    else this.#session.destroy(new Error(`HTTP/2 error ${code}`), code)
  }
}

export class Http2Stream {
  readonly #stream: ServerHttp2Stream
  readonly #onError: (error: Error) => void
  handler: Http2StreamHandler = UNATTENDED
  #wantsDrain = false
  #paused = false
  #resetByUs = false
  #finished = false
  #givenBytes = 0
  #trailers: Fields = NO_FIELDS

  /** @internal */
  constructor(stream: ServerHttp2Stream, onError: (error: Error) => void) {
    this.#stream = stream
    this.#onError = onError
  }

  /** @internal */
  attach(handler: Http2StreamHandler, closed: () => void): void {
    const stream = this.#stream
    this.handler = handler
    let trailers: Fields = NO_FIELDS
    // Errors are told by `close`; without a listener they would be thrown.
    stream.on('error', () => {})
    stream.on('trailers', (_headers: unknown, _flags: number, raw: unknown) => {
      if (isFields(raw)) trailers = raw
    })
    stream.on('end', () => this.#guard(() => this.handler.onEnd(trailers)))
    stream.on('drain', () => this.#drained())
    stream.on('finish', () => {
      this.#finished = true
      this.#drained()
    })
    stream.on('wantTrailers', () => this.#sendTrailers())
    stream.on('close', () => {
      // `finish` may not come any more: the stream is over when its last frame was made, not when that was sent.
      const completed = stream.writableEnded && stream.rstCode === H2_NO_ERROR
      this.#guard(() => this.handler.onClose(completed))
      closed()
    })
    stream.on('data', (chunk: Uint8Array) => this.#guard(() => this.handler.onData(chunk)))
    // What the handler said about pausing before there was anything to pause.
    if (this.#paused) stream.pause()
  }

  /** The stream was reset by ourselves. */
  get resetByUs(): boolean {
    return this.#resetByUs
  }

  /** False once the stream was ended or closed: what is written then is dropped. */
  get writable(): boolean {
    return this.#stream.writable
  }

  /** Octets taken by `write` that have not left, because the client gave no room for them or because it is slow. */
  get unsentBytes(): number {
    return this.#stream.writableLength
  }

  /** Octets that have left so far. */
  get takenBytes(): number {
    return this.#givenBytes - this.#stream.writableLength
  }

  /** A 1xx response. */
  interim(status: number, fields: Fields): void {
    const stream = this.#stream
    if (stream.destroyed || stream.headersSent) return
    this.#guard(() => stream.additionalHeaders({ ...headersOf(fields), ':status': status }))
  }

  /** The head of the response. `endsStream`: nothing follows; `trailers`: some may. */
  respond(status: number, fields: Fields, follows: 'nothing' | 'body' | 'trailers'): void {
    const stream = this.#stream
    if (stream.destroyed || stream.headersSent) return
    const headers = headersOf(fields)
    headers[':status'] = status
    this.#guard(() => {
      stream.respond(headers, {
        endStream: follows === 'nothing',
        waitForTrailers: follows === 'trailers',
      })
    })
  }

  /** Sends a chunk, which belongs to the stream from now on. False: the caller should pause until `onDrain`. */
  write(chunk: Uint8Array): boolean {
    const stream = this.#stream
    if (!stream.writable) return true
    this.#givenBytes += chunk.length
    stream.write(chunk)
    return this.takesMore()
  }

  /** What `write` returned. When it is false, `onDrain` follows. */
  takesMore(): boolean {
    if (this.#stream.writableLength < WRITE_HIGH_WATER_BYTES) return true
    this.#wantsDrain = this.#stream.writableNeedDrain
    return !this.#wantsDrain
  }

  /** Whether `onDrain` will tell when everything written has left. False when it has. */
  awaitDrain(): boolean {
    const stream = this.#stream
    this.#wantsDrain = !stream.destroyed && !this.#finished && (stream.writableEnded || stream.writableNeedDrain)
    return this.#wantsDrain
  }

  /** Ends our side. Trailers may follow only if `respond` said so. */
  end(last: Uint8Array | undefined, trailers: Fields): void {
    this.#trailers = trailers
    if (!this.#stream.writable) return
    if (last === undefined) {
      this.#stream.end()
    } else {
      this.#givenBytes += last.length
      this.#stream.end(last)
    }
  }

  pause(): void {
    this.#paused = true
    this.#stream.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#stream.resume()
  }

  /** Ends the stream with RST_STREAM, INTERNAL_ERROR, so that the client cannot take what it has for everything. */
  reset(): void {
    this.#resetByUs = true
    // SECURITY: not `close`, which sends END_STREAM first, and no RST_STREAM after it, under Node and Bun.
    if (!this.#stream.destroyed) this.#stream.destroy(new Error('the response was broken off'))
  }

  /** Once everything of ours has left, tells the client that the rest of its request is not wanted (RFC 9113 §8.1). */
  resetAfterEnd(): void {
    const stream = this.#stream
    // What came already would keep the stream open.
    stream.resume()
    this.#resetByUs = true
    if (this.#finished) stream.close(H2_NO_ERROR)
    else stream.once('finish', () => stream.close(H2_NO_ERROR))
  }

  #drained(): void {
    if (!this.#wantsDrain) return
    this.#wantsDrain = false
    this.#guard(() => this.handler.onDrain())
  }

  #sendTrailers(): void {
    const stream = this.#stream
    if (stream.destroyed) return
    this.#guard(() => stream.sendTrailers(headersOf(this.#trailers)))
  }

  /** A fault of ours costs this stream and no other. */
  #guard(act: () => void): void {
    try {
      act()
    } catch (thrown) {
      this.reset()
      this.#onError(thrown instanceof Error ? thrown : new Error(String(thrown)))
    }
  }
}

const UNATTENDED: Http2StreamHandler = { onData() {}, onEnd() {}, onDrain() {}, onClose() {} }

/** Takes connections whose client speaks HTTP/2: by ALPN, or because they begin with the preface. */
export class Http2Acceptor {
  readonly #server: ReturnType<typeof createServer>
  readonly #limits: Http2Limits
  readonly #onError: (error: Error) => void
  #accepting: ServerHttp2Session | undefined = undefined

  constructor(limits: Http2Limits, onError: (error: Error) => void) {
    this.#limits = limits
    this.#onError = onError
    this.#server = createServer({
      maxHeaderListPairs: limits.maxHeaderPairs,
      settings: {
        maxConcurrentStreams: limits.maxConcurrentStreams,
        maxHeaderListSize: limits.maxHeaderListBytes,
        initialWindowSize: limits.streamWindowBytes,
        enablePush: false,
      },
    })
    this.#server.on('session', (session) => {
      this.#accepting = session
    })
    this.#server.on('sessionError', () => {})
  }

  /** @internal The socket is HTTP/2's from now on. What was read of it must have been put back. */
  accept(socket: Socket, begin: (session: Http2Session) => Http2SessionHandler): void {
    this.#accepting = undefined
    // A client that has ended its side is gone: HTTP/2 has no use for half a connection.
    socket.allowHalfOpen = false
    rawSocketOf(socket).allowHalfOpen = false
    this.#server.emit('connection', socket)
    const session: ServerHttp2Session | undefined = this.#accepting
    if (session === undefined) {
      socket.destroy()
      return
    }
    attachSession(session, this.#limits, begin, this.#onError)
  }
}

function attachSession(
  session: ServerHttp2Session,
  limits: Http2Limits,
  begin: (session: Http2Session) => Http2SessionHandler,
  onError: (error: Error) => void,
): void {
  const own = new Http2Session(session)
  const handler = begin(own)
  const guard = (act: () => void): void => {
    try {
      act()
    } catch (thrown) {
      own.destroy(H2_INTERNAL_ERROR)
      onError(thrown instanceof Error ? thrown : new Error(String(thrown)))
    }
  }
  let closed = false
  const finish = (): void => {
    if (!closed || own.openStreams > 0) return
    guard(() => handler.onClose())
  }
  session.on('error', () => {})
  session.on('ping', () => guard(() => handler.onControl()))
  session.on('remoteSettings', () => guard(() => handler.onControl()))
  session.on('stream', (stream: ServerHttp2Stream, _headers: unknown, flags: number, raw: unknown) => {
    guard(() => {
      own.count(1)
      const ours = new Http2Stream(stream, onError)
      const endsStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      const block = isFields(raw) ? raw : NO_FIELDS
      const streamHandler = handler.onStream(ours, block, endsStream)
      ours.attach(streamHandler, () => {
        own.count(-1)
        finish()
      })
    })
  })
  session.on('close', () => {
    closed = true
    finish()
  })
  // Under Bun 1.4 a connection whose window was enlarged gets no WINDOW_UPDATE any more: uploads of more stand still.
  if (limits.sessionWindowBytes > DEFAULT_WINDOW_BYTES && !('bun' in process.versions)) {
    session.setLocalWindowSize(limits.sessionWindowBytes)
  }
}

/** RFC 9113 §6.9.2. */
const DEFAULT_WINDOW_BYTES = 65_535
