// Children of the boot tools: started with visible progress, stopped with their parent.
import { spawn } from 'node:child_process'

const PROGRESS_INTERVAL_MS = 5_000

/** @typedef {{ cwd?: string, env?: NodeJS.ProcessEnv }} ChildOptions */
/** @typedef {{ code: number, output: string, seconds: number }} ChildResult */

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    if (running.size === 0) process.exit(128 + (signal === 'SIGINT' ? 2 : signal === 'SIGTERM' ? 15 : 1))
    // A terminal sends SIGINT to the whole group; a second one to the child would cut its own clean-up short.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) for (const child of running) child.kill(signal)
  })
}

/**
 * Runs a step with its output kept back: a line when it begins, one every five seconds while it is at work, one when it
 * is done. The output is printed only if the step failed.
 *
 * @param {string} what said to the person who waits, e.g. `installing dependencies`
 * @param {string} command
 * @param {readonly string[]} args
 * @param {ChildOptions} [options]
 * @returns {Promise<ChildResult>}
 */
export async function runQuietly(what, command, args, options = {}) {
  say(`${what} ...`)
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1_000
  const timer = setInterval(() => say(`${what}: still at work after ${seconds().toFixed(0)} s`), PROGRESS_INTERVAL_MS)
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      output += text
    })
  }
  const code = await settled(child, command)
  clearInterval(timer)
  if (code === 0) say(`${what}: done in ${seconds().toFixed(1)} s`)
  else process.stdout.write(`${output.trimEnd()}\nprexy: ${what}: failed with status ${code}\n`)
  return { code, output, seconds: seconds() }
}

/**
 * Runs a command on our own terminal and gives its exit status; 127 when it could not be started.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {ChildOptions} [options]
 * @returns {Promise<number>}
 */
export function runVisibly(command, args, options = {}) {
  return settled(spawn(command, args, { ...options, stdio: 'inherit' }), command)
}

/** @param {string} line */
export function say(line) {
  process.stdout.write(`prexy: ${line}\n`)
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} command
 * @returns {Promise<number>}
 */
function settled(child, command) {
  running.add(child)
  return new Promise((resolve) => {
    child.once('error', (error) => {
      running.delete(child)
      process.stdout.write(`prexy: cannot start ${command}: ${error.message}\n`)
      resolve(127)
    })
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve(code ?? (signal === 'SIGINT' ? 130 : 143))
    })
  })
}
