/** `prexy try --har`: what rules would make of responses that were recorded. Nothing leaves this machine. */
import type { RewriteOptions } from '@prexy/config/config-schema'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { CommandError, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { type RecordedPage, recordedExchanges, recordedPage } from './recorded-pages.ts'
import type { RuleEntry } from './rule-options.ts'
import { compileRuleEntries } from './rule-source.ts'
import { writeStandardOutput } from './standard-output.ts'
import { formatBytes, stylesFor, type Styles } from './terminal.ts'
import { hunksIn } from './try-page.ts'
import { describeRule, formatReport, reasonOf, reportAsJson, type TryReport } from './try-report.ts'
import { startTrial } from './try-run.ts'

export interface TryRecordedOptions {
  readonly maxChanges: number
  readonly json: boolean
  readonly host: string | undefined
  readonly secrets: boolean
}

interface RuleCount {
  hits: number
  responses: number
}

/** What became of all of them. */
interface Tally {
  responses: number
  tried: number
  changed: number
  /** By what kept rules from changing something; most of them first when it is told. */
  readonly unchanged: Map<string, number>
  readonly untried: Map<string, number>
  readonly rules: readonly RuleCount[]
  /** Places that may still be shown. */
  left: number
}

/** Runs the command: 0 when a rule changed something, 1 when none did. */
export async function tryRecorded(
  path: string,
  entries: readonly RuleEntry[],
  rewrite: RewriteOptions,
  options: TryRecordedOptions,
): Promise<number> {
  const set = await compileRuleEntries(entries, rewrite)
  const style = stylesFor(process.stdout, process.env)
  const tally: Tally = {
    responses: 0,
    tried: 0,
    changed: 0,
    unchanged: new Map(),
    untried: new Map(),
    rules: set.rules.map(() => ({ hits: 0, responses: 0 })),
    left: options.maxChanges,
  }
  await using trial = await startTrial(set)
  for await (const event of recordedExchanges(path, options.secrets)) {
    tally.responses++
    const recorded = recordedPage(event, options.host)
    if (typeof recorded === 'string') {
      addOne(tally.untried, recorded)
      continue
    }
    const { page, request } = recorded
    const result = await trial.run(page, request)
    const report: TryReport = {
      fetched: { page, redirects: [] },
      set,
      result,
      hunks: hunksIn(result),
      next: undefined,
    }
    add(tally, report)
    if (report.hunks.length === 0 && result.fault === undefined) continue
    await writeStandardOutput(
      options.json ? jsonLine(report, recorded, tally) : `${shown(report, recorded, tally, style)}\n`,
    )
    tally.left = Math.max(0, tally.left - report.hunks.length)
  }
  if (tally.responses === 0) throw new CommandError(`${path} holds no exchange`)
  await writeStandardOutput(
    options.json ? `${JSON.stringify(tallyAsJson(tally, set))}\n` : `${tallyLines(tally, set, style).join('\n')}\n`,
  )
  if (tally.tried === 0)
    throw new CommandError(`${path}: nothing could be tried: ${[...tally.untried.keys()].join('; ')}`)
  return tally.changed > 0 ? EXIT_OK : EXIT_NONE
}

function add(tally: Tally, { result, hunks }: TryReport): void {
  const { treatment, fault } = result
  tally.tried++
  if (hunks.length > 0) tally.changed++
  else addOne(tally.unchanged, fault === undefined ? reasonOf(result) : `it could not be served: ${fault}`)
  if (treatment?.kind !== 'rewritten') return
  for (const [rule, hits] of treatment.stats.hits.entries()) {
    if (hits === 0) continue
    tally.rules[rule].hits += hits
    tally.rules[rule].responses++
  }
}

function addOne(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

function partNote({ page, wholeBytes }: RecordedPage): string | undefined {
  if (wholeBytes === undefined) return undefined
  return `only ${formatBytes(page.body.length)} of ${formatBytes(wholeBytes)} were recorded`
}

function shown(report: TryReport, recorded: RecordedPage, { left }: Tally, style: Styles): string {
  const note = partNote(recorded)
  return `${formatReport(report, style, left)}${note === undefined ? '' : `${style.yellow(note)}\n`}`
}

function jsonLine(report: TryReport, recorded: RecordedPage, { left }: Tally): string {
  const { wholeBytes } = recorded
  const one = { method: recorded.request.method, ...reportAsJson(report, left) }
  return `${JSON.stringify(wholeBytes === undefined ? one : { ...one, wholeBytes })}\n`
}

function tallyLines(tally: Tally, set: RuleSet, style: Styles): readonly string[] {
  const { responses, tried, changed, rules } = tally
  return [
    style.bold(`${responses} exchange${responses === 1 ? '' : 's'}, ${tried} tried, ${changed} changed`),
    ...mostFirst(tally.unchanged).map(([reason, times]) => style.dim(`  ${times} unchanged: ${reason}`)),
    ...mostFirst(tally.untried).map(([reason, times]) => style.yellow(`  ${times} not tried: ${reason}`)),
    ...set.rules.map((rule, index) => {
      const { hits, responses: count } = rules[index]
      const line = `${String(index + 1).padStart(3)}  ${describeRule(rule)}: ${hits}, in ${count} of them`
      return hits > 0 ? line : style.dim(line)
    }),
  ]
}

function tallyAsJson({ responses, tried, changed, unchanged, untried, rules }: Tally, set: RuleSet): unknown {
  return {
    summary: true,
    exchanges: responses,
    tried,
    changed,
    unchanged: Object.fromEntries(mostFirst(unchanged)),
    untried: Object.fromEntries(mostFirst(untried)),
    rules: set.rules.map((rule, index) => ({ rule: index + 1, about: describeRule(rule), ...rules[index] })),
  }
}

function mostFirst(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].sort(([, a], [, b]) => b - a)
}
