/** The timestamp extension of the MessagePack specification: type -1 in 4, 8 or 12 bytes. */
import { DecodeError, EncodeError } from './errors.ts'

export const EXT_TIMESTAMP = -1

export interface TimeSpec {
  /** Seconds since the epoch, negative before it. A safe integer. */
  readonly sec: number
  /** 0 to 999,999,999, always towards the future. */
  readonly nsec: number
}

const MAX_UINT32_SEC = 2 ** 32
const MAX_UINT34_SEC = 2 ** 34

/** Throws an {@link EncodeError} for an invalid date. */
export function encodeDateToTimeSpec(date: Date): TimeSpec {
  const ms = date.getTime()
  if (Number.isNaN(ms)) throw new EncodeError('an invalid date has no timestamp')
  const sec = Math.floor(ms / 1_000)
  return { sec, nsec: (ms - sec * 1_000) * 1_000_000 }
}

/** The payload in the shortest of the three forms. */
export function encodeTimeSpecToTimestamp({ sec, nsec }: TimeSpec): Uint8Array {
  if (!Number.isSafeInteger(sec) || !Number.isInteger(nsec) || nsec < 0 || nsec > 999_999_999) {
    throw new EncodeError(`no timestamp has ${sec} s and ${nsec} ns`)
  }
  if (sec >= 0 && sec < MAX_UINT34_SEC) {
    if (nsec === 0 && sec < MAX_UINT32_SEC) {
      const bytes = new Uint8Array(4)
      new DataView(bytes.buffer).setUint32(0, sec)
      return bytes
    }
    const bytes = new Uint8Array(8)
    const view = new DataView(bytes.buffer)
    view.setUint32(0, nsec * 4 + Math.floor(sec / MAX_UINT32_SEC))
    view.setUint32(4, sec % MAX_UINT32_SEC)
    return bytes
  }
  const bytes = new Uint8Array(12)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, nsec)
  view.setInt32(4, Math.floor(sec / MAX_UINT32_SEC))
  view.setUint32(8, ((sec % MAX_UINT32_SEC) + MAX_UINT32_SEC) % MAX_UINT32_SEC)
  return bytes
}

/** The payload for a `Date`; undefined for anything else. */
export function encodeTimestampExtension(value: unknown): Uint8Array | undefined {
  return value instanceof Date ? encodeTimeSpecToTimestamp(encodeDateToTimeSpec(value)) : undefined
}

/**
 * Seconds and nanoseconds of a payload, exactly. Throws a {@link DecodeError} when it has another length than 4, 8 or
 * 12, more than 999,999,999 nanoseconds, or seconds that a number cannot hold. The error's offset is 0.
 */
export function decodeTimestampToTimeSpec(data: Uint8Array): TimeSpec {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const spec = readTimeSpec(view)
  if (spec.nsec > 999_999_999) throw new DecodeError('extension', `timestamp with ${spec.nsec} ns`, 0)
  if (!Number.isSafeInteger(spec.sec)) throw new DecodeError('extension', 'timestamp beyond 2^53 s', 0)
  return spec
}

function readTimeSpec(view: DataView): TimeSpec {
  if (view.byteLength === 4) return { sec: view.getUint32(0), nsec: 0 }
  if (view.byteLength === 8) {
    const high = view.getUint32(0)
    return { sec: (high & 3) * MAX_UINT32_SEC + view.getUint32(4), nsec: high >>> 2 }
  }
  if (view.byteLength === 12) {
    return { sec: view.getInt32(4) * MAX_UINT32_SEC + view.getUint32(8), nsec: view.getUint32(0) }
  }
  throw new DecodeError(
    'extension',
    `Unrecognized data size for timestamp: ${view.byteLength} (4, 8 and 12 are possible)`,
    0,
  )
}

/** What a `Date` holds: 100 million days around the epoch (ECMA-262 §21.4.1.1). */
const MAX_DATE_MS = 8.64e15

/**
 * A `Date`, which drops what is below a millisecond; use {@link decodeTimestampToTimeSpec} to keep it. Throws a
 * {@link DecodeError} for a time that no `Date` can hold.
 */
export function decodeTimestampExtension(data: Uint8Array): Date {
  const { sec, nsec } = decodeTimestampToTimeSpec(data)
  const ms = sec * 1_000 + Math.floor(nsec / 1_000_000)
  if (Math.abs(ms) > MAX_DATE_MS) throw new DecodeError('extension', 'timestamp beyond the range of Date', 0)
  return new Date(ms)
}
