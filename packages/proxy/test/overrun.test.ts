import { type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { OVERRUN_MS } from '../src/client-connection.ts'
import { DEFAULT_LIMITS } from '../src/proxy-config.ts'
import { type Setup, setUp } from './harness.ts'

const FIRST = 'GET /first HTTP/1.1\r\nHost: a\r\n\r\n'
const LATER = 'GET /later HTTP/1.1\r\nHost: a\r\n\r\n'
const TOO_MANY = LATER.repeat(Math.ceil(DEFAULT_LIMITS.maxPipelinedBytes / LATER.length) + 3_000)

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
}

function pass(setup: Setup, ms: number): void {
  setup.wheel.advance(Math.ceil(ms / setup.wheel.tickMs) + 2)
}

/** An origin that answers `/first` when `answer` is called, and all else at once. */
function slowFirst(): {
  readonly script: (connection: OriginConnection) => Promise<void>
  readonly answer: () => void
} {
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const script = async (connection: OriginConnection): Promise<void> => {
    for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
      if (request.target === '/first') await Promise.race([answered, connection.ended])
      await connection.send(plainResponse(request.target))
    }
    connection.end()
  }
  return { script, answer: () => answer() }
}

describe('a client that pipelines more than maxPipelinedBytes behind one request', () => {
  it.each(['destroy', 'end'] as const)('and leaves (%s) takes the upstream with it', async (leave) => {
    const { script } = slowFirst()
    await using setup = await setUp({ script, manualTime: true })
    const client = await setup.connect()
    await client.send(FIRST)
    await setup.reached('upstream-connected')
    await client.send(TOO_MANY)
    await settled()
    client[leave]()
    await settled()
    pass(setup, OVERRUN_MS)
    const event = await setup.event(1)
    expect([event.target, event.outcome]).toEqual(['/first', 'client-aborted'])
    expect(setup.events.length).toBe(1)
  })

  it('and stays gets that response, told that it is the last', async () => {
    const { script, answer } = slowFirst()
    await using setup = await setUp({ script, manualTime: true })
    const client = await setup.connect()
    await client.send(FIRST)
    await setup.reached('upstream-connected')
    await client.send(TOO_MANY)
    await settled()
    pass(setup, OVERRUN_MS)
    await settled()
    answer()
    const response = await client.readResponse()
    expect([response.body.toString(), response.value('connection')]).toEqual(['/first', 'close'])
    expect((await client.reader.toEnd()).length).toBe(0)
    expect(setup.origin.requests.length).toBe(1)
  })

  it('gets all responses when that one does not take OVERRUN_MS', async () => {
    const { script, answer } = slowFirst()
    await using setup = await setUp({ script, manualTime: true, config: { limits: { maxPipelinedBytes: 1_000 } } })
    const client = await setup.connect()
    await client.send(FIRST)
    await setup.reached('upstream-connected')
    const count = 200
    await client.send(LATER.repeat(count))
    await settled()
    setup.wheel.advance(Math.floor(OVERRUN_MS / setup.wheel.tickMs) - 1)
    answer()
    expect((await client.readResponse()).body.toString()).toBe('/first')
    for (let i = 0; i < count; i++) expect((await client.readResponse()).body.toString()).toBe('/later')
  })

  it('and goes on and on is cut off', async () => {
    const { script } = slowFirst()
    await using setup = await setUp({ script, manualTime: true })
    const client = await setup.connect()
    await client.send(FIRST)
    await setup.reached('upstream-connected')
    void client.send(Buffer.alloc(4_000_000, LATER))
    await settled()
    pass(setup, OVERRUN_MS)
    const event = await setup.event(1)
    expect([event.outcome, event.detail]).toEqual(['client-aborted', 'the client sent on while one request was served'])
  })
})
