/** Ways to cut a body into chunks. */

/** A cut as sizes of chunks; they add up to the length of the body and may be zero. */
export type Split = readonly number[]

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function randomSplit(length: number, seed: number): Split {
  const random = seededRandom(seed)
  const sizes: number[] = []
  const usual = 1 + Math.floor(random() * 6)
  let left = length
  while (left > 0) {
    const size = Math.min(left, Math.floor(random() * (usual + 1)))
    sizes.push(size)
    left -= size
  }
  return sizes
}

/** Cuts inside every sequence of octets above 0x7F, which is where multi-byte characters are. */
function splitInsideCharacters(body: readonly number[]): Split {
  const sizes: number[] = []
  let size = 0
  for (const [at, byte] of body.entries()) {
    if (at > 0 && byte >= 0x80 && byte <= 0xbf && size > 0) {
      sizes.push(size)
      size = 0
    }
    size += 1
  }
  if (size > 0) sizes.push(size)
  return sizes
}

export interface SplitOptions {
  /** Bodies longer than this get two-way cuts at seeded random places instead of at all places. */
  readonly maxTwoWay: number
  readonly randomCount: number
  readonly seed: number
}

export const DEFAULT_SPLITS: SplitOptions = { maxTwoWay: 64, randomCount: 4, seed: 1 }

/** Calls `check` for the whole body, octet by octet, every two-way cut, cuts inside characters, and random cuts. */
export function forEachSplit(
  body: readonly number[],
  check: (split: Split) => void,
  { maxTwoWay, randomCount, seed }: SplitOptions = DEFAULT_SPLITS,
): void {
  const { length } = body
  check([length])
  check(body.map(() => 1))
  check(splitInsideCharacters(body))
  const random = seededRandom(seed)
  for (let i = 1; i < Math.min(length, maxTwoWay); i += 1) {
    const first = length <= maxTwoWay ? i : 1 + Math.floor(random() * (length - 1))
    check([first, length - first])
  }
  for (let i = 0; i < randomCount; i += 1) check(randomSplit(length, seed + i))
}

export function cutBody(body: readonly number[], split: Split): Uint8Array[] {
  const chunks: Uint8Array[] = []
  let at = 0
  for (const size of split) {
    chunks.push(Uint8Array.from(body.slice(at, at + size)))
    at += size
  }
  return chunks
}
