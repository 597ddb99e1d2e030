/**
 * TCP connections behind one small interface; the only place that sees a socket.
 *
 * Ownership of bytes: a chunk given to `write` belongs to the connection from then on. A chunk that `onData` gets is
 * borrowed until `onData` returns, unless `onData` returns true: then the receiver keeps it.
 */

import { connect as connectSocket, type IpcSocketConnectOpts, type Socket, type TcpSocketConnectOpts } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { AddressCache } from './address-cache.ts'
import type { ClientTls } from './client-tls.ts'
import { clientAddressOf } from './preamble.ts'
import { rawSocketOf } from './raw-socket.ts'
import { type Intake, type IntakeOptions, openIntake } from './intake.ts'
import { readOnAfterWriteFault } from './write-fault.ts'

export interface ConnectionHandler {
  /** Bytes arrived. Returns true when the receiver keeps the chunk (or a part of it) beyond the call. */
  onData(chunk: Uint8Array): boolean
  /** The peer sent its last byte (FIN). A reset is never reported as an end. */
  onEnd(): void
  /** What `write` returned false for has left; called only after such a write. */
  onDrain(): void
  /** The last call, exactly once, also after `destroy` and `reset`. `cause` is absent after an orderly close. */
  onClose(cause: Error | undefined): void
}

/** A write returns false while more than this many bytes wait for the kernel. Unit: bytes. */
export const WRITE_HIGH_WATER_BYTES = 65_536

/** An upstream read buffer starts small, because most responses are, and grows when a read fills it. Unit: bytes. */
const MIN_READ_BYTES = 8_192
const MAX_READ_BYTES = 65_536

/** A peer that vanished between two packets; the runtimes do not always name it so themselves. */
function resetByPeer(): Error {
  return Object.assign(new Error('connection reset by peer'), { code: 'ECONNRESET' })
}

/**
 * What one connection may read before the other sockets are looked at. A read is not cut, and reading stops after the one
 * that exceeds it: without, libuv reads up to 32 times from a fast peer before it serves another. Unit: bytes.
 */
export const MAX_TURN_BYTES = 131_072

export class Connection {
  handler: ConnectionHandler
  readonly #socket: Socket
  readonly #onError: (error: Error) => void
  #cause: Error | undefined = undefined
  #paused = false
  /** Read since others had their turn; -1 while they have it. */
  #turnBytes = 0
  /** @internal */
  receivedBytes = 0
  #wantsDrain = false
  #closed = false
  readonly #encryptsAtOnce: boolean
  /** Length of the chunk that was encrypted as it was written, if it is all that waits to be sent; else 0. */
  #encryptedBytes = 0

  /** @internal Made by `listen` and `connect`. */
  constructor(socket: Socket, handler: ConnectionHandler, onError: (error: Error) => void) {
    this.#socket = socket
    this.handler = handler
    this.#onError = onError
    this.#encryptsAtOnce = socket instanceof TLSSocket && !('bun' in process.versions)
    socket.on('drain', () => {
      if (!this.#wantsDrain) return
      this.#wantsDrain = false
      try {
        this.handler.onDrain()
      } catch (error) {
        this.fail(error)
      }
    })
    socket.on('error', (error) => {
      this.#cause ??= error
    })
    socket.on('close', () => {
      this.#closed = true
      try {
        this.handler.onClose(this.#cause)
      } catch (error) {
        this.fail(error)
      }
    })
  }

  /** Address of the peer, or the one that a trusted peer told of its client; undefined when it is already gone. */
  get remoteAddress(): string | undefined {
    return clientAddressOf(this.#socket)
  }

  /** Bytes taken by `write` that the kernel does not have yet. While it is 0, no chunk given to `write` is in use. */
  get unsentBytes(): number {
    return this.#socket.writableLength
  }

  /**
   * Whether a chunk given to `write` is still in use. TLS under Node encrypts a chunk within `write` if nothing waits
   * before it, and is done with it then, long before its bytes are sent.
   */
  get holdsChunks(): boolean {
    const { writableLength } = this.#socket
    return writableLength > 0 && writableLength !== this.#encryptedBytes
  }

  /** Bytes that the kernel has taken so far; does not grow while the peer reads nothing. */
  get takenBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength
  }

  /** False once the connection was ended, destroyed, reset or lost: what is written then is dropped. */
  get writable(): boolean {
    return this.#socket.writable
  }

  /** Sends a chunk, which belongs to the connection from now on. False: the caller should pause until `onDrain`. */
  write(chunk: Uint8Array): boolean {
    const socket = this.#socket
    if (!socket.writable) return true
    if (this.#encryptsAtOnce) {
      this.#encryptedBytes = socket.writableLength === 0 && socket.writableCorked === 0 ? chunk.length : 0
    }
    socket.write(chunk)
    return this.takesMore()
  }

  /** Collects writes until `uncork`, which sends them with one system call. Calls do not nest. */
  cork(): void {
    this.#socket.cork()
  }

  uncork(): void {
    this.#socket.uncork()
  }

  /** What `write` returned or, after `uncork`, would have returned. When it is false, `onDrain` follows. */
  takesMore(): boolean {
    // Not the return value of socket.write: that is false for any big chunk, even one that the kernel took whole.
    if (this.#socket.writableLength < WRITE_HIGH_WATER_BYTES) return true
    this.#wantsDrain = this.#socket.writableNeedDrain
    return !this.#wantsDrain
  }

  /** Whether `onDrain` will tell when everything written is with the kernel. False when it is, or nearly so. */
  awaitDrain(): boolean {
    this.#wantsDrain = this.#socket.writableLength > 0 && this.#socket.writableNeedDrain
    return this.#wantsDrain
  }

  pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    if (!this.#closed && this.#turnBytes >= 0) this.#socket.resume()
  }

  /** Sends what is written, then FIN; the peer may go on sending. */
  end(): void {
    this.#socket.end()
  }

  /** Closes now. What the kernel already has is still delivered, followed by FIN. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Closes with RST, so that the peer cannot take what it has for everything. */
  reset(): void {
    if (this.#socket.destroyed) return
    // TLS has no RST of its own.
    const socket = rawSocketOf(this.#socket)
    // Node's resetAndDestroy may send FIN first (it ends the writable side when that is still open), which is what
    // must not happen here; the flag it sets does the work. Bun has no such flag and resets at once.
    if ('resetAndClosing' in socket) {
      socket.resetAndClosing = true
      socket.destroy()
    } else {
      socket.resetAndDestroy()
    }
  }

  #letOthers(): void {
    this.#turnBytes = -1
    if (!this.#paused) this.#socket.pause()
    setImmediate(() => {
      this.#turnBytes = 0
      if (!this.#paused && !this.#closed) this.#socket.resume()
    })
  }

  /** @internal For HTTP/2, which reads and writes it from now on. */
  get socket(): Socket {
    return this.#socket
  }

  /** @internal Closes the connection as if the cause had come from the socket. */
  loseTo(cause: Error): void {
    this.#cause ??= cause
    this.#socket.destroy()
  }

  /** @internal The handler threw: a fault of ours costs this connection and no other. */
  fail(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    this.loseTo(error)
    this.#onError(error)
  }

  /** @internal Returns whether the chunk is kept; after a fault it may be. */
  receive(chunk: Uint8Array): boolean {
    this.receivedBytes += chunk.length
    if (this.#turnBytes >= 0) {
      this.#turnBytes += chunk.length
      if (this.#turnBytes > MAX_TURN_BYTES) this.#letOthers()
    }
    try {
      return this.handler.onData(chunk)
    } catch (error) {
      this.fail(error)
      return true
    }
  }

  /** @internal */
  receiveEnd(): void {
    try {
      this.handler.onEnd()
    } catch (error) {
      this.fail(error)
    }
  }
}

/**
 * Listens for connections. `accept` is called for each and returns its handler. Rejects when the address cannot be
 * had; later failures to accept (no file descriptor left) go to `onError`, as does what a handler throws.
 */
export async function listen(
  options: IntakeOptions,
  accept: (connection: Connection) => ConnectionHandler,
  onError: (error: Error) => void,
): Promise<Intake> {
  const take = (socket: Socket): void => {
    const connection = new Connection(socket, UNATTENDED, onError)
    try {
      connection.handler = accept(connection)
    } catch (error) {
      connection.fail(error)
    }
    socket.on('data', (chunk: Uint8Array) => {
      connection.receive(chunk)
    })
    socket.on('end', () => connection.receiveEnd())
  }
  return await openIntake(options, take, onError)
}

const UNATTENDED: ConnectionHandler = { onData: () => false, onEnd() {}, onDrain() {}, onClose() {} }

/** Where to. `host` is a name or an address; those of a name come from `addresses`, or without it from the system. */
export type ConnectTarget =
  | { readonly host: string; readonly port: number; readonly addresses?: AddressCache }
  /** A Unix socket. */
  | { readonly path: string }

/** The versions of HTTP that a server is offered, the one that is preferred first; without TLS the first one is spoken. */
export type HttpVersions = readonly ('h2' | 'http/1.1')[]

const HTTP1_ONLY: HttpVersions = ['http/1.1']

/** Without `tls`: plain. Without `versions`: HTTP/1.1. */
export type ConnectOptions = ConnectTarget & { readonly tls?: ClientTls; readonly versions?: HttpVersions }

/**
 * How long connecting to one address of a name may take while another is left; connecting to the last one may take as
 * long as its caller likes. Unit: milliseconds.
 */
export const CONNECT_ATTEMPT_MS = 500

export interface ConnectHandler extends ConnectionHandler {
  /**
   * The connection is up. When it cannot be made, only `onClose` is called, with the cause. `version` is what is spoken on
   * it; the octets of HTTP/2 do not come by `onData`.
   */
  onConnect(version: HttpVersions[number]): void
  /** The way is open and TLS begins; only with `tls`, before `onConnect`. */
  onHandshake?(): void
}

/**
 * Opens a connection. It may be written to at once; the bytes leave when it is up. When writing fails, `onData` still
 * gets what came before. What the handler throws closes the connection and goes to `onError`.
 */
export function connect(options: ConnectOptions, handler: ConnectHandler, onError: (error: Error) => void): Connection {
  const { tls, versions = HTTP1_ONLY } = options
  const addresses = 'host' in options ? options.addresses : undefined
  const where: TcpSocketConnectOpts | IpcSocketConnectOpts =
    'path' in options
      ? { path: options.path }
      : {
          host: options.host,
          port: options.port,
          noDelay: true,
          autoSelectFamily: true,
          autoSelectFamilyAttemptTimeout: CONNECT_ATTEMPT_MS,
          ...(addresses === undefined ? {} : { lookup: addresses.lookup }),
        }
  let fault: Error | undefined
  const up = (version: HttpVersions[number]): void => {
    if (addresses !== undefined && connection.remoteAddress !== undefined) addresses.prefer(connection.remoteAddress)
    // HTTP/2 reads and writes below the socket, and would wait for reading to go on for ever.
    if (version === 'http/1.1') {
      readOnAfterWriteFault(
        socket,
        () => connection.receivedBytes,
        (error) => {
          fault ??= error
        },
      )
    }
    try {
      handler.onConnect(version)
    } catch (error) {
      connection.fail(error)
    }
  }
  let socket: Socket
  if (tls !== undefined) {
    const secured = tls.connect(where, versions)
    socket = secured
    socket.once('connect', () => handler.onHandshake?.())
    const read = (): void => {
      socket.on('data', (chunk: Uint8Array) => {
        connection.receive(chunk)
      })
    }
    const mayBeHttp2 = versions.includes('h2')
    if (!mayBeHttp2) read()
    socket.once('secureConnect', () => {
      if (secured.alpnProtocol === 'h2') return up('h2')
      // A server without ALPN speaks what there was before it.
      if (mayBeHttp2) read()
      up('http/1.1')
    })
  } else if (versions[0] === 'h2') {
    socket = connectSocket(where)
    socket.once('connect', () => up('h2'))
  } else {
    socket = connectPlain(where, (chunk) => connection.receive(chunk))
    socket.once('connect', () => up('http/1.1'))
  }
  const connection = new Connection(socket, handler, onError)
  socket.on('error', (error) => {
    fault ??= error
  })
  socket.on('end', () => {
    // Node goes on after an alert of TLS, and ends.
    if (fault !== undefined) {
      connection.loseTo(fault)
      return
    }
    // When data and RST arrive together, libuv reports the reset as an end of file. A connection that was reset has no
    // peer any more; one whose peer ended its side has, as long as ours is open. Unix sockets never name their peer.
    const reset = 'host' in options && !hasPeer(socket) && !socket.writableEnded
    if (reset && !socket.destroyed) connection.loseTo(resetByPeer())
    else connection.receiveEnd()
  })
  return connection
}

/** Node remembers the address of a peer that it was asked for; that the connection has none any more shows only anew. */
function hasPeer(socket: Socket): boolean {
  if ('_peername' in socket) socket._peername = undefined
  return socket.remoteAddress !== undefined
}

function connectPlain(
  where: TcpSocketConnectOpts | IpcSocketConnectOpts,
  receive: (chunk: Uint8Array) => boolean,
): Socket {
  let buffer = Buffer.allocUnsafeSlow(MIN_READ_BYTES)
  // PERF: reading into a buffer of ours instead of 'data' events: 733 against 1,033 us of CPU per 1 MB and 100 against
  // 147 us per 100 KB proxied on Node 20.20, no difference on Bun 1.4 (raw relay, 10 connections, 2026-11-30).
  return connectSocket({
    ...where,
    allowHalfOpen: true,
    onread: {
      buffer: () => buffer,
      callback: (length, filled) => {
        const kept = receive(filled.subarray(0, length))
        if (length === filled.length && length < MAX_READ_BYTES) buffer = Buffer.allocUnsafeSlow(MAX_READ_BYTES)
        else if (kept) buffer = Buffer.allocUnsafeSlow(filled.length)
        return true
      },
    },
  })
}
