/** What Prometheus itself says of the metrics. */
import { spawnSync } from 'node:child_process'
import { findProgram } from '@prexy/testing/programs'
import { expect, test } from 'vitest'
import { ProxyMetrics } from '../src/metrics.ts'
import { prometheusText } from '../src/prometheus.ts'
import { sampleEvent } from './sample-event.ts'

const promtool = findProgram('promtool')
if (promtool === undefined) {
  process.stdout.write('promtool: left out: promtool not found through PATH; on Debian: apt-get install prometheus\n')
}

const event = sampleEvent({ route: 'a "quoted" \\ route\nof two lines' })

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
