/**
 * Counters of a proxy, made of the events of its exchanges. A snapshot is plain data, so that those of several workers
 * can be sent to one place and added up. Names and labels follow Prometheus' conventions: base units, `_total`.
 */
import type { BodyTreatment, DifferenceExample, ExchangeEvent, ExchangeOutcome } from '@prexy/events/exchange'

/** Routes, and rules of all of them, that have numbers of their own; what is beyond is counted as `other`. */
export interface MetricsLimits {
  /** Default 1,000. */
  readonly maxRoutes: number
  /** Default 5,000. */
  readonly maxRules: number
}

export const DEFAULT_METRICS_LIMITS: MetricsLimits = { maxRoutes: 1_000, maxRules: 5_000 }

/** Upper bounds of the histograms, in seconds: from what a page of a few bytes takes to what times out. */
export const DURATION_BUCKETS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

/** Exchanges in each bucket, the last one for all that took longer; and the sum of what all took. */
export interface Histogram {
  readonly counts: readonly number[]
  readonly sumSeconds: number
}

export interface RouteMetrics {
  /** By class of the status sent, `2xx`; `none` where none was. */
  readonly requests: Readonly<Record<string, number>>
  /** Request to the end of the response. */
  readonly duration: Histogram
  /** Request to the head of the upstream's response. */
  readonly upstreamDuration: Histogram
  /** By what became of the body: `rewritten`, or the reason why not. */
  readonly bodies: Readonly<Record<string, number>>
  /** Octets on clients' connections. */
  readonly clientInBytes: number
  readonly clientOutBytes: number
  /** Octets into and out of the rules. */
  readonly rewriteInBytes: number
  readonly rewriteOutBytes: number
  readonly overflows: number
  /** Of bodies that were passed on as they are: copies by what became of them, and replacements in those. */
  readonly shadows: Readonly<Record<string, number>>
  readonly shadowHits: number
  /** Comparisons with another proxy by what came of them: `same`, `different`, `failed`, `skipped`. */
  readonly comparisons: Readonly<Record<string, number>>
  /** Of those that differ: in what, `status`, `body` or the name of a header field. */
  readonly differences: Readonly<Record<string, number>>
  /** The newest of those. */
  readonly difference?: DifferenceExample
}

export interface MetricsSnapshot {
  /** By how exchanges ended, see `ExchangeOutcome`. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly routes: Readonly<Record<string, RouteMetrics>>
  /** By route, then by place of the rule in its list, from 0. */
  readonly ruleHits: Readonly<Record<string, readonly number[]>>
  readonly peakHeldBytes: number
}

interface RouteCounts {
  readonly requests: Map<string, number>
  readonly duration: MutableHistogram
  readonly upstreamDuration: MutableHistogram
  readonly bodies: Map<string, number>
  clientInBytes: number
  clientOutBytes: number
  rewriteInBytes: number
  rewriteOutBytes: number
  overflows: number
  readonly shadows: Map<string, number>
  shadowHits: number
  readonly comparisons: Map<string, number>
  readonly differences: Map<string, number>
  difference?: DifferenceExample
}

interface MutableHistogram {
  readonly counts: number[]
  sumSeconds: number
}

/** The name under which the exchanges are counted that had no route, and those of routes beyond the limit. */
export const NO_ROUTE = '-'
export const OTHER_ROUTES = 'other'

export class ProxyMetrics {
  readonly #limits: MetricsLimits
  readonly #outcomes = new Map<ExchangeOutcome, number>()
  readonly #routes = new Map<string, RouteCounts>()
  readonly #ruleHits = new Map<string, number[]>()
  #rules = 0
  #peakHeldBytes = 0

  constructor(limits: Partial<MetricsLimits> = {}) {
    this.#limits = { ...DEFAULT_METRICS_LIMITS, ...limits }
  }

  /** `difference`: where the response differs from that of the proxy that it was compared with. */
  observe(event: ExchangeEvent, difference?: DifferenceExample): void {
    increment(this.#outcomes, event.outcome, 1)
    const name = this.#nameOf(event.route)
    const counts = this.#routes.get(name) ?? this.#addRoute(name)
    increment(counts.requests, classOf(event.status), 1)
    counts.clientInBytes += event.clientInBytes
    counts.clientOutBytes += event.clientOutBytes
    add(counts.duration, event.timings.endUs)
    if (event.timings.responseHeadUs !== undefined) add(counts.upstreamDuration, event.timings.responseHeadUs)
    if (event.shadow !== undefined) {
      const { shadow } = event
      increment(counts.shadows, shadow.kind === 'failed' ? 'failed' : bodyLabel(shadow), 1)
      if (shadow.kind === 'rewritten') counts.shadowHits += shadow.stats.hits.reduce((sum, hits) => sum + hits, 0)
    }
    if (event.comparison !== undefined) {
      const { comparison } = event
      increment(counts.comparisons, comparison.kind, 1)
      if (comparison.kind === 'different') for (const part of comparison.parts) increment(counts.differences, part, 1)
      if (difference !== undefined) counts.difference = difference
    }
    const { treatment } = event
    if (treatment === undefined) return
    increment(counts.bodies, bodyLabel(treatment), 1)
    if (treatment.kind === 'rewritten') this.#observeRules(name, counts, treatment.stats)
  }

  #observeRules(
    name: string,
    counts: RouteCounts,
    stats: Extract<BodyTreatment, { kind: 'rewritten' }>['stats'],
  ): void {
    counts.rewriteInBytes += stats.inBytes
    counts.rewriteOutBytes += stats.outBytes
    counts.overflows += stats.overflows
    if (stats.peakHeldBytes > this.#peakHeldBytes) this.#peakHeldBytes = stats.peakHeldBytes
    let hits = this.#ruleHits.get(name)
    if (hits === undefined || hits.length < stats.hits.length) {
      const more = stats.hits.length - (hits?.length ?? 0)
      if (this.#rules + more > this.#limits.maxRules) return
      this.#rules += more
      hits = [...(hits ?? []), ...new Array<number>(more).fill(0)]
      this.#ruleHits.set(name, hits)
    }
    for (let rule = 0; rule < stats.hits.length; rule++) hits[rule] += stats.hits[rule]
  }

  #nameOf(route: string | undefined): string {
    if (route === undefined) return NO_ROUTE
    return this.#routes.has(route) || this.#routes.size < this.#limits.maxRoutes ? route : OTHER_ROUTES
  }

  #addRoute(name: string): RouteCounts {
    const counts: RouteCounts = {
      requests: new Map(),
      duration: emptyHistogram(),
      upstreamDuration: emptyHistogram(),
      bodies: new Map(),
      clientInBytes: 0,
      clientOutBytes: 0,
      rewriteInBytes: 0,
      rewriteOutBytes: 0,
      overflows: 0,
      shadows: new Map(),
      shadowHits: 0,
      comparisons: new Map(),
      differences: new Map(),
    }
    this.#routes.set(name, counts)
    return counts
  }

  snapshot(): MetricsSnapshot {
    return {
      outcomes: Object.fromEntries(this.#outcomes),
      routes: Object.fromEntries(
        [...this.#routes].map(([name, counts]) => [
          name,
          {
            ...counts,
            requests: Object.fromEntries(counts.requests),
            bodies: Object.fromEntries(counts.bodies),
            shadows: Object.fromEntries(counts.shadows),
            comparisons: Object.fromEntries(counts.comparisons),
            differences: Object.fromEntries(counts.differences),
            duration: { ...counts.duration, counts: [...counts.duration.counts] },
            upstreamDuration: { ...counts.upstreamDuration, counts: [...counts.upstreamDuration.counts] },
          },
        ]),
      ),
      ruleHits: Object.fromEntries([...this.#ruleHits].map(([name, hits]) => [name, [...hits]])),
      peakHeldBytes: this.#peakHeldBytes,
    }
  }
}

export const EMPTY_SNAPSHOT: MetricsSnapshot = { outcomes: {}, routes: {}, ruleHits: {}, peakHeldBytes: 0 }

/** The sum of what several processes counted. */
export function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot {
  return {
    outcomes: mergeCounts(snapshots.map(({ outcomes }) => outcomes)),
    routes: mergeBy(
      snapshots.map(({ routes }) => routes),
      mergeRoutes,
    ),
    ruleHits: mergeBy(
      snapshots.map(({ ruleHits }) => ruleHits),
      sumOfLists,
    ),
    peakHeldBytes: snapshots.reduce((most, { peakHeldBytes }) => Math.max(most, peakHeldBytes), 0),
  }
}

function mergeRoutes(routes: readonly RouteMetrics[]): RouteMetrics {
  const sum = (of: (route: RouteMetrics) => number): number => routes.reduce((total, route) => total + of(route), 0)
  const newest = routes
    .flatMap(({ difference }) => (difference === undefined ? [] : [difference]))
    .toSorted((a, b) => b.atMs - a.atMs)
    .at(0)
  return {
    requests: mergeCounts(routes.map(({ requests }) => requests)),
    duration: mergeHistograms(routes.map(({ duration }) => duration)),
    upstreamDuration: mergeHistograms(routes.map(({ upstreamDuration }) => upstreamDuration)),
    bodies: mergeCounts(routes.map(({ bodies }) => bodies)),
    clientInBytes: sum(({ clientInBytes }) => clientInBytes),
    clientOutBytes: sum(({ clientOutBytes }) => clientOutBytes),
    rewriteInBytes: sum(({ rewriteInBytes }) => rewriteInBytes),
    rewriteOutBytes: sum(({ rewriteOutBytes }) => rewriteOutBytes),
    overflows: sum(({ overflows }) => overflows),
    shadows: mergeCounts(routes.map(({ shadows }) => shadows)),
    shadowHits: sum(({ shadowHits }) => shadowHits),
    comparisons: mergeCounts(routes.map(({ comparisons }) => comparisons)),
    differences: mergeCounts(routes.map(({ differences }) => differences)),
    ...(newest === undefined ? {} : { difference: newest }),
  }
}

function mergeHistograms(histograms: readonly Histogram[]): Histogram {
  return {
    counts: sumOfLists(histograms.map(({ counts }) => counts)),
    sumSeconds: histograms.reduce((sum, { sumSeconds }) => sum + sumSeconds, 0),
  }
}

function mergeCounts(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum = new Map<string, number>()
  for (const counts of all) {
    for (const [name, count] of Object.entries(counts)) increment(sum, name, count)
  }
  return Object.fromEntries(sum)
}

function mergeBy<T>(
  all: readonly Readonly<Record<string, T>>[],
  merge: (values: readonly T[]) => T,
): Record<string, T> {
  const byName = new Map<string, T[]>()
  for (const each of all) {
    for (const [name, value] of Object.entries(each)) {
      const values = byName.get(name)
      if (values === undefined) byName.set(name, [value])
      else values.push(value)
    }
  }
  return Object.fromEntries([...byName].map(([name, values]) => [name, merge(values)]))
}

function sumOfLists(lists: readonly (readonly number[])[]): number[] {
  const length = lists.reduce((most, list) => Math.max(most, list.length), 0)
  return Array.from({ length }, (_, index) => lists.reduce((sum, list) => sum + (list[index] ?? 0), 0))
}

function emptyHistogram(): MutableHistogram {
  return { counts: new Array<number>(DURATION_BUCKETS.length + 1).fill(0), sumSeconds: 0 }
}

function add(histogram: MutableHistogram, microseconds: number): void {
  const seconds = microseconds / 1_000_000
  histogram.sumSeconds += seconds
  let bucket = 0
  while (bucket < DURATION_BUCKETS.length && seconds > DURATION_BUCKETS[bucket]) bucket++
  histogram.counts[bucket]++
}

function increment<K>(counts: Map<K, number>, key: K, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

function classOf(status: number | undefined): string {
  return status === undefined ? 'none' : STATUS_CLASSES[Math.floor(status / 100)]
}

const STATUS_CLASSES: readonly string[] = Array.from({ length: 10 }, (_, hundreds) => `${hundreds}xx`)

function bodyLabel(treatment: BodyTreatment): string {
  return treatment.kind === 'rewritten' ? 'rewritten' : treatment.reason
}
