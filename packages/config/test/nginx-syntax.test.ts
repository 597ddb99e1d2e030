import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_NGINX_INCLUDE_DEPTH, readNginx } from '../src/nginx-include.ts'
import { MAX_NGINX_DEPTH, type NginxDirective, parseNginx } from '../src/nginx-syntax.ts'

function shown({ name, args, block }: NginxDirective): unknown[] {
  return block === undefined ? [name, ...args] : [name, ...args, block.map(shown)]
}

const WORDS: readonly (readonly [text: string, wanted: readonly unknown[]])[] = [
  ['a b  c;', ['a', 'b', 'c']],
  ['a "b c" \'d "e\';', ['a', 'b c', 'd "e']],
  ['a "b\\"c\\\\d\\n\\te\\x";', ['a', 'b"c\\d\n\te\\x']],
  ["a 'it\\'s';", ['a', "it's"]],
  ['a b\\ c\\;d;', ['a', 'b\\ c\\;d']],
  ['a b"c d";', ['a', 'b"c', 'd"']],
  ['a ${b}c;', ['a', '${b}c']],
  ['a b#c; # d;', ['a', 'b#c']],
  ['# x\na # y\n b;', ['a', 'b']],
  ['a ~ \\.(png|jpg)$ { }', ['a', '~', '\\.(png|jpg)$', []]],
  ['a \'\' "";', ['a', '', '']],
  ['a{b c;d;}', ['a', [['b', 'c'], ['d']]]],
  ['a b}c;', ['a', 'b}c']],
  ["content_by_lua_block { if x then local s = '}' -- }\n end [[ } ]] { } }", ['content_by_lua_block', []]],
]

test.each(WORDS)('%s', (text, wanted) => {
  const { directives, problems } = parseNginx(text, 'f')
  expect(problems).toEqual([])
  expect(directives.map(shown)).toEqual([wanted])
})

const FAULTS: readonly (readonly [text: string, line: number, message: string])[] = [
  ['a;\nb', 2, 'b has no ; at its end'],
  ['a {\nb;', 1, 'a has no } at its end'],
  ['a;\n}', 2, 'a } stands without its {'],
  ['a {\n b }', 2, 'b has no ; before the }'],
  [';', 1, 'a ; stands without a directive before it'],
  ['a "b\nc', 1, 'a text that begins with " does not end'],
  ['a "b"c;', 1, 'unexpected "c" behind a quoted text'],
  ['x_by_lua_block { {', 1, 'x_by_lua_block has no } at its end'],
  [`${'a {'.repeat(MAX_NGINX_DEPTH + 1)}`, 1, `blocks stand more than ${MAX_NGINX_DEPTH} levels deep`],
]

test.each(FAULTS)('%s', (text, line, message) => {
  expect(parseNginx(text, 'f').problems).toEqual([{ file: 'f', line, message }])
})

test('lines are counted in every kind of word', () => {
  const { directives } = parseNginx('a "b\n\nc"\n# d\n\n;e f\\\ng;\nh {\n i; }', 'f')
  expect(directives.map(({ name, line }) => [name, line])).toEqual([
    ['a', 1],
    ['e', 6],
    ['h', 8],
  ])
  expect(directives[2].block?.map(({ line }) => line)).toEqual([9])
})

test('anything ends, without being thrown', () => {
  const piece = fc.constantFrom(
    'a',
    ' ',
    ';',
    '{',
    '}',
    '"',
    "'",
    '\\',
    '$',
    '#',
    '\n',
    '${',
    '_by_lua_block',
    '[[',
    '--',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const { directives, problems } = parseNginx(pieces.join(''), 'f')
      expect(directives.length + problems.length).toBeGreaterThanOrEqual(0)
    }),
    { numRuns: 2_000 },
  )
})

describe('include', () => {
  const files: Readonly<Record<string, string>> = {
    'a.conf': 'x 1;',
    'b.conf': 'y 2; include a.conf;',
    'loop.conf': 'include loop.conf;',
  }
  const load = (pattern: string): { file: string; text: string }[] | string => {
    if (pattern === '*') return ['a.conf', 'b.conf'].map((file) => ({ file, text: files[file] }))
    return pattern in files ? [{ file: pattern, text: files[pattern] }] : 'there is no such file'
  }
  const read = (text: string): ReturnType<typeof readNginx> => readNginx({ file: 'main', text }, load)

  test('stands for what is in the files, each with its place', () => {
    const { directives, problems } = read('http { include *; z; }')
    expect(problems).toEqual([])
    expect(directives.map(shown)).toEqual([['http', [['x', '1'], ['y', '2'], ['x', '1'], ['z']]]])
    expect(directives[0].block?.map(({ file }) => file)).toEqual(['a.conf', 'b.conf', 'a.conf', 'main'])
  })

  test('says what it does not find', () => {
    expect(read('a;\ninclude no.conf;').problems).toEqual([
      { file: 'main', line: 2, message: 'include no.conf: there is no such file' },
    ])
  })

  test('ends where files include themselves', () => {
    const [problem] = read('include loop.conf;').problems
    expect(problem.message).toBe(`files include one another more than ${MAX_NGINX_INCLUDE_DEPTH} levels deep`)
  })
})
