import type { ByteSink } from '@prexy/bytes/sink'

/** How much is gathered before the sink asks for a pause, unless said otherwise. */
const DEFAULT_PIECE_BYTES = 65_536

/**
 * Gathers the many small pieces of a rewriter into one, for receivers that take few large ones: streams and files. Asks
 * for a pause when `pieceBytes` are there; whoever wired it up then takes `bytes`, calls `clear` and goes on.
 */
export class GatherSink implements ByteSink {
  readonly #pieceBytes: number
  #buffer: Uint8Array
  #length: number

  constructor(pieceBytes: number = DEFAULT_PIECE_BYTES) {
    this.#pieceBytes = pieceBytes
    this.#buffer = new Uint8Array(0)
    this.#length = 0
  }

  write(chunk: Uint8Array): boolean {
    const needed = this.#length + chunk.length
    if (needed > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(needed, Math.min(this.#buffer.length * 2, this.#pieceBytes), 4_096))
      larger.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = larger
    }
    this.#buffer.set(chunk, this.#length)
    this.#length = needed
    return needed < this.#pieceBytes
  }

  /** What was gathered; valid until `clear`, and no longer. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
    // One piece larger than usual is not paid for until the end.
    if (this.#buffer.length > 2 * this.#pieceBytes) this.#buffer = new Uint8Array(0)
  }
}
