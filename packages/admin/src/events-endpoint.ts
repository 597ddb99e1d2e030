/**
 * Where applications send their events: `POST /api/events`, a batch in MessagePack or JSON.
 *
 * SECURITY: pages of other sites may send here, if the configuration names their origin, and only events: what signs them in
 * is a token in `Authorization`, which no page sends without a preflight and no cookie stands for.
 */
import type { IncomingMessage } from 'node:http'
import { type Access, type AccessRequest, isSameOrigin } from './access.ts'
import { type ApiAnswer, fault, json, MESSAGEPACK_TYPE } from './api.ts'
import type { BatchFormat, Ingest } from './ingest.ts'
import { requestOctets } from './request-octets.ts'

export const EVENTS_PATH = '/api/events'

/** A browser asks again after so long. Unit: seconds. */
const PREFLIGHT_SECONDS = 600

interface EventsCall {
  /** Undefined: events are not taken. */
  readonly ingest: Ingest | undefined
  readonly access: Access
  readonly request: IncomingMessage
  readonly sender: AccessRequest
}

export async function answerEvents(call: EventsCall): Promise<ApiAnswer> {
  const { ingest, access, sender } = call
  const misdirected = access.checkHost(sender)
  if (misdirected !== undefined) return fault(misdirected.status, misdirected.reason)
  if (ingest === undefined)
    return fault(404, 'events of applications are not taken: the configuration has no admin.ingest')
  const { origin, host = '' } = sender
  if (origin === undefined || isSameOrigin(origin, host)) return await answerSender(call, ingest)
  if (!ingest.origins.has(origin.toLowerCase()))
    return fault(403, 'pages of this origin may not send events; add it to admin.ingest.origins')
  const answer = await answerSender(call, ingest)
  return { ...answer, headers: { ...answer.headers, 'Access-Control-Allow-Origin': origin, Vary: 'Origin' } }
}

async function answerSender({ access, request, sender }: EventsCall, ingest: Ingest): Promise<ApiAnswer> {
  if (request.method === 'OPTIONS') return { status: 204, type: undefined, body: '', headers: PREFLIGHT }
  if (request.method !== 'POST')
    return { ...fault(405, 'events are sent with POST'), headers: { Allow: 'POST, OPTIONS' } }
  const token = access.bearerOf(sender)
  if (token === undefined || !access.mayIngest(token, ingest.token))
    return {
      ...fault(401, 'send the token of admin.ingest: Authorization: Bearer TOKEN'),
      headers: { 'WWW-Authenticate': 'Bearer realm="prexy events"' },
    }
  const format = formatOf(request.headers)
  if (format === undefined) return fault(415, `events come as ${MESSAGEPACK_TYPE} or application/json, not compressed`)
  const free = ingest.reserve()
  if (free === undefined) return later(503, 1, 'too many events wait to be recorded')
  try {
    const { maxBatchBytes } = ingest.limits
    const octets = await requestOctets(request, maxBatchBytes)
    if (octets === undefined) return fault(413, `a batch has at most ${maxBatchBytes} octets (maxBatchBytes)`)
    const outcome = await ingest.take(octets, format, Date.now())
    switch (outcome.kind) {
      case 'refused':
        return fault(400, outcome.reason)
      case 'later':
        return later(429, outcome.seconds, 'events come faster than maxEventsPerSecond or maxBytesPerSecond')
      case 'taken': {
        const { accepted, dropped, known, refused, reasons } = outcome
        const isBad = refused > 0 && accepted + dropped + known === 0
        return { ...json({ accepted, dropped, known, refused, reasons }), status: isBad ? 422 : 200 }
      }
    }
  } finally {
    free()
  }
}

const PREFLIGHT: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'authorization, content-type',
  'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
}

function later(status: 429 | 503, seconds: number, reason: string): ApiAnswer {
  return { ...fault(status, reason), headers: { 'Retry-After': String(seconds) } }
}

function formatOf(headers: IncomingMessage['headers']): BatchFormat | undefined {
  const coding = headers['content-encoding']
  if (coding !== undefined && coding !== 'identity') return undefined
  const type = (headers['content-type'] ?? '').split(';', 1)[0].trim().toLowerCase()
  if (type === MESSAGEPACK_TYPE || type === 'application/msgpack' || type === 'application/x-msgpack')
    return 'messagepack'
  return type === 'application/json' ? 'json' : undefined
}
