import { decode } from '@prexy/msgpack/decode'
import { ColumnReader, openColumns, type ColumnSpec, type ColumnTable } from '@prexy/msgpack/columns'
import { encode } from '@prexy/msgpack/encode'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex } from './format-table.ts'

const SPECS: readonly ColumnSpec[] = [
  { name: 'id', path: ['id'], kind: 'number' },
  { name: 'time', path: ['time'], kind: 'time' },
  { name: 'kind', path: ['kind'], kind: 'dictionary' },
  { name: 'status', path: ['payload', 'status'], kind: 'number' },
  { name: 'host', path: ['payload', 'deep', 'host'], kind: 'dictionary' },
  { name: 'ok', path: ['ok'], kind: 'boolean' },
]
const RECORDS = Array.from({ length: 60 }, (_, i) => ({
  id: i * 1_000_003,
  time: new Date(1_700_000_000_000 + i * 1_234.5),
  kind: ['a', 'exchange', 'x'.repeat(200), 'Größe'][i % 4],
  ...(i % 5 === 0
    ? {}
    : { payload: { other: [i, { status: 1 }], status: 200 + i, deep: { host: `h${i % 3}`, status: -1 } } }),
  ok: i % 2 === 0,
  tail: { status: 'not this one' },
}))
const SEQUENCE = new Uint8Array(Buffer.concat(RECORDS.map((record) => encode(record))))

test('columns hold what decoding gives', () => {
  for (const input of [SEQUENCE, encode(RECORDS)]) {
    const table = openColumns(input, SPECS)
    expect(rowsOf(table)).toEqual(expected(RECORDS))
    expect(table.columns.map(({ misfits }) => misfits)).toEqual([0, 0, 0, 0, 0, 0])
    expect(table.rows).toBe(RECORDS.length)
  }
})

test('a record can be decoded by its offset', () => {
  const { offsets } = openColumns(SEQUENCE, SPECS)
  const ends = [...offsets.slice(1), SEQUENCE.length]
  offsets.forEach((start, row) => expect(decode(SEQUENCE.subarray(start, ends[row]))).toEqual(RECORDS[row]))
})

describe('cut in chunks', () => {
  const few = RECORDS.slice(3, 6)
  test.each([
    ['a sequence', new Uint8Array(Buffer.concat(few.map((record) => encode(record))))],
    ['an array', encode(few)],
  ])('%s gives the same columns for every cut in two and for single bytes', (_what, input) => {
    const whole = openColumns(input, SPECS)
    for (let at = 0; at <= input.length; at++) {
      expect(simplify(read([input.slice(0, at), input.slice(at)]))).toEqual(simplify(whole))
    }
    expect(simplify(read(Array.from(input, (byte) => Uint8Array.of(byte))))).toEqual(simplify(whole))
  })

  test('rows are there before the end', () => {
    const reader = new ColumnReader(SPECS)
    reader.append(SEQUENCE.subarray(0, SEQUENCE.length - 1))
    expect(reader.rows).toBe(RECORDS.length - 1)
    expect(() => reader.end()).toThrow('Insufficient data: the stream ended after')
    reader.append(SEQUENCE.subarray(SEQUENCE.length - 1))
    reader.end()
    expect(rowsOf(reader.table())).toEqual(expected(RECORDS))
  })

  test('a table is not changed by what comes later, and its buffers can be transferred', () => {
    const reader = new ColumnReader(SPECS)
    reader.append(SEQUENCE)
    const table = reader.table()
    const before = rowsOf(table)
    reader.append(SEQUENCE)
    expect(rowsOf(table)).toEqual(before)
    const moved = structuredClone(table, { transfer: table.columns.map(({ data }) => data.buffer) })
    expect(rowsOf(moved)).toEqual(before)
    expect(table.columns[0].data).toHaveLength(0)
    expect(reader.table().rows).toBe(2 * RECORDS.length)
  })
})

test('more rows than the first arrays have room for', () => {
  const many = Array.from({ length: 5_000 }, (_, i) => ({
    id: i,
    ok: i % 3 === 0,
    ...(i % 2 === 0 ? { kind: `k${i % 700}` } : {}),
  }))
  expect(rowsOf(openColumns(encode(many), SPECS))).toEqual(expected(many))
})

describe('a value that does not fit', () => {
  test.each([
    ['id', '"text"', { id: 'text' }],
    ['id', 'an integer that a number cannot hold', { id: 2n ** 60n }],
    ['id', 'a map', { id: { a: 1 } }],
    ['time', 'a number', { time: 5 }],
    ['kind', 'a number', { kind: 5 }],
    ['kind', 'binary', { kind: new Uint8Array(3) }],
    ['ok', '0', { ok: 0 }],
  ])('%s: %s is absent and counted', (name, _what, record) => {
    const table = openColumns(encode([record, record]), SPECS)
    expect(table.columns.find((column) => column.name === name)?.misfits).toBe(2)
    expect(rowsOf(table)).toEqual(expected([{}, {}]))
  })

  test('nil is absent and not counted', () => {
    const table = openColumns(encode([{ id: null, time: null, kind: null, ok: null, payload: null }]), SPECS)
    expect(table.columns.map(({ misfits }) => misfits)).toEqual([0, 0, 0, 0, 0, 0])
    expect(rowsOf(table)).toEqual(expected([{}]))
  })

  test('a timestamp that the specification does not allow', () => {
    const table = openColumns(fromHex('9181a474696d65d7ffffffffff00000000'), SPECS)
    expect(table.columns[1].misfits).toBe(1)
  })
})

test('the last of equal keys wins', () => {
  expect(rowsOf(openColumns(fromHex('9182a2696401a2696402'), SPECS))[0].id).toBe(2)
  expect(rowsOf(openColumns(fromHex('9182a2696401a26964c0'), SPECS))[0].id).toBeUndefined()
})

test.each([
  ['9101', 'a record is a map, and this is none at byte 1'],
  ['01', 'a record is a map, and this is none at byte 0'],
  ['91c1', 'Unrecognized type byte: 0xc1 at byte 1'],
  ['9181a26964c1', 'Unrecognized type byte: 0xc1 at byte 5'],
  ['918000', 'Extra bytes found after the array of records at byte 2'],
  ['9180a5', 'Extra bytes found after the array of records at byte 2'],
  ['9280', 'Insufficient data: an array ended before 1 records'],
  ['dc00', 'Insufficient data: an array ended before its records'],
  ['81a269', 'Insufficient data: the stream ended after 3 bytes'],
  ['dfffffffff', 'Insufficient data: the stream ended after 5 bytes'],
])('%s is refused: %s', (hex, message) => {
  expect(() => openColumns(fromHex(hex), SPECS)).toThrow(message)
  expect(() => read(Array.from(fromHex(hex), (byte) => Uint8Array.of(byte)))).toThrow(message)
})

test.each([
  [[{ name: 'a', path: [], kind: 'number' }], 'column a: a path has 1 to 32 keys'],
  [
    [
      { name: 'a', path: ['x'], kind: 'number' },
      { name: 'b', path: ['x'], kind: 'boolean' },
    ],
    'column b: another column has the same path',
  ],
] as const)('columns that cannot be are refused', (specs, message) => {
  expect(() => new ColumnReader(specs)).toThrow(message)
})

test('records of any keys in any order', () => {
  const record = fc.record(
    {
      id: fc.oneof(fc.integer(), fc.double({ noNaN: true })),
      kind: fc.string({ unit: 'binary', maxLength: 150 }),
      ok: fc.boolean(),
      payload: fc.record(
        { status: fc.integer(), deep: fc.record({ host: fc.string() }, { requiredKeys: [] }) },
        { requiredKeys: [] },
      ),
      [`a-key-of-more-than-the-length-of-a-token-${'x'.repeat(60)}`]: fc.integer(),
      other: fc.array(fc.integer(), { maxLength: 30 }),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.array(record, { maxLength: 30 }), fc.nat(), (records, cut) => {
      const bytes = encode(records)
      const at = cut % (bytes.length + 1)
      expect(rowsOf(read([bytes.slice(0, at), bytes.slice(at)]))).toEqual(expected(records))
    }),
    { numRuns: 200, interruptAfterTimeLimit: 5_000 },
  )
})

function read(chunks: readonly Uint8Array[]): ColumnTable {
  const reader = new ColumnReader(SPECS)
  for (const chunk of chunks) {
    // Chunks are borrowed.
    const lent = chunk.slice()
    reader.append(lent)
    lent.fill(0xc1)
  }
  reader.end()
  return reader.table()
}

function rowsOf(table: ColumnTable): Record<string, unknown>[] {
  return Array.from({ length: table.rows }, (_, row) =>
    Object.fromEntries(
      table.columns.map((column) => {
        if (column.kind === 'dictionary') return [column.name, column.values[column.data[row]]]
        const value = column.data[row]
        if (column.kind === 'boolean') return [column.name, value === 2 ? undefined : value === 1]
        return [column.name, Number.isNaN(value) ? undefined : value]
      }),
    ),
  )
}

function simplify(table: ColumnTable): unknown {
  return [rowsOf(table), [...table.offsets]]
}

interface Expected {
  readonly id?: unknown
  readonly time?: unknown
  readonly kind?: unknown
  readonly ok?: unknown
  readonly payload?: { readonly status?: unknown; readonly deep?: { readonly host?: unknown } } | null
}

function expected(records: readonly Expected[]): Record<string, unknown>[] {
  return records.map(({ id, time, kind, ok, payload }) => ({
    id,
    time: time instanceof Date ? time.getTime() : undefined,
    kind,
    status: payload?.status,
    host: payload?.deep?.host,
    ok,
  }))
}
