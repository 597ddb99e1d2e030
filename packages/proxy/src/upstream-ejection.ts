/**
 * When a server is left out because its requests fail. Pure: time comes from outside.
 *
 * A server is ejected after `failures` failures in a row within `windowMs`, for `baseMs`; each time it fails again after
 * it came back, for twice as long as before, `maxMs` at most. Back again it is on trial: it gets one request at a time,
 * and a single failure ejects it anew, until one is answered. After `maxMs` without an ejection the next one begins
 * with `baseMs` again.
 */

export interface EjectionLimits {
  /** Failures in a row; 0 never ejects. */
  readonly failures: number
  readonly windowMs: number
  readonly baseMs: number
  readonly maxMs: number
}

export const DEFAULT_EJECTION: EjectionLimits = { failures: 3, windowMs: 10_000, baseMs: 1_000, maxMs: 60_000 }

export class Ejection {
  readonly #limits: EjectionLimits
  /** When each of the latest failures in a row happened; as many as matter. */
  #failedAt: number[] = []
  #nextMs: number
  #returnedAt = Number.NEGATIVE_INFINITY
  /** It came back and has not answered since. */
  onTrial = false

  constructor(limits: EjectionLimits) {
    this.#limits = limits
    this.#nextMs = limits.baseMs
  }

  /** A request failed. Returns whether the server is to be ejected now. */
  failed(now: number): boolean {
    const { failures, windowMs } = this.#limits
    if (failures === 0) return false
    if (this.onTrial) return true
    this.#failedAt.push(now)
    if (this.#failedAt.length > failures) this.#failedAt.shift()
    return this.#failedAt.length === failures && now - this.#failedAt[0] <= windowMs
  }

  /** The server is ejected. Returns for how many milliseconds. */
  eject(now: number): number {
    const { baseMs, maxMs } = this.#limits
    if (now - this.#returnedAt > maxMs) this.#nextMs = baseMs
    const forMs = Math.min(this.#nextMs, maxMs)
    this.#nextMs = forMs * 2
    this.#failedAt = []
    this.onTrial = false
    return forMs
  }

  /** That time is over. */
  returned(now: number): void {
    this.#returnedAt = now
    this.onTrial = true
  }

  /** The failures so far were reported and led to nothing; they are counted anew. */
  restart(): void {
    this.#failedAt = []
    this.onTrial = false
  }

  /** It answered a request. */
  answered(): void {
    this.onTrial = false
    if (this.#failedAt.length > 0) this.#failedAt = []
  }
}
