/**
 * Writes one response to an HTTP/2 stream. What `ResponseOutput` is for HTTP/1.1: the head waits for the first octets of
 * the body, small and rewritten octets are gathered in a stage, big chunks go as they are.
 *
 * The stage is shared by all streams of a process. A stream keeps what it is given until its client takes it, so staged
 * octets are copied out of it once more.
 *
 * SECURITY: octets in the stage belong to its `owner`; another output sends them off before it uses the stage, so that
 * one client's response can never end up in another's.
 */

import type { FieldList } from '@prexy/http/fields'
import type { Http2Stream } from '@prexy/net/http2-session'
import type { OutputFraming, ResponseSink } from './exchange-client.ts'

const STAGE_BYTES = 65_536

/** A chunk up to this size is cheaper to copy than to send by itself. Unit: bytes. */
const COPY_BYTES = 8_192

/** node:http2 sends no others. RFC 9110 §15: clients take them for a 5xx they do not know, and that for 500. */
const MAX_STATUS = 599
const UNKNOWN_FAILURE = 500

export class Http2Stage {
  /** @internal */
  readonly octets: Uint8Array = Buffer.allocUnsafeSlow(STAGE_BYTES)
  /** @internal */
  end: number = 0
  /** @internal Whose the staged octets are. */
  owner: Http2Output | undefined = undefined
}

export class Http2Output implements ResponseSink {
  readonly #stream: Http2Stream
  readonly #stage: Http2Stage
  /** Whether the client wants trailers. */
  readonly #mayTrail: boolean
  #status = 0
  #fields: string[] = []
  #framing: OutputFraming = { kind: 'none' }
  #headPending = false
  /** Set while the body's length is not known but may be soon: `finish` then may still tell it. */
  #undecided = false
  sentBytes = 0
  headBytes = 0

  constructor(stream: Http2Stream, stage: Http2Stage, mayTrail: boolean) {
    this.#stream = stream
    this.#stage = stage
    this.#mayTrail = mayTrail
  }

  begin(status: number, fields: string[], framing: OutputFraming): void {
    this.#status = status
    this.#fields = fields
    this.#framing = framing
    this.#headPending = true
    this.#undecided = false
  }

  reset(): void {
    this.sentBytes = 0
    this.headBytes = 0
    this.#headPending = false
  }

  preferLength(): void {
    this.#undecided = true
  }

  /** A client of HTTP/2 sees where every body ends. */
  holdForLength(): void {}

  addField(name: string, value: string): void {
    this.#fields.push(name, value)
  }

  get headPending(): boolean {
    return this.#headPending
  }

  get endsByClose(): boolean {
    return false
  }

  interim(status: number, fields: FieldList): void {
    this.#countHead(fields)
    this.#stream.interim(status, fields)
  }

  writeKept(chunk: Uint8Array): void {
    const stage = this.#claimStage()
    if (chunk.length <= COPY_BYTES && stage.end + chunk.length <= STAGE_BYTES) {
      this.writeBorrowed(chunk)
      return
    }
    this.#undecided = false
    this.#sendHead('more')
    this.#sendStage()
    if (this.#framing.kind !== 'none') this.#send(chunk)
  }

  writeBorrowed(piece: Uint8Array): boolean {
    const stage = this.#claimStage()
    let below = true
    let from = 0
    while (from < piece.length) {
      const length = Math.min(STAGE_BYTES - stage.end, piece.length - from)
      stage.octets.set(length === piece.length ? piece : piece.subarray(from, from + length), stage.end)
      stage.end += length
      from += length
      if (from < piece.length) {
        this.#undecided = false
        this.#sendHead('more')
        below = this.#sendStage()
      }
    }
    return below
  }

  flush(): boolean {
    this.#undecided = false
    this.#sendHead('more')
    this.#sendStage()
    return this.#stream.takesMore()
  }

  finish(trailers: FieldList): void {
    const stage = this.#claimStage()
    if (this.#undecided && trailers.length === 0) this.#framing = { kind: 'length', bytes: stage.end }
    this.#undecided = false
    this.#sendHead(stage.end === 0 && trailers.length === 0 ? 'nothing' : trailers.length === 0 ? 'last' : 'more')
    const last = this.#takeStaged()
    if (last !== undefined) this.sentBytes += last.length
    this.sentBytes += fieldBytes(trailers)
    this.#stream.end(last, trailers)
  }

  discard(): void {
    if (this.#stage.owner === this) this.#stage.end = 0
    this.#headPending = false
    this.#undecided = false
  }

  #claimStage(): Http2Stage {
    const stage = this.#stage
    if (stage.owner !== this) {
      if (stage.end > 0) stage.owner?.flush()
      stage.owner = this
    }
    return stage
  }

  /** `nothing`, `last`, `more`: what of the body is still to come. */
  #sendHead(ahead: 'nothing' | 'last' | 'more'): void {
    if (!this.#headPending) return
    this.#headPending = false
    const framing = this.#framing
    const fields = this.#fields
    if (framing.kind === 'length') fields.push('Content-Length', String(framing.bytes))
    this.#countHead(fields)
    const trails = ahead === 'more' && this.#mayTrail && framing.kind === 'chunked'
    const follows = framing.kind === 'none' || ahead === 'nothing' ? 'nothing' : trails ? 'trailers' : 'body'
    this.#stream.respond(this.#status > MAX_STATUS ? UNKNOWN_FAILURE : this.#status, fields, follows)
  }

  #sendStage(): boolean {
    const octets = this.#takeStaged()
    return octets === undefined || this.#send(octets)
  }

  /** A copy of what is staged, which the stream may keep; nothing for a response without a body. */
  #takeStaged(): Uint8Array | undefined {
    const stage = this.#stage
    if (stage.owner !== this || stage.end === 0) return undefined
    const octets = this.#framing.kind === 'none' ? undefined : Buffer.from(stage.octets.subarray(0, stage.end))
    stage.end = 0
    return octets
  }

  #countHead(fields: FieldList): void {
    const bytes = fieldBytes(fields)
    this.headBytes += bytes
    this.sentBytes += bytes
  }

  #send(octets: Uint8Array): boolean {
    this.sentBytes += octets.length
    return this.#stream.write(octets)
  }
}

/** What the lines of a head would take in HTTP/1.1, about; how far HPACK compressed them is not known. */
export function fieldBytes(fields: FieldList): number {
  let bytes = 0
  for (const text of fields) bytes += text.length + 2
  return bytes
}
