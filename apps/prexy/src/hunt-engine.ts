/** `prexy hunt --engine`: rules over events that lie in a query engine. */
import { ClickHouse, parseClickHouseUrl } from '@prexy/hunt/clickhouse'
import { findEventFiles, openDuckDb } from '@prexy/hunt/duckdb'
import { EngineError } from '@prexy/hunt/engine-error'
import { type EventStore, huntInStore, type OwnRule, type StoreHunt } from '@prexy/hunt/store-hunt'
import type { Expression } from '@prexy/sigma/expression'
import { CommandError } from './exit-codes.ts'
import { count } from './hunt-input.ts'
import type { HuntReading } from './hunt-timeline.ts'
import { printable } from './terminal.ts'

export interface EngineTask {
  readonly address: string
  readonly timeout: number | undefined
  /** What the detectors of the rules ask. */
  readonly expressions: readonly Expression[]
}

/** Rules that ran here, which a summary names. */
const MAX_SHOWN_RULES = 10

export async function readEngine(
  paths: readonly string[],
  { address, timeout }: EngineTask,
  hunt: StoreHunt,
): Promise<HuntReading> {
  return await withEngine(async () => {
    const store = await openStore(address, paths, timeout)
    try {
      const result = await huntInStore(store, hunt)
      const events = result.sources.reduce((sum, source) => sum + source.events, 0)
      return {
        paths: result.sources.map(({ path }) => path),
        linesBefore: [],
        notes: [
          `${count(events, 'event')} of ${count(result.sources.length, 'source')} in ${store.describe()}`,
          `${count(result.compiled, 'rule')} ran there, in ${count(result.queries, 'statement')}`,
          ...ownRules(result.own),
        ],
        isIncomplete: false,
      }
    } finally {
      store.close()
    }
  })
}

async function openStore(address: string, paths: readonly string[], timeout: number | undefined): Promise<EventStore> {
  if (address === 'duckdb') {
    if (paths.length === 0)
      throw new CommandError('--engine duckdb: name the Parquet files that prexy hunt load -o wrote')
    return await openDuckDb(findEventFiles(paths), timeout)
  }
  if (paths.length > 0) {
    throw new CommandError('with --engine the events are those that lie there; put files there with prexy hunt load')
  }
  return new ClickHouse(parseClickHouseUrl(address, process.env), timeout)
}

function ownRules(own: readonly OwnRule[]): readonly string[] {
  if (own.length === 0) return []
  const shown = own.slice(0, MAX_SHOWN_RULES).map(({ rule, reason }) => {
    const place = rule === undefined ? '' : `${rule.file}:${rule.line}: ${rule.title}: `
    return `  ${printable(place + reason)}`
  })
  const more = own.length - shown.length
  return [
    `${count(own.length, 'rule')} ran here, over the same events:`,
    ...shown,
    ...(more > 0 ? [`  ... and ${more} more`] : []),
  ]
}

/** Faults of an engine, as those of the command. */
export async function withEngine<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof EngineError) throw new CommandError(`--engine: ${printable(error.message)}`)
    throw error
  }
}
