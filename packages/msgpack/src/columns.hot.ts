/**
 * The walk over records that fills columns.
 *
 * The wanted paths are a tree of plans. For each map that lies on a path the walker remembers the sequence of keys that it
 * met last, as tokens; a record with the same keys is then recognised by comparing words, and what is not wanted is stepped
 * over. Strings of a dictionary are found by their bytes and decoded once.
 */
import type { Column, ColumnKind, ColumnSpec, ColumnTable } from './columns.ts'
import { DecodeError } from './errors.ts'
import { isTokenAt, ShapeNode } from './shapes.hot.ts'
import { lengthBytesOf, skipValue } from './skip.hot.ts'
import { CACHE_PLACES, MAX_CACHED_BYTES, MIN_CACHED_BYTES, StringCache } from './string-cache.hot.ts'
import { decodeText } from './text.hot.ts'
import { EXT_TIMESTAMP } from './timestamp.ts'
import { TOKEN_BYTES, TOKEN_PARTS } from './tokens.ts'

const FIRST_ROWS = 1_024
/** Levels of recursion. */
const MAX_PATH_KEYS = 32
/** Keys that are remembered for the maps at one place of the records, in all their sequences. */
const MAX_STEPS = 1_024
const MAX_ALTERNATIVES = 8
const MAX_TOKEN_BYTES = 64
const NO_TOKEN = new Uint8Array(0)
const UINT32 = 0x100000000

/** A key met in maps at one place, and what is wanted of its value. */
class Step {
  readonly node: ShapeNode
  readonly column: ColumnBuilder | undefined
  readonly deeper: Branch | undefined
  next: Step | undefined = undefined
  readonly alternatives: Step[] = []

  constructor(key: string, token: Uint8Array, column: ColumnBuilder | undefined, deeper: Branch | undefined) {
    this.node = new ShapeNode(key, token, undefined)
    this.column = column
    this.deeper = deeper
  }
}

/** The maps at one place of the records. */
class Branch {
  readonly columns: Map<string, ColumnBuilder> = new Map()
  readonly branches: Map<string, Branch> = new Map()
  readonly first: Step = new Step('', NO_TOKEN, undefined, undefined)
  steps = 0
}

/** A column that grows; rows from `rows` on hold the value for absence. */
class ColumnBuilder {
  readonly name: string
  readonly kind: ColumnKind
  numbers: Float64Array<ArrayBuffer>
  codes: Uint32Array<ArrayBuffer>
  flags: Uint8Array<ArrayBuffer>
  misfits = 0
  readonly values: (string | undefined)[] = [undefined]
  readonly codeOf: Map<string, number> = new Map()
  /** By place of the string cache: its version when last looked at, and the code of the string it then had. */
  readonly placeVersions: Uint32Array
  readonly placeCodes: Uint32Array

  constructor({ name, kind }: ColumnSpec) {
    this.name = name
    this.kind = kind
    this.numbers = new Float64Array(isNumeric(kind) ? FIRST_ROWS : 0).fill(NaN)
    this.codes = new Uint32Array(kind === 'dictionary' ? FIRST_ROWS : 0)
    this.flags = new Uint8Array(kind === 'boolean' ? FIRST_ROWS : 0).fill(2)
    this.placeVersions = new Uint32Array(kind === 'dictionary' ? CACHE_PLACES : 0)
    this.placeCodes = new Uint32Array(kind === 'dictionary' ? CACHE_PLACES : 0)
  }

  grow(rows: number): void {
    if (isNumeric(this.kind)) {
      const larger = new Float64Array(rows)
      larger.set(this.numbers)
      this.numbers = larger.fill(NaN, this.numbers.length)
    } else if (this.kind === 'boolean') {
      const larger = new Uint8Array(rows)
      larger.set(this.flags)
      this.flags = larger.fill(2, this.flags.length)
    } else {
      const larger = new Uint32Array(rows)
      larger.set(this.codes)
      this.codes = larger
    }
  }

  clear(row: number): void {
    if (isNumeric(this.kind)) this.numbers[row] = NaN
    else if (this.kind === 'boolean') this.flags[row] = 2
    else this.codes[row] = 0
  }

  codeFor(text: string): number {
    const known = this.codeOf.get(text)
    if (known !== undefined) return known
    const code = this.values.length
    this.values.push(text)
    this.codeOf.set(text, code)
    return code
  }

  build(rows: number): Column {
    const { name, kind, misfits } = this
    if (kind === 'dictionary') return { name, kind, misfits, data: this.codes.slice(0, rows), values: [...this.values] }
    if (kind === 'boolean') return { name, kind, misfits, data: this.flags.slice(0, rows) }
    return { name, kind, misfits, data: this.numbers.slice(0, rows) }
  }
}

function isNumeric(kind: ColumnKind): boolean {
  return kind === 'number' || kind === 'time'
}

/** @internal See `ColumnReader`. */
export class ColumnWalker {
  rows = 0
  capacity: number = FIRST_ROWS
  bytes: Uint8Array = NO_TOKEN
  view: DataView = new DataView(NO_TOKEN.buffer)
  end = 0
  base = 0
  offsets: Float64Array<ArrayBuffer> = new Float64Array(FIRST_ROWS)
  readonly strings: StringCache = new StringCache()
  readonly root: Branch = new Branch()
  readonly columns: ColumnBuilder[] = []

  constructor(specs: readonly ColumnSpec[]) {
    for (const spec of specs) {
      if (spec.path.length === 0 || spec.path.length > MAX_PATH_KEYS) {
        throw new RangeError(`column ${spec.name}: a path has 1 to ${MAX_PATH_KEYS} keys`)
      }
      const column = new ColumnBuilder(spec)
      this.columns.push(column)
      let branch = this.root
      for (const key of spec.path.slice(0, -1)) {
        const known = branch.branches.get(key)
        const deeper = known ?? new Branch()
        if (known === undefined) branch.branches.set(key, deeper)
        branch = deeper
      }
      const last = spec.path[spec.path.length - 1]
      if (branch.columns.has(last)) throw new RangeError(`column ${spec.name}: another column has the same path`)
      branch.columns.set(last, column)
    }
  }

  /** Takes at most `most` records and returns the offset after the last complete one. */
  walk(bytes: Uint8Array, base: number, most: number): number {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.end = bytes.length
    this.base = base
    let at = 0
    try {
      for (let left = most; left > 0 && at < this.end; left--) {
        if (this.rows === this.capacity) this.grow(Math.min(left, this.rowsIn(at)))
        this.offsets[this.rows] = base + at
        at = this.walkRecord(at)
        this.rows++
      }
    } catch (error) {
      if (!(error instanceof DecodeError) || error.code !== 'truncated') throw error
      // The record goes on in the next chunk, which overwrites what was filled in of it.
      for (const column of this.columns) column.clear(this.rows)
    }
    return at
  }

  /** Records that the bytes from `at` on may hold, if they are as long as those before. */
  rowsIn(at: number): number {
    const taken = this.base + at - this.offsets[0]
    return Math.ceil(((this.end - at) / taken) * this.rows * 1.02)
  }

  /** Makes room for `rows` more, or for as many as there are, whichever is more. */
  grow(rows: number): void {
    this.capacity += Math.max(this.rows, rows)
    for (const column of this.columns) column.grow(this.capacity)
    const offsets = new Float64Array(this.capacity)
    offsets.set(this.offsets)
    this.offsets = offsets
  }

  table(): ColumnTable {
    const columns = this.columns.map((column) => column.build(this.rows))
    return { rows: this.rows, columns, offsets: this.offsets.slice(0, this.rows) }
  }

  walkRecord(at: number): number {
    const head = this.bytes[at]
    if ((head >= 0x80 && head < 0x90) || head === 0xde || head === 0xdf) return this.walkMap(this.root, at)
    if (head === 0xc1) throw new DecodeError('reserved-byte', 'Unrecognized type byte: 0xc1', this.base + at)
    throw new DecodeError('wrong-type', 'a record is a map, and this is none', this.base + at)
  }

  /** A map is at `at`; the offset after it. */
  walkMap(branch: Branch, start: number): number {
    const { bytes, view, end } = this
    let at = start + 1
    let count = bytes[start] & 0x0f
    if (bytes[start] >= 0xde) {
      const lengthBytes = lengthBytesOf(bytes[start])
      if (at + lengthBytes > end) throw this.truncated(start)
      count = lengthBytes === 2 ? view.getUint16(at) : view.getUint32(at)
      at += lengthBytes
    }
    if (count * 2 > end - at) throw this.truncated(start)
    let step = branch.first
    for (let i = 0; i < count; i++) {
      let next = step.next
      if (next === undefined || at + 4 > end || at + next.node.size > end || !isTokenAt(next.node, view, at)) {
        next = this.findStep(branch, step, at)
        at = skipValue(bytes, view, at, end, this.base)
      } else at += next.node.size
      if (at >= end) throw this.truncated(start)
      const head = bytes[at]
      if (next === undefined) {
        at = skipValue(bytes, view, at, end, this.base)
        continue
      }
      step = next
      if (next.column === undefined && next.deeper === undefined) {
        if (TOKEN_BYTES[head] !== 0 && TOKEN_PARTS[head] === 0) at += TOKEN_BYTES[head]
        else at = skipValue(bytes, view, at, end, this.base)
      } else if (next.deeper !== undefined && ((head >= 0x80 && head < 0x90) || head === 0xde || head === 0xdf)) {
        at = this.walkMap(next.deeper, at)
      } else {
        const valueEnd = skipValue(bytes, view, at, end, this.base)
        if (next.column !== undefined) this.take(next.column, at, valueEnd)
        at = valueEnd
      }
    }
    if (at > end) throw this.truncated(start)
    return at
  }

  /** What is wanted of the key at `at`, which is learnt; undefined for a key that no column can ask for. */
  findStep(branch: Branch, step: Step, at: number): Step | undefined {
    const { bytes, view, end } = this
    if (at + 4 <= end) {
      for (const candidate of step.alternatives) {
        if (at + candidate.node.size <= end && isTokenAt(candidate.node, view, at)) {
          step.next = candidate
          return candidate
        }
      }
    }
    const keyEnd = skipValue(bytes, view, at, end, this.base)
    const head = bytes[at]
    if ((head < 0xa0 || head > 0xbf) && (head < 0xd9 || head > 0xdb)) return undefined
    const key = decodeText(bytes, at + 1 + lengthBytesOf(head), keyEnd)
    const learnt = new Step(key, bytes.subarray(at, keyEnd), branch.columns.get(key), branch.branches.get(key))
    if (
      step.alternatives.length < MAX_ALTERNATIVES &&
      branch.steps < MAX_STEPS &&
      keyEnd - at <= MAX_TOKEN_BYTES &&
      keyEnd - at > 0
    ) {
      branch.steps++
      step.alternatives.push(learnt)
      step.next = learnt
    }
    return learnt
  }

  /** Puts the value in `[at, valueEnd)` into the row. */
  take(column: ColumnBuilder, at: number, valueEnd: number): void {
    const head = this.bytes[at]
    const row = this.rows
    if (column.kind === 'dictionary') {
      if ((head >= 0xa0 && head < 0xc0) || (head >= 0xd9 && head <= 0xdb)) {
        column.codes[row] = this.codeOf(column, at + 1 + lengthBytesOf(head), valueEnd)
        return
      }
    } else if (column.kind === 'boolean') {
      if (head === 0xc2 || head === 0xc3) {
        column.flags[row] = head - 0xc2
        return
      }
    } else {
      const value = column.kind === 'number' ? this.numberAt(head, at) : this.timeAt(head, at)
      column.numbers[row] = value
      // A NaN in the input is a value; what is none is counted.
      if (value === value || head === 0xca || head === 0xcb) return
    }
    column.clear(row)
    if (head !== 0xc0) column.misfits++
  }

  codeOf(column: ColumnBuilder, start: number, end: number): number {
    const size = end - start
    if (size < MIN_CACHED_BYTES || size > MAX_CACHED_BYTES) return column.codeFor(decodeText(this.bytes, start, end))
    const place = this.strings.locate(this.bytes, this.view, start, size)
    const version = this.strings.versions[place]
    if (column.placeVersions[place] === version) return column.placeCodes[place]
    const code = column.codeFor(this.strings.strings[place])
    column.placeVersions[place] = version
    column.placeCodes[place] = code
    return code
  }

  /** NaN for what is no number, and for integers beyond 2^53. */
  numberAt(head: number, at: number): number {
    const view = this.view
    if (head < 0x80) return head
    if (head >= 0xe0) return head - 0x100
    switch (head) {
      case 0xca:
        return view.getFloat32(at + 1)
      case 0xcb:
        return view.getFloat64(at + 1)
      case 0xcc:
        return view.getUint8(at + 1)
      case 0xcd:
        return view.getUint16(at + 1)
      case 0xce:
        return view.getUint32(at + 1)
      case 0xcf:
        return exactOrNaN(view.getUint32(at + 1) * UINT32 + view.getUint32(at + 5))
      case 0xd0:
        return view.getInt8(at + 1)
      case 0xd1:
        return view.getInt16(at + 1)
      case 0xd2:
        return view.getInt32(at + 1)
      case 0xd3:
        return exactOrNaN(view.getInt32(at + 1) * UINT32 + view.getUint32(at + 5))
      default:
        return NaN
    }
  }

  /** NaN for what is no timestamp or none that the specification allows. */
  timeAt(head: number, at: number): number {
    const view = this.view
    if (head === 0xd6 && view.getInt8(at + 1) === EXT_TIMESTAMP) return view.getUint32(at + 2) * 1_000
    if (head === 0xd7 && view.getInt8(at + 1) === EXT_TIMESTAMP) {
      const high = view.getUint32(at + 2)
      return timeOf((high & 3) * UINT32 + view.getUint32(at + 6), high >>> 2)
    }
    if (head !== 0xc7 || this.bytes[at + 1] !== 12 || view.getInt8(at + 2) !== EXT_TIMESTAMP) return NaN
    return timeOf(view.getInt32(at + 7) * UINT32 + view.getUint32(at + 11), view.getUint32(at + 3))
  }

  truncated(start: number): DecodeError {
    return new DecodeError(
      'truncated',
      'Insufficient data: the input ends inside the map that begins',
      this.base + start,
    )
  }
}

function timeOf(sec: number, nsec: number): number {
  return nsec > 999_999_999 ? NaN : exactOrNaN(sec * 1_000 + Math.floor(nsec / 1_000_000))
}

function exactOrNaN(value: number): number {
  return Number.isSafeInteger(value) ? value : NaN
}
