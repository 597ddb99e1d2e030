/** What is shown, as the fragment of the address says it, so that a view can be kept and passed on. */
import type { Range, Sort } from './query.ts'
import { COLUMNS } from './table-columns.ts'

export type Panel = 'list' | 'totals' | 'hunt' | 'workbench'

const PANELS: readonly Panel[] = ['totals', 'hunt', 'workbench']

export interface ViewState {
  /** `live` or the id of a session; `file` cannot be opened again by an address. */
  readonly source: string
  readonly panel: Panel
  readonly filter: string
  readonly range: Range | undefined
  readonly sort: Sort
  readonly columns: readonly string[]
  /** `run-sequence` of an event. */
  readonly selected: string | undefined
}

const DEFAULT_COLUMNS = COLUMNS.filter(({ isDefault }) => isDefault).map(({ name }) => name)

export const DEFAULT_VIEW: ViewState = {
  source: 'live',
  panel: 'list',
  filter: '',
  range: undefined,
  sort: { column: 'sequence', descending: true },
  columns: DEFAULT_COLUMNS,
  selected: undefined,
}

export function readView(fragment: string): ViewState {
  const query = new URLSearchParams(fragment.replace(/^#/, ''))
  const range = /^(\d{1,16})-(\d{1,16})$/.exec(query.get('range') ?? '')
  const sort = /^(-?)([A-Za-z]+)$/.exec(query.get('sort') ?? '')
  const sortColumn = COLUMNS.find(({ sort: name }) => name === sort?.[2])?.sort
  const columns = (query.get('columns') ?? '')
    .split(',')
    .filter((name) => COLUMNS.some((column) => column.name === name))
  const panel = query.get('panel')
  const selected = query.get('event')
  return {
    source: query.get('source') ?? 'live',
    panel: PANELS.find((known) => known === panel) ?? 'list',
    filter: query.get('filter') ?? '',
    range: range === null ? undefined : { fromMs: Number(range[1]), toMs: Number(range[2]) },
    sort: sortColumn === undefined ? DEFAULT_VIEW.sort : { column: sortColumn, descending: sort?.[1] === '-' },
    columns: columns.length > 0 ? columns : DEFAULT_COLUMNS,
    selected: selected ?? undefined,
  }
}

export function writeView(view: ViewState): string {
  const query = new URLSearchParams()
  if (view.source !== 'live') query.set('source', view.source)
  if (view.panel !== 'list') query.set('panel', view.panel)
  if (view.filter !== '') query.set('filter', view.filter)
  if (view.range !== undefined) query.set('range', `${Math.floor(view.range.fromMs)}-${Math.ceil(view.range.toMs)}`)
  const { column, descending } = view.sort
  if (column !== 'sequence' || !descending) query.set('sort', `${descending ? '-' : ''}${column}`)
  if (view.columns.join() !== DEFAULT_COLUMNS.join()) query.set('columns', view.columns.join())
  if (view.selected !== undefined) query.set('event', view.selected)
  return query.toString()
}
