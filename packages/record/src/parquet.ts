/**
 * Sealed segments as Parquet, for query engines: one row per exchange, heads and bodies left out but for what is asked for
 * most. Columns keep their names; new ones are only added.
 */
import type { ExchangeRecord, RecordedEvent } from '@prexy/events/recorded-event'
import { parquetWriteBuffer } from 'hyparquet-writer'

/** Rows of one row group: enough to compress well, few enough to be read apart. */
export const ROWS_PER_GROUP = 25_000

/** Rows of one file; what is more goes to another. Bounds the memory that compacting takes, some 2 KB a row. */
export const MAX_ROWS_PER_FILE = 250_000

type Cell = string | number | bigint | Date | undefined
type ColumnType = 'STRING' | 'INT32' | 'INT64' | 'DOUBLE' | 'TIMESTAMP'

interface ParquetColumn {
  readonly name: string
  readonly type: ColumnType
  readonly of: (event: ExchangeRecord) => Cell
}

const COLUMNS: readonly ParquetColumn[] = [
  { name: 'run', type: 'STRING', of: ({ run }) => run },
  { name: 'sequence', type: 'INT64', of: ({ sequence }) => BigInt(sequence) },
  { name: 'kind', type: 'STRING', of: ({ kind }) => kind },
  { name: 'started_at', type: 'TIMESTAMP', of: ({ startedAtMs }) => new Date(startedAtMs) },
  { name: 'client', type: 'STRING', of: ({ client }) => client },
  { name: 'method', type: 'STRING', of: ({ method }) => method },
  { name: 'scheme', type: 'STRING', of: ({ scheme }) => scheme },
  { name: 'host', type: 'STRING', of: ({ host }) => host },
  { name: 'path', type: 'STRING', of: ({ target }) => target.split('?', 1)[0] },
  {
    name: 'query',
    type: 'STRING',
    of: ({ target }) => (target.includes('?') ? target.slice(target.indexOf('?') + 1) : undefined),
  },
  { name: 'status', type: 'INT32', of: ({ status }) => status },
  { name: 'route', type: 'STRING', of: ({ route }) => route },
  { name: 'upstream', type: 'STRING', of: ({ upstream }) => upstream },
  { name: 'upstream_address', type: 'STRING', of: ({ upstreamAddress }) => upstreamAddress },
  { name: 'request_id', type: 'STRING', of: ({ requestId }) => requestId },
  { name: 'outcome', type: 'STRING', of: ({ outcome }) => outcome },
  { name: 'detail', type: 'STRING', of: ({ detail }) => detail },
  { name: 'content_type', type: 'STRING', of: ({ response }) => fieldOf(response?.fields, 'content-type') },
  { name: 'user_agent', type: 'STRING', of: ({ request }) => fieldOf(request?.fields, 'user-agent') },
  { name: 'referer', type: 'STRING', of: ({ request }) => fieldOf(request?.fields, 'referer') },
  { name: 'treatment', type: 'STRING', of: ({ treatment }) => treatment?.kind },
  {
    name: 'pass_reason',
    type: 'STRING',
    of: ({ treatment }) => (treatment === undefined || treatment.kind === 'rewritten' ? undefined : treatment.reason),
  },
  {
    name: 'rule_hits',
    type: 'INT64',
    of: (event) => statsOf(event, ({ hits }) => hits.reduce((sum, one) => sum + one, 0)),
  },
  {
    name: 'hits_by_rule',
    type: 'STRING',
    of: ({ treatment }) => (treatment?.kind === 'rewritten' ? treatment.stats.hits.join(',') : undefined),
  },
  { name: 'overflows', type: 'INT64', of: (event) => statsOf(event, ({ overflows }) => overflows) },
  { name: 'peak_held_bytes', type: 'INT64', of: (event) => statsOf(event, ({ peakHeldBytes }) => peakHeldBytes) },
  { name: 'body_bytes_before', type: 'INT64', of: (event) => statsOf(event, ({ inBytes }) => inBytes) },
  { name: 'body_bytes_after', type: 'INT64', of: (event) => statsOf(event, ({ outBytes }) => outBytes) },
  { name: 'client_in_bytes', type: 'INT64', of: ({ clientInBytes }) => BigInt(clientInBytes) },
  { name: 'client_out_bytes', type: 'INT64', of: ({ clientOutBytes }) => BigInt(clientOutBytes) },
  { name: 'upstream_in_bytes', type: 'INT64', of: ({ upstreamInBytes }) => BigInt(upstreamInBytes) },
  { name: 'upstream_out_bytes', type: 'INT64', of: ({ upstreamOutBytes }) => BigInt(upstreamOutBytes) },
  { name: 'asked_us', type: 'DOUBLE', of: ({ timings }) => timings.upstreamAskedUs },
  { name: 'connected_us', type: 'DOUBLE', of: ({ timings }) => timings.upstreamConnectedUs },
  { name: 'first_byte_us', type: 'DOUBLE', of: ({ timings }) => timings.responseHeadUs },
  { name: 'rewrite_us', type: 'DOUBLE', of: ({ timings }) => timings.rewriteUs },
  { name: 'total_us', type: 'DOUBLE', of: ({ timings }) => timings.endUs },
]

/** Gathers exchanges, at most `MAX_ROWS_PER_FILE`, and makes a file of them. */
export class ParquetRows {
  readonly #cells: Cell[][] = COLUMNS.map(() => [])
  rows = 0

  /** Gaps and events of applications are no rows. */
  add(event: RecordedEvent): void {
    if (event.kind !== 'exchange' && event.kind !== 'websocket') return
    for (const [at, column] of COLUMNS.entries()) this.#cells[at].push(column.of(event) ?? undefined)
    this.rows++
  }

  /** The file's octets; the rows begin anew. */
  take(): Uint8Array {
    const octets = parquetWriteBuffer({
      columnData: COLUMNS.map(({ name, type }, at) => ({ name, type, data: this.#cells[at], nullable: true })),
      rowGroupSize: ROWS_PER_GROUP,
      kvMetadata: [{ key: 'prexy', value: 'exchanges, version 2' }],
    })
    for (const cells of this.#cells) cells.length = 0
    this.rows = 0
    return new Uint8Array(octets)
  }
}

type Stats = Extract<NonNullable<ExchangeRecord['treatment']>, { readonly kind: 'rewritten' }>['stats']

function statsOf({ treatment }: ExchangeRecord, pick: (stats: Stats) => number): bigint | undefined {
  return treatment?.kind === 'rewritten' ? BigInt(pick(treatment.stats)) : undefined
}

function fieldOf(fields: readonly string[] | undefined, lowerName: string): string | undefined {
  if (fields === undefined) return undefined
  for (let at = 0; at < fields.length; at += 2) if (fields[at].toLowerCase() === lowerName) return fields[at + 1]
  return undefined
}
