/**
 * HTTP Archive 1.2 (http://www.softwareishard.com/blog/har-12-spec/): recorded exchanges for other tools, and what browsers
 * and other proxies saved as recorded exchanges.
 *
 * An entry says what the client sent and got. What the upstream sent, the rules' hits and everything else that HAR has no
 * word for stands under `_prexy`, as the specification asks of custom fields.
 */
import { decodeLatin1 } from '@prexy/bytes/latin1'
import { encodeUtf8 } from '@prexy/bytes/utf8'
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import type { ExchangeRecord, RecordedBody } from '@prexy/events/recorded-event'
import type { FieldList } from '@prexy/http/fields'
import { bodyToJson, decodeBase64, encodeBase64, textOf, urlOf } from './event-json.ts'
import { isRecord } from './segment-header.ts'

/** Before the entries, which are separated by commas, and behind them. */
export function harFrame(version: string): readonly [head: string, tail: string] {
  const creator = JSON.stringify({ name: 'prexy', version })
  return [`{"log":{"version":"1.2","creator":${creator},"pages":[],"entries":[`, ']}}\n']
}

/** One entry of a HAR file, as `JSON.stringify` takes it. */
export function toHarEntry(event: ExchangeRecord): Readonly<Record<string, unknown>> {
  const { timings, bodies, request, response } = event
  const requestFields = request?.fields ?? []
  const responseFields = response?.sentFields ?? response?.fields ?? []
  const sent = bodies?.responseSent ?? bodies?.response
  const mimeType = fieldOf(responseFields, 'content-type') ?? ''
  const totalMs = timings.endUs / 1_000
  return {
    startedDateTime: new Date(event.startedAtMs).toISOString(),
    time: totalMs,
    request: {
      method: event.method,
      url: urlOf(event),
      httpVersion: `HTTP/1.${request?.minorVersion ?? 1}`,
      cookies: [],
      headers: pairsOf(requestFields),
      queryString: queryOf(event.target),
      headersSize: -1,
      bodySize: bodies?.request?.bytes ?? -1,
      ...(bodies?.request === undefined ? {} : { postData: postData(bodies.request, requestFields) }),
    },
    response: {
      status: event.status ?? 0,
      statusText: '',
      httpVersion: `HTTP/1.${request?.minorVersion ?? 1}`,
      cookies: [],
      headers: pairsOf(responseFields),
      content: { size: sent?.bytes ?? 0, mimeType, ...contentOf(sent) },
      redirectURL: fieldOf(responseFields, 'location') ?? '',
      headersSize: -1,
      bodySize: -1,
    },
    cache: {},
    timings: harTimings(event),
    ...(event.upstreamAddress === undefined ? {} : { serverIPAddress: event.upstreamAddress }),
    connection: String(event.connectionId),
    _prexy: {
      run: event.run,
      sequence: event.sequence,
      kind: event.kind,
      outcome: event.outcome,
      detail: event.detail,
      client: event.client,
      route: event.route,
      upstream: event.upstream,
      requestId: event.requestId,
      treatment: event.treatment,
      webSocket: event.webSocket,
      clientOutBytes: event.clientOutBytes,
      upstreamInBytes: event.upstreamInBytes,
      upstreamRequestHeaders: request?.sentFields === undefined ? undefined : pairsOf(request.sentFields),
      upstreamResponse:
        response === undefined
          ? undefined
          : {
              status: response.status,
              headers: pairsOf(response.fields),
              ...(bodies?.response === undefined ? {} : { body: bodyToJson(bodies.response) }),
            },
    },
  }
}

function harTimings({ timings }: ExchangeRecord): Readonly<Record<string, number>> {
  const { requestHeadUs = 0, upstreamAskedUs, upstreamConnectedUs, responseHeadUs, endUs } = timings
  const asked = upstreamAskedUs ?? upstreamConnectedUs ?? requestHeadUs
  const connected = upstreamConnectedUs ?? asked
  const responded = responseHeadUs ?? endUs
  const between = (from: number, to: number): number => Math.max(0, to - from) / 1_000
  return {
    blocked: between(requestHeadUs, asked),
    dns: -1,
    connect: between(asked, connected),
    ssl: -1,
    send: between(0, requestHeadUs),
    wait: between(connected, responded),
    receive: between(responded, endUs),
  }
}

function pairsOf(fields: FieldList): readonly { readonly name: string; readonly value: string }[] {
  const pairs: { name: string; value: string }[] = []
  for (let at = 0; at < fields.length; at += 2) pairs.push({ name: fields[at], value: fields[at + 1] })
  return pairs
}

function fieldOf(fields: FieldList, lowerName: string): string | undefined {
  for (let at = 0; at < fields.length; at += 2) if (fields[at].toLowerCase() === lowerName) return fields[at + 1]
  return undefined
}

function queryOf(target: string): readonly { readonly name: string; readonly value: string }[] {
  const cut = target.indexOf('?')
  if (cut < 0) return []
  const parts = target.slice(cut + 1).split('&')
  return parts.map((part) => {
    const equals = part.indexOf('=')
    return equals < 0 ? { name: part, value: '' } : { name: part.slice(0, equals), value: part.slice(equals + 1) }
  })
}

function postData(body: RecordedBody, fields: FieldList): Readonly<Record<string, unknown>> {
  const { text, encoding } = contentOf(body)
  return {
    mimeType: fieldOf(fields, 'content-type') ?? '',
    params: [],
    text: text ?? '',
    ...(encoding === undefined ? {} : { _encoding: encoding }),
    ...(body.omitted === undefined ? {} : { comment: `not whole: ${body.omitted}` }),
  }
}

function contentOf(body: RecordedBody | undefined): { text?: string; encoding?: 'base64'; comment?: string } {
  if (body === undefined) return {}
  const comment = body.omitted === undefined ? {} : { comment: `not whole: ${body.omitted}` }
  if (body.octets === undefined) return comment
  const text = textOf(body.octets)
  return text === undefined ? { text: encodeBase64(body.octets), encoding: 'base64', ...comment } : { text, ...comment }
}

export interface HarImport {
  readonly events: readonly ExchangeRecord[]
  /** One line for each entry that is none. */
  readonly problems: readonly string[]
}

/** Octets of a HAR file that are read. */
export const MAX_HAR_BYTES: number = 256 * 1024 * 1024
/** Entries that are taken; others are told of and left out. */
export const MAX_HAR_ENTRIES = 250_000
/** Octets of one body that are taken. */
export const MAX_HAR_BODY_BYTES: number = 4 * 1024 * 1024
/** Header lines that are taken of one head. */
const MAX_HAR_FIELDS = 1_000
/** Problems that are told one by one. */
const MAX_TOLD = 100

/** The entries of a HAR file as exchanges of the run, numbered from 1. Never throws. */
export function fromHar(text: string, run: string): HarImport {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    return { events: [], problems: [`is no JSON: ${error instanceof Error ? error.message : String(error)}`] }
  }
  const log = isRecord(value) ? value.log : undefined
  const entries = isRecord(log) ? log.entries : undefined
  if (!Array.isArray(entries)) return { events: [], problems: ['is no HAR file: it has no log.entries'] }
  const events: ExchangeRecord[] = []
  const problems: string[] = []
  let untold = 0
  for (const [index, entry] of entries.entries()) {
    if (index >= MAX_HAR_ENTRIES) {
      problems.push(`has ${entries.length} entries; those after ${MAX_HAR_ENTRIES} are left out`)
      break
    }
    const event = fromEntry(entry, run, events.length + 1)
    if (typeof event !== 'string') events.push(event)
    else if (problems.length < MAX_TOLD) problems.push(`log.entries[${index}]: ${event}`)
    else untold++
  }
  if (untold > 0) problems.push(`and ${untold} more entries`)
  return { events, problems }
}

function fromEntry(entry: unknown, run: string, sequence: number): ExchangeRecord | string {
  if (!isRecord(entry) || !isRecord(entry.request) || !isRecord(entry.response)) return 'has no request and response'
  const { request, response } = entry
  const startedAtMs = typeof entry.startedDateTime === 'string' ? Date.parse(entry.startedDateTime) : Number.NaN
  if (Number.isNaN(startedAtMs)) return 'has no startedDateTime'
  const { method, url } = request
  if (typeof method !== 'string' || typeof url !== 'string') return 'has no method or url'
  const place = placeOf(url)
  if (place === undefined) return 'has a url that is not of http or https'
  const requestFields = fieldsOf(request.headers)
  const responseFields = fieldsOf(response.headers)
  if (requestFields === undefined || responseFields === undefined) return 'has headers that are none'
  const content = isRecord(response.content) ? response.content : {}
  const requestBody = isRecord(request.postData) ? bodyOf(request.postData, request.postData._encoding) : undefined
  const responseBody = bodyOf(content, content.encoding)
  const size = wholeNumber(content.size) ?? responseBody?.bytes ?? 0
  const status = wholeNumber(response.status) ?? 0
  const event: ExchangeRecord = {
    kind: 'exchange',
    version: 2,
    run,
    sequence,
    startedAtMs,
    exchangeId: sequence,
    connectionId: 0,
    requestNumber: 0,
    timings: timingsOf(entry),
    method: octets(method),
    scheme: place.scheme,
    host: place.host,
    target: place.target,
    status: status === 0 ? undefined : status,
    route: undefined,
    upstream: undefined,
    clientInBytes: requestBody?.bytes ?? 0,
    clientOutBytes: size,
    upstreamOutBytes: requestBody?.bytes ?? 0,
    upstreamInBytes: size,
    outcome: status === 0 ? 'client-aborted' : 'completed',
    detail: undefined,
    treatment: undefined,
    request: { minorVersion: request.httpVersion === 'HTTP/1.0' ? 0 : 1, fields: requestFields },
    response: { status, fields: responseFields },
    ...(requestBody === undefined && responseBody === undefined
      ? {}
      : {
          bodies: {
            ...(requestBody === undefined ? {} : { request: requestBody }),
            ...(responseBody === undefined ? {} : { response: responseBody }),
          },
        }),
  }
  return isRecord(entry._prexy) ? withUpstream(event, entry._prexy) : event
}

/** What we wrote ourselves also has what came from the upstream, and what became of it. */
function withUpstream(event: ExchangeRecord, own: Readonly<Record<string, unknown>>): ExchangeRecord {
  const { upstreamResponse: upstream, treatment } = own
  if (!isRecord(upstream)) return event
  const status = wholeNumber(upstream.status)
  const fields = fieldsOf(upstream.headers)
  if (status === undefined || fields === undefined) return event
  const isRewritten = isRecord(treatment) && treatment.kind === 'rewritten'
  const { request, response: sent } = event.bodies ?? {}
  const body = isRecord(upstream.body) ? bodyOfJson(upstream.body) : undefined
  const bodies = {
    ...(request === undefined ? {} : { request }),
    ...(body === undefined ? {} : { response: body }),
    ...(sent === undefined || !isRewritten ? {} : { responseSent: sent }),
  }
  const { bodies: _client, ...rest } = event
  const whole = {
    ...rest,
    treatment,
    response: { status, fields, sentFields: event.response?.fields ?? [] },
    ...(Object.keys(bodies).length === 0 ? {} : { bodies }),
  }
  const parsed = parseRecordedEvent(whole)
  return parsed?.kind === 'exchange' ? parsed : event
}

/** As `bodyToJson` writes it. */
function bodyOfJson(json: Readonly<Record<string, unknown>>): RecordedBody | undefined {
  const { text, base64, omitted } = json
  const bytes = wholeNumber(json.bytes)
  const body = typeof base64 === 'string' ? bodyOf({ text: base64 }, 'base64') : bodyOf({ text }, undefined)
  if (bytes === undefined) return body
  const why = OMISSIONS.find((one) => one === omitted)
  if (body === undefined) return bytes === 0 ? { bytes, octets: new Uint8Array(0) } : { bytes, omitted: why ?? 'type' }
  return body.omitted !== undefined || body.bytes >= bytes ? body : { ...body, bytes, omitted: why ?? 'length' }
}

const OMISSIONS = ['length', 'type', 'coded', 'memory'] as const

interface UrlPlace {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly target: string
}

function placeOf(url: string): UrlPlace | undefined {
  const parts = /^(https?):\/\/([^/?#\s]+)([^#\s]*)/i.exec(url)
  if (parts === null) return undefined
  const [, scheme, host, rest] = parts
  return {
    scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http',
    host: octets(host),
    target: octets(rest.startsWith('/') ? rest : `/${rest}`),
  }
}

function fieldsOf(value: unknown): FieldList | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > MAX_HAR_FIELDS) return undefined
  const fields: string[] = []
  for (const pair of value) {
    if (!isRecord(pair) || typeof pair.name !== 'string' || typeof pair.value !== 'string') return undefined
    // HTTP/2's own fields, as browsers write them.
    if (!pair.name.startsWith(':')) fields.push(octets(pair.name), octets(pair.value))
  }
  return fields
}

function bodyOf(part: Readonly<Record<string, unknown>>, encoding: unknown): RecordedBody | undefined {
  const { text } = part
  if (typeof text !== 'string' || text === '') return undefined
  const decoded = encoding === 'base64' ? decodeBase64(text) : encodeUtf8(text)
  if (decoded === undefined) return undefined
  const bytes = decoded.length
  return bytes <= MAX_HAR_BODY_BYTES
    ? { bytes, octets: decoded }
    : { bytes, octets: decoded.slice(0, MAX_HAR_BODY_BYTES), omitted: 'length' }
}

function timingsOf(entry: Readonly<Record<string, unknown>>): ExchangeRecord['timings'] {
  const parts = isRecord(entry.timings) ? entry.timings : {}
  const ms = (name: string): number => {
    const value = parts[name]
    return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
  }
  const us = (value: number): number => Math.round(value * 1_000)
  const sent = ms('send')
  const asked = sent + ms('blocked')
  const connected = asked + ms('dns') + ms('connect')
  const responded = connected + ms('wait')
  const ended = responded + ms('receive')
  const total = typeof entry.time === 'number' && Number.isFinite(entry.time) && entry.time > 0 ? entry.time : ended
  return {
    requestHeadUs: us(sent),
    upstreamAskedUs: us(asked),
    upstreamConnectedUs: us(connected),
    responseHeadUs: us(responded),
    endUs: us(Math.max(total, ended)),
  }
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Text as recorded events have it: one character for one octet. */
function octets(text: string): string {
  return /[^\u0000-\u00ff]/.test(text) ? decodeLatin1(encodeUtf8(text)) : text
}
