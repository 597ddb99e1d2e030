/** An HTTP/1.x client on a bare socket, for what a proper client would not send, accept or show. */

import { connect, type Socket } from 'node:net'
import {
  ByteReader,
  parseHead,
  type PeerEnd,
  type RawBody,
  type RawMessage,
  readChunked,
  readLength,
} from './byte-reader.ts'

export interface RawResponse extends RawMessage, RawBody {
  readonly status: number
  /** How the body's end was found. */
  readonly framing: 'none' | 'length' | 'chunked' | 'close'
}

export interface RawClient {
  readonly socket: Socket
  readonly reader: ByteReader
  /** Resolves when the server's side has ended. */
  readonly ended: Promise<PeerEnd>
  /** A string is sent as Latin-1. Resolves when the kernel has it, or the connection is lost. */
  send(data: string | Uint8Array): Promise<void>
  /** `GET target`, with Host and the given header lines. */
  get(target: string, ...lines: readonly string[]): Promise<RawResponse>
  /** Reads a response head; interim responses are responses too. */
  readHead(): Promise<RawMessage & { readonly status: number }>
  /** Reads a response to a request with this method; default GET. */
  readResponse(method?: string): Promise<RawResponse>
  /** Ends our side. */
  end(): void
  /** Closes, without waiting for anything. */
  destroy(): void
}

export async function connectRawClient(port: number, host = '127.0.0.1'): Promise<RawClient> {
  const socket = connect({ port, host, noDelay: true, allowHalfOpen: true })
  const reader = new ByteReader(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  const readHead = async (): Promise<RawMessage & { readonly status: number }> => {
    const head = await reader.until('\r\n\r\n')
    if (head === undefined) throw new Error(`the connection ended (${await reader.ended}) before a response head`)
    const message = parseHead(head.toString('latin1'))
    return { ...message, status: Number(message.startLine.split(' ')[1]) }
  }
  const readResponse = async (method = 'GET'): Promise<RawResponse> => {
    const head = await readHead()
    const bare = method === 'HEAD' || head.status < 200 || head.status === 204 || head.status === 304
    if (bare) return { ...head, body: Buffer.alloc(0), trailers: [], complete: true, framing: 'none' }
    if (head.value('transfer-encoding') === 'chunked') {
      return { ...head, ...(await readChunked(reader)), framing: 'chunked' }
    }
    const length = head.value('content-length')
    if (length !== undefined) return { ...head, ...(await readLength(reader, Number(length))), framing: 'length' }
    const body = await reader.toEnd()
    return { ...head, body, trailers: [], complete: (await reader.ended) === 'end', framing: 'close' }
  }
  const send = (data: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      if (typeof data === 'string') socket.write(data, 'latin1', () => resolve())
      else socket.write(data, () => resolve())
    })
  return {
    socket,
    reader,
    ended: reader.ended,
    send,
    get: async (target, ...lines) => {
      await send(['GET ' + target + ' HTTP/1.1', 'Host: proxy.test', ...lines, '', ''].join('\r\n'))
      return readResponse()
    },
    readHead,
    readResponse,
    end: () => {
      socket.end()
    },
    destroy: () => {
      socket.destroy()
    },
  }
}
