/**
 * Where no thread is live, most bytes cannot begin a match: a prefilter skips them. It is chosen by what a rule set's
 * matches begin with, by estimated cost on text as the web has it. Whatever is chosen, it may stop too often, never too
 * rarely. The markers of regions count as matches: whether a rule may begin depends on them.
 *
 * `bytes`: the next byte of a set, sixteen at a time.
 *
 * `fingerprints`: two or four bytes of each beginning, at the same offsets for all, sixteen places at a time, in eight
 * buckets (Hyperscan's Teddy, with offsets chosen to be rare); then up to sixteen bytes of what was hit. Where that is far
 * from the last hit, one place in four is enough: stride.ts.
 *
 * `shifts`: for dozens to thousands of beginnings. A window as long as the shortest of them moves over the text; the last few
 * bytes in it say how far it may move on (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994).
 */
import { type Beginning, type ByteSet, byteSet, forEachText, MAX_BEGINNING_BYTES } from './beginnings.ts'
import { asciiLowerCase, type Region } from './context.ts'
import { forEachByte, nibblesOf, nibbleWeight, setNibbles } from './nibbles.ts'
import { SAMPLE, weightOf } from './ordinary-text.ts'
import { chooseStride, type Stride, strideBytes, writeStride } from './stride.ts'

export type PrefilterKind = 'none' | 'bytes' | 'fingerprints' | 'shifts'

export interface Prefilter {
  readonly kind: PrefilterKind
  /** Why this kind; for `debug pattern`. */
  readonly reason: string
  /** A flag for each byte that a match can begin with. */
  readonly firstBytes: Uint8Array
  /** The block that the kernel reads: see `skip` there. Empty for `none`. */
  readonly block: Uint8Array
}

/** What a prefilter has to know beside the beginnings of rules. */
export interface BeginningConditions {
  readonly nullable: boolean
  readonly regions: readonly Region[]
}

// Estimated costs in nanoseconds, only to choose by: per byte of text, and per stop.
const COST_OF_AUTOMATON = 2.5
const COST_OF_BYTES = 0.15
const COST_OF_FINGERPRINTS: Readonly<Record<number, number>> = { 2: 0.12, 4: 0.25 }
const COST_OF_HIT = 35
const COST_OF_SHIFT = 5
const COST_OF_STOP = 30
/** Fingerprints that cost less than this per byte are not compared with anything. */
const GOOD_COST = 0.6

/** Below it, a beginning that is not completed, and the matches pending in it, can be more than may be held. */
const MIN_CONFIRMED_LIMIT = 2 * MAX_BEGINNING_BYTES
const MAX_FINGERPRINT_BYTES = 4
/** More beginnings in eight buckets would stop nearly everywhere. */
const MAX_FINGERPRINTS = 64
const BUCKETS = 8

/**
 * With `maxHeldBytes` below {@link MIN_CONFIRMED_LIMIT} bytes are skipped one by one: a beginning that is not completed
 * can then be an overflow, and where it is looked for as a whole depends on where the body is cut.
 */
export function buildPrefilter(
  ofRules: readonly (readonly Beginning[])[],
  { nullable, regions }: BeginningConditions,
  maxHeldBytes: number = Infinity,
): Prefilter {
  if (nullable) return noPrefilter(byteSet([]), 'a rule can match the empty string')
  const beginnings: Beginning[] = regions.flatMap(({ open, close }) => [open, close].map(markerBeginning))
  for (const own of ofRules) for (const beginning of own) beginnings.push(beginning)
  const firstBytes = new Set<number>()
  for (const [set] of beginnings) for (const byte of set.bytes) firstBytes.add(byte)
  const first = byteSet(firstBytes)
  const count = first.bytes.length
  let best = {
    cost: COST_OF_AUTOMATON,
    make: (): Prefilter => noPrefilter(first, `a match can begin with ${count} different bytes`),
  }
  const offer = (cost: number, make: () => Prefilter): void => {
    if (cost < best.cost) best = { cost, make }
  }
  offer(COST_OF_BYTES + weightOf(first) * COST_OF_STOP, () => bytesPrefilter(first))
  const isConfirmed = maxHeldBytes >= MIN_CONFIRMED_LIMIT
  if (isConfirmed && beginnings.length <= MAX_FINGERPRINTS) {
    const stopping = stoppingOf(beginnings)
    for (const fingerprints of chooseFingerprints(beginnings)) {
      const cost =
        COST_OF_FINGERPRINTS[fingerprints.offsets.length] + fingerprints.hitting * COST_OF_HIT + stopping * COST_OF_STOP
      offer(cost, () => fingerprintPrefilter(beginnings, fingerprints, chooseStride(beginnings, cost), first))
    }
  }
  if (isConfirmed && best.cost > GOOD_COST) {
    const shifts = buildShifts(beginnings)
    if (shifts !== undefined) {
      offer(COST_OF_SHIFT / shifts.meanShift + shifts.stopping * COST_OF_STOP, () =>
        shiftPrefilter(beginnings, shifts, first),
      )
    }
  }
  return best.make()
}

function markerBeginning(marker: Uint8Array): Beginning {
  return Array.from(marker.subarray(0, MAX_BEGINNING_BYTES), (octet) => {
    const lower = asciiLowerCase(octet)
    return byteSet(lower >= 0x61 && lower <= 0x7a ? [lower, lower & 0xdf] : [octet])
  })
}

const NO_BLOCK = new Uint8Array(0)
/** Of the block: kind, bytes that have to be there, offsets; then a flag per first byte; then tables. */
const HEADER_BYTES = 32
const TABLES_AT = HEADER_BYTES + 256
const BUCKETS_AT = TABLES_AT + MAX_FINGERPRINT_BYTES * 32 + 16
const ENTRIES_AT = BUCKETS_AT + BUCKETS * 8

function newBlock(kind: number, firstBytes: Uint8Array, tableBytes: number): { block: Uint8Array; words: DataView } {
  const block = new Uint8Array(TABLES_AT + tableBytes)
  const words = new DataView(block.buffer)
  words.setInt32(0, kind, true)
  block.set(firstBytes, HEADER_BYTES)
  return { block, words }
}

function noPrefilter({ flags }: ByteSet, reason: string): Prefilter {
  return { kind: 'none', reason, firstBytes: flags, block: NO_BLOCK }
}

function bytesPrefilter(first: ByteSet): Prefilter {
  const reason = `a match begins with one of ${first.bytes.length} bytes`
  return { kind: 'bytes', reason, firstBytes: first.flags, block: byteSetBlock(first) }
}

/**
 * The block with which the kernel skips to the next byte of a set. For each low nibble, the high nibbles it appears
 * with: 0 to 7 in the first table, 8 to 15 in the second.
 */
export function byteSetBlock({ flags, bytes }: ByteSet): Uint8Array {
  const { block } = newBlock(1, flags, 48)
  for (const byte of bytes) block[TABLES_AT + (byte < 128 ? 0 : 16) + (byte & 15)] |= 1 << ((byte >> 4) & 7)
  for (let bit = 0; bit < 8; bit++) block[TABLES_AT + 32 + bit] = 1 << bit
  return block
}

interface Fingerprints {
  readonly offsets: readonly number[]
  readonly buckets: readonly (readonly Beginning[])[]
  /** Share of places in ordinary text that they hit. */
  readonly hitting: number
}

/** Fingerprints of each number of bytes in {@link COST_OF_FINGERPRINTS}. */
function chooseFingerprints(beginnings: readonly Beginning[]): Fingerprints[] {
  const longest = beginnings.reduce((most, { length }) => Math.max(most, length), 1)
  // Neighbours in order share nibbles, which keeps a bucket's superset small.
  const sorted = [...beginnings].sort((a, b) => a[0].bytes[0] - b[0].bytes[0])
  const buckets: Beginning[][] = Array.from({ length: Math.min(BUCKETS, beginnings.length) }, () => [])
  sorted.forEach((beginning, index) => {
    buckets[Math.floor((index * buckets.length) / sorted.length)].push(beginning)
  })
  const members = Array.from({ length: longest }, (_, offset) => bucketsByByte(buckets, offset))
  const bucketWeights = Array.from({ length: longest }, (_, offset) =>
    buckets.map((bucket) => nibbleWeight(nibblesOf(bucket, offset))),
  )
  /** The places of the sample that the offsets chosen so far hit, and how likely each bucket is elsewhere. */
  let hits: readonly Hit[] | undefined
  const weights = buckets.map(() => 1)
  const offsets: number[] = []
  const found: Fingerprints[] = []
  for (const count of Object.keys(COST_OF_FINGERPRINTS).map(Number)) {
    let hitting = 1
    while (offsets.length < Math.min(count, longest)) {
      let best = -1
      for (let offset = 0; offset < longest; offset++) {
        if (offsets.includes(offset)) continue
        const elsewhere = bucketWeights[offset].reduce((sum, weight, bucket) => sum + weight * weights[bucket], 0)
        const places = hits === undefined ? countBytes(members[offset]) : countHits(hits, members[offset], offset)
        const share = places / SAMPLE.length + elsewhere
        if (best >= 0 && share >= hitting) continue
        best = offset
        hitting = share
      }
      offsets.push(best)
      hits = hits === undefined ? hitsOf(members[best], best) : remainingHits(hits, members[best], best)
      bucketWeights[best].forEach((weight, bucket) => (weights[bucket] *= weight))
    }
    // Where the longest beginning has fewer bytes, the first is looked at again.
    found.push({
      offsets: [...offsets, ...new Array<number>(count).fill(offsets[0])].slice(0, count),
      buckets,
      hitting,
    })
  }
  return found
}

interface Hit {
  readonly place: number
  /** The buckets that it is in, as bits. */
  readonly buckets: number
}

/** Bytes of the sample that are members of a bucket. */
function countBytes(members: Uint8Array): number {
  sampleCounts ??= SAMPLE.reduce((counts, byte) => {
    counts[byte]++
    return counts
  }, new Uint32Array(256))
  return sampleCounts.reduce((sum, count, byte) => (members[byte] === 0 ? sum : sum + count), 0)
}

let sampleCounts: Uint32Array | undefined

function hitsOf(members: Uint8Array, offset: number): Hit[] {
  const hits: Hit[] = []
  for (let place = 0; place < SAMPLE.length - MAX_BEGINNING_BYTES; place++) {
    const buckets = members[SAMPLE[place + offset]]
    if (buckets !== 0) hits.push({ place, buckets })
  }
  return hits
}

function countHits(hits: readonly Hit[], members: Uint8Array, offset: number): number {
  let count = 0
  for (const { place, buckets } of hits) if ((buckets & members[SAMPLE[place + offset]]) !== 0) count++
  return count
}

function remainingHits(hits: readonly Hit[], members: Uint8Array, offset: number): Hit[] {
  return hits
    .map(({ place, buckets }) => ({ place, buckets: buckets & members[SAMPLE[place + offset]] }))
    .filter(({ buckets }) => buckets !== 0)
}

/** For each byte, the buckets whose fingerprints have a place for it at an offset. */
function bucketsByByte(buckets: readonly (readonly Beginning[])[], offset: number): Uint8Array {
  const bits = new Uint8Array(256)
  buckets.forEach((bucket, number) => {
    forEachByte(nibblesOf(bucket, offset), (byte) => {
      bits[byte] |= 1 << number
    })
  })
  return bits
}

/** Share of places in ordinary text where some beginning stands, as far as bytes are independent. */
function stoppingOf(beginnings: readonly Beginning[]): number {
  return beginnings.reduce((sum, sets) => sum + sets.reduce((product, set) => product * weightOf(set), 1), 0)
}

/**
 * Per offset, buckets by low nibble and by high nibble; their conjunction over all offsets is a hit. Then room for the
 * kernel, and for each bucket where its beginnings are: sixteen bytes, and the bits of them that a beginning has to have.
 */
function fingerprintPrefilter(
  beginnings: readonly Beginning[],
  { offsets, buckets }: Fingerprints,
  stride: Stride | undefined,
  { flags: firstBytes }: ByteSet,
): Prefilter {
  const strideAt = ENTRIES_AT + beginnings.length * 2 * MAX_BEGINNING_BYTES
  const strided = stride === undefined ? 0 : strideBytes(stride)
  const { block, words } = newBlock(2, firstBytes, strideAt - TABLES_AT + strided)
  words.setInt32(4, 16 + MAX_BEGINNING_BYTES, true)
  words.setInt32(24, offsets.length, true)
  const entries = new Map<Beginning, number>()
  let entry = ENTRIES_AT
  buckets.forEach((bucket, number) => {
    words.setInt32(BUCKETS_AT + number * 8, entry, true)
    words.setInt32(BUCKETS_AT + number * 8 + 4, bucket.length, true)
    for (const beginning of bucket) {
      entries.set(beginning, entry)
      beginning.forEach(({ bytes }, at) => {
        block[entry + at] = bytes[0]
        block[entry + MAX_BEGINNING_BYTES + at] = 0xff & ~bytes.reduce((bits, byte) => bits | (byte ^ bytes[0]), 0)
      })
      entry += 2 * MAX_BEGINNING_BYTES
    }
  })
  offsets.forEach((offset, index) => {
    words.setInt32(8 + index * 4, offset, true)
    buckets.forEach((bucket, number) => {
      setNibbles(block, TABLES_AT + index * 32, nibblesOf(bucket, offset), number)
    })
  })
  if (stride !== undefined) {
    words.setInt32(28, strideAt, true)
    writeStride(block, strideAt, stride, (beginning) => entries.get(beginning) ?? 0)
  }
  const places = [...offsets].sort((a, b) => a - b).join(', ')
  const far = stride === undefined ? '' : ', and where none is near one place in four is looked at'
  const reason = `the bytes at offsets ${places} of ${beginnings.length} beginnings are rare together${far}`
  return { kind: 'fingerprints', reason, firstBytes, block }
}

interface Shifts {
  /** Bytes of the window. */
  readonly window: number
  /** Bytes at its end that are looked at: 3 or 4. */
  readonly gram: number
  readonly tableBits: number
  /** By hash of a gram: how far the window may move; 0 where a beginning may stand in it. */
  readonly table: Uint8Array
  /** By hash of the first four bytes, a flag for each that a beginning has. */
  readonly heads: Uint8Array
  /** The longest move. */
  readonly most: number
  readonly meanShift: number
  readonly stopping: number
}

export const HEAD_BYTES = 4
const HEAD_BITS = 16
const HASH_FACTOR = 0x9e3779b1

function buildShifts(beginnings: readonly Beginning[]): Shifts | undefined {
  const window = beginnings.reduce((least, { length }) => Math.min(least, length), MAX_BEGINNING_BYTES)
  if (window < HEAD_BYTES + 1) return undefined
  const gram = window >= 7 && beginnings.length > 256 ? 4 : 3
  const tableBits = Math.min(18, Math.max(12, Math.ceil(Math.log2(beginnings.length * window * 4))))
  const table = new Uint8Array(1 << tableBits)
  let most = window - gram + 1
  const shifts = table.fill(most)
  for (const beginning of beginnings) {
    for (let at = 0; at + gram <= window; at++) {
      const shift = window - gram - at
      const isAny = !forEachText(beginning, at, gram, (text) => {
        const cell = hashOf(text, tableBits)
        if (shifts[cell] > shift) shifts[cell] = shift
      })
      if (isAny) most = Math.min(most, shift)
    }
  }
  if (most < 2) return undefined
  for (let cell = 0; cell < shifts.length; cell++) if (shifts[cell] > most) shifts[cell] = most
  const heads = new Uint8Array(1 << HEAD_BITS)
  let headCount = 0
  const addHead = (text: number): void => {
    const cell = hashOf(text, HEAD_BITS)
    if (heads[cell] === 0) headCount++
    heads[cell] = 1
  }
  for (const beginning of beginnings) {
    if (forEachText(beginning, 0, HEAD_BYTES, addHead)) continue
    heads.fill(1)
    headCount = heads.length
  }
  const { meanShift, zeros } = sampleShifts(shifts, gram, tableBits)
  const headShare = headCount / heads.length
  return { window, gram, tableBits, table, heads, most, meanShift, stopping: (zeros * headShare) / meanShift }
}

/** The kernel computes the same. */
export function hashOf(text: number, bits: number): number {
  return Math.imul(text, HASH_FACTOR) >>> (32 - bits)
}

/** How far a window moves on the sample of text, and how often a beginning may stand in it. */
function sampleShifts(shifts: Uint8Array, gram: number, tableBits: number): { meanShift: number; zeros: number } {
  let sum = 0
  let zeros = 0
  const grams = SAMPLE.length - gram
  for (let place = 0; place < grams; place++) {
    let text = 0
    for (let at = 0; at < gram; at++) text |= SAMPLE[place + at] << (8 * at)
    const shift = shifts[hashOf(text, tableBits)]
    if (shift === 0) zeros++
    sum += Math.max(1, shift)
  }
  return { meanShift: sum / grams, zeros: zeros / grams }
}

function shiftPrefilter(beginnings: readonly Beginning[], shifts: Shifts, { flags: firstBytes }: ByteSet): Prefilter {
  const { window, gram, tableBits, table, heads } = shifts
  const { block, words } = newBlock(3, firstBytes, heads.length + table.length)
  words.setInt32(4, window, true)
  words.setInt32(8, window - gram, true)
  words.setInt32(12, gram === 4 ? -1 : 0xffffff, true)
  words.setInt32(16, 32 - tableBits, true)
  words.setInt32(20, shifts.most, true)
  block.set(heads, TABLES_AT)
  block.set(table, TABLES_AT + heads.length)
  const reason =
    `${beginnings.length} beginnings of ${window} bytes or more let a window move ` +
    `${shifts.meanShift.toFixed(1)} bytes on average`
  return { kind: 'shifts', reason, firstBytes, block }
}
