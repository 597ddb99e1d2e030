/** What it costs until a rule set can run: a fresh process per sample, on one core. */
import { fileURLToPath } from 'node:url'
import type { CompileSample } from './compile-sample.ts'
import type { CompileDefinition } from './definition.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'

const SAMPLE = fileURLToPath(new URL('./compile-sample.js', import.meta.url))

export function runCompileBench(
  definitions: string,
  definition: CompileDefinition,
  runtimes: readonly Runtime[],
): Result[] {
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const { name, version, command } of runtimes) {
      for (const subject of definition.subjects) {
        const load = currentLoad()
        const line = runPinned(0, command, [SAMPLE, definitions, definition.name, subject.name])
        const { cold, firstPage, warm } = JSON.parse(line) as CompileSample
        const base = { runtime: `${name} ${version}`, load, unit: 'ms' } as const
        results.push(
          { ...base, subject: subject.name, value: cold },
          { ...base, subject: `${subject.name}, first page`, value: firstPage },
          { ...base, subject: `${subject.name}, again`, value: warm },
        )
      }
    }
  }
  return results
}
