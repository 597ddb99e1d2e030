/** Removes old segments. */
import { open, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isEndMark, MARK_BYTES } from './frames.ts'
import { parseSegmentName } from './segment-name.ts'

export interface Retention {
  /** Bytes of all segments; beyond it the oldest go. Default 1 GiB. */
  readonly maxTotalBytes: number
  /** How long after its last event a segment is kept. Default 7 days. */
  readonly maxAgeMs: number
}

export const DEFAULT_RETENTION: Retention = {
  maxTotalBytes: 1024 * 1024 * 1024,
  maxAgeMs: 7 * 24 * 3_600_000,
}

export interface PruneOptions {
  /** Names of files that stay whatever they are. */
  readonly keep?: readonly string[]
  /** A run whose segments are not written to any more, but for those to keep. */
  readonly ownRun?: string
  /** Says what would be removed and removes nothing. Default false. */
  readonly dryRun?: boolean
  /** Default now. */
  readonly nowMs?: number
}

export interface Pruned {
  readonly name: string
  readonly bytes: number
  readonly why: 'age' | 'size'
}

/**
 * A segment without its end may be that of a running proxy, a worker of this one or another, and stays until nobody has
 * written to it for so long. Longer than the longest `maxSegmentMs`, after which a running proxy seals its own.
 */
const IN_USE_MS = 2 * 86_400_000

/**
 * Removes the segments beyond the limits, oldest first, and those only: no other file and nothing behind a symbolic link.
 * Rejects if the directory cannot be read; a segment that somebody else removes meanwhile counts as removed.
 */
export async function pruneRecordings(
  directory: string,
  retention: Partial<Retention>,
  options: PruneOptions = {},
): Promise<readonly Pruned[]> {
  const { maxTotalBytes, maxAgeMs } = { ...DEFAULT_RETENTION, ...retention }
  const { keep = [], ownRun, dryRun = false, nowMs = Date.now() } = options
  const files = await segmentFiles(directory)
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const pruned: Pruned[] = []
  for (const { name, bytes, changedAtMs } of files) {
    if (keep.includes(name)) continue
    const isOld = nowMs - changedAtMs > maxAgeMs
    if (!isOld && total <= maxTotalBytes) continue
    const path = join(directory, name)
    const isIdle = parseSegmentName(name)?.run === ownRun || nowMs - changedAtMs > IN_USE_MS
    if (!isIdle && !(await hasEnd(path, bytes))) continue
    if (!dryRun) await removeFile(path)
    total -= bytes
    pruned.push({ name, bytes, why: isOld ? 'age' : 'size' })
  }
  return pruned
}

export interface SegmentFile {
  readonly name: string
  readonly bytes: number
  /** When it was last written to. */
  readonly changedAtMs: number
}

/** The segments of a directory, oldest first. */
export async function segmentFiles(directory: string): Promise<readonly SegmentFile[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && parseSegmentName(entry.name) !== undefined)
  const files = await Promise.all(
    names.map(async ({ name }): Promise<SegmentFile | undefined> => {
      try {
        const { size, mtimeMs } = await stat(join(directory, name))
        return { name, bytes: size, changedAtMs: mtimeMs }
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    }),
  )
  return files.filter((file) => file !== undefined).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Whether the last bytes look like the mark that seals a segment. */
async function hasEnd(path: string, bytes: number): Promise<boolean> {
  const tail = new Uint8Array(2)
  try {
    const handle = await open(path, 'r')
    try {
      await handle.read(tail, 0, tail.length, Math.max(0, bytes - MARK_BYTES))
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
  return isEndMark(tail)
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
