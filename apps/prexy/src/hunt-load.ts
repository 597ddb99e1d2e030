/** `prexy hunt load`: events of files put where query engines have them. */
import { ClickHouse, clickHouseSchema, ClickHouseSink, parseClickHouseUrl } from '@prexy/hunt/clickhouse'
import { loadEvents } from '@prexy/hunt/event-load'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { withEngine } from './hunt-engine.ts'
import { count, lacksNamed, openInput, readingNotes } from './hunt-input.ts'
import type { InputFlags } from './hunt-flags.ts'
import { readInputFlags } from './hunt-options.ts'
import { writeStandardOutput } from './standard-output.ts'
import type { EngineFlags } from './hunt-timeline.ts'

export interface LoadFlags extends InputFlags, EngineFlags {
  readonly printSchema?: boolean
}

export async function load(paths: readonly string[], flags: LoadFlags): Promise<number> {
  const { engine } = flags
  if (engine === undefined) throw new CommandError('say where events go: --engine clickhouse://host/database')
  return await withEngine(async () => {
    const address = parseClickHouseUrl(engine, process.env)
    if (flags.printSchema === true) {
      await writeStandardOutput(
        clickHouseSchema(address)
          .map((statement) => `${statement};\n`)
          .join('\n'),
      )
      return EXIT_OK
    }
    if (paths.length === 0) throw new CommandError('there is nothing to load; name files')
    const input = readInputFlags(flags, Date.now())
    const found = await openInput(paths, input.format)
    const server = new ClickHouse(address, flags.engineTimeout)
    await server.createTable()
    const sink = new ClickHouseSink(server)
    const reports = await loadEvents(
      {
        sources: found.sources,
        scan: input.scan,
        filter: input.filter,
        stdin: found.stdin,
        loadedMs: Date.now(),
        onProgress: (bytes) => found.progress.add(bytes),
      },
      sink,
    )
    found.progress.clear()
    const lines = [`${count(sink.rows, 'event')} loaded into ${server.describe()}`, ...readingNotes(found, reports)]
    await writeStandardOutput(`${lines.join('\n  ')}\n`)
    return lacksNamed(found) ? EXIT_ERROR : EXIT_OK
  })
}
