import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Utf8Sequence, utf8Sequences } from '../src/utf8-ranges.ts'

const encoder = new TextEncoder()

function show(sequences: readonly Utf8Sequence[]): string[] {
  const byte = (value: number): string => value.toString(16).toUpperCase().padStart(2, '0')
  return sequences.map((sequence) =>
    sequence.map(([low, high]) => (low === high ? byte(low) : `${byte(low)}-${byte(high)}`)).join(' '),
  )
}

function matches(sequences: readonly Utf8Sequence[], point: number): boolean {
  const bytes = encoder.encode(String.fromCodePoint(point))
  const hits = sequences.filter(
    (sequence) =>
      sequence.length === bytes.length && sequence.every(([low, high], i) => low <= bytes[i] && bytes[i] <= high),
  )
  expect(hits.length).toBeLessThan(2)
  return hits.length === 1
}

describe('byte sequences of a code point range', () => {
  test.each<[string, number, number, string[]]>([
    ['ASCII', 0, 0x7f, ['00-7F']],
    ['one character', 0x20ac, 0x20ac, ['E2 82 AC']],
    [
      'everything, as in RFC 3629 §4',
      0,
      0x10ffff,
      [
        '00-7F',
        'C2-DF 80-BF',
        'E0 A0-BF 80-BF',
        'E1-EC 80-BF 80-BF',
        'ED 80-9F 80-BF',
        'EE-EF 80-BF 80-BF',
        'F0 90-BF 80-BF 80-BF',
        'F1-F3 80-BF 80-BF 80-BF',
        'F4 80-8F 80-BF 80-BF',
      ],
    ],
    ['across the surrogates', 0xd7fe, 0xe001, ['ED 9F BE-BF', 'EE 80 80-81']],
    ['surrogates only', 0xd800, 0xdfff, []],
    ['partial blocks at both ends', 0x85, 0x141, ['C2 85-BF', 'C3-C4 80-BF', 'C5 80-81']],
    ['inside one block', 0x391, 0x3a9, ['CE 91-A9']],
  ])('%s', (_name, low, high, expected) => {
    expect(show(utf8Sequences(low, high))).toEqual(expected)
  })

  const border = fc.constantFrom(
    0,
    0x7f,
    0x80,
    0x7ff,
    0x800,
    0xfff,
    0x1000,
    0xcfff,
    0xd000,
    0xd7ff,
    0xe000,
    0xffff,
    0x10000,
    0x3ffff,
    0x40000,
    0xfffff,
    0x100000,
    0x10ffff,
  )
  const point = fc.oneof(
    fc.integer({ min: 0, max: 0x10ffff }),
    fc.tuple(border, fc.integer({ min: -66, max: 66 })).map(([near, by]) => Math.min(Math.max(near + by, 0), 0x10ffff)),
  )

  test('match exactly the range, ascending, each character once, in at most eleven sequences', () => {
    fc.assert(
      fc.property(point, point, fc.array(point, { maxLength: 20 }), (a, b, others) => {
        const low = Math.min(a, b)
        const high = Math.max(a, b)
        const sequences = utf8Sequences(low, high)
        expect(sequences.length).toBeLessThanOrEqual(11)
        const firsts = sequences.map((sequence) => String.fromCharCode(...sequence.map(([first]) => first)))
        expect(firsts).toEqual([...firsts].sort())
        for (const probe of [low - 1, low, low + 1, high - 1, high, high + 1, ...others]) {
          if (probe < 0 || probe > 0x10ffff || (probe >= 0xd800 && probe <= 0xdfff)) continue
          expect([probe, matches(sequences, probe)]).toEqual([probe, probe >= low && probe <= high])
        }
        const surrogates = Math.max(0, Math.min(high, 0xdfff) - Math.max(low, 0xd800) + 1)
        const product = (sequence: Utf8Sequence): number =>
          sequence.reduce((all, [from, to]) => all * (to - from + 1), 1)
        expect(sequences.reduce((sum, sequence) => sum + product(sequence), 0)).toBe(high - low + 1 - surrogates)
      }),
    )
  })
})
