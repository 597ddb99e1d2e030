/**
 * One sample of a Sigma bench, in a process of its own: `sigma-sample.js DEFINITION SECONDS [FOLDER]`; DEFINITION is the
 * JSON of one. Subjects take turns of some milliseconds; what counts is CPU time. Prints one JSON line, a
 * {@link SigmaSample}.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SigmaEvent } from '@prexy/sigma/event'
import { Matcher } from '@prexy/sigma/matcher.hot'
import { readRuleFile, type SigmaDocument } from '@prexy/sigma/rule'
import { compileRules } from '@prexy/sigma/rule-set'
import type { SigmaDefinition, SigmaSubject } from './definition.ts'
import { sigmaEvents, sigmaRules } from './sigma-rules.ts'
import { oneByOne } from './sigma-one-by-one.ts'

export interface SigmaSample {
  /** By subject, in the order of the definition. */
  readonly subjects: readonly { readonly eventsPerSecond: number; readonly compileMs: number; readonly rules: number }[]
}

const TURN_MS = 40

interface Contender {
  readonly run: (event: SigmaEvent) => number
  readonly compileMs: number
  readonly rules: number
  cpuUs: number
  events: number
  next: number
}

function contender(documents: readonly SigmaDocument[], { evaluator, rules }: SigmaSubject): Contender {
  const chosen = documents.slice(0, rules)
  const before = process.cpuUsage()
  let run: (event: SigmaEvent) => number
  if (evaluator === 'one by one') run = oneByOne(chosen)
  else {
    const set = compileRules(chosen, { placeholders: new Map() })
    const broken = set.problems.find(({ severity }) => severity === 'error')
    if (broken !== undefined) throw new Error(broken.message)
    const matcher = new Matcher(set)
    let found = 0
    const count = (): void => void found++
    run = (event) => {
      found = 0
      matcher.match(event, count)
      return found
    }
  }
  return { run, compileMs: cpuUs(before) / 1_000, rules: chosen.length, cpuUs: 0, events: 0, next: 0 }
}

function measure(definition: SigmaDefinition, seconds: number, folder: string | undefined): SigmaSample {
  const most = Math.max(...definition.subjects.map(({ rules }) => rules))
  const documents =
    folder === undefined
      ? readRuleFile(sigmaRules(definition.events, most), 'bench').documents
      : rulesBelow(folder, definition)
  const events = sigmaEvents(definition.events, definition.eventCount)
  const contenders = definition.subjects.map((subject) => contender(documents, subject))
  checkAgreement(contenders, events)
  for (let time = 0; time < seconds * 1_000; time += TURN_MS * contenders.length) {
    for (const each of contenders) {
      const before = process.cpuUsage()
      const until = performance.now() + TURN_MS
      while (performance.now() < until) {
        for (let i = 0; i < 8; i++) each.run(events[each.next++ % events.length])
        each.events += 8
      }
      // The first turn is the JIT's.
      if (time > 0) each.cpuUs += cpuUs(before)
      else each.events = 0
    }
  }
  return {
    subjects: contenders.map(({ events: count, cpuUs: time, compileMs, rules }) => {
      return { eventsPerSecond: (count * 1e6) / time, compileMs, rules }
    }),
  }
}

/** Those with the same rules must find the same. */
function checkAgreement(contenders: readonly Contender[], events: readonly SigmaEvent[]): void {
  const found = contenders.map(({ run }) => events.slice(0, 300).map(run))
  contenders.forEach(({ rules }, index) => {
    const first = contenders.findIndex((other) => other.rules === rules)
    const differs = found[index].findIndex((count, event) => count !== found[first][event])
    if (differs >= 0)
      throw new Error(`event ${differs}: ${found[first][differs]} rules match, or ${found[index][differs]}`)
  })
}

function rulesBelow(folder: string, { events }: SigmaDefinition): readonly SigmaDocument[] {
  const wanted = events === 'process' ? ['process_creation'] : ['webserver', 'proxy']
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.startsWith('rules') && name.endsWith('.yml'))
    .sort()
    .flatMap((name) => readRuleFile(readFileSync(join(folder, name), 'utf8'), name).documents)
    .filter((document) => document.kind === 'detection' && wanted.includes(document.logsource.category ?? ''))
    .filter((document) => compileRules([document], { placeholders: new Map() }).rules.length === 1)
}

function cpuUs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return user + system
}

const [text, seconds, folder] = process.argv.slice(2)
const sample = measure(JSON.parse(text) as SigmaDefinition, Number(seconds), folder)
process.stdout.write(`${JSON.stringify(sample)}\n`)
