/**
 * Two bodies that come at the same time, each at its own speed, told apart without keeping either: the side that is
 * ahead keeps a few blocks whole, of further ones only their digests.
 */
import { createHash } from 'node:crypto'

/** Bodies are compared by blocks of this size. Unit: bytes. */
export const COMPARED_BLOCK_BYTES = 16_384
/** Blocks of the side that is ahead which are kept whole; so a difference is found to the octet within 256 KiB. */
export const MAX_KEPT_BLOCKS = 16
/** What is shown of each body before the first octet that differs, and from it on. Unit: bytes. */
const BEFORE_BYTES = 40
const BEHIND_BYTES = 80

export type ComparedSide = 'ours' | 'theirs'

export interface BodyDifference {
  /** Octets that are the same; less by up to a block where `isExact` is false. */
  readonly at: number
  readonly isExact: boolean
  /** What stands around it; undefined on a side that no longer had it. */
  readonly ours: Uint8Array | undefined
  readonly theirs: Uint8Array | undefined
}

/** `isWhole`: both ended; else as much as is to be compared is the same. */
export type BodyVerdict =
  | { readonly isSame: true; readonly isWhole: boolean }
  | ({ readonly isSame: false } & BodyDifference)

/** A complete block, or the last one. */
interface Block {
  readonly bytes: number
  /** Undefined where only the digest was kept. */
  readonly octets: Uint8Array | undefined
  readonly digest: string | undefined
}

class Side {
  /** Complete blocks that the other side has not come to. */
  readonly blocks: Block[] = []
  ended = false
  /** All octets so far, those of the block that is being filled included. */
  bytes = 0
  /** The block that is being filled. */
  #filling: Uint8Array | undefined = undefined
  filled = 0

  /** Takes what fits into the current block; returns how much that was. */
  fill(piece: Uint8Array): number {
    this.#filling ??= new Uint8Array(COMPARED_BLOCK_BYTES)
    const taken = Math.min(piece.length, COMPARED_BLOCK_BYTES - this.filled)
    this.#filling.set(taken === piece.length ? piece : piece.subarray(0, taken), this.filled)
    this.filled += taken
    this.bytes += taken
    return taken
  }

  /** Puts what was filled among the complete blocks. */
  close(): void {
    const octets = this.#filling?.subarray(0, this.filled)
    this.filled = 0
    if (octets === undefined || octets.length === 0) return
    if (this.blocks.length < MAX_KEPT_BLOCKS) {
      this.#filling = undefined
      this.blocks.push({ bytes: octets.length, octets, digest: undefined })
    } else {
      this.blocks.push({ bytes: octets.length, octets: undefined, digest: digestOf(octets) })
    }
  }
}

export class BodyComparison {
  readonly #sides: Readonly<Record<ComparedSide, Side>> = { ours: new Side(), theirs: new Side() }
  readonly #maxBytes: number
  #comparedBytes = 0
  #verdict: BodyVerdict | undefined = undefined

  /** `maxBytes`: of each body that are compared, in whole blocks. */
  constructor(maxBytes: number) {
    this.#maxBytes = Math.ceil(maxBytes / COMPARED_BLOCK_BYTES) * COMPARED_BLOCK_BYTES
  }

  /** Octets of each body that turned out the same. */
  get comparedBytes(): number {
    return this.#comparedBytes
  }

  /** Undefined while it depends on what is to come. Nothing is kept any more once it is there. */
  get verdict(): BodyVerdict | undefined {
    return this.#verdict
  }

  /** Further octets of that side change nothing. */
  isDone(name: ComparedSide): boolean {
    return this.#verdict !== undefined || this.#sides[name].bytes >= this.#maxBytes
  }

  /** The piece is copied. */
  push(name: ComparedSide, piece: Uint8Array): void {
    const side = this.#sides[name]
    let at = 0
    while (at < piece.length && !this.isDone(name)) {
      at += side.fill(at === 0 ? piece : piece.subarray(at))
      if (side.filled < COMPARED_BLOCK_BYTES) return
      side.close()
      this.#compare()
    }
  }

  end(name: ComparedSide): void {
    if (this.#verdict !== undefined) return
    const side = this.#sides[name]
    side.close()
    // What was left out is no end.
    side.ended = side.bytes < this.#maxBytes
    this.#compare()
  }

  #compare(): void {
    const { ours, theirs } = this.#sides
    while (this.#verdict === undefined) {
      const a = ours.blocks.at(0)
      const b = theirs.blocks.at(0)
      if (a !== undefined && b !== undefined) {
        this.#compareBlocks(a, b)
        ours.blocks.shift()
        theirs.blocks.shift()
      } else if (ours.ended && theirs.ended && a === undefined && b === undefined) {
        this.#verdict = { isSame: true, isWhole: true }
      } else if (a === undefined && ours.ended && (b !== undefined || theirs.filled > 0)) {
        if (b === undefined) theirs.close()
        this.#differ(0, NOTHING, theirs.blocks[0].octets)
      } else if (b === undefined && theirs.ended && (a !== undefined || ours.filled > 0)) {
        if (a === undefined) ours.close()
        this.#differ(0, ours.blocks[0].octets, NOTHING)
      } else {
        return
      }
    }
    ours.blocks.length = 0
    theirs.blocks.length = 0
  }

  #compareBlocks(a: Block, b: Block): void {
    if (a.octets !== undefined && b.octets !== undefined) {
      const common = Math.min(a.bytes, b.bytes)
      if (Buffer.compare(a.octets, b.octets) !== 0) {
        let at = 0
        while (at < common && a.octets[at] === b.octets[at]) at++
        return this.#differ(at, a.octets, b.octets)
      }
    } else if (a.bytes !== b.bytes || keptDigest(a) !== keptDigest(b)) {
      return this.#differ(undefined, a.octets, b.octets)
    }
    this.#comparedBytes += a.bytes
    if (this.#comparedBytes >= this.#maxBytes) this.#verdict = { isSame: true, isWhole: false }
  }

  /** `at`: where in the blocks; undefined where that is not known. */
  #differ(at: number | undefined, ours: Uint8Array | undefined, theirs: Uint8Array | undefined): void {
    const around = (octets: Uint8Array | undefined): Uint8Array | undefined =>
      octets?.slice(Math.max(0, (at ?? 0) - BEFORE_BYTES), (at ?? 0) + BEHIND_BYTES)
    this.#comparedBytes += at ?? 0
    this.#verdict = {
      isSame: false,
      at: this.#comparedBytes,
      isExact: at !== undefined,
      ours: around(ours),
      theirs: around(theirs),
    }
  }
}

const NOTHING = new Uint8Array(0)

function keptDigest({ octets, digest }: Block): string | undefined {
  return octets === undefined ? digest : digestOf(octets)
}

function digestOf(octets: Uint8Array): string {
  return createHash('sha256').update(octets).digest('base64')
}
