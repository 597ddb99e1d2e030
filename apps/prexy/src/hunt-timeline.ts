/** `prexy hunt` and `prexy hunt search`: what rules or search terms find, as a timeline in the forms that were asked for. */
import { closeSync, openSync, writeSync } from 'node:fs'
import type { EventTime } from '@prexy/hunt/event-time'
import { htmlReport, ReportRows } from '@prexy/hunt/html-report'
import type { JobSpec, Row } from '@prexy/hunt/job'
import { cellsOf, cellText, csvLine, jsonObject, type RowContext } from '@prexy/hunt/row-text'
import { chooseRules, type ChosenRules, EVERY_RULE } from '@prexy/hunt/rule-files'
import { runJob } from '@prexy/hunt/run-job'
import { type SearchTerms, searchRule } from '@prexy/hunt/search-rule'
import { frequencyLine, type HuntSummary, SummaryCounter } from '@prexy/hunt/summary'
import { Timeline } from '@prexy/hunt/timeline'
import { type Cell, type Column, groupTags, type Profile, PROFILES } from '@prexy/hunt/timeline-row'
import type { Expression } from '@prexy/sigma/expression'
import { formatSigmaProblem } from '@prexy/sigma/problem'
import { type Level, LEVELS } from '@prexy/sigma/levels'
import type { RuleInfo } from '@prexy/sigma/rule'
import { CommandError, EXIT_ERROR, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { type EngineTask, readEngine } from './hunt-engine.ts'
import { count, lacksNamed, openInput, readingNotes } from './hunt-input.ts'
import type { InputFlags, RuleFlags, TimeFlags } from './hunt-flags.ts'
import { type AskedRules, type Input, readInputFlags, readNamed, readRuleFlags, readTimeFlags } from './hunt-options.ts'
import { fileErrorReason } from './file-error.ts'
import { writeStandardOutput } from './standard-output.ts'
import { printable, type Styles, stylesFor } from './terminal.ts'

export const FORMATS = ['text', 'csv', 'jsonl', 'json', 'html'] as const
export type OutputFormat = (typeof FORMATS)[number]

export interface OutputFlags extends TimeFlags {
  readonly output?: readonly string[]
  readonly print?: OutputFormat
  readonly force?: boolean
  readonly profile?: Profile
  readonly removeDuplicates?: boolean
  readonly summary?: boolean
  readonly details?: string
  readonly failOn?: Level
}

export interface EngineFlags {
  readonly engine?: string
  readonly engineTimeout?: number
}

export type HuntFlags = InputFlags & RuleFlags & OutputFlags & EngineFlags & { readonly follow?: boolean }

export async function hunt(paths: readonly string[], flags: HuntFlags): Promise<number> {
  if (paths.length === 0 && flags.engine === undefined) throw new CommandError('there is nothing to read; name files')
  const asked = readRuleFlags(flags)
  const expressions: Expression[] = []
  const onDetector = (expression: Expression): unknown => expressions.push(expression)
  const chosen = chooseRules(asked.texts, asked.choice, flags.engine === undefined ? undefined : onDetector)
  if (chosen.set.rules.length === 0) throw new CommandError(noRules(asked, chosen))
  const { engine } = flags
  if (engine !== undefined && flags.follow === true) throw new CommandError('--follow is for files, not for --engine')
  if (flags.follow === true) {
    const { followHunt } = await import('./hunt-follow.ts')
    return await followHunt(paths, flags, chosen, PROFILES[flags.profile ?? 'standard'], readTimeFlags(flags))
  }
  return await writeTimeline(paths, flags, {
    rules: { texts: asked.texts, choice: asked.choice },
    chosen,
    columns: PROFILES[flags.profile ?? 'standard'],
    routes: true,
    title: 'Hunt',
    notes: ruleNotes(asked, chosen),
    ...(engine === undefined ? {} : { engine: { address: engine, timeout: flags.engineTimeout, expressions } }),
  })
}

function noRules(asked: AskedRules, chosen: ChosenRules): string {
  const lines = [...asked.unreadable, ...chosen.problems.slice(0, 5).map(formatSigmaProblem)]
  const left = chosen.leftOut > 0 ? [`${count(chosen.leftOut, 'rule')} left out by the options`] : []
  return ['there is no rule to hunt with', ...lines, ...left].join('\n  ')
}

function ruleNotes(asked: AskedRules, { set, problems, leftOut, reported }: ChosenRules): readonly string[] {
  const unused = problems.filter(({ severity }) => severity === 'error')
  return [
    `${count([...reported.keys()].filter((info) => set.rules.includes(info)).length, 'rule')} used`,
    ...(leftOut > 0 ? [`${count(leftOut, 'rule')} left out by status, level, tag or id`] : []),
    ...(unused.length > 0 ? [`${count(unused.length, 'rule')} cannot be used; prexy hunt rules check says why`] : []),
    ...asked.unreadable.map((line) => `rules not read: ${line}`),
  ]
}

export interface SearchFlags extends InputFlags, OutputFlags {
  readonly keyword?: readonly string[]
  readonly regex?: readonly string[]
  readonly field?: readonly string[]
  readonly all?: boolean
  readonly case?: boolean
}

const SEARCH_COLUMNS: readonly Column[] = [
  'Timestamp',
  'Host',
  'Channel',
  'EventID',
  'RecordID',
  'AllFields',
  'Source',
  'Record',
]

export async function search(paths: readonly string[], flags: SearchFlags): Promise<number> {
  const terms: SearchTerms = {
    keywords: flags.keyword ?? [],
    patterns: flags.regex ?? [],
    fields: (flags.field ?? []).map((text) => {
      const at = text.indexOf('=')
      if (at <= 0) throw new CommandError(`--field ${text}: write --field NAME=VALUE; * stands for any text`)
      return [text.slice(0, at), text.slice(at + 1)]
    }),
    mode: flags.all === true ? 'all' : 'any',
    isCased: flags.case === true,
  }
  if (terms.keywords.length + terms.patterns.length + terms.fields.length === 0)
    throw new CommandError('nothing to search for; add --keyword, --regex or --field')
  const rules = { texts: [searchRule(terms)], choice: EVERY_RULE }
  const chosen = chooseRules(rules.texts, rules.choice)
  const [problem] = chosen.problems.filter(({ severity }) => severity === 'error')
  if (problem !== undefined) throw new CommandError(`this cannot be searched for: ${problem.message}`)
  const columns = SEARCH_COLUMNS
  return await writeTimeline(paths, flags, { rules, chosen, columns, routes: false, title: 'Search', notes: [] })
}

interface TimelineTask {
  readonly rules: NonNullable<JobSpec['rules']>
  readonly chosen: ChosenRules
  readonly columns: readonly Column[]
  readonly routes: boolean
  readonly title: string
  /** About the rules. */
  readonly notes: readonly string[]
  /** Where the events are; without, they are read from files. */
  readonly engine?: EngineTask
}

/** What was gone through, for a timeline. */
export interface HuntReading {
  readonly paths: readonly string[]
  readonly linesBefore: readonly (readonly number[])[]
  readonly notes: readonly string[]
  /** Something that was named was not read. */
  readonly isIncomplete: boolean
}

async function readFiles(
  paths: readonly string[],
  input: Input,
  details: TimelineDetails,
  task: TimelineTask,
  timeline: Timeline,
): Promise<HuntReading> {
  const found = await openInput(paths, input.format)
  const spec: JobSpec = {
    task: { kind: 'timeline', columns: task.columns, details, routes: task.routes },
    sources: found.sources,
    scan: input.scan,
    filter: input.filter,
    rules: task.rules,
  }
  const result = await runJob(spec, {
    threads: input.threads,
    chosen: task.chosen,
    stdin: found.stdin,
    onBatch: (batch) => timeline.add(batch),
    onProgress: (bytes) => found.progress.add(bytes),
  })
  found.progress.clear()
  return {
    paths: found.sources.map(({ path }) => path),
    linesBefore: result.linesBefore,
    notes: readingNotes(found, result.reports),
    isIncomplete: lacksNamed(found),
  }
}

async function writeTimeline(
  paths: readonly string[],
  flags: InputFlags & OutputFlags,
  task: TimelineTask,
): Promise<number> {
  const writeTime = readTimeFlags(flags)
  const input = readInputFlags(flags, Date.now())
  const details = flags.details === undefined ? [] : readDetails(flags.details)
  const targets = openTargets(flags)
  const timeline = new Timeline(task.chosen.set, task.columns)
  try {
    const read =
      task.engine === undefined
        ? await readFiles(paths, input, details, task, timeline)
        : await readEngine(paths, task.engine, {
            task: { columns: task.columns, details },
            filter: input.filter,
            chosen: task.chosen,
            expressions: task.engine.expressions,
            onBatch: (batch) => timeline.add(batch),
          })
    const context: RowContext = {
      columns: task.columns,
      rules: task.chosen.set.rules,
      levels: task.chosen.reported,
      paths: read.paths,
      linesBefore: read.linesBefore,
      writeTime,
    }
    const counter = new SummaryCounter(context.rules, context.levels)
    await writeRows(timeline, targets, context, counter, flags.removeDuplicates === true)
    const summary = counter.result()
    const notes = [...read.notes, ...task.notes, ...correlationNotes(timeline)]
    await finishTargets(targets, summary, context, { title: task.title, notes })
    if (flags.summary !== false) await showSummary(summary, notes, context, targets)
    return exitCode(read, summary, flags.failOn)
  } finally {
    timeline.close()
    for (const target of targets) target.close()
  }
}

function exitCode(read: HuntReading, summary: HuntSummary, failOn: Level | undefined): number {
  if (read.isIncomplete) return EXIT_ERROR
  if (failOn === undefined) return EXIT_OK
  const least = LEVELS.indexOf(failOn)
  const isMet = summary.levels.some(({ level }) => level !== undefined && LEVELS.indexOf(level) >= least)
  return isMet ? EXIT_NONE : EXIT_OK
}

function correlationNotes({ correlations }: Timeline): readonly string[] {
  const sum = (read: (one: Timeline['correlations'][number]) => number): number =>
    correlations.reduce((total, one) => total + read(one), 0)
  const evicted = sum(({ evictedGroups }) => evictedGroups) + sum(({ evictedEntries }) => evictedEntries)
  const incomplete = sum(({ incompleteEvents }) => incompleteEvents)
  return [
    ...(evicted > 0 ? [`correlations gave up ${count(evicted, 'group')} or entries at their limits`] : []),
    ...(incomplete > 0 ? [`${count(incomplete, 'event')} without a field that a correlation groups by`] : []),
  ]
}

type TimelineDetails = readonly (readonly [string, string])[]

function readDetails(file: string): TimelineDetails {
  return readNamed(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): [string, string] => {
      const at = line.indexOf('=')
      if (at <= 0) {
        throw new CommandError(
          `${file}: ${line}: write KEY = TEMPLATE, where KEY is web, a channel, channel/event id, or the id of a rule`,
        )
      }
      const key = line.slice(0, at).trim()
      return [key.includes('-') && /^[0-9a-f-]{36}$/i.test(key) ? key : key.toLowerCase(), line.slice(at + 1).trim()]
    })
}

/** Where a timeline goes. */
interface Target {
  readonly format: OutputFormat
  /** Undefined: standard output. */
  readonly file: string | undefined
  write(text: string): Promise<void> | void
  close(): void
  rows: number
  /** Of the HTML form, whose rows come behind its summary. */
  readonly kept: ReportRows
}

function openTargets(flags: OutputFlags): readonly Target[] {
  const files = flags.output ?? []
  const targets: Target[] = []
  try {
    for (const file of files) targets.push(fileTarget(file, flags.force === true))
  } catch (error) {
    for (const target of targets) target.close()
    throw error
  }
  if (files.length === 0 || flags.print !== undefined) targets.push(standardTarget(flags.print ?? 'text'))
  return targets
}

const ENDINGS: Readonly<Record<string, OutputFormat>> = {
  csv: 'csv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'json',
  html: 'html',
  htm: 'html',
  txt: 'text',
}

const BUFFERED_CHARACTERS = 262_144

function fileTarget(file: string, overwrites: boolean): Target {
  const format = ENDINGS[file.slice(file.lastIndexOf('.') + 1).toLowerCase()]
  if (format === undefined) {
    throw new CommandError(`-o ${file}: the form is told by the ending; there are .csv, .jsonl, .json, .html and .txt`)
  }
  let handle: number
  try {
    // What hits say may be secret.
    handle = openSync(file, overwrites ? 'w' : 'wx', 0o600)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new CommandError(`-o ${file}: it exists already; --force overwrites it`)
    throw new CommandError(`-o ${file}: ${fileErrorReason(error)}`)
  }
  let text = ''
  let isOpen = true
  const flush = (): void => {
    const bytes = Buffer.from(text)
    text = ''
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at)
    } catch (error) {
      throw new CommandError(`-o ${file}: ${fileErrorReason(error)}`)
    }
  }
  return {
    format,
    file,
    rows: 0,
    kept: new ReportRows(),
    write(more) {
      text += more
      if (text.length >= BUFFERED_CHARACTERS) flush()
    },
    close() {
      if (!isOpen) return
      isOpen = false
      flush()
      closeSync(handle)
    },
  }
}

function standardTarget(format: OutputFormat): Target {
  return { format, file: undefined, rows: 0, kept: new ReportRows(), write: writeStandardOutput, close() {} }
}

/** Rows of one time that are remembered to leave out copies. */
const MAX_DUPLICATE_KEYS = 100_000

async function writeRows(
  timeline: Timeline,
  targets: readonly Target[],
  context: RowContext,
  counter: SummaryCounter,
  removesDuplicates: boolean,
): Promise<void> {
  const style = stylesFor(process.stdout, process.env)
  for (const target of targets) {
    if (target.format === 'csv') await target.write(csvLine(context.columns))
    if (target.format === 'json') await target.write('[')
  }
  const seen = new Set<string>()
  let time = ''
  for (const row of timeline.rows((rule) => context.levels.has(rule))) {
    if (removesDuplicates) {
      const at = `${row.ms} ${row.ticks}`
      if (at !== time) seen.clear()
      time = at
      const key = JSON.stringify([row.host, row.rule, row.cells])
      if (seen.has(key)) {
        counter.duplicates++
        continue
      }
      if (seen.size < MAX_DUPLICATE_KEYS) seen.add(key)
    }
    counter.add(row)
    const cells = cellsOf(row, context)
    for (const target of targets) {
      const text = rowText(target, row, cells, context, style)
      target.rows++
      if (text === '') continue
      const written = target.write(text)
      if (written !== undefined) await written
    }
  }
}

function rowText(target: Target, row: Row, cells: readonly Cell[], context: RowContext, style: Styles): string {
  switch (target.format) {
    case 'csv':
      return csvLine(cells.map(cellText))
    case 'jsonl':
      return `${JSON.stringify(jsonObject(context.columns, cells))}\n`
    case 'json':
      return `${target.rows === 0 ? '\n' : ',\n'}${JSON.stringify(jsonObject(context.columns, cells))}`
    case 'html':
      target.kept.add({ level: levelOf(row, context), cells })
      return ''
    case 'text':
      return `${textLine(row, cells, context, target.file === undefined ? style : undefined)}\n`
  }
}

function levelOf(row: Row, context: RowContext): Level | undefined {
  const rule: RuleInfo | undefined = context.rules[row.rule]
  return rule === undefined ? undefined : context.levels.get(rule)
}

export function paintLevel(level: Level | undefined, style: Styles): (text: string) => string {
  if (level === 'emergency' || level === 'critical') return (text) => style.bold(style.red(text))
  if (level === 'high') return style.red
  if (level === 'medium') return style.yellow
  return level === 'low' ? style.green : style.dim
}

/** `2026-11-30T12:00:01.000Z high Path traversal: www.example.org: Client: 192.0.2.7 ¦ ...`; never more than one line. */
function textLine(row: Row, cells: readonly Cell[], context: RowContext, style: Styles | undefined): string {
  const named = new Map<Column, string>(context.columns.map((column, index) => [column, cellText(cells[index])]))
  const level = levelOf(row, context)
  const title = context.rules[row.rule]?.title ?? ''
  const time = named.get('Timestamp') ?? ''
  const host = named.get('Host') ?? ''
  const rest = [named.get('Details'), named.get('AllFields')].find((text) => text !== undefined) ?? ''
  const place = `${named.get('Source') ?? ''}:${named.get('Record') ?? ''}`
  const plain = (text: string): string => text
  const paint = style === undefined ? plain : paintLevel(level, style)
  const dim = style?.dim ?? plain
  const head =
    title === 'search' && level === undefined ? [] : [paint((level ?? 'none').padEnd(8)), paint(printable(title))]
  return [dim(time === '' ? '-' : time), ...head, printable(host), printable(rest), dim(printable(place))]
    .filter((part) => part !== '')
    .join('  ')
}

async function finishTargets(
  targets: readonly Target[],
  summary: HuntSummary,
  context: RowContext,
  facts: { readonly title: string; readonly notes: readonly string[] },
): Promise<void> {
  for (const target of targets) {
    if (target.format === 'json') await target.write(target.rows === 0 ? ']\n' : '\n]\n')
    if (target.format === 'html') {
      const writeTime = (ms: number): string => context.writeTime({ ms, ticks: 0 })
      await target.write(htmlReport(summary, target.kept, { ...facts, columns: context.columns, writeTime }))
    }
    target.close()
  }
}

/** On standard output when that is free, else on standard error. */
async function showSummary(
  summary: HuntSummary,
  notes: readonly string[],
  context: RowContext,
  targets: readonly Target[],
): Promise<void> {
  const isFree = targets.every(({ file }) => file !== undefined)
  const style = stylesFor(isFree ? process.stdout : process.stderr, process.env)
  const lines = [...summaryLines(summary, context, style), ...notes.map((note) => `  ${note}`)]
  for (const { file, rows } of targets) {
    if (file !== undefined) lines.push(`  ${count(rows, 'row')} written to ${file}`)
  }
  const text = `${lines.join('\n')}\n`
  if (isFree) await writeStandardOutput(text)
  else process.stderr.write(text)
}

export function summaryLines(summary: HuntSummary, context: RowContext, style: Styles): readonly string[] {
  const time = (ms: number): string => context.writeTime({ ms: ms, ticks: 0 } satisfies EventTime)
  const lines = [style.bold(`${count(summary.hits, 'hit')} in ${count(summary.events, 'event')}`)]
  if (summary.duplicates > 0) lines.push(`${count(summary.duplicates, 'duplicate')} removed`)
  if (summary.firstMs !== undefined && summary.lastMs !== undefined) {
    lines.push(
      `from ${time(summary.firstMs)} to ${time(summary.lastMs)}`,
      style.cyan(`[${frequencyLine(summary.frequency)}]`),
    )
  }
  for (const { level, hits, rules, topDay, topHosts, topRules } of summary.levels) {
    const paint = paintLevel(level, style)
    const name = level ?? 'without a level'
    if (level === undefined && context.rules.length === 1 && context.rules[0].title === 'search') continue
    lines.push(
      paint(
        `${name}: ${count(hits, 'hit')} of ${count(rules, 'rule')}${topDay === undefined ? '' : `, most on ${topDay[0]} (${topDay[1]})`}`,
      ),
    )
    for (const [title, hitsOfRule] of topRules.slice(0, 5))
      lines.push(`  ${String(hitsOfRule).padStart(7)}  ${printable(title)}`)
    if (topHosts.length > 0) {
      lines.push(
        `  hosts: ${topHosts
          .slice(0, 5)
          .map(([host, hitsOfHost]) => `${printable(host)} (${hitsOfHost})`)
          .join(', ')}`,
      )
    }
  }
  const tactics = tacticsOf(summary, context)
  if (tactics !== '') lines.push(`tactics: ${tactics}`)
  return lines
}

/** Tactics of the rules that were hit most, by how many rules have them. */
function tacticsOf(summary: HuntSummary, context: RowContext): string {
  const titles = new Set(summary.levels.flatMap(({ topRules }) => topRules.map(([title]) => title)))
  const counts = new Map<string, number>()
  for (const rule of context.rules) {
    if (!titles.has(rule.title)) continue
    for (const tactic of groupTags(rule.tags).tactics) counts.set(tactic, (counts.get(tactic) ?? 0) + 1)
  }
  return [...counts]
    .toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .map(([tactic, rules]) => `${tactic} (${rules})`)
    .join(', ')
}
