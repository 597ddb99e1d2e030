import { describe, expect, test } from 'vitest'
import { PatternError, type PatternErrorCode } from '../src/ast.ts'
import { type ParseOptions, parsePattern } from '../src/parse.ts'

const NO_FLAGS = { i: false, m: false, s: false, x: false }
const TEXT: ParseOptions = { mode: 'text', flags: NO_FLAGS }
const OCTET: ParseOptions = { mode: 'octet', flags: NO_FLAGS }
const NGINX: ParseOptions = { mode: 'octet', compat: 'nginx', flags: { ...NO_FLAGS, m: true, s: true } }

const SYNTAX = 'E_PATTERN_SYNTAX'
const UNSUPPORTED = 'E_PATTERN_UNSUPPORTED'
const LIMIT = 'E_PATTERN_LIMIT'

function refusal(pattern: string, options: ParseOptions): PatternError {
  try {
    parsePattern(pattern, options)
  } catch (error) {
    if (error instanceof PatternError) return error
    throw error
  }
  throw new Error(`accepted: ${pattern}`)
}

/** Code, octet offset, and the hint, or a part of the message where there is no hint. */
type Row = readonly [pattern: string, code: PatternErrorCode, at: number, says: string]

/** The row as it is if the refusal says what it should, else the row with what it says. */
function refusedRow(options: ParseOptions, [pattern, , , says]: Row): Row {
  const error = refusal(pattern, options)
  const text = `${error.message}; ${error.hint ?? ''}`
  return [pattern, error.code, error.at, text.includes(says) ? says : text]
}

describe('what cannot run in linear time on a stream', () => {
  test.each<Row>([
    ['(a)\\1', UNSUPPORTED, 3, 'write what the group can match once more'],
    ['\\9', UNSUPPORTED, 0, 'back-reference'],
    ['a\\k<n>', UNSUPPORTED, 1, 'back-reference'],
    ['a\\g{1}', UNSUPPORTED, 1, 'back-reference'],
    ['(?P=n)', UNSUPPORTED, 0, 'back-reference'],
    ['a(?=b)', UNSUPPORTED, 1, 'match the text after as well and repeat it in the replacement'],
    ['a(?!b)', UNSUPPORTED, 1, 'put a rule before this one that matches the exception'],
    ['(?<=a)b', UNSUPPORTED, 0, 'match the text before in a group and repeat it in the replacement'],
    ['(?<!a)b', UNSUPPORTED, 0, 'put a rule before this one that matches the exception'],
    ['x(?>a)', UNSUPPORTED, 1, 'write (?:...)'],
    ['a*+', UNSUPPORTED, 2, 'write * without the + after it'],
    ['a++', UNSUPPORTED, 2, 'write + without the + after it'],
    ['a?+', UNSUPPORTED, 2, 'write ? without the + after it'],
    ['é{2,3}+', UNSUPPORTED, 7, 'write {2,3} without the + after it'],
    ['(?|a)', UNSUPPORTED, 0, 'write (?:...) and use the number of each group'],
    ['(?(1)a)', UNSUPPORTED, 0, 'write the cases as alternatives'],
    ['a(?R)', UNSUPPORTED, 1, 'recursion'],
    ['a(?1)', UNSUPPORTED, 1, 'recursion'],
    ['a(?-1)', UNSUPPORTED, 1, 'recursion'],
    ['a(?+1)', UNSUPPORTED, 1, 'recursion'],
    ['a(?&n)', UNSUPPORTED, 1, 'recursion'],
    ['a(?P>n)', UNSUPPORTED, 1, 'recursion'],
    ['(?{code})', UNSUPPORTED, 0, 'code in a pattern'],
    ['(??{code})', UNSUPPORTED, 0, 'code in a pattern'],
    ['a(*SKIP)', UNSUPPORTED, 1, 'control verbs'],
    ['\\Aa\\G', UNSUPPORTED, 3, 'does not depend on where the one before ended'],
    ['a\\K', UNSUPPORTED, 1, '(before)after -> $1...'],
    ['\\X', UNSUPPORTED, 0, 'grapheme clusters'],
  ])('%s', (...row) => {
    expect(refusedRow(TEXT, row)).toEqual(row)
    expect(refusedRow({ ...TEXT, compat: 'nginx' }, row)).toEqual(row)
  })
})

describe('other spellings have a supported one', () => {
  test.each<Row>([
    ['(?P<n>a)', UNSUPPORTED, 0, 'write (?<name>...)'],
    ["(?'n'a)", UNSUPPORTED, 0, 'write (?<name>...)'],
    ['a(?#c)', UNSUPPORTED, 1, 'use flag x and # to the end of the line'],
    ['(?^i)a', UNSUPPORTED, 0, 'write (?-imsx) or the flags to turn off'],
    ['a\\Z', UNSUPPORTED, 1, 'write (?-m:$)'],
    ['\\R', UNSUPPORTED, 0, 'write (?:\\r\\n|\\v)'],
    ['\\C', UNSUPPORTED, 0, 'write (?s:.), in octet mode it matches any octet'],
    ['\\Qa.b\\E', UNSUPPORTED, 0, 'write a backslash before each special character, or use a text rule'],
    ['\\E', UNSUPPORTED, 0, 'remove it'],
    ['\\u0041', UNSUPPORTED, 0, 'write \\x{...} with the hexadecimal code point'],
    ['\\Ua', UNSUPPORTED, 0, '(?i:...)'],
    ['\\La', UNSUPPORTED, 0, '(?i:...)'],
    ['\\la', UNSUPPORTED, 0, '(?i:...)'],
    ['\\Fa', UNSUPPORTED, 0, '(?i:...)'],
    ['\\N{U+41}', UNSUPPORTED, 0, 'write \\x{...} with the hexadecimal code point'],
    ['[[.a.]]', UNSUPPORTED, 1, 'write \\[ for a bracket'],
    ['[[.left-square-bracket.]]', UNSUPPORTED, 1, 'collating elements'],
    ['[[=a=]]', UNSUPPORTED, 1, 'write \\[ for a bracket'],
    ['[\\K]', UNSUPPORTED, 1, '\\K is not supported'],
  ])('%s', (...row) => {
    expect(refusedRow(TEXT, row)).toEqual(row)
  })
})

describe('syntax', () => {
  test.each<Row>([
    // Groups.
    ['é(', SYNTAX, 2, 'write \\( for a parenthesis'],
    ['(a(b)', SYNTAX, 0, 'the group has no closing parenthesis'],
    ['(a', SYNTAX, 0, 'the group has no closing parenthesis'],
    ['a)', SYNTAX, 1, 'write \\) for a parenthesis'],
    [')(', SYNTAX, 0, 'there is no group to close'],
    ['(?', SYNTAX, 0, 'begin no known group'],
    ['(?)', SYNTAX, 0, 'begin no known group'],
    ['(?-)', SYNTAX, 0, 'begin no known group'],
    ['(?i-)', SYNTAX, 0, 'begin no known group'],
    ['(?i--m)', SYNTAX, 0, 'begin no known group'],
    ['(?é)', SYNTAX, 0, 'begin no known group'],
    ['(?ig)', SYNTAX, 3, 'the flags are i, m, s and x'],
    ['(?u)', SYNTAX, 2, 'set it for the whole rule'],
    ['(?ib:a)', SYNTAX, 3, 'set it for the whole rule'],
    ['(?<>a)', SYNTAX, 0, 'write (?<name>...)'],
    ['(?<1a>a)', SYNTAX, 0, 'does not begin with a digit'],
    ['(?<a-b>a)', SYNTAX, 0, 'the group has no valid name'],
    ['(?<a', SYNTAX, 0, 'the group has no valid name'],
    ['(?<a>x)(?<a>y)', SYNTAX, 7, 'there are two groups named a'],
    ['(?PX<n>a)', SYNTAX, 2, 'unknown flag P'],
    // Quantifiers.
    ['*', SYNTAX, 0, 'write \\* for the character itself'],
    ['a|*', SYNTAX, 2, 'there is nothing to repeat before *'],
    ['(+a)', SYNTAX, 1, 'write \\+ for the character itself'],
    ['(*)', SYNTAX, 1, 'write \\* for the character itself'],
    ['?', SYNTAX, 0, 'write \\? for the character itself'],
    ['{2}', SYNTAX, 0, 'write \\{ for the character itself'],
    ['(?i)*', SYNTAX, 4, 'there is nothing to repeat before *'],
    ['a**', SYNTAX, 2, 'write a group around the first: (?:a{2})*'],
    ['a???', SYNTAX, 3, 'a quantifier cannot follow a quantifier'],
    ['a*?+', SYNTAX, 3, 'a quantifier cannot follow a quantifier'],
    ['a{2}{3}', SYNTAX, 4, 'a quantifier cannot follow a quantifier'],
    ['a{3,2}', SYNTAX, 1, 'write the smaller number first'],
    ['a{', SYNTAX, 1, 'or \\{ for a brace'],
    ['a{x}', SYNTAX, 1, 'or \\{ for a brace'],
    ['a{2', SYNTAX, 1, 'or \\{ for a brace'],
    ['a{2,x}', SYNTAX, 1, 'or \\{ for a brace'],
    ['a{ 2 }', SYNTAX, 1, 'or \\{ for a brace'],
    ['a{,2}', SYNTAX, 1, 'write {0,n}, or \\{ for a brace'],
    ['{a}', SYNTAX, 0, 'or \\{ for a brace'],
    // Escapes.
    ['a\\', SYNTAX, 1, 'write \\\\ for a backslash'],
    ['€\\y', SYNTAX, 3, 'write y for the letter itself'],
    ['\\M', SYNTAX, 0, 'unknown escape \\M'],
    ['\\012', SYNTAX, 0, 'write \\o{12} or \\x0A; a NUL before a digit is \\x00'],
    ['\\08', SYNTAX, 0, 'octal numbers are written in braces'],
    ['\\x', SYNTAX, 0, 'write \\x0A, or \\x{...} for any other number of digits'],
    ['\\x4', SYNTAX, 0, 'two hexadecimal digits'],
    ['\\x4g', SYNTAX, 0, 'two hexadecimal digits'],
    ['\\x{}', SYNTAX, 0, 'write \\x{A}'],
    ['\\x{4', SYNTAX, 0, 'write \\x{A}'],
    ['\\x{4g}', SYNTAX, 0, 'needs hexadecimal digits and a closing brace'],
    ['\\o12', SYNTAX, 0, 'write \\o{12}'],
    ['\\o{}', SYNTAX, 0, 'needs octal digits and a closing brace'],
    ['\\o{8}', SYNTAX, 0, 'write \\o{12}'],
    ['a\\c', SYNTAX, 1, 'write \\cA to \\cZ'],
    ['\\c!', SYNTAX, 0, 'write \\cA to \\cZ'],
    ['\\cé', SYNTAX, 0, 'write \\cA to \\cZ'],
    // Classes.
    ['a[b', SYNTAX, 1, 'write \\[ for a bracket'],
    ['[]', SYNTAX, 0, 'a ] that comes first is a member'],
    ['a[^]', SYNTAX, 1, 'a ] that comes first is a member'],
    ['[', SYNTAX, 0, 'the class has no closing bracket'],
    ['[^', SYNTAX, 0, 'the class has no closing bracket'],
    ['[a-', SYNTAX, 0, 'the class has no closing bracket'],
    ['[a[:xyz:', SYNTAX, 0, 'the class has no closing bracket'],
    ['[a\\', SYNTAX, 2, 'write \\\\ for a backslash'],
    ['[éz-a]', SYNTAX, 3, 'the range z-a runs backwards'],
    ['[\\x{62}-a]', SYNTAX, 1, 'the range \\x{62}-a runs backwards'],
    ['[a-\\d]', SYNTAX, 1, 'write \\- for a hyphen'],
    ['[\\w-.]', SYNTAX, 1, 'write \\- for a hyphen'],
    ['[a-[:digit:]]', SYNTAX, 1, 'write \\- for a hyphen'],
    ['[[:alhpa:]]', SYNTAX, 1, 'write one of alnum alpha ascii'],
    ['[[:^alhpa:]]', SYNTAX, 1, 'unknown POSIX class alhpa'],
    ['[:alpha:]', SYNTAX, 0, 'write [[:alpha:]]'],
    ['[:^alpha:]', SYNTAX, 0, 'write [[:^alpha:]]'],
    ['[\\B]', SYNTAX, 1, 'write it outside the class'],
    ['[\\A]', SYNTAX, 1, '\\A has no meaning in a class'],
    ['[\\N]', SYNTAX, 1, 'write [^\\n] or an alternative outside the class'],
    ['[\\y]', SYNTAX, 1, 'unknown escape \\y'],
    ['[\\1]', SYNTAX, 1, 'write \\o{101} or \\x41; a class cannot hold a back-reference'],
    ['[a\\012]', SYNTAX, 2, 'write \\o{12} or \\x0A'],
  ])('%s', (...row) => {
    expect(refusedRow(TEXT, row)).toEqual(row)
  })

  test('offsets in the source of an octet pattern are those of its characters', () => {
    const row: Row = ['\u00c3\u00a9(', SYNTAX, 2, 'the group has no closing parenthesis']
    expect(refusedRow(OCTET, row)).toEqual(row)
  })

  test.each<Row>([
    [' *', SYNTAX, 1, 'nothing to repeat'],
    ['a * +', UNSUPPORTED, 4, 'write * without the + after it'],
    ['a # )\n)', SYNTAX, 6, 'there is no group to close'],
  ])('with free spacing the offset is that of the sign, not of the space before it: %j', (...row) => {
    expect(refusedRow({ ...TEXT, flags: { ...NO_FLAGS, x: true } }, row)).toEqual(row)
  })
})

describe('characters of the mode', () => {
  test.each<Row>([
    ['a\\x{D800}', SYNTAX, 1, 'U+D800 is a surrogate'],
    ['[\\x{dfff}]', SYNTAX, 1, 'U+DFFF is a surrogate'],
    ['\\o{154000}', SYNTAX, 0, 'U+D800 is a surrogate'],
    ['\\x{110000}', SYNTAX, 0, 'write at most \\x{10FFFF}'],
    ['\\x{FFFFFFFFFFFFFFFFFFFF}', SYNTAX, 0, 'the last code point is U+10FFFF'],
    ['é\ud800', SYNTAX, 2, 'U+D800 is a surrogate'],
    ['\udc00', SYNTAX, 0, 'U+DC00 is a surrogate'],
    ['\\p{Foo}', SYNTAX, 0, 'unknown Unicode property Foo'],
    ['\\p{Script=Foo}', SYNTAX, 0, 'write a general category (Lu), a script (Greek, Script=Greek)'],
    ['\\p{Foo=Greek}', SYNTAX, 0, 'unknown Unicode property Foo=Greek'],
    ['\\p{Script=Greek=x}', SYNTAX, 0, 'unknown Unicode property'],
    ['\\p{}', SYNTAX, 0, 'unknown Unicode property'],
    ['\\p{Lu', SYNTAX, 0, 'no closing brace'],
    ['a\\p', SYNTAX, 1, 'needs the name of a property'],
    ['[\\p{', SYNTAX, 1, 'needs the name of a property'],
    ['\\pé', SYNTAX, 0, 'unknown Unicode property é'],
  ])('text mode: %j', (...row) => {
    expect(refusedRow(TEXT, row)).toEqual(row)
  })

  test.each<Row>([
    ['a€', SYNTAX, 1, 'write the octets of the character'],
    ['\\x{100}', SYNTAX, 0, 'an octet goes up to FF'],
    ['\\o{400}', SYNTAX, 0, 'an octet goes up to 377'],
    ['\\p{Lu}', UNSUPPORTED, 0, 'use text mode'],
    ['[\\PL]', UNSUPPORTED, 1, 'use text mode'],
  ])('octet mode: %j', (...row) => {
    expect(refusedRow(OCTET, row)).toEqual(row)
  })
})

describe('compat nginx', () => {
  test.each<Row>([
    ['{0,100}', SYNTAX, 0, 'there is nothing to repeat before {'],
    ['a{1,0}', SYNTAX, 1, 'the counts run backwards'],
    ['\\1', UNSUPPORTED, 0, 'back-reference'],
    ['\\8', UNSUPPORTED, 0, 'back-reference'],
    ['\\400', SYNTAX, 0, 'write at most \\377'],
    ['[\\777]', SYNTAX, 1, 'write at most \\377'],
    ['[\\o{777}]', SYNTAX, 1, 'an octet goes up to 377'],
    ['\\o12', SYNTAX, 0, 'write \\o{12}'],
    ['\\c', SYNTAX, 0, '\\c needs'],
    ['\\x{g}', SYNTAX, 0, 'closing brace'],
    ['[z-a]', SYNTAX, 1, 'runs backwards'],
    ['a{500}', LIMIT, 1, 'a repeat count goes up to 499'],
    ['a{1,500}', LIMIT, 1, 'a repeat count goes up to 499'],
    ['a{500,}', LIMIT, 1, 'a repeat count goes up to 499'],
    ['a{3}+', UNSUPPORTED, 4, 'possessive'],
    ['[\\N]', SYNTAX, 1, '\\N has no meaning in a class'],
    ['\\Z', UNSUPPORTED, 0, '\\Z is not supported'],
  ])('%s', (...row) => {
    expect(refusedRow(NGINX, row)).toEqual(row)
  })
})

describe('limits', () => {
  test.each<[name: string, row: Row, limits: NonNullable<ParseOptions['limits']>, allowed: string]>([
    ['pattern length in octets', ['ééa', LIMIT, 4, 'longer than 4 octets'], { maxPatternBytes: 4 }, 'éé'],
    ['nesting depth', ['((()))', LIMIT, 2, 'nested more than 2 deep'], { maxNestingDepth: 2 }, '(())()'],
    [
      'capturing groups',
      ['()(?:)(?<a>)()', LIMIT, 12, 'more than 2 capturing groups'],
      { maxGroups: 2 },
      '()(?:)(?<a>)',
    ],
    ['repeat count', ['a{4}', LIMIT, 1, 'goes up to 3'], { maxRepeatCount: 3 }, 'a{3}b{3,}'],
    ['repeat count, huge', ['a{99999999999999999999}', LIMIT, 1, 'goes up to 3'], { maxRepeatCount: 3 }, 'a{0,3}'],
    ['items of one repetition', ['(?:ab){6}', LIMIT, 6, 'more than 10 items'], { maxExpandedItems: 10 }, '(?:ab){5}'],
    ['nested repetitions', ['(a{4}){3}', LIMIT, 6, 'more than 10 items'], { maxExpandedItems: 10 }, '(a{5}){2}'],
    ['open repetitions', ['(a{4}){3,}', LIMIT, 6, 'more than 10 items'], { maxExpandedItems: 10 }, '(a{10})*'],
    ['sum of a group', ['x(a{5}b{6})', LIMIT, 1, 'more than 10 items'], { maxExpandedItems: 10 }, 'a{4}b{6}'],
    ['sum of alternatives', ['a{5}|b{6}', LIMIT, 0, 'more than 10 items'], { maxExpandedItems: 10 }, 'a{4}|b{6}'],
    ['ranges of classes', ['a[b-cx]\\w', LIMIT, 7, 'more than 4 ranges'], { maxClassRanges: 4 }, 'a[b-cx]y'],
  ])('%s', (_name, row, limits, allowed) => {
    expect(refusedRow({ ...TEXT, limits }, row)).toEqual(row)
    expect(() => parsePattern(allowed, { ...TEXT, limits })).not.toThrow()
  })

  test('the defaults', () => {
    expect(refusal('a'.repeat(65_537), TEXT).message).toContain('longer than 65536 octets')
    expect(refusal('é'.repeat(32_769), TEXT).message).toContain('longer than 65536 octets')
    parsePattern('a'.repeat(65_536), TEXT)
    expect(refusal('('.repeat(251), TEXT)).toMatchObject({ code: LIMIT, at: 250 })
    parsePattern(`${'('.repeat(250)}${')'.repeat(250)}`, TEXT)
    expect(refusal('()'.repeat(1_001), TEXT)).toMatchObject({ code: LIMIT, at: 2_000 })
    parsePattern('()'.repeat(1_000), TEXT)
    expect(refusal('a{1001}', TEXT)).toMatchObject({ code: LIMIT, at: 1 })
    parsePattern('a{1000}', TEXT)
    expect(refusal('(?:a{1000}){101}', TEXT)).toMatchObject({ code: LIMIT, at: 11 })
    parsePattern('(?:a{1000}){100}', TEXT)
    expect(refusal('\\p{L}'.repeat(1_000), TEXT).message).toContain('more than 250000 ranges')
  })

  test('no depth reaches the end of the call stack', () => {
    const depth = 30_000
    const limits = { maxNestingDepth: depth, maxGroups: depth }
    const parsed = parsePattern(`${'('.repeat(depth)}a${')'.repeat(depth)}`, { ...TEXT, limits })
    expect(parsed.groupCount).toBe(depth)
    expect(refusal('(?:'.repeat(20_000), TEXT)).toMatchObject({ code: LIMIT, at: 750 })
  })
})
