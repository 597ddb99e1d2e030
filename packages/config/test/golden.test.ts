/**
 * Each file of golden/ is a configuration, a line `----`, and what loading it gives: its problems one a line, then, if
 * it is valid, the configuration as JSON. UPDATE_GOLDEN=1 writes the second half anew; not in CI.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Config, loadConfig } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'

const FOLDER = join(import.meta.dirname, 'golden')
const SEPARATOR = '----\n'
const update = process.env.UPDATE_GOLDEN === '1'
if (update && process.env.CI !== undefined) throw new Error('UPDATE_GOLDEN is for people, not for CI')

const files = readdirSync(FOLDER)

test('there are goldens', () => {
  expect(files.length).toBeGreaterThan(20)
})

test.each(files)('%s', (file) => {
  const path = join(FOLDER, file)
  const content = readFileSync(path, 'utf8')
  const cut = content.indexOf(`\n${SEPARATOR}`) + 1
  const input = content.slice(0, cut)
  const actual = outcome(input)
  if (update) writeFileSync(path, `${input}${SEPARATOR}${actual}`)
  expect(actual).toBe(update ? actual : content.slice(cut + SEPARATOR.length))
})

function outcome(input: string): string {
  const loaded = loadConfig(input, 'prexy.yaml')
  const lines = loaded.problems.map(formatProblem)
  if (loaded.value !== undefined) lines.push(JSON.stringify(plain(loaded.value), undefined, 2))
  return `${lines.join('\n')}\n`
}

function plain(config: Config): unknown {
  return {
    ...config,
    routes: config.routes.map(({ ruleList, headerLists, ...route }) => ({
      ...route,
      rewrite: ruleList.options,
      rules: ruleList.rules,
      ...(headerLists.length === 0
        ? {}
        : { headers: Object.fromEntries(headerLists.map((list) => [list.side, list.rules])) }),
    })),
  }
}
