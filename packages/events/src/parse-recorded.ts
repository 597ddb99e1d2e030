/**
 * Decoded MessagePack or JSON to recorded events. Recordings come from elsewhere, too: whatever is not as the types say is
 * refused, so that nobody behind this has to look again.
 */
import type { FieldList } from '@prexy/http/fields'
import type {
  ApplicationRecord,
  ExchangeRecord,
  GapRecord,
  RecordedBodies,
  RecordedBody,
  RecordedEvent,
} from './recorded-event.ts'
import { EXCHANGE_EVENT_VERSION } from './exchange.ts'
import { applyDelta, type FieldDelta } from './field-delta.ts'

type Fields = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

/** The event that the value is; undefined if it is none. Fields that no type has stay. */
export function parseRecordedEvent(value: unknown): RecordedEvent | undefined {
  if (!isMap(value) || !isBase(value)) return undefined
  if (isGap(value) || isApplication(value)) return value
  const exchange = withSentFields(value)
  return exchange !== undefined && isExchange(exchange) ? exchange : undefined
}

/** With each `sent` made `sentFields` again; undefined if one does not fit. */
function withSentFields(map: Fields): Fields | undefined {
  let result: Fields = map
  for (const name of ['request', 'response']) {
    const head = map[name]
    if (!isMap(head) || head.sent === undefined) continue
    const { sent, fields, ...rest } = head
    if (!isFieldList(fields) || !isDelta(sent)) return undefined
    const sentFields = applyDelta(fields, sent)
    if (sentFields === undefined) return undefined
    result = { ...result, [name]: { ...rest, fields, sentFields } }
  }
  return result
}

function isDelta(value: unknown): value is FieldDelta {
  return Array.isArray(value) && value.every((part) => typeof part === 'string' || typeof part === 'number')
}

function isBase(map: Fields): boolean {
  return typeof map.run === 'string' && isWhole(map.sequence) && isTime(map.startedAtMs)
}

function isGap(map: Fields): map is Fields & GapRecord {
  return map.kind === 'gap' && isWhole(map.dropped)
}

function isApplication(map: Fields): map is Fields & ApplicationRecord {
  return (
    map.kind === 'application' &&
    isText(map.source) &&
    isOneOf(map.type, ['log', 'timing', 'query', 'custom']) &&
    isText(map.name) &&
    isOptional(map.level, (level) => isOneOf(level, ['debug', 'info', 'warn', 'error'])) &&
    isOptional(map.message, isText) &&
    isOptional(map.durationMs, isTime) &&
    isOptional(map.requestId, isText) &&
    isOptional(map.traceId, isText) &&
    isOptional(map.data, (data) => isMap(data) && Object.values(data).every(isScalar))
  )
}

function isExchange(map: Fields): map is Fields & ExchangeRecord {
  return (
    isOneOf(map.kind, ['exchange', 'websocket']) &&
    map.version === EXCHANGE_EVENT_VERSION &&
    [map.exchangeId, map.connectionId, map.requestNumber].every(isWhole) &&
    [map.clientInBytes, map.clientOutBytes, map.upstreamOutBytes, map.upstreamInBytes].every(isWhole) &&
    [map.method, map.target, map.outcome].every(isText) &&
    [map.client, map.host, map.route, map.upstream, map.requestId, map.traceparent, map.detail].every((one) =>
      isOptional(one, isText),
    ) &&
    isOptional(map.scheme, (scheme) => isOneOf(scheme, ['http', 'https'])) &&
    isOptional(map.status, isWhole) &&
    isMap(map.timings) &&
    isTime(map.timings.endUs) &&
    Object.values(map.timings).every((one) => isOptional(one, isTime)) &&
    isOptional(map.treatment, isTreatment) &&
    isOptional(map.shadow, isShadow) &&
    isOptional(map.comparison, isComparison) &&
    isOptional(map.fieldEdits, (edits) => isMap(edits) && isTexts(edits.request) && isTexts(edits.response)) &&
    isOptional(map.requestTreatment, isRequestTreatment) &&
    isOptional(map.request, (one) => isMap(one) && isWhole(one.minorVersion) && hasFieldLists(one)) &&
    isOptional(map.response, (one) => isMap(one) && isWhole(one.status) && hasFieldLists(one)) &&
    isOptional(map.webSocket, (one) => isMap(one) && isSide(one.fromClient) && isSide(one.fromUpstream)) &&
    isOptional(map.bodies, isBodies)
  )
}

function isTreatment(value: unknown): boolean {
  if (!isMap(value)) return false
  if (value.kind !== 'rewritten') {
    return isOneOf(value.kind, ['passed', 'head-only']) && isText(value.reason) && isOptional(value.encode, isText)
  }
  const { stats, notes } = value
  return (
    isText(value.decode) &&
    isText(value.encode) &&
    isMap(stats) &&
    Array.isArray(stats.hits) &&
    stats.hits.every(isWhole) &&
    [stats.overflows, stats.peakHeldBytes, stats.inBytes, stats.outBytes].every(isWhole) &&
    isOptional(notes, (one) => isMap(one) && Object.values(one).every(isScalar))
  )
}

function isShadow(value: unknown): boolean {
  return isTreatment(value) || (isMap(value) && value.kind === 'failed' && isText(value.detail))
}

function isComparison(value: unknown): boolean {
  if (!isMap(value)) return false
  switch (value.kind) {
    case 'same':
      return isWhole(value.bytes) && typeof value.isWhole === 'boolean'
    case 'different':
      return isTexts(value.parts) && isOptional(value.bodyAt, isWhole)
    case 'failed':
      return isText(value.detail)
    default:
      return value.kind === 'skipped' && isText(value.reason)
  }
}

function isRequestTreatment(value: unknown): boolean {
  if (!isMap(value)) return false
  if (value.kind === 'passed') return isText(value.reason)
  return value.kind === 'mapped' && [value.hits, value.inBytes, value.outBytes].every(isWhole)
}

function hasFieldLists(map: Fields): boolean {
  return isFieldList(map.fields) && isOptional(map.sentFields, isFieldList)
}

function isFieldList(value: unknown): value is FieldList {
  return isTexts(value) && value.length % 2 === 0
}

function isSide(value: unknown): boolean {
  return (
    isMap(value) &&
    [value.bytes, value.textMessages, value.binaryMessages, value.controlFrames].every(isWhole) &&
    isOptional(value.closeCode, isWhole)
  )
}

const BODY_NAMES: readonly (keyof RecordedBodies)[] = ['request', 'requestSent', 'response', 'responseSent']

function isBodies(value: unknown): value is RecordedBodies {
  return isMap(value) && BODY_NAMES.every((name) => isOptional(value[name], isBody))
}

function isBody(value: unknown): value is RecordedBody {
  return (
    isMap(value) &&
    isWhole(value.bytes) &&
    isOptional(value.octets, (octets) => octets instanceof Uint8Array) &&
    isOptional(value.omitted, (why) => isOneOf(why, ['length', 'type', 'coded', 'memory']))
  )
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOptional(value: unknown, check: Check): boolean {
  return value === undefined || value === null || check(value)
}

function isOneOf(value: unknown, texts: readonly string[]): boolean {
  return typeof value === 'string' && texts.includes(value)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}

function isScalar(value: unknown): boolean {
  return (
    typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
  )
}

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value)
}
