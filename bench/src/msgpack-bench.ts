/** MessagePack codecs over one document: a fresh process per sample, all codecs and runtimes in turn, on one core. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MsgpackDefinition } from './definition.ts'
import { msgpackDocument } from './msgpack-documents.ts'
import type { MsgpackSample } from './msgpack-sample.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'

const SAMPLE = fileURLToPath(new URL('./msgpack-sample.js', import.meta.url))

/** `data` is a file to measure with instead of the definition's document. */
export function runMsgpackBench(
  root: string,
  definition: MsgpackDefinition,
  runtimes: readonly Runtime[],
  data: string | undefined,
): Result[] {
  const file = data ?? writeDocument(root, definition)
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const { name, command, version } of runtimes) {
      for (const codec of definition.codecs) {
        const load = currentLoad()
        const args = [SAMPLE, definition.task, codec, file, String(definition.secondsPerSample)]
        const { time, memoryMB } = JSON.parse(runPinned(1, command, args)) as MsgpackSample
        const base = { runtime: `${name} ${version}`, load }
        const unit = definition.task === 'decode-first' ? 'ms' : 'us'
        if (time !== undefined) results.push({ ...base, subject: codec, value: time, unit })
        if (memoryMB !== undefined) results.push({ ...base, subject: `${codec}, memory`, value: memoryMB, unit: 'MB' })
      }
    }
  }
  return results
}

function writeDocument(root: string, { name, document }: MsgpackDefinition): string {
  const folder = join(root, '.build')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.msgpack`)
  writeFileSync(file, msgpackDocument(document))
  return file
}

/** How often the first codec's median holds each other one's, per runtime and kind of figure. */
export function describeRatios(results: readonly Result[]): string {
  const lines: string[] = []
  for (const runtime of new Set(results.map((result) => result.runtime))) {
    for (const unit of new Set(results.map((result) => result.unit))) {
      const group = results.filter((result) => result.runtime === runtime && result.unit === unit)
      const subjects = [...new Set(group.map(({ subject }) => subject))]
      const medians = subjects.map((subject) => median(group.filter((result) => result.subject === subject)))
      subjects.forEach((subject, i) => {
        if (i > 0)
          lines.push(`${runtime.padEnd(16)} ${subjects[0]} / ${subject}: ${(medians[0] / medians[i]).toFixed(2)}`)
      })
    }
  }
  return `${lines.join('\n')}\n`
}

function median(results: readonly Result[]): number {
  const values = results.map(({ value }) => value).sort((a, b) => a - b)
  return values[values.length >> 1]
}
