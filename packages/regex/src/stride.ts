/**
 * How to look at one place in four only: whatever the distance of a beginning from such a place, four bytes in a row, its
 * gram for that distance, stand at one. Grams are put into eight buckets, as fingerprints are; a hit is compared with
 * the beginnings of its bucket. Where one stands, the search goes on place by place.
 */
import { type Beginning, type ByteSet, forEachText } from './beginnings.ts'
import { type Nibbles, nibblesOf, nibbleWeight, setNibbles } from './nibbles.ts'
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
  const buckets = mergeLikest(beginnings.flatMap(rarestGrams))
  const hitting = buckets.reduce((sum, { share }) => sum + share, 0) / GRAM_BYTES
  if (COST_OF_STRIDE + hitting * COST_OF_HIT > cost) return undefined
  const before = Math.max(...buckets.flatMap(({ grams }) => grams.map(({ offset }) => offset)), 0)
  return { buckets, before }
}

/** For each distance the gram that is rarest, in a bucket of its own. */
function rarestGrams(beginning: Beginning): Bucket[] {
  const nibbles = Array.from({ length: beginning.length + 3 * GRAM_BYTES }, (_, at) =>
    nibblesOf([beginning], at - GRAM_BYTES),
  )
  const nibblesFrom = (offset: number): Nibbles[] => nibbles.slice(offset + GRAM_BYTES, offset + 2 * GRAM_BYTES)
  return Array.from({ length: GRAM_BYTES }, (_, distance) => {
    let best = { offset: -distance, factor: 1, share: Number.POSITIVE_INFINITY }
    for (let offset = -distance; offset < beginning.length; offset += GRAM_BYTES) {
      const factor = factorOf(beginning, offset)
      const independent = nibblesFrom(offset).reduce((share, nibbles) => share * nibbleWeight(nibbles), 1)
      const share = Math.max(factor * independent, sampleShare(beginning, offset))
      if (share < best.share) best = { offset, factor, share }
    }
    const { offset, factor, share } = best
    return {
      grams: [{ beginning, offset }],
      nibbles: nibblesFrom(offset),
      following: nibblesFrom(offset + GRAM_BYTES),
      factor,
      share,
    }
  })
}

/** How much likelier a gram is than its bytes are one by one. */
function factorOf(beginning: Beginning, offset: number): number {
  let factor = 1
  for (let at = offset + 1; at < offset + GRAM_BYTES; at++) {
    const kind = kindOf(beginning[at])
    if (kind !== 'other' && kind === kindOf(beginning[at - 1])) factor *= NEIGHBOUR_FACTOR
  }
  return factor
}

/** Share of the places of the sample that have a gram; 0 for one that reaches beyond its beginning. */
function sampleShare(beginning: Beginning, offset: number): number {
  if (offset < 0 || offset + GRAM_BYTES > beginning.length) return 0
  sampleGrams ??= countGrams()
  const counts = sampleGrams
  let hits = 0
  forEachText(beginning, offset, GRAM_BYTES, (text) => {
    hits += counts.get(text) ?? 0
  })
  return hits / SAMPLE.length
}

let sampleGrams: ReadonlyMap<number, number> | undefined

function countGrams(): Map<number, number> {
  const counts = new Map<number, number>()
  const words = new DataView(SAMPLE.buffer)
  for (let place = 0; place + GRAM_BYTES <= SAMPLE.length; place++) {
    const text = words.getInt32(place, true)
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return counts
}

function kindOf(set: ByteSet | undefined): 'letters' | 'digits' | 'other' {
  if (set === undefined) return 'other'
  if (set.bytes.every((byte) => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a)) return 'letters'
  return set.bytes.some((byte) => byte >= 0x30 && byte <= 0x39) ? 'digits' : 'other'
}

/** As many buckets as the kernel has: again and again one of the two of which that costs least. */
function mergeLikest(grams: readonly Bucket[]): Bucket[] {
  const buckets = [...grams]
  /** `more[a][b]`, for b < a: what is hit more often when the two are one. */
  const more = buckets.map((bucket, index) => buckets.slice(0, index).map((other) => extraShare(bucket, other)))
  while (buckets.length > BUCKETS) {
    let into = 0
    let from = 1
    more.forEach((row, a) => {
      row.forEach((extra, b) => {
        if (extra < more[from][into]) [into, from] = [b, a]
      })
    })
    const merged = union(buckets[into], buckets[from])
    buckets[into] = merged
    buckets.splice(from, 1)
    more.splice(from, 1)
    for (let a = from; a < more.length; a++) more[a].splice(from, 1)
    for (let b = 0; b < into; b++) more[into][b] = extraShare(merged, buckets[b])
    for (let a = into + 1; a < more.length; a++) more[a][into] = extraShare(merged, buckets[a])
  }
  return buckets
}

function extraShare(a: Bucket, b: Bucket): number {
  return unionShare(a, b) - a.share - b.share
}

function unionShare(a: Bucket, b: Bucket): number {
  let share = Math.max(a.factor, b.factor)
  for (let at = 0; at < GRAM_BYTES; at++) {
    const [{ low, high }, other] = [a.nibbles[at], b.nibbles[at]]
    share *= nibbleWeight({ low: low | other.low, high: high | other.high })
  }
  return share
}

function union(a: Bucket, b: Bucket): Bucket {
  return {
    grams: [...a.grams, ...b.grams],
    nibbles: unionOfNibbles(a.nibbles, b.nibbles),
    following: unionOfNibbles(a.following, b.following),
    factor: Math.max(a.factor, b.factor),
    share: unionShare(a, b),
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
