/**
 * Parquet files of prexy read again: events that `prexy hunt load` wrote, as they were, and exchanges that `prexy record
 * compact` wrote, as requests without their heads and bodies.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { EngineError } from './engine-error.ts'
import { readStoredRow, storedEvent, type StoredValue, WHOLE_EVENT_COLUMNS } from './event-store.ts'
import type { HuntEvent } from './hunt-event.ts'
import { noFacts, requestEvent } from './web-log.ts'

/** Rows of one row group; a file with larger ones is refused, since they are decoded as a whole. */
export const MAX_ROWS_IN_GROUP = 200_000

/** Why a Parquet file is not read. */
export class ParquetFault extends Error {
  override readonly name: string = 'ParquetFault'
}

type ParquetCells = Readonly<Record<string, unknown>>

/** Gives each row as an event, with its number from 1. Throws a {@link ParquetFault}, perhaps when it has given some. */
export async function readParquetEvents(
  path: string,
  visit: (event: HuntEvent, row: number) => void,
  pause: () => Promise<void> | undefined,
): Promise<void> {
  const handle = openSync(path, 'r')
  try {
    const file = bufferOf(handle)
    const metadata = await faulty(() => parquetMetadataAsync(file))
    const eventOf = readerFor(metadata)
    let start = 0
    for (const group of metadata.row_groups) {
      const rows = Number(group.num_rows)
      if (rows > MAX_ROWS_IN_GROUP) throw new ParquetFault(`a row group of more than ${MAX_ROWS_IN_GROUP} rows`)
      const { columns } = eventOf
      const [rowStart, rowEnd] = [start, start + rows]
      const cells = await faulty(() => parquetReadObjects({ file, metadata, columns: [...columns], rowStart, rowEnd }))
      for (const [index, row] of cells.entries()) visit(eventOf.read(row), start + index + 1)
      start = rowEnd
      const paused = pause()
      if (paused !== undefined) await paused
    }
  } finally {
    closeSync(handle)
  }
}

function bufferOf(handle: number): AsyncBuffer {
  const byteLength = fstatSync(handle).size
  return {
    byteLength,
    slice(start, end = byteLength) {
      const octets = new Uint8Array(Math.max(0, Math.min(end, byteLength) - start))
      let at = 0
      while (at < octets.length) {
        const read = readSync(handle, octets, at, octets.length - at, start + at)
        if (read === 0) break
        at += read
      }
      return octets.buffer
    },
  }
}

/** The reader throws whatever damaged bytes lead it to. */
async function faulty<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    throw new ParquetFault(`damaged: ${error instanceof Error ? error.message : String(error)}`)
  }
}

interface RowReader {
  readonly columns: readonly string[]
  read(row: ParquetCells): HuntEvent
}

function readerFor(metadata: FileMetaData): RowReader {
  const says = metadata.key_value_metadata?.find(({ key }) => key === 'prexy')?.value ?? ''
  if (says.startsWith('hunt events,')) return { columns: WHOLE_EVENT_COLUMNS, read: storedRowEvent }
  if (says.startsWith('exchanges,')) return { columns: EXCHANGE_COLUMNS, read: exchangeRowEvent }
  throw new ParquetFault('its columns are not those that prexy writes')
}

function storedRowEvent(row: ParquetCells): HuntEvent {
  const values = Object.fromEntries(
    Object.entries(row).map(([name, value]): [string, StoredValue] => {
      if (typeof value === 'string' || typeof value === 'number') return [name, value]
      if (!Array.isArray(value)) throw new ParquetFault(`the column "${name}" is not what prexy writes`)
      const list: readonly unknown[] = value
      const numbers = list.filter((one) => typeof one === 'number')
      return [name, numbers.length === list.length ? numbers : list.map(String)]
    }),
  )
  try {
    return storedEvent(readStoredRow(values))
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    throw new ParquetFault(error.message)
  }
}

/** Those of `packages/record/src/parquet.ts` that a request has. */
const EXCHANGE_COLUMNS = [
  ...['started_at', 'client', 'method', 'scheme', 'host', 'path', 'query', 'status', 'upstream_address', 'request_id'],
  ...['content_type', 'user_agent', 'referer', 'client_in_bytes', 'client_out_bytes', 'total_us'],
  ...['route', 'outcome', 'treatment', 'rule_hits', 'run', 'sequence'],
]

function exchangeRowEvent(row: ParquetCells): HuntEvent {
  const text = (name: string): string | undefined => {
    const value = row[name]
    return typeof value === 'string' ? value : undefined
  }
  const number = (name: string): number | undefined => {
    const value = row[name]
    return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined
  }
  const facts = noFacts()
  const startedAt = row['started_at']
  facts.time = startedAt instanceof Date ? startedAt.getTime() : undefined
  facts.method = text('method') ?? ''
  const query = text('query')
  facts.target = (text('path') ?? '') + (query === undefined ? '' : `?${query}`)
  facts.scheme = text('scheme')
  facts.host = text('host')
  facts.userAgent = text('user_agent')
  facts.referer = text('referer')
  facts.clientAddress = text('client')
  const server = /^\[?(.*?)\]?:(\d+)$/.exec(text('upstream_address') ?? '')
  facts.serverAddress = server?.[1]
  facts.serverPort = server === null ? undefined : Number(server[2])
  facts.status = number('status')
  facts.requestBytes = number('client_in_bytes')
  facts.responseBytes = number('client_out_bytes')
  const micros = number('total_us')
  facts.durationMs = micros === undefined ? undefined : micros / 1_000
  facts.recordId = `${text('run') ?? ''}-${number('sequence') ?? ''}`
  const own: readonly (readonly [string, string | number | undefined])[] = [
    ['sc-content-type', text('content_type')],
    ['prexy-event', facts.recordId],
    ['prexy-route', text('route')],
    ['prexy-outcome', text('outcome')],
    ['prexy-treatment', text('treatment')],
    ['prexy-replacements', number('rule_hits')],
  ]
  facts.fields = new Map(own.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])))
  return requestEvent(facts, 'recording')
}
