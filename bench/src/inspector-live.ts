/**
 * The admin listener with the inspector on it, in front of a live feed that takes so many events a second.
 * `node inspector-live.js TOKEN`; a line `RATE SECONDS` on its input begins, and it prints what was published at the end.
 */
import { createInterface } from 'node:readline'
import { startAdmin } from '@prexy/admin/admin-server'
import { ProxyMetrics } from '@prexy/admin/metrics'
import { LiveFeed } from '@prexy/record/live-feed'
import { inspectorAssets } from 'prexy/inspector-assets'
import { recordedExchanges } from './inspector-events.ts'

const TICK_MS = 10
/** Made before, so that what is measured is not their making; published again and again. */
const EVENTS = [...recordedExchanges(20_000)]

const feed = new LiveFeed()
const metrics = new ProxyMetrics()
const assets = await inspectorAssets()
if (assets === undefined) throw new Error('the inspector is not built: npm run build')
const admin = await startAdmin({
  listen: { host: '127.0.0.1', port: 0 },
  token: process.argv[2],
  assets,
  host: {
    feed,
    status: async () => ({
      version: 'bench',
      runtime: process.version,
      startedAtMs: Date.now(),
      configurationLoadedAtMs: Date.now(),
      workers: 1,
      listeners: [],
      state: 'ready',
      openConnections: 0,
      residentBytes: process.memoryUsage.rss(),
    }),
    measure: async () => ({ metrics: metrics.snapshot(), gauges: [] }),
    routes: () => [],
    isReady: () => true,
    reload: async () => ({ kind: 'reloaded', warnings: [] }),
    drain: () => {},
  },
})
process.stdout.write(`http://127.0.0.1:${admin.address.port}/\n`)

for await (const line of createInterface(process.stdin)) {
  const [rate, seconds] = line.split(' ').map(Number)
  await publish(rate, seconds)
  process.stdout.write(`${feed.newest}\n`)
}
await admin.stop()

/** Late ticks are made up for. */
async function publish(rate: number, seconds: number): Promise<void> {
  const started = performance.now()
  for (let published = 0; published < rate * seconds; ) {
    const due = Math.min(rate * seconds, ((performance.now() - started) / 1_000) * rate)
    while (published < due) feed.publish(EVENTS[published++ % EVENTS.length])
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
  }
}
