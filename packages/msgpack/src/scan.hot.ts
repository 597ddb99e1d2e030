/**
 * Where values end, in input that comes in pieces: a machine that steps over heads, lengths and payloads and may be
 * interrupted between any two bytes. It keeps no byte and makes no value.
 */
import { DecodeError } from './errors.ts'
import { lengthBytesOf } from './skip.hot.ts'
import { TOKEN_BYTES, TOKEN_PARTS } from './tokens.ts'

/** Beyond it `pending` would no longer count exactly; no input has so many values. */
const MOST_PENDING = 2 ** 52

/** @internal */
export class ValueScanner {
  /** Values that are still to come before the current one is complete; 0 between values. */
  pending = 0
  /** Payload bytes that are still to come. */
  payload = 0
  /** The head whose length is being read, and the bytes of it that are still to come. */
  head = 0
  lengthLeft = 0
  length = 0

  /** Whether a value has begun and not ended. */
  get isInside(): boolean {
    return this.pending !== 0 || this.payload !== 0 || this.lengthLeft !== 0
  }

  /**
   * The offset after the value that began before or begins at `start`, or -1 when it goes on beyond `end`.
   * `base + start` is the place of `start` in the stream. Throws for a reserved byte; the scanner is then of no more use.
   */
  feed(bytes: Uint8Array, start: number, end: number, base: number): number {
    let at = start
    if (!this.isInside) this.pending = 1
    for (;;) {
      if (this.payload > 0) {
        const step = Math.min(this.payload, end - at)
        at += step
        this.payload -= step
        if (this.payload > 0) return -1
      }
      if (this.lengthLeft > 0) {
        at = this.readLength(bytes, at, end)
        if (this.lengthLeft > 0) return -1
        continue
      }
      if (this.pending === 0) return at
      if (at >= end) return -1
      const head = bytes[at++]
      const size = TOKEN_BYTES[head]
      if (size !== 0) {
        this.payload = size - 1
        this.pending += TOKEN_PARTS[head] - 1
      } else {
        this.lengthLeft = lengthBytesOf(head)
        if (this.lengthLeft === 0) throw new DecodeError('reserved-byte', 'Unrecognized type byte: 0xc1', base + at - 1)
        this.head = head
        this.length = 0
      }
    }
  }

  readLength(bytes: Uint8Array, start: number, end: number): number {
    let at = start
    while (this.lengthLeft > 0 && at < end) {
      this.length = this.length * 256 + bytes[at++]
      this.lengthLeft--
    }
    if (this.lengthLeft > 0) return at
    const head = this.head
    this.pending--
    if (head < 0xdc) this.payload = head >= 0xc7 && head <= 0xc9 ? this.length + 1 : this.length
    else this.pending = Math.min(this.pending + (head < 0xde ? this.length : this.length * 2), MOST_PENDING)
    return at
  }
}
