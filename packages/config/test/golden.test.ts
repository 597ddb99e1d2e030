/**
 * Each file of golden/ is a configuration, a line `----`, and what loading it gives: its problems one a line, then, if
 * it is valid, the configuration as JSON. UPDATE_GOLDEN=1 writes the second half anew; not in CI.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Config, RouteConfig } from '../src/config.ts'
import { loadConfig, textAsFile } from '../src/load.ts'
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
  const loaded = loadConfig('prexy.yaml', textAsFile(input, 'prexy.yaml'))
  const lines = loaded.problems.map(formatProblem)
  if (loaded.value !== undefined) lines.push(JSON.stringify(plain(loaded.value), undefined, 2))
  return `${lines.join('\n')}\n`
}

function plain({ sites, fileRules: _rules, fileHeaders: _headers, ...config }: Config): unknown {
  return {
    ...config,
    routes: config.routes.map(plainRoute),
    ...(sites.length === 0 ? {} : { sites: sites.map((site) => ({ ...site, routes: site.routes.map(plainRoute) })) }),
  }
}

function plainRoute({ name, hosts, paths, methods, ruleList, headerLists, action, ...route }: RouteConfig): unknown {
  return {
    name,
    hosts,
    paths,
    ...(methods.length === 0 ? {} : { methods }),
    ...plainAction(action),
    ...route,
    rewrite: ruleList.options,
    rules: ruleList.rules,
    ...(headerLists.length === 0
      ? {}
      : { headers: Object.fromEntries(headerLists.map((list) => [list.side, list.rules])) }),
  }
}

function plainAction(action: RouteConfig['action']): object {
  if (action.kind === 'forward') return { upstream: action.upstream }
  return action.kind === 'redirect' ? action : { ...action, body: new TextDecoder().decode(action.body) }
}
