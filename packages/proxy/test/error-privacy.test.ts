import { answering, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS } from '../src/proxy-config.ts'
import { PROXY_ERROR_CODES } from '../src/proxy-error.ts'
import { type SetupInit, setUp } from './harness.ts'

const SECRET = 'secret-value'
const REQUEST = `GET /private?token=${SECRET} HTTP/1.1\r\nHost: shop.test\r\nAuthorization: ${SECRET}\r\n\r\n`

/** Answers with these octets and closes. */
function once(octets: string) {
  return async (connection: OriginConnection): Promise<void> => {
    await connection.readHead()
    await connection.send(octets)
    connection.end()
  }
}

const silent = async (connection: OriginConnection): Promise<void> => {
  await connection.ended
}

interface Row {
  readonly name: string
  readonly status: number
  readonly init: Partial<SetupInit>
  readonly request?: string
  /** Lets this time pass once the request is with the upstream. */
  readonly afterMs?: number
}

// T27 of the threat model.
const ROWS: readonly Row[] = [
  { name: 'an upstream that refuses connections', status: 502, init: { upstream: { port: 1 } } },
  { name: 'an upstream whose name is unknown', status: 502, init: { upstream: { host: 'db-internal.invalid' } } },
  { name: 'an upstream that closes', status: 502, init: { script: once('') } },
  {
    name: 'an upstream that stops within its head',
    status: 502,
    init: { script: once(`HTTP/1.1 200 OK\r\nX-Internal: ${SECRET}\r\n`) },
  },
  { name: 'an upstream that talks something else', status: 502, init: { script: once(`SSH-2.0-${SECRET}\r\n\r\n`) } },
  {
    name: 'an upstream with a bad field',
    status: 502,
    init: { script: once(`HTTP/1.1 200 OK\r\n${SECRET} x: y\r\n\r\n`) },
  },
  {
    name: 'an upstream that wants proxy credentials',
    status: 502,
    init: { script: once(`HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="${SECRET}"\r\n\r\n`) },
  },
  {
    name: 'a 101 that nobody asked for',
    status: 502,
    init: { script: once('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n') },
  },
  {
    name: 'a body that does not decode',
    status: 502,
    init: {
      script: once(
        `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\n${SECRET}`,
      ),
      rules: [{ text: 'a', with: 'b' }],
    },
  },
  {
    name: 'an upstream that says nothing',
    status: 504,
    init: { script: silent, manualTime: true },
    afterMs: DEFAULT_TIMEOUTS.upstreamHeadersMs,
  },
  { name: 'a host that is not served', status: 421, init: { route: { hosts: ['inside.test'] } } },
  {
    name: 'a request that is malformed',
    status: 400,
    init: {},
    request: `GET /${SECRET} HTTP/1.1\r\n${SECRET}\r\n\r\n`,
  },
  {
    name: 'a method that is not served',
    status: 405,
    init: {},
    request: `TRACE /${SECRET} HTTP/1.1\r\nHost: a\r\nCookie: ${SECRET}\r\n\r\n`,
  },
  { name: 'too many fields', status: 431, init: { config: { limits: { request: { maxHeaderCount: 1 } } } } },
]

describe('an error', () => {
  it.each(ROWS)('about $name tells nothing of the inside', async ({ init, status, request, afterMs }) => {
    await using setup = await setUp({ script: answering(() => plainResponse('')), ...init })
    const client = await setup.connect()
    await client.send(request ?? REQUEST)
    if (afterMs !== undefined) {
      await setup.reached('upstream-connected')
      setup.wheel.advance(Math.ceil(afterMs / setup.wheel.tickMs) + 2)
    }
    const response = await client.readResponse()
    expect(response.status).toBe(status)
    const text = response.head + response.body.toString()
    for (const inside of [
      SECRET,
      'internal',
      '127.0.0.1',
      'inside',
      String(setup.origin.port),
      'prexy',
      'Server:',
      'node',
      'Error',
      '/packages/',
      '.ts',
      'ECONN',
      'ENOTFOUND',
      'errno',
    ]) {
      expect(text).not.toContain(inside)
    }
    expect(response.body.toString()).toMatch(/^\d{3} [A-Za-z -]+\n[A-Z][a-z ]+\.\nExchange \d+\n$/)
    const names = response.head
      .split('\r\n')
      .slice(1, -2)
      .map((line) => line.slice(0, line.indexOf(':')))
    expect(names.filter((name) => !['Connection', 'Allow'].includes(name))).toEqual([
      'Date',
      'Cache-Control',
      'Content-Type',
      'Content-Length',
    ])
    // The operator learns more, from the event.
    const event = await setup.event(1)
    expect(event.outcome).not.toBe('completed')
    if (status !== 421) expect(event.detail).not.toBe(undefined)
  })

  it('has one text per code, a sentence without names and numbers', () => {
    for (const { text } of Object.values(PROXY_ERROR_CODES)) expect(text).toMatch(/^[A-Z][A-Za-z ]+\.$/)
  })
})
