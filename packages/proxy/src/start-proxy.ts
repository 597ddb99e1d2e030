import type { RefusalReason } from '@prexy/events/refusal'
import type { AcceptedSocket, BoundAddress } from '@prexy/net/intake'
import { AddressCounts } from './address-counts.ts'
import { Http2Stage } from './http2-output.ts'
import type { ProxyConfig } from './proxy-config.ts'
import { type Client, type OpenAddress, openAddresses } from './open-address.ts'
import { ProxyError } from './proxy-error.ts'
import { Refusals } from './refusals.ts'
import { createLife, createRuntime, type ProxyRuntime, stopRuntime } from './runtime.ts'

export interface RunningProxy {
  /** Where it listens, in the order of the configuration. */
  readonly addresses: readonly BoundAddress[]
  /** The first of them. */
  readonly address: BoundAddress
  /** Client connections that are open. */
  readonly connections: number
  /** Connections that were closed at once, by the limit that was met, since the start. */
  readonly refused: Readonly<Record<RefusalReason, number>>
  /**
   * Gets another configuration ready: makes its runtime and opens the addresses that are new in it. Rejects when it
   * cannot be served; nothing has changed then. One at a time: a second `prepare` waits for no first, and the one that
   * is committed last is served.
   */
  prepare(config: ProxyConfig): Promise<PreparedConfig>
  /**
   * Stops accepting, closes idle connections, lets exchanges finish, and breaks off what is left after `deadlineMs`.
   * Resolves when every connection is closed. May be called again with an earlier deadline.
   */
  stop(deadlineMs: number): Promise<void>
  /** Takes a connection that another process accepted on one of the addresses. */
  adopt(socket: AcceptedSocket, on: BoundAddress): void
  /** Stops without waiting for exchanges. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A configuration that can be served from one moment to the next. Exactly one of the two is called, once. */
export interface PreparedConfig {
  /**
   * Serves it: requests that begin from now on get it, on old connections too; what is under way finishes with what it
   * began with. Addresses that are no longer named are closed, those that are named still never were.
   */
  commit(): void
  /** Leaves everything as it was. */
  abandon(): void
}

/** How a proxy shares its addresses with other processes. */
export interface SharedIntake {
  /** The number of open client connections changed. */
  onConnections(open: number): void
  /** As `IntakeOptions.handOver`; `on` is where it was accepted. */
  handOver(socket: AcceptedSocket, on: BoundAddress): boolean
}

/** Starts a proxy. Rejects when an address cannot be listened on; nothing is left open then. */
export async function startProxy(config: ProxyConfig, shared?: SharedIntake): Promise<RunningProxy> {
  if (config.listen.length === 0) throw new Error('a proxy needs at least one address to listen on')
  const life = createLife(config)
  const clients = new Set<Client>()
  const emptied = new Set<() => void>()
  /** Of runtimes that serve nothing new. */
  const stopping = new Set<Promise<void>>()
  const runtimes = { current: createRuntime(config, life) }
  const counts = new AddressCounts(runtimes.current.limits.maxConnectionsPerAddress, runtimes.current.trustedRanges)
  let open: readonly OpenAddress[] = []

  const opened = (client: Client): void => {
    clients.add(client)
    shared?.onConnections(clients.size)
    // Its handshake, or its first octets, took longer than the proxy was to run.
    if (life.draining) client.drain()
  }
  const closed = (client: Client): void => {
    clients.delete(client)
    shared?.onConnections(clients.size)
    if (clients.size > 0) return
    for (const resolve of emptied) resolve()
    emptied.clear()
  }

  const refusals = new Refusals(life.wheel, (event) => {
    const { onRefused, onError } = runtimes.current
    try {
      onRefused?.(event)
    } catch (cause) {
      onError(cause instanceof Error ? cause : new Error(String(cause)))
    }
  })
  const reception = {
    runtimes,
    counts,
    refusals,
    stage: new Http2Stage(),
    opened,
    closed,
    handOver: shared === undefined ? undefined : shared.handOver.bind(shared),
  }

  const retire = (runtime: ProxyRuntime): void => {
    const stopped = stopRuntime(runtime).then(() => {
      stopping.delete(stopped)
    })
    stopping.add(stopped)
  }

  open = (await openAddresses(open, config.listen, runtimes.current, reception)).all

  const prepare = async (next: ProxyConfig): Promise<PreparedConfig> => {
    if (life.draining) throw new Error('the proxy is being stopped')
    if (next.listen.length === 0) throw new Error('a proxy needs at least one address to listen on')
    const runtime = createRuntime(next, life)
    const abandonRuntime = (): void => retire(runtime)
    const { all, fresh, change } = await openAddresses(open, next.listen, runtime, reception).catch(
      (error: unknown) => {
        abandonRuntime()
        throw error
      },
    )
    return {
      commit() {
        const old = runtimes.current
        runtimes.current = runtime
        counts.configure(runtime.limits.maxConnectionsPerAddress, runtime.trustedRanges)
        for (const one of open) if (!all.includes(one)) one.listener.close()
        open = all
        change()
        for (const { listener } of all) listener.intake.maxConnections = runtime.limits.maxConnections
        retire(old)
      },
      abandon() {
        for (const { listener } of fresh) listener.close()
        abandonRuntime()
      },
    }
  }

  const stop = async (deadlineMs: number): Promise<void> => {
    life.draining = true
    for (const { listener } of open) listener.close()
    for (const client of clients) client.drain()
    if (clients.size > 0) {
      await new Promise<void>((resolve) => {
        const deadline = setTimeout(() => {
          for (const client of clients)
            client.abort(new ProxyError('E_SHUTDOWN', { detail: 'the deadline of stop passed' }))
        }, deadlineMs)
        emptied.add(() => {
          clearTimeout(deadline)
          resolve()
        })
      })
    }
    for (const comparison of life.comparisons) comparison.skip('stopped')
    refusals.close()
    retire(runtimes.current)
    await Promise.all(stopping)
  }
  return {
    get addresses() {
      return open.map(({ listener }) => listener.intake.address)
    },
    get address() {
      return open[0].listener.intake.address
    },
    get connections() {
      return clients.size
    },
    refused: refusals.totals,
    prepare,
    adopt(socket, { address, port }) {
      const one = open.find(
        ({ listener: { intake } }) => intake.address.port === port && intake.address.address === address,
      )
      if (one === undefined || life.draining) socket.destroy()
      else one.listener.intake.adopt(socket)
    },
    stop,
    [Symbol.asyncDispose]: () => stop(0),
  }
}
