/**
 * Bodies in other encodings than UTF-8 as the rules see them: a form of UTF-8 and back, such that what no rule touches
 * comes out octet for octet.
 *
 * Every character becomes its UTF-8. What is no character, or would come back as other octets, becomes something that
 * no rule can match, since no UTF-8 holds it:
 *
 *     80..BF           an octet without a character, in encodings of one octet per character: its number among them
 *     F8 xx xx         an octet that is no character and begins none; in UTF-16 the odd last octet
 *     F9 xx xx xx      two octets that belong together and are no character
 *     FA xx xx         half of a surrogate pair
 *     U+10F000...      a character that the encoding has twice: the octets that an encoder would not write
 *
 * where `xx` are octets 80..BF with six bits each. To a rule, each such octet is a unit that nothing matches, so no match
 * begins, ends or goes on inside, but for an empty one between the octets of an F8 to FA; its replacement is dropped on
 * the way back. The last kind is a character of its own to classes like `.`, which is what it is.
 *
 * gb18030 has characters for U+10F000 to U+10FFFF, too; there these are no characters to rules.
 */
import type { Charset, MultiByteCharset, SingleByteCharset } from './charset-labels.ts'
import { SINGLE_BYTE_CHARSETS } from './charset-labels.ts'
import {
  codeOfPointer,
  FIRST_ASTRAL_POINTER,
  FIRST_VARIANT,
  isLead,
  isTrail,
  type MultiByteTables,
  multiByteTables,
  NO_CHARACTER,
} from './multi-byte-tables.ts'
import { SINGLE_BYTE_TABLES } from './single-byte-tables.ts'
import { writeCodePoint } from './utf8.ts'

/** An encoding of text that rules can be applied to by way of this form. Immutable, for all bodies. */
export interface TextForm {
  readonly charset: Charset
  openReader(): FormReader
  openWriter(unencodable: Unencodable): FormWriter
}

/** From octets of the encoding to the form; one for each body. */
export interface FormReader {
  /**
   * Writes the form of `source` into `target`, which must have room for {@link formRoom} octets, and returns how many
   * there are. The beginning of a character is kept until its end comes.
   */
  read(source: Uint8Array, target: Uint8Array): number
  /** The body is over: writes what was kept, with the same room. */
  finish(target: Uint8Array): number
  /** Octets of the body that are kept. */
  readonly keptBytes: number
}

/** What becomes of a character that the encoding lacks: `&#8364;`, or nothing. */
export type Unencodable = 'reference' | 'skip'

/** The way back; one for each body. */
export interface FormWriter {
  /** Takes all of `source`, in any cuts; `target` must have room for {@link octetRoom} octets. */
  write(source: Uint8Array, target: Uint8Array): number
  finish(target: Uint8Array): number
  /** Characters that the encoding lacks and that were left out or referred to. */
  readonly unencodable: number
}

/** Octets that the form of `bytes` octets may have. */
export function formRoom(bytes: number): number {
  return 3 * bytes + 12
}

/** Octets that `bytes` octets of the form may become. */
export function octetRoom(bytes: number): number {
  return 4 * bytes + 12
}

const ESCAPED_OCTET = 0xf8
const ESCAPED_PAIR = 0xf9
const ESCAPED_SURROGATE = 0xfa

const forms = new Map<Charset, TextForm | undefined>()

/** Undefined for UTF-8, for encodings that have no form, and for those that the runtime has no tables of. */
export function textFormOf(charset: Charset): TextForm | undefined {
  if (!forms.has(charset)) forms.set(charset, makeForm(charset))
  return forms.get(charset)
}

function makeForm(charset: Charset): TextForm | undefined {
  if (charset === 'utf-16le' || charset === 'utf-16be') {
    const isBig = charset === 'utf-16be'
    return { charset, openReader: () => new WideReader(isBig), openWriter: () => new WideWriter(isBig) }
  }
  if (isSingleByte(charset)) {
    const table = readSingleByteTable(charset)
    return {
      charset,
      openReader: () => new SingleByteReader(table),
      openWriter: (unencodable) => new SingleByteWriter(table, unencodable),
    }
  }
  if (charset === 'utf-8' || charset === 'iso-2022-jp' || charset === 'replacement') return undefined
  const tables = multiByteTables(charset)
  if (tables === undefined) return undefined
  return {
    charset,
    openReader: () => new MultiByteReader(tables),
    openWriter: (unencodable) => new MultiByteWriter(tables, unencodable),
  }
}

function isSingleByte(charset: Charset): charset is SingleByteCharset {
  return SINGLE_BYTE_CHARSETS.some((each) => each === charset)
}

function writeEscape(target: Uint8Array, at: number, lead: number, bits: number): number {
  let next = at
  target[next++] = lead
  if (lead === ESCAPED_PAIR) target[next++] = 0x80 | (bits >> 12)
  target[next++] = 0x80 | ((bits >> 6) & 0x3f)
  target[next++] = 0x80 | (bits & 0x3f)
  return next
}

// One octet per character

interface SingleByteTable {
  /** UTF-8 of octet 80 + i at 4i + 1, its length at 4i. */
  readonly utf8: Uint8Array
  /** Octet by code point below U+10000; 0: none. */
  readonly octets: Uint8Array
  /** Octets without a character, in order. */
  readonly unused: readonly number[]
}

function readSingleByteTable(charset: SingleByteCharset): SingleByteTable {
  const points = SINGLE_BYTE_TABLES[charset].split(' ').flatMap((run) => {
    const [first, length = '1'] = run.split('*')
    const point = Number.parseInt(first, 16)
    return Array.from({ length: Number(length) }, (_, i) => (point === 0xfffd ? NO_CHARACTER : point + i))
  })
  const utf8 = new Uint8Array(4 * points.length)
  const octets = new Uint8Array(0x1_0000)
  const unused: number[] = []
  points.forEach((point, i) => {
    if (point === NO_CHARACTER) {
      utf8[4 * i] = 1
      utf8[4 * i + 1] = 0x80 + unused.length
      unused.push(0x80 + i)
    } else {
      octets[point] = 0x80 + i
      utf8[4 * i] = writeCodePoint(utf8, 4 * i + 1, point) - 4 * i - 1
    }
  })
  return { utf8, octets, unused }
}

class SingleByteReader implements FormReader {
  readonly #utf8: Uint8Array
  readonly keptBytes = 0

  constructor({ utf8 }: SingleByteTable) {
    this.#utf8 = utf8
  }

  read(source: Uint8Array, target: Uint8Array): number {
    const utf8 = this.#utf8
    let at = 0
    for (let i = 0; i < source.length; i++) {
      let octet = source[i]
      while (octet < 0x80) {
        target[at++] = octet
        octet = ++i < source.length ? source[i] : 0xff
      }
      if (i === source.length) break
      const entry = (octet - 0x80) << 2
      const length = utf8[entry]
      target[at++] = utf8[entry + 1]
      if (length === 1) continue
      target[at++] = utf8[entry + 2]
      if (length === 3) target[at++] = utf8[entry + 3]
    }
    return at
  }

  finish(): number {
    return 0
  }
}

// Several octets per character

/** Octets of the longest character. */
const MAX_SEQUENCE = 4

class MultiByteReader implements FormReader {
  readonly #tables: MultiByteTables
  /** The beginning of a character. */
  readonly #kept = new Uint8Array(2 * MAX_SEQUENCE)
  #keptBytes = 0
  /** Set by {@link #step}: the character, or {@link NO_CHARACTER}. */
  #point = 0

  constructor(tables: MultiByteTables) {
    this.#tables = tables
  }

  get keptBytes(): number {
    return this.#keptBytes
  }

  read(source: Uint8Array, target: Uint8Array): number {
    let at = 0
    let from = 0
    while (this.#keptBytes > 0) {
      const kept = this.#keptBytes
      const more = Math.min(MAX_SEQUENCE, source.length - from)
      this.#kept.set(source.subarray(from, from + more), kept)
      const taken = this.#step(this.#kept, 0, kept + more, false)
      if (taken === 0) {
        this.#keptBytes = kept + more
        return at
      }
      at = this.#put(this.#kept, 0, taken, target, at)
      // What is no character ends early: the rest of what was kept is read anew.
      if (taken < kept) {
        this.#kept.copyWithin(0, taken, kept)
        this.#keptBytes = kept - taken
      } else {
        from += taken - kept
        this.#keptBytes = 0
      }
    }
    while (from < source.length) {
      const octet = source[from]
      if (octet < 0x80) {
        target[at++] = octet
        from++
        continue
      }
      const taken = this.#step(source, from, source.length, false)
      if (taken === 0) {
        this.#kept.set(source.subarray(from))
        this.#keptBytes = source.length - from
        return at
      }
      at = this.#put(source, from, taken, target, at)
      from += taken
    }
    return at
  }

  finish(target: Uint8Array): number {
    let at = 0
    let from = 0
    while (from < this.#keptBytes) {
      const taken = this.#step(this.#kept, from, this.#keptBytes, true)
      at = this.#put(this.#kept, from, taken, target, at)
      from += taken
    }
    this.#keptBytes = 0
    return at
  }

  /** Writes the character or, octet by octet, what is none. */
  #put(bytes: Uint8Array, from: number, length: number, target: Uint8Array, start: number): number {
    if (this.#point !== NO_CHARACTER) return writeCodePoint(target, start, this.#point)
    let at = start
    let i = from
    const end = from + length
    for (; i + 1 < end; i += 2) at = writeEscape(target, at, ESCAPED_PAIR, (bytes[i] << 8) | bytes[i + 1])
    return i < end ? writeEscape(target, at, ESCAPED_OCTET, bytes[i]) : at
  }

  /**
   * How many octets belong together at `at`, 0 while what follows `end` decides; with `isEnd` nothing follows. What a
   * browser's decoder takes for one error is one unit without a character, and an ASCII octet after it is itself
   * (Encoding Standard §10 to §14).
   */
  #step(bytes: Uint8Array, at: number, end: number, isEnd: boolean): number {
    const tables = this.#tables
    const { charset } = tables
    const lead = bytes[at]
    if (lead < 0x80) {
      this.#point = lead
      return 1
    }
    this.#point = tables.singles[lead - 0x80]
    if (this.#point !== NO_CHARACTER) return 1
    if (charset === 'euc-jp' && lead === 0x8f) return this.#step0212(bytes, at, end, isEnd)
    if (!isLead(charset, lead, false)) return 1
    if (at + 1 === end) return isEnd ? 1 : 0
    const trail = bytes[at + 1]
    if (tables.points4 !== undefined && trail >= 0x30 && trail <= 0x39) return this.#stepFour(bytes, at, end, isEnd)
    if (isTrail(charset, trail)) {
      this.#point = tables.points[((lead - 0x80) << 8) | trail]
      // Whether a pair is no character is for a decoder to say that follows the Standard.
      if (this.#point !== NO_CHARACTER || !tables.exact) return 2
    }
    return trail < 0x80 ? 1 : 2
  }

  /** EUC-JP: 8F and two octets. */
  #step0212(bytes: Uint8Array, at: number, end: number, isEnd: boolean): number {
    if (at + 1 === end) return isEnd ? 1 : 0
    const lead = bytes[at + 1]
    if (lead < 0xa1 || lead > 0xfe) return lead < 0x80 ? 1 : 2
    if (at + 2 === end) return isEnd ? 2 : 0
    const trail = bytes[at + 2]
    if (isTrail('euc-jp', trail)) {
      this.#point = this.#tables.points0212?.[((lead - 0x80) << 8) | trail] ?? NO_CHARACTER
    }
    return trail < 0x80 ? 2 : 3
  }

  /** gb18030: an octet, a digit, an octet, a digit. */
  #stepFour(bytes: Uint8Array, at: number, end: number, isEnd: boolean): number {
    if (at + 2 === end) return isEnd ? 2 : 0
    const third = bytes[at + 2]
    if (third < 0x81 || third > 0xfe) return 1
    if (at + 3 === end) return isEnd ? 3 : 0
    const fourth = bytes[at + 3]
    if (fourth < 0x30 || fourth > 0x39) return 1
    const pointer = ((bytes[at] - 0x81) * 10 + bytes[at + 1] - 0x30) * 1_260 + (third - 0x81) * 10 + fourth - 0x30
    const astral = pointer - FIRST_ASTRAL_POINTER + 0x1_0000
    if (astral >= 0x1_0000) this.#point = astral < FIRST_VARIANT ? astral : NO_CHARACTER
    else this.#point = this.#tables.points4?.[pointer] ?? NO_CHARACTER
    return 4
  }
}

// UTF-16

class WideReader implements FormReader {
  readonly #isBig: boolean
  /** The first octet of a unit; -1: none. */
  #half = -1
  /** The first half of a surrogate pair; 0: none. */
  #high = 0

  constructor(isBig: boolean) {
    this.#isBig = isBig
  }

  get keptBytes(): number {
    return (this.#half < 0 ? 0 : 1) + (this.#high === 0 ? 0 : 2)
  }

  read(source: Uint8Array, target: Uint8Array): number {
    const isBig = this.#isBig
    let half = this.#half
    let high = this.#high
    let at = 0
    for (let i = 0; i < source.length; i++) {
      const octet = source[i]
      if (half < 0) {
        half = octet
        continue
      }
      const unit = isBig ? (half << 8) | octet : (octet << 8) | half
      half = -1
      if (unit < 0x80 && high === 0) {
        target[at++] = unit
        continue
      }
      const isLow = (unit & 0xfc00) === 0xdc00
      if (high !== 0) {
        if (isLow) at = writeCodePoint(target, at, 0x1_0000 + ((high & 0x3ff) << 10) + (unit & 0x3ff))
        else at = writeEscape(target, at, ESCAPED_SURROGATE, high & 0x7ff)
        high = 0
        if (isLow) continue
      }
      if ((unit & 0xfc00) === 0xd800) high = unit
      else if (isLow) at = writeEscape(target, at, ESCAPED_SURROGATE, unit & 0x7ff)
      else at = writeCodePoint(target, at, unit)
    }
    this.#half = half
    this.#high = high
    return at
  }

  finish(target: Uint8Array): number {
    let at = 0
    if (this.#high !== 0) at = writeEscape(target, at, ESCAPED_SURROGATE, this.#high & 0x7ff)
    if (this.#half >= 0) at = writeEscape(target, at, ESCAPED_OCTET, this.#half)
    this.#half = -1
    this.#high = 0
    return at
  }
}

// Back

/** Reads the form; what is written is the encoding's. */
abstract class Writer implements FormWriter {
  readonly #reference: boolean
  /** Octets that a character still lacks, and its bits so far. */
  #lacks = 0
  #point = 0
  /** The same of an escape. Whatever comes between its octets is the replacement of an empty match, and is dropped. */
  #escapeLacks = 0
  #escapeBits = 0
  #escapeLead = 0
  unencodable = 0
  protected readonly octetsOfAscii: 1 | 2

  constructor(unencodable: Unencodable, octetsOfAscii: 1 | 2) {
    this.#reference = unencodable === 'reference'
    this.octetsOfAscii = octetsOfAscii
  }

  /** Writes a character; -1 where the encoding lacks it. */
  protected abstract put(point: number, target: Uint8Array, at: number): number

  protected abstract putEscape(lead: number, bits: number, target: Uint8Array, at: number): number

  /** The octet of a trail octet that stands alone. */
  protected abstract loneOctet(octet: number): number

  write(source: Uint8Array, target: Uint8Array): number {
    const { octetsOfAscii } = this
    let at = 0
    for (let i = 0; i < source.length; i++) {
      const octet = source[i]
      if (octet < 0x80) {
        if (this.#escapeLacks > 0) continue
        if (octetsOfAscii !== 1) {
          at = this.put(octet, target, at)
          continue
        }
        // PERF: a run of ASCII without a look at the fields. Most text is that, also where it is not English.
        target[at++] = octet
        while (i + 1 < source.length && source[i + 1] < 0x80) target[at++] = source[++i]
      } else if (octet >= 0xf8) {
        this.#escapeLead = octet
        this.#escapeLacks = octet === ESCAPED_PAIR ? 3 : 2
        this.#escapeBits = 0
      } else if (octet >= 0xc0) {
        const lacks = octet < 0xe0 ? 1 : octet < 0xf0 ? 2 : 3
        let point = octet & (0x3f >> lacks)
        if (i + lacks >= source.length || this.#escapeLacks > 0) {
          this.#lacks = lacks
          this.#point = point
          continue
        }
        // PERF: a character that is there as a whole goes past the fields: a third of the time for Cyrillic.
        for (const end = i + lacks; i < end; ) point = (point << 6) | (source[++i] & 0x3f)
        at = this.#putCharacter(point, target, at)
      } else if (this.#lacks > 0) {
        this.#point = (this.#point << 6) | (octet & 0x3f)
        if (--this.#lacks === 0 && this.#escapeLacks === 0) at = this.#putCharacter(this.#point, target, at)
      } else if (this.#escapeLacks > 0) {
        this.#escapeBits = (this.#escapeBits << 6) | (octet & 0x3f)
        if (--this.#escapeLacks === 0) at = this.putEscape(this.#escapeLead, this.#escapeBits, target, at)
      } else {
        target[at++] = this.loneOctet(octet)
      }
    }
    return at
  }

  finish(_target: Uint8Array): number {
    return 0
  }

  #putCharacter(point: number, target: Uint8Array, at: number): number {
    const next = this.put(point, target, at)
    if (next >= 0) return next
    this.unencodable++
    if (!this.#reference) return at
    let end = at
    const text = `&#${point};`
    for (let i = 0; i < text.length; i++) target[end++] = text.charCodeAt(i)
    return end
  }
}

class SingleByteWriter extends Writer {
  readonly #table: SingleByteTable

  constructor(table: SingleByteTable, unencodable: Unencodable) {
    super(unencodable, 1)
    this.#table = table
  }

  protected override put(point: number, target: Uint8Array, at: number): number {
    if (point < 0x80) {
      target[at] = point
      return at + 1
    }
    const octet = point < 0x1_0000 ? this.#table.octets[point] : 0
    if (octet === 0) return -1
    target[at] = octet
    return at + 1
  }

  protected override putEscape(_lead: number, bits: number, target: Uint8Array, at: number): number {
    target[at] = bits
    return at + 1
  }

  protected override loneOctet(octet: number): number {
    return this.#table.unused[octet - 0x80]
  }
}

class MultiByteWriter extends Writer {
  readonly #tables: MultiByteTables

  constructor(tables: MultiByteTables, unencodable: Unencodable) {
    super(unencodable, 1)
    this.#tables = tables
  }

  protected override put(point: number, target: Uint8Array, at: number): number {
    if (point < 0x80) {
      target[at] = point
      return at + 1
    }
    const code = this.#codeOf(point)
    if (code === 0) return -1
    let next = at
    if (code > 0xff_ffff) target[next++] = code >>> 24
    if (code > 0xffff) target[next++] = code >>> 16
    if (code > 0xff) target[next++] = code >>> 8
    target[next++] = code
    return next
  }

  #codeOf(point: number): number {
    const { codes, astralCodes, variants, points4 } = this.#tables
    if (point < 0x1_0000) return codes[point]
    const variant = variants[point - FIRST_VARIANT]
    if (variant !== undefined) return variant
    if (points4 !== undefined) return codeOfPointer(point - 0x1_0000 + FIRST_ASTRAL_POINTER)
    return astralCodes.get(point) ?? 0
  }

  protected override putEscape(lead: number, bits: number, target: Uint8Array, at: number): number {
    let next = at
    if (lead === ESCAPED_PAIR) target[next++] = bits >> 8
    target[next++] = bits
    return next
  }

  protected override loneOctet(octet: number): number {
    return octet
  }
}

class WideWriter extends Writer {
  readonly #isBig: boolean
  /** The odd last octet, which stays the last whatever is put behind the body; -1: none. */
  #last = -1

  constructor(isBig: boolean) {
    super('skip', 2)
    this.#isBig = isBig
  }

  protected override put(point: number, target: Uint8Array, at: number): number {
    if (point < 0x1_0000) return this.#putUnit(point, target, at)
    const next = this.#putUnit(0xd800 + ((point - 0x1_0000) >> 10), target, at)
    return this.#putUnit(0xdc00 + (point & 0x3ff), target, next)
  }

  #putUnit(unit: number, target: Uint8Array, at: number): number {
    target[at] = this.#isBig ? unit >> 8 : unit
    target[at + 1] = this.#isBig ? unit : unit >> 8
    return at + 2
  }

  protected override putEscape(lead: number, bits: number, target: Uint8Array, at: number): number {
    if (lead === ESCAPED_SURROGATE) return this.#putUnit(0xd800 | bits, target, at)
    this.#last = bits
    return at
  }

  protected override loneOctet(octet: number): number {
    return octet
  }

  override finish(target: Uint8Array): number {
    if (this.#last < 0) return 0
    target[0] = this.#last
    return 1
  }
}

/** Whether the runtime has what is needed to apply rules to text in this encoding; makes no tables. */
export function canReadCharset(charset: Charset): boolean {
  if (charset === 'iso-2022-jp' || charset === 'replacement') return false
  if (charset.startsWith('utf-') || isSingleByte(charset)) return true
  return hasDecoder(charset)
}

function hasDecoder(charset: Charset): charset is MultiByteCharset {
  try {
    return new TextDecoder(charset) instanceof TextDecoder
  } catch {
    // A runtime with few encodings throws for the others.
    return false
  }
}
