/** The streaming rewriter: a token stream whose matches are rendered by templates. */
import type { ByteSink } from '@prexy/bytes/sink'
import { findCaptures } from '@prexy/regex/captures'
import type { Match, TokenSink, Tokenizer, TokenStream } from '@prexy/regex/tokenizer'
import { RewriteAborted, type Rewriter, type RewriterInit, type RuleSet } from './rewriter.ts'
import { type FilterContext, landingOf } from './filters.ts'
import type { CompiledRule } from './rule-set.ts'
import { bindVariables, renderTemplate, type Template, variablesOf, variableValues } from './template.ts'

const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf)
const NOTHING = new Uint8Array(0)
const NO_VARIABLES: Readonly<Record<string, string>> = {}

export class StreamRewriter implements Rewriter, TokenSink {
  private readonly sink: ByteSink
  private readonly rules: readonly CompiledRule[]
  private readonly mode: FilterContext['mode']
  private readonly mediaType: string | undefined
  private knownContext: FilterContext | undefined
  private readonly nginx: boolean
  private readonly variables: Readonly<Record<string, string>>
  /** Templates with the variables of this body put in, by rule, made when first used. */
  private bound: (Template | undefined)[] | undefined = undefined
  private readonly stream: TokenStream
  /** Bytes of a byte order mark seen so far; -1 once the body's text has begun. */
  private markBytes: number
  /** Text that looked like the beginning of a mark in earlier chunks and that the stream has not taken yet. */
  private lead: Uint8Array = NOTHING
  /** The sink took the mark and asked for a pause. */
  private markPaused = false
  private done = false

  constructor(
    tokenizer: Tokenizer,
    rules: readonly CompiledRule[],
    { mode, compat }: Pick<RuleSet['options'], 'mode' | 'compat'>,
    sink: ByteSink,
    init: RewriterInit,
  ) {
    this.sink = sink
    this.rules = rules
    this.mode = mode
    this.mediaType = init.mediaType
    this.nginx = compat === 'nginx'
    this.variables = init.variables ?? NO_VARIABLES
    this.markBytes = mode === 'text' ? 0 : -1
    this.stream = tokenizer.open(this, init.active)
  }

  get heldBytes(): number {
    return this.stream.heldBytes + Math.max(0, this.markBytes)
  }

  get heldBytesAtMost(): number {
    return this.stream.heldBytesAtMost + Math.max(0, this.markBytes)
  }

  get hits(): Readonly<Uint32Array> {
    return this.stream.counts()
  }

  get overflows(): number {
    return this.stream.overflows
  }

  get blocked(): boolean {
    return this.markPaused || this.stream.blocked
  }

  write(chunk: Uint8Array): number {
    if (this.done) return chunk.length
    this.markPaused = false
    const skipped = this.markBytes >= 0 ? this.readMark(chunk) : 0
    if (this.markBytes >= 0 || this.markPaused || !this.writeLead()) return skipped
    const taken = this.stream.write(skipped === 0 ? chunk : chunk.subarray(skipped))
    if (this.stream.aborted) {
      this.abandon()
      throw new RewriteAborted()
    }
    return skipped + taken
  }

  end(): boolean {
    if (this.done) return true
    this.markPaused = false
    if (this.markBytes > 0) this.lead = BYTE_ORDER_MARK.slice(0, this.markBytes)
    this.markBytes = -1
    this.done = this.writeLead() && this.stream.end()
    return this.done
  }

  abandon(): void {
    this.done = true
    this.stream.close()
  }

  output(chunk: Uint8Array): boolean {
    return this.sink.write(chunk)
  }

  replace(match: Match): Uint8Array {
    const { captures } = this.rules[match.rule]
    const template = this.templateOf(match.rule)
    if (template.fixed !== undefined) return template.fixed
    const slots =
      captures === undefined ? Int32Array.of(0, match.text.length) : findCaptures(captures, match.text, match)
    return renderTemplate(template, match.text, slots, this.context)
  }

  /** Most bodies have no replacement that asks where it lands. */
  private get context(): FilterContext {
    this.knownContext ??= { mode: this.mode, landing: landingOf(this.mediaType) }
    return this.knownContext
  }

  private templateOf(rule: number): Template {
    const bounds = (this.bound ??= [])
    const known = bounds[rule]
    if (known !== undefined) return known
    const { template } = this.rules[rule]
    const bound =
      variablesOf(template).length === 0
        ? template
        : bindVariables(template, variableValues(this.variables), this.context, this.nginx)
    bounds[rule] = bound
    return bound
  }

  /**
   * A byte order mark at the start of the body is copied and is no part of what rules see. Returns how many bytes of
   * the chunk belong to it; while it is undecided the bytes are held.
   */
  private readMark(chunk: Uint8Array): number {
    let at = 0
    while (at < chunk.length && this.markBytes < BYTE_ORDER_MARK.length) {
      if (chunk[at] !== BYTE_ORDER_MARK[this.markBytes]) {
        // What looked like a mark is text after all; this chunk's share of it is still in the chunk.
        this.lead = BYTE_ORDER_MARK.slice(0, this.markBytes - at)
        this.markBytes = -1
        return 0
      }
      at++
      this.markBytes++
    }
    if (this.markBytes < BYTE_ORDER_MARK.length) return at
    this.markBytes = -1
    this.markPaused = !this.sink.write(BYTE_ORDER_MARK.slice())
    return at
  }

  /** False when the sink asked for a pause. */
  private writeLead(): boolean {
    if (this.lead.length === 0) return true
    this.lead = this.lead.subarray(this.stream.write(this.lead))
    return this.lead.length === 0 && !this.stream.blocked
  }
}
