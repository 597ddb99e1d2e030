/**
 * Coarse timers for connections.
 *
 * A connection re-arms its timers on every read and write, so arming must cost a store, not a heap operation: a timer
 * is linked into the slot of the tick it was first armed for, and arming it again for a later tick only changes
 * `expiresAt`. When the slot comes round, a timer that is not due yet moves on to the slot of its real tick. Arming for
 * an earlier tick relinks at once.
 *
 * INVARIANT: for a linked, armed timer, `visitAt <= expiresAt`.
 *
 * A timer never fires early and fires at most two ticks late, unless the event loop stalls. The wheel runs one unreferenced interval while at least
 * one timer is linked.
 */

export const DEFAULT_TICK_MS = 250

const SLOTS = 256
/** Ticks that pass at once, at most. */
const MAX_TURNS = 4
const UNARMED = -1

export class Timer {
  readonly wheel: TimerWheel
  /** Called once per expiry, from the wheel; may arm the timer again. */
  readonly onExpire: () => void
  /** @internal Tick at which the timer fires, or `UNARMED`. */
  expiresAt: number = UNARMED
  /** @internal Tick at which the slot that the timer is linked into comes round, or `UNARMED` when it is not linked. */
  visitAt: number = UNARMED
  /** @internal */
  previous: Timer | undefined = undefined
  /** @internal */
  next: Timer | undefined = undefined

  constructor(wheel: TimerWheel, onExpire: () => void) {
    this.wheel = wheel
    this.onExpire = onExpire
  }

  /** (Re)starts the timer. O(1); a plain store when the new expiry is not earlier than the old one. */
  arm(delayMs: number): void {
    this.wheel.schedule(this, delayMs)
  }

  /** Stops the timer; it may be armed again. */
  disarm(): void {
    this.expiresAt = UNARMED
  }

  get armed(): boolean {
    return this.expiresAt !== UNARMED
  }

  /** Unlinks the timer, so that nothing refers to it any more. */
  release(): void {
    this.expiresAt = UNARMED
    this.wheel.unlink(this)
  }
}

export interface TimerWheelOptions {
  /** Default {@link DEFAULT_TICK_MS}. */
  readonly tickMs?: number
  /** `manual`: time passes only by `advance`, for tests. Default `interval`. */
  readonly drive?: 'interval' | 'manual'
  /** Gets what an expiry threw, so that the other timers fire all the same. Absent: it is thrown on. */
  readonly onError?: (error: Error) => void
}

export class TimerWheel {
  readonly tickMs: number
  readonly #driven: boolean
  readonly #onError: ((error: Error) => void) | undefined
  readonly #slots: (Timer | undefined)[] = new Array<Timer | undefined>(SLOTS).fill(undefined)
  #tick = 0
  #linked = 0
  #startedAt = 0
  #interval: ReturnType<typeof setInterval> | undefined = undefined

  constructor(options: TimerWheelOptions = {}) {
    this.tickMs = options.tickMs ?? DEFAULT_TICK_MS
    this.#driven = options.drive !== 'manual'
    this.#onError = options.onError
  }

  /** Time by the wheel, in steps of a tick; it stands still while no timer is linked. Unit: milliseconds. */
  get nowMs(): number {
    return this.#tick * this.tickMs
  }

  /** Timers that are linked, the disarmed ones that the wheel has not dropped yet included. */
  get linked(): number {
    return this.#linked
  }

  /** @internal */
  schedule(timer: Timer, delayMs: number): void {
    // One tick more than the delay: the current tick has partly passed.
    const expiresAt = this.#tick + Math.ceil(delayMs / this.tickMs) + 1
    timer.expiresAt = expiresAt
    if (timer.visitAt !== UNARMED) {
      if (timer.visitAt <= expiresAt) return
      this.unlink(timer)
    }
    this.#link(timer)
  }

  /** @internal */
  unlink(timer: Timer): void {
    if (timer.visitAt === UNARMED) return
    const { previous, next } = timer
    if (previous === undefined) this.#slots[timer.visitAt % SLOTS] = next
    else previous.next = next
    if (next !== undefined) next.previous = previous
    timer.previous = undefined
    timer.next = undefined
    timer.visitAt = UNARMED
    this.#linked--
  }

  #link(timer: Timer): void {
    if (this.#interval === undefined && this.#driven) {
      this.#startedAt = performance.now() - this.#tick * this.tickMs
      this.#interval = setInterval(() => this.#catchUp(), this.tickMs)
      this.#interval.unref()
    }
    timer.visitAt = Math.min(timer.expiresAt, this.#tick + SLOTS - 1)
    const slot = timer.visitAt % SLOTS
    const head = this.#slots[slot]
    timer.previous = undefined
    timer.next = head
    if (head !== undefined) head.previous = timer
    this.#slots[slot] = timer
    this.#linked++
  }

  /** Lets `ticks` ticks pass and fires what is due. */
  advance(ticks: number): void {
    for (let i = 0; i < ticks; i++) this.#turn()
  }

  /**
   * Timers come before sockets in a turn of the event loop. After a stall, of which nobody else is to blame, what peers
   * sent meanwhile is not read yet: so no more than a few ticks pass before it is, and the rest of the stall does not
   * count.
   */
  #catchUp(): void {
    const now = performance.now()
    const due = Math.floor((now - this.#startedAt) / this.tickMs)
    const turns = Math.min(due - this.#tick, MAX_TURNS)
    this.#startedAt += Math.max(0, due - this.#tick - turns) * this.tickMs
    for (let turn = 0; turn < turns && this.#linked > 0; turn++) this.#turn()
    if (this.#linked === 0) {
      clearInterval(this.#interval)
      this.#interval = undefined
    }
  }

  #turn(): void {
    this.#tick++
    const slot = this.#tick % SLOTS
    // Taken from the head each time, because a handler may unlink any timer. Nothing links into this slot meanwhile:
    // `visitAt` is at most SLOTS - 1 ticks ahead.
    for (let timer = this.#slots[slot]; timer !== undefined; timer = this.#slots[slot]) {
      this.unlink(timer)
      if (timer.expiresAt === UNARMED) continue
      if (timer.expiresAt > this.#tick) {
        this.#link(timer)
        continue
      }
      timer.expiresAt = UNARMED
      this.#fire(timer)
    }
  }

  #fire(timer: Timer): void {
    try {
      timer.onExpire()
    } catch (error) {
      if (this.#onError === undefined) throw error
      this.#onError(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
