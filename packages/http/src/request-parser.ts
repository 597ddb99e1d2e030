import { parseAuthority } from './authority.ts'
import { BodyReader } from './body-reader.ts'
import type { FieldList } from './fields.ts'
import { type FramingFields, type FramingVerdict, gatherFraming, judgeFraming, keepsAlive } from './framing.ts'
import type { HeadMemo } from './head-memo.ts'
import { HeadSection } from './head-section.ts'
import type { MessageLimits } from './limits.ts'
import type { BodyFraming, RequestHead } from './message.ts'
import { NO_OCTETS, SP, TOKEN_OCTET } from './octets.ts'
import { parseTarget } from './request-target.ts'
import { requestFault, type WireFault, type WireFaultCode } from './wire-fault.ts'

export type RequestEvent = 'more' | 'head' | 'data' | 'end' | 'fault'

type Phase = 'start-line' | 'fields' | 'body' | 'dead'

const NO_BODY: BodyFraming = { kind: 'none' }
const CHUNKED_BODY: BodyFraming = { kind: 'chunked' }
/** ` HTTP/1.1`, CR LF and one tolerated empty line before the start line. */
const START_LINE_EXTRA_BYTES = 16

const EMPTY_HEAD: RequestHead = {
  method: '',
  target: '',
  targetForm: 'origin',
  path: '',
  authority: undefined,
  minorVersion: 1,
  fields: [],
  isRepeated: false,
  body: NO_BODY,
  keepAlive: false,
  expectContinue: false,
  upgrade: undefined,
}

/** Header fields that were judged and found good for an HTTP/1.1 request. */
export interface JudgedFields {
  readonly fields: FieldList
  readonly found: FramingFields
  readonly framing: Exclude<FramingVerdict, { readonly kind: 'fault' }>
}

/**
 * Reads HTTP/1.x requests off one connection, one event per call:
 *
 *     let at = 0
 *     for (;;) {
 *       const event = parser.read(chunk, at)
 *       at = parser.consumed
 *       if (event === 'more') break                   // at === chunk.length: feed the next chunk
 *       if (event === 'head') begin(parser.head)
 *       else if (event === 'data') forward(parser.data)   // a view of chunk, borrowed: valid as long as chunk is
 *       else if (event === 'end') { finish(parser.trailers); break }  // chunk.subarray(at) is the next request's
 *       else { answer(parser.fault); break }          // dead from here: answer, then close
 *     }
 *
 * To pause, stop calling; nothing is read ahead. Every message gives `head`, any number of `data`, `end`, also where
 * there is no body (then `end` consumes nothing, so call until `more` or `end` even if `at` is `chunk.length`).
 * The events and their contents do not depend on how the octets were cut into chunks, except where `data` is cut.
 * Time is linear in the octets; memory is bounded by the limits (an unfinished head or trailer line is copied, body
 * octets never are).
 */
export class RequestParser {
  readonly #limits: MessageLimits
  readonly #section: HeadSection
  readonly #body: BodyReader
  readonly #memo: HeadMemo<JudgedFields> | undefined
  /** Where the fields begin in the section, if the memo wants them; else -1. */
  #wantedAt = -1
  #phase: Phase = 'start-line'
  #emptyLines = 0
  /** Ends of the method and of the target in the section, once the start line is there. */
  #methodStart = 0
  #methodEnd = 0
  #targetEnd = 0
  #minorVersion = 1
  /** Octets of this message that earlier calls used up. */
  #octets = 0
  /** Offset in the chunk after the last event. */
  consumed = 0
  /** After `head`. */
  head: RequestHead = EMPTY_HEAD
  /** After `data`: never empty. */
  data: Uint8Array = NO_OCTETS
  /** After `end`: the trailer section, empty if there was none. */
  trailers: FieldList = []
  /** After `fault`, and from then on for every call. */
  fault: WireFault = requestFault('start-line', 0)
  /** True between messages, while no octet of the next start line has been read. */
  idle = true

  /** Parsers with the same limits may share a memo. */
  constructor(limits: MessageLimits, memo?: HeadMemo<JudgedFields>) {
    this.#limits = limits
    this.#section = new HeadSection()
    this.#body = new BodyReader(limits)
    this.#memo = memo
    this.#beginMessage()
  }

  /** Reads on at `chunk[start]`. Never throws. */
  read(chunk: Uint8Array, start: number): RequestEvent {
    switch (this.#phase) {
      case 'start-line':
      case 'fields':
        return this.#readHead(chunk, start)
      case 'body':
        return this.#readBody(chunk, start)
      case 'dead':
        this.consumed = start
        return 'fault'
    }
  }

  /**
   * The client's side has ended and every chunk was read: undefined if that was between messages (or a whole message
   * waits for its `end` to be asked for), else the fault `truncated`.
   */
  close(): WireFault | undefined {
    if (this.#phase === 'dead') return this.fault
    if (this.idle || (this.#phase === 'body' && this.#body.completeAtClose)) return undefined
    this.#refuse('truncated', this.#octets, this.consumed)
    return this.fault
  }

  #beginMessage(): void {
    const limits = this.#limits
    const startLine = limits.maxMethodBytes + limits.maxTargetBytes + START_LINE_EXTRA_BYTES
    this.#section.begin(startLine, startLine + limits.maxHeaderBytes)
    this.#phase = 'start-line'
    this.#emptyLines = 0
    this.#octets = 0
    this.idle = true
  }

  #readHead(chunk: Uint8Array, start: number): RequestEvent {
    const section = this.#section
    section.feed(chunk, start)
    for (;;) {
      const found = section.nextLine()
      if (found === 'more') {
        this.idle = section.end === 2 * this.#emptyLines
        section.keep()
        this.#octets = section.carried
        this.consumed = chunk.length
        return 'more'
      }
      this.idle = false
      if (found === 'fault') return this.#refuse(this.#sectionFault(), section.faultAt, start)
      if (this.#phase === 'fields') {
        if (section.lineEnd === section.lineStart) return this.#finishHead(start, undefined)
        if (!section.parseField()) return this.#refuse(section.faultCode, section.faultAt, start)
        if (section.fieldCount > this.#limits.maxHeaderCount) {
          return this.#refuse('header-count', section.lineStart, start)
        }
      } else if (section.lineEnd > section.lineStart) {
        const code = this.#parseStartLine()
        if (code !== undefined) return this.#refuse(code, section.lineStart, start)
        section.limit = section.scan + this.#limits.maxHeaderBytes
        this.#phase = 'fields'
        const known = this.#recall()
        if (known !== undefined) return this.#finishHead(start, known)
      } else {
        // RFC 9112 §2.2: at least one empty line before a request is to be ignored.
        this.#emptyLines++
        if (this.#emptyLines > 1) return this.#refuse('leading-bytes', section.lineStart, start)
      }
    }
  }

  /** Which limit an endless line passed. */
  #sectionFault(): WireFaultCode {
    const section = this.#section
    if (section.faultCode !== 'header-bytes' || this.#phase === 'fields') return section.faultCode
    const from = section.base + section.lineEnd + 2
    let at = from
    while (TOKEN_OCTET[section.buffer[at]] !== 0 && at < section.base + section.scan) at++
    if (at - from > this.#limits.maxMethodBytes) return 'method-long'
    if (section.buffer[at] !== SP) return 'start-line'
    const targetStart = ++at
    while (section.buffer[at] > SP && at < section.base + section.scan) at++
    return at - targetStart > this.#limits.maxTargetBytes ? 'target-long' : 'version'
  }

  /** `method SP request-target SP HTTP-version` with exactly these spaces (RFC 9112 §3). */
  #parseStartLine(): WireFaultCode | undefined {
    const section = this.#section
    const { buffer, base } = section
    const start = base + section.lineStart
    const end = base + section.lineEnd
    let at = start
    while (TOKEN_OCTET[buffer[at]] !== 0) at++
    if (at === start || buffer[at] !== SP) return 'method'
    if (at - start > this.#limits.maxMethodBytes) return 'method-long'
    this.#methodStart = section.lineStart
    this.#methodEnd = at - base
    const targetStart = ++at
    while (buffer[at] > SP && buffer[at] < 0x7f) at++
    if (at - targetStart > this.#limits.maxTargetBytes) return 'target-long'
    if (buffer[at] > 0x7f) return 'target-octet'
    if (at === targetStart || buffer[at] !== SP) return 'start-line'
    this.#targetEnd = at - base
    return this.#parseVersion(at + 1, end)
  }

  #parseVersion(at: number, end: number): WireFaultCode | undefined {
    const { buffer } = this.#section
    // H T T P / digit . digit
    const wellFormed =
      end - at === 8 &&
      buffer[at] === 0x48 &&
      buffer[at + 1] === 0x54 &&
      buffer[at + 2] === 0x54 &&
      buffer[at + 3] === 0x50 &&
      buffer[at + 4] === 0x2f &&
      isDigit(buffer[at + 5]) &&
      buffer[at + 6] === 0x2e &&
      isDigit(buffer[at + 7])
    if (!wellFormed) return 'version'
    if (buffer[at + 5] !== 0x31) return 'version-major'
    this.#minorVersion = buffer[at + 7] === 0x30 ? 0 : 1
    return undefined
  }

  /** What is known of the fields that begin now, all of which are in one chunk. */
  #recall(): JudgedFields | undefined {
    const memo = this.#memo
    const section = this.#section
    this.#wantedAt = -1
    if (memo === undefined || section.carried > 0 || this.#minorVersion === 0) return undefined
    const known = memo.find(section.buffer, section.base + section.scan)
    if (memo.wantsIt) this.#wantedAt = section.scan
    return known
  }

  #finishHead(start: number, known: JudgedFields | undefined): RequestEvent {
    const section = this.#section
    const text = section.decode()
    if (known !== undefined) section.scan += this.#memo?.length ?? 0
    const minorVersion = this.#minorVersion
    const method = text.slice(this.#methodStart, this.#methodEnd)
    if (method === 'CONNECT' || method === 'TRACE') return this.#refuse('method-refused', this.#methodStart, start)
    const targetText = text.slice(this.#methodEnd + 1, this.#targetEnd)
    const target = parseTarget(method, targetText)
    if (target.kind === 'fault') return this.#refuse(target.code, this.#methodEnd + 1, start)

    const judged = known ?? this.#judge(section.fields(text), start)
    if (judged === undefined) return 'fault'
    const { fields, found, framing } = judged
    if (framing.kind === 'length' && framing.bytes > this.#limits.maxBodyBytes) {
      return this.#refuse('body-bytes', this.#fieldOffset(found.contentLengthAt), start)
    }
    const expects = found.expectCount > 0 && minorVersion === 1
    if (expects && (found.expectCount > 1 || fields[found.expectAt + 1].toLowerCase() !== '100-continue')) {
      return this.#refuse('expectation', this.#fieldOffset(found.expectAt), start)
    }
    if (this.#wantedAt >= 0) this.#memo?.keep(section.buffer, section.base + this.#wantedAt, judged)

    const body: BodyFraming = framing.kind === 'absent' ? NO_BODY : framing.kind === 'chunked' ? CHUNKED_BODY : framing
    const hostValue = found.hostAt < 0 ? undefined : fields[found.hostAt + 1]
    this.head = {
      method,
      target: targetText,
      targetForm: target.kind,
      path: target.path,
      authority: target.kind === 'absolute' ? target.authority : hostValue,
      minorVersion,
      fields,
      isRepeated: known !== undefined,
      body,
      keepAlive: keepsAlive(found, minorVersion),
      expectContinue: expects && body.kind !== 'none',
      upgrade:
        found.upgradeAt >= 0 && found.connectionUpgrade && minorVersion === 1 ? fields[found.upgradeAt + 1] : undefined,
    }
    this.consumed = section.consumed(start)
    this.#octets = section.scan
    section.release()
    this.#body.begin(body)
    this.#phase = 'body'
    return 'head'
  }

  /** Undefined after a refusal. */
  #judge(fields: FieldList, start: number): JudgedFields | undefined {
    const minorVersion = this.#minorVersion
    const found = gatherFraming(fields)
    const hostCode = judgeHost(found, fields, minorVersion)
    if (hostCode !== undefined) {
      this.#refuse(hostCode, this.#fieldOffset(found.hostAt), start)
      return undefined
    }
    const framing = judgeFraming(found, fields, minorVersion)
    if (framing.kind !== 'fault') return { fields, found, framing }
    this.#refuse(framing.code, this.#fieldOffset(framing.fieldAt), start)
    return undefined
  }

  #readBody(chunk: Uint8Array, start: number): RequestEvent {
    const body = this.#body
    const event = body.read(chunk, start)
    if (event === 'fault') return this.#refuse(body.faultCode, this.#octets + body.faultAt, start)
    this.consumed = body.consumed
    if (event === 'end') {
      this.trailers = body.trailers
      this.#beginMessage()
      return 'end'
    }
    this.#octets += body.consumed - start
    if (event === 'data') this.data = body.data
    return event
  }

  /** Offset of a header line in the message; 0 if there is no such line. */
  #fieldOffset(fieldAt: number): number {
    return fieldAt < 0 ? 0 : this.#section.marks[2 * fieldAt]
  }

  #refuse(code: WireFaultCode, at: number, start: number): 'fault' {
    this.fault = requestFault(code, at)
    this.#phase = 'dead'
    this.consumed = start
    this.#section.release()
    return 'fault'
  }
}

/** RFC 9112 §3.2. Host is judged also where an absolute target overrules it. */
function judgeHost(found: FramingFields, fields: FieldList, minorVersion: number): WireFaultCode | undefined {
  if (found.hostCount > 1) return 'host-repeated'
  if (found.hostCount === 0) return minorVersion === 0 ? undefined : 'host-missing'
  return parseAuthority(fields[found.hostAt + 1]) === undefined ? 'host-invalid' : undefined
}

function isDigit(octet: number): boolean {
  return octet >= 0x30 && octet <= 0x39
}
