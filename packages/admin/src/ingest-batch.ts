/**
 * What applications send: a batch of events as plain data. Everything is checked, since a token for it may stand in a page
 * that anybody can open; an event that is not as it should be is refused with what is wrong, and the others are taken.
 */
import type { ApplicationEvent } from '@prexy/record/recorder'

/** Raised whenever an older server would misread a newer batch. */
export const BATCH_VERSION = 1

export interface BatchLimits {
  /** Events of one batch. Default 1,000. */
  readonly maxBatchEvents: number
  /** Characters of all texts of one event. Default 16,384. */
  readonly maxEventCharacters: number
}

/** Characters of the names of an application, of an event, and of its data. */
export const MAX_NAME_CHARACTERS = 200
/** Values in the data of an event. */
export const MAX_DATA_ENTRIES = 64
/** An event may have happened so long before its batch was sent: an application keeps what it cannot send. Unit: milliseconds. */
export const MAX_EVENT_AGE_MS: number = 24 * 60 * 60 * 1_000
/** Clocks may differ so much without being taken for wrong: a batch is on its way for some time. Unit: milliseconds. */
export const MAX_CLOCK_SKEW_MS = 5_000

/** Who sent a batch, and which of its events it begins with: one that comes twice is known by that. */
export interface BatchOrigin {
  readonly client: string
  /** Number of the first event; the others follow one by one. */
  readonly first: number
}

export interface Batch {
  readonly origin: BatchOrigin | undefined
  /** In order: an event, or why it is none. */
  readonly events: readonly (() => ApplicationEvent | string)[]
}

/** Reads a batch that came at `nowMs`; a text says why it is none. Events are checked when they are called for. */
export function readBatch(value: unknown, nowMs: number, limits: BatchLimits): Batch | string {
  if (!isMap(value)) return 'a batch is a map with version, source and events'
  const stray = strayKey(value, ['version', 'source', 'sentAtMs', 'client', 'first', 'events'])
  if (stray !== undefined) return `a batch has no field ${quoted(stray)}`
  const { version, source, sentAtMs, client, first, events } = value
  if (version !== BATCH_VERSION) return `version: has to be ${BATCH_VERSION}`
  if (!isName(source)) return `source: has to be a text of 1 to ${MAX_NAME_CHARACTERS} characters`
  if (sentAtMs !== undefined && !isNumber(sentAtMs)) return 'sentAtMs: has to be milliseconds since 1970'
  if ((client === undefined) !== (first === undefined)) return 'client and first: only both together'
  if (client !== undefined && !(typeof client === 'string' && /^[\w-]{16,64}$/.test(client)))
    return 'client: has to be 16 to 64 letters, digits, - and _'
  if (first !== undefined && !isWhole(first)) return 'first: has to be a whole number'
  if (!isList(events)) return 'events: has to be a list'
  if (events.length > limits.maxBatchEvents) return `events: at most ${limits.maxBatchEvents} of them`
  const skewMs = sentAtMs === undefined ? 0 : nowMs - sentAtMs
  const shiftMs = Math.abs(skewMs) > MAX_CLOCK_SKEW_MS ? skewMs : 0
  return {
    origin: client === undefined || first === undefined ? undefined : { client, first },
    events: events.map((event: unknown) => () => readEvent(event, source, shiftMs, nowMs, limits)),
  }
}

const EVENT_KEYS = ['atMs', 'type', 'level', 'name', 'message', 'durationMs', 'requestId', 'traceId', 'data'] as const
const TYPES = ['log', 'timing', 'query', 'custom'] as const
const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** `shiftMs`: what the sender's clock lacks. */
function readEvent(
  value: unknown,
  source: string,
  shiftMs: number,
  nowMs: number,
  { maxEventCharacters }: BatchLimits,
): ApplicationEvent | string {
  if (!isMap(value)) return 'an event is a map with type and name'
  const stray = strayKey(value, EVENT_KEYS)
  if (stray !== undefined) return `an event has no field ${quoted(stray)}; what is your own goes into data`
  const { atMs, level, name, message, durationMs, requestId, traceId, data } = value
  const type = TYPES.find((one) => one === value.type)
  if (type === undefined) return `type: has to be one of ${TYPES.join(', ')}`
  if (!isName(name)) return `name: has to be a text of 1 to ${MAX_NAME_CHARACTERS} characters`
  const known = LEVELS.find((one) => one === level)
  if (level !== undefined && known === undefined) return `level: has to be one of ${LEVELS.join(', ')}`
  if (message !== undefined && typeof message !== 'string') return 'message: has to be a text'
  if (durationMs !== undefined && !(isNumber(durationMs) && durationMs >= 0)) return 'durationMs: has to be a number'
  if (requestId !== undefined && !isName(requestId))
    return `requestId: has to be a text of 1 to ${MAX_NAME_CHARACTERS} characters`
  if (traceId !== undefined && !(typeof traceId === 'string' && /^[0-9a-f]{32}$/.test(traceId)))
    return 'traceId: has to be 32 hexadecimal digits in lower case'
  if (data !== undefined && !isData(data))
    return `data: has to be a map of at most ${MAX_DATA_ENTRIES} texts, finite numbers and truth values`
  const characters = (message?.length ?? 0) + name.length + charactersOf(data)
  if (characters > maxEventCharacters) return `has ${characters} characters; at most ${maxEventCharacters}`
  if (atMs !== undefined && !isNumber(atMs)) return 'atMs: has to be milliseconds since 1970'
  const startedAtMs = atMs === undefined ? nowMs : atMs + shiftMs
  if (startedAtMs < nowMs - MAX_EVENT_AGE_MS || startedAtMs > nowMs + MAX_CLOCK_SKEW_MS)
    return 'atMs: is more than a day ago, or in the future'
  return {
    startedAtMs,
    source,
    type,
    name,
    ...(known === undefined ? {} : { level: known }),
    ...(message === undefined ? {} : { message }),
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(traceId === undefined ? {} : { traceId }),
    ...(data === undefined ? {} : { data }),
  }
}

type Fields = Readonly<Record<string, unknown>>
type Data = NonNullable<ApplicationEvent['data']>

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isData(value: unknown): value is Data {
  if (!isMap(value)) return false
  const entries = Object.entries(value)
  return (
    entries.length <= MAX_DATA_ENTRIES &&
    entries.every(
      ([name, one]) =>
        name.length <= MAX_NAME_CHARACTERS && (typeof one === 'string' || typeof one === 'boolean' || isNumber(one)),
    )
  )
}

function charactersOf(data: Data | undefined): number {
  let characters = 0
  for (const [name, value] of Object.entries(data ?? {}))
    characters += name.length + (typeof value === 'string' ? value.length : 0)
  return characters
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME_CHARACTERS
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function strayKey(map: Fields, known: readonly string[]): string | undefined {
  return Object.keys(map).find((key) => !known.includes(key))
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 40))
}
