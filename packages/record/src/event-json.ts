/** Recorded events as JSON: the same fields, and bodies as text or base64. */
import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'
import type { ExchangeRecord, RecordedBody, RecordedEvent } from '@prexy/events/recorded-event'

/** A body in JSON. */
export interface JsonBody {
  readonly bytes: number
  /** Where the octets are UTF-8. */
  readonly text?: string
  /** Where they are not. */
  readonly base64?: string
  readonly omitted?: RecordedBody['omitted']
}

/** What `JSON.stringify` takes. */
export function eventToJson(event: RecordedEvent): Readonly<Record<string, unknown>> {
  if (event.kind === 'gap' || event.kind === 'application') return { ...event }
  const { bodies } = event
  if (bodies === undefined) return { ...event }
  return {
    ...event,
    bodies: Object.fromEntries(
      Object.entries(bodies).flatMap(([name, body]: [string, RecordedBody | undefined]) =>
        body === undefined ? [] : [[name, bodyToJson(body)]],
      ),
    ),
  }
}

export function bodyToJson({ bytes, octets, omitted }: RecordedBody): JsonBody {
  const text = octets === undefined ? undefined : textOf(octets)
  return {
    bytes,
    ...(octets === undefined ? {} : text === undefined ? { base64: encodeBase64(octets) } : { text }),
    ...(omitted === undefined ? {} : { omitted }),
  }
}

/** Octets as the text that they are, or undefined if they are not UTF-8; a character that is cut off at the end is left out. */
export function textOf(octets: Uint8Array): string | undefined {
  const end = octets.length - cutCharacter(octets)
  const whole = octets.subarray(0, end)
  const text = decodeUtf8(whole)
  return text.includes('\ufffd') && !sameOctets(encodeUtf8(text), whole) ? undefined : text
}

/** Octets of an unfinished character at the end. */
function cutCharacter(octets: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, octets.length); back++) {
    const octet = octets[octets.length - back]
    if (octet < 0x80) return 0
    if (octet < 0xc0) continue
    const needed = octet >= 0xf0 ? 4 : octet >= 0xe0 ? 3 : 2
    return needed > back ? back : 0
  }
  return 0
}

function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((octet, at) => octet === b[at])
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** RFC 4648 §4. */
export function encodeBase64(octets: Uint8Array): string {
  const parts: string[] = []
  for (let at = 0; at < octets.length; at += 3) {
    const left = octets.length - at
    const bits = (octets[at] << 16) | ((octets[at + 1] ?? 0) << 8) | (octets[at + 2] ?? 0)
    parts.push(
      DIGITS[bits >> 18] +
        DIGITS[(bits >> 12) & 63] +
        (left > 1 ? DIGITS[(bits >> 6) & 63] : '=') +
        (left > 2 ? DIGITS[bits & 63] : '='),
    )
  }
  return parts.join('')
}

/** Undefined for what is no base64. White space is ignored, padding is not needed. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replaceAll(/[\s=]/g, '')
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) return undefined
  const octets = new Uint8Array(Math.floor((digits.length * 3) / 4))
  let bits = 0
  let count = 0
  let at = 0
  for (const digit of digits) {
    bits = ((bits << 6) | DIGITS.indexOf(digit)) & 0xff_ffff
    count += 6
    if (count < 8) continue
    count -= 8
    octets[at++] = (bits >> count) & 0xff
  }
  return octets
}

/** The URL that the client asked for, as far as it is known. */
export function urlOf({ target, host, scheme }: Pick<ExchangeRecord, 'target' | 'host' | 'scheme'>): string {
  if (/^https?:\/\//i.test(target)) return target
  return `${scheme ?? 'http'}://${host ?? 'unknown'}${target.startsWith('/') ? target : '/'}`
}
