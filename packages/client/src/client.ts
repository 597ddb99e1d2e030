/**
 * Adds events of an application to the recording of a prexy: log lines, timings, queries, whatever else belongs on the same
 * time line as the exchanges. For Node, Bun and browsers.
 *
 *     const events = createClient({ url: 'http://127.0.0.1:9901', token, source: 'shop' })
 *     events.log('warn', 'card refused', { code: 51 })
 *     const orders = await events.time('orders of a customer', () => database.query(...))
 *
 * Nothing here throws into the application but what its own functions throw, and nothing waits for the network.
 */
import { Delivery, type DeliveryCounts, type DeliveryInit } from './delivery.ts'
import { type ApplicationEvent, type EventData, type EventLevel, textOf } from './event.ts'

export interface ClientOptions extends DeliveryInit {
  /**
   * Sees each event before it is kept: returns it, another one in its place, or undefined to hold it back. One that throws
   * holds the event back, too.
   */
  readonly filter?: (event: ApplicationEvent) => ApplicationEvent | undefined
}

/** The request that events belong to. */
export interface RequestIdentity {
  /** Value of its X-Request-Id. */
  readonly requestId?: string | undefined
  /** Value of its traceparent. */
  readonly traceparent?: string | undefined
}

export interface EventSender {
  send(event: ApplicationEvent): void
  log(level: EventLevel, message: string, data?: EventData): void
  timing(name: string, durationMs: number, data?: EventData): void
  /** `text`: the query, best without its values. */
  query(text: string, durationMs?: number, data?: EventData): void
  custom(name: string, data?: EventData): void
  /** Calls `run` and sends how long it took; returns and throws what `run` does. */
  time<T>(name: string, run: () => T, data?: EventData): T
  /** Sends events that belong to a request that came through the proxy. */
  forRequest(request: RequestIdentity): EventSender
}

export interface Client extends EventSender {
  /** Console calls are events from now on, until the returned function is called. They are printed all the same. */
  captureConsole(levels?: readonly EventLevel[]): () => void
  /** Sends what waits now. False: it could not be sent, and is tried again. */
  flush(): Promise<boolean>
  /** Sends what waits, once, and stops; false if some of it was dropped. */
  close(): Promise<boolean>
  readonly counts: ClientCounts
}

export interface ClientCounts extends DeliveryCounts {
  /** Events that `filter` held back. */
  readonly filtered: number
}

export function createClient(options: ClientOptions): Client {
  const delivery = new Delivery(options)
  const { filter } = options
  let filtered = 0
  const emit = (event: ApplicationEvent): void => {
    const kept = filter === undefined ? event : filteredEvent(filter, event)
    if (kept === undefined) filtered++
    else delivery.add(kept)
  }
  const forget = onParting(() => delivery.part())
  return {
    ...senderOf(emit, {}),
    captureConsole: (levels = ['debug', 'info', 'warn', 'error']) => captureConsole(levels, emit),
    flush: () => delivery.flush(),
    close() {
      forget()
      return delivery.close()
    },
    get counts() {
      return { ...delivery.counts, filtered }
    },
  }
}

function filteredEvent(
  filter: NonNullable<ClientOptions['filter']>,
  event: ApplicationEvent,
): ApplicationEvent | undefined {
  try {
    return filter(event)
  } catch {
    return undefined
  }
}

type Identity = Pick<ApplicationEvent, 'requestId' | 'traceId'>

function senderOf(emit: (event: ApplicationEvent) => void, identity: Identity): EventSender {
  const send = (event: ApplicationEvent): void => emit({ atMs: Date.now(), ...identity, ...event })
  const withData = (data: EventData | undefined): { data?: EventData } => (data === undefined ? {} : { data })
  const timing = (name: string, durationMs: number, data?: EventData): void =>
    send({ type: 'timing', name, durationMs, atMs: Date.now() - durationMs, ...withData(data) })
  return {
    send,
    timing,
    log: (level, message, data) => send({ type: 'log', level, name: message, ...withData(data) }),
    query: (text, durationMs, data) =>
      send({
        type: 'query',
        name: text,
        ...(durationMs === undefined ? {} : { durationMs, atMs: Date.now() - durationMs }),
        ...withData(data),
      }),
    custom: (name, data) => send({ type: 'custom', name, ...withData(data) }),
    time(name, run, data) {
      const from = performance.now()
      const end = (isFailed: boolean): void =>
        timing(name, performance.now() - from, isFailed ? { ...data, failed: true } : data)
      try {
        const result = run()
        if (!(result instanceof Promise)) {
          end(false)
          return result
        }
        result.then(
          () => end(false),
          () => end(true),
        )
        return result
      } catch (error) {
        end(true)
        throw error
      }
    },
    forRequest: ({ requestId, traceparent }) =>
      senderOf(emit, {
        ...(requestId === undefined ? {} : { requestId }),
        ...(traceparent === undefined ? {} : traceIdOf(traceparent)),
      }),
  }
}

/** W3C Trace Context, section 3.2. */
function traceIdOf(traceparent: string): { traceId?: string } {
  const traceId = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/.exec(traceparent.trim())?.[1]
  return traceId === undefined ? {} : { traceId }
}

function captureConsole(levels: readonly EventLevel[], emit: (event: ApplicationEvent) => void): () => void {
  const originals = levels.map((level) => [level, console[level]] as const)
  // An event that prints something is no event again.
  let isInside = false
  for (const [level, original] of originals) {
    console[level] = (...values: unknown[]) => {
      original.apply(console, values)
      if (isInside) return
      isInside = true
      try {
        emit({ type: 'log', level, name: values.map(textOf).join(' '), atMs: Date.now() })
      } finally {
        isInside = false
      }
    }
  }
  return () => {
    for (const [level, original] of originals) console[level] = original
  }
}

/** Calls it when a browser's page is hidden or left; nowhere else. Returns how to end that. */
function onParting(run: () => void): () => void {
  if (typeof document === 'undefined') return () => {}
  const onHidden = (): void => {
    if (document.visibilityState === 'hidden') run()
  }
  addEventListener('pagehide', run)
  document.addEventListener('visibilitychange', onHidden)
  return () => {
    removeEventListener('pagehide', run)
    document.removeEventListener('visibilitychange', onHidden)
  }
}
