/**
 * One sample of a MessagePack bench, in a process of its own: `msgpack-sample.js TASK CODEC FILE SECONDS`. Prints one JSON
 * line, a {@link MsgpackSample}.
 */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { decode as theirDecode, encode as theirEncode } from '@msgpack/msgpack'
import { openColumns, type ColumnSpec } from '@prexy/msgpack/columns'
import { Decoder } from '@prexy/msgpack/decode'
import { Encoder } from '@prexy/msgpack/encode'
import { Packr } from 'msgpackr'
import type { CodecName, MsgpackTask } from './definition.ts'
import { EVENT_SHAPES } from './event-shapes.ts'

export interface MsgpackSample {
  /** CPU time of the process: ms for `decode-first`, us of the median round otherwise. Not for `memory`. */
  readonly time: number | undefined
  /** MB that the value keeps alive, its input included if it does; `memory`: MB of resident growth. */
  readonly memoryMB: number | undefined
}

/** What the list of a viewer shows. */
const LIST_COLUMNS: readonly ColumnSpec[] = [
  { name: 'seq', path: ['seq'], kind: 'number' },
  { name: 'time', path: ['time'], kind: 'time' },
  { name: 'source', path: ['source'], kind: 'dictionary' },
  { name: 'kind', path: ['kind'], kind: 'dictionary' },
  { name: 'level', path: ['level'], kind: 'dictionary' },
  { name: 'name', path: ['name'], kind: 'dictionary' },
  { name: 'durationMs', path: ['durationMs'], kind: 'number' },
  { name: 'status', path: ['payload', 'status'], kind: 'number' },
  { name: 'host', path: ['payload', 'host'], kind: 'dictionary' },
]

interface Codec {
  decode(bytes: Uint8Array): unknown
  encode(value: unknown): Uint8Array
}

function makeCodec(name: CodecName): Codec {
  if (name === '@msgpack/msgpack')
    return { decode: (bytes) => theirDecode(bytes), encode: (value) => theirEncode(value) }
  if (name === 'msgpackr') {
    // Records are no plain MessagePack; heads of maps are to be as short as the others write them.
    const packr = new Packr({ useRecords: false, variableMapSize: true })
    return { decode: (bytes) => packr.unpack(bytes), encode: (value) => packr.pack(value) }
  }
  const encoder = new Encoder({ pooled: name === 'prexy pooled' })
  const encode = (value: unknown): Uint8Array => encoder.encode(value)
  const decoder = new Decoder(name === 'prexy known shapes' ? { shapes: EVENT_SHAPES } : {})
  if (name === 'prexy lazy') return { decode: (bytes) => decoder.decodeLazy(bytes, 2), encode }
  if (name === 'prexy columns') return { decode: (bytes) => openColumns(bytes, LIST_COLUMNS), encode }
  return { decode: (bytes) => decoder.decode(bytes), encode }
}

function measure(task: MsgpackTask, codec: Codec, file: string, seconds: number): MsgpackSample {
  if (task === 'decode-first') return decodeFirst(codec, file)
  if (task === 'memory') return growth(codec, new Uint8Array(readFileSync(file)))
  const bytes = new Uint8Array(readFileSync(file))
  // Objects with their fields in place, as JSON.parse makes them; @msgpack/msgpack would make dictionaries of the longer ones.
  const value = new Decoder().decode(bytes)
  const values: unknown[] = task === 'encode' && Array.isArray(value) ? value : [value]
  const rounds = Math.max(1, Math.round(20_000_000 / bytes.length / 10))
  let sink = 0
  const run = (): void => {
    if (task === 'decode') for (let i = 0; i < rounds; i++) sink += codec.decode(bytes) === undefined ? 1 : 0
    else for (let i = 0; i < rounds; i++) for (const each of values) sink += codec.encode(each).length
  }
  for (const until = performance.now() + 500; performance.now() < until; ) run()
  const times: number[] = []
  for (const until = performance.now() + seconds * 1_000; performance.now() < until || times.length < 5; ) {
    const before = process.cpuUsage()
    run()
    times.push(cpuUs(before) / rounds)
  }
  if (sink < 0) throw new Error('nothing was done')
  times.sort((a, b) => a - b)
  return { time: times[times.length >> 1], memoryMB: undefined }
}

function decodeFirst(codec: Codec, file: string): MsgpackSample {
  const collect = garbageCollector()
  collect()
  const held = heldMB()
  const { value, time } = decodeFile(codec, file)
  collect()
  const memoryMB = heldMB() - held
  // Still in use.
  if (value === undefined) throw new Error('nothing was decoded')
  return { time, memoryMB }
}

/** In a function of its own, so that nothing here keeps the input. */
function decodeFile(codec: Codec, file: string): { readonly value: unknown; readonly time: number } {
  const data = readFileSync(file)
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.length)
  const before = process.cpuUsage()
  const value = codec.decode(bytes)
  return { value, time: cpuUs(before) / 1_000 }
}

function growth(codec: Codec, bytes: Uint8Array): MsgpackSample {
  garbageCollector()()
  const before = process.memoryUsage().rss
  try {
    codec.decode(bytes)
  } catch {
    // It is refused by all; at what cost is the question.
  }
  return { time: undefined, memoryMB: (process.memoryUsage().rss - before) / 1e6 }
}

function heldMB(): number {
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

function cpuUs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return user + system
}

/** What is freed off the heap is told by a later collection. */
function garbageCollector(): () => void {
  const collect = findCollector()
  return () => {
    for (let i = 0; i < 4; i++) collect()
  }
}

function findCollector(): () => void {
  if (process.versions.bun !== undefined) {
    const bun = Reflect.get(globalThis, 'Bun') as { gc(force: boolean): void }
    return () => bun.gc(true)
  }
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

const [task, codec, file, seconds] = process.argv.slice(2)
const sample = measure(task as MsgpackTask, makeCodec(codec as CodecName), file, Number(seconds))
process.stdout.write(`${JSON.stringify(sample)}\n`)
