/**
 * One sample of the corpus bench, in a process of its own: `corpus-sample.js FOLDER DEFINITION`. Prints one JSON line, a
 * list of {@link CorpusSample}. Each rule set is compiled anew and its first body is measured, too: a cache that is filled
 * on the way is part of what a body costs.
 */
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { ADVERSARIAL_CASES, type AdversarialCase } from '@prexy/testing/adversarial'
import { enginePage, rulesOf } from './bench-rules.ts'
import { readDefinitions } from './definition.ts'
import { compileDfaReplacer } from './dfa-loop.ts'

export interface CorpusSample {
  readonly subject: string
  readonly MBperS: number
  /** Speed by that of the plain loop right before and after. */
  readonly ratio: number
}

const WARM_UP_MS = 500
const CHUNK_BYTES = 65_536

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Runs until so much CPU time has gone, once at least; MB/s of CPU time. */
function speed(bytes: number, milliseconds: number, run: () => void): number {
  const started = cpuMs()
  let runs = 0
  do {
    run()
    runs++
  } while (cpuMs() < started + milliseconds)
  return (bytes * runs) / 1_000 / (cpuMs() - started)
}

function rewrite({ rules, options }: AdversarialCase, body: Uint8Array): () => void {
  const ruleSet = compileRuleSet(rules, options)
  return () => {
    const rewriter = ruleSet.createRewriter({ write: () => true })
    for (let at = 0; at < body.length; at += CHUNK_BYTES) rewriter.write(body.subarray(at, at + CHUNK_BYTES))
    rewriter.end()
  }
}

const [folder, name] = process.argv.slice(2)
const definitions = readDefinitions(folder)
const definition = definitions.get(name)
if (definition?.model !== 'corpus') throw new Error(`${name} is no corpus definition`)
const ordinary = definitions.get(definition.ordinary)
if (ordinary?.model !== 'engine') throw new Error(`${definition.ordinary} is no engine definition`)
const page = enginePage(ordinary)
const loop = compileDfaReplacer(rulesOf(ordinary.rules))
const plain = (milliseconds: number): number => speed(page.length, milliseconds, () => loop.replace(page))
plain(WARM_UP_MS)
const turnMs = definition.secondsPerSample * 1_000
// The engine's own code warms up on a rule set that is none of the corpus.
const warming = compileRuleSet(rulesOf(ordinary.rules))
speed(page.length, WARM_UP_MS, () => {
  const rewriter = warming.createRewriter({ write: () => true })
  rewriter.write(page)
  rewriter.end()
})
const samples = ADVERSARIAL_CASES.map((attack): CorpusSample => {
  const body = attack.body(definition.bytes)
  const before = plain(turnMs / 2)
  const MBperS = speed(body.length, turnMs, rewrite(attack, body))
  const after = plain(turnMs / 2)
  return { subject: attack.name, MBperS, ratio: (2 * MBperS) / (before + after) }
})
process.stdout.write(`${JSON.stringify(samples)}\n`)
