/** Figures of earlier runs, from `bench/record`: of each subject under each runtime the newest. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Median of the samples of one run. */
export interface Figure {
  readonly value: number
  readonly unit: string
  /** `2026-12-01`. */
  readonly date: string
  /** Load of the machine when it was measured, the median. */
  readonly load: number
}

interface Row {
  readonly time: string
  readonly runtime: string
  readonly value: number
  readonly unit: string
  readonly load: number
}

/** By definition and subject; a subject may have been measured under several runtimes. */
export class Figures {
  readonly #rows = new Map<string, Row[]>()

  constructor(folder: string) {
    for (const file of readdirSync(folder)) {
      if (file.endsWith('.csv')) this.#read(readFileSync(join(folder, file), 'utf8'))
    }
  }

  #read(text: string): void {
    for (const line of text.split('\n').slice(1)) {
      // A subject may have commas in it; nothing else has.
      const fields = line.split(',')
      if (fields.length < 8) continue
      const [time, definition, ...rest] = fields
      const [runtime, value, unit, load] = rest.splice(-5)
      const key = keyOf(definition, rest.join(','))
      const rows = this.#rows.get(key)
      const row = { time, runtime, value: Number(value), unit, load: Number(load) }
      if (rows === undefined) this.#rows.set(key, [row])
      else rows.push(row)
    }
  }

  /** What a definition has measured, in the order of the records. */
  subjects(definition: string): readonly string[] {
    const prefix = keyOf(definition, '')
    return [...this.#rows.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))
  }

  /** `runtime`: its name, without the version. Undefined where it was never measured. */
  find(definition: string, subject: string, runtime: string, age: 'newest' | 'oldest' = 'newest'): Figure | undefined {
    const rows = this.#rows.get(keyOf(definition, subject))?.filter((row) => isRuntime(row.runtime, runtime)) ?? []
    const times = rows.map(({ time }) => time).toSorted()
    const wanted = age === 'newest' ? times.at(-1) : times.at(0)
    const run = rows.filter(({ time }) => time === wanted)
    if (run.length === 0) return undefined
    return {
      value: median(run.map(({ value }) => value)),
      unit: run[0].unit,
      date: run[0].time.slice(0, 10),
      load: median(run.map(({ load }) => load)),
    }
  }

  /** Throws with the command that would measure it. */
  require(definition: string, subject: string, runtime: string): Figure {
    const found = this.find(definition, subject, runtime)
    if (found !== undefined) return found
    throw new Error(
      `"${subject}" of ${definition} is not in bench/record for ${runtime}: npm run bench -- ${definition} --record`,
    )
  }
}

function keyOf(definition: string, subject: string): string {
  return `${definition}\n${subject}`
}

function isRuntime(recorded: string, name: string): boolean {
  return recorded === name || recorded.startsWith(`${name} `)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2
}
