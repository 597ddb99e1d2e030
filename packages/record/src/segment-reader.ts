/**
 * Reads segments: frame by frame, event by event, or a few fields of all events as columns. What is damaged or was cut off
 * is told of and left out; everything else is read.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import type { RecordedEvent } from '@prexy/events/recorded-event'
import { type ColumnSpec, type ColumnTable, ColumnReader, openColumns } from '@prexy/msgpack/columns'
import { decodeMulti } from '@prexy/msgpack/decode'
import { DecodeError } from '@prexy/msgpack/errors'
import { type Damage, type Frame, FrameScanner, MARK_BYTES, readMark } from './frames.ts'
import { segmentFiles } from './retention.ts'
import { decodeHeader, decodeIndex, type IndexEntry, type SegmentHeader } from './segment-header.ts'
import { parseSegmentName } from './segment-name.ts'

/** Bytes read at one time. */
const READ_BYTES = 256 * 1024

/** A recording cannot be read; the message names the file. */
export class RecordingError extends Error {
  override readonly name: string = 'RecordingError'
}

/** What is in a segment, without its events. */
export interface SegmentSummary {
  readonly path: string
  readonly name: string
  readonly bytes: number
  readonly header: SegmentHeader
  /** In the order of the file. */
  readonly entries: readonly IndexEntry[]
  /** Whether it ends with its index; otherwise it is being written, or its writer was killed. */
  readonly isSealed: boolean
  /** Found while it was read through for want of an index. */
  readonly damages: readonly Damage[]
}

/** Frames and damage of a segment in order, from its begin or from a frame that the index names. */
export async function* readFrames(
  path: string,
  from?: { readonly offset: number; readonly salt: number },
): AsyncGenerator<Frame | Damage, void, undefined> {
  const handle = await openFile(path)
  try {
    const scanner = new FrameScanner(saltOf, from?.offset ?? 0, from?.salt)
    let at = from?.offset ?? 0
    for (;;) {
      const chunk = new Uint8Array(READ_BYTES)
      const { bytesRead } = await handle.read(chunk, 0, READ_BYTES, at)
      if (bytesRead === 0) break
      at += bytesRead
      yield* scanner.push(chunk.subarray(0, bytesRead))
    }
    yield* scanner.end()
  } finally {
    await handle.close()
  }
}

export interface EventFilter {
  /** Of `startedAtMs`, inclusive. */
  readonly fromMs?: number
  readonly toMs?: number
  /** Of `sequence`, inclusive. */
  readonly firstSequence?: number
  readonly lastSequence?: number
}

/** An event, or a place where there is none that can be read. */
export type ReadEvent =
  | { readonly kind: 'event'; readonly event: RecordedEvent; readonly offset: number }
  | { readonly kind: 'damage'; readonly offset: number; readonly bytes: number; readonly reason: string }

/**
 * The events of a segment in the order in which they ended. Frames that the index rules out are not read. `offset` is that
 * of the event's frame.
 */
export async function* readEvents(
  segment: SegmentSummary,
  filter: EventFilter = {},
): AsyncGenerator<ReadEvent, void, undefined> {
  const wanted = segment.isSealed ? segment.entries.filter((entry) => mayHold(entry, filter)) : undefined
  const all = wanted === undefined || wanted.length === segment.entries.length
  const sources = all ? [undefined] : wanted.map((entry) => entry.offset)
  for (const offset of sources) {
    const { salt } = segment.header
    const frames = readFrames(segment.path, offset === undefined ? undefined : { offset, salt })
    for await (const frame of frames) {
      if (frame.kind === 'damage') yield frame
      if (frame.kind === 'events') yield* eventsOf(frame, filter)
      if (offset !== undefined) break
    }
  }
}

function* eventsOf({ payload, offset }: Frame, filter: EventFilter): Generator<ReadEvent, void, undefined> {
  try {
    for (const value of decodeMulti(payload, { binary: 'copy' })) {
      const event = parseRecordedEvent(value)
      if (event === undefined) yield { kind: 'damage', offset, bytes: 0, reason: 'a value that is no event' }
      else if (isWanted(event, filter)) yield { kind: 'event', event, offset }
    }
  } catch (error) {
    // The checksum was right: it was written like that.
    if (!(error instanceof DecodeError)) throw error
    yield { kind: 'damage', offset, bytes: payload.length, reason: error.message }
  }
}

function mayHold(entry: IndexEntry, filter: EventFilter): boolean {
  const { fromMs = -Infinity, toMs = Infinity, firstSequence = 0, lastSequence = Infinity } = filter
  return (
    entry.toMs >= fromMs &&
    entry.fromMs <= toMs &&
    entry.lastSequence >= firstSequence &&
    entry.firstSequence <= lastSequence
  )
}

function isWanted({ sequence, startedAtMs }: RecordedEvent, filter: EventFilter): boolean {
  const { fromMs = -Infinity, toMs = Infinity, firstSequence = 0, lastSequence = Infinity } = filter
  return startedAtMs >= fromMs && startedAtMs <= toMs && sequence >= firstSequence && sequence <= lastSequence
}

/**
 * Looks at a segment: its header and its index. A segment without an index is read through once. Throws a
 * {@link RecordingError} for a file that is none.
 */
export async function openSegment(path: string): Promise<SegmentSummary> {
  const header = await readHeader(path)
  const handle = await openFile(path)
  let bytes: number
  let entries: readonly IndexEntry[] | undefined
  try {
    bytes = (await handle.stat()).size
    entries = await readIndex(handle, bytes, header.salt)
  } finally {
    await handle.close()
  }
  const base = { path, name: basename(path), bytes, header }
  if (entries !== undefined) return { ...base, entries, isSealed: true, damages: [] }
  return { ...base, ...(await scan(path)), isSealed: false }
}

/** The segments of a directory, oldest first, and files that look like one and are none. */
export async function openRecordings(directory: string): Promise<{
  readonly segments: readonly SegmentSummary[]
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[]
}> {
  const segments: SegmentSummary[] = []
  const unreadable: { path: string; reason: string }[] = []
  for (const { name } of await segmentFiles(directory)) {
    const path = join(directory, name)
    try {
      segments.push(await openSegment(path))
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error
      unreadable.push({ path, reason: error.message })
    }
  }
  return { segments, unreadable }
}

/** The event called `run-sequence`; undefined if no segment in the directory has it. */
export async function findEvent(directory: string, run: string, sequence: number): Promise<RecordedEvent | undefined> {
  for (const { name } of await segmentFiles(directory)) {
    if (parseSegmentName(name)?.run !== run) continue
    const segment = await openSegment(join(directory, name))
    if (!segment.entries.some((entry) => entry.firstSequence <= sequence && entry.lastSequence >= sequence)) continue
    for await (const read of readEvents(segment, { firstSequence: sequence, lastSequence: sequence })) {
      if (read.kind === 'event') return read.event
    }
  }
  return undefined
}

/** Columns over the events of many segments, and where each row's event is. */
export interface RecordingColumns {
  readonly table: ColumnTable
  /** The event of a row, decoded from its segment. */
  read(row: number): Promise<RecordedEvent | undefined>
}

/**
 * A few fields of all events as columns; of an event that lacks one, the column holds its kind's value for nothing. Reads
 * each segment once and keeps none of it.
 */
export async function readColumns(
  segments: readonly SegmentSummary[],
  specs: readonly ColumnSpec[],
): Promise<RecordingColumns> {
  const reader = new ColumnReader(specs)
  const frames: { readonly segment: SegmentSummary; readonly offset: number; readonly base: number }[] = []
  let base = 0
  for (const segment of segments) {
    for await (const frame of readFrames(segment.path)) {
      if (frame.kind !== 'events') continue
      reader.append(frame.payload)
      frames.push({ segment, offset: frame.offset, base })
      base += frame.payload.length
    }
  }
  reader.end()
  const table = reader.table()
  return {
    table,
    async read(row) {
      const at = table.offsets.at(row)
      const place = at === undefined ? undefined : frames.findLast((frame) => frame.base <= at)
      if (at === undefined || place === undefined) return undefined
      const { offset, segment } = place
      for await (const frame of readFrames(segment.path, { offset, salt: segment.header.salt })) {
        if (frame.kind !== 'events') return undefined
        const [value] = decodeMulti(frame.payload.subarray(at - place.base), { binary: 'copy' })
        return parseRecordedEvent(value)
      }
      return undefined
    },
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    throw new RecordingError(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

function saltOf(payload: Uint8Array): number | undefined {
  const header = decodeHeader(payload)
  return typeof header === 'string' ? undefined : header.salt
}

async function readHeader(path: string): Promise<SegmentHeader> {
  for await (const frame of readFrames(path)) {
    if (frame.kind === 'damage') continue
    if (frame.kind !== 'header') break
    const header = decodeHeader(frame.payload)
    if (typeof header !== 'string') return header
    throw new RecordingError(`${path}: ${header}`)
  }
  throw new RecordingError(`${path}: is no recording of prexy`)
}

async function readIndex(handle: FileHandle, bytes: number, salt: number): Promise<readonly IndexEntry[] | undefined> {
  if (bytes < MARK_BYTES) return undefined
  const tail = new Uint8Array(MARK_BYTES)
  await handle.read(tail, 0, MARK_BYTES, bytes - MARK_BYTES)
  const end = readMark(tail, 0, bytes - MARK_BYTES, salt)
  if (end?.kind !== 'end' || end.count >= bytes) return undefined
  const octets = new Uint8Array(bytes - MARK_BYTES - end.count)
  await handle.read(octets, 0, octets.length, end.count)
  for (const frame of new FrameScanner(saltOf, end.count, salt).push(octets)) {
    return frame.kind === 'index' ? decodeIndex(frame.payload) : undefined
  }
  return undefined
}

const SCANNED: readonly ColumnSpec[] = [
  { name: 'sequence', path: ['sequence'], kind: 'number' },
  { name: 'startedAtMs', path: ['startedAtMs'], kind: 'number' },
]

async function scan(path: string): Promise<Pick<SegmentSummary, 'entries' | 'damages'>> {
  const entries: IndexEntry[] = []
  const damages: Damage[] = []
  for await (const frame of readFrames(path)) {
    if (frame.kind === 'damage') damages.push(frame)
    if (frame.kind === 'events') {
      const entry = entryOf(frame)
      if (entry !== undefined) entries.push(entry)
    }
  }
  return { entries, damages }
}

function entryOf({ payload, offset, count }: Frame): IndexEntry | undefined {
  try {
    const { columns } = openColumns(payload, SCANNED)
    const [sequences, times] = columns.map((column) => column.data)
    let fromMs = Infinity
    let toMs = -Infinity
    let firstSequence = Infinity
    let lastSequence = 0
    for (let row = 0; row < times.length; row++) {
      fromMs = Math.min(fromMs, times[row])
      toMs = Math.max(toMs, times[row])
      firstSequence = Math.min(firstSequence, sequences[row])
      lastSequence = Math.max(lastSequence, sequences[row])
    }
    return { offset, count, firstSequence, lastSequence, fromMs, toMs }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return undefined
  }
}
