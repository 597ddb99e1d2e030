/**
 * The decoder: a recursive reader over one contiguous input.
 *
 *     readValue -> readMap -> (trie of shapes: compare key bytes, values onto a stack, one maker call)
 *               |          -> (otherwise: key by key, keys through the string cache)
 *               -> readArray, strings through the string cache, numbers, binary, extensions
 *
 * INVARIANTS
 * - `pos <= end` whenever a read method returns; nothing is read at or beyond `end`, `bytes.length === end`.
 * - The counts of all arrays and maps opened so far are at most `end` (`claimed`), since each element has a byte of its
 *   own. So preallocation is bounded by 8 bytes per byte of input, whatever the counts say.
 * - `stack[0, top)` holds the values of the maps that are being read; a maker's arguments lie at its upper end.
 *
 * Cost: O(bytes). Depth of recursion: `maxDepth`.
 */
import type { DecoderOptions } from './decode-options.ts'
import { createWide } from './constructor-pool.ts'
import { DecodeError } from './errors.ts'
import { ExtData, type ExtensionCodecType } from './extension.ts'
import { LazyValue, type LazySource } from './lazy-value.ts'
import {
  isTokenAt,
  keysTo,
  MAX_SHAPE_KEYS,
  MAX_TOKEN_BYTES,
  ShapeTrie,
  type KnownShape,
  type ShapeNode,
} from './shapes.hot.ts'
import { skipValue } from './skip.hot.ts'
import { MAX_CACHED_BYTES, MIN_CACHED_BYTES, StringCache } from './string-cache.hot.ts'
import { decodeText, findMalformed } from './text.hot.ts'
import { decodeTimestampExtension, EXT_TIMESTAMP } from './timestamp.ts'

type Fields = Record<string, unknown>

const UINT32_MAX = 0xffffffff
/** Beyond any depth, and an integer that V8 keeps unboxed. */
export const NEVER_LAZY = 0x3fffffff
const DEFAULT_MAX_DEPTH = 512
/** Five frames a level; a stack of 984 KB, V8's, is used up at about 1,900. */
const MOST_MAX_DEPTH = 1_000
/** From this many keys on `{}` would become a dictionary, which reads and writes ten times slower. */
const WIDE_KEYS = 16
/** What {@link ShapeNode.repeats} gains by a string that came again, at most; and how long a key is left out, then tried. */
const REPEATS_BY_HIT = 32
const MOST_REPEATS = 1_024
const LEFT_OUT = -8_192
const REPEATS_ON_TRIAL = 128
/** Binary values below this part of their input are copied, since a view would keep all of it alive. */
const VIEW_MIN_SHARE = 16
const SLAB_BYTES = 8_192
const NO_BYTES = new Uint8Array(0)
const NO_VIEW = new DataView(NO_BYTES.buffer)

/** @internal What is learnt from inputs and outlives them: bounded, and shared by the decoders it is given to. */
export interface DecodeMemory {
  readonly strings: StringCache
  readonly shapes: ShapeTrie
}

/** Of all decoders without shapes of their own, so that a decoder costs nothing to make. */
const sharedMemory: DecodeMemory = { strings: new StringCache(), shapes: new ShapeTrie([]) }

/** @internal A decoder for one input at a time; see `Decoder` in decode.ts for the one that may be entered again. */
export class ValueReader<Context> {
  pos = 0
  end = 0
  bytes: Uint8Array = NO_BYTES
  view: DataView = NO_VIEW
  /** Place in the stream of the input's first byte; for errors only. */
  base = 0
  /** Arrays and maps inside so many others become `LazyValue`s. */
  lazyDepth: number = NEVER_LAZY
  lazySource: LazySource | undefined = undefined
  depth = 0
  claimed = 0
  top = 0
  highest = 0
  readonly stack: unknown[] = []
  readonly strings: StringCache
  readonly shapes: ShapeTrie
  readonly codec: ExtensionCodecType<Context | undefined> | undefined
  readonly context: Context | undefined
  readonly useBigInt64: boolean
  readonly unsafeIntegers: 'bigint' | 'error' | 'round'
  readonly strictUtf8: boolean
  readonly rawStrings: boolean
  readonly binary: 'auto' | 'view' | 'copy'
  /** Small binary values of one input are copied into shared buffers. */
  slab: Uint8Array = NO_BYTES
  slabUsed = 0
  readonly maxStrLength: number
  readonly maxBinLength: number
  readonly maxArrayLength: number
  readonly maxMapLength: number
  readonly maxExtLength: number
  readonly maxDepth: number
  readonly useShapes: boolean
  readonly convertKey: ((key: unknown) => string | number) | undefined

  constructor(options: DecoderOptions<Context>) {
    const memory = options.shapes === undefined ? sharedMemory : createMemory(options.shapes)
    this.strings = memory.strings
    this.shapes = memory.shapes
    this.codec = options.extensionCodec
    this.context = options.context
    this.useBigInt64 = options.useBigInt64 ?? false
    this.unsafeIntegers = options.unsafeIntegers ?? 'bigint'
    this.strictUtf8 = options.invalidUtf8 === 'error'
    this.rawStrings = options.rawStrings ?? false
    this.binary = options.binary ?? 'auto'
    this.maxStrLength = options.maxStrLength ?? UINT32_MAX
    this.maxBinLength = options.maxBinLength ?? UINT32_MAX
    this.maxArrayLength = options.maxArrayLength ?? UINT32_MAX
    this.maxMapLength = options.maxMapLength ?? UINT32_MAX
    this.maxExtLength = options.maxExtLength ?? UINT32_MAX
    this.maxDepth = options.maxDepth ?? DEFAULT_MAX_DEPTH
    this.convertKey = options.mapKeyConverter
    // Keys of known shapes are not looked at one by one.
    this.useShapes = this.convertKey === undefined && this.maxStrLength >= MAX_TOKEN_BYTES
    if (!(this.maxDepth >= 1 && this.maxDepth <= MOST_MAX_DEPTH)) {
      throw new RangeError(`maxDepth is ${this.maxDepth}; 1 to ${MOST_MAX_DEPTH} are possible`)
    }
  }

  /** Begins an input, which is borrowed until the last read; binary values and lazy values keep it longer. */
  setInput(bytes: Uint8Array, base: number): void {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.end = bytes.length
    this.pos = 0
    this.base = base
    this.depth = 0
    this.claimed = 0
    this.top = 0
  }

  /** Forgets the input, and the values that the stack still holds. */
  release(): void {
    this.bytes = NO_BYTES
    this.view = NO_VIEW
    this.lazySource = undefined
    this.slab = NO_BYTES
    this.slabUsed = 0
    this.end = 0
    this.pos = 0
    // After an error the values of unfinished maps lie beyond `highest`.
    this.stack.fill(undefined, 0, Math.max(this.highest, this.top))
    this.highest = 0
  }

  readValue(): unknown {
    const at = this.pos
    if (at >= this.end) throw this.truncated(at, 'a value is missing')
    const head = this.bytes[at]
    this.pos = at + 1
    if (head < 0x80) return head
    if (head < 0x90) return this.readMap(head & 0x0f, at)
    if (head < 0xa0) return this.readArray(head & 0x0f, at)
    if (head < 0xc0) return this.readString(head & 0x1f, at)
    if (head >= 0xe0) return head - 0x100
    return this.readLong(head, at)
  }

  /** Values whose head is C0 to DF. */
  readLong(head: number, at: number): unknown {
    switch (head) {
      case 0xc0:
        // oxlint-disable-next-line unicorn/no-null -- nil
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xc4:
        return this.readBinary(this.readUint8(at), at)
      case 0xc5:
        return this.readBinary(this.readUint16(at), at)
      case 0xc6:
        return this.readBinary(this.readUint32(at), at)
      case 0xc7:
        return this.readExtension(this.readUint8(at), at)
      case 0xc8:
        return this.readExtension(this.readUint16(at), at)
      case 0xc9:
        return this.readExtension(this.readUint32(at), at)
      case 0xca:
        this.advance(4, at)
        return this.view.getFloat32(at + 1)
      case 0xcb:
        this.advance(8, at)
        return this.view.getFloat64(at + 1)
      case 0xcc:
        return this.readUint8(at)
      case 0xcd:
        return this.readUint16(at)
      case 0xce:
        return this.readUint32(at)
      case 0xcf:
        return this.readUint64(at)
      case 0xd0:
        this.advance(1, at)
        return this.view.getInt8(at + 1)
      case 0xd1:
        this.advance(2, at)
        return this.view.getInt16(at + 1)
      case 0xd2:
        this.advance(4, at)
        return this.view.getInt32(at + 1)
      case 0xd3:
        return this.readInt64(at)
      case 0xd4:
        return this.readExtension(1, at)
      case 0xd5:
        return this.readExtension(2, at)
      case 0xd6:
        return this.readExtension(4, at)
      case 0xd7:
        return this.readExtension(8, at)
      case 0xd8:
        return this.readExtension(16, at)
      case 0xd9:
        return this.readString(this.readUint8(at), at)
      case 0xda:
        return this.readString(this.readUint16(at), at)
      case 0xdb:
        return this.readString(this.readUint32(at), at)
      case 0xdc:
        return this.readArray(this.readUint16(at), at)
      case 0xdd:
        return this.readArray(this.readUint32(at), at)
      case 0xde:
        return this.readMap(this.readUint16(at), at)
      case 0xdf:
        return this.readMap(this.readUint32(at), at)
      default:
        throw new DecodeError('reserved-byte', 'Unrecognized type byte: 0xc1', this.base + at)
    }
  }

  /** Takes `size` bytes of the value at `at`. */
  advance(size: number, at: number): void {
    const next = this.pos + size
    if (next > this.end) throw this.truncated(at, `${size} bytes are claimed and ${this.end - this.pos} are left`)
    this.pos = next
  }

  readUint8(at: number): number {
    this.advance(1, at)
    return this.bytes[at + 1]
  }

  readUint16(at: number): number {
    this.advance(2, at)
    return this.view.getUint16(at + 1)
  }

  readUint32(at: number): number {
    this.advance(4, at)
    return this.view.getUint32(at + 1)
  }

  readUint64(at: number): number | bigint {
    this.advance(8, at)
    if (this.useBigInt64) return this.view.getBigUint64(at + 1)
    const value = this.view.getUint32(at + 1) * 0x100000000 + this.view.getUint32(at + 5)
    return value <= Number.MAX_SAFE_INTEGER ? value : this.unsafeInteger(this.view.getBigUint64(at + 1), at)
  }

  readInt64(at: number): number | bigint {
    this.advance(8, at)
    if (this.useBigInt64) return this.view.getBigInt64(at + 1)
    const value = this.view.getInt32(at + 1) * 0x100000000 + this.view.getUint32(at + 5)
    return Number.isSafeInteger(value) ? value : this.unsafeInteger(this.view.getBigInt64(at + 1), at)
  }

  unsafeInteger(value: bigint, at: number): number | bigint {
    if (this.unsafeIntegers === 'bigint') return value
    if (this.unsafeIntegers === 'round') return Number(value)
    throw new DecodeError('unsafe-integer', `the integer ${value} does not fit a number`, this.base + at)
  }

  readString(size: number, at: number): string | Uint8Array {
    if (this.rawStrings) return this.readBinary(size, at)
    if (size > this.maxStrLength) throw this.limit('string', size, 'maxStrLength', this.maxStrLength, at)
    return this.readText(size, at)
  }

  readUncached(size: number, at: number): string {
    if (size > this.maxStrLength) throw this.limit('string', size, 'maxStrLength', this.maxStrLength, at)
    const start = this.pos
    this.takeText(size, at)
    return decodeText(this.bytes, start, this.pos)
  }

  /** The text of `size` bytes from `pos` on. */
  readText(size: number, at: number): string {
    const start = this.pos
    this.takeText(size, at)
    if (size >= MIN_CACHED_BYTES && size <= MAX_CACHED_BYTES)
      return this.strings.read(this.bytes, this.view, start, size)
    return decodeText(this.bytes, start, this.pos)
  }

  takeText(size: number, at: number): void {
    const start = this.pos
    const next = start + size
    if (next > this.end)
      throw this.truncated(at, `a string of ${size} bytes is claimed and ${this.end - start} are left`)
    this.pos = next
    if (this.strictUtf8) {
      const malformed = findMalformed(this.bytes, start, next)
      if (malformed < next) throw new DecodeError('invalid-utf8', 'malformed UTF-8', this.base + malformed)
    }
  }

  readBinary(size: number, at: number): Uint8Array {
    if (size > this.maxBinLength) throw this.limit('binary', size, 'maxBinLength', this.maxBinLength, at)
    const start = this.pos
    this.advance(size, at)
    return this.payload(start)
  }

  readExtension(size: number, at: number): unknown {
    if (size > this.maxExtLength) throw this.limit('extension', size, 'maxExtLength', this.maxExtLength, at)
    this.advance(size + 1, at)
    const start = this.pos - size
    const type = this.view.getInt8(start - 1)
    if (this.codec === undefined) {
      if (type !== EXT_TIMESTAMP) return new ExtData(type, this.payload(start))
      if (size === 8) {
        const high = this.view.getUint32(start)
        if (high < 999_999_999 * 4) {
          return new Date(((high & 3) * 0x100000000 + this.view.getUint32(start + 4)) * 1_000 + msOf(high >>> 2))
        }
      } else if (size === 4) return new Date(this.view.getUint32(start) * 1_000)
    }
    return this.readByCodec(type, start, at)
  }

  /** The bytes from `start` to `pos`, as `binary` says. */
  payload(start: number): Uint8Array {
    const size = this.pos - start
    if (this.binary === 'view' || (this.binary === 'auto' && size * VIEW_MIN_SHARE >= this.end)) {
      return this.bytes.subarray(start, this.pos)
    }
    if (this.binary === 'copy' || size > SLAB_BYTES >> 3) return this.bytes.slice(start, this.pos)
    if (this.slabUsed + size > this.slab.length) {
      this.slab = new Uint8Array(Math.min(SLAB_BYTES, this.end))
      this.slabUsed = 0
    }
    const copy = this.slab.subarray(this.slabUsed, this.slabUsed + size)
    for (let i = 0; i < size; i++) copy[i] = this.bytes[start + i]
    this.slabUsed += size
    return copy
  }

  readByCodec(type: number, start: number, at: number): unknown {
    try {
      const payload = this.bytes.subarray(start, this.pos)
      return this.codec === undefined
        ? decodeTimestampExtension(payload)
        : this.codec.decode(payload, type, this.context)
    } catch (error) {
      if (error instanceof DecodeError && error.code === 'extension') {
        throw new DecodeError('extension', error.message.replace(/ at byte \d+$/, ''), this.base + at)
      }
      throw error
    }
  }

  readArray(count: number, at: number): unknown {
    if (count > this.maxArrayLength) throw this.limit('array', count, 'maxArrayLength', this.maxArrayLength, at)
    if (this.depth >= this.lazyDepth) return this.readLazily(at)
    this.enter(count, at)
    const array: unknown[] = new Array(count)
    for (let i = 0; i < count; i++) array[i] = this.readValue()
    this.depth--
    return array
  }

  readMap(count: number, at: number): unknown {
    if (count > this.maxMapLength) throw this.limit('map', count, 'maxMapLength', this.maxMapLength, at)
    if (this.depth >= this.lazyDepth) return this.readLazily(at)
    this.enter(count * 2, at)
    if (count > MAX_SHAPE_KEYS || count === 0 || !this.useShapes) {
      const fields = count < WIDE_KEYS ? {} : createWide()
      this.readFields(fields, count)
      this.depth--
      return fields
    }
    const base = this.top
    let node = this.shapes.roots[count]
    for (let i = 0; i < count; i++) {
      const start = this.pos
      let next = node.next
      if (
        next === undefined ||
        start + next.size > this.end ||
        start + 4 > this.end ||
        !isTokenAt(next, this.view, start)
      ) {
        next = this.findNext(node, start)
        if (next === undefined) return this.readUnknownShape(node, base, count)
      }
      this.pos = start + next.size
      node = next
      const value = this.readFieldOf(node)
      if (this.top === this.stack.length) this.stack.push(value)
      else this.stack[this.top] = value
      this.top++
    }
    if (this.top > this.highest) this.highest = this.top
    this.top = base
    this.depth--
    const maker = node.maker ?? this.shapes.makerOf(node)
    return maker === undefined ? this.build(keysTo(node), base, count) : maker(this.stack, base)
  }

  /**
   * The value under the key of `node`. Strings of keys whose strings seldom come again stay out of the string cache, where
   * they would cost time and push out others, except for a trial now and then.
   */
  readFieldOf(node: ShapeNode): unknown {
    const at = this.pos
    if (at >= this.end) throw this.truncated(at, 'a value is missing')
    const head = this.bytes[at]
    this.pos = at + 1
    if (head < 0x80) return head
    let size: number
    if (head >= 0xa0 && head < 0xc0) size = head & 0x1f
    else if (head === 0xd9) size = this.readUint8(at)
    else {
      this.pos = at
      return this.readValue()
    }
    if (size < MIN_CACHED_BYTES || size > MAX_CACHED_BYTES || this.rawStrings) return this.readString(size, at)
    if (node.repeats < 0) {
      if (--node.repeats > LEFT_OUT) return this.readUncached(size, at)
      node.repeats = REPEATS_ON_TRIAL
    }
    const hits = this.strings.hits
    const text = this.readString(size, at)
    if (this.strings.hits === hits) node.repeats--
    else if (node.repeats < MOST_REPEATS) node.repeats += REPEATS_BY_HIT
    return text
  }

  /** The node for the key at `start`, known or learnt; undefined if the map is to be read without a shape. */
  findNext(node: ShapeNode, start: number): ShapeNode | undefined {
    if (start + 4 <= this.end) {
      const found = this.shapes.findAlternative(node, this.view, start, this.end)
      if (found !== undefined) return found
    }
    // Only strings with a short head are learnt: A0 to BF, D9.
    const head = start < this.end ? this.bytes[start] : 0
    const isShort = head >= 0xa0 && head < 0xc0
    if (!isShort && (head !== 0xd9 || start + 1 >= this.end)) return undefined
    const textStart = isShort ? start + 1 : start + 2
    const size = isShort ? head & 0x1f : this.bytes[start + 1]
    // What is learnt is shared with decoders that are strict: malformed keys are left to the path that judges them.
    if (textStart + size > this.end || findMalformed(this.bytes, textStart, textStart + size) < textStart + size) {
      return undefined
    }
    const key = decodeText(this.bytes, textStart, textStart + size)
    return this.shapes.learn(node, key, this.bytes.subarray(start, textStart + size))
  }

  /** A map whose first keys lead to `node` and whose next is not in the trie. */
  readUnknownShape(node: ShapeNode, base: number, count: number): Fields {
    const done = node.depth
    const fields = this.build(keysTo(node), base, count)
    if (this.top > this.highest) this.highest = this.top
    this.top = base
    this.readFields(fields, count - done)
    this.depth--
    return fields
  }

  build(keys: readonly string[], base: number, count: number): Fields {
    const fields: Fields = count < WIDE_KEYS ? {} : createWide()
    for (let i = 0; i < keys.length; i++) fields[keys[i]] = this.stack[base + i]
    return fields
  }

  /** `count` keys and values, key by key. The last of equal keys wins. */
  readFields(fields: Fields, count: number): void {
    for (let i = 0; i < count; i++) {
      const key = this.readKey()
      const value = this.readValue()
      if (key === '__proto__') {
        // SECURITY: an assignment would set the prototype.
        Object.defineProperty(fields, key, { value, writable: true, enumerable: true, configurable: true })
      } else fields[key] = value
    }
  }

  readKey(): string | number {
    const at = this.pos
    if (at >= this.end) throw this.truncated(at, 'a map key is missing')
    if (this.convertKey !== undefined) return this.convertKey(this.readKeyValue())
    const head = this.bytes[at]
    if (head >= 0xa0 && head < 0xc0) {
      this.pos = at + 1
      return this.readKeyText(head & 0x1f, at)
    }
    if (head >= 0xd9 && head <= 0xdb) {
      this.pos = at + 1
      const size = head === 0xd9 ? this.readUint8(at) : head === 0xda ? this.readUint16(at) : this.readUint32(at)
      return this.readKeyText(size, at)
    }
    const key = this.readKeyValue()
    if (typeof key === 'number') return key
    const type = key === null ? 'nil' : typeof key
    throw new DecodeError('map-key', `The type of key must be string or number but it is ${type}`, this.base + at)
  }

  readKeyText(size: number, at: number): string {
    if (size > this.maxStrLength) throw this.limit('string', size, 'maxStrLength', this.maxStrLength, at)
    return this.readText(size, at)
  }

  /** Keys are strings even where values are raw, and never lazy. */
  readKeyValue(): unknown {
    const head = this.bytes[this.pos]
    if ((head >= 0xa0 && head < 0xc0) || (head >= 0xd9 && head <= 0xdb)) {
      const at = this.pos++
      const size =
        head < 0xc0
          ? head & 0x1f
          : head === 0xd9
            ? this.readUint8(at)
            : head === 0xda
              ? this.readUint16(at)
              : this.readUint32(at)
      return this.readKeyText(size, at)
    }
    return this.readValue()
  }

  /** Counts the parts of an array or map, and its depth. */
  enter(parts: number, at: number): void {
    const left = this.end - this.pos
    this.claimed += parts
    if (parts > left || this.claimed > this.end) {
      throw this.truncated(at, `${parts} values are claimed and ${left} bytes are left`)
    }
    if (++this.depth > this.maxDepth) {
      throw new DecodeError(
        'too-deep',
        `arrays and maps nested deeper than ${this.maxDepth} (maxDepth)`,
        this.base + at,
      )
    }
  }

  readLazily(at: number): unknown {
    this.pos = skipValue(this.bytes, this.view, at, this.end, this.base)
    const source = this.lazySource
    return source === undefined ? undefined : new LazyValue(source, at, this.pos)
  }

  truncated(at: number, reason: string): DecodeError {
    return new DecodeError('truncated', `Insufficient data: ${reason}`, this.base + at)
  }

  limit(what: string, size: number, option: string, most: number, at: number): DecodeError {
    return new DecodeError('limit', `Max length exceeded: ${what} of ${size} (${option}: ${most})`, this.base + at)
  }
}

function msOf(nanoseconds: number): number {
  return Math.floor(nanoseconds / 1_000_000)
}

function createMemory(shapes: readonly KnownShape[]): DecodeMemory {
  return { strings: sharedMemory.strings, shapes: new ShapeTrie(shapes) }
}
