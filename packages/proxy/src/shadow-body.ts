/** A response body that is rewritten for nobody: to tell what the rules would do. */
import type { ShadowTreatment } from '@prexy/events/exchange'
import type { ResponseSink } from './exchange-client.ts'
import type { ProxyError } from './proxy-error.ts'
import { RewriteBody, type RewriteBodyHost, type RewriteBodyInit } from './rewrite-body.ts'

/**
 * Coded octets that may wait for decompression; beyond it nothing is told of the body, since the client is not to wait
 * for it. Unit: bytes.
 */
export const MAX_SHADOW_WAITING_BYTES = 4_194_304

export class ShadowBody implements RewriteBodyHost {
  readonly #body: RewriteBody
  #waits = false
  #waitingBytes = 0
  #result: ShadowTreatment | undefined = undefined
  #onResult: ((result: ShadowTreatment) => void) | undefined = undefined

  constructor(init: RewriteBodyInit) {
    // What a coded body would come to in its coding, nobody asks.
    this.#body = new RewriteBody(this, NOWHERE, { ...init, decision: { ...init.decision, encode: 'identity' } })
  }

  /** Octets of the upstream's body, which are copied. */
  data(octets: Uint8Array): void {
    if (this.#result !== undefined) return
    if (this.#waits) {
      this.#waitingBytes += octets.length
      if (this.#waitingBytes > MAX_SHADOW_WAITING_BYTES) {
        return this.#fail('the copy would have had to wait for more than 4 MiB')
      }
    }
    if (!this.#body.onUpstreamData(Buffer.from(octets))) this.#waits = true
  }

  /** The upstream's read is over. */
  chunkEnd(): void {
    if (this.#result === undefined) this.#body.onUpstreamChunkEnd()
  }

  end(): void {
    if (this.#result === undefined) this.#body.onUpstreamEnd([])
  }

  /** Calls `take` once, now or when the copy is rewritten. */
  whenDone(take: (result: ShadowTreatment) => void): void {
    if (this.#result === undefined) this.#onResult = take
    else take(this.#result)
  }

  /** The body will not end: there is no result. */
  close(): void {
    this.#body.close()
    this.#onResult = undefined
  }

  onBodyReady(): void {
    this.#waits = false
    this.#waitingBytes = 0
  }

  onBodyBlocked(): void {}

  onBodyEnd(): void {
    this.#done(this.#body.treatment)
  }

  onBodyError(error: ProxyError): void {
    this.#done({ kind: 'failed', detail: error.detail ?? error.message })
  }

  #fail(detail: string): void {
    this.#body.close()
    this.#done({ kind: 'failed', detail })
  }

  #done(result: ShadowTreatment): void {
    if (this.#result !== undefined) return
    this.#result = result
    this.#onResult?.(result)
  }
}

const NOWHERE: ResponseSink = {
  sentBytes: 0,
  headBytes: 0,
  headPending: false,
  endsByClose: false,
  reset() {},
  begin() {},
  preferLength() {},
  holdForLength() {},
  addField() {},
  interim() {},
  writeKept() {},
  writeBorrowed: () => true,
  flush: () => true,
  finish() {},
  discard() {},
}
