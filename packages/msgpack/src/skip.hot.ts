/** Stepping over values without making them. */
import { DecodeError } from './errors.ts'
import { TOKEN_BYTES, TOKEN_PARTS } from './tokens.ts'

/**
 * The offset after the value at `start`, which is checked to be complete in `bytes[start, end)` and to hold no reserved
 * byte; `base` is added to offsets in errors. O(bytes), and no memory: nesting of any depth is a count of values that are still to come.
 */
export function skipValue(bytes: Uint8Array, view: DataView, start: number, end: number, base: number): number {
  let at = start
  let pending = 1
  do {
    if (at >= end) throw truncated(base + start)
    const head = bytes[at]
    const size = TOKEN_BYTES[head]
    if (size !== 0) {
      at += size
      pending += TOKEN_PARTS[head] - 1
    } else {
      const lengthBytes = lengthBytesOf(head)
      if (lengthBytes === 0) throw new DecodeError('reserved-byte', 'Unrecognized type byte: 0xc1', base + at)
      if (at + 1 + lengthBytes > end) throw truncated(base + start)
      const length =
        lengthBytes === 1 ? bytes[at + 1] : lengthBytes === 2 ? view.getUint16(at + 1) : view.getUint32(at + 1)
      at += 1 + lengthBytes
      pending--
      if (head < 0xdc) at += head >= 0xc7 && head <= 0xc9 ? length + 1 : length
      else pending += head < 0xde ? length : length * 2
    }
    // Each value still to come has one byte at least.
    if (pending > end - at) throw truncated(base + start)
  } while (pending !== 0)
  return at
}

/** Bytes of the length after a head: bin, ext and str of 8 to 32 bits, array and map of 16 and 32; 0 for C1. */
export function lengthBytesOf(head: number): number {
  switch (head) {
    case 0xc4:
    case 0xc7:
    case 0xd9:
      return 1
    case 0xc5:
    case 0xc8:
    case 0xda:
    case 0xdc:
    case 0xde:
      return 2
    case 0xc6:
    case 0xc9:
    case 0xdb:
    case 0xdd:
    case 0xdf:
      return 4
    default:
      return 0
  }
}

function truncated(start: number): DecodeError {
  return new DecodeError('truncated', 'Insufficient data: the input ends inside the value that begins', start)
}
