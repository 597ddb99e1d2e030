/**
 * UTF-8 (RFC 3629) without the runtime's TextEncoder and TextDecoder, which this layer does not have, and with what
 * they do not offer: stepping over single sequences of a body that may be cut or malformed anywhere.
 */

/** {@link stepUtf8}: the bytes at hand begin a well-formed sequence whose end is not among them. */
export const UTF8_INCOMPLETE = -1

/** {@link stepUtf8}: the byte begins no well-formed sequence. */
export const UTF8_MALFORMED = 0

/**
 * Length (1 to 4) of the well-formed sequence that begins at `at`, {@link UTF8_MALFORMED}, or
 * {@link UTF8_INCOMPLETE} when `end` comes too early to tell. Requires `at < end <= bytes.length`.
 *
 * Overlong forms, surrogates and what lies beyond U+10FFFF are malformed from the first byte that shows it, so a
 * prefix is incomplete only if some continuation makes it well-formed (RFC 3629 §4).
 */
export function stepUtf8(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]
  if (lead < 0x80) return 1
  if (lead < 0xc2 || lead > 0xf4) return UTF8_MALFORMED
  if (at + 1 >= end) return UTF8_INCOMPLETE
  const second = bytes[at + 1]
  if (lead < 0xe0) return isTrail(second) ? 2 : UTF8_MALFORMED
  if (!isSecondByteOf(lead, second)) return UTF8_MALFORMED
  if (at + 2 >= end) return UTF8_INCOMPLETE
  if (!isTrail(bytes[at + 2])) return UTF8_MALFORMED
  if (lead < 0xf0) return 3
  if (at + 3 >= end) return UTF8_INCOMPLETE
  return isTrail(bytes[at + 3]) ? 4 : UTF8_MALFORMED
}

function isTrail(byte: number): boolean {
  return (byte & 0xc0) === 0x80
}

/** `lead` is E0 to F4. */
function isSecondByteOf(lead: number, second: number): boolean {
  if (lead === 0xe0) return second >= 0xa0 && second <= 0xbf
  if (lead === 0xed) return second >= 0x80 && second <= 0x9f
  if (lead === 0xf0) return second >= 0x90 && second <= 0xbf
  if (lead === 0xf4) return second >= 0x80 && second <= 0x8f
  return isTrail(second)
}

/** Writes the 1 to 4 bytes of a Unicode scalar value at `at` and returns the offset after them. */
export function writeCodePoint(target: Uint8Array, at: number, point: number): number {
  let next = at
  if (point < 0x80) {
    target[next++] = point
    return next
  }
  if (point < 0x800) target[next++] = 0xc0 | (point >> 6)
  else {
    if (point < 0x10000) target[next++] = 0xe0 | (point >> 12)
    else {
      target[next++] = 0xf0 | (point >> 18)
      target[next++] = 0x80 | ((point >> 12) & 0x3f)
    }
    target[next++] = 0x80 | ((point >> 6) & 0x3f)
  }
  target[next++] = 0x80 | (point & 0x3f)
  return next
}

/** Number of bytes of a Unicode scalar value. */
export function codePointBytes(point: number): number {
  if (point < 0x80) return 1
  if (point < 0x800) return 2
  return point < 0x10000 ? 3 : 4
}

/**
 * The bytes of `text`, in a new array. Throws a RangeError for a surrogate without a partner: it has no encoding, and
 * replacing it would change text that nobody asked to change.
 */
export function encodeUtf8(text: string): Uint8Array {
  const scratch = new Uint8Array(text.length * 3)
  let size = 0
  for (let i = 0; i < text.length; i++) {
    let point = text.charCodeAt(i)
    if (point >= 0xd800 && point <= 0xdfff) {
      const low = i + 1 < text.length ? text.charCodeAt(i + 1) : 0
      if (point >= 0xdc00 || low < 0xdc00 || low > 0xdfff) {
        throw new RangeError(`surrogate without a partner at index ${i}`)
      }
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00)
      i++
    }
    size = writeCodePoint(scratch, size, point)
  }
  return scratch.slice(0, size)
}

/**
 * The text of `bytes[start, end)`, for people to read and never for a body: each maximal malformed part becomes one
 * U+FFFD, as the Encoding Standard has it, and a byte order mark is kept.
 */
export function decodeUtf8(bytes: Uint8Array, start: number = 0, end: number = bytes.length): string {
  let text = ''
  let units: number[] = []
  for (let at = start; at < end; ) {
    const length = stepUtf8(bytes, at, end)
    if (length > 0) {
      pushUtf16(units, codePointAt(bytes, at, length))
      at += length
    } else {
      units.push(0xfffd)
      at += malformedLength(bytes, at, end)
    }
    if (units.length > 4096) {
      text += String.fromCharCode(...units)
      units = []
    }
  }
  return text + String.fromCharCode(...units)
}

/** Code point of the well-formed sequence of `length` bytes at `at`, as {@link stepUtf8} measured it. */
export function codePointAt(bytes: Uint8Array, at: number, length: number): number {
  const lead = bytes[at]
  if (length === 1) return lead
  if (length === 2) return ((lead & 0x1f) << 6) | (bytes[at + 1] & 0x3f)
  const tail = ((bytes[at + length - 2] & 0x3f) << 6) | (bytes[at + length - 1] & 0x3f)
  if (length === 3) return ((lead & 0x0f) << 12) | tail
  return ((lead & 0x07) << 18) | ((bytes[at + 1] & 0x3f) << 12) | tail
}

function pushUtf16(units: number[], point: number): void {
  if (point < 0x10000) units.push(point)
  else units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff))
}

/** The longest prefix that could have begun a sequence, at least one byte. */
function malformedLength(bytes: Uint8Array, at: number, end: number): number {
  let length = 1
  while (at + length < end && stepUtf8(bytes, at, at + length + 1) === UTF8_INCOMPLETE) length++
  if (at + length === end) return length
  return stepUtf8(bytes, at, at + length) === UTF8_INCOMPLETE ? length : 1
}
