/**
 * Writes events to segments in a directory: batches them to frames, frames to vectored writes, and begins a new segment
 * when one is long or old enough.
 *
 *     add ── frame ── queue ──► writev ── segment ── sync now and then ── seal: index, end
 *
 * Everything after the queue is one chain of tasks, so that writes, syncs and rotation never overlap. `add` only copies.
 * What the disk does not take in time is dropped at the queue, and counted by the caller.
 *
 * The first error of the disk ends the recording: the segment is cut back to its last whole frame, `onStopped` is told,
 * and `add` refuses from then on. Nothing here throws into the proxy.
 *
 * What a killed process loses is what it had not written yet: at most `flushMs` of events. What a machine without power
 * loses is what was not synced: at most `syncMs` more.
 */
import { chmod, type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeFrame } from './frames.ts'
import { type ClosedFrame, FrameBuilder } from './frame-builder.ts'
import { pruneRecordings, type Retention } from './retention.ts'
import { encodeHeader, encodeIndex, type IndexEntry, type SegmentHeader } from './segment-header.ts'
import { segmentFileName } from './segment-name.ts'

export interface WriterLimits {
  /** A segment is sealed before it gets longer, and the next one begun. Default 64 MiB. */
  readonly maxSegmentBytes: number
  /** A segment is sealed when it is older. Default 10 minutes. */
  readonly maxSegmentMs: number
  /** An event waits no longer for others to be written with. Default 250 ms. */
  readonly flushMs: number
  /** What was written is brought to the disk at least so often. Default 1 s. */
  readonly syncMs: number
  /** Bytes of events that wait to be written; more are dropped. Default 16 MiB. */
  readonly maxQueuedBytes: number
}

export const DEFAULT_WRITER_LIMITS: WriterLimits = {
  maxSegmentBytes: 64 * 1024 * 1024,
  maxSegmentMs: 600_000,
  flushMs: 250,
  syncMs: 1_000,
  maxQueuedBytes: 16 * 1024 * 1024,
}

export interface WriterInit {
  /** Made if it is not there, for its owner only. */
  readonly directory: string
  readonly run: string
  readonly session: string
  readonly limits?: Partial<WriterLimits>
  readonly retention?: Partial<Retention>
  /** Called once, with a clause that says what happened and what is left. */
  readonly onStopped: (reason: string) => void
  /** What ought to be known but stops nothing. */
  readonly onWarning: (text: string) => void
}

/**
 * Frames are written before `flushMs` is over when there are so many bytes of them. Unit: bytes.
 *
 * PERF: a write costs the event loop some 100 us whatever its size: 8 us less for each exchange than with one write per
 * frame (Node 20.20, 8,000 exchanges a second, 2026-12-01, loaded machine).
 */
const WRITE_BYTES = 1024 * 1024

interface Segment {
  readonly path: string
  readonly name: string
  readonly handle: FileHandle
  readonly header: SegmentHeader
  readonly entries: IndexEntry[]
  /** Where the next frame goes: all before it is whole. */
  offset: number
  isSynced: boolean
  readonly ageTimer: NodeJS.Timeout
}

export class SegmentWriter {
  readonly #init: WriterInit
  readonly #limits: WriterLimits
  readonly #builder = new FrameBuilder()
  #queue: ClosedFrame[] = []
  #queuedBytes = 0
  #segment: Segment | undefined = undefined
  #segments = 0
  #chain: Promise<void> = Promise.resolve()
  #isDraining = false
  #flushTimer: NodeJS.Timeout | undefined = undefined
  #syncTimer: NodeJS.Timeout | undefined = undefined
  #stopped: string | undefined = undefined

  constructor(init: WriterInit) {
    this.#init = init
    this.#limits = { ...DEFAULT_WRITER_LIMITS, ...init.limits }
  }

  /** Why nothing is written any more; undefined while it is. */
  get stopped(): string | undefined {
    return this.#stopped
  }

  /** Bytes of events that are not written yet. */
  get queuedBytes(): number {
    return this.#queuedBytes + this.#builder.bytes
  }

  /** Whether more waits than half of what may: what is dropped is told of once that is over. */
  get isBehind(): boolean {
    return this.queuedBytes > this.#limits.maxQueuedBytes / 2
  }

  /**
   * Takes a copy of an event. False if the event is dropped: the disk does not keep up, or recording has stopped.
   */
  add(event: Uint8Array, sequence: number, startedAtMs: number): boolean {
    const builder = this.#builder
    if (this.#stopped !== undefined) return false
    if (this.queuedBytes + event.length > this.#limits.maxQueuedBytes) return false
    if (!builder.fits(event.length)) {
      if (builder.count > 0) this.#closeFrame()
      if (!builder.fits(event.length)) return false
    }
    builder.add(event, sequence, startedAtMs)
    this.#flushTimer ??= setTimeout(() => this.#flush(), this.#limits.flushMs).unref()
    return true
  }

  /** Resolves when all that was added so far is on the disk, or recording has stopped. */
  async sync(): Promise<void> {
    this.#flush()
    await this.#enqueue(() => this.#sync())
  }

  /** Writes what waits, seals the segment and stops. Safe to call twice. */
  async stop(): Promise<void> {
    this.#flush()
    await this.#enqueue(() => this.#seal())
    this.#stopped ??= 'the recording was ended'
  }

  #flush(): void {
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    if (this.#builder.count > 0) this.#closeFrame()
    this.#beginDrain()
  }

  #closeFrame(): void {
    const frame = this.#builder.close()
    this.#queue.push(frame)
    this.#queuedBytes += frame.bytes.length
    if (this.#queuedBytes >= Math.min(WRITE_BYTES, this.#limits.maxQueuedBytes / 2)) this.#beginDrain()
  }

  #beginDrain(): void {
    if (this.#isDraining || this.#queue.length === 0) return
    this.#isDraining = true
    void this.#enqueue(() => this.#drain())
  }

  /** Does it after all that was asked for before. Never rejects. */
  #enqueue(task: () => Promise<void>): Promise<void> {
    this.#chain = this.#chain.then(async () => {
      if (this.#stopped !== undefined) return
      try {
        await task()
      } catch (error) {
        await this.#fail(error)
      }
    })
    return this.#chain
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const segment = await this.#segmentFor(this.#queue[0].bytes.length)
      const room = this.#limits.maxSegmentBytes - segment.offset
      const batch = takeFrames(this.#queue, room)
      this.#queue = this.#queue.slice(batch.length)
      let { offset } = segment
      const entries: IndexEntry[] = []
      const buffers = batch.map((frame) => {
        const bytes = frame.sealed(offset, segment.header.salt)
        entries.push({ offset, ...frame.entry })
        offset += bytes.length
        return bytes
      })
      await writeFully(segment.handle, buffers, segment.offset)
      for (const { length } of buffers) this.#queuedBytes -= length
      segment.offset = offset
      segment.entries.push(...entries)
      segment.isSynced = false
      this.#syncTimer ??= setTimeout(() => {
        this.#syncTimer = undefined
        void this.#enqueue(() => this.#sync())
      }, this.#limits.syncMs).unref()
    }
    this.#isDraining = false
  }

  async #sync(): Promise<void> {
    const segment = this.#segment
    if (segment === undefined || segment.isSynced) return
    await segment.handle.datasync()
    segment.isSynced = true
  }

  /** The segment that the next frame goes to. */
  async #segmentFor(bytes: number): Promise<Segment> {
    const current = this.#segment
    if (current !== undefined) {
      const isLong = current.entries.length > 0 && current.offset + bytes > this.#limits.maxSegmentBytes
      const isOld = Date.now() - current.header.createdAtMs >= this.#limits.maxSegmentMs
      if (!isLong && !isOld) return current
      await this.#seal()
    }
    const segment = await this.#open()
    this.#segment = segment
    return segment
  }

  async #open(): Promise<Segment> {
    const { directory, run, session, onWarning } = this.#init
    if (this.#segments === 0) await makeDirectory(directory, onWarning)
    await this.#prune()
    this.#segments++
    const [salt] = crypto.getRandomValues(new Uint32Array(1))
    const header: SegmentHeader = { run, session, number: this.#segments, createdAtMs: Date.now(), salt }
    const name = segmentFileName(header)
    const path = join(directory, name)
    // `wx` follows no symbolic link and writes into no file of somebody else.
    const handle = await open(path, 'wx', 0o600)
    const ageTimer = setTimeout(() => void this.#enqueue(() => this.#sealIfOld()), this.#limits.maxSegmentMs).unref()
    const octets = encodeHeader(header)
    const segment: Segment = { path, name, handle, header, entries: [], offset: 0, isSynced: false, ageTimer }
    this.#segment = segment
    await writeFully(handle, [octets], 0)
    segment.offset = octets.length
    return segment
  }

  async #prune(): Promise<void> {
    const { directory, retention, run, onWarning } = this.#init
    try {
      // The last segment of this run is sealed by now, and the next not there yet.
      await pruneRecordings(directory, retention ?? {}, { ownRun: run })
    } catch (error) {
      onWarning(`old recordings in ${directory} cannot be removed: ${messageOf(error)}`)
    }
  }

  async #sealIfOld(): Promise<void> {
    const segment = this.#segment
    if (segment === undefined || Date.now() - segment.header.createdAtMs < this.#limits.maxSegmentMs) return
    await this.#seal()
  }

  async #seal(): Promise<void> {
    const segment = this.#segment
    if (segment === undefined) return
    const { handle, header, entries, offset } = segment
    const index = encodeFrame('index', entries.length, encodeIndex(entries), offset, header.salt)
    const endOffset = offset + index.length
    const end = encodeFrame('end', offset, new Uint8Array(0), endOffset, header.salt)
    await writeFully(handle, [index, end], offset)
    await handle.datasync()
    this.#segment = undefined
    clearTimeout(segment.ageTimer)
    await handle.close()
  }

  async #fail(error: unknown): Promise<void> {
    const { directory, onStopped } = this.#init
    this.#stopped = `recording to ${directory} has stopped: ${describe(error)}`
    clearTimeout(this.#flushTimer)
    clearTimeout(this.#syncTimer)
    this.#queue = []
    this.#queuedBytes = 0
    const segment = this.#segment
    this.#segment = undefined
    if (segment !== undefined) {
      clearTimeout(segment.ageTimer)
      // What is left of a frame behind the last whole one would only be reported as damage.
      await segment.handle.truncate(segment.offset).catch(() => {})
      await segment.handle.close().catch(() => {})
    }
    onStopped(this.#stopped)
  }
}

/** As many of the first frames as there is room for, one at least. */
function takeFrames(queue: readonly ClosedFrame[], room: number): readonly ClosedFrame[] {
  let bytes = 0
  let count = 0
  for (const frame of queue) {
    bytes += frame.bytes.length
    if (count > 0 && bytes > room) break
    count++
  }
  return queue.slice(0, count)
}

/** A vectored write may take only part of what it is given. */
async function writeFully(handle: FileHandle, buffers: readonly Uint8Array[], position: number): Promise<void> {
  let rest = buffers.filter(({ length }) => length > 0)
  let at = position
  while (rest.length > 0) {
    const { bytesWritten } = await handle.writev(rest, at)
    if (bytesWritten === 0) throw new Error('the file takes no more')
    at += bytesWritten
    let taken = bytesWritten
    while (rest.length > 0 && taken >= rest[0].length) {
      taken -= rest[0].length
      rest = rest.slice(1)
    }
    if (taken > 0) rest = [rest[0].subarray(taken), ...rest.slice(1)]
  }
}

/** Makes a directory for its owner only, or warns of one that others may write to. */
export async function makeDirectory(directory: string, onWarning: (text: string) => void): Promise<void> {
  const made = await mkdir(directory, { recursive: true, mode: 0o700 })
  if (made !== undefined) {
    await chmod(directory, 0o700)
    return
  }
  const { mode } = await stat(directory)
  if ((mode & 0o022) !== 0) {
    onWarning(`others may write to the recordings in ${directory}; chmod 700 keeps them to yourself`)
  }
}

const DISK_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; make room and start the proxy anew',
  EDQUOT: 'the disk quota is used up; make room and start the proxy anew',
  EFBIG: 'the file may not grow any more; raise the limit (ulimit -f) or lower maxSegmentBytes',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
}

function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return DISK_ERRORS[code] ?? messageOf(error)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
