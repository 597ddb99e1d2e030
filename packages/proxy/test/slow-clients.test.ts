/**
 * Clients that take their time, by a program made for that: each is closed because a named limit passed, and others are
 * served meanwhile.
 */
import { spawn } from 'node:child_process'
import { missingPrograms } from '@prexy/testing/programs'
import { type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { TimerWheel } from '@prexy/net/timer-wheel'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS } from '../src/proxy-config.ts'
import { setUp } from './harness.ts'

const missing = missingPrograms('slowhttptest')
const long = process.env['PREXY_LONG'] === '1'
const SLOW_CLIENTS = long ? 1_000 : 50
/** `npm test` opens 250, the long run 1,000. */
const IDLE_CONNECTIONS = long ? 1_000 : 250
/** Small: slowhttptest sends something every second at most. */
const timeouts = {
  clientHeadersMs: 700,
  clientBodyMs: 700,
  clientWriteMs: 700,
  clientIdleMs: 5_000,
  clientLingerMs: 200,
}
/** More than the kernel takes for a client that does not read. */
const PAGE = plainResponse(Buffer.alloc(10_000_000), 'Content-Type: image/png')

interface Attack {
  readonly name: string
  readonly args: readonly string[]
  /** How every exchange of it ends: outcome and detail. */
  readonly end: string
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'heads that never end (-H)',
    args: ['-H', '-i', '1', '-x', '24'],
    end: 'client-timeout: clientHeadersMs passed',
  },
  {
    name: 'bodies that never end (-B)',
    args: ['-B', '-i', '1', '-x', '10', '-s', '8192'],
    end: 'client-timeout: clientBodyMs passed',
  },
  {
    name: 'responses that are hardly read (-X)',
    args: ['-X', '-w', '1', '-y', '2', '-n', '30', '-z', '1'],
    end: 'client-timeout: clientWriteMs passed',
  },
  { name: 'ranges without number (-R)', args: ['-R', '-a', '1', '-b', '3000'], end: 'completed' },
]

/** Runs it until it is stopped. */
function startSlowhttptest(port: number, args: readonly string[]): { readonly stop: () => Promise<void> } {
  const url = `http://127.0.0.1:${port}/slow`
  const all = ['-c', String(SLOW_CLIENTS), '-r', '500', '-l', '110', '-p', '20', ...args, '-u', url]
  const child = spawn('slowhttptest', all, { stdio: 'ignore' })
  const kill = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', kill)
  const closed = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve())
  })
  return {
    stop: async () => {
      kill()
      await closed
      process.off('exit', kill)
    },
  }
}

describe('slowhttptest', () => {
  it.for(ATTACKS)('$name', { timeout: 120_000 }, async ({ args, end }, context) => {
    if (missing !== undefined) return context.skip(missing)
    await using setup = await setUp({
      upstream: { maxConnections: 2 * SLOW_CLIENTS },
      config: { timeouts, wheel: new TimerWheel({ tickMs: 50 }) },
      script: async (connection) => {
        for (let head = await connection.readHead(); head; head = await connection.readHead()) {
          if (head.method === 'POST') await connection.ended
          await connection.send(head.target === '/good' ? plainResponse('good') : PAGE)
        }
        connection.end()
      },
    })
    const endsOfSlow = (): string[] =>
      setup.events
        .filter(({ target }) => target !== '/good')
        .map(({ outcome, detail }) => (detail === undefined ? outcome : `${outcome}: ${detail}`))
    const attack = startSlowhttptest(setup.proxy.address.port, args)
    let good = 0
    while (endsOfSlow().filter((one) => one === end).length < SLOW_CLIENTS) {
      const client = await setup.connect()
      expect((await client.get('/good')).body.toString()).toBe('good')
      client.destroy()
      good++
    }
    const ends = new Set(endsOfSlow())
    await attack.stop()
    console.log(`slow clients: ${SLOW_CLIENTS} by ${args[0]}, ${good} others served meanwhile`)
    // It also looks, by itself, whether the server still answers.
    ends.delete('client-aborted: the client closed the connection')
    expect([...ends]).toEqual([end])
  })
})

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
}

describe(`${IDLE_CONNECTIONS} connections of 1,000`, () => {
  const origin = async (connection: OriginConnection): Promise<void> => {
    for (let request = await connection.readRequest(); request?.complete; request = await connection.readRequest()) {
      await connection.send(plainResponse('good'))
    }
    connection.end()
  }
  const rows: readonly (readonly [string, string, keyof typeof DEFAULT_TIMEOUTS, number | undefined])[] = [
    ['that say nothing', '', 'clientIdleMs', undefined],
    ['in the middle of a head', 'GET / HTTP/1.1\r\nHost: a\r\nX: ', 'clientHeadersMs', 408],
    ['in the middle of a body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab', 'clientBodyMs', 408],
    ['that are kept', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'clientIdleMs', 200],
  ]
  it.each(rows)(
    '%s are closed after their limit, and others are served until then',
    async (_name, sent, limit, status) => {
      await using setup = await setUp({ script: origin, manualTime: true, upstream: { maxConnections: 2_000 } })
      const slow = await Promise.all(
        Array.from({ length: IDLE_CONNECTIONS }, async () => {
          const client = await setup.connect()
          if (sent !== '') await client.send(sent)
          if (status === 200) await client.readResponse()
          return client
        }),
      )
      const connected = (): number =>
        [...setup.phases.values()].filter((list) => list.includes('upstream-connected')).length
      while (setup.proxy.connections < slow.length) await settled()
      if (limit === 'clientBodyMs') while (connected() < slow.length) await settled()
      await settled()
      expect((await (await setup.connect()).get('/')).body.toString()).toBe('good')
      setup.wheel.advance(Math.floor(DEFAULT_TIMEOUTS[limit] / setup.wheel.tickMs) - 1)
      await settled()
      expect(setup.proxy.connections).toBe(IDLE_CONNECTIONS + 1)
      setup.wheel.advance(4)
      for (const client of slow) {
        if (status === 408) expect((await client.readResponse()).status).toBe(408)
        expect((await client.reader.toEnd()).length).toBe(0)
      }
    },
  )
})
