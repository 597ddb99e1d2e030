import { type BoundAddress, type ConnectionHandler, listen, type Listener } from '@prexy/net/connection'
import { AddressCounts } from './address-counts.ts'
import { ClientConnection } from './client-connection.ts'
import type { ProxyConfig } from './proxy-config.ts'
import { ProxyError } from './proxy-error.ts'
import { createRuntime } from './runtime.ts'

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
   * Stops accepting, closes idle connections, lets exchanges finish, and breaks off what is left after `deadlineMs`.
   * Resolves when every connection is closed. May be called again with an earlier deadline.
   */
  stop(deadlineMs: number): Promise<void>
  /** Stops without waiting for exchanges. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a proxy. Rejects when an address cannot be listened on; nothing is left open then. */
export async function startProxy(config: ProxyConfig): Promise<RunningProxy> {
  const runtime = createRuntime(config)
  const clients = new Map<ClientConnection, () => void>()
  const counts = new AddressCounts(runtime.limits.maxConnectionsPerAddress, runtime.trustedRanges)
  const emptied = new Set<() => void>()

  const closed = (client: ClientConnection): void => {
    clients.get(client)?.()
    clients.delete(client)
    if (clients.size > 0) return
    for (const resolve of emptied) resolve()
    emptied.clear()
  }
  const listeners: Listener[] = []
  try {
    for (const { host, port } of config.listen) {
      const options = { host, port, maxConnections: runtime.limits.maxConnections }
      let boundPort = String(port)
      const listener = await listen(
        options,
        (connection) => {
          const uncount = counts.begin(connection.remoteAddress)
          if (uncount === undefined) {
            connection.destroy()
            return REFUSED
          }
          const client = new ClientConnection(connection, runtime, boundPort, closed)
          clients.set(client, uncount)
          return client
        },
        runtime.onError,
      )
      boundPort = String(listener.address.port)
      listeners.push(listener)
    }
  } catch (error) {
    for (const listener of listeners) listener.close()
    throw error
  }
  const addresses = listeners.map((listener) => listener.address)
  const address = addresses.at(0)
  if (address === undefined) throw new Error('a proxy needs at least one address to listen on')

  const stop = async (deadlineMs: number): Promise<void> => {
    runtime.draining = true
    for (const listener of listeners) listener.close()
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
    await Promise.all(runtime.routes.map(({ pool }) => pool.stop()))
  }
  return {
    addresses,
    address,
    get connections() {
      return clients.size
    },
    stop,
    [Symbol.asyncDispose]: () => stop(0),
  }
}
