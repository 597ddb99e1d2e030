/** What `--debug` prints when a run is over: where its time and its memory went, as far as the runtime tells. */
import { writeSync } from 'node:fs'
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { GCProfiler, getHeapStatistics } from 'node:v8'
import { formatBytes } from './terminal.ts'

/** How often what a profiler of collections has kept is added up, so that it does not grow. Unit: milliseconds. */
const FOLD_MS = 1_000
/** How often the event loop is looked at. Unit: milliseconds. */
const LOOP_RESOLUTION_MS = 10

interface Collections {
  count: number
  totalMs: number
  longestMs: number
}

/** Begins to count, and prints to standard error when the process ends, in whichever way but a signal. */
export function printStatisticsAtExit(): void {
  const statistics = new RunStatistics()
  process.once('exit', () => {
    try {
      writeSync(2, statistics.text())
    } catch {
      // Nobody reads standard error any more.
    }
  })
}

class RunStatistics {
  readonly #startMs = performance.now()
  readonly #loop: IntervalHistogram
  readonly #collections = new Map<string, Collections>()
  #profiler = new GCProfiler()
  #allocatedBytes = 0
  /** Of the heap, after the last collection. */
  #usedBytes: number = getHeapStatistics().used_heap_size

  constructor() {
    this.#loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
    this.#loop.enable()
    this.#profiler.start()
    setInterval(() => {
      this.#fold()
      this.#profiler = new GCProfiler()
      this.#profiler.start()
    }, FOLD_MS).unref()
  }

  /** What was used before a collection and not after the one before was allocated between them. */
  #fold(): void {
    for (const { gcType, cost, beforeGC, afterGC } of this.#profiler.stop()?.statistics ?? []) {
      this.#allocatedBytes += Math.max(0, beforeGC.heapStatistics.usedHeapSize - this.#usedBytes)
      this.#usedBytes = afterGC.heapStatistics.usedHeapSize
      let kind = this.#collections.get(gcType)
      if (kind === undefined) this.#collections.set(gcType, (kind = { count: 0, totalMs: 0, longestMs: 0 }))
      // Its unit is microseconds.
      const ms = cost / 1_000
      kind.count++
      kind.totalMs += ms
      kind.longestMs = Math.max(kind.longestMs, ms)
    }
  }

  text(): string {
    this.#fold()
    const seconds = (performance.now() - this.#startMs) / 1_000
    const rows: readonly (readonly [name: string, value: string])[] = [
      ['CPU', cpuText()],
      ['memory', memoryText()],
      ['heap', heapText()],
      ['allocated', this.#allocatedText(seconds)],
      ['collections', this.#collectionsText()],
      ['event loop', this.#loopText()],
      ['system', systemText()],
    ]
    const runtime =
      process.versions.bun === undefined ? `Node.js ${process.versions.node}` : `Bun ${process.versions.bun}`
    const title = `prexy: process ${process.pid} on ${runtime}, ${seconds.toFixed(2)} s`
    return `${[title, ...rows.map(([name, value]) => `  ${name.padEnd(12)} ${value}`)].join('\n')}\n`
  }

  #allocatedText(seconds: number): string {
    const told = getHeapStatistics()
    // Later runtimes count it themselves, from their start on.
    const bytes =
      'total_allocated_bytes' in told && typeof told.total_allocated_bytes === 'number'
        ? told.total_allocated_bytes
        : this.#allocatedBytes + Math.max(0, told.used_heap_size - this.#usedBytes)
    return `${formatBytes(bytes)} on the heap of the main thread, ${formatBytes(bytes / seconds)} a second`
  }

  #collectionsText(): string {
    const kinds = [...this.#collections].map(([type, { count, totalMs, longestMs }]) => {
      return `${count} ${type} in ${totalMs.toFixed(1)} ms, the longest ${longestMs.toFixed(1)}`
    })
    return kinds.length === 0 ? 'none' : kinds.join('; ')
  }

  #loopText(): string {
    const { utilization, active } = performance.eventLoopUtilization()
    // Bun has the function and always says 0.
    const busy =
      active === 0 ? 'how busy it was, this runtime does not tell' : `${(utilization * 100).toFixed(0)}% busy`
    if (this.#loop.count === 0) return `${busy}; too short a run to see delays`
    // Node's figures have the interval in them.
    const interval = process.versions.bun === undefined ? LOOP_RESOLUTION_MS : 0
    const ms = (nanoseconds: number): string => Math.max(0, nanoseconds / 1e6 - interval).toFixed(1)
    const { max } = this.#loop
    return `${busy}; late by ${ms(this.#loop.percentile(50))} ms (median), ${ms(this.#loop.percentile(99))} (99%), ${ms(max)} (most)`
  }
}

function cpuText(): string {
  const { user, system } = process.cpuUsage()
  return `${(user / 1e6).toFixed(2)} s in the program, ${(system / 1e6).toFixed(2)} s in the kernel, all threads`
}

function memoryText(): string {
  const { rss, external, arrayBuffers } = process.memoryUsage()
  const most = process.resourceUsage().maxRSS * 1_024
  return `${formatBytes(rss)} resident, ${formatBytes(most)} at most; ${formatBytes(external)} held from outside the heap, ${formatBytes(arrayBuffers)} of it buffers`
}

function heapText(): string {
  const told = getHeapStatistics()
  const limit = process.versions.bun === undefined ? `, may grow to ${formatBytes(told.heap_size_limit)}` : ''
  return `${formatBytes(told.used_heap_size)} used of ${formatBytes(told.total_heap_size)}${limit}`
}

function systemText(): string {
  const { voluntaryContextSwitches, involuntaryContextSwitches, minorPageFault, majorPageFault } =
    process.resourceUsage()
  const count = (value: number): string => value.toLocaleString('en-US')
  return `waited ${count(voluntaryContextSwitches)} times, was put off ${count(involuntaryContextSwitches)} times; ${count(minorPageFault)} page faults, ${count(majorPageFault)} more from a disk`
}
