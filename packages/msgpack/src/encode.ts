import type { EncoderOptions } from './encode-options.ts'
import { ValueWriter } from './encoder.hot.ts'

/** Results of a pooled encoder share buffers of this size; a new one is begun when less than the least is left. */
const POOL_BYTES = 64 * 1024
const MIN_POOL_BYTES = 4_096
/** A buffer that grew beyond this is not kept for the next value. */
const MAX_KEPT_BYTES = 1024 * 1024

/**
 * Encodes one value after another with the same options. May be entered again while it encodes, as by an extension, and
 * is as good as new after an error.
 */
export class Encoder<Context = undefined> {
  readonly #options: EncoderOptions<Context>
  #writer: ValueWriter<Context>
  #entered = false

  constructor(options: EncoderOptions<Context> = {}) {
    this.#options = options
    this.#writer = new ValueWriter(options)
  }

  /**
   * The value's bytes, in memory of their own, or with `pooled` in memory that they share with other results. Throws an
   * `EncodeError`.
   */
  encode(value: unknown): Uint8Array<ArrayBuffer> {
    if (this.#entered) return new Encoder({ ...this.#options, pooled: false }).encode(value)
    const { bytes, first, pos } = this.#write(value)
    return this.#options.pooled === true ? bytes.subarray(first, pos) : bytes.slice(first, pos)
  }

  /** The value's bytes in the encoder's own buffer: valid until the next call, copy them to keep them. */
  encodeSharedRef(value: unknown): Uint8Array<ArrayBuffer> {
    if (this.#entered) return new Encoder({ ...this.#options, pooled: false }).encode(value)
    const { bytes, first, pos } = this.#write(value)
    return bytes.subarray(first, pos)
  }

  /** After the last result, or at the begin of a new buffer. */
  #nextInPool(): number {
    if (this.#writer.bytes.length - this.#writer.pos < MIN_POOL_BYTES) this.#writer.renew(POOL_BYTES)
    return this.#writer.pos
  }

  /** The writer with the value between its `first` and `pos`. */
  #write(value: unknown): ValueWriter<Context> {
    const first = this.#options.pooled === true ? this.#nextInPool() : 0
    const writer = this.#writer
    this.#entered = true
    try {
      writer.start(first)
      writer.writeValue(value, 1)
      return writer
    } finally {
      if (writer.bytes.length > MAX_KEPT_BYTES) this.#writer = new ValueWriter(this.#options)
      this.#entered = false
    }
  }
}

const plainEncoder = new Encoder()

/** The bytes of a value. Throws an `EncodeError` for one that has none. */
export function encode<Context = undefined>(
  value: unknown,
  options?: EncoderOptions<Context>,
): Uint8Array<ArrayBuffer> {
  return (options === undefined ? plainEncoder : new Encoder(options)).encode(value)
}
