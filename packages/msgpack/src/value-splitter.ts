/** Cuts a stream at the ends of values, so that each piece can be decoded as a whole. */
import { DecodeError } from './errors.ts'
import { ValueScanner } from './scan.hot.ts'

const DEFAULT_MAX_BUFFERED_BYTES = 256 * 1024 * 1024

/** One or more complete values. */
export interface Piece {
  readonly bytes: Uint8Array
  /** Place of the first byte in the stream. */
  readonly base: number
}

/**
 * Takes chunks and gives pieces: what is complete in a chunk as a view on it, what began in an earlier chunk as a copy.
 * Linear in the bytes, however they are cut. Holds the bytes of one value, and never memory for bytes that a length only
 * claims.
 */
export class ValueSplitter {
  readonly #scanner = new ValueScanner()
  readonly #maxBufferedBytes: number
  #held: Uint8Array = new Uint8Array(0)
  #heldBytes = 0
  #offset: number

  /** `offset` is the place in the stream of the first byte to come. */
  constructor(maxBufferedBytes: number = DEFAULT_MAX_BUFFERED_BYTES, offset: number = 0) {
    this.#maxBufferedBytes = maxBufferedBytes
    this.#offset = offset
  }

  /** Bytes of a value that is not complete. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Bytes taken so far. */
  get offset(): number {
    return this.#offset
  }

  /**
   * The pieces that `chunk` completes, views on `chunk` or copies. Throws a {@link DecodeError} at a reserved byte, after
   * the values before it, or for a value of more than `maxBufferedBytes`; nothing may be pushed after that.
   */
  *push(chunk: Uint8Array): Generator<Piece, void, undefined> {
    const base = this.#offset
    this.#offset += chunk.length
    let at = 0
    if (this.#heldBytes > 0) {
      const end = this.#scanner.feed(chunk, 0, chunk.length, base)
      this.#hold(chunk, 0, end < 0 ? chunk.length : end, base)
      if (end < 0) return
      yield { bytes: this.#held.subarray(0, this.#heldBytes), base: base + end - this.#heldBytes }
      // The piece belongs to the receiver now.
      this.#held = new Uint8Array(0)
      this.#heldBytes = 0
      at = end
    }
    const start = at
    while (at < chunk.length) {
      let end: number
      try {
        end = this.#scanner.feed(chunk, at, chunk.length, base)
      } catch (error) {
        if (at > start) yield { bytes: chunk.subarray(start, at), base: base + start }
        throw error
      }
      if (end < 0) break
      at = end
    }
    if (at > start) yield { bytes: chunk.subarray(start, at), base: base + start }
    if (at < chunk.length) this.#hold(chunk, at, chunk.length, base)
  }

  /** Takes note of `bytes` that hold complete values and were read by someone else. Requires that nothing is held. */
  pass(bytes: number): void {
    this.#offset += bytes
  }

  /** Throws when the stream ended inside a value. */
  end(): void {
    if (this.#heldBytes === 0) return
    throw new DecodeError(
      'truncated',
      `Insufficient data: the stream ended after ${this.#heldBytes} bytes of the value that begins`,
      this.#offset - this.#heldBytes,
    )
  }

  #hold(chunk: Uint8Array, start: number, end: number, base: number): void {
    const size = this.#heldBytes + end - start
    if (size > this.#maxBufferedBytes) {
      throw new DecodeError(
        'limit',
        `a value of more than ${this.#maxBufferedBytes} bytes (maxBufferedBytes)`,
        base + start - this.#heldBytes,
      )
    }
    if (size > this.#held.length) {
      const larger = new Uint8Array(Math.max(size, Math.min(this.#held.length * 2, this.#maxBufferedBytes)))
      larger.set(this.#held.subarray(0, this.#heldBytes))
      this.#held = larger
    }
    this.#held.set(chunk.subarray(start, end), this.#heldBytes)
    this.#heldBytes = size
  }
}
