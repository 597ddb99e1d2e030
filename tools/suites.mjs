// The test run: every suite under every runtime, and the closing line that adds them up.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runVisibly, say } from './child.mjs'

/** @typedef {import('./vitest-counts.mjs').Counts} Counts */
/** @typedef {import('./vitest-counts.mjs').Outcome} Outcome */
/** @typedef {import('./vitest-counts.mjs').Failure} Failure */

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
  /** @type {string[]} What failed, said at the end, where it is found. */
  const told = []
  say(`the suite under Node ${process.versions.node}`)
  all.push(await suite({ root, name: 'node', runtime: process.execPath, runtimeArgs: [], env }, options.filters, told))
  if ((await runVisibly(bun, ['--version'])) === 0) {
    say('the suite under Bun')
    all.push(await suite({ root, name: 'bun', runtime: bun, runtimeArgs: ['--bun'], env }, options.filters, told))
  } else {
    // The package's install script puts the program there; a machine that forbids scripts has none.
    say('the suite did not run under Bun: node_modules/.bin/bun does not start. `npm rebuild bun` may help.')
    all.push({ passed: 0, failed: process.env.CI === undefined ? 0 : 1, skipped: 1 })
  }
  const total = addCounts(all)
  for (const line of told) say(line)
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

/** @typedef {{ root: string, name: string, runtime: string, runtimeArgs: readonly string[], env: NodeJS.ProcessEnv }} Suite */

/**
 * Whether running the file again says anything new: a property that failed has shown a fault, whatever the next seed does.
 *
 * @param {Failure} failure
 */
export function isWorthAnotherRun({ message }) {
  return !message.includes('Property failed after')
}

/**
 * Runs a suite. Files that failed while others ran beside them run once more, alone, and what passes then is named as
 * unstable: a time limit that was met on a busy machine is no fault of the product, but it is to be seen.
 *
 * @param {Suite} suite
 * @param {readonly string[]} filters
 * @param {string[]} told takes a line for each failure
 * @returns {Promise<Counts>}
 */
async function suite(suite, filters, told) {
  const first = await vitest(suite, filters)
  const again = first.failures.filter(isWorthAnotherRun)
  const files = [...new Set(again.map(({ file }) => file))]
  const tell = (/** @type {string} */ what, /** @type {readonly Failure[]} */ failures) => {
    for (const { file, name, message } of failures) {
      told.push(`${what} under ${suite.name}: ${file} > ${name}: ${message.split('\n', 1)[0]}`)
    }
  }
  if (files.length === 0 || files.length > MOST_FILES_AGAIN) {
    tell('failed', first.failures)
    return first
  }
  say(`once more, alone: ${files.join(', ')}`)
  const second = await vitest(suite, files, ['--maxWorkers=1'])
  const remaining = first.failures.length - again.length + second.failed
  tell(
    'failed',
    first.failures.filter((failure) => !again.includes(failure)),
  )
  tell('failed twice', second.failures)
  if (second.failed === 0) tell('unstable, passed alone', again)
  return { ...first, passed: first.passed + first.failed - remaining, failed: remaining }
}

/** More files than these do not fail by chance. */
const MOST_FILES_AGAIN = 8

/**
 * @param {Suite} suite
 * @param {readonly string[]} filters
 * @param {readonly string[]} [options]
 * @returns {Promise<Outcome>}
 */
async function vitest({ root, name, runtime, runtimeArgs, env }, filters, options = []) {
  const countsFile = join(root, '.build', `counts-${name}.json`)
  mkdirSync(join(root, '.build'), { recursive: true })
  rmSync(countsFile, { force: true })
  const args = [
    ...runtimeArgs,
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    `--reporter=${join(root, 'tools/vitest-counts.mjs')}`,
    ...options,
    ...filters,
  ]
  const code = await runVisibly(runtime, args, { cwd: root, env: { ...env, PREXY_COUNTS: countsFile } })
  if (!existsSync(countsFile)) {
    say(`the suite under ${name} ended with status ${code} and no result`)
    return { passed: 0, failed: 1, skipped: 0, failures: [] }
  }
  /** @type {Outcome} */
  const counts = JSON.parse(readFileSync(countsFile, 'utf8'))
  if (code !== 0 && counts.failed === 0) counts.failed = 1
  return counts
}
