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

export interface StrictReading {
  readonly requests: readonly { readonly method: string; readonly target: string; readonly body: string }[]
  /** What stands behind the last whole request: empty, or the beginning of one that was given up. */
  readonly rest: string
}

/**
 * Reads requests as the grammar of RFC 9112 has them and in no other way: the reading that every origin must come to.
 * Throws at what it does not allow; our parsers have no part in it.
 */
export function readStrictly(octets: string): StrictReading {
  const requests: { method: string; target: string; body: string }[] = []
  let at = 0
  for (;;) {
    const head =
      /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP\/1\.1\r\n((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\0-\x08\x0a-\x1f\x7f]*\r\n)*)\r\n/.exec(
        octets.slice(at),
      )
    if (head === null) {
      if (/\r\n\r\n/.test(octets.slice(at)))
        throw new Error(`no request head: ${JSON.stringify(octets.slice(at, at + 300))}`)
      return { requests, rest: octets.slice(at) }
    }
    const [whole, method, target, fields] = head
    const values = (name: string): string[] =>
      fields
        .split('\r\n')
        .filter((line) => line.toLowerCase().startsWith(`${name}: `))
        .map((line) => line.slice(name.length + 2))
    const lengths = values('content-length')
    const codings = values('transfer-encoding')
    if (lengths.length + codings.length > 1) throw new Error(`framed twice: ${JSON.stringify(whole)}`)
    let end = at + whole.length
    let body = ''
    if (codings.length === 1) {
      if (codings[0] !== 'chunked') throw new Error(`transfer coding ${codings[0]}`)
      const chunked = readChunks(octets, end)
      if (chunked === undefined) return { requests, rest: octets.slice(at) }
      body = chunked.body
      end = chunked.end
    } else if (lengths.length === 1) {
      if (!/^[0-9]+$/.test(lengths[0])) throw new Error(`length ${lengths[0]}`)
      const length = Number(lengths[0])
      if (octets.length < end + length) return { requests, rest: octets.slice(at) }
      body = octets.slice(end, end + length)
      end += length
    }
    requests.push({ method, target, body })
    at = end
  }
}

function readChunks(octets: string, start: number): { readonly body: string; readonly end: number } | undefined {
  let body = ''
  let at = start
  for (;;) {
    const line = /^([0-9a-f]+)\r\n/.exec(octets.slice(at, at + 20))
    if (line === null) {
      if (octets.length > at + 20) throw new Error(`no chunk: ${JSON.stringify(octets.slice(at, at + 40))}`)
      return undefined
    }
    at += line[0].length
    const size = Number.parseInt(line[1], 16)
    if (size === 0) break
    if (octets.length < at + size + 2) return undefined
    if (octets.slice(at + size, at + size + 2) !== '\r\n') throw new Error('a chunk without its end')
    body += octets.slice(at, at + size)
    at += size + 2
  }
  const trailers = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\0-\x08\x0a-\x1f\x7f]*\r\n)*\r\n/.exec(octets.slice(at))
  return trailers === null ? undefined : { body, end: at + trailers[0].length }
}
