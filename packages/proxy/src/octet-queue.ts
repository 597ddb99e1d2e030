/** A chunk up to this long is copied behind the ones before it. Unit: bytes. */
const SMALL_BYTES = 1_024
/** Where small chunks are joined. Unit: bytes. */
const BLOCK_BYTES = 4_096

const NO_OCTETS = new Uint8Array(0)

/**
 * Octets that wait to be parsed, in the order in which they came. Small chunks are joined, so that a peer that sends
 * octet by octet costs neither an object per octet nor time that is more than linear.
 *
 * Ownership: a chunk put in belongs to the queue, one taken out to the taker; no octet of it is written again.
 */
export class OctetQueue {
  readonly #chunks: Uint8Array[] = []
  /** Where small chunks are joined; `#joined` is what it holds of the last chunk, and always at its end. */
  #block = NO_OCTETS
  #blockEnd = 0
  #joined = NO_OCTETS
  /** Octets that wait. */
  bytes = 0

  /** Whether no chunk waits, not even an empty rest. */
  get empty(): boolean {
    return this.#chunks.length === 0
  }

  /** Puts a chunk last. */
  push(chunk: Uint8Array): void {
    this.bytes += chunk.length
    if (chunk.length > SMALL_BYTES) {
      this.#chunks.push(chunk)
      return
    }
    const joins = this.#joined.length > 0 && this.#chunks.at(-1) === this.#joined
    if (joins && this.#blockEnd + chunk.length <= BLOCK_BYTES) {
      const start = this.#blockEnd - this.#joined.length
      this.#block.set(chunk, this.#blockEnd)
      this.#blockEnd += chunk.length
      this.#joined = this.#block.subarray(start, this.#blockEnd)
      this.#chunks[this.#chunks.length - 1] = this.#joined
      return
    }
    this.#block = new Uint8Array(BLOCK_BYTES)
    this.#block.set(chunk, 0)
    this.#blockEnd = chunk.length
    this.#joined = this.#block.subarray(0, this.#blockEnd)
    this.#chunks.push(this.#joined)
  }

  /** Puts back, first, what is left of a chunk that was taken. An empty rest counts: a message may end with it. */
  putBack(rest: Uint8Array): void {
    this.bytes += rest.length
    this.#chunks.unshift(rest)
  }

  /** Takes the first chunk, of any length; undefined when nothing waits. */
  take(): Uint8Array | undefined {
    const chunk = this.#chunks.shift()
    if (chunk !== undefined) this.bytes -= chunk.length
    return chunk
  }

  clear(): void {
    this.#chunks.length = 0
    this.#block = NO_OCTETS
    this.#joined = NO_OCTETS
    this.bytes = 0
  }
}
