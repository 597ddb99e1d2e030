/** Sets of bytes as the kernel looks them up: a table for low nibbles and one for high ones, with a bit for each of eight buckets. */
import type { Beginning } from './beginnings.ts'
import { BYTE_WEIGHTS } from './ordinary-text.ts'

export interface Nibbles {
  readonly low: number
  readonly high: number
}

/** The low and the high nibbles that a bucket's beginnings have at an offset, as bit masks. */
export function nibblesOf(bucket: readonly Beginning[], offset: number): Nibbles {
  let low = 0
  let high = 0
  for (const beginning of bucket) {
    const set = beginning[offset]
    if (set === undefined) return { low: 0xffff, high: 0xffff }
    for (const byte of set.bytes) {
      low |= 1 << (byte & 15)
      high |= 1 << (byte >> 4)
    }
  }
  return { low, high }
}

/** The bytes that have one of the low and one of the high nibbles. */
export function forEachByte({ low, high }: Nibbles, take: (byte: number) => void): void {
  for (let highs = high; highs !== 0; highs &= highs - 1) {
    const row = lowestBit(highs) << 4
    for (let lows = low; lows !== 0; lows &= lows - 1) take(row | lowestBit(lows))
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}

/** Share of the bytes of ordinary text that have the nibbles. */
export function nibbleWeight(nibbles: Nibbles): number {
  let sum = 0
  forEachByte(nibbles, (byte) => {
    sum += BYTE_WEIGHTS[byte]
  })
  return sum
}

/** Into the two tables at `at`: the nibbles that a bucket has. */
export function setNibbles(block: Uint8Array, at: number, { low, high }: Nibbles, bucket: number): void {
  for (let nibble = 0; nibble < 16; nibble++) {
    if (((low >> nibble) & 1) === 1) block[at + nibble] |= 1 << bucket
    if (((high >> nibble) & 1) === 1) block[at + 16 + nibble] |= 1 << bucket
  }
}
