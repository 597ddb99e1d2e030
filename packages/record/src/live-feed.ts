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
  /** The viewer's own. */
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
  /**
   * The events' octets, one behind the other, each in one piece; behind the end it goes on at the begin. Grows up to
   * `maxBytes` and not again.
   *
   * PERF: an object for each event would live long enough for every one of them to be moved by the garbage collector
   * twice: 20 us an event (Node 20.20, 10,000 events, 2026-12-01, loaded machine).
   */
  #octets: Uint8Array = new Uint8Array(0)
  /** Where the next event goes. */
  #end = 0
  /** Of event n, at n modulo `maxEvents`. */
  readonly #starts: Float64Array
  readonly #lengths: Uint32Array
  #bytes = 0
  #oldest = 1
  #next = 1

  /** `onWatched` is told when the first viewer comes and when the last one has gone. */
  constructor(limits: Partial<LiveFeedLimits> = {}, onWatched: (isWatched: boolean) => void = () => {}) {
    this.id = crypto.randomUUID()
    this.#limits = { ...DEFAULT_LIVE_FEED_LIMITS, ...limits }
    this.#onWatched = onWatched
    this.#starts = new Float64Array(this.#limits.maxEvents)
    this.#lengths = new Uint32Array(this.#limits.maxEvents)
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

  /** Adds a copy of an event. One that is larger than `maxBytes` is counted and not kept. */
  publish(event: Uint8Array): void {
    const { maxEvents, maxBytes } = this.#limits
    const { length } = event
    if (length > maxBytes) {
      while (this.#oldest < this.#next) this.#evict()
      this.#oldest++
      this.#next++
    } else {
      if (this.#next - this.#oldest === maxEvents) this.#evict()
      const start = this.#place(length)
      this.#octets.set(event, start)
      const slot = this.#next % maxEvents
      this.#starts[slot] = start
      this.#lengths[slot] = length
      this.#end = start + length
      this.#bytes += length
      this.#next++
    }
    for (const viewer of this.#viewers) viewer.wake()
  }

  /** A copy of an event; undefined if it is not kept any more, or not there yet. */
  at(sequence: number): Uint8Array | undefined {
    if (sequence < this.#oldest || sequence >= this.#next) return undefined
    const slot = sequence % this.#limits.maxEvents
    const start = this.#starts[slot]
    return this.#octets.slice(start, start + this.#lengths[slot])
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

  /** Room for so many octets, at most `maxBytes`: behind the last event, or at the begin; the oldest make way. */
  #place(length: number): number {
    for (;;) {
      const isEmpty = this.#oldest === this.#next
      const first = isEmpty ? 0 : this.#starts[this.#oldest % this.#limits.maxEvents]
      if (isEmpty) this.#end = 0
      const size = this.#octets.length
      // Free is what is between the last and the oldest event, on both sides of the end of the memory.
      const isSplit = isEmpty || first < this.#end
      if (isSplit && this.#end + length <= size) return this.#end
      if (isSplit && !isEmpty && length <= first) return 0
      if (!isSplit && this.#end + length <= first) return this.#end
      if (size < this.#limits.maxBytes && (isEmpty || isSplit)) this.#grow(this.#end + length)
      else this.#evict()
    }
  }

  /** Only while no event is behind the end of the memory. */
  #grow(needed: number): void {
    const { maxBytes } = this.#limits
    const larger = new Uint8Array(Math.min(maxBytes, Math.max(2 * this.#octets.length, needed, MIN_RING_BYTES)))
    larger.set(this.#octets.subarray(0, this.#end))
    this.#octets = larger
  }

  #evict(): void {
    this.#bytes -= this.#lengths[this.#oldest % this.#limits.maxEvents]
    this.#oldest++
  }
}

/** Of the memory at first. */
const MIN_RING_BYTES = 65_536

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
