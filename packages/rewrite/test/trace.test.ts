import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileRuleSet } from '../src/rule-set.ts'
import type { Rule } from '../src/rules.ts'
import { traceBody } from '../src/trace.ts'
import { rewriteBytes } from './every-split.ts'

const RULE_SETS: readonly (readonly [rules: readonly Rule[], compat?: 'nginx'])[] = [
  [
    [
      { text: 'abce', with: 'X' },
      { text: 'b', with: 'X' },
      { regex: 'ab*c', with: 'X' },
    ],
  ],
  [
    [
      { regex: 'a*', with: 'X' },
      { regex: 'b|$', with: 'X' },
    ],
  ],
  [
    [
      { regex: '\\bab?\\b', with: 'X', max: 2 },
      { regex: '[^a]a$', with: 'X' },
      { text: 'b', with: 'X', once: true },
    ],
  ],
  [
    [
      { regex: '(?m)^a|b$', with: 'X', max: 3 },
      { regex: '\\s*$', with: 'X' },
    ],
  ],
  [
    [
      { regex: 'a+?(b|é)', with: 'X' },
      { regex: '.{0,2}c', with: 'X', max: 2 },
    ],
  ],
  [
    [
      { regex: 'a', with: 'X', once: true },
      { regex: 'ab|é?', with: 'X' },
    ],
    'nginx',
  ],
]

test.each(RULE_SETS.map(([rules, compat]) => ({ rules, compat })))(
  '$rules: what the trace settles is what the rewriter replaced',
  ({ rules, compat }) => {
    for (const priority of ['first', 'longest'] as const) {
      const set = compileRuleSet(rules, compat === undefined ? { priority } : { priority, compat })
      const piece = fc.constantFrom('a', 'b', 'c', 'e', ' ', '\n', 'é', '\ufeff')
      fc.assert(
        fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
          const body = encodeUtf8(pieces.join(''))
          const { rows, matches } = traceBody(set, body)
          let expected = ''
          let at = 0
          for (const { start, end, isKept } of matches) {
            expected +=
              decodeOctets(body.subarray(at, start)) + (isKept ? decodeOctets(body.subarray(start, end)) : 'X')
            at = end
          }
          expected += decodeOctets(body.subarray(at))
          expect(decodeOctets(rewriteBytes(set, body))).toBe(expected)
          expect(rows.flatMap(({ output }) => [...output])).toEqual([...rewriteBytes(set, body)])
          expect(rows.length).toBe(body.length + 2)
        }),
        { numRuns: 60 },
      )
    }
  },
)

/** Octets one by one: an empty match may stand inside what only octet mode takes for several characters. */
function decodeOctets(octets: Uint8Array): string {
  return Array.from(octets, (octet) => String.fromCharCode(octet)).join('')
}

test('a body of UTF-8 stays one', () => {
  const set = compileRuleSet([{ regex: 'é', with: 'ü' }])
  const { rows } = traceBody(set, encodeUtf8('éa'))
  expect(decodeUtf8(Uint8Array.from(rows.flatMap(({ output }) => [...output])))).toBe('üa')
  expect(rows.map(({ heldBytes }) => heldBytes)).toEqual([0, 1, 0, 0, 0])
})
