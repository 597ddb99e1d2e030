import { expect, it } from 'vitest'
import { AddressCache } from '../src/address-cache.ts'
import { type Connection, type ConnectionHandler, connect, listen, WRITE_HIGH_WATER_BYTES } from '../src/connection.ts'

interface Recorder extends ConnectionHandler {
  readonly calls: string[]
  readonly received: Uint8Array[]
  readonly closed: Promise<void>
  onConnect(): void
}

/** Copies what it gets, as a receiver that keeps nothing must. */
function recorder(overrides: Partial<ConnectionHandler & { onConnect(): void }> = {}): Recorder {
  const calls: string[] = []
  const received: Uint8Array[] = []
  let close = (): void => {}
  return {
    calls,
    received,
    closed: new Promise((resolve) => {
      close = resolve
    }),
    onConnect() {
      calls.push('connect')
      overrides.onConnect?.()
    },
    onData(chunk) {
      received.push(chunk.slice())
      return overrides.onData?.(chunk) ?? false
    },
    onEnd() {
      calls.push('end')
      overrides.onEnd?.()
    },
    onDrain() {
      calls.push('drain')
      overrides.onDrain?.()
    },
    onClose(cause) {
      calls.push(cause === undefined ? 'close' : `close ${String((cause as NodeJS.ErrnoException).code)}`)
      close()
    },
  }
}

async function pair(
  server: Recorder,
  client: Recorder,
  onError: (error: Error) => void = () => expect.unreachable(),
): Promise<{ server: Connection; client: Connection }> {
  let accepted: (connection: Connection) => void = () => {}
  const serverSide = new Promise<Connection>((resolve) => {
    accepted = resolve
  })
  const listener = await listen(
    { host: '127.0.0.1', port: 0, maxConnections: 10 },
    (connection) => {
      accepted(connection)
      return server
    },
    onError,
  )
  const clientSide = connect({ host: '127.0.0.1', port: listener.address.port }, client, onError)
  const connections = { server: await serverSide, client: clientSide }
  listener.close()
  return connections
}

it('octets and both ends of a connection arrive in order', async () => {
  const [server, client] = [
    recorder({
      onEnd: () => {
        serverConnection.write(Buffer.from('bye'))
        serverConnection.end()
      },
    }),
    recorder({ onEnd: () => clientConnection.destroy() }),
  ]
  const { server: serverConnection, client: clientConnection } = await pair(server, client)
  clientConnection.write(Buffer.from('h\xe9', 'latin1'))
  clientConnection.write(Buffer.from('llo'))
  clientConnection.end()
  await Promise.all([server.closed, client.closed])
  expect(Buffer.concat(server.received).toString('latin1')).toBe('h\xe9llo')
  expect(Buffer.concat(client.received).toString()).toBe('bye')
  expect([server.calls, client.calls]).toEqual([
    ['end', 'close'],
    ['connect', 'end', 'close'],
  ])
  clientConnection.write(Buffer.from('dropped'))
  expect(clientConnection.writable).toBe(false)
})

it('corked writes leave together', async () => {
  const chunks: number[] = []
  const server = recorder({
    onData: (chunk) => {
      chunks.push(chunk.length)
      serverConnection.destroy()
      return false
    },
  })
  const client = recorder()
  const { server: serverConnection, client: clientConnection } = await pair(server, client)
  clientConnection.cork()
  for (let i = 0; i < 10; i++) clientConnection.write(Buffer.from('0123456789'))
  clientConnection.uncork()
  expect(clientConnection.takesMore()).toBe(true)
  await server.closed
  expect(chunks).toEqual([100])
  clientConnection.destroy()
  await client.closed
})

it.each(['data at once', 'alone'])('a reset with %s is a reset, however it arrives', async (what) => {
  for (let round = 0; round < 20; round++) {
    const server = recorder({
      onData: () => {
        if (what === 'data at once') serverConnection.write(Buffer.from('last words'))
        serverConnection.reset()
        return false
      },
    })
    const client = recorder({ onEnd: () => clientConnection.destroy() })
    const { server: serverConnection, client: clientConnection } = await pair(server, client)
    clientConnection.write(Buffer.from('x'))
    await Promise.all([server.closed, client.closed])
    expect(client.calls).toEqual(['connect', 'close ECONNRESET'])
  }
})

it('a connection that cannot be made is closed with the cause', async () => {
  const client = recorder()
  connect({ host: '127.0.0.1', port: 1 }, client, () => expect.unreachable())
  await client.closed
  expect(client.calls).toEqual(['close ECONNREFUSED'])
})

it('a write returns false above the high-water mark, and a drain follows', async () => {
  const server = recorder()
  const client = recorder({ onDrain: () => clientConnection.end() })
  const { server: serverConnection, client: clientConnection } = await pair(server, client)
  serverConnection.pause()
  let written = 0
  const chunk = Buffer.alloc(16_384)
  do written += chunk.length
  while (clientConnection.write(chunk))
  expect(clientConnection.unsentBytes).toBeGreaterThanOrEqual(WRITE_HIGH_WATER_BYTES)
  expect(clientConnection.unsentBytes).toBeLessThan(WRITE_HIGH_WATER_BYTES + 2 * chunk.length)
  serverConnection.resume()
  await new Promise<void>((resolve) => {
    server.onEnd = resolve
  })
  expect(server.received.reduce((sum, { length }) => sum + length, 0)).toBe(written)
  expect(client.calls.filter((call) => call === 'drain').length).toBe(1)
  serverConnection.destroy()
  clientConnection.destroy()
  await client.closed
})

it('chunks that a receiver keeps are not overwritten by what comes later', async () => {
  const kept: Uint8Array[] = []
  const server = recorder({
    onData: () => {
      for (let i = 0; i < 200; i++) serverConnection.write(Buffer.alloc(10_000, i))
      serverConnection.end()
      return false
    },
  })
  const client = recorder({
    onData: (chunk) => {
      kept.push(chunk)
      return true
    },
    onEnd: () => clientConnection.destroy(),
  })
  const { server: serverConnection, client: clientConnection } = await pair(server, client)
  clientConnection.write(Buffer.from('go'))
  await client.closed
  expect(Buffer.concat(kept).equals(Buffer.concat(client.received))).toBe(true)
  expect(
    Buffer.concat(kept).equals(Buffer.concat(Array.from({ length: 200 }, (_, i) => Buffer.alloc(10_000, i)))),
  ).toBe(true)
})

it('what a handler throws costs its connection only, and is reported', async () => {
  for (const method of ['onConnect', 'onData', 'onEnd'] as const) {
    const errors: string[] = []
    const server = recorder({
      onData: () => {
        serverConnection.write(Buffer.from('answer'))
        serverConnection.end()
        return false
      },
      onEnd: () => serverConnection.destroy(),
    })
    const client = recorder({
      [method]: () => {
        throw new Error(method)
      },
    })
    const { server: serverConnection, client: clientConnection } = await pair(server, client, (error) => {
      errors.push(error.message)
    })
    clientConnection.write(Buffer.from('x'))
    await client.closed
    serverConnection.destroy()
    await server.closed
    expect(errors).toEqual([method])
    expect(client.calls.at(-1)).toMatch(/^close/)
  }
})

it('a name is connected to by those of its addresses that are allowed, and by no other', async () => {
  const listener = await listen(
    { host: '127.0.0.1', port: 0, maxConnections: 9 },
    () => recorder(),
    () => {},
  )
  for (const allowed of [true, false]) {
    const asked: string[] = []
    let connected = false
    const cause = await new Promise<Error | undefined>((resolve) => {
      const connection = connect(
        {
          host: 'localhost',
          port: listener.address.port,
          addresses: new AddressCache({
            host: 'localhost',
            maxAgeMs: 1_000,
            allowsAddress: (address) => {
              asked.push(address)
              return allowed && address === '127.0.0.1'
            },
          }),
        },
        {
          onConnect: () => {
            connected = true
            connection.destroy()
          },
          onData: () => false,
          onEnd: () => {},
          onDrain: () => {},
          onClose: resolve,
        },
        () => {},
      )
    })
    expect(asked).toContain('127.0.0.1')
    expect([connected, cause === undefined ? undefined : 'code' in cause && cause.code]).toEqual([
      allowed,
      allowed ? undefined : 'EADDRDENIED',
    ])
  }
  listener.close()
})

it('listening where someone listens already is an error', async () => {
  const options = { host: '127.0.0.1', port: 0, maxConnections: 1 }
  const listener = await listen(
    options,
    () => recorder(),
    () => {},
  )
  await expect(
    listen(
      { ...options, port: listener.address.port },
      () => recorder(),
      () => {},
    ),
  ).rejects.toThrow('EADDRINUSE')
  listener.close()
})
