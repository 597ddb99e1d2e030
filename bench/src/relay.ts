/**
 * The floor under a proxy on this runtime: `relay.js ORIGIN_PORT PORT [native]`. Passes octets both ways without a look at
 * them: one upstream connection per client connection, one read and one write each way per small exchange. It drops what
 * the other side does not take at once, so it is no proxy, only the least that one could cost.
 */
import { connect, createServer } from 'node:net'

const [originPort, port] = process.argv.slice(2, 4).map(Number)
const HOST = '127.0.0.1'
const READ_BYTES = 65_536

/** The part of Bun's TCP API that is used here. */
interface BunSocket<State> {
  data: State
  write(octets: Uint8Array): number
  end(): void
}
interface BunHandlers<State> {
  open?(socket: BunSocket<State>): void
  data(socket: BunSocket<State>, octets: Uint8Array): void
  close?(socket: BunSocket<State>): void
  error?(): void
  drain?(): void
}
interface BunTcp {
  listen<State>(options: { hostname: string; port: number; socket: BunHandlers<State> }): unknown
  connect<State>(options: { hostname: string; port: number; socket: BunHandlers<State> }): Promise<BunSocket<State>>
}

function relayByNode(): void {
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({
      host: HOST,
      port: originPort,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback(length, octets) {
          client.write(Buffer.from(octets.subarray(0, length)))
          return true
        },
      },
    })
    client.on('data', (octets) => upstream.write(octets))
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
  })
  server.listen(port, HOST)
}

function relayByBun(bun: BunTcp): void {
  bun.listen<{ upstream: BunSocket<undefined> | undefined; early: Uint8Array[] }>({
    hostname: HOST,
    port,
    socket: {
      open(client) {
        client.data = { upstream: undefined, early: [] }
        const connecting = bun.connect<undefined>({
          hostname: HOST,
          port: originPort,
          socket: {
            data: (_, octets) => void client.write(octets),
            close: () => client.end(),
            error() {},
            drain() {},
          },
        })
        connecting.then(
          (upstream) => {
            client.data.upstream = upstream
            for (const octets of client.data.early) upstream.write(octets)
          },
          () => client.end(),
        )
      },
      data({ data }, octets) {
        if (data.upstream === undefined) data.early.push(octets.slice())
        else data.upstream.write(octets)
      },
      close: ({ data }) => data.upstream?.end(),
      error() {},
      drain() {},
    },
  })
}

declare const Bun: BunTcp | undefined

if (process.argv[4] !== 'native') relayByNode()
else if (typeof Bun === 'undefined') throw new Error('relay.js native: only under Bun')
else relayByBun(Bun)
