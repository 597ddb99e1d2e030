/**
 * A rule set that tells what it did: every replacement with its rule and its place, for people who want to see it before
 * they serve it. It is the same engine and the same templates; only that a match is always held whole, so that its end
 * is known, which can make a difference where `maxHeldBytes` is met.
 */
import type { ByteSink } from '@prexy/bytes/sink'
import { type Match, Tokenizer } from '@prexy/regex/tokenizer'
import type { Rewriter, RewriterInit, RuleSet } from './rewriter.ts'
import { compileRules, tokenizerOptions, toTokenizerRule } from './rule-set.ts'
import { StreamRewriter } from './stream-rewriter.ts'

/** One replacement; `start` and `end` are offsets into `input`. */
export interface Change {
  readonly rule: number
  readonly start: number
  readonly end: number
  readonly replacement: Uint8Array
}

/** One body as rules saw it: without content coding, and as UTF-8 where its encoding is another that they are applied to. */
export interface ObservedBody {
  readonly input: Uint8Array
  readonly output: Uint8Array
  readonly changes: readonly Change[]
  /** One byte per rule, nonzero where its conditions held; undefined where every rule applied. */
  readonly active: Uint8Array | undefined
}

/** `bodies` grows with every body that the set rewrites, and everything of them is kept; the caller may empty it. */
export function observeRuleSet(set: RuleSet): { readonly set: RuleSet; readonly bodies: ObservedBody[] } {
  const compiled = compileRules(set.rules, set.options)
  const rules = compiled.map((rule) => ({
    ...toTokenizerRule(rule),
    usesSpan: true,
    replacement: undefined,
    recipe: undefined,
  }))
  const tokenizer = new Tokenizer(rules, tokenizerOptions(set.options))
  const bodies: ObservedBody[] = []
  const createRewriter = (sink: ByteSink, init: RewriterInit = {}): Rewriter => {
    const output = new Recorder()
    const recording: ByteSink = {
      write(chunk) {
        output.add(chunk)
        return sink.write(chunk)
      },
    }
    const rewriter = new ObservingRewriter(tokenizer, compiled, set.options, recording, init)
    bodies.push({
      active: init.active,
      get input() {
        return rewriter.input
      },
      get output() {
        return output.bytes
      },
      get changes() {
        return rewriter.changes
      },
    })
    return rewriter
  }
  return { set: { ...set, createRewriter }, bodies }
}

const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf]

class ObservingRewriter extends StreamRewriter {
  private readonly taken = new Recorder()
  private readonly found: Change[] = []
  private readonly marked: boolean

  constructor(
    tokenizer: Tokenizer,
    rules: ReturnType<typeof compileRules>,
    options: RuleSet['options'],
    sink: ByteSink,
    init: RewriterInit,
  ) {
    super(tokenizer, rules, options, sink, init)
    this.marked = options.mode === 'text'
  }

  get input(): Uint8Array {
    return this.taken.bytes
  }

  get changes(): readonly Change[] {
    // Rules do not see a byte order mark.
    const before =
      this.marked && BYTE_ORDER_MARK.every((byte, at) => this.input[at] === byte) ? BYTE_ORDER_MARK.length : 0
    return this.found.map((change) => ({ ...change, start: change.start + before, end: change.end + before }))
  }

  override write(chunk: Uint8Array): number {
    const taken = super.write(chunk)
    this.taken.add(chunk.subarray(0, taken))
    return taken
  }

  override replace(match: Match): Uint8Array {
    const replacement = super.replace(match)
    const { rule, start, text } = match
    this.found.push({ rule, start, end: start + text.length, replacement: replacement.slice() })
    return replacement
  }
}

/** Bytes in the order in which they came. */
class Recorder {
  readonly #chunks: Uint8Array[] = []

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk.slice())
  }

  get bytes(): Uint8Array {
    const whole = new Uint8Array(this.#chunks.reduce((sum, chunk) => sum + chunk.length, 0))
    let at = 0
    for (const chunk of this.#chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    this.#chunks.splice(0, this.#chunks.length, whole)
    return whole
  }
}
