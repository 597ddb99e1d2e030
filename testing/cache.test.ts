/** The cache that bodies of a rule set share bounds memory and decides nothing; nor does how groups are found. */
import { findCaptures, compileCaptures } from '@prexy/regex/captures'
import { parsePattern } from '@prexy/regex/parse'
import { MAX_TABLE_BYTES, Tokenizer } from '@prexy/regex/tokenizer'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BROKEN_TEXT,
  LETTERS,
  OCTETS,
  patternTree,
  printPattern,
  rewriteCase,
  toOptions,
  toReference,
  toRule,
} from './src/arbitraries.ts'
import { outputComparison } from './src/compare.ts'
import { itHolds } from './src/properties.ts'
import { randomSplit } from './src/splits.ts'

describe('a cache that is always full', () => {
  const limits = fc.record({
    tableBytes: fc.integer({ min: 0, max: 4_000 }),
    statesPerBody: fc.integer({ min: 0, max: 60 }),
  })
  for (const [name, palette] of [
    ['overlapping letters', LETTERS],
    ['octets with assertions', OCTETS],
    ['text with broken characters', BROKEN_TEXT],
  ] as const) {
    itHolds(
      `gives the reference's output for ${name}`,
      fc.record({ made: rewriteCase({ palette, maxRules: 3, maxPieces: 30 }), cacheLimits: limits }),
      120,
      ({ made, cacheLimits }) => {
        const rules = made.rules.map(toRule)
        const options = toOptions(made)
        const compare = outputComparison({
          reference: toReference(made),
          ruleSet: compileRuleSet(rules, options, cacheLimits),
          body: made.body,
          row: { name: `cache ${JSON.stringify(cacheLimits)}`, rules, options },
        })
        compare([made.body.length])
        compare(made.body.map(() => 1))
        compare(randomSplit(made.body.length, 3), 5)
      },
    )
  }

  it('is not started over by one body alone', () => {
    const source = {
      root: parsePattern('(a|b)*a(a|b){12}c', { mode: 'octet', flags: NO_FLAGS }).root,
      mode: 'octet',
      hostEnd: false,
    } as const
    const tokenizer = new Tokenizer(
      [{ ...source, usesSpan: false, usesGroups: false, max: Infinity, replacement: new Uint8Array(0) }],
      { priority: 'first', nginx: false, maxHeldBytes: 1_000_000, overflow: 'skip' },
      { tableBytes: 20_000, statesPerBody: 100 },
    )
    let out = 0
    const stream = tokenizer.open({
      output(chunk) {
        out += chunk.length
        return true
      },
      replace: () => new Uint8Array(0),
    })
    let bits = 1
    const body = Uint8Array.from({ length: 20_000 }, () => {
      bits = (bits * 1_103_515_245 + 12_345) & 0x7fffffff
      return 0x61 + ((bits >> 16) & 1)
    })
    stream.write(body)
    stream.end()
    expect(out).toBe(body.length)
    expect(tokenizer.cacheFlushes).toBe(0)
    // What it added before the cache was full: rows take at least 32 bytes each.
    expect(tokenizer.statesBuilt).toBeLessThan(20_000 / 32)
    expect(tokenizer.cachedStates).toBe(tokenizer.statesBuilt)
  })
})

describe('memory', () => {
  it('goes on behind a window that ends where a page does', () => {
    // Text is copied in whole vectors: those that begin in the last bytes of the window end behind it.
    const root = parsePattern('x[^y]*y', { mode: 'octet', flags: NO_FLAGS }).root
    const rule = { root, mode: 'octet', hostEnd: false, usesSpan: true, usesGroups: false, max: Infinity } as const
    const page = 65_536
    const tokenizer = new Tokenizer([{ ...rule, replacement: undefined }], {
      priority: 'first',
      nginx: false,
      maxHeldBytes: 1_000_000,
      overflow: 'skip',
    })
    const stream = tokenizer.open({ output: () => true, replace: ({ text }) => text.slice() })
    const piece = new Uint8Array(page).fill(0x61)
    stream.write(Uint8Array.of(0x78, ...piece.subarray(1)))
    // The next window is five pages: what was made before it ends with a page.
    const used = tokenizer.allocate(0)
    tokenizer.allocate(page - (used % page))
    for (let written = 1; written < 4; written += 1) stream.write(piece)
    expect(tokenizer.windowCapacity).toBe(5 * page)
    expect((tokenizer.windowBase + tokenizer.windowCapacity) % page).toBe(0)
    piece[page - 6] = 0x79
    stream.write(piece)
    expect(stream.end()).toBe(true)
  })
})

describe('threads that are stepped without states', () => {
  const made = rewriteCase({ palette: LETTERS, maxRules: 4, maxPieces: 60 }).map((each) => ({
    ...each,
    priority: 'first' as const,
    compat: undefined,
    rules: each.rules.map((rule) => ({ ...rule, max: Infinity, between: undefined })),
  }))
  itHolds(
    'hold and give the same bytes at every moment as states do',
    fc.record({ made, maxHeldBytes: fc.integer({ min: 4, max: 40 }), seed: fc.nat({ max: 1_000 }) }),
    250,
    ({ made: { body, rules, ...rest }, maxHeldBytes, seed }) => {
      const trace = (statesPerBody: number): unknown[] => {
        const set = compileRuleSet(
          rules.map(toRule),
          { ...toOptions({ ...rest }), maxHeldBytes },
          { tableBytes: MAX_TABLE_BYTES, statesPerBody },
        )
        const seen: unknown[] = []
        const rewriter = set.createRewriter({ write: (chunk) => seen.push([...chunk]) > 0 })
        let at = 0
        for (const size of randomSplit(body.length, seed)) {
          rewriter.write(Uint8Array.from(body.slice(at, at + size)))
          at += size
          seen.push(rewriter.heldBytes)
        }
        rewriter.end()
        return [...seen, [...rewriter.hits], rewriter.overflows]
      }
      expect(trace(0)).toEqual(trace(1_000))
    },
  )
})

const NO_FLAGS = { i: false, m: false, s: false, x: false }

describe('groups', () => {
  itHolds(
    'lie where the simulation of all ways finds them',
    fc.record({
      tree: patternTree(OCTETS),
      text: fc.array(fc.constantFrom(0x61, 0x62, 0x0a, 0x20), { maxLength: 30 }),
    }),
    300,
    ({ tree, text }) => {
      const parsed = parsePattern(printPattern(tree), { mode: 'octet', flags: NO_FLAGS })
      const source = { root: parsed.root, mode: 'octet', hostEnd: false } as const
      const captures = compileCaptures(source, parsed.groupCount)
      const tokenizer = new Tokenizer(
        [{ ...source, usesSpan: true, usesGroups: true, max: Infinity, replacement: undefined }],
        {
          priority: 'first',
          nginx: false,
          maxHeldBytes: 1_000,
          overflow: 'skip',
        },
      )
      const stream = tokenizer.open({
        output: () => true,
        replace(match) {
          expect([...findCaptures(captures, match.text, match)]).toEqual([
            ...findCaptures(captures, match.text, match, 0),
          ])
          return match.text
        },
      })
      stream.write(Uint8Array.from(text))
      stream.end()
    },
  )
})
