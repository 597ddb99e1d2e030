/** Where events come from: a proxy that runs, a session that it recorded, a segment file. */
import { Decoder } from '@prexy/msgpack/decode'
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
      else if (frame.kind === 'events') batch.add(frame.payload)
    }
    loaded += chunk.length
    sink.progress({ loaded, total: file.size })
  }
  batch.flush()
  for (const damage of scanner.end()) damagedBytes += damage.bytes
  if (problem !== undefined)
    throw new Error(`the file ${problem}: open a segment, a file of record.directory whose name ends in .prexyrec`)
  return { damagedBytes }
}

/** Makes few large pieces of many small frames: each piece costs columns of its own to read it. */
function batchesFor({ append }: Sink): { add: (octets: Uint8Array) => void; flush: () => void } {
  const held = new Uint8Array(BATCH_BYTES)
  let length = 0
  const flush = (): void => {
    if (length > 0) append(held.subarray(0, length))
    length = 0
  }
  return {
    flush,
    add(octets) {
      if (length + octets.length > BATCH_BYTES) flush()
      if (octets.length > BATCH_BYTES) {
        append(octets)
        return
      }
      held.set(octets, length)
      length += octets.length
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
