/** What hostile and broken input does: a `DecodeError` with its place, or the documented result; never anything else. */
import { decode, decodeMulti, Decoder } from '@prexy/msgpack/decode'
import type { DecoderOptions } from '@prexy/msgpack/decode-options'
import { encode } from '@prexy/msgpack/encode'
import { DecodeError } from '@prexy/msgpack/errors'
import { describe, expect, test } from 'vitest'
import { fromHex } from './format-table.ts'

interface BadRow {
  readonly what: string
  readonly hex: string
  readonly options?: DecoderOptions
  readonly code: string
  readonly message: string
}

const BAD_ROWS: readonly BadRow[] = [
  { what: 'nothing', hex: '', code: 'truncated', message: 'Insufficient data: a value is missing at byte 0' },
  {
    what: 'an array without its second element',
    hex: '9201',
    code: 'truncated',
    message: 'Insufficient data: 2 values are claimed and 1 bytes are left at byte 0',
  },
  {
    what: 'a map without its value',
    hex: '8182a16101',
    code: 'truncated',
    message: 'Insufficient data: 4 values are claimed and 3 bytes are left at byte 1',
  },
  {
    what: 'a key that is cut',
    hex: '81a56162',
    code: 'truncated',
    message: 'Insufficient data: a string of 5 bytes is claimed and 2 are left at byte 1',
  },
  {
    what: 'a string that is cut',
    hex: '91a56162',
    code: 'truncated',
    message: 'Insufficient data: a string of 5 bytes is claimed and 2 are left at byte 1',
  },
  {
    what: 'a length that is cut',
    hex: 'db0000',
    code: 'truncated',
    message: 'Insufficient data: 4 bytes are claimed and 2 are left at byte 0',
  },
  {
    what: 'a binary of 4 GB',
    hex: 'c6ffffffff00',
    code: 'truncated',
    message: 'Insufficient data: 4294967295 bytes are claimed and 1 are left at byte 0',
  },
  {
    what: 'an array of 2^32 - 1',
    hex: 'ddffffffff00',
    code: 'truncated',
    message: 'Insufficient data: 4294967295 values are claimed and 1 bytes are left at byte 0',
  },
  {
    what: 'a map of 2^32 - 1',
    hex: 'dfffffffff00',
    code: 'truncated',
    message: 'Insufficient data: 8589934590 values are claimed and 1 bytes are left at byte 0',
  },
  {
    what: 'an extension of 4 GB',
    hex: 'c9ffffffff0500',
    code: 'truncated',
    message: 'Insufficient data: 4294967296 bytes are claimed and 2 are left at byte 0',
  },
  { what: 'a byte too many', hex: '9000', code: 'extra-bytes', message: 'Extra 1 of 2 bytes found at byte 1' },
  {
    what: 'the reserved byte',
    hex: '9201c1',
    code: 'reserved-byte',
    message: 'Unrecognized type byte: 0xc1 at byte 2',
  },
  {
    what: 'a reserved byte as a key',
    hex: '81c101',
    code: 'reserved-byte',
    message: 'Unrecognized type byte: 0xc1 at byte 1',
  },
  {
    what: 'a key that is nil',
    hex: '81c001',
    code: 'map-key',
    message: 'The type of key must be string or number but it is nil at byte 1',
  },
  {
    what: 'a key that is a map',
    hex: '818001',
    code: 'map-key',
    message: 'The type of key must be string or number but it is object at byte 1',
  },
  {
    what: 'a key that is a bigint',
    hex: '81cfffffffffffffffff01',
    code: 'map-key',
    message: 'The type of key must be string or number but it is bigint at byte 1',
  },
  {
    what: 'a timestamp of 5 bytes',
    hex: '91c705ff0000000000',
    code: 'extension',
    message: 'Unrecognized data size for timestamp: 5 (4, 8 and 12 are possible) at byte 1',
  },
  {
    what: 'a timestamp of 2^30 - 1 ns',
    hex: 'd7ffffffffff00000000',
    code: 'extension',
    message: 'timestamp with 1073741823 ns at byte 0',
  },
  {
    what: 'a timestamp beyond 2^53 s',
    hex: 'c70cff000000007fffffffffffffff',
    code: 'extension',
    message: 'timestamp beyond 2^53 s at byte 0',
  },
  {
    what: 'a timestamp that no Date can hold',
    hex: 'c70cff000000000000100000000000',
    code: 'extension',
    message: 'timestamp beyond the range of Date at byte 0',
  },
  {
    what: 'malformed UTF-8, if it is an error',
    hex: '92a161a3e28228',
    options: { invalidUtf8: 'error' },
    code: 'invalid-utf8',
    message: 'malformed UTF-8 at byte 4',
  },
  {
    what: 'a malformed key, if it is an error',
    hex: '81a3e2822801',
    options: { invalidUtf8: 'error' },
    code: 'invalid-utf8',
    message: 'malformed UTF-8 at byte 2',
  },
  {
    what: 'an unsafe integer, if it is an error',
    hex: '91cf0020000000000000',
    options: { unsafeIntegers: 'error' },
    code: 'unsafe-integer',
    message: 'the integer 9007199254740992 does not fit a number at byte 1',
  },
  {
    what: 'a long string',
    hex: 'a3616263',
    options: { maxStrLength: 2 },
    code: 'limit',
    message: 'Max length exceeded: string of 3 (maxStrLength: 2) at byte 0',
  },
  {
    what: 'a long key',
    hex: '81a361626301',
    options: { maxStrLength: 2 },
    code: 'limit',
    message: 'Max length exceeded: string of 3 (maxStrLength: 2) at byte 1',
  },
  {
    what: 'a long binary',
    hex: 'c403616263',
    options: { maxBinLength: 2 },
    code: 'limit',
    message: 'Max length exceeded: binary of 3 (maxBinLength: 2) at byte 0',
  },
  {
    what: 'a long array',
    hex: '93010203',
    options: { maxArrayLength: 2 },
    code: 'limit',
    message: 'Max length exceeded: array of 3 (maxArrayLength: 2) at byte 0',
  },
  {
    what: 'a long map',
    hex: '82a16101a16202',
    options: { maxMapLength: 1 },
    code: 'limit',
    message: 'Max length exceeded: map of 2 (maxMapLength: 1) at byte 0',
  },
  {
    what: 'a long extension',
    hex: 'd60500000000',
    options: { maxExtLength: 3 },
    code: 'limit',
    message: 'Max length exceeded: extension of 4 (maxExtLength: 3) at byte 0',
  },
  {
    what: 'nesting beyond the limit',
    hex: '91919100',
    options: { maxDepth: 2 },
    code: 'too-deep',
    message: 'arrays and maps nested deeper than 2 (maxDepth) at byte 2',
  },
  {
    what: 'nesting of maps beyond the limit',
    hex: '81a16181a16200',
    options: { maxDepth: 1 },
    code: 'too-deep',
    message: 'arrays and maps nested deeper than 1 (maxDepth) at byte 3',
  },
]

describe.each(BAD_ROWS)('$what', ({ hex, options, code, message }) => {
  test('is an error with its place, and the decoder goes on', () => {
    const decoder = new Decoder(options)
    for (let round = 0; round < 3; round++) {
      const error = errorOf(() => decoder.decode(fromHex(hex)))
      expect({ code: error.code, message: error.message }).toEqual({ code, message })
      expect(decoder.decode([0x81, 0xa1, 0x62, 0x01])).toEqual({ b: 1 })
    }
  })
})

test('a key that others may have is too long for who says so', () => {
  const bytes = encode({ 'a-longer-key': 1 })
  for (let round = 0; round < 40; round++) expect(decode(bytes)).toEqual({ 'a-longer-key': 1 })
  expect(errorOf(() => decode(bytes, { maxStrLength: 11 })).code).toBe('limit')
  expect(decode(bytes, { maxStrLength: 12 })).toEqual({ 'a-longer-key': 1 })
})

test('every limit that is met and not passed lets through', () => {
  const limits = { maxStrLength: 1, maxBinLength: 1, maxArrayLength: 3, maxMapLength: 1, maxExtLength: 1, maxDepth: 2 }
  expect(decode(fromHex('9381a16101c40161d40500'), limits)).toHaveLength(3)
})

test('a stack is never used up, however deep the input and the limit', () => {
  for (const nest of [[0x91], [0x81, 0xa1, 0x61]]) {
    const input = new Uint8Array(300_000)
    for (let at = 0; at + nest.length <= input.length; at += nest.length) input.set(nest, at)
    expect(errorOf(() => decode(input)).code).toBe('too-deep')
    expect(errorOf(() => decode(input, { maxDepth: 1_000 })).code).toBe('too-deep')
  }
  expect(() => decode([0], { maxDepth: 1_001 })).toThrow('maxDepth is 1001; 1 to 1000 are possible')
})

test('3,000 bytes of arrays that claim 65,535 elements each cost next to no memory', () => {
  const input = new Uint8Array(3_000)
  for (let at = 0; at < 3_000; at += 3) input.set([0xdc, 0xff, 0xff], at)
  const before = process.memoryUsage().heapUsed
  for (let round = 0; round < 100; round++) expect(errorOf(() => decode(input)).code).toBe('truncated')
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
})

test('the claims of all arrays together are bounded by the bytes, so that small ones do not add up either', () => {
  // Each array claims what is left after its head; only the outermost can have it.
  const input = new Uint8Array(3_000)
  for (let at = 0; at < 1_200; at += 3) input.set([0xdc, (2_997 - at) >> 8, (2_997 - at) & 0xff], at)
  expect(errorOf(() => decode(input)).offset).toBe(3)
})

describe('keys that could reach a prototype', () => {
  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '0', '007', ''])(
    '%j is an own property like any other',
    (key) => {
      const input = encode(
        new Map<string, unknown>([
          ['a', 1],
          [key, { polluted: true }],
          ['z', 2],
        ]),
      )
      for (let round = 0; round < 40; round++) {
        const value: unknown = decode(input)
        expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
        expect(Object.getOwnPropertyDescriptor(value, key)).toEqual({
          value: { polluted: true },
          writable: true,
          enumerable: true,
          configurable: true,
        })
        expect(Object.keys({})).toEqual([])
        expect(Reflect.get({}, 'polluted')).toBeUndefined()
      }
    },
  )

  test('of a map of 40 keys too', () => {
    const fields = new Map<string, unknown>(Array.from({ length: 40 }, (_, i) => [`k${i}`, i]))
    const value = decode(encode(fields.set('__proto__', [])))
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.keys(value as object)).toHaveLength(41)
  })
})

test('the last of equal keys wins, in the place of the first', () => {
  const input = [0x83, 0xa1, 0x61, 1, 0xa1, 0x62, 2, 0xa1, 0x61, 3]
  for (let round = 0; round < 40; round++) expect(JSON.stringify(decode(input))).toBe('{"a":3,"b":2}')
})

test('equal keys in different forms are equal', () => {
  for (let round = 0; round < 40; round++) expect(decode(fromHex('82a16101d9016102'))).toEqual({ a: 2 })
})

describe('UTF-8', () => {
  const parts = ['c3', 'e282', 'f09f98', 'eda080', 'c080', 'ff', 'f4908080', '80', 'e28228', 'c3a4', 'efbbbf']
  test.each([0, 1, 5, 8, 14, 16, 17, 30, 100, 128, 129, 200, 201, 1_000, 70_000])(
    'malformed after %d characters reads as the Encoding Standard says',
    (length) => {
      for (const part of parts) {
        const bytes = fromHex('61'.repeat(length) + part)
        const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
        const input = encode(bytes)
        // The same payload as a string.
        const head = input[0] - 0xc4 + 0xd9
        const value = decode(Uint8Array.of(head, ...input.subarray(1)))
        expect(value === expected, `${part}: ${String(value).slice(-9)}`).toBe(true)
      }
    },
  )

  test('as a key is replaced alike, also when other maps had keys like it', () => {
    for (let round = 0; round < 40; round++) expect(decode(fromHex('81a3e2822801'))).toEqual({ '\ufffd(': 1 })
    expect(errorOf(() => decode(fromHex('81a3e2822801'), { invalidUtf8: 'error' })).code).toBe('invalid-utf8')
  })

  test('well-formed text passes the strict policy', () => {
    const value = { ключ: 'ä€😀', long: 'ä€😀'.repeat(300) }
    expect(decode(encode(value), { invalidUtf8: 'error' })).toEqual(value)
  })
})

describe('64-bit integers', () => {
  const big = fromHex('94cf001fffffffffffffcf0020000000000001d3ffe0000000000001d3ffdfffffffffffff')
  const safe = Number.MAX_SAFE_INTEGER

  test('are numbers where these are exact, and bigints beyond', () => {
    expect(decode(big)).toEqual([safe, 9_007_199_254_740_993n, -safe, -9_007_199_254_740_993n])
  })

  test('are all bigints on demand', () => {
    expect(decode(big, { useBigInt64: true })).toEqual([
      BigInt(safe),
      9_007_199_254_740_993n,
      -BigInt(safe),
      -9_007_199_254_740_993n,
    ])
    expect(decode(fromHex('cf0000000000000005'), { useBigInt64: true })).toBe(5n)
  })

  test('are rounded on demand only', () => {
    expect(decode(big, { unsafeIntegers: 'round' })).toEqual([
      safe,
      9_007_199_254_740_992,
      -safe,
      -9_007_199_254_740_992,
    ])
  })
})

test('what many values of one input are worth is told until the first that is broken', () => {
  const seen: unknown[] = []
  const error = errorOf(() => {
    for (const value of decodeMulti([1, 0xa1, 0x61, 0x92, 1])) seen.push(value)
  })
  expect(seen).toEqual([1, 'a'])
  expect(error.offset).toBe(3)
})

function errorOf(run: () => unknown): DecodeError {
  try {
    run()
  } catch (error) {
    if (error instanceof DecodeError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
