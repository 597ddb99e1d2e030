/** What is said and sent to a server, whatever it answers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { ClickHouse, clickHouseSchema, parseClickHouseUrl } from '../src/clickhouse.ts'
import { EngineError } from '../src/engine-error.ts'
import { readStoredRow, STORED_COLUMNS, storedEvent, storedRow } from '../src/event-store.ts'
import { type AnswerColumn, type AnswerRow, answerColumns, readRowBinary, RowBinaryWriter } from '../src/row-binary.ts'
import { chanceEvents, huntEvent } from './chance-rules.ts'

describe('addresses', () => {
  test.each<[string, string, string, string, string]>([
    ['clickhouse://db.example', 'http://db.example:8123', 'default', '', 'default.prexy_events'],
    ['clickhouse://u:p%3A%2F@db.example:1234/logs?table=t', 'http://db.example:1234', 'u', 'p:/', 'logs.t'],
    ['clickhouse://u@[::1]/?secure=true', 'https://[::1]:8443', 'u', '', 'default.prexy_events'],
  ])('%s', (text, origin, user, password, table) => {
    const address = parseClickHouseUrl(text, {})
    expect([address.origin, address.user, address.password, `${address.database}.${address.table}`]).toEqual([
      origin,
      user,
      password,
      table,
    ])
  })

  test('user and password come from the environment where the address has none', () => {
    const env = { CLICKHOUSE_USER: 'eve', CLICKHOUSE_PASSWORD: 'secret' }
    expect(parseClickHouseUrl('clickhouse://h', env)).toMatchObject({ user: 'eve', password: 'secret' })
    expect(parseClickHouseUrl('clickhouse://bob:own@h', env)).toMatchObject({ user: 'bob', password: 'own' })
  })

  test.each([
    'http://u:topsecret@h',
    'clickhouse://u:topsecret@',
    'clickhouse://u:topsecret@h:99999999',
    'clickhouse://u:topsecret@h/a`b',
    "clickhouse://u:topsecret@h/?table=t'",
    'clickhouse://u:topsecret@h/?table=a.b',
    'clickhouse://u:topsecret@h/?cluster=c)',
    'clickhouse://u:topsecret@h/?tabel=t',
    'clickhouse://u:topsecret@h/?secure=yes',
    'clickhouse://u:topsecret%@h/',
  ])('%s is refused, without its password', (text) => {
    let message = ''
    try {
      parseClickHouseUrl(text, {})
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      message = error.message
    }
    expect(message).not.toBe('')
    expect(message).not.toContain('topsecret')
  })

  test('a schema has a table for each shard, and one over all', () => {
    const statements = clickHouseSchema(parseClickHouseUrl('clickhouse://h/logs?table=t&cluster=c', {}))
    expect(statements.map((statement) => statement.replace(/\(\n[^]*?\n\)/, '(...)'))).toEqual([
      'CREATE TABLE IF NOT EXISTS logs.t_local (...) ENGINE = MergeTree ORDER BY (time_ms, source, record)',
      'CREATE TABLE IF NOT EXISTS logs.t AS logs.t_local ENGINE = Distributed(c, logs, t_local, rand())',
    ])
  })
})

describe('rows', () => {
  const columns = answerColumns(STORED_COLUMNS.map(([name]) => name))

  test('are read as they were written, wherever the octets are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(chanceEvents, { maxLength: 5 }),
        fc.integer({ min: 1, max: 500 }),
        async (given, step) => {
          const writer = new RowBinaryWriter()
          const rows = given.map((one, record) =>
            storedRow(huntEvent(one), { loadedMs: 1.5, sourceNumber: 2, source: 'a/é', record }),
          )
          for (const row of rows) writer.add(row)
          const read: AnswerRow[] = []
          for await (const row of readRowBinary(pieces(writer.take(), step), columns)) read.push(row)
          expect(read).toEqual(rows)
          for (const [index, event] of given.entries()) {
            const [before, after] = [huntEvent(event), storedEvent(readStoredRow(read[index]))]
            for (const name of before.fieldNames()) {
              const value = before.get(name)
              // An empty list is an absent field, and a list of one is that one.
              const list = Array.isArray(value) ? (value as readonly unknown[]) : undefined
              expect(after.get(name)).toEqual(list === undefined ? value : list.length > 1 ? list : list[0])
            }
            expect([after.time, after.sources, after.text()]).toEqual([before.time, before.sources, before.text()])
            expect(after.entries()).toEqual(
              before.entries().map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
            )
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  test.each<[string, number[], RegExp]>([
    ['cut', [5, 97], /ends within a row/],
    ['a text that is too long', [0xff, 0xff, 0xff, 0xff, 0x7f, 1], /MAX_STORED_ROW_BYTES/],
  ])('%s is an error', async (_, octets, message) => {
    const asked: readonly AnswerColumn[] = [['host', 'text']]
    await expect(
      (async () => {
        for await (const row of readRowBinary(pieces(Buffer.from(octets), 2), asked)) expect(row).toBeDefined()
      })(),
    ).rejects.toThrow(message)
  })
})

async function* pieces(octets: Uint8Array, step: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < octets.length; at += step) yield octets.subarray(at, at + step)
}

describe('a server', () => {
  let close: () => void = () => {}
  afterEach(() => close())

  async function serverThat(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
    timeoutSeconds = 120,
  ): Promise<ClickHouse> {
    const server = createServer(answer)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    close = () => {
      server.closeAllConnections()
      server.close()
    }
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    return new ClickHouse(parseClickHouseUrl(`clickhouse://eve:topsecret@127.0.0.1:${port}/logs`, {}), timeoutSeconds)
  }

  async function failure(server: ClickHouse): Promise<EngineError> {
    try {
      for await (const row of server.select('SELECT host FROM logs.t', [['host', 'text']])) expect(row).toBeDefined()
    } catch (error) {
      if (error instanceof EngineError) return error
      throw error
    }
    throw new Error('it did not fail')
  }

  test('gets the password in a header, and the statement in the body', async () => {
    let seen = ''
    const server = await serverThat((request, response) => {
      seen = `${request.method} ${request.url} ${request.headers.authorization}`
      request.resume().once('end', () => response.end(Buffer.from([1, 97])))
    })
    const rows: AnswerRow[] = []
    for await (const row of server.select('SELECT 1', [['host', 'text']])) rows.push(row)
    expect(rows).toEqual([{ host: 'a' }])
    expect(seen).toBe(
      `POST /?database=logs&max_execution_time=120&wait_end_of_query=1 Basic ${Buffer.from('eve:topsecret').toString('base64')}`,
    )
  })

  test.each<[string, number, string, EngineError['outcome'], RegExp]>([
    [
      'a syntax it does not know',
      400,
      'Code: 62, e.displayText() = DB::Exception: Syntax error\nmore',
      'refused',
      /Code: 62.*Syntax error$/,
    ],
    ['a table that is not there', 404, 'Code: 60, e.displayText() = no table', 'failed', /Code: 60/],
    ['no access', 403, 'Code: 516. DB::Exception: eve: Authentication failed', 'failed', /Code: 516/],
    ['something else altogether', 502, '', 'failed', /status 502/],
    ['another place', 302, '', 'failed', /redirect/i],
  ])('answers %s', async (_, status, text, outcome, message) => {
    const server = await serverThat((request, response) => {
      response.writeHead(status, status === 302 ? { location: '/other' } : {})
      request.resume().once('end', () => response.end(text))
    })
    const error = await failure(server)
    expect(error.message).toMatch(message)
    expect(error.message).not.toContain('topsecret')
    expect(error.outcome).toBe(outcome)
  })

  test('that answers half of a row, or ends before it has answered, is said to', async () => {
    const half = await serverThat((request, response) => {
      request.resume().once('end', () => response.end(Buffer.from([9, 97])))
    })
    expect((await failure(half)).message).toMatch(/ends within a row/)
    close()
    const cut = await serverThat((request, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write(Buffer.from([1, 97]))
      request.resume().once('end', () => setImmediate(() => response.destroy()))
    })
    expect((await failure(cut)).outcome).toBe('failed')
  })

  test('that does not answer is given up by the name of the limit', async () => {
    const server = await serverThat(() => {}, 1)
    expect((await failure(server)).message).toMatch(/no answer within 1 s \(--engine-timeout\)/)
  })
})
