import { type Charset, MULTI_BYTE_CHARSETS, SINGLE_BYTE_CHARSETS } from '@prexy/bytes/charset-labels'
import { formRoom, octetRoom, textFormOf } from '@prexy/bytes/text-form'
import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { charsetsOf, createEncodedRewriter } from '../src/rule-charsets.ts'
import { compileRuleSet } from '../src/rule-set.ts'
import type { RewriterInit, RuleSet } from '../src/rewriter.ts'
import type { Rule, RuleSetOptions } from '../src/rules.ts'

const WIDE: readonly Charset[] = ['utf-16le', 'utf-16be']
const CHARSETS: readonly Charset[] = [...SINGLE_BYTE_CHARSETS, ...MULTI_BYTE_CHARSETS, ...WIDE]

function toCharset(charset: Charset, text: string): Uint8Array {
  const utf8 = encodeUtf8(text)
  const writer = textFormOf(charset)?.openWriter('skip')
  if (writer === undefined) return utf8
  const target = new Uint8Array(octetRoom(utf8.length))
  const length = writer.write(utf8, target)
  if (writer.unencodable > 0) throw new Error(`${charset} lacks some of ${text}`)
  return target.slice(0, length)
}

function fromCharset(charset: Charset, body: Uint8Array): string {
  const reader = textFormOf(charset)?.openReader()
  if (reader === undefined) return decodeUtf8(body)
  const target = new Uint8Array(formRoom(body.length))
  const length = reader.read(body, target)
  return decodeUtf8(target, 0, length)
}

interface Made {
  readonly output: Uint8Array
  readonly unencodable: number
  readonly hits: readonly number[]
}

/** Rewrites a body that comes in pieces; the sink asks for a pause after every `pause`-th write (0: never). */
function rewrite(
  set: RuleSet,
  charset: Charset,
  pieces: readonly Uint8Array[],
  { init = {}, pause = 0 }: { init?: RewriterInit; pause?: number } = {},
): Made {
  const output: number[] = []
  let writes = 0
  const sink = {
    write(chunk: Uint8Array): boolean {
      output.push(...chunk)
      writes++
      return pause === 0 || writes % pause !== 0
    },
  }
  const rewriter = createEncodedRewriter(set, charset, sink, init)
  if (rewriter === undefined) throw new Error(`no ${charset} here`)
  for (const piece of pieces) {
    let taken = 0
    do taken += rewriter.write(piece.slice(taken))
    while (taken < piece.length || rewriter.blocked)
  }
  while (!rewriter.end());
  return {
    output: Uint8Array.from(output),
    unencodable: 'unencodable' in rewriter ? rewriter.unencodable : 0,
    hits: [...rewriter.hits],
  }
}

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((each) => each % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, i) => bytes.slice(places[i], end))
}

const set = (rules: readonly Rule[], options: RuleSetOptions = {}): RuleSet => compileRuleSet(rules, options)
const cuts = fc.array(fc.nat(200), { maxLength: 5 })
const pauses = fc.constantFrom(0, 0, 1, 2)

describe('a body in which nothing matches comes out as it is', () => {
  const never = set([
    { text: 'no such text anywhere', with: 'x' },
    { regex: '[a-z]{3}é+ж日$', with: '<$&>' },
    { domain: 'nowhere.example', to: 'x.example' },
  ])
  test.each(CHARSETS)('%s', (charset) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), cuts, pauses, (body, places, pause) => {
        expect(rewrite(never, charset, cut(body, places), { pause }).output).toEqual(body)
      }),
      { numRuns: 40 },
    )
  })
})

/** Characters that each encoding has, letters with and without ASCII trail octets among them. */
const LETTERS: Partial<Record<Charset, string>> = {
  'windows-1252': 'éÉü€ß',
  'iso-8859-15': 'éÉüŒ€',
  'iso-8859-2': 'łŁšőý',
  'windows-1250': 'łŁšőý',
  'windows-1251': 'привЖ',
  'koi8-r': 'привЖ',
  'koi8-u': 'приїЇ',
  'iso-8859-5': 'привЖ',
  ibm866: 'привЖ',
  macintosh: 'éÉüπ†',
  'windows-1253': 'αβγΣς',
  'windows-1255': 'אבגדה',
  'windows-874': 'กขคงจ',
  shift_jis: 'ソ表ァｱ十',
  'euc-jp': 'ソ表ァｱ十',
  gbk: '佦傽乗中亅',
  gb18030: '佦ü😀中亅',
  big5: '功許餐中十',
  'euc-kr': '가갂똠뷁힣',
  'utf-16le': 'é€日😀十',
  'utf-16be': 'é€日😀十',
}

describe('rules find and write in the encoding what they find and write in UTF-8', () => {
  test.each(Object.keys(LETTERS).map((name) => CHARSETS.filter((charset) => charset === name)))('%s', (charset) => {
    const letters = [...(LETTERS[charset] ?? '')]
    const [one, two, three] = letters
    const sets = [
      set([{ text: one, with: two }]),
      set([
        { text: `${one}${two}`, with: `<${three}>` },
        { text: two, with: '' },
      ]),
      set([{ regex: `[${one}${two}]+(.)?`, with: '[$1|$&]' }]),
      set([{ regex: '.', with: '($&)', max: 3 }]),
      set([{ regex: `x*|${three}`, with: '-' }]),
      set([{ regex: '\\\\|A|[a-z@]', with: one, flags: 'i' }]),
      set([{ text: `${one}a`, with: `b${two}`, keepCase: true }]),
      set([{ regex: `(?<a>\\b\\w+)`, with: '${a|upper}${two|html}'.replace('two', 'path') }]),
    ]
    const texts = fc.array(fc.constantFrom(...letters, ...letters, 'a', 'A', 'x', '\\', '@', ' ', '\n', '<'), {
      maxLength: 20,
    })
    const init = { variables: { path: `/${three}` }, mediaType: 'text/html' }
    fc.assert(
      fc.property(texts, fc.constantFrom(...sets), cuts, pauses, (characters, rules, places, pause) => {
        const text = characters.join('')
        const inUtf8 = rewrite(rules, 'utf-8', [encodeUtf8(text)], { init })
        const made = rewrite(rules, charset, cut(toCharset(charset, text), places), { init, pause })
        // What the encoding lacks, like the other case of a letter, is a reference.
        if (made.unencodable > 0) return
        expect(fromCharset(charset, made.output)).toBe(decodeUtf8(inUtf8.output))
        expect(made.hits).toEqual(inUtf8.hits)
      }),
      { numRuns: 60 },
    )
  })
})

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))

describe('examples', () => {
  const cases: readonly (readonly [string, Charset, Rule, string, string])[] = [
    // 表 is 95 5C: its trail octet is a backslash, that of ソ (83 5C) too.
    ['an ASCII trail octet is no character', 'shift_jis', { text: '\\', with: '/' }, '955c5c835c', '955c2f835c'],
    [
      'nor does a match begin there',
      'shift_jis',
      { regex: '[A-Za-z]', with: 'x' },
      '8341834283437a',
      '8341834283437a'.replace(/7a$/, '78'),
    ],
    ['GBK, 亅 is 81 7C', 'gbk', { text: '|', with: 'x' }, '817c7c', '817c78'],
    ['Big5, 許 is B3 5C', 'big5', { text: '\\', with: 'x' }, 'b35c5c', 'b35c78'],
    ['windows-949, 갂 is 81 41', 'euc-kr', { text: 'A', with: 'x' }, '814141', '814178'],
    ['a lead octet before what cannot follow', 'shift_jis', { text: '1', with: '22' }, '813131', '8132323232'],
    ['replacements are in the encoding', 'windows-1251', { text: 'x', with: 'Ж' }, '7861', 'c661'],
    ['characters of the encoding are found', 'koi8-r', { text: 'ж', with: 'x', flags: 'i' }, 'd6f6c1', '7878c1'],
    [
      'octets without a character are matched by nothing',
      'windows-1253',
      { regex: '[^a]', with: 'x' },
      'aad261',
      'aad261',
    ],
    ['and there is one place on each side of them', 'windows-1253', { regex: 'b*', with: '-' }, 'aad2', '2daa2dd22d'],
    [
      'a character that the encoding has twice is one',
      'shift_jis',
      { regex: '.', with: '<$&>' },
      '879b81be',
      '3c879b3e3c81be3e',
    ],
    ['UTF-16 with its mark', 'utf-16le', { regex: '^a', with: 'bc' }, 'fffe61006100', 'fffe620063006100'],
    ['half a pair is nothing to match', 'utf-16be', { regex: '.', with: 'x' }, 'd8000061dc00', 'd8000078dc00'],
    ['nothing comes between its octets', 'utf-16be', { regex: 'b*', with: '-' }, 'd800', '002dd800002d'],
    ['the odd last octet is the last', 'utf-16le', { regex: '$', with: 'x' }, '610062', '6100780062'],
    ['an insert', 'utf-16le', { insert: 'before', at: '<b>', with: 'é' }, '3c0062003e00', 'e9003c0062003e00'],
    ['a domain', 'utf-16be', { domain: 'a.b', to: 'c.d' }, '0061002e0062', '0063002e0064'],
  ]
  test.each(cases)('%s', (_name, charset, rule, body, output) => {
    expect(hex(rewrite(set([rule]), charset, [bytes(body)]).output)).toBe(output)
    expect(hex(rewrite(set([rule]), charset, cut(bytes(body), [...bytes(body).keys()])).output)).toBe(output)
  })

  test.each([
    ['text/html', 'a&#1078;&#128512;b', 2],
    ['application/xhtml+xml; charset=iso-8859-1', 'a&#1078;&#128512;b', 2],
    ['image/svg+xml', 'a&#1078;&#128512;b', 2],
    ['text/css', 'ab', 2],
    ['application/javascript', 'ab', 2],
    [undefined, 'ab', 2],
  ] as const)('what the encoding lacks, in %s', (mediaType, output, unencodable) => {
    const init = mediaType === undefined ? {} : { mediaType }
    const made = rewrite(set([{ text: 'x', with: 'aж😀b' }]), 'windows-1252', [encodeUtf8('x')], { init })
    expect([decodeUtf8(made.output), made.unencodable]).toEqual([output, unencodable])
  })

  test('long replacements, a sink that pauses, and what is held', () => {
    const rules = set([{ text: 'é', with: 'ü'.repeat(9_000) }])
    const body = toCharset('windows-1252', 'aéb'.repeat(20))
    const made = rewrite(rules, 'windows-1252', cut(body, [3, 5, 30]), { pause: 1 })
    expect(fromCharset('windows-1252', made.output)).toBe(`a${'ü'.repeat(9_000)}b`.repeat(20))
  })

  test('held octets are counted, half a character too', () => {
    const rewriter = createEncodedRewriter(set([{ text: 'abc', with: '' }]), 'shift_jis', { write: () => true }, {})
    rewriter?.write(Uint8Array.of(0x61, 0x62))
    expect(rewriter?.heldBytes).toBe(2)
    rewriter?.write(Uint8Array.of(0x95))
    expect(rewriter?.heldBytes).toBe(3)
    rewriter?.write(Uint8Array.of(0x5c))
    expect(rewriter?.heldBytes).toBe(0)
  })
})

describe('which encodings a rule set can be applied to', () => {
  test('all, by characters', () => {
    const charsets = charsetsOf(set([{ text: 'a', with: 'b' }]))
    expect(charsets).toEqual(new Set([...CHARSETS, 'utf-8']))
  })

  test('by octets, those in which an ASCII octet is that character', () => {
    const charsets = charsetsOf(set([{ text: 'a', with: 'b' }], { mode: 'octet' }))
    expect(charsets).toEqual(new Set(['utf-8', 'euc-jp', ...SINGLE_BYTE_CHARSETS]))
    const made = rewrite(set([{ text: '\xe9', with: '\xe8' }], { mode: 'octet' }), 'windows-1252', [bytes('61e9')])
    expect(hex(made.output)).toBe('61e8')
  })

  test('as replace_filter does, any', () => {
    expect(charsetsOf(set([{ text: 'a', with: 'b' }], { compat: 'nginx' }))).toBe('any')
  })
})
