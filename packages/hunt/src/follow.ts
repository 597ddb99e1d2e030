/**
 * Logs and recordings that grow, read as they do: from where they end when following begins, and files that appear later
 * from their begin. Files are looked at again and again, which works on every file system; a file that was cut off or
 * replaced, as rotation does, is read from its begin.
 */
import { closeSync, openSync, readdirSync, readSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { consumerOf, type Consumer, type EventVisitor, type ScanOptions } from './scan.ts'
import { emptyReport, type ScanReport } from './scan-report.ts'
import { findSources, type HuntSource, MAX_DIRECTORY_DEPTH } from './sources.ts'

/** How often files are looked at. */
export const FOLLOW_POLL_MS = 250

/** Read of one file at one time, so that no file keeps the others waiting. Unit: bytes. */
const MAX_READ_BYTES = 4_194_304

export interface FollowOptions {
  readonly format: string | undefined
  readonly scan: ScanOptions
  /** Gets the events of all files as they come; the path is that of the file. */
  readonly visit: (event: Parameters<EventVisitor>[0], record: number, path: string) => void
  /** Called behind each look at the files. */
  readonly onTick: () => Promise<void> | void
  /** A file that is not followed, once. */
  readonly onSkip: (path: string, reason: string) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

interface Followed {
  readonly source: HuntSource
  readonly inode: number
  consumer: Consumer
  /** What was read. */
  offset: number
  /** Events before this place were there before; they are read only for what they say about the next ones. */
  readonly silentUntil: number
}

/** Runs until the signal; returns what was read and what could not be. */
export async function follow(paths: readonly string[], options: FollowOptions): Promise<ScanReport> {
  const report = emptyReport()
  const followed = new Map<string, Followed>()
  /** Sizes of files that are nothing yet: a file is looked at again when it has grown. */
  const refused = new Map<string, number>()
  let isFirst = true
  while (!options.signal.aborted) {
    for (const path of paths.flatMap((named) => filesBelow(named, 0))) {
      const stats = statOf(path)
      if (stats === undefined) continue
      let file = followed.get(path)
      if (file !== undefined && (file.inode !== stats.ino || stats.size < file.offset)) {
        file.consumer.end()
        followed.delete(path)
        file = undefined
      }
      if (file === undefined && stats.size > 0 && refused.get(path) !== stats.size) {
        file = await begin(path, stats, isFirst, options, report)
        if (file === undefined) refused.set(path, stats.size)
        else followed.set(path, file)
      }
      if (file !== undefined && stats.size > file.offset) readMore(file, stats.size, report)
    }
    isFirst = false
    await options.onTick()
    await pause(options.signal)
  }
  for (const { consumer } of followed.values()) consumer.end()
  return report
}

async function begin(
  path: string,
  stats: Stats,
  isFirst: boolean,
  options: FollowOptions,
  report: ScanReport,
): Promise<Followed | undefined> {
  const { sources, skipped } = await findSources([path], { format: options.format, onProgress() {} })
  const [source] = sources
  const reason =
    skipped[0]?.reason ??
    (source.coding !== undefined
      ? 'a compressed file cannot be followed'
      : source.format.kind === 'evtx' || source.encoding !== 'utf-8'
        ? 'Windows event logs and UTF-16 cannot be followed'
        : undefined)
  if (reason !== undefined) {
    if (stats.size > 0 && !isFirst) return undefined
    options.onSkip(path, reason)
    return undefined
  }
  const { kind } = source.format
  // What stands at the begin of these says how to read the rest.
  const needsBegin = kind === 'w3c' || kind === 'recording' || kind === 'json'
  const silentUntil = isFirst ? stats.size : 0
  const file: Followed = {
    source,
    inode: stats.ino,
    offset: needsBegin ? 0 : silentUntil,
    silentUntil,
    consumer: NO_CONSUMER,
  }
  file.consumer = consumerOf(
    source,
    options.scan,
    (event, record) => {
      if (file.offset >= file.silentUntil) options.visit(event, record, path)
    },
    report,
  )
  return file
}

const NO_CONSUMER: Consumer = { write() {}, end() {} }

function readMore(file: Followed, size: number, report: ScanReport): void {
  let handle: number
  try {
    handle = openSync(file.source.path, 'r')
  } catch {
    // It went away between two looks; the next one will tell.
    return
  }
  try {
    const end = Math.min(size, Math.max(file.offset, file.silentUntil) + MAX_READ_BYTES)
    const buffer = Buffer.allocUnsafe(Math.min(MAX_READ_BYTES, end - file.offset))
    while (file.offset < end) {
      // What was there before ends exactly where the silence does.
      const until = file.offset < file.silentUntil ? Math.min(end, file.silentUntil) : end
      const read = readSync(handle, buffer, 0, Math.min(buffer.length, until - file.offset), file.offset)
      if (read === 0) return
      const isSilent = file.offset < file.silentUntil
      file.consumer.write(buffer.subarray(0, read))
      file.offset += read
      if (!isSilent) report.bytes += read
    }
  } finally {
    closeSync(handle)
  }
}

function filesBelow(path: string, depth: number): readonly string[] {
  const stats = statOf(path)
  if (stats === undefined || depth > MAX_DIRECTORY_DEPTH) return []
  if (!stats.isDirectory()) return stats.isFile() ? [path] : []
  try {
    return readdirSync(path, { withFileTypes: true })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const inside = join(path, entry.name)
        return entry.isDirectory() ? filesBelow(inside, depth + 1) : entry.isFile() ? [inside] : []
      })
  } catch {
    // A directory that went away.
    return []
  }
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, FOLLOW_POLL_MS)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
