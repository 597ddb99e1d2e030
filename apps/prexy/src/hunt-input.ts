/** What the commands of `prexy hunt` read: sources found and told of, standard input, progress. */
import { removeSortFolders } from '@prexy/hunt/external-sort'
import { type FoundSources, findSources, sniffBytes, type SkippedSource } from '@prexy/hunt/sources'
import { SNIFF_BYTES } from '@prexy/hunt/sniff'
import type { HuntSource } from '@prexy/hunt/sources'
import type { ScanReport } from '@prexy/hunt/scan-report'
import { exitOnSignals } from './exit-on-signal.ts'
import { CommandError } from './exit-codes.ts'
import { createProgress, NO_PROGRESS, type Progress } from './progress.ts'
import { readStandardInput } from './standard-input.ts'
import { formatBytes, printable } from './terminal.ts'

export interface HuntInput {
  readonly sources: readonly HuntSource[]
  readonly skipped: readonly SkippedSource[]
  readonly stdin: AsyncIterable<Uint8Array> | undefined
  readonly progress: Progress
}

let isWatched = false

/** What was sorted on disk may be secret: it goes with the process, also when a signal ends it. */
function removeSortedAtExit(): void {
  if (isWatched) return
  isWatched = true
  process.once('exit', removeSortFolders)
  exitOnSignals()
}

/** Finds what is to be read. Throws when nothing is. */
export async function openInput(paths: readonly string[], format: string | undefined): Promise<HuntInput> {
  removeSortedAtExit()
  const hints = { format }
  const named = paths.filter((path) => path !== '-')
  const isShown = process.stderr.isTTY
  const found = await findSources(named, {
    ...hints,
    onProgress(files) {
      if (isShown && files % 50 === 0) process.stderr.write(`\r\u001b[K${files} files found`)
    },
  })
  if (isShown) process.stderr.write('\r\u001b[K')
  const skipped = [...found.skipped]
  const sources = [...found.sources]
  let stdin: AsyncIterable<Uint8Array> | undefined
  if (paths.includes('-')) {
    const opened = await openStandardInput(hints.format)
    if ('reason' in opened) skipped.push({ path: '-', reason: opened.reason, isNamed: true })
    else {
      sources.push(opened.source)
      stdin = opened.content
    }
  }
  if (sources.length === 0) throw new CommandError(nothingToRead({ sources, skipped }))
  const total = stdin === undefined ? sources.reduce((sum, { bytes }) => sum + bytes, 0) : undefined
  const progress = isShown ? createProgress(process.stderr, total, () => performance.now()) : NO_PROGRESS
  return { sources, skipped, stdin, progress }
}

function nothingToRead({ skipped }: FoundSources): string {
  const lines = skipped.slice(0, 10).map(({ path, reason }) => `${printable(nameOf(path))}: ${reason}`)
  const more = skipped.length > 10 ? [`and ${skipped.length - 10} more`] : []
  return ['there is nothing to read', ...lines, ...more].join('\n  ')
}

export function nameOf(path: string): string {
  return path === '-' ? 'standard input' : path
}

async function openStandardInput(
  format: string | undefined,
): Promise<{ readonly source: HuntSource; readonly content: AsyncIterable<Uint8Array> } | { readonly reason: string }> {
  const input = readStandardInput()[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  let bytes = 0
  let isWhole = false
  while (bytes < SNIFF_BYTES && !isWhole) {
    const next = await input.next()
    if (next.done === true) isWhole = true
    else {
      pieces.push(next.value.slice())
      bytes += next.value.length
    }
  }
  const first = Buffer.concat(pieces)
  const source = await sniffBytes('-', bytes, first.subarray(0, SNIFF_BYTES), isWhole, { format })
  if ('reason' in source) return source
  async function* content(): AsyncGenerator<Uint8Array> {
    yield first
    while (!isWhole) {
      const next = await input.next()
      if (next.done === true) return
      yield next.value
    }
  }
  return { source, content: content() }
}

/** Sources that were skipped or read in part, which a report shows with their reason. */
const MAX_SHOWN = 20

/** What was read and what was not, a line each. */
export function readingNotes(input: HuntInput, reports: readonly ScanReport[]): readonly string[] {
  const sum = (read: (report: ScanReport) => number): number => reports.reduce((total, one) => total + read(one), 0)
  const notes = [
    `${count(
      sum(({ events }) => events),
      'event',
    )} in ${count(input.sources.length, 'source')}, ${formatBytes(sum(({ bytes }) => bytes))}`,
  ]
  const filtered = sum((report) => report.filtered)
  if (filtered > 0) notes.push(`${count(filtered, 'event')} left out by the filters`)
  const recovered = sum((report) => report.recovered)
  if (recovered > 0) notes.push(`${count(recovered, 'record')} recovered from free space`)
  const unrouted = sum((report) => report.unrouted)
  if (unrouted > 0) {
    notes.push(
      `${count(unrouted, 'JSON record')} of no known log source, on which no rule was tried; say what they are with --logsource or --map`,
    )
  }
  const bad = sum((report) => report.badRecords)
  if (bad > 0) notes.push(`${count(bad, 'record')} could not be read`)
  const warnings = sum((report) => report.warnings)
  if (warnings > 0) notes.push(count(warnings, 'warning'))
  const problems = reports.flatMap((report) => report.problems)
  for (const { path, at, unit, reason, isLoss } of problems.slice(0, MAX_SHOWN)) {
    notes.push(`${printable(nameOf(path))}: ${unit} ${at}: ${isLoss ? '' : 'warning: '}${printable(reason)}`)
  }
  if (bad + warnings > Math.min(problems.length, MAX_SHOWN)) {
    notes.push(`... and ${bad + warnings - Math.min(problems.length, MAX_SHOWN)} more`)
  }
  if (input.skipped.length > 0) notes.push(`${count(input.skipped.length, 'file')} skipped`)
  for (const { path, reason } of input.skipped.slice(0, MAX_SHOWN)) {
    notes.push(`${printable(nameOf(path))}: skipped: ${printable(reason)}`)
  }
  if (input.skipped.length > MAX_SHOWN) notes.push(`... and ${input.skipped.length - MAX_SHOWN} more`)
  return notes
}

export function count(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? '' : 's'}`
}

/** Whether a file that was named itself could not be read. */
export function lacksNamed(input: HuntInput): boolean {
  return input.skipped.some(({ isNamed }) => isNamed)
}
