import { parsePattern } from '@prexy/regex/parse'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Recognizer } from '../src/recognizer.ts'
import { requiredLiteral } from '../src/required-literal.ts'
import { foldCase } from '../src/fold.ts'

function recognizer(source: string, flags = ''): Recognizer {
  const [i, m, s] = [...'ims'].map((flag) => flags.includes(flag))
  return new Recognizer(parsePattern(source, { mode: 'text', flags: { i, m, s, x: false } }))
}

const atom = fc.constantFrom(
  'a',
  'b',
  'é',
  '.',
  '[ab]',
  '[^a]',
  '\\w',
  '\\s',
  '^',
  '\\b',
  '\\B',
  '\\n',
  '😀',
  '(?:ab|c)',
  '(a|)',
  '\\.',
)
const quantified = fc.tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '+?')).map(([own, count]) => {
  return /^(?:\^|\\b|\\B)$/.test(own) ? own : own + count
})
const concat = fc.array(quantified, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''))
const source = fc.array(concat, { minLength: 1, maxLength: 3 }).map((branches) => branches.join('|'))
const value = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '😀', '\n', ' ', '.', '_', 'A'), maxLength: 12 })

test('patterns by chance: the same answers as those of RegExp', () => {
  fc.assert(
    fc.property(
      source,
      fc.constantFrom('', 'i', 's', 'is'),
      fc.array(value, { minLength: 1, maxLength: 6 }),
      (pattern, flags, values) => {
        const own = recognizer(pattern, flags)
        // Words are ASCII here; with `u` and `i` those of RegExp are not.
        const theirs = new RegExp(pattern, `${flags}u`)
        // V8 finds \B between the halves of a pair.
        const texts = values.filter((text) => !(pattern.includes('\\B') && text.includes('😀')))
        expect(texts.map((text) => [text, own.test(text)])).toEqual(texts.map((text) => [text, theirs.test(text)]))
      },
    ),
    { numRuns: 400 },
  )
})

test('the required literal stands in every match', () => {
  fc.assert(
    fc.property(
      source,
      fc.constantFrom('', 'i'),
      fc.array(value, { minLength: 1, maxLength: 8 }),
      (pattern, flags, values) => {
        const parsed = parsePattern(pattern, {
          mode: 'text',
          flags: { i: flags === 'i', m: false, s: false, x: false },
        })
        const literal = requiredLiteral(parsed.root)
        const own = new Recognizer(parsed)
        for (const text of values) if (own.test(text)) expect(foldCase(text)).toContain(literal)
      },
    ),
    { numRuns: 400 },
  )
})

test.each([
  ['abc', '', 'abc'],
  ['a.cde', '', 'cde'],
  ['(?:abc)+d', '', 'abcd'],
  ['\\\\ProgramData\\\\[^\\\\]+\\.exe', '', '\\programdata\\'],
  ['ab|ab', '', 'ab'],
  ['ab|cd', '', ''],
  ['(?:ipfs\\.io/|ipfs\\.io\\s).+@', 'i', 'ipfs.io'],
  ['ipfx(?:a|b)|ipfx', '', 'ipfx'],
  ['xabc|yabc|zabc', '', 'abc'],
  ['[kK]', '', 'k'],
  ['abc?', '', 'ab'],
  ['FROM', 'i', 'from'],
  ['x*', '', ''],
])('%s/%s needs "%s"', (pattern, flags, expected) => {
  const parsed = parsePattern(pattern, { mode: 'text', flags: { i: flags === 'i', m: false, s: false, x: false } })
  expect(requiredLiteral(parsed.root)).toBe(expected)
})

describe('places', () => {
  test.each([
    ['a$', '', 'a\n', true],
    ['a$', '', 'a\n\n', false],
    ['a$', 'm', 'a\nb', true],
    ['a\\z', '', 'a\n', false],
    ['^b', '', 'a\nb', false],
    ['^b', 'm', 'a\nb', true],
    ['^', 'm', '', true],
    ['\\n^$', 'm', 'a\n', false],
    ['$\\n', '', 'a\n', true],
    ['\\B', '', '_é_', false],
    ['\\B', '', '_éé_', true],
    ['\\B', '', '_😀_', false],
  ])('%s/%s in %j: %s', (pattern, flags, text, expected) => {
    expect(recognizer(pattern, flags).test(text)).toBe(expected)
  })
})

test('a pattern that ruins backtracking costs a step a character', () => {
  const own = recognizer('(a*)*(a*)*(a|aa)+$')
  const text = `${'a'.repeat(200_000)}b`
  expect(own.test(text)).toBe(false)
})

test('a pattern with many states stays within its bound', () => {
  const own = recognizer('a.{12}b')
  const text = Array.from({ length: 20_000 }, (_, n) => ((n * 2654435761) & 4096 ? 'a' : 'x')).join('')
  expect(own.test(text)).toBe(false)
  expect(own.test(`${text}a123456789012b`)).toBe(true)
})
