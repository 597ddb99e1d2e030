/** Sources read, one after the other, and their events given to a query engine or to files as rows. */
import { compileFilter, type EventFilter } from './event-filter.ts'
import { type StoredRow, storedRow } from './event-store.ts'
import { createScanner, piecesOf, type ScanOptions } from './scan.ts'
import { addReport, emptyReport, type ScanReport } from './scan-report.ts'
import type { HuntSource } from './sources.ts'

/** Takes rows. `add` keeps them, `flush` is called when there is time to wait, `finish` at the end. */
export interface RowSink {
  add(row: StoredRow): void
  flush(): Promise<void>
  finish(): Promise<void>
}

export interface LoadOptions {
  readonly sources: readonly HuntSource[]
  readonly scan: ScanOptions
  readonly filter: EventFilter
  readonly stdin: AsyncIterable<Uint8Array> | undefined
  /** When the load began: it is part of each row, and puts loads in order. */
  readonly loadedMs: number
  readonly onProgress: (bytes: number) => void
}

/**
 * Loads all sources; gives their reports. Rows wait in memory for a piece of a source at most, 4 MiB of text, or for a whole
 * EVTX file that is read with `recover`.
 */
export async function loadEvents(options: LoadOptions, sink: RowSink): Promise<readonly ScanReport[]> {
  const { sources, scan, loadedMs } = options
  const passes = compileFilter(options.filter)
  const scanner = createScanner(sources, scan, {
    stdin: options.stdin,
    async pause(bytes) {
      options.onProgress(bytes)
      await sink.flush()
    },
  })
  const reports: ScanReport[] = []
  for (const [index, source] of sources.entries()) {
    const total = emptyReport()
    for (const task of piecesOf(source, index, scan)) {
      // Of records in bytes the place is that in the file already.
      const before = source.format.kind === 'evtx' ? 0 : total.records
      const report = await scanner.scan(task, (event, record) => {
        if (passes !== undefined && !passes(event)) total.filtered++
        else sink.add(storedRow(event, { loadedMs, sourceNumber: index, source: source.path, record: before + record }))
      })
      addReport(total, report, before)
      options.onProgress(report.bytes)
      await sink.flush()
    }
    reports.push(total)
  }
  await sink.finish()
  return reports
}
