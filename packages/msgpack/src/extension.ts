/** Extension types: what an application's own values become on the wire and back. */
import { decodeTimestampExtension, encodeTimestampExtension, EXT_TIMESTAMP } from './timestamp.ts'

/** An extension nobody registered a decoder for: kept as it is, and encoded to the same bytes again. */
export class ExtData {
  /** -128 to 127; below 0 is reserved for the specification. */
  readonly type: number
  /** From a decoder always bytes; see {@link ExtensionEncoder} for the function. */
  readonly data: ExtensionPayload

  constructor(type: number, data: ExtensionPayload) {
    this.type = type
    this.data = data
  }
}

/**
 * The payload for a value of this type; undefined or null if it is of another. A function is given the payload's place in
 * the encoded bytes, so that it can pad what must lie at a multiple of its size.
 */
export type ExtensionEncoder<Context> = (value: unknown, context: Context) => ExtensionPayload | null | undefined
export type ExtensionPayload = Uint8Array | ((offset: number) => Uint8Array)
/** `data` is a view on the input: copy it to keep it without the input. */
export type ExtensionDecoder<Context> = (data: Uint8Array, type: number, context: Context) => unknown

/** What an encoder and a decoder ask of a codec. */
export interface ExtensionCodecType<Context> {
  /** The extension that stands for the value; undefined if none does. Asked for every object and array. */
  tryToEncode(value: unknown, context: Context): ExtData | null | undefined
  /** The value that an extension stands for. */
  decode(data: Uint8Array, type: number, context: Context): unknown
}

/**
 * A table of extension types, each with its encoder and decoder. Timestamps (type -1, as `Date`) are registered from the
 * begin and may be replaced. Types are asked in the order in which they were registered.
 */
export class ExtensionCodec<Context = undefined> implements ExtensionCodecType<Context> {
  /** Timestamps only. Not to be registered with: it belongs to everyone. */
  static readonly defaultCodec: ExtensionCodecType<unknown> = new ExtensionCodec<unknown>()

  readonly #decoders = new Map<number, ExtensionDecoder<Context>>()
  readonly #encoders = new Map<number, ExtensionEncoder<Context>>()

  constructor() {
    this.register({ type: EXT_TIMESTAMP, encode: encodeTimestampExtension, decode: decodeTimestampExtension })
  }

  /** Throws a RangeError unless `type` is an integer of one byte. */
  register(extension: {
    readonly type: number
    readonly encode: ExtensionEncoder<Context>
    readonly decode: ExtensionDecoder<Context>
  }): void {
    const { type, encode, decode } = extension
    if (!Number.isInteger(type) || type < -128 || type > 127) throw new RangeError(`no extension has the type ${type}`)
    this.#decoders.set(type, decode)
    this.#encoders.set(type, encode)
  }

  tryToEncode(value: unknown, context: Context): ExtData | undefined {
    for (const [type, encode] of this.#encoders) {
      const data = encode(value, context)
      if (data !== undefined && data !== null) return new ExtData(type, data)
    }
    return value instanceof ExtData ? value : undefined
  }

  decode(data: Uint8Array, type: number, context: Context): unknown {
    const decode = this.#decoders.get(type)
    return decode === undefined ? new ExtData(type, data) : decode(data, type, context)
  }
}
