/** An origin server on bare sockets that does what a test's script says, proper or not. */

import { type AddressInfo, createServer, type Socket } from 'node:net'
import {
  ByteReader,
  parseHead,
  type PeerEnd,
  type RawBody,
  type RawMessage,
  readChunked,
  readLength,
} from './byte-reader.ts'

export interface RawRequest extends RawMessage, RawBody {
  readonly method: string
  readonly target: string
}

export interface OriginConnection {
  readonly socket: Socket
  readonly reader: ByteReader
  /** Counts from 1 in the order of connecting. */
  readonly number: number
  /** Resolves when the proxy's side has ended. */
  readonly ended: Promise<PeerEnd>
  /** A request with its body; undefined when no further one comes. */
  readRequest(): Promise<RawRequest | undefined>
  /** Only the head. */
  readHead(): Promise<(RawMessage & { readonly method: string; readonly target: string }) | undefined>
  /** A string is sent as Latin-1. Resolves when the kernel has it, or the connection is lost. */
  send(data: string | Uint8Array): Promise<void>
  /** Sends the chunk again and again until the peer takes no more or `limit` octets are out; returns how many are. */
  flood(chunk: Uint8Array, limit: number): Promise<number>
  end(): void
  destroy(): void
  /** Closes with RST. */
  reset(): void
}

export interface RawOrigin {
  readonly port: number
  /** Connections so far. */
  readonly connections: number
  /** Requests read so far, in order. */
  readonly requests: readonly RawRequest[]
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Runs `script` for every connection. A script that throws closes its connection; `close` then rejects with it. */
export async function startRawOrigin(script: (connection: OriginConnection) => Promise<void>): Promise<RawOrigin> {
  const open = new Set<Socket>()
  const requests: RawRequest[] = []
  let connections = 0
  let failure: Error | undefined
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    const connection = wrap(socket, ++connections, requests)
    script(connection).catch((error: unknown) => {
      failure ??= error instanceof Error ? error : new Error(String(error))
      socket.destroy()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const close = async (): Promise<void> => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
    if (failure !== undefined) throw failure
  }
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections
    },
    requests,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Writes the chunk again and again until the peer takes no more or `limit` octets are out; returns how many are. */
export async function flood(socket: Socket, chunk: Uint8Array, limit: number): Promise<number> {
  let sent = 0
  while (sent < limit && !socket.destroyed) {
    const more = socket.write(chunk)
    sent += chunk.length
    if (more) continue
    // A drain within many turns of the loop means that the kernel still takes octets.
    let drained = false
    socket.once('drain', () => {
      drained = true
    })
    for (let turn = 0; turn < 500 && !drained; turn++) await new Promise(setImmediate)
    if (!drained) return sent
  }
  return sent
}

function wrap(socket: Socket, number: number, requests: RawRequest[]): OriginConnection {
  const reader = new ByteReader(socket)
  const readHead: OriginConnection['readHead'] = async () => {
    const head = await reader.until('\r\n\r\n')
    if (head === undefined) return undefined
    const message = parseHead(head.toString('latin1'))
    const [method, target] = message.startLine.split(' ')
    return { ...message, method, target }
  }
  const send = (data: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      if (typeof data === 'string') socket.write(data, 'latin1', () => resolve())
      else socket.write(data, () => resolve())
    })
  return {
    socket,
    reader,
    number,
    ended: reader.ended,
    readHead,
    readRequest: async () => {
      const head = await readHead()
      if (head === undefined) return undefined
      const body =
        head.value('transfer-encoding') === 'chunked'
          ? await readChunked(reader)
          : await readLength(reader, Number(head.value('content-length') ?? 0))
      const request = { ...head, ...body }
      requests.push(request)
      return request
    },
    send,
    flood: (chunk, limit) => flood(socket, chunk, limit),
    end: () => {
      socket.end()
    },
    destroy: () => {
      socket.destroy()
    },
    reset: () => {
      // resetAndDestroy may send FIN first; the flag it sets does without.
      if ('resetAndClosing' in socket) {
        socket.resetAndClosing = true
        socket.destroy()
      } else {
        socket.resetAndDestroy()
      }
    },
  }
}

/** A script that answers every request with what `respond` returns, on kept connections. */
export function answering(respond: (request: RawRequest) => string | Uint8Array) {
  return async (connection: OriginConnection): Promise<void> => {
    for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
      await connection.send(respond(request))
    }
    connection.end()
  }
}

/** A response with Content-Length. */
export function plainResponse(body: string | Uint8Array, ...lines: readonly string[]): Uint8Array {
  const octets = typeof body === 'string' ? Buffer.from(body) : body
  const head = ['HTTP/1.1 200 OK', ...lines, `Content-Length: ${octets.length}`, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), octets])
}

/** A response in chunks. */
export function chunkedResponse(chunks: readonly (string | Uint8Array)[], ...lines: readonly string[]): Uint8Array {
  const parts: Uint8Array[] = [
    Buffer.from(['HTTP/1.1 200 OK', ...lines, 'Transfer-Encoding: chunked', '', ''].join('\r\n'), 'latin1'),
  ]
  for (const chunk of chunks) {
    const octets = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    parts.push(Buffer.from(`${octets.length.toString(16)}\r\n`), octets, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
