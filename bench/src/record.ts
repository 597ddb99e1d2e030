/** Bench results: printed for a person, and kept as dated CSV with the machine and its load. */
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join } from 'node:path'

export interface Result {
  /** What was measured, e.g. `prexy` or `nginx-sub-filter 1024 B`. */
  readonly subject: string
  /** The runtime and its version, or the version of a program that is its own. */
  readonly runtime: string
  readonly value: number
  readonly unit:
    | 'MB/s'
    | 'us/request'
    | 'us'
    | 'ms'
    | 'MB'
    | 'KB'
    | 'x'
    | 'ns'
    | 'events/s'
    | '%'
    | 'M/s'
    | 'GB/s'
    | 'waits/s'
    | 'frames'
  /** Load average of the last minute when the sample began, without our own pinned processes it should be near 0. */
  readonly load: number
}

export function currentLoad(): number {
  return loadavg()[0]
}

const HEADER = 'time,definition,subject,runtime,value,unit,load,machine\n'

/** Appends to `bench/record/DATE-NAME.csv` and returns its path. */
export function appendRecord(folder: string, definition: string, results: readonly Result[]): string {
  const time = new Date().toISOString()
  const path = join(folder, `${time.slice(0, 10)}-${definition}.csv`)
  mkdirSync(folder, { recursive: true })
  if (!existsSync(path)) writeFileSync(path, HEADER)
  for (const { subject, runtime, value, unit, load } of results) {
    const fields = [time, definition, subject, runtime, figure(value), unit, load.toFixed(2), describeMachine()]
    appendFileSync(path, `${fields.join(',')}\n`)
  }
  return path
}

export function describeMachine(): string {
  const all = cpus()
  return `${all[0].model.replaceAll(',', ' ')} x${all.length} Linux ${release()}`
}

/** A tenth where that is little, three digits otherwise. */
function figure(value: number): string {
  return Math.abs(value) < 10 ? value.toPrecision(3) : value.toFixed(1)
}

/** One line per subject and runtime, samples reduced to their median, least and most. */
export function summarize(results: readonly Result[]): string {
  const groups = new Map<string, Result[]>()
  for (const result of results) {
    const key = `${result.subject.padEnd(30)} ${result.runtime.padEnd(16)}`
    groups.set(key, [...(groups.get(key) ?? []), result])
  }
  const lines = [...groups].map(([key, group]) => {
    const values = group.map(({ value }) => value).sort((a, b) => a - b)
    const [low, high] = [values[0], values[values.length - 1]]
    const median = (values[(values.length - 1) >> 1] + values[values.length >> 1]) / 2
    return `${key} ${figure(median).padStart(9)} ${group[0].unit}   (${figure(low)} to ${figure(high)}, ${values.length} samples)`
  })
  return `${lines.join('\n')}\n`
}

/** How busy the machine was with other work, for the reader of a figure. */
export function loadWarning(): string {
  const load = currentLoad()
  return load > 0.7 ? `bench: the machine is busy (load ${load.toFixed(2)}): expect low and uneven figures\n` : ''
}
