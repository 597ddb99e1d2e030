// The test run: every suite under every runtime, and the closing line that adds them up.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runVisibly, say } from './child.mjs'

/** @typedef {import('./vitest-counts.mjs').Counts} Counts */

/**
 * Runs the suites and prints `N passed, N failed, N skipped` as its last line.
 *
 * @param {string} root
 * @param {{ long: boolean, filters: readonly string[] }} options filters are vitest's: parts of file names
 * @returns {Promise<number>} the exit status
 */
export async function runSuites(root, options) {
  const started = performance.now()
  const env = { ...process.env, ...(options.long ? { PREXY_LONG: '1' } : {}) }
  const bun = join(root, 'node_modules/.bin/bun')
  /** @type {Counts[]} */
  const all = []
  say(`the suite under Node ${process.versions.node}`)
  all.push(await vitest(root, 'node', process.execPath, [], options.filters, env))
  if ((await runVisibly(bun, ['--version'])) === 0) {
    say('the suite under Bun')
    all.push(await vitest(root, 'bun', bun, ['--bun'], options.filters, env))
  } else {
    // The package's install script puts the program there; a machine that forbids scripts has none.
    say('the suite did not run under Bun: node_modules/.bin/bun does not start. `npm rebuild bun` may help.')
    all.push({ passed: 0, failed: process.env.CI === undefined ? 0 : 1, skipped: 1 })
  }
  const total = addCounts(all)
  say(`all suites took ${((performance.now() - started) / 1_000).toFixed(0)} s`)
  process.stdout.write(`${closingLine(total)}\n`)
  return total.failed === 0 && total.passed > 0 ? 0 : 1
}

/**
 * @param {readonly Counts[]} all
 * @returns {Counts}
 */
export function addCounts(all) {
  const total = { passed: 0, failed: 0, skipped: 0 }
  for (const counts of all) {
    total.passed += counts.passed
    total.failed += counts.failed
    total.skipped += counts.skipped
  }
  return total
}

/** @param {Counts} counts */
export function closingLine(counts) {
  return `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`
}

/**
 * @param {string} root
 * @param {string} name
 * @param {string} runtime
 * @param {readonly string[]} runtimeArgs
 * @param {readonly string[]} filters
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Counts>}
 */
async function vitest(root, name, runtime, runtimeArgs, filters, env) {
  const countsFile = join(root, '.build', `counts-${name}.json`)
  mkdirSync(join(root, '.build'), { recursive: true })
  rmSync(countsFile, { force: true })
  const args = [
    ...runtimeArgs,
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    `--reporter=${join(root, 'tools/vitest-counts.mjs')}`,
    ...filters,
  ]
  const code = await runVisibly(runtime, args, { cwd: root, env: { ...env, PREXY_COUNTS: countsFile } })
  if (!existsSync(countsFile)) {
    say(`the suite under ${name} ended with status ${code} and no result`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
  /** @type {Counts} */
  const counts = JSON.parse(readFileSync(countsFile, 'utf8'))
  if (code !== 0 && counts.failed === 0) counts.failed = 1
  return counts
}
