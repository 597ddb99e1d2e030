/** Arrays and maps that are decoded when someone looks into them, and only as far as he looks. */
import { encodeUtf8 } from '@prexy/bytes/utf8'
import { lengthBytesOf, skipValue } from './skip.hot.ts'

/** @internal The input of lazy values, and what decodes it. */
export interface LazySource {
  readonly bytes: Uint8Array
  readonly view: DataView
  /** Place of the input in its stream, for errors. */
  readonly base: number
  /** The value at `start`; lazy if it is an array or a map, unless `deep`. */
  read(start: number, deep: boolean): unknown
}

/**
 * An array or map of an input, as a range of its bytes: complete and without a reserved byte, but else unchecked. It keeps
 * the input alive, which must not be written to. Nothing is cached: keep what you got if you need it again.
 *
 * Every method throws the `DecodeError` that decoding would have thrown.
 */
export class LazyValue {
  /** @internal */
  readonly source: LazySource
  /** The value's bytes, from the begin of the input. */
  readonly start: number
  readonly end: number

  /** @internal */
  constructor(source: LazySource, start: number, end: number) {
    this.source = source
    this.start = start
    this.end = end
  }

  get kind(): 'array' | 'map' {
    const head = this.source.bytes[this.start]
    return (head >= 0x90 && head < 0xa0) || head === 0xdc || head === 0xdd ? 'array' : 'map'
  }

  /** Elements, or pairs of key and value. */
  get length(): number {
    const { bytes, view } = this.source
    const head = bytes[this.start]
    if (head < 0xa0) return head & 0x0f
    return lengthBytesOf(head) === 2 ? view.getUint16(this.start + 1) : view.getUint32(this.start + 1)
  }

  /** All of it as objects and arrays. */
  decode(): unknown {
    return this.source.read(this.start, true)
  }

  /** What `JSON.stringify` shows. */
  toJSON(): unknown {
    return this.decode()
  }

  /** The encoded bytes, a view on the input. */
  encoded(): Uint8Array {
    return this.source.bytes.subarray(this.start, this.end)
  }

  /**
   * The value of a key of a map, the last one if the key is there more than once; undefined if it is not there or this is
   * an array. Arrays and maps are lazy. O(bytes of the map), since it is stepped through.
   */
  get(key: string): unknown {
    if (this.kind !== 'map') return undefined
    const { bytes, view, base } = this.source
    const wanted = encodeUtf8(key)
    let at = this.#firstPart()
    let foundAt = -1
    for (let left = this.length; left > 0; left--) {
      const valueAt = skipValue(bytes, view, at, this.end, base)
      if (isText(bytes, at, valueAt, wanted)) foundAt = valueAt
      at = skipValue(bytes, view, valueAt, this.end, base)
    }
    return foundAt < 0 ? undefined : this.source.read(foundAt, false)
  }

  /** An element of an array; undefined beyond its end or if this is a map. Arrays and maps are lazy. O(bytes before it). */
  at(index: number): unknown {
    if (this.kind !== 'array' || !Number.isInteger(index) || index < 0 || index >= this.length) return undefined
    const { bytes, view, base } = this.source
    let at = this.#firstPart()
    for (let left = index; left > 0; left--) at = skipValue(bytes, view, at, this.end, base)
    return this.source.read(at, false)
  }

  /** The pairs of a map in their order, the elements of an array with their index; arrays and maps are lazy. */
  *entries(): Generator<readonly [key: unknown, value: unknown], void, undefined> {
    const { bytes, view, base } = this.source
    const isMap = this.kind === 'map'
    let at = this.#firstPart()
    for (let i = 0; i < this.length; i++) {
      let key: unknown = i
      if (isMap) {
        const keyEnd = skipValue(bytes, view, at, this.end, base)
        key = this.source.read(at, true)
        at = keyEnd
      }
      const next = skipValue(bytes, view, at, this.end, base)
      yield [key, this.source.read(at, false)]
      at = next
    }
  }

  #firstPart(): number {
    return this.start + 1 + lengthBytesOf(this.source.bytes[this.start])
  }
}

/** Whether the token in `[start, end)` is a string of the wanted bytes. */
function isText(bytes: Uint8Array, start: number, end: number, wanted: Uint8Array): boolean {
  const head = bytes[start]
  if ((head < 0xa0 || head > 0xbf) && (head < 0xd9 || head > 0xdb)) return false
  const textStart = start + 1 + lengthBytesOf(head)
  if (end - textStart !== wanted.length) return false
  for (let i = 0; i < wanted.length; i++) if (bytes[textStart + i] !== wanted[i]) return false
  return true
}
