/** `prexy hunt metrics`, `logons`, `pivot` and `base64`: what a log holds, as tables. */
import type { EventTime } from '@prexy/hunt/event-time'
import { ExternalSort } from '@prexy/hunt/external-sort'
import { NO_TIME } from '@prexy/hunt/hunt-event'
import { compareRows, type JobSpec, type JobTask, type Row } from '@prexy/hunt/job'
import { LOGON_COUNTS } from '@prexy/hunt/logons'
import { CLIENT_COUNTS, METRICS, type Metric } from '@prexy/hunt/metrics'
import { PIVOTS } from '@prexy/hunt/pivot'
import { csvLine } from '@prexy/hunt/row-text'
import { chooseRules } from '@prexy/hunt/rule-files'
import { runJob } from '@prexy/hunt/run-job'
import { addUp, compareSums, KEY_SEPARATOR, type Sum } from '@prexy/hunt/sums'
import type { Level } from '@prexy/sigma/levels'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { lacksNamed, openInput, readingNotes } from './hunt-input.ts'
import type { InputFlags, RuleFlags, TimeFlags } from './hunt-flags.ts'
import { readInputFlags, readRuleFlags, readTimeFlags } from './hunt-options.ts'
import { writeStandardOutput } from './standard-output.ts'
import { printable, stylesFor } from './terminal.ts'

export const TABLE_FORMATS = ['text', 'csv', 'jsonl'] as const
export type TableFormat = (typeof TABLE_FORMATS)[number]

export interface TableFlags extends InputFlags, TimeFlags {
  readonly print?: TableFormat
  readonly top?: number
}

/** Rows of a table that a terminal shows when nothing else is asked for. */
export const DEFAULT_TOP = 20

/** A column of a table: its name, and whether it holds numbers. */
interface TableColumn {
  readonly name: string
  readonly isNumber: boolean
}

interface Table {
  readonly title: string
  readonly columns: readonly TableColumn[]
  readonly rows: readonly (readonly (string | number)[])[]
  /** Rows that are not shown. */
  readonly more: number
}

const text = (name: string): TableColumn => ({ name, isNumber: false })
const number = (name: string): TableColumn => ({ name, isNumber: true })

export interface MetricsFlags extends TableFlags {
  readonly of?: readonly Metric[]
}

export async function metrics(paths: readonly string[], flags: MetricsFlags): Promise<number> {
  const asked = flags.of ?? METRICS
  const time = writeTime(flags)
  return await runTables(paths, flags, { kind: 'metrics' }, undefined, (sums, top) => {
    const kept = new Map<string, TopSums>(asked.map((metric) => [metric, new TopSums(top)]))
    for (const sum of withAgents(sums)) kept.get(partsOf(sum)[0])?.add(sum)
    return asked.flatMap((metric): Table[] => {
      const found = kept.get(metric)
      if (found === undefined || found.isEmpty) return []
      return [metricTable(metric, found, time)]
    })
  })
}

/** Sums of a client and an agent stand behind that of the client, and become one of its counts. */
function* withAgents(sums: Iterable<Sum>): Generator<Sum> {
  let client: Sum | undefined
  for (const sum of sums) {
    const parts = partsOf(sum)
    if (client !== undefined && parts[0] === 'clients' && parts.length === 3) {
      const { agents } = CLIENT_COUNTS
      while (client.counts.length <= agents) client.counts.push(0)
      client.counts[agents]++
      continue
    }
    if (client !== undefined) yield client
    client = undefined
    if (parts[0] === 'clients') client = sum
    else yield sum
  }
  if (client !== undefined) yield client
}

function metricTable(metric: Metric, found: TopSums, time: (ms: number) => string): Table {
  const rest = (sum: Sum): readonly (string | number)[] => [sum.counts[0], ...times(sum, time)]
  const columns = [number('Events'), text('First'), text('Last')]
  const table = (heads: readonly TableColumn[], row: (sum: Sum) => readonly (string | number)[]): Table => ({
    title: metric,
    columns: heads,
    rows: found.sums().map(row),
    more: found.more,
  })
  switch (metric) {
    case 'events':
      return table([text('Channel'), text('EventID'), text('Provider'), ...columns], (sum) => {
        const [, channel, id, provider] = partsOf(sum)
        return [channel, id, provider, ...rest(sum)]
      })
    case 'clients':
      return table(
        [
          text('Client'),
          number('Requests'),
          number('4xx'),
          number('5xx'),
          number('Agents'),
          text('First'),
          text('Last'),
        ],
        (sum) => {
          const [, client] = partsOf(sum)
          const counts = [0, CLIENT_COUNTS.refused, CLIENT_COUNTS.failed, CLIENT_COUNTS.agents]
          return [client, ...counts.map((position) => sum.counts[position] ?? 0), ...times(sum, time)]
        },
      )
    default:
      return table([text(HEADS[metric]), ...columns], (sum) => [partsOf(sum)[1], ...rest(sum)])
  }
}

const HEADS = { hosts: 'Host', statuses: 'Status', agents: 'User-Agent', methods: 'Method' } as const

export async function logons(paths: readonly string[], flags: TableFlags): Promise<number> {
  const time = writeTime(flags)
  return await runTables(paths, flags, { kind: 'logons' }, undefined, (sums, top) => {
    const found = new TopSums(top)
    for (const sum of sums) found.add(sum)
    if (found.isEmpty) return []
    const { succeeded, failed } = LOGON_COUNTS
    return [
      {
        title: 'logons',
        columns: [
          text('User'),
          text('Host'),
          text('From'),
          text('Type'),
          number('Successes'),
          number('Failures'),
          text('First'),
          text('Last'),
        ],
        rows: found.sums().map((sum) => {
          const [, user, host, from, type] = partsOf(sum)
          return [user, host, from, type, sum.counts[succeeded] ?? 0, sum.counts[failed] ?? 0, ...times(sum, time)]
        }),
        more: found.more,
      },
    ]
  })
}

export async function pivot(paths: readonly string[], flags: TableFlags & RuleFlags): Promise<number> {
  const time = writeTime(flags)
  const least: Level = flags.minLevel ?? 'medium'
  const asked = readRuleFlags({ ...flags, minLevel: least })
  const chosen = chooseRules(asked.texts, asked.choice)
  if (chosen.set.rules.length === 0) throw new CommandError('there is no rule to hunt with')
  const task: JobTask = { kind: 'pivot', minLevel: least }
  const rules = { texts: asked.texts, choice: asked.choice }
  return await runTables(paths, flags, task, rules, (sums, top) => {
    const kept = new Map<string, TopSums>(PIVOTS.map((kind) => [kind, new TopSums(top)]))
    for (const sum of sums) kept.get(partsOf(sum)[0])?.add(sum)
    return PIVOTS.flatMap((kind): Table[] => {
      const found = kept.get(kind)
      if (found === undefined || found.isEmpty) return []
      const rows = found.sums().map((sum) => [partsOf(sum)[1], sum.counts[0], ...times(sum, time)])
      return [
        { title: kind, columns: [text('Value'), number('Hits'), text('First'), text('Last')], rows, more: found.more },
      ]
    })
  })
}

const BASE64_COLUMNS: readonly TableColumn[] = [
  'Timestamp',
  'Host',
  'Channel',
  'Field',
  'Form',
  'Decoded',
  'Encoded',
  'Source',
  'Record',
].map(text)

export async function base64(
  paths: readonly string[],
  flags: TableFlags & { readonly minLength?: number },
): Promise<number> {
  const time = writeTime(flags)
  const input = readInputFlags(flags, Date.now())
  const found = await openInput(paths, input.format)
  const rows = new ExternalSort<Row>(compareRows)
  try {
    const spec = jobOf({ kind: 'base64', minLength: flags.minLength ?? 24 }, found.sources, input, undefined)
    const result = await runJob(spec, {
      threads: input.threads,
      chosen: undefined,
      stdin: found.stdin,
      onBatch(batch) {
        for (const row of batch.rows) rows.add(row, 400)
      },
      onProgress: (bytes) => found.progress.add(bytes),
    })
    found.progress.clear()
    const format = flags.print ?? 'text'
    if (format === 'csv') await writeStandardOutput(csvLine(BASE64_COLUMNS.map(({ name }) => name)))
    for (const row of rows.sorted()) {
      const [channel, field, form, decoded, encoded] = row.cells.map(String)
      const record = Math.floor(row.record) + (result.linesBefore[row.source][row.piece] ?? 0)
      const stamp = row.ms === NO_TIME ? '' : time(row.ms, row.ticks)
      const cells = [stamp, row.host, channel, field, form, decoded, encoded, found.sources[row.source].path, record]
      await writeStandardOutput(
        format === 'text'
          ? `${stamp}  ${printable(row.host)}  ${printable(field)}  ${form}  ${printable(decoded)}\n`
          : format === 'csv'
            ? csvLine(cells.map(String))
            : `${JSON.stringify(Object.fromEntries(BASE64_COLUMNS.map(({ name }, index) => [name, cells[index]])))}\n`,
      )
    }
    for (const note of readingNotes(found, result.reports)) process.stderr.write(`  ${note}\n`)
    return lacksNamed(found) ? EXIT_ERROR : EXIT_OK
  } finally {
    rows.close()
  }
}

function jobOf(
  task: JobTask,
  sources: JobSpec['sources'],
  input: ReturnType<typeof readInputFlags>,
  rules: JobSpec['rules'],
): JobSpec {
  return { task, sources, scan: input.scan, filter: input.filter, rules }
}

function writeTime(flags: TimeFlags): (ms: number, ticks?: number) => string {
  const write = readTimeFlags(flags)
  return (ms, ticks = 0) => write({ ms, ticks } satisfies EventTime)
}

function partsOf({ key }: Sum): readonly string[] {
  return key.split(KEY_SEPARATOR)
}

function times({ first, last }: Sum, time: (ms: number) => string): readonly string[] {
  return first > last ? ['', ''] : [time(first), time(last)]
}

/** The sums with the largest counts, of equal ones those whose key comes first. */
class TopSums {
  readonly #limit: number
  #sums: Sum[]
  #seen: number

  constructor(limit: number) {
    this.#limit = limit
    this.#sums = []
    this.#seen = 0
  }

  add(sum: Sum): void {
    this.#seen++
    this.#sums.push(sum)
    if (this.#sums.length > this.#limit * 2 + 1_000) this.#sums = this.sums()
  }

  sums(): Sum[] {
    return this.#sums.toSorted((a, b) => b.counts[0] - a.counts[0] || compareSums(a, b)).slice(0, this.#limit)
  }

  get isEmpty(): boolean {
    return this.#seen === 0
  }

  get more(): number {
    return Math.max(0, this.#seen - this.#limit)
  }
}

async function runTables(
  paths: readonly string[],
  flags: TableFlags,
  task: JobTask,
  rules: JobSpec['rules'],
  tablesOf: (sums: Iterable<Sum>, top: number) => readonly Table[],
): Promise<number> {
  const input = readInputFlags(flags, Date.now())
  const found = await openInput(paths, input.format)
  const sums = new ExternalSort<Sum>(compareSums)
  try {
    const result = await runJob(jobOf(task, found.sources, input, rules), {
      threads: input.threads,
      chosen: undefined,
      stdin: found.stdin,
      onBatch(batch) {
        for (const sum of batch.sums) sums.add(sum, sum.key.length + 60)
      },
      onProgress: (bytes) => found.progress.add(bytes),
    })
    found.progress.clear()
    const format = flags.print ?? 'text'
    const top = flags.top ?? (format === 'text' ? DEFAULT_TOP : Number.MAX_SAFE_INTEGER)
    const tables = tablesOf(addUp(sums.sorted()), top)
    for (const table of tables) await writeStandardOutput(tableText(table, format))
    if (tables.length === 0) process.stderr.write('nothing to count\n')
    for (const note of readingNotes(found, result.reports)) process.stderr.write(`  ${note}\n`)
    return lacksNamed(found) ? EXIT_ERROR : EXIT_OK
  } finally {
    sums.close()
  }
}

function tableText(table: Table, format: TableFormat): string {
  const names = table.columns.map(({ name }) => name)
  switch (format) {
    case 'jsonl':
      return table.rows
        .map((row) => {
          const members = names.flatMap((name, index): [string, string | number][] =>
            row[index] === '' ? [] : [[name, row[index]]],
          )
          return `${JSON.stringify({ table: table.title, ...Object.fromEntries(members) })}\n`
        })
        .join('')
    case 'csv':
      return [['Table', ...names], ...table.rows.map((row) => [table.title, ...row.map(String)])].map(csvLine).join('')
    case 'text':
      return alignedText(table)
  }
}

const MAX_CELL_WIDTH = 70

function alignedText({ title, columns, rows, more }: Table): string {
  const style = stylesFor(process.stdout, process.env)
  const cells = rows.map((row) => row.map((cell) => shorten(printable(String(cell)))))
  const widths = columns.map(({ name }, index) => Math.max(name.length, ...cells.map((row) => row[index].length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => (columns[index].isNumber ? cell.padStart(widths[index]) : cell.padEnd(widths[index])))
      .join('  ')
      .trimEnd()
  const body = cells.map((row) => `${line(row)}\n`).join('')
  const rest = more > 0 ? `${style.dim(`... and ${more} more; --top shows them`)}\n` : ''
  return `${style.bold(title)}\n${style.dim(line(columns.map(({ name }) => name)))}\n${body}${rest}\n`
}

function shorten(cell: string): string {
  return cell.length > MAX_CELL_WIDTH ? `${cell.slice(0, MAX_CELL_WIDTH - 3)}...` : cell
}
