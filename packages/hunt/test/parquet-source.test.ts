/** Parquet files that prexy wrote, read again. */
import { readFileSync } from 'node:fs'
import type { ExchangeRecord } from '@prexy/events/recorded-event'
import { ParquetRows } from '@prexy/record/parquet'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { EVERY_EVENT } from '../src/event-filter.ts'
import { loadEvents } from '../src/event-load.ts'
import { ParquetSink } from '../src/event-parquet.ts'
import { type StoredRow, storedRow } from '../src/event-store.ts'
import { findSources } from '../src/sources.ts'
import { exchangeEvent } from '../src/recorded-event.ts'
import { chanceEvents, huntEvent } from './chance-rules.ts'
import { PLAIN, readAll, TestFolder } from './reading.ts'

const folder = new TestFolder()
afterAll(() => folder.close())

const SEED = 20_261_201

async function rowsOf(paths: readonly string[]): Promise<readonly StoredRow[]> {
  const { sources } = await findSources(paths, { format: undefined, onProgress() {} })
  const rows: StoredRow[] = []
  const sink = { add: (row: StoredRow) => rows.push(row), async flush() {}, async finish() {} }
  await loadEvents({ sources, scan: PLAIN, filter: EVERY_EVENT, stdin: undefined, loadedMs: 1, onProgress() {} }, sink)
  return rows
}

async function writeEvents(): Promise<{ readonly file: string; readonly rows: readonly StoredRow[] }> {
  const sink = new ParquetSink(`${folder.path}/events`, Date.now() + Math.random())
  const rows = fc
    .sample(chanceEvents, { numRuns: 200, seed: SEED })
    .map((event, record) => storedRow(huntEvent(event), { loadedMs: 1, sourceNumber: 0, source: 's', record }))
  for (const row of rows) sink.add(row)
  await sink.finish()
  return { file: sink.files[0], rows }
}

describe('events', () => {
  test('are those that were written', async () => {
    const { file, rows } = await writeEvents()
    const read = await rowsOf([file])
    expect(read).toEqual(rows.map((row, index) => ({ ...row, source: file, record: index + 1 })))
  })

  test('of a file that is cut, or has a wrong octet, are read or said to be lost', async () => {
    const { file } = await writeEvents()
    const whole = readFileSync(file)
    for (let index = 0; index < 40; index++) {
      const at = Math.floor((whole.length * index) / 40)
      const wrong = Buffer.from(whole)
      wrong[at] ^= 0x5a
      for (const [name, octets] of [
        ['cut.parquet', whole.subarray(0, Math.max(at, 4))],
        ['wrong.parquet', wrong],
      ] as const) {
        const { events, reports, skipped } = await readAll([folder.write(name, octets)])
        const lost = reports.reduce((sum, { badRecords }) => sum + badRecords, 0) + skipped.length
        // A wrong octet in a text is another text.
        expect(events.length === 200 || lost > 0).toBe(true)
        if (name === 'cut.parquet') expect(lost).toBeGreaterThan(0)
      }
    }
  })
})

const EXCHANGE: ExchangeRecord = {
  kind: 'exchange',
  version: 2,
  exchangeId: 7,
  connectionId: 1,
  requestNumber: 1,
  route: 'shop',
  upstream: '10.0.0.1:8080',
  detail: undefined,
  treatment: undefined,
  run: 'r',
  sequence: 7,
  startedAtMs: Date.UTC(2026, 10, 30, 12),
  client: '192.0.2.7',
  method: 'GET',
  scheme: 'https',
  host: 'shop.example',
  target: '/a%20b?x=1',
  status: 200,
  upstreamAddress: '10.0.0.1:8080',
  requestId: 'q',
  outcome: 'completed',
  clientInBytes: 10,
  clientOutBytes: 20,
  upstreamInBytes: 30,
  upstreamOutBytes: 40,
  timings: {
    requestHeadUs: 100,
    upstreamAskedUs: 150,
    upstreamConnectedUs: 400,
    responseHeadUs: 1_000,
    rewriteUs: 30,
    endUs: 1_500,
  },
  request: { minorVersion: 1, fields: ['User-Agent', 'curl/8', 'Referer', 'http://x/'] },
}

describe('exchanges', () => {
  test('that were compacted are requests', async () => {
    const rows = new ParquetRows()
    rows.add(EXCHANGE)
    const file = folder.write('recordings/x.parquet', rows.take())
    const [event] = (await readAll([file])).events
    const own = exchangeEvent(EXCHANGE)
    for (const name of [
      'c-uri',
      'cs-uri-query',
      'cs-host',
      'sc-status',
      'cs-user-agent',
      'cs-referer',
      's-ip',
      'time-taken',
    ]) {
      expect([name, event.get(name)]).toEqual([name, own.get(name)])
    }
    expect([event.time, event.host, event.recordId]).toEqual(['2026-11-30T12:00:00.000Z', 'shop.example', own.recordId])
  })

  test('beside their segments are not read twice', async () => {
    const rows = new ParquetRows()
    rows.add(EXCHANGE)
    folder.write('recordings/x.parquet', rows.take())
    const { events, skipped } = await readAll([`${folder.path}/recordings`])
    expect(events).toEqual([])
    expect(skipped.map(({ reason }) => reason)).toEqual([
      'Parquet is only read when the file is named: what it was made of may lie beside it',
    ])
  })
})

test('other Parquet is refused', async () => {
  const { parquetWriteBuffer } = await import('hyparquet-writer')
  const file = folder.write(
    'other.parquet',
    new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'a', data: [1], type: 'INT32' }] })),
  )
  const { events, reports } = await readAll([file])
  expect(events).toEqual([])
  expect(reports[0].problems.map(({ reason }) => reason)).toEqual(['its columns are not those that prexy writes'])
})
