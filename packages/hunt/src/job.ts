/**
 * What a thread does with pieces of sources, and what it gives back: rows, signals for correlations, and sums. A job is
 * plain data; every thread makes the same of it.
 */
import type { FieldValue, SigmaEvent } from '@prexy/sigma/event'
import { signalFields } from '@prexy/sigma/correlator'
import { Matcher } from '@prexy/sigma/matcher.hot'
import { LEVELS, type Level } from '@prexy/sigma/levels'
import type { RuleInfo } from '@prexy/sigma/rule'
import { findBase64 } from './base64.ts'
import { compileFilter, type EventFilter } from './event-filter.ts'
import { type HuntEvent, NO_TIME } from './hunt-event.ts'
import { countLogon } from './logons.ts'
import { countEvent } from './metrics.ts'
import { pivotOf } from './pivot.ts'
import { chooseRules, type ChosenRules, type RuleChoice, type RuleText } from './rule-files.ts'
import { createScanner, type ScanHooks, type ScanOptions, type ScanTask } from './scan.ts'
import type { ScanReport } from './scan-report.ts'
import type { HuntSource } from './sources.ts'
import { type Cell, type Column, createRowMaker } from './timeline-row.ts'
import { SumTable, type Sum } from './sums.ts'

/** What is asked of the events. */
export type JobTask =
  | {
      readonly kind: 'timeline'
      readonly columns: readonly Column[]
      readonly details: readonly (readonly [string, string])[]
      /** Whether rules are tried only on events of their log source. */
      readonly routes: boolean
    }
  | { readonly kind: 'pivot'; readonly minLevel: Level }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'logons' }
  | { readonly kind: 'base64'; readonly minLength: number }

export interface JobSpec {
  readonly task: JobTask
  readonly sources: readonly HuntSource[]
  readonly scan: ScanOptions
  readonly filter: EventFilter
  /** Rule files and what is chosen of them; events are tried on nothing without. */
  readonly rules: { readonly texts: readonly RuleText[]; readonly choice: RuleChoice } | undefined
}

/** Where an event stands: all of it is the order of a timeline. */
export interface Place {
  /** Milliseconds since 1970, or {@link NO_TIME}. */
  readonly ms: number
  readonly ticks: number
  /** Numbers of the source and of the piece, -1 for windows of correlations that ended. */
  readonly source: number
  readonly host: string
  readonly piece: number
  /** Within the piece. */
  readonly record: number
}

/** A hit, or for base64 something found. JSON can hold it. */
export interface Row extends Place {
  /** Position in `rules` of the rule set; -1 when there is none. */
  readonly rule: number
  /** Of the columns that come of the event, in the order of the columns. */
  readonly cells: readonly Cell[]
}

/** An event that gave a signal which correlations listen to. JSON can hold it. */
export interface SignalItem extends Place {
  readonly signal: number
  readonly channel: string
  readonly eventId: string
  readonly recordId: string
  /** What correlations read of it. */
  readonly fields: Readonly<Record<string, FieldValue>>
}

export function comparePlaces(a: Place, b: Place): number {
  return (
    a.ms - b.ms ||
    a.ticks - b.ticks ||
    a.source - b.source ||
    (a.host < b.host ? -1 : a.host > b.host ? 1 : a.piece - b.piece || a.record - b.record)
  )
}

export function compareRows(a: Row, b: Row): number {
  const order = comparePlaces(a, b) || a.rule - b.rule
  if (order !== 0) return order
  const [left, right] = [JSON.stringify(a.cells), JSON.stringify(b.cells)]
  return left < right ? -1 : left > right ? 1 : 0
}

export function compareSignals(a: SignalItem, b: SignalItem): number {
  return comparePlaces(a, b) || a.signal - b.signal
}

/** What was found since the last batch. */
export interface Batch {
  readonly rows: Row[]
  readonly signals: SignalItem[]
  readonly sums: Sum[]
}

export interface JobRunner {
  /** What was found comes in batches while it is read, the last one before the promise is settled. */
  run(task: ScanTask): Promise<ScanReport>
  /** Sums that are still kept. */
  finish(): void
}

/** Rows of a batch. */
const BATCH_ROWS = 500

export interface RunnerHooks extends ScanHooks {
  onBatch(batch: Batch): void
}

/** `chosen`: when this thread has compiled the rules already. */
export function createRunner(spec: JobSpec, chosen: ChosenRules | undefined, hooks: RunnerHooks): JobRunner {
  const { task: job } = spec
  const passes = compileFilter(spec.filter)
  let batch: Batch = { rows: [], signals: [], sums: [] }
  const flush = (): void => {
    if (batch.rows.length + batch.signals.length + batch.sums.length === 0) return
    const full = batch
    batch = { rows: [], signals: [], sums: [] }
    hooks.onBatch(full)
  }
  const sums = new SumTable((full) => {
    batch.sums.push(...full)
    flush()
  })
  const scanner = createScanner(spec.sources, spec.scan, hooks)
  const rules = chosen ?? (spec.rules === undefined ? undefined : chooseRules(spec.rules.texts, spec.rules.choice))
  let current: ScanTask = { source: 0, piece: 0, start: 0, end: undefined }
  const place = (event: HuntEvent, record: number): Place => ({
    ms: event.time ?? NO_TIME,
    ticks: event.ticks,
    source: current.source,
    host: event.host,
    piece: current.piece,
    record,
  })
  const visitor = (): ((event: HuntEvent, record: number) => void) => {
    switch (job.kind) {
      case 'metrics':
        return (event) => countEvent(event, sums)
      case 'logons':
        return (event) => countLogon(event, sums)
      case 'base64':
        return (event, record) => {
          for (const { field, encoded, decoded, form } of findBase64(event, job.minLength)) {
            batch.rows.push({
              ...place(event, record),
              rule: -1,
              cells: [event.channel, field, form, decoded, encoded],
            })
          }
        }
      case 'pivot':
      case 'timeline':
        return ruleVisitor(job)
    }
  }
  const ruleVisitor = (
    asked: Extract<JobTask, { kind: 'pivot' | 'timeline' }>,
  ): ((event: HuntEvent, record: number) => void) => {
    if (rules === undefined) return () => {}
    const { set, reported } = rules
    const matcher = new Matcher(set)
    let shown: HuntEvent | undefined
    const isRouted = asked.kind === 'pivot' || asked.routes
    const unrouted: SigmaEvent = {
      sources: undefined,
      get time() {
        return shown?.time
      },
      get: (field) => shown?.get(field),
      text: () => shown?.text() ?? '',
    }
    let at = 0
    const take = asked.kind === 'timeline' ? createSignalTaker(asked, rules) : undefined
    const least = asked.kind === 'pivot' ? LEVELS.indexOf(asked.minLevel) : 0
    const give = (signal: number): void => {
      if (shown === undefined) return
      if (take !== undefined) {
        take(shown, place(shown, at), signal, batch)
        return
      }
      const { info } = set.signals[signal]
      const level = info === undefined || !reported.has(info) ? undefined : (reported.get(info) ?? 'informational')
      if (level !== undefined && LEVELS.indexOf(level) >= least) pivotOf(shown, sums)
    }
    return (event, record) => {
      shown = event
      at = record
      matcher.detect(isRouted ? event : unrouted, give)
    }
  }
  const visit = visitor()
  return {
    async run(task) {
      current = task
      let filtered = 0
      const report = await scanner.scan(task, (event, record) => {
        if (passes !== undefined && !passes(event)) {
          filtered++
          return
        }
        visit(event, record)
        if (batch.rows.length + batch.signals.length >= BATCH_ROWS) flush()
      })
      report.filtered = filtered
      flush()
      return report
    },
    finish() {
      sums.flush()
    },
  }
}

/** Makes of an event that gave a signal what a timeline needs of it: a row, an item for correlations, both or neither. */
export function createSignalTaker(
  { columns, details }: Pick<Extract<JobTask, { kind: 'timeline' }>, 'columns' | 'details'>,
  { set, reported }: ChosenRules,
): (event: HuntEvent, place: Place, signal: number, batch: Pick<Batch, 'rows' | 'signals'>) => void {
  const numbers = new Map<RuleInfo, number>(set.rules.map((info, index) => [info, index]))
  const needed = set.signals.map((_, signal) => signalFields(set, signal))
  const maker = createRowMaker(columns, new Map(details))
  return (event, place, signal, batch) => {
    const { info } = set.signals[signal]
    if (info !== undefined && reported.has(info)) {
      batch.rows.push({ ...place, rule: numbers.get(info) ?? -1, cells: maker.cells(event, info) })
    }
    const fields = needed[signal]
    if (fields === undefined) return
    batch.signals.push({
      ...place,
      signal,
      channel: event.channel,
      eventId: String(event.eventId ?? ''),
      recordId: event.recordId ?? '',
      fields: Object.fromEntries(fields.flatMap((field) => fieldEntry(field, event.get(field)))),
    })
  }
}

/** Null is left out: JSON could hold it, but a field that is null and one that is absent are the same in a group. */
function fieldEntry(field: string, value: FieldValue | undefined): readonly (readonly [string, FieldValue])[] {
  if (value === undefined || value === null) return []
  return [[field, typeof value === 'bigint' ? String(value) : value]]
}
