import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodePunycode, encodePunycode, parseHostName } from '../src/host-name.ts'
import { compileRuleSet } from '../src/rule-set.ts'
import { type DomainRule, RuleSetError } from '../src/rules.ts'
import { rewriteBytes, rewriteText } from './every-split.ts'

const compile = (rule: Partial<DomainRule> = {}): ReturnType<typeof compileRuleSet> =>
  compileRuleSet([{ domain: 'a.example', to: 'b.test', ...rule }])

describe('a host name is found', () => {
  const set = compile()
  test.each([
    ['bare', 'a.example', 'b.test'],
    ['in a sentence', 'See a.example. And a.example, (a.example)!', 'See b.test. And b.test, (b.test)!'],
    ['in a URL', 'https://a.example/x?a.example#a.example', 'https://b.test/x?b.test#b.test'],
    ['in any scheme', 'ftp://a.example wss://a.example/', 'ftp://b.test wss://b.test/'],
    ['protocol-relative', '<a href="//a.example/">', '<a href="//b.test/">'],
    ['with a port', 'http://a.example:8080/', 'http://b.test:8080/'],
    ['with user information', 'http://me:pw@a.example/', 'http://me:pw@b.test/'],
    ['in an address', 'mailto:me@a.example', 'mailto:me@b.test'],
    ['in JSON', '"https:\\/\\/a.example\\/x"', '"https:\\/\\/b.test\\/x"'],
    ['percent-encoded', 'u=https%3A%2F%2Fa.example%2Fx', 'u=https%3A%2F%2Fb.test%2Fx'],
    ['percent-encoded in lower case', 'https%3a%2f%2fa.example%2fx', 'https%3a%2f%2fb.test%2fx'],
    ['percent-encoded twice', 'https%253A%252F%252Fa.example%252F', 'https%253A%252F%252Fb.test%252F'],
    ['with hexadecimal entities', 'https:&#x2F;&#x2F;a.example&#x2F;', 'https:&#x2F;&#x2F;b.test&#x2F;'],
    ['with decimal and named entities', '&#47;a.example&#47; &sol;a.example&sol;', '&#47;b.test&#47; &sol;b.test&sol;'],
    ['in a script', '"https:\\u002f\\u002fa.example\\u002f"', '"https:\\u002f\\u002fb.test\\u002f"'],
    ['in a script in upper case', '"\\u002F\\u002Fa.example"', '"\\u002F\\u002Fb.test"'],
    ['with hexadecimal escapes', "'\\x2f\\x2fa.example'", "'\\x2f\\x2fb.test'"],
    ['after an escaped line break', '"\\na.example" "\\r\\na.example\\n"', '"\\nb.test" "\\r\\nb.test\\n"'],
    ['after an encoded quote', '%22a.example%22 %3Da.example', '%22b.test%22 %3Db.test'],
    ['in any letter case', 'A.EXAMPLE a.Example', 'b.test b.test'],
    ['in a cookie', 'Domain=a.example; Path=/', 'Domain=b.test; Path=/'],
    ['in a list', 'a.example,a.example;a.example|a.example', 'b.test,b.test;b.test|b.test'],
    ['before a dot that ends it', 'a.example./x a.example..', 'b.test./x b.test..'],
    ['next to text of other scripts', '访问a.example网站', '访问b.test网站'],
    ['across lines', 'a.example\na.example\r\n', 'b.test\nb.test\r\n'],
  ])('%s: %s', (_, body, expected) => {
    expect(rewriteText(set, body)).toBe(expected)
  })

  test.each([
    'nota.example',
    'a.example.org',
    'a.example.b',
    'my-a.example',
    'my_a.example',
    'a.example-b',
    'a.example_b',
    'a.examples',
    'a.example1',
    'x.a.example',
    'x-y.a.example',
    '.a.example',
    'aa.example',
    'a.a.example',
    'a-example',
    'axexample',
    'a..example',
    // An escape that stands for a letter, a digit, a hyphen or a dot is part of a name.
    '%41a.example',
    '%2Da.example',
    '%2Ea.example',
    '%252Ea.example',
    '\\u0041a.example',
    '\\x2ea.example',
    // A backslash, escaped, and then a letter.
    '"\\\\na.example"',
    // No escape at all.
    '2Fa.example',
    'u002fa.example',
    '\u212aa.example.org',
  ])('but not in %s', (body) => {
    expect(rewriteText(set, body)).toBe(body)
  })

  test('its letters are those of ASCII', () => {
    const k = compileRuleSet([{ domain: 'k.s', to: 'b.test' }])
    expect(rewriteText(k, 'K.S \u212a.s k.\u017f')).toBe('b.test \u212a.s k.\u017f')
  })
})

describe('names below it', () => {
  const body = 'a.example x.a.example X-1.y.A.example x..a.example %2Fx.a.example nota.example x.nota.example'
  test.each<[DomainRule['subdomains'], string]>([
    ['ignore', 'b.test x.a.example X-1.y.A.example x..a.example %2Fx.a.example nota.example x.nota.example'],
    ['keep', 'b.test x.b.test X-1.y.b.test x..a.example %2Fx.b.test nota.example x.nota.example'],
    ['map', 'b.test b.test b.test x..a.example %2Fb.test nota.example x.nota.example'],
  ])('%s', (subdomains, expected) => {
    expect(rewriteText(compile({ ...(subdomains === undefined ? {} : { subdomains }) }), body)).toBe(expected)
  })
})

describe('whole names and nothing else, whatever is around', () => {
  const label = '[A-Za-z0-9_-]'
  const name = `a\\.ex(?!${label}|\\.${label})`
  const oracles: readonly (readonly [NonNullable<DomainRule['subdomains']>, RegExp])[] = [
    ['ignore', new RegExp(`(?<![A-Za-z0-9_.-])${name}`, 'gi')],
    ['keep', new RegExp(`(?<=^|[^A-Za-z0-9_.-]|${label}\\.)${name}`, 'gis')],
    ['map', new RegExp(`(?<![A-Za-z0-9_.-])(?:${label}+\\.)*${name}`, 'gi')],
  ]
  test.each(oracles)('%s', (subdomains, oracle) => {
    const set = compileRuleSet([{ domain: 'a.ex', to: 'B', subdomains }])
    const piece = fc.constantFrom(
      'a.ex',
      'A.EX',
      'a',
      '.',
      '-',
      '_',
      'x',
      '/',
      ' ',
      ':',
      '@',
      'ex',
      '1',
      '\n',
      'ü',
      '"',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
        const body = pieces.join('')
        const bytes = encodeUtf8(body)
        const expected = body.replace(oracle, 'B')
        expect(decodeUtf8(rewriteBytes(set, bytes))).toBe(expected)
        expect(
          decodeUtf8(
            rewriteBytes(
              set,
              bytes,
              {},
              Array.from(bytes, () => 1),
            ),
          ),
        ).toBe(expected)
      }),
      { numRuns: 300 },
    )
  })
})

test('map keeps an escape before the name, which looks like a part of it', () => {
  const body = [
    'https%3A%2F%2Fx.a.example%2F',
    'https%253a%252f%252fx.y.a.example',
    '"https:\\u002f\\u002fx.a.example"',
    '"\\x2fx.a.example"',
    '"line\\nx.a.example\\tx.a.example"',
    '"https:\\/\\/x.a.example"',
    '100%x.a.example',
    '%2Fa.a.example',
    // The escape is the first letter of the name.
    '%41x.a.example',
    '\\\\x.a.example',
    // What follows a single backslash may be the rest of an escape.
    'C:\\x.a.example',
  ]
  const expected = [
    'https%3A%2F%2Fb.test%2F',
    'https%253a%252f%252fb.test',
    '"https:\\u002f\\u002fb.test"',
    '"\\x2fb.test"',
    '"line\\nb.test\\tb.test"',
    '"https:\\/\\/b.test"',
    '100%b.test',
    '%2Fb.test',
    'b.test',
    '\\\\b.test',
    'C:\\x.a.example',
  ]
  expect(rewriteText(compile({ subdomains: 'map' }), body.join('\n')).split('\n')).toEqual(expected)
})

describe('an internationalised name', () => {
  const forms = [
    'xn--bcher-kva.example',
    'XN--BCHER-KVA.example',
    'bücher.example',
    'BÜCHER.Example',
    'b\\u00fccher.example',
    'b\\u00DCcher.example',
    'b%C3%BCcher.example',
    'b%c3%bccher.example',
    'b&#252;cher.example',
    'b&#xFC;cher.example',
  ]
  const body = forms.map((form) => `https://${form}/`).join(' ')
  const both = ['bücher.example', 'xn--bcher-kva.example', 'Bu\u0308cher.example']

  test.each(both)('%s is found in every spelling and replaced in the one that was found', (domain) => {
    const set = compile({ domain, to: 'öl.test' })
    expect(rewriteText(set, body).split(' ')).toEqual(
      [
        'xn--l-0ga.test',
        'xn--l-0ga.test',
        'öl.test',
        'öl.test',
        '\\u00f6l.test',
        '\\u00f6l.test',
        '%C3%B6l.test',
        '%C3%B6l.test',
        '&#246;l.test',
        '&#xf6;l.test',
      ].map((form) => `https://${form}/`),
    )
  })

  test('becomes a name of ASCII, and the other way round', () => {
    expect(rewriteText(compile({ domain: 'bücher.example' }), body).split(' ')).toEqual(
      forms.map(() => 'https://b.test/'),
    )
    expect(rewriteText(compile({ to: 'öl.test' }), 'a.example')).toBe('xn--l-0ga.test')
  })

  test('may spell each label in its own way', () => {
    const set = compile({ domain: 'ä.ö.example', to: 'ü.test' })
    expect(rewriteText(set, 'ä.xn--nda.example xn--4ca.ö.example')).toBe('ü.test ü.test')
  })

  test('has edges as others have', () => {
    const set = compile({ domain: 'bücher.example', to: 'öl.test', subdomains: 'keep' })
    const kept = 'xbücher.example bücher.example.org bücher.examples xxn--bcher-kva.example'
    expect(rewriteText(set, kept)).toBe(kept)
    expect(rewriteText(set, 'x.bücher.example %2Fb%C3%BCcher.example')).toBe('x.öl.test %2F%C3%B6l.test')
  })

  test('map keeps the spelling and the escape', () => {
    const set = compile({ domain: 'bücher.example', to: 'öl.test', subdomains: 'map' })
    expect(rewriteText(set, '%2Fx.b%C3%BCcher.example \\u002fx.y.xn--bcher-kva.example x.bücher.example')).toBe(
      '%2F%C3%B6l.test \\u002fxn--l-0ga.test öl.test',
    )
  })

  test('beyond U+FFFF', () => {
    const set = compile({ domain: '𐐨.example', to: '𐐩.test' })
    expect(rewriteText(set, '\u{10428}.example \\ud801\\udc28.example')).toBe('\u{10429}.test \\ud801\\udc29.test')
  })

  test('in octet mode is found as UTF-8', () => {
    const set = compileRuleSet([{ domain: 'bücher.example', to: 'öl.test' }], { mode: 'octet' })
    expect(rewriteText(set, 'bücher.example xn--bcher-kva.example')).toBe('öl.test xn--l-0ga.test')
  })
})

describe('host names', () => {
  test.each([
    ['a.Example', 'a.Example', 'a.Example'],
    ['bücher.example', 'xn--bcher-kva.example', 'bücher.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example', 'bücher.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', 'bücher.example'],
    ['faß.example', 'xn--fa-hia.example', 'faß.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah', '例え.テスト'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah', '例え.テスト'],
    ['مثال.إختبار', 'xn--mgbh0fb.xn--kgbechtv', 'مثال.إختبار'],
    // Not an encoded label, whatever it looks like.
    ['xn--zzzzzzzzz.example', 'xn--zzzzzzzzz.example', 'xn--zzzzzzzzz.example'],
    ['xn--.example', 'xn--.example', 'xn--.example'],
    ['xn--a-.example', 'xn--a-.example', 'xn--a-.example'],
    ['_dmarc.a.example', '_dmarc.a.example', '_dmarc.a.example'],
  ])('%s', (name, ascii, unicode) => {
    expect(parseHostName(name)).toEqual({ ascii, unicode })
  })

  test.each([
    ['', 'the host name is empty', 'write a name such as a.example'],
    [
      'https://a.example',
      "'https://a.example' is not a host name",
      'leave out the scheme and the path: they stay as they are',
    ],
    ['a.example:80', "'a.example:80' is not a host name", 'leave out the port: it stays as it is'],
    ['a..example', "'a..example' has an empty label", 'write single dots between labels'],
    ['*.example', "'*' cannot be part of a host name", 'use letters, digits, - and _'],
    ['a b', "' ' cannot be part of a host name", 'use letters, digits, - and _'],
    ['a☃.example', "'☃' cannot be part of a host name", 'use letters, digits, - and _'],
    ['a'.repeat(64), 'a label has at most 63 characters', 'shorten it'],
    [`${'a'.repeat(50)}.`.repeat(6).slice(0, -1), 'a host name has at most 253 characters', 'shorten it'],
  ])('%s is refused', (name, message, hint) => {
    expect(parseHostName(name)).toEqual({ message, hint })
  })

  test('both names of a rule are checked', () => {
    expect(() => compile({ domain: 'a b', to: 'c d' })).toThrow(RuleSetError)
    expect(() => compile({ domain: 'a b', to: 'c d' })).toThrow(/domain: .*\n.*to: /)
  })

  test('are encoded as URL encodes them', () => {
    const letters = fc.stringMatching(/^[a-z0-9äöüßéèñçøåλжщ例え語한国]{1,12}$/u)
    fc.assert(
      fc.property(letters, (label) => {
        const parsed = parseHostName(`${label}.example`)
        const { hostname } = new URL(`http://x${label}.example/`)
        expect(parseHostName(`x${label}.example`)).toMatchObject({ ascii: hostname })
        expect('ascii' in parsed ? parseHostName(parsed.ascii) : parsed).toEqual(parsed)
      }),
      { numRuns: 300 },
    )
  })

  test('punycode gives every label back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), (label) => {
        fc.pre(/[^\0-\x7f]/.test(label))
        expect(decodePunycode(encodePunycode(label))).toBe(label)
      }),
      { numRuns: 300 },
    )
  })

  test('punycode that is none is refused, whatever it is', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9-]{0,30}$/), (text) => {
        const decoded = decodePunycode(text)
        if (decoded !== undefined) expect([...decoded].length).toBeLessThanOrEqual(text.length)
      }),
      { numRuns: 500 },
    )
  })
})
