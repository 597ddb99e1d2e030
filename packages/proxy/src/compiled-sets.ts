/** Rule sets that are compiled when they are first needed, and forgotten when others are needed more. */
import type { RuleSet } from '@prexy/rewrite/rewriter'
import type { Rule } from '@prexy/rewrite/rules'

/** Rules that are not compiled yet. */
export interface DeferredRuleSet {
  /** Sets with equal keys are the same set, compiled once. Read when the set is first needed. */
  readonly key: string
  readonly rules: readonly Rule[]
  /** Throws what `compileRuleSet` throws. */
  compile(): RuleSet
}

interface Entry {
  readonly set: RuleSet
  usedAt: number
  /** What to do when the set is forgotten. */
  readonly users: Set<() => void>
}

/** What somebody uses of a set. */
export interface UsedSet {
  readonly set: RuleSet
  /** It is used once more. */
  readonly touch: () => void
  /** It is used no more; who said so is not told when it is forgotten. */
  readonly release: () => void
}

/** At most `limit` sets, of which the least recently used is forgotten; what uses it still keeps it until it is done. */
export class CompiledSets {
  /** What is beyond it is forgotten when the next set is compiled. */
  limit: number
  readonly #entries = new Map<string, Entry>()
  #uses = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** `onForgotten` is called once, and must let go of the set. */
  use(deferred: DeferredRuleSet, onForgotten: () => void): UsedSet {
    const { key } = deferred
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { set: deferred.compile(), usedAt: 0, users: new Set() }
      while (this.#entries.size >= this.limit) this.#forgetOldest()
      this.#entries.set(key, entry)
    }
    const kept = entry
    kept.users.add(onForgotten)
    kept.usedAt = ++this.#uses
    return {
      set: kept.set,
      touch: () => {
        kept.usedAt = ++this.#uses
      },
      release: () => {
        kept.users.delete(onForgotten)
      },
    }
  }

  get size(): number {
    return this.#entries.size
  }

  /** A compilation came before this, beside which looking through all is nothing. */
  #forgetOldest(): void {
    let oldest: [string, Entry] | undefined
    for (const one of this.#entries) if (oldest === undefined || one[1].usedAt < oldest[1].usedAt) oldest = one
    if (oldest === undefined) return
    this.#entries.delete(oldest[0])
    for (const onForgotten of oldest[1].users) onForgotten()
  }
}
