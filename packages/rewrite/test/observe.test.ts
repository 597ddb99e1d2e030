import { expect, test } from 'vitest'
import { observeRuleSet } from '../src/observe.ts'
import { compileRuleSet } from '../src/rule-set.ts'
import type { Rule, RuleSetOptions } from '../src/rules.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

interface Row {
  readonly rules: readonly Rule[]
  readonly options?: RuleSetOptions
  readonly body: string
  readonly changes: readonly string[]
}

const ROWS: Readonly<Record<string, Row>> = {
  'literals, each with its rule': {
    rules: [
      { text: 'b', with: 'B' },
      { text: 'a', with: '' },
    ],
    body: 'xabc a',
    changes: ['1 1-2 a>', '0 2-3 b>B', '1 5-6 a>'],
  },
  groups: {
    rules: [{ regex: '(a+)(b)?', with: '[$1|$2]' }],
    body: 'aab ca',
    changes: ['0 0-3 aab>[aa|b]', '0 5-6 a>[a|]'],
  },
  'empty matches': { rules: [{ regex: '\\b', with: '|' }], body: 'ab', changes: ['0 0-0 >|', '0 2-2 >|'] },
  'a byte order mark is part of the body and of no match': {
    rules: [{ text: 'a', with: 'b' }],
    body: '\ufeffca',
    changes: ['0 4-5 a>b'],
  },
  'host names': {
    rules: [{ domain: 'a.example', to: 'b.example', subdomains: 'keep' }],
    body: 'https:\\/\\/x.a.example/',
    changes: ['0 12-21 a.example>b.example'],
  },
  once: { rules: [{ text: 'a', with: 'b', once: true }], body: 'aaa', changes: ['0 0-1 a>b'] },
  'the case that was found': {
    rules: [{ text: 'acme', with: 'zenith', keepCase: true }],
    body: 'ACME acme',
    changes: ['0 0-4 ACME>ZENITH', '0 5-9 acme>zenith'],
  },
}

test.each(Object.entries(ROWS))('%s', (_, { rules, options, body, changes }) => {
  const set = compileRuleSet(rules, options)
  const observed = observeRuleSet(set)
  const bytes = encoder.encode(body)
  const written: number[] = []
  const rewriter = observed.set.createRewriter({
    write(chunk) {
      written.push(...chunk)
      return true
    },
  })
  // Cut, so that what is told does not depend on chunks.
  rewriter.write(bytes.subarray(0, 1))
  rewriter.write(bytes.subarray(1))
  rewriter.end()
  const [one] = observed.bodies
  const shown = one.changes.map(({ rule, start, end, replacement }) => {
    return `${rule} ${start}-${end} ${decoder.decode(bytes.subarray(start, end))}>${decoder.decode(replacement)}`
  })
  expect(shown).toEqual(changes)
  expect(one.input).toEqual(bytes)
  expect([...one.output]).toEqual(written)
  // What the changes say is what the rule set itself makes of the body.
  const plain: number[] = []
  const real = set.createRewriter({
    write(chunk) {
      plain.push(...chunk)
      return true
    },
  })
  real.write(bytes)
  real.end()
  const rebuilt: number[] = []
  let at = 0
  for (const { start, end, replacement } of one.changes) {
    rebuilt.push(...bytes.subarray(at, start), ...replacement)
    at = end
  }
  rebuilt.push(...bytes.subarray(at))
  expect(rebuilt).toEqual(plain)
  expect(written).toEqual(plain)
})
