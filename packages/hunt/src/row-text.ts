/** Rows of a timeline written: as CSV, JSON lines, JSON, or for a terminal. */
import type { Level } from '@prexy/sigma/levels'
import type { RuleInfo } from '@prexy/sigma/rule'
import { type EventEntry, NO_TIME } from './hunt-event.ts'
import { type EventTime } from './event-time.ts'
import type { Row } from './job.ts'
import { type Cell, type Column, isEventColumn, ruleCell } from './timeline-row.ts'

/** What the columns of a row need that the row itself does not have. */
export interface RowContext {
  readonly columns: readonly Column[]
  readonly rules: readonly RuleInfo[]
  readonly levels: ReadonlyMap<RuleInfo, Level | undefined>
  /** By source. */
  readonly paths: readonly string[]
  readonly linesBefore: readonly (readonly number[])[]
  writeTime(time: EventTime): string
}

/** The cells of a row, in the order of the columns. */
export function cellsOf(row: Row, context: RowContext): readonly Cell[] {
  const rule = context.rules[row.rule]
  let at = 0
  return context.columns.map((column): Cell => {
    if (isEventColumn(column)) return row.cells[at++]
    switch (column) {
      case 'Timestamp':
        return row.ms === NO_TIME ? '' : context.writeTime(row)
      case 'Source':
        return row.source < 0 ? '' : context.paths[row.source]
      case 'Record':
        return row.source < 0
          ? ''
          : String(Math.floor(row.record) + (context.linesBefore[row.source]?.[row.piece] ?? 0))
      default:
        return ruleCell(column, rule, context.levels.get(rule))
    }
  })
}

/** Between pairs, as Hayabusa's tables have it. */
const PAIR_SEPARATOR = ' ¦ '

export function pairsText(entries: readonly EventEntry[]): string {
  return entries.map(([name, value]) => `${name}: ${String(value ?? '')}`).join(PAIR_SEPARATOR)
}

export function cellText(cell: Cell): string {
  return typeof cell === 'string' ? cell : pairsText(cell)
}

/**
 * One line of CSV (RFC 4180), with its end. A cell that a spreadsheet would take for a formula gets an apostrophe before
 * it: what an attacker sent must not run on an analyst's machine.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(text: string): string {
  const safe =
    /^[\s\u00a0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/.test(text) && text !== '-' ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A row as an object: pairs are objects, names that come again lists. */
export function jsonObject(columns: readonly string[], cells: readonly Cell[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    columns.flatMap((column, index): [string, unknown][] => {
      const cell = cells[index]
      if (typeof cell === 'string') return cell === '' ? [] : [[column, cell]]
      return cell.length === 0 ? [] : [[column, pairsObject(cell)]]
    }),
  )
}

function pairsObject(entries: readonly EventEntry[]): Readonly<Record<string, unknown>> {
  const object = new Map<string, unknown>()
  for (const [name, value] of entries) {
    const known = object.get(name)
    if (!object.has(name)) object.set(name, value)
    else object.set(name, Array.isArray(known) ? [...(known as readonly unknown[]), value] : [known, value])
  }
  return Object.fromEntries(object)
}
