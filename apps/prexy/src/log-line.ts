/** Lines of the access log: common, combined, JSON, and formats of the operator's own. */
import { type LogPart, type LogVariable, NAMED_LOG_FORMATS, parseLogFormat } from '@prexy/config/log-schema'
import type { ExchangeEvent } from '@prexy/events/exchange'
import { fieldValue, joinedValue } from '@prexy/http/fields'
import type { SeenRequest } from '@prexy/proxy/proxy-config'

export type LogLine = (event: ExchangeEvent, seen: SeenRequest) => string

/** `format` is one that the schema lets through. `fields` makes the members that all JSON lines have. */
export function logLine(format: string, fields: (event: ExchangeEvent) => object): LogLine {
  if (format === 'json') return (event, seen) => JSON.stringify(jsonFields(event, seen, fields))
  const parts = parseLogFormat(isNamed(format) ? NAMED_LOG_FORMATS[format] : format)
  if (typeof parts === 'string') throw new Error(parts)
  return (event, seen) => {
    let line = ''
    for (const part of parts) line += part.kind === 'text' ? part.text : escaped(valueOf(part, event, seen))
    return line
  }
}

function isNamed(format: string): format is keyof typeof NAMED_LOG_FORMATS {
  return format in NAMED_LOG_FORMATS
}

function jsonFields(event: ExchangeEvent, seen: SeenRequest, fields: (event: ExchangeEvent) => object): object {
  return {
    time: new Date(event.startedAtMs).toISOString(),
    client: seen.clientAddress ?? event.client,
    scheme: event.scheme,
    protocol: event.method === '' ? undefined : protocolOf(seen),
    ...fields(event),
    bodyBytes: seen.bodyBytes,
    referer: withoutSecrets(fieldOf(seen, 'referer')),
    userAgent: fieldOf(seen, 'user-agent'),
    pid: process.pid,
  }
}

/** As `path`, which has no query either. Formats of the operator's own have what they ask for. */
function withoutSecrets(address: string | undefined): string | undefined {
  return address?.replace(/[?#][^]*$/, '').replace(/^([a-z]{1,10}:)?\/\/[^/@]*@/i, '$1//')
}

function valueOf(
  part: Exclude<LogPart, { readonly kind: 'text' }>,
  event: ExchangeEvent,
  seen: SeenRequest,
): string | undefined {
  return part.kind === 'field' ? fieldOf(seen, part.lowerName) : VALUES[part.name](event, seen)
}

const VALUES: Readonly<Record<LogVariable, (event: ExchangeEvent, seen: SeenRequest) => string | undefined>> = {
  remote_addr: (event, { clientAddress }) => clientAddress ?? event.client,
  realip_remote_addr: ({ client }) => client,
  remote_user: (_event, seen) => userOf(fieldOf(seen, 'authorization')),
  time_local: ({ startedAtMs, timings }) => localTime(endOf(startedAtMs, timings.endUs)),
  time_iso8601: ({ startedAtMs, timings }) => isoTime(endOf(startedAtMs, timings.endUs)),
  msec: ({ startedAtMs, timings }) => seconds(endOf(startedAtMs, timings.endUs)),
  request: ({ method, target }, seen) => (method === '' ? undefined : `${method} ${target} ${protocolOf(seen)}`),
  request_method: ({ method }) => method,
  request_uri: ({ target }) => target,
  uri: (_event, { head }) => head?.path.split('?', 1)[0],
  args: (_event, { head }) => {
    const cut = head?.path.indexOf('?') ?? -1
    return cut < 0 ? undefined : head?.path.slice(cut + 1)
  },
  server_protocol: ({ method }, seen) => (method === '' ? undefined : protocolOf(seen)),
  scheme: ({ scheme }) => scheme,
  host: ({ host }) => host?.replace(/:[0-9]*$/, '').toLowerCase(),
  status: ({ status }) => (status === undefined ? undefined : String(status)),
  bytes_sent: ({ clientOutBytes }) => String(clientOutBytes),
  body_bytes_sent: (_event, { bodyBytes }) => String(bodyBytes),
  request_length: ({ clientInBytes }) => String(clientInBytes),
  request_time: ({ timings }) => seconds(timings.endUs / 1_000),
  request_id: ({ requestId }) => requestId,
  connection: ({ connectionId }) => String(connectionId),
  connection_requests: ({ requestNumber }) => String(requestNumber),
  upstream_addr: ({ upstream, upstreamAddress }) => upstreamAddress ?? upstream,
  upstream_connect_time: ({ timings }) => secondsBetween(timings.requestHeadUs, timings.upstreamConnectedUs),
  upstream_header_time: ({ timings }) => secondsBetween(timings.upstreamConnectedUs, timings.responseHeadUs),
  pid: () => String(process.pid),
  exchange: ({ exchangeId }) => String(exchangeId),
  route: ({ route }) => route,
  upstream: ({ upstream }) => upstream,
  outcome: ({ outcome }) => outcome,
  detail: ({ detail }) => detail,
  treatment: ({ treatment }) => treatment?.kind,
  replaced: ({ treatment }) =>
    treatment?.kind === 'rewritten' ? String(treatment.stats.hits.reduce((sum, hits) => sum + hits, 0)) : undefined,
  traceparent: ({ traceparent }) => traceparent,
  trace_id: ({ traceparent }) => traceparent?.slice(3, 35),
}

function fieldOf({ head }: SeenRequest, lowerName: string): string | undefined {
  if (head === undefined || fieldValue(head.fields, lowerName) === undefined) return undefined
  return joinedValue(head.fields, lowerName)
}

function protocolOf({ head }: SeenRequest): string {
  return head?.majorVersion === 2 ? 'HTTP/2.0' : `HTTP/1.${head?.minorVersion ?? 1}`
}

/** RFC 7617; whether the password was right says the status. */
function userOf(authorization: string | undefined): string | undefined {
  const coded = /^Basic +([A-Za-z0-9+/_=-]+)$/i.exec(authorization ?? '')?.[1]
  if (coded === undefined) return undefined
  const user = Buffer.from(coded, 'base64').toString().split(':', 1)[0]
  return user === '' ? undefined : user
}

function endOf(startedAtMs: number, endUs: number): number {
  return startedAtMs + Math.round(endUs / 1_000)
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(3)
}

function secondsBetween(fromUs: number | undefined, toUs: number | undefined): string | undefined {
  return fromUs === undefined || toUs === undefined ? undefined : seconds(Math.max(0, toUs - fromUs) / 1_000)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (value: number): string => String(value).padStart(2, '0')

/** `02/Jan/2026:03:04:05 +0100`. */
function localTime(atMs: number): string {
  const at = new Date(atMs)
  const day = `${two(at.getDate())}/${MONTHS[at.getMonth()]}/${at.getFullYear()}`
  return `${day}:${clock(at)} ${zoneOf(at).replace(':', '')}`
}

/** `2026-01-02T03:04:05+01:00`. */
function isoTime(atMs: number): string {
  const at = new Date(atMs)
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${clock(at)}${zoneOf(at)}`
}

function clock(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

function zoneOf(at: Date): string {
  const minutes = -at.getTimezoneOffset()
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/**
 * As nginx does it: nothing that a client sends makes a second line, ends a quoted text or moves a terminal's cursor.
 * Strings of the wire hold one octet per character; what is beyond that (a name of a route) is its octets.
 */
function escaped(value: string | undefined): string {
  if (value === undefined || value === '') return '-'
  if (/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(value)) return value
  const wire = /[^\x00-\xff]/.test(value) ? Buffer.from(value).toString('latin1') : value
  return wire.replace(
    /[\x00-\x1f"\\\x7f-\xff]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
