/** One character for one byte (ISO 8859-1 without remapping): how bytes travel through text unchanged. */

/** A new array with one byte for each character; throws a RangeError for a character beyond U+00FF. */
export function encodeLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0xff) throw new RangeError(`character beyond U+00FF at index ${i}`)
    bytes[i] = unit
  }
  return bytes
}

/** Engines limit the number of arguments of one call. */
const SLICE_BYTES = 8192

/** The bytes `[start, end)` as text of the same length. */
export function decodeLatin1(bytes: Uint8Array, start: number = 0, end: number = bytes.length): string {
  let text = ''
  for (let at = start; at < end; at += SLICE_BYTES) {
    // PERF: without the iterator that spreading would go through, which costs five times as much.
    const slice: unknown = Reflect.apply(
      String.fromCharCode,
      undefined,
      bytes.subarray(at, Math.min(at + SLICE_BYTES, end)),
    )
    text += String(slice)
  }
  return text
}
