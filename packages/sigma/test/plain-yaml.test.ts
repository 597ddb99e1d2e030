import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readPlainYaml } from '../src/plain-yaml.ts'
import { readFullYaml, type SourceNode } from '../src/source-tree.ts'

/** Without the places of nulls, which have none in the text. */
function shape(node: SourceNode): unknown {
  switch (node.kind) {
    case 'map':
      return { at: node.at, map: node.entries.map(({ key, keyAt, value }) => [key, keyAt, shape(value)]) }
    case 'list':
      return { at: node.at, list: node.items.map(shape) }
    case 'null':
      return 'null'
    default:
      return [node.kind, node.text, node.at]
  }
}

function compareWithFull(text: string): 'same' | 'gave up' {
  const plain = readPlainYaml(text)
  if (plain === undefined) return 'gave up'
  const { documents, faults } = readFullYaml(text)
  expect({ text, faults: faults.map(({ message }) => message), read: plain.map(shape) }).toEqual({
    text,
    faults: [],
    read: documents.map(shape),
  })
  return 'same'
}

describe('what rule files are written in is read at once', () => {
  test.each([
    'a: b',
    'a: b\n',
    '# c\na: b # d\n\nb: c#d\n',
    'a:\n  b: 1\n  c:\n    - x\n    - y\nd:\n- 1\n- 2\ne: f',
    "a: 'it''s'\nb: \"x\"\n'|all': c\n",
    '- a: 1\n  b: 2\n- c: 3\n',
    'a:\n  - b: 1\n    c:\n      - d\n  - e: 2\n',
    'a: |\n  one\n    two\n\n  three\n\nb: c\n',
    'a: |-\n  one # no comment\nb: c',
    'a: |\n  one',
    'a: 1\n---\nb: 2\n---\n# nothing\n',
    '---\na: 1\n',
    'a:\nb: ~\nc: null\nd: Null\n',
    'a: true\nb: False\nc: yes\nd: 1.5\ne: 0x1F\nf: 1e3\ng: 12a\nh: -1\ni: .5\nj: 2026-01-02\nk: 0o17\nl: .inf\nm: 1_000',
    'a: C:\\Windows\\x.exe\nb: http://x/y?z=1#q\nc: -enc\nd: a:b\n',
    'a:   b   \nc:    # d\n  e: f\n',
    "a: '#'\nb: x '#' y\n",
    'a: b\n\n\n',
    '',
    '# only\n',
    'a: |\n  x\n# comment\nb: c\n',
    'a:\n    - |\n        x\n    - y\n',
    'a:\n  - \u00a0   # no-break space\n  - \u3000x\u2003\nb: |\n  \u00a0x\n  \u2003\n',
    '--- # comment\na: b\n',
  ])('%j', (text) => {
    expect(compareWithFull(text)).toBe('same')
  })
})

describe('what is unusual is left to the full parser', () => {
  test.each([
    'a: [b]',
    'a: {b: c}',
    'a: &x b',
    'a: *x',
    'a: !!str b',
    'a: >\n  b\n',
    'a: |+\n  b\n\n',
    'a: |2\n   b\n',
    'a: b\n  c\n',
    "a: 'b\n  c'\n",
    'a: "b\\n"',
    'a b: c',
    '? a\n: b',
    'a: b: c',
    'a: b\na: c',
    'a:\tb',
    '\ufeffa: b',
    'a: b\r\nc: d\r\n',
    '%YAML 1.2\n---\na: b',
    '--- a',
    'a: b\n...\n',
    '- - a',
    '-\n  a: b\n',
    'a\n',
    'a: @b',
    'a: `b',
    'a: , b',
    'a:\n  b: c\n d: e\n',
    ' a: b\nc: d\n',
    'a: |\n  b\n c\n',
    '- a\nb: c\n',
    'null: a',
    '"a": b',
    "a: 'b' c",
    'a: b\n- c\n',
  ])('%j', (text) => {
    expect(readPlainYaml(text)).toBe(undefined)
  })
})

const scalar = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      'a',
      'b',
      ' ',
      '#',
      ':',
      "'",
      '"',
      '-',
      '*',
      '|',
      '\\',
      '\n',
      'é',
      '\u00a0',
      '\u3000',
      '1',
      '.',
      '%',
      '{',
      '?',
    ),
    maxLength: 8,
  }),
  fc.constantFrom('true', 'null', '~', '1', '0x1', '1e5', '', ' ', 'a: b', '- a', 'a #b', '---', 'line\nline\n'),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)
const key = fc.constantFrom('a', 'b|c', 'selection_1', '|all', 'x y', '1', 'null', '-', "it's")
const tree = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    { weight: 3, arbitrary: scalar },
    fc.array(tie('node'), { maxLength: 4 }),
    fc.dictionary(key, tie('node'), { maxKeys: 4 }),
  ),
})).node

test('documents by chance, written in every way, are read as the full parser reads them', () => {
  fc.assert(
    fc.property(
      fc.array(tree, { minLength: 1, maxLength: 2 }),
      fc.constantFrom('PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL'),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      (documents, defaultStringType, indent, indentSeq) => {
        const text = documents
          .map((value) =>
            stringify(value, { defaultStringType, defaultKeyType: 'PLAIN', indent, indentSeq, lineWidth: 0 }),
          )
          .join('---\n')
        compareWithFull(text)
      },
    ),
    { numRuns: 250 },
  )
})

test('lines by chance are read as the full parser reads them, or not at all', () => {
  const line = fc
    .tuple(
      fc.constantFrom('', ' ', '  ', '   ', '    '),
      fc.constantFrom(
        'a:',
        'b: c',
        '- d',
        '- e: f',
        "g: 'h'",
        'i: |',
        '# j',
        '',
        'k',
        '- |',
        "- 'l'",
        'm: n # o',
        '---',
        'p: "q"',
        "- ''",
        'r: |-',
        '-',
        's:t',
        'u: 1',
      ),
    )
    .map(([indent, content]) => indent + content)
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
      compareWithFull(lines.join('\n'))
    }),
    { numRuns: 1_500 },
  )
})
