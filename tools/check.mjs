// `npm run check`: everything that is checked without running the product.
import { join } from 'node:path'
import { runQuietly, say } from './child.mjs'
import { checkLayers } from './check-layers.mjs'
import { checkSources } from './check-sources.mjs'

/**
 * Runs every check, also after one failed.
 *
 * @param {string} root
 * @returns {Promise<number>} the exit status
 */
export async function runChecks(root) {
  let failed = 0
  for (const [what, problems] of /** @type {const} */ ([
    ['layers and dependencies', checkLayers(root)],
    ['what may not stand in the repository', checkSources(root)],
  ])) {
    for (const problem of problems) process.stdout.write(`${problem}\n`)
    say(`${what}: ${problems.length === 0 ? 'in order' : `${problems.length} problems`}`)
    if (problems.length > 0) failed++
  }
  const bin = (/** @type {string} */ name) => join(root, 'node_modules', name)
  for (const [what, args] of /** @type {const} */ ([
    ['types of the tools', [bin('typescript/bin/tsc'), '-p', 'tools', '--pretty', 'false']],
    ['types of the tests', [bin('typescript/bin/tsc'), '-p', 'tsconfig.test.json', '--pretty', 'false']],
    ['lint', [bin('oxlint/bin/oxlint'), '--format=unix', '--deny-warnings']],
    ['format', [bin('@biomejs/biome/bin/biome'), 'check', '--colors=off', '--error-on-warnings', '.']],
  ])) {
    const result = await runQuietly(what, process.execPath, args, { cwd: root })
    if (result.code !== 0) failed++
  }
  say(failed === 0 ? 'all checks passed' : `${failed} checks failed`)
  return failed === 0 ? 0 : 1
}
