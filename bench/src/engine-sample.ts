/**
 * One sample of an engine bench, in a process of its own: `engine-sample.js FOLDER DEFINITION [HYPERSCAN]`. Warms all
 * subjects up, lets them take turns, and prints one JSON line, a list of {@link EngineSample}.
 */
import { createHash } from 'node:crypto'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { enginePage, rulesOf } from './bench-rules.ts'
import { readDefinitions, type BenchRule, type EngineDefinition, type EngineSubject } from './definition.ts'
import { compileDfaReplacer } from './dfa-loop.ts'
import { startHyperscan } from './hyperscan.ts'
import { compileRegExpReplacer } from './regexp-replace.ts'

export interface EngineSample {
  readonly subject: string
  readonly matches: number
  /** Of the output, so that subjects with the same rules can be seen to agree; absent for one that only scans. */
  readonly sha256: string | undefined
  /** Page bytes by the median CPU time of a page. */
  readonly medianMBperS: number
  readonly chunks: number
  /** Version of a program that is its own runtime. */
  readonly version: string | undefined
}

interface PageRun {
  readonly output: Uint8Array
  readonly matches: number
}

interface Racer {
  readonly subject: EngineSubject
  readonly matches: number
  readonly sha256: string | undefined
  readonly version: string | undefined
  /** Runs whole pages for so much CPU time; CPU milliseconds per page. */
  turn(milliseconds: number): number | Promise<number>
  close(): void
}

const WARM_UP_MS = 500
const TURN_MS = 25

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/**
 * With `keeps`, prexy's output is put together, so that it can be compared; in timed runs it goes to a sink that counts it,
 * as a socket takes it without another copy. The other engines cannot but write theirs into one buffer.
 */
function makeRun(
  { engine, chunkBytes }: EngineSubject,
  rules: readonly BenchRule[],
  page: Uint8Array,
): (keeps: boolean) => PageRun {
  if (engine === 'dfa-loop') {
    const replacer = compileDfaReplacer(rules)
    return () => replacer.replace(page)
  }
  if (engine === 'regexp-replace') {
    const replacer = compileRegExpReplacer(rules)
    return () => replacer.replace(page)
  }
  const ruleSet = compileRuleSet(rules)
  return (keeps) => {
    const out = new Uint8Array(keeps ? page.length * 2 : 0)
    let written = 0
    const rewriter = ruleSet.createRewriter({
      write(chunk) {
        if (keeps) out.set(chunk, written)
        written += chunk.length
        return true
      },
    })
    for (let at = 0; at < page.length; at += chunkBytes) {
      rewriter.write(page.subarray(at, Math.min(at + chunkBytes, page.length)))
    }
    rewriter.end()
    let matches = 0
    for (const hits of rewriter.hits) matches += hits
    return { output: out.subarray(0, written), matches }
  }
}

async function makeRacer(
  definition: EngineDefinition,
  subject: EngineSubject,
  page: Uint8Array,
  hyperscan: string | undefined,
): Promise<Racer | undefined> {
  const rules = rulesOf(subject.rules ?? definition.rules)
  if (subject.engine === 'hyperscan') {
    if (hyperscan === undefined) return undefined
    const scanner = await startHyperscan(hyperscan, rules, page, subject.chunkBytes)
    const { matches, version } = scanner
    return {
      subject,
      matches,
      sha256: undefined,
      version,
      turn: (milliseconds) => scanner.scan(milliseconds),
      close: () => scanner.close(),
    }
  }
  const run = makeRun(subject, rules, page)
  const { output, matches } = run(true)
  return {
    subject,
    matches,
    sha256: createHash('sha256').update(output).digest('hex'),
    version: undefined,
    turn(milliseconds) {
      const started = cpuMs()
      let now = started
      let pages = 0
      do {
        const again = run(false)
        if (again.matches !== matches) throw new Error(`${subject.name} made ${matches}, then ${again.matches}`)
        pages++
        now = cpuMs()
      } while (now < started + milliseconds)
      return (now - started) / pages
    },
    close: () => undefined,
  }
}

async function measure(definition: EngineDefinition, hyperscan: string | undefined): Promise<EngineSample[]> {
  const page = enginePage(definition)
  const racers: Racer[] = []
  for (const subject of definition.subjects) {
    const racer = await makeRacer(definition, subject, page, hyperscan)
    if (racer !== undefined) racers.push(racer)
  }
  for (const racer of racers) await racer.turn(WARM_UP_MS)
  const times: number[][] = racers.map(() => [])
  const turns = Math.max(1, Math.round((definition.secondsPerSample * 1_000) / TURN_MS))
  for (let turn = 0; turn < turns; turn++) {
    for (const [i, racer] of racers.entries()) times[i].push(await racer.turn(TURN_MS))
  }
  return racers.map(({ subject, matches, sha256, version, close }, i) => {
    close()
    times[i].sort((a, b) => a - b)
    return {
      subject: subject.name,
      matches,
      sha256,
      version,
      medianMBperS: page.length / 1_000 / times[i][times[i].length >> 1],
      chunks: Math.ceil(page.length / subject.chunkBytes),
    }
  })
}

const [folder, name, hyperscan] = process.argv.slice(2)
const definition = readDefinitions(folder).get(name)
if (definition?.model !== 'engine') throw new Error(`${name} is no engine definition`)
process.stdout.write(`${JSON.stringify(await measure(definition, hyperscan))}\n`)
