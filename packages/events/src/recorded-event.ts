/**
 * What a recording holds, as plain data: one event per exchange, per WebSocket, per gap, per event of an application.
 * Written as MessagePack maps with these keys; what is `undefined` or absent here is absent there. Header fields are
 * flat lists, name, value, name, value, one octet per character. `recorded-wire.ts` goes there and back.
 */
import type { FieldList } from '@prexy/http/fields'
import type { ExchangeEvent } from './exchange.ts'

export type RecordedEvent = ExchangeRecord | GapRecord | ApplicationRecord

/** What all kinds have: enough to put them on one time line and to find them again. */
export interface RecordedBase {
  /** Eight hexadecimal digits: which process recorded it. Each worker of a proxy is one. */
  readonly run: string
  /** From 1 within a run, in the order in which events ended. `run-sequence` names an event for ever. */
  readonly sequence: number
  /** Wall clock, milliseconds since the epoch: of an exchange at the first octet of the request. */
  readonly startedAtMs: number
}

/**
 * A finished exchange with its heads. On the wire each `sentFields` is `sent`, a `FieldDelta` to the `fields` beside it.
 * `websocket`: it became one, and its octets went both ways until it ended.
 */
export interface ExchangeRecord extends RecordedBase, ExchangeEvent {
  readonly kind: 'exchange' | 'websocket'
  /** Absent for a request that did not parse. */
  readonly request?: RecordedRequest
  /** Absent where no response came from an upstream; then what the client got was our own. */
  readonly response?: RecordedResponse
  readonly webSocket?: WebSocketCounts
  /** Absent where no bodies are recorded. */
  readonly bodies?: RecordedBodies
}

export interface RecordedRequest {
  readonly minorVersion: number
  /** As the client sent them. */
  readonly fields: FieldList
  /** As the upstream got them; absent if it was not asked. */
  readonly sentFields?: FieldList
}

export interface RecordedResponse {
  /** As the upstream sent it. */
  readonly status: number
  readonly fields: FieldList
  /** As the client got them; absent if it did not. */
  readonly sentFields?: FieldList
}

/** Messages and octets of a WebSocket (RFC 6455), each way; octets with framing. */
export interface WebSocketCounts {
  readonly fromClient: WebSocketSide
  readonly fromUpstream: WebSocketSide
}

export interface WebSocketSide {
  readonly bytes: number
  readonly textMessages: number
  readonly binaryMessages: number
  /** Pings, pongs, closes. */
  readonly controlFrames: number
  /** Of the close frame, if there was one with a code. */
  readonly closeCode?: number
  /** Absent if the octets were frames to the end; else counts are those before what was none. */
  readonly broken?: true
}

/** Without transfer coding. */
export interface RecordedBodies {
  /** As the client sent it. */
  readonly request?: RecordedBody
  /** As the upstream got it; absent where that is the same. */
  readonly requestSent?: RecordedBody
  /** What came from the upstream; where it was rewritten, without content coding, as the rules saw it. */
  readonly response?: RecordedBody
  /** What became of it, before it was coded again; absent where nothing rewrote it. */
  readonly responseSent?: RecordedBody
}

export interface RecordedBody {
  /** Octets that there were. */
  readonly bytes: number
  /** The first of them, redacted; absent if none were kept. */
  readonly octets?: Uint8Array
  /** Why octets are missing, at the end or altogether. */
  readonly omitted?: BodyOmission
}

export type BodyOmission =
  /** There was more than `maxBodyBytes` of its type. */
  | 'length'
  /** Its type is not among those that are recorded, or, while secrets are taken out, not one in which they can be found. */
  | 'type'
  /** It is compressed and was not rewritten, so that secrets in it cannot be found. */
  | 'coded'
  /** Bodies of other exchanges took all of `maxBodyMemoryBytes`. */
  | 'memory'

/** Events that were not recorded: more came than could be written. */
export interface GapRecord extends RecordedBase {
  readonly kind: 'gap'
  /** How many, since the event before. */
  readonly dropped: number
}

/** An event that an application adds to a recording. */
export interface ApplicationRecord extends RecordedBase {
  readonly kind: 'application'
  /** The application's own name. */
  readonly source: string
  readonly type: 'log' | 'timing' | 'query' | 'custom'
  readonly level?: 'debug' | 'info' | 'warn' | 'error'
  readonly name: string
  readonly message?: string
  readonly durationMs?: number
  /** Value of X-Request-Id of the exchange that it belongs to. */
  readonly requestId?: string
  /** Trace identifier of that exchange, 32 hexadecimal digits: the second part of its `traceparent`. */
  readonly traceId?: string
  /** Scalars by name, redacted. */
  readonly data?: Readonly<Record<string, string | number | boolean>>
}

/** `run-sequence`, as the command line and links name an event. */
export function eventName({ run, sequence }: Pick<RecordedBase, 'run' | 'sequence'>): string {
  return `${run}-${sequence}`
}
