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
import type { Rewriter, RuleSet } from '@prexy/rewrite/rewriter'
import { MultipartParts } from './multipart-parts.ts'

export class RequestBody {
  readonly #rules: RuleSet
  readonly #active: Uint8Array | undefined
  readonly #parts: MultipartParts | undefined
  #rewriter: Rewriter | undefined = undefined
  #output: Uint8Array[] = []
  #hits = 0
  /** Octets before and after. */
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
      raw: (octets) => this.#put(octets),
      text: (octets) => this.#text(octets),
      textEnd: () => this.#textEnd(),
    })
  }

  /** Names that were changed so far. */
  get hits(): number {
    return this.#hits + sum(this.#rewriter?.hits)
  }

  /** What can go on after these octets, which are borrowed. The caller owns the result. */
  write(octets: Uint8Array): Uint8Array {
    this.inBytes += octets.length
    if (this.#parts === undefined) this.#text(octets)
    else this.#parts.write(octets)
    return this.#take()
  }

  /** The rest. */
  end(): Uint8Array {
    if (this.#parts === undefined) this.#textEnd()
    else this.#parts.end()
    return this.#take()
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
          this.#put(piece)
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

  #put(octets: Uint8Array): void {
    this.#output.push(octets.slice())
  }

  #take(): Uint8Array {
    const pieces = this.#output
    this.#output = []
    const octets = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
    this.outBytes += octets.length
    return octets
  }
}

function sum(counts: Readonly<Uint32Array> | undefined): number {
  return counts?.reduce((total, count) => total + count, 0) ?? 0
}
