/** `prexy hunt --follow`: hits in logs and recordings that grow, as they come. */
import { compileFilter } from '@prexy/hunt/event-filter'
import { follow } from '@prexy/hunt/follow'
import type { HuntEvent } from '@prexy/hunt/hunt-event'
import { NO_TIME } from '@prexy/hunt/hunt-event'
import { cellText, csvLine, jsonObject } from '@prexy/hunt/row-text'
import type { ChosenRules } from '@prexy/hunt/rule-files'
import { type Cell, type Column, createRowMaker, isEventColumn, ruleCell } from '@prexy/hunt/timeline-row'
import type { Hit } from '@prexy/sigma/correlator'
import { Matcher } from '@prexy/sigma/matcher.hot'
import { CommandError, EXIT_OK } from './exit-codes.ts'
import { count } from './hunt-input.ts'
import { readInputFlags } from './hunt-options.ts'
import type { HuntFlags } from './hunt-timeline.ts'
import { writeStandardOutput } from './standard-output.ts'
import { printable, stylesFor } from './terminal.ts'

/** Ends with SIGINT and SIGTERM. Hits come in the order in which events are read, which is that of their times where one file is followed. */
export async function followHunt(
  paths: readonly string[],
  flags: HuntFlags,
  chosen: ChosenRules,
  columns: readonly Column[],
  writeTime: (time: { readonly ms: number; readonly ticks: number }) => string,
): Promise<number> {
  if (flags.output !== undefined)
    throw new CommandError('--follow prints; -o is for hunts that end. Use --print csv > file')
  if (paths.includes('-')) throw new CommandError('--follow is for files; standard input is read as it comes anyway')
  const format = flags.print ?? 'text'
  if (format === 'json' || format === 'html')
    throw new CommandError(`--print ${format} has an end; use jsonl with --follow`)
  const input = readInputFlags(flags, Date.now())
  const passes = compileFilter(input.filter)
  const matcher = new Matcher(chosen.set)
  const maker = createRowMaker(columns, new Map())
  const style = stylesFor(process.stdout, process.env)
  let lines: string[] = format === 'csv' ? [csvLine(columns)] : []
  let hits = 0
  let events = 0
  let isTold = false
  let shown: { readonly event: HuntEvent; readonly record: number; readonly path: string } | undefined
  const cellsOf = ({ rule, correlation }: Hit): readonly Cell[] => {
    const own = shown === undefined ? [] : maker.cells(shown.event, rule)
    let at = 0
    return columns.map((column): Cell => {
      const cell = isEventColumn(column) ? (own[at++] ?? '') : ''
      if (correlation !== undefined && column === 'Details') {
        return [
          ...correlation.groupBy.map((name, index): [string, string] => [name, correlation.group[index]]),
          ['Value', correlation.value],
        ]
      }
      if (isEventColumn(column)) return cell
      if (column === 'Timestamp') {
        const ms = shown?.event.time ?? correlation?.to ?? NO_TIME
        return ms === NO_TIME ? '' : writeTime({ ms, ticks: shown?.event.ticks ?? 0 })
      }
      if (column === 'Source') return shown?.path ?? ''
      if (column === 'Record') return shown === undefined ? '' : String(Math.floor(shown.record))
      return ruleCell(column, rule, chosen.reported.get(rule))
    })
  }
  const report = (hit: Hit): void => {
    if (!chosen.reported.has(hit.rule)) return
    hits++
    const cells = cellsOf(hit)
    if (format === 'csv') lines.push(csvLine(cells.map(cellText)))
    else if (format === 'jsonl') lines.push(`${JSON.stringify(jsonObject(columns, cells))}\n`)
    else {
      const named = new Map(columns.map((column, index) => [column, cellText(cells[index])]))
      const level = chosen.reported.get(hit.rule) ?? 'none'
      const parts = [
        style.dim(named.get('Timestamp') ?? ''),
        level.padEnd(8),
        style.bold(printable(hit.rule.title)),
        printable(named.get('Host') ?? ''),
        printable(named.get('Details') ?? named.get('AllFields') ?? ''),
      ]
      lines.push(`${parts.filter((part) => part !== '').join('  ')}\n`)
    }
  }
  const flush = async (): Promise<void> => {
    if (lines.length === 0) return
    const text = lines.join('')
    lines = []
    await writeStandardOutput(text)
  }
  const controller = new AbortController()
  const stop = (): void => controller.abort()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  const read = await follow(paths, {
    format: input.format,
    scan: input.scan,
    signal: controller.signal,
    onSkip: (path, reason) => process.stderr.write(`${printable(path)}: not followed: ${printable(reason)}\n`),
    visit(event, record, path) {
      if (passes !== undefined && !passes(event)) return
      events++
      shown = { event, record, path }
      matcher.match(event, report)
      shown = undefined
    },
    async onTick() {
      if (!isTold) {
        // Whoever hears it may append: what was there is behind us.
        process.stderr.write(
          `following ${paths.map(printable).join(', ')} with ${count(chosen.set.rules.length, 'rule')}\n`,
        )
        isTold = true
      }
      matcher.advance(Date.now(), report)
      await flush()
    },
  })
  matcher.finish(report)
  await flush()
  process.removeListener('SIGINT', stop)
  process.removeListener('SIGTERM', stop)
  process.stderr.write(
    `${count(hits, 'hit')} in ${count(events, 'event')}, ${count(read.badRecords, 'record')} not read\n`,
  )
  return EXIT_OK
}
