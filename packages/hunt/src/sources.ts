/** Files and directories that were named, as sources: sorted, sniffed, and those that are none with the reason. */
import type { Dirent } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CodingError, decodeBytes, missingCoding } from './coded-bytes.ts'
import { type Coding, type FormatHints, SNIFF_BYTES, sniffCoding, sniffFormat, type SourceFormat } from './sniff.ts'

export interface HuntSource {
  /** As it was named, or found below what was named. `-` is standard input. */
  readonly path: string
  readonly bytes: number
  readonly coding: Coding | undefined
  readonly format: SourceFormat
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be'
}

/** A file that is not read. */
export interface SkippedSource {
  readonly path: string
  readonly reason: string
  /** It was named itself, so that a person expects it to be read. */
  readonly isNamed: boolean
}

export interface FoundSources {
  readonly sources: readonly HuntSource[]
  readonly skipped: readonly SkippedSource[]
}

/** Directories below each other; deeper ones are skipped. */
export const MAX_DIRECTORY_DEPTH = 64

/** What a recording of prexy says of itself beside its events, by the name that it gives such files. */
const SESSION_FILE = /^\d{8}T\d{9}Z-[0-9a-f]{8}\.session\.json$/

/** `prexy record compact` writes the same exchanges beside their segments, which have more of them. */
const UNNAMED_PARQUET = 'Parquet is only read when the file is named: what it was made of may lie beside it'

export interface FindOptions extends FormatHints {
  /** Called with the number of files seen so far. */
  readonly onProgress: (files: number) => void
}

/** Finds sources below paths, in the order of the paths and by name below them. Symbolic links inside are not followed. */
export async function findSources(paths: readonly string[], options: FindOptions): Promise<FoundSources> {
  const sources: HuntSource[] = []
  const skipped: SkippedSource[] = []
  let files = 0
  const add = async (path: string, isNamed: boolean): Promise<void> => {
    const found = await sniffFile(path, options)
    options.onProgress(++files)
    if ('reason' in found) skipped.push({ path, reason: found.reason, isNamed })
    else if (found.format.kind === 'parquet' && (found.coding !== undefined || !isNamed)) {
      const reason = isNamed ? 'Parquet is not read compressed as a whole' : UNNAMED_PARQUET
      skipped.push({ path, reason, isNamed })
    } else sources.push(found)
  }
  const walk = async (folder: string, depth: number): Promise<void> => {
    if (depth > MAX_DIRECTORY_DEPTH) {
      skipped.push({ path: folder, reason: `more than ${MAX_DIRECTORY_DEPTH} directories deep`, isNamed: false })
      return
    }
    let entries: Dirent[]
    try {
      entries = await readdir(folder, { withFileTypes: true })
    } catch (error) {
      skipped.push({ path: folder, reason: reasonOf(error), isNamed: depth === 0 })
      return
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) await walk(path, depth + 1)
      else if (SESSION_FILE.test(entry.name)) continue
      else if (entry.isFile()) await add(path, false)
      else skipped.push({ path, reason: 'it is no file', isNamed: false })
    }
  }
  for (const path of paths) {
    try {
      const found = await stat(path)
      if (found.isDirectory()) await walk(path, 0)
      else await add(path, true)
    } catch (error) {
      skipped.push({ path, reason: reasonOf(error), isNamed: true })
    }
  }
  return { sources, skipped }
}

/** What the system said, for a person. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'permission denied'
  return error.message
}

async function sniffFile(path: string, hints: FormatHints): Promise<HuntSource | { readonly reason: string }> {
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    return { reason: reasonOf(error) }
  }
  try {
    const { size } = await handle.stat()
    const { first, isWhole } = await firstBytes(readHandle(handle), SNIFF_BYTES)
    return await sniffBytes(path, size, first, isWhole, hints)
  } catch (error) {
    return { reason: reasonOf(error) }
  } finally {
    await handle.close()
  }
}

async function* readHandle(handle: FileHandle): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(SNIFF_BYTES)
  for (;;) {
    const { bytesRead } = await handle.read(buffer)
    if (bytesRead === 0) return
    yield buffer.slice(0, bytesRead)
  }
}

async function firstBytes(
  input: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<{ readonly first: Uint8Array; readonly isWhole: boolean }> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of input) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes >= limit) return { first: Buffer.concat(pieces).subarray(0, limit), isWhole: false }
  }
  return { first: Buffer.concat(pieces), isWhole: true }
}

/** What a source is, by the first bytes of it. `isWhole` when there are no others. */
export async function sniffBytes(
  path: string,
  size: number,
  first: Uint8Array,
  isWhole: boolean,
  hints: FormatHints,
): Promise<HuntSource | { readonly reason: string }> {
  const coding = sniffCoding(first)
  let content = first
  let isAll = isWhole
  if (coding !== undefined) {
    const missing = missingCoding(coding)
    if (missing !== undefined) return { reason: missing }
    const decoded = await decodePart(coding, first, isWhole)
    if ('reason' in decoded) return decoded
    content = decoded.first
    isAll = decoded.isWhole
  }
  const found = sniffFormat(content, isAll, hints)
  return 'reason' in found ? found : { path, bytes: size, coding, format: found.format, encoding: found.encoding }
}

async function decodePart(
  coding: Coding,
  bytes: Uint8Array,
  isWhole: boolean,
): Promise<{ readonly first: Uint8Array; readonly isWhole: boolean } | { readonly reason: string }> {
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    for await (const piece of decodeBytes(coding, once(bytes))) {
      pieces.push(piece)
      size += piece.length
      if (size >= SNIFF_BYTES) break
    }
  } catch (error) {
    if (!(error instanceof CodingError)) throw error
    // Only the beginning was given: it must end early.
    if (size === 0) return { reason: error.message }
  }
  return { first: Buffer.concat(pieces), isWhole: isWhole && size < SNIFF_BYTES }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
