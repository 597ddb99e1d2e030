/**
 * RowBinary, the format in which ClickHouse takes and gives rows: no quoting, no decimals, each text with its length.
 *
 * Lengths are unsigned LEB128; numbers are little-endian, `Float64` and `Int32`.
 */
import { STORED_COLUMNS, type StoredColumn, type StoredRow, type StoredType, type StoredValue } from './event-store.ts'

const START_BYTES = 65_536

/** Rows made octets. */
export class RowBinaryWriter {
  #buffer: Buffer<ArrayBuffer>
  #size: number
  rows: number

  constructor() {
    this.#buffer = Buffer.allocUnsafe(START_BYTES)
    this.#size = 0
    this.rows = 0
  }

  get bytes(): number {
    return this.#size
  }

  add(row: StoredRow): void {
    for (const [name, type] of STORED_COLUMNS) this.#value(type, row[name])
    this.rows++
  }

  /** All rows so far; those that come begin anew. */
  take(): Buffer<ArrayBuffer> {
    const taken = this.#buffer.subarray(0, this.#size)
    this.#buffer = Buffer.allocUnsafe(START_BYTES)
    this.#size = 0
    this.rows = 0
    return taken
  }

  #value(type: StoredType, value: StoredValue): void {
    if (typeof value === 'string') this.#text(value)
    else if (typeof value === 'number') this.#number(type, value)
    else {
      this.#length(value.length)
      const element = type === 'integers' ? 'integer' : 'double'
      for (const one of value) {
        if (typeof one === 'string') this.#text(one)
        else this.#number(element, one)
      }
    }
  }

  #number(type: StoredType, value: number): void {
    this.#reserve(8)
    this.#size =
      type === 'integer' ? this.#buffer.writeInt32LE(value, this.#size) : this.#buffer.writeDoubleLE(value, this.#size)
  }

  #text(text: string): void {
    const bytes = Buffer.byteLength(text)
    this.#length(bytes)
    this.#reserve(bytes)
    this.#size += this.#buffer.write(text, this.#size)
  }

  #length(length: number): void {
    this.#reserve(8)
    let rest = length
    while (rest >= 0x80) {
      this.#buffer[this.#size++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#buffer[this.#size++] = rest
  }

  #reserve(bytes: number): void {
    if (this.#size + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#size + bytes))
    this.#buffer.copy(larger, 0, 0, this.#size)
    this.#buffer = larger
  }
}

/** Largest row that is read. Unit: bytes. */
export const MAX_STORED_ROW_BYTES = 134_217_728

/** Octets that are no rows, or not whole ones. */
export class RowBinaryError extends Error {
  override readonly name: string = 'RowBinaryError'
}

export type AnswerType = StoredType | 'count' | 'flags'

/** A column of an answer: one of the table, or what a query works out. `count` is a UInt64, `flags` a list of UInt8. */
export type AnswerColumn = readonly [name: string, type: AnswerType]

const STORED_TYPES: ReadonlyMap<string, StoredType> = new Map<string, StoredType>(STORED_COLUMNS)

export function answerColumns(names: readonly StoredColumn[]): readonly AnswerColumn[] {
  return names.map((name) => [name, STORED_TYPES.get(name) ?? 'text'])
}

export type AnswerRow = Readonly<Record<string, StoredValue>>

/** Rows of octets that come in pieces. Throws a {@link RowBinaryError} when the last row is not whole. */
export async function* readRowBinary(
  pieces: AsyncIterable<Uint8Array>,
  columns: readonly AnswerColumn[],
): AsyncGenerator<AnswerRow> {
  let rest: Buffer = Buffer.alloc(0)
  let pending: Uint8Array[] = []
  let pendingBytes = 0
  const take = function* (): Generator<AnswerRow> {
    const octets = Buffer.concat([rest, ...pending])
    pending = []
    pendingBytes = 0
    const reader = new RowReader(octets)
    let whole = 0
    while (whole < octets.length) {
      const row = reader.read(columns)
      if (row === undefined) break
      yield row
      whole = reader.at
    }
    rest = octets.subarray(whole)
    if (rest.length > MAX_STORED_ROW_BYTES) throw new RowBinaryError('a row is longer than MAX_STORED_ROW_BYTES')
  }
  for await (const piece of pieces) {
    pending.push(piece)
    pendingBytes += piece.length
    // What is left of a long row is not copied again for each piece.
    if (pendingBytes >= rest.length) yield* take()
  }
  yield* take()
  if (rest.length > 0) throw new RowBinaryError('the answer ends within a row')
}

/** One row; every method gives undefined when the octets end before it does. */
class RowReader {
  at: number
  readonly #octets: Buffer

  constructor(octets: Buffer) {
    this.#octets = octets
    this.at = 0
  }

  read(columns: readonly AnswerColumn[]): AnswerRow | undefined {
    const row: Record<string, StoredValue> = {}
    for (const [name, type] of columns) {
      const value = this.#value(type)
      if (value === undefined) return undefined
      row[name] = value
    }
    return row
  }

  #value(type: AnswerType): StoredValue | undefined {
    switch (type) {
      case 'text':
        return this.#text()
      case 'texts':
        return this.#list(() => this.#text())
      case 'doubles':
        return this.#list(() => this.#number('double'))
      case 'integers':
        return this.#list(() => this.#number('integer'))
      case 'flags':
        return this.#list(() => this.#octet())
      default:
        return this.#number(type)
    }
  }

  #number(type: 'double' | 'integer' | 'count'): number | undefined {
    const size = type === 'integer' ? 4 : 8
    const from = this.at
    if (from + size > this.#octets.length) return undefined
    this.at += size
    if (type === 'integer') return this.#octets.readInt32LE(from)
    return type === 'double' ? this.#octets.readDoubleLE(from) : Number(this.#octets.readBigUInt64LE(from))
  }

  #octet(): number | undefined {
    return this.at < this.#octets.length ? this.#octets[this.at++] : undefined
  }

  #text(): string | undefined {
    const length = this.#length()
    if (length === undefined || this.at + length > this.#octets.length) return undefined
    this.at += length
    return this.#octets.toString('utf8', this.at - length, this.at)
  }

  #list<Item>(read: () => Item | undefined): Item[] | undefined {
    const length = this.#length()
    // An item has an octet at least.
    if (length === undefined || this.at + length > this.#octets.length) return undefined
    const items: Item[] = []
    for (let index = 0; index < length; index++) {
      const item = read()
      if (item === undefined) return undefined
      items.push(item)
    }
    return items
  }

  #length(): number | undefined {
    let [length, factor] = [0, 1]
    for (;;) {
      const octet = this.#octet()
      if (octet === undefined) return undefined
      length += (octet & 0x7f) * factor
      if (octet < 0x80) return length
      factor *= 0x80
      if (length > MAX_STORED_ROW_BYTES) throw new RowBinaryError('a text is longer than MAX_STORED_ROW_BYTES')
    }
  }
}
