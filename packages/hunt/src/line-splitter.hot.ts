/** Lines of a stream of bytes, as text; no line is longer than a limit. */

/** A longer line is dropped and counted. Unit: bytes. */
export const MAX_LINE_BYTES = 1_048_576

export interface LineHandler {
  /** `number` is from 1, within what the splitter was given. The text has no line end. */
  onLine(text: string, number: number): void
  /** A line longer than {@link MAX_LINE_BYTES} was dropped. */
  onLongLine(number: number): void
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const NO_BYTES = Buffer.alloc(0)

export class LineSplitter {
  readonly #handler: LineHandler
  /** The begin of a line whose end has not come; copied, because chunks are borrowed. */
  #rest: Buffer
  #isDropping: boolean
  /** Lines that are over. */
  lines: number

  constructor(handler: LineHandler) {
    this.#handler = handler
    this.#rest = NO_BYTES
    this.#isDropping = false
    this.lines = 0
  }

  /** Takes a chunk, which is borrowed. Whole lines are decoded in one go: most of the cost is per call. */
  write(chunk: Uint8Array): void {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    if (this.#isDropping) {
      const end = bytes.indexOf(LINE_FEED)
      if (end < 0) return
      this.#isDropping = false
      this.#handler.onLongLine(++this.lines)
      bytes = bytes.subarray(end + 1)
    }
    const last = bytes.lastIndexOf(LINE_FEED)
    if (last < 0) {
      this.#keep(bytes)
      return
    }
    let from = 0
    if (this.#rest.length > 0) {
      const first = bytes.indexOf(LINE_FEED)
      if (this.#rest.length + first > MAX_LINE_BYTES) this.#handler.onLongLine(++this.lines)
      else this.#line(Buffer.concat([this.#rest, bytes.subarray(0, first)]).toString())
      this.#rest = NO_BYTES
      from = first + 1
    }
    if (from <= last) this.#lines(bytes, from, last)
    this.#keep(bytes.subarray(last + 1))
  }

  /** What is left is the last line. */
  end(): void {
    if (this.#isDropping) this.#handler.onLongLine(++this.lines)
    else if (this.#rest.length > 0) this.#line(this.#rest.toString())
    this.#rest = NO_BYTES
    this.#isDropping = false
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (this.#rest.length + bytes.length > MAX_LINE_BYTES) {
      this.#rest = NO_BYTES
      this.#isDropping = true
      return
    }
    this.#rest = Buffer.concat([this.#rest, bytes])
  }

  #lines(bytes: Buffer, from: number, last: number): void {
    const text = bytes.toString('utf8', from, last)
    let at = 0
    for (;;) {
      const end = text.indexOf('\n', at)
      const line = text.slice(at, end < 0 ? text.length : end)
      if (line.length > MAX_LINE_BYTES) this.#handler.onLongLine(++this.lines)
      else this.#line(line)
      if (end < 0) return
      at = end + 1
    }
  }

  #line(text: string): void {
    const line = text.charCodeAt(text.length - 1) === CARRIAGE_RETURN ? text.slice(0, -1) : text
    this.#handler.onLine(line, ++this.lines)
  }
}
