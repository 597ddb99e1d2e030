import { decodeLatin1 } from '@prexy/bytes/latin1'
import { DEFAULT_REQUEST_LIMITS, DEFAULT_RESPONSE_LIMITS, type MessageLimits } from '../src/limits.ts'
import type { BodyFraming } from '../src/message.ts'
import { RequestParser } from '../src/request-parser.ts'
import { ResponseParser } from '../src/response-parser.ts'

/** Offsets to cut at, ascending. */
export type Cuts = readonly number[]

export function cut(octets: Uint8Array, cuts: Cuts): Uint8Array[] {
  const bounds = [0, ...cuts, octets.length]
  // Copies, so that nothing can read beyond its chunk.
  return bounds.slice(1).map((end, i) => octets.slice(bounds[i], end))
}

/** Data of neighbouring events is joined: where it is cut is all that may depend on the chunks. */
class Log {
  readonly lines: string[] = []
  #data = ''

  data(octets: Uint8Array): void {
    if (octets.length === 0) throw new Error('an empty data event')
    this.#data += decodeLatin1(octets)
  }

  line(text: string): void {
    if (this.#data !== '') this.lines.push(`data ${JSON.stringify(this.#data)}`)
    this.#data = ''
    this.lines.push(text)
  }
}

function framingText(body: BodyFraming): string {
  return body.kind === 'length' ? `length=${body.bytes}` : body.kind
}

function pairsText(fields: readonly string[]): string {
  return fields.length === 0 ? '' : ` ${JSON.stringify(fields)}`
}

/** What the request parser makes of a connection's octets, then of its end. */
export function requestLog(
  octets: Uint8Array,
  cuts: Cuts = [],
  limits: MessageLimits = DEFAULT_REQUEST_LIMITS,
): string[] {
  const parser = new RequestParser(limits)
  const log = new Log()
  for (const chunk of cut(octets, cuts)) {
    let at = 0
    for (;;) {
      const event = parser.read(chunk, at)
      if (parser.consumed < at || parser.consumed > chunk.length) throw new Error(`consumed ${parser.consumed}`)
      at = parser.consumed
      if (event === 'more') {
        if (at !== chunk.length) throw new Error('more, with octets left')
        break
      }
      if (event === 'fault') {
        log.line(`${parser.fault.status} ${parser.fault.code} @${parser.fault.at}`)
        return log.lines
      }
      if (event === 'data') log.data(parser.data)
      else if (event === 'end') log.line(`end${pairsText(parser.trailers)}`)
      else {
        const { head } = parser
        const flags = `${head.keepAlive ? ' keep' : ''}${head.expectContinue ? ' expect' : ''}`
        const upgrade = head.upgrade === undefined ? '' : ` upgrade=${head.upgrade}`
        log.line(
          `${head.method} ${head.target} 1.${head.minorVersion} ${head.targetForm} ${head.path} ${head.authority ?? '-'} ` +
            `${framingText(head.body)}${flags}${upgrade}${pairsText(head.fields)}`,
        )
      }
    }
  }
  const fault = parser.close()
  log.line(fault === undefined ? 'close' : `close ${fault.status} ${fault.code} @${fault.at}`)
  return log.lines
}

/** The fault that ended a log, as `status code`, or `accepted`. */
export function verdict(log: readonly string[]): string {
  const fault = /^(?:close )?(\d+ \S+) @\d+$/.exec(log[log.length - 1])
  return fault === null ? 'accepted' : fault[1]
}

/** What the upstream was asked. */
export interface Asked {
  readonly method?: string
  readonly upgrade?: boolean
}

/** What the response parser makes of an upstream's octets after one request, then of its end. */
export function responseLog(
  octets: Uint8Array,
  asked: Asked = {},
  cuts: Cuts = [],
  limits: MessageLimits = DEFAULT_RESPONSE_LIMITS,
): string[] {
  const parser = new ResponseParser(limits)
  parser.expect(asked.method ?? 'GET', asked.upgrade ?? false)
  const log = new Log()
  let tunnel = ''
  for (const chunk of cut(octets, cuts)) {
    let at = 0
    for (;;) {
      if (parser.head.body.kind === 'tunnel') {
        tunnel += decodeLatin1(chunk, at)
        break
      }
      const event = parser.read(chunk, at)
      if (parser.consumed < at || parser.consumed > chunk.length) throw new Error(`consumed ${parser.consumed}`)
      at = parser.consumed
      if (event === 'more') {
        if (at !== chunk.length) throw new Error('more, with octets left')
        break
      }
      if (event === 'fault') {
        log.line(`${parser.fault.status} ${parser.fault.code} @${parser.fault.at}`)
        return log.lines
      }
      if (event === 'data') log.data(parser.data)
      else if (event === 'end') log.line(`end${pairsText(parser.trailers)}`)
      else {
        const { head } = parser
        log.line(
          `${event} ${head.status} 1.${head.minorVersion} ${framingText(head.body)}` +
            `${head.contentLength === undefined ? '' : ` announced=${head.contentLength}`}` +
            `${head.keepAlive ? ' keep' : ''}${pairsText(head.fields)}`,
        )
      }
    }
  }
  if (parser.head.body.kind === 'tunnel') {
    log.line(`tunnel ${JSON.stringify(tunnel)}`)
    return log.lines
  }
  const fault = parser.close()
  log.line(fault === undefined ? 'close' : `close ${fault.status} ${fault.code} @${fault.at}`)
  return log.lines
}

/** A message up to this long is cut everywhere; a longer one, which only tests a limit, at a few places. */
const SHORT_BYTES = 1_600
const FEW_CUTS = 50

/** Whole; and, of a short message, single octets and every two-way cut. */
export function* splits(length: number): Generator<Cuts> {
  yield []
  if (length <= SHORT_BYTES) yield Array.from({ length: Math.max(length - 1, 0) }, (_, i) => i + 1)
  const step = length <= SHORT_BYTES ? 1 : Math.ceil(length / FEW_CUTS)
  for (let at = 1; at < length; at += step) yield [at]
}

/** The cuts at which the log is another than `expected`, with what it is: none, if all is well. */
export function differences(
  octets: Uint8Array,
  expected: readonly string[],
  read: (octets: Uint8Array, cuts: Cuts) => string[],
): { cuts: Cuts; log: string[] }[] {
  const text = expected.join('\n')
  const different: { cuts: Cuts; log: string[] }[] = []
  for (const cuts of splits(octets.length)) {
    const log = read(octets, cuts)
    if (log.join('\n') !== text) different.push({ cuts, log })
  }
  return different
}
