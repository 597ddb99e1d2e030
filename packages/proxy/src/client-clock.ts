import { Timer, type TimerWheel } from '@prexy/net/timer-wheel'
import { type BodyPace, paceOf } from './body-pace.ts'
import type { Exchange } from './exchange.ts'
import type { ProxyRuntime } from './runtime.ts'

/** What a client is waited for while an exchange goes on. */
type ExchangeWait = 'nothing' | 'queue' | 'body' | 'write'

/** Times a client, or one stream of it, for one thing at a time; `Other`: what else than an exchange there is to wait for. */
export class ClientClock<Other extends string = never> {
  /** Set to `nothing`, a timer that is armed still rings, and finds nothing to do. */
  waiting: ExchangeWait | Other = 'nothing'
  /** Whether it is its pace that ends the wait for a body. */
  isPaced = false
  /** What the client had taken when it began to be waited for. */
  takenBytes = 0
  readonly #timer: Timer
  /** Of the body that is being read, once it was waited for. */
  #pace: BodyPace | undefined = undefined

  constructor(wheel: TimerWheel, onTimeout: () => void) {
    this.#timer = new Timer(wheel, onTimeout)
  }

  wait(waiting: ExchangeWait | Other, delayMs: number): void {
    this.waiting = waiting
    if (waiting !== 'body') this.#pace?.rest()
    if (waiting === 'nothing') this.#timer.disarm()
    else this.#timer.arm(delayMs)
  }

  /** Another request has begun: nothing of its body was waited for. */
  begin(): void {
    this.#pace = undefined
    this.wait('nothing', 0)
  }

  /** For what the client of an exchange owes next; `requestBytes` of its request have come. */
  watch(exchange: Exchange, runtime: ProxyRuntime, requestEnded: boolean, requestBytes: number): void {
    const { timeouts } = runtime
    if (exchange.waitsForUpstream) {
      if (this.waiting !== 'queue') this.wait('queue', timeouts.upstreamQueueMs)
    } else if (this.waiting !== 'write') {
      if (requestEnded || !exchange.takesBody) this.wait('nothing', 0)
      else this.#waitForBody(exchange, runtime, requestBytes)
    }
  }

  #waitForBody({ responded }: Exchange, runtime: ProxyRuntime, requestBytes: number): void {
    const { clientBodyMs } = runtime.timeouts
    let left = Number.POSITIVE_INFINITY
    // Once the response has begun, who sends and who answers may take turns for as long as they like.
    if (!responded) {
      this.#pace ??= paceOf(runtime)
      left = this.#pace.wait(requestBytes)
    }
    this.isPaced = left < clientBodyMs
    this.wait('body', Math.min(left, clientBodyMs))
  }

  /** The client has to take more than `takenBytes`. */
  waitForWrite(takenBytes: number, { timeouts }: ProxyRuntime): void {
    this.takenBytes = takenBytes
    this.wait('write', timeouts.clientWriteMs)
  }

  /** Once nothing is to be timed any more. */
  release(): void {
    this.#timer.release()
  }
}
