/** `prexy replace`: the rewriting engine between files, in bounded memory. */
import { constants, fstatSync, rmSync, type Stats, statSync } from 'node:fs'
import { copyFile, type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { GatherSink } from '@prexy/rewrite/gather-sink'
import { RewriteAborted, type RuleSet } from '@prexy/rewrite/rewriter'
import { exitOnSignals } from './exit-on-signal.ts'
import { CommandError, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { createProgress, NO_PROGRESS, type Progress } from './progress.ts'
import { fileErrorReason } from './file-error.ts'
import { readStandardInput } from './standard-input.ts'
import { finishWithoutReader, writeStandardOutput } from './standard-output.ts'

/** Read size, and how much output is gathered before it is written. */
const PIECE_BYTES = 262_144

export interface ReplaceOptions {
  /** Undefined: to standard output. A suffix keeps the old file under name + suffix; '' keeps none. */
  readonly inPlace: string | undefined
  /** Print how many replacements were made instead of the text. */
  readonly count: boolean
  readonly failIfNone: boolean
}

/** Where the text goes. `write` may keep the buffer until its promise is settled. */
interface Output {
  write(bytes: Uint8Array): Promise<void>
}

/** Temporary files that must not outlive the process. */
const pendingFiles = new Set<string>()

/** Runs the command over `files` (`-` and none: standard input) and returns the exit code. */
export async function replaceFiles(set: RuleSet, files: readonly string[], options: ReplaceOptions): Promise<number> {
  const inPlace = options.inPlace
  if (inPlace !== undefined) {
    if (files.length === 0) throw new CommandError('--in-place needs files; name them behind the options')
    if (files.includes('-')) throw new CommandError('--in-place cannot rewrite standard input')
    if (inPlace.includes('/')) throw new CommandError(`--in-place=${inPlace}: a suffix has no /`)
  }
  const inputs = files.length === 0 ? ['-'] : files
  const toTerminal = inPlace === undefined && !options.count && process.stdout.isTTY
  const progress = progressFor(inputs, process.stderr.isTTY && !toTerminal)
  const faults: string[] = []
  let total = 0
  if (inPlace !== undefined) {
    removePendingFilesAtExit()
    finishWithoutReader()
  }
  for (const input of inputs) {
    let hits: number
    try {
      if (inPlace === undefined) hits = await filterFile(set, input, options, progress)
      else hits = await rewriteFile(set, input, inPlace, progress)
    } catch (error) {
      // One bad file does not keep the others from being done, as with sed and grep.
      faults.push(`${input === '-' ? 'standard input' : input}: ${faultReason(error)}`)
      continue
    }
    total += hits
    progress.clear()
    if (options.count) {
      await writeStandardOutput(inputs.length > 1 ? `${input}:${hits}\n` : `${hits}\n`)
    }
  }
  progress.clear()
  if (faults.length > 0) throw new CommandError(faults.join('\n'))
  return options.failIfNone && total === 0 ? EXIT_NONE : EXIT_OK
}

function faultReason(error: unknown): string {
  if (error instanceof RewriteAborted || error instanceof CommandError) return error.message
  return fileErrorReason(error)
}

async function filterFile(set: RuleSet, input: string, options: ReplaceOptions, progress: Progress): Promise<number> {
  const output: Output = { write: options.count ? () => Promise.resolve() : writeStandardOutput }
  if (input === '-') return await rewriteStream(set, readStandardInput(), output, progress)
  const handle = await open(input, 'r')
  try {
    if ((await handle.stat()).isDirectory()) throw new CommandError('is a directory')
    return await rewriteStream(set, readPieces(handle), output, progress)
  } finally {
    await handle.close()
  }
}

async function* readPieces(handle: FileHandle): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(PIECE_BYTES)
  for (;;) {
    const { bytesRead } = await handle.read(buffer)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** Rewrites one body and returns how many replacements were made. Holds one piece of input and one of output. */
async function rewriteStream(
  set: RuleSet,
  input: AsyncIterable<Uint8Array>,
  output: Output,
  progress: Progress,
): Promise<number> {
  const gather = new GatherSink(PIECE_BYTES)
  const rewriter = set.createRewriter(gather)
  try {
    for await (const chunk of input) {
      let taken = 0
      while (taken < chunk.length || rewriter.blocked) {
        taken += rewriter.write(chunk.subarray(taken))
        // What is settled goes out at once, so that `tail -f log | prexy replace` shows every line when it comes.
        await flush(gather, output)
      }
      progress.add(chunk.length)
    }
    while (!rewriter.end()) await flush(gather, output)
    await flush(gather, output)
    return rewriter.hits.reduce((sum, hits) => sum + hits, 0)
  } catch (error) {
    if (error instanceof RewriteAborted) await flush(gather, output)
    throw error
  } finally {
    rewriter.abandon()
  }
}

async function flush(gather: GatherSink, output: Output): Promise<void> {
  if (gather.bytes.length === 0) return
  await output.write(gather.bytes)
  gather.clear()
}

/**
 * Replaces the file by its rewritten form: written beside it, synced, then renamed over it, so that at every moment
 * there is either the old or the new file. A file without a match is left as it is, times included.
 */
async function rewriteFile(set: RuleSet, path: string, suffix: string, progress: Progress): Promise<number> {
  refuseIrregular(await lstat(path))
  const source = await openUnlinked(path)
  try {
    const stat = await source.stat()
    refuseIrregular(stat)
    const temporary = join(dirname(path), `.prexy-${randomBytes(6).toString('hex')}`)
    // Before it exists: a signal may come as soon as it does.
    pendingFiles.add(temporary)
    try {
      const target = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
      let hits: number
      try {
        hits = await rewriteStream(set, readPieces(source), fileOutput(target), progress)
        if (hits === 0) return 0
        // The owner first: changing it clears set-user-id bits that the mode then restores.
        if (process.getuid?.() === 0) await target.chown(stat.uid, stat.gid)
        await target.chmod(stat.mode & 0o7777)
        await target.sync()
      } finally {
        await target.close()
      }
      if (suffix !== '') await keepBackup(path, path + suffix)
      await rename(temporary, path)
      return hits
    } finally {
      await rm(temporary, { force: true })
      pendingFiles.delete(temporary)
    }
  } finally {
    await source.close()
  }
}

function refuseIrregular(stat: Stats): void {
  if (stat.isSymbolicLink()) throw new CommandError(SYMBOLIC_LINK)
  if (!stat.isFile()) throw new CommandError(stat.isDirectory() ? 'is a directory' : 'is no regular file')
}

const SYMBOLIC_LINK = 'is a symbolic link; name the file it points to'

/** Also holds when the file is exchanged for a link meanwhile, and does not wait when it is for a named pipe. */
async function openUnlinked(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ELOOP') {
      throw new CommandError(SYMBOLIC_LINK)
    }
    throw error
  }
}

function fileOutput(target: FileHandle): Output {
  return {
    async write(bytes) {
      let written = 0
      while (written < bytes.length) {
        written += (await target.write(bytes, written)).bytesWritten
      }
    },
  }
}

/** A second name for the old file; a copy where the file system knows no hard links. */
async function keepBackup(path: string, backup: string): Promise<void> {
  await rm(backup, { force: true })
  try {
    await link(path, backup)
  } catch {
    await copyFile(path, backup, constants.COPYFILE_EXCL)
  }
}

function removePendingFilesAtExit(): void {
  process.once('exit', () => {
    for (const file of pendingFiles) {
      try {
        rmSync(file, { force: true })
      } catch {
        // The others may still go; there is no more to be done about this one.
      }
    }
  })
  exitOnSignals()
}

function progressFor(inputs: readonly string[], wanted: boolean): Progress {
  if (!wanted) return NO_PROGRESS
  let total = 0
  for (const input of inputs) {
    const stat = input === '-' ? fstatSync(0) : statSync(input, { throwIfNoEntry: false })
    if (stat?.isFile() !== true) return createProgress(process.stderr, undefined, () => performance.now())
    total += stat.size
  }
  return createProgress(process.stderr, total, () => performance.now())
}
