/**
 * A hunt over events that lie in a query engine: rules as SQL there, and those that have none by our own engine over the
 * same events. What it gives are batches like those of a hunt over files, so sorting, correlations and output are the same.
 */
import type { Expression } from '@prexy/sigma/expression'
import { Matcher } from '@prexy/sigma/matcher.hot'
import type { RuleInfo } from '@prexy/sigma/rule'
import { restrictDetectors, type RuleSet } from '@prexy/sigma/rule-set'
import { routeRefusal, type SqlCondition, sqlCondition, SqlLists } from '@prexy/sigma/sql-condition'
import type { SqlDialect } from '@prexy/sigma/sql-dialect'
import { EngineError } from './engine-error.ts'
import { compileFilter, type EventFilter } from './event-filter.ts'
import { EVENT_COLUMNS, readStoredRow, storedEvent, type StoredColumn, WHOLE_EVENT_COLUMNS } from './event-store.ts'
import { NO_TIME } from './hunt-event.ts'
import { type Batch, createSignalTaker, type JobTask, type Place } from './job.ts'
import { type AnswerColumn, answerColumns, type AnswerRow } from './row-binary.ts'
import type { ChosenRules } from './rule-files.ts'

/** A query engine with a table of events. */
export interface EventStore {
  readonly dialect: SqlDialect
  /** As it stands in a query. */
  readonly table: string
  /** Conditions of one query, when they are of several rules. Unit: bytes. */
  readonly queryBytes: number
  /** Throws an {@link EngineError}. Rows are read as they are asked for. */
  select(sql: string, columns: readonly AnswerColumn[]): AsyncIterable<AnswerRow>
  /** For a person, without what is secret. */
  describe(): string
  close(): void
}

/**
 * Longest condition of one rule; a longer one is run by our engine. Below what ClickHouse takes by default for a whole query
 * (262,144). Unit: bytes.
 */
export const MAX_CONDITION_BYTES = 100_000

export interface StoreHunt {
  readonly task: Pick<Extract<JobTask, { kind: 'timeline' }>, 'columns' | 'details'>
  readonly filter: EventFilter
  readonly chosen: ChosenRules
  /** What the detectors of the rule set ask, in their order. */
  readonly expressions: readonly Expression[]
  readonly onBatch: (batch: Batch) => void
}

export interface StoredSource {
  readonly path: string
  readonly events: number
}

/** A rule that the query engine did not run, and why. */
export interface OwnRule {
  readonly rule: RuleInfo | undefined
  readonly reason: string
}

export interface StoreHuntResult {
  readonly sources: readonly StoredSource[]
  /** Rules and parts of rules that ran as SQL. */
  readonly compiled: number
  readonly queries: number
  /** By our own engine. */
  readonly own: readonly OwnRule[]
}

/** Rows of a batch. */
const BATCH_ROWS = 500

/** Throws an {@link EngineError}. */
export async function huntInStore(store: EventStore, hunt: StoreHunt): Promise<StoreHuntResult> {
  const { set } = hunt.chosen
  const sources = await readSources(store)
  const hunter = new StoreHunter(store, hunt, new Map(sources.map(({ key }, index) => [key, index])))
  const lists = new SqlLists(store.dialect)
  const asked: AskedDetector[] = []
  set.detectors.forEach(({ logsource }, detector) => {
    const found = sqlCondition(hunt.expressions[detector], store.dialect, lists)
    const refusal = routeRefusal(logsource) ?? ('refusal' in found ? found.refusal : undefined)
    if (refusal !== undefined || 'refusal' in found) hunter.keep(detector, refusal ?? '')
    else if (Buffer.byteLength(found.condition) > MAX_CONDITION_BYTES) {
      hunter.keep(detector, `its condition is longer than ${MAX_CONDITION_BYTES} bytes`)
    } else asked.push({ detector, ...found })
  })
  for (const batch of batchesOf(asked, set, lists, store.queryBytes)) await hunter.ask(batch, lists)
  await hunter.runKept()
  return {
    sources: sources.map(({ path, events }) => ({ path, events })),
    compiled: set.detectors.length - hunter.kept.length,
    queries: hunter.queries,
    own: hunter.kept.map(({ detector, reason }) => ({ rule: ruleOf(set, detector), reason })),
  }
}

/** The rule of a detector; that of an aggregation is the one that listens. */
function ruleOf(set: RuleSet, detector: number): RuleInfo | undefined {
  const { info, listeners } = set.signals[set.detectors[detector].signal]
  if (info !== undefined || listeners.length === 0) return info
  return set.signals[set.correlations[listeners[0].correlation].signal].info
}

interface AskedDetector extends SqlCondition {
  readonly detector: number
}

/** Detectors of one log source together: its events are then looked at and no others. */
function batchesOf(
  asked: readonly AskedDetector[],
  set: RuleSet,
  lists: SqlLists,
  queryBytes: number,
): readonly (readonly AskedDetector[])[] {
  const bySource = new Map<string, AskedDetector[]>()
  for (const one of asked) {
    const { category, product, service } = set.detectors[one.detector].logsource
    const key = JSON.stringify([category, product, service])
    const group = bySource.get(key)
    if (group === undefined) bySource.set(key, [one])
    else group.push(one)
  }
  const batches: AskedDetector[][] = []
  for (const group of bySource.values()) {
    let batch: AskedDetector[] = []
    let bytes = 0
    const seen = new Set<string>()
    for (const one of group) {
      let own = Buffer.byteLength(one.condition)
      for (const name of one.lists) if (!seen.has(name)) own += Buffer.byteLength(lists.definition(name)[1]) + 20
      if (batch.length > 0 && bytes + own > queryBytes) {
        batches.push(batch)
        batch = []
        bytes = 0
        seen.clear()
      }
      batch.push(one)
      bytes += own
      for (const name of one.lists) seen.add(name)
    }
    batches.push(batch)
  }
  return batches
}

function sourceKey(loadedMs: number, number: number, path: string): string {
  return `${loadedMs} ${number} ${path}`
}

/** What was loaded, in the order in which it was. */
async function readSources(store: EventStore): Promise<readonly (StoredSource & { readonly key: string })[]> {
  const sql = `SELECT loaded_ms, source_number, source, count(*) AS events FROM ${store.table} GROUP BY loaded_ms, source_number, source`
  const columns: readonly AnswerColumn[] = [
    ...answerColumns(['loaded_ms', 'source_number', 'source']),
    ['events', 'count'],
  ]
  const found: { loadedMs: number; number: number; path: string; events: number }[] = []
  for await (const row of store.select(sql, columns)) {
    const [loadedMs, number, path, events] = [row['loaded_ms'], row['source_number'], row['source'], row['events']]
    if (typeof path !== 'string') continue
    found.push({ loadedMs: Number(loadedMs), number: Number(number), path, events: Number(events) })
  }
  found.sort((a, b) => a.loadedMs - b.loadedMs || a.number - b.number || (a.path < b.path ? -1 : 1))
  return found.map(({ loadedMs, number, path, events }) => ({ path, events, key: sourceKey(loadedMs, number, path) }))
}

class StoreHunter {
  queries = 0
  readonly kept: { readonly detector: number; readonly reason: string }[]
  readonly #store: EventStore
  readonly #hunt: StoreHunt
  readonly #sources: ReadonlyMap<string, number>
  readonly #take: ReturnType<typeof createSignalTaker>
  readonly #passes: ReturnType<typeof compileFilter>
  #batch: Batch

  constructor(store: EventStore, hunt: StoreHunt, sources: ReadonlyMap<string, number>) {
    this.kept = []
    this.#store = store
    this.#hunt = hunt
    this.#sources = sources
    this.#take = createSignalTaker(hunt.task, hunt.chosen)
    this.#passes = compileFilter(hunt.filter)
    this.#batch = { rows: [], signals: [], sums: [] }
  }

  /** Leaves a detector to our engine. */
  keep(detector: number, reason: string): void {
    this.kept.push({ detector, reason })
  }

  /** Runs detectors of one log source; those that the engine refuses are found by halves and left to ours. */
  async ask(asked: readonly AskedDetector[], lists: SqlLists): Promise<void> {
    const { set } = this.#hunt.chosen
    const { dialect, table } = this.#store
    const names = new Set(asked.flatMap((one) => one.lists))
    const sql = dialect.query({
      columns: EVENT_COLUMNS,
      lists: [...names].map((name) => lists.definition(name)),
      conditions: asked.map(({ condition }) => condition),
      where: [...this.#timeBounds(), dialect.isRouted(set.detectors[asked[0].detector].logsource)],
      table,
    })
    try {
      await this.#read(sql, EVENT_COLUMNS, [['hits', 'flags']], (row, give) => {
        const { hits } = row
        if (!Array.isArray(hits)) return
        hits.forEach((isHit, index) => {
          if (isHit === 1) give(set.detectors[asked[index].detector].signal)
        })
      })
    } catch (error) {
      if (!(error instanceof EngineError) || error.outcome !== 'refused') throw error
      if (asked.length === 1) {
        this.keep(asked[0].detector, `the engine refused it: ${error.message}`)
        return
      }
      const half = asked.length >> 1
      await this.ask(asked.slice(0, half), lists)
      await this.ask(asked.slice(half), lists)
    }
  }

  /** Runs what was kept, over the events of its log sources. */
  async runKept(): Promise<void> {
    if (this.kept.length === 0) return
    const { set } = this.#hunt.chosen
    const { dialect, table } = this.#store
    const detectors = this.kept.map(({ detector }) => detector).toSorted((a, b) => a - b)
    const logsources = detectors.map((detector) => set.detectors[detector].logsource)
    const routes = logsources.some((logsource) => routeRefusal(logsource) !== undefined)
      ? []
      : [`(${[...new Set(logsources.map((logsource) => dialect.isRouted(logsource)))].join(' OR ')})`]
    const where = [...this.#timeBounds(), ...routes]
    const sql = dialect.query({ columns: WHOLE_EVENT_COLUMNS, lists: [], conditions: [], where, table })
    const matcher = new Matcher(restrictDetectors(set, detectors))
    await this.#read(sql, WHOLE_EVENT_COLUMNS, [], (_, give, event) => matcher.detect(event, give))
  }

  #timeBounds(): readonly string[] {
    const { fromMs, toMs } = this.#hunt.filter
    const { dialect } = this.#store
    return [
      ...(fromMs === undefined ? [] : [`time_ms >= ${dialect.double(fromMs)}`]),
      ...(toMs === undefined ? [] : [`time_ms <= ${dialect.double(toMs)}`]),
    ]
  }

  async #read(
    sql: string,
    names: readonly StoredColumn[],
    further: readonly AnswerColumn[],
    visit: (row: AnswerRow, give: (signal: number) => void, event: ReturnType<typeof storedEvent>) => void,
  ): Promise<void> {
    this.queries++
    let rows = 0
    const answer = this.#store.select(sql, [...answerColumns(names), ...further])
    for await (const row of wholeOrNothing(answer, () => rows)) {
      rows++
      const read = readStoredRow(row)
      const event = storedEvent(read)
      if (this.#passes !== undefined && !this.#passes(event)) continue
      const place: Place = {
        ms: event.time ?? NO_TIME,
        ticks: read.ticks,
        source: this.#sources.get(sourceKey(read.loaded_ms, read.source_number, read.source)) ?? 0,
        host: read.host,
        piece: 0,
        record: read.record,
      }
      visit(row, (signal) => this.#take(event, place, signal, this.#batch), event)
      if (this.#batch.rows.length + this.#batch.signals.length >= BATCH_ROWS) this.#flush()
    }
    this.#flush()
  }

  #flush(): void {
    const full = this.#batch
    if (full.rows.length + full.signals.length === 0) return
    this.#batch = { rows: [], signals: [], sums: [] }
    this.#hunt.onBatch(full)
  }
}

/** A statement that is refused when it has given rows already cannot be tried in another form: they would come twice. */
async function* wholeOrNothing(answer: AsyncIterable<AnswerRow>, given: () => number): AsyncGenerator<AnswerRow> {
  try {
    yield* answer
  } catch (error) {
    if (error instanceof EngineError && given() > 0) throw new EngineError(error.message)
    throw error
  }
}
