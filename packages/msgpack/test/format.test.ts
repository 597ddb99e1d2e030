import { isDeepStrictEqual } from 'node:util'
import { decode as theirDecode } from '@msgpack/msgpack'
import { decode, decodeMulti } from '@prexy/msgpack/decode'
import { encode } from '@prexy/msgpack/encode'
import { describe, expect, test } from 'vitest'
import { FORMAT_ROWS, fromHex, toHex } from './format-table.ts'

describe.each(FORMAT_ROWS)('$what', ({ value, encodings }) => {
  test('is written in its shortest form', () => {
    expect(toHex(encode(value))).toBe(encodings[0])
  })

  test('is read from every form', () => {
    for (const encoding of encodings) expectSame(decode(fromHex(encoding)), value, encoding)
  })

  test('is read where more follows, and cut short nowhere', () => {
    for (const encoding of encodings) {
      const bytes = fromHex(encoding)
      expectSame([...decodeMulti(fromHex(`${encoding}c3`))], [value, true], encoding)
      for (const end of cuts(bytes.length)) expect(() => decode(bytes.subarray(0, end))).toThrow(/Insufficient data/)
    }
  })
})

test('the table has a row for every head byte but C1', () => {
  const heads = new Set(FORMAT_ROWS.flatMap(({ encodings }) => encodings.map((encoding) => encoding.slice(0, 2))))
  const missing: string[] = []
  for (let head = 0xc0; head <= 0xdf; head++) {
    const text = head.toString(16)
    if (head !== 0xc1 && !heads.has(text)) missing.push(text)
  }
  expect(missing).toEqual([])
})

test('the fixed forms are right for all of their heads', () => {
  for (let n = 0; n < 128; n++) expect(decode([n])).toBe(n)
  for (let n = 1; n <= 32; n++) expect(decode([256 - n])).toBe(-n)
  for (let n = 0; n < 16; n++) expect(decode([0x90 | n, ...new Array<number>(n).fill(5)])).toEqual(new Array(n).fill(5))
  for (let n = 0; n < 32; n++) expect(decode([0xa0 | n, ...new Array<number>(n).fill(0x62)])).toBe('b'.repeat(n))
  for (let n = 0; n < 16; n++) {
    const pairs = Array.from({ length: n }, (_, i) => [0xa1, 0x61 + i, i]).flat()
    expect(decode([0x80 | n, ...pairs])).toEqual(theirDecode([0x80 | n, ...pairs]))
  }
})

test('every byte that begins no value is refused with its place', () => {
  expect(() => decode([0x92, 0x01, 0xc1])).toThrow('Unrecognized type byte: 0xc1 at byte 2')
})

/** `toEqual` takes seconds for long binary values. */
function expectSame(actual: unknown, expected: unknown, encoding: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect([encoding.slice(0, 20), actual]).toEqual([encoding, expected])
}

/** All of a short encoding, the ends of a long one. */
function cuts(length: number): number[] {
  const all = Array.from({ length }, (_, i) => i)
  return length <= 40 ? all : [...all.slice(0, 20), ...all.slice(-20)]
}
