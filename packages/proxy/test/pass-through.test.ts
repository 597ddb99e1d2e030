import type { ExchangeEvent } from '@prexy/events/exchange'
import { connectRawClient } from '@prexy/testing/raw-client'
import { answering, chunkedResponse, plainResponse, startRawOrigin } from '@prexy/testing/raw-origin'
import { expect, it } from 'vitest'
import { startProxy } from '../src/start-proxy.ts'

it('smoke', async () => {
  await using origin = await startRawOrigin(answering((r) => r.target === '/c' ? chunkedResponse(['ab', 'cd']) : plainResponse('hello', 'Content-Type: text/plain')))
  const events: ExchangeEvent[] = []
  const phases: string[] = []
  await using proxy = await startProxy({
    listen: [{ host: '127.0.0.1', port: 0 }],
    routes: [{ name: 'all', upstream: { host: '127.0.0.1', port: origin.port } }],
    onExchange: (e) => events.push(e),
    onPhase: (_id, p) => phases.push(p),
    onError: (e) => console.log(e),
  })
  const client = await connectRawClient(proxy.address.port)
  for (const t of ['/a', '/c', '/b']) {
    const response = await client.get(t)
    console.log(response.head, response.body.toString(), response.framing)
  }
  console.log(events, phases, origin.connections, origin.requests[0].head)
  client.destroy()
  expect(1).toBe(1)
})
