import { formatProblem } from '@prexy/config/problem'
import { loadConfiguration } from './config-load.ts'
import { sourceOf } from './config-source.ts'
import { CommandError, EXIT_OK } from './exit-codes.ts'
import { findServer } from './pid-file.ts'

/** `prexy reload`; the exit code. */
export function reload(file: string, pidFile: string | undefined): number {
  const pid = findServer(pidFile, file)
  // What is in a cluster, the server has at hand.
  if (sourceOf(file) === undefined) refuseFaulty(file)
  try {
    process.kill(pid, 'SIGHUP')
  } catch (error) {
    throw new CommandError(`process ${pid} cannot be told: ${error instanceof Error ? error.message : String(error)}`)
  }
  process.stderr.write(`prexy: process ${pid} was told to read ${file} anew\n`)
  return EXIT_OK
}

function refuseFaulty(file: string): void {
  const { config, problems } = loadConfiguration(file)
  if (config !== undefined) return
  const errors = problems.filter((problem) => problem.severity === 'error').map(formatProblem)
  throw new CommandError(`the configuration has errors, the running one stays\n${errors.join('\n')}`)
}
