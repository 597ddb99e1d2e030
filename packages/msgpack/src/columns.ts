/**
 * A few fields of many records as columns of typed arrays, without making the records: what a table, a sum or a histogram
 * over a long recording needs.
 *
 * Records come as a stream of maps, or as one array of maps, cut into chunks anywhere. Columns grow with each chunk and may
 * be handed to another thread between two.
 */
import { ColumnWalker } from './columns.hot.ts'
import { ValueSplitter } from './value-splitter.ts'
import { DecodeError } from './errors.ts'

/** What a column holds, and how a row without a fitting value looks. */
export type ColumnKind =
  /** `Float64Array`; NaN. Integers that it cannot hold exactly do not fit. */
  | 'number'
  /** `Float64Array` of milliseconds since the epoch, from timestamp extensions; NaN. */
  | 'time'
  /** `Uint32Array` of codes, {@link DictionaryColumn.values} are what they stand for; code 0. Strings only. */
  | 'dictionary'
  /** `Uint8Array` of 0 and 1; 2. */
  | 'boolean'

export interface ColumnSpec {
  readonly name: string
  /** Keys from the record down: `['payload', 'status']`. */
  readonly path: readonly string[]
  readonly kind: ColumnKind
}

interface BaseColumn {
  readonly name: string
  /** Rows whose value was there, and not nil, but does not fit the kind. */
  readonly misfits: number
}

export interface NumberColumn extends BaseColumn {
  readonly kind: 'number' | 'time'
  readonly data: Float64Array<ArrayBuffer>
}

export interface DictionaryColumn extends BaseColumn {
  readonly kind: 'dictionary'
  readonly data: Uint32Array<ArrayBuffer>
  /** By code; the first stands for rows without a string. */
  readonly values: readonly (string | undefined)[]
}

export interface BooleanColumn extends BaseColumn {
  readonly kind: 'boolean'
  readonly data: Uint8Array<ArrayBuffer>
}

export type Column = NumberColumn | DictionaryColumn | BooleanColumn

export interface ColumnTable {
  readonly rows: number
  readonly columns: readonly Column[]
  /** Where each record begins in the stream, for decoding a single one later. */
  readonly offsets: Float64Array<ArrayBuffer>
}

export interface ColumnReaderOptions {
  /** Bytes of one record that are kept until it is complete. Default: 256 MiB. */
  readonly maxBufferedBytes?: number
}

/** Reads the columns of a stream of records; see {@link openColumns} for input that is there as a whole. */
export class ColumnReader {
  readonly #walker: ColumnWalker
  readonly #maxBufferedBytes: number | undefined
  #splitter: ValueSplitter | undefined
  readonly #head: number[] = []
  #elementsLeft: number | undefined

  constructor(specs: readonly ColumnSpec[], options: ColumnReaderOptions = {}) {
    this.#walker = new ColumnWalker(specs)
    this.#maxBufferedBytes = options.maxBufferedBytes
  }

  get rows(): number {
    return this.#walker.rows
  }

  /**
   * Takes the next bytes, which are borrowed until the call returns. Throws a {@link DecodeError} for what is no
   * MessagePack or no record; the rows before it are there, and nothing may be appended any more.
   */
  append(chunk: Uint8Array): void {
    let bytes = chunk
    if (this.#splitter === undefined) {
      bytes = this.#takeHead(chunk)
      if (this.#splitter === undefined) return
    }
    this.#walk(this.#splitter, bytes)
  }

  #walk(splitter: ValueSplitter, bytes: Uint8Array): void {
    let rest = bytes
    if (splitter.heldBytes === 0) {
      // Most of a chunk is complete records: these are walked once, without looking for their ends first.
      const walked = this.#walkRecords(bytes, splitter.offset)
      splitter.pass(walked)
      rest = bytes.subarray(walked)
    }
    for (const piece of splitter.push(rest)) this.#walkRecords(piece.bytes, piece.base)
    if (this.#elementsLeft === 0 && splitter.heldBytes > 0) throw extraBytes(splitter.offset - splitter.heldBytes)
  }

  /** Walks complete records and returns the offset after them. */
  #walkRecords(bytes: Uint8Array, base: number): number {
    const before = this.#walker.rows
    const end = this.#walker.walk(bytes, base, this.#elementsLeft ?? Infinity)
    if (this.#elementsLeft !== undefined) {
      this.#elementsLeft -= this.#walker.rows - before
      if (this.#elementsLeft === 0 && end < bytes.length) throw extraBytes(base + end)
    }
    return end
  }

  /** Throws when the input ended inside a record or before the array's last. */
  end(): void {
    this.#splitter?.end()
    if (this.#head.length > 0 && (this.#splitter === undefined || (this.#elementsLeft ?? 0) > 0)) {
      const missing = this.#elementsLeft === undefined ? 'its records' : `${this.#elementsLeft} records`
      throw new DecodeError('truncated', `Insufficient data: an array ended before ${missing}`, this.#head.length)
    }
  }

  /**
   * The rows so far. The arrays are copies of what was read, just long enough, and belong to the caller: their buffers may be
   * transferred to another thread.
   */
  table(): ColumnTable {
    return this.#walker.table()
  }

  /** An array's head, if the input begins with one, is taken off; its elements are then the records. */
  #takeHead(chunk: Uint8Array): Uint8Array {
    let at = 0
    while (at < chunk.length) {
      const first = this.#head.length === 0 ? chunk[at] : this.#head[0]
      const isArray = (first & 0xf0) === 0x90 || first === 0xdc || first === 0xdd
      if (!isArray) {
        this.#splitter = new ValueSplitter(this.#maxBufferedBytes)
        return chunk
      }
      this.#head.push(chunk[at++])
      const size = first === 0xdc ? 3 : first === 0xdd ? 5 : 1
      if (this.#head.length === size) {
        const length = this.#head.slice(1).reduce((count, byte) => count * 256 + byte, 0)
        this.#elementsLeft = size === 1 ? first & 0x0f : length
        this.#splitter = new ValueSplitter(this.#maxBufferedBytes, size)
        break
      }
    }
    return chunk.subarray(at)
  }
}

function extraBytes(offset: number): DecodeError {
  return new DecodeError('extra-bytes', 'Extra bytes found after the array of records', offset)
}

/** The columns of records that are there as a whole. Throws a {@link DecodeError}. */
export function openColumns(input: Uint8Array, specs: readonly ColumnSpec[]): ColumnTable {
  const reader = new ColumnReader(specs)
  reader.append(input)
  reader.end()
  return reader.table()
}
