/** What `prexy record` does. */
import { createWriteStream } from 'node:fs'
import { chmod, open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { finished } from 'node:stream/promises'
import type { RecordedEvent } from '@prexy/events/recorded-event'
import { toWire } from '@prexy/events/recorded-wire'
import { Redactor } from '@prexy/events/redact'
import { Encoder } from '@prexy/msgpack/encode'
import { curlCommand } from '@prexy/record/curl'
import { eventToJson } from '@prexy/record/event-json'
import { fromHar, harFrame, MAX_HAR_BYTES, toHarEntry } from '@prexy/record/har'
import { MAX_ROWS_PER_FILE, ParquetRows } from '@prexy/record/parquet'
import { newRun } from '@prexy/record/recorder'
import { pruneRecordings, type Retention } from '@prexy/record/retention'
import { readEvents, type SegmentSummary } from '@prexy/record/segment-reader'
import { makeDirectory, SegmentWriter } from '@prexy/record/segment-writer'
import { newSession, readSessions, removeSession, type Session, writeSession } from '@prexy/record/sessions'
import { CommandError, EXIT_OK } from './exit-codes.ts'
import { eventDetail, eventLine } from './record-print.ts'
import { asCommandError, namedEvent, openPath, selectEvents } from './record-select.ts'
import type { SelectFlags } from './record-words.ts'
import { writeStandardOutput } from './standard-output.ts'
import { formatBytes, printable, stylesFor } from './terminal.ts'
import { VERSION } from './version.ts'

interface SessionRow {
  readonly id: string
  readonly name: string
  readonly startedAtMs: number
  readonly endedAtMs: number | undefined
  readonly tags: readonly string[]
  readonly notes: Session['notes']
  readonly segments: number
  readonly events: number
  readonly bytes: number
  /** Segments that no index ends. */
  readonly open: number
}

export async function listSessions(path: string, json: boolean): Promise<number> {
  const { segments, sessions } = await openPath(path, undefined)
  const rows = rowsOf(segments, sessions)
  if (json) {
    await writeStandardOutput(`${rows.map((row) => `${JSON.stringify(row)}\n`).join('')}`)
    return EXIT_OK
  }
  const style = stylesFor(process.stdout, process.env)
  if (rows.length === 0) await writeStandardOutput(`nothing is recorded in ${path}\n`)
  for (const row of rows) {
    const tags = row.tags.map((tag) => ` #${tag}`).join('')
    const time = new Date(row.startedAtMs).toISOString().slice(0, 19).replace('T', ' ')
    const state = row.endedAtMs !== undefined ? '' : row.open > 0 ? ', going on or killed' : ', not ended'
    const files = `${row.segments} file${row.segments === 1 ? '' : 's'}`
    await writeStandardOutput(
      `${style.bold(printable(row.name))}${style.cyan(printable(tags))} ${style.dim(row.id)}\n` +
        `  ${time}, ${row.events === 1 ? '1 event' : `${row.events} events`}, ${formatBytes(row.bytes)} in ${files}${state}\n` +
        row.notes.map(({ text }) => `  ${printable(text)}\n`).join(''),
    )
  }
  return EXIT_OK
}

function rowsOf(segments: readonly SegmentSummary[], sessions: readonly Session[]): readonly SessionRow[] {
  const ids = [...new Set([...sessions.map(({ id }) => id), ...segments.map(({ header }) => header.session)])]
  const rows = ids.map((id): SessionRow => {
    const own = segments.filter(({ header }) => header.session === id)
    const session = sessions.find((one) => one.id === id)
    return {
      id,
      name: session?.name ?? id,
      startedAtMs: session?.startedAtMs ?? Math.min(...own.map(({ header }) => header.createdAtMs)),
      endedAtMs: session?.endedAtMs,
      tags: session?.tags ?? [],
      notes: session?.notes ?? [],
      segments: own.length,
      events: own.flatMap(({ entries }) => entries).reduce((sum, { count }) => sum + count, 0),
      bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
      open: own.filter(({ isSealed }) => !isSealed).length,
    }
  })
  return rows.sort((a, b) => a.startedAtMs - b.startedAtMs)
}

export async function showEvents(path: string, flags: SelectFlags & { readonly json?: boolean }): Promise<number> {
  const style = stylesFor(process.stdout, process.env)
  for await (const event of selectEvents(path, flags)) {
    const line = flags.json === true ? JSON.stringify(eventToJson(event)) : eventLine(event, style)
    await writeStandardOutput(`${line}\n`)
  }
  return EXIT_OK
}

export async function showEvent(
  path: string,
  name: string,
  flags: { readonly json?: boolean; readonly curl?: boolean; readonly secrets?: boolean },
): Promise<number> {
  const event = await namedEvent(path, name, flags.secrets === true)
  if (flags.curl === true) {
    if (event.kind !== 'exchange' && event.kind !== 'websocket') throw new CommandError(`${name} is no request`)
    const { command, notes } = curlCommand(event)
    for (const note of notes) process.stderr.write(`prexy: ${note}\n`)
    await writeStandardOutput(`${command}\n`)
    return EXIT_OK
  }
  const style = stylesFor(process.stdout, process.env)
  const text = flags.json === true ? `${JSON.stringify(eventToJson(event), undefined, 2)}\n` : eventDetail(event, style)
  await writeStandardOutput(text)
  return EXIT_OK
}

export type ExportFormat = 'jsonl' | 'json' | 'har'

export interface ExportFlags extends SelectFlags {
  readonly format: ExportFormat
  readonly output?: string
  readonly force?: boolean
}

export async function exportEvents(path: string, flags: ExportFlags): Promise<number> {
  const { format, output, force = false } = flags
  const pieces = exportPieces(selectEvents(path, flags), format)
  if (output === undefined) {
    for await (const piece of pieces) await writeStandardOutput(piece)
    return EXIT_OK
  }
  const file = createWriteStream(output, { flags: force ? 'w' : 'wx', mode: 0o600 })
  const written = finished(file)
  // Told below, when nothing is left to write.
  written.catch(() => {})
  try {
    for await (const piece of pieces) if (!file.write(piece)) await drained(file, written)
    file.end()
    await written
  } catch (error) {
    file.destroy()
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw new CommandError(`-o ${output}: it exists already; --force overwrites it`)
    }
    throw asCommandError(error)
  }
  return EXIT_OK
}

async function drained(file: NodeJS.WritableStream, written: Promise<void>): Promise<void> {
  await Promise.race([new Promise<void>((resolve) => file.once('drain', () => resolve())), written])
}

async function* exportPieces(
  events: AsyncIterable<RecordedEvent>,
  format: ExportFormat,
): AsyncGenerator<string, void, undefined> {
  const [head, tail] = format === 'har' ? harFrame(VERSION) : format === 'json' ? ['[', ']\n'] : ['', '']
  let separator = ''
  yield head
  for await (const event of events) {
    if (format === 'har' && (event.kind === 'gap' || event.kind === 'application')) continue
    const value =
      event.kind === 'gap' || event.kind === 'application' || format !== 'har' ? eventToJson(event) : toHarEntry(event)
    yield `${separator}${JSON.stringify(value)}${format === 'jsonl' ? '\n' : ''}`
    separator = format === 'jsonl' ? '' : ',\n'
  }
  yield tail
}

/** Adds the entries of HAR files to a directory, each file as a session of its own. */
export async function importFiles(
  files: readonly string[],
  directory: string,
  flags: { readonly tag?: readonly string[]; readonly secrets?: boolean },
): Promise<number> {
  try {
    await makeDirectory(directory, (text) => process.stderr.write(`prexy: ${text}\n`))
    for (const file of files) await importFile(file, directory, flags)
  } catch (error) {
    throw asCommandError(error)
  }
  return EXIT_OK
}

async function importFile(
  file: string,
  directory: string,
  flags: { readonly tag?: readonly string[]; readonly secrets?: boolean },
): Promise<void> {
  const { size } = await stat(file)
  if (size > MAX_HAR_BYTES) throw new CommandError(`${file} has more than ${formatBytes(MAX_HAR_BYTES)}`)
  const run = newRun()
  const { events, problems } = fromHar(await readFile(file, 'utf8'), run)
  for (const problem of problems) process.stderr.write(`prexy: ${file}: ${problem}\n`)
  if (events.length === 0) throw new CommandError(`${file}: nothing was imported`)
  const session = newSession(basename(file), flags.tag ?? [], Date.now())
  const redactor = flags.secrets === true ? undefined : new Redactor()
  const encoder = new Encoder({ ignoreUndefined: true })
  let stopped: string | undefined
  const writer = new SegmentWriter({
    directory,
    run,
    session: session.id,
    retention: { maxAgeMs: Number.POSITIVE_INFINITY, maxTotalBytes: Number.POSITIVE_INFINITY },
    onStopped: (reason) => {
      stopped = reason
    },
    onWarning: (text) => process.stderr.write(`prexy: ${text}\n`),
  })
  let count = 0
  for (const event of events) {
    const octets = encoder.encodeSharedRef(toWire(redactor === undefined ? event : redactor.exchange(event)))
    if (!writer.add(octets, event.sequence, event.startedAtMs)) {
      await writer.sync()
      if (!writer.add(octets, event.sequence, event.startedAtMs)) break
    }
    count++
  }
  await writer.stop()
  if (stopped !== undefined) throw new CommandError(stopped)
  await writeSession(directory, { ...session, endedAtMs: Date.now() })
  process.stderr.write(`prexy: ${file}: ${count} exchanges, session ${session.id}\n`)
}

/** Writes sealed segments as Parquet beside them; with `remove`, these take their place. */
export async function compactRecordings(directory: string, remove: boolean): Promise<number> {
  const { segments } = await openPath(directory, undefined)
  for (const segment of segments) {
    if (!segment.isSealed) {
      process.stderr.write(`prexy: ${segment.name} is not sealed and stays as it is\n`)
      continue
    }
    const written = await compactSegment(directory, segment)
    if (remove) await unlink(segment.path)
    await writeStandardOutput(`${segment.name} -> ${written.length === 0 ? 'no exchanges' : written.join(' ')}\n`)
  }
  return EXIT_OK
}

async function compactSegment(directory: string, segment: SegmentSummary): Promise<readonly string[]> {
  const rows = new ParquetRows()
  const written: string[] = []
  const stem = basename(segment.name, '.prexyrec')
  const write = async (): Promise<void> => {
    if (rows.rows === 0) return
    const name = `${stem}${written.length === 0 ? '' : `-${written.length + 1}`}.parquet`
    await writeWhole(join(directory, name), rows.take())
    written.push(name)
  }
  for await (const read of readEvents(segment)) {
    if (read.kind === 'damage')
      throw new CommandError(`${segment.path} is damaged at byte ${read.offset} and stays as it is`)
    rows.add(read.event)
    if (rows.rows >= MAX_ROWS_PER_FILE) await write()
  }
  await write()
  return written
}

/** Under its name only once it is whole and on the disk. */
async function writeWhole(path: string, octets: Uint8Array): Promise<void> {
  const fresh = `${path}.new`
  const handle = await open(fresh, 'w', 0o600)
  try {
    await handle.writeFile(octets)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await chmod(fresh, 0o600)
  await rename(fresh, path)
}

export async function pruneDirectory(
  directory: string,
  retention: Partial<Retention>,
  dryRun: boolean,
): Promise<number> {
  try {
    const pruned = await pruneRecordings(directory, retention, { dryRun })
    const bytes = pruned.reduce((sum, one) => sum + one.bytes, 0)
    for (const { name, why } of pruned) await writeStandardOutput(`${name} ${why === 'age' ? 'too old' : 'too much'}\n`)
    await writeStandardOutput(`${pruned.length} files, ${formatBytes(bytes)}${dryRun ? ' would be' : ''} removed\n`)
    if (!dryRun) await removeEmptySessions(directory)
  } catch (error) {
    throw asCommandError(error)
  }
  return EXIT_OK
}

/** Sessions that ended and have no segment any more. */
async function removeEmptySessions(directory: string): Promise<void> {
  const { segments, sessions } = await openPath(directory, undefined)
  const used = new Set(segments.map(({ header }) => header.session))
  for (const { id, endedAtMs } of sessions)
    if (endedAtMs !== undefined && !used.has(id)) await removeSession(directory, id)
}

/** Adds to what is known of a session. */
export async function annotateSession(
  directory: string,
  id: string,
  flags: { readonly name?: string; readonly tag?: readonly string[]; readonly note?: string },
): Promise<number> {
  try {
    const session = (await readSessions(directory)).find((one) => one.id === id || one.name === id)
    if (session === undefined)
      throw new CommandError(`${directory} has no session ${id}; prexy record ls ${directory} lists them`)
    const { name = session.name, tag = [], note } = flags
    await writeSession(directory, {
      ...session,
      name,
      tags: [...new Set([...session.tags, ...tag])],
      notes: note === undefined ? session.notes : [...session.notes, { atMs: Date.now(), text: note }],
    })
  } catch (error) {
    throw asCommandError(error)
  }
  return EXIT_OK
}
