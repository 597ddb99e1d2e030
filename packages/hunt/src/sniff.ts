/** What a file is, by its first bytes; its name is not asked. */
import { compileLogFormat } from './log-format.ts'
import { isJsonObject, parseJson } from './json-records.ts'
import { createLineReader } from './web-log.ts'

export type Coding = 'gzip' | 'zstd'

export type SourceFormat =
  | { readonly kind: 'evtx' }
  /** A segment of a recording of prexy. */
  | { readonly kind: 'recording' }
  | { readonly kind: 'parquet' }
  /** `format` is what `compileLogFormat` takes. */
  | { readonly kind: 'access-log'; readonly format: string }
  | { readonly kind: 'w3c' }
  /** A value on each line, or values and arrays of values in any layout. */
  | { readonly kind: 'json-lines' }
  | { readonly kind: 'json' }
  /** Lines that only keywords are looked for in. */
  | { readonly kind: 'text' }

/** Bytes that are looked at. */
export const SNIFF_BYTES = 65_536

/** Lines that are tried before a file is given up on; scanners write lines that no format has. */
const SNIFFED_LINES = 20

const PARQUET = bytesOf('PAR1')
const GZIP = [0x1f, 0x8b]
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]
/** The mark of a header, and what stands in it. */
const RECORDING_MARK = [0xd8, 0x48]
const RECORDING_NAME = 'prexy-recording'
const EVTX_FILE = bytesOf('ElfFile\0')
const EVTX_CHUNK = bytesOf('ElfChnk\0')

function bytesOf(text: string): readonly number[] {
  return [...text].map((character) => character.charCodeAt(0))
}

function startsWith(bytes: Uint8Array, magic: readonly number[], from = 0): boolean {
  return magic.every((byte, index) => bytes[from + index] === byte)
}

/** The compression of what begins so. */
export function sniffCoding(bytes: Uint8Array): Coding | undefined {
  if (startsWith(bytes, GZIP)) return 'gzip'
  return startsWith(bytes, ZSTD) ? 'zstd' : undefined
}

/** What a person says about files that do not say what they are. */
export interface FormatHints {
  /** A format of access logs, or `text`. */
  readonly format: string | undefined
}

export type Sniffed =
  | { readonly format: SourceFormat; readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' }
  /** Why it is none of the formats. */
  | { readonly reason: string }

/** `bytes` are the first of the content, decompressed; `isWhole` when they are all of it. */
export function sniffFormat(bytes: Uint8Array, isWhole: boolean, hints: FormatHints): Sniffed {
  if (bytes.length === 0) return { reason: 'it is empty' }
  if (startsWith(bytes, EVTX_FILE) || startsWith(bytes, EVTX_CHUNK) || startsWith(bytes, EVTX_CHUNK, 4_096)) {
    return { format: { kind: 'evtx' }, encoding: 'utf-8' }
  }
  if (startsWith(bytes, PARQUET)) return { format: { kind: 'parquet' }, encoding: 'utf-8' }
  const isMarked = startsWith(bytes, RECORDING_MARK)
  if (
    isMarked ||
    (Buffer.from(bytes.subarray(0, 4_096)).includes(RECORDING_NAME, 0, 'latin1') && bytes.includes(0xd8))
  ) {
    return { format: { kind: 'recording' }, encoding: 'utf-8' }
  }
  const encoding = startsWith(bytes, [0xff, 0xfe]) ? 'utf-16le' : startsWith(bytes, [0xfe, 0xff]) ? 'utf-16be' : 'utf-8'
  if (encoding === 'utf-8' && bytes.includes(0)) return { reason: 'it is binary, and of no format that is known here' }
  const text = new TextDecoder(encoding).decode(bytes)
  const format = sniffText(text, isWhole, hints)
  if (typeof format !== 'string') return { format, encoding }
  return { reason: format }
}

function sniffText(text: string, isWhole: boolean, hints: FormatHints): SourceFormat | string {
  const lines = text.split('\n').map((line) => line.trim())
  // The last line is cut off.
  if (!isWhole && lines.length > 1) lines.pop()
  const filled = lines.filter((line) => line !== '').slice(0, SNIFFED_LINES)
  const [first = ''] = filled
  if (first === '') return 'it has only blanks'
  if (/^[[{]/.test(first)) {
    if (filled.some((line) => line.startsWith('{') && isJsonObject(parseJson(line)))) return { kind: 'json-lines' }
    if (first.startsWith('{') ? /^\{\s*(?:"|$)/.test(first) : /^\[\s*(?:\{|\[|$)/.test(first)) return { kind: 'json' }
  }
  if (filled.some((line) => line.startsWith('#Fields:'))) return { kind: 'w3c' }
  if (hints.format === 'text') return { kind: 'text' }
  if (hints.format !== undefined) {
    const read = createLineReader(compileLogFormat(hints.format), '')
    if (filled.some((line) => read(line) !== undefined)) return { kind: 'access-log', format: hints.format }
    return `none of its first lines is of the format "${hints.format}", and it is no JSON, W3C or Windows event log`
  }
  for (const format of ['combined', 'vhost_combined', 'common']) {
    const read = createLineReader(compileLogFormat(format), '')
    if (filled.some((line) => looksRead(read, line))) return { kind: 'access-log', format }
  }
  return 'it is of no format that is known here; give the format of an access log with --format, or --format text'
}

function looksRead(read: ReturnType<typeof createLineReader>, line: string): boolean {
  const event = read(line)
  return event?.get('cs-method') !== '' && event?.get('sc-status') !== undefined
}
