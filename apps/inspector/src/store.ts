/**
 * The events that the inspector holds: columns of typed arrays and dictionaries for lists, sums and filters, and beside
 * them the octets of each event, which are decoded when somebody looks at one.
 *
 * Events lie in blocks. A block has dictionaries of its own, so that what leaves with the oldest block leaves nothing
 * behind, however many different targets a proxy is asked for.
 */
import type { RecordedEvent } from '@prexy/events/recorded-event'
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import { ColumnReader, type ColumnSpec } from '@prexy/msgpack/columns'
import { decode, Decoder } from '@prexy/msgpack/decode'
import { LazyValue } from '@prexy/msgpack/lazy-value'
import type { HuntRule } from './hunt-protocol.ts'

/** Rows of one block. */
export const BLOCK_ROWS = 8_192
/** Octets of events in one block; a single event may have more. */
const BLOCK_BYTES = 16 * 1024 * 1024

export interface StoreLimits {
  /** Events that are kept; beyond it the oldest block goes. Default 270,000. */
  readonly maxEvents: number
  /** Octets of them. Default 192 MiB. */
  readonly maxBytes: number
}

export const DEFAULT_STORE_LIMITS: StoreLimits = { maxEvents: 270_000, maxBytes: 192 * 1024 * 1024 }

export const NUMBER_COLUMNS = ['startedAtMs', 'sequence', 'status', 'endUs', 'outBytes'] as const
export const TEXT_COLUMNS = [
  'kind',
  'run',
  'method',
  'host',
  'target',
  'route',
  'upstream',
  'client',
  'outcome',
  'treatment',
  'reason',
  'source',
  'name',
  'eventType',
  'level',
] as const
export type NumberColumnName = (typeof NUMBER_COLUMNS)[number]
export type TextColumnName = (typeof TEXT_COLUMNS)[number]

const PATHS: Readonly<Partial<Record<NumberColumnName | TextColumnName, readonly string[]>>> = {
  endUs: ['timings', 'endUs'],
  outBytes: ['clientOutBytes'],
  treatment: ['treatment', 'kind'],
  reason: ['treatment', 'reason'],
  eventType: ['type'],
}

/** Of events of applications, which becomes `endUs`: one column to sort, filter and draw by. */
const DURATION_COLUMN = 'durationMs'

const SPECS: readonly ColumnSpec[] = [
  ...NUMBER_COLUMNS.map((name): ColumnSpec => ({ name, path: PATHS[name] ?? [name], kind: 'number' })),
  ...TEXT_COLUMNS.map((name): ColumnSpec => ({ name, path: PATHS[name] ?? [name], kind: 'dictionary' })),
  { name: DURATION_COLUMN, path: [DURATION_COLUMN], kind: 'number' },
]

export interface TextColumn {
  readonly codes: Uint16Array
  /** By code; the first stands for no text. */
  readonly values: (string | undefined)[]
}

export interface Block {
  /** Number of its first event, counted from the first that the store ever took. */
  readonly first: number
  rows: number
  bytes: Uint8Array
  byteLength: number
  /** Where each event begins in `bytes`; one more than rows. */
  readonly offsets: Uint32Array
  readonly numbers: Readonly<Record<NumberColumnName, Float64Array>>
  readonly texts: Readonly<Record<TextColumnName, TextColumn>>
  /** By value to code, while the block grows. */
  indexes: Readonly<Record<TextColumnName, Map<string, number>>> | undefined
  /** What takes a look into the events themselves; see `details`. */
  details: {
    rows: number
    readonly types: TextColumn
    readonly typeIndex: Map<string, number>
    hits: (readonly number[] | undefined)[]
  }
  /** By row: rules of the hunt that hit it, as positions in `huntRules` of the store. */
  found: Map<number, readonly number[]> | undefined
}

const lazy = new Decoder()

export class EventStore {
  readonly blocks: Block[] = []
  /** Of the hunt whose hits the blocks have. */
  huntRules: readonly HuntRule[] = []
  readonly #limits: StoreLimits
  #next = 0
  #bytes = 0
  #evicted = 0

  constructor(limits: Partial<StoreLimits> = {}) {
    this.#limits = { ...DEFAULT_STORE_LIMITS, ...limits }
  }

  /** Events that are there. */
  get count(): number {
    return this.#next - this.first
  }

  /** Number of the oldest event that is there. */
  get first(): number {
    return this.blocks[0]?.first ?? this.#next
  }

  /** Number that the next event will have. */
  get next(): number {
    return this.#next
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Events that made room for newer ones. */
  get evicted(): number {
    return this.#evicted
  }

  clear(): void {
    this.blocks.length = 0
    this.#bytes = 0
    this.#evicted = 0
  }

  /** Takes events, one MessagePack map after the other and all of them complete. The octets are copied. */
  append(octets: Uint8Array): void {
    const reader = new ColumnReader(SPECS)
    reader.append(octets)
    reader.end()
    const { rows, columns, offsets } = reader.table()
    let row = 0
    while (row < rows) {
      const size = (row + 1 < rows ? offsets[row + 1] : octets.length) - offsets[row]
      const block = this.#blockFor(size)
      let end = row
      let byteEnd = offsets[row]
      const startByte = offsets[row]
      while (end < rows && block.rows + end - row < BLOCK_ROWS) {
        const next = end + 1 < rows ? offsets[end + 1] : octets.length
        if (end > row && block.byteLength + next - startByte > BLOCK_BYTES) break
        byteEnd = next
        end++
      }
      const at = block.rows
      const shift = block.byteLength - startByte
      for (let i = row; i < end; i++) block.offsets[at + i - row] = offsets[i] + shift
      putBytes(block, octets.subarray(startByte, byteEnd))
      block.offsets[at + end - row] = block.byteLength
      for (const column of columns) {
        if (column.name === DURATION_COLUMN) {
          if (column.kind === 'number') putDurations(block, column.data.subarray(row, end), at)
        } else if (column.kind === 'number') {
          block.numbers[numberName(column.name)].set(column.data.subarray(row, end), at)
        } else if (column.kind === 'dictionary') {
          putTexts(block, textName(column.name), column.data.subarray(row, end), column.values, at)
        }
      }
      block.rows += end - row
      this.#next += end - row
      this.#bytes += byteEnd - startByte
      row = end
    }
    this.#evict()
  }

  /** The event with that number; undefined where it is gone or is none. */
  event(number: number): RecordedEvent | undefined {
    const octets = this.octets(number)
    if (octets === undefined) return undefined
    return parseRecordedEvent(decode(octets, { binary: 'copy' }))
  }

  octets(number: number): Uint8Array | undefined {
    const block = this.blockOf(number)
    return block === undefined ? undefined : eventOctets(block, number - block.first)
  }

  blockOf(number: number): Block | undefined {
    let low = 0
    let high = this.blocks.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const block = this.blocks[middle]
      if (number < block.first) high = middle - 1
      else if (number >= block.first + block.rows) low = middle + 1
      else return block
    }
    return undefined
  }

  #blockFor(size: number): Block {
    const last = this.blocks.at(-1)
    if (last !== undefined && last.rows < BLOCK_ROWS && (last.rows === 0 || last.byteLength + size <= BLOCK_BYTES))
      return last
    if (last !== undefined) seal(last)
    const block = newBlock(this.#next)
    this.blocks.push(block)
    return block
  }

  #evict(): void {
    const { maxEvents, maxBytes } = this.#limits
    while (this.blocks.length > 1 && (this.count > maxEvents || this.#bytes > maxBytes)) {
      const gone = this.blocks.shift()
      this.#bytes -= gone?.byteLength ?? 0
      this.#evicted += gone?.rows ?? 0
    }
  }
}

export function eventOctets(block: Block, row: number): Uint8Array {
  return block.bytes.subarray(block.offsets[row], block.offsets[row + 1])
}

/** What only rows on the screen show of an exchange, in microseconds from its begin. */
export function timingsOf(block: Block, row: number): Readonly<Partial<Record<TimingName, number>>> {
  const map = lazy.decodeLazy(eventOctets(block, row), 0)
  const timings = map instanceof LazyValue ? map.get('timings') : undefined
  if (!(timings instanceof LazyValue)) return {}
  const found: Partial<Record<TimingName, number>> = {}
  for (const name of TIMINGS) {
    const value = timings.get(name)
    if (typeof value === 'number') found[name] = value
  }
  return found
}

const TIMINGS = ['requestHeadUs', 'upstreamConnectedUs', 'responseHeadUs'] as const
type TimingName = (typeof TIMINGS)[number]

/** Media types of responses and hits per rule, read out of the events before `to` as far as that was not done. */
export function detailsOf(block: Block, to: number = block.rows): Block['details'] {
  const { details } = block
  const rewritten = block.texts.treatment.values.indexOf('rewritten')
  const end = Math.min(block.rows, to)
  for (let row = details.rows; row < end; row++) {
    const { type, hits } = readDetail(block, row, rewritten)
    details.types.codes[row] = codeOf(details.types.values, details.typeIndex, type)
    details.hits.push(hits)
  }
  details.rows = Math.max(details.rows, end)
  return details
}

interface Detail {
  readonly type: string | undefined
  readonly hits: readonly number[] | undefined
}

/** Of one row, without reading those before it. */
export function detailOf(block: Block, row: number): Detail {
  const { types, hits, rows } = block.details
  if (row < rows) return { type: types.values[types.codes[row]], hits: hits[row] }
  return readDetail(block, row, block.texts.treatment.values.indexOf('rewritten'))
}

const NO_DETAIL: Detail = { type: undefined, hits: undefined }

/** `rewritten`: code of that treatment. */
function readDetail(block: Block, row: number, rewritten: number): Detail {
  if (block.texts.method.codes[row] === 0) return NO_DETAIL
  const map = lazy.decodeLazy(eventOctets(block, row), 0)
  if (!(map instanceof LazyValue)) return NO_DETAIL
  const isRewritten = rewritten > 0 && block.texts.treatment.codes[row] === rewritten
  return { type: mediaTypeOf(map.get('response')), hits: isRewritten ? hitsOf(map) : undefined }
}

function mediaTypeOf(response: unknown): string | undefined {
  const fields = response instanceof LazyValue ? response.get('fields') : undefined
  const list: unknown = fields instanceof LazyValue ? fields.decode() : undefined
  if (!isList(list)) return undefined
  for (let at = 0; at + 1 < list.length; at += 2) {
    const name = list[at]
    const value = list[at + 1]
    if (typeof name === 'string' && typeof value === 'string' && name.toLowerCase() === 'content-type')
      return value.split(';', 1)[0].trim().toLowerCase()
  }
  return undefined
}

function hitsOf(map: LazyValue): readonly number[] | undefined {
  const treatment = map.get('treatment')
  const stats = treatment instanceof LazyValue ? treatment.get('stats') : undefined
  const hits = stats instanceof LazyValue ? stats.get('hits') : undefined
  const list: unknown = hits instanceof LazyValue ? hits.decode() : undefined
  return isList(list) && list.every((hit) => typeof hit === 'number') ? list : undefined
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function codeOf(values: (string | undefined)[], index: Map<string, number>, value: string | undefined): number {
  if (value === undefined) return 0
  let code = index.get(value)
  if (code === undefined) {
    code = values.length
    values.push(value)
    index.set(value, code)
  }
  return code
}

function newBlock(first: number): Block {
  return {
    first,
    rows: 0,
    bytes: new Uint8Array(65_536),
    byteLength: 0,
    offsets: new Uint32Array(BLOCK_ROWS + 1),
    numbers: recordOf(NUMBER_COLUMNS, () => new Float64Array(BLOCK_ROWS)),
    texts: recordOf(TEXT_COLUMNS, newTextColumn),
    indexes: recordOf(TEXT_COLUMNS, () => new Map<string, number>()),
    details: { rows: 0, types: newTextColumn(), typeIndex: new Map(), hits: [] },
    found: undefined,
  }
}

function newTextColumn(): TextColumn {
  return { codes: new Uint16Array(BLOCK_ROWS), values: [undefined] }
}

function recordOf<K extends string, V>(names: readonly K[], make: () => V): Record<K, V> {
  const record: Partial<Record<K, V>> = {}
  for (const name of names) record[name] = make()
  const isWhole = (value: Partial<Record<K, V>>): value is Record<K, V> => names.every((name) => name in value)
  if (!isWhole(record)) throw new Error('a column is missing')
  return record
}

function numberName(name: string): NumberColumnName {
  const found = NUMBER_COLUMNS.find((own) => own === name)
  if (found === undefined) throw new Error(`there is no column ${name}`)
  return found
}

function textName(name: string): TextColumnName {
  const found = TEXT_COLUMNS.find((own) => own === name)
  if (found === undefined) throw new Error(`there is no column ${name}`)
  return found
}

/** What a growing block has too much of is given back. */
function seal(block: Block): void {
  if (block.bytes.length > block.byteLength) block.bytes = block.bytes.slice(0, block.byteLength)
  block.indexes = undefined
}

function putBytes(block: Block, octets: Uint8Array): void {
  const needed = block.byteLength + octets.length
  if (needed > block.bytes.length) {
    const larger = new Uint8Array(Math.max(needed, Math.min(block.bytes.length * 2, BLOCK_BYTES)))
    larger.set(block.bytes.subarray(0, block.byteLength))
    block.bytes = larger
  }
  block.bytes.set(octets, block.byteLength)
  block.byteLength = needed
}

function putDurations({ numbers: { endUs } }: Block, durationsMs: Float64Array, at: number): void {
  for (let i = 0; i < durationsMs.length; i++) if (!Number.isNaN(durationsMs[i])) endUs[at + i] = durationsMs[i] * 1_000
}

function putTexts(
  block: Block,
  name: TextColumnName,
  codes: Uint32Array,
  values: readonly (string | undefined)[],
  at: number,
): void {
  const index = block.indexes?.[name]
  if (index === undefined) throw new Error('a sealed block takes no events')
  const { codes: target, values: own } = block.texts[name]
  const mapped = new Int32Array(values.length).fill(-1)
  mapped[0] = 0
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]
    if (mapped[code] < 0) mapped[code] = codeOf(own, index, values[code])
    target[at + i] = mapped[code]
  }
}
