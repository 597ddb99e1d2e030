import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { memoryFiles } from './memory-files.ts'
import { type Loaded, loadConfig, loadRules, textAsFile } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'
import { MAX_CONFIG_CHARACTERS } from '../src/yaml-source.ts'

const example = readFileSync(join(import.meta.dirname, '../../../docs/examples/prexy.yaml'), 'utf8')

/** Either it is valid, or there is an error; and every problem is one line with a place inside the file. */
function expectHonest(loaded: Loaded<unknown>, text: string): void {
  const errors = loaded.problems.filter((problem) => problem.severity === 'error')
  expect(loaded.value === undefined).toBe(errors.length > 0)
  const lines = text.split('\n')
  for (const problem of loaded.problems) {
    const { line, column } = problem.position
    expect(line).toBeGreaterThanOrEqual(1)
    expect(line).toBeLessThanOrEqual(lines.length)
    expect(column).toBeGreaterThanOrEqual(1)
    expect(column).toBeLessThanOrEqual(lines[line - 1].length + 1)
    expect(formatProblem(problem)).toMatch(/^prexy\.yaml:\d+:\d+: .+$/)
  }
}

test('the example is valid', () => {
  expect(loadConfig('prexy.yaml', textAsFile(example, 'prexy.yaml')).problems).toEqual([])
})

test('whatever a slip of the hand makes of a file, it is read or explained', () => {
  const slip = fc.record({
    at: fc.nat(example.length),
    remove: fc.nat(12),
    insert: fc.oneof(
      fc.constantFrom(
        '',
        ' ',
        '  ',
        '\n',
        '\t',
        ':',
        '- ',
        '"',
        "'",
        '[',
        '}',
        '&a ',
        '*a',
        '<<: ',
        '!x ',
        '|\n',
        '#',
        '---\n',
        '%',
        '\0',
        '\ufffd',
      ),
      fc.string({ maxLength: 5 }),
    ),
  })
  fc.assert(
    fc.property(fc.array(slip, { minLength: 1, maxLength: 4 }), (slips) => {
      let text = example
      for (const { at, remove, insert } of slips) text = text.slice(0, at) + insert + text.slice(at + remove)
      expectHonest(loadConfig('prexy.yaml', textAsFile(text, 'prexy.yaml')), text)
      expectHonest(loadRules(text, 'prexy.yaml'), text)
    }),
    { numRuns: 120 },
  )
})

test('whatever data stands in a file, it is read or explained', () => {
  const key = fc.constantFrom(
    'listen',
    'upstream',
    'rules',
    'routes',
    'rewrite',
    'timeouts',
    'limits',
    'text',
    'regex',
    'domain',
    'with',
    'to',
    'host',
    'path',
    'url',
    'once',
    'max',
    'request',
  )
  const leaf = fc.oneof(
    fc.string({ maxLength: 4 }),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom('http://a', '/x', '8080', 'first'),
  )
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(fc.dictionary(key, tree, { maxKeys: 5 }), (document) => {
      const text = stringify(document)
      expectHonest(loadConfig('prexy.yaml', textAsFile(text, 'prexy.yaml')), text)
    }),
    { numRuns: 200 },
  )
})

test.each([
  ['lists', '['.repeat(20_000)],
  ['mappings', '{a: '.repeat(20_000)],
  ['indentation', Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ['sequences', `${'- '.repeat(20_000)}a`],
])('too deep %s are explained', (_what, text) => {
  const { value, problems } = loadConfig('prexy.yaml', textAsFile(text, 'prexy.yaml'))
  expect(value).toBeUndefined()
  expect(problems.length).toBeGreaterThan(0)
  expect(problems.length).toBeLessThan(20)
})

test('a file that is too long is not read', () => {
  const { problems } = loadConfig('prexy.yaml', textAsFile(`#${'x'.repeat(MAX_CONFIG_CHARACTERS)}`, 'prexy.yaml'))
  expect(problems.map(formatProblem)).toEqual(['prexy.yaml:1:1: the file is longer than 16777216 characters; split it'])
})

test('whatever is wrong with several files, each problem stands in one of them', () => {
  const site = 'host: [a.example]\ninherit: add\nrules:\n  - {use: standard}\n  - {domain: a.org, to: a.example}\n'
  const main = `include: [a.yaml, 'b*.yaml']\nupstream: http://127.0.0.1:9000\nruleSets:\n  standard: [{text: x, with: y}]\naccess: {allow: 10.0.0.0/8}\n`
  const contents = { 'prexy.yaml': main, 'a.yaml': site, 'b.yaml': site.replaceAll('a.', 'b.') }
  const names = ['prexy.yaml', 'a.yaml', 'b.yaml'] as const
  const piece = fc.constantFrom(
    '',
    ' ',
    '\n',
    'x',
    ': ',
    '- ',
    '[',
    '}',
    "'",
    '#',
    '*',
    '&a ',
    '${env:X}',
    'include: b.yaml\n',
    '\t',
  )
  const slip = fc.record({ name: fc.constantFrom(...names), at: fc.nat(200), removed: fc.nat(12), added: piece })
  fc.assert(
    fc.property(fc.array(slip, { minLength: 1, maxLength: 4 }), (slips) => {
      const changed: Record<string, string> = { ...contents }
      for (const { name, at, removed, added } of slips) {
        changed[name] = changed[name].slice(0, at) + added + changed[name].slice(at + removed)
      }
      const { value, problems } = loadConfig('prexy.yaml', memoryFiles(changed))
      expect(value === undefined).toBe(problems.some(({ severity }) => severity === 'error'))
      for (const { position, message } of problems) {
        expect(message).not.toBe('')
        const lines = (changed[position.file] ?? '').split('\n')
        expect(position.line).toBeLessThanOrEqual(lines.length)
        expect(position.column).toBeLessThanOrEqual(lines[position.line - 1].length + 1)
      }
    }),
    { numRuns: 500 },
  )
})
