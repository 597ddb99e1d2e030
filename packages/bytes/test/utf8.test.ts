import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  codePointAt,
  codePointBytes,
  decodeUtf8,
  encodeUtf8,
  stepUtf8,
  UTF8_INCOMPLETE,
  UTF8_MALFORMED,
  writeCodePoint,
} from '../src/utf8.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const strictDecoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })

/** Bytes that meet each other at the borders of the table in RFC 3629 §4. */
const borderByte = fc.constantFrom(
  0x00,
  0x41,
  0x7f,
  0x80,
  0x8f,
  0x90,
  0x9f,
  0xa0,
  0xbf,
  0xc0,
  0xc1,
  0xc2,
  0xdf,
  0xe0,
  0xe1,
  0xec,
  0xed,
  0xee,
  0xef,
  0xf0,
  0xf1,
  0xf3,
  0xf4,
  0xf5,
  0xfe,
  0xff,
)
const borderBytes = fc.array(borderByte, { maxLength: 12 }).map((bytes) => Uint8Array.from(bytes))

function isWellFormed(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes)
    return true
  } catch {
    return false
  }
}

describe('stepping over one sequence', () => {
  test.each([
    ['ASCII', [0x7f], 1],
    ['two bytes', [0xc2, 0x80], 2],
    ['three bytes', [0xe2, 0x82, 0xac], 3],
    ['four bytes', [0xf4, 0x8f, 0xbf, 0xbf], 4],
    ['only the first sequence counts', [0xc3, 0xa9, 0xff], 2],
    ['a trail byte', [0x80], UTF8_MALFORMED],
    ['an overlong form of two bytes', [0xc1, 0xbf], UTF8_MALFORMED],
    ['an overlong form of three bytes', [0xe0, 0x9f], UTF8_MALFORMED],
    ['an overlong form of four bytes', [0xf0, 0x8f], UTF8_MALFORMED],
    ['a surrogate', [0xed, 0xa0], UTF8_MALFORMED],
    ['beyond U+10FFFF', [0xf4, 0x90], UTF8_MALFORMED],
    ['a lead that no sequence has', [0xf5], UTF8_MALFORMED],
    ['a lead before ASCII', [0xe2, 0x41], UTF8_MALFORMED],
    ['the third byte is wrong', [0xe2, 0x82, 0x41], UTF8_MALFORMED],
    ['the fourth byte is wrong', [0xf0, 0x9f, 0x92, 0x41], UTF8_MALFORMED],
    ['cut after the lead', [0xe2], UTF8_INCOMPLETE],
    ['cut after two of three', [0xe2, 0x82], UTF8_INCOMPLETE],
    ['cut after three of four', [0xf0, 0x9f, 0x92], UTF8_INCOMPLETE],
  ])('%s', (_name, bytes, expected) => {
    expect(stepUtf8(Uint8Array.from(bytes), 0, bytes.length)).toBe(expected)
  })

  /** Every way to go on that makes some prefix whole. */
  const COMPLETIONS = [
    [0x80],
    [0xa0],
    [0x90],
    [0x80, 0x80],
    [0xa0, 0x80],
    [0x90, 0x80],
    [0x80, 0x80, 0x80],
    [0x90, 0x80, 0x80],
  ]

  function stepByDecoder(bytes: Uint8Array): number {
    const whole = [1, 2, 3, 4].find((n) => n <= bytes.length && isWellFormed(bytes.subarray(0, n)))
    if (whole !== undefined) return whole
    const completable = COMPLETIONS.some((more) => isWellFormed(Uint8Array.from([...bytes, ...more])))
    return completable ? UTF8_INCOMPLETE : UTF8_MALFORMED
  }

  test('agrees with a strict decoder on every prefix', () => {
    const bytes = fc.array(borderByte, { minLength: 1, maxLength: 5 }).map((list) => Uint8Array.from(list))
    fc.assert(
      fc.property(bytes, (list) => {
        expect(stepUtf8(list, 0, list.length)).toBe(stepByDecoder(list))
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('strings', () => {
  test('encode as the runtime does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect([...encodeUtf8(text)]).toEqual([...encoder.encode(text)])
      }),
    )
  })

  test.each(['\ud800', 'a\udc00', '\ud83d', '\ude00\ud83d'])('a lone surrogate is refused: %j', (text) => {
    expect(() => encodeUtf8(text)).toThrow(RangeError)
  })

  test('decode as the runtime does, malformed parts and byte order mark included', () => {
    fc.assert(
      fc.property(fc.oneof(borderBytes, fc.uint8Array({ maxLength: 40 })), (bytes) => {
        expect(decodeUtf8(bytes)).toBe(decoder.decode(bytes))
      }),
    )
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe('\ufeffA')
  })

  test('decode a part, and more than one call of the engine can take', () => {
    expect(decodeUtf8(encodeUtf8('aé€b'), 1, 6)).toBe('é€')
    const long = 'é😀'.repeat(100_000)
    expect(decodeUtf8(encodeUtf8(long))).toBe(long)
  })

  test('single code points go both ways', () => {
    for (const point of [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff]) {
      const bytes = new Uint8Array(5)
      const end = writeCodePoint(bytes, 1, point)
      expect([point, end - 1]).toEqual([point, codePointBytes(point)])
      expect([...bytes.subarray(1, end)]).toEqual([...encoder.encode(String.fromCodePoint(point))])
      expect(codePointAt(bytes, 1, end - 1)).toBe(point)
    }
  })
})
