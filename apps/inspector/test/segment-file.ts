/** Segments of recordings as files, made of events that never happened. */
import { encode } from '@prexy/msgpack/encode'
import { encodeFrame } from '@prexy/record/frames'
import { encodeHeader } from '@prexy/record/segment-header'

const SALT = 0x1234_5678
const FRAME_EVENTS = 500

/** Octets among the events are the payload of a frame of their own, whatever they are. */
export function segmentOf(events: Iterable<Readonly<Record<string, unknown>> | Uint8Array>): Uint8Array {
  const parts: Uint8Array[] = [encodeHeader({ run: '0badcafe', number: 1, session: 's', createdAtMs: 0, salt: SALT })]
  let offset = parts[0].length
  let waiting: Uint8Array[] = []
  const put = (count: number, payload: Uint8Array): void => {
    const frame = encodeFrame('events', count, payload, offset, SALT)
    parts.push(frame)
    offset += frame.length
  }
  const flush = (): void => {
    if (waiting.length > 0) put(waiting.length, joined(waiting))
    waiting = []
  }
  for (const event of events) {
    if (event instanceof Uint8Array) {
      flush()
      put(1, event)
      continue
    }
    waiting.push(encode(event).slice())
    if (waiting.length === FRAME_EVENTS) flush()
  }
  flush()
  return joined(parts)
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** An exchange with `text` in every field that the inspector shows. */
export function exchangeOf(sequence: number, text: string, type: string): Readonly<Record<string, unknown>> {
  const octets = new TextEncoder().encode(type === 'application/json' ? JSON.stringify({ [text]: [text] }) : text)
  const body = { bytes: octets.length, octets }
  return {
    kind: 'exchange',
    version: 2,
    run: '0badcafe',
    sequence,
    startedAtMs: 1_796_000_000_000 + sequence * 20,
    exchangeId: sequence,
    connectionId: 1,
    requestNumber: sequence,
    timings: { requestHeadUs: 100, upstreamConnectedUs: 300, responseHeadUs: 2_000, endUs: 3_000 + sequence },
    client: text,
    method: text,
    host: text,
    target: text,
    status: 200,
    route: text,
    upstream: text,
    requestId: text,
    clientInBytes: 100,
    clientOutBytes: 1_000,
    upstreamOutBytes: 100,
    upstreamInBytes: 900,
    outcome: text,
    detail: text,
    treatment: sequence % 2 === 0 ? { kind: 'passed', reason: text } : rewritten(octets.length),
    request: { minorVersion: 1, fields: ['x-one', text, text, text], sent: [0, 'x-two', text] },
    response: { status: 200, fields: ['content-type', type, 'x-text', text], sent: [0, text, text] },
    bodies: { request: body, requestSent: body, response: body, responseSent: body },
  }
}

function rewritten(bytes: number): Readonly<Record<string, unknown>> {
  const stats = { hits: [1], overflows: 0, peakHeldBytes: 3, inBytes: bytes, outBytes: bytes }
  return { kind: 'rewritten', decode: 'identity', encode: 'identity', stats }
}

/** An event of an application with `text` in every field that takes any. */
export function applicationOf(sequence: number, text: string): Readonly<Record<string, unknown>> {
  const type = ['log', 'timing', 'query', 'custom'][sequence % 4]
  const base = { kind: 'application', run: '0badcafe', sequence, startedAtMs: 1_796_000_000_000 + sequence * 20 }
  const about = { durationMs: sequence, level: 'error', requestId: text, traceId: text }
  return { ...base, ...about, source: text, type, name: text, message: text, data: { [text]: text } }
}
