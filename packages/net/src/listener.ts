/**
 * Listening for clients: in cleartext or behind TLS, HTTP/1.1 or HTTP/2. Over TLS the protocol is agreed by ALPN
 * (RFC 7301), in cleartext HTTP/2 is known by its preface (RFC 9113 §3.3, §3.4).
 */

import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import { type CertificateStore, covers } from './certificates.ts'
import { serverNameOf } from './client-hello.ts'
import { Connection, type ConnectionHandler } from './connection.ts'
import type { Http2Acceptor, Http2Session, Http2SessionHandler } from './http2-session.ts'
import { type AcceptedSocket, type Intake, type IntakeOptions, openIntake } from './intake.ts'
import { clientAddressOf, type Preamble, readPreamble } from './preamble.ts'
import { rawSocketOf } from './raw-socket.ts'
import { Timer, type TimerWheel } from './timer-wheel.ts'

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

/**
 * Suites of TLS 1.2 with forward secrecy and authenticated encryption only (the intermediate list of Mozilla's server
 * side TLS, version 5.7, without DHE); TLS 1.3 has no others.
 */
export const DEFAULT_CIPHERS: string = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

export interface ListenTls {
  readonly certificates: CertificateStore
  /** Default TLSv1.2. */
  readonly minVersion?: TlsVersion
  /** In OpenSSL's format. Default {@link DEFAULT_CIPHERS}. */
  readonly ciphers?: string
  /**
   * 48 octets that session tickets are sealed with, the same in all processes that share an address. Absent: those of
   * this listener.
   */
  readonly ticketKeys?: Uint8Array
  /** How long a handshake may take; then the connection is closed. */
  readonly handshakeMs: number
  readonly wheel: TimerWheel
}

/** What a client agreed on in its handshake. */
export interface TlsSession {
  /** The host that it asked for (SNI), if it named one. */
  readonly serverName: string | undefined
  /**
   * Whether a request for the host should have come on another connection: the client named another host in its
   * handshake, the certificate that it was shown is not for this one, and one of the others is (RFC 9110 §7.4).
   */
  isMisdirected(host: string): boolean
}

/** What is spoken on an address. */
export interface Service {
  readonly tls?: ListenTls
  /** Absent: HTTP/1.1 only. */
  readonly http2?: Http2Acceptor
  /** What comes before everything else. Absent: nothing does. */
  readonly preamble?: Preamble
}

export interface ListenOptions extends IntakeOptions {
  /** Asked for each connection before anything is read of it: what to call when it is gone, or undefined to close it. */
  readonly admit?: (address: string | undefined) => (() => void) | undefined
  readonly service?: Service
}

export interface Listener {
  readonly intake: Intake
  /**
   * Gets another service ready, which connections get that are accepted after the returned function was called. Throws
   * what a list of ciphers is refused for.
   */
  prepare(service: Service): () => void
  close(): void
}

export interface Acceptance {
  /** Each connection, over TLS after its handshake and without those that agreed on HTTP/2. */
  accept(connection: Connection, tls: TlsSession | undefined): ConnectionHandler
  /** Each connection over TLS that agreed on HTTP/2. */
  acceptHttp2(session: Http2Session, address: string | undefined, tls: TlsSession): Http2SessionHandler
  /**
   * A connection in cleartext, which `accept` had, turned out to speak HTTP/2 (by prior knowledge). Its handler gets no
   * further call; `session` has one of its own.
   */
  changeToHttp2(handler: ConnectionHandler, session: Http2Session, address: string | undefined): Http2SessionHandler
  /** A handshake failed, or took too long. */
  onHandshakeFault?(address: string | undefined, error: Error): void
  readonly onError: (error: Error) => void
}

const UNATTENDED: ConnectionHandler = { onData: () => false, onEnd() {}, onDrain() {}, onClose() {} }

/**
 * Listens for connections. Rejects when the address cannot be had; later failures to accept (no file descriptor left)
 * go to `onError`, as does what a handler throws.
 */
export async function listen(options: ListenOptions, acceptance: Acceptance): Promise<Listener> {
  const { admit, service = {} } = options
  let { preamble } = service
  let front = frontOf(service, acceptance)
  const onSocket = (socket: AcceptedSocket): void => {
    if (preamble === undefined) begin(socket)
    else readPreamble(socket, preamble, () => begin(socket))
  }
  const begin = (socket: AcceptedSocket): void => {
    if (admit !== undefined) {
      const release = admit(clientAddressOf(socket))
      if (release === undefined) {
        socket.destroy()
        return
      }
      socket.once('close', release)
    }
    front.begin(socket)
  }
  const intake = await openIntake(options, onSocket, acceptance.onError)
  return {
    intake,
    prepare(next) {
      const ready = frontOf(next, acceptance)
      return () => {
        front.leave()
        front = ready
        preamble = next.preamble
      }
    },
    close() {
      front.leave()
      intake.close()
    },
  }
}

/** What meets a socket first. */
interface Front {
  begin(socket: Socket): void
  /** No further socket comes. */
  leave(): void
}

function frontOf({ tls, http2 }: Service, acceptance: Acceptance): Front {
  return tls === undefined ? plainFront(http2, acceptance) : tlsFront(tls, http2, acceptance)
}

function plainFront(http2: Http2Acceptor | undefined, acceptance: Acceptance): Front {
  return {
    begin(socket) {
      const connection = attend(socket, undefined, acceptance)
      if (http2 === undefined) readOn(socket, connection)
      else detectHttp2(socket, connection, http2, acceptance)
    },
    leave() {},
  }
}

/** Gives the socket to a handler of its own. */
function attend(socket: Socket, tls: TlsSession | undefined, acceptance: Acceptance): Connection {
  const connection = new Connection(socket, UNATTENDED, acceptance.onError)
  try {
    connection.handler = acceptance.accept(connection, tls)
  } catch (error) {
    connection.fail(error)
  }
  return connection
}

function readOn(socket: Socket, connection: Connection): void {
  socket.on('data', (chunk: Uint8Array) => {
    connection.receive(chunk)
  })
  socket.on('end', () => connection.receiveEnd())
}

/** RFC 9113 §3.4. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/**
 * Reads on once it is clear which protocol the client speaks, which the first octet tells unless it is a P.
 *
 * The socket is read by hand until then: under Bun 1.4 octets that came by a `data` event cannot be put back for
 * node:http2.
 */
function detectHttp2(socket: Socket, connection: Connection, http2: Http2Acceptor, acceptance: Acceptance): void {
  let held: Uint8Array | undefined
  const stop = (): void => {
    socket.off('readable', onReadable)
    socket.off('end', onEnd)
  }
  const onReadable = (): void => {
    const chunk: unknown = socket.read()
    if (!(chunk instanceof Uint8Array)) return
    const first = held === undefined ? chunk : Buffer.concat([held, chunk])
    const common = Math.min(first.length, PREFACE.length)
    if (PREFACE.compare(first, 0, common, 0, common) !== 0) {
      stop()
      // After the tick in which the stream learns that nobody waits for `readable` any more: that would undo a pause.
      process.nextTick(() => {
        const isPaused = socket.isPaused()
        readOn(socket, connection)
        if (isPaused) socket.pause()
      })
      connection.receive(first)
      return
    }
    if (first.length < PREFACE.length) {
      held = first
      return
    }
    stop()
    const { handler } = connection
    connection.handler = UNATTENDED
    socket.unshift(first)
    http2.accept(socket, (session) => acceptance.changeToHttp2(handler, session, clientAddressOf(socket)))
  }
  const onEnd = (): void => {
    if (held !== undefined) connection.receive(held)
    connection.receiveEnd()
  }
  socket.on('readable', onReadable)
  socket.on('end', onEnd)
}

/**
 * TLS on top of sockets that were accepted elsewhere: the servers of node:tls never listen.
 *
 * There is one for each kind of key. Where SNI asks for another certificate, Node adds it to the first one instead of
 * putting it in its place, and OpenSSL then prefers by the kind of key: a client that asked for a name with an RSA key
 * would be shown an EC certificate for another name. So where there are several kinds, the name is read before.
 */
function tlsFront(tls: ListenTls, http2: Http2Acceptor | undefined, acceptance: Acceptance): Front {
  const { certificates, wheel, handshakeMs } = tls
  const handshakes = new WeakMap<Socket, Timer>()
  const onSecure = (socket: TLSSocket): void => {
    handshakes.get(rawSocketOf(socket))?.release()
    const session = tlsSession(socket, certificates)
    if (http2 !== undefined && socket.alpnProtocol === 'h2') {
      http2.accept(socket, (begun) => acceptance.acceptHttp2(begun, clientAddressOf(socket), session))
    } else {
      readOn(socket, attend(socket, session, acceptance))
    }
  }
  const onFault = (error: Error, socket: TLSSocket): void => {
    acceptance.onHandshakeFault?.(clientAddressOf(socket), error)
    socket.destroy()
  }
  const contextOptions = contextOptionsOf(tls)
  const servers = new Map<string, TlsServer>()
  const update = (): void => {
    const kinds = new Set<string>()
    for (const { keyKind, cert, key } of certificates.certificates) {
      if (kinds.has(keyKind)) continue
      kinds.add(keyKind)
      const old = servers.get(keyKind)
      const context = { ...contextOptions, cert, key }
      if (old !== undefined) {
        old.setSecureContext(context)
        continue
      }
      const server = createTlsServer({
        ...context,
        allowHalfOpen: true,
        ALPNProtocols: http2 === undefined ? ['http/1.1'] : ['h2', 'http/1.1'],
        SNICallback: (name, done) => {
          // SECURITY: what this throws would end the process (CVE-2026-21637).
          try {
            // oxlint-disable-next-line unicorn/no-null -- what node:tls asks of it
            done(null, certificates.find(name)?.context)
          } catch (error) {
            done(error instanceof Error ? error : new Error(String(error)))
          }
        },
      })
      server.on('secureConnection', onSecure)
      server.on('tlsClientError', onFault)
      servers.set(keyKind, server)
    }
    for (const kind of servers.keys()) if (!kinds.has(kind)) servers.delete(kind)
  }
  update()
  return {
    begin(socket) {
      const timer = new Timer(wheel, () => {
        acceptance.onHandshakeFault?.(clientAddressOf(socket), new Error('clientHandshakeMs passed'))
        socket.destroy()
      })
      timer.arm(handshakeMs)
      handshakes.set(socket, timer)
      socket.once('close', () => timer.release())
      const shake = (name: string | undefined): void => {
        servers.get(certificates.pick(name).keyKind)?.emit('connection', socket)
      }
      if (servers.size === 1 || 'bun' in process.versions) shake(undefined)
      else readServerName(socket, shake)
    },
    leave: certificates.watch(update),
  }
}

function contextOptionsOf(tls: ListenTls): SecureContextOptions {
  return {
    minVersion: tls.minVersion ?? 'TLSv1.2',
    ciphers: tls.ciphers ?? DEFAULT_CIPHERS,
    // A client renegotiates only to burn our time (RFC 8446 has done away with it). Under Bun, which never does, it is 0.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    sessionTimeout: SESSION_SECONDS,
    ticketKeys: Buffer.from(tls.ticketKeys ?? crypto.getRandomValues(new Uint8Array(TICKET_KEY_BYTES))),
  }
}

/** Reads the first message of a handshake and puts it back. */
function readServerName(socket: Socket, found: (name: string | undefined) => void): void {
  let held: Uint8Array = new Uint8Array()
  const ignore = (): void => {}
  // Nobody else listens yet.
  socket.on('error', ignore)
  const onReadable = (): void => {
    const chunk: unknown = socket.read()
    if (!(chunk instanceof Uint8Array)) {
      if (socket.readableEnded) socket.destroy()
      return
    }
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    const read = serverNameOf(held)
    if (read === 'more') return
    socket.off('readable', onReadable)
    socket.off('error', ignore)
    socket.unshift(held)
    found(read.name)
  }
  socket.on('readable', onReadable)
  socket.on('end', () => {
    if (socket.listenerCount('readable') > 0) socket.destroy()
  })
}

const TICKET_KEY_BYTES = 48
/** How long a session may be resumed. */
const SESSION_SECONDS = 7_200

function tlsSession(socket: TLSSocket, certificates: CertificateStore): TlsSession {
  // `false` where the client named none.
  const serverName = typeof socket.servername === 'string' && socket.servername !== '' ? socket.servername : undefined
  const shown = certificates.pick(serverName)
  return {
    serverName,
    isMisdirected: (host) =>
      serverName !== undefined && !covers(shown, host) && certificates.certificates.some((one) => covers(one, host)),
  }
}
