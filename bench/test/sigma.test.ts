import { Matcher } from '@prexy/sigma/matcher.hot'
import { readRuleFile, type SigmaDocument } from '@prexy/sigma/rule'
import { compileRules } from '@prexy/sigma/rule-set'
import { describe, expect, test } from 'vitest'
import { oneByOne } from '../src/sigma-one-by-one.ts'
import { sigmaEvents, sigmaRules } from '../src/sigma-rules.ts'

const RULES = 250

function documentsOf(kind: 'process' | 'web'): readonly SigmaDocument[] {
  const { documents, problems } = readRuleFile(sigmaRules(kind, RULES), 'rules')
  expect(problems).toEqual([])
  return documents
}

/** Literals of one rule, as written. */
function literals(rule: string): readonly string[] {
  return [...rule.slice(rule.indexOf('detection:')).matchAll(/'((?:[^']|'')*)'/g)].map((match) => match[1])
}

describe('generated rules', () => {
  test('are the same every time', () => {
    expect(sigmaRules('process', 20)).toBe(sigmaRules('process', 20))
    expect(sigmaRules('web', 20)).toBe(sigmaRules('web', 20))
  })

  test('have the statistics of the public ones', () => {
    const counts = sigmaRules('process', 3_000)
      .split('---\n')
      .map((rule) => literals(rule).length)
      .sort((a, b) => a - b)
    const all = sigmaRules('process', 3_000).split('---\n').flatMap(literals)
    expect(counts[1_500]).toBeGreaterThanOrEqual(4)
    expect(counts[1_500]).toBeLessThanOrEqual(6)
    expect(counts[2_700]).toBeGreaterThanOrEqual(14)
    expect(counts[2_700]).toBeLessThanOrEqual(24)
    expect(all.length / new Set(all).size).toBeGreaterThan(1.8)
  })

  test.each(['process', 'web'] as const)('%s: both evaluators find the same', (kind) => {
    const documents = documentsOf(kind)
    const peer = oneByOne(documents)
    const set = compileRules(documents, { placeholders: new Map() })
    expect(set.rules).toHaveLength(RULES)
    const matcher = new Matcher(set)
    let total = 0
    for (const event of sigmaEvents(kind, 120)) {
      let found = 0
      matcher.match(event, () => void found++)
      expect(found).toBe(peer(event))
      total += found
    }
    expect(total).toBeGreaterThan(0)
  })
})
