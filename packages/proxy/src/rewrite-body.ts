/**
 * The body of a response on its way through decoder, rewriter and encoder to the client.
 *
 *     upstream ── decoder ── text ── rewriter ── encoder ── output
 *
 * A body that arrived whole in one read is decoded and encoded synchronously and gets its true length. Otherwise the
 * codings run on the thread pool, and everything after the first read happens in their callbacks.
 *
 * Back-pressure: the rewriter stops when `#blocked`, which the client's connection or the encoder causes; text that it
 * did not take waits in `#queue`, and while something waits there, the decoder or the upstream is paused. So at most
 * one read of the upstream and two pieces of decoder output are ever in memory.
 */

import type { GateDecision } from '@prexy/http/gate'
import type { FieldList } from '@prexy/http/fields'
import { changedTrailers } from '@prexy/http/validators'
import type { BodyTreatment, RewriteNotes, RewriteStats } from '@prexy/events/exchange'
import type { ExchangeRecording } from '@prexy/events/recorder'
import { type CodingFault, type ContentCoding, ContentDecoder, MAX_CODED_MEMBERS } from '@prexy/net/content-decoder'
import { ContentEncoder, type EncoderHandler } from '@prexy/net/content-encoder'
import { decodeWhole, encodeWhole } from '@prexy/net/whole-body'
import { RewriteAborted, type RewriterInit, type RuleSet } from '@prexy/rewrite/rewriter'
import type { IsRewritten } from '@prexy/rewrite/integrity'
import { BodyRewriter } from './body-rewriter.ts'
import type { ResponseSink } from './exchange-client.ts'
import { IntegrityWatch } from './integrity.ts'
import { ProxyError } from './proxy-error.ts'
import { rewriteTiming } from './server-timing.ts'

/**
 * A body that decodes to more than this, or is rewritten to more, is not handled synchronously: it would keep the event
 * loop from serving others for milliseconds. Unit: bytes.
 */
const WHOLE_BODY_BYTES = 262_144

export interface RewriteBodyHost {
  /** The body takes more of the upstream's octets again. */
  onBodyReady(): void
  /** Output was given to the client's connection, which takes no more now; nothing else may tell of it. */
  onBodyBlocked(): void
  /** Everything was given to the output, its end included. */
  onBodyEnd(): void
  onBodyError(error: ProxyError): void
}

export type EncoderLevels = Readonly<Partial<Record<ContentCoding, number>>>

export interface RewriteBodyInit {
  /** Undefined: the body is only coded anew. */
  readonly rules: RuleSet | undefined
  readonly decision: Pick<Extract<GateDecision, { readonly action: 'rewrite' }>, 'decode' | 'encode' | 'active'>
  /** Levels of codings, where they are not those of `ENCODER_LEVELS`. */
  readonly levels: EncoderLevels
  readonly variables: Readonly<Record<string, string>>
  /** The response's Content-Type, all lines of it. */
  readonly mediaType: string | undefined
  /** The same if its lines agree. */
  readonly contentType: string | undefined
  /** What to do with integrity attributes of the page: look for them, or drop those of URLs for which this holds. */
  readonly integrity: 'watch' | IsRewritten | undefined
  /** The response is a page whose policy names hashes of what is in it. */
  readonly hasHashedPolicy: boolean
  /** Active rules that the decision leaves out. */
  readonly rulesLeftOut: number
  readonly maxDecodedBytes: number
  readonly onError: (error: Error) => void
  /** Whether the client wants trailers. */
  readonly sendsTrailers: boolean
  /** Whether it is to be measured how long rewriting takes. */
  readonly isTimed: boolean
  /** Who wants the text before and after; undefined if nobody does. */
  readonly recording: ExchangeRecording | undefined
  /** Who else gets what the rules made, without content coding; a piece is borrowed. Must not throw. */
  readonly copyTo: ((piece: Uint8Array) => void) | undefined
  /** Whether Server-Timing is to say how long rewriting took: in the head, if that still waits, or in a trailer. */
  readonly serverTiming: boolean
}

const NO_OCTETS = new Uint8Array(0)

const CODING_FAULTS: Readonly<Record<CodingFault, string>> = {
  truncated: 'the coded body ends early',
  corrupt: 'the body is not what its Content-Encoding says',
  'too-long': 'the body decodes to more than maxDecodedBytes',
  'too-many-members': `the coded body has more than ${MAX_CODED_MEMBERS} members`,
}

export class RewriteBody {
  readonly #host: RewriteBodyHost
  readonly #output: ResponseSink
  readonly #init: RewriteBodyInit
  readonly #rewriter: BodyRewriter
  readonly #watch: IntegrityWatch | undefined
  #decoder: ContentDecoder | undefined = undefined
  #encoder: ContentEncoder | undefined = undefined
  /** Coded octets of the first read, until it is known whether they are all. */
  #coded: Uint8Array[] | undefined
  /** Rewritten octets of the first read that are to be encoded. */
  #plain: Uint8Array | undefined = undefined
  #plainBytes = 0
  /** True until the first read is over. */
  #first = true
  /** Text that the rewriter did not take yet, oldest first. */
  readonly #queue: Uint8Array[] = []
  #blocked = false
  #inputEnded = false
  #ended = false
  #closed = false
  #trailers: FieldList = []
  #inBytes = 0
  #outBytes = 0
  #peakHeldBytes = 0
  #rewriteMs = 0
  /** Octets of junk after the coded body. */
  trailingBytes = 0

  constructor(host: RewriteBodyHost, output: ResponseSink, init: RewriteBodyInit) {
    this.#host = host
    this.#output = output
    this.#init = init
    this.#coded = init.decision.decode === 'identity' ? undefined : []
    const { active } = init.decision
    const { variables, mediaType } = init
    const rewriterInit: RewriterInit =
      mediaType === undefined ? { active, variables } : { active, variables, mediaType }
    const sink = { write: (piece: Uint8Array): boolean => this.#rewritten(piece) }
    const { integrity } = init
    const isRewritten = typeof integrity === 'function' ? integrity : undefined
    this.#rewriter = new BodyRewriter(init.rules, sink, rewriterInit, init.contentType, isRewritten)
    this.#watch = integrity === 'watch' ? new IntegrityWatch() : undefined
    output.preferLength()
  }

  /** How long rewriting took so far, in milliseconds; 0 unless `isTimed`. */
  get rewriteMs(): number {
    return this.#rewriteMs
  }

  /** What was done to the body so far. */
  get treatment(): BodyTreatment {
    const { charset, isCopied, unencodable, droppedIntegrity, hits } = this.#rewriter
    if (isCopied) return { kind: 'passed', reason: 'charset' }
    const { decode, encode } = this.#init.decision
    const isChanged = droppedIntegrity > 0 || hits.some((count) => count > 0)
    const notes: RewriteNotes = {
      ...(charset === undefined ? {} : { charset }),
      ...(unencodable === 0 ? {} : { unencodable }),
      ...(droppedIntegrity === 0 ? {} : { droppedIntegrity }),
      ...(this.#watch?.found === true ? { keptIntegrity: true } : {}),
      ...(this.#init.hasHashedPolicy && isChanged ? { hashedPolicy: true } : {}),
      ...(this.#init.rulesLeftOut === 0 ? {} : { rulesLeftOut: this.#init.rulesLeftOut }),
    }
    return { kind: 'rewritten', decode, encode, stats: this.#stats(), notes }
  }

  /**
   * How often each rule matched in the whole body, where the same body would fare the same: undefined before its end,
   * after an overflow, and for coded bodies that were put right: empty ones, and those with junk behind.
   */
  get lastingHits(): Readonly<Uint32Array> | undefined {
    const { isCopied, overflows, hits } = this.#rewriter
    const isSame = this.#inBytes > 0 && this.trailingBytes === 0
    return !this.#ended || isCopied || overflows > 0 || !isSame ? undefined : hits
  }

  #stats(): RewriteStats {
    const { hits } = this.#rewriter
    const counted: number[] = []
    for (let rule = 0; rule < hits.length; rule++) counted.push(hits[rule])
    return {
      hits: counted,
      overflows: this.#rewriter.overflows,
      peakHeldBytes: this.#peakHeldBytes,
      inBytes: this.#inBytes,
      outBytes: this.#outBytes,
    }
  }

  /** Octets of the upstream's body, which may be kept. Returns false when no more should come before `onBodyReady`. */
  onUpstreamData(data: Uint8Array): boolean {
    if (this.#closed) return true
    if (this.#coded !== undefined) {
      this.#coded.push(data)
      return true
    }
    if (this.#decoder !== undefined) return this.#decoder.write(data)
    this.#text(data)
    return this.#queue.length === 0 && !this.#blocked
  }

  onUpstreamEnd(trailers: FieldList): void {
    if (this.#closed) return
    this.#trailers = trailers
    if (this.#coded !== undefined) {
      this.#decodeFirst(this.#coded)
    } else if (this.#decoder !== undefined) {
      this.#decoder.end()
    } else {
      this.#inputEnded = true
      this.#pump()
    }
  }

  /** The upstream's read is over; everything that can leave leaves. Returns true when octets of it are in use. */
  onUpstreamChunkEnd(): boolean {
    if (this.#closed || this.#ended) return false
    // While only the head has come, the first read is still ahead.
    if (this.#first && (this.#inBytes > 0 || (this.#coded?.length ?? 0) > 0)) {
      this.#first = false
      const { decode } = this.#init.decision
      if (this.#coded !== undefined && decode !== 'identity') {
        const decoder = this.#openDecoder(decode)
        for (const octets of this.#coded) decoder.write(octets)
        this.#coded = undefined
      }
      this.#encodeFirst()
    }
    // The head waits for output that is on its way through the codings, but for nothing else.
    if (this.#decoder === undefined && (this.#encoder === undefined || this.#encoder.idle)) this.#flush()
    return this.#queue.length > 0 || this.#decoder !== undefined
  }

  /** The client takes octets again. */
  onClientDrain(): void {
    if (this.#closed) return
    if (this.#encoder !== undefined) {
      this.#encoder.resume()
      return
    }
    this.#blocked = false
    this.#goOn()
  }

  /** Frees everything; no call to the host follows. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#queue.length > 0) this.#queue.length = 0
    this.#coded = undefined
    this.#plain = undefined
    this.#decoder?.close()
    this.#encoder?.close()
    if (!this.#ended) this.#rewriter.abandon()
  }

  #openDecoder(decode: ContentCoding): ContentDecoder {
    const decoder = new ContentDecoder(decode, this.#init.maxDecodedBytes, {
      onOutput: (chunk) => {
        try {
          this.#text(chunk)
          if (this.#queue.length > 0) decoder.pause()
          this.#flushIfDirect()
        } catch (error) {
          this.#crash(error)
        }
      },
      onIdle: () => {
        try {
          // A head that waited for the first octets goes now if none are on their way.
          if (this.#encoder === undefined || this.#encoder.idle) this.#flush()
          if (!this.#closed) this.#host.onBodyReady()
        } catch (error) {
          this.#crash(error)
        }
      },
      onEnd: (trailingBytes) => {
        try {
          this.trailingBytes = trailingBytes
          this.#inputEnded = true
          this.#pump()
          this.#flushIfDirect()
        } catch (error) {
          this.#crash(error)
        }
      },
      onFault: (fault) => this.#fail(new ProxyError('E_BODY_DECODE', { detail: CODING_FAULTS[fault] })),
    })
    this.#decoder = decoder
    return decoder
  }

  #openEncoder(encode: ContentCoding): ContentEncoder {
    const handler: EncoderHandler = {
      onOutput: (chunk) => {
        try {
          this.#output.writeKept(chunk)
          if (this.#output.flush()) return
          encoder.pause()
          this.#host.onBodyBlocked()
        } catch (error) {
          this.#crash(error)
        }
      },
      onIdle: () => {
        try {
          this.#blocked = false
          this.#goOn()
        } catch (error) {
          this.#crash(error)
        }
      },
      onEnd: () => {
        try {
          this.#finish()
        } catch (error) {
          this.#crash(error)
        }
      },
      onFault: () => this.#fail(new ProxyError('E_BODY_ENCODE')),
    }
    const encoder = new ContentEncoder(encode, handler, this.#init.levels[encode])
    this.#encoder = encoder
    return encoder
  }

  /** The whole coded body came in one read. */
  #decodeFirst(coded: readonly Uint8Array[]): void {
    const { decode } = this.#init.decision
    if (decode === 'identity') return
    this.#coded = undefined
    const body = coded.length === 1 ? coded[0] : Buffer.concat(coded)
    const text = decodeWhole(decode, body, Math.min(WHOLE_BODY_BYTES, this.#init.maxDecodedBytes))
    if (text === undefined) {
      const decoder = this.#openDecoder(decode)
      decoder.write(body)
      decoder.end()
      this.#first = false
      this.#encodeFirst()
      return
    }
    this.#text(text)
    this.#inputEnded = true
    this.#pump()
  }

  /** The body is more than one read: what waits to be encoded goes to a streaming encoder, as all that follows. */
  #encodeFirst(): void {
    const { encode } = this.#init.decision
    if (encode === 'identity' || this.#encoder !== undefined) return
    const encoder = this.#openEncoder(encode)
    if (this.#plain === undefined) return
    if (!encoder.write(this.#plain.subarray(0, this.#plainBytes))) this.#blocked = true
    this.#plain = undefined
  }

  #text(chunk: Uint8Array): void {
    this.#inBytes += chunk.length
    this.#init.recording?.responseData(chunk)
    if (this.#queue.length > 0) {
      this.#queue.push(chunk)
      return
    }
    const taken = this.#blocked ? 0 : this.#rewrite(chunk)
    if (taken < chunk.length) this.#queue.push(chunk.subarray(taken))
  }

  /** Returns how many octets were taken; all of them after a failure. */
  #rewrite(chunk: Uint8Array): number {
    try {
      const startedAt = this.#clock()
      const taken = this.#rewriter.write(chunk)
      this.#rewriteMs += this.#clock() - startedAt
      this.#watch?.look(chunk.subarray(0, taken))
      this.#peakHeldBytes = Math.max(this.#peakHeldBytes, this.#rewriter.heldBytesAtMost)
      return taken
    } catch (error) {
      this.#failRewrite(error)
      return chunk.length
    }
  }

  #clock(): number {
    return this.#init.isTimed ? performance.now() : 0
  }

  #rewritten(piece: Uint8Array): boolean {
    this.#outBytes += piece.length
    this.#init.recording?.responseDataSent(piece)
    this.#init.copyTo?.(piece)
    let goOn = true
    if (this.#encoder !== undefined) goOn = this.#encoder.write(piece)
    else if (this.#init.decision.encode === 'identity') goOn = this.#output.writeBorrowed(piece)
    else this.#collect(piece)
    if (!goOn) this.#blocked = true
    return goOn
  }

  /** Rewritten text of the first read, kept until it is known whether it is all. */
  #collect(piece: Uint8Array): void {
    const needed = this.#plainBytes + piece.length
    if (this.#plain === undefined || this.#plain.length < needed) {
      const grown = Buffer.allocUnsafeSlow(Math.max(2 * needed, 4_096))
      if (this.#plain !== undefined) grown.set(this.#plain.subarray(0, this.#plainBytes))
      this.#plain = grown
    }
    this.#plain.set(piece, this.#plainBytes)
    this.#plainBytes = needed
    if (needed > WHOLE_BODY_BYTES) this.#encodeFirst()
  }

  /** Gives waiting text to the rewriter, and its end when there is no more. */
  #pump(): void {
    // What the rewriter had ready when it was stopped goes first.
    if (!this.#blocked && !this.#closed && this.#rewriter.blocked) this.#rewrite(NO_OCTETS)
    while (!this.#blocked && !this.#closed) {
      const chunk = this.#queue.shift()
      if (chunk === undefined) break
      const taken = this.#rewrite(chunk)
      if (taken < chunk.length) {
        this.#queue.unshift(chunk.subarray(taken))
        return
      }
    }
    if (this.#inputEnded && !this.#ended && !this.#blocked && !this.#closed && this.#queue.length === 0) this.#endText()
  }

  #endText(): void {
    try {
      const startedAt = this.#clock()
      const isOver = this.#rewriter.end()
      this.#rewriteMs += this.#clock() - startedAt
      if (!isOver) return
    } catch (error) {
      this.#failRewrite(error)
      return
    }
    this.#ended = true
    if (this.#encoder !== undefined) {
      this.#encoder.end()
      return
    }
    const { encode } = this.#init.decision
    if (encode !== 'identity') {
      const plain = this.#plain?.subarray(0, this.#plainBytes) ?? NO_OCTETS
      this.#output.writeKept(encodeWhole(encode, plain, this.#init.levels[encode]))
    }
    this.#finish()
  }

  #finish(): void {
    const trailers = this.#init.sendsTrailers ? changedTrailers(this.#trailers) : []
    if (this.#init.serverTiming) {
      const field = ['Server-Timing', rewriteTiming(this.#rewriteMs)] as const
      if (this.#output.headPending) this.#output.addField(...field)
      else if (this.#init.sendsTrailers) trailers.push(...field)
    }
    this.#output.finish(trailers)
    this.#host.onBodyEnd()
  }

  /** After a pause: what waits goes first, then the source of more is let go on. */
  #goOn(): void {
    this.#pump()
    if (this.#closed) return
    this.#flushIfDirect()
    if (this.#blocked || this.#queue.length > 0 || this.#ended) return
    if (this.#decoder !== undefined) this.#decoder.resume()
    else this.#host.onBodyReady()
  }

  #flushIfDirect(): void {
    if (this.#encoder === undefined) this.#flush()
  }

  #flush(): void {
    if (this.#closed || (this.#ended && this.#encoder === undefined)) return
    if (this.#output.flush()) return
    if (this.#encoder === undefined) this.#blocked = true
    this.#host.onBodyBlocked()
  }

  #failRewrite(error: unknown): void {
    const detail =
      error instanceof RewriteAborted
        ? 'maxHeldBytes was met'
        : error instanceof Error
          ? error.message
          : 'a rule failed'
    this.#fail(new ProxyError('E_REWRITE_ABORTED', { detail }))
  }

  /** A fault of ours in a callback of the codings: it costs this exchange and nothing else. */
  #crash(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    this.#init.onError(error)
    this.#fail(new ProxyError('E_INTERNAL', { cause: error }))
  }

  #fail(error: ProxyError): void {
    if (this.#closed) return
    this.close()
    this.#host.onBodyError(error)
  }
}
