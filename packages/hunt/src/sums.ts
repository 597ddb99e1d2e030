/** Counts by key, with the first and last time of each: made in any thread, in any part, and added up in any order. */

/** JSON can hold it. */
export interface Sum {
  /** A kind and what is counted, separated by {@link KEY_SEPARATOR}. */
  readonly key: string
  /** Counts, what they are depends on the kind. */
  readonly counts: number[]
  /** Milliseconds since 1970; the first behind the last when no event had a time. */
  first: number
  last: number
}

export const KEY_SEPARATOR = '\u001f'

/** Sums that a thread keeps before it gives them away. */
export const MAX_KEPT_SUMS = 20_000

export class SumTable {
  readonly #sums: Map<string, Sum>
  readonly #onFull: (sums: readonly Sum[]) => void

  constructor(onFull: (sums: readonly Sum[]) => void) {
    this.#sums = new Map()
    this.#onFull = onFull
  }

  /** Adds one to the counts at some positions; position 0 is the number of events. */
  add(parts: readonly string[], time: number | undefined, positions: readonly number[] = NO_POSITIONS): void {
    const key = parts.join(KEY_SEPARATOR)
    let sum = this.#sums.get(key)
    if (sum === undefined) {
      if (this.#sums.size >= MAX_KEPT_SUMS) this.flush()
      sum = { key, counts: [0], first: MAX_TIME, last: -MAX_TIME }
      this.#sums.set(key, sum)
    }
    sum.counts[0]++
    for (const position of positions) {
      while (sum.counts.length <= position) sum.counts.push(0)
      sum.counts[position]++
    }
    if (time === undefined || Number.isNaN(time)) return
    if (time < sum.first) sum.first = time
    if (time > sum.last) sum.last = time
  }

  flush(): void {
    if (this.#sums.size === 0) return
    const full = [...this.#sums.values()]
    this.#sums.clear()
    this.#onFull(full)
  }
}

/** Beyond what a date can be. */
const MAX_TIME = 8.64e15 + 1

const NO_POSITIONS: readonly number[] = []

export function compareSums(a: Sum, b: Sum): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

/** Sorted sums as one for each key. */
export function* addUp(sums: Iterable<Sum>): Generator<Sum, void, undefined> {
  let total: Sum | undefined
  for (const sum of sums) {
    if (total !== undefined && total.key !== sum.key) {
      yield total
      total = undefined
    }
    if (total === undefined) {
      total = { ...sum, counts: [...sum.counts] }
      continue
    }
    for (const [position, count] of sum.counts.entries()) {
      while (total.counts.length <= position) total.counts.push(0)
      total.counts[position] += count
    }
    total.first = Math.min(total.first, sum.first)
    total.last = Math.max(total.last, sum.last)
  }
  if (total !== undefined) yield total
}
