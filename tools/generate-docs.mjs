// Writes docs/cli.md, docs/configuration.md, docs/compat-nginx.md and docs/prexy.1 from the definitions in the code: `node tools/generate-docs.mjs`, after
// a build. A test fails when they are not current.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nginxDirectivePage } from '../apps/prexy/dist/nginx-reference.js'
import { commandLineReference, configurationReference, manualPage } from '../apps/prexy/dist/reference.js'

const docs = new URL('../docs/', import.meta.url)
const example = readFileSync(new URL('examples/prexy.yaml', docs), 'utf8')

/** @type {readonly (readonly [name: string, text: string])[]} */
const pages = [
  ['cli.md', commandLineReference()],
  ['configuration.md', configurationReference(example)],
  ['compat-nginx.md', nginxDirectivePage()],
  ['prexy.1', manualPage()],
]
for (const [name, text] of pages) {
  const file = fileURLToPath(new URL(name, docs))
  writeFileSync(file, text)
  process.stdout.write(`wrote ${file}\n`)
}
