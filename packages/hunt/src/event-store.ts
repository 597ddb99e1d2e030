/**
 * Events in a table of a query engine: its columns, events as rows, and rows as events again.
 *
 * What rules need is worked out when an event is loaded (texts folded, numbers and addresses read, views of URIs taken),
 * so that all engines see what ours sees. Halves of surrogate pairs, which are in no text of such an engine, become
 * U+FFFD.
 */
import type { FieldScalar, FieldValue, LogSource } from '@prexy/sigma/event'
import { foldCase } from '@prexy/sigma/fold'
import { parseAddress } from '@prexy/sigma/network'
import { numberOf } from '@prexy/sigma/numeric'
import { addressText } from '@prexy/sigma/sql-condition'
import { EngineError } from './engine-error.ts'
import { type EventEntry, type EventKind, type HuntEvent, NO_TIME } from './hunt-event.ts'

export type StoredType = 'double' | 'integer' | 'text' | 'doubles' | 'integers' | 'texts'

export type StoredValue = number | string | readonly number[] | readonly string[]

/** A row: what {@link STORED_COLUMNS} say. Columns keep their names; new ones are only added. */
export interface StoredRow {
  readonly time_ms: number
  readonly ticks: number
  readonly loaded_ms: number
  readonly source_number: number
  readonly source: string
  readonly record: number
  readonly host: string
  readonly channel: string
  readonly event_id: number
  readonly record_id: string
  readonly provider: string
  readonly kind: string
  readonly recovered: number
  readonly routed: number
  readonly categories: readonly string[]
  readonly products: readonly string[]
  readonly services: readonly string[]
  readonly text: string
  readonly text_folded: string
  readonly names: readonly string[]
  readonly texts: readonly string[]
  readonly folded: readonly string[]
  readonly kinds: readonly number[]
  readonly numbers: readonly number[]
  readonly addresses: readonly string[]
  readonly entries: string
}

export type StoredColumn = keyof StoredRow

/** The columns, in the order in which they are written. */
export const STORED_COLUMNS: readonly (readonly [name: StoredColumn, type: StoredType])[] = [
  ['time_ms', 'double'],
  ['ticks', 'integer'],
  ['loaded_ms', 'double'],
  ['source_number', 'integer'],
  ['source', 'text'],
  ['record', 'double'],
  ['host', 'text'],
  ['channel', 'text'],
  ['event_id', 'double'],
  ['record_id', 'text'],
  ['provider', 'text'],
  ['kind', 'text'],
  ['recovered', 'integer'],
  ['routed', 'integer'],
  ['categories', 'texts'],
  ['products', 'texts'],
  ['services', 'texts'],
  ['text', 'text'],
  ['text_folded', 'text'],
  ['names', 'texts'],
  ['texts', 'texts'],
  ['folded', 'texts'],
  ['kinds', 'integers'],
  ['numbers', 'doubles'],
  ['addresses', 'texts'],
  ['entries', 'text'],
]

/** What a row is read from when a rule matched: all but what only conditions ask for. */
export const EVENT_COLUMNS: readonly StoredColumn[] = STORED_COLUMNS.map(([name]) => name).filter(
  (name) => !['text', 'text_folded', 'folded', 'numbers', 'addresses'].includes(name),
)

/** And with the text that keywords are looked for in, for our own engine. */
export const WHOLE_EVENT_COLUMNS: readonly StoredColumn[] = [...EVENT_COLUMNS, 'text']

/** In `kinds`; `view` is one of several ways to see a value. */
const KINDS = { null: 0, text: 1, number: 2, integer: 3, boolean: 4, view: 5 } as const

/** Where an event was loaded from. */
export interface StoredPlace {
  readonly loadedMs: number
  readonly sourceNumber: number
  readonly source: string
  readonly record: number
}

export function storedRow(event: HuntEvent, place: StoredPlace): StoredRow {
  const values: {
    names: string[]
    texts: string[]
    folded: string[]
    kinds: number[]
    numbers: number[]
    addresses: string[]
  } = { names: [], texts: [], folded: [], kinds: [], numbers: [], addresses: [] }
  const add = (name: string, value: FieldScalar, isView: boolean): void => {
    const text = value === null ? '' : wellFormed(String(value))
    const address = typeof value === 'string' ? parseAddress(value) : undefined
    values.names.push(name)
    values.texts.push(text)
    values.folded.push(foldCase(text))
    values.kinds.push(isView ? KINDS.view : kindOf(value))
    values.numbers.push(numberOf(value) ?? NaN)
    values.addresses.push(address === undefined ? '' : addressText(address))
  }
  for (const field of event.fieldNames()) {
    const value = event.get(field)
    if (value === undefined) continue
    const name = wellFormed(field)
    if (typeof value !== 'object' || value === null) add(name, value, false)
    else if ('wholes' in value) for (const one of value.values) add(name, one, true)
    else for (const one of value) add(name, one, false)
  }
  const sources = event.sources ?? []
  const text = wellFormed(event.text())
  return {
    time_ms: event.time === undefined || Number.isNaN(event.time) ? NO_TIME : event.time,
    ticks: event.ticks,
    loaded_ms: place.loadedMs,
    source_number: place.sourceNumber,
    source: wellFormed(place.source),
    record: place.record,
    host: wellFormed(event.host),
    channel: wellFormed(event.channel),
    event_id: event.eventId ?? NaN,
    record_id: wellFormed(event.recordId ?? ''),
    provider: wellFormed(event.provider ?? ''),
    kind: event.kind,
    recovered: event.isRecovered ? 1 : 0,
    routed: event.sources === undefined ? 0 : 1,
    categories: sources.map(({ category }) => wellFormed(category ?? '')),
    products: sources.map(({ product }) => wellFormed(product ?? '')),
    services: sources.map(({ service }) => wellFormed(service ?? '')),
    text,
    text_folded: foldCase(text),
    ...values,
    entries: JSON.stringify(
      event
        .entries()
        .map(([name, value]) => [
          wellFormed(name),
          typeof value === 'bigint' ? String(value) : typeof value === 'string' ? wellFormed(value) : value,
        ]),
    ),
  }
}

function kindOf(value: FieldScalar): number {
  switch (typeof value) {
    case 'string':
      return KINDS.text
    case 'number':
      return KINDS.number
    case 'bigint':
      return KINDS.integer
    case 'boolean':
      return KINDS.boolean
    default:
      return KINDS.null
  }
}

function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

/** A row that was read: of its columns those of {@link EVENT_COLUMNS}, and `text` when it was asked for. */
export type ReadRow = Omit<StoredRow, 'text' | 'text_folded' | 'folded' | 'numbers' | 'addresses'> & {
  readonly text?: string
}

/** Throws an {@link EngineError} for columns of other types than they are to have: of a table that is not ours. */
export function readStoredRow(row: Readonly<Record<string, StoredValue>>): ReadRow {
  const number = (name: StoredColumn): number => {
    const value = row[name]
    return typeof value === 'number' ? value : unlike(name)
  }
  const text = (name: StoredColumn): string => {
    const value = row[name]
    return typeof value === 'string' ? value : unlike(name)
  }
  const texts = (name: StoredColumn): readonly string[] => {
    const value = row[name]
    return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : unlike(name)
  }
  const numbers = (name: StoredColumn): readonly number[] => {
    const value = row[name]
    return Array.isArray(value) && value.every((one) => typeof one === 'number') ? value : unlike(name)
  }
  const isParallel = (...names: readonly StoredColumn[]): boolean =>
    new Set(names.map((name) => (Array.isArray(row[name]) ? row[name].length : -1))).size === 1
  if (!isParallel('names', 'texts', 'kinds')) unlike('texts')
  if (!isParallel('categories', 'products', 'services')) unlike('categories')
  return {
    time_ms: number('time_ms'),
    ticks: number('ticks'),
    loaded_ms: number('loaded_ms'),
    source_number: number('source_number'),
    source: text('source'),
    record: number('record'),
    host: text('host'),
    channel: text('channel'),
    event_id: number('event_id'),
    record_id: text('record_id'),
    provider: text('provider'),
    kind: text('kind'),
    recovered: number('recovered'),
    routed: number('routed'),
    categories: texts('categories'),
    products: texts('products'),
    services: texts('services'),
    names: texts('names'),
    texts: texts('texts'),
    kinds: numbers('kinds'),
    entries: text('entries'),
    ...('text' in row ? { text: text('text') } : {}),
  }
}

function unlike(name: string): never {
  throw new EngineError(`the column "${name}" is not what prexy hunt load writes`)
}

const knownSources = new Map<string, readonly LogSource[]>()
/** Log sources that are remembered; there are as many as there are kinds of event. */
const MAX_KNOWN_SOURCES = 1_000

/** The same array for the same sources: routing is a lookup then. */
function sourcesOf({ routed, categories, products, services }: ReadRow): readonly LogSource[] | undefined {
  if (routed === 0) return undefined
  const key = JSON.stringify([categories, products, services])
  const known = knownSources.get(key)
  if (known !== undefined) return known
  const part = (text: string): string | undefined => (text === '' ? undefined : text)
  const sources = categories.map((category, index) => ({
    category: part(category),
    product: part(products[index]),
    service: part(services[index]),
  }))
  if (knownSources.size >= MAX_KNOWN_SOURCES) knownSources.clear()
  knownSources.set(key, sources)
  return sources
}

/** A row as the event that it was made of. */
export function storedEvent(row: ReadRow): HuntEvent {
  let fields: Map<string, FieldValue> | undefined
  const allFields = (): Map<string, FieldValue> => (fields ??= fieldsOf(row))
  return {
    sources: sourcesOf(row),
    time: row.time_ms === NO_TIME ? undefined : row.time_ms,
    ticks: row.ticks,
    host: row.host,
    channel: row.channel,
    eventId: Number.isNaN(row.event_id) ? undefined : row.event_id,
    recordId: row.record_id === '' ? undefined : row.record_id,
    provider: row.provider === '' ? undefined : row.provider,
    isRecovered: row.recovered === 1,
    kind: eventKind(row.kind),
    get: (field) => allFields().get(field),
    text: () => row.text ?? '',
    entries: () => entriesOf(row.entries),
    fieldNames: () => allFields().keys(),
  }
}

/** None when the text is not what was written: another than prexy wrote it, or it was damaged. */
function entriesOf(text: string): readonly EventEntry[] {
  const parse: (text: string) => unknown = JSON.parse
  try {
    const list = parse(text)
    return Array.isArray(list) ? list.filter(isEntry) : []
  } catch {
    return []
  }
}

function isEntry(entry: unknown): entry is EventEntry {
  if (!Array.isArray(entry)) return false
  const pair: readonly unknown[] = entry
  const [name, value] = pair
  return typeof name === 'string' && (typeof value !== 'object' || value === null)
}

function eventKind(text: string): EventKind {
  return text === 'web' || text === 'windows' ? text : 'other'
}

function fieldsOf({ names, texts, kinds }: ReadRow): Map<string, FieldValue> {
  const lists = new Map<string, { readonly values: FieldScalar[]; readonly views: string[] }>()
  names.forEach((name, index) => {
    const list = lists.get(name) ?? { values: [], views: [] }
    lists.set(name, list)
    if (kinds[index] === KINDS.view) list.views.push(texts[index])
    else list.values.push(scalarOf(texts[index], kinds[index]))
  })
  const fields = new Map<string, FieldValue>()
  for (const [name, { values, views }] of lists) {
    // That a view stands in another one only saves work.
    if (views.length > 0) fields.set(name, { values: views, wholes: views.length })
    else fields.set(name, values.length === 1 ? values[0] : values)
  }
  return fields
}

function scalarOf(text: string, kind: number): FieldScalar {
  switch (kind) {
    case KINDS.number:
      return Number(text)
    case KINDS.integer:
      return /^-?\d{1,40}$/.test(text) ? BigInt(text) : text
    case KINDS.boolean:
      return text === 'true'
    default:
      // oxlint-disable-next-line unicorn/no-null -- as in JSON
      return kind === KINDS.null ? null : text
  }
}
