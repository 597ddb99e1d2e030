/** Where events come from: a proxy that runs, a session that it recorded, a segment file. */
import { Decoder } from '@prexy/msgpack/decode'
import { DecodeError } from '@prexy/msgpack/errors'
import { LazyValue } from '@prexy/msgpack/lazy-value'
import { ValueSplitter } from '@prexy/msgpack/value-splitter'
import { FrameScanner } from '@prexy/record/frames'
import { decodeHeader } from '@prexy/record/segment-header'

/** Octets of one event that are waited for. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024
const BATCH_BYTES = 4 * 1024 * 1024
const PIECE_BYTES = 4 * 1024 * 1024

export interface LiveMessage {
  readonly feed: string
  readonly sequence: number
  readonly dropped: number
  readonly count: number
  /** One map after the other. */
  readonly octets: Uint8Array
}

const messageDecoder = new Decoder()

/** Undefined for what is no message of the live feed. */
export function readLiveMessage(octets: Uint8Array): LiveMessage | undefined {
  const map = messageDecoder.decodeLazy(octets, 0)
  if (!(map instanceof LazyValue) || map.kind !== 'map') return undefined
  const [feed, sequence, dropped, events] = ['feed', 'sequence', 'dropped', 'events'].map((key) => map.get(key))
  if (typeof feed !== 'string' || typeof sequence !== 'number' || typeof dropped !== 'number') return undefined
  if (!(events instanceof LazyValue) || events.kind !== 'array') return undefined
  const encoded = events.encoded()
  // The head of the array goes: 1, 3 or 5 octets, by its first.
  const head = encoded[0] === 0xdd ? 5 : encoded[0] === 0xdc ? 3 : 1
  return { feed, sequence, dropped, count: events.length, octets: encoded.subarray(head) }
}

export interface Progress {
  readonly loaded: number
  /** Undefined where it is not known. */
  readonly total: number | undefined
}

interface Sink {
  readonly append: (octets: Uint8Array) => void
  readonly progress: (progress: Progress) => void
}

/** Events one after the other, as the server streams a session. */
export async function readEventStream(stream: ReadableStream<Uint8Array>, sink: Sink): Promise<void> {
  const splitter = new ValueSplitter(MAX_EVENT_BYTES)
  let loaded = 0
  for await (const chunk of chunksOf(stream)) {
    loaded += chunk.length
    for (const { bytes } of splitter.push(chunk)) sink.append(bytes)
    sink.progress({ loaded, total: undefined })
  }
  splitter.end()
}

export interface FileOutcome {
  /** Octets that were no frames, because the file was cut or damaged. */
  readonly damagedBytes: number
}

/** A segment of a recording. Rejects with an error for people if it is none. */
export async function readSegment(file: Blob, sink: Sink): Promise<FileOutcome> {
  let problem: string | undefined = 'is no recording of prexy'
  const scanner = new FrameScanner((payload) => {
    const header = decodeHeader(payload)
    problem = typeof header === 'string' ? header : undefined
    return typeof header === 'string' ? undefined : header.salt
  })
  const batch = batchesFor(sink)
  let loaded = 0
  let damagedBytes = 0
  for await (const chunk of piecesOf(file)) {
    for (const frame of scanner.push(chunk)) {
      if (frame.kind === 'damage') damagedBytes += frame.bytes
      else if (frame.kind === 'events') damagedBytes += batch.add(frame.payload)
    }
    loaded += chunk.length
    sink.progress({ loaded, total: file.size })
  }
  damagedBytes += batch.flush()
  for (const damage of scanner.end()) damagedBytes += damage.bytes
  if (problem !== undefined)
    throw new Error(
      `the file ${problem}: open a segment, a file of record.directory whose name ends in .prexyrec, not compressed`,
    )
  return { damagedBytes }
}

/**
 * Makes few large pieces of many small frames: each piece costs columns of its own to read it. Both functions give the octets
 * of frames whose checksums are right and whose events are no MessagePack; the others are taken.
 */
function batchesFor({ append }: Sink): { add: (octets: Uint8Array) => number; flush: () => number } {
  const held = new Uint8Array(BATCH_BYTES)
  const ends: number[] = []
  let length = 0
  const isTaken = (octets: Uint8Array): boolean => {
    try {
      append(octets)
      return true
    } catch (error) {
      if (error instanceof DecodeError) return false
      throw error
    }
  }
  const flush = (): number => {
    let unreadable = 0
    if (length > 0 && !isTaken(held.subarray(0, length))) {
      for (const [index, end] of ends.entries()) {
        const frame = held.subarray(ends[index - 1] ?? 0, end)
        if (!isTaken(frame)) unreadable += frame.length
      }
    }
    length = 0
    ends.length = 0
    return unreadable
  }
  return {
    flush,
    add(octets) {
      let unreadable = length + octets.length > BATCH_BYTES ? flush() : 0
      if (octets.length > BATCH_BYTES) {
        if (!isTaken(octets)) unreadable += octets.length
        return unreadable
      }
      held.set(octets, length)
      length += octets.length
      ends.push(length)
      return unreadable
    },
  }
}

/** The file in its order, the next piece asked for before one is given: a stream of it comes in pieces of 64 KB, each a turn. */
async function* piecesOf(file: Blob): AsyncGenerator<Uint8Array> {
  const read = async (at: number): Promise<Uint8Array> =>
    new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer())
  let next = read(0)
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    const piece = await next
    if (at + PIECE_BYTES < file.size) next = read(at + PIECE_BYTES)
    yield piece
  }
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    reader.releaseLock()
  }
}
