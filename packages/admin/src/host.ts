/** What the admin listener asks of the program that it belongs to; made by the application. */
import type { LiveFeed } from '@prexy/record/live-feed'
import type { MetricsSnapshot } from './metrics.ts'
import type { Gauge } from './prometheus.ts'

export interface AdminHost {
  status(): Promise<AdminStatus>
  /** What all processes counted, and what is true of them, their connections and their recorders now. */
  measure(): Promise<{ readonly metrics: MetricsSnapshot; readonly gauges: readonly Gauge[] }>
  routes(): readonly AdminRoute[]
  /** False before the listeners are open and from the moment on at which the proxy is to stop. */
  isReady(): boolean
  /** Loads the configuration again. */
  reload(): Promise<ReloadOutcome>
  /** Stops accepting and lets what is under way finish, as SIGTERM does. */
  drain(): void
  /** Absent where nothing can be watched. */
  readonly feed?: LiveFeed
  /** Directory of recordings; absent where none are kept. */
  readonly recordings?: string
}

export interface AdminStatus {
  readonly version: string
  readonly runtime: string
  readonly startedAtMs: number
  readonly configurationLoadedAtMs: number
  readonly workers: number
  readonly listeners: readonly string[]
  readonly state: 'starting' | 'ready' | 'draining'
  readonly openConnections: number
  readonly residentBytes: number
}

export interface AdminRoute {
  readonly name: string
  readonly hosts: readonly string[]
  readonly paths: readonly string[]
  /** Where requests go, or what answers them. */
  readonly target: string
  /** As `@prexy/rewrite` takes them, in order, and the options beside them. */
  readonly rules: readonly object[]
  readonly options: object
}

export type ReloadOutcome =
  | { readonly kind: 'reloaded'; readonly warnings: readonly string[] }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }
