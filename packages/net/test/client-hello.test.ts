import { createServer } from 'node:net'
import { connect } from 'node:tls'
import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { serverNameOf } from '../src/client-hello.ts'

/** The first octets of a client's handshake. */
async function helloOf(servername: string | undefined, maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<Buffer> {
  let told: (octets: Buffer) => void = () => {}
  const octets = new Promise<Buffer>((resolve) => {
    told = resolve
  })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (chunk: Buffer) => {
      told(chunk)
      socket.destroy()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const options = servername === undefined ? {} : { servername }
  const client = connect({ port, host: '127.0.0.1', maxVersion, ALPNProtocols: ['h2', 'http/1.1'], ...options })
  client.on('error', () => {})
  const hello = await octets
  client.destroy()
  server.close()
  return hello
}

it.each([
  ['shop.example', 'TLSv1.3'],
  ['shop.example', 'TLSv1.2'],
  [`${'a'.repeat(63)}.${'b'.repeat(63)}.example`, 'TLSv1.3'],
  [undefined, 'TLSv1.3'],
] as const)('%s by %s, wherever it is cut', async (name, version) => {
  const hello = await helloOf(name, version)
  expect(serverNameOf(hello)).toEqual({ name })
  for (let end = 0; end < hello.length; end++) expect(serverNameOf(hello.subarray(0, end))).toBe('more')
  expect(serverNameOf(Buffer.concat([hello, Buffer.from('more')]))).toEqual({ name })
})

test('a message in many records', async () => {
  const message = (await helloOf('shop.example', 'TLSv1.3')).subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += 7) {
    const piece = message.subarray(at, at + 7)
    records.push(Buffer.from([22, 3, 1, 0, piece.length]), piece)
  }
  expect(serverNameOf(Buffer.concat(records))).toEqual({ name: 'shop.example' })
})

test.each([
  ['HTTP in cleartext', Buffer.from('GET / HTTP/1.1\r\n')],
  ['an alert', Buffer.from([21, 3, 1, 0, 2, 2, 40])],
  ['another handshake message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
  ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
  ['a record that is too long', Buffer.from([22, 3, 1, 0xff, 0xff])],
  ['a message of 16 MB', Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])],
])('%s names nobody', (_name, octets) => {
  expect(serverNameOf(octets)).toEqual({ name: undefined })
})

test('whatever comes, it does not fail', async () => {
  const hello = await helloOf('shop.example', 'TLSv1.3')
  const changed = fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(changed, fc.nat(hello.length), (changes, end) => {
      const octets = Buffer.from(hello)
      for (const [at, octet] of changes) octets[at] = octet
      const found = serverNameOf(octets.subarray(0, end))
      expect(found === 'more' || found.name === undefined || found.name.length < hello.length).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
