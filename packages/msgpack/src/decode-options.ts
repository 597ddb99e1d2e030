import type { ExtensionCodecType } from './extension.ts'
import type { KnownShape } from './shapes.hot.ts'

export interface DecoderOptions<Context = undefined> {
  /** Default: timestamps as `Date`, everything else as `ExtData`. */
  readonly extensionCodec?: ExtensionCodecType<Context>
  /** Handed to the extension codec. */
  readonly context?: Context
  /** All 64-bit integers as bigint, whatever their value. Default: false, see {@link unsafeIntegers}. */
  readonly useBigInt64?: boolean
  /**
   * A 64-bit integer beyond `Number.MAX_SAFE_INTEGER`: as a bigint (the default), as an error, or rounded to the nearest
   * number, as most decoders do without saying so. Others become numbers.
   */
  readonly unsafeIntegers?: 'bigint' | 'error' | 'round'
  /** A string, at any length and also a key, that is not UTF-8: U+FFFD for each malformed part (the default) or an error. */
  readonly invalidUtf8?: 'replace' | 'error'
  /** Strings that are values as `Uint8Array`, unchecked; keys stay strings. Default: false. */
  readonly rawStrings?: boolean
  /**
   * Binary values and `ExtData`: views on the input, which keep all of it alive, or copies, each with memory of its own.
   * Default: `auto`, a view if the value is a sixteenth of the input or more, otherwise a copy; small copies of one input
   * share buffers. An extension codec is always given a view.
   */
  readonly binary?: 'auto' | 'view' | 'copy'
  /** Bytes and elements; each defaults to 2^32 - 1, but never more than the input can hold. */
  readonly maxStrLength?: number
  readonly maxBinLength?: number
  readonly maxArrayLength?: number
  readonly maxMapLength?: number
  readonly maxExtLength?: number
  /** Levels of arrays and maps. Default: 512. At most 1,000, since decoding is recursive. */
  readonly maxDepth?: number
  /** The property for a key. Default: strings and numbers as they are, an error for anything else. */
  readonly mapKeyConverter?: (key: unknown) => string | number
  /** Shapes that the program knows, with an object literal for each: what comes often is built fastest. */
  readonly shapes?: readonly KnownShape[]
}

export interface StreamDecoderOptions<Context = undefined> extends DecoderOptions<Context> {
  /** Bytes of one value of a stream that are kept until it is complete. Default: 256 MiB. */
  readonly maxBufferedBytes?: number
}
