/**
 * Sources read: pieces of files, each by itself, as events in the order in which they stand.
 *
 * Lines of text and chunks of EVTX files can be read from the middle of a file, so that several threads share a large
 * one. A line belongs to the piece in which it begins. Compressed files, JSON in free layout and W3C logs, whose
 * directives hold for all lines behind them, are one piece.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { EvtxDecoder } from '@prexy/evtx/decoder'
import { EvtxError } from '@prexy/evtx/errors'
import { isLoss } from '@prexy/evtx/problems'
import type { EvtxRecord } from '@prexy/evtx/record'
import type { LogSource } from '@prexy/sigma/event'
import { CodingError, decodeBytes } from './coded-bytes.ts'
import type { FieldMap } from './field-map.ts'
import type { HuntEvent } from './hunt-event.ts'
import { createJsonReader, recordsOf, UNKNOWN_SOURCES } from './json-event.ts'
import { type JsonHandler, JsonSplitter, type JsonValue, parseJson } from './json-records.ts'
import { type LineHandler, LineSplitter, MAX_LINE_BYTES } from './line-splitter.hot.ts'
import { compileLogFormat } from './log-format.ts'
import { ParquetFault, readParquetEvents } from './parquet-source.ts'
import { RecordingReader } from './recorded-event.ts'
import { addProblem, emptyReport, type ScanReport } from './scan-report.ts'
import { reasonOf, type HuntSource } from './sources.ts'
import { createLineReader, createW3cReader } from './web-log.ts'
import { WindowsEvent } from './windows-event.ts'

/** A piece of a source. */
export interface ScanTask {
  /** Its number among the sources. */
  readonly source: number
  /** Its number among the pieces of its source. */
  readonly piece: number
  readonly start: number
  /** Undefined: to the end, whatever that is by then. */
  readonly end: number | undefined
}

export interface ScanOptions {
  readonly checksums: 'check' | 'ignore'
  readonly recover: boolean
  readonly map: FieldMap | undefined
  readonly logsource: LogSource | undefined
}

/**
 * `record` is from 1 within the piece: a line, a value (a fraction tells the records in one apart), or the record's place in
 * bytes. The event is borrowed.
 */
export type EventVisitor = (event: HuntEvent, record: number) => void

/** Records that one JSON value may hold and that still have an order: more than fit into the largest value. */
const MAX_RECORDS_IN_VALUE = 16_777_216

/** Bytes of text in one piece, about. */
const TEXT_PIECE_BYTES = 4_194_304
/** Bytes of EVTX in one piece: whole chunks. */
const EVTX_PIECE_BYTES = 2_097_152
const READ_BYTES = 1_048_576
const CHUNK_BYTES = 65_536
const FILE_HEADER_BYTES = 4_096

/**
 * The largest EVTX file that is looked through as a whole for records that were overwritten, or that has no header. Larger
 * ones are read chunk by chunk, and templates of other chunks are not known then. Unit: bytes.
 */
export const MAX_WHOLE_EVTX_BYTES = 268_435_456

/** Cuts a source into pieces. */
export function piecesOf(source: HuntSource, index: number, options: ScanOptions): readonly ScanTask[] {
  const { kind } = source.format
  const isCut = !isOnePiece(source) && !(kind === 'evtx' && readsWhole(source.bytes, options))
  const step = kind === 'evtx' ? EVTX_PIECE_BYTES : TEXT_PIECE_BYTES
  if (!isCut || source.bytes <= step * 1.5) return [{ source: index, piece: 0, start: 0, end: undefined }]
  const tasks: ScanTask[] = []
  for (let start = 0, piece = 0; start < source.bytes; piece++) {
    const next = start + step + (kind === 'evtx' && piece === 0 ? FILE_HEADER_BYTES : 0)
    // What is appended meanwhile belongs to the last one.
    tasks.push({ source: index, piece, start, end: next >= source.bytes ? undefined : next })
    start = next
  }
  return tasks
}

export function isOnePiece({ coding, encoding, path, format: { kind } }: HuntSource): boolean {
  const hasOrder = kind === 'w3c' || kind === 'json' || kind === 'recording' || kind === 'parquet'
  return hasOrder || coding !== undefined || encoding !== 'utf-8' || path === '-'
}

function readsWhole(bytes: number, { recover }: ScanOptions): boolean {
  return recover && bytes <= MAX_WHOLE_EVTX_BYTES
}

export interface ScanHooks {
  /** Gives the content of `-`. */
  readonly stdin: AsyncIterable<Uint8Array> | undefined
  /** Asked between chunks of a source that is read as one piece: a reader that is too fast waits here. */
  pause(bytes: number): Promise<void> | undefined
}

/** Reads pieces of sources, one after the other. Keeps what it learned of templates and shapes. */
export interface Scanner {
  /** Never rejects for what is wrong with a source: that is in the report. */
  scan(task: ScanTask, visit: EventVisitor): Promise<ScanReport>
}

export function createScanner(sources: readonly HuntSource[], options: ScanOptions, hooks: ScanHooks): Scanner {
  const given = options.map?.logsource ?? options.logsource
  let reader: EvtxReader | undefined
  // What a decoder learned of templates is worth keeping; its report is not, when there is something in it.
  const evtxReader = (): EvtxReader => {
    if (reader === undefined || reader.decoder.report.counts.size + reader.decoder.report.recoveredRecords > 0) {
      const decoder = new EvtxDecoder({ checksums: options.checksums, slack: options.recover ? 'recover' : 'skip' })
      reader = { decoder, event: new WindowsEvent(given === undefined ? undefined : [given]) }
    }
    return reader
  }
  return {
    async scan(task, visit) {
      const source = sources[task.source]
      const report = emptyReport()
      try {
        if (source.format.kind === 'evtx') await scanEvtx(source, task, options, evtxReader(), visit, report, hooks)
        else if (source.format.kind === 'parquet') await scanParquet(source, visit, report, hooks)
        else {
          const consumer = consumerOf(source, options, visit, report)
          if (isOnePiece(source)) await feedStream(source, consumer, report, hooks)
          else feedFile(source, task, consumer, report)
        }
      } catch (error) {
        const isKnown =
          error instanceof CodingError || error instanceof ParquetFault || (error instanceof Error && 'code' in error)
        if (!isKnown && !(error instanceof EvtxError)) throw error
        const reason = error instanceof CodingError ? error.message : reasonOf(error)
        addProblem(report, { path: source.path, at: report.bytes, unit: 'byte', reason, isLoss: true })
      }
      return report
    },
  }
}

/** Shapes have numbers of their decoder, so that the two go together. */
interface EvtxReader {
  readonly decoder: EvtxDecoder
  readonly event: WindowsEvent
}

/** Takes the bytes of a source. */
export interface Consumer {
  write(chunk: Uint8Array): void
  end(): void
}

/** What reads a source that is bytes in a row: any but EVTX. */
export function consumerOf(
  source: HuntSource,
  options: ScanOptions,
  visit: EventVisitor,
  report: ScanReport,
): Consumer {
  const { format, path } = source
  const show = (event: HuntEvent, record: number): void => {
    report.events++
    if (event.sources === UNKNOWN_SOURCES) report.unrouted++
    visit(event, record)
  }
  const badLine = (at: number, reason: string): void =>
    addProblem(report, { path, at, unit: 'line', reason, isLoss: true })
  const lines = (onLine: LineHandler['onLine']): LineSplitter =>
    new LineSplitter({
      onLine(text, number) {
        report.records++
        onLine(text, number)
      },
      onLongLine(number) {
        report.records++
        badLine(number, `a line of more than ${MAX_LINE_BYTES} bytes (MAX_LINE_BYTES)`)
      },
    })
  switch (format.kind) {
    case 'access-log': {
      const read = createLineReader(compileLogFormat(format.format), 'access-log')
      return lines((text, number) => {
        if (text === '') return
        const event = read(text)
        if (event === undefined) badLine(number, `not of the format "${format.format}"`)
        else show(event, number)
      })
    }
    case 'w3c': {
      const reader = createW3cReader()
      return lines((text, number) => {
        const event = reader.read(text)
        if (event === 'bad') badLine(number, 'not as many fields as the #Fields directive says, or no time')
        else if (event !== 'directive') show(event, number)
      })
    }
    case 'text': {
      const sources = options.logsource === undefined ? undefined : [options.logsource]
      return lines((text, number) => {
        if (text !== '') show(textEvent(text, sources), number)
      })
    }
    case 'json-lines':
    case 'json': {
      const read = createJsonReader(options)
      const value = (found: JsonValue, number: number, unit: 'line' | 'value'): void => {
        const records = recordsOf(found, options.map)
        if (records.length === 0) {
          addProblem(report, { path, at: number, unit, reason: 'no record in this value', isLoss: true })
        }
        // Events of one value are apart in the order of a timeline, and for correlations.
        records.forEach((record, index) => show(read(record), number + index / MAX_RECORDS_IN_VALUE))
      }
      if (format.kind === 'json-lines') {
        return lines((text, number) => {
          if (text.trim() === '') return
          const found = parseJson(text)
          if (found === undefined) badLine(number, 'this is not JSON')
          else value(found, number, 'line')
        })
      }
      const handler: JsonHandler = {
        onValue(found, number) {
          report.records++
          value(found, number, 'value')
        },
        onBadValue(number, reason) {
          report.records++
          addProblem(report, { path, at: number, unit: 'value', reason, isLoss: true })
        },
      }
      return new JsonSplitter(handler)
    }
    case 'recording':
      return new RecordingReader({
        onEvent(event, number) {
          report.records++
          show(event, number)
        },
        onDamage(at, reason) {
          addProblem(report, { path, at, unit: 'byte', reason, isLoss: true })
        },
        onRefusal(reason) {
          addProblem(report, { path, at: 0, unit: 'byte', reason, isLoss: true })
        },
      })
    case 'parquet':
    case 'evtx':
      throw new Error('not read as bytes in a row')
  }
}

function textEvent(text: string, sources: readonly LogSource[] | undefined): HuntEvent {
  return {
    sources,
    time: undefined,
    ticks: 0,
    host: '',
    channel: 'text',
    eventId: undefined,
    recordId: undefined,
    provider: undefined,
    isRecovered: false,
    kind: 'other',
    get: () => undefined,
    text: () => text,
    entries: () => [['Line', text]],
    fieldNames: () => [],
  }
}

function feedFile(source: HuntSource, { start, end }: ScanTask, consumer: Consumer, report: ScanReport): void {
  const file = openSync(source.path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    // The byte before tells whether a line begins at `start`.
    let at = Math.max(0, start - 1)
    let isBefore = start > 0
    for (;;) {
      const read = readSync(file, buffer, 0, READ_BYTES, at)
      if (read === 0) break
      let from = 0
      if (isBefore) {
        const begin = buffer.subarray(0, read).indexOf(10)
        if (begin < 0 || (end !== undefined && at + begin + 1 >= end)) {
          at += read
          if (begin >= 0 || (end !== undefined && at >= end)) break
          continue
        }
        isBefore = false
        from = begin + 1
      }
      const next = at + read
      if (end !== undefined && next >= end) {
        // The line that begins last in this piece may end far behind it.
        const lineEnd = buffer.indexOf(10, Math.max(from, end - 1 - at))
        if (lineEnd >= 0 && lineEnd < read) {
          consumer.write(buffer.subarray(from, lineEnd + 1))
          break
        }
      }
      consumer.write(buffer.subarray(from, read))
      at = next
    }
    consumer.end()
    report.bytes += Math.max(0, Math.min(end ?? Infinity, fstatSync(file).size) - start)
  } finally {
    closeSync(file)
  }
}

async function* readFileBytes(path: string): AsyncGenerator<Uint8Array> {
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    for (;;) {
      const read = readSync(file, buffer)
      if (read === 0) return
      yield buffer.subarray(0, read)
    }
  } finally {
    closeSync(file)
  }
}

/** The content of a source, decompressed. */
function contentOf(source: HuntSource, report: ScanReport, hooks: ScanHooks): AsyncIterable<Uint8Array> {
  const raw = source.path === '-' ? (hooks.stdin ?? noBytes()) : readFileBytes(source.path)
  const counted = countBytes(raw, report, hooks)
  return source.coding === undefined ? counted : decodeBytes(source.coding, counted)
}

async function* countBytes(
  input: AsyncIterable<Uint8Array>,
  report: ScanReport,
  hooks: ScanHooks,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    report.bytes += chunk.length
    const paused = hooks.pause(chunk.length)
    if (paused !== undefined) await paused
    yield chunk
  }
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}

async function feedStream(source: HuntSource, consumer: Consumer, report: ScanReport, hooks: ScanHooks): Promise<void> {
  const recode = source.encoding === 'utf-8' ? undefined : new TextDecoder(source.encoding)
  const encoder = new TextEncoder()
  try {
    for await (const chunk of contentOf(source, report, hooks)) {
      consumer.write(recode === undefined ? chunk : encoder.encode(recode.decode(chunk, { stream: true })))
    }
  } finally {
    // What came before a fault is still read.
    consumer.end()
  }
}

async function scanParquet(
  source: HuntSource,
  visit: EventVisitor,
  report: ScanReport,
  hooks: ScanHooks,
): Promise<void> {
  if (source.path === '-') throw new ParquetFault('Parquet is read from a file, not from standard input')
  await readParquetEvents(
    source.path,
    (event, row) => {
      report.records++
      report.events++
      visit(event, row)
    },
    () => hooks.pause(0),
  )
  report.bytes += source.bytes
}

async function scanEvtx(
  source: HuntSource,
  task: ScanTask,
  options: ScanOptions,
  { decoder, event }: EvtxReader,
  visit: EventVisitor,
  report: ScanReport,
  hooks: ScanHooks,
): Promise<void> {
  const show = (record: EvtxRecord): void => {
    report.records++
    if (!event.show(record)) return
    report.events++
    visit(event, record.offset)
  }
  try {
    if (isOnePiece(source)) {
      await scanEvtxStream(decoder, contentOf(source, report, hooks), show)
      return
    }
    scanEvtxFile(decoder, source, task, options, show, report)
  } finally {
    const found = decoder.report
    report.badRecords += found.badRecords
    report.recovered += found.recoveredRecords
    let reported = 0
    for (const { code, offset, reason } of found.problems) {
      // Every piece of a file sees its header; the first one tells of it.
      if (task.piece > 0 && offset === 0) continue
      reported += isLoss(code) && code !== 'chunk' ? 1 : 0
      addProblem(report, { path: source.path, at: offset, unit: 'byte', reason, isLoss: isLoss(code) })
    }
    // They were counted by the decoder already, those beyond its list, too.
    report.badRecords -= reported
  }
}

function scanEvtxFile(
  decoder: EvtxDecoder,
  source: HuntSource,
  { start, end }: ScanTask,
  options: ScanOptions,
  show: (record: EvtxRecord) => void,
  report: ScanReport,
): void {
  const file = openSync(source.path, 'r')
  try {
    const { size } = fstatSync(file)
    const head = Buffer.alloc(Math.min(FILE_HEADER_BYTES, size))
    readSync(file, head, 0, head.length, 0)
    const hasHeader = head.length >= 8 && head.toString('latin1', 0, 8) === 'ElfFile\0'
    report.bytes += Math.min(end ?? size, size) - start
    if (size <= MAX_WHOLE_EVTX_BYTES && (options.recover || !hasHeader)) {
      if (start > 0) return
      const bytes = Buffer.allocUnsafe(size)
      let filled = 0
      while (filled < size) {
        const read = readSync(file, bytes, filled, size - filled, filled)
        if (read === 0) break
        filled += read
      }
      for (const record of decoder.readFile(bytes.subarray(0, filled))) show(record)
      return
    }
    decoder.readHeader(head)
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    for (let at = Math.max(start, FILE_HEADER_BYTES); at < (end ?? Infinity); ) {
      const read = readSync(file, buffer, 0, Math.min(READ_BYTES, (end ?? Infinity) - at), at)
      if (read === 0) break
      for (let from = 0; from < read; from += CHUNK_BYTES) {
        const bytes = buffer.subarray(from, Math.min(from + CHUNK_BYTES, read))
        for (const record of decoder.readChunk(bytes, at + from)) show(record)
      }
      at += read
    }
  } finally {
    closeSync(file)
  }
}

async function scanEvtxStream(
  decoder: EvtxDecoder,
  content: AsyncIterable<Uint8Array>,
  show: (record: EvtxRecord) => void,
): Promise<void> {
  let rest = Buffer.alloc(0)
  let offset = 0
  let wanted = FILE_HEADER_BYTES
  let hasHeader = true
  const take = (bytes: Buffer): void => {
    if (offset === 0 && hasHeader) decoder.readHeader(bytes)
    else for (const record of decoder.readChunk(bytes, offset)) show(record)
    offset += bytes.length
    wanted = CHUNK_BYTES
  }
  for await (const piece of content) {
    rest = Buffer.concat([rest, piece])
    if (offset === 0 && rest.toString('latin1', 0, 7) === 'ElfChnk') {
      hasHeader = false
      wanted = CHUNK_BYTES
    }
    while (rest.length >= wanted) {
      const bytes = rest.subarray(0, wanted)
      rest = rest.subarray(wanted)
      take(bytes)
    }
  }
  if (rest.length > 0) take(rest)
}
