/** Recordings of prexy as events: exchanges as requests, with heads and bodies, and what applications recorded beside them. */
import { eventName, type ApplicationRecord, type ExchangeRecord, type RecordedBody } from '@prexy/events/recorded-event'
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import { type FieldList, fieldValue, joinedValue } from '@prexy/http/fields'
import { decodeMulti } from '@prexy/msgpack/decode'
import { DecodeError } from '@prexy/msgpack/errors'
import { textOf } from '@prexy/record/event-json'
import { FrameScanner } from '@prexy/record/frames'
import { decodeHeader } from '@prexy/record/segment-header'
import type { FieldScalar, FieldValue, LogSource } from '@prexy/sigma/event'
import type { HuntEvent } from './hunt-event.ts'
import { noFacts, requestEvent } from './web-log.ts'

export interface RecordingHandler {
  /** `offset` is that of the frame that the event is in; `number` is the event's in the segment, from 1. */
  onEvent(event: HuntEvent, number: number): void
  onDamage(offset: number, reason: string): void
  /** A version that cannot be read. */
  onRefusal(reason: string): void
}

const DAMAGES = {
  cut: 'the segment ends within a frame, as a writer that was killed leaves it',
  mark: 'bytes that are no frame',
  payload: 'a frame whose checksum is wrong',
} as const

/** Takes the bytes of a segment. */
export class RecordingReader {
  readonly #handler: RecordingHandler
  readonly #scanner: FrameScanner
  #events: number

  constructor(handler: RecordingHandler) {
    this.#handler = handler
    this.#scanner = new FrameScanner((payload) => {
      const header = decodeHeader(payload)
      if (typeof header !== 'string') return header.salt
      handler.onRefusal(`it ${header}`)
      return undefined
    }, 0)
    this.#events = 0
  }

  write(chunk: Uint8Array): void {
    // The scanner may keep what it is given.
    for (const frame of this.#scanner.push(chunk.slice())) {
      if (frame.kind === 'damage') this.#handler.onDamage(frame.offset, DAMAGES[frame.reason])
      else if (frame.kind === 'events') this.#read(frame.payload, frame.offset)
    }
  }

  end(): void {
    for (const damage of this.#scanner.end()) this.#handler.onDamage(damage.offset, DAMAGES[damage.reason])
  }

  #read(payload: Uint8Array, offset: number): void {
    try {
      for (const value of decodeMulti(payload)) {
        const event = parseRecordedEvent(value)
        this.#events++
        if (event === undefined) this.#handler.onDamage(offset, 'a value that is no event')
        else if (event.kind === 'application') this.#handler.onEvent(applicationEvent(event), this.#events)
        else if (event.kind !== 'gap') this.#handler.onEvent(exchangeEvent(event), this.#events)
      }
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.#handler.onDamage(offset, error.message)
    }
  }
}

/** A recorded exchange as rules see it; fields of our own begin with `prexy-`. */
export function exchangeEvent(exchange: ExchangeRecord): HuntEvent {
  const { request, response, bodies, treatment, timings } = exchange
  const facts = noFacts()
  const heads: FieldList = request?.fields ?? []
  const answer: FieldList = response?.sentFields ?? response?.fields ?? []
  facts.time = exchange.startedAtMs
  facts.method = exchange.method
  facts.target = exchange.target
  facts.host = exchange.host
  facts.scheme = exchange.scheme
  facts.version = request === undefined ? undefined : `HTTP/1.${request.minorVersion}`
  facts.userAgent = fieldValue(heads, 'user-agent')
  facts.referer = fieldValue(heads, 'referer')
  facts.cookie = joinedValue(heads, 'cookie')
  facts.contentType = fieldValue(heads, 'content-type')
  facts.username = basicUser(fieldValue(heads, 'authorization'))
  facts.clientAddress = exchange.client
  const server = /^\[?(.*?)\]?:(\d+)$/.exec(exchange.upstreamAddress ?? exchange.upstream ?? '')
  facts.serverAddress = server?.[1]
  facts.serverPort = server === null ? undefined : Number(server[2])
  facts.status = exchange.status
  facts.requestBytes = exchange.clientInBytes
  facts.responseBytes = exchange.clientOutBytes
  facts.durationMs = timings.endUs / 1_000
  const fields = new Map<string, FieldValue>()
  const add = (name: string, value: FieldScalar | undefined): void => {
    if (value !== undefined) fields.set(name, value)
  }
  const requestBody = bodyText(bodies?.request)
  const responseBody = bodyText(bodies?.responseSent ?? bodies?.response)
  add('cs-body', requestBody)
  add('sc-body', responseBody)
  add('sc-content-type', fieldValue(answer, 'content-type'))
  add('sc-location', fieldValue(answer, 'location'))
  add('x-forwarded-for', joinedValue(heads, 'x-forwarded-for'))
  add('prexy-event', eventName(exchange))
  add('prexy-route', exchange.route)
  add('prexy-outcome', exchange.outcome)
  add('prexy-treatment', treatment?.kind)
  if (treatment?.kind === 'rewritten') {
    add(
      'prexy-replacements',
      treatment.stats.hits.reduce((sum, hits) => sum + hits, 0),
    )
  }
  facts.fields = fields
  facts.text = textOfExchange(exchange, heads, requestBody, responseBody)
  facts.recordId = eventName(exchange)
  return requestEvent(facts, 'recording')
}

function bodyText(body: RecordedBody | undefined): string | undefined {
  return body?.octets === undefined ? undefined : textOf(body.octets)
}

/** The name of Basic authentication; recordings have it only where secrets are not taken out. */
function basicUser(authorization: string | undefined): string | undefined {
  const match = /^basic ([A-Za-z0-9+/=]{1,4096})$/i.exec(authorization ?? '')
  if (match === null) return undefined
  const [name, ...rest] = fromBase64(match[1]).split(':')
  return rest.length === 0 || name === '' ? undefined : name
}

/** Without the runtime's Buffer: recordings are hunted in in browsers, too. Empty for what is no base64. */
function fromBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0)))
  } catch {
    return ''
  }
}

function textOfExchange(
  { method, target, status, detail }: ExchangeRecord,
  heads: FieldList,
  requestBody: string | undefined,
  responseBody: string | undefined,
): string {
  const lines = [`${method} ${target}`]
  for (let index = 0; index + 1 < heads.length; index += 2) lines.push(`${heads[index]}: ${heads[index + 1]}`)
  if (status !== undefined) lines.push(`Status: ${status}`)
  for (const part of [detail, requestBody, responseBody]) if (part !== undefined) lines.push(part)
  return lines.join('\n')
}

/** An event of an application as rules see it. */
export function applicationEvent(record: ApplicationRecord): HuntEvent {
  const fields = new Map<string, FieldValue>(Object.entries(record.data ?? {}))
  for (const [name, value] of Object.entries({
    name: record.name,
    message: record.message,
    level: record.level,
    type: record.type,
    duration: record.durationMs,
    requestId: record.requestId,
    traceId: record.traceId,
  })) {
    if (value !== undefined && !fields.has(name)) fields.set(name, value)
  }
  const entries = [...fields].flatMap(([name, value]): [string, FieldScalar][] =>
    typeof value === 'object' && value !== null ? [] : [[name, value]],
  )
  return {
    sources: [{ category: 'application', service: record.source.toLowerCase() } satisfies LogSource],
    time: record.startedAtMs,
    ticks: 0,
    host: '',
    channel: `recording/${record.source}`,
    eventId: undefined,
    recordId: eventName(record),
    provider: record.source,
    isRecovered: false,
    kind: 'other',
    get: (field) => fields.get(field),
    text: () => entries.map(([name, value]) => `${name}: ${String(value)}`).join('\n'),
    entries: () => entries,
    fieldNames: () => fields.keys(),
  }
}
