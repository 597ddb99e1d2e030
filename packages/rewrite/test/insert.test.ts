import { encodeUtf8 } from '@prexy/bytes/utf8'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileRuleSet } from '../src/rule-set.ts'
import { type InsertRule, RuleSetError } from '../src/rules.ts'
import { rewriteText } from './every-split.ts'

const set = (rule: Omit<InsertRule, 'with'>): ReturnType<typeof compileRuleSet> =>
  compileRuleSet([{ with: '[$&]', ...rule }])

describe('where a snippet goes', () => {
  test.each<[InsertRule['insert'], string, string, string]>([
    ['before', '</head>', '<head></head>', '<head>[$&]</head>'],
    ['after', '</head>', '<head></head>x', '<head></head>[$&]x'],
    ['replace', '</head>', '<head></head>x', '<head>[$&]x'],
    ['before', '</head>', '</HEAD >', '[$&]</HEAD >'],
    ['before', '</head>', '</heAD\n\t>', '[$&]</heAD\n\t>'],
    ['after', '</head>', '</head a="b>">x', '</head a="b>">[$&]x'],
    ['after', '<body>', '<body>x', '<body>[$&]x'],
    ['after', '<body>', '<BODY class="x">y', '<BODY class="x">[$&]y'],
    ['after', '<body>', '<body/>y', '<body/>[$&]y'],
    ['before', '<body>', '<body\fid=x>', '[$&]<body\fid=x>'],
    ['replace', '<body>', '<body onload="a>b" x=\'>\' y=z>t', '[$&]t'],
    ['after', '<Body>', '<bODY>', '<bODY>[$&]'],
    ['after', '<my-element>', '<my-element><my-element2>', '<my-element>[$&]<my-element2>'],
    ['after', '<bödy>', '<bödy ü="ä">', '<bödy ü="ä">[$&]'],
    // Once, unless the rule says otherwise.
    ['before', '</p>', '</p></p>', '[$&]</p></p>'],
    // What only looks like the tag.
    ['after', '<body>', '<bodyx><body-x>< body></body><b><body', '<bodyx><body-x>< body></body><b><body'],
    ['before', '</head>', '<head></header></ head><//head>', '<head></header></ head><//head>'],
    ['after', '<body>', '<<body>', '<<body>[$&]'],
    // A quote that is never closed hides the end, as it does in a browser.
    ['after', '<body>', '<body a=">x', '<body a=">x'],
    // Quotes mean something only where a value begins.
    ['after', '<body>', '<body "a>x">', '<body "a>[$&]x">'],
    ['after', '<body>', '<body a"=b>">', '<body a"=b>[$&]">'],
    ['after', '<body>', '<body a=b">">', '<body a=b">[$&]">'],
    ['after', '<body>', '<body a= "b>c">', '<body a= "b>c">[$&]'],
    ['after', '<body>', '<body a = \'b>c\'d="e>f">', '<body a = \'b>c\'d="e>f">[$&]'],
    ['after', '<body>', '<body a=/b"c>', '<body a=/b"c>[$&]'],
    ['after', '<body>', '<body a/="b>c">', '<body a/="b>[$&]c">'],
    ['after', '<body>', '<body =="a>b">', '<body =="a>b">[$&]'],
    ['after', '<body>', '<body a=>b', '<body a=>[$&]b'],
    ['after', '<body>', '<body a"b">', '<body a"b">[$&]'],
  ])('%s %s: %s', (insert, at, body, expected) => {
    expect(rewriteText(set({ insert, at }), body)).toBe(expected)
  })

  test('as often as the rule says', () => {
    const body = '<p><p><p>'
    expect(rewriteText(set({ insert: 'after', at: '<p>', once: false }), body)).toBe('<p>[$&]<p>[$&]<p>[$&]')
    expect(rewriteText(set({ insert: 'after', at: '<p>', max: 2 }), body)).toBe('<p>[$&]<p>[$&]<p>')
    expect(rewriteText(set({ insert: 'after', at: '<p>', once: true }), body)).toBe('<p>[$&]<p><p>')
  })

  test('other rules go on in what was not needed', () => {
    const rules = compileRuleSet([
      { insert: 'before', at: '<body>', with: '[' },
      { text: 'class', with: 'id' },
    ])
    expect(rewriteText(rules, '<body class="class">')).toBe('[<body id="id">')
  })

  test('in octet mode the tag and the snippet are octets', () => {
    const rules = compileRuleSet([{ insert: 'before', at: '<b\u00e4>', with: '\u00ff' }], { mode: 'octet' })
    const output: number[] = []
    const rewriter = rules.createRewriter({ write: (chunk) => output.push(...chunk) >= 0 })
    rewriter.write(Uint8Array.of(0x3c, 0x42, 0xe4, 0x3e))
    rewriter.end()
    expect(output).toEqual([0xff, 0x3c, 0x42, 0xe4, 0x3e])
  })
})

describe('what is held', () => {
  const held = (insert: InsertRule['insert'], body: string): number[] => {
    const rewriter = set({ insert, at: '<body>' }).createRewriter({ write: () => true })
    return Array.from(encodeUtf8(body), (byte) => {
      rewriter.write(Uint8Array.of(byte))
      return rewriter.heldBytes
    })
  }

  test('before: no more than the name', () => {
    expect(held('before', '<body class="x">')).toEqual([1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  })

  test('after and replace: the tag', () => {
    const tag = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    expect(held('after', '<body a=b>')).toEqual(tag)
    expect(held('replace', '<body a=b>')).toEqual(tag)
  })

  test('a tag that is never closed goes out at the limit', () => {
    const rules = compileRuleSet([{ insert: 'after', at: '<body>', with: '!' }], { maxHeldBytes: 16 })
    expect(rewriteText(rules, `<body ${'x'.repeat(30)}><body>`)).toBe(`<body ${'x'.repeat(30)}><body>!`)
    expect(rules.unbounded).toEqual([])
  })
})

/**
 * The tokenizer's attribute states written out (HTML Living Standard §13.2.5.32-40): where the tag whose name ends at
 * `at` ends, or -1.
 */
function endOfTag(text: string, start: number): number {
  const isBlank = (character: string): boolean => '\t\n\f\r '.includes(character)
  let state: 'before' | 'name' | 'afterName' | 'beforeValue' | 'double' | 'single' | 'unquoted' | 'afterQuoted' =
    'before'
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '>' && state !== 'double' && state !== 'single') return at
    if (state === 'afterQuoted') state = 'before'
    switch (state) {
      case 'before':
        if (!isBlank(character) && character !== '/') state = 'name'
        break
      case 'name':
      case 'afterName':
        if (isBlank(character)) state = 'afterName'
        else if (character === '/') state = 'before'
        else state = character === '=' ? 'beforeValue' : 'name'
        break
      case 'beforeValue':
        if (character === '"') state = 'double'
        else if (character === "'") state = 'single'
        else if (!isBlank(character)) state = 'unquoted'
        break
      case 'double':
        if (character === '"') state = 'afterQuoted'
        break
      case 'single':
        if (character === "'") state = 'afterQuoted'
        break
      case 'unquoted':
        if (isBlank(character)) state = 'before'
        break
    }
  }
  return -1
}

test('a tag ends where the tokenizer says', () => {
  const rules = set({ insert: 'after', at: '<a>' })
  fc.assert(
    fc.property(fc.stringMatching(/^[ \n/>="'bé]{0,14}$/), (rest) => {
      const tag = `<a ${rest}`
      const end = endOfTag(tag, 2) + 1
      expect(rewriteText(rules, `${tag}`)).toBe(end === 0 ? tag : `${tag.slice(0, end)}[$&]${tag.slice(end)}`)
    }),
    { numRuns: 250 },
  )
})

test.each(['body', '<body', '<>', '< body>', '<body class="x">', '<!-- x -->', '<br/>', '</head', ''])(
  '%j is no tag',
  (at) => {
    let error: unknown
    try {
      set({ insert: 'before', at })
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(RuleSetError)
    expect(error instanceof RuleSetError ? error.problems : []).toMatchObject([
      { code: 'E_RULE', rule: 0, field: 'at', message: `'${at}' is no tag` },
    ])
  },
)
