/** The adversarial corpus: what the engine makes of bodies against it, next to a plain loop over an ordinary page. */
import { fileURLToPath } from 'node:url'
import type { CorpusSample } from './corpus-sample.ts'
import type { CorpusDefinition } from './definition.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'

const SAMPLE = fileURLToPath(new URL('./corpus-sample.js', import.meta.url))
/** How many of the slowest are results of their own. */
const SHOWN = 8

/** The subject of the ratio that must hold. */
export const SLOWEST = 'slowest of the corpus / dfa-loop on an ordinary page'

export function runCorpusBench(
  definitions: string,
  definition: CorpusDefinition,
  runtimes: readonly Runtime[],
): Result[] {
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const { name, version, command } of runtimes) {
      const base = { runtime: `${name} ${version}`, load: currentLoad() }
      const samples = JSON.parse(runPinned(0, command, [SAMPLE, definitions, definition.name])) as CorpusSample[]
      samples.sort((a, b) => a.ratio - b.ratio)
      results.push(
        { ...base, subject: SLOWEST, value: samples[0].ratio, unit: 'x' },
        ...samples.slice(0, SHOWN).map(({ subject, MBperS }) => ({
          ...base,
          subject: `corpus: ${subject}`,
          value: MBperS,
          unit: 'MB/s' as const,
        })),
        { ...base, subject: 'corpus: median', value: samples[samples.length >> 1].MBperS, unit: 'MB/s' },
      )
    }
  }
  return results
}
