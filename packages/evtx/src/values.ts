/**
 * Values of binary XML as text and as JSON scalars. A value is a type and a stretch of bytes; a stretch that is shorter
 * than its type asks for is read as what its bytes give, so that a damaged value shows and loses nothing.
 */
import { u16, u32 } from './integers.hot.ts'
import { readAnsi, Utf16Reader } from './text.hot.ts'
import { FiletimeFormat, formatSystemTime } from './times.ts'
import {
  ANSI_TYPE,
  ARRAY_FLAG,
  BINARY_TYPE,
  BINXML_TYPE,
  BOOL_TYPE,
  FILETIME_TYPE,
  fixedSize,
  GUID_TYPE,
  HANDLE_TYPE,
  HEX32_TYPE,
  HEX64_TYPE,
  INT16_TYPE,
  INT32_TYPE,
  INT64_TYPE,
  INT8_TYPE,
  NULL_TYPE,
  REAL32_TYPE,
  REAL64_TYPE,
  SID_TYPE,
  SIZE_TYPE,
  STRING_TYPE,
  SYSTEMTIME_TYPE,
  UINT16_TYPE,
  UINT32_TYPE,
  UINT8_TYPE,
  XML_TYPE,
} from './value-types.ts'

/** Integers beyond 2^53 are bigint, all others number. */
export type Scalar = string | number | bigint | boolean

/** `braced` as Windows writes GUIDs into XML, `bare` as evtx_dump writes them into JSON. */
export type GuidStyle = 'braced' | 'bare'

const HEX_PAIRS: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0').toUpperCase(),
)

interface KnownSid {
  readonly bytes: Uint8Array
  readonly text: string
}

const KEPT_SIDS = 256
/** 15 parts, more than which no SID has. */
const MAX_SID_BYTES = 68

export class ValueReader {
  readonly times: FiletimeFormat = new FiletimeFormat()
  readonly #utf16 = new Utf16Reader()
  readonly #sids: (KnownSid | undefined)[] = Array.from({ length: KEPT_SIDS }, () => undefined)

  /** The characters of a stretch of UTF-16LE, without NULs at its end. */
  utf16(bytes: Uint8Array, start: number, end: number): string {
    let last = start + ((end - start) & ~1)
    while (last > start && bytes[last - 1] === 0 && bytes[last - 2] === 0) last -= 2
    return this.#utf16.read(bytes, start, last)
  }

  /** A log is about a few accounts: most SIDs were read before. */
  #sid(bytes: Uint8Array, start: number, end: number): string {
    const size = end - start
    if (size > MAX_SID_BYTES) return sid(bytes, start, end)
    let hash = size
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + bytes[at]) | 0
    const known = this.#sids[hash & (KEPT_SIDS - 1)]
    if (known !== undefined && known.bytes.length === size && isSame(known.bytes, bytes, start)) return known.text
    const text = sid(bytes, start, end)
    this.#sids[hash & (KEPT_SIDS - 1)] = { bytes: bytes.slice(start, end), text }
    return text
  }

  /** Every value has a text. Arrays are joined with commas. */
  text(bytes: Uint8Array, type: number, start: number, end: number, guids: GuidStyle): string {
    if (type === STRING_TYPE) return this.utf16(bytes, start, end)
    if (type >= ARRAY_FLAG) {
      const items = arrayItems(bytes, type, start, end)
      let text = ''
      for (let i = 0; i < items.length; i += 2) {
        if (i > 0) text += ','
        text += this.text(bytes, type & ~ARRAY_FLAG, items[i], items[i + 1], guids)
      }
      return text
    }
    const size = end - start
    if (type === NULL_TYPE || size === 0) return ''
    if (size < fixedSize(type) && !isNumeric(type)) return hex(bytes, start, end)
    switch (type) {
      case ANSI_TYPE:
        return readAnsi(bytes, start, endOfAnsi(bytes, start, end))
      case REAL32_TYPE:
      case REAL64_TYPE:
        return realText(bytes, type, start, end)
      case GUID_TYPE:
        return guids === 'braced' ? `{${guid(bytes, start)}}` : guid(bytes, start)
      case FILETIME_TYPE:
        return this.times.format(u32(bytes, start), u32(bytes, start + 4))
      case SYSTEMTIME_TYPE:
        return formatSystemTime(bytes, start)
      case SID_TYPE:
        return this.#sid(bytes, start, end)
      case SIZE_TYPE:
      case HANDLE_TYPE:
      case HEX32_TYPE:
      case HEX64_TYPE:
        return hexNumber(bytes, start, Math.min(end, start + (type === HEX32_TYPE ? 4 : 8)))
      case XML_TYPE:
        return this.utf16(bytes, start, end)
      case BINARY_TYPE:
      case BINXML_TYPE:
        return hex(bytes, start, end)
      default:
        return isNumeric(type) ? String(numeric(bytes, type, start, end)) : hex(bytes, start, end)
    }
  }

  /** Numbers and booleans as such, everything else as its text. */
  scalar(bytes: Uint8Array, type: number, start: number, end: number): Scalar {
    if (type === STRING_TYPE) return this.utf16(bytes, start, end)
    if (isNumeric(type) && type !== REAL32_TYPE && type !== REAL64_TYPE && end > start) {
      return numeric(bytes, type, start, end)
    }
    return this.text(bytes, type, start, end, 'bare')
  }
}

/**
 * Whether a value counts as none: the null type, or no bytes. Strings that hold nothing but NULs are none too.
 */
export function isEmptyValue(bytes: Uint8Array, type: number, start: number, end: number): boolean {
  if (type === NULL_TYPE || start === end) return true
  if (type !== STRING_TYPE && type !== ANSI_TYPE) return false
  for (let at = start; at < end; at++) if (bytes[at] !== 0) return false
  return true
}

function isNumeric(type: number): boolean {
  return type >= INT8_TYPE && type <= BOOL_TYPE
}

function numeric(bytes: Uint8Array, type: number, start: number, end: number): number | bigint | boolean {
  const size = Math.min(fixedSize(type), end - start)
  if (type === BOOL_TYPE) {
    for (let at = start; at < start + size; at++) if (bytes[at] !== 0) return true
    return false
  }
  if (size < fixedSize(type)) return littleEndian(bytes, start, size)
  switch (type) {
    case INT8_TYPE:
      return (bytes[start] << 24) >> 24
    case UINT8_TYPE:
      return bytes[start]
    case INT16_TYPE:
      return (u16(bytes, start) << 16) >> 16
    case UINT16_TYPE:
      return u16(bytes, start)
    case INT32_TYPE:
      return u32(bytes, start) | 0
    case UINT32_TYPE:
      return u32(bytes, start)
    case INT64_TYPE:
      return int64(u32(bytes, start), u32(bytes, start + 4) | 0)
    default:
      return int64(u32(bytes, start), u32(bytes, start + 4))
  }
}

/** `high` carries the sign. */
function int64(low: number, high: number): number | bigint {
  const value = high * 4_294_967_296 + low
  return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) | BigInt(low)
}

function littleEndian(bytes: Uint8Array, start: number, size: number): number | bigint {
  let value = 0
  for (let i = size - 1; i >= 0; i--) value = value * 256 + bytes[start + i]
  return value
}

function realText(bytes: Uint8Array, type: number, start: number, end: number): string {
  if (end - start < fixedSize(type)) return hex(bytes, start, end)
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, fixedSize(type))
  const value = type === REAL32_TYPE ? view.getFloat32(0, true) : view.getFloat64(0, true)
  // As XML Schema spells them.
  if (value === Infinity) return 'INF'
  if (value === -Infinity) return '-INF'
  if (Object.is(value, -0)) return '-0'
  return type === REAL32_TYPE ? shortestFloat32(value) : String(value)
}

/** The fewest digits that give the same 32 bits back. */
function shortestFloat32(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits))
    if (Math.fround(rounded) === value) return String(rounded)
  }
  return String(Number(value.toPrecision(9)))
}

function hex(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at++) text += HEX_PAIRS[bytes[at]]
  return text
}

/** Where in the text the bytes of a GUID are: its first three parts are little-endian. */
const GUID_ORDER: readonly number[] = [3, 2, 1, 0, -1, 5, 4, -1, 7, 6, -1, 8, 9, -1, 10, 11, 12, 13, 14, 15]

function guid(bytes: Uint8Array, at: number): string {
  let text = ''
  for (const place of GUID_ORDER) text += place < 0 ? '-' : HEX_PAIRS[bytes[at + place]]
  return text
}

/** `0x3e7`: lower case, no leading zeros. */
function hexNumber(bytes: Uint8Array, start: number, end: number): string {
  if (end - start === 8 || end - start === 4) {
    const high = end - start === 8 ? u32(bytes, start + 4) : 0
    const low = u32(bytes, start)
    return high === 0 ? `0x${low.toString(16)}` : `0x${high.toString(16)}${low.toString(16).padStart(8, '0')}`
  }
  let at = end
  while (at > start + 1 && bytes[at - 1] === 0) at--
  let text = bytes[at - 1].toString(16)
  for (let i = at - 2; i >= start; i--) text += bytes[i].toString(16).padStart(2, '0')
  return `0x${text}`
}

/** [MS-DTYP] §2.4.2.1: authorities of more than 32 bits are written in hexadecimal. */
function sid(bytes: Uint8Array, start: number, end: number): string {
  if (end - start < 8) return hex(bytes, start, end)
  const top = (bytes[start + 2] << 8) | bytes[start + 3]
  const low = ((bytes[start + 4] << 24) | (bytes[start + 5] << 16) | (bytes[start + 6] << 8) | bytes[start + 7]) >>> 0
  let text = `S-${bytes[start]}-`
  text += top === 0 ? String(low) : `0x${hex(bytes, start + 2, start + 8)}`
  const last = Math.min(end, start + 8 + bytes[start + 1] * 4)
  for (let at = start + 8; at + 4 <= last; at += 4) text += `-${u32(bytes, at)}`
  return text
}

function isSame(known: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[start + i]) return false
  return true
}

function endOfAnsi(bytes: Uint8Array, start: number, end: number): number {
  let last = end
  while (last > start && bytes[last - 1] === 0) last--
  return last
}

/**
 * Where the items of an array value begin and end, in pairs. Strings are separated or ended by NUL; items of a type
 * without a size of its own, and what is left over at the end, are one item.
 */
export function arrayItems(bytes: Uint8Array, type: number, start: number, end: number): number[] {
  const item = type & ~ARRAY_FLAG
  const items: number[] = []
  if (start === end) return items
  if (item === STRING_TYPE || item === ANSI_TYPE) {
    const width = item === STRING_TYPE ? 2 : 1
    const last = start + Math.floor((end - start) / width) * width
    let from = start
    for (let at = start; at < last; at += width) {
      if (bytes[at] !== 0 || (width === 2 && bytes[at + 1] !== 0)) continue
      items.push(from, at)
      from = at + width
    }
    if (from < last) items.push(from, last)
    return items
  }
  let at = start
  while (at < end) {
    const size = item === SID_TYPE && end - at >= 8 ? 8 + bytes[at + 1] * 4 : fixedSize(item)
    const next = size === 0 ? end : Math.min(end, at + size)
    items.push(at, next)
    at = next
  }
  return items
}
