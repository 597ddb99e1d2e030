import { codePointBytes, writeCodePoint } from '@prexy/bytes/utf8'

/**
 * Code point ranges as automata over bytes: the step from characters to the byte NFA.
 *
 * UTF-8 keeps the order of code points, but a range of code points is a set of byte strings that is a product of byte
 * ranges only where the encoded length is constant and every trailing byte runs over its whole span 80-BF or is fixed.
 * So a range is cut first at the surrogates and at the length borders (7F, 7FF, FFFF), then at the borders of the
 * blocks of 64, 4,096 and 262,144 code points that it covers only in part. At most 11 sequences come out for one range.
 */

/** One inclusive range `[low, high]` for each of the 1 to 4 bytes of a character. */
export type Utf8Sequence = readonly (readonly [low: number, high: number])[]

/** Largest code point of 1, 2, 3 and 4 bytes. */
const LAST_OF_LENGTH = [0x7f, 0x7ff, 0xffff, 0x10ffff] as const

/**
 * The byte sequences of exactly the well-formed UTF-8 (RFC 3629 §4) of the code points `low` to `high`, inclusive,
 * surrogates left out, ascending and disjoint. Empty when nothing is left. 0 <= low, high <=
 * 10FFFF.
 */
export function utf8Sequences(low: number, high: number): readonly Utf8Sequence[] {
  const out: Utf8Sequence[] = []
  addOutsideSurrogates(out, low, Math.min(high, 0xd7ff))
  addOutsideSurrogates(out, Math.max(low, 0xe000), high)
  return out
}

function addOutsideSurrogates(out: Utf8Sequence[], low: number, high: number): void {
  let start = low
  for (const last of LAST_OF_LENGTH) {
    if (start > high) return
    if (start > last) continue
    addOneLength(out, start, Math.min(high, last))
    start = last + 1
  }
}

/** INVARIANT: both ends encode to the same number of bytes, so the recursion is at most six deep. */
function addOneLength(out: Utf8Sequence[], low: number, high: number): void {
  if (low > high) return
  const first = encode(low)
  for (let trail = 1; trail < first.length; trail++) {
    const block = 64 ** trail
    if (Math.floor(low / block) === Math.floor(high / block)) continue
    if (low % block !== 0) {
      const border = (Math.floor(low / block) + 1) * block
      addOneLength(out, low, border - 1)
      addOneLength(out, border, high)
      return
    }
    if (high % block !== block - 1) {
      const border = Math.floor(high / block) * block
      addOneLength(out, low, border - 1)
      addOneLength(out, border, high)
      return
    }
  }
  const last = encode(high)
  out.push(Array.from(first, (byte, i) => [byte, last[i]]))
}

function encode(point: number): Uint8Array {
  const bytes = new Uint8Array(codePointBytes(point))
  writeCodePoint(bytes, 0, point)
  return bytes
}
