/**
 * One request asked of another proxy, whose answer is compared with ours while both come. Nobody waits for it but the
 * event, and nothing that fails in it reaches the client.
 */
import type { ComparisonSkip, DifferenceExample, ResponseComparison } from '@prexy/events/exchange'
import { Redactor } from '@prexy/events/redact'
import { type Coding, contentCoding } from '@prexy/http/content-coding'
import { fieldValues } from '@prexy/http/fields'
import type { ResponseHead } from '@prexy/http/message'
import { CONTENT_CODINGS } from '@prexy/net/content-decoder'
import { Timer } from '@prexy/net/timer-wheel'
import { BodyComparison, type ComparedSide } from './body-comparison.ts'
import type { Comparer, OwnResponse } from './compare-with.ts'
import { ComparedBody } from './compared-body.ts'
import { PROXY_ERROR_CODES, type ProxyError } from './proxy-error.ts'
import type { ProxyRuntime } from './runtime.ts'
import type { ServerWatch, UpstreamChannel, UpstreamHead, UpstreamUser } from './upstream-channel.ts'
import type { UpstreamConnection } from './upstream-connection.ts'
import type { PoolClient } from './upstream-server.ts'

/**
 * Coded octets of our response that may wait to be decoded for the comparison, since the client is not to wait for it;
 * beyond it there is none. Unit: bytes.
 */
export const MAX_COMPARISON_WAITING_BYTES = 4_194_304

/** What came of it, and where the first difference is, for a person. */
export interface ComparisonResult {
  readonly comparison: ResponseComparison
  readonly difference: Pick<DifferenceExample, 'part' | 'ours' | 'theirs' | 'bodyAt'> | undefined
}

export interface ComparisonInit {
  readonly comparer: Comparer
  readonly method: string
  /** Of the request to the other proxy. */
  readonly head: UpstreamHead
  readonly own: OwnResponse
  readonly runtime: ProxyRuntime
}

const REDACTOR = new Redactor()
const NO_SERVERS: readonly ServerWatch[] = []

export class Comparison implements PoolClient, UpstreamUser {
  readonly wantsHttp1 = false
  wantsFresh = false
  readonly triedServers: readonly ServerWatch[] = NO_SERVERS
  readonly #init: ComparisonInit
  readonly #bodies: BodyComparison
  readonly #ours: ComparedBody
  readonly #theirs: ComparedBody
  readonly #ownCoding: Coding | 'identity' | undefined
  /** Values of the compared fields, in the order of their names. */
  readonly #ownValues: readonly string[]
  readonly #deadline: Timer
  #upstream: UpstreamChannel | undefined = undefined
  #theirCoding: Coding | 'identity' = 'identity'
  #waitingBytes = 0
  #waits = false
  /** Names of fields that differ. */
  #parts: readonly string[] = []
  #difference: ComparisonResult['difference'] = undefined
  #theirsEnded = false
  #result: ComparisonResult | undefined = undefined
  #take: ((result: ComparisonResult) => void) | undefined = undefined

  constructor(init: ComparisonInit) {
    this.#init = init
    const { comparer, own, runtime } = init
    const { config, pool } = comparer
    this.#bodies = new BodyComparison(config.maxBodyBytes)
    const bodyOf = (side: ComparedSide, onIdle: () => void): ComparedBody =>
      new ComparedBody({
        side,
        comparison: this.#bodies,
        ignored: config.ignored,
        maxDecodedBytes: runtime.limits.maxDecodedBytes,
        onProgress: () => this.#judge(),
        onIdle,
        // That ours does not decode is no fault of the other proxy's.
        onFault: (detail) => (side === 'ours' ? this.skip('coding') : this.#finish({ kind: 'failed', detail })),
      })
    this.#ours = bodyOf('ours', () => {
      this.#waits = false
      this.#waitingBytes = 0
    })
    this.#theirs = bodyOf('theirs', () => this.#upstream?.resume())
    const coding = contentCoding(own.fields, CONTENT_CODINGS)
    this.#ownCoding = coding === 'unknown' || coding === 'stacked' ? undefined : coding
    this.#ownValues = config.headers.map((name) => valueOf(own.fields, name))
    this.#deadline = new Timer(runtime.life.wheel, () => {
      this.#finish({ kind: 'failed', detail: `the answer took ${config.timeoutMs} ms longer than ours` })
    })
    runtime.life.comparisons.add(this)
    const upstream = pool.acquire(this)
    if (upstream === 'full') this.skip('busy')
    else if (upstream !== 'wait') this.#ask(upstream)
  }

  // Our response

  /** Octets of our body without content coding, borrowed. */
  ownText(piece: Uint8Array): void {
    if (this.#result === undefined) this.#ours.text(piece)
  }

  /** Octets of our body as the client gets them, borrowed. */
  ownOctets(octets: Uint8Array): void {
    if (this.#result !== undefined || this.#bodies.isDone('ours')) return
    if (this.#ownCoding === undefined) return this.skip('coding')
    if (this.#waits) {
      this.#waitingBytes += octets.length
      if (this.#waitingBytes > MAX_COMPARISON_WAITING_BYTES) return this.skip('busy')
    }
    if (!this.#ours.coded(this.#ownCoding, octets)) this.#waits = true
  }

  /** Our response has ended. Calls `take` once, now or when the other proxy's has, too. */
  whenDone(take: (result: ComparisonResult) => void): void {
    this.#take = take
    if (this.#result !== undefined) return take(this.#result)
    this.#deadline.arm(this.#init.comparer.config.timeoutMs)
    this.#ours.end()
  }

  /** It cannot be told whether the responses are the same. */
  skip(reason: ComparisonSkip): void {
    this.#finish({ kind: 'skipped', reason })
  }

  /** Our response did not end: nobody is told anything. */
  close(): void {
    this.#take = undefined
    this.skip('stopped')
  }

  // The other proxy's

  onUpstreamAssigned(upstream: UpstreamChannel): void {
    if (this.#result === undefined) this.#ask(upstream)
    else upstream.abort()
  }

  #ask(upstream: UpstreamChannel): void {
    this.#upstream = upstream
    upstream.assign(this, this.#init.method, false)
    upstream.sendHead(this.#init.head)
  }

  onUpstreamConnect(): void {}

  onInterim(): void {}

  onUpgrade(upstream: UpstreamConnection): boolean {
    upstream.abort()
    this.#finish({ kind: 'failed', detail: 'it changed the protocol unasked' })
    return false
  }

  onResponseHead(head: ResponseHead): void {
    const { own, comparer, method } = this.#init
    if (head.status !== own.status) {
      this.#difference = { part: 'status', ours: String(own.status), theirs: String(head.status) }
      return this.#finish({ kind: 'different', parts: ['status'] })
    }
    const { headers } = comparer.config
    this.#parts = headers.filter((name, index) => valueOf(head.fields, name) !== this.#ownValues[index])
    const first = this.#parts.at(0)
    if (first !== undefined) {
      const shown = (value: string): string => REDACTOR.value(first, value)
      const ours = shown(this.#ownValues[headers.indexOf(first)])
      this.#difference = { part: first, ours, theirs: shown(valueOf(head.fields, first)) }
    }
    if (method === 'HEAD') return
    const coding = contentCoding(head.fields, CONTENT_CODINGS)
    if (coding === 'unknown' || coding === 'stacked') this.skip('coding')
    else this.#theirCoding = coding
  }

  onResponseData(data: Uint8Array): boolean {
    if (this.#result !== undefined) return true
    const goOn = this.#theirs.coded(this.#theirCoding, data)
    if (this.#result === undefined && this.#bodies.isDone('theirs')) {
      this.#upstream?.abort()
      this.#upstream = undefined
      return true
    }
    return goOn
  }

  onResponseEnd(): void {
    this.#upstream = undefined
    this.#theirsEnded = true
    this.#theirs.end()
  }

  onUpstreamChunkEnd(): boolean {
    return false
  }

  onUpstreamDrain(): void {}

  onUpstreamError(error: ProxyError): void {
    const upstream = this.#upstream
    this.#upstream = undefined
    if (this.#result !== undefined || upstream === undefined) return
    // A kept connection that turned out stale, or one that was not for this request: once more, on a new one.
    const isForAnother = PROXY_ERROR_CODES[error.code].retry === 'if-unprocessed'
    if ((upstream.served > 0 || isForAnother) && !upstream.responseBegun && !this.wantsFresh) {
      this.wantsFresh = true
      const fresh = this.#init.comparer.pool.acquire(this)
      if (fresh === 'full') return this.skip('busy')
      if (fresh !== 'wait') this.#ask(fresh)
      return
    }
    this.#finish({ kind: 'failed', detail: error.detail ?? error.message })
  }

  // What comes of it

  #judge(): void {
    const { verdict } = this.#bodies
    if (verdict === undefined || this.#result !== undefined) return
    if (verdict.isSame) {
      const parts = this.#parts
      const { comparedBytes: bytes } = this.#bodies
      return this.#finish(
        parts.length === 0 ? { kind: 'same', bytes, isWhole: verdict.isWhole } : { kind: 'different', parts },
      )
    }
    const { at, isExact, ours, theirs } = verdict
    this.#difference ??= { part: 'body', ours: shownText(ours), theirs: shownText(theirs), bodyAt: at }
    this.#finish({ kind: 'different', parts: [...this.#parts, 'body'], bodyAt: at, isExact })
  }

  #finish(comparison: ResponseComparison): void {
    if (this.#result !== undefined) return
    this.#result = { comparison, difference: comparison.kind === 'different' ? this.#difference : undefined }
    this.#deadline.release()
    this.#ours.close()
    this.#theirs.close()
    this.#init.comparer.pool.cancel(this)
    this.#init.runtime.life.comparisons.delete(this)
    if (!this.#theirsEnded) this.#upstream?.abort()
    this.#upstream = undefined
    const take = this.#take
    this.#take = undefined
    take?.(this.#result)
  }
}

function valueOf(fields: OwnResponse['fields'], name: string): string {
  return fieldValues(fields, name).join(', ')
}

/** One line. */
function shownText(octets: Uint8Array | undefined): string | undefined {
  if (octets === undefined) return undefined
  const text = REDACTOR.text(new TextDecoder().decode(octets))
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
}
