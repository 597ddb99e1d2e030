/**
 * Windows event logs for tests and benches: headers with checksums, chunks with tables of names and templates, records
 * with and without templates. Names and templates are written where they are used first in a chunk and referred to after
 * that, as Windows does.
 */
import {
  guidBytes,
  utf16Bytes,
  type EvtxAny,
  type EvtxContent,
  type EvtxElement,
  type EvtxInstance,
  type EvtxNode,
  type EvtxTemplate,
} from './evtx-values.ts'

export interface EvtxRecordInput {
  readonly id: number
  /** 100 ns since 1601. */
  readonly time: bigint
  readonly content: EvtxContent
}

export interface EvtxFileOptions {
  /** The file says that it was not closed, and its header says nothing of its chunks. */
  readonly dirty?: boolean
  /** Empty chunks after those with records. */
  readonly emptyChunks?: number
  /** Records of a chunk, after which the next is begun; without it, when it is full. */
  readonly recordsPerChunk?: number
}

const CHUNK_BYTES = 65_536
const FILE_HEADER_BYTES = 4_096
const CHUNK_HEADER_BYTES = 512
const NAME_BUCKETS = 64
const TEMPLATE_BUCKETS = 32

/** A file with the records in the order given. */
export function writeEvtx(records: readonly EvtxRecordInput[], options: EvtxFileOptions = {}): Uint8Array {
  const chunks: Uint8Array[] = []
  let chunk: ChunkWriter | undefined
  let nextNumber = 1
  for (const record of records) {
    if (chunk !== undefined && (chunk.records >= (options.recordsPerChunk ?? Infinity) || !chunk.tryAdd(record))) {
      chunks.push(chunk.finish())
      chunk = undefined
    } else if (chunk !== undefined) {
      nextNumber++
      continue
    }
    chunk = new ChunkWriter(nextNumber++)
    if (!chunk.tryAdd(record)) throw new Error(`record ${record.id} is larger than a chunk`)
  }
  if (chunk !== undefined) chunks.push(chunk.finish())
  return writeEvtxFile(
    chunks,
    records.reduce((next, { id }) => Math.max(next, id + 1), 1),
    options,
  )
}

/** A file of finished chunks. */
export function writeEvtxFile(
  chunks: readonly Uint8Array[],
  nextRecordId: number,
  options: EvtxFileOptions = {},
): Uint8Array {
  const empty = options.emptyChunks ?? 0
  const file = new Uint8Array(FILE_HEADER_BYTES + (chunks.length + empty) * CHUNK_BYTES)
  const view = new DataView(file.buffer)
  file.set([0x45, 0x6c, 0x66, 0x46, 0x69, 0x6c, 0x65, 0])
  view.setBigUint64(16, BigInt(options.dirty === true ? 0 : Math.max(0, chunks.length - 1)), true)
  view.setBigUint64(24, BigInt(options.dirty === true ? 1 : nextRecordId), true)
  view.setUint32(32, 128, true)
  view.setUint16(36, 1, true)
  view.setUint16(38, 3, true)
  view.setUint16(40, FILE_HEADER_BYTES, true)
  view.setUint16(42, options.dirty === true ? 1 : chunks.length, true)
  view.setUint32(120, options.dirty === true ? 1 : 0, true)
  view.setUint32(124, checksum(file.subarray(0, 120)), true)
  chunks.forEach((chunk, i) => file.set(chunk, FILE_HEADER_BYTES + i * CHUNK_BYTES))
  return file
}

/** One chunk. Its records can be followed in {@link ChunkWriter.offsets}. */
export class ChunkWriter {
  readonly #bytes = new Uint8Array(CHUNK_BYTES)
  readonly #view = new DataView(this.#bytes.buffer)
  readonly #names = new Map<string, number>()
  readonly #templates = new Map<EvtxTemplate, number>()
  readonly #firstNumber: number
  #at = CHUNK_HEADER_BYTES
  #firstId = -1
  #lastId = -1
  /** Where each record begins. */
  readonly offsets: number[] = []

  constructor(firstNumber: number) {
    this.#firstNumber = firstNumber
  }

  get records(): number {
    return this.offsets.length
  }

  /** Where the next record will begin. */
  get end(): number {
    return this.#at
  }

  /** False when it does not fit. Nothing can be added after that, except by finishing the chunk and beginning another. */
  tryAdd({ id, time, content }: EvtxRecordInput): boolean {
    const start = this.#at
    try {
      this.#u32(0x2a2a)
      this.#u32(0)
      this.#u64(BigInt(id))
      this.#u64(time)
      this.#content(content)
      // Records begin at multiples of eight.
      while ((this.#at - start + 4) % 8 !== 0) this.#u8(0)
      const size = this.#at - start + 4
      this.#u32(size)
      this.#view.setUint32(start + 4, size, true)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      this.#bytes.fill(0, start)
      this.#at = start
      return false
    }
    this.offsets.push(start)
    if (this.#firstId < 0) this.#firstId = id
    this.#lastId = id
    return true
  }

  finish(): Uint8Array {
    const view = this.#view
    this.#bytes.set([0x45, 0x6c, 0x66, 0x43, 0x68, 0x6e, 0x6b, 0])
    view.setBigUint64(8, BigInt(this.#firstNumber), true)
    view.setBigUint64(16, BigInt(this.#firstNumber + this.records - 1), true)
    view.setBigUint64(24, BigInt(Math.max(0, this.#firstId)), true)
    view.setBigUint64(32, BigInt(Math.max(0, this.#lastId)), true)
    view.setUint32(40, 128, true)
    view.setUint32(44, this.offsets.at(-1) ?? 0, true)
    view.setUint32(48, this.#at, true)
    sealChunk(this.#bytes)
    return this.#bytes
  }

  #content(content: EvtxContent): void {
    this.#fragmentHeader()
    for (const part of Array.isArray(content) ? content : [content]) {
      if ('template' in part) this.#instance(part)
      else this.#element(part, false)
    }
    this.#u8(0x00)
  }

  #fragmentHeader(): void {
    this.#u8(0x0f)
    this.#u8(1)
    this.#u8(1)
    this.#u8(0)
  }

  #instance({ template, values }: EvtxInstance): void {
    const guid = guidBytes(template.guid)
    const number = new DataView(guid.buffer).getUint32(0, true)
    this.#u8(0x0c)
    this.#u8(1)
    this.#u32(number)
    const known = this.#templates.get(template)
    if (known !== undefined) {
      this.#u32(known)
    } else {
      const definition = this.#at + 4
      this.#templates.set(template, definition)
      this.#u32(definition)
      const bucket = 384 + (number % TEMPLATE_BUCKETS) * 4
      this.#u32(this.#view.getUint32(bucket, true))
      this.#view.setUint32(bucket, definition, true)
      this.#raw(guid)
      const sizeAt = this.#at
      this.#u32(0)
      this.#fragmentHeader()
      this.#element(template.root, true)
      this.#u8(0x00)
      this.#view.setUint32(sizeAt, this.#at - sizeAt - 4, true)
    }
    this.#u32(values.length)
    const descriptors = this.#at
    for (const value of values) {
      this.#u16(0)
      this.#u8('nested' in value ? 0x21 : value.type)
      this.#u8(0)
    }
    values.forEach((value, i) => {
      const start = this.#at
      this.#value(value)
      this.#view.setUint16(descriptors + i * 4, this.#at - start, true)
    })
  }

  #value(value: EvtxAny): void {
    if ('nested' in value) this.#content(value.nested)
    else this.#raw(value.bytes)
  }

  #element({ element, attributes = [], children = [] }: EvtxElement, isDefinition: boolean): void {
    this.#u8(attributes.length > 0 ? 0x41 : 0x01)
    if (isDefinition) this.#u16(0xffff)
    const sizeAt = this.#at
    this.#u32(0)
    this.#name(element)
    if (attributes.length > 0) {
      const listAt = this.#at
      this.#u32(0)
      attributes.forEach(([name, ...parts], i) => {
        this.#u8(i + 1 < attributes.length ? 0x46 : 0x06)
        this.#name(name)
        this.#nodes(parts, isDefinition)
      })
      this.#view.setUint32(listAt, this.#at - listAt - 4, true)
    }
    if (children.length === 0) {
      this.#u8(0x03)
    } else {
      this.#u8(0x02)
      this.#nodes(children, isDefinition)
      this.#u8(0x04)
    }
    this.#view.setUint32(sizeAt, this.#at - sizeAt - 4, true)
  }

  #nodes(nodes: readonly EvtxNode[], isDefinition: boolean): void {
    nodes.forEach((node, i) => {
      // Text and references say that more of them follow.
      const next = nodes[i + 1]
      const more = next !== undefined && (typeof next === 'string' || !('element' in next)) ? 0x40 : 0
      if (typeof node === 'string') {
        this.#u8(0x05 | more)
        this.#u8(0x01)
        this.#counted(node)
      } else if ('element' in node) {
        this.#element(node, isDefinition)
      } else if ('slot' in node) {
        this.#u8(node.optional === true ? 0x0e : 0x0d)
        this.#u16(node.slot)
        this.#u8(node.type ?? 0x01)
      } else if ('cdata' in node) {
        this.#u8(0x07 | more)
        this.#counted(node.cdata)
      } else if ('character' in node) {
        this.#u8(0x08 | more)
        this.#u16(node.character)
      } else if ('entity' in node) {
        this.#u8(0x09 | more)
        this.#name(node.entity)
      } else if ('target' in node) {
        this.#u8(0x0a)
        this.#name(node.target)
        if (node.data !== undefined) {
          this.#u8(0x0b)
          this.#counted(node.data)
        }
      } else if ('literal' in node) {
        this.#u8(0x05 | more)
        this.#u8(node.literal.type)
        if (node.literal.type === 0x02) this.#u16(node.literal.bytes.length)
        this.#raw(node.literal.bytes)
      } else {
        this.#instance(node)
      }
    })
  }

  #name(name: string): void {
    const known = this.#names.get(name)
    if (known !== undefined) {
      this.#u32(known)
      return
    }
    const at = this.#at + 4
    this.#names.set(name, at)
    this.#u32(at)
    let hash = 0
    for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 65_599) + name.charCodeAt(i)) >>> 0
    const bucket = 128 + ((hash & 0xffff) % NAME_BUCKETS) * 4
    this.#u32(this.#view.getUint32(bucket, true))
    this.#view.setUint32(bucket, at, true)
    this.#u16(hash & 0xffff)
    this.#counted(name)
    this.#u16(0)
  }

  #counted(text: string): void {
    this.#u16(text.length)
    this.#raw(utf16Bytes(text))
  }

  #raw(bytes: Uint8Array): void {
    if (this.#at + bytes.length > CHUNK_BYTES) throw new RangeError('the chunk is full')
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  #u8(value: number): void {
    this.#view.setUint8(this.#at++, value)
  }

  #u16(value: number): void {
    this.#view.setUint16(this.#at, value, true)
    this.#at += 2
  }

  #u32(value: number): void {
    this.#view.setUint32(this.#at, value, true)
    this.#at += 4
  }

  #u64(value: bigint): void {
    this.#view.setBigUint64(this.#at, value, true)
    this.#at += 8
  }
}

/** Writes both checksums of a chunk, after something in it was changed. */
export function sealChunk(chunk: Uint8Array): void {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length)
  const free = Math.min(Math.max(view.getUint32(48, true), CHUNK_HEADER_BYTES), chunk.length)
  view.setUint32(52, checksum(chunk.subarray(CHUNK_HEADER_BYTES, free)), true)
  view.setUint32(124, checksum(Uint8Array.of(...chunk.subarray(0, 120), ...chunk.subarray(128, 512))), true)
}

/** CRC-32, a bit at a time: slow, and plainly right. */
export function checksum(bytes: Uint8Array): number {
  let crc = 0xffff_ffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1
  }
  return ~crc >>> 0
}
