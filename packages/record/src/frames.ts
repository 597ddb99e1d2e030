/**
 * The form of a segment, pure: bytes to frames and back, wherever the bytes come from.
 *
 *     segment = header header *events [ index end ]
 *     frame   = mark payload
 *     mark    = d8 kind length(4) count(4) payload-crc(4) mark-crc(4)
 *
 * All of it is MessagePack: a mark is an extension of 16 bytes, a payload one map after the other. So any reader of
 * MessagePack shows a segment, and so does one of a segment that was cut off between two frames. Numbers are big-endian.
 *
 * A segment is only appended to. What a killed writer leaves is a segment without `index` and `end` whose last frame may
 * be cut: that one is lost, none before it. The header stands twice, so that no damage of one place loses it.
 *
 * Both checksums are CRC-32 (RFC 1952 §8). All but the headers' begin from the `salt` in the header, the mark's also from
 * its place in the segment. SECURITY: a recording holds bodies that a client or an origin chose. Neither knows the salt, so
 * neither can have bytes recorded that a reader in search of the next frame, after damage, would take for one.
 *
 * Reading is one pass; at most one frame is held, and never memory for bytes that a length only claims.
 */
import { crc32 } from '@prexy/bytes/crc32.hot'

export const MARK_BYTES = 18

/** A frame that claims more is damage. Unit: bytes. */
export const MAX_FRAME_BYTES: number = 64 * 1024 * 1024

/** Extension types of the marks. */
const KINDS = { header: 0x48, events: 0x45, index: 0x49, end: 0x5a } as const

export type FrameKind = keyof typeof KINDS

export interface Frame {
  readonly kind: FrameKind
  /** Of the mark, in the segment. */
  readonly offset: number
  /** Events in the payload; of `end`, the offset of the index. */
  readonly count: number
  /** Borrowed: valid until the scanner is given more. */
  readonly payload: Uint8Array
}

/** Bytes that are no frame. */
export interface Damage {
  readonly kind: 'damage'
  readonly offset: number
  readonly bytes: number
  /** `cut`: the segment ends within a frame, as a killed writer leaves it. */
  readonly reason: 'cut' | 'mark' | 'payload'
}

const FIXEXT16 = 0xd8

/** Writes a mark into the `MARK_BYTES` at `at`, for the payload in `bytes[start, end)`. */
export function writeMark(
  bytes: Uint8Array,
  at: number,
  frame: { readonly kind: FrameKind; readonly count: number; readonly offset: number; readonly salt: number },
  start: number,
  end: number,
): void {
  const { kind, count, offset, salt } = frame
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, MARK_BYTES)
  const payloadSalt = kind === 'header' ? 0 : salt
  bytes[at] = FIXEXT16
  bytes[at + 1] = KINDS[kind]
  view.setUint32(2, end - start)
  view.setUint32(6, count)
  view.setUint32(10, crc32(bytes, start, end, payloadSalt))
  view.setUint32(14, crc32(bytes, at, at + 14, markSalt(kind, salt, offset)))
}

/** A frame by itself. */
export function encodeFrame(
  kind: FrameKind,
  count: number,
  payload: Uint8Array,
  offset: number,
  salt: number,
): Uint8Array {
  const bytes = new Uint8Array(MARK_BYTES + payload.length)
  bytes.set(payload, MARK_BYTES)
  writeMark(bytes, 0, { kind, count, offset, salt }, MARK_BYTES, bytes.length)
  return bytes
}

function markSalt(kind: FrameKind, salt: number, offset: number): number {
  return kind === 'header' ? 0 : (salt + offset) >>> 0
}

interface Mark {
  readonly kind: FrameKind
  readonly length: number
  readonly count: number
  readonly payloadCrc: number
}

/** The mark at `at`; undefined if there is none. There must be `MARK_BYTES` there. */
export function readMark(bytes: Uint8Array, at: number, offset: number, salt: number): Mark | undefined {
  if (bytes[at] !== FIXEXT16) return undefined
  const kind = kindOf(bytes[at + 1])
  if (kind === undefined) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, MARK_BYTES)
  if (view.getUint32(14) !== crc32(bytes, at, at + 14, markSalt(kind, salt, offset))) return undefined
  const length = view.getUint32(2)
  if (length > MAX_FRAME_BYTES) return undefined
  return { kind, length, count: view.getUint32(6), payloadCrc: view.getUint32(10) }
}

/** Whether bytes begin as the mark at the end of a sealed segment does. */
export function isEndMark(bytes: Uint8Array): boolean {
  return bytes[0] === FIXEXT16 && bytes[1] === KINDS.end
}

function kindOf(type: number): FrameKind | undefined {
  switch (type) {
    case KINDS.header:
      return 'header'
    case KINDS.events:
      return 'events'
    case KINDS.index:
      return 'index'
    case KINDS.end:
      return 'end'
    default:
      return undefined
  }
}

/** Finds the frames of a segment that comes in chunks, cut anywhere. */
export class FrameScanner {
  /** Until a header was read, only headers are frames. */
  #salt: number | undefined
  readonly #saltOf: (header: Uint8Array) => number | undefined
  /** Bytes of an unfinished frame, from `#offset` on. */
  #held: Uint8Array = new Uint8Array(0)
  #heldBytes = 0
  /** Place in the segment of the first byte that is not dealt with. */
  #offset: number
  /** Where the damage begins that is being skipped. */
  #damagedAt: number | undefined = undefined

  /**
   * `saltOf` reads the salt out of a header's payload. `from` and `salt` are for scanning from a place other than the
   * begin, which has to be that of a mark.
   */
  constructor(saltOf: (header: Uint8Array) => number | undefined, from = 0, salt?: number) {
    this.#saltOf = saltOf
    this.#offset = from
    this.#salt = salt
  }

  /** The frames that `chunk` completes, and what is no frame. All of it must be taken before the next call. */
  *push(chunk: Uint8Array): Generator<Frame | Damage, void, undefined> {
    let bytes = chunk
    if (this.#heldBytes > 0) {
      this.#hold(chunk)
      bytes = this.#held.subarray(0, this.#heldBytes)
    }
    let at = 0
    while (bytes.length - at >= MARK_BYTES) {
      const mark = readMark(bytes, at, this.#offset, this.#salt ?? 0)
      const isKnown = mark !== undefined && (this.#salt !== undefined || mark.kind === 'header')
      if (!isKnown) {
        const next = nextCandidate(bytes, at + 1)
        this.#damagedAt ??= this.#offset
        this.#offset += next - at
        at = next
        continue
      }
      const size = MARK_BYTES + mark.length
      if (bytes.length - at < size) break
      if (this.#damagedAt !== undefined) yield this.#damage('mark')
      const start = at + MARK_BYTES
      const { kind, count } = mark
      const offset = this.#offset
      this.#offset += size
      at += size
      const salt = kind === 'header' ? 0 : (this.#salt ?? 0)
      if (crc32(bytes, start, at, salt) !== mark.payloadCrc) {
        yield { kind: 'damage', offset, bytes: size, reason: 'payload' }
        continue
      }
      const payload = bytes.subarray(start, at)
      if (kind === 'header') this.#salt ??= this.#saltOf(payload)
      yield { kind, offset, count, payload }
    }
    this.#keep(bytes, at)
  }

  /** Nothing follows: what is left, if anything is. */
  *end(): Generator<Damage, void, undefined> {
    const left = this.#heldBytes
    const damagedAt = this.#damagedAt
    if (damagedAt !== undefined) {
      yield { kind: 'damage', offset: damagedAt, bytes: this.#offset + left - damagedAt, reason: 'mark' }
    } else if (left > 0) {
      yield { kind: 'damage', offset: this.#offset, bytes: left, reason: 'cut' }
    }
    this.#heldBytes = 0
    this.#damagedAt = undefined
  }

  #damage(reason: Damage['reason']): Damage {
    const offset = this.#damagedAt ?? this.#offset
    this.#damagedAt = undefined
    return { kind: 'damage', offset, bytes: this.#offset - offset, reason }
  }

  #hold(chunk: Uint8Array): void {
    const needed = this.#heldBytes + chunk.length
    if (needed > this.#held.length) {
      const larger = new Uint8Array(Math.max(needed, this.#held.length * 2))
      larger.set(this.#held.subarray(0, this.#heldBytes))
      this.#held = larger
    }
    this.#held.set(chunk, this.#heldBytes)
    this.#heldBytes = needed
  }

  #keep(bytes: Uint8Array, at: number): void {
    const left = bytes.length - at
    if (left === 0) {
      this.#heldBytes = 0
      return
    }
    // Frames that were given out may still be views on `#held`, so what is left moves to memory of its own.
    if (at > 0 || bytes.buffer !== this.#held.buffer) {
      this.#held = bytes.slice(at)
      this.#heldBytes = left
    }
  }
}

/** Where a mark may begin, or the first place at which there are too few bytes to tell. */
function nextCandidate(bytes: Uint8Array, from: number): number {
  const last = bytes.length - MARK_BYTES
  let at = from
  while (at <= last && (bytes[at] !== FIXEXT16 || kindOf(bytes[at + 1]) === undefined)) at++
  return at
}
