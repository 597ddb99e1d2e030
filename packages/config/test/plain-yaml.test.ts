/** The fast reader against the full parser: it reads the same or nothing. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readPlainYaml } from '../src/plain-yaml.ts'
import { readFullYaml } from '../src/yaml-source.ts'

/** Whether it was read. */
function expectSame(text: string): boolean {
  const plain = readPlainYaml(text)
  if (plain === undefined) return false
  const full = readFullYaml(text, 'x.yaml')
  expect({ text, problems: full.problems, value: plain.value }).toEqual({ text, problems: [], value: full.value })
  return true
}

const GOLDENS = join(import.meta.dirname, 'golden')
const goldens = readdirSync(GOLDENS).map((name) => {
  const content = readFileSync(join(GOLDENS, name), 'utf8')
  return content.slice(0, content.indexOf('\n----\n') + 1)
})
const example = readFileSync(join(import.meta.dirname, '../../../docs/examples/prexy.yaml'), 'utf8')

const SITE = `# A site.
host: [a.example, '*.a.example']
upstream: http://127.0.0.1:9000   # for now
listen: 127.0.0.1:8080
limits: {maxTunnels: 0, request: { maxBodyBytes: 10 } }
rules:
- domain: a.org
  to: a.example

- {regex: 'UA-([0-9]{1,12})', with: "UA-$1", paths: [/a/**, '/b, c']}
-   text: it's
    with: ''
    keepCase: true
routes:
  - path: /x
    rules: []
    headers:
      request:
        - set: X-A
          value: a b
`

describe('what is read', () => {
  test('a site as people write it', () => {
    expect(expectSame(SITE)).toBe(true)
  })
  test.each([
    'a: 1',
    'a: -5',
    'a: 0',
    'a: true',
    'a: b c',
    "a: 'it''s'",
    'a: "x: y"',
    'a: []',
    'a: {}',
    'a: [ b , c ]',
    'a: {b: c, d: [1, 2]}',
    'a:\n  b:\n    c: d',
    'a:\n- b\n- c\nd: e',
    'a:\n  - b\n  - c',
    '- a: b\n  c: d\n- e',
    'a: b # c',
    'a: x#y',
    'a: /p:8/**',
    'a: [http://a, b:1]',
  ])('%j', (text) => {
    expect(expectSame(text)).toBe(true)
  })
})

describe('what is left to the full parser', () => {
  test.each([
    '',
    '# nothing',
    'a:',
    'a: |\n  b',
    'a: >-\n  b',
    'a: &x b',
    'a: *x',
    'a: !t b',
    'a: "x\\n"',
    "a: 'b\n  c'",
    'a: b\n  c',
    'a: 1.5',
    'a: 0x1f',
    'a: 1e3',
    'a: 007',
    'a: ~',
    'a: null',
    'a: True',
    'a: .inf',
    'a: .5',
    'a: b: c',
    'a: 1\na: 2',
    '"a": b',
    '? a\n: b',
    '<<: {a: b}',
    '--- \na: b',
    '%YAML 1.1\n---\na: b',
    'a: [b,\n c]',
    'a: [b, ]',
    'a: {b}',
    'a: [b: c]',
    'a:\tb',
    '\ta: b',
    ' a: b',
    'a: b\n c: d',
    'a:\n    b: c\n  d: e',
    '- - a',
    'null: a',
    '__proto__: a',
    "a: 'x' # y",
    'a: b\r\n',
    '\ufeffa: b',
    'a: - b',
    'a: @b',
    'a: %b',
    'a: b:',
    'a: [a:]',
    "a: 'b' c",
    'a: [b] c',
    'a: b\n---\nc: d',
    'a: b\n...\n',
    '-',
    '- ',
    'a:b',
    '{a: b}\nc',
  ])('%j', (text) => {
    expectSame(text)
    expect(readPlainYaml(text)).toBeUndefined()
  })
})

test('files of the tests and of the guide are read the same', () => {
  const read = [...goldens, example].filter(expectSame).length
  expect(read).toBeGreaterThan(10)
})

const word = fc.string({ unit: fc.constantFrom(...'ab1:# -,[]{}\'"&*!|>%@`~?.\\/$\n=é😀<_'), maxLength: 8 })
const key = fc.oneof(fc.constantFrom('a', 'b', 'text', 'X-Y', '404', 'null', '__proto__', '<<', 'a b'), word)
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    tie('leaf'),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 3 }),
  ),
  leaf: fc.oneof(
    word,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom('true', 'off', '1', '1.0', '.5', '0x1', '127.0.0.1', '127.0.0.1:80', '1.2.3.4.5', '~'),
  ),
}))

test('whatever is written by a program is read the same', () => {
  let read = 0
  fc.assert(
    fc.property(
      tree,
      fc.constantFrom('PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE'),
      fc.constantFrom('block', 'flow', 'any'),
      fc.boolean(),
      (value, defaultStringType, collectionStyle, indentSeq) => {
        const text = stringify(value, {
          defaultStringType,
          defaultKeyType: 'PLAIN',
          collectionStyle,
          indentSeq,
          lineWidth: 0,
        })
        if (expectSame(text)) read++
      },
    ),
    { numRuns: 3_000 },
  )
  expect(read).toBeGreaterThan(50)
})

test('whatever a slip of the hand makes of a file is read the same', () => {
  const lines = SITE.split('\n')
  const piece = fc.constantFrom(
    ' ',
    '  ',
    '\n',
    '- ',
    ': ',
    ':',
    '#',
    ' #',
    "'",
    '"',
    '[',
    ']',
    '{',
    '}',
    ',',
    '&a',
    '*a',
    '!',
    '|',
    '>',
    '\t',
    'x',
    '1',
    '.',
    '~',
    '---',
    '?',
  )
  const slip = fc.record({ line: fc.nat(lines.length - 1), column: fc.nat(50), removed: fc.nat(3), added: piece })
  let read = 0
  fc.assert(
    fc.property(fc.array(slip, { minLength: 1, maxLength: 3 }), (slips) => {
      const changed = lines.slice()
      for (const { line, column, removed, added } of slips) {
        const text = changed[line]
        const at = Math.min(column, text.length)
        changed[line] = text.slice(0, at) + added + text.slice(at + removed)
      }
      if (expectSame(changed.join('\n'))) read++
    }),
    { numRuns: 6_000 },
  )
  expect(read).toBeGreaterThan(500)
})
