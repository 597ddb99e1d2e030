/** Files that lines are added to. Several processes may share one: each write is of whole lines, and appends. */
import { closeSync, openSync, write, writeSync } from 'node:fs'
import { CommandError } from './exit-codes.ts'

/** Lines that may wait for a slow disk; beyond it lines are dropped, and counted. Unit: bytes. */
export const MAX_WAITING_BYTES = 4_194_304
/** Lines are gathered so long. Unit: milliseconds. */
export const GATHER_MS = 100
/** What is gathered beyond this is written at once. Unit: bytes. */
const GATHER_BYTES = 65_536
/** Not for everybody: lines tell who asked for what. */
const MODE = 0o640

export class LogFile {
  readonly path: string
  readonly #say: (line: string) => void
  #file: number | undefined = undefined
  #lines: string[] = []
  #bytes = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined = undefined
  #writing: Buffer | undefined = undefined
  /** Asked for while something is being written: after it. */
  #closes = false
  /** A write ended within a line. */
  #isBroken = false
  #isFailing = false

  /** Throws an error for the user where the file cannot be opened. */
  constructor(path: string, say: (line: string) => void) {
    this.path = path
    this.#say = say
    try {
      this.#open()
    } catch (error) {
      throw new CommandError(`accessLog.file: ${reasonOf(error)}`)
    }
  }

  /** `line` has no line feed. */
  write(line: string): void {
    if (this.#bytes > MAX_WAITING_BYTES) {
      this.#dropped++
      return
    }
    this.#lines.push(line)
    this.#bytes += line.length + 1
    if (this.#bytes >= GATHER_BYTES) this.#next()
    else this.#timer ??= setTimeout(() => this.#next(), GATHER_MS)
  }

  /** Goes on in the file that has the name now. What was written before stays where it is. */
  reopen(): void {
    this.flush()
    this.#close()
    if (this.#writing !== undefined) return
    try {
      this.#open()
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Gives the file back until there is another line. */
  rest(): void {
    this.flush()
    this.#close()
  }

  /** Writes what waits, except while another write is under way. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#writing !== undefined || this.#lines.length === 0) return
    const octets = this.#take()
    try {
      this.#open()
      let from = 0
      while (from < octets.length) from += writeSync(this.#file ?? -1, octets, from)
      this.#isFailing = false
    } catch (error) {
      this.#failed(error)
    }
  }

  #open(): number {
    this.#file ??= openSync(this.path, 'a', MODE)
    return this.#file
  }

  #close(): void {
    if (this.#writing !== undefined) {
      this.#closes = true
      return
    }
    this.#closes = false
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #next(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#writing !== undefined || this.#lines.length === 0) return
    try {
      this.#open()
    } catch (error) {
      this.#take()
      return this.#failed(error)
    }
    this.#writing = this.#take()
    this.#writeFrom(0)
  }

  #writeFrom(from: number): void {
    const octets = this.#writing
    if (octets === undefined || this.#file === undefined) return
    write(this.#file, octets, from, octets.length - from, undefined, (error, written) => {
      if (error === null && from + written < octets.length) return this.#writeFrom(from + written)
      if (error === null) this.#isFailing = false
      else {
        this.#isBroken = from > 0
        this.#failed(error)
      }
      this.#writing = undefined
      if (this.#closes) this.#close()
      if (this.#lines.length > 0) this.#timer ??= setTimeout(() => this.#next(), GATHER_MS)
    })
  }

  #take(): Buffer {
    const text = `${this.#isBroken ? '\n' : ''}${this.#lines.join('\n')}\n`
    this.#isBroken = false
    this.#lines = []
    this.#bytes = 0
    if (this.#dropped > 0) this.#say(`${this.path}: ${this.#dropped} lines were dropped, the disk does not keep up`)
    this.#dropped = 0
    return Buffer.from(text)
  }

  /** Said once until a write succeeds again. */
  #failed(error: unknown): void {
    if (!this.#isFailing) this.#say(`lines of the access log are lost: ${reasonOf(error)}`)
    this.#isFailing = true
  }
}

/** The log files of this process, each opened once, whatever configurations name it. */
export class LogFiles {
  readonly #files = new Map<string, LogFile>()
  readonly #say: (line: string) => void

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  /** Throws an error for the user where it cannot be opened. */
  at(path: string): LogFile {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const file = new LogFile(path, this.#say)
    this.#files.set(path, file)
    return file
  }

  /** Those that only exchanges of older configurations still write to are not kept open. */
  keep(path: string | undefined): void {
    for (const file of this.#files.values()) if (file.path !== path) file.rest()
  }

  reopen(): void {
    for (const file of this.#files.values()) file.reopen()
  }

  flush(): void {
    for (const file of this.#files.values()) file.flush()
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
