/** A relay between prexy and an origin that keeps all octets of both directions. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TappedConnection {
  /** One character per octet. */
  readonly toOrigin: string
  readonly fromOrigin: string
}

export interface Tap {
  readonly port: number
  /** In the order of connecting; complete once both sides have closed. */
  connections(): TappedConnection[]
  stop(): Promise<void>
}

export async function startTap(originPort: number): Promise<Tap> {
  const kept: { readonly toOrigin: Buffer[]; readonly fromOrigin: Buffer[] }[] = []
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port: originPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    const parts = { toOrigin: [], fromOrigin: [] }
    kept.push(parts)
    relay(near, far, parts.toOrigin)
    relay(far, near, parts.fromOrigin)
    for (const socket of [near, far]) {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    connections: () =>
      kept.map((parts) => ({
        toOrigin: Buffer.concat(parts.toOrigin).toString('latin1'),
        fromOrigin: Buffer.concat(parts.fromOrigin).toString('latin1'),
      })),
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

function relay(from: Socket, to: Socket, kept: Buffer[]): void {
  from.on('data', (data: Buffer) => {
    kept.push(data)
    if (!to.destroyed) to.write(data)
  })
  from.on('end', () => to.end())
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
}
