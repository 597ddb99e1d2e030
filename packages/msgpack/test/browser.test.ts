/** What a browser has: no Buffer, so that texts go through TextDecoder and TextEncoder. The bytes and values are the same. */
import type { decode as nodeDecode } from '@prexy/msgpack/decode'
import { encode as nodeEncode } from '@prexy/msgpack/encode'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

let decode: typeof nodeDecode
let encode: typeof nodeEncode

beforeAll(async () => {
  vi.resetModules()
  vi.stubGlobal('Buffer', undefined)
  ;({ decode } = await import('@prexy/msgpack/decode'))
  ;({ encode } = await import('@prexy/msgpack/encode'))
  vi.unstubAllGlobals()
})

afterAll(() => {
  vi.resetModules()
})

test('texts of every length and kind are the same as with Buffer', () => {
  expect(encode).not.toBe(nodeEncode)
  for (const unit of ['a', 'ä', '€', '😀', '\ufeff', '\ud800']) {
    for (let length = 0; length < 140; length++) {
      const text = unit.repeat(length)
      const bytes = encode([text])
      expect(bytes).toEqual(nodeEncode([text]))
      const expected = unit === '\ud800' ? '\ufffd'.repeat(length) : text
      if (JSON.stringify(decode(bytes)) !== JSON.stringify([expected])) throw new Error(`${unit} ${length}`)
    }
  }
})

test('malformed text reads the same', () => {
  for (const length of [0, 5, 16, 17, 129, 3_000]) {
    for (const part of [[0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0x80], [0xff], [0xef, 0xbb, 0xbf]]) {
      const payload = Uint8Array.from([...new Array<number>(length).fill(0x61), ...part])
      const head = [0xda, payload.length >> 8, payload.length & 0xff]
      const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(payload)
      expect(decode([...head, ...payload])).toBe(expected)
    }
  }
})

test('a stand-in for Buffer that is not the runtime’s own is not taken', async () => {
  vi.resetModules()
  class Buffer extends Uint8Array {
    utf8Slice(): string {
      throw new Error('asked')
    }
    utf8Write(): number {
      throw new Error('asked')
    }
  }
  vi.stubGlobal('Buffer', Buffer)
  const fresh = await import('@prexy/msgpack/decode')
  const writer = await import('@prexy/msgpack/encode')
  vi.unstubAllGlobals()
  const text = 'long enough for the runtime to decode and encode it'
  expect(fresh.decode(writer.encode(text))).toBe(text)
})
