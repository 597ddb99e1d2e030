import { Decoder } from '@prexy/msgpack/decode'
import { encode } from '@prexy/msgpack/encode'
import { LazyValue } from '@prexy/msgpack/lazy-value'
import { describe, expect, test } from 'vitest'
import { fromHex } from './format-table.ts'

const EVENT = {
  id: 7,
  kind: 'exchange',
  payload: { status: 200, host: 'shop.example', timings: { end: 5 }, hits: [1, [2], { a: 3 }] },
}
const decoder = new Decoder()

test('at depth 1 the outermost is there and what lies in it is lazy', () => {
  const event = decoder.decodeLazy(encode(EVENT), 1) as Record<string, unknown>
  expect(event.id).toBe(7)
  expect(event.payload).toBeInstanceOf(LazyValue)
  expect((event.payload as LazyValue).decode()).toEqual(EVENT.payload)
  expect(JSON.stringify(event)).toBe(JSON.stringify(EVENT))
})

test('at depth 0 everything is lazy, but for what has no parts', () => {
  expect(lazy(EVENT).decode()).toEqual(EVENT)
  expect(decoder.decodeLazy(encode('text'), 0)).toBe('text')
})

describe('a map', () => {
  const payload = lazy(EVENT.payload)

  test('says what it is', () => {
    expect([payload.kind, payload.length]).toEqual(['map', 4])
    expect(payload.encoded()).toEqual(encode(EVENT.payload))
  })

  test('gives single values, nested ones lazily', () => {
    expect(payload.get('status')).toBe(200)
    expect(payload.get('host')).toBe('shop.example')
    const timings = payload.get('timings')
    expect(timings).toBeInstanceOf(LazyValue)
    expect((timings as LazyValue).get('end')).toBe(5)
    expect(payload.get('nothing')).toBeUndefined()
    expect(payload.get('stat')).toBeUndefined()
    expect(payload.at(0)).toBeUndefined()
  })

  test('gives its pairs in order', () => {
    expect(
      [...payload.entries()].map(([key, value]) => [key, value instanceof LazyValue ? value.decode() : value]),
    ).toEqual(Object.entries(EVENT.payload))
  })

  test('gives the last of equal keys, as decoding does', () => {
    const map = decoder.decodeLazy(fromHex('83a16101a16202a16103'), 0) as LazyValue
    expect(map.get('a')).toBe(3)
    expect(map.decode()).toEqual({ a: 3, b: 2 })
  })
})

describe('an array', () => {
  const hits = lazy(EVENT.payload.hits)

  test('gives elements', () => {
    expect([hits.kind, hits.length]).toEqual(['array', 3])
    expect(hits.at(0)).toBe(1)
    expect((hits.at(2) as LazyValue).get('a')).toBe(3)
    expect([hits.at(3), hits.at(-1), hits.at(0.5), hits.get('0')]).toEqual([undefined, undefined, undefined, undefined])
    expect([...hits.entries()].map(([key]) => key)).toEqual([0, 1, 2])
  })

  test.each([15, 16, 65_536])('of %d elements knows its length', (length) => {
    const array = lazy(new Array(length).fill(1))
    expect([array.length, array.at(length - 1)]).toEqual([length, 1])
  })
})

test('input that is cut, or has a reserved byte, is refused before anyone looks', () => {
  const bytes = encode(EVENT)
  for (let end = 0; end < bytes.length; end++)
    expect(() => decoder.decodeLazy(bytes.subarray(0, end), 1)).toThrow('Insufficient')
  expect(() => decoder.decodeLazy(fromHex('919101c1'.replace('9101', '9201')), 1)).toThrow('0xc1 at byte 3')
  expect(() => decoder.decodeLazy(fromHex('918000'), 1)).toThrow('Extra 1 of 3 bytes')
})

test('what is wrong inside is told when someone looks, with its place in the input', () => {
  const event = decoder.decodeLazy(fromHex('9181c001'), 1) as LazyValue[]
  expect(() => event[0].decode()).toThrow('The type of key must be string or number but it is nil at byte 2')
})

test('nesting of any depth is stepped over, and refused when decoded', () => {
  const input = new Uint8Array(100_001).fill(0x91, 0, 100_000)
  const [inner] = decoder.decodeLazy(input, 1) as LazyValue[]
  expect(inner.length).toBe(1)
  expect(() => inner.decode()).toThrow('maxDepth')
})

function lazy(value: unknown): LazyValue {
  return decoder.decodeLazy(encode(value), 0) as LazyValue
}
