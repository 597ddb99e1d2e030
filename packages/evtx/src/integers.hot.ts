/** Little-endian integers. Callers have checked that the bytes are there. */

export function u16(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8)
}

export function u32(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
}

/** Exact below 2^53; record numbers and offsets of real files are. */
export function u64(bytes: Uint8Array, at: number): number {
  return u32(bytes, at + 4) * 4_294_967_296 + u32(bytes, at)
}
