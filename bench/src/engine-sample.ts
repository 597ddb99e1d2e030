/**
 * One sample of an engine bench, in a process of its own: `engine-sample.js FOLDER DEFINITION ENGINE`. Warms up, measures,
 * and prints one JSON line, an {@link EngineSample}.
 */
import { createHash } from 'node:crypto'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { readDefinitions, type EngineDefinition, type EngineName } from './definition.ts'
import { compileDfaReplacer } from './dfa-loop.ts'
import { htmlPage } from './html-page.ts'
import { compileRegExpReplacer } from './regexp-replace.ts'

export interface EngineSample {
  readonly matches: number
  /** Of the output, so that engines can be seen to agree. */
  readonly sha256: string
  /** Page bytes by the median time of a page. */
  readonly medianMBperS: number
  readonly bestMBperS: number
  readonly pages: number
}

interface PageRun {
  readonly output: Uint8Array
  readonly matches: number
}

const WARM_UP_SECONDS = 0.5

function makeRun(definition: EngineDefinition, engine: EngineName, page: Uint8Array): () => PageRun {
  if (engine === 'dfa-loop') {
    const replacer = compileDfaReplacer(definition.rules)
    return () => replacer.replace(page)
  }
  if (engine === 'regexp-replace') {
    const replacer = compileRegExpReplacer(definition.rules)
    return () => replacer.replace(page)
  }
  const ruleSet = compileRuleSet(definition.rules)
  const out = new Uint8Array(page.length * 2)
  return () => {
    let written = 0
    const rewriter = ruleSet.createRewriter({
      write(chunk) {
        out.set(chunk, written)
        written += chunk.length
        return true
      },
    })
    for (let at = 0; at < page.length; at += definition.chunkBytes) {
      rewriter.write(page.subarray(at, Math.min(at + definition.chunkBytes, page.length)))
    }
    rewriter.end()
    let matches = 0
    for (const hits of rewriter.hits) matches += hits
    return { output: out.subarray(0, written), matches }
  }
}

function measure(definition: EngineDefinition, engine: EngineName): EngineSample {
  const page = htmlPage(definition.page, definition.page.bytes)
  const run = makeRun(definition, engine, page)
  const first = run()
  const sha256 = createHash('sha256').update(first.output).digest('hex')
  for (const until = performance.now() + WARM_UP_SECONDS * 1_000; performance.now() < until; ) run()
  const times: number[] = []
  for (const until = performance.now() + definition.secondsPerSample * 1_000; performance.now() < until; ) {
    const started = performance.now()
    const { matches } = run()
    times.push(performance.now() - started)
    if (matches !== first.matches) throw new Error(`${engine} made ${first.matches} replacements, then ${matches}`)
  }
  times.sort((a, b) => a - b)
  const speed = (milliseconds: number): number => page.length / 1_000 / milliseconds
  return {
    matches: first.matches,
    sha256,
    medianMBperS: speed(times[times.length >> 1]),
    bestMBperS: speed(times[0]),
    pages: times.length,
  }
}

const [folder, name, engine] = process.argv.slice(2)
const definition = readDefinitions(folder).get(name)
if (definition?.model !== 'engine') throw new Error(`${name} is no engine definition`)
const known = definition.engines.find((candidate) => candidate === engine)
if (known === undefined) throw new Error(`${engine} is none of ${definition.engines.join(', ')}`)
process.stdout.write(`${JSON.stringify(measure(definition, known))}\n`)
