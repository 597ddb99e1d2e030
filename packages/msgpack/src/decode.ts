/** Decoding of an input that is there as a whole. */
import { toBytes, type BytesLike } from './bytes-like.ts'
import type { DecoderOptions, StreamDecoderOptions } from './decode-options.ts'
import { decodeArrayStream, decodeAsync, decodeMultiStream, type StreamLike } from './decode-stream.ts'
import { NEVER_LAZY, ValueReader } from './decoder.hot.ts'
import { DecodeError } from './errors.ts'
import type { LazySource } from './lazy-value.ts'

/**
 * Decodes one value after another with the same options. May be entered again while it decodes, as by an extension, and
 * is as good as new after an error.
 */
export class Decoder<Context = undefined> {
  readonly #options: StreamDecoderOptions<Context>
  readonly #reader: ValueReader<Context>
  #entered = false

  constructor(options: StreamDecoderOptions<Context> = {}) {
    this.#options = options
    this.#reader = new ValueReader(options)
  }

  /** The value that the input consists of. Throws a {@link DecodeError}. */
  decode(input: BytesLike): unknown {
    if (this.#entered) return new Decoder(this.#options).decode(input)
    const reader = this.#reader
    this.#entered = true
    try {
      reader.setInput(toBytes(input), 0)
      const value = reader.readValue()
      if (reader.pos < reader.end) throw extraBytes(reader)
      return value
    } finally {
      reader.release()
      this.#entered = false
    }
  }

  /** The values that an input consists of, one after the other, each decoded when it is asked for. */
  *decodeMulti(input: BytesLike): Generator<unknown, void, undefined> {
    // The reader is this generator's own: another call may come between two values.
    const reader = new ValueReader(this.#options)
    reader.setInput(toBytes(input), 0)
    while (reader.pos < reader.end) yield reader.readValue()
  }

  /** See {@link decodeAsync}. */
  decodeAsync(stream: StreamLike<BytesLike>): Promise<unknown> {
    return decodeAsync(stream, this.#options)
  }

  /** See {@link decodeArrayStream}. */
  decodeArrayStream(stream: StreamLike<BytesLike>): AsyncGenerator<unknown, void, undefined> {
    return decodeArrayStream(stream, this.#options)
  }

  /** See {@link decodeMultiStream}. */
  decodeStream(stream: StreamLike<BytesLike>): AsyncGenerator<unknown, void, undefined> {
    return decodeMultiStream(stream, this.#options)
  }

  /**
   * The value at `offset` of an input that goes on after it, and where it ends.
   */
  decodeAt(input: BytesLike, offset: number): { readonly value: unknown; readonly end: number } {
    const reader = new ValueReader(this.#options)
    reader.setInput(toBytes(input), 0)
    reader.pos = offset
    return { value: reader.readValue(), end: reader.pos }
  }

  /**
   * The value that the input consists of, with arrays and maps that are `depth` levels inside others as
   * `LazyValue`s. Depth 0 makes the outermost lazy, depth 1 what its elements are.
   */
  decodeLazy(input: BytesLike, depth: number): unknown {
    const reader = new ValueReader(this.#options)
    const bytes = toBytes(input)
    reader.setInput(bytes, 0)
    reader.lazyDepth = depth
    reader.lazySource = lazySource(bytes, this.#options)
    const value = reader.readValue()
    if (reader.pos < reader.end) throw extraBytes(reader)
    return value
  }
}

function lazySource<Context>(bytes: Uint8Array, options: DecoderOptions<Context>): LazySource {
  const reader = new ValueReader(options)
  const source: LazySource = {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
    base: 0,
    read(start, deep) {
      reader.setInput(bytes, 0)
      reader.pos = start
      reader.lazyDepth = deep ? NEVER_LAZY : 0
      reader.lazySource = source
      return reader.readValue()
    },
  }
  return source
}

function extraBytes<Context>(reader: ValueReader<Context>): DecodeError {
  return new DecodeError('extra-bytes', `Extra ${reader.end - reader.pos} of ${reader.end} bytes found`, reader.pos)
}

const plainDecoder = new Decoder()

/** The value that the input consists of. Throws a {@link DecodeError} with the offset of what is wrong. */
export function decode<Context = undefined>(input: BytesLike, options?: DecoderOptions<Context>): unknown {
  return options === undefined ? plainDecoder.decode(input) : new Decoder(options).decode(input)
}

/** The values that the input consists of, one after the other, each decoded when it is asked for. */
export function decodeMulti<Context = undefined>(
  input: BytesLike,
  options?: DecoderOptions<Context>,
): Generator<unknown, void, undefined> {
  return (options === undefined ? plainDecoder : new Decoder(options)).decodeMulti(input)
}
