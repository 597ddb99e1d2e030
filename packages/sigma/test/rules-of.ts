/** Rules written in tests, and events for them. */
import type { FieldValue, LogSource, SigmaEvent } from '../src/event.ts'
import type { Hit } from '../src/correlator.ts'
import { Matcher } from '../src/matcher.hot.ts'
import type { Placeholders } from '../src/placeholders.ts'
import { formatSigmaProblem } from '../src/problem.ts'
import { readRuleFile } from '../src/rule.ts'
import { compileRules, type RuleSet } from '../src/rule-set.ts'

export type Fields = Readonly<Record<string, FieldValue>>

export interface EventOptions {
  readonly sources?: readonly LogSource[]
  readonly time?: number
  readonly text?: string
}

export function eventOf(fields: Fields, options: EventOptions = {}): SigmaEvent {
  return {
    sources: options.sources,
    time: options.time,
    get: (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined),
    text: () => options.text ?? JSON.stringify(fields),
  }
}

export interface Compiled {
  readonly set: RuleSet
  /** All problems, as they are printed. */
  readonly problems: readonly string[]
}

export function compile(yaml: string, placeholders: Placeholders = new Map()): Compiled {
  const { documents, problems } = readRuleFile(yaml, 'rule.yml')
  const set = compileRules(documents, { placeholders })
  return { set, problems: [...problems, ...set.problems].map(formatSigmaProblem) }
}

/** A whole rule around a detection, which is given with its own indentation from column 0. */
export function ruleAround(detection: string, extra = ''): string {
  const indented = detection
    .trim()
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('')
  return `title: Test\nlogsource:\n  category: test\n${extra}detection:\n${indented}`
}

/** Titles of the rules that match, in order. */
export function titles(set: RuleSet, events: readonly SigmaEvent[]): string[] {
  return hits(set, events).map(({ rule }) => rule.title)
}

export function hits(set: RuleSet, events: readonly SigmaEvent[]): Hit[] {
  const found: Hit[] = []
  const matcher = new Matcher(set)
  const report = (hit: Hit): void => void found.push(hit)
  for (const event of events) matcher.match(event, report)
  matcher.finish(report)
  return found
}

/** Whether the rule of `detection` matches; throws when it could not be used. */
export function matches(detection: string, event: SigmaEvent, placeholders?: Placeholders): boolean {
  const { set, problems } = compile(ruleAround(detection), placeholders)
  if (set.rules.length === 0) throw new Error(problems.join('\n'))
  return titles(set, [event]).length > 0
}
