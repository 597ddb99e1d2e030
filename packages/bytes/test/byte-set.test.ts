import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addByteRange, addByteSet, byteSetOf, bytesIn, hasByte } from '../src/byte-set.ts'

test('holds exactly the bytes that were put in', () => {
  const byte = fc.integer({ min: 0, max: 255 })
  const range = fc.tuple(byte, byte).map(([a, b]) => [Math.min(a, b), Math.max(a, b)])
  fc.assert(
    fc.property(fc.array(range, { maxLength: 5 }), fc.array(range, { maxLength: 5 }), (ours, theirs) => {
      const expected = new Set<number>()
      for (const [low, high] of [...ours, ...theirs]) for (let b = low; b <= high; b++) expected.add(b)
      const set = byteSetOf(ours.flat())
      addByteSet(set, byteSetOf(theirs.flat()))
      expect(bytesIn(set)).toEqual([...expected].sort((a, b) => a - b))
      expect(Array.from({ length: 256 }, (_, b) => hasByte(set, b))).toEqual(
        Array.from({ length: 256 }, (_, b) => expected.has(b)),
      )
    }),
  )
})

test('the borders of the words belong to their own byte only', () => {
  const set = byteSetOf([31, 32, 63, 63])
  addByteRange(set, 255, 255)
  expect(bytesIn(set)).toEqual([31, 32, 63, 255])
})
