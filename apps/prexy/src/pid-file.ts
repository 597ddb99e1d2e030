/** How `prexy reload` finds the process that serves a configuration. */
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandError } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'

export interface PidFile {
  /** Where it is; undefined where there can be none. */
  readonly path: string | undefined
  remove(): void
}

/**
 * Writes the id of this process. A file that was not asked for is a convenience: where it cannot be written there is
 * none.
 */
export function writePidFile(asked: string | undefined, configuration: string): PidFile {
  const path = pidFilePath(asked, configuration)
  if (path === undefined) return NO_FILE
  try {
    writeFileSync(path, `${process.pid}\n`, { mode: 0o644 })
  } catch (error) {
    if (asked === undefined) return NO_FILE
    throw new CommandError(`--pid-file ${asked}: ${fileErrorReason(error)}`)
  }
  return {
    path,
    remove() {
      // Another process may have taken the name since.
      if (readPid(path) === process.pid) rmSync(path, { force: true })
    },
  }
}

const NO_FILE: PidFile = { path: undefined, remove() {} }

/** Where the outcome of reloads is told. */
export function reloadReportPath(pidFile: string | undefined): string | undefined {
  return pidFile === undefined ? undefined : `${pidFile}.reload`
}

/** Where the id of the process that serves the configuration is written, whether one does or not. */
export function pidFilePath(asked: string | undefined, configuration: string): string | undefined {
  return asked ?? ownPidFile(configuration)
}

/** The id of the process that serves the configuration. Throws a CommandError if there is none. */
export function findServer(asked: string | undefined, configuration: string): number {
  const path = pidFilePath(asked, configuration)
  const pid = path === undefined ? undefined : readPid(path)
  const advice = asked === undefined ? '; a server that was started with --pid-file is found by that' : ''
  if (pid === undefined) throw new CommandError(`no running prexy serves ${configuration}${advice}`)
  if (!isPrexy(pid)) throw new CommandError(`process ${pid}, which ${path} names, is no longer a prexy${advice}`)
  return pid
}

function readPid(path: string): number | undefined {
  try {
    const text = readFileSync(path, 'latin1').trim()
    return /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : undefined
  } catch {
    return undefined
  }
}

/** SECURITY: ids are used again, and the signal for a reload ends a process that does not know it. */
function isPrexy(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
  }
  let commandLine: string
  try {
    commandLine = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    // No such file system here.
    return true
  }
  return commandLine.includes('prexy') && commandLine.split('\0').includes('serve')
}

/** In a folder that only this user can write to; undefined if there can be none. */
function ownPidFile(configuration: string): string | undefined {
  let path: string
  try {
    path = realpathSync(configuration)
  } catch {
    path = configuration
  }
  const name = createHash('sha256').update(path).digest('hex').slice(0, 16)
  const uid = process.getuid?.()
  const folder = process.env.XDG_RUNTIME_DIR ?? tmpdir()
  const own = join(folder, `prexy-${uid ?? 'run'}`)
  try {
    mkdirSync(own, { mode: 0o700, recursive: true })
    // SECURITY: in a folder that everybody may write to, somebody else may have made it, or a link of that name.
    const found = lstatSync(own)
    if (!found.isDirectory() || (uid !== undefined && (found.uid !== uid || (found.mode & 0o022) !== 0)))
      return undefined
  } catch {
    return undefined
  }
  return join(own, `${name}.pid`)
}
