import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { describe, expect, test } from 'vitest'
import { parseDefinition, readDefinitions } from '../src/definition.ts'
import { compileDfaReplacer } from '../src/dfa-loop.ts'
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
  ['{"name": "x"}', 'a definition has a "model": "engine", "proxy" or "msgpack"'],
  ['{"name": "x", "model": "engine"}', 'x: "what" is missing'],
])('%s is refused', (text, message) => {
  expect(() => parseDefinition(text)).toThrow(message)
})

test('a field of another model is refused', () => {
  const proxy = JSON.stringify({ ...definitions.get('proxy-sub-filter'), chunkBytes: 1 })
  expect(() => parseDefinition(proxy)).toThrow('"chunkBytes" is not a field of the model "proxy"')
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

const replacing = [...definitions.values()].filter((definition) => definition.model !== 'msgpack')

describe.each(replacing)('$name', (definition) => {
  const bytes = definition.model === 'engine' ? definition.page.bytes : 102_400
  const page = htmlPage(definition.page, bytes)

  test('the peers give the same bytes as prexy', () => {
    const outputs = [compileDfaReplacer(definition.rules), compileRegExpReplacer(definition.rules)].map((replacer) => {
      const { output, matches } = replacer.replace(page)
      return { output: Buffer.from(output).toString('latin1'), matches }
    })
    const prexy = runPrexy(page, definition.rules)
    expect(prexy.matches).toBe(definition.model === 'engine' ? definition.expectedMatches : Math.floor(bytes / 180))
    expect(outputs[0]).toEqual(prexy)
    expect(outputs[1]).toEqual(prexy)
  })
})

test('the summary gives median, least and most', () => {
  const sample = { subject: 'prexy', runtime: 'node v20.0.0', unit: 'MB/s', load: 0 } as const
  const text = summarize([3, 1, 2].map((value) => ({ ...sample, value })))
  expect(text.replace(/ +/g, ' ')).toBe('prexy node v20.0.0 2.0 MB/s (1.0 to 3.0, 3 samples)\n')
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
