/**
 * Asks one server at intervals how it is: `GET` of a path on a connection of its own. The server is down after `fall`
 * checks that failed in a row, and up again after `rise` that passed.
 */

import type { ResponseHead } from '@prexy/http/message'
import { Timer, type TimerWheel } from '@prexy/net/timer-wheel'
import { DEFAULT_HEALTH_CHECK, type HealthCheckConfig } from './proxy-config.ts'
import type { ProxyError } from './proxy-error.ts'
import { type UpstreamChannel, type UpstreamUser, upstreamHead } from './upstream-channel.ts'

export interface HealthCheckInit {
  readonly config: HealthCheckConfig
  readonly hostHeader: string
  /** A connection of its own for one request. */
  readonly open: () => UpstreamChannel
  readonly wheel: TimerWheel
  readonly onDown: (reason: string) => void
  readonly onUp: () => void
}

export class HealthCheck {
  readonly #init: HealthCheckInit
  readonly #config: Required<HealthCheckConfig>
  readonly #timer: Timer
  #running: UpstreamChannel | undefined = undefined
  #passedInRow = 0
  #failedInRow = 0
  #stopped = false
  isDown = false

  constructor(init: HealthCheckInit) {
    this.#init = init
    this.#config = { ...DEFAULT_HEALTH_CHECK, ...init.config }
    this.#timer = new Timer(init.wheel, () => this.#onTimer())
  }

  start(): void {
    this.#ask()
  }

  stop(): void {
    this.#stopped = true
    this.#timer.release()
    this.#running?.abort()
    this.#running = undefined
  }

  #onTimer(): void {
    if (this.#running === undefined) {
      this.#ask()
      return
    }
    this.#running.abort()
    this.#conclude(`no answer within healthCheck.timeoutMs (${this.#config.timeoutMs})`)
  }

  #ask(): void {
    const upstream = this.#init.open()
    this.#running = upstream
    this.#timer.arm(this.#config.timeoutMs)
    const conclude = (reason: string | undefined): void => {
      if (this.#running !== upstream) return
      upstream.abort()
      this.#conclude(reason)
    }
    upstream.assign(checkUser(this.#config.status, conclude), 'GET', false)
    const { hostHeader } = this.#init
    const fields = ['Host', hostHeader, 'User-Agent', 'prexy-health-check', 'Accept', '*/*', 'Connection', 'close']
    upstream.sendHead(upstreamHead('GET', this.#config.path, fields, 'none'))
  }

  #conclude(reason: string | undefined): void {
    this.#running = undefined
    if (this.#stopped) return
    this.#timer.arm(this.#config.intervalMs)
    this.#passedInRow = reason === undefined ? this.#passedInRow + 1 : 0
    this.#failedInRow = reason === undefined ? 0 : this.#failedInRow + 1
    if (this.isDown && this.#passedInRow >= this.#config.rise) {
      this.isDown = false
      this.#init.onUp()
    } else if (!this.isDown && reason !== undefined && this.#failedInRow >= this.#config.fall) {
      this.isDown = true
      this.#init.onDown(reason)
    }
  }
}

/** `conclude` gets why the check failed, or nothing. */
function checkUser(
  [least, greatest]: HealthCheckConfig['status'] & {},
  conclude: (reason: string | undefined) => void,
): UpstreamUser {
  return {
    onUpstreamConnect() {},
    onInterim() {},
    onUpgrade: () => false,
    onResponseHead({ status }: ResponseHead) {
      conclude(status >= least && status <= greatest ? undefined : `it answered ${status}`)
    },
    onResponseData: () => true,
    onResponseEnd() {},
    onUpstreamChunkEnd: () => false,
    onUpstreamDrain() {},
    onUpstreamError({ message, detail }: ProxyError) {
      conclude(detail ?? message)
    },
  }
}
