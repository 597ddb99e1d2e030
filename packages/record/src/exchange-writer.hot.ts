/**
 * Encodes exchanges straight into MessagePack, in the form of `toWire`, taking secrets out on the way.
 *
 * PERF: a codec for any value visits each property by name and each string by itself; here the keys are bytes that are
 * there already, and header lines that are the same as in an exchange shortly before are copied with their redacted bytes,
 * without being looked at again. In place, in a proxy that serves 1 KB, 9 us instead of 26 (Node 20.20, 2026-12-01, loaded
 * machine). What exchanges of a route have in common is copied in one piece, and only its numbers are written anew; header
 * lines that differ each time are not remembered each time: from the end of an exchange to the ring of the live feed and the
 * segment 7.1 to 7.6 us instead of 10.1 to 11.3, in turn (Node 20.20; Bun 1.4.5 6.1 instead of 9.9; the same day and load).
 */
import type { ExchangeEvent, RewriteNotes } from '@prexy/events/exchange'
import type { FieldDelta } from '@prexy/events/field-delta'
import type { ExchangeRecord, RecordedBodies, WebSocketCounts } from '@prexy/events/recorded-event'
import type { Redactor } from '@prexy/events/redact'
import type { FieldList } from '@prexy/http/fields'
import { encode, Encoder } from '@prexy/msgpack/encode'

/** A head: `fields` as they came, `sent` what went on in their place. */
export interface RecordedHead {
  readonly minorVersion: number | undefined
  readonly status: number | undefined
  readonly fields: FieldList
  readonly sent: FieldDelta | undefined
}

export interface ExchangeParts {
  readonly kind: ExchangeRecord['kind']
  readonly event: ExchangeEvent
  readonly request: RecordedHead | undefined
  readonly response: RecordedHead | undefined
  readonly webSocket: WebSocketCounts | undefined
  readonly bodies: RecordedBodies | undefined
}

const MIN_BYTES = 65_536
/** A buffer that grew beyond this is given up. */
const MAX_KEPT_BYTES = 1024 * 1024
/** Longer strings are written by the runtime. */
const SHORT_UNITS = 40
/** Longer pieces are copied by the runtime. */
const SHORT_COPY = 64
/** Heads that are remembered of each kind, by their number of lines. */
const MEMO_SLOTS = 8
/** Longer heads are not remembered. */
const MAX_MEMO_BYTES = 16_384

/** The lines of a list as they were encoded last. */
interface Memo {
  /** Raw: names and values, or numbers. */
  readonly lines: (string | number)[]
  /** Where each line's bytes begin, at the index of its first part, and behind the last one where they end. */
  readonly ends: number[]
  bytes: Uint8Array
  /** How often it was not brought up to date for few lines. */
  spared: number
}

/** Of a part that no line begins with. */
const NO_LINE = -1

/** So many lines may be others than those that are remembered … */
const MAX_OTHERS = 3
/** … for so many heads. */
const MAX_SPARED = 16

/** What exchanges have in common, encoded, with places for their numbers. */
interface Form {
  readonly run: string
  readonly kind: ExchangeParts['kind']
  /** Of which the texts count, and what is undefined. */
  readonly event: Pick<
    ExchangeEvent,
    | 'version'
    | 'outcome'
    | 'method'
    | 'scheme'
    | 'route'
    | 'upstream'
    | 'upstreamAddress'
    | 'treatment'
    | 'timings'
    | 'status'
    | 'upstreamAttempts'
  >
  readonly keys: number
  readonly bytes: Uint8Array
  /** Where each number begins, in the order of `gather`. */
  readonly slots: Int32Array
}

/** Forms that are remembered; the one that is found last goes. */
const MAX_FORMS = 8
/** Keys of every exchange, without `target`. */
const COMMON_KEYS = 15
/** The time is the one number that is no whole one of 32 bits. */
const START_VALUE = 0

/** The numbers of an exchange, in the order in which they are written. Returns how many. */
function gather(values: number[], sequence: number, event: ExchangeEvent): number {
  const { timings, treatment } = event
  values[0] = event.startedAtMs
  values[1] = sequence
  values[2] = event.exchangeId
  values[3] = event.connectionId
  values[4] = event.requestNumber
  values[5] = event.clientInBytes
  values[6] = event.clientOutBytes
  values[7] = event.upstreamOutBytes
  values[8] = event.upstreamInBytes
  values[9] = timings.endUs
  let count = 10
  if (timings.requestHeadUs !== undefined) values[count++] = timings.requestHeadUs
  if (timings.upstreamAskedUs !== undefined) values[count++] = timings.upstreamAskedUs
  if (timings.upstreamConnectedUs !== undefined) values[count++] = timings.upstreamConnectedUs
  if (timings.responseHeadUs !== undefined) values[count++] = timings.responseHeadUs
  if (timings.rewriteUs !== undefined) values[count++] = timings.rewriteUs
  if (event.status !== undefined) values[count++] = event.status
  if (event.upstreamAttempts !== undefined) values[count++] = event.upstreamAttempts
  if (treatment?.kind !== 'rewritten') return count
  const { hits, overflows, peakHeldBytes, inBytes, outBytes } = treatment.stats
  values[count++] = overflows
  values[count++] = peakHeldBytes
  values[count++] = inBytes
  values[count++] = outBytes
  for (let rule = 0; rule < hits.length; rule++) values[count++] = hits[rule]
  return count
}

function formOf(
  run: string,
  kind: ExchangeParts['kind'],
  event: ExchangeEvent,
  keys: number,
  bytes: Uint8Array,
  slots: readonly number[],
): Form {
  const { version, outcome, method, scheme, route, upstream, upstreamAddress, treatment, timings } = event
  const { status, upstreamAttempts } = event
  const texts = { version, outcome, method, scheme, route, upstream, upstreamAddress }
  return {
    run,
    kind,
    event: { ...texts, treatment, timings, status, upstreamAttempts },
    keys,
    bytes: Uint8Array.from(bytes),
    slots: Int32Array.from(slots),
  }
}

/** `count`: how many numbers the exchange has. */
function fits(form: Form, run: string, kind: ExchangeParts['kind'], event: ExchangeEvent, count: number): boolean {
  const like = form.event
  return (
    form.slots.length === count &&
    like.method === event.method &&
    like.route === event.route &&
    like.outcome === event.outcome &&
    like.upstream === event.upstream &&
    like.upstreamAddress === event.upstreamAddress &&
    like.scheme === event.scheme &&
    form.kind === kind &&
    form.run === run &&
    like.version === event.version &&
    isSet(like.status) === isSet(event.status) &&
    isSet(like.upstreamAttempts) === isSet(event.upstreamAttempts) &&
    isSet(like.timings.requestHeadUs) === isSet(event.timings.requestHeadUs) &&
    isSet(like.timings.upstreamAskedUs) === isSet(event.timings.upstreamAskedUs) &&
    isSet(like.timings.upstreamConnectedUs) === isSet(event.timings.upstreamConnectedUs) &&
    isSet(like.timings.responseHeadUs) === isSet(event.timings.responseHeadUs) &&
    isSet(like.timings.rewriteUs) === isSet(event.timings.rewriteUs) &&
    isTreatedAlike(like.treatment, event.treatment)
  )
}

function isSet(value: number | undefined): boolean {
  return value !== undefined
}

function isTreatedAlike(like: ExchangeEvent['treatment'], treatment: ExchangeEvent['treatment']): boolean {
  if (like === undefined || treatment === undefined) return like === treatment
  if (like.kind === 'rewritten') {
    if (treatment.kind !== 'rewritten' || treatment.notes !== undefined) return false
    return (
      like.decode === treatment.decode &&
      like.encode === treatment.encode &&
      like.stats.hits.length === treatment.stats.hits.length
    )
  }
  if (treatment.kind === 'rewritten' || like.kind !== treatment.kind || like.reason !== treatment.reason) return false
  const likeEncode = like.kind === 'passed' ? like.encode : undefined
  return likeEncode === (treatment.kind === 'passed' ? treatment.encode : undefined)
}

export class ExchangeWriter {
  readonly #redactor: Redactor | undefined
  readonly #forms: Form[] = []
  /** The numbers of the exchange, and where they were written. */
  readonly #values: number[] = []
  readonly #slots: number[] = []
  #bytes: Buffer = Buffer.allocUnsafeSlow(MIN_BYTES)
  #pos = 0
  /** For what few exchanges have. */
  readonly #encoder = new Encoder({ ignoreUndefined: true })
  readonly #memos: readonly (readonly Memo[])[] = [0, 1, 2, 3].map(() =>
    Array.from({ length: MEMO_SLOTS }, () => ({ lines: [], ends: [], bytes: new Uint8Array(0), spared: 0 })),
  )

  constructor(redactor: Redactor | undefined) {
    this.#redactor = redactor
  }

  /** The encoded event, in the writer's memory: valid until the next call. */
  write(run: string, sequence: number, parts: ExchangeParts): Uint8Array {
    const { event, request, response, webSocket, bodies } = parts
    const redactor = this.#redactor
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(MIN_BYTES)
    this.#pos = 0
    let keys = this.#common(run, sequence, parts)
    const host = event.host === undefined || redactor === undefined ? event.host : redactor.host(event.host)
    const requestId =
      event.requestId === undefined || redactor === undefined ? event.requestId : redactor.token(event.requestId)
    const detail = event.detail === undefined || redactor === undefined ? event.detail : redactor.text(event.detail)
    this.#key(KEYS.target)
    this.#text(redactor === undefined ? event.target : redactor.target(event.target))
    keys++
    keys += this.#optionalText(KEYS.client, event.client)
    keys += this.#optionalText(KEYS.host, host)
    keys += this.#optionalText(KEYS.requestId, requestId)
    keys += this.#optionalText(KEYS.traceparent, event.traceparent)
    keys += this.#optionalText(KEYS.detail, detail)
    keys += this.#optionalHead(KEYS.request, request, 0)
    keys += this.#optionalHead(KEYS.response, response, 2)
    keys += this.#other(KEYS.fieldEdits, event.fieldEdits)
    keys += this.#other(KEYS.requestTreatment, event.requestTreatment)
    keys += this.#other(KEYS.shadow, event.shadow)
    keys += this.#other(KEYS.comparison, event.comparison)
    keys += this.#other(KEYS.webSocket, webSocket)
    const safe =
      bodies === undefined || redactor === undefined
        ? bodies
        : redactor.bodies(bodies, request?.fields, response?.fields)
    keys += this.#other(KEYS.bodies, safe)
    this.#endMap(0, keys)
    return this.#bytes.subarray(0, this.#pos)
  }

  /** Begins the map with what most exchanges of a route have in common. Returns how many keys that is. */
  #common(run: string, sequence: number, { kind, event }: ExchangeParts): number {
    const forms = this.#forms
    const values = this.#values
    const count = gather(values, sequence, event)
    for (let at = 0; at < forms.length; at++) {
      const form = forms[at]
      if (!fits(form, run, kind, event, count)) continue
      if (at > 0) {
        // What comes more often is found sooner.
        forms[at] = forms[at - 1]
        forms[at - 1] = form
      }
      if (!this.#fill(form, count)) break
      return form.keys
    }
    this.#slots.length = 0
    const keys = this.#writeCommon(run, kind, event)
    const isUsual = event.treatment?.kind !== 'rewritten' || event.treatment.notes === undefined
    if (isUsual && this.#slots.length === count) {
      if (forms.length === MAX_FORMS) forms.pop()
      forms.push(formOf(run, kind, event, keys, this.#bytes.slice(0, this.#pos), this.#slots))
    }
    return keys
  }

  /** Copies the form and puts the numbers into it; false if one needs another form of number. */
  #fill({ bytes, slots }: Form, count: number): boolean {
    const values = this.#values
    this.#reserve(bytes.length)
    const target = this.#bytes
    target.set(bytes, 0)
    target.writeDoubleBE(values[START_VALUE], slots[START_VALUE] + 1)
    for (let index = 0; index < count; index++) {
      if (index === START_VALUE) continue
      const value = values[index]
      if (!(value >= 0 && value < 0x1_0000_0000) || !Number.isInteger(value)) return false
      const at = slots[index] + 1
      target[at] = value >>> 24
      target[at + 1] = value >>> 16
      target[at + 2] = value >>> 8
      target[at + 3] = value
    }
    this.#pos = bytes.length
    return true
  }

  /** The next of the values, wide enough for any that it may be in another exchange. */
  #slot(index: number): number {
    const value = this.#values[index]
    this.#reserve(9)
    const bytes = this.#bytes
    const pos = this.#pos
    const isWide = index === START_VALUE || !(value >= 0 && value < 0x1_0000_0000) || !Number.isInteger(value)
    if (isWide) {
      bytes[pos] = 0xcb
      bytes.writeDoubleBE(value, pos + 1)
      this.#pos = pos + 9
    } else {
      bytes[pos] = 0xce
      bytes.writeUInt32BE(value, pos + 1)
      this.#pos = pos + 5
    }
    // A form has no place for a number that is wide by chance.
    if (!isWide || index === START_VALUE) this.#slots.push(pos)
    return index + 1
  }

  /** In the order of `gather`. */
  #writeCommon(run: string, kind: ExchangeParts['kind'], event: ExchangeEvent): number {
    this.#pos = 0
    this.#beginMap()
    let keys = COMMON_KEYS
    let value = 0
    this.#key(KEYS.kind)
    this.#text(kind)
    this.#key(KEYS.run)
    this.#text(run)
    this.#key(KEYS.version)
    this.#number(event.version)
    this.#key(KEYS.outcome)
    this.#text(event.outcome)
    this.#key(KEYS.method)
    this.#text(this.#redactor === undefined ? event.method : this.#redactor.token(event.method))
    this.#key(KEYS.startedAtMs)
    value = this.#slot(value)
    this.#key(KEYS.sequence)
    value = this.#slot(value)
    this.#key(KEYS.exchangeId)
    value = this.#slot(value)
    this.#key(KEYS.connectionId)
    value = this.#slot(value)
    this.#key(KEYS.requestNumber)
    value = this.#slot(value)
    this.#key(KEYS.clientInBytes)
    value = this.#slot(value)
    this.#key(KEYS.clientOutBytes)
    value = this.#slot(value)
    this.#key(KEYS.upstreamOutBytes)
    value = this.#slot(value)
    this.#key(KEYS.upstreamInBytes)
    value = this.#slot(value)
    this.#key(KEYS.timings)
    const { timings } = event
    const timingsAt = this.#beginMap()
    this.#key(KEYS.endUs)
    value = this.#slot(value)
    const others = value
    value = this.#optionalSlot(KEYS.requestHeadUs, timings.requestHeadUs, value)
    value = this.#optionalSlot(KEYS.upstreamAskedUs, timings.upstreamAskedUs, value)
    value = this.#optionalSlot(KEYS.upstreamConnectedUs, timings.upstreamConnectedUs, value)
    value = this.#optionalSlot(KEYS.responseHeadUs, timings.responseHeadUs, value)
    value = this.#optionalSlot(KEYS.rewriteUs, timings.rewriteUs, value)
    this.#endMap(timingsAt, 1 + value - others)
    const before = value
    value = this.#optionalSlot(KEYS.status, event.status, value)
    value = this.#optionalSlot(KEYS.upstreamAttempts, event.upstreamAttempts, value)
    keys += value - before
    keys += this.#optionalText(KEYS.scheme, event.scheme)
    keys += this.#optionalText(KEYS.route, event.route)
    keys += this.#optionalText(KEYS.upstream, event.upstream)
    keys += this.#optionalText(KEYS.upstreamAddress, event.upstreamAddress)
    keys += this.#treatment(event.treatment, value)
    return keys
  }

  #optionalSlot(key: Uint8Array, value: number | undefined, index: number): number {
    if (value === undefined) return index
    this.#key(key)
    return this.#slot(index)
  }

  #treatment(treatment: ExchangeEvent['treatment'], firstValue: number): number {
    if (treatment === undefined) return 0
    this.#key(KEYS.treatment)
    const count = this.#beginMap()
    this.#key(KEYS.kind)
    this.#text(treatment.kind)
    if (treatment.kind !== 'rewritten') {
      this.#key(KEYS.reason)
      this.#text(treatment.reason)
      const encode = treatment.kind === 'passed' ? treatment.encode : undefined
      this.#endMap(count, 2 + this.#optionalText(KEYS.encode, encode))
      return 1
    }
    this.#key(KEYS.decode)
    this.#text(treatment.decode)
    this.#key(KEYS.encode)
    this.#text(treatment.encode)
    this.#key(KEYS.stats)
    let value = firstValue
    const inner = this.#beginMap()
    this.#key(KEYS.overflows)
    value = this.#slot(value)
    this.#key(KEYS.peakHeldBytes)
    value = this.#slot(value)
    this.#key(KEYS.inBytes)
    value = this.#slot(value)
    this.#key(KEYS.outBytes)
    value = this.#slot(value)
    const { hits } = treatment.stats
    this.#key(KEYS.hits)
    this.#beginArray(hits.length)
    for (let rule = 0; rule < hits.length; rule++) value = this.#slot(value)
    this.#endMap(inner, 5)
    this.#endMap(count, 4 + this.#notes(treatment.notes))
    return 1
  }

  #notes(notes: RewriteNotes | undefined): number {
    if (notes === undefined) return 0
    const entries: readonly (readonly [string, unknown])[] = Object.entries(notes)
    if (entries.length === 0) return 0
    this.#key(KEYS.notes)
    const count = this.#beginMap()
    for (const [name, value] of entries) {
      this.#text(name)
      if (typeof value === 'string') this.#text(value)
      else if (typeof value === 'number') this.#number(value)
      else this.#boolean(value === true)
    }
    this.#endMap(count, entries.length)
    return 1
  }

  #boolean(value: boolean): void {
    this.#reserve(1)
    this.#bytes[this.#pos++] = value ? 0xc3 : 0xc2
  }

  #optionalHead(key: Uint8Array, head: RecordedHead | undefined, memo: number): number {
    if (head === undefined) return 0
    this.#key(key)
    const count = this.#beginMap()
    let keys =
      this.#optionalNumber(KEYS.minorVersion, head.minorVersion) + this.#optionalNumber(KEYS.status, head.status)
    this.#key(KEYS.fields)
    this.#lines(head.fields, memo)
    keys++
    if (head.sent !== undefined) {
      this.#key(KEYS.sent)
      this.#lines(head.sent, memo + 1)
      keys++
    }
    this.#endMap(count, keys)
    return 1
  }

  /** Fields, or a delta: a line is a number, or a name and a value. */
  #lines(lines: readonly (string | number)[], memoKind: number): void {
    const { length } = lines
    this.#beginArray(length)
    const memo = this.#memos[memoKind][length % MEMO_SLOTS]
    const known = memo.lines
    const base = this.#pos
    let others = 0
    // Lines that are the same as last time are copied in one piece with those before them.
    let from = 0
    let at = 0
    while (at < length) {
      const name = lines[at]
      const isNumber = typeof name === 'number'
      // What is a value there may be a name here: its bytes are those of a value, and redacted as one.
      if (known[at] === name && memo.ends[at] >= 0 && (isNumber || known[at + 1] === lines[at + 1])) {
        at += isNumber ? 1 : 2
        continue
      }
      if (from < at) this.#copy(memo.bytes, memo.ends[from], memo.ends[at])
      if (isNumber) {
        this.#number(name)
        at++
      } else {
        const value = String(lines[at + 1])
        this.#text(name)
        this.#text(this.#redactor === undefined ? value : this.#redactor.value(name, value))
        at += 2
      }
      from = at
      others++
    }
    if (from < at) this.#copy(memo.bytes, memo.ends[from], memo.ends[at])
    // An identifier or a time is another one in each exchange: what is remembered would be of no use for the next.
    if (known.length === length && (others === 0 || (others <= MAX_OTHERS && ++memo.spared < MAX_SPARED))) return
    memo.spared = 0
    this.#remember(memo, lines, base)
  }

  #remember(memo: Memo, lines: readonly (string | number)[], base: number): void {
    const bytes = this.#pos - base
    memo.lines.length = 0
    memo.ends.length = 0
    if (bytes > MAX_MEMO_BYTES) return
    if (memo.bytes.length < bytes) memo.bytes = new Uint8Array(Math.min(MAX_MEMO_BYTES, 2 * bytes))
    memo.bytes.set(this.#bytes.subarray(base, this.#pos))
    let end = 0
    let isValue = false
    for (let at = 0; at < lines.length; at++) {
      const part = lines[at]
      memo.lines.push(part)
      memo.ends.push(isValue ? NO_LINE : end)
      end = skipPart(memo.bytes, end)
      isValue = !isValue && typeof part !== 'number'
    }
    memo.ends.push(end)
  }

  #copy(from: Uint8Array, start: number, end: number): void {
    const length = end - start
    if (length === 0) return
    this.#reserve(length)
    const bytes = this.#bytes
    if (length <= SHORT_COPY) {
      let pos = this.#pos
      for (let at = start; at < end; at++) bytes[pos++] = from[at]
      this.#pos = pos
      return
    }
    bytes.set(start === 0 && end === from.length ? from : from.subarray(start, end), this.#pos)
    this.#pos += length
  }

  /** A value that is not in every exchange; `undefined` and empty maps are left out. Returns how many keys were written. */
  #other(key: Uint8Array, value: object | undefined): number {
    if (value === undefined) return 0
    const octets = this.#encoder.encodeSharedRef(value)
    if (octets.length === 1) return 0
    this.#key(key)
    this.#copy(octets, 0, octets.length)
    return 1
  }

  #optionalText(key: Uint8Array, text: string | undefined): number {
    if (text === undefined) return 0
    this.#key(key)
    this.#text(text)
    return 1
  }

  #optionalNumber(key: Uint8Array, value: number | undefined): number {
    if (value === undefined) return 0
    this.#key(key)
    this.#number(value)
    return 1
  }

  #key(key: Uint8Array): void {
    this.#reserve(key.length)
    const bytes = this.#bytes
    let pos = this.#pos
    for (let at = 0; at < key.length; at++) bytes[pos++] = key[at]
    this.#pos = pos
  }

  #text(text: string): void {
    const { length } = text
    this.#reserve(3 * length + 5)
    const bytes = this.#bytes
    const start = this.#pos
    if (length < SHORT_UNITS) {
      let pos = start
      if (length < 32) {
        bytes[pos++] = 0xa0 | length
      } else {
        bytes[pos++] = 0xd9
        bytes[pos++] = length
      }
      let seen = 0
      for (let at = 0; at < length; at++) {
        const unit = text.charCodeAt(at)
        seen |= unit
        bytes[pos++] = unit
      }
      if (seen < 0x80) {
        this.#pos = pos
        return
      }
    }
    const written = bytes.write(text, start + 5, 'utf8')
    bytes[start] = 0xdb
    bytes.writeUInt32BE(written, start + 1)
    this.#pos = start + 5 + written
  }

  #number(value: number): void {
    this.#reserve(9)
    const bytes = this.#bytes
    const pos = this.#pos
    if (value >= 0 && value < 0x80 && Number.isInteger(value)) {
      bytes[pos] = value
      this.#pos = pos + 1
    } else if (value >= 0 && value < 0x1_0000_0000 && Number.isInteger(value)) {
      bytes[pos] = 0xce
      bytes[pos + 1] = value >>> 24
      bytes[pos + 2] = value >>> 16
      bytes[pos + 3] = value >>> 8
      bytes[pos + 4] = value
      this.#pos = pos + 5
    } else {
      bytes[pos] = 0xcb
      bytes.writeDoubleBE(value, pos + 1)
      this.#pos = pos + 9
    }
  }

  #beginArray(length: number): void {
    this.#reserve(5)
    const bytes = this.#bytes
    bytes[this.#pos] = 0xdd
    bytes.writeUInt32BE(length, this.#pos + 1)
    this.#pos += 5
  }

  /** Returns where the number of keys goes, which is known at the end. */
  #beginMap(): number {
    this.#reserve(3)
    const at = this.#pos
    this.#bytes[at] = 0xde
    this.#pos += 3
    return at
  }

  #endMap(at: number, keys: number): void {
    this.#bytes[at + 1] = keys >>> 8
    this.#bytes[at + 2] = keys
  }

  #reserve(bytes: number): void {
    const needed = this.#pos + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length))
    larger.set(this.#bytes.subarray(0, this.#pos))
    this.#bytes = larger
  }
}

/** The end of a string or a number that this writer wrote. */
function skipPart(bytes: Uint8Array, at: number): number {
  const head = bytes[at]
  if (head < 0x80) return at + 1
  if (head < 0xc0) return at + 1 + (head & 0x1f)
  if (head === 0xd9) return at + 2 + bytes[at + 1]
  if (head === 0xce) return at + 5
  if (head === 0xcb) return at + 9
  return at + 5 + ((bytes[at + 1] << 24) | (bytes[at + 2] << 16) | (bytes[at + 3] << 8) | bytes[at + 4])
}

/** Encoded. Does not compile unless every field that an exchange may have is there, so that none is forgotten. */
const KEYS = {
  kind: encode('kind'),
  run: encode('run'),
  sequence: encode('sequence'),
  version: encode('version'),
  startedAtMs: encode('startedAtMs'),
  exchangeId: encode('exchangeId'),
  connectionId: encode('connectionId'),
  requestNumber: encode('requestNumber'),
  timings: encode('timings'),
  client: encode('client'),
  scheme: encode('scheme'),
  method: encode('method'),
  host: encode('host'),
  target: encode('target'),
  status: encode('status'),
  route: encode('route'),
  upstream: encode('upstream'),
  upstreamAddress: encode('upstreamAddress'),
  upstreamAttempts: encode('upstreamAttempts'),
  requestId: encode('requestId'),
  traceparent: encode('traceparent'),
  clientInBytes: encode('clientInBytes'),
  clientOutBytes: encode('clientOutBytes'),
  upstreamOutBytes: encode('upstreamOutBytes'),
  upstreamInBytes: encode('upstreamInBytes'),
  outcome: encode('outcome'),
  detail: encode('detail'),
  treatment: encode('treatment'),
  fieldEdits: encode('fieldEdits'),
  requestTreatment: encode('requestTreatment'),
  shadow: encode('shadow'),
  comparison: encode('comparison'),
  request: encode('request'),
  response: encode('response'),
  webSocket: encode('webSocket'),
  bodies: encode('bodies'),
  requestHeadUs: encode('requestHeadUs'),
  upstreamAskedUs: encode('upstreamAskedUs'),
  upstreamConnectedUs: encode('upstreamConnectedUs'),
  responseHeadUs: encode('responseHeadUs'),
  rewriteUs: encode('rewriteUs'),
  endUs: encode('endUs'),
  reason: encode('reason'),
  decode: encode('decode'),
  encode: encode('encode'),
  stats: encode('stats'),
  notes: encode('notes'),
  hits: encode('hits'),
  overflows: encode('overflows'),
  peakHeldBytes: encode('peakHeldBytes'),
  inBytes: encode('inBytes'),
  outBytes: encode('outBytes'),
  minorVersion: encode('minorVersion'),
  fields: encode('fields'),
  sent: encode('sent'),
} satisfies Readonly<Record<keyof ExchangeRecord, Uint8Array>> & Readonly<Record<string, Uint8Array>>
