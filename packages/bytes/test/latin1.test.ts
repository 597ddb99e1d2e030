import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeLatin1, encodeLatin1 } from '../src/latin1.ts'

test('every byte string survives the way to text and back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const text = decodeLatin1(bytes)
      expect(text.length).toBe(bytes.length)
      expect(encodeLatin1(text)).toEqual(bytes)
    }),
  )
})

test('a body of a megabyte fits, and a part of it', () => {
  const bytes = Uint8Array.from({ length: 1_000_000 }, (_, i) => i & 0xff)
  const back = encodeLatin1(decodeLatin1(bytes))
  expect(back.length).toBe(bytes.length)
  expect(back.findIndex((byte, i) => byte !== bytes[i])).toBe(-1)
  expect(decodeLatin1(bytes, 0x41, 0x44)).toBe('ABC')
})

test('a character beyond U+00FF is refused with its index', () => {
  expect(() => encodeLatin1('aĀ')).toThrow(new RangeError('character beyond U+00FF at index 1'))
})
