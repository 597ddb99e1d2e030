/** Metrics in Prometheus' text format, version 0.0.4. */
import { DURATION_BUCKETS, type Histogram, type MetricsSnapshot, type RouteMetrics } from './metrics.ts'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What is true at a moment, beside what was counted. */
export interface Gauge {
  /** Of letters, digits and underscores. */
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter'
  readonly values: readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[]
}

export function prometheusText(snapshot: MetricsSnapshot, gauges: readonly Gauge[]): string {
  const lines: string[] = []
  const family = (name: string, type: string, help: string): void => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
  }
  const sample = (name: string, labels: Readonly<Record<string, string>>, value: number): void => {
    lines.push(`${name}${labelText(labels)} ${numberText(value)}`)
  }
  const routes = Object.entries(snapshot.routes)

  family('prexy_exchanges_total', 'counter', 'Exchanges by how they ended.')
  for (const [outcome, count] of Object.entries(snapshot.outcomes)) sample('prexy_exchanges_total', { outcome }, count)

  const counts = (
    name: string,
    label: string,
    help: string,
    of: (route: RouteMetrics) => Readonly<Record<string, number>>,
  ): void => {
    family(name, 'counter', help)
    for (const [route, own] of routes) {
      for (const [key, count] of Object.entries(of(own))) sample(name, { route, [label]: key }, count)
    }
  }
  counts('prexy_requests_total', 'code', 'Requests by class of the status that was sent.', ({ requests }) => requests)
  counts('prexy_bodies_total', 'treatment', 'Response bodies: rewritten, or why not.', ({ bodies }) => bodies)

  counts(
    'prexy_shadow_bodies_total',
    'treatment',
    'Copies of bodies under mode: shadow: rewritten, or why not.',
    ({ shadows }) => shadows,
  )

  counts(
    'prexy_comparisons_total',
    'result',
    'Responses compared with those of another proxy (compareWith).',
    ({ comparisons }) => comparisons,
  )
  counts('prexy_comparison_differences_total', 'part', 'What was different in them.', ({ differences }) => differences)

  const sum = (name: string, help: string, of: (route: RouteMetrics) => number): void => {
    family(name, 'counter', help)
    for (const [route, own] of routes) sample(name, { route }, of(own))
  }
  sum('prexy_client_received_bytes_total', 'Octets from clients.', ({ clientInBytes }) => clientInBytes)
  sum('prexy_client_sent_bytes_total', 'Octets to clients.', ({ clientOutBytes }) => clientOutBytes)
  sum('prexy_rewrite_in_bytes_total', 'Octets of bodies into the rules.', ({ rewriteInBytes }) => rewriteInBytes)
  sum('prexy_rewrite_out_bytes_total', 'Octets of bodies out of the rules.', ({ rewriteOutBytes }) => rewriteOutBytes)
  sum('prexy_rewrite_overflows_total', 'How often maxHeldBytes was met.', ({ overflows }) => overflows)

  sum('prexy_shadow_hits_total', 'Replacements in copies under mode: shadow.', ({ shadowHits }) => shadowHits)

  family('prexy_rule_hits_total', 'counter', 'Replacements by place of the rule in its list, from 1.')
  for (const [route, hits] of Object.entries(snapshot.ruleHits)) {
    hits.forEach((count, rule) => sample('prexy_rule_hits_total', { route, rule: String(rule + 1) }, count))
  }

  const histogram = (name: string, help: string, of: (route: RouteMetrics) => Histogram): void => {
    family(name, 'histogram', help)
    for (const [route, own] of routes) {
      const { counts: inBuckets, sumSeconds } = of(own)
      let below = 0
      DURATION_BUCKETS.forEach((le, bucket) => {
        below += inBuckets[bucket]
        sample(`${name}_bucket`, { route, le: String(le) }, below)
      })
      const all = below + inBuckets[DURATION_BUCKETS.length]
      sample(`${name}_bucket`, { route, le: '+Inf' }, all)
      sample(`${name}_sum`, { route }, sumSeconds)
      sample(`${name}_count`, { route }, all)
    }
  }
  histogram(
    'prexy_request_duration_seconds',
    'First octet of a request to the end of its response.',
    ({ duration }) => duration,
  )
  histogram(
    'prexy_upstream_duration_seconds',
    "First octet of a request to the head of the upstream's response.",
    ({ upstreamDuration }) => upstreamDuration,
  )

  family('prexy_held_bytes_peak', 'gauge', 'Octets of one body that were held at most.')
  sample('prexy_held_bytes_peak', {}, snapshot.peakHeldBytes)
  for (const { name, help, type, values } of gauges) {
    family(name, type, help)
    for (const { labels = {}, value } of values) sample(name, labels, value)
  }
  return `${lines.join('\n')}\n`
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  if (value === -Infinity) return '-Inf'
  return String(value)
}
