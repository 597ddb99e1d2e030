import type { EncoderOptions } from './encode-options.ts'
import { ValueWriter } from './encoder.hot.ts'

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

  /** The value's bytes, in an array of their own. Throws an `EncodeError`. */
  encode(value: unknown): Uint8Array<ArrayBuffer> {
    return this.#write(value).slice()
  }

  /** The value's bytes in the encoder's own buffer: valid until the next call, copy them to keep them. */
  encodeSharedRef(value: unknown): Uint8Array<ArrayBuffer> {
    return this.#write(value)
  }

  #write(value: unknown): Uint8Array<ArrayBuffer> {
    if (this.#entered) return new Encoder(this.#options).#write(value)
    const writer = this.#writer
    this.#entered = true
    try {
      writer.start()
      writer.writeValue(value, 1)
      return writer.bytes.subarray(0, writer.pos)
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
