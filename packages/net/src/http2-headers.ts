/** Header blocks between lists of fields, one octet per character, and what node:http2 takes and gives. */
import type { OutgoingHttpHeaders } from 'node:http2'

/** Names, values and so on, one octet per character. */
export type Fields = readonly string[]

export const NO_FIELDS: Fields = []

/** Fields of which node:http2 takes one line only; a second one is joined to it (RFC 9110 §5.3). */
const SEPARATE = new Set(['set-cookie', 'www-authenticate', 'link', 'vary', 'via', 'cache-control', 'cookie'])

/**
 * Names in lower case, as HTTP/2 wants them, without those of a connection (RFC 9113 §8.2.2). Repeated lines stay
 * separate where that tells them apart, and are joined elsewhere.
 */
export function headersOf(fields: Fields): OutgoingHttpHeaders {
  const headers: Record<string, number | string | string[]> = {}
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at].toLowerCase()
    if (CONNECTION_NAMES.has(name)) continue
    const value = fields[at + 1]
    // Not `in`: a field may be called `constructor`.
    const before = Object.hasOwn(headers, name) ? headers[name] : undefined
    if (before === undefined) define(headers, name, value)
    else if (typeof before === 'object') before.push(value)
    else headers[name] = SEPARATE.has(name) ? [String(before), value] : `${before}, ${value}`
  }
  return headers
}

/** Also for `__proto__`, which an assignment would not make a field. */
function define(headers: Record<string, number | string | string[]>, name: string, value: string): void {
  if (name === '__proto__')
    Object.defineProperty(headers, name, { value, enumerable: true, configurable: true, writable: true })
  else headers[name] = value
}

const CONNECTION_NAMES = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
  'http2-settings',
])

/** The declarations of node:http2 leave the raw fields out, which its events give last. */
export function isFields(raw: unknown): raw is Fields {
  return Array.isArray(raw)
}
