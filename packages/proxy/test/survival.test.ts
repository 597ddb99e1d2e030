import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { expect, it } from 'vitest'
import type { Phase } from '../src/phases.ts'
import { PROXY_ERROR_CODES } from '../src/proxy-error.ts'
import { startProxy } from '../src/start-proxy.ts'
import { setUp } from './harness.ts'

const HTML = 'Content-Type: text/html'
const coded = gzipSync('needle '.repeat(100_000))

it('a listener that throws at any phase harms no exchange, and is reported', async () => {
  const phases: readonly Phase[] = [
    'request-head',
    'route',
    'upstream-selected',
    'upstream-connected',
    'request-sent',
    'response-head',
    'response-body',
    'response-end',
    'response-sent',
    'end',
  ]
  for (const phase of phases) {
    let thrown = 0
    const errors: string[] = []
    await using setup = await setUp({
      rules: [{ text: 'needle', with: 'pin' }],
      script: answering(() => plainResponse(coded, HTML, 'Content-Encoding: gzip')),
      config: {
        onPhase: (_id, reached) => {
          if (reached !== phase || thrown > 0) return
          thrown++
          throw new Error(`at ${phase}`)
        },
        onError: (error) => errors.push(error.message),
      },
    })
    const client = await setup.connect()
    for (let i = 0; i < 2; i++) {
      const { status, body } = await client.get('/')
      expect([status, body.toString() === 'pin '.repeat(100_000)]).toEqual([200, true])
    }
    expect([phase, thrown, errors]).toEqual([phase, 1, [`at ${phase}`]])
  }
})

it('a listener of events that throws harms no exchange', async () => {
  const errors: string[] = []
  await using setup = await setUp({
    script: answering(() => plainResponse('ok')),
    config: {
      onExchange: () => {
        throw new Error('listener')
      },
      onError: (error) => errors.push(error.message),
    },
  })
  const client = await setup.connect()
  for (let i = 0; i < 3; i++) expect((await client.get('/')).body.toString()).toBe('ok')
  expect(errors).toEqual(['listener', 'listener', 'listener'])
})

it('responses of many clients at once, plain and coded, never mix', async () => {
  await using setup = await setUp({
    rules: [{ text: 'needle', with: 'pin' }],
    script: answering((request) => {
      const body = `${request.target} needle\n`.repeat(2_000)
      return request.target.includes('gzip')
        ? plainResponse(gzipSync(body), HTML, 'Content-Encoding: gzip')
        : plainResponse(body, HTML)
    }),
  })
  await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      const client = await setup.connect()
      for (let i = 0; i < 5; i++) {
        const target = `/${n}/${i}${(n + i) % 2 === 0 ? '/gzip' : ''}`
        const response = await client.get(target, 'Accept-Encoding: identity')
        expect(response.body.toString() === `${target} pin\n`.repeat(2_000)).toBe(true)
      }
    }),
  )
})

it('stop may be called again with an earlier deadline', async () => {
  await using setup = await setUp({
    script: async (connection) => {
      await connection.ended
    },
  })
  const client = await setup.connect()
  await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await setup.reached('request-sent')
  const patient = setup.proxy.stop(600_000)
  await setup.proxy.stop(0)
  await patient
})

it('a proxy that cannot have one of its addresses leaves none open', async () => {
  await using setup = await setUp({ script: answering(() => plainResponse('')) })
  const taken = { host: '127.0.0.1', port: setup.proxy.address.port }
  await expect(startProxy({ listen: [{ host: '127.0.0.1', port: 0 }, taken], routes: [] })).rejects.toThrow(
    'EADDRINUSE',
  )
})

it('an upstream by name is reached at whichever of its addresses answers', async () => {
  await using setup = await setUp({ script: answering(() => plainResponse('ok')), upstream: { host: 'localhost' } })
  const client = await setup.connect()
  for (let i = 0; i < 2; i++) expect((await client.get('/')).body.toString()).toBe('ok')
  expect(setup.origin.connections).toBe(1)
})

it('a fault of ours does not pass for a refused body', () => {
  const outcomes = Object.values(PROXY_ERROR_CODES).map(({ outcome }) => outcome)
  expect([
    PROXY_ERROR_CODES.E_INTERNAL.outcome,
    outcomes.filter((outcome) => outcome === 'proxy-failed').length,
  ]).toEqual(['proxy-failed', 1])
})

it('every error code is used', () => {
  const folder = new URL('../src/', import.meta.url)
  const source = readdirSync(folder)
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')
  const unused = Object.keys(PROXY_ERROR_CODES).filter((code) => source.split(`'${code}'`).length < 3)
  expect(unused).toEqual([])
})
