/** What makes an input undecodable. */
export type DecodeErrorCode =
  /** The input ends inside a value, or a length or count claims more than there is. */
  | 'truncated'
  /** The input holds more than the one value that was asked for. */
  | 'extra-bytes'
  /** C1, the one byte that begins no value. */
  | 'reserved-byte'
  /** Arrays, maps and extensions nested deeper than `maxDepth`. */
  | 'too-deep'
  /** A length or count above one of the decoder's `max...` options. */
  | 'limit'
  /** A string that is not UTF-8, where `invalidUtf8` is `error`. */
  | 'invalid-utf8'
  /** A 64-bit integer that a number cannot hold, where `unsafeIntegers` is `error`. */
  | 'unsafe-integer'
  /** A map key that is neither a string nor a number and that no converter took. */
  | 'map-key'
  /** An extension whose payload has a form that its type does not allow. */
  | 'extension'
  /** `decodeArrayStream` was given something that is no array, or a column something that does not fit it. */
  | 'wrong-type'

/**
 * The input is no valid MessagePack, or more than the decoder was allowed to take. A RangeError too, because that is what
 * users of @msgpack/msgpack catch for input that is too short or too long.
 */
export class DecodeError extends RangeError {
  override readonly name: string = 'DecodeError'
  readonly code: DecodeErrorCode
  /** Where the offending value begins, in bytes from the begin of the input, of a stream from its first byte. */
  readonly offset: number

  constructor(code: DecodeErrorCode, reason: string, offset: number) {
    super(`${reason} at byte ${offset}`)
    this.code = code
    this.offset = offset
  }
}

/** A value that MessagePack or the encoder's options have no form for. */
export class EncodeError extends Error {
  override readonly name: string = 'EncodeError'
}
