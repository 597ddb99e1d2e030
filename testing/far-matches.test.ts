/**
 * Matches far from each other: beyond some hundred bytes the kernel looks at one place in four only. V8's RegExp is the
 * oracle: the leftmost match, of those the first rule's.
 */
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { itHolds } from './src/properties.ts'
import { randomSplit } from './src/splits.ts'

interface FarRule {
  readonly pattern: string
  readonly isCaseless: boolean
  /** Texts that it matches. */
  readonly texts: readonly string[]
}

const RULES: readonly FarRule[] = [
  { pattern: 'www\\.example\\.org', isCaseless: false, texts: ['www.example.org'] },
  { pattern: 'static\\.example\\.net', isCaseless: true, texts: ['static.example.net', 'STATIC.Example.Net'] },
  { pattern: 'UA-[0-9]+-[0-9]+', isCaseless: false, texts: ['UA-1-1', 'UA-12345-7'] },
  { pattern: '<title>[^<]*</title>', isCaseless: false, texts: ['<title></title>', '<title>A page</title>'] },
  { pattern: 'tracking', isCaseless: true, texts: ['tracking', 'Tracking'] },
  { pattern: 'G-[A-Z0-9]{10}', isCaseless: false, texts: ['G-1A2B3C4D5E'] },
  { pattern: 'key', isCaseless: false, texts: ['key'] },
  { pattern: '/(?:img|css)/v[12]/', isCaseless: false, texts: ['/img/v1/', '/css/v2/'] },
  { pattern: 'Ab', isCaseless: false, texts: ['Ab'] },
  { pattern: 'gr[a-f]y\\.\\d\\d', isCaseless: false, texts: ['gray.07', 'grey.12'] },
]

const TEXTS = RULES.flatMap(({ texts }) => texts)

const piece = fc.oneof(
  // Nothing of a rule in it, for longer than places are looked at one by one.
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 900 }).map((size) => '~'.repeat(size)) },
  // Beginnings, middles and ends of what rules match.
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom(...TEXTS), fc.nat({ max: 18 }), fc.nat({ max: 18 }))
      .map(([text, from, length]) => text.slice(from, from + length)),
  },
  { weight: 2, arbitrary: fc.constantFrom(...TEXTS) },
)

function expected(body: string, rules: readonly FarRule[]): string {
  const fold = ({ pattern, isCaseless }: FarRule): string =>
    isCaseless ? pattern.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`) : pattern
  const anyRule = new RegExp(rules.map((rule) => `(${fold(rule)})`).join('|'), 'g')
  return body.replace(anyRule, (...groups) => `{${rules.findIndex((_, index) => groups[index + 1] !== undefined)}}`)
}

function compiled(rules: readonly FarRule[]): RuleSet {
  return compileRuleSet(
    rules.map(({ pattern, isCaseless }, index) => ({
      regex: pattern,
      with: `{${index}}`,
      ...(isCaseless ? { flags: 'i' } : {}),
    })),
  )
}

function rewritten(set: RuleSet, body: string, sizes: readonly number[]): string {
  const parts: string[] = []
  const rewriter = set.createRewriter({
    write: (chunk) => {
      parts.push(Buffer.from(chunk).toString('latin1'))
      return true
    },
  })
  const bytes = Buffer.from(body, 'latin1')
  let at = 0
  for (const size of sizes) rewriter.write(bytes.subarray(at, (at += size)))
  rewriter.end()
  return parts.join('')
}

describe('matches far from each other', () => {
  test('are found at every distance from the last one', () => {
    const rules = RULES.slice(0, 5)
    const set = compiled(rules)
    for (const text of rules.flatMap(({ texts }) => texts)) {
      for (let distance = 500; distance < 720; distance++) {
        const body = `${'~'.repeat(distance)}${text}${'~'.repeat(300)}`
        expect(rewritten(set, body, [body.length]), `${text} after ${distance}`).toBe(expected(body, rules))
      }
    }
  })

  itHolds(
    'are found as RegExp finds them, however the body is cut',
    fc.record({
      rules: fc.subarray([...RULES], { minLength: 1, maxLength: 8 }),
      pieces: fc.array(piece, { minLength: 1, maxLength: 30, size: 'max' }),
      seed: fc.nat({ max: 1_000 }),
    }),
    200,
    ({ rules, pieces, seed }) => {
      const body = pieces.join('')
      const wanted = expected(body, rules)
      const set = compiled(rules)
      expect(rewritten(set, body, [body.length])).toBe(wanted)
      expect(rewritten(set, body, randomSplit(body.length, seed))).toBe(wanted)
    },
  )
})
