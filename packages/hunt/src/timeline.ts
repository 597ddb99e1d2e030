/** All that a hunt found, in order: rows of single events, and those that correlations make of signals. */
import type { FieldValue, SigmaEvent } from '@prexy/sigma/event'
import { type CorrelationReport, Correlator, type Hit } from '@prexy/sigma/correlator'
import type { RuleInfo } from '@prexy/sigma/rule'
import type { RuleSet } from '@prexy/sigma/rule-set'
import { DEFAULT_SORT_LIMITS, ExternalSort, type SortLimits } from './external-sort.ts'
import { NO_TIME } from './hunt-event.ts'
import { type Batch, comparePlaces, compareRows, compareSignals, type Row, type SignalItem } from './job.ts'
import { type Cell, type Column, type EventColumn, eventColumns } from './timeline-row.ts'

/** Gathers batches and gives rows in the order of (time, source, host, record, rule). Close it in any case. */
export class Timeline {
  readonly #rows: ExternalSort<Row>
  readonly #signals: ExternalSort<SignalItem>
  readonly #set: RuleSet | undefined
  readonly #columns: readonly Column[]
  readonly #numbers: ReadonlyMap<RuleInfo, number>
  correlations: readonly CorrelationReport[]

  constructor(set: RuleSet | undefined, columns: readonly Column[], limits: SortLimits = DEFAULT_SORT_LIMITS) {
    this.#rows = new ExternalSort(compareRows, limits)
    this.#signals = new ExternalSort(compareSignals, limits)
    this.#set = set
    this.#columns = columns
    this.#numbers = new Map(set?.rules.map((info, index) => [info, index]) ?? [])
    this.correlations = []
  }

  add({ rows, signals }: Batch): void {
    for (const row of rows) this.#rows.add(row, sizeOfRow(row))
    for (const signal of signals) this.#signals.add(signal, sizeOfSignal(signal))
  }

  get spilledFiles(): number {
    return this.#rows.spilledFiles + this.#signals.spilledFiles
  }

  /** All rows, once. `isReported` says which rules of correlations are shown. */
  *rows(isReported: (rule: RuleInfo) => boolean): Generator<Row, void, undefined> {
    if (this.#set !== undefined && this.#signals.count > 0) this.#correlate(this.#set, isReported)
    yield* this.#rows.sorted()
  }

  close(): void {
    this.#rows.close()
    this.#signals.close()
  }

  #correlate(set: RuleSet, isReported: (rule: RuleInfo) => boolean): void {
    const correlator = new Correlator(set)
    let item: SignalItem | undefined
    let serial = 0
    const report = ({ rule, correlation, event }: Hit): void => {
      if (correlation === undefined || !isReported(rule)) return
      const place = event === undefined ? undefined : item
      const { groupBy, group, value, from, to } = correlation
      const details: [string, string | number][] = groupBy.map((name, index) => [name, group[index]])
      details.push(['Value', value], ['From', new Date(from).toISOString()], ['To', new Date(to).toISOString()])
      this.#rows.add(
        {
          ms: place?.ms ?? to,
          ticks: place?.ticks ?? 0,
          source: place?.source ?? -1,
          host: place?.host ?? '',
          piece: place?.piece ?? 0,
          record: place?.record ?? 0,
          rule: this.#numbers.get(rule) ?? -1,
          cells: eventColumns(this.#columns).map((column) => correlationCell(column, place, details)),
        },
        300,
      )
    }
    for (const next of this.#signals.sorted()) {
      if (item === undefined || comparePlaces(item, next) !== 0) serial++
      item = next
      correlator.give(next.signal, eventOf(next), serial, report)
    }
    item = undefined
    correlator.finish(report)
    this.correlations = correlator.report()
  }
}

function eventOf({ ms, fields }: SignalItem): SigmaEvent {
  return {
    sources: undefined,
    time: ms === NO_TIME ? undefined : ms,
    get: (field): FieldValue | undefined => (Object.hasOwn(fields, field) ? fields[field] : undefined),
    text: () => '',
  }
}

function correlationCell(
  column: EventColumn,
  place: SignalItem | undefined,
  details: readonly (readonly [string, string | number])[],
): Cell {
  switch (column) {
    case 'Host':
      return place?.host ?? ''
    case 'Channel':
      return place?.channel ?? ''
    case 'EventID':
      return place?.eventId ?? ''
    case 'RecordID':
      return place?.recordId ?? ''
    case 'Details':
    case 'AllFields':
      return details
    case 'ExtraFields':
      return []
    case 'Provider':
    case 'Recovered':
      return ''
  }
}

function sizeOfRow({ cells }: Row): number {
  let size = 120
  for (const cell of cells) {
    if (typeof cell === 'string') size += cell.length
    else for (const [name, value] of cell) size += 8 + name.length + String(value).length
  }
  return size
}

function sizeOfSignal({ fields }: SignalItem): number {
  return 200 + JSON.stringify(fields).length
}
