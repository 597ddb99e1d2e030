import { parseAddressRange } from '@prexy/http/ip-address'
import { connectRawClient } from '@prexy/testing/raw-client'
import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { AddressCounts } from '../src/address-counts.ts'
import { setUp } from './harness.ts'

const RANGE = parseAddressRange('10.0.0.0/8')

describe('connections per address', () => {
  it('are counted by IPv4 address and by /64 of IPv6, not for trusted proxies', () => {
    const counts = new AddressCounts(1, RANGE === undefined ? [] : [RANGE])
    const begins = (address: string | undefined): boolean => counts.begin(address) !== undefined
    expect([begins('192.0.2.1'), begins('192.0.2.1'), begins('::ffff:192.0.2.1'), begins('192.0.2.2')]).toEqual([
      true,
      false,
      false,
      true,
    ])
    expect([begins('2001:db8::1'), begins('2001:db8::ffff:1'), begins('2001:db8:0:1::1')]).toEqual([true, false, true])
    expect([begins('10.1.1.1'), begins('10.1.1.1'), begins(undefined), begins(undefined)]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(counts.clients).toBe(4)
  })

  it('are counted down, and nothing is kept of clients that left', () => {
    const counts = new AddressCounts(2, [])
    const ends = ['192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => counts.begin(address))
    expect(counts.begin('192.0.2.1')).toBe(undefined)
    for (const end of ends) end?.()
    expect(counts.clients).toBe(0)
    expect(counts.begin('192.0.2.1')).not.toBe(undefined)
  })

  it('beyond maxConnectionsPerAddress are closed at once, until another has gone', async () => {
    await using setup = await setUp({
      script: answering(() => plainResponse('ok')),
      config: { limits: { maxConnectionsPerAddress: 2 } },
    })
    const [one, two] = [await setup.connect(), await setup.connect()]
    for (const client of [one, two]) expect((await client.get('/')).status).toBe(200)
    const refused = await connectRawClient(setup.proxy.address.port)
    expect((await refused.reader.toEnd()).length).toBe(0)
    refused.destroy()
    expect(setup.proxy.connections).toBe(2)
    one.destroy()
    while (setup.proxy.connections > 1) await new Promise(setImmediate)
    expect((await (await setup.connect()).get('/')).status).toBe(200)
  })
})
