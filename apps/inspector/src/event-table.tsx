/** The list: only the rows that are on the screen are there, and of those only what the worker was asked for. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { WorkerClient } from './client.ts'
import { durationText } from './format.ts'
import { LevelBadge } from './level-badge.tsx'
import { PAGE_ROWS, type Row } from './protocol.ts'
import type { Sort } from './query.ts'
import { COLUMNS, type ListColumn } from './table-columns.ts'

const ROW_PX = 24
/** Of the header, which stands above the rows while they are scrolled. */
const HEADER_PX = 28
/** Rows that are drawn above and below; more than a step, behind which others are drawn. */
const SPARE_ROWS = 6
const STEP_ROWS = 4
/** Pages that are kept while the list is the same. */
const MAX_PAGES = 64

interface TableProps {
  readonly client: WorkerClient
  readonly count: number
  readonly version: number
  /** Rows that came above the first ones since the list was asked for. */
  readonly above: number
  /** The first page of this version. */
  readonly firstRows: readonly Row[]
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
  /** Where it is scrolled to; the element itself would lay everything out before it answers. */
  const scrolled = useRef(0)
  const aboveShown = useRef(above)
  /** The cursor went along with its row; the view stays. */
  const isMoved = useRef(false)
  const columns = COLUMNS.filter(({ name }) => props.columns.includes(name))
  const template = columns.map(({ width }) => width).join(' ')
  const minWidth = `${columns.reduce((sum, { minRem }) => sum + minRem, 0)}rem`

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const observer = new ResizeObserver(([{ contentRect }]) =>
      setView(({ top }) => ({ top, height: contentRect.height })),
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const first = Math.max(0, Math.floor(view.top / ROW_PX) - SPARE_ROWS)
  const shownPx = view.height - HEADER_PX
  const last = Math.min(count, Math.ceil((view.top + shownPx) / ROW_PX) + SPARE_ROWS)
  const { rowAt, isBusy } = usePages(client, version, props.firstRows, first, last)

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null || cursor < 0 || isMoved.current) {
      isMoved.current = false
      return
    }
    const top = cursor * ROW_PX
    if (top < scrolled.current) element.scrollTop = top
    else if (top + ROW_PX > scrolled.current + shownPx) element.scrollTop = top + ROW_PX - shownPx
  }, [cursor])

  // What somebody reads stays where it is while events come above it; at the top the newest are shown.
  useLayoutEffect(() => {
    const added = above - aboveShown.current
    aboveShown.current = above
    const element = scroller.current
    if (element === null || added <= 0) return
    if (scrolled.current > 0) {
      scrolled.current += added * ROW_PX
      element.scrollTop = scrolled.current
    }
    if (cursor >= 0) {
      isMoved.current = true
      onCursor(cursor + added)
    }
  }, [above])

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

  // PERF: rows that leave the screen become those that come, in their places in the document; what is as it was is not
  // looked at again.
  const pool = Math.ceil(shownPx / ROW_PX) + 2 * SPARE_ROWS + 2
  const drawn = useRef(new Map<number, DrawnRow>())
  const rows: JSX.Element[] = []
  for (let slot = 0; slot < pool; slot++) {
    const around = first - (first % pool) + slot
    const index = around >= first ? around : around + pool
    if (index >= last) continue
    const row = rowAt(index)
    const isSelected = row !== undefined && row.event === selected
    const isCursor = index === cursor
    const before = drawn.current.get(slot)
    const isSame =
      before !== undefined &&
      before.index === index &&
      before.row === row &&
      before.isSelected === isSelected &&
      before.isCursor === isCursor &&
      before.template === template
    const element = isSame ? before.element : drawRow({ slot, index, row, isSelected, isCursor, template, columns })
    drawn.current.set(slot, { index, row, isSelected, isCursor, template, element })
    rows.push(element)
  }
  return (
    <div
      ref={scroller}
      class="scroller"
      role="grid"
      tabIndex={0}
      aria-rowcount={count + 1}
      aria-busy={isBusy}
      {...(cursor >= first && cursor < last ? { 'aria-activedescendant': `row-${cursor}` } : {})}
      aria-label="events: arrows or j and k move, Enter opens"
      onScroll={({ currentTarget }) => {
        scrolled.current = currentTarget.scrollTop
        // Spare rows are there for what is between two steps.
        const top = scrolled.current - (scrolled.current % (STEP_ROWS * ROW_PX))
        setView((before) => (before.top === top ? before : { ...before, top }))
      }}
      onKeyDown={onKey}
    >
      <div role="rowgroup" class="head" style={{ minWidth }}>
        <HeaderRow columns={columns} template={template} sort={sort} onSort={onSort} />
      </div>
      <div
        class="rows"
        role="rowgroup"
        style={{ height: `${count * ROW_PX}px`, minWidth }}
        onClick={({ target }) => {
          const index = indexOf(target)
          if (index === undefined) return
          onCursor(index)
          open(index)
        }}
        onMouseOver={({ target }) => {
          const cell =
            target instanceof HTMLElement ? (target.closest<HTMLElement>('[role=gridcell]') ?? undefined) : undefined
          if (cell !== undefined)
            cell.title = cell.ariaLabel ?? (cell.scrollWidth > cell.clientWidth ? cell.textContent : '')
        }}
      >
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

interface Pages {
  rowAt(this: void, index: number): Row | undefined
  /** Whether rows that are to be shown are not there, or may be others by now. */
  readonly isBusy: boolean
}

/** The rows from `first` to `last` of a list, and some around them, asked for page by page. */
function usePages(
  client: WorkerClient,
  version: number,
  firstRows: readonly Row[],
  first: number,
  last: number,
): Pages {
  const pages = useRef(new Map<number, readonly Row[]>())
  const pending = useRef(new Set<string>())
  const stale = useRef(new Set<number>())
  const versionShown = useRef(-1)
  const [, redraw] = useState(0)
  if (version > versionShown.current) {
    // What was there stays on the screen until it is replaced.
    versionShown.current = version
    for (const page of pages.current.keys()) stale.current.add(page)
    pages.current.set(0, firstRows)
    stale.current.delete(0)
  }
  useEffect(() => {
    const load = async (page: number): Promise<void> => {
      const key = `${version}/${page}`
      if (pending.current.has(key)) return
      pending.current.add(key)
      const rows = await client.call('rows', { start: page * PAGE_ROWS, count: PAGE_ROWS })
      pending.current.delete(key)
      if (version < versionShown.current) return
      stale.current.delete(page)
      pages.current.set(page, rows)
      for (const other of pages.current.keys()) {
        if (pages.current.size <= MAX_PAGES) break
        pages.current.delete(other)
      }
      redraw((value) => value + 1)
    }
    for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < last; page++) {
      if (!pages.current.has(page) || stale.current.has(page)) void load(page)
    }
  })

  let isBusy = false
  for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < last; page++)
    isBusy ||= !pages.current.has(page) || stale.current.has(page)
  const rowAt = (index: number): Row | undefined =>
    pages.current.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS]
  return { rowAt, isBusy }
}

const STEPS: Readonly<Record<string, number | undefined>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }

function rowClass(row: Row | undefined, isCursor: boolean): string {
  const status = row?.status ?? 0
  const failed =
    status >= 500 || (row?.outcome !== undefined && row.outcome !== 'completed' && row.outcome !== 'answered')
  const kind = failed ? 'failed' : status >= 400 ? 'refused' : (row?.hits ?? 0) > 0 ? 'changed' : ''
  return `row ${kind} ${isCursor ? 'cursor' : ''} ${row?.kind ?? ''}`
}

interface DrawnRow {
  readonly index: number
  readonly row: Row | undefined
  readonly isSelected: boolean
  readonly isCursor: boolean
  readonly template: string
  readonly element: JSX.Element
}

function drawRow({
  slot,
  index,
  row,
  isSelected,
  isCursor,
  template,
  columns,
}: Omit<DrawnRow, 'element'> & { slot: number; columns: readonly ListColumn[] }): JSX.Element {
  return (
    <div
      key={slot}
      id={`row-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      class={rowClass(row, isCursor)}
      style={{ gridTemplateColumns: template, top: `${index * ROW_PX}px` }}
    >
      {columns.map((column) => cell(column, row))}
    </div>
  )
}

/** The row that the element is in. */
function indexOf(target: EventTarget | null): number | undefined {
  const id = target instanceof HTMLElement ? target.closest('[role=row]')?.id : undefined
  return id === undefined ? undefined : Number(id.slice('row-'.length))
}

function cell(column: ListColumn, row: Row | undefined): JSX.Element {
  const { name } = column
  if (name === 'waterfall') return waterfallCell(row)
  if (name === 'hit') {
    return (
      <div key={name} role="gridcell" class="cell-hit">
        {foundText(row?.found)}
      </div>
    )
  }
  return (
    <div key={name} role="gridcell" class={column.isNumber ? `cell-${name} number` : `cell-${name}`}>
      {row === undefined ? '' : column.text?.(row)}
    </div>
  )
}

function foundText(found: Row['found']): ComponentChildren {
  if (found === undefined) return undefined
  return [
    <LevelBadge key="level" level={found.level} />,
    ` ${found.title}${found.rules > 1 ? ` and ${found.rules - 1} more` : ''}`,
  ]
}

/** On a logarithmic scale from 100 µs to 100 s: exchanges of all durations can be compared. */
function waterfallCell(row: Row | undefined): JSX.Element {
  const { endUs, requestHeadUs = 0, upstreamConnectedUs, responseHeadUs } = row ?? {}
  if (endUs === undefined) return <div key="waterfall" role="gridcell" />
  const x = (us: number): number => Math.max(0, Math.min(100, (100 * Math.log10(Math.max(1, us / 100))) / 6))
  const parts: readonly (readonly [string, string, number, number])[] = [
    ['request', '--faint', 0, requestHeadUs],
    ['connect', '--warn', requestHeadUs, upstreamConnectedUs ?? requestHeadUs],
    ['wait', '--accent', upstreamConnectedUs ?? requestHeadUs, responseHeadUs ?? endUs],
    ['receive', '--good', responseHeadUs ?? endUs, endUs],
  ]
  const there = parts.filter(([, , from, to]) => to > from)
  const stops = there.map(([, color, from, to]) => `var(${color}) ${x(from)}% ${Math.max(x(from) + 0.8, x(to))}%`)
  const told = there.map(([name, , from, to]) => `${name} ${durationText(to - from)}`).join(', ')
  // PERF: one element instead of a drawing of six.
  return (
    <div key="waterfall" role="gridcell" aria-label={told}>
      <div
        class="waterfall"
        style={{ backgroundImage: `linear-gradient(to right, ${[...stops, 'transparent 0'].join(', ')})` }}
      />
    </div>
  )
}
