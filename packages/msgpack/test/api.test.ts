/** Options and extension types, as users of @msgpack/msgpack know them. */
import { decode, decodeMulti, Decoder } from '@prexy/msgpack/decode'
import { encode, Encoder } from '@prexy/msgpack/encode'
import { EncodeError } from '@prexy/msgpack/errors'
import { ExtData, ExtensionCodec } from '@prexy/msgpack/extension'
import {
  decodeTimestampToTimeSpec,
  encodeDateToTimeSpec,
  encodeTimeSpecToTimestamp,
  EXT_TIMESTAMP,
} from '@prexy/msgpack/timestamp'
import { describe, expect, test } from 'vitest'
import { toHex } from './format-table.ts'

describe('encode', () => {
  test.each([
    ['sorted keys', { b: 1, a: { d: 1, c: 2 } }, { sortKeys: true }, '82a16182a16302a16401a16201'],
    ['undefined left out', { a: undefined, b: [undefined] }, { ignoreUndefined: true }, '81a16291c0'],
    ['undefined as nil', { a: undefined }, {}, '81a161c0'],
    ['floats of 32 bits', [0.1, 1], { forceFloat32: true }, '92ca3dcccccd01'],
    ['integers as floats', [1], { forceIntegerToFloat: true }, '91cb3ff0000000000000'],
    [
      'long integers as floats beside bigints',
      [2 ** 40, 5n],
      { useBigInt64: true },
      '92cb4270000000000000cf0000000000000005',
    ],
    [
      'a Map',
      new Map<unknown, unknown>([
        [1, 'a'],
        ['b', 2],
      ]),
      {},
      '8201a161a16202',
    ],
    ['a Set', new Set([1, 2]), {}, '920102'],
    ['an ArrayBuffer', Uint8Array.of(1, 2).buffer, {}, 'c4020102'],
    ['a view of 16 bits', Uint16Array.of(1), {}, 'c4020100'],
    ['holes', Object.assign(new Array<number>(2), { 1: 1 }), {}, '92c001'],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), {}, '81a16101'],
    ['a class instance', new ExtendedPoint(1, 2), {}, '82a17801a17902'],
    ['a lone surrogate', '\ud800', {}, 'a3efbfbd'],
    ['a lone surrogate in long text', `${'a'.repeat(60)}\ud800`, {}, `d93f${'61'.repeat(60)}efbfbd`],
    ['a surrogate at the end', '\udc00a\ud83d', {}, 'a7efbfbd61efbfbd'],
  ])('%s', (_what, value, options, hex) => {
    expect(toHex(encode(value, options))).toBe(hex)
  })

  test.each([0, 1, 10, 11, 20, 31, 32, 39, 40, 80, 85, 86, 127, 128, 255, 256, 21_845, 21_846, 65_535, 65_536])(
    'text of %d wide characters has the shortest head',
    (length) => {
      for (const character of ['a', 'ä', '€', '😀']) {
        const text = character.repeat(length)
        const size = Buffer.byteLength(text)
        const headBytes = size < 32 ? 1 : size < 256 ? 2 : size < 65_536 ? 3 : 5
        const bytes = encode([text, 7])
        expect(bytes.length).toBe(1 + headBytes + size + 1)
        expect(decode(bytes)).toEqual([text, 7])
      }
    },
  )

  test.each([
    ['a function', () => 1, 'Unrecognized object: a function has no form'],
    ['a symbol', Symbol('x'), 'Unrecognized object: a symbol has no form'],
    ['an integer of 65 bits', 2n ** 64n, 'the integer 18446744073709551616 has more than 64 bits'],
    ['an invalid date', new Date(NaN), 'an invalid date has no timestamp'],
    ['what contains itself', cyclic(), 'Too deep: objects nested deeper than 100 (maxDepth)'],
  ])('%s is refused, and the encoder goes on', (_what, value, message) => {
    const encoder = new Encoder()
    for (const nested of [value, [value], { a: value }]) {
      expect(() => encoder.encode(nested)).toThrow(EncodeError)
      expect(() => encoder.encode(nested)).toThrow(message)
    }
    expect(toHex(encoder.encode({ a: 1 }))).toBe('81a16101')
  })

  test('inherited properties are not written, even if someone gave all objects one', () => {
    Reflect.set(Object.prototype, 'inherited', 1)
    try {
      expect(toHex(encode({ a: 1 }))).toBe('81a16101')
    } finally {
      Reflect.deleteProperty(Object.prototype, 'inherited')
    }
  })

  test('a shared reference is overwritten by the next, a result of encode is not', () => {
    const encoder = new Encoder()
    const kept = encoder.encode([1])
    const shared = encoder.encodeSharedRef([2])
    encoder.encode([3])
    expect(toHex(kept)).toBe('9101')
    expect(toHex(shared)).toBe('9103')
  })

  test('pooled results stay as they are, whatever follows, fails or is entered again', () => {
    const codec = new ExtensionCodec()
    const encoder: Encoder = new Encoder({ pooled: true, extensionCodec: codec })
    codec.register({
      type: 9,
      encode: (value) => (value instanceof ExtendedPoint ? encoder.encode(value.x) : undefined),
      decode: () => 0,
    })
    const values = Array.from({ length: 400 }, (_, i) => ({
      i,
      text: 'ä'.repeat((i * 37) % 900),
      wide: Object.fromEntries(Array.from({ length: i % 20 }, (_, k) => [`k${k}`, 'x'.repeat(i)])),
    }))
    const results = values.map((value) => {
      expect(() => encoder.encode([value, () => 1])).toThrow(EncodeError)
      expect(toHex(encoder.encode(new ExtendedPoint(5, 6)))).toBe('d40905')
      return encoder.encode(value)
    })
    results.forEach((bytes, i) => expect(toHex(bytes)).toBe(toHex(encode(values[i]))))
    expect(decode(encoder.encode(new Array(200_000).fill(1)))).toHaveLength(200_000)
  })

  test('objects of 15, 16 and more keys in turn have the right heads', () => {
    const encoder = new Encoder({ initialBufferSize: 16 })
    for (const size of [15, 16, 15, 16, 16, 15, 0, 300, 17]) {
      const value = Object.fromEntries(Array.from({ length: size }, (_, i) => [`key${i}`, { nested: i }]))
      expect(decode(encoder.encode(value))).toEqual(value)
    }
  })
})

describe('extensions', () => {
  class Point {
    readonly x: number
    readonly y: number
    constructor(x: number, y: number) {
      this.x = x
      this.y = y
    }
  }
  const codec = new ExtensionCodec<{ scale: number } | undefined>()
  codec.register({
    type: 5,
    encode: (value, context) =>
      value instanceof Point ? encode([value.x * (context?.scale ?? 1), value.y]) : undefined,
    decode: (data, _type, context) => {
      const [x, y] = decode(data) as number[]
      return new Point(x / (context?.scale ?? 1), y)
    },
  })
  const options = { extensionCodec: codec, context: { scale: 2 } }

  test('go there and back, with their context, nested in each other and in maps', () => {
    const value = { a: new Point(1, 2), list: [new Point(3, 4), { b: new Point(5, 6) }], at: new Date(5) }
    const bytes = encode(value, options)
    expect(decode(bytes, options)).toEqual(value)
    expect(decode(bytes)).toMatchObject({ a: { type: 5, data: Uint8Array.of(0x92, 2, 2) } })
  })

  test('may use the very decoder that is decoding', () => {
    const nested = new ExtensionCodec()
    const decoder: Decoder = new Decoder({ extensionCodec: nested })
    const encoder: Encoder = new Encoder({ extensionCodec: nested })
    nested.register({
      type: 6,
      encode: (value) => (value instanceof Point ? encoder.encode({ x: value.x, y: value.y }) : undefined),
      decode: (data) => {
        const { x, y } = decoder.decode(data) as Point
        return new Point(x, y)
      },
    })
    const value = { first: new Point(1, 2), k: [new Point(3, 4)], last: 'x' }
    for (let round = 0; round < 30; round++) expect(decoder.decode(encoder.encode(value))).toEqual(value)
  })

  test('nobody registered are kept, and written again as they were', () => {
    const bytes = encode(new ExtData(-7, Uint8Array.of(1, 2, 3)))
    expect(decode(bytes)).toEqual(new ExtData(-7, Uint8Array.of(1, 2, 3)))
    expect(encode(decode(bytes))).toEqual(bytes)
  })

  test('may be told where they will lie', () => {
    const aligned = new ExtensionCodec()
    aligned.register({
      type: 1,
      encode: (value) => {
        if (!(value instanceof Float32Array)) return null
        return (offset) => {
          const padding = (4 - ((offset + 1) & 3)) & 3
          const bytes = new Uint8Array(1 + padding + value.byteLength)
          bytes[0] = padding
          bytes.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), 1 + padding)
          return bytes
        }
      },
      decode: (data) => new Float32Array(data.buffer, data.byteOffset + 1 + data[0], (data.length - 1 - data[0]) / 4),
    })
    const value = { a: 'x', floats: Float32Array.of(1, 2, 3) }
    expect(decode(encode(value, { extensionCodec: aligned }), { extensionCodec: aligned })).toEqual(value)
  })

  test.each([-129, 128, 1.5])('have no type %d', (type) => {
    expect(() => codec.register({ type, encode: () => undefined, decode: () => undefined })).toThrow(`type ${type}`)
  })
})

describe('timestamps', () => {
  test('keep their nanoseconds where someone wants them', () => {
    const spec = { sec: 1_700_000_000, nsec: 123_456_789 }
    expect(decodeTimestampToTimeSpec(encodeTimeSpecToTimestamp(spec))).toEqual(spec)
    const raw = new ExtensionCodec()
    raw.register({ type: EXT_TIMESTAMP, encode: () => undefined, decode: decodeTimestampToTimeSpec })
    expect(
      decode(encode(new ExtData(EXT_TIMESTAMP, encodeTimeSpecToTimestamp(spec))), { extensionCodec: raw }),
    ).toEqual(spec)
  })

  test.each([
    [{ sec: 0.5, nsec: 0 }],
    [{ sec: 0, nsec: -1 }],
    [{ sec: 0, nsec: 1_000_000_000 }],
    [{ sec: 2 ** 53, nsec: 0 }],
  ])('%j is refused', (spec) => {
    expect(() => encodeTimeSpecToTimestamp(spec)).toThrow(EncodeError)
  })

  test.each([0, 1, -1, 999, 1_000, -1_000, 4_294_967_295_999, 8.64e15, -8.64e15])(
    'of %d ms go there and back',
    (ms) => {
      expect(encodeDateToTimeSpec(new Date(ms)).sec).toBe(Math.floor(ms / 1_000))
      expect(decode(encode(new Date(ms)))).toEqual(new Date(ms))
    },
  )
})

describe('decode', () => {
  test('takes what holds bytes', () => {
    const bytes = Uint8Array.of(0, 0x91, 0xc4, 1, 9, 0)
    const expected = [Uint8Array.of(9)]
    for (const input of [
      bytes.subarray(1, 5),
      Buffer.from(bytes).subarray(1, 5),
      bytes.slice(1, 5).buffer,
      new DataView(bytes.buffer, 1, 4),
      [...bytes.subarray(1, 5)],
    ]) {
      const value = decode(input) as Uint8Array[]
      expect(value).toEqual(expected)
      expect(value[0].constructor).toBe(Uint8Array)
    }
  })

  test('gives strings as bytes on demand, keys excepted', () => {
    expect(decode(encode({ a: 'bc' }), { rawStrings: true })).toEqual({ a: Uint8Array.of(0x62, 0x63) })
  })

  test('takes keys as a converter makes them', () => {
    const value = new Map<unknown, unknown>([
      [true, 1],
      [null, 2],
      ['a', 3],
      [new Date(0), 4],
    ])
    expect(decode(encode(value), { mapKeyConverter: (key) => (key instanceof Date ? 'epoch' : String(key)) })).toEqual({
      true: 1,
      null: 2,
      a: 3,
      epoch: 4,
    })
  })

  test('takes numbers as keys', () => {
    expect(decode([0x82, 1, 2, 0xff, 3])).toEqual({ 1: 2, '-1': 3 })
  })

  test.each(['view', 'copy', 'auto'] as const)('gives binary values as %s', (binary) => {
    const input = encode([
      new Uint8Array(10).fill(1),
      new Uint8Array(1_000).fill(2),
      new ExtData(5, Uint8Array.of(3, 3, 3)),
    ])
    const [small, large, extension] = decode(input, { binary }) as [Uint8Array, Uint8Array, ExtData]
    expect([small.length, small[9], large.length, large[999]]).toEqual([10, 1, 1_000, 2])
    expect(extension.data).toEqual(Uint8Array.of(3, 3, 3))
    const sharing = [small, large].map(({ buffer }) => buffer === input.buffer)
    expect(sharing).toEqual({ view: [true, true], copy: [false, false], auto: [false, true] }[binary])
    input.fill(0)
    expect(small[0]).toBe(binary === 'view' ? 0 : 1)
  })

  test('tells where a value ends', () => {
    const decoder = new Decoder()
    expect(decoder.decodeAt([1, 0x91, 2, 3], 1)).toEqual({ value: [2], end: 3 })
  })

  test('gives many values lazily, with other calls between', () => {
    const decoder = new Decoder()
    const values = decoder.decodeMulti([1, 0x91, 2])
    expect(values.next().value).toBe(1)
    expect(decoder.decode([0xa1, 0x61])).toBe('a')
    expect([...values]).toEqual([[2]])
    expect([...decodeMulti([])]).toEqual([])
  })
})

class ExtendedPoint {
  readonly x: number
  readonly y: number
  constructor(x: number, y: number) {
    this.x = x
    this.y = y
  }
  get sum(): number {
    return this.x + this.y
  }
}

function cyclic(): unknown[] {
  const array: unknown[] = []
  array.push(array)
  return array
}
