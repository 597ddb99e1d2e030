/**
 * The encoder: one walk over the value that writes into one growing buffer.
 *
 * - Room is asked for before each write, for the most that it may take; so no write is checked twice.
 * - Integers take the shortest form, strings their UTF-8 with the shortest head. A string's head is written for the length
 *   it has if it is ASCII, and the text moved by a byte or two in the rare case that this was too short.
 * - Keys of objects come from a trie of key sequences, like the decoder's: for an object whose keys follow each other as in
 *   one seen before, a key costs one comparison of pointers and a copy of its encoded words.
 *
 * INVARIANT: `pos + room asked for <= bytes.length`; `view` spans `bytes`.
 */
import type { EncoderOptions } from './encode-options.ts'
import { EncodeError } from './errors.ts'
import { ExtData, type ExtensionCodecType, type ExtensionPayload } from './extension.ts'
import { encodeDateToTimeSpec, encodeTimeSpecToTimestamp, EXT_TIMESTAMP } from './timestamp.ts'
import { writeText } from './text-writer.hot.ts'

const DEFAULT_MAX_DEPTH = 100
/** Five frames a level; a stack of 984 KB, V8's, is used up at about 1,900. */
const MOST_MAX_DEPTH = 1_000
const DEFAULT_INITIAL_BUFFER_BYTES = 2_048
/** Longer keys are written each time. */
const MAX_KEY_BYTES = 60
const MAX_KEY_NODES = 4_096
const MAX_ALTERNATIVES = 8
const UINT32 = 0x100000000

/** A key as it may follow others, and its token in words; the last may reach beyond the token. */
class KeyNode {
  readonly key: string
  readonly size: number
  readonly words: Int32Array
  next: KeyNode | undefined = undefined
  readonly alternatives: KeyNode[] = []
  /** Objects that began with this key had more than 15 keys when last seen. */
  isWide = false

  constructor(key: string, token: Uint8Array) {
    this.key = key
    this.size = token.length
    this.words = new Int32Array((token.length + 3) >> 2)
    new Uint8Array(this.words.buffer).set(token)
  }
}

/** @internal Writes one value at a time; see `Encoder` in encode.ts for the one that may be entered again. */
export class ValueWriter<Context> {
  bytes: Uint8Array<ArrayBuffer>
  view: DataView<ArrayBuffer>
  pos = 0
  /** Where the current value begins. */
  first = 0
  /** Objects take the slower way, which knows sorting and own properties. */
  keysOneByOne = false
  keyNodes = 0
  keyRoot: KeyNode = new KeyNode('', new Uint8Array(0))
  readonly codec: ExtensionCodecType<Context | undefined> | undefined
  readonly context: Context | undefined
  readonly maxDepth: number
  readonly useBigInt64: boolean
  readonly sortKeys: boolean
  readonly forceFloat32: boolean
  readonly forceIntegerToFloat: boolean
  readonly ignoreUndefined: boolean

  constructor(options: EncoderOptions<Context>) {
    this.codec = options.extensionCodec
    this.context = options.context
    this.maxDepth = options.maxDepth ?? DEFAULT_MAX_DEPTH
    this.useBigInt64 = options.useBigInt64 ?? false
    this.sortKeys = options.sortKeys ?? false
    this.forceFloat32 = options.forceFloat32 ?? false
    this.forceIntegerToFloat = options.forceIntegerToFloat ?? false
    this.ignoreUndefined = options.ignoreUndefined ?? false
    if (!(this.maxDepth >= 1 && this.maxDepth <= MOST_MAX_DEPTH)) {
      throw new RangeError(`maxDepth is ${this.maxDepth}; 1 to ${MOST_MAX_DEPTH} are possible`)
    }
    this.bytes = new Uint8Array(options.initialBufferSize ?? DEFAULT_INITIAL_BUFFER_BYTES)
    this.view = new DataView(this.bytes.buffer)
  }

  /** Leaves the buffer to who has parts of it. */
  renew(size: number): void {
    this.bytes = new Uint8Array(size)
    this.view = new DataView(this.bytes.buffer)
    this.pos = 0
  }

  /** Begins a value at `first`. */
  start(first: number): void {
    this.first = first
    this.pos = first
    this.keysOneByOne = this.sortKeys || isPrototypePolluted()
  }

  /** Makes room for `size` bytes at `pos`. What lies before `first` belongs to others by now. */
  reserve(size: number): void {
    if (this.pos + size > this.bytes.length) this.grow(size)
  }

  grow(size: number): void {
    const written = this.pos - this.first
    const larger = new Uint8Array(Math.max((written + size) * 2, this.first > 0 ? this.bytes.length : 0))
    larger.set(this.bytes.subarray(this.first, this.pos))
    this.bytes = larger
    this.view = new DataView(larger.buffer)
    this.first = 0
    this.pos = written
  }

  writeValue(value: unknown, depth: number): void {
    if (typeof value === 'string') this.writeString(value)
    else if (typeof value === 'number') this.writeNumber(value)
    else if (typeof value === 'boolean') this.writeByte(value ? 0xc3 : 0xc2)
    else if (value === undefined || value === null) this.writeByte(0xc0)
    else if (typeof value === 'object') this.writeObject(value, depth)
    else if (this.codec !== undefined && this.writeByCodec(value)) return
    else if (typeof value === 'bigint') this.writeBigInt(value)
    else throw new EncodeError(`Unrecognized object: a ${typeof value} has no form`)
  }

  writeByte(byte: number): void {
    this.reserve(1)
    this.bytes[this.pos++] = byte
  }

  writeNumber(value: number): void {
    this.reserve(9)
    const at = this.pos
    if ((value | 0) === value && !this.forceIntegerToFloat) {
      if (value >= 0) {
        if (value < 0x80) {
          // -0 equals 0, and is no integer.
          if (value === 0 && 1 / value < 0) this.writeFloat(value)
          else this.bytes[this.pos++] = value
        } else if (value < 0x100) {
          this.bytes[at] = 0xcc
          this.bytes[at + 1] = value
          this.pos = at + 2
        } else if (value < 0x10000) {
          this.bytes[at] = 0xcd
          this.view.setUint16(at + 1, value)
          this.pos = at + 3
        } else {
          this.bytes[at] = 0xce
          this.view.setUint32(at + 1, value)
          this.pos = at + 5
        }
      } else if (value >= -0x20) this.bytes[this.pos++] = value & 0xff
      else if (value >= -0x80) {
        this.bytes[at] = 0xd0
        this.view.setInt8(at + 1, value)
        this.pos = at + 2
      } else if (value >= -0x8000) {
        this.bytes[at] = 0xd1
        this.view.setInt16(at + 1, value)
        this.pos = at + 3
      } else {
        this.bytes[at] = 0xd2
        this.view.setInt32(at + 1, value)
        this.pos = at + 5
      }
    } else if (Number.isSafeInteger(value) && !this.forceIntegerToFloat) this.writeLongInteger(value)
    else this.writeFloat(value)
  }

  /** Safe integers beyond 31 bits. */
  writeLongInteger(value: number): void {
    const at = this.pos
    if (value >= 0 && value < UINT32) {
      this.bytes[at] = 0xce
      this.view.setUint32(at + 1, value)
      this.pos = at + 5
      return
    }
    if (this.useBigInt64) {
      this.bytes[at] = 0xcb
      this.view.setFloat64(at + 1, value)
      this.pos = at + 9
      return
    }
    this.bytes[at] = value < 0 ? 0xd3 : 0xcf
    this.view.setInt32(at + 1, Math.floor(value / UINT32))
    this.view.setInt32(at + 5, (value % UINT32) | 0)
    this.pos = at + 9
  }

  writeFloat(value: number): void {
    if (this.forceFloat32) {
      this.bytes[this.pos] = 0xca
      this.view.setFloat32(this.pos + 1, value)
      this.pos += 5
    } else {
      this.bytes[this.pos] = 0xcb
      this.view.setFloat64(this.pos + 1, value)
      this.pos += 9
    }
  }

  writeBigInt(value: bigint): void {
    this.reserve(9)
    if (value >= 0n && value <= 0xffff_ffff_ffff_ffffn) {
      this.bytes[this.pos] = 0xcf
      this.view.setBigUint64(this.pos + 1, value)
    } else if (value < 0n && value >= -0x8000_0000_0000_0000n) {
      this.bytes[this.pos] = 0xd3
      this.view.setBigInt64(this.pos + 1, value)
    } else throw new EncodeError(`the integer ${value} has more than 64 bits`)
    this.pos += 9
  }

  writeString(text: string): void {
    const units = text.length
    this.reserve(5 + units * 3)
    const at = this.pos
    const headBytes = stringHeadBytes(units)
    const end = writeText(this.bytes, at + headBytes, text)
    const size = end - at - headBytes
    const needed = size === units ? headBytes : stringHeadBytes(size)
    if (needed !== headBytes) this.bytes.copyWithin(at + needed, at + headBytes, end)
    if (needed === 1) this.bytes[at] = 0xa0 | size
    else if (needed === 2) {
      this.bytes[at] = 0xd9
      this.bytes[at + 1] = size
    } else if (needed === 3) {
      this.bytes[at] = 0xda
      this.view.setUint16(at + 1, size)
    } else {
      if (size >= UINT32) throw new EncodeError(`a string of ${size} bytes is too long`)
      this.bytes[at] = 0xdb
      this.view.setUint32(at + 1, size)
    }
    this.pos = at + needed + size
  }

  writeObject(value: object, depth: number): void {
    if (depth > this.maxDepth) throw new EncodeError(`Too deep: objects nested deeper than ${this.maxDepth} (maxDepth)`)
    if (this.codec !== undefined && this.writeByCodec(value)) return
    if (Array.isArray(value)) {
      this.writeArrayHead(value.length)
      for (let i = 0; i < value.length; i++) this.writeValue(value[i], depth + 1)
      return
    }
    if (isPlain(value) && !this.keysOneByOne) this.writePlainObject(value, depth)
    else if (ArrayBuffer.isView(value)) this.writeBinary(value)
    else if (value instanceof Date && this.codec === undefined) {
      this.writeDate(value)
    } else if (value instanceof ExtData) this.writeExtension(value.type, value.data)
    else if (value instanceof ArrayBuffer) this.writeBinary(new Uint8Array(value))
    else if (value instanceof Map) this.writeMap(value, depth)
    else if (value instanceof Set) this.writeObject([...value], depth)
    else this.writeOtherObject(value, depth)
  }

  writeDate(date: Date): void {
    const ms = date.getTime()
    const sec = Math.floor(ms / 1_000)
    if (!(sec >= 0 && sec < UINT32)) {
      this.writeExtension(EXT_TIMESTAMP, encodeTimeSpecToTimestamp(encodeDateToTimeSpec(date)))
      return
    }
    this.reserve(10)
    const at = this.pos
    const nsec = (ms - sec * 1_000) * 1_000_000
    if (nsec === 0) {
      this.bytes[at] = 0xd6
      this.view.setUint32(at + 2, sec)
      this.pos = at + 6
    } else {
      this.bytes[at] = 0xd7
      this.view.setUint32(at + 2, nsec * 4)
      this.view.setUint32(at + 6, sec)
      this.pos = at + 10
    }
    this.bytes[at + 1] = 0xff
  }

  /** Whether the codec had a form for the value. */
  writeByCodec(value: unknown): boolean {
    const extension = this.codec?.tryToEncode(value, this.context)
    if (extension === undefined || extension === null) return false
    this.writeExtension(extension.type, extension.data)
    return true
  }

  writeArrayHead(length: number): void {
    this.reserve(5)
    this.writeCount(length, 0x90, 0xdc, 0xdd)
  }

  writeCount(count: number, short: number, head16: number, head32: number): void {
    const at = this.pos
    if (count < 16) this.bytes[this.pos++] = short | count
    else if (count < 0x10000) {
      this.bytes[at] = head16
      this.view.setUint16(at + 1, count)
      this.pos = at + 3
    } else {
      this.bytes[at] = head32
      this.view.setUint32(at + 1, count)
      this.pos = at + 5
    }
  }

  /** Own enumerable properties; nothing is inherited from the prototype, which is `Object.prototype` or none. */
  writePlainObject(fields: Readonly<Record<string, unknown>>, depth: number): void {
    // Growing moves the value.
    const start = this.pos - this.first
    let node = this.keyRoot
    let first: KeyNode | undefined
    let count = 0
    this.reserve(5)
    // The number of keys is not known yet: room is left for the head that objects beginning like this one had.
    let headBytes = 1
    this.pos++
    for (const key in fields) {
      const field = fields[key]
      if (field === undefined && this.ignoreUndefined) continue
      let next = node.next
      if (next === undefined || next.key !== key) next = this.findKey(node, key)
      if (count === 0 && next !== undefined) {
        first = next
        if (next.isWide) {
          headBytes = 3
          this.pos += 2
        }
      }
      count++
      if (next === undefined) this.writeString(key)
      else {
        this.writeToken(next)
        node = next
      }
      this.writeField(field, depth)
    }
    const needed = count < 16 ? 1 : count < 0x10000 ? 3 : 5
    if (needed !== headBytes) {
      this.reserve(4)
      const at = this.first + start
      this.bytes.copyWithin(at + needed, at + headBytes, this.pos)
      if (first !== undefined) first.isWide = needed > 1
    }
    const end = this.pos + needed - headBytes
    this.pos = this.first + start
    this.writeCount(count, 0x80, 0xde, 0xdf)
    this.pos = end
  }

  writeField(value: unknown, depth: number): void {
    if (typeof value === 'string') this.writeString(value)
    else if (typeof value === 'number') this.writeNumber(value)
    else this.writeValue(value, depth + 1)
  }

  writeToken(node: KeyNode): void {
    const { words, size } = node
    this.reserve(size + 4)
    let at = this.pos
    for (let i = 0; i < words.length; i++) {
      this.view.setInt32(at, words[i], true)
      at += 4
    }
    this.pos += size
  }

  findKey(node: KeyNode, key: string): KeyNode | undefined {
    for (const candidate of node.alternatives) {
      if (candidate.key === key) {
        node.next = candidate
        return candidate
      }
    }
    if (node.alternatives.length >= MAX_ALTERNATIVES || key.length > MAX_KEY_BYTES) return undefined
    const start = this.pos - this.first
    this.writeString(key)
    const token = this.bytes.slice(this.first + start, this.pos)
    this.pos = this.first + start
    if (token.length > MAX_KEY_BYTES) return undefined
    if (this.keyNodes >= MAX_KEY_NODES) {
      // It may be full of keys that never come again.
      this.keyNodes = 0
      this.keyRoot = new KeyNode('', new Uint8Array(0))
      return undefined
    }
    this.keyNodes++
    const learnt = new KeyNode(key, token)
    node.alternatives.push(learnt)
    node.next = learnt
    return learnt
  }

  /** Class instances, and every object whose keys are to be sorted. */
  writeOtherObject(value: object, depth: number): void {
    let entries: [string, unknown][] = Object.entries(value)
    if (this.ignoreUndefined) entries = entries.filter(([, field]) => field !== undefined)
    if (this.sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : 1))
    this.reserve(5)
    this.writeCount(entries.length, 0x80, 0xde, 0xdf)
    for (const [key, field] of entries) {
      this.writeString(key)
      this.writeValue(field, depth + 1)
    }
  }

  /** Keys of any type; `sortKeys` does not apply, since they have no order. */
  writeMap(value: ReadonlyMap<unknown, unknown>, depth: number): void {
    const entries = this.ignoreUndefined ? [...value].filter(([, field]) => field !== undefined) : [...value]
    this.reserve(5)
    this.writeCount(entries.length, 0x80, 0xde, 0xdf)
    for (const [key, field] of entries) {
      this.writeValue(key, depth + 1)
      this.writeValue(field, depth + 1)
    }
  }

  writeBinary(value: ArrayBufferView): void {
    const size = value.byteLength
    this.reserve(5 + size)
    const at = this.pos
    if (size < 0x100) {
      this.bytes[at] = 0xc4
      this.bytes[at + 1] = size
      this.pos = at + 2
    } else if (size < 0x10000) {
      this.bytes[at] = 0xc5
      this.view.setUint16(at + 1, size)
      this.pos = at + 3
    } else if (size < UINT32) {
      this.bytes[at] = 0xc6
      this.view.setUint32(at + 1, size)
      this.pos = at + 5
    } else throw new EncodeError(`binary of ${size} bytes is too long`)
    this.bytes.set(new Uint8Array(value.buffer, value.byteOffset, size), this.pos)
    this.pos += size
  }

  writeExtension(type: number, payload: ExtensionPayload): void {
    // Where a payload will lie is only known if its head is: then it is the longest, whatever the size.
    const isPlaced = typeof payload === 'function'
    const data = isPlaced ? payload(this.pos - this.first + 6) : payload
    const size = data.length
    this.reserve(6 + size)
    const at = this.pos
    const fixed = isPlaced ? -1 : [1, 2, 4, 8, 16].indexOf(size)
    if (fixed >= 0) {
      this.bytes[at] = 0xd4 + fixed
      this.pos = at + 1
    } else if (size < 0x100 && !isPlaced) {
      this.bytes[at] = 0xc7
      this.bytes[at + 1] = size
      this.pos = at + 2
    } else if (size < 0x10000 && !isPlaced) {
      this.bytes[at] = 0xc8
      this.view.setUint16(at + 1, size)
      this.pos = at + 3
    } else if (size < UINT32) {
      this.bytes[at] = 0xc9
      this.view.setUint32(at + 1, size)
      this.pos = at + 5
    } else throw new EncodeError(`an extension of ${size} bytes is too long`)
    this.bytes[this.pos++] = type & 0xff
    this.bytes.set(data, this.pos)
    this.pos += size
  }
}

function isPlain(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Whether some other code made objects inherit properties that a `for in` loop meets. */
function isPrototypePolluted(): boolean {
  for (const _ in Object.prototype) return true
  return false
}

function stringHeadBytes(size: number): number {
  if (size < 0x20) return 1
  if (size < 0x100) return 2
  return size < 0x10000 ? 3 : 5
}
