import { describe, expect, test } from 'vitest'
import type { Node } from '../src/ast.ts'
import { type ParseOptions, parsePattern } from '../src/parse.ts'
import { treeText } from './tree-text.ts'

const NO_FLAGS = { i: false, m: false, s: false, x: false }
const TEXT: ParseOptions = { mode: 'text', flags: NO_FLAGS }
const OCTET: ParseOptions = { mode: 'octet', flags: NO_FLAGS }
const NGINX: ParseOptions = { mode: 'octet', compat: 'nginx', flags: { ...NO_FLAGS, m: true, s: true } }

type Flags = Partial<ParseOptions['flags']>

function tree(pattern: string, options: ParseOptions, flags: Flags = {}): string {
  return treeText(parsePattern(pattern, { ...options, flags: { ...options.flags, ...flags } }).root)
}

const NOT_NEWLINE_TEXT = '[00-09 0B-D7FF E000-10FFFF]'
const NOT_NEWLINE_OCTET = '[00-09 0B-FF]'
const DIGIT = '[30-39]'
const WORD = '[30-39 41-5A 5F 61-7A]'

describe('structure', () => {
  test.each([
    ['', 'empty'],
    ['a', 'a'],
    ['abc', 'cat(a b c)'],
    ['a|b', 'alt(a b)'],
    ['a||b', 'alt(a empty b)'],
    ['|', 'alt(empty empty)'],
    ['(a)', '(1: a)'],
    ['()', '(1: empty)'],
    ['(?:)', 'empty'],
    ['(a(b))(c)', 'cat((1: cat(a (2: b))) (3: c))'],
    ['(?:ab)c', 'cat(a b c)'],
    ['(?:ab)*c', 'cat(cat(a b){0,} c)'],
    ['(?:a|b)|c', 'alt(a b c)'],
    ['(?:a|b)c', 'cat(alt(a b) c)'],
    ['x(?:)y', 'cat(x y)'],
    ['a(|b)', 'cat(a (1: alt(empty b)))'],
    ['a]}', 'cat(a [5D] [7D])'],
  ])('%s', (pattern, expected) => {
    expect(tree(pattern, TEXT)).toBe(expected)
  })
})

describe('quantifiers', () => {
  test.each([
    ['a*', 'a{0,}'],
    ['a+', 'a{1,}'],
    ['a?', 'a{0,1}'],
    ['a*?', 'a{0,}?'],
    ['a+?', 'a{1,}?'],
    ['a??', 'a{0,1}?'],
    ['a{3}', 'a{3,3}'],
    ['a{3,}', 'a{3,}'],
    ['a{3,5}', 'a{3,5}'],
    ['a{3,5}?', 'a{3,5}?'],
    ['a{1}', 'a'],
    ['a{0}b', 'b'],
    ['a{0,0}', 'empty'],
    ['ab+', 'cat(a b{1,})'],
    ['(ab)+', '(1: cat(a b)){1,}'],
    ['(?:a*)*', 'a{0,}{0,}'],
    ['(?:a|b)+', 'alt(a b){1,}'],
    ['^*', '<textStart>{0,}'],
    ['a{1000}', 'a{1000,1000}'],
    ['\\N{2}', `${NOT_NEWLINE_TEXT}{2,2}`],
  ])('%s', (pattern, expected) => {
    expect(tree(pattern, TEXT)).toBe(expected)
  })
})

describe('anchors and the dot follow the flags', () => {
  test.each<[string, Flags, string]>([
    ['^$', {}, 'cat(<textStart> <textEndOrFinalNewline>)'],
    ['^$', { m: true }, 'cat(<lineStart> <lineEnd>)'],
    ['\\A\\z\\b\\B', { m: true }, 'cat(<textStart> <textEnd> <wordBoundary> <notWordBoundary>)'],
    ['.', {}, NOT_NEWLINE_TEXT],
    ['.', { s: true }, '[00-D7FF E000-10FFFF]'],
    ['\\N', { s: true }, NOT_NEWLINE_TEXT],
  ])('%s %o', (pattern, flags, expected) => {
    expect(tree(pattern, TEXT, flags)).toBe(expected)
  })

  test('in octet mode the dot is any octet', () => {
    expect(tree('.', OCTET)).toBe(NOT_NEWLINE_OCTET)
    expect(tree('.', OCTET, { s: true })).toBe('[00-FF]')
  })
})

describe('inline flags', () => {
  test.each<[string, Flags, string]>([
    ['(?i)a', {}, '[41 61]'],
    ['a(?i)a', {}, 'cat(a [41 61])'],
    ['(?i:a)a', {}, 'cat([41 61] a)'],
    ['((?i)a)a', {}, 'cat((1: [41 61]) a)'],
    ['(?:a(?i)b|c)c', {}, 'cat(alt(cat(a [42 62]) [43 63]) c)'],
    ['(?-i:a)a', { i: true }, 'cat(a [41 61])'],
    ['(?s-m:.^)^', { m: true }, 'cat([00-D7FF E000-10FFFF] <textStart> <lineStart>)'],
    ['(?im)^a', {}, 'cat(<lineStart> [41 61])'],
    ['(?i)(?-i)a', {}, 'a'],
    ['(?x) a (?-x) b', {}, 'cat(a [20] b)'],
  ])('%s %o', (pattern, flags, expected) => {
    expect(tree(pattern, TEXT, flags)).toBe(expected)
  })
})

describe('free spacing', () => {
  test.each([
    [' a b ', 'cat(a b)'],
    ['a # comment ) ( [\nb', 'cat(a b)'],
    ['a # comment to the end', 'a'],
    ['a +', 'a{1,}'],
    ['a + ?', 'a{1,}?'],
    ['a {2}', 'a{2,2}'],
    ['a\\ b\\#', 'cat(a [20] b [23])'],
    ['[a #]', '[20 23 61]'],
    ['( a ) | ( b )', 'alt((1: a) (2: b))'],
    ['\t\n\v\f\ra', 'a'],
    ['\u00a0', '[A0]'],
  ])('%j', (pattern, expected) => {
    expect(tree(pattern, TEXT, { x: true })).toBe(expected)
  })

  test('is off by default', () => {
    expect(tree('a #', TEXT)).toBe('cat(a [20] [23])')
  })
})

describe('escapes for one character', () => {
  test.each([
    ['\\t\\n\\r\\f\\a\\e', 'cat([09] [0A] [0D] [0C] [07] [1B])'],
    ['\\cA\\cz\\c[\\c?\\c@', 'cat([01] [1A] [1B] [7F] [00])'],
    ['\\x41\\x7e', 'cat(A [7E])'],
    ['\\x{41}\\x{0}\\x{00000041}', 'cat(A [00] A)'],
    ['\\0', '[00]'],
    ['\\0a', 'cat([00] a)'],
    ['\\o{101}\\o{0}', 'cat(A [00])'],
    ['\\.\\*\\(\\[\\\\\\/\\-\\_\\ ', 'cat([2E] [2A] [28] [5B] [5C] [2F] [2D] [5F] [20])'],
  ])('%s', (pattern, expected) => {
    expect(tree(pattern, TEXT)).toBe(expected)
    expect(tree(pattern, OCTET)).toBe(expected)
  })

  test('in text mode numbers are code points', () => {
    expect(tree('\\xe9\\x{20ac}\\x{10FFFF}\\o{4177777}', TEXT)).toBe('cat([E9] [20AC] [10FFFF] [10FFFF])')
  })

  test('in octet mode numbers are octets', () => {
    expect(tree('\\xe9\\x{ff}\\o{377}', OCTET)).toBe('cat([E9] [FF] [FF])')
  })

  test('literals are characters in text mode and octets in octet mode', () => {
    expect(tree('é€😀\\é', TEXT)).toBe('cat([E9] [20AC] [1F600] [E9])')
    expect(tree('\u00c3\u00a9', OCTET)).toBe('cat([C3] [A9])')
  })
})

describe('escapes for a class', () => {
  test.each([
    ['\\d', DIGIT, DIGIT],
    ['\\D', '[00-2F 3A-D7FF E000-10FFFF]', '[00-2F 3A-FF]'],
    ['\\w', WORD, WORD],
    ['\\W', '[00-2F 3A-40 5B-5E 60 7B-D7FF E000-10FFFF]', '[00-2F 3A-40 5B-5E 60 7B-FF]'],
    ['\\s', '[09-0D 20]', '[09-0D 20]'],
    ['\\S', '[00-08 0E-1F 21-D7FF E000-10FFFF]', '[00-08 0E-1F 21-FF]'],
    ['\\h', '[09 20 A0 1680 2000-200A 202F 205F 3000]', '[09 20 A0]'],
    [
      '\\H',
      '[00-08 0A-1F 21-9F A1-167F 1681-1FFF 200B-202E 2030-205E 2060-2FFF 3001-D7FF E000-10FFFF]',
      '[00-08 0A-1F 21-9F A1-FF]',
    ],
    ['\\v', '[0A-0D 85 2028-2029]', '[0A-0D 85]'],
    ['\\V', '[00-09 0E-84 86-2027 202A-D7FF E000-10FFFF]', '[00-09 0E-84 86-FF]'],
    ['\\N', NOT_NEWLINE_TEXT, NOT_NEWLINE_OCTET],
  ])('%s', (pattern, text, octet) => {
    expect(tree(pattern, TEXT)).toBe(text)
    expect(tree(pattern, OCTET)).toBe(octet)
    // Case makes no difference to them: ASCII stays ASCII.
    expect(tree(pattern, TEXT, { i: true })).toBe(text)
    expect(tree(pattern, OCTET, { i: true })).toBe(octet)
  })
})

describe('classes', () => {
  test.each([
    ['[abc]', '[61-63]'],
    ['[a-cx]', '[61-63 78]'],
    ['[^a]', '[00-60 62-FF]'],
    ['[]a]', '[5D 61]'],
    ['[^]a]', '[00-5C 5E-60 62-FF]'],
    ['[a-]', '[2D 61]'],
    ['[-a]', '[2D 61]'],
    ['[a^]', '[5E 61]'],
    ['[a[b]', '[5B 61-62]'],
    ['[+--]', '[2B-2D]'],
    ['[a-c-e]', '[2D 61-63 65]'],
    ['[\\d_]', '[30-39 5F]'],
    ['[\\D\\d]', '[00-FF]'],
    ['[^\\D]', DIGIT],
    ['[\\d\\-z]', '[2D 30-39 7A]'],
    ['[\\x41-\\x{43}\\o{104}\\cA\\0]', '[00-01 41-44]'],
    ['[\\b\\n\\]]', '[08 0A 5D]'],
    ['[.*+?(){}|$]', '[24 28-2B 2E 3F 7B-7D]'],
    ['[\\h]', '[09 20 A0]'],
    ['[\\V]', '[00-09 0E-84 86-FF]'],
    ['[^\\x00-\\xff]', '[]'],
    ['[:a]', '[3A 61]'],
    ['[[:abcd:xyz]]', 'cat([3A 5B 61-64 78-7A] [5D])'],
    ['[a&&b]', '[26 61-62]'],
    ['[[.]', '[2E 5B]'],
    ['[[.].]', 'cat([2E 5B] [00-09 0B-FF] [5D])'],
    ['[[.,]', '[2C 2E 5B]'],
  ])('%s', (pattern, expected) => {
    expect(tree(pattern, OCTET)).toBe(expected)
  })

  test('in text mode the complement has every character and no surrogate', () => {
    expect(tree('[^a]', TEXT)).toBe('[00-60 62-D7FF E000-10FFFF]')
    expect(tree('[é-ê\\x{1F600}]', TEXT)).toBe('[E9-EA 1F600]')
    expect(tree('[\\x{D000}-\\x{E000}]', TEXT)).toBe('[D000-D7FF E000]')
  })
})

describe('POSIX classes', () => {
  test.each([
    ['alnum', '[30-39 41-5A 61-7A]'],
    ['alpha', '[41-5A 61-7A]'],
    ['ascii', '[00-7F]'],
    ['blank', '[09 20]'],
    ['cntrl', '[00-1F 7F]'],
    ['digit', '[30-39]'],
    ['graph', '[21-7E]'],
    ['lower', '[61-7A]'],
    ['print', '[20-7E]'],
    ['punct', '[21-2F 3A-40 5B-60 7B-7E]'],
    ['space', '[09-0D 20]'],
    ['upper', '[41-5A]'],
    ['word', WORD],
    ['xdigit', '[30-39 41-46 61-66]'],
  ])('[:%s:] is ASCII in both modes', (name, expected) => {
    expect(tree(`[[:${name}:]]`, TEXT)).toBe(expected)
    expect(tree(`[[:${name}:]]`, OCTET)).toBe(expected)
  })

  test('negated, combined and caseless', () => {
    expect(tree('[[:^digit:]]', OCTET)).toBe('[00-2F 3A-FF]')
    expect(tree('[^[:digit:][:alpha:]]', OCTET)).toBe('[00-2F 3A-40 5B-60 7B-FF]')
    expect(tree('[[:upper:]]', TEXT, { i: true })).toBe('[41-5A 61-7A]')
    expect(tree('[[:^upper:]]', OCTET, { i: true })).toBe('[00-40 5B-60 7B-FF]')
  })
})

describe('caseless', () => {
  test.each([
    ['k', '[4B 6B 212A]'],
    ['s', '[53 73 17F]'],
    ['\\x{212A}', '[4B 6B 212A]'],
    ['é', '[C9 E9]'],
    ['σ', '[3A3 3C2-3C3]'],
    ['ß', '[DF 1E9E]'],
    ['İ', '[130]'],
    ['1', '1'],
    ['[j-l]', '[4A-4C 6A-6C 212A]'],
    ['[^k]', '[00-4A 4C-6A 6C-2129 212B-D7FF E000-10FFFF]'],
    ['[^K]', '[00-4A 4C-6A 6C-2129 212B-D7FF E000-10FFFF]'],
  ])('in text mode: %s', (pattern, expected) => {
    expect(tree(pattern, TEXT, { i: true })).toBe(expected)
  })

  test.each([
    ['k', '[4B 6B]'],
    ['\\xe9', '[E9]'],
    ['[a-c1]', '[31 41-43 61-63]'],
    ['[^a]', '[00-40 42-60 62-FF]'],
    ['[Z-a]', '[41 5A-61 7A]'],
  ])('in octet mode ASCII only: %s', (pattern, expected) => {
    expect(tree(pattern, OCTET, { i: true })).toBe(expected)
  })
})

describe('Unicode properties', () => {
  test.each<[string, Flags, string]>([
    ['\\p{Script=Thaana}', {}, '[780-7B1]'],
    ['\\p{Thaana}', {}, '[780-7B1]'],
    ['\\p{sc=Thaa}', {}, '[780-7B1]'],
    ['\\p{scx=Thaana}', {}, '[60C 61B-61C 61F 660-669 780-7B1 FDF2 FDFD]'],
    ['\\pZ', {}, '[20 A0 1680 2000-200A 2028-2029 202F 205F 3000]'],
    ['\\pZa', {}, 'cat([20 A0 1680 2000-200A 2028-2029 202F 205F 3000] a)'],
    ['\\p{ASCII}', {}, '[00-7F]'],
    ['\\p{Any}', {}, '[00-D7FF E000-10FFFF]'],
    ['\\P{Any}', {}, '[]'],
    ['\\P{ASCII}', {}, '[80-D7FF E000-10FFFF]'],
    ['\\p{^ASCII}', {}, '[80-D7FF E000-10FFFF]'],
    ['\\P{^ASCII}', {}, '[00-7F]'],
    ['\\p{Surrogate}', {}, '[]'],
    ['[\\p{Zl}\\p{Zp}x]', {}, '[78 2028-2029]'],
    ['[^\\P{Zl}]', {}, '[2028]'],
    ['\\p{ASCII_Hex_Digit}', { i: true }, '[30-39 41-46 61-66]'],
  ])('%s %o', (pattern, flags, expected) => {
    expect(tree(pattern, TEXT, flags)).toBe(expected)
  })

  test('names are compared loosely', () => {
    const expected = tree('\\p{General_Category=Uppercase_Letter}', TEXT)
    for (const name of ['Lu', 'lu', 'gc=Lu', 'uppercase letter', 'UPPERCASE-LETTER', 'gc:lu', 'General_Category=Lu']) {
      expect(tree(`\\p{${name}}`, TEXT)).toBe(expected)
    }
  })

  test('case forms come before the complement', () => {
    expect(tree('\\P{Lu}', TEXT, { i: true })).toBe(tree('[^\\p{Lu}]', TEXT, { i: true }))
    expect(tree('\\p{Script=Greek}\\p{^Script=Greek}', TEXT, { i: true })).toBe(
      tree('[\\p{Greek}\\x{B5}\\x{345}][^\\p{Greek}\\x{B5}\\x{345}]', TEXT, { i: true }),
    )
  })
})

describe('groups', () => {
  test('are counted and named in the order of their opening', () => {
    const parsed = parsePattern('(?<year>\\d{4})-(\\d\\d)(?:x(?<_d2>y))', TEXT)
    expect(parsed.groupCount).toBe(3)
    expect([...parsed.groupNames]).toEqual([
      ['year', 1],
      ['_d2', 3],
    ])
    expect(parsed.mode).toBe('text')
  })

  test('count even when a repetition leaves them out', () => {
    const parsed = parsePattern('(?:(a)){0}(b)', TEXT)
    expect(parsed.groupCount).toBe(2)
    expect(treeText(parsed.root)).toBe('(2: b)')
  })
})

describe('compat nginx', () => {
  test.each([
    ['x{0,1', 'cat(x [7B] 0 [2C] 1)'],
    ['x{,12}', 'cat(x [7B] [2C] 1 2 [7D])'],
    ['{4,5a}b', 'cat([7B] 4 [2C] 5 a [7D] b)'],
    ['a{', 'cat(a [7B])'],
    ['{', '[7B]'],
    ['{*', '[7B]{0,}'],
    ['\\M\\i\\y', 'cat(M i y)'],
    ['[\\M\\z]', '[4D 7A]'],
    ['\\12', '[0A]'],
    ['\\0123', 'cat([0A] 3)'],
    ['\\377', '[FF]'],
    ['\\0', '[00]'],
    ['\\08', 'cat([00] 8)'],
    ['[\\1\\018]', '[01 38]'],
    ['\\C', '[00-FF]'],
    ['\\C+', '[00-FF]{1,}'],
    ['\\xa!', 'cat([0A] [21])'],
    ['\\x', '[00]'],
    ['\\x{}\\o{}', 'cat([00] [00])'],
    ['\\c\\.', 'cat([1C] [00-FF])'],
    ['\\c!', 'a'],
    ['\\s', '[09-0A 0C-0D 20]'],
    ['[\\S]', '[00-08 0B 0E-1F 21-FF]'],
    ['[a-\\d]', '[2D 30-39 61]'],
    ['[\\d-z]', '[2D 30-39 7A]'],
    ['[\\d-a-c]', '[2D 30-39 61-63]'],
    ['a{499}', 'a{499,499}'],
    ['.^$', 'cat([00-FF] <lineStart> <lineEnd>)'],
    ['[:alpha:]', '[3A 61 68 6C 70]'],
    ['[[.a.]]', 'cat([2E 5B 61] [5D])'],
    ['\\N{U', `cat(${NOT_NEWLINE_OCTET} [7B] U)`],
  ])('%s', (pattern, expected) => {
    expect(tree(pattern, NGINX)).toBe(expected)
  })
})

describe('spans', () => {
  function spans(node: Node, source: string): string[] {
    const bytes = new TextEncoder().encode(source)
    const own = new TextDecoder().decode(bytes.subarray(node.span.start, node.span.end))
    if (node.kind === 'concat' || node.kind === 'alternate')
      return [own, ...node.nodes.flatMap((n) => spans(n, source))]
    if (node.kind === 'repeat' || node.kind === 'capture') return [own, ...spans(node.node, source)]
    return [own]
  }

  test.each([
    ['é+[^x]?', ['é+[^x]?', 'é+', 'é', '[^x]?', '[^x]']],
    ['(?:ab)*?', ['(?:ab)*?', 'ab', 'a', 'b']],
    ['(a|€)\\x{41}', ['(a|€)\\x{41}', '(a|€)', 'a|€', 'a', '€', '\\x{41}']],
    ['a|', ['a|', 'a', '']],
  ])('%s: every node knows its text', (pattern, expected) => {
    expect(spans(parsePattern(pattern, TEXT).root, pattern)).toEqual(expected)
  })
})
