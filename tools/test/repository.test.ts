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
