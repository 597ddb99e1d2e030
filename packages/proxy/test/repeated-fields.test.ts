import { describe, expect, it } from 'vitest'
import { answering, plainResponse } from '@prexy/testing/raw-origin'
import type { RawClient } from '@prexy/testing/raw-client'
import { type SetupInit, setUp } from './harness.ts'

/** Answers with the head that it was asked with. */
const echo = answering((request) => plainResponse(request.head, 'Content-Type: text/css', 'ETag: "a"'))

interface Asked {
  readonly method?: string
  readonly target?: string
  readonly lines?: readonly string[]
}

/** Each several times, so that what is kept is used, between others that must not get what was kept. */
const ASKED: readonly Asked[] = [
  {},
  { target: '/other?x=1' },
  {},
  {},
  { target: '/other?x=1' },
  {},
  { method: 'POST', target: '/form', lines: ['Content-Length: 0'] },
  { method: 'POST', target: '/form', lines: ['Content-Length: 0'] },
  { method: 'POST', target: '/form', lines: ['Content-Length: 0'] },
  { method: 'PUT', target: '/form', lines: ['Content-Length: 0'] },
  { target: '/film.mp4', lines: ['Range: bytes=0-1'] },
  { target: '/page', lines: ['Range: bytes=0-1'] },
  { target: '/page', lines: ['Range: bytes=0-1'] },
  { target: '/film.mp4', lines: ['Range: bytes=0-1'] },
  { target: 'http://another.test/x' },
  { target: '/x' },
  { lines: ['Cookie: a=1'] },
  { lines: ['Cookie: a=1'] },
  { lines: ['Cookie: a=1'] },
  { lines: ['Cookie: a=2'] },
  { lines: ['X-Forwarded-For: 10.9.8.7', 'X-Request-Id: theirs'] },
  { lines: ['X-Forwarded-For: 10.9.8.7', 'X-Request-Id: theirs'] },
  { lines: ['X-Forwarded-For: 10.9.8.7', 'X-Request-Id: theirs'] },
  { lines: ['traceparent: 00-11111111111111111111111111111111-2222222222222222-01'] },
  { lines: ['traceparent: 00-11111111111111111111111111111111-2222222222222222-01'] },
  { lines: ['traceparent: 00-11111111111111111111111111111111-2222222222222222-01'] },
  {},
]

async function ask(client: RawClient, { method = 'GET', target = '/', lines = [] }: Asked): Promise<string> {
  await client.send([`${method} ${target} HTTP/1.1`, 'Host: proxy.test', ...lines, '', ''].join('\r\n'))
  return (await client.readResponse()).body.toString('latin1')
}

const ID = /^(X-Request-Id: \w+-)(\d+)\r$/m
const TRACE = /^traceparent: 00-(?!1{32})\w+-\w+-\d\d\r$/m

const SETUPS: readonly [string, Omit<SetupInit, 'script'>][] = [
  ['without rules', {}],
  ['with a rule for pages', { rules: [{ text: 'x-', with: 'y-', types: ['text/html'] }] }],
  ['that maps names', { rules: [{ domain: 'origin.test', to: 'proxy.test', types: ['text/html'] }] }],
  [
    'that maps names on some paths',
    {
      rules: [
        { domain: 'origin.test', to: 'proxy.test', paths: ['/other'] },
        { text: 'x-', with: 'y-' },
      ],
    },
  ],
  ['that keeps Host', { route: { preserveHost: true } }],
  ['with trusted clients', { config: { trustedProxies: ['127.0.0.0/8'], forwarded: 'both' } }],
  ['without identifiers', { config: { requestId: 'off' } }],
  ['that begins traces', { config: { trace: 'begin' } }],
]

describe('fields that a client repeats', () => {
  it.each(SETUPS)('go up as those that it sends once: a proxy %s', async (_, init) => {
    await using setup = await setUp({ script: echo, ...init })
    const client = await setup.connect()
    const ids = new Set<string>()
    for (const asked of ASKED) {
      const seen = await ask(client, asked)
      const id = ID.exec(seen)?.[2]
      if (id !== undefined) {
        expect(ids).not.toContain(id)
        ids.add(id)
      }
      const other = await ask(await setup.connect(), asked)
      const same = (text: string): string => text.replace(ID, '$1ID').replace(TRACE, 'TRACE')
      expect(same(seen)).toBe(same(other))
    }
  })

  it('are told of with the identifier that went up', async () => {
    await using setup = await setUp({ script: echo })
    const client = await setup.connect()
    for (let number = 1; number <= 5; number++) {
      const seen = await ask(client, {})
      const { requestId, host, requestNumber } = await setup.event(number)
      expect(seen).toContain(`\r\nX-Request-Id: ${requestId}\r\n`)
      expect({ host, requestNumber }).toEqual({ host: 'proxy.test', requestNumber: number })
    }
  })

  it('do not go the old way after a reload', async () => {
    await using setup = await setUp({ script: echo })
    const client = await setup.connect()
    for (let time = 0; time < 5; time++) expect(await ask(client, {})).toContain('\r\nX-Forwarded-For: 127.0.0.1\r\n')
    const prepared = await setup.proxy.prepare({
      listen: [{ host: '127.0.0.1', port: 0 }],
      routes: [{ name: 'all', upstream: { servers: [{ host: '127.0.0.1', port: setup.origin.port }] } }],
      forwarded: 'none',
    })
    prepared.commit()
    expect(await ask(client, {})).not.toContain('X-Forwarded-For')
  })
})
