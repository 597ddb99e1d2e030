/** A set of byte values: bit `b & 31` of word `b >>> 5` says whether `b` is in it. Always eight words. */
export type ByteSet = Uint32Array

/** A new set of the inclusive ranges `[low0, high0, low1, high1, ...]`, in any order. */
export function byteSetOf(ranges: readonly number[]): ByteSet {
  const set = new Uint32Array(8)
  for (let i = 0; i < ranges.length; i += 2) addByteRange(set, ranges[i], ranges[i + 1])
  return set
}

/** Puts the bytes `low` to `high`, inclusive, into `set`. */
export function addByteRange(set: ByteSet, low: number, high: number): void {
  for (let byte = low; byte <= high; byte++) set[byte >>> 5] |= 1 << (byte & 31)
}

/** Puts all bytes of `other` into `set`. */
export function addByteSet(set: ByteSet, other: ByteSet): void {
  for (let word = 0; word < 8; word++) set[word] |= other[word]
}

export function hasByte(set: ByteSet, byte: number): boolean {
  return ((set[byte >>> 5] >>> (byte & 31)) & 1) === 1
}

/** The bytes in `set`, ascending. */
export function bytesIn(set: ByteSet): number[] {
  const bytes: number[] = []
  for (let byte = 0; byte < 256; byte++) if (hasByte(set, byte)) bytes.push(byte)
  return bytes
}
