/**
 * Literals by their first four bytes, for the kernel: where no thread is live and only literals can begin, it compares
 * them with the text instead of stepping through states (`takeLiteral` in kernel/index.ts).
 */
import { type Beginning, forEachText, literalOf } from './beginnings.ts'
import { HEAD_BYTES, hashOf } from './prefilter.ts'
import type { Program } from './program.ts'

/** Hashes of first bytes are of so many bits at most, and at least. */
const MAX_HASH_BITS = 16
const MIN_HASH_BITS = 8
/**
 * Where more literals begin alike, or longer ones, near misses at every place would be compared for long: the automaton
 * decides there. Sixteen bytes are compared at a time.
 */
const MAX_SAME_HEAD = 8
const MAX_SAME_HEAD_BYTES = 4_096

export interface LiteralTable {
  readonly hashBits: number
  /** By hash: rules whose literals begin so, in order; undefined when something else may begin so. */
  readonly rules: ReadonlyMap<number, readonly number[] | undefined>
  readonly texts: ReadonlyMap<number, Uint8Array>
}

/**
 * Undefined when no rule is a literal, or another rule's matches begin in too many ways to be told by four bytes.
 * `maxBytes`: longer literals are left to the automaton, which counts what is held for them.
 */
export function buildLiterals(
  program: Program,
  beginnings: readonly (readonly Beginning[])[],
  maxBytes: number,
): LiteralTable | undefined {
  const ruleCount = beginnings.length
  const texts = new Map<number, Uint8Array>()
  const hashBits = Math.min(MAX_HASH_BITS, Math.max(MIN_HASH_BITS, Math.ceil(Math.log2(ruleCount * 8))))
  const rules = new Map<number, number[] | undefined>()
  for (let rule = 0; rule < ruleCount; rule++) {
    const text = literalOf(program, rule)
    if (text !== undefined && text.length >= HEAD_BYTES && text.length <= maxBytes) {
      texts.set(rule, text)
      const head = text[0] | (text[1] << 8) | (text[2] << 16) | (text[3] << 24)
      const hash = hashOf(head, hashBits)
      if (!rules.has(hash)) rules.set(hash, [])
      rules.get(hash)?.push(rule)
      continue
    }
    for (const beginning of beginnings[rule]) {
      if (beginning.length < HEAD_BYTES) return undefined
      if (!forEachText(beginning, 0, HEAD_BYTES, (head) => rules.set(hashOf(head, hashBits), undefined)))
        return undefined
    }
  }
  for (const [hash, own] of rules) {
    const bytes = own?.reduce((sum, rule) => sum + (texts.get(rule)?.length ?? 0), 0) ?? 0
    if (own !== undefined && (own.length > MAX_SAME_HEAD || bytes > MAX_SAME_HEAD_BYTES)) rules.set(hash, undefined)
  }
  return texts.size === 0 ? undefined : { hashBits, rules, texts }
}
