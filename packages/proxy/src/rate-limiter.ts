export interface RateLimit {
  /** What is told of it. */
  readonly name: string
  /** How many pass in `seconds`, evenly. */
  readonly requests: number
  readonly seconds: number
  /** How many may come at once after a rest. */
  readonly burst: number
}

interface Bucket {
  tokens: number
  /** Milliseconds. */
  at: number
}

/**
 * A token bucket for each client, of `burst` tokens, that fills at an even rate. At most `maxClients` buckets are kept;
 * the one that was asked least recently is forgotten, which makes it full again.
 */
export class RateLimiter {
  readonly limit: RateLimit
  readonly #perMs: number
  readonly #maxClients: number
  /** The least recently asked first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(limit: RateLimit, maxClients: number) {
    this.limit = limit
    this.#perMs = limit.requests / (limit.seconds * 1_000)
    this.#maxClients = maxClients
  }

  /** Takes a token of the client. 0: the request may pass; else the seconds after which to come again. `nowMs` never falls. */
  take(client: string, nowMs: number): number {
    const { burst } = this.limit
    const known = this.#buckets.get(client)
    const bucket = known ?? { tokens: burst, at: nowMs }
    if (known !== undefined) {
      bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.at) * this.#perMs)
      bucket.at = nowMs
      this.#buckets.delete(client)
    } else if (this.#buckets.size >= this.#maxClients) {
      this.#forgetOne()
    }
    this.#buckets.set(client, bucket)
    if (bucket.tokens >= 1) {
      bucket.tokens--
      return 0
    }
    return Math.max(1, Math.ceil((1 - bucket.tokens) / this.#perMs / 1_000))
  }

  /** Clients that have a bucket. */
  get clients(): number {
    return this.#buckets.size
  }

  #forgetOne(): void {
    const [oldest] = this.#buckets.keys()
    if (oldest !== undefined) this.#buckets.delete(oldest)
  }
}
