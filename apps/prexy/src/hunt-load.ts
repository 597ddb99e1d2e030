/** `prexy hunt load`: events of files put where query engines have them. */
import { ClickHouse, clickHouseSchema, ClickHouseSink, parseClickHouseUrl } from '@prexy/hunt/clickhouse'
import { loadEvents } from '@prexy/hunt/event-load'
import { ParquetSink } from '@prexy/hunt/event-parquet'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { withEngine } from './hunt-engine.ts'
import { count, lacksNamed, openInput, readingNotes } from './hunt-input.ts'
import type { InputFlags } from './hunt-flags.ts'
import { readInputFlags } from './hunt-options.ts'
import type { EngineFlags } from './hunt-timeline.ts'
import { writeStandardOutput } from './standard-output.ts'
import { printable } from './terminal.ts'

export interface LoadFlags extends InputFlags, EngineFlags {
  readonly output?: string
  readonly printSchema?: boolean
}

export async function load(paths: readonly string[], flags: LoadFlags): Promise<number> {
  return await withEngine(async () => {
    if (flags.printSchema === true) {
      const statements = clickHouseSchema(parseClickHouseUrl(engineOf(flags), process.env))
      await writeStandardOutput(statements.map((statement) => `${statement};\n`).join('\n'))
      return EXIT_OK
    }
    if (paths.length === 0) throw new CommandError('there is nothing to load; name files')
    const input = readInputFlags(flags, Date.now())
    const found = await openInput(paths, input.format)
    const loadedMs = Date.now()
    const { sink, target } = await openSink(flags, loadedMs)
    const reports = await loadEvents(
      {
        sources: found.sources,
        scan: input.scan,
        filter: input.filter,
        stdin: found.stdin,
        loadedMs,
        onProgress: (bytes) => found.progress.add(bytes),
      },
      sink,
    )
    found.progress.clear()
    const lines = [`${count(sink.rows, 'event')} loaded into ${printable(target)}`, ...readingNotes(found, reports)]
    await writeStandardOutput(`${lines.join('\n  ')}\n`)
    return lacksNamed(found) ? EXIT_ERROR : EXIT_OK
  })
}

function engineOf({ engine }: LoadFlags): string {
  if (engine !== undefined) return engine
  throw new CommandError('say where events go: --engine clickhouse://host/database, or -o FOLDER for Parquet files')
}

async function openSink(
  flags: LoadFlags,
  loadedMs: number,
): Promise<{ readonly sink: ClickHouseSink | ParquetSink; readonly target: string }> {
  const { output } = flags
  if (output !== undefined) {
    if (flags.engine !== undefined) throw new CommandError('events go to --engine or to -o, not to both')
    return { sink: new ParquetSink(output, loadedMs), target: output }
  }
  const server = new ClickHouse(parseClickHouseUrl(engineOf(flags), process.env), flags.engineTimeout)
  await server.createTable()
  return { sink: new ClickHouseSink(server), target: server.describe() }
}
