/** Texts as octets (one character from U+0000 to U+00FF for each), and octets as Base64. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

export function utf8Octets(text: string): string {
  let octets = ''
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    if (point < 0x80) octets += character
    else if (point < 0x800) octets += String.fromCharCode(0xc0 | (point >> 6), 0x80 | (point & 63))
    else if (point < 0x10000) {
      octets += String.fromCharCode(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63))
    } else {
      const [high, middle] = [0xf0 | (point >> 18), 0x80 | ((point >> 12) & 63)]
      octets += String.fromCharCode(high, middle, 0x80 | ((point >> 6) & 63), 0x80 | (point & 63))
    }
  }
  return octets
}

export function utf16Octets(text: string, order: 'le' | 'be'): string {
  let octets = ''
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    octets += order === 'le' ? String.fromCharCode(unit & 255, unit >> 8) : String.fromCharCode(unit >> 8, unit & 255)
  }
  return octets
}

export function base64Of(octets: string): string {
  let encoded = ''
  for (let at = 0; at < octets.length; at += 3) {
    const rest = octets.length - at
    const bits =
      (octets.charCodeAt(at) << 16) |
      ((rest > 1 ? octets.charCodeAt(at + 1) : 0) << 8) |
      (rest > 2 ? octets.charCodeAt(at + 2) : 0)
    encoded += ALPHABET[bits >> 18] + ALPHABET[(bits >> 12) & 63]
    encoded += (rest > 1 ? ALPHABET[(bits >> 6) & 63] : '=') + (rest > 2 ? ALPHABET[bits & 63] : '=')
  }
  return encoded
}

const OFFSET_STARTS = [0, 2, 3]
const OFFSET_ENDS = [0, 3, 2]

/** The part of the Base64 form that does not depend on what stands around, for each of the three places in a triple. */
export function base64Offsets(octets: string): readonly string[] {
  return OFFSET_STARTS.map((start, offset) => {
    const encoded = base64Of(' '.repeat(offset) + octets)
    return encoded.slice(start, encoded.length - OFFSET_ENDS[(octets.length + offset) % 3])
  })
}
