/** What an application tells, and what of it fits into an event that the proxy takes. */

/** Texts, numbers, truth values as they are; other values as JSON; `undefined` and `null` are left out. */
export type EventData = Readonly<Record<string, unknown>>

export type EventType = 'log' | 'timing' | 'query' | 'custom'
export type EventLevel = 'debug' | 'info' | 'warn' | 'error'

export interface ApplicationEvent {
  readonly type: EventType
  /** At most 200 characters; longer ones are cut, and stand in `message` as a whole where there is none. */
  readonly name: string
  readonly level?: EventLevel
  readonly message?: string
  readonly durationMs?: number
  /** Value of X-Request-Id of the request that it belongs to. */
  readonly requestId?: string
  /** Trace identifier of that request: 32 hexadecimal digits. */
  readonly traceId?: string
  readonly data?: EventData
  /** When it happened, milliseconds since the epoch. Default now. */
  readonly atMs?: number
}

/** As the proxy takes it. */
export type WireEvent = Omit<ApplicationEvent, 'data' | 'atMs'> & {
  readonly atMs: number
  readonly data?: Readonly<Record<string, string | number | boolean>>
}

/** The limits of the proxy, with room to spare. Unit: characters, entries. */
const MAX_NAME = 200
const MAX_MESSAGE = 8_000
const MAX_VALUE = 1_000
const MAX_DATA = 7_500
const MAX_ENTRIES = 64

/** The event as it is sent: what is too long is cut, what is no plain value becomes text. */
export function toWire(event: ApplicationEvent, nowMs: number): WireEvent {
  const { name, message, durationMs, requestId, traceId, data } = event
  const text = message ?? (name.length > MAX_NAME ? name : undefined)
  return {
    atMs: event.atMs ?? nowMs,
    type: event.type,
    name: name === '' ? event.type : cut(name, MAX_NAME),
    ...(event.level === undefined ? {} : { level: event.level }),
    ...(text === undefined ? {} : { message: cut(text, MAX_MESSAGE) }),
    ...(durationMs === undefined || !(durationMs >= 0) || !Number.isFinite(durationMs) ? {} : { durationMs }),
    ...(requestId === undefined || requestId === '' ? {} : { requestId: cut(requestId, MAX_NAME) }),
    ...(traceId === undefined || !/^[0-9a-f]{32}$/.test(traceId) ? {} : { traceId }),
    ...(data === undefined ? {} : { data: dataOf(data) }),
  }
}

function dataOf(data: EventData): Record<string, string | number | boolean> {
  const entries: [string, string | number | boolean][] = []
  let left = MAX_DATA
  for (const [key, value] of Object.entries(data)) {
    const name = cut(key, MAX_NAME)
    const scalar = scalarOf(value)
    if (scalar === undefined) continue
    left -= name.length + (typeof scalar === 'string' ? scalar.length : 0)
    if (left < 0 || entries.length === MAX_ENTRIES) break
    entries.push([name, scalar])
  }
  return Object.fromEntries(entries)
}

function scalarOf(value: unknown): string | number | boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value
  return cut(textOf(value), MAX_VALUE)
}

/** Any value as text. Never throws. */
export function textOf(value: unknown): string {
  try {
    if (typeof value === 'string') return value
    if (value instanceof Error) return value.stack ?? `${value.name}: ${value.message}`
    if (typeof value !== 'object' || value === null) return String(value)
    return JSON.stringify(value) ?? Object.prototype.toString.call(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
