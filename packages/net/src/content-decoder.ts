/**
 * Streaming decoders for content codings (RFC 9110 §8.4.1) over node:zlib.
 *
 * gzip is framed here and only its deflate data goes to zlib, because zlib's own gunzip throws away output that came
 * with trailing junk and cannot tell junk from a broken member. The frames of zstd are followed, because the engine
 * takes a truncated one for complete. One write is in flight at a time, so that what an
 * engine did not consume is the tail of the chunk it was given last.
 */

import {
  crc32,
  createBrotliDecompress,
  createInflate,
  createInflateRaw,
  type BrotliDecompress,
  type Inflate,
  type InflateRaw,
} from 'node:zlib'
import { GzipHeaderReader } from './gzip-header.ts'
import { createZstdDecoder, hasZstd } from './zstd.ts'
import { ZstdFrameReader } from './zstd-frame.ts'

/** Codings that can be decoded and made; `x-gzip` is gzip. */
export type ContentCoding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** What this runtime can decode and make, best compression first. */
export const CONTENT_CODINGS: readonly ContentCoding[] = hasZstd
  ? ['br', 'zstd', 'gzip', 'deflate']
  : ['br', 'gzip', 'deflate']

/**
 * `truncated`: the input ended inside the coded data. `corrupt`: it does not decode, or its checksum is wrong.
 * `too-long`: more than `maxDecodedBytes` came out. `too-many-members`: there are more than {@link MAX_CODED_MEMBERS}.
 */
export type CodingFault = 'truncated' | 'corrupt' | 'too-long' | 'too-many-members'

/**
 * gzip members or zstd frames of one body. Each takes an engine of its own, about 100 µs, however few octets it has,
 * which `maxDecodedBytes` does not see.
 */
export const MAX_CODED_MEMBERS = 1_024

/** Calls come from the event loop, never from inside a call to the decoder. After `onEnd` or `onFault` none follows. */
export interface DecoderHandler {
  /** Decoded bytes; the receiver may keep them. */
  onOutput(chunk: Uint8Array): void
  /** Everything written so far is decoded; more may be written. */
  onIdle(): void
  /** The coded data is complete. `trailingBytes` of junk followed it, which browsers tolerate. */
  onEnd(trailingBytes: number): void
  onFault(fault: CodingFault): void
}

/** A `write` returns false while more than this waits to be decoded. Unit: bytes. */
const DECODER_HIGH_WATER_BYTES = 65_536

/** Chunks that wait are joined up to this size. Unit: bytes. */
const JOINED_BYTES = 16_384

/**
 * Output is made in pieces of this size, each a trip to the thread pool. Unit: bytes. Under back-pressure at most two
 * of them exist.
 */
const OUTPUT_BYTES = 65_536
const ENGINE_OPTIONS = { chunkSize: OUTPUT_BYTES }

type Engine = Inflate | InflateRaw | BrotliDecompress

type State =
  /** gzip: in a member's header. */
  | 'gzip-header'
  /** gzip: in the eight bytes of checksum and length after a member's data. */
  | 'gzip-trailer'
  /** deflate: the first two bytes decide between zlib's format (RFC 1950) and bare deflate data (RFC 1951). */
  | 'deflate-sniff'
  | 'zstd-frame'
  | 'data'
  /** After the coded data: what comes is counted and dropped. */
  | 'junk'
  | 'closed'

export class ContentDecoder {
  readonly #coding: ContentCoding
  readonly #handler: DecoderHandler
  readonly #maxDecodedBytes: number
  #state: State
  #engine: Engine | undefined = undefined
  /** Chunks not given to the engine yet, oldest first. */
  readonly #queue: Uint8Array[] = []
  #queuedBytes = 0
  /** The chunk that the engine works on. */
  #current: Uint8Array | undefined = undefined
  /** What the engine was given so far. */
  #fedBytes = 0
  /** First bytes that do not tell yet what they begin: one of deflate, up to three of a zstd frame. */
  #sniffed: Uint8Array | undefined = undefined
  #inputEnded = false
  #ending = false
  #paused = false
  #receivedBytes = 0
  #decodedBytes = 0
  #junkBytes = 0
  readonly #frame = new ZstdFrameReader()
  // gzip framing
  readonly #header = new GzipHeaderReader()
  /** Whole gzip members or zstd frames so far. */
  #members = 0
  #crc = 0
  #memberBytes = 0
  readonly #trailer = new Uint8Array(8)
  #trailerFilled = 0

  constructor(coding: ContentCoding, maxDecodedBytes: number, handler: DecoderHandler) {
    this.#coding = coding
    this.#handler = handler
    this.#maxDecodedBytes = maxDecodedBytes
    this.#state =
      coding === 'gzip'
        ? 'gzip-header'
        : coding === 'deflate'
          ? 'deflate-sniff'
          : coding === 'zstd'
            ? 'zstd-frame'
            : 'data'
  }

  /** Takes a chunk, which belongs to the decoder from now on. False: wait for `onIdle`. */
  write(chunk: Uint8Array): boolean {
    if (this.#state === 'closed' || chunk.length === 0) return true
    this.#receivedBytes += chunk.length
    this.#queue.push(chunk)
    this.#queuedBytes += chunk.length
    if (this.#current === undefined) queueMicrotask(this.#pump)
    return this.#queuedBytes < DECODER_HIGH_WATER_BYTES
  }

  /** No more input comes. Coded data of no bytes at all decodes to nothing. */
  end(): void {
    this.#inputEnded = true
    if (this.#current === undefined) queueMicrotask(this.#pump)
  }

  /** Output stops after at most one more piece. */
  pause(): void {
    this.#paused = true
    this.#engine?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#engine?.resume()
    if (this.#current === undefined) queueMicrotask(this.#pump)
  }

  /** Frees the engine; no call to the handler follows. */
  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#engine?.destroy()
    this.#engine = undefined
    this.#queue.length = 0
    this.#queuedBytes = 0
  }

  readonly #pump = (): void => {
    while (this.#state !== 'closed' && this.#current === undefined && !this.#ending && !this.#paused) {
      const chunk = this.#nextChunk()
      if (chunk === undefined) {
        if (this.#inputEnded) this.#finish()
        else this.#handler.onIdle()
        return
      }
      this.#queuedBytes -= chunk.length
      this.#take(chunk)
    }
  }

  /** The next chunk, joined with small ones behind it: each one given to the engine is a trip to the thread pool. */
  #nextChunk(): Uint8Array | undefined {
    const queue = this.#queue
    const chunk = queue.shift()
    if (chunk === undefined || queue.length === 0) return chunk
    let bytes = chunk.length
    let count = 0
    while (count < queue.length && bytes + queue[count].length <= JOINED_BYTES) bytes += queue[count++].length
    return count === 0 ? chunk : Buffer.concat([chunk, ...queue.splice(0, count)], bytes)
  }

  #take(chunk: Uint8Array): void {
    switch (this.#state) {
      case 'gzip-header': {
        const used = this.#header.read(chunk)
        if (this.#header.state === 'more') return
        if (this.#header.state === 'invalid') {
          if (this.#members === 0) return this.#fail('corrupt')
          // The bytes of a started header in earlier chunks are junk as well; those of this chunk are counted below.
          this.#junkBytes += this.#header.length - used
          this.#state = 'junk'
          return this.#unread(chunk)
        }
        if (this.#members === MAX_CODED_MEMBERS) return this.#fail('too-many-members')
        this.#crc = 0
        this.#memberBytes = 0
        this.#start(createInflateRaw(ENGINE_OPTIONS))
        return this.#unread(chunk.subarray(used))
      }
      case 'gzip-trailer': {
        const used = Math.min(8 - this.#trailerFilled, chunk.length)
        this.#trailer.set(chunk.subarray(0, used), this.#trailerFilled)
        this.#trailerFilled += used
        if (this.#trailerFilled === 8) this.#endMember()
        return this.#unread(chunk.subarray(used))
      }
      case 'deflate-sniff': {
        const input = this.#sniffed === undefined ? chunk : Buffer.concat([this.#sniffed, chunk])
        if (input.length < 2) {
          this.#sniffed = input
          return
        }
        const zlibFormat = (input[0] & 0x0f) === 8 && ((input[0] << 8) | input[1]) % 31 === 0
        this.#start(zlibFormat ? createInflate(ENGINE_OPTIONS) : createInflateRaw(ENGINE_OPTIONS))
        return this.#feed(input)
      }
      case 'data':
        if (this.#engine === undefined) this.#start(createBrotliDecompress(ENGINE_OPTIONS))
        return this.#feed(chunk)
      case 'zstd-frame': {
        const used = this.#frame.read(chunk)
        if (this.#frame.state === 'invalid') {
          if (this.#members === 0) return this.#fail('corrupt')
          this.#junkBytes += this.#frame.length - used
          this.#state = 'junk'
          return this.#unread(chunk)
        }
        let input = chunk.subarray(0, used)
        if (this.#engine === undefined) {
          if (this.#sniffed !== undefined) input = Buffer.concat([this.#sniffed, input])
          this.#sniffed = this.#frame.beyondMagic ? undefined : input
          if (!this.#frame.beyondMagic) return
          if (this.#members === MAX_CODED_MEMBERS) return this.#fail('too-many-members')
          this.#start(createZstdDecoder(OUTPUT_BYTES))
          this.#state = 'zstd-frame'
        }
        this.#unread(chunk.subarray(used))
        return this.#feed(input)
      }
      case 'junk':
        this.#junkBytes += chunk.length
        return
      case 'closed':
        return
    }
  }

  #unread(rest: Uint8Array): void {
    if (rest.length === 0) return
    this.#queue.unshift(rest)
    this.#queuedBytes += rest.length
  }

  #start(engine: Engine): void {
    this.#engine = engine
    this.#fedBytes = 0
    this.#state = 'data'
    engine.on('data', (output: Uint8Array) => {
      if (this.#engine === engine) this.#output(output)
    })
    engine.on('end', () => {
      if (this.#engine === engine) this.#endOfData(engine.bytesWritten)
    })
    engine.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#engine !== engine) return
      this.#fail(error.code === 'Z_BUF_ERROR' || this.#ending ? 'truncated' : 'corrupt')
    })
  }

  #feed(chunk: Uint8Array): void {
    const engine = this.#engine
    if (engine === undefined) return
    this.#current = chunk
    this.#fedBytes += chunk.length
    engine.write(chunk, () => {
      // Not after an end of data inside the chunk, which 'end' tells, before this call or, under back-pressure, after it:
      // the rest of the chunk is still needed then.
      if (this.#engine !== engine || this.#current !== chunk || engine.bytesWritten < this.#fedBytes) return
      this.#current = undefined
      if (this.#state === 'zstd-frame' && this.#frame.state === 'done') {
        this.#ending = true
        engine.end()
      } else {
        this.#pump()
      }
    })
  }

  #output(output: Uint8Array): void {
    this.#decodedBytes += output.length
    if (this.#decodedBytes > this.#maxDecodedBytes) return this.#fail('too-long')
    if (this.#coding === 'gzip') {
      this.#crc = crc32(output, this.#crc)
      this.#memberBytes += output.length
    }
    this.#handler.onOutput(output)
  }

  #endOfData(consumedBytes: number): void {
    this.#engine?.destroy()
    this.#engine = undefined
    this.#ending = false
    const chunk = this.#current
    this.#current = undefined
    if (chunk !== undefined) this.#unread(chunk.subarray(chunk.length - (this.#fedBytes - consumedBytes)))
    this.#trailerFilled = 0
    if (this.#state === 'zstd-frame') {
      this.#members++
      this.#frame.reset()
    } else {
      this.#state = this.#coding === 'gzip' ? 'gzip-trailer' : 'junk'
    }
    this.#pump()
  }

  #endMember(): void {
    const view = new DataView(this.#trailer.buffer)
    // RFC 1952 §2.3.1: CRC-32 and the length modulo 2^32, least significant octet first.
    const whole = view.getUint32(0, true) === this.#crc && view.getUint32(4, true) === this.#memberBytes % 2 ** 32
    if (!whole) return this.#fail('corrupt')
    this.#members++
    this.#header.reset()
    this.#state = 'gzip-header'
  }

  #finish(): void {
    switch (this.#state) {
      case 'gzip-header':
        // Nothing at all or whole members; a begun header is that of a member cut off, since junk has been told from it.
        if (this.#header.length > 0) return this.#fail('truncated')
        return this.#complete()
      case 'deflate-sniff':
        if (this.#receivedBytes > 0) return this.#fail('truncated')
        return this.#complete()
      case 'gzip-trailer':
        return this.#fail('truncated')
      case 'zstd-frame':
        if (this.#frame.length > 0) return this.#fail('truncated')
        return this.#complete()
      case 'data':
        if (this.#engine === undefined) return this.#complete()
        this.#ending = true
        this.#engine.end()
        return
      case 'junk':
        return this.#complete()
      case 'closed':
        return
    }
  }

  #complete(): void {
    this.close()
    this.#handler.onEnd(this.#junkBytes)
  }

  #fail(fault: CodingFault): void {
    this.close()
    this.#handler.onFault(fault)
  }
}
