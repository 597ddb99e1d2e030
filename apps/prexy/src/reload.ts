import { setTimeout } from 'node:timers/promises'
import { formatProblem } from '@prexy/config/problem'
import { loadConfiguration } from './config-load.ts'
import { sourceOf } from './config-source.ts'
import { CommandError, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { findServer, pidFilePath, reloadReportPath } from './pid-file.ts'
import { type ReloadReport, readReloadReport } from './reload-report.ts'
import { DEFAULT_RELOAD_SECONDS, type ReloadFlags } from './reload-settings.ts'

/** How often it is looked whether the server has told. Unit: milliseconds. */
const LOOK_MS = 20

/** `prexy reload`; the exit code. */
export async function reload(file: string, flags: ReloadFlags): Promise<number> {
  const pid = findServer(flags.pidFile, file)
  // What is in a cluster, the server has at hand.
  if (sourceOf(file) === undefined) refuseFaulty(file)
  const reportPath = reloadReportPath(pidFilePath(flags.pidFile, file))
  const before = readReloadReport(reportPath, pid)
  try {
    process.kill(pid, 'SIGHUP')
  } catch (error) {
    throw new CommandError(`process ${pid} cannot be told: ${error instanceof Error ? error.message : String(error)}`)
  }
  const seconds = flags.timeout ?? DEFAULT_RELOAD_SECONDS
  if (seconds === 0 || before === undefined) {
    const unknown = seconds === 0 ? '' : '; it does not tell here what comes of it, its log does'
    say(`process ${pid} was told to read ${file} anew${unknown}`)
    return EXIT_OK
  }
  const report = await outcomeOf(reportPath, pid, before, performance.now() + seconds * 1_000)
  if (typeof report === 'string') {
    say(report === 'gone' ? `process ${pid} ended` : `process ${pid} does not serve it after ${seconds} s; see its log`)
    return EXIT_NONE
  }
  const lines = report.lines.map((line) => `\n${line}`).join('')
  if (report.outcome === 'refused') {
    say(`process ${pid} refused it, the running configuration stays${lines}`)
    return EXIT_NONE
  }
  say(`process ${pid} serves ${file}${lines}`)
  return EXIT_OK
}

function refuseFaulty(file: string): void {
  const { config, problems } = loadConfiguration(file)
  if (config !== undefined) return
  const errors = problems.filter((problem) => problem.severity === 'error').map(formatProblem)
  throw new CommandError(`the configuration has errors, the running one stays\n${errors.join('\n')}`)
}

/** Of a reload that began after `before` was read, whoever asked for it: it has read what is there now. */
async function outcomeOf(
  path: string | undefined,
  pid: number,
  before: ReloadReport,
  deadline: number,
): Promise<ReloadReport | 'late' | 'gone'> {
  for (;;) {
    const report = readReloadReport(path, pid)
    if (report !== undefined && report.ended > before.begun) return report
    if (!isAlive(pid)) return 'gone'
    if (performance.now() > deadline) return 'late'
    await setTimeout(LOOK_MS)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function say(line: string): void {
  process.stderr.write(`prexy: ${line}\n`)
}
