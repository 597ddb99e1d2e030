/** Patterns that the path or the host of a request must have or must not have, matched in linear time. */
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { compileRuleSet } from '@prexy/rewrite/rule-set'

export interface TextPatternInit {
  /** Found anywhere in the text, unless it says otherwise with `^` and `$`. */
  readonly regex: string
  /** `i` ignores the case of letters. */
  readonly flags?: 'i'
  /** True holds where the pattern is not found. Default false. */
  readonly not?: boolean
}

/** Immutable, shared by routes that ask for the same. */
export interface TextPattern {
  readonly set: RuleSet
  readonly isNegated: boolean
}

/** As long as the longest request target may be: a shorter limit would let a match go unseen. */
const MAX_HELD_BYTES = 16_777_216

/** Throws `RuleSetError` for a pattern that is refused. */
export function compileTextPattern({ regex, flags, not }: TextPatternInit): TextPattern {
  const rule = { regex: Buffer.from(regex).toString('latin1'), with: '', ...(flags === undefined ? {} : { flags }) }
  const set = compileRuleSet([rule], { mode: 'octet', maxHeldBytes: MAX_HELD_BYTES })
  return { set, isNegated: not ?? false }
}

const NOWHERE = { write: () => true }

/** `text` has one character for each octet. */
export function patternHolds({ set, isNegated }: TextPattern, text: string): boolean {
  const rewriter = set.createRewriter(NOWHERE, { mediaType: 'text/plain' })
  rewriter.write(Buffer.from(text, 'latin1'))
  rewriter.end()
  return rewriter.hits[0] > 0 !== isNegated
}
