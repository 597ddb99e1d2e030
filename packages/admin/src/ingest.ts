/**
 * Takes events of applications into the recording. What it costs is bounded whoever sends: octets of a batch, events of a
 * batch, events and octets a second, octets that wait; and the event loop gets its turn between events, since the proxy may
 * be served by the same one.
 */
import type { ApplicationEvent } from '@prexy/record/recorder'
import { decode } from '@prexy/msgpack/decode'
import { DecodeError } from '@prexy/msgpack/errors'
import { type Batch, type BatchLimits, type BatchOrigin, readBatch } from './ingest-batch.ts'

export interface IngestLimits extends BatchLimits {
  /** Octets of one batch. Default 262,144. */
  readonly maxBatchBytes: number
  /** Of all applications together; what comes faster is put off with 429. Default 1,000. */
  readonly maxEventsPerSecond: number
  /** The same for octets. Default 1,048,576. */
  readonly maxBytesPerSecond: number
  /** Octets of batches that are read or wait to be recorded; more are put off with 503. Default 4,194,304. */
  readonly maxPendingBytes: number
}

export const DEFAULT_INGEST_LIMITS: IngestLimits = {
  maxBatchBytes: 262_144,
  maxBatchEvents: 1_000,
  maxEventCharacters: 16_384,
  maxEventsPerSecond: 1_000,
  maxBytesPerSecond: 1_048_576,
  maxPendingBytes: 4_194_304,
}

/** Events are read and recorded for so long before the event loop has its turn. Unit: milliseconds. */
export const MAX_TURN_MS = 4
/** Levels of a batch: itself, its events, an event, its data. */
const MAX_DEPTH = 4
/** Senders whose last event is remembered; the one that was heard of first is forgotten. */
export const MAX_CLIENTS = 1_000
/** Events of a batch that are named with what is wrong with them. */
const MAX_REASONS = 10

export interface IngestInit {
  /** Records one event; false if it is lost. */
  readonly record: (event: ApplicationEvent) => boolean
  /** May only send events. Absent: the admin token sends them. */
  readonly token?: string
  /** Origins of pages that may send events, `scheme://host[:port]` in lower case. */
  readonly origins?: readonly string[]
  readonly limits?: Partial<IngestLimits>
}

export type BatchFormat = 'messagepack' | 'json'

/** What became of a batch. */
export type IngestOutcome =
  | {
      readonly kind: 'taken'
      readonly accepted: number
      /** The recorder had no room for them, as on a full disk; or they had been taken before. */
      readonly dropped: number
      readonly known: number
      readonly refused: number
      /** Of the first ones that were refused. */
      readonly reasons: readonly { readonly index: number; readonly reason: string }[]
    }
  | { readonly kind: 'refused'; readonly reason: string }
  /** It may come again after so many seconds. */
  | { readonly kind: 'later'; readonly why: 'rate' | 'room'; readonly seconds: number }

/** Events that were sent since the start. */
export interface IngestCounts {
  readonly accepted: number
  readonly dropped: number
  readonly refused: number
}

export class Ingest {
  readonly limits: IngestLimits
  readonly origins: ReadonlySet<string>
  readonly token: string | undefined
  readonly #record: (event: ApplicationEvent) => boolean
  readonly #events: Rate
  readonly #octets: Rate
  /** By sender, the number of the first event that it has not sent yet. */
  readonly #clients = new Map<string, number>()
  #pendingBytes = 0
  #accepted = 0
  #dropped = 0
  #refused = 0

  constructor({ record, token, origins = [], limits }: IngestInit) {
    this.limits = { ...DEFAULT_INGEST_LIMITS, ...limits }
    this.origins = new Set(origins)
    this.token = token
    this.#record = record
    this.#events = new Rate(this.limits.maxEventsPerSecond)
    this.#octets = new Rate(this.limits.maxBytesPerSecond)
  }

  get counts(): IngestCounts {
    return { accepted: this.#accepted, dropped: this.#dropped, refused: this.#refused }
  }

  /** Sets room aside for a batch until the returned function is called; undefined if there is none. */
  reserve(): (() => void) | undefined {
    const { maxPendingBytes, maxBatchBytes } = this.limits
    if (this.#pendingBytes + maxBatchBytes > Math.max(maxPendingBytes, maxBatchBytes)) return undefined
    this.#pendingBytes += maxBatchBytes
    return () => {
      this.#pendingBytes -= maxBatchBytes
    }
  }

  /** Never rejects for what is in the octets. */
  async take(octets: Uint8Array, format: BatchFormat, nowMs: number): Promise<IngestOutcome> {
    const waitSeconds = this.#octets.take(octets.length, nowMs)
    if (waitSeconds > 0) return { kind: 'later', why: 'rate', seconds: waitSeconds }
    const value = decodeBatch(octets, format)
    if (value === undefined) return { kind: 'refused', reason: `this is no ${FORMAT_NAMES[format]}` }
    const batch = readBatch(value.value, nowMs, this.limits)
    if (typeof batch === 'string') return { kind: 'refused', reason: batch }
    const known = batch.origin === undefined ? 0 : this.#knownOf(batch.origin, batch.events.length)
    const eventSeconds = this.#events.take(batch.events.length - known, nowMs)
    if (eventSeconds > 0) return { kind: 'later', why: 'rate', seconds: eventSeconds }
    // Before the first turn of others: the same batch may be read twice at one time.
    if (batch.origin !== undefined) this.#remember(batch.origin, batch.events.length)
    return await this.#recordAll(batch, known)
  }

  async #recordAll({ events }: Batch, known: number): Promise<IngestOutcome> {
    let accepted = 0
    let dropped = 0
    let refused = 0
    const reasons: { index: number; reason: string }[] = []
    let turnFrom = performance.now()
    for (let index = known; index < events.length; index++) {
      const event = events[index]()
      if (typeof event === 'string') {
        refused++
        if (reasons.length < MAX_REASONS) reasons.push({ index, reason: event })
      } else if (this.#record(event)) accepted++
      else dropped++
      if (performance.now() - turnFrom < MAX_TURN_MS) continue
      await new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
      turnFrom = performance.now()
    }
    this.#accepted += accepted
    this.#dropped += dropped
    this.#refused += refused
    return { kind: 'taken', accepted, dropped, known, refused, reasons }
  }

  /** How many of the first events of a batch were taken before. */
  #knownOf({ client, first }: BatchOrigin, events: number): number {
    return Math.min(Math.max((this.#clients.get(client) ?? 0) - first, 0), events)
  }

  #remember({ client, first }: BatchOrigin, events: number): void {
    const next = Math.max(this.#clients.get(client) ?? 0, first + events)
    this.#clients.delete(client)
    this.#clients.set(client, next)
    for (const oldest of this.#clients.keys()) {
      if (this.#clients.size <= MAX_CLIENTS) break
      this.#clients.delete(oldest)
    }
  }
}

const FORMAT_NAMES: Readonly<Record<BatchFormat, string>> = { messagepack: 'MessagePack', json: 'JSON' }

function decodeBatch(octets: Uint8Array, format: BatchFormat): { readonly value: unknown } | undefined {
  try {
    if (format === 'messagepack') return { value: decode(octets, { maxDepth: MAX_DEPTH }) }
    const value: unknown = JSON.parse(new TextDecoder().decode(octets))
    return { value }
  } catch (error) {
    // Bun has a RangeError for JSON that is too deep.
    if (error instanceof DecodeError || error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

/** So much a second, at most that of one second at once; the last one may go beyond it, and others wait until that is made up for. */
class Rate {
  readonly #perSecond: number
  #left: number
  #atMs = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#left = perSecond
  }

  /** 0 if it may be; else the whole seconds to wait, and nothing is taken. */
  take(amount: number, nowMs: number): number {
    const perSecond = this.#perSecond
    // A clock that is set back gives nothing.
    const elapsedMs = Math.max(nowMs - this.#atMs, 0)
    this.#left = Math.min(perSecond, this.#left + (elapsedMs / 1_000) * perSecond)
    this.#atMs = nowMs
    if (this.#left <= 0) return Math.ceil(-this.#left / perSecond) || 1
    this.#left -= amount
    return 0
  }
}
