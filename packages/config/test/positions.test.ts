import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { loadRules, locateFinding } from '../src/load.ts'

/** The source from the place on that octet `at` of the first rule's pattern is said to stand at. */
function sourceFrom(yaml: string, at: number): string {
  const { ruleLists } = loadRules(yaml, 'rules.yaml')
  const finding = { rule: 0, field: 'regex', at, message: '', hint: undefined }
  const { line, column } = locateFinding(ruleLists[0], finding, 'error').position
  return yaml
    .split('\n')
    .slice(line - 1)
    .join('\n')
    .slice(column - 1)
}

describe('an offset inside a pattern leads to its place in the file', () => {
  test.each([
    ['plain', '- regex: ab(c\n  with: x\n', 2, '(c'],
    ['plain over two lines', '- regex: ab\n    d(c\n  with: x\n', 4, '(c'],
    ['single quotes', "- regex: 'a''b(c'\n  with: x\n", 3, "(c'"],
    ['the quote itself', "- regex: 'a''b'\n  with: x\n", 1, "''b'"],
    ['double quotes', '- regex: "ab(c"\n  with: x\n', 2, '(c"'],
    ['escapes', '- regex: "\\\\d\\u00e9\\t\\x41(c"\n  with: x\n', 6, '(c"'],
    ['a folded double-quoted text', '- regex: "ab\n\n    d(c"\n  with: x\n', 4, '(c"'],
    ['a line that an escape joins', '- regex: "ab\\\n    d(c"\n  with: x\n', 3, '(c"'],
    ['characters of two and four octets', '- regex: é😀(c\n  with: x\n', 6, '(c'],
    ['a literal block', '- regex: |-\n    ab\n      d(c\n  with: x\n', 6, '(c'],
    ['a folded block', '- regex: >-\n    ab\n    d(c\n  with: x\n', 4, '(c'],
    ['a flow mapping', '[{regex: ab(c, with: x}]\n', 2, '(c'],
    ['an alias', '- {regex: &p ab(c, with: x}\n- {regex: *p, with: y}\n', 2, '(c'],
  ])('%s', (_name, yaml, at, expected) => {
    expect(sourceFrom(yaml, at).slice(0, expected.length)).toBe(expected)
  })

  test('the end of a pattern is behind its last character', () => {
    expect(sourceFrom('- regex: abc\n  with: x\n', 3)).toBe('\n  with: x\n')
  })
})

test('whatever way a pattern is written, an offset leads to its character', () => {
  const pattern = fc.string({
    unit: fc.constantFrom('a', 'b', '(', ' ', "'", '"', '\\', '\n', 'é', '😀', '#', ':'),
    minLength: 1,
  })
  const type = fc.constantFrom('PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED')
  fc.assert(
    fc.property(pattern, type, fc.constantFrom(0, 20, 80), (before, defaultStringType, lineWidth) => {
      const regex = `${before}§`
      const yaml = stringify([{ regex, with: 'x' }], { defaultStringType, defaultKeyType: 'PLAIN', lineWidth })
      const at = new TextEncoder().encode(before).length
      expect(sourceFrom(yaml, at).startsWith('§')).toBe(true)
    }),
    { numRuns: 150 },
  )
})

test('the position of something that is not there is that of what should hold it', () => {
  const { problems } = loadRules('- text: a\n- text: b\n', 'r.yaml')
  expect(problems.map(({ position, path }) => [position.line, position.column, path])).toEqual([
    [1, 3, '[0].with'],
    [2, 3, '[1].with'],
  ])
})
