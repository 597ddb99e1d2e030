/** The list: only the rows that are on the screen are there, and of those only what the worker was asked for. */
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { WorkerClient } from './client.ts'
import { durationText } from './format.ts'
import { LevelBadge } from './level-badge.tsx'
import type { Row } from './protocol.ts'
import type { Sort } from './query.ts'
import { COLUMNS, type ListColumn } from './table-columns.ts'

const ROW_PX = 24
/** Of the header, which stands above the rows while they are scrolled. */
const HEADER_PX = 28
const PAGE_ROWS = 64
const SPARE_ROWS = 8
/** Pages that are kept while the list is the same. */
const MAX_PAGES = 64

interface TableProps {
  readonly client: WorkerClient
  readonly count: number
  readonly version: number
  /** Rows that came above the first one with this version. */
  readonly above: number
  readonly columns: readonly string[]
  readonly sort: Sort
  readonly selected: string | undefined
  readonly cursor: number
  readonly onCursor: (index: number) => void
  readonly onSort: (sort: Sort) => void
  readonly onSelect: (event: string) => void
}

export function EventTable(props: TableProps): JSX.Element {
  const { client, count, version, above, sort, selected, cursor, onCursor, onSort, onSelect } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const pages = useRef(new Map<number, readonly Row[]>())
  const pending = useRef(new Set<string>())
  const [, redraw] = useState(0)
  /** The cursor went along with its row; the view stays. */
  const isMoved = useRef(false)
  const columns = COLUMNS.filter(({ name }) => props.columns.includes(name))
  const template = columns.map(({ width }) => width).join(' ')
  const minWidth = `${columns.reduce((sum, { minRem }) => sum + minRem, 0)}rem`

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const observer = new ResizeObserver(() => setView({ top: element.scrollTop, height: element.clientHeight }))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const first = Math.max(0, Math.floor(view.top / ROW_PX) - SPARE_ROWS)
  const shownPx = view.height - HEADER_PX
  const last = Math.min(count, Math.ceil((view.top + shownPx) / ROW_PX) + SPARE_ROWS)
  const versionShown = useRef(version)
  const stale = useRef(new Set<number>())
  useEffect(() => {
    const load = async (page: number): Promise<void> => {
      const key = `${version}/${page}`
      if (pending.current.has(key)) return
      pending.current.add(key)
      const rows = await client.call('rows', { start: page * PAGE_ROWS, count: PAGE_ROWS })
      pending.current.delete(key)
      if (version < versionShown.current) return
      if (version > versionShown.current) {
        // What was there stays on the screen until it is replaced.
        versionShown.current = version
        for (const other of pages.current.keys()) if (other !== page) stale.current.add(other)
      }
      stale.current.delete(page)
      pages.current.set(page, rows)
      for (const other of pages.current.keys()) {
        if (pages.current.size <= MAX_PAGES) break
        pages.current.delete(other)
      }
      redraw((value) => value + 1)
    }
    for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < last; page++) {
      if (!pages.current.has(page) || stale.current.has(page) || versionShown.current !== version) void load(page)
    }
  })

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null || cursor < 0 || isMoved.current) {
      isMoved.current = false
      return
    }
    const top = cursor * ROW_PX
    const height = element.clientHeight - HEADER_PX
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + ROW_PX > element.scrollTop + height) element.scrollTop = top + ROW_PX - height
  }, [cursor])

  // What somebody reads stays where it is while events come above it; at the top the newest are shown.
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null || above === 0) return
    if (element.scrollTop > 0) element.scrollTop += above * ROW_PX
    if (cursor >= 0) {
      isMoved.current = true
      onCursor(cursor + above)
    }
  }, [version])

  const rowAt = (index: number): Row | undefined =>
    pages.current.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS]
  const open = (index: number): void => {
    const row = rowAt(index)
    if (row !== undefined) onSelect(row.event)
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = STEPS[event.key]
    const pageRows = Math.max(1, Math.floor(shownPx / ROW_PX) - 1)
    const move = (index: number): void => {
      const target = Math.max(0, Math.min(count - 1, index))
      onCursor(target)
      // While an event is open the details go along.
      if (selected !== undefined) open(target)
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (step !== undefined) move(cursor + step)
    else if (event.key === 'PageDown') move(cursor + pageRows)
    else if (event.key === 'PageUp') move(cursor - pageRows)
    else if (event.key === 'Home') move(0)
    else if (event.key === 'End') move(count - 1)
    else if (event.key === 'Enter') open(Math.max(0, cursor))
    else return
    event.preventDefault()
  }

  const rows: JSX.Element[] = []
  for (let index = first; index < last; index++) {
    const row = rowAt(index)
    rows.push(
      <div
        key={index}
        id={`row-${index}`}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={row !== undefined && row.event === selected}
        class={rowClass(row, index === cursor)}
        style={{ gridTemplateColumns: template, transform: `translateY(${index * ROW_PX}px)` }}
        onClick={() => {
          onCursor(index)
          open(index)
        }}
      >
        {columns.map((column) => (
          <Cell key={column.name} column={column} row={row} />
        ))}
      </div>,
    )
  }
  let isBusy = versionShown.current !== version
  for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < last; page++)
    isBusy ||= !pages.current.has(page) || stale.current.has(page)
  return (
    <div
      ref={scroller}
      class="scroller"
      role="grid"
      tabIndex={0}
      aria-rowcount={count + 1}
      aria-busy={isBusy}
      aria-label="events: arrows or j and k move, Enter opens"
      onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      onKeyDown={onKey}
    >
      <div role="rowgroup" class="head" style={{ minWidth }}>
        <HeaderRow columns={columns} template={template} sort={sort} onSort={onSort} />
      </div>
      <div class="rows" role="rowgroup" style={{ height: `${count * ROW_PX}px`, minWidth }}>
        {rows}
      </div>
    </div>
  )
}

function HeaderRow({
  columns,
  template,
  sort,
  onSort,
}: Pick<TableProps, 'sort' | 'onSort'> & { columns: readonly ListColumn[]; template: string }): JSX.Element {
  return (
    <div role="row" class="row header" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
      {columns.map((column) => {
        const isSorted = column.sort === sort.column
        const order = !isSorted ? 'none' : sort.descending ? 'descending' : 'ascending'
        return (
          <div role="columnheader" aria-sort={order} key={column.name} class={column.isNumber ? 'number' : ''}>
            <button
              type="button"
              title={`sort by ${column.title.toLowerCase()}`}
              onClick={() => onSort({ column: column.sort, descending: isSorted ? !sort.descending : column.isNumber })}
            >
              {column.title}
              <span aria-hidden="true">{!isSorted ? '' : sort.descending ? ' ↓' : ' ↑'}</span>
            </button>
          </div>
        )
      })}
    </div>
  )
}

const STEPS: Readonly<Record<string, number | undefined>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }

function rowClass(row: Row | undefined, isCursor: boolean): string {
  const status = row?.status ?? 0
  const failed =
    status >= 500 || (row?.outcome !== undefined && row.outcome !== 'completed' && row.outcome !== 'answered')
  const kind = failed ? 'failed' : status >= 400 ? 'refused' : (row?.hits ?? 0) > 0 ? 'changed' : ''
  return `row ${kind} ${isCursor ? 'cursor' : ''} ${row?.kind ?? ''}`
}

function Cell({ column, row }: { column: ListColumn; row: Row | undefined }): JSX.Element {
  if (column.text === undefined) {
    const drawn = row === undefined ? undefined : column.name === 'hit' ? <Found row={row} /> : <Waterfall row={row} />
    return <div role="gridcell">{drawn}</div>
  }
  const text = row === undefined ? '' : (column.text(row) ?? '')
  return (
    <div role="gridcell" class={`cell-${column.name} ${column.isNumber ? 'number' : ''}`} title={text}>
      {text}
    </div>
  )
}

function Found({ row: { found } }: { row: Row }): JSX.Element | undefined {
  if (found === undefined) return undefined
  const more = found.rules > 1 ? ` and ${found.rules - 1} more` : ''
  return (
    <span title={found.title + more}>
      <LevelBadge level={found.level} /> {found.title}
      {more}
    </span>
  )
}

/** On a logarithmic scale from 100 µs to 100 s: exchanges of all durations can be compared. */
function Waterfall({ row }: { row: Row }): JSX.Element | undefined {
  const { endUs, requestHeadUs = 0, upstreamConnectedUs, responseHeadUs } = row
  if (endUs === undefined) return undefined
  const x = (us: number): number => Math.max(0, Math.min(100, (100 * Math.log10(Math.max(1, us / 100))) / 6))
  const parts: readonly (readonly [string, number, number])[] = [
    ['request', 0, requestHeadUs],
    ['connect', requestHeadUs, upstreamConnectedUs ?? requestHeadUs],
    ['wait', upstreamConnectedUs ?? requestHeadUs, responseHeadUs ?? endUs],
    ['receive', responseHeadUs ?? endUs, endUs],
  ]
  const told = parts
    .filter(([, from, to]) => to > from)
    .map(([name, from, to]) => `${name} ${durationText(to - from)}`)
    .join(', ')
  return (
    <svg class="waterfall" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={told}>
      <title>{told}</title>
      {parts.map(([name, from, to]) =>
        to > from ? (
          <rect key={name} class={name} x={x(from)} y="1" width={Math.max(0.8, x(to) - x(from))} height="8" />
        ) : undefined,
      )}
    </svg>
  )
}
