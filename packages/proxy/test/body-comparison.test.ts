import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyComparison, type BodyVerdict, COMPARED_BLOCK_BYTES, MAX_KEPT_BLOCKS } from '../src/body-comparison.ts'

type Step = readonly ['ours' | 'theirs', Uint8Array | 'end']

function compared(steps: readonly Step[], maxBytes = Number.POSITIVE_INFINITY): BodyVerdict | undefined {
  const comparison = new BodyComparison(maxBytes)
  for (const [side, piece] of steps) {
    if (piece === 'end') comparison.end(side)
    else comparison.push(side, piece)
  }
  return comparison.verdict
}

const octets = (text: string): Uint8Array => new TextEncoder().encode(text)

function around(verdict: BodyVerdict | undefined): readonly string[] {
  if (verdict === undefined || verdict.isSame) return []
  return [verdict.ours, verdict.theirs].map((one) => (one === undefined ? 'unknown' : Buffer.from(one).toString()))
}

describe('two bodies', () => {
  it('that are the same are so once both have ended', () => {
    expect(
      compared([
        ['ours', octets('abc')],
        ['theirs', octets('abc')],
        ['ours', 'end'],
      ]),
    ).toBeUndefined()
    expect(
      compared([
        ['ours', octets('abc')],
        ['ours', 'end'],
        ['theirs', octets('abc')],
        ['theirs', 'end'],
      ]),
    ).toEqual({
      isSame: true,
      isWhole: true,
    })
  })

  it('are the same when both are empty', () => {
    expect(
      compared([
        ['ours', 'end'],
        ['theirs', 'end'],
      ]),
    ).toEqual({ isSame: true, isWhole: true })
  })

  it.each([
    ['ours is longer', 'abcdef', 'abc', 3],
    ['theirs is longer', 'abc', 'abcdef', 3],
    ['ours is empty', '', 'abc', 0],
    ['an octet differs', 'abXdef', 'abYdef', 2],
    ['the last octet differs', 'abcd', 'abcX', 3],
  ])('where %s, the place and what stands there are told', (_name, ours, theirs, at) => {
    const verdict = compared([
      ['theirs', octets(theirs)],
      ['theirs', 'end'],
      ['ours', octets(ours)],
      ['ours', 'end'],
    ])
    expect(verdict).toMatchObject({ isSame: false, at, isExact: true })
    expect(around(verdict)).toEqual([ours, theirs])
  })

  it('of any length, cut and mixed anyhow, differ where they do', () => {
    const body = fc.integer({ min: 0, max: 3 * COMPARED_BLOCK_BYTES })
    const property = fc.property(
      body,
      fc.option(fc.nat(), { nil: undefined }),
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: COMPARED_BLOCK_BYTES })), { maxLength: 30 }),
      (length, wrongAt, cuts) => {
        const ours = Uint8Array.from({ length }, (_, at) => (at * 31) >> 3)
        const theirs = ours.slice()
        const wrong = wrongAt === undefined || length === 0 ? undefined : wrongAt % length
        if (wrong !== undefined) theirs[wrong] ^= 1
        const comparison = new BodyComparison(Number.POSITIVE_INFINITY)
        const sides = { ours, theirs }
        const at = { ours: 0, theirs: 0 }
        for (const [isOurs, bytes] of cuts) {
          const side = isOurs ? 'ours' : 'theirs'
          comparison.push(side, sides[side].subarray(at[side], at[side] + bytes))
          at[side] += bytes
        }
        for (const side of ['ours', 'theirs'] as const) {
          comparison.push(side, sides[side].subarray(at[side]))
          comparison.end(side)
        }
        if (wrong === undefined) expect(comparison.verdict).toEqual({ isSame: true, isWhole: true })
        else expect(comparison.verdict).toMatchObject({ isSame: false, at: wrong, isExact: true })
      },
    )
    fc.assert(property, { numRuns: 200, seed: 41 })
  })

  it('of which one is far ahead are told apart to the block', () => {
    const length = (MAX_KEPT_BLOCKS + 4) * COMPARED_BLOCK_BYTES
    const ours = new Uint8Array(length).fill(0x61)
    const theirs = ours.slice()
    const steps = (): readonly Step[] => [
      ['ours', ours],
      ['ours', 'end'],
      ['theirs', theirs],
      ['theirs', 'end'],
    ]
    expect(compared(steps())).toEqual({ isSame: true, isWhole: true })
    theirs[length - 5] = 0x62
    const verdict = compared(steps())
    expect(verdict).toMatchObject({ isSame: false, at: length - COMPARED_BLOCK_BYTES, isExact: false })
    expect(around(verdict)[0]).toBe('unknown')
  })

  it('are compared up to a limit', () => {
    const body = new Uint8Array(2 * COMPARED_BLOCK_BYTES)
    expect(
      compared(
        [
          ['ours', body],
          ['theirs', body],
        ],
        COMPARED_BLOCK_BYTES + 1,
      ),
    ).toEqual({
      isSame: true,
      isWhole: false,
    })
  })
})
