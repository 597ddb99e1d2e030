/** CRC-32 as in RFC 1952 §8, eight bytes a step. */

const TABLES = makeTables()

function makeTables(): Int32Array {
  const tables = new Int32Array(8 * 256)
  for (let i = 0; i < 256; i++) {
    let crc = i
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
    tables[i] = crc
  }
  for (let i = 256; i < tables.length; i++) {
    const crc = tables[i - 256]
    tables[i] = (crc >>> 8) ^ tables[crc & 255]
  }
  return tables
}

/** The checksum of `bytes` from `start` to `end`, going on from the checksum of what came before. */
export function crc32(bytes: Uint8Array, start: number, end: number, before = 0): number {
  const t = TABLES
  let crc = ~before
  let at = start
  for (const wide = end - 7; at < wide; at += 8) {
    crc ^= bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)
    crc =
      t[1792 + (crc & 255)] ^
      t[1536 + ((crc >>> 8) & 255)] ^
      t[1280 + ((crc >>> 16) & 255)] ^
      t[1024 + (crc >>> 24)] ^
      t[768 + bytes[at + 4]] ^
      t[512 + bytes[at + 5]] ^
      t[256 + bytes[at + 6]] ^
      t[bytes[at + 7]]
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]) & 255]
  return ~crc >>> 0
}
