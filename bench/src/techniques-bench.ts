/** What single techniques gain: two ways to do the same, in turn in one process, under each runtime. */
import { fileURLToPath } from 'node:url'
import type { TechniquesDefinition } from './definition.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'
import type { TechniqueSample } from './techniques-sample.ts'

const SAMPLE = fileURLToPath(new URL('./techniques-sample.js', import.meta.url))

export function runTechniquesBench(definition: TechniquesDefinition, runtimes: readonly Runtime[]): Result[] {
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const { name, version, command } of runtimes) {
      const base = { runtime: `${name} ${version}`, load: currentLoad() }
      const samples: readonly TechniqueSample[] = JSON.parse(
        runPinned(0, command, [SAMPLE, String(definition.secondsPerSample)]),
      )
      for (const { technique, beforeUs, afterUs } of samples) {
        results.push(
          { ...base, subject: `${technique}: before`, value: beforeUs, unit: 'us' },
          { ...base, subject: `${technique}: after`, value: afterUs, unit: 'us' },
          { ...base, subject: technique, value: beforeUs / afterUs, unit: 'x' },
        )
      }
    }
  }
  return results
}
