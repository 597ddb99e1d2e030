/** `prexy doctor`: what the machine, the runtime and the configuration are about to do to prexy. */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '@prexy/config/config'
import { openIntake } from '@prexy/net/intake'
import { claimSocket, type UnixListen } from '@prexy/net/unix-socket'
import { DEFAULT_LIMITS } from '@prexy/proxy/proxy-config'
import { loadConfiguration } from './config-load.ts'
import { DEFAULT_DEMAND, type Demand, examine, type Finding, type Verdict } from './doctor-checks.ts'
import { CommandError, EXIT_ERROR, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'
import { listenError } from './listen-error.ts'
import { readMachine } from './machine.ts'
import { findServer } from './pid-file.ts'
import { unixListenOf } from './socket-files.ts'
import { writeStandardOutput } from './standard-output.ts'
import { type Styles, stylesFor } from './terminal.ts'
import { VERSION } from './version.ts'

export interface DoctorFlags {
  readonly json?: boolean
  readonly pidFile?: string
}

/** The exit code: the worst of what was found. */
export async function runDoctor(file: string | undefined, flags: DoctorFlags): Promise<number> {
  const machine = readMachine()
  const { config, findings: read } = file === undefined ? NO_CONFIGURATION : readConfiguration(file)
  const findings = [
    ...examine(machine, config === undefined ? DEFAULT_DEMAND : demandOf(config), Date.now()),
    ...read,
    ...(config === undefined || file === undefined ? [] : await placesOf(config, file, flags.pidFile)),
  ]
  const worst = (verdict: Verdict): boolean => findings.some((finding) => finding.verdict === verdict)
  const code = worst('error') ? EXIT_ERROR : worst('warning') ? EXIT_NONE : EXIT_OK
  const { name, version } = machine.runtime
  const text =
    flags.json === true
      ? JSON.stringify({ prexy: VERSION, runtime: { name, version }, ok: code === EXIT_OK, findings })
      : formatFindings(findings, stylesFor(process.stdout, process.env))
  await writeStandardOutput(`${text}\n`)
  return code
}

interface ReadConfiguration {
  readonly config: Config | undefined
  readonly findings: readonly Finding[]
}

const NO_CONFIGURATION: ReadConfiguration = { config: undefined, findings: [] }

function readConfiguration(file: string): ReadConfiguration {
  const check = 'configuration'
  const { config, problems, ruleCount, routeCount } = loadConfiguration(file, process.env, undefined, 'check')
  const errors = problems.filter(({ severity }) => severity === 'error').length
  if (config === undefined) {
    const found = `${file} has ${errors} error${errors === 1 ? '' : 's'}`
    return { config, findings: [{ check, verdict: 'error', found, advice: `prexy check ${file} lists them` }] }
  }
  const found = `${file}: ${ruleCount} rule${ruleCount === 1 ? '' : 's'}, ${routeCount} route${routeCount === 1 ? '' : 's'}`
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o002) !== 0) {
    const advice = `chmod o-w ${file}`
    return { config, findings: [{ check, verdict: 'warning', found: `${found}; everybody may change it`, advice }] }
  }
  const warnings = problems.length
  if (warnings > 0) {
    const told = `${found}; ${warnings} warning${warnings === 1 ? '' : 's'}`
    return { config, findings: [{ check, verdict: 'warning', found: told, advice: `prexy check ${file} lists them` }] }
  }
  return { config, findings: [{ check, verdict: 'ok', found }] }
}

function demandOf(config: Config): Demand {
  return {
    workers: config.workers ?? 1,
    maxConnections: config.limits.maxConnections ?? DEFAULT_LIMITS.maxConnections,
    ports: config.listen.map(({ port }) => port).filter((port) => port !== 0),
  }
}

/** Where prexy is about to listen and to write. */
async function placesOf(config: Config, file: string, pidFile: string | undefined): Promise<readonly Finding[]> {
  const running = runningServer(pidFile, file)
  const findings: Finding[] = []
  for (const address of config.listen) {
    const { host, port } = address
    const unix = unixListenOf(address)
    const where = unix === undefined ? `${host ?? '*'}:${port}` : host
    const found =
      running !== undefined
        ? `prexy, process ${running}, listens there`
        : await (unix === undefined ? bind(host, port) : claim(unix))
    findings.push({
      check: `listen ${where}`,
      ...(typeof found === 'string'
        ? { verdict: 'ok', found }
        : { verdict: 'error', found: found.message, advice: 'end what has it, or listen elsewhere' }),
    })
  }
  const folders = [
    ['access log', config.accessLog?.file === undefined ? undefined : dirname(config.accessLog.file)],
    ['recordings', config.record?.directory],
  ] as const
  for (const [check, folder] of folders) if (folder !== undefined) findings.push(writable(check, folder))
  return findings
}

function runningServer(pidFile: string | undefined, file: string): number | undefined {
  try {
    return findServer(pidFile, file)
  } catch (error) {
    if (error instanceof CommandError) return undefined
    throw error
  }
}

async function claim(unix: UnixListen): Promise<string | Error> {
  try {
    await claimSocket(unix)
    accessSync(dirname(unix.path), constants.W_OK)
    return 'free'
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Listens for a moment. */
async function bind(host: string | undefined, port: number): Promise<string | Error> {
  try {
    const intake = await openIntake(
      { host: host ?? '0.0.0.0', port, maxConnections: 0 },
      () => {},
      () => {},
    )
    intake.close()
    return port === 0 ? 'any free port' : 'free'
  } catch (error) {
    const told = listenError(error)
    return told instanceof Error ? told : new Error(String(told))
  }
}

function writable(check: string, folder: string): Finding {
  try {
    accessSync(folder, constants.W_OK)
    return { check, verdict: 'ok', found: `${folder} can be written to` }
  } catch (error) {
    const found = `${folder}: ${fileErrorReason(error)}`
    return { check, verdict: 'error', found, advice: 'make it, for the user that prexy runs as' }
  }
}

const WORDS: Readonly<Record<Verdict, string>> = { ok: 'ok', warning: 'warning', error: 'ERROR', unknown: '-' }

function formatFindings(findings: readonly Finding[], style: Styles): string {
  const colours = { ok: style.green, warning: style.yellow, error: style.red, unknown: style.dim }
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.map(({ check, verdict, found, advice }) => {
    const line = `${colours[verdict](WORDS[verdict].padEnd(7))}  ${check.padEnd(width)}  ${found}`
    return advice === undefined || verdict === 'ok' ? line : `${line}\n${' '.repeat(width + 11)}${style.bold(advice)}`
  })
  const counted = (['error', 'warning'] as const)
    .map((verdict) => [verdict, findings.filter((finding) => finding.verdict === verdict).length] as const)
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${count} ${verdict}${count === 1 ? '' : 's'}`)
  return `${lines.join('\n')}\n${counted.length === 0 ? 'nothing is wrong' : counted.join(', ')}`
}
