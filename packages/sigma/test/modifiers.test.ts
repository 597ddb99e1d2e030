import { describe, expect, test } from 'vitest'
import type { FieldValue } from '../src/event.ts'
import { MODIFIERS } from '../src/modifiers.ts'
import { compile, eventOf, matches, ruleAround } from './rules-of.ts'

/** `item` is a line of a selection for the field F, `yes` and `no` are its values. */
interface Row {
  readonly item: string
  readonly yes: readonly FieldValue[]
  readonly no: readonly FieldValue[]
}

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'plain values: "All values are treated as case-insensitive strings"': [
    { item: 'F: abc', yes: ['abc', 'ABC', 'aBc'], no: ['abcd', 'xabc', '', 'ab'] },
    { item: 'F: 4688', yes: [4688, '4688', 4688n], no: [46880, '4688 ', '04688', 'x'] },
    { item: 'F: 0x10', yes: ['0x10', '0X10', 16, '16'], no: [10, '0x1'] },
    { item: 'F: 1.0', yes: [1, '1', '1.0'], no: ['1.00', 10] },
    { item: 'F: true', yes: [true, 'true', 'TRUE'], no: [false, 1, 'yes'] },
    {
      item: 'F: 12345678901234567890',
      yes: ['12345678901234567890', 12345678901234567890n],
      no: ['12345678901234567000'],
    },
    { item: "F: ''", yes: [''], no: ['a', null] },
    { item: 'F: [a, b]', yes: ['a', 'B'], no: ['c', 'ab', ''] },
    { item: 'F: straße', yes: ['STRAßE', 'straße'], no: ['strasse', 'STRASSE'] },
    { item: 'F: ΟΔΟΣ', yes: ['οδος', 'οδοσ', 'ΟΔΟΣ'], no: ['οδο'] },
    { item: 'F: kits', yes: ['\u212aits', 'KIT\u017f'], no: ['its'] },
  ],
  'wildcards take the whole value': [
    { item: "F: 'prog?.exe'", yes: ['progA.exe', 'PROGB.EXE', 'prog😀.exe'], no: ['prog.exe', 'progAB.exe'] },
    { item: "F: 'v*.exe'", yes: ['v1.exe', 'v.exe', 'v21.2.1.exe'], no: ['av1.exe', 'v1.exe2'] },
    { item: "F: '*a*b'", yes: ['ab', 'xaxxb', 'abab'], no: ['ba', 'abx'] },
    { item: "F: 'a*b*c'", yes: ['abc', 'a-b-c', 'abcbc'], no: ['ac', 'abcd', 'acb'] },
    { item: "F: '*'", yes: ['', 'x', 5], no: [null, []] },
    { item: "F: '?*'", yes: ['x', 'xy', 5], no: ['', null] },
    { item: "F: '??'", yes: ['ab', '😀a'], no: ['a', 'abc', '😀'] },
    { item: "F: 'ab*ba'", yes: ['abba', 'abxba'], no: ['aba'] },
    { item: "F: '*?b*'", yes: ['ab', 'xxbx'], no: ['b', 'bx'] },
  ],
  'the backslash': [
    { item: String.raw`F: 'a\b'`, yes: ['a\\b'], no: ['ab', 'a\\\\b'] },
    { item: String.raw`F: 'a\\b'`, yes: ['a\\b'], no: ['a\\\\b'] },
    { item: String.raw`F: 'a\*b'`, yes: ['a*b'], no: ['a\\*b', 'axb', 'a\\xb'] },
    { item: String.raw`F: 'a\?b'`, yes: ['a?b'], no: ['axb'] },
    { item: String.raw`F: 'a\\*b'`, yes: ['a\\b', 'a\\xxb'], no: ['a*b', 'axb'] },
    { item: String.raw`F: 'a\\\*b'`, yes: ['a\\*b'], no: ['a\\xb', 'a*b'] },
    { item: String.raw`F: 'a\\\\b'`, yes: ['a\\\\b'], no: ['a\\b'] },
    { item: String.raw`F: 'a\\\b'`, yes: ['a\\\\b'], no: ['a\\b'] },
    { item: String.raw`F: 'C:\dir\'`, yes: ['c:\\dir\\'], no: ['c:\\dir'] },
  ],
  'contains, startswith, endswith': [
    { item: 'F|contains: abc', yes: ['abc', 'xABCx', 'ababc'], no: ['ab', 'a-bc', ''] },
    { item: 'F|startswith: abc', yes: ['abc', 'ABCx'], no: ['xabc', 'ab'] },
    { item: 'F|endswith: abc', yes: ['abc', 'xABC'], no: ['abcx', 'bc'] },
    { item: String.raw`F|contains: '\dir\'`, yes: ['x\\dir\\y', '\\dir\\'], no: ['\\dir', '\\dir*'] },
    { item: String.raw`F|startswith: 'C:\'`, yes: ['c:\\x', 'C:\\'], no: ['C:', 'C:*'] },
    { item: String.raw`F|endswith: '\cmd.exe'`, yes: ['C:\\CMD.exe'], no: ['cmd.exe', '\\cmd.exe '] },
    { item: "F|contains: 'a*b'", yes: ['xa-by', 'ab'], no: ['ba'] },
    { item: "F|startswith: '*b'", yes: ['ab', 'xxb?'], no: ['ac'] },
    { item: 'F|contains: 46', yes: [4688, '1468'], no: [4086] },
    { item: "F|contains: ''", yes: ['', 'x'], no: [null] },
    { item: 'F|contains: [ab, é, 😀]', yes: ['xabx', 'É', 'x😀'], no: ['a', 'e', '\ud83d'] },
    { item: 'F|endswith: né', yes: ['NÉ', 'xné'], no: ['néx'] },
    { item: 'F|startswith: né', yes: ['NÉ', 'néx'], no: ['xné'] },
  ],
  'all: "changes this to AND"': [
    { item: 'F|contains|all: [a, b]', yes: ['ab', 'b-a'], no: ['a', 'b', ''] },
    { item: 'F|all|contains: [a, b]', yes: ['ba'], no: ['a'] },
    { item: 'F|all: ["a*", "*b"]', yes: ['ab', 'a-b'], no: ['ba'] },
  ],
  exists: [
    { item: 'F|exists: true', yes: ['', 'x', null, 0, false], no: [[]] },
    { item: 'F|exists: false', yes: [[]], no: ['', null] },
  ],
  'cased: "Values are applied case sensitively"': [
    { item: 'F|cased: Abc', yes: ['Abc'], no: ['abc', 'ABC', 'xAbc'] },
    { item: 'F|contains|cased: Abc', yes: ['xAbcx'], no: ['abc'] },
    { item: 'F|cased|startswith: Abc', yes: ['Abcx'], no: ['abcx', 'xAbc'] },
    { item: 'F|endswith|cased: Abc', yes: ['xAbc'], no: ['xabc'] },
    { item: "F|cased: 'A?c*'", yes: ['Abc', 'AXcd'], no: ['abc', 'ABC'] },
  ],
  'neq: "different from the specified values"': [
    { item: 'F|neq: abc', yes: ['x', '', null, []], no: ['abc', 'ABC'] },
    { item: 'F|neq: [a, b]', yes: ['c'], no: ['a', 'B'] },
    { item: 'F|neq: 5', yes: [6, '6', 'x'], no: [5, '5'] },
    { item: 'F|contains|neq: abc', yes: ['ab'], no: ['xabcx'] },
    { item: 'F|neq|contains|all: [a, b]', yes: ['a', 'b'], no: ['ab'] },
  ],
  windash: [
    {
      item: "F|windash|contains: ' -s'",
      yes: ['x -s', 'x /s', 'x \u2013s', 'x \u2014s', 'x \u2015s'],
      no: ['x s', '-s'],
    },
    { item: "F|contains|windash: '-a-b'", yes: ['-a-b', '/a-b'], no: ['-a/b'] },
    { item: "F|windash: '-a /b'", yes: ['-a -b', '/a /b', '/a -b', '\u2013a \u2014b'], no: ['a b'] },
    { item: "F|windash: '--a'", yes: ['--a', '-/a'], no: ['/-a', '//a'] },
    { item: "F|windash: 'a -'", yes: ['a -'], no: ['a /'] },
    { item: "F|windash|contains|all: [' -a', ' -b']", yes: ['x /a -b', 'x -b -a'], no: ['x -a'] },
  ],
  're: search, case-sensitive': [
    { item: 'F|re: b+c', yes: ['abbc', 'bcd'], no: ['BC', 'ac'] },
    { item: "F|re: '^ab$'", yes: ['ab', 'ab\n'], no: ['abc', 'xab', 'ab\nx'] },
    { item: "F|re: 'a.c'", yes: ['abc', 'aéc', 'a😀c'], no: ['a\nc', 'ac'] },
    { item: "F|re: '[a-c]{2,3}x|yy'", yes: ['abx', 'yy'], no: ['ax', 'y'] },
    { item: String.raw`F|re: '\\\w+\.exe'`, yes: ['C:\\cmd.exe'], no: ['cmd.exe', '\\.exe'] },
    { item: String.raw`F|re: '\bcat\b'`, yes: ['a cat.', 'cat'], no: ['cats', 'concat'] },
    { item: 'F|re|i: b+c', yes: ['aBBC'], no: ['b'] },
    { item: "F|re: '(?i)abc'", yes: ['xABC'], no: ['ab'] },
    { item: "F|re|i: '[ks]tick'", yes: ['KTICK', '\u212atick', '\u017fTICK'], no: ['tick'] },
    { item: "F|re|m: '^b$'", yes: ['a\nb\nc', 'b'], no: ['ab'] },
    { item: "F|re|s: 'a.c'", yes: ['a\nc'], no: ['ac'] },
    { item: "F|re|i|m|s: '^b.C$'", yes: ['a\nB\nc\nd'], no: ['a'] },
    { item: "F|re: ['^a', 'z$']", yes: ['ab', 'yz'], no: ['ba'] },
    { item: "F|re|contains: 'b'", yes: ['abc'], no: ['a'] },
    { item: "F|re: 'a*'", yes: ['', 'b'], no: [null] },
    { item: 'F|re: 12', yes: [3124, '12'], no: [1] },
    { item: "F|re|neq: 'b'", yes: ['a'], no: ['b'] },
  ],
  'base64, base64offset and encodings': [
    { item: 'F|base64: foobar', yes: ['Zm9vYmFy'], no: ['foobar', 'xZm9vYmFy'] },
    { item: 'F|base64|contains: foo', yes: ['xZm9vx'], no: ['foo'] },
    { item: 'F|base64: é', yes: ['w6k='], no: ['6Q=='] },
    {
      item: 'F|base64offset|contains: foobar',
      yes: [...['', 'a', 'ab', 'abc'].map((lead) => Buffer.from(`${lead}foobarxyz`).toString('base64'))],
      no: [Buffer.from('fooba').toString('base64'), 'foobar'],
    },
    {
      item: 'F|wide|base64offset|contains: ping',
      yes: [Buffer.from('a ping b', 'utf16le').toString('base64'), Buffer.from('ping', 'utf16le').toString('base64')],
      no: [Buffer.from('a ping b').toString('base64')],
    },
    { item: 'F|utf16le|base64: é', yes: [Buffer.from('é', 'utf16le').toString('base64')], no: ['w6k='] },
    { item: 'F|utf16be|base64: ab', yes: [Buffer.from([0, 97, 0, 98]).toString('base64')], no: ['YWI='] },
    { item: 'F|utf16|base64: ab', yes: [Buffer.from([255, 254, 97, 0, 98, 0]).toString('base64')], no: ['YQBiAA=='] },
    { item: 'F|wide: cmd', yes: ['c\0m\0d\0'], no: ['cmd', '\0c\0m\0d'] },
    { item: 'F|utf16be: cmd', yes: ['\0c\0m\0d'], no: ['cmd'] },
    { item: 'F|utf16le|contains: cmd', yes: ['xC\0M\0D\0'], no: ['cmd'] },
    { item: 'F|base64|cased: foobar', yes: ['Zm9vYmFy'], no: ['zm9vymfy'] },
  ],
  'lt, lte, gt, gte': [
    { item: 'F|lt: 5', yes: [4, '4.9', -1, 4n], no: [5, 6, 'x', '', null, '0x1'] },
    { item: 'F|lte: 5', yes: [5, '5.0', 4], no: [5.1] },
    { item: 'F|gt: 5', yes: [6, '1e3'], no: [5, 'six'] },
    { item: 'F|gte: 2.5', yes: [2.5, 3], no: [2.4] },
    { item: 'F|gt: [5, 100]', yes: [6], no: [5] },
    { item: 'F|gt|all: [5, 100]', yes: [101], no: [6] },
  ],
  'parts of dates': [
    {
      item: 'F|minute: 5',
      yes: ['2026-11-30T23:05:00Z', '2026-11-30 23:05'],
      no: ['2026-11-30T05:23:00Z', 'x', '2026-11-30'],
    },
    { item: 'F|hour: 23', yes: ['2026-11-30T23:05:09.5+02:00'], no: ['2026-11-30T21:05:00Z', '2026-11-30T24:00'] },
    { item: 'F|day: 30', yes: ['2026-11-30', '2026-11-30T00:00Z'], no: ['2026-02-30', '2026-11-29'] },
    { item: 'F|week: 1', yes: ['2026-01-01', '2025-12-29'], no: ['2026-01-05'] },
    { item: 'F|week: 53', yes: ['2026-12-31', '2027-01-03'], no: ['2027-01-04'] },
    {
      item: 'F|month: 11',
      yes: ['2026-11-30', Date.UTC(2026, 10, 30), Date.UTC(2026, 10, 30) / 1000],
      no: ['2026-12-01', true],
    },
    { item: 'F|year: 2026', yes: ['2026-11-30'], no: ['2025-11-30', 2026] },
    { item: 'F|hour|gte: 22', yes: ['2026-11-30T22:00'], no: ['2026-11-30T21:59'] },
    { item: 'F|hour: [1, 2]', yes: ['2026-11-30T02:00'], no: ['2026-11-30T03:00'] },
  ],
  cidr: [
    {
      item: 'F|cidr: 10.0.0.0/8',
      yes: ['10.1.2.3', '10.255.255.255'],
      no: ['11.0.0.1', '10.1.2', '10.1.2.3:80', '::ffff:10.1.2.3', 10],
    },
    { item: 'F|cidr: 192.168.1.1', yes: ['192.168.1.1'], no: ['192.168.1.2', '192.168.001.1'] },
    { item: 'F|cidr: 0.0.0.0/0', yes: ['1.2.3.4'], no: ['::1', ''] },
    {
      item: 'F|cidr: fe80::/10',
      yes: ['fe80::1', 'FEBF:0:0:0:0:0:0:1'],
      no: ['fec0::1', 'fe80', 'fe80::1%eth0', 'fe80:::1'],
    },
    { item: "F|cidr: '::1/128'", yes: ['::1', '0:0:0:0:0:0:0:1'], no: ['::', '1::'] },
    {
      item: 'F|cidr: [10.0.0.0/8, 2001:db8::/32]',
      yes: ['10.0.0.1', '2001:db8:1::5', '2001:db8::1.2.3.4'],
      no: ['2001:db9::'],
    },
  ],
}

for (const [name, rows] of Object.entries(TABLES)) {
  describe(name, () => {
    for (const { item, yes, no } of rows) {
      test(item, () => {
        const detection = `selection:\n  ${item}\ncondition: selection`
        const wrong = (value: FieldValue, expected: boolean): boolean => {
          const fields = Array.isArray(value) && value.length === 0 ? {} : { F: value }
          return matches(detection, eventOf({ ...fields, G: 'x' })) !== expected
        }
        expect({
          missed: yes.filter((value) => wrong(value, true)),
          wrong: no.filter((value) => wrong(value, false)),
        }).toEqual({
          missed: [],
          wrong: [],
        })
      })
    }
  })
}

test('every modifier of the specification stands in a table or a test of its own', () => {
  const own = ['expand', 'fieldref']
  const shown = Object.values(TABLES).flatMap((rows) =>
    rows.flatMap(({ item }) => item.split(':')[0].split('|').slice(1)),
  )
  expect(MODIFIERS.filter((name) => !shown.includes(name) && !own.includes(name))).toEqual([])
})

describe('null', () => {
  const isNull = 'selection:\n  F: null\ncondition: selection'
  test.each([
    [{}, true],
    [{ F: null }, true],
    [{ F: [] }, true],
    [{ F: '' }, false],
    [{ F: 0 }, false],
    [{ F: [null, 'x'] }, false],
  ])('%j', (fields, expected) => {
    expect(matches(isNull, eventOf(fields))).toBe(expected)
  })
})

describe('lists of values in an event', () => {
  test('a test is true when it is true of one element', () => {
    expect(matches('s:\n  F|endswith: b\ncondition: s', eventOf({ F: ['x', 'ab'] }))).toBe(true)
  })
  test('all takes each value from any element', () => {
    expect(matches('s:\n  F|contains|all: [a, b]\ncondition: s', eventOf({ F: ['xa', 'bx'] }))).toBe(true)
  })
  test('a negation is that of the whole', () => {
    expect(matches('s:\n  F: a\ncondition: not s', eventOf({ F: ['a', 'b'] }))).toBe(false)
  })
})

describe('fieldref', () => {
  const cases: readonly [item: string, fields: Readonly<Record<string, FieldValue>>, expected: boolean][] = [
    ['F|fieldref: G', { F: 'a', G: 'A' }, true],
    ['F|fieldref: G', { F: 'a', G: 'b' }, false],
    ['F|fieldref: G', { F: 5, G: '5' }, true],
    ['F|fieldref: G', { F: 'a' }, false],
    ['F|fieldref: G', { G: 'a' }, false],
    ['F|fieldref: G', { F: null, G: null }, false],
    ['F|fieldref|neq: G', { F: 'a', G: 'b' }, true],
    ['F|fieldref|neq: G', { F: 'a', G: 'A' }, false],
    ['F|fieldref|contains: G', { F: 'xabcx', G: 'ABC' }, true],
    ['F|fieldref|startswith: G', { F: 'abcx', G: 'abc' }, true],
    ['F|fieldref|startswith: G', { F: 'xabc', G: 'abc' }, false],
    ['F|fieldref|endswith: G', { F: 'xabc', G: 'abc' }, true],
    ['F|endswithfield: G', { F: 'xabc', G: 'abc' }, true],
    ['F|equalsfield: G', { F: 'a', G: 'a' }, true],
    ['F|cased|fieldref: G', { F: 'a', G: 'A' }, false],
    ['F|fieldref: G', { F: ['x', 'a'], G: ['y', 'A'] }, true],
    ['F|fieldref: F', { F: 'a' }, true],
  ]
  test.each(cases)('%s of %j is %s', (item, fields, expected) => {
    expect(matches(`s:\n  ${item}\ncondition: s`, eventOf(fields))).toBe(expected)
  })
})

describe('expand', () => {
  const placeholders = new Map([
    ['Servers', ['srv*', 'db1']],
    ['Dots', ['a.b']],
    ['None', []],
  ])
  const cases: readonly [item: string, value: string, expected: boolean][] = [
    ["F: '%Servers%'", '%servers%', true],
    ["F: '%Servers%'", 'db1', false],
    ["F|expand: '%Servers%'", 'SRV7', true],
    ["F|expand: '%Servers%'", 'db1', true],
    ["F|expand: '%Servers%'", 'db2', false],
    [String.raw`F|expand: '\%plain%Servers%'`, '%plaindb1', true],
    [String.raw`F|expand: '\%plain\%'`, '%plain%', true],
    ["F|expand|contains: '%Servers%-%Servers%'", 'xdb1-srvy', true],
    ["F|expand|startswith: '%Servers%'", 'db1x', true],
    ["F|re|expand: '^%Dots%$'", 'a.b', true],
    ["F|re|expand: '^%Dots%$'", 'axb', false],
  ]
  test.each(cases)('%s with %s is %s', (item, value, expected) => {
    expect(matches(`s:\n  ${item}\ncondition: s`, eventOf({ F: value }), placeholders)).toBe(expected)
  })
  test('a placeholder without values, or with none, is a reason to reject the rule', () => {
    const problemsOf = (item: string): readonly string[] =>
      compile(ruleAround(`s:\n  ${item}\ncondition: s`), placeholders).problems
    expect(problemsOf("F|expand: '%Missing%'")).toEqual([
      'rule.yml:6: Test: the placeholder %Missing% has no values; give a file with values for "Missing"',
    ])
    expect(problemsOf("F|expand: '%None%'")).toEqual(['rule.yml:6: Test: a placeholder of the value has an empty list'])
  })
})

describe('keywords', () => {
  const cases: readonly [detection: string, text: string, expected: boolean][] = [
    ['k: [EVILSERVICE, "svchost.exe -n evil"]', 'x evilservice y', true],
    ['k: [EVILSERVICE, "svchost.exe -n evil"]', 'SVCHOST.exe -n EVIL', true],
    ['k: [EVILSERVICE, "svchost.exe -n evil"]', 'svchost.exe', false],
    ['k: evil', 'x evil', true],
    ['k: ["a*z"]', 'xx a--z', true],
    ['k: ["a*z"]', 'z--a', false],
    ["k:\n  '|all': [one, two]", 'two, one', true],
    ["k:\n  '|all': [one, two]", 'one', false],
    ["k:\n  '|re': ['o.e$']", 'x one', true],
    ["k:\n  '|re': ['o.e$']", 'one x', false],
    ["k:\n  '|cased': One", 'one', false],
    ["k:\n  '|cased': One", 'xOnex', true],
    ["k:\n  '|contains': one", 'xonex', true],
    ["k:\n  '|windash|all': [' -a', ' -b']", 'x /a /b', true],
    ['k: [4688]', 'id 4688.', true],
    ['k:\n  - one\n  - F: two', 'x one', true],
    ['k:\n  - one\n  - F: two', 'x', false],
  ]
  test.each(cases)('%s in %s is %s', (detection, text, expected) => {
    expect(matches(`${detection}\ncondition: k`, eventOf({}, { text }))).toBe(expected)
  })
})
