import { BodyReader } from './body-reader.ts'
import type { FieldList } from './fields.ts'
import { gatherFraming, judgeFraming, keepsAlive } from './framing.ts'
import type { HeadMemo } from './head-memo.ts'
import { HeadSection } from './head-section.ts'
import type { MessageLimits } from './limits.ts'
import type { BodyFraming, ResponseHead } from './message.ts'
import { NO_OCTETS, SP } from './octets.ts'
import { responseFault, type WireFault, type WireFaultCode } from './wire-fault.ts'

export type ResponseEvent = 'more' | 'interim' | 'head' | 'data' | 'end' | 'fault'

type Phase = 'nothing' | 'status-line' | 'fields' | 'body' | 'dead'

const NO_BODY: BodyFraming = { kind: 'none' }
const CHUNKED_BODY: BodyFraming = { kind: 'chunked' }
const CLOSE_BODY: BodyFraming = { kind: 'until-close' }
const TUNNEL: BodyFraming = { kind: 'tunnel' }

const EMPTY_HEAD: ResponseHead = {
  status: 0,
  minorVersion: 1,
  fields: [],
  isRepeated: false,
  body: NO_BODY,
  contentLength: undefined,
  keepAlive: false,
}

/**
 * Reads HTTP/1.x responses off one connection; the same loop as `RequestParser`, with `interim` for each 1xx before
 * the final `head`. After `end` any further octet of the chunk belongs to no exchange: do not reuse the connection.
 * After a head whose body is `tunnel`, `read` is not called again; the rest of the chunk is the tunnel's.
 */
export class ResponseParser {
  readonly #limits: MessageLimits
  readonly #section: HeadSection
  readonly #body: BodyReader
  readonly #memo: HeadMemo<ResponseHead> | undefined
  /** The memo wants the head that is being read. */
  #isWanted = false
  #phase: Phase = 'nothing'
  #method = ''
  #upgradeAsked = false
  #interims = 0
  #status = 0
  #minorVersion = 1
  /** Octets of this message that earlier calls used up; each interim response counts as a message. */
  #octets = 0
  /** Offset in the chunk after the last event. */
  consumed = 0
  /** After `interim` and `head`. */
  head: ResponseHead = EMPTY_HEAD
  /** After `data`: never empty, a view of the chunk. */
  data: Uint8Array = NO_OCTETS
  /** After `end`: the trailer section, empty if there was none. */
  trailers: FieldList = []
  /** After `fault`, and from then on for every call. */
  fault: WireFault = responseFault('response-unasked', 0)
  /** True while no response is expected. */
  idle = true

  /** Parsers with the same limits may share a memo. */
  constructor(limits: MessageLimits, memo?: HeadMemo<ResponseHead>) {
    this.#limits = limits
    this.#section = new HeadSection()
    this.#body = new BodyReader(limits)
    this.#memo = memo
  }

  /** Announces the next response: call once per request sent, while `idle`, before its first octet is read. */
  expect(method: string, upgradeAsked: boolean): void {
    if (this.#phase === 'dead') return
    this.#method = method
    this.#upgradeAsked = upgradeAsked
    this.#interims = 0
    this.idle = false
    this.#beginHead()
  }

  /** Reads on at `chunk[start]`. Never throws. Octets while no response is expected are a fault. */
  read(chunk: Uint8Array, start: number): ResponseEvent {
    switch (this.#phase) {
      case 'status-line':
        return this.#recall(chunk, start) ?? this.#readHead(chunk, start)
      case 'fields':
        return this.#readHead(chunk, start)
      case 'body':
        return this.#readBody(chunk, start)
      case 'nothing':
        this.consumed = start
        return start < chunk.length ? this.#refuse('response-unasked', 0, start) : 'more'
      case 'dead':
        this.consumed = start
        return 'fault'
    }
  }

  /**
   * The upstream's side has ended. Undefined if nothing was expected or the body lasts until the close (that is its
   * `end`, without trailers); else `no-response` or `truncated`: a broken body must never look whole to the client.
   */
  close(): WireFault | undefined {
    if (this.#phase === 'dead') return this.fault
    if (this.#phase === 'nothing') return undefined
    if (this.#phase === 'body' && this.#body.completeAtClose) return undefined
    const began = this.#phase !== 'status-line' || this.#octets > 0 || this.#interims > 0
    this.#refuse(began ? 'truncated' : 'no-response', this.#octets, this.consumed)
    return this.fault
  }

  #beginHead(): void {
    this.#section.begin(this.#limits.maxHeaderBytes, this.#limits.maxHeaderBytes)
    this.#phase = 'status-line'
    this.#octets = 0
  }

  /** `head` if the head that begins here is known; the answer to HEAD has none of its length. */
  #recall(chunk: Uint8Array, start: number): 'head' | undefined {
    const memo = this.#memo
    this.#isWanted = false
    if (memo === undefined || this.#octets > 0 || this.#method === 'HEAD') return undefined
    const known = memo.find(chunk, start)
    this.#isWanted = memo.wantsIt
    if (known === undefined) return undefined
    this.#status = known.status
    return this.#begin(known, memo.length, start + memo.length)
  }

  #readHead(chunk: Uint8Array, start: number): ResponseEvent {
    const section = this.#section
    section.feed(chunk, start)
    for (;;) {
      const found = section.nextLine()
      if (found === 'more') {
        section.keep()
        this.#octets = section.carried
        this.consumed = chunk.length
        return 'more'
      }
      if (found === 'fault') return this.#refuse(section.faultCode, section.faultAt, start)
      if (this.#phase === 'status-line') {
        const code = this.#parseStatusLine()
        if (code !== undefined) return this.#refuse(code, section.lineStart, start)
        this.#phase = 'fields'
      } else {
        if (section.lineEnd === section.lineStart) return this.#finishHead(start)
        if (!section.parseField()) return this.#refuse(section.faultCode, section.faultAt, start)
        if (section.fieldCount > this.#limits.maxHeaderCount) {
          return this.#refuse('header-count', section.lineStart, start)
        }
      }
    }
  }

  /**
   * `HTTP-version SP 3DIGIT [SP reason-phrase]` (RFC 9112 §4); the space before an absent phrase may be missing.
   * `HTTP/2.0` is taken for 1.1: it is what some servers say on an HTTP/1 connection, with HTTP/1 framing.
   */
  #parseStatusLine(): WireFaultCode | undefined {
    const section = this.#section
    const { buffer } = section
    const at = section.base + section.lineStart
    const length = section.lineEnd - section.lineStart
    const named =
      length >= 8 &&
      buffer[at] === 0x48 &&
      buffer[at + 1] === 0x54 &&
      buffer[at + 2] === 0x54 &&
      buffer[at + 3] === 0x50 &&
      buffer[at + 4] === 0x2f &&
      buffer[at + 6] === 0x2e
    if (!named) return 'start-line'
    const major = buffer[at + 5] - 0x30
    const minor = buffer[at + 7] - 0x30
    if (minor < 0 || minor > 9) return 'version'
    if (major !== 1 && !(major === 2 && minor === 0)) return 'version-major'
    if (length < 12 || buffer[at + 8] !== SP) return 'start-line'
    if (length > 12 && buffer[at + 12] !== SP) return 'status'
    const hundreds = buffer[at + 9] - 0x30
    const tens = buffer[at + 10] - 0x30
    const ones = buffer[at + 11] - 0x30
    if (hundreds < 1 || hundreds > 9 || tens < 0 || tens > 9 || ones < 0 || ones > 9) return 'status'
    this.#status = 100 * hundreds + 10 * tens + ones
    this.#minorVersion = major === 1 && minor === 0 ? 0 : 1
    return undefined
  }

  #finishHead(start: number): ResponseEvent {
    const section = this.#section
    const fields = section.fields(section.decode())
    const status = this.#status
    const minorVersion = this.#minorVersion
    if (status < 200 && ++this.#interims > this.#limits.maxInterimResponses) {
      return this.#refuse('interim-count', 0, start)
    }
    if (status === 101 && !this.#upgradeAsked) return this.#refuse('upgrade-unasked', 0, start)
    const found = gatherFraming(fields)
    const framing = judgeFraming(found, fields, minorVersion)
    if (framing.kind === 'fault') return this.#refuse(framing.code, section.marks[2 * framing.fieldAt], start)

    let body: BodyFraming = CLOSE_BODY
    if (status === 101) body = TUNNEL
    else if (status < 200 || status === 204 || status === 304 || this.#method === 'HEAD') body = NO_BODY
    else if (framing.kind === 'chunked') body = CHUNKED_BODY
    else if (framing.kind === 'length') body = framing
    if (body.kind === 'length' && body.bytes > this.#limits.maxBodyBytes) {
      return this.#refuse('body-bytes', section.marks[2 * found.contentLengthAt], start)
    }
    const head: ResponseHead = {
      status,
      minorVersion,
      fields,
      isRepeated: false,
      body,
      contentLength: framing.kind === 'length' ? framing.bytes : undefined,
      keepAlive: body.kind !== 'until-close' && body.kind !== 'tunnel' && keepsAlive(found, minorVersion),
    }
    if (this.#isWanted && status >= 200) this.#memo?.keep(section.buffer, section.base, { ...head, isRepeated: true })
    const consumed = section.consumed(start)
    const octets = section.scan
    section.release()
    if (status < 200 && status !== 101) {
      this.head = head
      this.consumed = consumed
      this.#beginHead()
      return 'interim'
    }
    return this.#begin(head, octets, consumed)
  }

  #begin(head: ResponseHead, octets: number, consumed: number): 'head' {
    this.head = head
    this.#octets = octets
    this.consumed = consumed
    this.#body.begin(head.body)
    this.#phase = 'body'
    return 'head'
  }

  #readBody(chunk: Uint8Array, start: number): ResponseEvent {
    const body = this.#body
    const event = body.read(chunk, start)
    if (event === 'fault') return this.#refuse(body.faultCode, this.#octets + body.faultAt, start)
    this.consumed = body.consumed
    if (event === 'end') {
      this.trailers = body.trailers
      this.#phase = 'nothing'
      this.idle = true
      return 'end'
    }
    this.#octets += body.consumed - start
    if (event === 'data') this.data = body.data
    return event
  }

  #refuse(code: WireFaultCode, at: number, start: number): 'fault' {
    this.fault = responseFault(code, at)
    this.#phase = 'dead'
    this.consumed = start
    this.idle = false
    this.#section.release()
    return 'fault'
  }
}
