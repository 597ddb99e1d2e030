import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import type { ProxyConfig } from '../src/proxy-config.ts'
import { startProxy } from '../src/start-proxy.ts'
import { setUp } from './harness.ts'

const SPOOF = [
  'X-Forwarded-For: 203.0.113.5',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Host: www.test',
  'X-Forwarded-Port: 443',
  'Forwarded: for=203.0.113.5',
  'X-Request-Id: theirs',
]

/** What the origin is told, as `name: value` lines without the names that are not asked about. */
async function told(config: Partial<ProxyConfig>, lines: readonly string[]): Promise<string[]> {
  await using setup = await setUp({
    config,
    script: answering((request) => plainResponse(request.head)),
  })
  const seen = (await (await setup.connect()).get('/', ...lines)).body.toString().split('\r\n')
  return seen
    .filter((line) => /^(x-forwarded|x-real|forwarded|x-request|x-correlation|traceparent)/i.test(line))
    .map((line) =>
      line.replace(String(setup.proxy.address.port), 'PORT').replace(/(?<=^X-.*: )[0-9a-f]{16}-\d+$/, 'OWN'),
    )
}

const OWN = [
  'X-Forwarded-For: 127.0.0.1',
  'X-Forwarded-Host: proxy.test',
  'X-Forwarded-Proto: http',
  'X-Forwarded-Port: PORT',
  'X-Real-IP: 127.0.0.1',
]

describe('an origin is told', () => {
  it('what the proxy knows, whatever a client says', async () => {
    for (const trustedProxies of [[], ['10.0.0.0/8', '::1', '128.0.0.0/1']]) {
      expect(await told({ trustedProxies }, SPOOF)).toEqual([...OWN, 'X-Request-Id: OWN'])
    }
  })

  it('what a trusted proxy says, continued', async () => {
    for (const trustedProxies of [['127.0.0.1'], ['::ffff:127.0.0.0/104'], ['0.0.0.0/0']]) {
      expect(await told({ trustedProxies }, SPOOF)).toEqual([
        'X-Forwarded-For: 203.0.113.5, 127.0.0.1',
        'X-Forwarded-Host: www.test',
        'X-Forwarded-Proto: https',
        'X-Forwarded-Port: 443',
        'X-Real-IP: 203.0.113.5',
        'Forwarded: for=203.0.113.5, for=127.0.0.1;host=proxy.test;proto=http',
        'X-Request-Id: theirs',
      ])
    }
  })

  it('nothing where it is off', async () => {
    expect(await told({ forwarded: 'none', requestId: 'off' }, SPOOF.slice(0, 5))).toEqual([])
  })

  it('another field and form, as configured', async () => {
    const config: Partial<ProxyConfig> = { forwarded: 'forwarded', requestId: 'X-Correlation-Id' }
    expect(await told(config, [...SPOOF.slice(0, 5), 'X-Correlation-Id: theirs'])).toEqual([
      'Forwarded: for=127.0.0.1;host=proxy.test;proto=http',
      'X-Correlation-Id: OWN',
    ])
  })

  it('a trace as the client began it, which identifies nobody', async () => {
    const trace = 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    expect(await told({}, [trace])).toContain(trace)
  })

  it('none of these by trailers', async () => {
    await using setup = await setUp({
      script: async (connection) => {
        const request = await connection.readRequest()
        await connection.send(plainResponse(request?.trailers.join() ?? ''))
        await connection.ended
      },
    })
    const client = await setup.connect()
    const trailers = [...SPOOF, 'X-Real-IP: 6.6.6.6', 'X-Sum: 1'].join('\r\n')
    await client.send(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${trailers}\r\n\r\n`)
    expect((await client.readResponse()).body.toString()).toBe('X-Sum: 1')
  })
})

it('the identifier of a request is the event’s, unlike that of any other', async () => {
  await using setup = await setUp({
    script: answering((request) => plainResponse(request.value('x-request-id') ?? '')),
  })
  const client = await setup.connect()
  const seen = new Set<string>()
  for (let i = 0; i < 5; i++) {
    const id = (await client.get('/')).body.toString()
    expect(setup.events[i].requestId).toBe(id)
    seen.add(id)
  }
  expect(seen.size).toBe(5)
})

it('an address that is none stops the start', async () => {
  await expect(
    startProxy({ listen: [{ host: '127.0.0.1', port: 0 }], routes: [], trustedProxies: ['10.0.0.0/99'] }),
  ).rejects.toThrow('trustedProxies: "10.0.0.0/99" is no address and no range')
})
