/**
 * ClickHouse over its HTTP interface, from 18.16 on: statements, rows in and rows out.
 *
 * The password is sent in a header and never stands in an address, a message or a log. An answer is asked for whole
 * (`wait_end_of_query`): a query that fails in the middle then has a status that says so, and not half of its rows.
 */
import { CLICKHOUSE, type SqlDialect } from '@prexy/sigma/sql-dialect'
import type { RowSink } from './event-load.ts'
import { STORED_COLUMNS, type StoredRow, type StoredType } from './event-store.ts'
import { type AnswerColumn, type AnswerRow, readRowBinary, RowBinaryWriter } from './row-binary.ts'
import { DEFAULT_ENGINE_TIMEOUT_SECONDS, EngineError } from './engine-error.ts'

export interface ClickHouseAddress {
  /** `http://host:port`. */
  readonly origin: string
  readonly user: string
  readonly password: string
  readonly database: string
  readonly table: string
  /** Of the shards that the table is spread over; undefined: one server. */
  readonly cluster: string | undefined
}

export const DEFAULT_TABLE = 'prexy_events'
/** What is read of a message of the server. Unit: characters. */
export const MAX_ENGINE_MESSAGE_CHARACTERS = 2_000

/**
 * Conditions of one query. Version 18 takes time in the square of their length to understand a query, 0.3 s for these; with
 * less, the events would be gone through more often. Unit: bytes.
 */
export const CLICKHOUSE_QUERY_BYTES = 12_000

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/**
 * Reads `clickhouse://[user[:password]@]host[:port][/database][?table=…&cluster=…&secure=true]`; user and password also
 * come from CLICKHOUSE_USER and CLICKHOUSE_PASSWORD. Throws an {@link EngineError} that does not repeat the password.
 */
export function parseClickHouseUrl(text: string, env: Readonly<Record<string, string | undefined>>): ClickHouseAddress {
  const form = 'write clickhouse://[user@]host[:port][/database][?table=NAME&cluster=NAME&secure=true]'
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new EngineError(`the address of the engine is no URL; ${form}`)
  }
  if (url.protocol !== 'clickhouse:' || url.hostname === '' || url.hash !== '') {
    throw new EngineError(`this is no address of a ClickHouse; ${form}`)
  }
  for (const name of url.searchParams.keys()) {
    if (!['table', 'cluster', 'secure'].includes(name))
      throw new EngineError(`?${name}: there is no such parameter; ${form}`)
  }
  const nameOf = (what: string, value: string): string => {
    if (NAME.test(value)) return value
    throw new EngineError(`the ${what} of the engine has letters, digits and _ only, and begins with no digit`)
  }
  const secure = url.searchParams.get('secure') ?? 'false'
  if (secure !== 'true' && secure !== 'false') throw new EngineError('?secure: write true or false')
  const cluster = url.searchParams.get('cluster')
  const port = url.port === '' ? (secure === 'true' ? '8443' : '8123') : url.port
  const database = url.pathname.replace(/^\//, '')
  return {
    origin: `${secure === 'true' ? 'https' : 'http'}://${url.hostname}:${port}`,
    user: url.username === '' ? (env['CLICKHOUSE_USER'] ?? 'default') : decoded(url.username),
    password: url.password === '' ? (env['CLICKHOUSE_PASSWORD'] ?? '') : decoded(url.password),
    database: database === '' ? 'default' : nameOf('database', database),
    table: nameOf('table', url.searchParams.get('table') ?? DEFAULT_TABLE),
    cluster: cluster === null ? undefined : nameOf('cluster', cluster),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new EngineError('user and password of the engine are percent-encoded, and this is not')
  }
}

/** The address for a person, without what is secret. */
export function describeClickHouse({ origin, database, table }: ClickHouseAddress): string {
  return `ClickHouse at ${origin}, ${database}.${table}`
}

const COLUMN_TYPES: Readonly<Record<StoredType, string>> = {
  double: 'Float64',
  integer: 'Int32',
  text: 'String',
  doubles: 'Array(Float64)',
  integers: 'Array(Int32)',
  texts: 'Array(String)',
}

/**
 * Statements that make the table. With a cluster there is a table of each shard's own, which is to be made on each of
 * them, and one that spreads over all.
 */
export function clickHouseSchema({ database, table, cluster }: ClickHouseAddress): readonly string[] {
  const columns = STORED_COLUMNS.map(([name, type]) => `  ${name} ${COLUMN_TYPES[type]}`).join(',\n')
  const own = cluster === undefined ? table : `${table}_local`
  const statements = [
    `CREATE TABLE IF NOT EXISTS ${database}.${own} (\n${columns}\n) ENGINE = MergeTree ORDER BY (time_ms, source, record)`,
  ]
  if (cluster !== undefined) {
    statements.push(
      `CREATE TABLE IF NOT EXISTS ${database}.${table} AS ${database}.${own} ENGINE = Distributed(${cluster}, ${database}, ${own}, rand())`,
    )
  }
  return statements
}

export class ClickHouse {
  readonly dialect: SqlDialect = CLICKHOUSE
  readonly table: string
  readonly queryBytes: number = CLICKHOUSE_QUERY_BYTES
  readonly #address: ClickHouseAddress
  readonly #timeoutSeconds: number

  constructor(address: ClickHouseAddress, timeoutSeconds: number = DEFAULT_ENGINE_TIMEOUT_SECONDS) {
    this.#address = address
    this.#timeoutSeconds = timeoutSeconds
    this.table = `${address.database}.${address.table}`
  }

  describe(): string {
    return describeClickHouse(this.#address)
  }

  /** Makes the tables that are not there. */
  async createTable(): Promise<void> {
    for (const statement of clickHouseSchema(this.#address)) await this.#send(statement, {}, undefined)
  }

  /** Rows in RowBinary; when it returns they are on their shards. */
  async insert(rows: Uint8Array<ArrayBuffer>): Promise<void> {
    const statement = `INSERT INTO ${this.table} (${STORED_COLUMNS.map(([name]) => name).join(', ')}) FORMAT RowBinary`
    await this.#send(statement, { insert_distributed_sync: '1' }, rows)
  }

  async *select(sql: string, columns: readonly AnswerColumn[]): AsyncGenerator<AnswerRow> {
    const response = await this.#send(`${sql}\nFORMAT RowBinary`, { wait_end_of_query: '1' }, undefined)
    if (response.body === null) return
    try {
      yield* readRowBinary(response.body, columns)
    } catch (error) {
      if (error instanceof EngineError) throw error
      throw new EngineError(`${this.describe()}: the answer cannot be read: ${this.#reason(error)}`)
    }
  }

  close(): void {}

  async #send(
    statement: string,
    settings: Readonly<Record<string, string>>,
    rows: Uint8Array<ArrayBuffer> | undefined,
  ): Promise<Response> {
    const { origin, user, password, database } = this.#address
    const url = new URL(origin)
    url.searchParams.set('database', database)
    url.searchParams.set('max_execution_time', String(this.#timeoutSeconds))
    for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value)
    if (rows !== undefined) url.searchParams.set('query', statement)
    let response: Response
    try {
      response = await fetch(url, {
        method: 'POST',
        body: rows ?? statement,
        headers: {
          authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
          // Between two batches the server may take an idle connection for a dead one, just when it is used again.
          connection: 'close',
        },
        // An engine that is somewhere else would get the password, too.
        redirect: 'error',
        signal: AbortSignal.timeout(this.#timeoutSeconds * 1_000),
      })
    } catch (error) {
      throw new EngineError(`${this.describe()}: ${this.#reason(error)}`)
    }
    if (response.ok) return response
    const text = (await response.text()).slice(0, MAX_ENGINE_MESSAGE_CHARACTERS)
    const code = Number(/^Code: (\d+)/.exec(text)?.[1] ?? NaN)
    throw new EngineError(
      `${this.describe()}: ${firstLine(text) || `status ${response.status}`}`,
      Number.isNaN(code) || FATAL_CODES.has(code) ? 'failed' : 'refused',
    )
  }

  #reason(error: unknown): string {
    if (error instanceof Error && error.name === 'TimeoutError') {
      return `no answer within ${this.#timeoutSeconds} s (--engine-timeout)`
    }
    const cause: unknown = error instanceof Error ? error.cause : undefined
    if (cause instanceof Error && cause.message !== '') return cause.message
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * What another query would not change: timeouts, quotas, read-only users, tables and databases that are not there,
 * shards out of reach, wrong passwords.
 */
const FATAL_CODES: ReadonlySet<number> = new Set([
  60, 81, 159, 160, 164, 192, 193, 194, 195, 201, 202, 209, 210, 279, 497, 516,
])

function firstLine(text: string): string {
  return text.split('\n', 1)[0].trim()
}

/** Rows are sent when they are this much, or at the end. Unit: bytes. */
export const INSERT_BYTES = 8_388_608

/** Loads rows into the table, in inserts of some size: each makes a part that the server has to merge. */
export class ClickHouseSink implements RowSink {
  readonly #server: ClickHouse
  readonly #full: Uint8Array<ArrayBuffer>[]
  readonly #writer: RowBinaryWriter
  rows: number

  constructor(server: ClickHouse) {
    this.#server = server
    this.#full = []
    this.#writer = new RowBinaryWriter()
    this.rows = 0
  }

  add(row: StoredRow): void {
    this.#writer.add(row)
    this.rows++
    if (this.#writer.bytes >= INSERT_BYTES) this.#full.push(this.#writer.take())
  }

  async flush(): Promise<void> {
    for (;;) {
      const next = this.#full.shift()
      if (next === undefined) return
      await this.#server.insert(next)
    }
  }

  async finish(): Promise<void> {
    if (this.#writer.bytes > 0) this.#full.push(this.#writer.take())
    await this.flush()
  }
}
