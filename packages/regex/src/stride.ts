/**
 * How to look at one place in four only: whatever the distance of a beginning from such a place, four bytes in a row, its
 * gram for that distance, stand at one. Grams are put into eight buckets, as fingerprints are; a hit is compared with
 * the beginnings of its bucket. Where one stands, the search goes on place by place.
 */
import type { Beginning, ByteSet } from './beginnings.ts'
import { hasByte, type Nibbles, nibblesOf, nibbleWeight, setNibbles } from './nibbles.ts'
import { SAMPLE } from './ordinary-text.ts'

export interface Stride {
  readonly buckets: readonly Bucket[]
  /** Bytes of a beginning before its gram, at most. */
  readonly before: number
}

interface Bucket {
  readonly grams: readonly Gram[]
  /** What its grams have at each of their bytes. */
  readonly nibbles: readonly Nibbles[]
  /** What its beginnings have at each of the bytes that follow: looked at where the grams were hit. */
  readonly following: readonly Nibbles[]
  /** How much likelier than independent bytes. */
  readonly factor: number
  /** Share of places in ordinary text that hit it. */
  readonly share: number
}

interface Gram {
  readonly beginning: Beginning
  /** Of its first byte from that of the beginning; it may reach beyond the beginning, to both sides. */
  readonly offset: number
}

const GRAM_BYTES = 4
const BUCKETS = 8
/** Each has four grams; more in eight buckets are no longer rare. */
const MAX_BEGINNINGS = 16
/** Letters stand in words, digits in numbers: how much likelier a letter is after a letter than elsewhere, roughly. */
const NEIGHBOUR_FACTOR = 4

// Estimated nanoseconds, as in prefilter.ts.
const COST_OF_STRIDE = 0.05
const COST_OF_HIT = 15

/** Undefined where it would not cost less than `cost` per byte. */
export function chooseStride(beginnings: readonly Beginning[], cost: number): Stride | undefined {
  if (beginnings.length > MAX_BEGINNINGS) return undefined
  const buckets = beginnings.flatMap(rarestGrams)
  while (buckets.length > BUCKETS) mergeLikest(buckets)
  const hitting = buckets.reduce((sum, { share }) => sum + share, 0) / GRAM_BYTES
  if (COST_OF_STRIDE + hitting * COST_OF_HIT > cost) return undefined
  const before = Math.max(...buckets.flatMap(({ grams }) => grams.map(({ offset }) => offset)), 0)
  return { buckets, before }
}

/** For each distance the gram that is rarest, in a bucket of its own. */
function rarestGrams(beginning: Beginning): Bucket[] {
  return Array.from({ length: GRAM_BYTES }, (_, distance) => {
    let best = bucketOf(beginning, -distance)
    for (let offset = GRAM_BYTES - distance; offset < beginning.length; offset += GRAM_BYTES) {
      const bucket = bucketOf(beginning, offset)
      if (bucket.share < best.share) best = bucket
    }
    return best
  })
}

function bucketOf(beginning: Beginning, offset: number): Bucket {
  const nibbles = nibblesFrom(beginning, offset)
  let factor = 1
  for (let at = offset + 1; at < offset + GRAM_BYTES; at++) {
    const kind = kindOf(beginning[at])
    if (kind !== 'other' && kind === kindOf(beginning[at - 1])) factor *= NEIGHBOUR_FACTOR
  }
  const share = Math.max(factor * independentShare(nibbles), sampleShare(nibbles))
  const following = nibblesFrom(beginning, offset + GRAM_BYTES)
  return { grams: [{ beginning, offset }], nibbles, following, factor, share }
}

function nibblesFrom(beginning: Beginning, offset: number): Nibbles[] {
  return Array.from({ length: GRAM_BYTES }, (_, at) => nibblesOf([beginning], offset + at))
}

/** Share of the places of the sample that have the nibbles of a gram. */
function sampleShare(nibbles: readonly Nibbles[]): number {
  let hits = 0
  for (let place = 0; place + GRAM_BYTES <= SAMPLE.length; place++) {
    let at = 0
    while (at < GRAM_BYTES && hasByte(nibbles[at], SAMPLE[place + at])) at++
    if (at === GRAM_BYTES) hits++
  }
  return hits / SAMPLE.length
}

function kindOf(set: ByteSet | undefined): 'letters' | 'digits' | 'other' {
  if (set === undefined) return 'other'
  if (set.bytes.every((byte) => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a)) return 'letters'
  return set.bytes.some((byte) => byte >= 0x30 && byte <= 0x39) ? 'digits' : 'other'
}

function independentShare(nibbles: readonly Nibbles[]): number {
  return nibbles.reduce((product, own) => product * nibbleWeight(own), 1)
}

/** Makes one bucket of the two of which that costs least. */
function mergeLikest(buckets: Bucket[]): void {
  let best: { into: number; from: number; bucket: Bucket; more: number } | undefined
  for (let into = 0; into < buckets.length; into++) {
    for (let from = into + 1; from < buckets.length; from++) {
      const bucket = union(buckets[into], buckets[from])
      const more = bucket.share - buckets[into].share - buckets[from].share
      if (best === undefined || more < best.more) best = { into, from, bucket, more }
    }
  }
  if (best === undefined) return
  buckets[best.into] = best.bucket
  buckets.splice(best.from, 1)
}

function union(a: Bucket, b: Bucket): Bucket {
  const nibbles = unionOfNibbles(a.nibbles, b.nibbles)
  const factor = Math.max(a.factor, b.factor)
  return {
    grams: [...a.grams, ...b.grams],
    nibbles,
    following: unionOfNibbles(a.following, b.following),
    factor,
    share: factor * independentShare(nibbles),
  }
}

function unionOfNibbles(a: readonly Nibbles[], b: readonly Nibbles[]): Nibbles[] {
  return a.map(({ low, high }, at) => ({ low: low | b[at].low, high: high | b[at].high }))
}

const TABLES_AT = 16
const FOLLOWING_AT = TABLES_AT + GRAM_BYTES * 32
const BUCKETS_AT = FOLLOWING_AT + GRAM_BYTES * 32
const GRAMS_AT = BUCKETS_AT + BUCKETS * 8
const BYTES_OF_GRAM = 8

/** Bytes that `writeStride` needs. */
export function strideBytes({ buckets }: Stride): number {
  return GRAMS_AT + buckets.reduce((sum, { grams }) => sum + grams.length, 0) * BYTES_OF_GRAM
}

/** Writes what the kernel's `skipByStride` reads to `at`; `entryOf` says where in the block a beginning stands. */
export function writeStride(
  block: Uint8Array,
  at: number,
  { buckets, before }: Stride,
  entryOf: (beginning: Beginning) => number,
): void {
  const words = new DataView(block.buffer, block.byteOffset, block.byteLength)
  words.setInt32(at, before, true)
  let place = at + GRAMS_AT
  buckets.forEach(({ grams, nibbles, following }, number) => {
    nibbles.forEach((own, index) => setNibbles(block, at + TABLES_AT + index * 32, own, number))
    following.forEach((own, index) => setNibbles(block, at + FOLLOWING_AT + index * 32, own, number))
    words.setInt32(at + BUCKETS_AT + number * 8, place, true)
    words.setInt32(at + BUCKETS_AT + number * 8 + 4, grams.length, true)
    for (const { beginning, offset } of grams) {
      words.setInt32(place, offset, true)
      words.setInt32(place + 4, entryOf(beginning), true)
      place += BYTES_OF_GRAM
    }
  })
}
