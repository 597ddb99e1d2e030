/**
 * What runs inside the browser: the engine, bundled from the same sources, over rows with known outputs and over the
 * generated rules and bodies of the engine's properties. The findings go back to the server that served the page.
 */
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import fc from 'fast-check'
import { CHARACTERS, LETTERS, OCTETS, rewriteCase, toOptions, toReference, toRule } from '../src/arbitraries.ts'
import { outputComparison } from '../src/compare.ts'
import { drive } from '../src/drive.ts'
import { forEachSplit } from '../src/splits.ts'
import type { Findings, KnownRow } from './findings.ts'

const RUNS_PER_PALETTE = 60
const SEED = 20_261_130

const encoder = new TextEncoder()
const decoder = new TextDecoder()

function runKnownRow(row: KnownRow): void {
  const ruleSet = compileRuleSet(row.rules, row.options)
  const body = [...encoder.encode(row.body)]
  forEachSplit(body, (split) => {
    const got = decoder.decode(Uint8Array.from(drive(ruleSet, body, split).output))
    if (got !== row.output)
      throw new Error(`split ${split.join()}: ${JSON.stringify(got)} instead of ${JSON.stringify(row.output)}`)
  })
}

function runGenerated(): void {
  for (const palette of [LETTERS, CHARACTERS, OCTETS]) {
    const cases = rewriteCase({ palette, maxRules: 3, maxPieces: 16 })
    const property = fc.property(cases, (made) => {
      const rules = made.rules.map(toRule)
      const options = toOptions(made)
      const subject = {
        reference: toReference(made),
        ruleSet: compileRuleSet(rules, options),
        body: made.body,
        row: { name: 'generated in a browser', rules, options },
      }
      forEachSplit(made.body, outputComparison(subject))
    })
    fc.assert(property, { seed: SEED, numRuns: RUNS_PER_PALETTE })
  }
}

function attempt(name: string, run: () => void): string[] {
  try {
    run()
    return []
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`]
  }
}

async function main(): Promise<void> {
  const response = await fetch('/rows.json')
  const rows: readonly KnownRow[] = await response.json()
  const problems = [
    ...rows.flatMap((row) => attempt(row.name, () => runKnownRow(row))),
    ...attempt('generated cases', runGenerated),
  ]
  const findings: Findings = { userAgent: navigator.userAgent, rows: rows.length, problems }
  await fetch('/findings', { method: 'POST', body: JSON.stringify(findings) })
}

main().catch((error: unknown) => {
  const problems = [String(error)]
  void fetch('/findings', {
    method: 'POST',
    body: JSON.stringify({ userAgent: navigator.userAgent, rows: 0, problems }),
  })
})
