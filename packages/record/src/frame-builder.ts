/** Puts events together to frames, in memory that is written as it is. */
import { MARK_BYTES, MAX_FRAME_BYTES, writeMark } from './frames.ts'
import type { IndexEntry } from './segment-header.ts'

/** A frame is closed when the next event would make it longer than this; one event may be longer. Unit: bytes. */
export const FRAME_BYTES: number = 64 * 1024

/** A closed frame; its mark is written when its place is known. */
export class ClosedFrame {
  readonly bytes: Uint8Array
  readonly entry: Omit<IndexEntry, 'offset'>

  constructor(bytes: Uint8Array, entry: Omit<IndexEntry, 'offset'>) {
    this.bytes = bytes
    this.entry = entry
  }

  /** The bytes to write at `offset`. */
  sealed(offset: number, salt: number): Uint8Array {
    const { bytes, entry } = this
    writeMark(bytes, 0, { kind: 'events', count: entry.count, offset, salt }, MARK_BYTES, bytes.length)
    return bytes
  }
}

export class FrameBuilder {
  #bytes: Uint8Array = new Uint8Array(0)
  #end = MARK_BYTES
  #count = 0
  #firstSequence = 0
  #lastSequence = 0
  #fromMs = 0
  #toMs = 0

  get count(): number {
    return this.#count
  }

  /** Bytes so far. */
  get bytes(): number {
    return this.#count === 0 ? 0 : this.#end
  }

  /** Whether an event of so many bytes goes into this frame; the first one always does, up to `MAX_FRAME_BYTES`. */
  fits(bytes: number): boolean {
    return this.#count === 0 ? bytes <= MAX_FRAME_BYTES : this.#end + bytes <= this.#bytes.length
  }

  /** Copies an event, which has to fit. */
  add(event: Uint8Array, sequence: number, startedAtMs: number): void {
    if (this.#count === 0) this.#begin(event.length, sequence, startedAtMs)
    const start = this.#end
    this.#end += event.length
    this.#bytes.set(event, start)
    this.#count++
    this.#lastSequence = sequence
    this.#fromMs = Math.min(this.#fromMs, startedAtMs)
    this.#toMs = Math.max(this.#toMs, startedAtMs)
  }

  /** The frame, of one event at least; the builder begins the next. */
  close(): ClosedFrame {
    const frame = new ClosedFrame(this.#bytes.subarray(0, this.#end), {
      count: this.#count,
      firstSequence: this.#firstSequence,
      lastSequence: this.#lastSequence,
      fromMs: this.#fromMs,
      toMs: this.#toMs,
    })
    this.#count = 0
    return frame
  }

  #begin(bytes: number, sequence: number, startedAtMs: number): void {
    this.#bytes = new Uint8Array(Math.max(FRAME_BYTES, MARK_BYTES + bytes))
    this.#end = MARK_BYTES
    this.#firstSequence = sequence
    this.#fromMs = startedAtMs
    this.#toMs = startedAtMs
  }
}
