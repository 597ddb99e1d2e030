import type { ExtensionCodecType } from './extension.ts'

export interface EncoderOptions<Context = undefined> {
  /** Default: `Date` as timestamp, `ExtData` as what it says. */
  readonly extensionCodec?: ExtensionCodecType<Context>
  /** Handed to the extension codec. */
  readonly context?: Context
  /**
   * 64-bit integers stand for bigints only: numbers beyond 32 bits are written as 64-bit floats, so that with the decoder's
   * option of the same name each comes back as what it was. Default: false.
   */
  readonly useBigInt64?: boolean
  /** Levels of arrays, maps and objects. Default: 100. At most 1,000, since encoding is recursive. */
  readonly maxDepth?: number
  /** Bytes of the buffer that is written to, which grows as needed. Default: 2,048. */
  readonly initialBufferSize?: number
  /**
   * Results of `Encoder.encode` are views on buffers of 64 KB that they share, as those of Node's `Buffer.from` are: faster
   * for small values, but each keeps its whole buffer alive, and `.buffer` has others' bytes in it and must not be
   * transferred. Default: false, each has memory of its own.
   */
  readonly pooled?: boolean
  /** Keys of objects in the order of their UTF-16 units, so that equal objects have equal bytes. Default: false. */
  readonly sortKeys?: boolean
  /** Numbers that are no integers as 32-bit floats, which rounds them. Default: false. */
  readonly forceFloat32?: boolean
  /** Integers as floats. Default: false. Bigints are not affected. */
  readonly forceIntegerToFloat?: boolean
  /** Properties that are `undefined` are left out; elsewhere it is nil, as it is without this option. Default: false. */
  readonly ignoreUndefined?: boolean
}
