/** What went wrong in a file, where and why. Nothing here ends the reading of it. */
import type { EvtxLimits } from './limits.ts'

/** Codes that say that something was lost, and those that only warn. */
const LOSSES = {
  /** A chunk that has neither header nor records. */
  chunk: true,
  /** A record whose header cannot be right; reading goes on at the next one in the chunk. */
  'record-header': true,
  /** A record whose content cannot be read. */
  record: true,
  /** A record that renders to more than `maxRenderedUnits`. */
  'record-too-large': true,
  /** The file header is missing or unreadable; chunks are looked for without it. */
  'file-header': false,
  'file-header-checksum': false,
  /** The file was not closed: its header says less than the chunks hold. */
  dirty: false,
  'chunk-header-checksum': false,
  'records-checksum': false,
  /** The chunk's header disagrees with its records; the records were followed. */
  'chunk-header': false,
  /** The chunk is cut off by the end of the input. */
  'chunk-truncated': false,
  /** The two sizes of a record differ. */
  'record-size': false,
} as const

export type ProblemCode = keyof typeof LOSSES

export interface Problem {
  readonly code: ProblemCode
  /** Bytes from the begin of the file. */
  readonly offset: number
  readonly reason: string
  /** Of records whose header could be read. */
  readonly recordId: number | undefined
}

/** Whether a record or chunk was lost with it. */
export function isLoss(code: ProblemCode): boolean {
  return LOSSES[code]
}

/** Counts of one reading; of several files, when they share a decoder. */
export class EvtxReport {
  /** Chunks that were read. */
  chunks = 0
  /** Places for a chunk that hold only zero bytes. */
  emptyChunks = 0
  /** Records given out, recovered ones included. */
  records = 0
  /** Records counted as lost, in `problems` with their reasons. */
  badRecords = 0
  /** Records given out that no chunk counts among its own. */
  recoveredRecords = 0
  /** Carved records left out because the same one was given out before. */
  duplicateRecords = 0
  /** What begins and ends as a record in free space and cannot be read, mostly because its template was overwritten. */
  unrecoverableRecords = 0
  /** The first `maxProblems`. */
  readonly problems: Problem[] = []
  readonly counts: Map<ProblemCode, number> = new Map()
  readonly #maxProblems: number

  constructor(limits: EvtxLimits) {
    this.#maxProblems = limits.maxProblems
  }

  /** @internal */
  add(code: ProblemCode, offset: number, reason: string, recordId?: number): void {
    this.counts.set(code, (this.counts.get(code) ?? 0) + 1)
    if (code === 'record' || code === 'record-header' || code === 'record-too-large') this.badRecords++
    if (this.problems.length < this.#maxProblems) this.problems.push({ code, offset, reason, recordId })
  }
}

/** Why the content of a record cannot be read. Thrown and caught inside the package. */
export class ContentFault extends Error {
  override readonly name: string = 'ContentFault'
}
