import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { CertificateStore, readCertificate } from '@prexy/net/certificates'
import { TimerWheel } from '@prexy/net/timer-wheel'
import { makeCertificate } from '@prexy/testing/certificates'
import { answering, plainResponse, startRawOrigin } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import type { ProxyConfig } from '../src/proxy-config.ts'
import { type RunningProxy, startProxy } from '../src/start-proxy.ts'

const HEADER = 'PROXY TCP4 192.0.2.7 127.0.0.1 56324 443\r\n'
const BINARY = Buffer.from([
  ...Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'),
  ...[0x21, 0x11, 0, 12, 192, 0, 2, 7, 127, 0, 0, 1, 0xdc, 4, 1, 0xbb],
])
const LOCAL = Buffer.from([...Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'), 0x20, 0, 0, 0])
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.9.9.9\r\nConnection: close\r\n\r\n'

/** Echoes X-Forwarded-For. */
async function setUp(config: Partial<ProxyConfig> & { readonly tls?: boolean } = {}): Promise<{
  readonly proxy: RunningProxy
  readonly errors: string[]
  readonly clients: (string | undefined)[]
  [Symbol.asyncDispose](): Promise<void>
}> {
  const origin = await startRawOrigin(
    answering((request) => plainResponse(request.value('x-forwarded-for') ?? 'nobody')),
  )
  const errors: string[] = []
  const clients: (string | undefined)[] = []
  const { tls, ...rest } = config
  const pair = tls === true ? makeCertificate(['a']) : undefined
  const proxy = await startProxy({
    listen: [
      {
        host: '127.0.0.1',
        port: 0,
        proxyProtocol: true,
        ...(pair === undefined
          ? {}
          : { tls: { certificates: new CertificateStore([readCertificate(pair.cert, pair.key)]) } }),
      },
    ],
    routes: [{ name: 'all', upstream: { servers: [{ host: '127.0.0.1', port: origin.port }] } }],
    trustedProxies: ['127.0.0.1'],
    onExchange: ({ client }) => clients.push(client),
    onError: ({ message }) => errors.push(message),
    ...rest,
  })
  return {
    proxy,
    errors,
    clients,
    async [Symbol.asyncDispose]() {
      await proxy.stop(0)
      await origin.close()
    },
  }
}

/** Sends the pieces one after the other and returns all that comes until the end. */
async function exchange(port: number, pieces: readonly (string | Uint8Array)[]): Promise<string> {
  const socket = connectTcp(port, '127.0.0.1')
  socket.setNoDelay(true)
  let all = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    all += text
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve())
  })
  for (const piece of pieces) {
    await new Promise<void>((sent) => {
      socket.write(piece, () => sent())
    })
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  }
  await closed
  return all
}

describe('behind a proxy that speaks the PROXY protocol', () => {
  it.each([
    { what: 'version 1', pieces: [HEADER, REQUEST], seen: '192.0.2.7' },
    { what: 'version 1 and the request in one read', pieces: [HEADER + REQUEST], seen: '192.0.2.7' },
    { what: 'version 1, octet by octet', pieces: [...HEADER, REQUEST], seen: '192.0.2.7' },
    { what: 'version 2', pieces: [BINARY, REQUEST], seen: '192.0.2.7' },
    {
      what: 'version 2 in pieces',
      pieces: [
        BINARY.subarray(0, 5),
        BINARY.subarray(5, 20),
        Buffer.concat([BINARY.subarray(20), Buffer.from(REQUEST)]),
      ],
      seen: '192.0.2.7',
    },
    { what: 'LOCAL, for itself', pieces: [LOCAL, REQUEST], seen: '10.9.9.9, 127.0.0.1' },
  ])('a client announced by $what is known by its own address', async ({ pieces, seen }) => {
    await using setup = await setUp()
    const response = await exchange(setup.proxy.address.port, pieces)
    expect(response.split('\r\n\r\n')[1]).toBe(seen)
    expect(setup.clients).toEqual([seen.split(', ').at(-1)])
    expect(setup.errors).toEqual([])
  })

  it.each([
    { what: 'none', pieces: [REQUEST], why: 'it does not begin with a PROXY header' },
    {
      what: 'a malformed one',
      pieces: ['PROXY TCP4 1.2.3 4.5.6.7 1 2\r\n', REQUEST],
      why: 'an address that is none of TCP4',
    },
  ])('a connection with $what is closed without an answer', async ({ pieces, why }) => {
    await using setup = await setUp()
    expect(await exchange(setup.proxy.address.port, pieces)).toBe('')
    expect([setup.errors[0], setup.clients]).toEqual([expect.stringContaining(why), []])
  })

  it('a peer that is none of trustedProxies is closed, whatever it says', async () => {
    await using setup = await setUp({ trustedProxies: ['10.0.0.0/8'] })
    expect(await exchange(setup.proxy.address.port, [HEADER + REQUEST])).toBe('')
    expect(setup.errors).toEqual(['a connection of 127.0.0.1 was closed: it is none of trustedProxies'])
    // Told of once, since anybody can do it again and again.
    for (let i = 0; i < 5; i++) await exchange(setup.proxy.address.port, [HEADER])
    expect(setup.errors.length).toBe(1)
  })

  it('a header that does not come is waited for clientHandshakeMs', async () => {
    const wheel = new TimerWheel({ drive: 'manual' })
    await using setup = await setUp({ wheel, timeouts: { clientHandshakeMs: 2_000 } })
    const answer = exchange(setup.proxy.address.port, ['PROXY TCP4'])
    while (wheel.linked === 0) await new Promise(setImmediate)
    wheel.advance(2_000 / wheel.tickMs - 1)
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    expect(setup.errors).toEqual([])
    wheel.advance(4)
    expect(await answer).toBe('')
    expect(setup.errors).toEqual(['a connection of 127.0.0.1 was closed: its PROXY header took too long'])
  })

  it('maxConnectionsPerAddress counts clients, not the proxy in front', async () => {
    await using setup = await setUp({ limits: { maxConnectionsPerAddress: 2 } })
    const { port } = setup.proxy.address
    const held = await Promise.all(
      [1, 2].map(
        () =>
          new Promise<Socket>((resolve) => {
            const socket = connectTcp(port, '127.0.0.1', () => {
              socket.write(HEADER)
              resolve(socket)
            })
            socket.on('error', () => {})
          }),
      ),
    )
    while (setup.proxy.connections < 2) await new Promise(setImmediate)
    expect(await exchange(port, [HEADER + REQUEST])).toBe('')
    expect(await exchange(port, [HEADER.replace('192.0.2.7', '192.0.2.8') + REQUEST])).toContain('200')
    for (const socket of held) socket.destroy()
  })

  it('a client that speaks HTTP/2 from the start is known by its address, too', async () => {
    await using setup = await setUp()
    const socket = connectTcp(setup.proxy.address.port, '127.0.0.1')
    socket.write(HEADER)
    const session = connectHttp2('http://a', { createConnection: () => socket })
    const stream = session.request({ ':path': '/', ':authority': 'a' })
    let body = ''
    stream.setEncoding('latin1').on('data', (text: string) => {
      body += text
    })
    await once(stream, 'end')
    expect(body).toBe('192.0.2.7')
    session.destroy()
  })

  it.each(['in one read with its handshake', 'ahead of it'])('a TLS client is announced %s', async (how) => {
    await using setup = await setUp({ tls: true })
    // Puts the header in front of what the client sends.
    const relay = createServer((client) => {
      const proxy = connectTcp(setup.proxy.address.port, '127.0.0.1')
      for (const socket of [client, proxy]) socket.on('error', () => {})
      client.on('close', () => proxy.destroy())
      proxy.on('close', () => client.destroy())
      if (how === 'ahead of it') proxy.write(HEADER)
      client.once('data', (hello: Uint8Array) => {
        proxy.write(how === 'ahead of it' ? hello : Buffer.concat([Buffer.from(HEADER), hello]))
        client.pipe(proxy)
      })
      proxy.pipe(client)
    })
    await new Promise<void>((resolve) => {
      relay.listen(0, '127.0.0.1', resolve)
    })
    const { port } = relay.address() as AddressInfo
    const client = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, servername: 'a' })
    const response = await new Promise<string>((resolve, reject) => {
      let all = ''
      client.on('secureConnect', () => client.write(REQUEST))
      client.setEncoding('latin1').on('data', (text: string) => {
        all += text
      })
      client.on('error', reject)
      client.on('close', () => resolve(all))
    })
    expect(response.split('\r\n\r\n')[1]).toBe('192.0.2.7')
    expect(setup.clients).toEqual(['192.0.2.7'])
    relay.close()
  })
})
