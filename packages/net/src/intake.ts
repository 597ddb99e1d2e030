/** Sockets that clients open: accepted here, or accepted by another process and handed over. */
import { createServer, Socket } from 'node:net'
import { openingPath, publishSocket, type UnixListen } from './unix-socket.ts'

/** A client's socket of which no byte has been read. */
export type AcceptedSocket = Socket

export interface IntakeOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Instead of a port: a socket of this machine; `host` is what its address is called, `port` 0. */
  readonly unix?: UnixListen | undefined
  /** Connections beyond this many are closed at once. */
  readonly maxConnections: number
  /** One of those was closed. */
  readonly onRefused?: (address: string | undefined) => void
  /**
   * Asked about each socket before a byte of it is read. True: it is somebody else's now, who gives it to `adopt`, here
   * or in another process, or destroys it.
   */
  readonly handOver?: (socket: AcceptedSocket) => boolean
}

export interface BoundAddress {
  /** An IP address, IPv6 without brackets; or `unix:` and a path, with port 0. */
  readonly address: string
  readonly port: number
}

export interface Intake {
  readonly address: BoundAddress
  /** May change; connections that are open stay. */
  maxConnections: number
  /** Takes a socket as if it had been accepted here. */
  adopt(socket: AcceptedSocket): void
  /** Stops accepting; open connections live on. */
  close(): void
}

/**
 * Listens for sockets; `onSocket` gets each, and must read it in that call. Rejects when the address cannot be had;
 * later failures to accept (no file descriptor left) go to `onError`.
 */
export async function openIntake(
  options: IntakeOptions,
  onSocket: (socket: AcceptedSocket) => void,
  onError: (error: Error) => void,
): Promise<Intake> {
  const { host, port, unix, handOver } = options
  let open = 0
  const take = (socket: AcceptedSocket): void => {
    if (open >= intake.maxConnections) {
      options.onRefused?.(socket.remoteAddress)
      socket.destroy()
      return
    }
    open++
    socket.once('close', () => {
      open--
    })
    onSocket(socket)
  }
  const pauseOnConnect = handOver !== undefined
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect }, (socket) => {
    if (handOver !== undefined) {
      // Whoever has it next need not listen yet.
      socket.on('error', () => {})
      if (handOver(socket)) return
    }
    take(socket)
    if (pauseOnConnect) socket.resume()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const onListening = (): void => {
      server.off('error', reject)
      resolve()
    }
    if (unix === undefined) server.listen(port, host, onListening)
    else server.listen(openingPath(unix), onListening)
  })
  if (unix !== undefined) {
    try {
      publishSocket(unix)
    } catch (error) {
      server.close()
      throw error
    }
  }
  server.on('error', onError)
  const address = server.address()
  if (unix === undefined && (address === null || typeof address === 'string')) {
    throw new Error('a TCP server has an address')
  }
  const intake: Intake = {
    address: address === null || typeof address === 'string' ? { address: host, port: 0 } : address,
    maxConnections: options.maxConnections,
    adopt(socket) {
      // What `createServer` does for its own.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      take(socket)
      socket.resume()
    },
    close: () => server.close(),
  }
  return intake
}

/** A message between processes may come with a socket. */
export function isAcceptedSocket(value: unknown): value is AcceptedSocket {
  return value instanceof Socket
}

/**
 * For a socket that came with a message and is to leave with another one in the same turn of the event loop: nothing of
 * it may be read here. Node begins to read at once; Bun, which offers no way to stop, begins with the next turn.
 */
export function keepUnread(socket: AcceptedSocket): void {
  if (!('_handle' in socket)) return
  const handle = socket._handle
  if (isReadable(handle)) handle.readStop()
}

function isReadable(handle: unknown): handle is { readStop(): void } {
  return typeof handle === 'object' && handle !== null && 'readStop' in handle
}
