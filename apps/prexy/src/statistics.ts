/** What the processes of a server count and use, for the admin listener. */
import type { IngestCounts } from '@prexy/admin/ingest'
import type { MetricsSnapshot, ProxyMetrics } from '@prexy/admin/metrics'
import type { Gauge } from '@prexy/admin/prometheus'
import type { ProxyConfig } from '@prexy/proxy/proxy-config'
import type { RunningRecording } from './record-setup.ts'

/** Of one process that serves. */
export interface ProcessStatistics {
  readonly pid: number
  readonly metrics: MetricsSnapshot
  /** Client connections that are open. */
  readonly connections: number
  readonly residentBytes: number
  readonly cpuSeconds: number
  /** Events that were recorded, and those that were lost; absent where nothing is recorded. */
  readonly recording?: { readonly recorded: number; readonly dropped: number }
}

export function measureProcess(
  metrics: ProxyMetrics,
  connections: number,
  recording: RunningRecording | undefined,
): ProcessStatistics {
  const { user, system } = process.cpuUsage()
  return {
    pid: process.pid,
    metrics: metrics.snapshot(),
    connections,
    residentBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1_000_000,
    ...(recording === undefined
      ? {}
      : { recording: { recorded: recording.recorder.recorded, dropped: recording.recorder.dropped } }),
  }
}

/** The configuration, with its exchanges counted; as it is where nobody can ask for the counts. */
export function countedConfig(config: ProxyConfig, metrics: ProxyMetrics | undefined): ProxyConfig {
  if (metrics === undefined) return config
  const { onExchange } = config
  return {
    ...config,
    onExchange: (event, seen) => {
      metrics.observe(event, seen.difference)
      onExchange?.(event, seen)
    },
  }
}

export function gaugesOf(all: readonly ProcessStatistics[]): readonly Gauge[] {
  const each = (value: (one: ProcessStatistics) => number): Gauge['values'] =>
    all.map((one) => ({ labels: { pid: String(one.pid) }, value: value(one) }))
  const gauges: Gauge[] = [
    {
      name: 'prexy_open_connections',
      help: 'Client connections now.',
      type: 'gauge',
      values: each((one) => one.connections),
    },
    {
      name: 'prexy_process_resident_memory_bytes',
      help: 'Memory of each process that serves.',
      type: 'gauge',
      values: each((one) => one.residentBytes),
    },
    {
      name: 'prexy_process_cpu_seconds_total',
      help: 'CPU time of each process that serves.',
      type: 'counter',
      values: each((one) => one.cpuSeconds),
    },
  ]
  if (all.some(({ recording }) => recording !== undefined)) {
    gauges.push(
      {
        name: 'prexy_recorded_events_total',
        help: 'Events that were recorded.',
        type: 'counter',
        values: each(({ recording }) => recording?.recorded ?? 0),
      },
      {
        name: 'prexy_recording_dropped_events_total',
        help: 'Events that were lost because the disk did not keep up.',
        type: 'counter',
        values: each(({ recording }) => recording?.dropped ?? 0),
      },
    )
  }
  return gauges
}

export function ingestGauge({ accepted, dropped, refused }: IngestCounts): Gauge {
  return {
    name: 'prexy_application_events_total',
    help: 'Events that applications sent.',
    type: 'counter',
    values: Object.entries({ accepted, dropped, refused }).map(([outcome, value]) => ({ labels: { outcome }, value })),
  }
}
