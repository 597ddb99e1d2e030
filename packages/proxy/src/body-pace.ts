import type { TimerWheel } from '@prexy/net/timer-wheel'
import { ProxyError } from './proxy-error.ts'
import type { ProxyRuntime } from './runtime.ts'

/**
 * How long a client may still be waited for while it sends a body. Waiting uses the time up, octets give some back, at
 * most what there was: a body that comes drop by drop ends, whatever its length, and one that pauses now and then does
 * not. While the proxy takes nothing the time stands still.
 */
export class BodyPace {
  readonly #wheel: TimerWheel
  readonly #graceMs: number
  readonly #msPerByte: number
  #leftMs: number
  #bytes = 0
  /** Undefined while nobody waits. */
  #since: number | undefined = undefined

  /** With 0 `bytesPerSecond` there is no end. */
  constructor(wheel: TimerWheel, graceMs: number, bytesPerSecond: number) {
    this.#wheel = wheel
    this.#graceMs = graceMs
    this.#leftMs = graceMs
    this.#msPerByte = 1_000 / bytesPerSecond
  }

  /** The client is waited for, from now on or still; `bytes` have come in all. Returns for how long at most. */
  wait(bytes: number): number {
    if (this.#msPerByte === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
    this.rest()
    this.#since = this.#wheel.nowMs
    const givenBack = (bytes - this.#bytes) * this.#msPerByte
    this.#bytes = bytes
    this.#leftMs = Math.min(this.#graceMs, this.#leftMs + givenBack)
    return Math.max(0, this.#leftMs)
  }

  /** The client is not waited for. */
  rest(): void {
    if (this.#since === undefined) return
    this.#leftMs -= this.#wheel.nowMs - this.#since
    this.#since = undefined
  }
}

/** That of a body which begins now. */
export function paceOf({ life, timeouts, limits }: ProxyRuntime): BodyPace {
  return new BodyPace(life.wheel, GRACE * timeouts.clientBodyMs, limits.minRequestBodyBytesPerSecond)
}

/** Of `clientBodyMs`. */
const GRACE = 2

/** `isPaced`: it was the pace that ended the wait. */
export function bodyTimeout(isPaced: boolean): ProxyError {
  const detail = isPaced ? 'slower than minRequestBodyBytesPerSecond' : 'clientBodyMs passed'
  return new ProxyError('E_CLIENT_TIMEOUT', { detail })
}
