import { decode } from '@prexy/msgpack/decode'
import { decodeArrayStream, decodeAsync, decodeMultiStream } from '@prexy/msgpack/decode-stream'
import { encode } from '@prexy/msgpack/encode'
import { DecodeError } from '@prexy/msgpack/errors'
import { describe, expect, test } from 'vitest'
import { fromHex } from './format-table.ts'

const VALUE = {
  id: 70_000,
  text: 'Grüße, 漢字 😀'.repeat(3),
  long: 'x'.repeat(300),
  bytes: new Uint8Array(40).fill(9),
  time: new Date(1_700_000_000_123),
  list: [1, -1, 0.5, null, [true, [false]], 2 ** 40, 'a'],
  map: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`key-${i}`, { i }])),
  many: new Array(70).fill(3),
}
const BYTES = encode(VALUE)
const ARRAY = [VALUE, 1, 'two', [3], null]

describe('cut in two at every byte', () => {
  test('a value is read as a whole is', async () => {
    for (const chunks of cutsInTwo(BYTES)) expect(await decodeAsync(stream(chunks))).toEqual(VALUE)
  })

  test('an array gives its elements', async () => {
    const bytes = encode(ARRAY)
    for (const chunks of cutsInTwo(bytes)) expect(await all(decodeArrayStream(stream(chunks)))).toEqual(ARRAY)
  })

  test('values one after the other come one after the other', async () => {
    const bytes = Buffer.concat([encode(VALUE), encode('x'), encode([]), encode(VALUE)])
    for (const chunks of cutsInTwo(bytes)) {
      expect(await all(decodeMultiStream(stream(chunks)))).toEqual([VALUE, 'x', [], VALUE])
    }
  })

  test('whatever is missing at the end is told', async () => {
    for (let end = 0; end < BYTES.length; end++) {
      await expect(decodeAsync(stream([BYTES.subarray(0, end)]))).rejects.toThrow(/Insufficient data/)
    }
  })
})

test('single bytes are enough', async () => {
  const chunks = Array.from({ length: BYTES.length }, (_, at) => BYTES.subarray(at, at + 1))
  expect(await decodeAsync(stream(chunks))).toEqual(VALUE)
  const bytes = encode(ARRAY)
  expect(await all(decodeArrayStream(stream(Array.from(bytes, (byte) => [byte]))))).toEqual(ARRAY)
})

test.each(['91', 'dc0001', 'dd00000001'])('an array with the head %s is read byte by byte', async (head) => {
  const bytes = fromHex(`${head}07`)
  expect(await all(decodeArrayStream(stream(Array.from(bytes, (byte) => [byte]))))).toEqual([7])
})

describe('a stream that ends too early', () => {
  test('gives what was whole, then an error', async () => {
    const seen: unknown[] = []
    const bytes = fromHex('01a16192')
    await expect(collect(decodeMultiStream(stream([bytes])), seen)).rejects.toThrow(
      'Insufficient data: the stream ended after 1 bytes of the value that begins at byte 3',
    )
    expect(seen).toEqual([1, 'a'])
  })

  test('in an array, between two elements', async () => {
    const seen: unknown[] = []
    await expect(collect(decodeArrayStream(stream([fromHex('930102')])), seen)).rejects.toThrow(
      'Insufficient data: 1 more elements are claimed and the stream ended at byte 1',
    )
    expect(seen).toEqual([1, 2])
  })

  test.each([[[]], [[new Uint8Array(0)]], [[fromHex('dc00')]]])('before an array has begun: %j', async (chunks) => {
    await expect(all(decodeArrayStream(stream(chunks)))).rejects.toThrow('Insufficient data')
  })
})

describe('a stream that goes on', () => {
  test.each(['9000', '90a5', '9091'])('after its value is an error: %s', async (hex) => {
    for (const chunks of [[fromHex(hex)], Array.from(fromHex(hex), (byte) => Uint8Array.of(byte))]) {
      await expect(decodeAsync(stream(chunks))).rejects.toThrow('Extra bytes found at byte 1')
      await expect(all(decodeArrayStream(stream(chunks)))).rejects.toThrow('Extra bytes found at byte 1')
    }
  })
})

test('an array stream of something else says so', async () => {
  await expect(all(decodeArrayStream(stream([[0x81, 1, 1]])))).rejects.toThrow(
    'Unrecognized array type byte: 0x81 at byte 0',
  )
})

test('a reserved byte comes after the values before it, with its place in the stream', async () => {
  const seen: unknown[] = []
  const error = await collect(decodeMultiStream(stream([[1, 2], [3, 0x92, 4], [0xc1]])), seen).catch((e: unknown) => e)
  expect(seen).toEqual([1, 2, 3])
  expect(error).toMatchObject({ code: 'reserved-byte', offset: 5 })
})

test('errors inside a value have their place in the stream', async () => {
  const error = await all(
    decodeMultiStream(
      stream([
        [1, 2, 0x81],
        [0xc0, 3],
      ]),
    ),
  ).catch((e: unknown) => e)
  expect(error).toMatchObject({ code: 'map-key', offset: 3 })
})

test('a failing stream fails with its own error', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield BYTES.subarray(0, 10)
    throw new Error('cable pulled')
  }
  await expect(decodeAsync(failing())).rejects.toThrow('cable pulled')
})

test('a value that is larger than allowed is not kept', async () => {
  const chunks = Array.from({ length: 100 }, () => new Uint8Array(100))
  chunks.unshift(Uint8Array.from(fromHex('c6ffffffff')))
  let taken = 0
  async function* counting(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      taken++
      yield chunk
    }
  }
  await expect(decodeAsync(counting(), { maxBufferedBytes: 1_000 })).rejects.toThrow(
    'a value of more than 1000 bytes (maxBufferedBytes) at byte 0',
  )
  expect(taken).toBeLessThan(15)
})

test('a long binary in small chunks costs time in proportion', async () => {
  const bytes = encode(new Uint8Array(4_000_000))
  const started = performance.now()
  const chunks = Array.from({ length: Math.ceil(bytes.length / 1_000) }, (_, i) =>
    bytes.subarray(i * 1_000, (i + 1) * 1_000),
  )
  const value = await decodeAsync(stream(chunks))
  expect((value as Uint8Array).length).toBe(4_000_000)
  // Joining what is there with each chunk would copy 8 GB.
  expect(performance.now() - started).toBeLessThan(3_000)
})

test('a stream of the browser that cannot be iterated is read by its reader, and cancelled by who stops', async () => {
  let isCancelled = false
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.enqueue(Uint8Array.of(7)),
    cancel: () => {
      isCancelled = true
    },
  })
  const seen: unknown[] = []
  for await (const value of decodeMultiStream({ getReader: () => source.getReader() })) {
    seen.push(value)
    if (seen.length === 3) break
  }
  expect(seen).toEqual([7, 7, 7])
  expect(isCancelled).toBe(true)
})

test('options hold for streams', async () => {
  expect(await decodeAsync(stream([[0xcf, 0, 0, 0, 0, 0, 0, 0, 5]]), { useBigInt64: true })).toBe(5n)
  await expect(all(decodeArrayStream(stream([[0x92, 1, 2]]), { maxArrayLength: 1 }))).rejects.toThrow('maxArrayLength')
  await expect(all(decodeArrayStream(stream([[0x91, 0x91, 0x90]]), { maxDepth: 2 }))).rejects.toThrow('maxDepth')
  expect(() => decode([0x91, 0x91, 0x90], { maxDepth: 2 })).toThrow(DecodeError)
})

function* cutsInTwo(bytes: Uint8Array): Generator<Uint8Array[]> {
  for (let at = 0; at <= bytes.length; at++) yield [bytes.slice(0, at), bytes.slice(at)]
}

async function* stream<T>(chunks: Iterable<T>): AsyncGenerator<T> {
  yield* chunks
}

async function all(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = []
  await collect(values, seen)
  return seen
}

async function collect(values: AsyncIterable<unknown>, into: unknown[]): Promise<void> {
  for await (const value of values) into.push(value)
}
