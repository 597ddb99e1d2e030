/** Decoding of input that comes in chunks, cut anywhere. */
import { toBytes, type BytesLike } from './bytes-like.ts'
import type { StreamDecoderOptions } from './decode-options.ts'
import { ValueReader } from './decoder.hot.ts'
import { DecodeError } from './errors.ts'
import { ValueSplitter } from './value-splitter.ts'

/** A WHATWG stream, whether or not it can be iterated, or anything that can: a Node stream, a generator. */
export type StreamLike<T> = AsyncIterable<T> | ReadableStreamLike<T>

export interface ReadableStreamLike<T> {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: T | undefined }>
    cancel(reason?: unknown): Promise<void>
    releaseLock(): void
  }
}

/**
 * The one value that the stream consists of. Rejects with a {@link DecodeError} when the stream ends too early or goes on
 * after the value, and with the stream's own error when that fails. Chunks must not be changed once they were handed over.
 */
export async function decodeAsync<Context = undefined>(
  stream: StreamLike<BytesLike>,
  options: StreamDecoderOptions<Context> = {},
): Promise<unknown> {
  const reader = new ValueReader(options)
  const splitter = new ValueSplitter(options.maxBufferedBytes)
  let decoded: { readonly value: unknown; readonly end: number } | undefined
  for await (const chunk of iterate(stream)) {
    for (const { bytes, base } of splitter.push(toBytes(chunk))) {
      if (decoded !== undefined) throw extraBytes(decoded.end)
      reader.setInput(bytes, base)
      decoded = { value: reader.readValue(), end: base + reader.pos }
      if (reader.pos < reader.end) throw extraBytes(decoded.end)
    }
    if (decoded !== undefined && splitter.heldBytes > 0) throw extraBytes(decoded.end)
  }
  splitter.end()
  if (decoded === undefined) throw new DecodeError('truncated', 'Insufficient data: the stream is empty', 0)
  return decoded.value
}

/** The values that the stream consists of, one after the other. Rejects as {@link decodeAsync} does, after what came before. */
export async function* decodeMultiStream<Context = undefined>(
  stream: StreamLike<BytesLike>,
  options: StreamDecoderOptions<Context> = {},
): AsyncGenerator<unknown, void, undefined> {
  const reader = new ValueReader(options)
  const splitter = new ValueSplitter(options.maxBufferedBytes)
  for await (const chunk of iterate(stream)) {
    for (const { bytes, base } of splitter.push(toBytes(chunk))) {
      reader.setInput(bytes, base)
      while (reader.pos < reader.end) yield reader.readValue()
    }
  }
  splitter.end()
}

/**
 * The elements of the one array that the stream consists of, each as soon as it is complete, without keeping the others.
 * Rejects with a `wrong-type` error if the stream holds something else, and otherwise as {@link decodeAsync} does.
 */
export async function* decodeArrayStream<Context = undefined>(
  stream: StreamLike<BytesLike>,
  options: StreamDecoderOptions<Context> = {},
): AsyncGenerator<unknown, void, undefined> {
  const reader = new ValueReader(options)
  const header = new ArrayHeader()
  let splitter: ValueSplitter | undefined
  let left = 0
  for await (const chunk of iterate(stream)) {
    let bytes = toBytes(chunk)
    if (splitter === undefined) {
      bytes = bytes.subarray(header.take(bytes))
      if (header.count === undefined) continue
      if (header.count > reader.maxArrayLength) {
        throw reader.limit('array', header.count, 'maxArrayLength', reader.maxArrayLength, 0)
      }
      left = header.count
      splitter = new ValueSplitter(options.maxBufferedBytes, header.size)
    }
    for (const piece of splitter.push(bytes)) {
      reader.setInput(piece.bytes, piece.base)
      reader.depth = 1
      while (reader.pos < reader.end) {
        if (left === 0) throw extraBytes(piece.base + reader.pos)
        left--
        yield reader.readValue()
      }
    }
    if (left === 0 && splitter.heldBytes > 0) throw extraBytes(splitter.offset - splitter.heldBytes)
  }
  splitter?.end()
  if (splitter === undefined || left > 0) {
    const reason = `Insufficient data: ${left} more elements are claimed and the stream ended`
    throw new DecodeError('truncated', splitter === undefined ? 'Insufficient data: no array' : reason, header.size)
  }
}

/** The head of an array, of one, three or five bytes that may come one by one. */
class ArrayHeader {
  count: number | undefined = undefined
  readonly #bytes: number[] = []

  get size(): number {
    return this.#bytes.length
  }

  /** Takes what belongs to the head and returns how many bytes that was. */
  take(chunk: Uint8Array): number {
    let taken = 0
    while (this.count === undefined && taken < chunk.length) {
      this.#bytes.push(chunk[taken++])
      this.count = this.#read()
    }
    return taken
  }

  #read(): number | undefined {
    const [head, ...length] = this.#bytes
    if ((head & 0xf0) === 0x90) return head & 0x0f
    if (head !== 0xdc && head !== 0xdd) {
      const shown = head.toString(16).padStart(2, '0')
      throw new DecodeError('wrong-type', `Unrecognized array type byte: 0x${shown}`, 0)
    }
    if (length.length < (head === 0xdc ? 2 : 4)) return undefined
    return length.reduce((count, byte) => count * 256 + byte, 0)
  }
}

function extraBytes(offset: number): DecodeError {
  return new DecodeError('extra-bytes', 'Extra bytes found', offset)
}

function iterate<T>(stream: StreamLike<T>): AsyncIterable<T> {
  return isIterable(stream) ? stream : iterateReader(stream)
}

/** Browsers have streams that cannot be iterated. */
function isIterable<T>(stream: StreamLike<T>): stream is AsyncIterable<T> {
  return Symbol.asyncIterator in stream && typeof stream[Symbol.asyncIterator] === 'function'
}

async function* iterateReader<T>(stream: ReadableStreamLike<T>): AsyncGenerator<T, void, undefined> {
  const reader = stream.getReader()
  let isDone = false
  try {
    while (!isDone) {
      const { done, value } = await reader.read()
      isDone = done
      if (!done && value !== undefined) yield value
    }
  } finally {
    // Whoever stops early wants no more of the stream.
    if (!isDone) await reader.cancel()
    reader.releaseLock()
  }
}
