/** One of two bodies that are compared: decoded, and without what is to be ignored. */
import { ContentDecoder, type ContentCoding } from '@prexy/net/content-decoder'
import type { Rewriter, RuleSet } from '@prexy/rewrite/rewriter'
import type { BodyComparison, ComparedSide } from './body-comparison.ts'

export interface ComparedBodyInit {
  readonly side: ComparedSide
  readonly comparison: BodyComparison
  readonly ignored: RuleSet | undefined
  readonly maxDecodedBytes: number
  /** Something was compared, or the body has ended. */
  readonly onProgress: () => void
  /** Coded octets are decoded; more may come. */
  readonly onIdle: () => void
  /** The body does not decode, or something of ours failed. */
  readonly onFault: (fault: string) => void
}

export class ComparedBody {
  readonly #init: ComparedBodyInit
  readonly #rewriter: Rewriter | undefined
  #decoder: ContentDecoder | undefined = undefined
  #closed = false

  constructor(init: ComparedBodyInit) {
    this.#init = init
    const { comparison, side } = init
    const sink = {
      write(piece: Uint8Array): boolean {
        comparison.push(side, piece)
        return true
      },
    }
    this.#rewriter = init.ignored?.createRewriter(sink)
  }

  /** Octets without content coding, borrowed. */
  text(piece: Uint8Array): void {
    const { comparison, side, onProgress } = this.#init
    if (this.#closed || comparison.isDone(side)) return
    this.#run(() => {
      if (this.#rewriter === undefined) comparison.push(side, piece)
      else this.#rewriter.write(piece)
      onProgress()
    })
  }

  /** Octets as the message has them, which are copied. False: no more should come before `onIdle`. */
  coded(coding: ContentCoding | 'identity', octets: Uint8Array): boolean {
    if (this.#closed) return true
    if (coding === 'identity') {
      this.text(octets)
      return true
    }
    this.#decoder ??= this.#openDecoder(coding)
    return this.#decoder.write(Buffer.from(octets))
  }

  end(): void {
    if (this.#decoder === undefined) this.#endText()
    else this.#decoder.end()
  }

  /** No call follows. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#decoder?.close()
    this.#rewriter?.abandon()
  }

  #openDecoder(coding: ContentCoding): ContentDecoder {
    const { maxDecodedBytes, onIdle, onFault } = this.#init
    return new ContentDecoder(coding, maxDecodedBytes, {
      onOutput: (chunk) => this.text(chunk),
      onIdle,
      onEnd: () => this.#endText(),
      onFault: (fault) => onFault(`a body does not decode: ${fault}`),
    })
  }

  #endText(): void {
    if (this.#closed) return
    this.#run(() => {
      const { comparison, side, onProgress } = this.#init
      this.#rewriter?.end()
      comparison.end(side)
      onProgress()
    })
  }

  /** What fails here is not to reach the client's exchange. */
  #run(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#init.onFault(error instanceof Error ? error.message : String(error))
    }
  }
}
