/**
 * Writes one response to a client: head, framed body, end, with as few system calls as there are reasons for.
 *
 * The head is held back until the first body octets or `flush`, so that both leave together. Small and rewritten
 * octets are copied into a stage, which has room in front for the head and the chunk size; big chunks that arrived
 * from elsewhere go out as they are.
 *
 * The stage is shared by all connections of a runtime, so that an idle one has no memory of its own. Whoever writes
 * calls `flush` before control returns to the event loop.
 *
 * SECURITY: octets in the stage belong to its `owner`; another output sends them off before it uses the stage, so that
 * one client's response can never end up in another's.
 */

import type { FieldList } from '@prexy/http/fields'
import { CRLF, encodeChunkHead, encodeLastChunk, encodeResponseHead } from '@prexy/http/serialize'
import type { Connection } from '@prexy/net/connection'
import type { OutputFraming, ResponseSink } from './exchange-client.ts'

/** Room in front of the staged octets. Unit: bytes; a longer head is written by itself. */
const HEADROOM_BYTES = 4_096
/** Room for `\r\n0\r\n\r\n` behind them. */
const TAILROOM_BYTES = 16
const STAGE_BYTES = 65_536

/** A chunk up to this size is cheaper to copy beside the head than to send as a second buffer. Unit: bytes. */
const COPY_BYTES = 8_192

const LAST_CHUNK = encodeLastChunk([])

const NO_OCTETS = new Uint8Array(0)
/** Of what is kept back, at first. */
const MIN_HELD_BYTES = 1_024

/** The memory that responses are put together in; one per runtime. */
export class Stage {
  /** @internal */
  octets: Uint8Array = Buffer.allocUnsafeSlow(HEADROOM_BYTES + STAGE_BYTES + TAILROOM_BYTES)
  /** @internal End of the staged octets; they begin at HEADROOM_BYTES. */
  end: number = HEADROOM_BYTES
  /** @internal Whose the staged octets are. */
  owner: ResponseOutput | undefined = undefined

  /** @internal The old octets are in use by a connection. */
  replace(): void {
    this.octets = Buffer.allocUnsafeSlow(this.octets.length)
  }
}

export class ResponseOutput implements ResponseSink {
  readonly #connection: Connection
  readonly #stage: Stage
  #status = 0
  #fields: string[] = []
  #framing: OutputFraming = { kind: 'none' }
  #headPending = false
  #corked = false
  /** Set while the body's length is not known but may be soon: `finish` then may still choose a length. */
  #undecided = false
  /**
   * Of an HTTP/1.0 body, `#heldBytes` of it: kept back until it is known to be whole, or longer than `#holdLimit`. In one
   * piece, so that a body that comes octet by octet costs no more memory than another.
   */
  #held: Uint8Array | undefined = undefined
  #heldBytes = 0
  #holdLimit = 0
  #keepsAlive = false
  /** Octets given to the connection for this response, head and framing included. */
  sentBytes = 0
  headBytes = 0

  constructor(connection: Connection, stage: Stage) {
    this.#connection = connection
    this.#stage = stage
  }

  /** Announces a response. Nothing is sent before body octets, `flush` or `finish`. */
  begin(status: number, fields: string[], framing: OutputFraming): void {
    this.#status = status
    this.#fields = fields
    this.#framing = framing
    this.#headPending = true
    this.#undecided = false
  }

  /** Before the first octet of an exchange. */
  reset(): void {
    this.sentBytes = 0
    this.headBytes = 0
    this.#headPending = false
    this.#held = undefined
  }

  /**
   * Lets `finish` send the body with its true length, if all of it is written before the next `flush` and fits the
   * stage. Call after `begin`.
   */
  preferLength(): void {
    this.#undecided = true
  }

  /**
   * Keeps the body back, up to `limitBytes`, so that a client that knows no chunks can be given its length; a longer one
   * ends by close. Call after `begin` with that framing and without a Connection field, which says what comes of it.
   * `keepsAlive`: whether the connection outlives a body with a length.
   */
  holdForLength(limitBytes: number, keepsAlive: boolean): void {
    this.#held = NO_OCTETS
    this.#heldBytes = 0
    this.#holdLimit = limitBytes
    this.#keepsAlive = keepsAlive
  }

  /** One more line of the head, which is still pending. */
  addField(name: string, value: string): void {
    this.#fields.push(name, value)
  }

  get headPending(): boolean {
    return this.#headPending
  }

  /** What the body ends by if it is cut off now: an end that cannot be told from a good one needs a reset. */
  get endsByClose(): boolean {
    return this.#framing.kind === 'close' && !this.#headPending
  }

  /** Sends a 1xx response ahead of the head. */
  interim(status: number, fields: FieldList): void {
    const head = encodeResponseHead(status, fields)
    this.headBytes += head.length
    this.#send(head)
  }

  /**
   * Body octets that the output may keep. Whether the writer should pause tells the next `flush`, and whether the chunk
   * is in use after it `connection.holdsChunks`.
   */
  writeKept(chunk: Uint8Array): void {
    if (this.#held !== undefined && this.#hold(chunk)) return
    const stage = this.#claimStage()
    if (chunk.length <= COPY_BYTES && stage.end + chunk.length <= HEADROOM_BYTES + STAGE_BYTES) {
      this.writeBorrowed(chunk)
      return
    }
    this.#undecided = false
    const { kind } = this.#framing
    if (kind === 'chunked' || this.#hasStaged()) {
      this.#cork()
      this.#sendStage(false)
    }
    if (kind === 'none') return
    if (kind === 'chunked') this.#send(encodeChunkHead(chunk.length))
    this.#send(chunk)
    if (kind === 'chunked') this.#send(CRLF)
  }

  /** Body octets that are valid only during the call. Returns false when the writer should pause. */
  writeBorrowed(piece: Uint8Array): boolean {
    if (this.#held !== undefined && this.#hold(piece)) return true
    const stage = this.#claimStage()
    let below = true
    let from = 0
    while (from < piece.length) {
      const room = HEADROOM_BYTES + STAGE_BYTES - stage.end
      const length = Math.min(room, piece.length - from)
      stage.octets.set(length === piece.length ? piece : piece.subarray(from, from + length), stage.end)
      stage.end += length
      from += length
      if (from < piece.length) {
        this.#undecided = false
        below = this.#sendStage(false)
      }
    }
    return below
  }

  /** Sends what is staged, and the head if it has not gone out. Returns false when the writer should pause. */
  flush(): boolean {
    if (this.#held !== undefined) return this.#connection.takesMore()
    this.#undecided = false
    if (this.#hasStaged()) this.#sendStage(false)
    if (this.#corked) {
      this.#corked = false
      this.#connection.uncork()
    }
    return this.#connection.takesMore()
  }

  /** Ends the response; nothing is left unflushed. */
  finish(trailers: FieldList): void {
    if (this.#held !== undefined) this.#release(this.#held, { kind: 'length', bytes: this.#heldBytes })
    const plainEnd = trailers.length === 0
    if (this.#undecided && plainEnd) {
      this.#framing = { kind: 'length', bytes: this.#claimStage().end - HEADROOM_BYTES }
    }
    this.#undecided = false
    if (this.#hasStaged()) this.#sendStage(plainEnd)
    else if (plainEnd && this.#framing.kind === 'chunked') this.#send(LAST_CHUNK)
    if (!plainEnd && this.#framing.kind === 'chunked') this.#send(encodeLastChunk(trailers))
    this.flush()
  }

  /** Forgets what is staged and announced: the connection is about to be broken off, or another answer begins. */
  discard(): void {
    if (this.#stage.owner === this) this.#stage.end = HEADROOM_BYTES
    this.#headPending = false
    this.#undecided = false
    this.#held = undefined
    if (this.#corked) {
      this.#corked = false
      this.#connection.uncork()
    }
  }

  /** Whether the chunk could be kept back: a copy of it, for its owner sees only what the connection has not sent. */
  #hold(chunk: Uint8Array): boolean {
    const held = this.#held
    if (held === undefined) return false
    const needed = this.#heldBytes + chunk.length
    if (needed > this.#holdLimit) {
      this.#release(held, this.#framing)
      return false
    }
    if (needed > held.length) {
      this.#held = new Uint8Array(Math.min(Math.max(2 * needed, MIN_HELD_BYTES), this.#holdLimit))
      this.#held.set(held.subarray(0, this.#heldBytes))
    }
    this.#held?.set(chunk, this.#heldBytes)
    this.#heldBytes = needed
    return true
  }

  #release(held: Uint8Array, framing: OutputFraming): void {
    this.#held = undefined
    this.#undecided = false
    this.#framing = framing
    this.#fields.push('Connection', framing.kind === 'length' && this.#keepsAlive ? 'keep-alive' : 'close')
    this.writeKept(held.subarray(0, this.#heldBytes))
  }

  #hasStaged(): boolean {
    return this.#headPending || (this.#stage.owner === this && this.#stage.end > HEADROOM_BYTES)
  }

  #claimStage(): Stage {
    const stage = this.#stage
    if (stage.owner !== this) {
      if (stage.end > HEADROOM_BYTES) stage.owner?.flush()
      stage.owner = this
    }
    return stage
  }

  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#connection.cork()
  }

  #send(octets: Uint8Array): boolean {
    this.sentBytes += octets.length
    return this.#connection.write(octets)
  }

  /** Head if pending, chunk head, staged octets, chunk end and, if asked, the last chunk: one buffer where it fits. */
  #sendStage(last: boolean): boolean {
    const stage = this.#claimStage()
    const { octets } = stage
    let start = HEADROOM_BYTES
    let end = stage.end
    stage.end = HEADROOM_BYTES
    const bytes = this.#framing.kind === 'none' ? 0 : end - start
    if (bytes === 0) end = start
    if (this.#framing.kind === 'chunked') {
      if (bytes > 0) {
        const head = encodeChunkHead(bytes)
        start -= head.length
        octets.set(head, start)
        octets.set(CRLF, end)
        end += CRLF.length
      }
      if (last) {
        octets.set(LAST_CHUNK, end)
        end += LAST_CHUNK.length
      }
    }
    if (this.#headPending) {
      this.#headPending = false
      const head = encodeResponseHead(this.#status, this.#framed())
      this.headBytes += head.length
      // Alone it goes as it is: while the connection is corked the stage would be given away for it.
      if (end > start && head.length <= start) {
        start -= head.length
        octets.set(head, start)
      } else {
        this.#send(head)
      }
    }
    if (end === start) return true
    const below = this.#send(octets.subarray(start, end))
    // A corked connection has sent nothing yet, so it holds the stage, too.
    if (this.#connection.holdsChunks) stage.replace()
    return below
  }

  /** The fields with those of the framing. */
  #framed(): FieldList {
    const fields = this.#fields
    if (this.#framing.kind === 'length') fields.push('Content-Length', String(this.#framing.bytes))
    else if (this.#framing.kind === 'chunked') fields.push('Transfer-Encoding', 'chunked')
    return fields
  }
}
