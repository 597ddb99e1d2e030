/** The first octets of a body on their way past, within the memory that all captures of a recorder share. */

export interface BodyMemory {
  /** Octets that captures may still take. */
  left: number
}

/** Of what is kept, at first. Unit: bytes. */
const MIN_CAPTURE_BYTES = 1_024

export class BodyCapture {
  readonly #memory: BodyMemory
  readonly #maxBytes: number
  #octets: Uint8Array = new Uint8Array(0)
  #kept = 0
  /** Octets that passed. */
  bytes = 0
  /** The memory was used up before `maxBytes` were kept. */
  isShort = false

  constructor(memory: BodyMemory, maxBytes: number) {
    this.#memory = memory
    this.#maxBytes = maxBytes
  }

  /** `octets` are borrowed. */
  write(octets: Uint8Array): void {
    this.bytes += octets.length
    if (this.isShort) return
    const taken = Math.min(octets.length, this.#maxBytes - this.#kept)
    if (taken <= 0 || !this.#reserve(this.#kept + taken)) return
    this.#octets.set(taken === octets.length ? octets : octets.subarray(0, taken), this.#kept)
    this.#kept += taken
  }

  /** What was kept; the capture's memory is free for others from now on. */
  take(): Uint8Array {
    const kept = this.#octets.subarray(0, this.#kept)
    this.#memory.left += this.#octets.length
    this.#octets = new Uint8Array(0)
    this.#kept = 0
    this.isShort = true
    return kept
  }

  /** In one piece that doubles, so that a body that comes octet by octet costs no more than another. */
  #reserve(needed: number): boolean {
    const held = this.#octets.length
    if (needed <= held) return true
    const size = Math.min(Math.max(needed, 2 * held, MIN_CAPTURE_BYTES), this.#maxBytes)
    if (size - held > this.#memory.left) {
      this.isShort = true
      return false
    }
    this.#memory.left -= size - held
    const larger = new Uint8Array(size)
    larger.set(this.#octets.subarray(0, this.#kept))
    this.#octets = larger
    return true
  }
}
