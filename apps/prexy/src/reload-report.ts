/**
 * What became of reloads, for those who ask for one by a signal and cannot be answered by it: a file beside the one with
 * the process id.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

export interface ReloadReport {
  /** Of the process that wrote it. */
  readonly pid: number
  /** Reloads that have begun since the start, and of those the ones that have ended. */
  readonly begun: number
  readonly ended: number
  /** Of the last that has ended; undefined before the first. */
  readonly outcome: 'served' | 'refused' | undefined
  /** Why it was refused, or what to know of what is served; lines for a person. */
  readonly lines: readonly string[]
}

export class ReloadReporter {
  readonly #path: string | undefined
  #report: ReloadReport = { pid: process.pid, begun: 0, ended: 0, outcome: undefined, lines: [] }

  /** `path`: of the file; undefined where there can be none. */
  constructor(path: string | undefined) {
    this.#path = path
    this.#write()
  }

  begin(): void {
    this.#report = { ...this.#report, begun: this.#report.begun + 1 }
    this.#write()
  }

  end(outcome: 'served' | 'refused', lines: readonly string[]): void {
    this.#report = { ...this.#report, ended: this.#report.begun, outcome, lines }
    this.#write()
  }

  remove(): void {
    // Another process may have taken the name since.
    if (this.#path !== undefined && readReloadReport(this.#path, process.pid) !== undefined) rmSync(this.#path)
  }

  /** In one step, so that nobody reads half of it. It is a convenience: where it cannot be written there is none. */
  #write(): void {
    if (this.#path === undefined) return
    const unfinished = `${this.#path}.new`
    try {
      rmSync(unfinished, { force: true })
      // SECURITY: in a folder that everybody may write to, a link of that name must not be followed.
      writeFileSync(unfinished, JSON.stringify(this.#report), { mode: 0o644, flag: 'wx' })
      renameSync(unfinished, this.#path)
    } catch {
      // Then `prexy reload` says that it cannot know.
    }
  }
}

/** Undefined if there is none of that process that can be read. */
export function readReloadReport(path: string | undefined, pid: number): ReloadReport | undefined {
  if (path === undefined) return undefined
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isReport(value) && value.pid === pid ? value : undefined
  } catch {
    return undefined
  }
}

function isReport(value: unknown): value is ReloadReport {
  return (
    typeof value === 'object' &&
    value !== null &&
    'pid' in value &&
    'begun' in value &&
    'ended' in value &&
    'lines' in value &&
    typeof value.begun === 'number' &&
    typeof value.ended === 'number' &&
    Array.isArray(value.lines) &&
    value.lines.every((line) => typeof line === 'string')
  )
}
