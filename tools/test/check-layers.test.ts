import { describe, expect, test } from 'vitest'
import { checkLayers, importsOf } from '../check-layers.mjs'
import { makeTree } from './tree.ts'

const ROOT = { 'package.json': { devDependencies: { vitest: '1' } } }

function manifest(name: string, ...dependencies: readonly string[]): object {
  return { name, dependencies: Object.fromEntries(dependencies.map((dependency) => [dependency, '1'])) }
}

describe('checkLayers', () => {
  test('a tree that keeps to the layers has no problems', () => {
    const root = makeTree({
      ...ROOT,
      'packages/bytes/package.json': manifest('@prexy/bytes'),
      'packages/bytes/src/sink.ts': `export const a = 1\n`,
      'packages/regex/package.json': manifest('@prexy/regex', '@prexy/bytes'),
      'packages/regex/tsconfig.json': { references: [{ path: '../bytes' }] },
      'packages/regex/src/dfa.ts': `import { a } from '@prexy/bytes/sink'\nimport { b } from './b.ts'\n`,
      'packages/regex/src/b.ts': `import type { Dfa } from './dfa.ts'\nexport const b = 1\n`,
      'packages/regex/test/dfa.test.ts': `import { test } from 'vitest'\nimport { readFileSync } from 'node:fs'\nimport '../src/b.ts'\n`,
    })
    expect(checkLayers(root)).toEqual([])
  })

  const cases: readonly [string, Readonly<Record<string, string | object>>, readonly string[]][] = [
    [
      'an import against the layers',
      {
        'packages/bytes/package.json': manifest('@prexy/bytes', '@prexy/regex'),
        'packages/bytes/src/a.ts': `import type { X } from '@prexy/regex/ast'\n`,
        'packages/regex/package.json': manifest('@prexy/regex'),
      },
      ['packages/bytes/src/a.ts: packages/bytes may not import packages/regex'],
    ],
    [
      'a relative import that leaves the package',
      {
        'packages/bytes/package.json': manifest('@prexy/bytes'),
        'packages/bytes/src/a.ts': `export { x } from '../../regex/src/ast.ts'\n`,
      },
      ['packages/bytes/src/a.ts: ../../regex/src/ast.ts leaves the package'],
    ],
    [
      'a module of Node in a package that runs in browsers',
      {
        'packages/http/package.json': manifest('@prexy/http'),
        'packages/http/src/a.ts': `const fs = await import('node:fs')\n`,
      },
      ['packages/http/src/a.ts: node:fs: this package runs without Node'],
    ],
    [
      'sockets outside packages/net',
      {
        'packages/proxy/package.json': manifest('@prexy/proxy'),
        'packages/proxy/src/a.ts': `import { connect } from 'node:net'\n`,
      },
      ['packages/proxy/src/a.ts: node:net: sockets, streams and codings belong to packages/net'],
    ],
    [
      'an undeclared and an unused dependency',
      {
        'packages/config/package.json': manifest('@prexy/config', 'zod'),
        'packages/config/src/a.ts': `import {\n  parse,\n  LineCounter,\n} from 'yaml'\n`,
      },
      [
        'packages/config/src/a.ts: yaml is not among the dependencies of packages/config/package.json',
        'packages/config/package.json: zod is never imported',
      ],
    ],
    [
      'files in a circle',
      {
        'packages/bytes/package.json': manifest('@prexy/bytes'),
        'packages/bytes/src/a.ts': `import { b } from './b.ts'\n`,
        'packages/bytes/src/b.ts': `import { a } from './a.ts'\n`,
      },
      [
        'files import each other in a circle: packages/bytes/src/a.ts -> packages/bytes/src/b.ts -> packages/bytes/src/a.ts',
      ],
    ],
    [
      'packages in a circle',
      {
        'packages/bytes/package.json': manifest('@prexy/bytes', '@prexy/regex'),
        'packages/regex/package.json': manifest('@prexy/regex', '@prexy/bytes'),
      },
      [
        'packages/bytes/package.json: @prexy/regex is never imported',
        'packages/regex/package.json: @prexy/bytes is never imported',
        'packages depend on each other in a circle: packages/bytes -> packages/regex -> packages/bytes',
      ],
    ],
    [
      'a package without a layer',
      { 'packages/magic/package.json': manifest('@prexy/magic') },
      ['packages/magic: has no place in the layers; give it one in tools/check-layers.mjs'],
    ],
    [
      'project references that differ from the manifest',
      {
        'packages/bytes/package.json': manifest('@prexy/bytes'),
        'packages/http/package.json': manifest('@prexy/http', '@prexy/bytes'),
        'packages/http/tsconfig.json': { references: [{ path: '../regex' }] },
        'packages/http/src/a.ts': `import '@prexy/bytes/sink'\n`,
      },
      [
        'packages/http/tsconfig.json: references lack packages/bytes, which package.json depends on',
        'packages/http/tsconfig.json: references packages/regex, which package.json does not depend on',
      ],
    ],
    [
      'a folder named after nothing',
      { 'packages/bytes/package.json': manifest('@prexy/bytes'), 'packages/bytes/src/utils/a.ts': '' },
      ['packages/bytes/src/utils: a folder is named after what it holds, not "utils"'],
    ],
    [
      'a tool that needs an installed package',
      { 'tools/a.mjs': `import { parse } from 'yaml'\n`, 'tools/test/a.test.ts': `import { test } from 'vitest'\n` },
      ['tools/a.mjs: yaml: the tools run before anything is installed'],
    ],
  ]
  test.each(cases)('reports %s', (_name, files, problems) => {
    expect(checkLayers(makeTree({ ...ROOT, ...files }))).toEqual(problems)
  })
})

test.each([
  [`import a from 'a'`, ['a']],
  [`import * as a from "a"\nimport { b } from 'b'`, ['a', 'b']],
  [
    `import 'side-effect'\nexport * from './x.ts'\nexport type { Y } from './y.ts'`,
    ['side-effect', './x.ts', './y.ts'],
  ],
  [`const a = await import('./lazy.ts')`, ['./lazy.ts']],
  [`/** import x from 'comment' */\n// import y from 'comment'\nexport const from = 'text'`, []],
  [`export function f(): string {\n  return 'from'\n}\nexport const s: string = 'x'`, []],
])('importsOf(%j)', (source, specifiers) => {
  expect(importsOf(source).map(({ specifier }) => specifier)).toEqual(specifiers)
})
