/**
 * A request body on its way up with the client's host names made the origin's.
 *
 * Its length is not known before its end. Up to a limit it is gathered and gets its true length, since not every origin
 * takes chunks; the upstream is asked for when that is over, so that a slow client holds no connection. Beyond the limit
 * it goes on in chunks. Host names are short, so that nothing waits for long and no rule can overflow.
 *
 * Back-pressure is that of the upstream's connection: what one read of the client becomes is written at once, which is
 * at most as many times larger as a name of the origin's is than the client's.
 */
import type { RequestBodyDecision } from '@prexy/http/request-body'
import { GatherSink } from '@prexy/rewrite/gather-sink'
import type { Rewriter, RuleSet } from '@prexy/rewrite/rewriter'
import { MultipartParts } from './multipart-parts.ts'

export class RequestBody {
  readonly #rules: RuleSet
  readonly #active: Uint8Array | undefined
  readonly #parts: MultipartParts | undefined
  #rewriter: Rewriter | undefined = undefined
  readonly #output = new GatherSink()
  #hits = 0
  /** Octets before, and those after that were taken. */
  inBytes = 0
  outBytes = 0

  constructor(
    rules: RuleSet,
    active: Uint8Array | undefined,
    decision: Exclude<RequestBodyDecision, { readonly action: 'pass' }>,
  ) {
    this.#rules = rules
    this.#active = active
    if (decision.action === 'map') return
    this.#parts = new MultipartParts(decision.boundary, {
      raw: (octets) => void this.#output.write(octets),
      text: (octets) => this.#text(octets),
      textEnd: () => this.#textEnd(),
    })
  }

  /** Names that were changed so far. */
  get hits(): number {
    return this.#hits + sum(this.#rewriter?.hits)
  }

  /** `octets` are borrowed. What can go on after them waits to be taken. */
  write(octets: Uint8Array): void {
    this.inBytes += octets.length
    if (this.#parts === undefined) this.#text(octets)
    else this.#parts.write(octets)
  }

  /** Nothing follows; all that is left waits to be taken. */
  end(): void {
    if (this.#parts === undefined) this.#textEnd()
    else this.#parts.end()
  }

  get waitingBytes(): number {
    return this.#output.bytes.length
  }

  /** The caller owns the array. */
  take(): Uint8Array {
    const octets = this.#output.bytes.slice()
    this.#output.clear()
    this.outBytes += octets.length
    return octets
  }

  /** For a body that does not end; safe to call twice. */
  abandon(): void {
    this.#hits = this.hits
    this.#rewriter?.abandon()
    this.#rewriter = undefined
  }

  #text(octets: Uint8Array): void {
    this.#rewriter ??= this.#rules.createRewriter(
      {
        write: (piece) => {
          this.#output.write(piece)
          return true
        },
      },
      this.#active === undefined ? {} : { active: this.#active },
    )
    this.#rewriter.write(octets)
  }

  #textEnd(): void {
    this.#rewriter?.end()
    this.abandon()
  }
}

function sum(counts: Readonly<Uint32Array> | undefined): number {
  return counts?.reduce((total, count) => total + count, 0) ?? 0
}
