/**
 * Finds the texts among the parts of a multipart/form-data body as it streams (RFC 7578, RFC 2046 §5.1), so that they,
 * and nothing else, can be changed: fields of a form, not its files.
 *
 *     preamble  CRLF--boundary CRLF  fields CRLF CRLF  content  CRLF--boundary CRLF ... CRLF--boundary-- epilogue
 *
 * What is not as it should be is passed on as it is, from there on to the end. Held: at most a delimiter or the fields
 * of a part, which may have {@link MAX_PART_HEADER_BYTES}.
 */
import { isMappableType } from '@prexy/http/request-body'

/** Fields of one part; of one that has more, this and all that follows is left alone. Unit: bytes. */
export const MAX_PART_HEADER_BYTES = 16_384

export interface PartsSink {
  /** Octets that stay as they are. */
  raw(octets: Uint8Array): void
  /** Octets of a text; consecutive ones belong together until `textEnd`. */
  text(octets: Uint8Array): void
  textEnd(): void
}

type State = 'preamble' | 'delimiter-line' | 'header' | 'text' | 'file' | 'rest'

const CRLF = '\r\n'

export class MultipartParts {
  readonly #delimiter: Buffer
  readonly #sink: PartsSink
  #state: State = 'preamble'
  /** Octets that were not given out yet. At the start, a line end that is none of the body's: see `#virtual`. */
  #held: Buffer = Buffer.from(CRLF)
  /** How many octets at the beginning of `#held` are not the body's: the first delimiter needs no line end before it. */
  #virtual: number = CRLF.length

  constructor(boundary: string, sink: PartsSink) {
    this.#delimiter = Buffer.from(`${CRLF}--${boundary}`, 'latin1')
    this.#sink = sink
  }

  /** `chunk` is borrowed. */
  write(chunk: Uint8Array): void {
    if (this.#state === 'rest') {
      this.#sink.raw(chunk)
      return
    }
    this.#held = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk])
    while (this.#step());
  }

  end(): void {
    this.#give(this.#held.length)
    if (this.#state === 'text') this.#sink.textEnd()
    this.#state = 'rest'
  }

  /** Whether there may be more to do. */
  #step(): boolean {
    switch (this.#state) {
      case 'preamble':
      case 'text':
      case 'file': {
        const found = this.#held.indexOf(this.#delimiter)
        if (found < 0) {
          this.#give(this.#held.length - this.#possibleStart())
          return false
        }
        this.#give(found)
        if (this.#state === 'text') this.#sink.textEnd()
        this.#state = 'delimiter-line'
        this.#give(this.#delimiter.length)
        return true
      }
      case 'delimiter-line': {
        const end = this.#held.indexOf(CRLF)
        const whole = end < 0 ? this.#held.length - (this.#held.at(-1) === 0x0d ? 1 : 0) : end
        const line = this.#held.subarray(0, whole)
        // `--` ends the body, whatever follows; blanks may be added on the way (RFC 2046 §5.1.1).
        const more = line.every((octet) => octet === 0x20 || octet === 0x09) && line.length < MAX_PART_HEADER_BYTES
        if (end < 0 && (more || (line.length === 1 && line[0] === 0x2d))) return false
        if (!more) return this.#leaveRest()
        this.#state = 'header'
        // The line end is kept, so that a part without fields looks like any other.
        this.#give(end)
        return true
      }
      case 'header': {
        const end = this.#held.indexOf(`${CRLF}${CRLF}`)
        if (end < 0) return this.#held.length > MAX_PART_HEADER_BYTES ? this.#leaveRest() : false
        if (end > MAX_PART_HEADER_BYTES) return this.#leaveRest()
        const fields = this.#held.toString('latin1', 0, end)
        this.#give(end + CRLF.length)
        // The line end before the content goes with it: in a part without any it begins the delimiter.
        this.#state = isText(fields) ? 'text' : 'file'
        return true
      }
      case 'rest':
        return false
    }
  }

  /** Something is not as it should be: nothing is looked at any more. */
  #leaveRest(): boolean {
    this.#state = 'rest'
    this.#give(this.#held.length)
    return false
  }

  /** Octets at the end of what is held that a delimiter may begin with. */
  #possibleStart(): number {
    const held = this.#held
    for (let length = Math.min(this.#delimiter.length - 1, held.length); length > 0; length--) {
      if (held.subarray(held.length - length).equals(this.#delimiter.subarray(0, length))) return length
    }
    return 0
  }

  /** Hands over the first `length` octets of what is held. */
  #give(length: number): void {
    const octets = this.#held.subarray(Math.min(this.#virtual, length), length)
    this.#virtual = Math.max(0, this.#virtual - length)
    this.#held = this.#held.subarray(length)
    if (octets.length === 0) return
    if (this.#state === 'text') this.#sink.text(octets)
    else this.#sink.raw(octets)
  }
}

/** Also as `filename*` and in pieces, `filename*0=` and `filename*0*=` (RFC 2231 §3), which some readers put together. */
const FILE_NAME = /;\s*filename(?:\*[0-9]*\*?)?\s*=/i

/** Whether a part with these lines of fields is a text: no file, and nothing that its octets do not say plainly. */
function isText(fields: string): boolean {
  let type: string | undefined
  for (const line of fields.split(CRLF)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase()
    const value = line.slice(colon + 1).trim()
    // A folded line, or one that is no field.
    if (line !== '' && (colon <= 0 || /^[ \t]/.test(line))) return false
    if (name === 'content-disposition' && FILE_NAME.test(value)) return false
    if (name === 'content-transfer-encoding' && !/^(?:7bit|8bit|binary)$/i.test(value)) return false
    if (name === 'content-encoding') return false
    if (name === 'content-type') type = value
  }
  return isMappableType(type)
}
