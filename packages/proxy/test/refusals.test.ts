import type { RefusalEvent } from '@prexy/events/refusal'
import { connectRawClient } from '@prexy/testing/raw-client'
import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { TimerWheel } from '@prexy/net/timer-wheel'
import { describe, expect, it } from 'vitest'
import { REFUSAL_SUM_MS, Refusals } from '../src/refusals.ts'
import { setUp } from './harness.ts'

it('the first refusal is told at once, what follows in sums, by reason', () => {
  const wheel = new TimerWheel({ drive: 'manual' })
  const told: string[] = []
  const refusals = new Refusals(wheel, ({ reason, connections, address }) =>
    told.push(`${reason} ${connections} ${address ?? 'gone'}`),
  )
  const pass = (): void => wheel.advance(REFUSAL_SUM_MS / wheel.tickMs + 2)
  refusals.add('maxConnections', '192.0.2.1')
  refusals.add('maxConnectionsPerAddress', '192.0.2.2')
  for (let i = 0; i < 1_000; i++) refusals.add('maxConnections', i === 999 ? undefined : '192.0.2.3')
  expect(told.splice(0)).toEqual(['maxConnections 1 192.0.2.1', 'maxConnectionsPerAddress 1 192.0.2.2'])
  pass()
  expect(told.splice(0)).toEqual(['maxConnections 1000 gone'])
  pass()
  refusals.add('maxConnections', '192.0.2.4')
  expect(told.splice(0)).toEqual(['maxConnections 1 192.0.2.4'])
  refusals.add('maxConnections', '192.0.2.4')
  refusals.close()
  pass()
  expect([told, refusals.totals]).toEqual([[], { maxConnections: 1_003, maxConnectionsPerAddress: 1 }])
})

describe('connections beyond a limit', () => {
  it.each(['maxConnections', 'maxConnectionsPerAddress'] as const)('%s are counted and told of', async (limit) => {
    const told: RefusalEvent[] = []
    await using setup = await setUp({
      script: answering(() => plainResponse('ok')),
      config: { limits: { [limit]: 1 }, onRefused: (event) => told.push(event) },
    })
    const client = await setup.connect()
    expect((await client.get('/')).status).toBe(200)
    const refused = await connectRawClient(setup.proxy.address.port)
    expect((await refused.reader.toEnd()).length).toBe(0)
    refused.destroy()
    expect(told.map(({ reason, connections, address }) => [reason, connections, address])).toEqual([
      [limit, 1, '127.0.0.1'],
    ])
    expect(setup.proxy.refused[limit]).toBe(1)
  })
})
