/**
 * JSON values of a stream of bytes, one after the other: values behind each other with or without lines between them, and
 * the elements of arrays at the top, so that a file that is one large array is never held whole.
 */

/** A longer value is dropped and counted. Unit: bytes. */
export const MAX_JSON_RECORD_BYTES = 16_777_216

export interface JsonHandler {
  /** `number` is from 1. */
  onValue(value: JsonValue, number: number): void
  onBadValue(number: number, reason: string): void
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

const parse: (text: string) => JsonValue = JSON.parse

/** Parses a text; undefined when it is no JSON. Keys such as `__proto__` are members like all others. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

export class JsonSplitter {
  readonly #handler: JsonHandler
  /** Open braces and brackets of the value that is read, without the array around all. */
  #depth: number
  /** Inside of an array at the top, whose elements are values. */
  #isInArray: boolean
  #isInString: boolean
  #isEscaped: boolean
  #pieces: Buffer[]
  #bytes: number
  #isDropping: boolean
  values: number

  constructor(handler: JsonHandler) {
    this.#handler = handler
    this.#depth = 0
    this.#isInArray = false
    this.#isInString = false
    this.#isEscaped = false
    this.#pieces = []
    this.#bytes = 0
    this.#isDropping = false
    this.values = 0
  }

  /** Takes a chunk, which is borrowed. */
  write(chunk: Uint8Array): void {
    let start = this.#depth > 0 ? 0 : -1
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === BACKSLASH) this.#isEscaped = true
        else if (byte === QUOTE) this.#isInString = false
        continue
      }
      switch (byte) {
        case QUOTE:
          // Texts at the top are no records; their quotes must not open one that never ends.
          this.#isInString = this.#depth > 0
          break
        case OPEN_BRACE:
        case OPEN_BRACKET:
          if (this.#depth === 0 && byte === OPEN_BRACKET && !this.#isInArray) {
            this.#isInArray = true
            break
          }
          if (this.#depth++ === 0) start = at
          break
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          if (this.#depth === 0) {
            if (byte === CLOSE_BRACKET) this.#isInArray = false
            break
          }
          if (--this.#depth === 0) {
            this.#keep(chunk.subarray(start, at + 1))
            this.#finish()
            start = -1
          }
          break
      }
    }
    if (start >= 0) this.#keep(chunk.subarray(start))
  }

  end(): void {
    if (this.#depth === 0) return
    this.#handler.onBadValue(++this.values, 'the file ends inside of a value')
    this.#reset()
  }

  #keep(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    if (this.#bytes > MAX_JSON_RECORD_BYTES) {
      this.#isDropping = true
      this.#pieces = []
    } else if (!this.#isDropping) this.#pieces.push(Buffer.from(bytes))
  }

  #finish(): void {
    const number = ++this.values
    if (this.#isDropping) {
      this.#handler.onBadValue(number, `a value of more than ${MAX_JSON_RECORD_BYTES} bytes (MAX_JSON_RECORD_BYTES)`)
    } else {
      const value = parseJson(Buffer.concat(this.#pieces).toString())
      if (value === undefined) this.#handler.onBadValue(number, 'this is not JSON')
      else this.#handler.onValue(value, number)
    }
    this.#reset()
  }

  #reset(): void {
    this.#depth = 0
    this.#isInString = false
    this.#isEscaped = false
    this.#pieces = []
    this.#bytes = 0
    this.#isDropping = false
  }
}
