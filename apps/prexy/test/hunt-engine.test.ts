/** `prexy hunt load` and `prexy hunt --engine` as a person runs them. What engines find is compared in packages/hunt. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { runPrexy } from './run-prexy.ts'

// Processes of their own, on a machine that does other things.
vi.setConfig({ testTimeout: 120_000 })

const folder = mkdtempSync(join(tmpdir(), 'prexy-hunt-engine-'))
afterAll(() => rmSync(folder, { recursive: true }))

const log = join(folder, 'access.log')
writeFileSync(
  log,
  '203.0.113.9 - - [30/Nov/2026:12:00:03 +0000] "GET /.git/config HTTP/1.1" 200 162 "-" "sqlmap/1.7"\n' +
    '203.0.113.9 - - [30/Nov/2026:12:00:01 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla/5.0"\nrubbish\n',
)

interface Asked {
  readonly statement: string
  readonly authorization: string | undefined
  readonly bytes: number
}

/** A server that takes every statement and has no rows. */
async function withServer(run: (port: number, asked: readonly Asked[]) => Promise<void>): Promise<void> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.once('end', () => {
      const body = Buffer.concat(pieces)
      const query = new URL(request.url ?? '', 'http://localhost').searchParams.get('query')
      asked.push({
        statement: query ?? body.toString(),
        authorization: request.headers.authorization,
        bytes: query === null ? 0 : body.length,
      })
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const address = server.address()
  try {
    await run(typeof address === 'object' && address !== null ? address.port : 0, asked)
  } finally {
    server.close()
  }
}

describe('ClickHouse', () => {
  test('is given a table and rows, with what the environment says of the user', async () => {
    await withServer(async (port, asked) => {
      const env = { CLICKHOUSE_USER: 'eve', CLICKHOUSE_PASSWORD: 'top:secret' }
      const address = `clickhouse://127.0.0.1:${port}/logs?table=t`
      const { code, stdout, stderr } = await runPrexy(['hunt', 'load', log, '--engine', address], '', env)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toBe(
        `2 events loaded into ClickHouse at http://127.0.0.1:${port}, logs.t\n  2 events in 1 source, ${statSync(log).size} B\n` +
          `  1 record could not be read\n  ${log}: line 3: not of the format "combined"\n`,
      )
      expect(asked.map(({ statement }) => statement.slice(0, 34))).toEqual([
        'CREATE TABLE IF NOT EXISTS logs.t ',
        'INSERT INTO logs.t (time_ms, ticks',
      ])
      expect(asked[1].bytes).toBeGreaterThan(500)
      expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(
        new Set([`Basic ${Buffer.from('eve:top:secret').toString('base64')}`]),
      )
    })
  })

  test('that is not there is an error, without the password', async () => {
    const { code, stdout, stderr } = await runPrexy(['hunt', '--engine', 'clickhouse://eve:topsecret@127.0.0.1:9/logs'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^prexy: --engine: ClickHouse at http:\/\/127\.0\.0\.1:9, logs\.prexy_events: /)
    expect(stderr).not.toContain('topsecret')
  })

  test('rules are asked for there, and the summary says what ran where', async () => {
    await withServer(async (port, asked) => {
      const address = `clickhouse://127.0.0.1:${port}`
      const { code, stderr } = await runPrexy(['hunt', '--engine', address, '--min-level', 'critical'])
      expect(code).toBe(0)
      expect(stderr).toMatch(/0 events of 0 sources in ClickHouse at .*\n {2}\d+ rules ran there, in 1 statement\n/)
      expect(asked.map(({ statement }) => statement.split(' ', 1)[0])).toEqual(['SELECT', 'WITH'])
    })
  })
})

test.each([
  [['hunt'], /there is nothing to read/],
  [['hunt', log, '--engine', 'clickhouse://h'], /the events are those that lie there/],
  [['hunt', '--engine', 'postgres://h'], /no address of a ClickHouse/],
  [['hunt', '--engine', 'duckdb'], /name the Parquet files/],
  [['hunt', folder, '--engine', 'duckdb'], /there are no Parquet files/],
  [['hunt', '--engine', 'clickhouse://h', '--follow'], /--follow is for files/],
  [['hunt', 'load', log], /say where events go/],
  [['hunt', 'load', '--engine', 'clickhouse://h'], /nothing to load/],
  [['hunt', 'load', log, '--engine', 'clickhouse://h', '-o', 'x'], /not to both/],
])('prexy %j is refused', async (args, message) => {
  const { code, stderr } = await runPrexy(args)
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})

test('the statements that make the tables of a cluster are printed', async () => {
  const address = 'clickhouse://h/logs?cluster=c'
  const { code, stdout } = await runPrexy(['hunt', 'load', '--print-schema', '--engine', address])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^CREATE TABLE IF NOT EXISTS logs\.prexy_events_local \(\n {2}time_ms Float64,\n/)
  expect(stdout).toMatch(/ENGINE = Distributed\(c, logs, prexy_events_local, rand\(\)\);\n$/)
})

const ORACLES = fileURLToPath(new URL('../../../testing/oracles/node_modules', import.meta.url))
const hasDuckDb = existsSync(join(ORACLES, '@duckdb/node-api'))
if (!hasDuckDb) {
  process.stdout.write('prexy: DuckDB is not tried: npm install --no-save --prefix testing/oracles installs it\n')
}

describe('DuckDB', () => {
  const events = join(folder, 'events')

  test('that is not installed is asked for', async () => {
    const loaded = await runPrexy(['hunt', 'load', log, '-o', events])
    expect(loaded.code).toBe(0)
    const [file] = readdirSync(events)
    expect(file).toMatch(/^events-\d+-00000\.parquet$/)
    expect(statSync(join(events, file)).mode & 0o777).toBe(0o600)
    const { code, stderr } = await runPrexy(['hunt', events, '--engine', 'duckdb'], '', { NODE_PATH: '' })
    expect(code).toBe(2)
    expect(stderr).toMatch(/@duckdb\/node-api is not installed; .*NODE_PATH/)
  })

  test.runIf(hasDuckDb)('finds in Parquet what is found in the log', async () => {
    const own = await runPrexy(['hunt', log, '--print', 'csv', '--no-summary'])
    const { code, stdout } = await runPrexy(
      ['hunt', events, '--engine', 'duckdb', '--print', 'csv', '--no-summary'],
      '',
      {
        NODE_PATH: ORACLES,
      },
    )
    expect(code).toBe(0)
    expect(stdout).toBe(own.stdout)
    expect(stdout.split('\r\n').length).toBeGreaterThan(3)
  })
})
