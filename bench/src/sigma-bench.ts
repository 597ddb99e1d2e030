/** Sigma rules over events: a fresh process per sample and runtime, on one core. */
import { fileURLToPath } from 'node:url'
import type { SigmaDefinition } from './definition.ts'
import { ratioName } from './engine-bench.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'
import type { SigmaSample } from './sigma-sample.ts'

const SAMPLE = fileURLToPath(new URL('./sigma-sample.js', import.meta.url))

/** `data` is a folder with the public rules, which then stand in for the generated ones. */
export function runSigmaBench(
  definition: SigmaDefinition,
  runtimes: readonly Runtime[],
  data: string | undefined,
): Result[] {
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const { name, command, version } of runtimes) {
      const base = { runtime: `${name} ${version}`, load: currentLoad() }
      const args = [
        SAMPLE,
        JSON.stringify(definition),
        String(definition.secondsPerSample),
        ...(data === undefined ? [] : [data]),
      ]
      const { subjects } = JSON.parse(runPinned(1, command, args)) as SigmaSample
      const speeds = new Map<string, number>()
      definition.subjects.forEach(({ name: subject }, index) => {
        const { eventsPerSecond, compileMs } = subjects[index]
        speeds.set(subject, eventsPerSecond)
        results.push({ ...base, subject, value: eventsPerSecond, unit: 'events/s' })
        results.push({ ...base, subject: `${subject}, compiling`, value: compileMs, unit: 'ms' })
      })
      for (const goal of definition.goals) {
        const value = (speeds.get(goal.subject) ?? 0) / (speeds.get(goal.against) ?? 1)
        results.push({ ...base, subject: ratioName(goal), value, unit: 'x' })
      }
    }
  }
  return results
}
