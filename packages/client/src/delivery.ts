/**
 * Brings events to the proxy: in batches, again after a break, and never with more memory than `maxBufferedBytes`.
 *
 * Events are numbered and wait in order. Those of a batch that is under way stand at the front and stay until the proxy has
 * said that it has them; a batch that comes twice is known to it by its numbers, so an answer that got lost costs nothing.
 */
import { encode } from '@prexy/msgpack/encode'
import { type ApplicationEvent, toWire } from './event.ts'

export interface DeliveryLimits {
  /** Octets of events that wait; beyond it the oldest are dropped and counted. Default 1,048,576. */
  readonly maxBufferedBytes: number
  /** A batch is sent when there are so many octets, … Default 65,536; the proxy takes 262,144. */
  readonly maxBatchBytes: number
  /** … so many events, … Default 500; the proxy takes 1,000. */
  readonly maxBatchEvents: number
  /** … or so long after its first event. Unit: milliseconds. Default 1,000. */
  readonly flushMs: number
  /** After a failure it is tried again so much later, twice as late each time, … Unit: milliseconds. Default 500. */
  readonly minRetryMs: number
  /** … at most so late. Unit: milliseconds. Default 30,000. */
  readonly maxRetryMs: number
  /** An answer that is not there after this is not waited for. Unit: milliseconds. Default 10,000. */
  readonly requestMs: number
}

export const DEFAULT_DELIVERY_LIMITS: DeliveryLimits = {
  maxBufferedBytes: 1_048_576,
  maxBatchBytes: 65_536,
  maxBatchEvents: 500,
  flushMs: 1_000,
  minRetryMs: 500,
  maxRetryMs: 30_000,
  requestMs: 10_000,
}

export interface DeliveryInit {
  /** Of the admin listener, such as `http://127.0.0.1:9901`. */
  readonly url: string
  readonly token: string
  readonly source: string
  readonly limits?: Partial<DeliveryLimits>
  /** Told what keeps events from being recorded, each problem once until events are taken again. */
  readonly onProblem?: (problem: string) => void
}

export interface DeliveryCounts {
  /** Events that the proxy has. */
  readonly sent: number
  /** Events that wait. */
  readonly waiting: number
  /** Events that were given up: there was no room for them, here or at the proxy. */
  readonly dropped: number
  /** Events that the proxy did not take as they were. */
  readonly refused: number
}

interface Entry {
  readonly number: number
  readonly octets: Uint8Array
  /** How many dropped events it tells of. */
  readonly tells: number
}

/** Browsers let pages send 64 KiB while they are left, head included. Unit: bytes. */
const MAX_PARTING_BYTES = 60_000
const BATCH_VERSION = 1
const ARRAY_32 = 0xdd

type Outcome = 'taken' | 'later' | 'refused' | 'too-long'

export class Delivery {
  readonly #init: DeliveryInit
  readonly #limits: DeliveryLimits
  readonly #address: string
  readonly #client: string = newClientName()
  /** The first `#flying` of them are under way. */
  readonly #waiting: Entry[] = []
  #flying = 0
  #bytes = 0
  #next = 0
  #failures = 0
  #retryMs = 0
  #timer: ReturnType<typeof setTimeout> | undefined = undefined
  #isRetry = false
  #underWay: Promise<Outcome> | undefined = undefined
  /** Less than `maxBatchEvents` once a batch was too long for the proxy. */
  #batchEvents: number
  #isClosed = false
  #sent = 0
  #dropped = 0
  #refused = 0
  /** Of `#dropped`, those that no event tells of yet. */
  #untold = 0
  #problem: string | undefined = undefined

  constructor(init: DeliveryInit) {
    this.#init = init
    this.#limits = { ...DEFAULT_DELIVERY_LIMITS, ...init.limits }
    this.#address = new URL('api/events', init.url.endsWith('/') ? init.url : `${init.url}/`).href
    this.#batchEvents = this.#limits.maxBatchEvents
  }

  get counts(): DeliveryCounts {
    return { sent: this.#sent, waiting: this.#waiting.length, dropped: this.#dropped, refused: this.#refused }
  }

  /** Takes an event. Never throws. */
  add(event: ApplicationEvent): void {
    if (this.#isClosed) {
      this.#dropped++
      return
    }
    this.#push(event, 0)
    if (this.#underWay !== undefined || this.#isRetry) return
    if (this.#isFull) void this.#send()
    else this.#plan(this.#limits.flushMs, false)
  }

  get #isFull(): boolean {
    return this.#bytes >= this.#limits.maxBatchBytes || this.#waiting.length >= this.#batchEvents
  }

  /** Sends all that waits now. False: some of it could not be sent, and is tried again later. */
  async flush(): Promise<boolean> {
    const last = this.#next - 1
    for (;;) {
      await this.#underWay
      const [first] = this.#waiting
      if (first === undefined || first.number > last) return true
      const outcome = await this.#send()
      if (outcome === 'later') return false
    }
  }

  /** Sends what waits, once, and stops. What is left then is dropped. */
  async close(): Promise<boolean> {
    const isSent = await this.flush()
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#dropped += this.#waiting.length
    this.#waiting.length = 0
    this.#bytes = 0
    return isSent
  }

  /** The page is left, perhaps for ever: what a browser still lets it send goes at once, that under way included. */
  part(): void {
    const batch = this.#batch(0, MAX_PARTING_BYTES, this.#limits.maxBatchEvents)
    if (batch.length === 0) return
    void this.#post(batch, true)
  }

  #push(event: ApplicationEvent, tells: number): void {
    const octets = encode(toWire(event, Date.now()))
    this.#waiting.push({ number: this.#next++, octets, tells })
    this.#bytes += octets.length
    while (this.#bytes > this.#limits.maxBufferedBytes && this.#waiting.length > this.#flying) this.#dropOldest()
  }

  /** Of those that are not under way. */
  #dropOldest(): void {
    const [gone] = this.#waiting.splice(this.#flying, 1)
    this.#bytes -= gone.octets.length
    if (gone.tells === 0) this.#dropped++
    this.#untold += gone.tells === 0 ? 1 : gone.tells
  }

  #plan(ms: number, isRetry: boolean): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#isRetry = isRetry
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#isRetry = false
      void this.#send()
    }, ms)
    // What waits keeps no process alive.
    unrefTimer(this.#timer)
  }

  #send(): Promise<Outcome> {
    this.#underWay ??= this.#sendBatch().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  async #sendBatch(): Promise<Outcome> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isRetry = false
    this.#tellDropped()
    const batch = this.#batch(0, this.#limits.maxBatchBytes, this.#batchEvents)
    if (batch.length === 0) return 'taken'
    this.#flying = batch.length
    const outcome = await this.#post(batch, false)
    this.#flying = 0
    if (outcome === 'taken') {
      this.#failures = 0
    } else if (outcome === 'refused' || (outcome === 'too-long' && batch.length === 1)) {
      this.#refused += this.#remove(batch)
    } else if (outcome === 'too-long') {
      this.#batchEvents = Math.ceil(batch.length / 2)
    } else {
      this.#failures++
    }
    while (this.#bytes > this.#limits.maxBufferedBytes && this.#waiting.length > 0) this.#dropOldest()
    if (this.#waiting.length === 0) return outcome
    if (outcome === 'later') this.#plan(this.#backOffMs(), true)
    else this.#plan(this.#isFull ? 0 : this.#limits.flushMs, false)
    return outcome
  }

  #backOffMs(): number {
    const { minRetryMs, maxRetryMs } = this.#limits
    const doubled = Math.min(maxRetryMs, minRetryMs * 2 ** Math.min(this.#failures - 1, 30))
    // Not all clients at one moment when the proxy is back.
    return Math.min(maxRetryMs, Math.max(this.#retryMs, doubled * (0.75 + Math.random() / 4)))
  }

  #tellDropped(): void {
    const count = this.#untold
    if (count === 0 || this.#flying > 0) return
    this.#untold = 0
    const message = `${count} events of this application were dropped: they could not be sent in time`
    this.#push({ type: 'log', level: 'warn', name: 'events dropped', message, data: { dropped: count } }, count)
  }

  /** The first events behind `from`, without a gap in their numbers, as many as there is room for, one at least. */
  #batch(from: number, maxBytes: number, maxEvents: number): readonly Entry[] {
    let bytes = 0
    let end = from
    while (end < this.#waiting.length && end - from < maxEvents) {
      const entry = this.#waiting[end]
      bytes += entry.octets.length
      if (end > from && (bytes > maxBytes || entry.number !== this.#waiting[end - 1].number + 1)) break
      end++
    }
    return this.#waiting.slice(from, end)
  }

  /** Returns how many of them still waited. */
  #remove(batch: readonly Entry[]): number {
    const last = batch[batch.length - 1].number
    let count = 0
    while (count < this.#waiting.length && this.#waiting[count].number <= last) {
      this.#bytes -= this.#waiting[count].octets.length
      count++
    }
    this.#waiting.splice(0, count)
    this.#flying = Math.max(0, this.#flying - count)
    return count
  }

  /** Never rejects. */
  async #post(batch: readonly Entry[], isParting: boolean): Promise<Outcome> {
    const { token, source } = this.#init
    const deadline = new AbortController()
    const late = setTimeout(() => deadline.abort(), this.#limits.requestMs)
    unrefTimer(late)
    try {
      const response = await fetch(this.#address, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.msgpack' },
        body: encodeBatch({ source, client: this.#client, first: batch[0].number }, batch),
        keepalive: isParting,
        credentials: 'omit',
        redirect: 'error',
        signal: deadline.signal,
      })
      const text = await response.text()
      if (response.ok) {
        this.#onTaken(batch, text)
        return 'taken'
      }
      return this.#onRefused(response, text)
    } catch (error) {
      this.#tell(
        `the proxy at ${this.#init.url} cannot be reached: ${error instanceof Error ? error.message : 'no answer'}`,
      )
      this.#retryMs = 0
      return 'later'
    } finally {
      clearTimeout(late)
    }
  }

  #onTaken(batch: readonly Entry[], text: string): void {
    const taken = this.#remove(batch)
    const { dropped, refused, reason } = takenOf(text)
    this.#sent += Math.max(0, taken - dropped - refused)
    this.#dropped += dropped
    this.#refused += refused
    this.#problem = undefined
    if (refused > 0) this.#tell(`the proxy refused ${refused} events: ${reason ?? 'no reason given'}`)
    if (dropped > 0) this.#tell(`the proxy had no room for ${dropped} events`)
  }

  #onRefused({ status, headers }: Response, text: string): Outcome {
    const isLater = status >= 500 || status === 408 || status === 425 || status === 429
    this.#tell(`the proxy answered ${status}: ${faultOf(text) ?? 'no reason given'}`)
    const seconds = Number(headers.get('retry-after') ?? 0)
    this.#retryMs = Number.isFinite(seconds) ? seconds * 1_000 : 0
    return isLater ? 'later' : status === 413 ? 'too-long' : 'refused'
  }

  #tell(problem: string): void {
    if (this.#problem === problem) return
    this.#problem = problem
    this.#init.onProblem?.(problem)
  }
}

interface BatchHead {
  readonly source: string
  readonly client: string
  readonly first: number
}

/** A map whose last value is the list of the events, which are MessagePack already. */
function encodeBatch(head: BatchHead, batch: readonly Entry[]): Uint8Array<ArrayBuffer> {
  const before = encode({ version: BATCH_VERSION, ...head, sentAtMs: Date.now(), events: '' })
  // The empty text at its end is one octet, and makes room for the head of the list.
  const start = before.length - 1
  const octets = new Uint8Array(start + 5 + batch.reduce((sum, entry) => sum + entry.octets.length, 0))
  octets.set(before)
  octets[start] = ARRAY_32
  new DataView(octets.buffer).setUint32(start + 1, batch.length)
  let at = start + 5
  for (const entry of batch) {
    octets.set(entry.octets, at)
    at += entry.octets.length
  }
  return octets
}

function takenOf(text: string): { dropped: number; refused: number; reason: string | undefined } {
  const value = parsed(text)
  const count = (name: string): number => (typeof value[name] === 'number' ? value[name] : 0)
  const first: unknown = Array.isArray(value.reasons) ? value.reasons[0] : undefined
  const reason = typeof first === 'object' && first !== null && 'reason' in first ? String(first.reason) : undefined
  return { dropped: count('dropped'), refused: count('refused'), reason }
}

function faultOf(text: string): string | undefined {
  const { error } = parsed(text)
  return typeof error === 'string' ? error : undefined
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Unlike that of any other; pages that came without TLS have no `randomUUID`. */
function newClientName(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((octet) => octet.toString(16).padStart(2, '0')).join('')
}

/** A timer of Node, which can be told to keep no process alive; that of a browser is a number. */
interface NodeTimer {
  unref(): void
}

function unrefTimer(timer: unknown): void {
  if (isNodeTimer(timer)) timer.unref()
}

function isNodeTimer(timer: unknown): timer is NodeTimer {
  return typeof timer === 'object' && timer !== null && 'unref' in timer
}
