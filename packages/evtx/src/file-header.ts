/** The first 4 KiB of a file. What it says about the chunks is not relied on: it is written when the file is closed. */
import { crc32 } from '@prexy/bytes/crc32.hot'
import { u16, u32, u64 } from './integers.hot.ts'

export const FILE_HEADER_BYTES = 4_096
/** `ElfFile\0` */
const FILE_MAGIC: readonly number[] = [0x45, 0x6c, 0x66, 0x46, 0x69, 0x6c, 0x65, 0]
const USED_BYTES = 128

export interface FileHeader {
  readonly firstChunk: number
  readonly lastChunk: number
  readonly nextRecordId: number
  readonly majorVersion: number
  readonly minorVersion: number
  readonly chunkCount: number
  /** The log was not closed; the numbers above are old. */
  readonly isDirty: boolean
  /** The log has reached its largest size and is overwritten from its begin. */
  readonly isFull: boolean
  readonly checksum: number
  readonly isChecksumGood: boolean
}

/** Undefined when it does not begin as a file header does. `bytes` may go on after it. */
export function readFileHeader(bytes: Uint8Array): FileHeader | undefined {
  if (bytes.length < USED_BYTES || FILE_MAGIC.some((byte, i) => bytes[i] !== byte)) return undefined
  const flags = u32(bytes, 120)
  const checksum = u32(bytes, 124)
  return {
    firstChunk: u64(bytes, 8),
    lastChunk: u64(bytes, 16),
    nextRecordId: u64(bytes, 24),
    minorVersion: u16(bytes, 36),
    majorVersion: u16(bytes, 38),
    chunkCount: u16(bytes, 42),
    isDirty: (flags & 1) !== 0,
    isFull: (flags & 2) !== 0,
    checksum,
    isChecksumGood: checksum === crc32(bytes, 0, 120),
  }
}
