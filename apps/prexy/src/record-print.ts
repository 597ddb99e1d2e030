/** Recorded events for people. */
import { eventName, type ExchangeRecord, type RecordedBody, type RecordedEvent } from '@prexy/events/recorded-event'
import { textOf, urlOf } from '@prexy/record/event-json'
import { formatBytes, printable, type Styles } from './terminal.ts'

/** Characters of a body that are shown. */
const MAX_SHOWN_BODY = 20_000

/** One line. */
export function eventLine(event: RecordedEvent, style: Styles): string {
  const name = style.dim(eventName(event))
  const time = new Date(event.startedAtMs).toISOString().slice(0, 23).replace('T', ' ')
  if (event.kind === 'gap') return `${name} ${time} ${style.yellow(`${event.dropped} events were not recorded`)}`
  if (event.kind === 'application') {
    const { source, type, level, message, durationMs } = event
    const took = durationMs === undefined ? '' : ` ${durationMs.toFixed(1)} ms`
    const text = printable(`${source} ${level ?? type} ${event.name}${message === undefined ? '' : `: ${message}`}`)
    return `${name} ${time} ${text}${took}`
  }
  const { status, method, timings, kind } = event
  const code = status === undefined ? '---' : String(status)
  const paint = status === undefined || status >= 500 ? style.red : status >= 400 ? style.yellow : style.green
  const took = `${(timings.endUs / 1_000).toFixed(1)} ms`
  const note = style.dim(`${took}, ${kind === 'websocket' ? messagesOf(event) : outcomeOf(event)}`)
  return `${name} ${time} ${paint(code)} ${printable(`${method} ${urlOf(event)}`)} ${note}`
}

function outcomeOf({ outcome, detail, treatment }: ExchangeRecord): string {
  if (outcome !== 'completed') return printable(detail === undefined ? outcome : `${outcome}: ${detail}`)
  if (treatment === undefined) return 'no response'
  if (treatment.kind !== 'rewritten') return `unchanged: ${treatment.reason}`
  return `${treatment.stats.hits.reduce((sum, hits) => sum + hits, 0)} replaced`
}

function messagesOf({ webSocket }: ExchangeRecord): string {
  if (webSocket === undefined) return 'WebSocket'
  const count = ({ textMessages, binaryMessages }: typeof webSocket.fromClient): number => textMessages + binaryMessages
  return `WebSocket, ${count(webSocket.fromClient)} messages up, ${count(webSocket.fromUpstream)} down`
}

/** All of an event. */
export function eventDetail(event: RecordedEvent, style: Styles): string {
  if (event.kind === 'gap' || event.kind === 'application') return `${eventLine(event, style)}\n`
  const { request, response, bodies, timings, treatment } = event
  const lines = [eventLine(event, style)]
  const add = (name: string, value: string | number | undefined): void => {
    if (value !== undefined && value !== '') lines.push(`  ${style.dim(`${name}:`)} ${printable(String(value))}`)
  }
  add('client', event.client)
  add('route', event.route)
  add('upstream', event.upstream)
  add('request id', event.requestId)
  add('outcome', event.detail === undefined ? event.outcome : `${event.outcome}: ${event.detail}`)
  const us = (value: number | undefined): string | undefined =>
    value === undefined ? undefined : `${(value / 1_000).toFixed(2)} ms`
  add('asked upstream after', us(timings.upstreamAskedUs))
  add('connected after', us(timings.upstreamConnectedUs))
  add('first byte after', us(timings.responseHeadUs))
  add('rules took', us(timings.rewriteUs))
  add('total', us(timings.endUs))
  add('client sent', formatBytes(event.clientInBytes))
  add('client got', formatBytes(event.clientOutBytes))
  if (treatment?.kind === 'rewritten') {
    const { hits, inBytes, outBytes, peakHeldBytes, overflows } = treatment.stats
    add('rewritten', `${inBytes} bytes to ${outBytes}, held at most ${peakHeldBytes}, ${overflows} overflows`)
    for (const [rule, count] of hits.entries()) if (count > 0) add(`rule ${rule + 1}`, `${count} replaced`)
  } else if (treatment !== undefined) {
    add('unchanged', treatment.reason)
  }
  const section = (title: string, fields: readonly string[] | undefined, body: RecordedBody | undefined): void => {
    if (fields === undefined && body === undefined) return
    lines.push('', style.bold(title))
    const list = fields ?? []
    for (let at = 0; at < list.length; at += 2)
      lines.push(`  ${style.cyan(printable(list[at]))}: ${printable(list[at + 1])}`)
    if (body !== undefined) lines.push(bodyText(body, style))
  }
  section('Request of the client', request?.fields, bodies?.request)
  section('Request to the upstream', request?.sentFields, bodies?.requestSent)
  section(`Response of the upstream, ${response?.status ?? ''}`, response?.fields, bodies?.response)
  section('Response to the client', response?.sentFields, bodies?.responseSent)
  return `${lines.join('\n')}\n`
}

function bodyText({ bytes, octets, omitted }: RecordedBody, style: Styles): string {
  const size = style.dim(`  [${formatBytes(bytes)}${omitted === undefined ? '' : `, not whole: ${omitted}`}]`)
  if (octets === undefined || octets.length === 0) return size
  const text = textOf(octets)
  if (text === undefined) return `${size}\n  ${style.dim('no text; --json shows it as base64')}`
  const shown = text.slice(0, MAX_SHOWN_BODY)
  const rest = text.length > shown.length ? `\n  ${style.dim(`and ${text.length - shown.length} more characters`)}` : ''
  // Lines stay lines; nothing else of a body gets to the terminal as it is.
  return `${size}\n${shown
    .split(/\r?\n/)
    .map((line) => `  ${printable(line)}`)
    .join('\n')}${rest}`
}
