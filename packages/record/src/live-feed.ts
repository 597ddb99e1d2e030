/**
 * The events of a running proxy for those who watch: the last ones, kept in memory, and a place in them for each viewer.
 *
 * An event is the bytes of one `RecordedEvent` in MessagePack, already redacted, so that it goes to any number of viewers
 * as it is. The feed numbers them, over all workers. There is no queue per viewer: each has a place in the one ring of
 * the last events, so that a viewer who does not keep up costs no memory and no time, and is told how many it missed.
 *
 * A viewer that comes back names the feed and the last number it saw, and goes on there if the ring still reaches back to
 * it. The ring is also all there is of a recording that is kept in memory only.
 */

export interface LiveFeedLimits {
  /** Events that are kept. Default 10,000. */
  readonly maxEvents: number
  /** Bytes of them. Default 16 MiB. */
  readonly maxBytes: number
  /** Viewers at one time. Default 32. */
  readonly maxViewers: number
}

export const DEFAULT_LIVE_FEED_LIMITS: LiveFeedLimits = {
  maxEvents: 10_000,
  maxBytes: 16 * 1024 * 1024,
  maxViewers: 32,
}

/** What a viewer takes at one time. */
export interface LiveBatch {
  /** Number of the first event; the others follow one by one. */
  readonly sequence: number
  /** Not to be changed; they are those of other viewers, too. */
  readonly events: readonly Uint8Array[]
  /** Events before `sequence` that this viewer missed since its last batch. */
  readonly dropped: number
}

export interface LiveViewer {
  /**
   * What waits, at most so many bytes but one event at least; undefined if nothing does. Call it when there is room to
   * send: a viewer whose socket is full just does not call.
   */
  take(maxBytes: number): LiveBatch | undefined
  /** Events missed so far. */
  readonly dropped: number
  close(): void
}

export interface LiveSubscription {
  /**
   * Where to go on: the number of the last event that was seen, of the feed with this id. Of another feed (the proxy was
   * started anew) it begins with the oldest event there is. Absent: only what comes from now on.
   */
  readonly after?: { readonly feed: string; readonly sequence: number }
  /** Begin with the oldest event that is kept, where `after` says nothing. Default false. */
  readonly fromOldest?: boolean
}

export class LiveFeed {
  /** Unlike that of any other feed; for {@link LiveSubscription.after}. */
  readonly id: string
  readonly #limits: LiveFeedLimits
  readonly #viewers = new Set<Viewer>()
  readonly #onWatched: (isWatched: boolean) => void
  /** By sequence modulo `maxEvents`. */
  readonly #ring: (Uint8Array | undefined)[] = []
  #bytes = 0
  #oldest = 1
  #next = 1

  /** `onWatched` is told when the first viewer comes and when the last one has gone. */
  constructor(limits: Partial<LiveFeedLimits> = {}, onWatched: (isWatched: boolean) => void = () => {}) {
    this.id = crypto.randomUUID()
    this.#limits = { ...DEFAULT_LIVE_FEED_LIMITS, ...limits }
    this.#onWatched = onWatched
  }

  get viewers(): number {
    return this.#viewers.size
  }

  /** Number of the oldest event that is kept; one more than {@link newest} if there is none. */
  get oldest(): number {
    return this.#oldest
  }

  /** Number of the last event; 0 before the first. */
  get newest(): number {
    return this.#next - 1
  }

  /** Bytes of the events that are kept. */
  get keptBytes(): number {
    return this.#bytes
  }

  /** Adds an event, whose bytes are the feed's from now on. */
  publish(event: Uint8Array): void {
    const { maxEvents, maxBytes } = this.#limits
    if (this.#next - this.#oldest === maxEvents) this.#evict()
    this.#ring[this.#next % maxEvents] = event
    this.#next++
    this.#bytes += event.length
    while (this.#bytes > maxBytes && this.#next - this.#oldest > 1) this.#evict()
    for (const viewer of this.#viewers) viewer.wake()
  }

  /** The bytes of an event; undefined if it is not kept any more, or not there yet. */
  at(sequence: number): Uint8Array | undefined {
    if (sequence < this.#oldest || sequence >= this.#next) return undefined
    return this.#ring[sequence % this.#limits.maxEvents]
  }

  /**
   * A new viewer; undefined if there are `maxViewers` already. `onReady` is called when something begins to wait, once until
   * the viewer has taken all, from within `publish`: it should not do more than plan a `take`. What waits already is not
   * told: take once after subscribing.
   */
  subscribe(subscription: LiveSubscription, onReady: () => void): LiveViewer | undefined {
    if (this.#viewers.size >= this.#limits.maxViewers) return undefined
    const viewer = new Viewer(this, this.#startOf(subscription), onReady, () => {
      if (this.#viewers.delete(viewer) && this.#viewers.size === 0) this.#onWatched(false)
    })
    this.#viewers.add(viewer)
    if (this.#viewers.size === 1) this.#onWatched(true)
    return viewer
  }

  #startOf({ after, fromOldest }: LiveSubscription): number {
    if (after === undefined) return fromOldest === true ? this.#oldest : this.#next
    if (after.feed !== this.id) return this.#oldest
    return Math.min(Math.max(after.sequence + 1, 1), this.#next)
  }

  #evict(): void {
    const slot = this.#oldest % this.#limits.maxEvents
    this.#bytes -= this.#ring[slot]?.length ?? 0
    this.#ring[slot] = undefined
    this.#oldest++
  }
}

class Viewer implements LiveViewer {
  readonly #feed: LiveFeed
  readonly #onReady: () => void
  readonly #onClose: () => void
  /** Number of the next event to take. */
  #at: number
  #isTold = false
  dropped = 0

  constructor(feed: LiveFeed, at: number, onReady: () => void, onClose: () => void) {
    this.#feed = feed
    this.#at = at
    this.#onReady = onReady
    this.#onClose = onClose
  }

  wake(): void {
    if (this.#isTold) return
    this.#isTold = true
    this.#onReady()
  }

  take(maxBytes: number): LiveBatch | undefined {
    const feed = this.#feed
    const missed = Math.max(feed.oldest - this.#at, 0)
    this.dropped += missed
    this.#at += missed
    const sequence = this.#at
    const events: Uint8Array[] = []
    let bytes = 0
    for (;;) {
      const event = feed.at(this.#at)
      if (event === undefined) {
        this.#isTold = false
        break
      }
      bytes += event.length
      if (events.length > 0 && bytes > maxBytes) break
      events.push(event)
      this.#at++
    }
    return events.length === 0 && missed === 0 ? undefined : { sequence, events, dropped: missed }
  }

  close(): void {
    this.#onClose()
  }
}
