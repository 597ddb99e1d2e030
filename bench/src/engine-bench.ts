/** Engines over one page: a fresh process per sample, all engines and runtimes in turn, on one core. */
import { fileURLToPath } from 'node:url'
import type { EngineDefinition } from './definition.ts'
import type { EngineSample } from './engine-sample.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'

const SAMPLE = fileURLToPath(new URL('./engine-sample.js', import.meta.url))

export function runEngineBench(
  definitions: string,
  definition: EngineDefinition,
  runtimes: readonly Runtime[],
): Result[] {
  const results: Result[] = []
  const outputs = new Set<string>()
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const runtime of runtimes) {
      for (const engine of definition.engines) {
        const load = currentLoad()
        const sample = readSample(runPinned(0, runtime.command, [SAMPLE, definitions, definition.name, engine]))
        outputs.add(sample.sha256)
        if (sample.matches !== definition.expectedMatches) {
          throw new Error(`${engine} made ${sample.matches} replacements; ${definition.expectedMatches} are right`)
        }
        const name = `${runtime.name} ${runtime.version}`
        results.push({ subject: engine, runtime: name, value: sample.medianMBperS, unit: 'MB/s', load })
      }
    }
  }
  if (outputs.size > 1) throw new Error('the engines did not give the same output')
  return results
}

function readSample(line: string): EngineSample {
  return JSON.parse(line) as EngineSample
}
