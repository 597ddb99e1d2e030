import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkLayers } from '../check-layers.mjs'
import { checkSources, findDeveloperPaths } from '../check-sources.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('this repository keeps to its layers', () => {
  expect(checkLayers(root)).toEqual([])
})

test('this repository names no path of one machine', () => {
  expect(checkSources(root)).toEqual([])
})

test('a path of one machine is found with its line, an address path is not', () => {
  const home = ['', 'home', 'someone', 'x'].join('/')
  expect(findDeveloperPaths('a.ts', `first\nconst p = '${home}'\n`)).toEqual([
    `a.ts:2: ${home.slice(0, -1)}: a path of one machine; find programs through PATH`,
  ])
  expect(findDeveloperPaths('a.ts', `GET /homepage/ HTTP/1.1`)).toEqual([])
})

test('every dependency has its reason in docs/dependencies.md', () => {
  const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8')
  const manifests = ['package.json', 'bench/runtimes/package.json', ...workspaceManifests()]
  const missing = manifests.flatMap((manifest) => {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(join(root, manifest), 'utf8'))
    return Object.keys({ ...dependencies, ...devDependencies })
      .filter((name) => !name.startsWith('@prexy/') && !page.includes(`\`${name}\``))
      .map((name) => `${manifest}: ${name}`)
  })
  expect(missing).toEqual([])
})

function workspaceManifests(): string[] {
  return ['packages', 'apps'].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => `${group}/${name}/package.json`),
  )
}
