/**
 * Streaming encoders for content codings over node:zlib.
 *
 * Every piece given to zlib is flushed, so that what the origin sent leaves at once (server-sent events, pages that
 * are made as they are read). Pieces that arrive while zlib works are collected into one, so a fast origin pays for
 * few flushes: at most one per {@link STAGE_BYTES} or per trip to the thread pool.
 */

import {
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  type BrotliCompress,
  type Deflate,
  type Gzip,
} from 'node:zlib'
import type { ContentCoding } from './content-decoder.ts'
import { createZstdEncoder } from './zstd.ts'

/** Levels for bodies made on the fly: near the knee where more time stops buying much. */
export const ENCODER_LEVELS: Readonly<Record<ContentCoding, number>> = { gzip: 4, deflate: 4, br: 4, zstd: 3 }

/** Calls come from the event loop, never from inside a call to the encoder. */
export interface EncoderHandler {
  /** Encoded bytes; the receiver may keep them. */
  onOutput(chunk: Uint8Array): void
  /** Everything written so far is encoded and handed over; more may be written. */
  onIdle(): void
  onEnd(): void
  /** The runtime gave up (no memory); input is never at fault. No call follows. */
  onFault(): void
}

/** A `write` returns false while at least this much waits to be encoded. Unit: bytes. */
const STAGE_BYTES = 65_536

const OUTPUT_BYTES = 32_768

type Engine = Gzip | Deflate | BrotliCompress

function createEngine(coding: ContentCoding, level: number): Engine {
  switch (coding) {
    case 'gzip':
      return createGzip({ level, chunkSize: OUTPUT_BYTES, flush: constants.Z_SYNC_FLUSH })
    case 'deflate':
      return createDeflate({ level, chunkSize: OUTPUT_BYTES, flush: constants.Z_SYNC_FLUSH })
    case 'br':
      return createBrotliCompress({
        chunkSize: OUTPUT_BYTES,
        flush: constants.BROTLI_OPERATION_FLUSH,
        params: { [constants.BROTLI_PARAM_QUALITY]: level },
      })
    case 'zstd':
      return createZstdEncoder(level, OUTPUT_BYTES)
  }
}

export class ContentEncoder {
  readonly #handler: EncoderHandler
  readonly #engine: Engine
  /** Input since the last piece was given to zlib. */
  #stage: Uint8Array | undefined = undefined
  #staged = 0
  #busy = false
  #scheduled = false
  #ended = false
  #closed = false

  /** `level`: as the coding counts; default that of {@link ENCODER_LEVELS}. */
  constructor(coding: ContentCoding, handler: EncoderHandler, level: number = ENCODER_LEVELS[coding]) {
    this.#handler = handler
    this.#engine = createEngine(coding, level)
    this.#engine.on('data', (output: Uint8Array) => {
      if (!this.#closed) handler.onOutput(output)
    })
    this.#engine.on('end', () => {
      if (this.#closed) return
      this.close()
      handler.onEnd()
    })
    this.#engine.on('error', () => {
      if (this.#closed) return
      this.close()
      handler.onFault()
    })
  }

  /** Takes the whole chunk, which is borrowed until `write` returns. False: wait for `onIdle`. */
  write(chunk: Uint8Array): boolean {
    if (this.#closed || chunk.length === 0) return true
    const needed = this.#staged + chunk.length
    if (this.#stage === undefined || this.#stage.length < needed) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(STAGE_BYTES, Math.max(4_096, 2 * needed))))
      if (this.#stage !== undefined) grown.set(this.#stage.subarray(0, this.#staged))
      this.#stage = grown
    }
    this.#stage.set(chunk, this.#staged)
    this.#staged = needed
    this.#schedule()
    return this.#staged < STAGE_BYTES
  }

  get idle(): boolean {
    return !this.#busy && !this.#scheduled
  }

  end(): void {
    this.#ended = true
    this.#schedule()
  }

  /** Output stops after at most one more piece. */
  pause(): void {
    this.#engine.pause()
  }

  resume(): void {
    this.#engine.resume()
  }

  /** Frees the engine; no call to the handler follows. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#engine.destroy()
    this.#stage = undefined
    this.#staged = 0
  }

  #schedule(): void {
    if (this.#busy || this.#scheduled) return
    // Deferred, so that all pieces of one upstream chunk go to zlib together.
    this.#scheduled = true
    queueMicrotask(this.#pump)
  }

  readonly #pump = (): void => {
    this.#scheduled = false
    if (this.#closed || this.#busy) return
    if (this.#stage !== undefined && this.#staged > 0) {
      const piece = this.#stage.subarray(0, this.#staged)
      this.#stage = undefined
      this.#staged = 0
      this.#busy = true
      // The last piece is not flushed by itself: ending the stream does that.
      this.#engine.write(piece, this.#onTaken)
      return
    }
    if (this.#ended) {
      this.#busy = true
      this.#engine.end()
    } else {
      this.#handler.onIdle()
    }
  }

  readonly #onTaken = (): void => {
    this.#busy = false
    this.#pump()
  }
}
