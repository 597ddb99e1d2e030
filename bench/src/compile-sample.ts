/**
 * One sample of a compile bench, in a fresh process: `compile-sample.js FOLDER DEFINITION SUBJECT`. Prints one JSON line,
 * a {@link CompileSample}. Modules are loaded and the kernel's code is compiled before the first rule set is; nothing of
 * the compiler has run.
 */
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { rulesOf } from './bench-rules.ts'
import { readDefinitions, type BenchRule } from './definition.ts'
import { htmlPage } from './html-page.ts'

/** Milliseconds of CPU time. */
export interface CompileSample {
  /** The first rule set that the process compiles. */
  readonly cold: number
  /** What the first page costs with it more than a later one: states and steps of the automaton are made on it. */
  readonly firstPage: number
  /** The median of later compilations of the same rules. */
  readonly warm: number
}

const PAGE_BYTES = 256 * 1_024
const REPEATS = 15
const REPEAT_BUDGET_MS = 1_500

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function timed<T>(run: () => T): [T, number] {
  const started = cpuMs()
  const result = run()
  return [result, cpuMs() - started]
}

/** The median cost of doing it again and again, as often as the budget allows, once at least. */
function repeated(run: () => unknown): number {
  const values: number[] = []
  for (let spent = 0; values.length < REPEATS && spent < REPEAT_BUDGET_MS; spent += values[values.length - 1]) {
    values.push(timed(run)[1])
  }
  return values.sort((a, b) => a - b)[values.length >> 1]
}

function measure(rules: readonly BenchRule[]): CompileSample {
  const needles = rules.flatMap((rule) => ('text' in rule ? [rule.text] : []))
  const page = htmlPage({ matchEveryBytes: 180, needles }, PAGE_BYTES)
  const [ruleSet, cold] = timed(() => compileRuleSet(rules))
  const run = (): void => {
    const rewriter = ruleSet.createRewriter({ write: () => true })
    rewriter.write(page)
    rewriter.end()
  }
  const [, first] = timed(run)
  const later = repeated(run)
  const warm = repeated(() => compileRuleSet(rules))
  return { cold, firstPage: first - later, warm }
}

const [folder, name, subjectName] = process.argv.slice(2)
const definition = readDefinitions(folder).get(name)
if (definition?.model !== 'compile') throw new Error(`${name} is no compile definition`)
const subject = definition.subjects.find((each) => each.name === subjectName)
if (subject === undefined) throw new Error(`${name} has no subject "${subjectName}"`)
process.stdout.write(`${JSON.stringify(measure(rulesOf(subject.rules)))}\n`)
