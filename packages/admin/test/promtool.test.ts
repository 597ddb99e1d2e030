/** What Prometheus itself says of the metrics. */
import { spawnSync } from 'node:child_process'
import type { ExchangeEvent } from '@prexy/events/exchange'
import { findProgram } from '@prexy/testing/programs'
import { expect, test } from 'vitest'
import { ProxyMetrics } from '../src/metrics.ts'
import { prometheusText } from '../src/prometheus.ts'

const promtool = findProgram('promtool')
if (promtool === undefined) {
  process.stdout.write('promtool: left out: promtool not found through PATH; on Debian: apt-get install prometheus\n')
}

const event: ExchangeEvent = {
  version: 2,
  exchangeId: 1,
  connectionId: 1,
  requestNumber: 1,
  startedAtMs: 0,
  timings: { requestHeadUs: 100, upstreamConnectedUs: 200, responseHeadUs: 300, endUs: 12_345 },
  method: 'GET',
  host: 'a.example',
  target: '/',
  status: 200,
  route: 'a "quoted" \\ route\nof two lines',
  upstream: 'app',
  clientInBytes: 10,
  clientOutBytes: 20,
  upstreamOutBytes: 0,
  upstreamInBytes: 20,
  outcome: 'completed',
  detail: undefined,
  treatment: {
    kind: 'rewritten',
    decode: 'gzip',
    encode: 'gzip',
    stats: { hits: [2, 1], overflows: 1, peakHeldBytes: 9, inBytes: 20, outBytes: 20 },
  },
}

test.skipIf(promtool === undefined)('promtool reads the metrics, and has nothing to say of them', () => {
  const metrics = new ProxyMetrics()
  metrics.observe(event)
  metrics.observe({ ...event, route: undefined, status: undefined, treatment: undefined, outcome: 'client-aborted' })
  const { treatment } = event
  metrics.observe({ ...event, treatment: { kind: 'passed', reason: 'no-rules' }, shadow: treatment })
  metrics.observe({ ...event, shadow: { kind: 'failed', detail: 'why' } })
  const gauges = [
    { name: 'prexy_open_connections', help: 'Client connections now.', type: 'gauge', values: [{ value: 3 }] },
  ] as const
  for (const text of [prometheusText(metrics.snapshot(), gauges), prometheusText(new ProxyMetrics().snapshot(), [])]) {
    const { status, stdout, stderr } = spawnSync(promtool ?? '', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    })
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' })
  }
})
