import type { ByteSink } from '@prexy/bytes/sink'
import type { Rule, RuleSetOptions } from './rules.ts'

/** A rule that may hold text for as long as a body lasts, e.g. `<script.*</script>` with `s`. */
export interface UnboundedRule {
  readonly rule: number
  readonly message: string
}

/** Compiled rules: immutable, shared by all bodies. Made by `compileRuleSet(rules, options)` in `rule-set.ts`. */
export interface RuleSet {
  readonly rules: readonly Rule[]
  readonly options: Required<Omit<RuleSetOptions, 'compat'>> & Pick<RuleSetOptions, 'compat'>
  /** Changes whenever the rules or options do: lower-case hexadecimal, 16 characters; part of derived ETags. */
  readonly hash: string
  /** Variables that some template asks for, field names in lower case: `host`, `header:user-agent`. */
  readonly variables: readonly string[]
  /** Rules that can hold without bound, for `prexy check`. */
  readonly unbounded: readonly UnboundedRule[]
  /** A rewriter for one body. */
  createRewriter(sink: ByteSink, init?: RewriterInit): Rewriter
}

export interface RewriterInit {
  /** One byte per rule, nonzero where the rule applies to this response. Absent: every rule applies. */
  readonly active?: Uint8Array
  /**
   * Request variables for templates: `host`, `path`, `header:user-agent`, ...; what is missing is empty. In octet mode
   * a character is an octet.
   */
  readonly variables?: Readonly<Record<string, string>>
  /**
   * The response's Content-Type: by it variables are escaped. Absent, or several joined by commas: unknown, which a
   * browser may take for HTML, so they are escaped for that.
   */
  readonly mediaType?: string
}

/**
 * Rewrites one body as it streams.
 *
 * `write` hands every byte that can no longer change to the sink, in pieces, and returns how many bytes of the chunk
 * it took: all of them, unless the sink returned false; then the caller offers the rest again once the sink is ready.
 * `end` hands over what is held and returns true, or false when the sink asked for a pause; then it is called again.
 * The chunk is borrowed until `write` returns. A chunk handed to the sink is borrowed until the sink returns.
 * After `end` returned true the rewriter is inert. `write` throws `RewriteAborted` under `overflow: abort`.
 */
export interface Rewriter {
  write(chunk: Uint8Array): number
  end(): boolean
  /** Gives back what the rewriter holds without output; for aborted bodies. Safe to call at any time, twice too. */
  abandon(): void
  /**
   * The sink asked for a pause and output is waiting: call `write` with the rest (an empty chunk too), or `end`, once
   * the sink is ready.
   */
  readonly blocked: boolean
  /** Bytes not yet handed over that some continuation of the body would copy or need for a replacement. */
  readonly heldBytes: number
  /** No less than `heldBytes`, which can take a while to be found; this never does. */
  readonly heldBytesAtMost: number
  /** Replacements made so far, per rule. */
  readonly hits: Readonly<Uint32Array>
  /** How often `maxHeldBytes` was met. */
  readonly overflows: number
}

/** Thrown by `write` when `overflow: abort` meets the limit: the response must be broken off visibly. */
export class RewriteAborted extends Error {
  constructor() {
    super('the body holds more than maxHeldBytes and the rule set says abort')
    this.name = 'RewriteAborted'
  }
}
