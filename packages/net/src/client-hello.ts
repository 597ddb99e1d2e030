/** The name that a client asks for, read from the first message of its TLS handshake (RFC 8446 §4.1.2, RFC 6066 §3). */

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEAD_BYTES = 5
const MESSAGE_HEAD_BYTES = 4
/** RFC 8446 §5.1. */
const MAX_RECORD_BYTES = 16_384
/** Longer ones are for the TLS library to refuse. */
const MAX_HELLO_BYTES = 65_536

/**
 * `more`: the message is not complete. Undefined where no name is asked for, and for octets that are no such message,
 * which are for the TLS library to refuse.
 */
export function serverNameOf(octets: Uint8Array): { readonly name: string | undefined } | 'more' {
  const hello = messageOf(octets)
  if (hello === 'more') return 'more'
  return { name: hello === undefined ? undefined : nameIn(hello) }
}

/** The message without the records that it came in. */
function messageOf(octets: Uint8Array): Uint8Array | 'more' | undefined {
  const pieces: Uint8Array[] = []
  let gathered = 0
  for (let at = 0; ; ) {
    if (octets.length > at && octets[at] !== HANDSHAKE_RECORD) return undefined
    if (octets.length < at + RECORD_HEAD_BYTES) return 'more'
    const length = uint(octets, at + 3, 2)
    if (length === 0 || length > MAX_RECORD_BYTES) return undefined
    const piece = octets.subarray(at + RECORD_HEAD_BYTES, at + RECORD_HEAD_BYTES + length)
    pieces.push(piece)
    gathered += piece.length
    const message = pieces.length === 1 ? piece : Buffer.concat(pieces)
    if (gathered > 0 && message[0] !== CLIENT_HELLO) return undefined
    if (gathered >= MESSAGE_HEAD_BYTES) {
      const total = MESSAGE_HEAD_BYTES + uint(message, 1, 3)
      if (total > MAX_HELLO_BYTES) return undefined
      if (gathered >= total) return message.subarray(MESSAGE_HEAD_BYTES, total)
    }
    if (piece.length < length) return 'more'
    at += RECORD_HEAD_BYTES + length
  }
}

/** After version and random come four vectors, the last of them that of the extensions. */
function nameIn(hello: Uint8Array): string | undefined {
  let at = 34
  at += 1 + uint(hello, at, 1)
  at += 2 + uint(hello, at, 2)
  at += 1 + uint(hello, at, 1)
  const end = Math.min(at + 2 + uint(hello, at, 2), hello.length)
  for (at += 2; at + 4 <= end; ) {
    const type = uint(hello, at, 2)
    const length = uint(hello, at + 2, 2)
    at += 4
    // The list has one entry, of the only kind there is: a host name of ASCII.
    if (type === 0 && at + length <= end && length >= 5 && hello[at + 2] === 0) {
      const bytes = uint(hello, at + 3, 2)
      return bytes > 0 && bytes <= length - 5
        ? Buffer.from(hello.subarray(at + 5, at + 5 + bytes)).toString('latin1')
        : undefined
    }
    at += length
  }
  return undefined
}

/** Big endian; octets beyond the end count as 0. */
function uint(octets: Uint8Array, at: number, bytes: number): number {
  let value = 0
  for (let i = 0; i < bytes; i++) value = value * 256 + (octets[at + i] ?? 0)
  return value
}
