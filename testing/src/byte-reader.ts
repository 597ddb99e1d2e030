/** Reads a socket in the order that a test asks for, instead of the order in which data events come. */

import type { Socket } from 'node:net'

/** How a peer's side ended: with FIN, or with RST or another error. */
export type PeerEnd = 'end' | 'reset'

export class ByteReader {
  readonly #socket: Socket
  #buffered: Buffer = Buffer.alloc(0)
  #peerEnd: PeerEnd | undefined = undefined
  #wake: (() => void) | undefined = undefined
  /** Octets received so far. */
  receivedBytes = 0
  /** Resolves when the peer's side has ended; never rejects. */
  readonly ended: Promise<PeerEnd>

  constructor(socket: Socket) {
    this.#socket = socket
    this.ended = new Promise((resolve) => {
      const finish = (how: PeerEnd): void => {
        this.#peerEnd ??= how
        resolve(this.#peerEnd)
        this.#wake?.()
      }
      socket.on('data', (chunk: Buffer) => {
        this.receivedBytes += chunk.length
        this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk])
        this.#wake?.()
      })
      // When data and RST arrive together, libuv reports an end of file; a reset connection has no peer any more, one
      // whose peer ended its side has, as long as ours is open.
      socket.on('end', () => finish(socket.remoteAddress === undefined && !socket.writableEnded ? 'reset' : 'end'))
      socket.on('error', () => finish('reset'))
      socket.on('close', () => finish('reset'))
    })
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Everything up to and including `delimiter`; undefined when the peer's side ends before. */
  async until(delimiter: string): Promise<Buffer | undefined> {
    for (let from = 0; ; ) {
      const at = this.#buffered.indexOf(delimiter, from, 'latin1')
      if (at !== -1) return this.#take(at + delimiter.length)
      from = Math.max(0, this.#buffered.length - delimiter.length)
      if (!(await this.#more())) return undefined
    }
  }

  /** Exactly `length` octets, or fewer when the peer's side ends before. */
  async exactly(length: number): Promise<Buffer> {
    while (this.#buffered.length < length) if (!(await this.#more())) break
    return this.#take(Math.min(length, this.#buffered.length))
  }

  /** At least one octet; none when the peer's side has ended. */
  async some(): Promise<Buffer> {
    while (this.#buffered.length === 0) if (!(await this.#more())) break
    return this.#take(this.#buffered.length)
  }

  /** Everything until the peer's side ends. */
  async toEnd(): Promise<Buffer> {
    const parts: Buffer[] = []
    do parts.push(this.#take(this.#buffered.length))
    while (await this.#more())
    return Buffer.concat(parts)
  }

  #take(length: number): Buffer {
    const taken = this.#buffered.subarray(0, length)
    this.#buffered = this.#buffered.subarray(length)
    return taken
  }

  /** Waits for octets; false when none will come. */
  async #more(): Promise<boolean> {
    const before = this.receivedBytes
    while (this.receivedBytes === before) {
      if (this.#peerEnd !== undefined) return false
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return true
  }
}

export interface RawMessage {
  /** The first line, without its line end. */
  readonly startLine: string
  /** The head as received, with its empty line. */
  readonly head: string
  /** Values of all lines of that name, in order; the name in lower case. */
  values(lowerName: string): string[]
  /** The first of them. */
  value(lowerName: string): string | undefined
}

/** Takes a head apart the plain way; not our parser, which is what tests test. */
export function parseHead(head: string): RawMessage {
  const [startLine, ...lines] = head.slice(0, -4).split('\r\n')
  const values = (lowerName: string): string[] =>
    lines
      .filter((line) => line.slice(0, line.indexOf(':')).toLowerCase() === lowerName)
      .map((line) => line.slice(line.indexOf(':') + 1).trim())
  return { startLine, head, values, value: (lowerName) => values(lowerName).at(0) }
}

export interface RawBody {
  readonly body: Buffer
  /** Chunked only: the lines of the trailer section. */
  readonly trailers: readonly string[]
  /** False when the peer's side ended before the framing said so. */
  readonly complete: boolean
}

/** Reads a chunked body, the end of it included. */
export async function readChunked(reader: ByteReader): Promise<RawBody> {
  const parts: Buffer[] = []
  const broken = (): RawBody => ({ body: Buffer.concat(parts), trailers: [], complete: false })
  for (;;) {
    const line = await reader.until('\r\n')
    if (line === undefined) return broken()
    const size = Number.parseInt(line.toString('latin1'), 16)
    if (size === 0) break
    const data = await reader.exactly(size)
    parts.push(data)
    if (data.length < size || (await reader.exactly(2)).length < 2) return broken()
  }
  const trailers: string[] = []
  for (;;) {
    const line = await reader.until('\r\n')
    if (line === undefined) return broken()
    if (line.length === 2) return { body: Buffer.concat(parts), trailers, complete: true }
    trailers.push(line.toString('latin1').trimEnd())
  }
}

export async function readLength(reader: ByteReader, length: number): Promise<RawBody> {
  const body = await reader.exactly(length)
  return { body, trailers: [], complete: body.length === length }
}
