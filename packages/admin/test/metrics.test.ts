import { describe, expect, test } from 'vitest'
import { EMPTY_SNAPSHOT, mergeSnapshots, NO_ROUTE, OTHER_ROUTES, ProxyMetrics } from '../src/metrics.ts'
import { prometheusText } from '../src/prometheus.ts'
import { sampleEvent } from './sample-event.ts'

function observed(...events: readonly Parameters<typeof sampleEvent>[0][]): ProxyMetrics {
  const metrics = new ProxyMetrics()
  for (const event of events) metrics.observe(sampleEvent(event))
  return metrics
}

function samplesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

describe('the counters', () => {
  test('tell of requests, bodies, rules and times', () => {
    const text = prometheusText(
      observed({}, { status: 502, outcome: 'upstream-aborted', treatment: undefined }).snapshot(),
      [],
    )
    for (const line of [
      'prexy_exchanges_total{outcome="completed"} 1',
      'prexy_exchanges_total{outcome="upstream-aborted"} 1',
      'prexy_requests_total{route="shop",code="2xx"} 1',
      'prexy_requests_total{route="shop",code="5xx"} 1',
      'prexy_bodies_total{route="shop",treatment="rewritten"} 1',
      'prexy_rule_hits_total{route="shop",rule="1"} 2',
      'prexy_rule_hits_total{route="shop",rule="2"} 0',
      'prexy_rewrite_in_bytes_total{route="shop"} 1800',
      'prexy_rewrite_overflows_total{route="shop"} 1',
      'prexy_request_duration_seconds_bucket{route="shop",le="0.005"} 0',
      'prexy_request_duration_seconds_bucket{route="shop",le="0.01"} 2',
      'prexy_request_duration_seconds_bucket{route="shop",le="+Inf"} 2',
      'prexy_request_duration_seconds_count{route="shop"} 2',
      'prexy_request_duration_seconds_sum{route="shop"} 0.012',
      'prexy_held_bytes_peak 40',
    ]) {
      expect(samplesOf(text)).toContain(line)
    }
  })

  test('name the reason for which a body was not rewritten', () => {
    const { routes } = observed({ treatment: { kind: 'passed', reason: 'no-rules' } }).snapshot()
    expect(routes.shop.bodies).toEqual({ 'no-rules': 1 })
  })

  test('have a place for what has no route and no status', () => {
    const { routes } = observed({ route: undefined, status: undefined, outcome: 'client-aborted' }).snapshot()
    expect(routes[NO_ROUTE].requests).toEqual({ none: 1 })
  })

  test('do not grow beyond their limits', () => {
    const metrics = new ProxyMetrics({ maxRoutes: 3, maxRules: 4 })
    for (let route = 0; route < 50; route++) metrics.observe(sampleEvent({ route: `r${route}` }))
    const { routes, ruleHits } = metrics.snapshot()
    expect(Object.keys(routes)).toEqual(['r0', 'r1', 'r2', OTHER_ROUTES])
    expect(routes[OTHER_ROUTES].requests).toEqual({ '2xx': 47 })
    expect(Object.keys(ruleHits)).toEqual(['r0', 'r1'])
  })

  test('count on when a reload gives a route more rules', () => {
    const metrics = observed({})
    const stats = { hits: [1, 1, 5], overflows: 0, peakHeldBytes: 0, inBytes: 1, outBytes: 1 }
    metrics.observe(sampleEvent({ treatment: { kind: 'rewritten', decode: 'gzip', encode: 'gzip', stats } }))
    expect(metrics.snapshot().ruleHits.shop).toEqual([3, 1, 5])
  })

  test('of workers add up', () => {
    const both = observed({}, { route: 'blog', status: 404 })
    const merged = mergeSnapshots([both.snapshot(), observed({}).snapshot(), EMPTY_SNAPSHOT])
    const one = observed({}, { route: 'blog', status: 404 }, {}).snapshot()
    expect(merged).toEqual(one)
  })

  test('are not those of before once a snapshot is taken', () => {
    const metrics = observed({})
    const snapshot = metrics.snapshot()
    const before = structuredClone(snapshot)
    metrics.observe(sampleEvent())
    expect(snapshot).toEqual(before)
  })
})

describe("Prometheus' text format", () => {
  test('escapes labels', () => {
    const text = prometheusText(observed({ route: 'a"b\\c\nd' }).snapshot(), [])
    expect(text).toContain('prexy_requests_total{route="a\\"b\\\\c\\nd",code="2xx"} 1\n')
  })

  test('has one HELP and one TYPE for each name, before its samples', () => {
    const text = prometheusText(observed({}, { route: 'blog' }).snapshot(), [
      { name: 'prexy_open_connections', help: 'Now.', type: 'gauge', values: [{ value: 3 }] },
    ])
    const seen = new Set<string>()
    let current = ''
    for (const line of text.trimEnd().split('\n')) {
      const type = /^# TYPE (\S+) (?:counter|gauge|histogram)$/.exec(line)
      if (type !== null) {
        current = type[1]
        expect(seen.has(current)).toBe(false)
        seen.add(current)
      } else if (!line.startsWith('#')) {
        expect(line).toMatch(/^[a-z_]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+\})? (?:[\d.e+-]+|\+Inf)$/)
        expect(line.startsWith(current)).toBe(true)
      }
    }
    expect(text.endsWith('prexy_open_connections 3\n')).toBe(true)
  })
})
