/**
 * Requests that are none, to a live proxy. What its upstream gets is compared with a reading of the same octets that has
 * no part of our parser: nothing but what stands there may arrive, whole, once and in order; all else is answered with a
 * status of a refusal, and nothing of it is left on the upstream's connection.
 */
import { hostile } from '@prexy/testing/hostile-octets'
import type { RawClient } from '@prexy/testing/raw-client'
import { REQUESTS } from '@prexy/testing/request-corpus'
import { type ReadRequest, readRequestsOf } from '@prexy/testing/request-reading'
import { plainResponse } from '@prexy/testing/raw-origin'
import { TimerWheel } from '@prexy/net/timer-wheel'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Setup, setUp } from './harness.ts'

const long = process.env['PREXY_LONG'] === '1'
/** Mutated rows a run, each alone and with a request behind it. `npm test` makes 200, the long run 5,000. */
const MUTATIONS = long ? 5_000 : 200
/** Proxies at work at one time; each has its cases one after the other. */
const WORKERS = 16

const PROBE = 'GET /probe HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n'
const REFUSALS = new Set([400, 405, 408, 411, 413, 414, 417, 431, 501, 505, 508])

/** Small, since a request that is not whole is over only when its time is. */
const timeouts = { clientHeadersMs: 200, clientBodyMs: 200, clientIdleMs: 500 }

async function setUpWorker(): Promise<Setup> {
  const wheel = new TimerWheel({ tickMs: 20 })
  return setUp({
    config: { timeouts, wheel },
    script: async (connection) => {
      for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
        if (!request.complete) break
        const response = plainResponse('seen')
        await connection.send(request.method === 'HEAD' ? response.subarray(0, -4) : response)
      }
      connection.end()
    },
  })
}

/** The target as it goes to an upstream: a URI loses its scheme and authority. */
function sentTarget({ method, target }: ReadRequest): string {
  const uri = /^https?:\/\/[^/?]*(.*)$/i.exec(target)
  if (uri === null) return target
  if (uri[1] === '' && method === 'OPTIONS') return '*'
  return uri[1].startsWith('/') ? uri[1] : `/${uri[1]}`
}

/** The statuses of final responses until the connection ends, or until `count` of them are there. */
async function readStatuses(client: RawClient, count: number): Promise<number[]> {
  let text = ''
  const statuses = (): number[] =>
    [...text.matchAll(/HTTP\/1\.1 ([2-9]\d\d) /g)].map(([, status]) => Number(status)).slice(0, count)
  while (statuses().length < count) {
    const more = await client.reader.some()
    if (more.length === 0) break
    text += more.toString('latin1')
  }
  return statuses()
}

/** Sends the octets to the proxy and says what it did wrong. */
async function wrongWith(setup: Setup, octets: string): Promise<string | undefined> {
  const { requests: read, rest } = readRequestsOf(octets)
  const before = setup.origin.requests.length
  const client = await setup.connect()
  await client.send(octets)
  const statuses = await readStatuses(client, rest === '' ? read.length : Number.POSITIVE_INFINITY)
  client.destroy()
  // Somebody else gets the answer to what they asked, whatever connection to the origin it takes.
  const other = await setup.connect()
  const after = await other.get('/sentinel')
  other.destroy()
  if (after.status !== 200) return `somebody else got ${after.status}`
  const seen = setup.origin.requests.slice(before).filter(({ complete }) => complete)
  const sentinel = seen.pop()
  if (sentinel?.target !== '/sentinel') return `the origin saw ${sentinel?.startLine} for the sentinel`

  let at = 0
  for (const [i, status] of statuses.entries()) {
    if (status === 204 && read[i] !== undefined) continue
    if (status !== 200) {
      if (!REFUSALS.has(status)) return `status ${status}`
      if (i < statuses.length - 1) return `served on after ${status}`
      continue
    }
    const got = seen.at(at++)
    const asked = read.at(i)
    if (got === undefined || asked === undefined) return `answer ${i} is to nothing that was asked`
    const same =
      got.method === asked.method && got.target === sentTarget(asked) && got.body.toString('latin1') === asked.body
    if (!same) return `the origin saw ${got.startLine} of ${got.body.length} octets`
  }
  return at === seen.length ? undefined : `the origin saw ${seen.length} requests and ${at} were answered`
}

/** Runs the cases on all workers; each takes the next one. */
async function forAll<T>(cases: readonly T[], run: (setup: Setup, one: T) => Promise<void>): Promise<void> {
  const queue = cases.values()
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      await using setup = await setUpWorker()
      for (const one of queue) await run(setup, one)
    }),
  )
}

test('requests of the corpus are refused or arrive as they are, alone and with a request behind', async () => {
  const malformed = REQUESTS.filter(({ expected }) => expected !== 'accepted')
  expect(malformed.length).toBeGreaterThanOrEqual(150)
  const cases = REQUESTS.flatMap((row) => [
    { ...row, octets: row.raw },
    { ...row, octets: row.raw + PROBE },
  ])
  await forAll(cases, async (setup, { name, octets, expected }) => {
    const before = setup.events.length
    expect([name, await wrongWith(setup, octets)]).toEqual([name, undefined])
    const first = setup.events[before]
    if (expected === 'accepted') expect([name, [200, 204].includes(first.status ?? 0)]).toEqual([name, true])
  })
  console.log(`malformed requests: ${malformed.length} of the corpus, each alone and with a request behind it`)
})

test('the reading that requests are compared with agrees with the corpus', () => {
  for (const { name, raw, expected } of REQUESTS) {
    if (expected === 'accepted') expect([name, readRequestsOf(raw).rest]).toEqual([name, ''])
  }
})

test('mutated requests are refused or arrive as they are, alone and with a request behind', {
  timeout: 600_000,
}, async () => {
  const seed = Date.now() & 0x7fff_ffff
  const cases = fc
    .sample(hostile(REQUESTS), { numRuns: MUTATIONS, seed })
    .filter((raw) => raw !== '')
    .flatMap((raw) => [raw, raw + PROBE])
  await forAll(cases, async (setup, octets) => {
    expect([octets, seed, await wrongWith(setup, octets)]).toEqual([octets, seed, undefined])
  })
  console.log(
    `malformed requests: ${MUTATIONS} mutations of 5,000, seed ${seed}, each alone and with a request behind it`,
  )
})
