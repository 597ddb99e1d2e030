import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nginxDirectivePage } from '../src/nginx-reference.ts'
import { commandLineReference, configurationReference, manualPage } from '../src/reference.ts'

const DOCS = join(import.meta.dirname, '../../../docs')
const example = readFileSync(join(DOCS, 'examples/prexy.yaml'), 'utf8')

test.each([
  ['cli.md', commandLineReference()],
  ['configuration.md', configurationReference(example)],
  ['compat-nginx.md', nginxDirectivePage()],
  ['prexy.1', manualPage()],
])('docs/%s is what tools/generate-docs.mjs makes', (name, text) => {
  expect(readFileSync(join(DOCS, name), 'utf8')).toBe(text)
})
