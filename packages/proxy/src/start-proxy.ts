import { type ConnectionHandler, listen } from '@prexy/net/connection'
import type { AcceptedSocket, BoundAddress, Intake } from '@prexy/net/intake'
import { AddressCounts } from './address-counts.ts'
import { ClientConnection } from './client-connection.ts'
import type { ListenAddress, ProxyConfig } from './proxy-config.ts'
import { ProxyError } from './proxy-error.ts'
import { createLife, createRuntime, type ProxyRuntime } from './runtime.ts'

/** Of a connection that is closed at once. */
const REFUSED: ConnectionHandler = { onData: () => false, onEnd() {}, onDrain() {}, onClose() {} }

export interface RunningProxy {
  /** Where it listens, in the order of the configuration. */
  readonly addresses: readonly BoundAddress[]
  /** The first of them. */
  readonly address: BoundAddress
  /** Client connections that are open. */
  readonly connections: number
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

interface OpenAddress {
  readonly config: ListenAddress
  readonly intake: Intake
}

/** Starts a proxy. Rejects when an address cannot be listened on; nothing is left open then. */
export async function startProxy(config: ProxyConfig, shared?: SharedIntake): Promise<RunningProxy> {
  if (config.listen.length === 0) throw new Error('a proxy needs at least one address to listen on')
  const life = createLife(config)
  const clients = new Map<ClientConnection, () => void>()
  const emptied = new Set<() => void>()
  /** Of runtimes that serve nothing new. */
  const stopping = new Set<Promise<void>>()
  const runtimes = { current: createRuntime(config, life) }
  const counts = new AddressCounts(runtimes.current.limits.maxConnectionsPerAddress, runtimes.current.trustedRanges)
  let open: readonly OpenAddress[] = []

  const closed = (client: ClientConnection): void => {
    clients.get(client)?.()
    clients.delete(client)
    shared?.onConnections(clients.size)
    if (clients.size > 0) return
    for (const resolve of emptied) resolve()
    emptied.clear()
  }

  const openAddress = async (address: ListenAddress, runtime: ProxyRuntime): Promise<OpenAddress> => {
    let boundPort = String(address.port)
    const intake = await listen(
      {
        ...address,
        maxConnections: runtime.limits.maxConnections,
        ...(shared === undefined ? {} : { handOver: (socket) => shared.handOver(socket, intake.address) }),
      },
      (connection) => {
        const uncount = counts.begin(connection.remoteAddress)
        if (uncount === undefined) {
          connection.destroy()
          return REFUSED
        }
        const client = new ClientConnection(connection, runtimes, boundPort, closed)
        clients.set(client, uncount)
        shared?.onConnections(clients.size)
        return client
      },
      (error) => runtimes.current.onError(error),
    )
    boundPort = String(intake.address.port)
    return { config: address, intake }
  }

  /** Those of `addresses` that are open already, and the others anew. */
  const openAddresses = async (
    addresses: readonly ListenAddress[],
    runtime: ProxyRuntime,
  ): Promise<{ readonly all: readonly OpenAddress[]; readonly fresh: readonly OpenAddress[] }> => {
    const kept = new Set(open)
    const all: OpenAddress[] = []
    const fresh: OpenAddress[] = []
    try {
      for (const address of addresses) {
        let one = [...kept].find(({ config }) => config.host === address.host && config.port === address.port)
        if (one === undefined) {
          one = await openAddress(address, runtime)
          fresh.push(one)
        } else {
          kept.delete(one)
        }
        all.push(one)
      }
    } catch (error) {
      for (const { intake } of fresh) intake.close()
      throw error
    }
    return { all, fresh }
  }

  const retire = ({ pools }: ProxyRuntime): void => {
    const stopped = Promise.all(pools.map((pool) => pool.stop())).then(() => {
      stopping.delete(stopped)
    })
    stopping.add(stopped)
  }

  open = (await openAddresses(config.listen, runtimes.current)).all

  const prepare = async (next: ProxyConfig): Promise<PreparedConfig> => {
    if (life.draining) throw new Error('the proxy is being stopped')
    if (next.listen.length === 0) throw new Error('a proxy needs at least one address to listen on')
    const runtime = createRuntime(next, life)
    const abandonRuntime = (): void => retire(runtime)
    const { all, fresh } = await openAddresses(next.listen, runtime).catch((error: unknown) => {
      abandonRuntime()
      throw error
    })
    return {
      commit() {
        const old = runtimes.current
        runtimes.current = runtime
        counts.configure(runtime.limits.maxConnectionsPerAddress, runtime.trustedRanges)
        for (const one of open) if (!all.includes(one)) one.intake.close()
        open = all
        for (const { intake } of all) intake.maxConnections = runtime.limits.maxConnections
        retire(old)
      },
      abandon() {
        for (const { intake } of fresh) intake.close()
        abandonRuntime()
      },
    }
  }

  const stop = async (deadlineMs: number): Promise<void> => {
    life.draining = true
    for (const { intake } of open) intake.close()
    for (const client of clients.keys()) client.drain()
    if (clients.size > 0) {
      await new Promise<void>((resolve) => {
        const deadline = setTimeout(() => {
          for (const client of clients.keys())
            client.abort(new ProxyError('E_SHUTDOWN', { detail: 'the deadline of stop passed' }))
        }, deadlineMs)
        emptied.add(() => {
          clearTimeout(deadline)
          resolve()
        })
      })
    }
    retire(runtimes.current)
    await Promise.all(stopping)
  }
  return {
    get addresses() {
      return open.map(({ intake }) => intake.address)
    },
    get address() {
      return open[0].intake.address
    },
    get connections() {
      return clients.size
    },
    prepare,
    adopt(socket, { address, port }) {
      const one = open.find(({ intake }) => intake.address.port === port && intake.address.address === address)
      if (one === undefined || life.draining) socket.destroy()
      else one.intake.adopt(socket)
    },
    stop,
    [Symbol.asyncDispose]: () => stop(0),
  }
}
