/** How many of the clients' connections one of several workers should hold, and what it may do about having more. */

/** A worker hands over at most this many connections at once, and … Unit: connections. */
export const HANDOVER_BURST = 256
/** … this many per second: a share that is uneven must not cost more than it is worth. Unit: connections. */
export const HANDOVERS_PER_SECOND = 200

/** A worker may hold one more than its even share, and of many an eighth more. */
export function mayKeep(own: number, others: number, workers: number): boolean {
  const share = Math.ceil((own + 1 + others) / workers)
  return own + 1 <= share + 1 + Math.floor(share / 8)
}

/** How many connections may be handed over now. */
export class HandoverBudget {
  #left = HANDOVER_BURST
  #at: number

  /** `now` is monotonic, in milliseconds. */
  constructor(now: number) {
    this.#at = now
  }

  /** False when too many were handed over lately. */
  take(now: number): boolean {
    this.#left = Math.min(HANDOVER_BURST, this.#left + ((now - this.#at) * HANDOVERS_PER_SECOND) / 1_000)
    this.#at = now
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
