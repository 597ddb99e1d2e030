import { type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { type Setup, setUp } from './harness.ts'

/** Answers each request with its target; `held` ones once `release` is called. */
function holding(): { readonly script: (connection: OriginConnection) => Promise<void>; readonly release: () => void } {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const script = async (connection: OriginConnection): Promise<void> => {
    for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
      if (request.target.startsWith('/held')) await released
      if (request.target.startsWith('/dies')) return connection.destroy()
      await connection.send(plainResponse(`${connection.number}${request.target}`))
    }
    connection.end()
  }
  return { script, release: () => release() }
}

/** Resolves when so many exchanges wait for a connection. */
async function waiters(setup: Setup, count: number): Promise<void> {
  const waiting = (): number => [...setup.phases.values()].filter((phases) => phases.at(-1) === 'upstream-wait').length
  while (waiting() < count) await new Promise(setImmediate)
}

describe('a connection that has become free', () => {
  it('is not given to one that waits when more octets follow its response', async () => {
    let served = 0
    await using setup = await setUp({
      upstream: { maxConnections: 1 },
      script: async (connection) => {
        for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
          served++
          if (request.target === '/evil') {
            await waiters(setup, 1)
            await connection.send(plainResponse('evil'))
            // Not in the same read, and before the event loop of the proxy has looked at the socket again.
            await setup.reached('response-end')
            await connection.send(plainResponse('poison'))
          } else {
            await connection.send(plainResponse(`own ${connection.number}`))
          }
        }
        connection.end()
      },
    })
    const [one, two] = [await setup.connect(), await setup.connect()]
    const evil = one.get('/evil')
    await setup.reached('request-sent')
    const own = two.get('/own')
    expect((await evil).body.toString()).toBe('evil')
    expect((await own).body.toString()).toBe('own 2')
    expect(served).toBe(2)
  })

  it('serves those that wait, one after the other', async () => {
    const { script, release } = holding()
    await using setup = await setUp({ script, upstream: { maxConnections: 1 } })
    const clients = await Promise.all(Array.from({ length: 5 }, () => setup.connect()))
    const responses = clients.map((client) => client.get('/held'))
    await waiters(setup, 4)
    release()
    for (const response of responses) expect((await response).body.toString()).toBe('1/held')
    expect(setup.origin.connections).toBe(1)
  })

  it('serves none of them with maxIdleConnections 0, because its upstream was told that it closes', async () => {
    const { script, release } = holding()
    await using setup = await setUp({ script, upstream: { maxConnections: 1, maxIdleConnections: 0 } })
    const clients = await Promise.all(Array.from({ length: 4 }, () => setup.connect()))
    const responses = clients.map((client) => client.get('/held'))
    await waiters(setup, 3)
    release()
    const bodies = (await Promise.all(responses)).map(({ body }) => body.toString())
    expect(bodies.toSorted()).toEqual(['1/held', '2/held', '3/held', '4/held'])
  })
})
