/** Engines over one page: fresh processes, in each of them all engines in turn, one runtime after the other, on one core. */
import { fileURLToPath } from 'node:url'
import type { EngineDefinition } from './definition.ts'
import type { EngineSample } from './engine-sample.ts'
import { buildHyperscan } from './hyperscan.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'

const SAMPLE = fileURLToPath(new URL('./engine-sample.js', import.meta.url))

/** Speeds per subject, and a ratio per goal out of each sample: the two sides ran within milliseconds of each other. */
export function runEngineBench(
  root: string,
  definitions: string,
  definition: EngineDefinition,
  runtimes: readonly Runtime[],
): Result[] {
  const needsHyperscan = definition.subjects.some(({ engine }) => engine === 'hyperscan')
  const hyperscan = needsHyperscan ? buildHyperscan(root) : undefined
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const { name, version, command } of runtimes) {
      const load = currentLoad()
      const args = [SAMPLE, definitions, definition.name, ...(hyperscan === undefined ? [] : [hyperscan])]
      const samples = JSON.parse(runPinned(0, command, args)) as EngineSample[]
      requireRight(definition, samples)
      const base = { runtime: `${name} ${version}`, load }
      for (const { subject, medianMBperS } of samples) {
        results.push({ ...base, subject, value: medianMBperS, unit: 'MB/s' })
      }
      results.push(...ratios(definition, samples).map((ratio) => ({ ...base, ...ratio })))
    }
  }
  return results
}

function requireRight(definition: EngineDefinition, samples: readonly EngineSample[]): void {
  const outputs = new Map<string, string>()
  for (const { subject, matches, sha256 } of samples) {
    if (sha256 === undefined) {
      if (matches < definition.expectedMatches) throw new Error(`${subject} found ${matches} matches only`)
      continue
    }
    if (matches !== definition.expectedMatches) {
      throw new Error(`${subject} made ${matches} replacements; ${definition.expectedMatches} are right`)
    }
    const rules = definition.subjects.find(({ name }) => name === subject)?.rules
    const known = outputs.get(JSON.stringify(rules)) ?? sha256
    if (known !== sha256) throw new Error(`${subject} did not give the same output as the others`)
    outputs.set(JSON.stringify(rules), sha256)
  }
}

function ratios(
  { goals, page }: EngineDefinition,
  samples: readonly EngineSample[],
): Pick<Result, 'subject' | 'value' | 'unit'>[] {
  return goals.flatMap((goal) => {
    const [subject, against] = [goal.subject, goal.against].map((name) => samples.find((each) => each.subject === name))
    if (subject === undefined || against === undefined) return []
    const ratio = { subject: ratioName(goal), value: subject.medianMBperS / against.medianMBperS, unit: 'x' } as const
    if (subject.chunks <= against.chunks) return [ratio]
    const nanoseconds = (each: EngineSample): number => (page.bytes / each.medianMBperS) * 1_000
    const perChunk = (nanoseconds(subject) - nanoseconds(against)) / (subject.chunks - against.chunks)
    return [ratio, { subject: `${goal.subject}, cost of a chunk`, value: perChunk, unit: 'ns' }]
  })
}

export function ratioName({ subject, against }: { readonly subject: string; readonly against: string }): string {
  return `${subject} / ${against}`
}
