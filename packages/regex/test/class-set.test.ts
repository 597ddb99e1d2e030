import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CodePointRanges } from '../src/ast.ts'
import { canonicalRanges, negateRanges, subtractRanges, unionRanges } from '../src/class-set.ts'
import { rangesContain } from './ranges-contain.ts'

const ALL_OCTETS = Array.from({ length: 256 }, (_, byte) => byte)

const octet = fc.integer({ min: 0, max: 255 })
const flat = fc
  .array(
    fc.tuple(octet, fc.integer({ min: 0, max: 12 })).map(([low, more]) => [low, Math.min(low + more, 255)]),
    { maxLength: 8 },
  )
  .map((pairs) => pairs.flat())

function membersOf(ranges: readonly number[]): Set<number> {
  const members = new Set<number>()
  for (let i = 0; i < ranges.length; i += 2) for (let b = ranges[i]; b <= ranges[i + 1]; b++) members.add(b)
  return members
}

function isCanonical(ranges: CodePointRanges): boolean {
  return ranges.every((bound, i) => (i % 2 === 1 ? ranges[i - 1] <= bound : i === 0 || bound > ranges[i - 1] + 1))
}

test('the algebra of ranges is the algebra of sets, in canonical form', () => {
  fc.assert(
    fc.property(flat, flat, (left, right) => {
      const a = canonicalRanges(left)
      const b = canonicalRanges(right)
      const inA = membersOf(left)
      const inB = membersOf(right)
      const results: [CodePointRanges, (byte: number) => boolean][] = [
        [a, (byte) => inA.has(byte)],
        [unionRanges(a, b), (byte) => inA.has(byte) || inB.has(byte)],
        [subtractRanges(a, b), (byte) => inA.has(byte) && !inB.has(byte)],
        [negateRanges(a, 'octet'), (byte) => !inA.has(byte)],
      ]
      for (const [ranges, expected] of results) {
        expect(isCanonical(ranges)).toBe(true)
        const wrong = ALL_OCTETS.filter((byte) => rangesContain(ranges, byte) !== expected(byte))
        expect(wrong).toEqual([])
      }
    }),
  )
})

test('the complement in text mode has no surrogates', () => {
  expect(negateRanges([0x0a, 0x0a], 'text')).toEqual([0, 0x09, 0x0b, 0xd7ff, 0xe000, 0x10ffff])
  expect(negateRanges([0, 0xd7ff, 0xe000, 0x10ffff], 'text')).toEqual([])
  expect(negateRanges([], 'octet')).toEqual([0, 0xff])
})
