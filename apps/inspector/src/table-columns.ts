/** Columns of the list. */
import { bytesText, durationText, timeText } from './format.ts'
import type { Row } from './protocol.ts'
import type { SortColumn } from './query.ts'

export interface ListColumn {
  readonly name: string
  readonly title: string
  readonly sort: SortColumn
  /** Of a grid. */
  readonly width: string
  /** The least of it, with the gap beside it. */
  readonly minRem: number
  readonly isDefault: boolean
  readonly isNumber: boolean
  /** Undefined: the cell is drawn. */
  readonly text: ((row: Row) => string | undefined) | undefined
}

export const COLUMNS: readonly ListColumn[] = [
  column('time', 'Time', 'sequence', '6.5rem', true, false, (row) => timeText(row.startedAtMs)),
  column('method', 'Method', 'method', '4.5rem', true, false, (row) => row.method ?? row.kind),
  column('status', 'Status', 'status', '4rem', true, true, (row) => row.status?.toString()),
  column('host', 'Host', 'host', 'minmax(6rem, 1fr)', true, false, (row) => row.host),
  column('hit', 'Hits', 'found', 'minmax(6rem, 1.5fr)', true, false, undefined),
  column('target', 'Target', 'target', 'minmax(10rem, 3fr)', true, false, (row) => row.target),
  column('route', 'Route', 'route', 'minmax(5rem, 1fr)', false, false, (row) => row.route),
  column('type', 'Type', 'type', 'minmax(6rem, 1fr)', true, false, (row) => row.type),
  column('rules', 'Replaced', 'hits', '5.5rem', true, true, (row) => row.hits?.toString() ?? row.reason),
  column('size', 'Size', 'outBytes', '5rem', true, true, (row) => bytesText(row.outBytes)),
  column('duration', 'Duration', 'endUs', '5.5rem', true, true, (row) => durationText(row.endUs)),
  column('waterfall', 'Waterfall', 'endUs', 'minmax(7rem, 1fr)', true, false, undefined),
  column('outcome', 'Outcome', 'outcome', '7rem', false, false, (row) => row.outcome),
  column('client', 'Client', 'client', '8rem', false, false, (row) => row.client),
  column('upstream', 'Upstream', 'upstream', '9rem', false, false, (row) => row.upstream),
]

function column(
  name: string,
  title: string,
  sort: SortColumn,
  width: string,
  isDefault: boolean,
  isNumber: boolean,
  text: ListColumn['text'],
): ListColumn {
  const minRem = 0.5 + Number(/[\d.]+/.exec(width)?.[0] ?? 0)
  return { name, title, sort, width, minRem, isDefault, isNumber, text }
}

/** What a narrow screen has room for, as long as nobody chose columns. */
export const NARROW_COLUMNS: readonly string[] = ['method', 'status', 'hit', 'target', 'duration']
