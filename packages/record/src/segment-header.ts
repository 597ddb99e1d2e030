/** What stands at the begin and the end of a segment, as MessagePack maps. Pure. */
import { decode } from '@prexy/msgpack/decode'
import { encode } from '@prexy/msgpack/encode'
import { encodeFrame } from './frames.ts'

export const SEGMENT_FORMAT = 'prexy-recording'

/** Raised whenever an older reader would misread a segment. */
export const SEGMENT_VERSION = 1

export interface SegmentHeader {
  /** Which process wrote it: eight hexadecimal digits, those of its events. */
  readonly run: string
  /** Of the run, from 1. */
  readonly number: number
  /** What the recording belongs to; see `sessions.ts`. */
  readonly session: string
  readonly createdAtMs: number
  /** Where checksums begin; 32 bits. */
  readonly salt: number
}

/** Where the events of one frame are, and what they are about. */
export interface IndexEntry {
  /** Of the frame's mark. */
  readonly offset: number
  readonly count: number
  readonly firstSequence: number
  readonly lastSequence: number
  /** Least and greatest `startedAtMs`. */
  readonly fromMs: number
  readonly toMs: number
}

/** The header twice. */
export function encodeHeader(header: SegmentHeader): Uint8Array {
  const payload = encode({ format: SEGMENT_FORMAT, version: SEGMENT_VERSION, ...header })
  const frame = encodeFrame('header', 0, payload, 0, 0)
  const both = new Uint8Array(2 * frame.length)
  both.set(frame, 0)
  both.set(frame, frame.length)
  return both
}

/** A header, or why it is none that this version can read. */
export function decodeHeader(payload: Uint8Array): SegmentHeader | string {
  const map = decodeMap(payload)
  if (map === undefined || map.format !== SEGMENT_FORMAT) return 'is no recording of prexy'
  if (map.version !== SEGMENT_VERSION) {
    return `has version ${String(map.version)} of the format; this prexy reads version ${SEGMENT_VERSION}`
  }
  const { run, number, session, createdAtMs, salt } = map
  if (typeof run !== 'string' || typeof session !== 'string') return 'has a header without run or session'
  if (typeof number !== 'number' || typeof createdAtMs !== 'number' || typeof salt !== 'number') {
    return 'has a header without number, createdAtMs or salt'
  }
  return { run, number, session, createdAtMs, salt }
}

export function encodeIndex(entries: readonly IndexEntry[]): Uint8Array {
  return encode({
    offset: entries.map(({ offset }) => offset),
    count: entries.map(({ count }) => count),
    firstSequence: entries.map(({ firstSequence }) => firstSequence),
    lastSequence: entries.map(({ lastSequence }) => lastSequence),
    fromMs: entries.map(({ fromMs }) => fromMs),
    toMs: entries.map(({ toMs }) => toMs),
  })
}

/** Undefined if it is none. */
export function decodeIndex(payload: Uint8Array): readonly IndexEntry[] | undefined {
  const map = decodeMap(payload)
  if (map === undefined) return undefined
  const columns = [map.offset, map.count, map.firstSequence, map.lastSequence, map.fromMs, map.toMs]
  if (!columns.every(isNumbers)) return undefined
  const [offset, count, firstSequence, lastSequence, fromMs, toMs] = columns
  if (columns.some((column) => column.length !== offset.length)) return undefined
  return offset.map((at, row) => ({
    offset: at,
    count: count[row],
    firstSequence: firstSequence[row],
    lastSequence: lastSequence[row],
    fromMs: fromMs[row],
    toMs: toMs[row],
  }))
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'number')
}

function decodeMap(payload: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  let value: unknown
  try {
    value = decode(payload)
  } catch {
    return undefined
  }
  return isRecord(value) ? value : undefined
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
