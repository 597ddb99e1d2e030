/**
 * The engine against bodies that were made against it. Steps are counted, so a failure here is the engine's on every
 * machine; how long the slowest take is `npm run bench -- engine-corpus`.
 */
import { DEFAULT_CACHE_LIMITS } from '@prexy/regex/tokenizer'
import type { RegexRule, Rule, TextRule } from '@prexy/rewrite/rules'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { describe, expect, test } from 'vitest'
import { ADVERSARIAL_CASES, type AdversarialCase } from '../src/adversarial.ts'
import { octetString } from '../src/compare.ts'
import { type StepCount, watch } from '../src/count-steps.ts'
import { drive } from '../src/drive.ts'
import { rewriteWhole } from '../src/reference.ts'
import { referenceOfRules } from '../src/rows.ts'
import { randomSplit } from '../src/splits.ts'

/** Small, so that bodies of some thousand bytes meet it. */
const MAX_HELD_BYTES = 500
const SHARE_BYTES = 2_000
const BODY_BYTES = 3_000
const CHUNK_BYTES = 700
const SHORT_BYTES = 90
/** The automaton's own limit. */
const MAX_ANALYSED_STATES = 4_000
const NO_CACHE = { tableBytes: 0, statesPerBody: 0 }

/** The case's own limit where it has one: it is part of the attack. */
function limited({ options }: AdversarialCase): AdversarialCase['options'] {
  return { ...options, maxHeldBytes: Math.min(options.maxHeldBytes ?? MAX_HELD_BYTES, MAX_HELD_BYTES) }
}

/** Everything that is done for a body: its bytes, the automaton's work or the kernel's threads, calls across the border. */
function stepsOf(count: StepCount, bytes: number, size: number): number {
  const steps = Math.max(count.automatonSteps, count.simulatedBytes)
  return bytes + count.kernelCalls + Math.max(count.threadVisits, size * steps)
}

function isPlain(rule: Rule): rule is TextRule | RegexRule {
  return ('text' in rule && rule.keepCase !== true) || ('regex' in rule && !rule.with.includes('|'))
}

test('the corpus has at least sixty rule sets, each called differently', () => {
  expect(ADVERSARIAL_CASES.length).toBeGreaterThanOrEqual(60)
  expect(new Set(ADVERSARIAL_CASES.map(({ name }) => name)).size).toBe(ADVERSARIAL_CASES.length)
})

describe.each(ADVERSARIAL_CASES)('$name', (attack) => {
  const { rules, options, body } = attack

  test.each([
    ['', DEFAULT_CACHE_LIMITS],
    [' without a cache', NO_CACHE],
  ])('costs so many steps a byte%s, the last ones no more than others', (_, cacheLimits) => {
    const [first, second, third] = [1, 2, 3].map((share) => {
      const bytes = share * SHARE_BYTES
      const watched = watch(rules, limited(attack), cacheLimits)
      const count = watched.run(body(bytes), CHUNK_BYTES)
      const { automaton } = watched.tokenizer
      const size = automaton.program.instructions.length + rules.length
      // One a byte, one each where a name ends or an overflow was, and one more for each limited rule that may be spent.
      expect(count.automatonSteps).toBeLessThan(4 * bytes + 16)
      expect(count.simulatedBytes).toBeLessThanOrEqual(bytes)
      expect(count.analysisSteps).toBeLessThanOrEqual(MAX_ANALYSED_STATES * (automaton.classCount + 1))
      // A state has a thread at most once, of each instruction and of what waits behind it.
      expect(count.threadVisits).toBeLessThanOrEqual(4 * size * count.automatonSteps)
      // A group is named twice at most, where it begins and where it is kept, and a match takes five numbers.
      expect(count.longestRecord).toBeLessThanOrEqual(16 * (size + 1))
      expect(count.statesBuilt).toBeLessThanOrEqual(bytes + 2)
      expect(count.cacheFlushes).toBe(0)
      return stepsOf(count, bytes, size)
    })
    // Cheaper where states are met again; dearer once, where they turn out not to be. Quadratic steps would be 1, 3, 5.
    expect(third - second).toBeLessThanOrEqual(1.25 * Math.max(first, second - first))
  })

  test('is cut into chunks without a difference, holds what it may and not more', () => {
    const bytes = body(BODY_BYTES / 2)
    const settings = limited(attack)
    const watched = watch(rules, settings)
    // With compat: nginx the limit is looked at where a write ends.
    const sizes = options.compat === 'nginx' ? [CHUNK_BYTES] : [bytes.length, CHUNK_BYTES, 61, 1]
    const counts = sizes.map((size) => watched.run(bytes, size))
    for (const { output, hits, overflows, mostHeld } of counts) {
      expect(hits).toEqual(counts[0].hits)
      expect(overflows).toBe(counts[0].overflows)
      expect(Buffer.compare(output, counts[0].output)).toBe(0)
      expect(mostHeld).toBeLessThanOrEqual(settings.maxHeldBytes ?? 0)
    }
  })

  if (rules.every(isPlain)) {
    test('gives the output of the reference', () => {
      const { maxHeldBytes: _, ...unlimited } = options
      const short = [...body(SHORT_BYTES)]
      const mode = options.compat === 'nginx' ? ({ mode: 'octet' } as const) : {}
      const wanted = rewriteWhole(referenceOfRules(rules, { ...mode, ...unlimited }), short)
      const got = drive(compileRuleSet(rules, unlimited), short, randomSplit(short.length, 3))
      expect(octetString(got.output)).toBe(octetString(wanted.output))
      expect(got.hits).toEqual(wanted.hits)
    })
  }
})
