/** What a timeline comes to: counted while its rows are written, in bounded memory. */
import { LEVELS, type Level } from '@prexy/sigma/levels'
import type { RuleInfo } from '@prexy/sigma/rule'
import { NO_TIME } from './hunt-event.ts'
import type { Row } from './job.ts'

/** Hosts, rules by host and days that are counted; hits beyond are only in the totals. */
export const MAX_SUMMARY_KEYS = 100_000

export interface LevelSummary {
  readonly level: Level | undefined
  hits: number
  /** Rules that were hit. */
  rules: number
  /** Rules with most hits first, then by title. */
  readonly topRules: readonly (readonly [title: string, hits: number])[]
  readonly topHosts: readonly (readonly [host: string, hits: number])[]
  /** The day with most hits, and how many. */
  readonly topDay: readonly [day: string, hits: number] | undefined
}

export interface HuntSummary {
  readonly hits: number
  /** Events with one hit at least. */
  readonly events: number
  /** Most severe first; those without a level last. */
  readonly levels: readonly LevelSummary[]
  readonly firstMs: number | undefined
  readonly lastMs: number | undefined
  /** Hits in equal spans of time from the first to the last. */
  readonly frequency: readonly number[]
  /** Rows left out because the same was given out before. */
  readonly duplicates: number
}

const TOP = 10
/** Columns of the frequency line. */
export const FREQUENCY_BINS = 60
/** Spans that are counted before they are put together. */
const MAX_SPANS = 20_000

export class SummaryCounter {
  readonly #levels: ReadonlyMap<RuleInfo, Level | undefined>
  readonly #rules: readonly RuleInfo[]
  readonly #byRule: Map<number, number>
  readonly #hosts: Map<string, number>
  readonly #days: Map<string, number>
  /** Hits by span of time; spans are made wider when there are too many. */
  #spans: Map<number, number>
  #spanMs: number
  #hits: number
  #events: number
  #first: number | undefined
  #last: number | undefined
  #event: string
  duplicates: number

  constructor(rules: readonly RuleInfo[], levels: ReadonlyMap<RuleInfo, Level | undefined>) {
    this.#rules = rules
    this.#levels = levels
    this.#byRule = new Map()
    this.#hosts = new Map()
    this.#days = new Map()
    this.#spans = new Map()
    this.#spanMs = 1_000
    this.#hits = 0
    this.#events = 0
    this.#first = undefined
    this.#last = undefined
    this.#event = ''
    this.duplicates = 0
  }

  /** Rows come in order. */
  add(row: Row): void {
    this.#hits++
    this.#byRule.set(row.rule, (this.#byRule.get(row.rule) ?? 0) + 1)
    const event = `${row.source} ${row.piece} ${row.record}`
    if (event !== this.#event && row.source >= 0) this.#events++
    this.#event = event
    const level = this.#levels.get(this.#rules[row.rule]) ?? ''
    if (row.host !== '') count(this.#hosts, `${level}\u001f${row.host}`)
    if (row.ms === NO_TIME) return
    this.#first ??= row.ms
    this.#last = row.ms
    count(this.#days, `${level}\u001f${new Date(row.ms).toISOString().slice(0, 10)}`)
    const span = Math.floor(row.ms / this.#spanMs)
    this.#spans.set(span, (this.#spans.get(span) ?? 0) + 1)
    if (this.#spans.size > MAX_SPANS) this.#widen()
  }

  result(): HuntSummary {
    const asked: readonly (Level | undefined)[] = [...LEVELS.toReversed(), undefined]
    return {
      hits: this.#hits,
      events: this.#events,
      levels: asked.map((level) => this.#levelSummary(level)).filter(({ hits }) => hits > 0),
      firstMs: this.#first,
      lastMs: this.#last,
      frequency: this.#frequency(),
      duplicates: this.duplicates,
    }
  }

  #levelSummary(level: Level | undefined): LevelSummary {
    const rules = [...this.#byRule].filter(([rule]) => this.#levels.get(this.#rules[rule]) === level)
    const own = (map: ReadonlyMap<string, number>): [string, number][] =>
      [...map]
        .filter(([key]) => key.startsWith(`${level ?? ''}\u001f`))
        .map(([key, hits]) => [key.slice(key.indexOf('\u001f') + 1), hits])
    return {
      level,
      hits: rules.reduce((sum, [, hits]) => sum + hits, 0),
      rules: rules.length,
      topRules: top(rules.map(([rule, hits]) => [this.#rules[rule]?.title ?? '', hits])),
      topHosts: top(own(this.#hosts)),
      topDay: top(own(this.#days))[0],
    }
  }

  #widen(): void {
    const wider = new Map<number, number>()
    for (const [span, hits] of this.#spans) {
      const at = Math.floor(span / 10)
      wider.set(at, (wider.get(at) ?? 0) + hits)
    }
    this.#spans = wider
    this.#spanMs *= 10
  }

  #frequency(): readonly number[] {
    if (this.#first === undefined || this.#last === undefined) return []
    const bins = new Array<number>(FREQUENCY_BINS).fill(0)
    const from = Math.floor(this.#first / this.#spanMs)
    const spans = Math.floor(this.#last / this.#spanMs) - from + 1
    for (const [span, hits] of this.#spans) {
      bins[Math.min(FREQUENCY_BINS - 1, Math.floor(((span - from) / spans) * FREQUENCY_BINS))] += hits
    }
    return bins
  }
}

function count(map: Map<string, number>, key: string): void {
  const known = map.get(key)
  if (known !== undefined) map.set(key, known + 1)
  else if (map.size < MAX_SUMMARY_KEYS) map.set(key, 1)
}

/** Most first; of equally many the one whose text comes first. */
function top(list: readonly (readonly [string, number])[]): readonly (readonly [string, number])[] {
  return list.toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, TOP)
}

const BARS = ' ▁▂▃▄▅▆▇█'

/** Frequencies as a line of bars, the tallest for the most. */
export function frequencyLine(frequency: readonly number[]): string {
  const most = Math.max(...frequency, 1)
  return frequency.map((hits) => (hits === 0 ? BARS[0] : BARS[Math.max(1, Math.ceil((hits / most) * 8))])).join('')
}
