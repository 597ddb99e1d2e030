/** One chunk: 64 KiB that refer to nothing outside of themselves. */
import { NAME_HEAD_BYTES, type NameSource } from './binxml.ts'
import { crc32 } from '@prexy/bytes/crc32.hot'
import { u16, u32, u64 } from './integers.hot.ts'
import type { EvtxLimits } from './limits.ts'
import type { Template } from './nodes.ts'
import { ContentFault } from './problems.ts'
import { DEFINITION_HEAD_BYTES, type TemplateStore } from './template-store.ts'

export const CHUNK_BYTES = 65_536
export const CHUNK_HEADER_BYTES = 512
/** `ElfChnk\0` */
export const CHUNK_MAGIC: readonly number[] = [0x45, 0x6c, 0x66, 0x43, 0x68, 0x6e, 0x6b, 0]
/** Set by writers that leave checksums out. */
const NO_CHECKSUMS_FLAG = 4
const NAME_HASH_FACTOR = 65_599
/** Longer names than any that Windows gives; stops a file from making names out of everything. */
const MAX_NAME_CHARS = 1_024

export interface ChunkHeader {
  readonly firstRecordNumber: number
  readonly lastRecordNumber: number
  readonly firstRecordId: number
  readonly lastRecordId: number
  readonly lastRecordOffset: number
  readonly freeSpaceOffset: number
  readonly recordsChecksum: number
  readonly flags: number
  readonly headerChecksum: number
  readonly hasChecksums: boolean
}

export class Chunk implements NameSource {
  /** At most 64 KiB; fewer where the file ends. Borrowed from the caller. */
  readonly bytes: Uint8Array
  /** Of the chunk in the file. */
  readonly offset: number
  readonly #store: TemplateStore
  readonly #names = new Map<number, string>()
  /** Those whose hash is another one. Names at which a record of the chunk's own looks are believed all the same. */
  readonly #doubtfulNames = new Set<number>()
  /** Records are read that the chunk does not count: what they refer to may be gone. */
  isOverwritten = false
  readonly #templates = new Map<number, Template>()
  #parseBudget: number
  readonly #charge: (bytes: number) => void

  constructor(bytes: Uint8Array, offset: number, store: TemplateStore, limits: EvtxLimits) {
    // A plain view: those of Node's Buffer are slower to make.
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    this.offset = offset
    this.#store = store
    this.#parseBudget = limits.maxTemplateBytesPerChunk
    this.#charge = (size) => {
      this.#parseBudget -= size
      if (this.#parseBudget < 0) {
        throw new ContentFault(
          `the chunk defines more than ${limits.maxTemplateBytesPerChunk} bytes of templates (maxTemplateBytesPerChunk)`,
        )
      }
    }
  }

  name(offset: number): string {
    const known = this.#names.get(offset)
    if (known !== undefined) return this.#checked(known, offset)
    const { bytes } = this
    if (offset > bytes.length - NAME_HEAD_BYTES) throw new ContentFault(`a name at ${offset}, past the chunk`)
    const length = u16(bytes, offset + 6)
    let at = offset + NAME_HEAD_BYTES
    if (length > MAX_NAME_CHARS || length * 2 > bytes.length - at) {
      throw new ContentFault(`a name of ${length} characters at ${offset} of the chunk`)
    }
    let name = ''
    let hash = 0
    for (const end = at + length * 2; at < end; at += 2) {
      const unit = u16(bytes, at)
      name += String.fromCharCode(unit)
      hash = (Math.imul(hash, NAME_HASH_FACTOR) + unit) >>> 0
    }
    this.#names.set(offset, name)
    if ((hash & 0xffff) !== u16(bytes, offset + 4)) this.#doubtfulNames.add(offset)
    return this.#checked(name, offset)
  }

  #checked(name: string, offset: number): string {
    if (this.isOverwritten && this.#doubtfulNames.has(offset)) {
      throw new ContentFault(`the name at ${offset} of the chunk was overwritten`)
    }
    return name
  }

  /**
   * The template whose definition is at `offset`, if that is the one that `number` means. Space that was used again has
   * another there: then one of the same number that any chunk defined.
   */
  template(offset: number, number: number): Template {
    const known = this.#templates.get(offset)
    if (known !== undefined && u32(this.bytes, offset + 4) === number) return known
    try {
      const template = this.#define(offset, number)
      this.#templates.set(offset, template)
      return template
    } catch (error) {
      const elsewhere = error instanceof ContentFault ? this.#store.find(number) : undefined
      if (elsewhere === undefined) throw error
      return elsewhere
    }
  }

  #define(offset: number, number: number): Template {
    const { bytes } = this
    // The number of a template is the begin of its GUID.
    if (offset > bytes.length - DEFINITION_HEAD_BYTES || u32(bytes, offset + 4) !== number) {
      throw new ContentFault(`its template is not at ${offset} of the chunk, and no chunk read so far has it`)
    }
    return this.#store.read(this, offset, this.#charge)
  }
}

export function hasChunkMagic(bytes: Uint8Array, at: number): boolean {
  return CHUNK_MAGIC.every((byte, i) => bytes[at + i] === byte)
}

/** `bytes` holds at least {@link CHUNK_HEADER_BYTES}. */
export function readChunkHeader(bytes: Uint8Array): ChunkHeader {
  const flags = u32(bytes, 120)
  const recordsChecksum = u32(bytes, 52)
  const headerChecksum = u32(bytes, 124)
  return {
    firstRecordNumber: u64(bytes, 8),
    lastRecordNumber: u64(bytes, 16),
    firstRecordId: u64(bytes, 24),
    lastRecordId: u64(bytes, 32),
    lastRecordOffset: u32(bytes, 44),
    freeSpaceOffset: u32(bytes, 48),
    recordsChecksum,
    flags,
    headerChecksum,
    hasChecksums: (flags & NO_CHECKSUMS_FLAG) === 0 && (recordsChecksum !== 0 || headerChecksum !== 0),
  }
}

/** The header without its flags and its checksum. */
export function chunkHeaderChecksum(bytes: Uint8Array): number {
  return crc32(bytes, 128, CHUNK_HEADER_BYTES, crc32(bytes, 0, 120))
}
