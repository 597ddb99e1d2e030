import { describe, expect, test } from 'vitest'
import { Automaton } from '../src/automaton.ts'
import { beginningsByRule } from '../src/beginnings.ts'
import { parsePattern } from '../src/parse.ts'
import { buildPrefilter } from '../src/prefilter.ts'

const FLAGS = { i: false, m: false, s: false, x: false }

function prefilterOf(patterns: readonly string[], flags: Partial<typeof FLAGS> = {}) {
  const rules = patterns.map((pattern) => ({
    root: parsePattern(pattern, { mode: 'text', flags: { ...FLAGS, ...flags } }).root,
    mode: 'text' as const,
    hostEnd: false,
    usesSpan: false,
    usesGroups: false,
    max: Infinity,
  }))
  const automaton = new Automaton(rules, { priority: 'first', firedKeepsToken: false })
  return buildPrefilter(automaton.nullable ? [] : beginningsByRule(automaton.program, rules.length), automaton)
}

const words = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${(i * 7_919 + 1_000_000 * (i % 35)).toString(36)}x${i}\\.example`)

describe('the prefilter', () => {
  test.each<[string, readonly string[], string]>([
    ['one literal', ['www\\.example\\.org'], 'fingerprints'],
    ['a few', ['www\\.example\\.org', 'UA-[0-9]+', '<title>', '(?i:tracking)'], 'fingerprints'],
    ['dozens', words(101), 'shifts'],
    ['thousands', words(2_000), 'shifts'],
    ['one byte', ['@'], 'bytes'],
    ['any letter', ['[a-z]+'], 'none'],
    ['the empty string', ['a?'], 'none'],
    ['any letter of Unicode', ['\\p{L}+'], 'none'],
    [
      'many ways at the first byte',
      [`(?:${Array.from({ length: 90 }, (_, i) => `[${String.fromCodePoint(0x4e00 + i * 64)}]`).join('|')})x`],
      'fingerprints',
    ],
  ])('for %s', (_, patterns, kind) => {
    const prefilter = prefilterOf(patterns)
    expect([prefilter.kind, prefilter.reason]).toEqual([kind, expect.any(String)])
  })

  test('never leaves out a byte that a match can begin with', () => {
    const { firstBytes } = prefilterOf(['\\p{L}x', '[0-9]', '(?i:k)'])
    const first = [...'az09kK'].map((character) => character.charCodeAt(0))
    for (const byte of [...first, 0xc3, 0xe2, 0xf0]) expect(firstBytes[byte]).toBe(1)
    for (const byte of [0x20, 0x2d, 0x80, 0xff]) expect(firstBytes[byte]).toBe(0)
  })

  test('is chosen by the beginnings, not by their number alone', () => {
    // Sixty-five beginnings of one letter leave no window to move.
    const short = Array.from({ length: 70 }, (_, i) => String.fromCodePoint(0x30 + (i % 10), 0x41 + (i % 7)))
    expect(prefilterOf([...new Set(short)]).kind).not.toBe('shifts')
  })
})
