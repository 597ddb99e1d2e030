/** What can be decoded: bytes, a view on bytes, or numbers below 256. */
export type BytesLike = Uint8Array | ArrayBufferView | ArrayBufferLike | ArrayLike<number>

/** The same memory as plain `Uint8Array`, no `Buffer`, except for numbers, which are copied. */
export function toBytes(input: BytesLike): Uint8Array {
  if (input instanceof Uint8Array && input.constructor === Uint8Array) return input
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
  if ('byteLength' in input) return new Uint8Array(input)
  return Uint8Array.from(input)
}
