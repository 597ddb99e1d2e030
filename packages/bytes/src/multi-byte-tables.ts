/**
 * Tables of encodings whose characters take one octet or several, read from the runtime's TextDecoder when first needed
 * (a few milliseconds, at most 2 MB each) and kept.
 *
 * How many octets belong together is decided by the Encoding Standard's rules here, the decoder only says which
 * character they are: runtimes differ in that (Node's ICU lacks 8,636 Korean syllables, and has other Hong Kong
 * characters in Big5).
 */
import type { MultiByteCharset } from './charset-labels.ts'

/** {@link MultiByteTables.points}: no character. */
export const NO_CHARACTER = -1

export interface MultiByteTables {
  readonly charset: MultiByteCharset
  /** Code points of single octets, at `octet - 0x80`. */
  readonly singles: Int32Array
  /** Code point of lead octet and trail octet, at `(lead - 0x80) << 8 | trail`. */
  readonly points: Int32Array
  /** JIS X 0212, the same for the last two octets after 8F. */
  readonly points0212: Int32Array | undefined
  /** Code points of sequences of four octets in gb18030 below U+10000, by pointer. */
  readonly points4: Int32Array | undefined
  /** Octets of characters below U+10000, as a big-endian number; 0: none. */
  readonly codes: Uint32Array
  /** The same for those above, but for what gb18030 computes. */
  readonly astralCodes: ReadonlyMap<number, number>
  /** Sequences whose character another sequence stands for, or that stand for two characters. */
  readonly variants: readonly number[]
  /** The decoder follows the Standard, so a pair without a character is none for browsers either. */
  readonly exact: boolean
}

/** Where variants are in text as the rules see it: beyond what any of these encodings but gb18030 can say. */
export const FIRST_VARIANT = 0x10_f000
const MAX_VARIANTS = 0x1000

const known = new Map<MultiByteCharset, MultiByteTables | undefined>()

/** The tables of an encoding; undefined where the runtime has none. */
export function multiByteTables(charset: MultiByteCharset): MultiByteTables | undefined {
  if (!known.has(charset)) known.set(charset, readTables(charset))
  return known.get(charset)
}

const LAST_TRAIL = 0xfe
/** Pairs of Big5 and EUC-KR that stand for a character by the Encoding Standard. */
const STANDARD_PAIRS: Partial<Record<MultiByteCharset, number>> = { big5: 18_594, 'euc-kr': 17_048 }

function readTables(charset: MultiByteCharset): MultiByteTables | undefined {
  // GBK is read as gb18030 is (Encoding Standard §10.1.1), which runtimes agree on.
  const decoder = openDecoder(charset === 'gbk' ? 'gb18030' : charset)
  if (decoder === undefined) return undefined
  const points = readPairs(decoder, charset)
  if (charset === 'euc-kr') completeKorean(points)
  const builder = new CodeBuilder()
  const singles = new Int32Array(0x80).fill(NO_CHARACTER)
  const addSingle = (octet: number, point: number): void => {
    singles[octet - 0x80] = builder.add(point, octet) ? point : builder.lastVariant
  }
  if (charset === 'gbk') addSingle(0x80, EURO)
  if (charset === 'shift_jis') {
    addSingle(0x80, 0x80)
    for (let octet = 0xa1; octet <= 0xdf; octet++) addSingle(octet, HALF_WIDTH - 0xa1 + octet)
  }
  addPairs(charset, points, builder)
  if (charset === 'gb18030') addSingle(0x80, EURO)
  const points0212 = charset === 'euc-jp' ? readPairs(decoder, charset, 0x8f) : undefined
  if (points0212 !== undefined) addPairs(charset, points0212, builder, 0x8f0000)
  const points4 = charset === 'gbk' || charset === 'gb18030' ? readFours(decoder) : undefined
  points4?.forEach((point, pointer) => {
    if (point !== NO_CHARACTER && !builder.add(point, codeOfPointer(pointer))) points4[pointer] = builder.lastVariant
  })
  if (charset === 'shift_jis' || charset === 'euc-jp') addJapaneseStandIns(builder.codes)
  const pairs = points.reduce((count, point) => (point === NO_CHARACTER ? count : count + 1), 0)
  return {
    charset,
    singles,
    points,
    points0212,
    points4,
    codes: builder.codes,
    astralCodes: builder.astralCodes,
    variants: builder.variants,
    exact: pairs === (STANDARD_PAIRS[charset] ?? pairs),
  }
}

function openDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label)
  } catch {
    // A runtime with few encodings throws for the others.
    return undefined
  }
}

/** Octets of each character, the first that is added; what comes later for the same one is a variant. */
class CodeBuilder {
  readonly codes = new Uint32Array(0x1_0000)
  readonly astralCodes = new Map<number, number>()
  readonly variants: number[] = []

  /** False if the character has a code already: then `code` has become {@link lastVariant}. */
  add(point: number, code: number): boolean {
    const isNew = point < 0x1_0000 ? this.codes[point] === 0 : !this.astralCodes.has(point)
    if (!isNew) this.addVariant(code)
    else if (point < 0x1_0000) this.codes[point] = code
    else this.astralCodes.set(point, code)
    return isNew
  }

  addVariant(code: number): number {
    if (this.variants.length === MAX_VARIANTS) throw new Error('an encoding has more doubles than are allowed for')
    this.variants.push(code)
    return this.lastVariant
  }

  get lastVariant(): number {
    return FIRST_VARIANT + this.variants.length - 1
  }
}

const EURO = 0x20ac
/** U+FF61, the first of 63 half-width characters that Shift_JIS has at A1. */
const HALF_WIDTH = 0xff61

/** Characters of all pairs of a lead octet and a trail octet, each pair in a line of its own. */
function readPairs(decoder: TextDecoder, charset: MultiByteCharset, prefix?: number): Int32Array {
  const points = new Int32Array(0x8000).fill(NO_CHARACTER)
  const trails = trailsOf(charset)
  for (let lead = 0x81; lead <= LAST_TRAIL; lead++) {
    if (!isLead(charset, lead, prefix !== undefined)) continue
    const octets = trails.flatMap((trail) => (prefix === undefined ? [lead, trail, 10] : [prefix, lead, trail, 10]))
    readLines(decoder.decode(Uint8Array.from(octets)), (index, point) => {
      points[((lead - 0x80) << 8) | trails[index]] = point
    })
  }
  return points
}

/** {@link readPairs} of two characters: kept as variants. */
const TWO_CHARACTERS = -2

/** Calls `store` with the character of each line of `text`, where a line is one. */
function readLines(text: string, store: (index: number, point: number) => void): void {
  let start = 0
  for (let index = 0; start < text.length; index++) {
    const unit = text.charCodeAt(start)
    // Nearly all lines are a character below U+10000; taken without a copy.
    if (text.charCodeAt(start + 1) === LINE_FEED) {
      if (unit !== 0xfffd) store(index, unit)
      start += 2
      continue
    }
    const end = text.indexOf('\n', start)
    const points = [...text.slice(start, end)]
    if (points.length === 1) store(index, points[0].codePointAt(0) ?? NO_CHARACTER)
    // A lead octet that is none leaves an ASCII trail octet behind, as a character of its own.
    else if (points.length === 2 && /\p{M}/u.test(points[1]) && unit !== 0xfffd) store(index, TWO_CHARACTERS)
    start = end + 1
  }
}

const LINE_FEED = 0x0a

/** Whether an octet can begin a pair. */
export function isLead(charset: MultiByteCharset, octet: number, in0212: boolean): boolean {
  if (octet < 0x81 || octet > LAST_TRAIL) return false
  if (charset === 'euc-jp') return octet >= 0xa1 || (octet === 0x8e && !in0212)
  return charset !== 'shift_jis' || octet <= 0x9f || (octet >= 0xe0 && octet <= 0xfc)
}

/** Whether an octet can end one. */
export function isTrail(charset: MultiByteCharset, octet: number): boolean {
  switch (charset) {
    case 'shift_jis':
      return octet >= 0x40 && octet <= 0xfc && octet !== 0x7f
    case 'big5':
      return (octet >= 0x40 && octet <= 0x7e) || (octet >= 0xa1 && octet <= LAST_TRAIL)
    case 'euc-jp':
      return octet >= 0xa1 && octet <= LAST_TRAIL
    case 'euc-kr':
      return octet >= 0x41 && octet <= LAST_TRAIL
    case 'gbk':
    case 'gb18030':
      return octet >= 0x40 && octet <= LAST_TRAIL && octet !== 0x7f
  }
}

function trailsOf(charset: MultiByteCharset): number[] {
  return Array.from({ length: 0x100 }, (_, octet) => octet).filter((octet) => isTrail(charset, octet))
}

/**
 * Adds the octets of each pair's character, in the order in which an encoder prefers them (Encoding Standard §5, index
 * pointers): Shift_JIS leaves out NEC's copies of IBM's characters, Big5 what Hong Kong added and, for six box drawings
 * and numerals, the first of two.
 */
function addPairs(charset: MultiByteCharset, points: Int32Array, builder: CodeBuilder, prefix: number = 0): void {
  const later: number[] = []
  const add = (index: number): void => {
    const point = points[index]
    const code = prefix | 0x8000 | index
    if (point === TWO_CHARACTERS) points[index] = builder.addVariant(code)
    else if (!builder.add(point, code)) points[index] = builder.lastVariant
  }
  for (let index = 0; index < points.length; index++) {
    if (points[index] === NO_CHARACTER) continue
    if (isSecondChoice(charset, index, points[index])) later.push(index)
    else add(index)
  }
  for (const index of later) add(index)
}

/** Characters that encoders write as others that look like them (Encoding Standard §12.1.2, §12.3.2). */
function addJapaneseStandIns(codes: Uint32Array): void {
  codes[0xa5] ||= 0x5c
  codes[0x203e] ||= 0x7e
  codes[0x2212] ||= codes[0xff0d]
}

const BIG5_LAST: ReadonlySet<number> = new Set([0x2550, 0x255e, 0x2561, 0x256a, 0x5341, 0x5345])

function isSecondChoice(charset: MultiByteCharset, index: number, point: number): boolean {
  const lead = 0x80 + (index >> 8)
  if (charset === 'shift_jis') return lead === 0xed || lead === 0xee
  // The second of the two is at F9 or in the rows of rare characters, the first in those of symbols.
  return charset === 'big5' && (lead < 0xa1 || (lead < 0xa4 && BIG5_LAST.has(point)))
}

/**
 * EUC-KR means windows-949 on the web: KS X 1001, and the Hangul syllables that it lacks, in the order of Unicode, at the
 * places that it leaves free. ICU has the former only, without two of its characters and with two rows for private use.
 */
function completeKorean(points: Int32Array): void {
  for (const lead of [0xc9, 0xfe]) points.fill(NO_CHARACTER, (lead - 0x80) << 8, (lead - 0x7f) << 8)
  points[0x22e6] = EURO
  points[0x22e7] = 0xae
  const present = new Set(points)
  let syllable = 0xac00
  for (let lead = 0x81; lead <= 0xc6; lead++) {
    for (let trail = 0x41; trail <= LAST_TRAIL; trail++) {
      const isLetter = trail <= 0x5a || (trail >= 0x61 && trail <= 0x7a)
      if (!isLetter && (trail < 0x81 || (lead >= 0xa1 && trail >= 0xa1))) continue
      while (present.has(syllable)) syllable++
      if (syllable > 0xd7a3) return
      const index = ((lead - 0x80) << 8) | trail
      if (points[index] !== NO_CHARACTER) return
      points[index] = syllable++
    }
  }
}

/** Sequences of four octets that stand for characters below U+10000 (Encoding Standard, gb18030 ranges). */
const FOURS = 39_420

function readFours(decoder: TextDecoder): Int32Array {
  const points = new Int32Array(FOURS).fill(NO_CHARACTER)
  const step = 4_000
  for (let first = 0; first < FOURS; first += step) {
    const count = Math.min(step, FOURS - first)
    const octets = new Uint8Array(count * 5)
    for (let i = 0; i < count; i++) {
      const code = codeOfPointer(first + i)
      for (let octet = 0; octet < 4; octet++) octets[i * 5 + octet] = code >>> (24 - 8 * octet)
      octets[i * 5 + 4] = LINE_FEED
    }
    readLines(decoder.decode(octets), (index, point) => {
      points[first + index] = point
    })
  }
  return points
}

/** Four octets as a number, unsigned. */
export function codeOfPointer(pointer: number): number {
  const fourth = 0x30 + (pointer % 10)
  const third = 0x81 + (Math.floor(pointer / 10) % 126)
  const second = 0x30 + (Math.floor(pointer / 1_260) % 10)
  const first = 0x81 + Math.floor(pointer / 12_600)
  return ((first << 24) | (second << 16) | (third << 8) | fourth) >>> 0
}

/** Pointer of U+10000 among sequences of four octets. */
export const FIRST_ASTRAL_POINTER = 189_000
