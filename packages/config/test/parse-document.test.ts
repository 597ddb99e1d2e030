import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configSchema } from '../src/config-schema.ts'
import { parseDocument } from '../src/parse-document.ts'
import { readYaml } from '../src/yaml-source.ts'

const GOLDENS = join(import.meta.dirname, 'golden')

test.each(readdirSync(GOLDENS))('%s is parsed as the schema by itself would', (name) => {
  const content = readFileSync(join(GOLDENS, name), 'utf8')
  const { value } = readYaml(content.slice(0, content.indexOf('\n----\n') + 1), name)
  expect(parseDocument(configSchema, value)).toEqual(configSchema.safeParse(value).data)
})

test('rules in sets, sites and routes are put back where they stood', () => {
  const rules = [{ text: 'a', with: 'b' }, { use: 's' }]
  const value = {
    ruleSets: { s: rules },
    sites: [{ host: 'a.b', rules, routes: [{ path: '/x', rules }] }, { host: 'c.d' }],
    routes: [{ rules, upstream: 'http://a' }],
  }
  expect(parseDocument(configSchema, value)).toEqual(configSchema.parse(value))
  expect(
    parseDocument(configSchema, { ...value, routes: [{ rules: [{ text: 'a' }], upstream: 'http://a' }] }),
  ).toBeUndefined()
})
