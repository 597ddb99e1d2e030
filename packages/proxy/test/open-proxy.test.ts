import { createServer } from 'node:net'
import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { connectRawClient } from '@prexy/testing/raw-client'
import { describe, expect, it } from 'vitest'
import { startProxy } from '../src/start-proxy.ts'
import { setUp } from './harness.ts'

/** A server that nobody is to reach; it counts who does. */
async function startVictim() {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return {
    port: address.port,
    get connections() {
      return connections
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

const GET = (target: string, ...lines: readonly string[]): string =>
  [
    `GET ${target} HTTP/1.1`,
    ...(lines.some((line) => line.startsWith('Host')) ? [] : ['Host: served.test']),
    ...lines,
    '',
    '',
  ].join('\r\n')

/**
 * T12 of the threat model: ways to have a proxy fetch from `V`. The status is that of a proxy that serves served.test
 * alone; one that serves every host asks its upstream instead of saying 421.
 */
const FORMS: readonly (readonly [name: string, request: string, status: number])[] = [
  // Paths, which are passed on octet for octet and never resolved against anything.
  ['two slashes', GET('//V/x'), 200],
  ['three slashes', GET('///V/x'), 200],
  ['a backslash', GET('/\\V/x'), 200],
  ['two backslashes', GET('/\\\\V/x'), 200],
  ['a backslash first', GET('\\V/x'), 400],
  ['a URI below the root', GET('/http://V/x'), 200],
  ['an at sign', GET('/@V/x'), 200],
  ['a user in front', GET('//served.test@V/x'), 200],
  ['a host behind', GET('//V@served.test/x'), 200],
  ['a query', GET('/?url=http://V/x'), 200],
  ['dots', GET('/..//V/x'), 200],
  ['dots that are encoded', GET('/%2e%2e//V/x'), 200],
  ['slashes that are encoded', GET('/%2f%2fV/x'), 200],
  ['a parameter', GET('/;@V/x'), 200],
  ['IPv6 loopback', GET('//[::1]:P/x'), 200],
  ['a name', GET('//localhost:P/x'), 200],
  ['a number for an address', GET('//2130706433:P/x'), 200],
  ['hexadecimal', GET('//0x7f000001:P/x'), 200],
  ['a short address', GET('//127.1:P/x'), 200],
  ['an encoded line end', GET('/%0d%0aHost:%20V'), 200],
  ['an encoded zero', GET('/%00//V'), 200],
  // Absolute targets: the authority decides, and only ours is served.
  ['absolute, Host ours', GET('http://V/x'), 421],
  ['absolute, Host theirs', GET('http://V/x', 'Host: V'), 421],
  ['absolute in capitals', GET('HTTP://V/x'), 421],
  ['absolute with https', GET('https://V/x'), 421],
  ['absolute without a path', GET('http://V'), 421],
  ['absolute with a query only', GET('http://V?x'), 421],
  ['absolute with our name as user', GET('http://served.test@V/x'), 400],
  ['absolute with their name as user', GET('http://V@served.test/x'), 400],
  ['absolute with a password', GET('http://served.test:80@V/x'), 400],
  ['absolute IPv6 loopback', GET('http://[::1]:P/x'), 421],
  ['absolute, IPv4 in IPv6', GET('http://[::ffff:127.0.0.1]:P/x'), 421],
  ['absolute with a zone', GET('http://[fe80::1%25lo]:P/x'), 400],
  ['absolute with a name', GET('http://localhost:P/x'), 421],
  ['absolute with a number', GET('http://2130706433:P/x'), 421],
  ['absolute, hexadecimal', GET('http://0x7f.1:P/x'), 421],
  ['absolute, octal', GET('http://0177.0.0.1:P/x'), 421],
  ['absolute, the metadata address', GET('http://169.254.169.254/latest/meta-data/'), 421],
  ['absolute with a fragment', GET('http://V#served.test/x'), 400],
  ['absolute with our name in the query', GET('http://V?@served.test/x'), 421],
  ['absolute with a backslash', GET('http://V\\@served.test/x'), 400],
  ['absolute with our name in front', GET('http://served.test.V/x'), 421],
  ['absolute with no authority', GET('http:///V/x'), 400],
  ['absolute with one slash', GET('http:/V/x'), 400],
  ['absolute with none', GET('http:V/x'), 400],
  ['absolute, ours, at their port', GET('http://served.test:P/x', 'Host: V'), 200],
  ['ftp', GET('ftp://V/x'), 400],
  ['gopher', GET('gopher://V/_x'), 400],
  ['file', GET('file:///etc/passwd'), 400],
  ['ws', GET('ws://V/x'), 400],
  ['unix', GET('unix:/var/run/docker.sock'), 400],
  // Other forms of targets.
  ['CONNECT', 'CONNECT V HTTP/1.1\r\nHost: V\r\n\r\n', 405],
  ['CONNECT to our name', 'CONNECT served.test:P HTTP/1.1\r\nHost: served.test:P\r\n\r\n', 405],
  ['an authority', GET('V'), 400],
  ['an asterisk', GET('*'), 400],
  // Host.
  ['Host theirs', GET('/x', 'Host: V'), 421],
  ['Host a name of the machine', GET('/x', 'Host: localhost:P'), 421],
  ['Host IPv6 loopback', GET('/x', 'Host: [::1]:P'), 421],
  ['Host ours at their port', GET('/x', 'Host: served.test:P'), 200],
  ['Host with our name as user', GET('/x', 'Host: served.test@V'), 400],
  ['Host as a list', GET('/x', 'Host: served.test, V'), 400],
  ['Host twice', GET('/x', 'Host: served.test', 'Host: V'), 400],
  ['Host with a path', GET('/x', 'Host: served.test/..//V'), 400],
  ['Host as a URI', GET('/x', 'Host: http://V'), 400],
  ['Host with a blank', GET('/x', 'Host: served.test V'), 400],
  ['Host with a fragment', GET('/x', 'Host: V#served.test'), 400],
  ['Host with our name behind', GET('/x', 'Host: V.served.test'), 400],
  ['Host below ours', GET('/x', 'Host: x.served.test'), 421],
  ['Host with a dot in front', GET('/x', 'Host: .served.test'), 421],
  ['Host in an old version', 'GET http://V/x HTTP/1.0\r\n\r\n', 421],
  // Fields that some programs route by.
  ['X-Forwarded-Host', GET('/x', 'X-Forwarded-Host: V'), 200],
  ['Forwarded', GET('/x', 'Forwarded: host="V"'), 200],
  ['X-Original-URL', GET('/x', 'X-Original-URL: http://V/x', 'X-Rewrite-URL: http://V/x'), 200],
  ['X-Host', GET('/x', 'X-Host: V', 'X-Forwarded-Server: V', 'X-HTTP-Host-Override: V'), 200],
  ['Proxy-Connection', GET('/x', 'Proxy-Connection: keep-alive', 'Destination: http://V/x'), 200],
  ['Alt-Used', GET('/x', 'Alt-Used: V', 'Origin: http://V', 'Referer: http://V/'), 200],
]

describe('a request does not make the proxy fetch from elsewhere', () => {
  it('is tried in 60 forms and more', () => {
    expect(FORMS.length).toBeGreaterThanOrEqual(60)
  })

  it.each(['one host', 'every host'])('served: %s', async (served) => {
    await using victim = await startVictim()
    await using setup = await setUp({
      script: answering((request) => plainResponse(`${request.target}\n${request.values('host').join()}`)),
      ...(served === 'one host' ? { route: { hosts: ['served.test'] } } : {}),
    })
    const results: unknown[] = []
    const expected: unknown[] = []
    for (const [name, form, closedStatus] of FORMS) {
      const request = form
        .replace(/(?<![A-Z])V(?![a-z])/g, `127.0.0.1:${victim.port}`)
        .replace(/:P(?=[/\s])/g, `:${victim.port}`)
      const status = closedStatus === 421 && served === 'every host' ? 200 : closedStatus
      const before = setup.origin.requests.length
      const client = await setup.connect()
      await client.send(request)
      const response = await client.readResponse()
      client.destroy()
      const target = request.split(' ')[1]
      const path = target.startsWith('/')
        ? target
        : `/${target.split('/').slice(3).join('/') || target.slice(target.indexOf('?'))}`
      const [seen, host] = response.body.toString().split('\n')
      results.push([name, response.status, setup.origin.requests.length - before, response.status === 200 ? host : ''])
      expected.push([name, status, status === 200 ? 1 : 0, status === 200 ? `127.0.0.1:${setup.origin.port}` : ''])
      if (response.status === 200 && target.startsWith('/')) expect(seen).toBe(path)
    }
    expect(results).toEqual(expected)
    expect(victim.connections).toBe(0)
  })

  it.each([
    'HTTP/1.1 302 Found\r\nLocation: http://V/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 307 Temporary Redirect\r\nLocation: //V/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 300 Multiple Choices\r\nContent-Location: http://V/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 305 Use Proxy\r\nLocation: http://V/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-Accel-Redirect: http://V/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-Sendfile: /etc/passwd\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nRefresh: 0; url=http://V/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nAlt-Svc: h2="V"\r\nContent-Length: 0\r\n\r\n',
  ])('and neither does a response: %j', async (form) => {
    await using victim = await startVictim()
    const response = form.replace('V', `127.0.0.1:${victim.port}`)
    await using setup = await setUp({ script: answering(() => response) })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) {
      const got = await client.get('/')
      expect([got.status, got.body.length]).toEqual([Number(response.slice(9, 12)), 0])
    }
    expect(victim.connections).toBe(0)
  })
})

describe('an upstream with denyPrivate', () => {
  it.each(['localhost', 'ip6-localhost', 'localhost.'])('named %s is not connected to', async (host) => {
    await using setup = await setUp({
      upstream: { host, denyPrivate: true },
      script: answering(() => plainResponse('')),
    })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) expect((await client.get('/')).status).toBe(502)
    expect([setup.origin.connections, setup.events[0].outcome]).toEqual([0, 'upstream-connect-failed'])
    if (host === 'localhost') expect(setup.events[0].detail).toBe('localhost has no address that may be connected to')
  })

  it.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1'])(
    'that is the address %s stops the start',
    async (host) => {
      const upstream = { servers: [{ host, port: 80 }], denyPrivate: true }
      const config = { listen: [{ host: '127.0.0.1', port: 0 }], routes: [{ name: 'a', upstream }] }
      await expect(startProxy(config)).rejects.toThrow(`upstream ${host} is not an address of the public internet`)
    },
  )
})

// T26 of the threat model.
describe('a loop', () => {
  it('of the proxy to itself is 508 after one round', async () => {
    let port = 0
    await using setup = await setUp({ script: answering(() => plainResponse('')) })
    // The port is known only when it listens: a first proxy passes on to a second, and that back to the first.
    const second = await startProxy({
      listen: [{ host: '127.0.0.1', port: 0 }],
      routes: [{ name: 'back', upstream: { servers: [{ host: '127.0.0.1', port: setup.proxy.address.port }] } }],
    })
    port = second.address.port
    await using first = await startProxy({
      listen: [{ host: '127.0.0.1', port: 0 }],
      routes: [{ name: 'on', upstream: { servers: [{ host: '127.0.0.1', port }] } }],
    })
    await second.stop(0)
    await using back = await startProxy({
      listen: [{ host: '127.0.0.1', port }],
      routes: [{ name: 'back', upstream: { servers: [{ host: '127.0.0.1', port: first.address.port }] } }],
    })
    expect(back.address.port).toBe(port)
    for (const request of [
      'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Via\r\nVia: 1.1 other\r\n\r\n',
      'GET / HTTP/1.0\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi',
      'OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n',
    ]) {
      const client = await connectRawClient(first.address.port)
      await client.send(request)
      expect((await client.readResponse()).status).toBe(508)
      client.destroy()
    }
    expect(setup.origin.requests.length).toBe(0)
  })

  it('is seen in any element and line of Via, in any protocol, with a comment', async () => {
    await using setup = await setUp({
      script: answering((request) => plainResponse(request.value('via') ?? '')),
    })
    const client = await setup.connect()
    const own = (await client.get('/')).body.toString().split(' ')[1]
    for (const lines of [
      [`Via: 1.1 ${own}`],
      [`Via: 1.0 a, 1.1 ${own} (a comment), 1.1 b`],
      ['Via: 1.1 a', `via: HTTP/2.0 ${own}`],
    ]) {
      expect((await client.get('/', ...lines)).status).toBe(508)
    }
    for (const line of [`Via: 1.1 ${own}x`, `Via: 1.1 a (not ${own}x)`, 'Via: 1.1 prexy', `X-Via: 1.1 ${own}`]) {
      expect((await client.get('/', line)).status).toBe(200)
    }
  })
})
