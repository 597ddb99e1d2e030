import type { RefusalEvent, RefusalReason } from '@prexy/events/refusal'
import { Timer, type TimerWheel } from '@prexy/net/timer-wheel'

/** How long refusals are summed up before they are told. Unit: milliseconds. */
export const REFUSAL_SUM_MS = 10_000

/** Counts connections that were refused, and tells of them. */
export class Refusals {
  /** Since the start. */
  readonly totals: Record<RefusalReason, number> = { maxConnections: 0, maxConnectionsPerAddress: 0 }
  readonly #tellers: Readonly<Record<RefusalReason, (address: string | undefined) => void>>
  readonly #timers: readonly Timer[]

  constructor(wheel: TimerWheel, tell: (event: RefusalEvent) => void) {
    const timers: Timer[] = []
    const tellerOf = (reason: RefusalReason): ((address: string | undefined) => void) => {
      let connections = 0
      let last: string | undefined
      const flush = (): void => {
        if (connections === 0) return
        const event = { atMs: Date.now(), reason, connections, address: last }
        connections = 0
        timer.arm(REFUSAL_SUM_MS)
        tell(event)
      }
      const timer = new Timer(wheel, flush)
      timers.push(timer)
      return (address) => {
        connections++
        last = address
        if (!timer.armed) flush()
      }
    }
    this.#timers = timers
    this.#tellers = {
      maxConnections: tellerOf('maxConnections'),
      maxConnectionsPerAddress: tellerOf('maxConnectionsPerAddress'),
    }
  }

  add(reason: RefusalReason, address: string | undefined): void {
    this.totals[reason]++
    this.#tellers[reason](address)
  }

  /** Nothing is told any more. */
  close(): void {
    for (const timer of this.#timers) timer.release()
  }
}
