/** TLS towards clients: which certificate, which protocol, what happens when certificates change. */

import { connect as connectHttp2, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { CertificateError, CertificateStore, readCertificate } from '@prexy/net/certificates'
import { makeCertificate } from '@prexy/testing/certificates'
import { answering, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it, test } from 'vitest'
import { type Setup, type SetupInit, setUp } from './harness.ts'

const A = makeCertificate(['a.example', '*.w.example'])
const B = makeCertificate(['b.example'], { algorithm: 'rsa' })
const IP = makeCertificate(['127.0.0.1'], { kind: 'IP' })
const read = ({ cert, key }: { cert: string; key: string }): ReturnType<typeof readCertificate> =>
  readCertificate(cert, key)

interface TlsSetup {
  readonly setup: Setup
  readonly store: CertificateStore
}

async function setUpTls(init: Partial<SetupInit> & { readonly listen?: object } = {}): Promise<TlsSetup> {
  const store = new CertificateStore([read(A), read(B), read(IP)])
  const { listen, ...rest } = init
  const setup = await setUp({
    script: answering(() => plainResponse('one', 'Content-Type: text/plain')),
    rules: [{ text: 'one', with: 'three' }],
    ...rest,
    config: { ...rest.config, listen: [{ host: '127.0.0.1', port: 0, tls: { certificates: store }, ...listen }] },
  })
  return { setup, store }
}

/** Resolves after the handshake. */
function handshake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => resolve(socket))
    socket.once('error', reject)
  })
}

async function nameShown(port: number, servername?: string): Promise<string> {
  const socket = await handshake(port, servername === undefined ? {} : { servername })
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

/** What an HTTP/1.1 request over TLS is answered. */
async function ask(socket: TLSSocket, host: string): Promise<string> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (/\r\n\r\n[^]+/.test(text)) break
  }
  return text
}

describe('the certificate', () => {
  it.each([
    ['a name', 'b.example', 'b.example'],
    ['a name in other letters', 'B.EXAMPLE', 'b.example'],
    ['a name by wildcard', 'x.w.example', 'a.example'],
    ['no name below two labels', 'x.y.w.example', 'a.example'],
    ['a name of nobody', 'other.example', 'a.example'],
    ['no name', undefined, 'a.example'],
  ])('for %s', async (_name, servername, shown) => {
    const { setup } = await setUpTls()
    await using _ = setup
    expect(await nameShown(setup.proxy.address.port, servername)).toBe(shown)
  })

  it('is changed under handshakes, and none of them fails', async () => {
    const { setup, store } = await setUpTls()
    await using _ = setup
    const { port } = setup.proxy.address
    const open = await handshake(port, { servername: 'a.example', ALPNProtocols: ['http/1.1'] })
    const renewed = read(makeCertificate(['a.example']))
    const shown: Promise<string>[] = []
    for (let i = 0; i < 60; i++) {
      shown.push(nameShown(port, i % 2 === 0 ? 'a.example' : 'b.example'))
      store.replace(i % 2 === 0 ? [renewed, read(B)] : [read(A), read(B)])
      if (i % 4 === 0) await new Promise(setImmediate)
    }
    const names = await Promise.all(shown)
    expect(names.every((name, i) => name === (i % 2 === 0 ? 'a.example' : 'b.example'))).toBe(true)
    expect(await ask(open, 'a.example')).toContain('200 OK')
    open.destroy()
    store.replace([read(B)])
    expect(await nameShown(port)).toBe('b.example')
  })

  it.each([
    ['a key of another', () => readCertificate(A.cert, B.key), 'key', 'the key is not that of the first certificate'],
    ['no certificate', () => readCertificate(A.key, A.key), 'certificate', 'there is no certificate in PEM form'],
    ['a damaged one', () => readCertificate(A.cert.replace(/\n[^-]{20}/, '\n'), A.key), 'certificate', 'certificate 1'],
    ['no key', () => readCertificate(A.cert, A.cert), 'key', 'there is no key in PEM form'],
    ['a damaged key', () => readCertificate(A.cert, A.key.replace(/\n[^-]{20}/, '\n')), 'key', 'does not parse'],
  ])('that cannot be served is refused, with what is wrong: %s', (_name, act, part, message) => {
    let error: unknown
    try {
      act()
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(CertificateError)
    expect(error).toMatchObject({ part })
    expect(String(error)).toContain(message)
    expect(String(error)).not.toContain('-----BEGIN PRIVATE KEY-----\n')
  })
})

describe('the protocol', () => {
  it.each([
    [['h2', 'http/1.1'], true, 'h2'],
    [['http/1.1', 'h2'], true, 'h2'],
    [['http/1.1'], true, 'http/1.1'],
    [['h2', 'http/1.1'], false, 'http/1.1'],
  ])('of %j with http2: %j is %s', async (ALPNProtocols, http2, agreed) => {
    const { setup } = await setUpTls({ listen: { http2 } })
    await using _ = setup
    const socket = await handshake(setup.proxy.address.port, { ALPNProtocols })
    expect(socket.alpnProtocol).toBe(agreed)
    socket.destroy()
  })

  it('is HTTP/1.1 for a client without ALPN, and upstreams are told https', async () => {
    const { setup } = await setUpTls()
    await using _ = setup
    const socket = await handshake(setup.proxy.address.port)
    expect(await ask(socket, 'a.example')).toContain('\r\n\r\nthree')
    socket.destroy()
    const [request] = setup.origin.requests
    expect(request.value('x-forwarded-proto')).toBe('https')
    expect(request.value('x-forwarded-port')).toBe(String(setup.proxy.address.port))
  })

  it('HTTP/2 over TLS is rewritten like any other', async () => {
    const { setup } = await setUpTls()
    await using _ = setup
    const session = connectHttp2(`https://127.0.0.1:${setup.proxy.address.port}`, { rejectUnauthorized: false })
    const stream = session.request({ ':path': '/', ':authority': 'a.example' })
    let body = ''
    for await (const chunk of stream) body += String(chunk)
    expect(body).toBe('three')
    session.destroy()
  })

  it.each([
    ['TLSv1.1', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }],
    ['a suite without forward secrecy', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }],
    ['a suite with CBC', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' }],
  ] as const)('is not spoken with %s', async (_name, options) => {
    const { setup } = await setUpTls()
    await using _ = setup
    await expect(handshake(setup.proxy.address.port, options)).rejects.toThrow()
  })

  it('is TLS 1.3 only where that is asked for', async () => {
    const store = new CertificateStore([read(A)])
    const { setup } = await setUpTls({ listen: { tls: { certificates: store, minVersion: 'TLSv1.3' } } })
    await using _ = setup
    const socket = await handshake(setup.proxy.address.port)
    expect(socket.getProtocol()).toBe('TLSv1.3')
    socket.destroy()
    await expect(handshake(setup.proxy.address.port, { maxVersion: 'TLSv1.2' })).rejects.toThrow()
  })
})

test.each([['http/1.1'], ['h2']])(
  'bodies of many clients at a time stay apart, however slow these are: %s',
  async (protocol) => {
    const line = (path: string, word: string): string => `${path} ${word} ${path}\n`.repeat(20_000)
    const script = answering(({ target }) => plainResponse(line(target, 'one'), 'Content-Type: text/plain'))
    const { setup } = await setUpTls({ script })
    await using _ = setup
    const { port } = setup.proxy.address
    const paths = Array.from({ length: 12 }, (_, i) => `/${i}`)
    const bodies = await Promise.all(
      paths.map(async (path) => {
        const socket = await handshake(port, { ALPNProtocols: [protocol] })
        let readable: AsyncIterable<unknown> = socket
        if (protocol === 'h2') {
          const session = connectHttp2('https://a.example', { createConnection: () => socket })
          readable = session.request({ ':path': path })
        } else {
          socket.write(`GET ${path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`)
        }
        const pieces: Buffer[] = []
        for await (const piece of readable) {
          if (piece instanceof Buffer) pieces.push(piece)
          if (pieces.length % 8 === 0) await new Promise(setImmediate)
        }
        socket.destroy()
        const text = Buffer.concat(pieces).toString('latin1')
        return protocol === 'h2' ? text : unchunked(text.slice(text.indexOf('\r\n\r\n') + 4))
      }),
    )
    expect(bodies.map((body, i) => body === line(paths[i], 'three'))).toEqual(paths.map(() => true))
  },
)

/** A body in chunks, or one with a length, as it is. */
function unchunked(text: string): string {
  if (!/^[0-9a-f]+\r\n/.test(text)) return text
  let body = ''
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    body += text.slice(end + 2, end + 2 + size)
    at = end + 4 + size
  }
  return body
}

test('a session is resumed by its ticket', async () => {
  const { setup } = await setUpTls()
  await using _ = setup
  const { port } = setup.proxy.address
  const first = await handshake(port, { maxVersion: 'TLSv1.2', servername: 'a.example' })
  const session = first.getSession()
  first.destroy()
  const second = await handshake(port, { maxVersion: 'TLSv1.2', servername: 'a.example', session })
  expect(second.isSessionReused()).toBe(true)
  second.destroy()
})

describe('a request for a host that another certificate is for', () => {
  it('is answered 421, so that the client asks on a connection of its own', async () => {
    const { setup } = await setUpTls()
    await using _ = setup
    const { port } = setup.proxy.address
    const asked = async (host: string, servername?: string): Promise<string> => {
      const socket = await handshake(port, servername === undefined ? {} : { servername })
      const answer = await ask(socket, host)
      socket.destroy()
      return answer.slice(9, 12)
    }
    expect(await asked('b.example', 'a.example')).toBe('421')
    expect(await asked('x.w.example', 'a.example')).toBe('200')
    // No certificate is for that; and a client that named no host cannot know better.
    expect(await asked('other.example', 'a.example')).toBe('200')
    expect(await asked('b.example')).toBe('200')
  })
})

describe('a handshake', () => {
  it('that stands still is given up by clientHandshakeMs', async () => {
    const { setup } = await setUpTls({ manualTime: true, config: { timeouts: { clientHandshakeMs: 1_000 } } })
    await using _ = setup
    const socket = connectTcp({ port: setup.proxy.address.port, host: '127.0.0.1' })
    socket.on('error', () => {})
    const closed = new Promise((resolve) => {
      socket.on('close', resolve)
    })
    await new Promise((resolve) => {
      socket.once('connect', resolve)
    })
    socket.write(Buffer.from([0x16, 3, 1]))
    let isClosed = false
    closed.then(
      () => {
        isClosed = true
      },
      () => {},
    )
    while (!isClosed) {
      await new Promise(setImmediate)
      setup.wheel.advance(10)
    }
  })

  it('that is none costs its connection only', async () => {
    const { setup } = await setUpTls()
    await using _ = setup
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.ended
    expect(await nameShown(setup.proxy.address.port)).toBe('a.example')
  })

  it('counts against maxConnectionsPerAddress before it is done', async () => {
    const { setup } = await setUpTls({ config: { limits: { maxConnectionsPerAddress: 1 } } })
    await using _ = setup
    const first = await setup.connect()
    const second = await setup.connect()
    await second.ended
    first.destroy()
  })
})

test('a response over TLS that is broken off is not ended well', async () => {
  const script = async (connection: OriginConnection): Promise<void> => {
    await connection.readRequest()
    await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome')
    await setup.reached('response-body')
    connection.destroy()
  }
  const { setup }: TlsSetup = await setUpTls({ script })
  await using _ = setup
  const session = connectHttp2(`https://127.0.0.1:${setup.proxy.address.port}`, { rejectUnauthorized: false })
  const stream = session.request({ ':path': '/' })
  stream.on('error', () => {})
  stream.resume()
  await new Promise((resolve) => {
    stream.on('close', resolve)
  })
  expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR)
  session.destroy()
})

test('a listener in cleartext may send everybody to https', async () => {
  const listen = [{ host: '127.0.0.1', port: 0, redirectPort: 8443 }]
  await using setup = await setUp({ script: answering(() => plainResponse('')), config: { listen } })
  const client = await setup.connect()
  const { status, value } = await client.get('//x/y?z=1')
  expect(status).toBe(308)
  expect(value('location')).toBe('https://proxy.test:8443//x/y?z=1')
  expect(setup.origin.requests).toEqual([])
})

test('a swap of configurations changes what is spoken, on the same address', async () => {
  const { setup } = await setUpTls()
  await using _ = setup
  const { port } = setup.proxy.address
  const open = await handshake(port, { servername: 'a.example', ALPNProtocols: ['http/1.1'] })
  const prepared = await setup.proxy.prepare({
    listen: [{ host: '127.0.0.1', port: 0, tls: { certificates: new CertificateStore([read(B)]) }, http2: false }],
    routes: [{ name: 'all', upstream: { servers: [{ host: '127.0.0.1', port: setup.origin.port }] } }],
  })
  prepared.commit()
  expect(await nameShown(port, 'a.example')).toBe('b.example')
  const socket = await handshake(port, { ALPNProtocols: ['h2', 'http/1.1'] })
  expect(socket.alpnProtocol).toBe('http/1.1')
  socket.destroy()
  expect(await ask(open, 'a.example')).toContain('200 OK')
  open.destroy()
})

test.each([['h2'], ['http/1.1']])('a PROXY header comes before the handshake: %s', async (protocol) => {
  const { setup } = await setUpTls({
    listen: { proxyProtocol: true },
    config: { trustedProxies: ['127.0.0.1'] },
  })
  await using _ = setup
  const raw = connectTcp({ port: setup.proxy.address.port, host: '127.0.0.1' })
  raw.write('PROXY TCP4 192.0.2.7 192.0.2.1 1000 443\r\n')
  const socket = await new Promise<TLSSocket>((resolve, reject) => {
    const made = connect(
      { socket: raw, servername: 'b.example', ALPNProtocols: [protocol], rejectUnauthorized: false },
      () => resolve(made),
    )
    made.once('error', reject)
  })
  if (protocol === 'h2') {
    const session = connectHttp2('https://b.example', { createConnection: () => socket })
    const stream = session.request({ ':path': '/' })
    stream.resume()
    await new Promise((resolve) => {
      stream.on('close', resolve)
    })
    session.destroy()
  } else {
    expect(await ask(socket, 'b.example')).toContain('200 OK')
  }
  socket.destroy()
  expect(setup.origin.requests[0].value('x-forwarded-for')).toBe('192.0.2.7')
  expect(setup.origin.requests[0].value('x-real-ip')).toBe('192.0.2.7')
})
