/** Events of an application, from the client to what is recorded, with a proxy that is killed in between. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { connect, createServer as createRelay } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from '@prexy/client/client'
import { openRecordings, readEvents } from '@prexy/record/segment-reader'
import type { ApplicationRecord, ExchangeRecord, RecordedEvent } from '@prexy/events/recorded-event'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { runPrexy, startPrexy, waitFor } from './run-prexy.ts'

// Several processes are started, and the machine may have other work.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const TOKEN = 'the-token-of-the-listener'
const EVENTS_TOKEN = 'the-token-of-applications'
const folder = mkdtempSync(join(tmpdir(), 'prexy-events-'))
let client: Client | undefined
let running: ChildProcessWithoutNullStreams | undefined
/** What the application behind the proxy was told of its request. */
let seen: IncomingHttpHeaders = {}

const origin = await openOrigin(
  createServer((request, response) => {
    seen = request.headers
    client
      ?.forRequest({
        requestId: String(request.headers['x-request-id']),
        traceparent: String(request.headers.traceparent),
      })
      .query('select * from orders', 4.5, { rows: 3, password: 'canary-71c2' })
    response.end('ok')
  }),
)

/** Goes to wherever the proxy's admin listener is: it has another port after each start. */
let adminPort = 0
const relay = createRelay((socket) => {
  const far = connect(adminPort, '127.0.0.1')
  socket.on('error', () => far.destroy())
  far.on('error', () => socket.destroy())
  socket.pipe(far)
  far.pipe(socket)
})
relay.listen(0, '127.0.0.1')
await once(relay, 'listening')
const relayAddress = relay.address()
const relayPort = typeof relayAddress === 'object' && relayAddress !== null ? relayAddress.port : 0

let number = 0
let directory = ''
beforeEach(() => {
  directory = join(folder, `recordings-${++number}`)
})
afterEach(async () => {
  running?.kill('SIGKILL')
  await client?.close()
  client = undefined
})
afterAll(() => {
  relay.close()
  rmSync(folder, { recursive: true })
})

async function serve(workers: number): Promise<{ child: ChildProcessWithoutNullStreams; site: string }> {
  const file = join(folder, `prexy-${number}.yaml`)
  writeFileSync(
    file,
    `listen: 127.0.0.1:0
upstream: http://${origin}
log: off
workers: ${workers}
trace: begin
requestId: X-Request-Id
admin: {listen: 0, token: ${TOKEN}, ingest: {token: ${EVENTS_TOKEN}}}
record: {directory: ${directory}, flushMs: 10}
`,
  )
  const child = startPrexy(['serve', file])
  running = child
  const [, site, admin] = await waitFor(child.stderr, /listening on (\S+)[^]*admin on (\S+?\/)\n/)
  adminPort = Number(new URL(admin).port)
  return { child, site }
}

async function recorded(): Promise<readonly RecordedEvent[]> {
  const { segments } = await openRecordings(directory)
  const events: RecordedEvent[] = []
  for (const segment of segments) {
    for await (const read of readEvents(segment, {})) if (read.kind !== 'damage') events.push(read.event)
  }
  return events
}

const applications = (events: readonly RecordedEvent[]): readonly ApplicationRecord[] =>
  events.filter((event) => event.kind === 'application')

function connectClient(): Client {
  client = createClient({
    url: `http://127.0.0.1:${relayPort}`,
    token: EVENTS_TOKEN,
    source: 'orders',
    limits: { minRetryMs: 10, maxRetryMs: 50, flushMs: 10 },
  })
  return client
}

async function stop(child: ChildProcessWithoutNullStreams): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

describe.each([1, 2])('with %i workers', (workers) => {
  test('an event of the application is recorded beside the exchange that it belongs to', async () => {
    const { child, site } = await serve(workers)
    const own = connectClient()
    expect(await (await fetch(site)).text()).toBe('ok')
    await own.flush()
    expect(own.counts).toMatchObject({ sent: 1, dropped: 0, refused: 0 })
    const metrics = await fetch(`http://127.0.0.1:${adminPort}/metrics`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    expect(await metrics.text()).toContain('prexy_application_events_total{outcome="accepted"} 1\n')
    await stop(child)

    const events = await recorded()
    const [query] = applications(events)
    const exchange = events.find((event): event is ExchangeRecord => event.kind === 'exchange')
    expect(query).toMatchObject({ source: 'orders', type: 'query', name: 'select * from orders', durationMs: 4.5 })
    expect(query.requestId).toBe(exchange?.requestId)
    expect(query.requestId).toBe(seen['x-request-id'])
    expect(exchange?.traceparent).toContain(String(query.traceId))
    expect(query.data).toEqual({ rows: 3, password: '[redacted]' })

    const show = await runPrexy(['record', 'show', directory])
    expect(show.stdout).toMatch(/orders query select \* from orders 4\.5 ms/)
    const json = await runPrexy(['record', 'export', directory, '--format', 'json'])
    expect(json.stdout + show.stdout).not.toContain('canary')
    expect(json.stdout).toContain('"kind":"application"')
    const har: { log: { entries: unknown[] } } = JSON.parse(
      (await runPrexy(['record', 'export', directory, '--format', 'har'])).stdout,
    )
    expect(har.log.entries).toHaveLength(1)
  })
})

test('a proxy that is killed and started again gets every event once, in order', async () => {
  const first = await serve(1)
  const own = connectClient()
  for (let i = 0; i < 100; i++) own.custom(`before ${i}`)
  expect(await own.flush()).toBe(true)
  // What it had taken is on the disk after flushMs.
  await expect.poll(async () => applications(await recorded()).length, { timeout: 60_000 }).toBe(100)
  const gone = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await gone
  for (let i = 0; i < 100; i++) own.custom(`meanwhile ${i}`)
  expect(await own.flush()).toBe(false)
  expect(own.counts).toMatchObject({ sent: 100, waiting: 100 })
  const second = await serve(1)
  await expect.poll(() => own.counts.waiting, { timeout: 60_000 }).toBe(0)
  own.custom('after')
  await own.flush()
  expect(own.counts).toMatchObject({ sent: 201, dropped: 0, refused: 0 })
  await stop(second.child)
  const names = applications(await recorded()).map(({ name }) => name)
  const expected = ['before', 'meanwhile'].flatMap((word) => Array.from({ length: 100 }, (_, i) => `${word} ${i}`))
  expect(names).toEqual([...expected, 'after'])
})

test('the guide’s configuration and curl call work', async () => {
  const guide = readFileSync(new URL('../../../docs/application-events.md', import.meta.url), 'utf8')
  const json = /--data '(\{[^]*?\})'/.exec(guide)?.[1]
  expect(json).toBeDefined()
  await serve(1)
  const answer = await fetch(`http://127.0.0.1:${adminPort}/api/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${EVENTS_TOKEN}`, 'content-type': 'application/json' },
    body: json ?? '',
  })
  expect(await answer.json()).toMatchObject({ accepted: 1, refused: 0 })
})
