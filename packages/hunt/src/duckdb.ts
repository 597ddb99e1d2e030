/**
 * DuckDB over Parquet files that `prexy hunt load` wrote, in this process. The library is 70 MB and not among prexy's
 * dependencies: whoever hunts with it installs it beside prexy.
 */
import { readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { DUCKDB, type SqlDialect } from '@prexy/sigma/sql-dialect'
import { DEFAULT_ENGINE_TIMEOUT_SECONDS, EngineError } from './engine-error.ts'
import type { StoredValue } from './event-store.ts'
import type { AnswerColumn, AnswerRow } from './row-binary.ts'
import { reasonOf } from './sources.ts'
import type { EventStore } from './store-hunt.ts'

/** What DuckDB keeps in memory; what is more goes to the temporary directory. */
export const DUCKDB_MEMORY = '1GB'

/** Conditions of one query: DuckDB understands long ones as fast as short ones, and each goes through all files. Unit: bytes. */
export const DUCKDB_QUERY_BYTES = 240_000

/** What of `@duckdb/node-api` is used. */
interface DuckDbModule {
  readonly DuckDBInstance: {
    create(path: string, settings: Readonly<Record<string, string>>): Promise<DuckDbInstance>
  }
}

interface DuckDbInstance {
  connect(): Promise<DuckDbConnection>
  closeSync(): void
}

interface DuckDbConnection {
  stream(sql: string): Promise<{ yieldRowsJs(): AsyncIterable<readonly (readonly unknown[])[]> }>
  interrupt(): void
  closeSync(): void
}

const MODULE = '@duckdb/node-api'

/** Parquet files that are named, and those in folders that are. Throws an {@link EngineError} when there are none. */
export function findEventFiles(paths: readonly string[]): readonly string[] {
  const files = paths.flatMap((path) => {
    try {
      if (!statSync(path).isDirectory()) return [path]
      const names = readdirSync(path).filter((name) => name.endsWith('.parquet'))
      return names.sort().map((name) => join(path, name))
    } catch (error) {
      throw new EngineError(`${path}: ${reasonOf(error)}`)
    }
  })
  if (files.length === 0) throw new EngineError('there are no Parquet files; prexy hunt load -o FOLDER writes them')
  const pattern = files.find((file) => /[*?[]/.test(file))
  if (pattern !== undefined)
    throw new EngineError(`${pattern}: DuckDB takes *, ? and [ in a name for a pattern; rename it`)
  return files
}

/** `requireFrom`: a file from whose folder the library is looked for; default: prexy itself, and NODE_PATH. */
export async function openDuckDb(
  files: readonly string[],
  timeoutSeconds: number = DEFAULT_ENGINE_TIMEOUT_SECONDS,
  requireFrom: string = import.meta.url,
): Promise<EventStore> {
  const { DuckDBInstance } = loadModule(requireFrom)
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: DUCKDB_MEMORY,
    temp_directory: join(tmpdir(), `prexy-duckdb-${process.pid}`),
    threads: String(availableParallelism()),
    // Nothing is fetched from anywhere.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  const connection = await instance.connect()
  return new DuckDb(instance, connection, files, timeoutSeconds)
}

function loadModule(requireFrom: string): DuckDbModule {
  try {
    const load: (name: string) => DuckDbModule = createRequire(requireFrom)
    return load(MODULE)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND'
    const reason = isMissing ? `${MODULE} is not installed` : `${MODULE} cannot be loaded: ${reasonOf(error)}`
    throw new EngineError(
      `${reason}; install it beside prexy, or anywhere and say where with NODE_PATH: npm install ${MODULE}`,
    )
  }
}

class DuckDb implements EventStore {
  readonly dialect: SqlDialect = DUCKDB
  readonly table: string
  readonly queryBytes: number = DUCKDB_QUERY_BYTES
  readonly #instance: DuckDbInstance
  readonly #connection: DuckDbConnection
  readonly #files: number
  readonly #timeoutSeconds: number

  constructor(
    instance: DuckDbInstance,
    connection: DuckDbConnection,
    files: readonly string[],
    timeoutSeconds: number,
  ) {
    this.#instance = instance
    this.#connection = connection
    this.#files = files.length
    this.#timeoutSeconds = timeoutSeconds
    this.table = `read_parquet([${files.map((file) => DUCKDB.text(file)).join(', ')}])`
  }

  describe(): string {
    return `DuckDB, ${this.#files} Parquet file${this.#files === 1 ? '' : 's'}`
  }

  async *select(sql: string, columns: readonly AnswerColumn[]): AsyncGenerator<AnswerRow> {
    let isLate = false
    const clock = setTimeout(() => {
      isLate = true
      this.#connection.interrupt()
    }, this.#timeoutSeconds * 1_000)
    try {
      const result = await this.#connection.stream(sql)
      for await (const rows of result.yieldRowsJs()) {
        for (const row of rows) {
          yield Object.fromEntries(columns.map(([name], index) => [name, storedValue(row[index], name)]))
        }
      }
    } catch (error) {
      if (error instanceof EngineError) throw error
      if (isLate) throw new EngineError(`DuckDB: no answer within ${this.#timeoutSeconds} s (--engine-timeout)`)
      const message = reasonOf(error).split('\n', 1)[0]
      throw new EngineError(
        `DuckDB: ${message}`,
        /^(?:IO|Permission|Catalog) Error/.test(message) ? 'failed' : 'refused',
      )
    } finally {
      clearTimeout(clock)
    }
  }

  close(): void {
    this.#connection.closeSync()
    this.#instance.closeSync()
  }
}

function storedValue(value: unknown, name: string): StoredValue {
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value
    const scalars = list.map((one) => storedScalar(one, name))
    const numbers = scalars.filter((one) => typeof one === 'number')
    return numbers.length === scalars.length ? numbers : scalars.map(String)
  }
  return storedScalar(value, name)
}

function storedScalar(value: unknown, name: string): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value
  if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value)
  throw new EngineError(`the column "${name}" is not what prexy hunt load writes`)
}
