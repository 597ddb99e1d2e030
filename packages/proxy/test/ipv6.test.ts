import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connectRawClient } from '@prexy/testing/raw-client'
import { answering, plainResponse, startRawOrigin } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const TEXT = 'Content-Type: text/plain'
const hasIpv6 = Object.values(networkInterfaces()).some(
  (list) => list?.some(({ address }) => address === '::1') === true,
)
if (!hasIpv6) process.stdout.write('IPv6: left out: this machine has no ::1\n')

describe.skipIf(!hasIpv6)('IPv6', () => {
  it('is listened on, and its clients are told of', async () => {
    await using setup = await setUp({
      rules: [{ text: 'Acme', with: 'Emca' }],
      script: answering(() => plainResponse('Acme', TEXT)),
      config: { listen: [{ host: '::1', port: 0 }], forwarded: 'both' },
    })
    const { port } = setup.proxy.address
    const client = await connectRawClient(port, '::1')
    await client.send(`GET / HTTP/1.1\r\nHost: [::1]:${port}\r\n\r\n`)
    expect((await client.readResponse()).body.toString()).toBe('Emca')
    client.destroy()
    const { value } = setup.origin.requests[0]
    expect(['x-forwarded-for', 'x-real-ip', 'x-forwarded-host', 'forwarded'].map((name) => value(name))).toEqual([
      '::1',
      '::1',
      `[::1]:${port}`,
      `for="[::1]";host="[::1]:${port}";proto=http`,
    ])
    expect((await setup.event(1)).client).toBe('::1')
  })

  it('is where an upstream may be', async () => {
    const relay = createServer((socket) => {
      let asked = ''
      socket.on('data', (octets: Buffer) => {
        asked += octets.toString('latin1')
        if (asked.includes('\r\n\r\n')) {
          const host = /^host: (.*)\r$/im.exec(asked)?.[1] ?? ''
          socket.end(plainResponse(host, TEXT))
        }
      })
    })
    await new Promise<void>((resolve) => relay.listen(0, '::1', resolve))
    const bound = relay.address()
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0
    await using setup = await setUp({ script: answering(() => ''), upstream: { host: '::1', port } })
    expect((await (await setup.connect()).get('/')).body.toString()).toBe(`[::1]:${port}`)
    const { upstream, status } = await setup.event(1)
    expect([upstream, status]).toEqual([`[::1]:${port}`, 200])
    relay.close()
  })

  it('and IPv4 come to a listener of both, each as itself', async () => {
    const origin = await startRawOrigin(answering(({ value }) => plainResponse(value('x-forwarded-for') ?? '', TEXT)))
    await using setup = await setUp({
      script: answering(() => ''),
      upstream: { port: origin.port },
      config: { listen: [{ host: '::', port: 0 }] },
    })
    const told: string[] = []
    for (const host of ['127.0.0.1', '::1']) {
      const client = await connectRawClient(setup.proxy.address.port, host)
      told.push((await client.get('/')).body.toString())
      client.destroy()
    }
    expect(told).toEqual(['127.0.0.1', '::1'])
    await setup.proxy.stop(0)
    await origin.close()
  })
})
