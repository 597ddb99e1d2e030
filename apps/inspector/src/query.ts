/** Questions about the events of a store: which ones, in which order, how many over time, how many of what. */
import { quotedValue, type Term, type TermTest } from './filter.ts'
import { levelRank } from './hunt.ts'
import type { HuntRule } from './hunt-protocol.ts'
import {
  type Block,
  detailsOf,
  type EventStore,
  type NumberColumnName,
  type TextColumn,
  type TextColumnName,
} from './store.ts'
import { rowsWithText } from './text-search.ts'

export interface Range {
  readonly fromMs: number
  readonly toMs: number
}

export type SortColumn = NumberColumnName | TextColumnName | 'type' | 'hits' | 'found'

export interface Sort {
  readonly column: SortColumn
  readonly descending: boolean
}

/** Names of the filter language to columns. */
const TEXT_FIELDS: Readonly<Record<string, TextColumnName>> = {
  method: 'method',
  host: 'host',
  path: 'target',
  route: 'route',
  outcome: 'outcome',
  reason: 'reason',
  treatment: 'treatment',
  client: 'client',
  upstream: 'upstream',
  kind: 'kind',
  source: 'source',
  level: 'level',
}
const NUMBER_FIELDS: Readonly<Record<string, NumberColumnName>> = { status: 'status', dur: 'endUs', size: 'outBytes' }

/** One octet per row, nonzero where all terms hold. */
export function matchesIn(block: Block, terms: readonly Term[], rules: readonly HuntRule[]): Uint8Array {
  const matching = new Uint8Array(block.rows).fill(1)
  for (const { negated, tests } of terms) {
    const held = new Uint8Array(block.rows)
    for (const test of tests) mark(block, test, rules, held)
    const wanted = negated ? 0 : 1
    for (let row = 0; row < matching.length; row++) if (held[row] !== wanted) matching[row] = 0
  }
  return matching
}

function mark(block: Block, test: TermTest, rules: readonly HuntRule[], held: Uint8Array): void {
  switch (test.kind) {
    case 'text': {
      const { codes, values } = textColumn(block, test.field)
      const fits = values.map((value) => value !== undefined && test.pattern.test(value))
      for (let row = 0; row < held.length; row++) if (fits[codes[row]]) held[row] = 1
      return
    }
    case 'number': {
      const data = block.numbers[NUMBER_FIELDS[test.field]]
      const { from, to } = test
      for (let row = 0; row < held.length; row++) if (data[row] >= from && data[row] <= to) held[row] = 1
      return
    }
    case 'rule': {
      const { hits } = detailsOf(block)
      for (let row = 0; row < held.length; row++) if ((hits[row]?.[test.rule] ?? 0) > 0) held[row] = 1
      return
    }
    case 'hit': {
      const fits = rules.map(({ title, id }) => test.pattern.test(title) || (id !== undefined && test.pattern.test(id)))
      for (const [row, hit] of block.found ?? []) if (hit.some((rule) => fits[rule])) held[row] = 1
      return
    }
    case 'level': {
      const fits = rules.map(levelRank).map((rank) => rank >= test.from && rank <= test.to)
      for (const [row, hit] of block.found ?? []) if (hit.some((rule) => fits[rule])) held[row] = 1
      return
    }
    default: {
      const found = rowsWithText(block, test.text, test.kind === 'body')
      for (let row = 0; row < held.length; row++) held[row] |= found[row]
    }
  }
}

function textColumn(block: Block, field: string): TextColumn {
  return field === 'type' ? detailsOf(block).types : block.texts[TEXT_FIELDS[field]]
}

export interface QueryInit {
  readonly terms: readonly Term[]
  readonly range: Range | undefined
}

/** Numbers of the events that fit, oldest first, of those in `[from, to)`. Undefined if it was stopped. */
export async function findEvents(
  store: EventStore,
  { terms, range }: QueryInit,
  { from, to }: { readonly from: number; readonly to: number },
  isWanted: () => Promise<boolean>,
): Promise<Uint32Array | undefined> {
  const parts: Uint32Array[] = []
  let length = 0
  for (const block of [...store.blocks]) {
    if (block.first + block.rows <= from || block.first >= to) continue
    if (!(await isWanted())) return undefined
    // What came into the block meanwhile belongs to the next search.
    const end = Math.min(block.rows, to - block.first)
    const matching = matchesIn(block, terms, store.huntRules)
    const times = block.numbers.startedAtMs
    const part = new Uint32Array(block.rows)
    let count = 0
    for (let row = Math.max(0, from - block.first); row < end; row++) {
      if (matching[row] === 0) continue
      if (range !== undefined && !(times[row] >= range.fromMs && times[row] < range.toMs)) continue
      part[count++] = block.first + row
    }
    parts.push(part.subarray(0, count))
    length += count
  }
  const all = new Uint32Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** In place; not by `sequence`, in which they are. Equal ones stay in the order in which they came; those without a value come last. */
export function sortEvents(store: EventStore, events: Uint32Array, { column, descending }: Sort): void {
  const keys = keysOf(store, column)
  const first = store.first
  const direction = descending ? -1 : 1
  events.sort((a, b) => {
    const x = keys[a - first]
    const y = keys[b - first]
    if (x !== x || y !== y) return x === y || (x !== x && y !== y) ? a - b : x !== x ? 1 : -1
    return x === y ? a - b : x < y ? -direction : direction
  })
}

/** A number for each event that sorts as its value does. */
function keysOf(store: EventStore, column: SortColumn): Float64Array {
  const keys = new Float64Array(store.count)
  const { blocks, first } = store
  if (column === 'hits') {
    for (const block of blocks) {
      const { hits } = detailsOf(block)
      for (let row = 0; row < block.rows; row++) keys[block.first - first + row] = sum(hits[row]) ?? Number.NaN
    }
    return keys
  }
  if (column === 'found') {
    const ranks = store.huntRules.map(levelRank)
    keys.fill(Number.NaN)
    for (const block of blocks)
      for (const [row, rules] of block.found ?? [])
        keys[block.first - first + row] = Math.max(...rules.map((rule) => ranks[rule]))
    return keys
  }
  const texts: TextColumn[] = []
  for (const block of blocks) {
    const at = block.first - first
    if (isTextColumn(block, column)) texts.push(column === 'type' ? detailsOf(block).types : block.texts[column])
    else keys.set(block.numbers[column].subarray(0, block.rows), at)
  }
  if (texts.length === 0) return keys
  const values = [...new Set(texts.flatMap((text) => text.values))].filter((value) => value !== undefined).sort()
  const ranks = new Map(values.map((value, rank) => [value, rank]))
  blocks.forEach((block, index) => {
    const { codes, values: own } = texts[index]
    const ranked = own.map((value) => (value === undefined ? Number.NaN : (ranks.get(value) ?? Number.NaN)))
    for (let row = 0; row < block.rows; row++) keys[block.first - first + row] = ranked[codes[row]]
  })
  return keys
}

function isTextColumn(block: Block, column: SortColumn): column is TextColumnName | 'type' {
  return column === 'type' || column in block.texts
}

export function sum(hits: readonly number[] | undefined): number | undefined {
  return hits?.reduce((total, hit) => total + hit, 0)
}

export interface Histogram {
  readonly fromMs: number
  /** Of one bar. */
  readonly stepMs: number
  /** Events per bar, and those of them that failed. */
  readonly counts: readonly number[]
  readonly failures: readonly number[]
}

/** Over the time from the first to the last of all events that the store has; of those, the events that fit. */
export function histogramOf(store: EventStore, events: Uint32Array, bars: number): Histogram {
  let fromMs = Infinity
  let toMs = -Infinity
  for (const block of store.blocks) {
    const times = block.numbers.startedAtMs
    for (let row = 0; row < block.rows; row++) {
      if (times[row] < fromMs) fromMs = times[row]
      if (times[row] > toMs) toMs = times[row]
    }
  }
  if (!(toMs >= fromMs)) return { fromMs: 0, stepMs: 1, counts: [], failures: [] }
  const stepMs = Math.max(1, (toMs - fromMs + 1) / bars)
  const counts = new Array<number>(bars).fill(0)
  const failures = new Array<number>(bars).fill(0)
  forEachEvent(store, events, (block, row) => {
    const bar = Math.min(bars - 1, Math.floor((block.numbers.startedAtMs[row] - fromMs) / stepMs))
    counts[bar]++
    if (isFailure(block, row)) failures[bar]++
  })
  return { fromMs, stepMs, counts, failures }
}

function isFailure(block: Block, row: number): boolean {
  const { outcome, level } = block.texts
  return (
    block.numbers.status[row] >= 500 ||
    !FINE.has(outcome.values[outcome.codes[row]]) ||
    level.values[level.codes[row]] === 'error'
  )
}

const FINE = new Set<string | undefined>(['completed', 'answered', undefined])

/** In any order of the events. */
function forEachEvent(store: EventStore, events: Uint32Array, visit: (block: Block, row: number) => void): void {
  let block: Block | undefined
  for (const event of events) {
    if (block === undefined || event < block.first || event >= block.first + block.rows) block = store.blockOf(event)
    if (block !== undefined) visit(block, event - block.first)
  }
}

export interface Total {
  readonly value: string
  /** The filter that shows them. */
  readonly filter: string
  readonly events: number
  readonly failures: number
  readonly meanMs: number
}

export interface Totals {
  readonly by: Readonly<Record<'route' | 'rule' | 'status' | 'type' | 'outcome' | 'reason', readonly Total[]>>
  readonly slowest: readonly number[]
}

const MAX_TOTALS = 50
const MAX_SLOWEST = 20
/** UTF-16 units of a value that is offered while somebody types. */
const MAX_COMPLETED_UNITS = 200
/** Of one that is counted; longer ones are cut, and counted together where they begin alike. */
const MAX_COUNTED_UNITS = 500

export function totalsOf(store: EventStore, events: Uint32Array): Totals {
  type Sums = Map<string, { events: number; failures: number; us: number; filter: string }>
  const names = ['route', 'rule', 'status', 'type', 'outcome', 'reason'] as const
  const sums: Record<(typeof names)[number], Sums> = {
    route: new Map(),
    rule: new Map(),
    status: new Map(),
    type: new Map(),
    outcome: new Map(),
    reason: new Map(),
  }
  const add = (into: Sums, value: string, filter: string, us: number, failed: boolean): void => {
    const own = into.get(value) ?? { events: 0, failures: 0, us: 0, filter }
    own.events++
    if (failed) own.failures++
    if (us > 0) own.us += us
    into.set(value, own)
  }
  const slowest: { event: number; us: number }[] = []
  forEachEvent(store, events, (block, row) => {
    const us = block.numbers.endUs[row]
    const failed = isFailure(block, row)
    const details = detailsOf(block)
    const text = ({ codes, values }: TextColumn): string | undefined => values[codes[row]]
    const route = text(block.texts.route)
    for (const [name, value] of [
      ['route', route],
      ['type', text(details.types)],
      ['outcome', text(block.texts.outcome)],
      ['reason', text(block.texts.reason)],
    ] as const) {
      if (value === undefined) continue
      const isLong = value.length > MAX_COUNTED_UNITS
      const shown = isLong ? value.slice(0, MAX_COUNTED_UNITS) : value
      add(sums[name], shown, `${name}:${quotedValue(isLong ? `${shown}*` : shown)}`, us, failed)
    }
    const status = block.numbers.status[row]
    if (status > 0) add(sums.status, String(status), `status:${status}`, us, failed)
    details.hits[row]?.forEach((hits, rule) => {
      if (hits === 0) return
      const filter = `rule:${rule + 1}${route === undefined ? '' : ` route:${quotedValue(route)}`}`
      add(sums.rule, `${rule + 1}${route === undefined ? '' : ` of ${route}`}`, filter, us, failed)
    })
    if (us > 0 && (slowest.length < MAX_SLOWEST || us > slowest[slowest.length - 1].us)) {
      const at = slowest.findIndex((other) => other.us < us)
      slowest.splice(at < 0 ? slowest.length : at, 0, { event: block.first + row, us })
      if (slowest.length > MAX_SLOWEST) slowest.pop()
    }
  })
  const list = (own: Sums): Total[] =>
    [...own]
      .map(([value, { events: count, failures, us, filter }]) => ({
        value,
        filter,
        events: count,
        failures,
        meanMs: us / count / 1_000,
      }))
      .sort((a, b) => b.events - a.events)
      .slice(0, MAX_TOTALS)
  return {
    by: {
      route: list(sums.route),
      rule: list(sums.rule),
      status: list(sums.status),
      type: list(sums.type),
      outcome: list(sums.outcome),
      reason: list(sums.reason),
    },
    slowest: slowest.map(({ event }) => event),
  }
}

/** What a field has been seen with, most frequent blocks first; for completion. */
export function valuesOf(store: EventStore, field: string, most: number): readonly string[] {
  const values = new Set<string>()
  if (field === 'status') {
    for (const block of store.blocks)
      for (let row = 0; row < block.rows; row += 7) {
        const status = block.numbers.status[row]
        if (status > 0) values.add(String(status))
      }
    return [...values].sort()
  }
  if (field === 'hit')
    return store.huntRules
      .map(({ title }) => title)
      .sort()
      .slice(0, most)
  if (field !== 'type' && !Object.hasOwn(TEXT_FIELDS, field)) return []
  for (const block of store.blocks) {
    for (const value of textColumn(block, field).values) {
      if (value !== undefined && value.length <= MAX_COMPLETED_UNITS) values.add(value)
      if (values.size >= most) return [...values].sort()
    }
  }
  return [...values].sort()
}
