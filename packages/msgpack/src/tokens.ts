/**
 * What the 256 head bytes of MessagePack say about the length of a value, as tables for code that steps over values
 * without making them.
 */

/** Bytes of the value's own token: head, payload and fixed lengths; 0 where a length follows the head, or for C1. */
export const TOKEN_BYTES: Uint8Array = new Uint8Array(256)

/** Values that follow as parts of a fixarray (n) or fixmap (2n). */
export const TOKEN_PARTS: Uint8Array = new Uint8Array(256)

for (let head = 0; head < 256; head++) {
  if (head < 0x80 || head >= 0xe0) TOKEN_BYTES[head] = 1
  else if (head < 0x90) {
    TOKEN_BYTES[head] = 1
    TOKEN_PARTS[head] = (head & 0x0f) * 2
  } else if (head < 0xa0) {
    TOKEN_BYTES[head] = 1
    TOKEN_PARTS[head] = head & 0x0f
  } else if (head < 0xc0) TOKEN_BYTES[head] = 1 + (head & 0x1f)
}
for (const head of [0xc0, 0xc2, 0xc3]) TOKEN_BYTES[head] = 1
for (const [head, payload] of [
  [0xca, 4],
  [0xcb, 8],
  [0xcc, 1],
  [0xcd, 2],
  [0xce, 4],
  [0xcf, 8],
  [0xd0, 1],
  [0xd1, 2],
  [0xd2, 4],
  [0xd3, 8],
  [0xd4, 2],
  [0xd5, 3],
  [0xd6, 5],
  [0xd7, 9],
  [0xd8, 17],
] as const) {
  TOKEN_BYTES[head] = 1 + payload
}
