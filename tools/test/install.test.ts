import { createHash } from 'node:crypto'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { whyInstall } from '../install.mjs'
import { makeTree } from './tree.ts'

const LOCK = JSON.stringify({
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'x', bin: { a: 'bin.js' } },
    'node_modules/other-platform': { version: '1.0.0', optional: true, bin: { other: 'bin.js' } },
    'apps/own': { bin: { own: 'bin.js' } },
  },
})
const STAMP = 'node_modules/.prexy-installed.json'

function installed(): string {
  return makeTree({
    'package-lock.json': LOCK,
    'node_modules/a/package.json': {},
    'node_modules/.bin/a': '',
    'node_modules/.bin/own': '',
    [STAMP]: { lock: createHash('sha256').update(LOCK).digest('hex') },
  })
}

test('an installed clone needs nothing', () => {
  expect(whyInstall(installed())).toBeUndefined()
})

test('a fresh clone needs everything', () => {
  expect(whyInstall(makeTree({ 'package-lock.json': LOCK }))).toBe('nothing is installed yet')
})

test('an interrupted installation, which leaves no stamp, is begun again', () => {
  const root = installed()
  rmSync(join(root, STAMP))
  expect(whyInstall(root)).toBe('package-lock.json is not the one that was installed')
  writeFileSync(join(root, STAMP), '{"lo')
  expect(whyInstall(root)).toBe('package-lock.json is not the one that was installed')
})

test('a changed lock file is installed', () => {
  const root = installed()
  writeFileSync(join(root, 'package-lock.json'), LOCK.replace('1.0.0', '1.0.1'))
  expect(whyInstall(root)).toBe('package-lock.json is not the one that was installed')
})

test('what npm itself installed to the end is taken over', () => {
  const root = installed()
  rmSync(join(root, STAMP))
  const hidden = { packages: { 'node_modules/a': { version: '1.0.0', integrity: 'x' } } }
  writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify(hidden))
  expect(whyInstall(root)).toBeUndefined()
  expect(existsSync(join(root, STAMP))).toBe(true)
})

test('a deleted package is installed again', () => {
  const root = installed()
  rmSync(join(root, 'node_modules/a'), { recursive: true })
  expect(whyInstall(root)).toBe('node_modules/a is missing')
})

test.each(['a', 'own'])('a deleted program %s is installed again', (name) => {
  const root = installed()
  rmSync(join(root, 'node_modules/.bin', name))
  expect(whyInstall(root)).toBe(`node_modules/.bin/${name} is missing`)
})

test('so is the whole folder of programs', () => {
  const root = installed()
  rmSync(join(root, 'node_modules/.bin'), { recursive: true })
  expect(whyInstall(root)).toBe('node_modules/.bin/a is missing')
})
