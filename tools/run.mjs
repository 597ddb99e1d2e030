// The one entry to everything: `node tools/run.mjs start|build|test|test:long|check|package|bench [arguments]`.
//
// Plain JavaScript for Node >= 20.19, because it boots a clone in which nothing is installed or built. Every job first
// installs and builds what is missing or out of date, and so may be run at any time, in any order, and again.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildIfStale } from './build.mjs'
import { runVisibly, say } from './child.mjs'
import { installIfStale } from './install.mjs'
import { withRunLock } from './run-lock.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** @type {Readonly<Record<string, (args: readonly string[]) => Promise<number>>>} */
const JOBS = {
  start: (args) => node(['apps/prexy/bin/prexy.mjs', 'demo', ...args]),
  build: async () => 0,
  test: (filters) => suites({ long: false, filters }),
  'test:long': (filters) => suites({ long: true, filters }),
  check: async () => (await import('./check.mjs')).runChecks(ROOT),
  async package() {
    say(`wrote ${await (await import('./package.mjs')).writePackage(ROOT)}`)
    return 0
  },
  bench: (args) => node(['bench/dist/main.js', ...args]),
}

/** @param {readonly string[]} args */
function node(args) {
  return runVisibly(process.execPath, [join(ROOT, args[0]), ...args.slice(1)], { cwd: ROOT })
}

/** @param {{ long: boolean, filters: readonly string[] }} options */
async function suites(options) {
  return (await import('./suites.mjs')).runSuites(ROOT, options)
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`prexy: needs Node.js 20.19 or later; this is ${process.versions.node}\n`)
  process.exit(2)
}

const [name = '', ...args] = process.argv.slice(2)
const job = Object.hasOwn(JOBS, name) ? JOBS[name] : undefined
if (job === undefined) {
  process.stderr.write(`prexy: no job is called "${name}"; there are ${Object.keys(JOBS).join(', ')}\n`)
  process.exitCode = 2
} else {
  try {
    await withRunLock(ROOT, name, async () => {
      await installIfStale(ROOT)
      await buildIfStale(ROOT)
    })
    process.exitCode = await job(args)
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
    if (name.startsWith('test')) process.stdout.write('0 passed, 1 failed\n')
    process.exitCode = 1
  }
}
