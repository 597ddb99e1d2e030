/**
 * Takes what an exchange tells of itself, and at its end makes one event of it: without secrets, in MessagePack, to the
 * disk and to those who watch. All on the path of the exchange, so everything here is counted in microseconds.
 */
import type { ExchangeEvent } from '@prexy/events/exchange'
import { type FieldDelta, fieldDelta } from '@prexy/events/field-delta'
import type {
  ApplicationRecord,
  BodyOmission,
  RecordedBodies,
  RecordedBody,
  RecordedEvent,
  WebSocketCounts,
} from '@prexy/events/recorded-event'
import type { ExchangeRecorder, ExchangeRecording } from '@prexy/events/recorder'
import { isRedactable, type Redactor } from '@prexy/events/redact'
import { type FieldList, fieldValue, parseMediaType } from '@prexy/http/fields'
import type { RequestHead, ResponseHead } from '@prexy/http/message'
import { encode, Encoder } from '@prexy/msgpack/encode'
import { BodyCapture, type BodyMemory } from './body-capture.ts'
import { type ExchangeParts, ExchangeWriter } from './exchange-writer.hot.ts'
import type { LiveFeed } from './live-feed.ts'
import type { SegmentWriter } from './segment-writer.ts'

export interface BodyLimits {
  /** Octets of each body that are kept. Default 65,536. */
  readonly maxBodyBytes: number
  /** Others for some media types: `text/html`, `image/*`; the first that fits counts, 0 keeps none. Default images, audio, video and fonts 0. */
  readonly maxBytesByType: readonly (readonly [type: string, maxBytes: number])[]
  /** Octets of bodies of exchanges under way. Default 64 MiB. */
  readonly maxBodyMemoryBytes: number
  /** Share of the recorded exchanges whose bodies are kept, 0 to 1. Default 1. */
  readonly sample: number
}

export const DEFAULT_BODY_LIMITS: BodyLimits = {
  maxBodyBytes: 65_536,
  maxBytesByType: [
    ['image/*', 0],
    ['audio/*', 0],
    ['video/*', 0],
    ['font/*', 0],
  ],
  maxBodyMemoryBytes: 64 * 1024 * 1024,
  sample: 1,
}

export interface RecorderInit {
  /** Eight hexadecimal digits, see `newRun`. */
  readonly run: string
  /** Absent: nothing goes to a disk. */
  readonly writer?: SegmentWriter
  /** Absent: nobody can watch. */
  readonly feed?: LiveFeed
  /** Absent: secrets are recorded, too. */
  readonly redactor?: Redactor
  /** Absent: no bodies. */
  readonly bodies?: Partial<BodyLimits>
  /** Share of the exchanges that are recorded, 0 to 1. Default 1. */
  readonly sample?: number
  /** Names of routes that are recorded. Default all, and what has no route. */
  readonly routes?: readonly string[]
  /** Between 0 and 1, for both samples. */
  readonly random?: () => number
}

/** What an application tells; the recorder numbers it. */
export type ApplicationEvent = Omit<ApplicationRecord, 'kind' | 'run' | 'sequence'>

/** A name for this process's events. */
export function newRun(): string {
  return crypto.randomUUID().slice(0, 8)
}

export class Recorder implements ExchangeRecorder {
  readonly run: string
  readonly #writer: SegmentWriter | undefined
  readonly #feed: LiveFeed | undefined
  /** @internal */
  readonly redactor: Redactor | undefined
  readonly #bodies: BodyLimits | undefined
  readonly #sample: number
  readonly #routes: ReadonlySet<string> | undefined
  readonly #random: () => number
  readonly #encoder: ExchangeWriter
  readonly #applicationEncoder = new Encoder({ ignoreUndefined: true })
  readonly #limitsByType = new Map<string, number>()
  /** @internal */
  readonly memory: BodyMemory
  #sequence = 0
  #unreported = 0
  /** False records nothing until it is true again; exchanges under way go on as they began. */
  enabled = true
  /** Events that were lost, because the disk did not keep up or has stopped. */
  dropped = 0
  /** Events that were recorded. */
  recorded = 0

  constructor(init: RecorderInit) {
    this.run = init.run
    this.#writer = init.writer
    this.#feed = init.feed
    this.redactor = init.redactor
    this.#encoder = new ExchangeWriter(init.redactor)
    this.#bodies = init.bodies === undefined ? undefined : { ...DEFAULT_BODY_LIMITS, ...init.bodies }
    this.memory = { left: this.#bodies?.maxBodyMemoryBytes ?? 0 }
    this.#sample = init.sample ?? 1
    this.#routes = init.routes === undefined ? undefined : new Set(init.routes)
    this.#random = init.random ?? Math.random
  }

  begin(request: RequestHead, route: string | undefined): ExchangeRecording | undefined {
    if (!this.enabled) return undefined
    if (this.#routes !== undefined && (route === undefined || !this.#routes.has(route))) return undefined
    if (this.#sample < 1 && this.#random() >= this.#sample) return undefined
    const bodies = this.#bodies
    const keepsBodies = bodies !== undefined && (bodies.sample >= 1 || this.#random() < bodies.sample)
    return new Recording(this, request, keepsBodies)
  }

  refused(event: ExchangeEvent): void {
    if (!this.enabled || this.#routes !== undefined) return
    this.write({
      kind: 'exchange',
      event,
      request: undefined,
      response: undefined,
      webSocket: undefined,
      bodies: undefined,
    })
  }

  /**
   * Takes an event of an application, whatever the samples and routes say. False: it is lost, as where the disk does not
   * keep up; those who watch see it in any case.
   */
  application(event: ApplicationEvent): boolean {
    if (!this.enabled) return false
    const { startedAtMs } = event
    if (this.#unreported > 0 && this.#writer?.isBehind === false) this.#reportGap(startedAtMs)
    const sequence = ++this.#sequence
    const record: ApplicationRecord = { kind: 'application', run: this.run, sequence, ...event }
    const octets = this.#applicationEncoder.encodeSharedRef(this.redactor?.application(record) ?? record)
    return this.#count(this.#put(octets, sequence, startedAtMs))
  }

  /** @internal Octets of a body of that type that are kept. */
  maxBytesOf(mediaType: string | undefined): number {
    const bodies = this.#bodies
    if (bodies === undefined) return 0
    const essence = (mediaType === undefined ? undefined : parseMediaType(mediaType)?.essence) ?? ''
    const known = this.#limitsByType.get(essence)
    if (known !== undefined) return known
    const own = bodies.maxBytesByType.find(([type]) => typeFits(type, essence))
    const limit = own === undefined ? bodies.maxBodyBytes : own[1]
    if (this.#limitsByType.size >= MAX_REMEMBERED_TYPES) this.#limitsByType.clear()
    this.#limitsByType.set(essence, limit)
    return limit
  }

  /** @internal Numbers the event, takes secrets out, and hands it on. */
  write(parts: ExchangeParts): void {
    const { startedAtMs } = parts.event
    if (this.#unreported > 0 && this.#writer?.isBehind === false) this.#reportGap(startedAtMs)
    const sequence = ++this.#sequence
    const octets = this.#encoder.write(this.run, sequence, parts)
    this.#count(this.#put(octets, sequence, startedAtMs))
  }

  #count(isKept: boolean): boolean {
    if (isKept) {
      this.recorded++
    } else {
      this.dropped++
      this.#unreported++
    }
    return isKept
  }

  #reportGap(startedAtMs: number): void {
    const sequence = ++this.#sequence
    const gap: RecordedEvent = { kind: 'gap', run: this.run, sequence, startedAtMs, dropped: this.#unreported }
    if (this.#put(encode(gap), sequence, startedAtMs)) this.#unreported = 0
  }

  /** Whoever watches sees it in any case. False: it is not on its way to the disk, where there is one. */
  #put(octets: Uint8Array, sequence: number, startedAtMs: number): boolean {
    this.#feed?.publish(octets)
    return this.#writer === undefined || this.#writer.add(octets, sequence, startedAtMs)
  }
}

const MAX_REMEMBERED_TYPES = 1_024

function typeFits(pattern: string, essence: string): boolean {
  return pattern.endsWith('/*') ? essence.startsWith(pattern.slice(0, -1)) : pattern === '*' || pattern === essence
}

function deltaTo(base: FieldList, fields: FieldList | undefined): FieldDelta | undefined {
  return fields === undefined ? undefined : fieldDelta(base, fields)
}

class Recording implements ExchangeRecording {
  readonly #recorder: Recorder
  readonly #request: RequestHead
  readonly #keepsBodies: boolean
  #sentRequestFields: FieldList | undefined = undefined
  #response: ResponseHead | undefined = undefined
  #sentFields: FieldList | undefined = undefined
  #webSocket: WebSocketCounts | undefined = undefined
  readonly #requestBody: BodyCapture | BodyOmission | undefined
  #requestBodySent: BodyCapture | undefined = undefined
  #responseBody: BodyCapture | BodyOmission | undefined = undefined
  #responseBodySent: BodyCapture | undefined = undefined

  constructor(recorder: Recorder, request: RequestHead, keepsBodies: boolean) {
    this.#recorder = recorder
    this.#request = request
    this.#keepsBodies = keepsBodies
    this.#requestBody = keepsBodies && request.body.kind !== 'none' ? this.#captureOf(request.fields, false) : undefined
  }

  get wantsRequestBody(): boolean {
    return this.#requestBody instanceof BodyCapture
  }

  requestSent(fields: FieldList): void {
    this.#sentRequestFields = fields
  }

  requestData(octets: Uint8Array): void {
    if (this.#requestBody instanceof BodyCapture) this.#requestBody.write(octets)
  }

  requestDataSent(octets: Uint8Array): void {
    this.#requestBodySent ??= new BodyCapture(this.#recorder.memory, this.#maxBytes(this.#request.fields))
    this.#requestBodySent.write(octets)
  }

  responseHead(head: ResponseHead, sentFields: FieldList, isRewritten: boolean): boolean {
    this.#response = head
    this.#sentFields = sentFields
    if (!this.#keepsBodies || head.body.kind === 'none' || head.body.kind === 'tunnel') return false
    this.#responseBody = this.#captureOf(head.fields, isRewritten)
    return this.#responseBody instanceof BodyCapture
  }

  responseData(octets: Uint8Array): void {
    if (this.#responseBody instanceof BodyCapture) this.#responseBody.write(octets)
  }

  responseDataSent(octets: Uint8Array): void {
    const fields = this.#response?.fields ?? []
    this.#responseBodySent ??= new BodyCapture(this.#recorder.memory, this.#maxBytes(fields))
    this.#responseBodySent.write(octets)
  }

  webSocket(counts: WebSocketCounts): void {
    this.#webSocket = counts
  }

  end(event: ExchangeEvent): void {
    const { minorVersion, fields } = this.#request
    const response = this.#response
    const webSocket = this.#webSocket
    this.#recorder.write({
      kind: webSocket === undefined ? 'exchange' : 'websocket',
      event,
      request: { minorVersion, status: undefined, fields, sent: deltaTo(fields, this.#sentRequestFields) },
      response:
        response === undefined
          ? undefined
          : {
              minorVersion: undefined,
              status: response.status,
              fields: response.fields,
              sent: deltaTo(response.fields, this.#sentFields),
            },
      webSocket,
      bodies: this.#keepsBodies ? this.#bodies(event) : undefined,
    })
  }

  #maxBytes(fields: FieldList): number {
    return this.#recorder.maxBytesOf(fieldValue(fields, 'content-type'))
  }

  #captureOf(fields: FieldList, isDecoded: boolean): BodyCapture | BodyOmission {
    const maxBytes = this.#maxBytes(fields)
    if (maxBytes === 0) return 'type'
    if (this.#recorder.redactor !== undefined) {
      if (!isRedactable(fieldValue(fields, 'content-type'))) return 'type'
      const coding = fieldValue(fields, 'content-encoding')
      if (!isDecoded && coding !== undefined && coding !== '' && coding !== 'identity') return 'coded'
    }
    return new BodyCapture(this.#recorder.memory, maxBytes)
  }

  #bodies(event: ExchangeEvent): RecordedBodies {
    const { clientInBytes, upstreamInBytes } = event
    const request = this.#requestBody
    const response = this.#responseBody
    return {
      ...(request === undefined ? {} : { request: recordedBody(request, clientInBytes) }),
      ...(this.#requestBodySent === undefined ? {} : { requestSent: recordedBody(this.#requestBodySent, 0) }),
      ...(response === undefined ? {} : { response: recordedBody(response, upstreamInBytes) }),
      ...(this.#responseBodySent === undefined ? {} : { responseSent: recordedBody(this.#responseBodySent, 0) }),
    }
  }
}

/** `bytes`: octets of a body that was not looked at. */
function recordedBody(body: BodyCapture | BodyOmission, bytes: number): RecordedBody {
  if (typeof body === 'string') return { bytes, omitted: body }
  const wasShort = body.isShort
  const octets = body.take()
  if (octets.length === body.bytes) return { bytes: body.bytes, octets }
  return { bytes: body.bytes, octets, omitted: wasShort ? 'memory' : 'length' }
}
