import { type FieldList, type NameSet, nameSet, setHasName } from './fields.ts'
import { HeadSection } from './head-section.ts'
import type { MessageLimits } from './limits.ts'
import type { BodyFraming } from './message.ts'
import { BACKSLASH, CR, HEX_VALUE, LF, NO_OCTETS, QUOTE, SEMICOLON, TEXT_OCTET } from './octets.ts'
import type { WireFaultCode } from './wire-fault.ts'

/** Where in the framing the next octet stands. Content-Length bodies know only `data` and `over`. */
type BodyState =
  | 'size-first'
  | 'size'
  | 'extension'
  | 'extension-quoted'
  | 'extension-escaped'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailers'
  | 'until-close'
  | 'over'

const NO_FIELDS: FieldList = []
/** Hexadecimal digits of a chunk size, leading zeros too. */
const MAX_CHUNK_SIZE_DIGITS = 16
/** Fields that would change where the message ends or goes, had they come earlier. */
const FORBIDDEN_TRAILERS: NameSet = nameSet(['content-length', 'transfer-encoding', 'host', 'trailer'])

/**
 * Finds the body in the octets after a head and takes the framing off (RFC 9112 §6 and §7). Data is handed on as
 * views of the chunk; only a trailer line that is cut is copied.
 *
 * Strict: CR LF everywhere, a size of 1 to 16 hexadecimal digits directly followed by CR or `;`, no white space before
 * the `;` (which the grammar calls bad white space and no living client sends). Extensions are dropped; of their
 * grammar only the quotes matter, which must be closed on the line.
 */
export class BodyReader {
  readonly #limits: MessageLimits
  readonly #section: HeadSection = new HeadSection()
  #state: BodyState = 'over'
  #chunked = false
  /** Octets left of the chunk or of the Content-Length body. */
  #remaining = 0
  #sizeDigits = 0
  #extensionBytes = 0
  #bodyBytes = 0
  /** After `read`: the offset in the chunk behind what was used. */
  consumed = 0
  /** After `data`. */
  data: Uint8Array = NO_OCTETS
  /** After `end`. */
  trailers: FieldList = NO_FIELDS
  /** After `fault`: what, and at which offset relative to the start of this call's octets. May be negative. */
  faultCode: WireFaultCode = 'chunk-size'
  faultAt = 0

  constructor(limits: MessageLimits) {
    this.#limits = limits
  }

  begin(framing: BodyFraming): void {
    this.#bodyBytes = 0
    this.#extensionBytes = 0
    this.trailers = NO_FIELDS
    switch (framing.kind) {
      case 'length':
        this.#remaining = framing.bytes
        this.#state = framing.bytes === 0 ? 'over' : 'data'
        break
      case 'chunked':
        this.#state = 'size-first'
        break
      case 'until-close':
        this.#state = 'until-close'
        break
      case 'none':
      case 'tunnel':
        this.#state = 'over'
        break
    }
    this.#chunked = framing.kind === 'chunked'
  }

  /** Whether a close now leaves the body whole. */
  get completeAtClose(): boolean {
    return this.#state === 'until-close' || this.#state === 'over'
  }

  read(chunk: Uint8Array, start: number): 'more' | 'data' | 'end' | 'fault' {
    let at = start
    for (;;) {
      switch (this.#state) {
        case 'over':
          this.consumed = at
          return 'end'
        case 'data':
          return this.#readData(chunk, at)
        case 'until-close':
          return this.#readUntilClose(chunk, at, start)
        case 'trailers':
          return this.#readTrailers(chunk, at, start)
        case 'size-first':
        case 'size':
        case 'extension':
        case 'extension-quoted':
        case 'extension-escaped':
        case 'size-lf':
        case 'data-cr':
        case 'data-lf': {
          if (at === chunk.length) {
            this.consumed = at
            return 'more'
          }
          const code = this.#step(chunk[at])
          if (code !== undefined) return this.#refuse(code, at - start)
          at++
          break
        }
      }
    }
  }

  /** One octet of the lines around chunk data. */
  #step(octet: number): WireFaultCode | undefined {
    switch (this.#state) {
      case 'size-first':
      case 'size': {
        const digit = HEX_VALUE[octet]
        if (digit < 16) {
          if (this.#state === 'size-first') {
            this.#state = 'size'
            this.#remaining = 0
            this.#sizeDigits = 0
          }
          this.#remaining = this.#remaining * 16 + digit
          this.#sizeDigits++
          return this.#sizeDigits > MAX_CHUNK_SIZE_DIGITS || this.#remaining > Number.MAX_SAFE_INTEGER
            ? 'chunk-size'
            : undefined
        }
        if (this.#state === 'size-first') return 'chunk-size'
        if (octet === CR) this.#state = 'size-lf'
        else if (octet === SEMICOLON) {
          this.#extensionBytes++
          this.#state = 'extension'
        } else return 'chunk-size'
        return this.#extensionBytes > this.#limits.maxChunkExtensionBytes ? 'chunk-extension-bytes' : undefined
      }
      case 'extension':
      case 'extension-quoted':
      case 'extension-escaped':
        if (octet === CR) {
          // SECURITY: other readers take the rest of the quoted string for a part of this line (request smuggling).
          if (this.#state !== 'extension') return 'chunk-extension'
          this.#state = 'size-lf'
          return undefined
        }
        if (TEXT_OCTET[octet] === 0) return 'chunk-extension'
        if (this.#state === 'extension-escaped') this.#state = 'extension-quoted'
        else if (octet === QUOTE) this.#state = this.#state === 'extension' ? 'extension-quoted' : 'extension'
        else if (octet === BACKSLASH && this.#state === 'extension-quoted') this.#state = 'extension-escaped'
        return ++this.#extensionBytes > this.#limits.maxChunkExtensionBytes ? 'chunk-extension-bytes' : undefined
      case 'size-lf':
        if (octet !== LF) return 'bare-cr'
        return this.#sizeKnown()
      case 'data-cr':
        if (octet !== CR) return 'chunk-end'
        this.#state = 'data-lf'
        return undefined
      case 'data-lf':
        if (octet !== LF) return 'chunk-end'
        this.#state = 'size-first'
        return undefined
      case 'data':
      case 'trailers':
      case 'until-close':
      case 'over':
        return undefined
    }
  }

  #sizeKnown(): WireFaultCode | undefined {
    if (this.#remaining > 0) {
      this.#state = 'data'
      return this.#bodyBytes + this.#remaining > this.#limits.maxBodyBytes ? 'body-bytes' : undefined
    }
    this.#state = 'trailers'
    this.#section.begin(this.#limits.maxTrailerBytes, this.#limits.maxTrailerBytes)
    return undefined
  }

  #readData(chunk: Uint8Array, at: number): 'more' | 'data' {
    const end = Math.min(chunk.length, at + this.#remaining)
    this.#remaining -= end - at
    if (this.#remaining === 0) this.#state = this.#chunked ? 'data-cr' : 'over'
    return this.#deliver(chunk, at, end)
  }

  #readUntilClose(chunk: Uint8Array, at: number, start: number): 'more' | 'data' | 'fault' {
    const end = Math.min(chunk.length, at + this.#limits.maxBodyBytes - this.#bodyBytes)
    if (at === end && end < chunk.length) return this.#refuse('body-bytes', at - start)
    return this.#deliver(chunk, at, end)
  }

  #deliver(chunk: Uint8Array, at: number, end: number): 'more' | 'data' {
    this.consumed = end
    if (at === end) return 'more'
    this.#bodyBytes += end - at
    this.data = at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end)
    return 'data'
  }

  #readTrailers(chunk: Uint8Array, at: number, start: number): 'more' | 'end' | 'fault' {
    const section = this.#section
    section.feed(chunk, at)
    // Octets of the section that came before this call.
    const offset = at - start - section.carried
    for (;;) {
      const found = section.nextLine()
      if (found === 'more') {
        section.keep()
        this.consumed = chunk.length
        return 'more'
      }
      if (found === 'fault') {
        const code = section.faultCode === 'header-bytes' ? 'trailer-bytes' : section.faultCode
        return this.#refuse(code, offset + section.faultAt)
      }
      if (section.lineEnd === section.lineStart) break
      if (!section.parseField()) return this.#refuse(section.faultCode, offset + section.faultAt)
      if (section.fieldCount > this.#limits.maxTrailerCount) {
        return this.#refuse('trailer-count', offset + section.lineStart)
      }
    }
    if (section.fieldCount > 0) {
      const fields = section.fields(section.decode())
      for (let i = 0; i < fields.length; i += 2) {
        if (setHasName(FORBIDDEN_TRAILERS, fields[i])) {
          return this.#refuse('trailer-forbidden', offset + section.marks[2 * i])
        }
      }
      this.trailers = fields
    }
    this.consumed = section.consumed(at)
    this.#state = 'over'
    section.release()
    return 'end'
  }

  #refuse(code: WireFaultCode, at: number): 'fault' {
    this.faultCode = code
    this.faultAt = at
    return 'fault'
  }
}
