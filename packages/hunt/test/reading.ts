/** Files read whole, for tests: what events they have and what is reported. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { EventEntry, HuntEvent } from '../src/hunt-event.ts'
import { createScanner, piecesOf, type ScanOptions } from '../src/scan.ts'
import type { ScanReport } from '../src/scan-report.ts'
import { findSources, type SkippedSource } from '../src/sources.ts'

export interface ReadEvent {
  readonly path: string
  readonly time: string | undefined
  readonly host: string
  readonly channel: string
  readonly eventId: number | undefined
  readonly recordId: string | undefined
  readonly record: number
  readonly piece: number
  readonly sources: HuntEvent['sources']
  readonly entries: readonly EventEntry[]
  readonly text: string
  get(field: string): unknown
}

export interface Reading {
  readonly events: readonly ReadEvent[]
  /** By source. */
  readonly reports: readonly ScanReport[]
  readonly kinds: readonly string[]
  readonly skipped: readonly SkippedSource[]
}

export const PLAIN: ScanOptions = { checksums: 'check', recover: false, map: undefined, logsource: undefined }

/** Names of the fields whose values are kept. */
const KEPT = [
  'cs-method',
  'c-uri',
  'cs-uri-query',
  'cs-uri-stem',
  'c-ip',
  'cs-user-agent',
  'cs-referer',
  'cs-host',
  'sc-status',
  'sc-bytes',
  'cs-bytes',
  'time-taken',
  'cs-username',
  'cs-version',
  's-ip',
  's-port',
  'CommandLine',
  'Image',
  'User',
  'EventID',
  'Channel',
  'Computer',
  'Provider_Name',
  'TargetUserName',
  'ThreatName',
  'Data',
]

export class TestFolder {
  readonly path: string

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'prexy-hunt-test-'))
  }

  write(name: string, content: string | Uint8Array): string {
    const path = join(this.path, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    return path
  }

  close(): void {
    rmSync(this.path, { recursive: true })
  }
}

export async function readAll(
  paths: readonly string[],
  options: Partial<ScanOptions> & { readonly format?: string; readonly stdin?: AsyncIterable<Uint8Array> } = {},
): Promise<Reading> {
  const scan = { ...PLAIN, ...options }
  const { sources, skipped } = await findSources(paths, { format: options.format, onProgress() {} })
  const scanner = createScanner(sources, scan, { stdin: options.stdin, pause: () => undefined })
  const events: ReadEvent[] = []
  const reports: ScanReport[] = []
  for (const [index, source] of sources.entries()) {
    for (const task of piecesOf(source, index, scan)) {
      const report = await scanner.scan(task, (event, record) => {
        const values = new Map<string, unknown>(
          [...KEPT, ...event.entries().map(([name]) => name)].map((name) => [name, event.get(name)]),
        )
        events.push({
          path: source.path,
          time: event.time === undefined ? undefined : new Date(event.time).toISOString(),
          host: event.host,
          channel: event.channel,
          eventId: event.eventId,
          recordId: event.recordId,
          record,
          piece: task.piece,
          sources: event.sources,
          entries: event.entries(),
          text: event.text(),
          get: (field) => values.get(field),
        })
      })
      reports.push(report)
    }
  }
  return { events, reports, kinds: sources.map(({ format }) => format.kind), skipped }
}
