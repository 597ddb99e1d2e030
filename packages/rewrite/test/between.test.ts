import { describe, expect, test } from 'vitest'
import { compileRuleSet } from '../src/rule-set.ts'
import { type Rule, RuleSetError } from '../src/rules.ts'
import { rewriteText } from './every-split.ts'

const HEAD = ['<head>', '</head>'] as const

describe('a rule with a region begins a match only inside it', () => {
  test.each<[string, Rule[], string, string]>([
    ['after the opening marker', [{ text: 'a', with: 'X', between: HEAD }], 'a<head>a</head>a', 'a<head>X</heXd>a'],
    ['markers in any letter case', [{ text: 'b', with: 'X', between: HEAD }], 'b<HEAD>b</Head>b', 'b<HEAD>X</Head>b'],
    ['it opens again', [{ text: 'b', with: 'X', between: ['(', ')'] }], 'b(b)b(b(b)b', 'b(X)b(X(X)b'],
    ['it is open up to the end', [{ text: 'b', with: 'X', between: ['(', ')'] }], 'b(bb', 'b(XX'],
    ['equal markers take turns', [{ text: 'b', with: 'X', between: ['--', '--'] }], 'b--b--b---b', 'b--X--b---X'],
    ['a marker may begin anew inside itself', [{ text: 'b', with: 'X', between: ['aab', 'c'] }], 'aaabbcb', 'aaabXcb'],
    ['a match may run past the region', [{ regex: 'b+', with: 'X', between: ['(', ')b'] }], '(b)bb b', '(X)X b'],
    ['at the end of the closing marker it is closed', [{ text: 'b', with: 'X', between: ['(', ')b'] }], '()bb', '()Xb'],
    [
      'markers inside other matches count',
      [
        { text: '(', with: '[' },
        { text: 'b', with: 'X', between: ['(', ')'] },
      ],
      'b(b)b',
      'b[X)b',
    ],
    ['an empty match at both edges', [{ regex: '', with: '.', between: ['(', ')'] }], 'a(b)c', 'a(.b.)c'],
    [
      'rules with other regions',
      [
        { text: 'b', with: 'X', between: ['(', ')'] },
        { text: 'b', with: 'Y', between: ['[', ']'] },
        { text: 'b', with: 'Z' },
      ],
      'b(b[b)b]b',
      'Z(X[X)Y]Z',
    ],
    [
      'a domain',
      [{ domain: 'a.example', to: 'b.example', between: HEAD }],
      'a.example <head>//a.example/</head> a.example',
      'a.example <head>//b.example/</head> a.example',
    ],
    [
      'word boundaries at the edge',
      [{ regex: '\\bb\\b', with: 'X', between: ['x', 'y'] }],
      'xb b-b xy b',
      'xb X-X xy b',
    ],
    ['once', [{ text: 'b', with: 'X', once: true, between: ['(', ')'] }], 'b(bb)(b)', 'b(Xb)(b)'],
    ['beyond ASCII', [{ text: 'b', with: 'X', between: ['«', '»'] }], 'b«b»b', 'b«X»b'],
  ])('%s', (_, rules, body, wanted) => {
    expect(rewriteText(compileRuleSet(rules), body)).toBe(wanted)
  })

  test('far away from both markers, where bytes are skipped', () => {
    const filler = 'lorem <em>ipsum</em> dolor '.repeat(4_000)
    const body = `b${filler}<head>${filler}b${filler}</head>${filler}b`
    const set = compileRuleSet([{ text: 'b', with: 'X', between: HEAD, once: false }])
    const chunks: Uint8Array[] = []
    const rewriter = set.createRewriter({ write: (chunk) => chunks.push(chunk.slice()) > 0 })
    rewriter.write(new TextEncoder().encode(body))
    rewriter.end()
    const output = Buffer.concat(chunks).toString()
    expect(output).toBe(`b${filler}<head>${filler}X${filler}</head>${filler}b`)
    expect([...rewriter.hits]).toEqual([1])
  })
})

describe('what is no region', () => {
  const problemsOf = (rule: unknown): string[] => {
    try {
      compileRuleSet([rule as Rule])
      return []
    } catch (error) {
      if (!(error instanceof RuleSetError)) throw error
      return error.problems.map(({ field, message, hint }) => `${field}: ${message}; ${hint}`)
    }
  }
  test.each([[['', 'b']], [['a']], ['a'], [['a', 'b', 'c']], [[1, 2]]])('%j', (between) => {
    expect(problemsOf({ text: 'a', with: 'b', between })).toEqual([
      "between: between is no pair of texts; write an opening and a closing marker, like ['<head>', '</head>']",
    ])
  })

  test('half a character', () => {
    expect(problemsOf({ text: 'a', with: 'b', between: ['\ud800', 'b'] })).toEqual([
      'between: it holds half of a surrogate pair; write the whole character',
    ])
  })

  test('more places than can be told apart', () => {
    expect(problemsOf({ text: 'a', with: 'b', between: ['x'.repeat(3_000), 'y'.repeat(3_000)] })).toEqual([
      'between: the markers of regions tell more than 4096 places apart; use fewer different pairs of markers, or shorter ones',
    ])
  })
})
