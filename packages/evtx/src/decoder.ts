/**
 * Reading of Windows event logs (EVTX): whole files, or one chunk after another of files that are larger than memory.
 * Damage costs the records that it hit; what is wrong is told by {@link EvtxDecoder.report}.
 */
import {
  Chunk,
  CHUNK_BYTES,
  CHUNK_HEADER_BYTES,
  CHUNK_MAGIC,
  chunkHeaderChecksum,
  hasChunkMagic,
  readChunkHeader,
  type ChunkHeader,
} from './chunk.ts'
import { crc32 } from '@prexy/bytes/crc32.hot'
import { EvtxError } from './errors.ts'
import { FILE_HEADER_BYTES, readFileHeader, type FileHeader } from './file-header.ts'
import { u32, u64 } from './integers.hot.ts'
import { DEFAULT_LIMITS, type EvtxLimits } from './limits.ts'
import { EvtxReport } from './problems.ts'
import { EvtxRecord, SMALLEST_RECORD_BYTES } from './record.ts'
import { TemplateStore } from './template-store.ts'

export interface EvtxOptions {
  /** `check` (default): bad checksums are warnings. `ignore` saves the time. */
  readonly checksums?: 'check' | 'ignore'
  /** `skip` (default): what chunks count as their own. `recover`: also what is left in free space and damaged chunks. */
  readonly slack?: 'skip' | 'recover'
  readonly limits?: Partial<EvtxLimits>
}

/** A stretch of a file that no chunk counts as its own. */
interface Slack {
  readonly chunk: Chunk
  readonly start: number
}

/** `**\0\0` as it is read in one. */
const RECORD_MAGIC = 0x2a2a
const STAR = 0x2a

/**
 * Reads any number of files one after another. What it learns of templates it keeps from chunk to chunk and from file to
 * file. Not to be entered again while an iteration goes on.
 */
export class EvtxDecoder {
  readonly report: EvtxReport
  readonly #limits: EvtxLimits
  readonly #checks: boolean
  readonly #recovers: boolean
  readonly #store: TemplateStore
  readonly #record: EvtxRecord
  /** Numbers and times of records that were given out, when copies are looked for. */
  readonly #given = new Set<number>()
  #isFileDirty = false

  constructor(options: EvtxOptions = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#checks = options.checksums !== 'ignore'
    this.#recovers = options.slack === 'recover'
    this.#store = new TemplateStore(this.#limits)
    this.report = new EvtxReport(this.#limits)
    this.#record = new EvtxRecord(this.#limits, this.report)
  }

  /**
   * All records of a file that is in memory, in the order in which they are in it; a log that was full does not begin with
   * its oldest, and recovered records come last. Throws an {@link EvtxError} when there is neither a file header nor a chunk.
   */
  *readFile(bytes: Uint8Array): Generator<EvtxRecord, void, undefined> {
    this.#given.clear()
    const header = this.readHeader(bytes)
    if (header === undefined || this.#recovers) {
      // Templates of overwritten records may be defined in any chunk.
      const slack: Slack[] = []
      yield* this.#readAnywhere(bytes, header !== undefined, slack)
      for (const { chunk, start } of slack) yield* this.#carve(chunk, start)
      return
    }
    for (let at = FILE_HEADER_BYTES; at < bytes.length; at += CHUNK_BYTES) {
      yield* this.readChunk(bytes.subarray(at, at + CHUNK_BYTES), at)
    }
  }

  /** The header of a file, from its first 4 KiB. Needed before {@link EvtxDecoder.readChunk} only to know a dirty file. */
  readHeader(bytes: Uint8Array): FileHeader | undefined {
    const header = readFileHeader(bytes)
    this.#isFileDirty = header?.isDirty ?? true
    if (header === undefined) {
      this.report.add('file-header', 0, 'there is no file header; chunks are looked for without it')
      return undefined
    }
    if (this.#checks && !header.isChecksumGood) {
      this.report.add('file-header-checksum', 0, 'the checksum of the file header is wrong')
    }
    if (header.isDirty) this.report.add('dirty', 0, 'the file was not closed: chunks are read to its end')
    return header
  }

  /**
   * The records of the chunk that begins at `offset` of its file. `bytes` are its 64 KiB, or what the file still has; they
   * are borrowed until the iteration ends.
   */
  *readChunk(bytes: Uint8Array, offset: number): Generator<EvtxRecord, void, undefined> {
    const slack: Slack[] = []
    yield* this.#readChunk(bytes.length > CHUNK_BYTES ? bytes.subarray(0, CHUNK_BYTES) : bytes, offset, slack)
    for (const { chunk, start } of slack) yield* this.#carve(chunk, start)
  }

  *#readChunk(bytes: Uint8Array, offset: number, slack: Slack[]): Generator<EvtxRecord, void, undefined> {
    const { report } = this
    if (!hasChunkMagic(bytes, 0)) {
      if (isZero(bytes)) {
        report.emptyChunks++
        return
      }
      report.add('chunk', offset, 'a chunk without a header')
      if (this.#recovers) slack.push({ chunk: new Chunk(bytes, offset, this.#store, this.#limits), start: 0 })
      return
    }
    if (bytes.length < CHUNK_HEADER_BYTES) {
      report.add('chunk', offset, 'the file ends inside of the header of a chunk')
      return
    }
    if (bytes.length < CHUNK_BYTES) {
      report.add('chunk-truncated', offset, `the file ends after ${bytes.length} of ${CHUNK_BYTES} bytes of a chunk`)
    }
    report.chunks++
    const chunk = new Chunk(bytes, offset, this.#store, this.#limits)
    const end = yield* this.#readRecords(chunk, readChunkHeader(bytes))
    if (this.#recovers) slack.push({ chunk, start: end })
  }

  /** Gives out the records that the chunk counts, and returns where they end. */
  *#readRecords(chunk: Chunk, header: ChunkHeader): Generator<EvtxRecord, number, undefined> {
    const { bytes } = chunk
    const { report } = this
    const { freeSpaceOffset } = header
    const isFreeSpaceGood = freeSpaceOffset >= CHUNK_HEADER_BYTES && freeSpaceOffset <= CHUNK_BYTES
    if (!isFreeSpaceGood) {
      report.add('chunk-header', chunk.offset, `free space from ${freeSpaceOffset} on, outside of the chunk`)
    }
    const limit = bytes.length
    const end = isFreeSpaceGood ? Math.min(freeSpaceOffset, limit) : limit
    const isSuspect = !this.#areChecksumsGood(chunk, header, end) || this.#isFileDirty
    let at = CHUNK_HEADER_BYTES
    let lastId = -1
    while (at + SMALLEST_RECORD_BYTES <= limit) {
      if (at >= end && !(isSuspect && isRecord(bytes, at) && u64(bytes, at + 8) === lastId + 1)) break
      const size = isRecord(bytes, at) ? u32(bytes, at + 4) : 0
      if (size < SMALLEST_RECORD_BYTES || size > limit - at) {
        const next = findRecord(bytes, at + 1, end)
        // Zeros up to the free space are free space, too.
        if (next < 0 && isZero(bytes.subarray(at, end))) break
        const what = isRecord(bytes, at) ? `a record of ${u32(bytes, at + 4)} bytes` : 'no record'
        const then = next < 0 ? 'none follows' : `the next one is ${next - at} bytes on`
        report.add('record-header', chunk.offset + at, `${what} where one should begin; ${then}`)
        if (next < 0) break
        at = next
        continue
      }
      if (u32(bytes, at + size - 4) !== size) {
        report.add('record-size', chunk.offset + at, 'the two sizes of the record differ', u64(bytes, at + 8))
      }
      lastId = u64(bytes, at + 8)
      const fault = this.#record.read(chunk, at, size)
      if (fault === undefined) {
        report.records++
        if (this.#recovers) this.#remember()
        yield this.#record
      } else {
        report.add('record', chunk.offset + at, fault, this.#record.id)
      }
      at += size
    }
    return at
  }

  #areChecksumsGood(chunk: Chunk, header: ChunkHeader, end: number): boolean {
    if (!this.#checks || !header.hasChecksums || chunk.bytes.length < CHUNK_BYTES) return true
    const isHeaderGood = chunkHeaderChecksum(chunk.bytes) === header.headerChecksum
    if (!isHeaderGood) {
      this.report.add('chunk-header-checksum', chunk.offset, 'the checksum of the header of a chunk is wrong')
    }
    const areRecordsGood = crc32(chunk.bytes, CHUNK_HEADER_BYTES, end) === header.recordsChecksum
    if (!areRecordsGood) {
      this.report.add('records-checksum', chunk.offset, 'the checksum of the records of a chunk is wrong')
    }
    return isHeaderGood && areRecordsGood
  }

  /** Records from `start` on that nothing leads to, without those that were given out before. */
  *#carve(chunk: Chunk, start: number): Generator<EvtxRecord, void, undefined> {
    const { bytes } = chunk
    const { report } = this
    chunk.isOverwritten = true
    for (let at = findRecord(bytes, start, bytes.length); at >= 0; ) {
      const size = u32(bytes, at + 4)
      const fault = this.#record.read(chunk, at, size)
      if (fault !== undefined || this.#record.lacksValues) {
        report.unrecoverableRecords++
        at = findRecord(bytes, at + 1, bytes.length)
        continue
      }
      if (this.#remember()) {
        report.records++
        report.recoveredRecords++
        this.#record.isRecovered = true
        yield this.#record
      } else {
        report.duplicateRecords++
      }
      at = findRecord(bytes, at + size, bytes.length)
    }
  }

  /** Says whether the record was not remembered yet. */
  #remember(): boolean {
    const { id, timeMs } = this.#record
    // Two records of one millisecond whose numbers are a multiple of 4,096 apart do not happen.
    const key = timeMs * 4_096 + (id % 4_096)
    if (this.#given.has(key)) return false
    if (this.#given.size < this.#limits.maxRememberedRecords) this.#given.add(key)
    return true
  }

  /** Looks for chunks at every byte. What is between them is looked through for records when that is asked for. */
  *#readAnywhere(bytes: Uint8Array, hasHeader: boolean, slack: Slack[]): Generator<EvtxRecord, void, undefined> {
    const first = findChunk(bytes, 0)
    if (first < 0 && !hasHeader && !this.#recovers) {
      throw new EvtxError('this is no Windows event log: it has neither a file header nor a chunk')
    }
    // Chunks lie 64 KiB apart; one whose header is lost is where the others say.
    const grid = first < 0 ? FILE_HEADER_BYTES : first % CHUNK_BYTES
    let at = hasHeader ? FILE_HEADER_BYTES : 0
    while (at < bytes.length) {
      const next = findChunk(bytes, at)
      for (const end = next < 0 ? bytes.length : next; at < end; ) {
        const piece = Math.min(at + CHUNK_BYTES - ((at - grid + CHUNK_BYTES) % CHUNK_BYTES), end)
        if (hasHeader || this.#recovers) yield* this.#readChunk(bytes.subarray(at, piece), at, slack)
        at = piece
      }
      if (next < 0) break
      // Another chunk inside of this one: bytes are missing in between.
      const inside = findChunk(bytes.subarray(0, next + CHUNK_BYTES), next + CHUNK_MAGIC.length)
      at = inside < 0 ? next + CHUNK_BYTES : inside
      yield* this.#readChunk(bytes.subarray(next, at), next, slack)
    }
  }
}

function isRecord(bytes: Uint8Array, at: number): boolean {
  return u32(bytes, at) === RECORD_MAGIC
}

/** The first place between two offsets where a record begins and ends as one does, or -1. */
function findRecord(bytes: Uint8Array, from: number, end: number): number {
  for (
    let at = bytes.indexOf(STAR, from);
    at >= 0 && at + SMALLEST_RECORD_BYTES <= end;
    at = bytes.indexOf(STAR, at + 1)
  ) {
    if (!isRecord(bytes, at)) continue
    const size = u32(bytes, at + 4)
    if (size >= SMALLEST_RECORD_BYTES && size <= end - at && u32(bytes, at + size - 4) === size) return at
  }
  return -1
}

function findChunk(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(CHUNK_MAGIC[0], from); at >= 0; at = bytes.indexOf(CHUNK_MAGIC[0], at + 1)) {
    if (hasChunkMagic(bytes, at)) return at
  }
  return -1
}

function isZero(bytes: Uint8Array): boolean {
  // Four bytes a step, between the ends that are not aligned.
  const head = Math.min((4 - (bytes.byteOffset % 4)) % 4, bytes.length)
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + head, (bytes.length - head) >> 2)
  for (let at = 0; at < head; at++) if (bytes[at] !== 0) return false
  for (let at = 0; at < words.length; at++) if (words[at] !== 0) return false
  for (let at = head + words.length * 4; at < bytes.length; at++) if (bytes[at] !== 0) return false
  return true
}
