import type { AcceptedSocket, BoundAddress } from '@prexy/net/intake'
import { listen, type Listener, type TlsSession } from '@prexy/net/listener'
import { setSocketRights } from '@prexy/net/unix-socket'
import type { AddressCounts } from './address-counts.ts'
import { ClientConnection } from './client-connection.ts'
import type { Entrance } from './entrance.ts'
import { Http2Client } from './http2-client.ts'
import type { Http2Stage } from './http2-output.ts'
import type { ListenAddress } from './proxy-config.ts'
import type { Refusals } from './refusals.ts'
import type { ProxyRuntime, RuntimeSource } from './runtime.ts'
import { serviceOf } from './service.ts'

/** An address that is listened on. */
export interface OpenAddress {
  /** What is said of it now. */
  config: ListenAddress
  readonly listener: Listener
}

/** A connection, whatever version of HTTP its client speaks. */
export type Client = ClientConnection | Http2Client

export interface Reception {
  readonly runtimes: RuntimeSource
  readonly counts: AddressCounts
  readonly refusals: Refusals
  readonly stage: Http2Stage
  readonly opened: (client: Client) => void
  readonly closed: (client: Client) => void
  readonly handOver: ((socket: AcceptedSocket, address: BoundAddress) => boolean) | undefined
}

/** Listens on an address. Rejects when that cannot be had. */
async function openAddress(
  address: ListenAddress,
  runtime: ProxyRuntime,
  { runtimes, counts, refusals, stage, opened, closed, handOver }: Reception,
): Promise<OpenAddress> {
  const entranceOf = (tls: TlsSession | undefined): Entrance => ({
    port: portOf(one.config, listener),
    listener: one.config.name,
    tls,
    redirectPort: one.config.redirectPort,
    isUnix: one.config.unix !== undefined,
  })
  const listener: Listener = await listen(
    {
      host: address.host,
      port: address.port,
      unix: address.unix,
      maxConnections: runtime.limits.maxConnections,
      onRefused: (from) => refusals.add('maxConnections', from),
      admit(from) {
        const uncount = counts.begin(from)
        if (uncount === undefined) refusals.add('maxConnectionsPerAddress', from)
        return uncount
      },
      service: serviceOf(address, runtime),
      ...(handOver === undefined ? {} : { handOver: (socket) => handOver(socket, listener.intake.address) }),
    },
    {
      accept(connection, tls) {
        const client = new ClientConnection(connection, runtimes, entranceOf(tls), closed)
        opened(client)
        return client
      },
      acceptHttp2(session, from, tls) {
        const client = new Http2Client(session, from, runtimes, entranceOf(tls), stage, closed)
        opened(client)
        return client
      },
      changeToHttp2(handler, session, from) {
        const client = new Http2Client(session, from, runtimes, entranceOf(undefined), stage, closed)
        opened(client)
        if (handler instanceof ClientConnection) {
          handler.leaveToHttp2()
          closed(handler)
        }
        return client
      },
      onError: (error) => runtimes.current.onError(error),
    },
  )
  const one: OpenAddress = { config: address, listener }
  return one
}

/** A unix socket has none: that of the scheme, which clients that speak to it may have come by. */
function portOf({ unix, tls }: ListenAddress, { intake }: Listener): string {
  if (unix === undefined) return String(intake.address.port)
  return tls === undefined ? '80' : '443'
}

export interface OpenedAddresses {
  /** In the order of what was asked for. */
  readonly all: readonly OpenAddress[]
  readonly fresh: readonly OpenAddress[]
  /** Lets those that were open already be what is said of them now. */
  readonly change: () => void
}

/** Those of `addresses` that are open already, and the others anew. Rejects when one cannot be had; none is new then. */
export async function openAddresses(
  open: readonly OpenAddress[],
  addresses: readonly ListenAddress[],
  runtime: ProxyRuntime,
  reception: Reception,
): Promise<OpenedAddresses> {
  const kept = new Set(open)
  const all: OpenAddress[] = []
  const fresh: OpenAddress[] = []
  const changes: (() => void)[] = []
  try {
    for (const address of addresses) {
      const old = [...kept].find(({ config }) => config.host === address.host && config.port === address.port)
      if (old === undefined) {
        const one = await openAddress(address, runtime, reception)
        fresh.push(one)
        all.push(one)
        continue
      }
      kept.delete(old)
      all.push(old)
      const serve = old.listener.prepare(serviceOf(address, runtime))
      changes.push(() => {
        old.config = address
        if (address.unix !== undefined) setSocketRights(address.unix.path, address.unix)
        serve()
      })
    }
  } catch (error) {
    for (const { listener } of fresh) listener.close()
    throw error
  }
  const change = (): void => {
    for (const act of changes) act()
  }
  return { all, fresh, change }
}
