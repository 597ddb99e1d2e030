import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { describe, expect, test } from 'vitest'
import { enginePage, pageFor, rulesOf } from '../src/bench-rules.ts'
import { type BenchRule, type EngineDefinition, parseDefinition, readDefinitions } from '../src/definition.ts'
import { compileDfaReplacer } from '../src/dfa-loop.ts'
import { goalTable } from '../src/goals.ts'
import { htmlPage } from '../src/html-page.ts'
import { compileRegExpReplacer } from '../src/regexp-replace.ts'
import { summarize } from '../src/record.ts'

const FOLDER = fileURLToPath(new URL('../definitions', import.meta.url))
const definitions = readDefinitions(FOLDER)

test('every definition is read', () => {
  expect([...definitions.keys()]).toEqual(
    readdirSync(FOLDER)
      .map((name) => name.replace('.json', ''))
      .sort(),
  )
})

test.each([
  [
    '{"name": "x"}',
    'a definition has a "model": engine, corpus, compile, proxy, connections, msgpack, sigma, evtx, sites',
  ],
  ['{"name": "x", "model": "engine"}', 'x: "what" is missing'],
])('%s is refused', (text, message) => {
  expect(() => parseDefinition(text)).toThrow(message)
})

test('a field of another model is refused', () => {
  const proxy = JSON.stringify({ ...definitions.get('proxy-sub-filter'), subjects: [] })
  expect(() => parseDefinition(proxy)).toThrow('"subjects" is not a field of the model "proxy"')
})

test('a goal about a subject that is not there is refused', () => {
  const goals = [{ subject: 'prexy', against: 'nobody', must: 1, aim: 1 }]
  const engine = JSON.stringify({ ...definitions.get('engine-5-rules'), goals })
  expect(() => parseDefinition(engine)).toThrow('engine-5-rules: "nobody" is none of prexy, dfa-loop')
})

describe('pages', () => {
  const shape = { matchEveryBytes: 40, needles: ['first', 'second'] }

  test.each([0, 1, 39, 40, 41, 1_000])('have exactly %d bytes and a needle per whole stretch', (bytes) => {
    const page = Buffer.from(htmlPage(shape, bytes)).toString('latin1')
    expect(page.length).toBe(bytes)
    expect(page.match(/first|second/g)?.length ?? 0).toBe(Math.floor(bytes / 40))
  })

  test('are the same every time', () => {
    expect(htmlPage(shape, 5_000)).toEqual(htmlPage(shape, 5_000))
  })
})

const engines = [...definitions.values()].filter((definition) => definition.model === 'engine')
const proxies = [...definitions.values()].filter((definition) => definition.model === 'proxy')
const replacing = [
  ...engines.flatMap((definition) => {
    const page = enginePage(definition)
    const { expectedMatches } = definition
    return uniqueRules(definition).map((rules) => ({ name: definition.name, rules, page, expectedMatches }))
  }),
  ...proxies.map(({ name, rules, page }) => {
    const bytes = 102_400
    return {
      name,
      rules: rulesOf(rules),
      page: pageFor(page, rules, bytes),
      expectedMatches: Math.floor(bytes / 180),
    }
  }),
]

function uniqueRules({ rules, subjects }: EngineDefinition): readonly (readonly BenchRule[])[] {
  const texts = new Set(subjects.map((subject) => JSON.stringify(subject.rules ?? rules)))
  return [...texts].map((text) => rulesOf(JSON.parse(text)))
}

describe.each(replacing)('$name', ({ rules, page, expectedMatches }) => {
  // Building all of a DFA's states by hand takes the table loop seconds where there are many rules.
  const peers = rules.length > 50 ? [compileRegExpReplacer] : [compileDfaReplacer, compileRegExpReplacer]
  // A first page in full takes the engine seconds, too.
  const part = rules.length > 1_000 ? page.subarray(0, 2_000) : page

  test('the peers give the same bytes as prexy', () => {
    const prexy = runPrexy(part, rules)
    if (part === page) expect(prexy.matches).toBe(expectedMatches)
    for (const compile of peers) {
      const { output, matches } = compile(rules).replace(part)
      expect({ output: Buffer.from(output).toString('latin1'), matches }).toEqual(prexy)
    }
  })
})

describe('generated rules', () => {
  test.each([
    ['literals', { literals: 5_000 }, 5_000],
    ['alternations', { alternations: 300 }, 300],
  ] as const)('are so many different %s, the same every time', (_, rules, count) => {
    const made = rulesOf(rules)
    expect(new Set(made.map((rule) => JSON.stringify(rule))).size).toBe(count)
    expect(rulesOf(rules)).toEqual(made)
  })

  test('hold no literal that begins with another', () => {
    const texts = rulesOf({ literals: 500 }).flatMap((rule) => ('text' in rule ? [rule.text] : []))
    expect(texts.filter((text) => texts.some((other) => other !== text && text.startsWith(other)))).toEqual([])
  })
})

describe('goals', () => {
  const definition = parseDefinition(JSON.stringify(definitions.get('engine-101-literals')))
  const table = (...ratios: readonly number[]): string =>
    goalTable(
      definition,
      ratios.map((value, i) => ({ subject: 'prexy / hyperscan', runtime: `r${i}`, value, unit: 'x', load: 0 })),
    )

  test.each([
    [[1.2, 0.9], 'aim reached'],
    [[0.5, 0.4], 'met'],
    [[0.5, 0.2], 'met, but not by every runtime'],
    [[0.3, 0.39], 'missed'],
    [[], 'not measured'],
  ])('with ratios of %j are %s', (ratios, verdict) => {
    const last = table(...ratios)
      .trim()
      .split('\n')
      .at(-1)
    expect(last).toMatch(new RegExp(`0\\.4x +1x +${verdict}$`))
  })
})

test('the summary gives median, least and most', () => {
  const sample = { subject: 'prexy', runtime: 'node v20.0.0', unit: 'MB/s', load: 0 } as const
  const text = summarize([3, 1, 2].map((value) => ({ ...sample, value })))
  expect(text.replace(/ +/g, ' ')).toBe('prexy node v20.0.0 2.00 MB/s (1.00 to 3.00, 3 samples)\n')
})

function runPrexy(page: Uint8Array, rules: Parameters<typeof compileRuleSet>[0]): { output: string; matches: number } {
  const pieces: Buffer[] = []
  const rewriter = compileRuleSet(rules).createRewriter({
    write(chunk) {
      pieces.push(Buffer.from(chunk))
      return true
    },
  })
  rewriter.write(page)
  rewriter.end()
  return {
    output: Buffer.concat(pieces).toString('latin1'),
    matches: rewriter.hits.reduce((sum, hits) => sum + hits, 0),
  }
}
