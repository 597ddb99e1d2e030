import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decode } from '@prexy/msgpack/decode'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { openOrigin } from './open-origin.ts'
import { startPrexy, waitFor } from './run-prexy.ts'

const TOKEN = '0123456789abcdef'
const folder = mkdtempSync(join(tmpdir(), 'prexy-admin-'))
const file = join(folder, 'prexy.yaml')
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end('<p>Acme and Acme</p>')
})
let running: ChildProcessWithoutNullStreams | undefined

const origin = await openOrigin(server)
afterEach(() => {
  running?.kill('SIGKILL')
})
afterAll(() => {
  rmSync(folder, { recursive: true })
})

interface Served {
  readonly child: ChildProcessWithoutNullStreams
  readonly site: string
  readonly admin: string
  readonly token: string
  /** What the API answers. */
  api(path: string, method?: string): Promise<Response>
  get(): Promise<string>
}

async function serve(more: string): Promise<Served> {
  writeFileSync(file, `listen: 127.0.0.1:0\nupstream: http://${origin}\nlog: off\n${more}\n`)
  const child = startPrexy(['serve', file])
  running = child
  const [, site, admin, token = TOKEN] = await waitFor(
    child.stderr,
    /listening on (\S+)[^]*admin on (\S+?\/)(?:#token=(\S+))?\n/,
  )
  return {
    child,
    site,
    admin,
    token,
    api: (path, method = 'GET') => fetch(`${admin}${path}`, { method, headers: { authorization: `Bearer ${token}` } }),
    get: async () => await (await fetch(site)).text(),
  }
}

function sampleOf(text: string, name: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

describe.each([1, 2])('the admin listener of %i workers', (workers) => {
  test('counts, shows live events, reloads and drains', async () => {
    const common = `workers: ${workers}\nadmin: {listen: 0, token: ${TOKEN}}\nrecord: {}`
    const { child, admin, api, get } = await serve(`${common}\nrules: [{text: Acme, with: Zenith}]`)
    for (let i = 0; i < 6; i++) expect(await get()).toBe('<p>Zenith and Zenith</p>')

    const metrics = await (await api('metrics')).text()
    expect(sampleOf(metrics, 'prexy_requests_total{route="default",code="2xx"}')).toBe(6)
    expect(sampleOf(metrics, 'prexy_rule_hits_total{route="default",rule="1"}')).toBe(12)
    expect(sampleOf(metrics, 'prexy_recorded_events_total{')).toBe(6)
    const status: { workers: number; state: string } = await (await api('api/status')).json()
    expect(status).toMatchObject({ workers, state: 'ready' })
    expect(await (await api('api/routes')).json()).toMatchObject([
      { name: 'default', target: origin, rules: [{ text: 'Acme', with: 'Zenith' }] },
    ])

    const live = new WebSocket(`${admin.replace('http', 'ws')}api/live?from=oldest`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    const targets: string[] = []
    const seen = new Promise<void>((resolve) => {
      live.on('message', (data: Buffer) => {
        const { events } = decode(data) as { events: { target: string }[] }
        targets.push(...events.map(({ target }) => target))
        if (targets.length === 7) resolve()
      })
    })
    await get()
    await seen
    expect(targets).toEqual(new Array(7).fill('/'))
    live.close()

    writeFileSync(
      file,
      `listen: 127.0.0.1:0\nupstream: http://${origin}\nlog: off\n${common}\nrules: [{text: Acme, with: 9}]`,
    )
    const refused = await api('api/reload', 'POST')
    expect(refused.status).toBe(422)
    const { problems }: { problems: string[] } = await refused.json()
    expect(problems[0]).toContain('prexy.yaml:7:28: rules[0].with:')
    expect(await get()).toBe('<p>Zenith and Zenith</p>')

    const ended = once(child, 'exit')
    expect((await api('api/drain', 'POST')).status).toBe(202)
    expect(await ended).toEqual([0, null])
  })
})

test('a token is made up where none is configured, and told once', async () => {
  const { token, api, admin } = await serve('admin: {listen: 0}')
  expect(token).toMatch(/^[\w-]{32}$/)
  expect((await api('api/status')).status).toBe(200)
  expect((await fetch(`${admin}api/status`)).status).toBe(401)
  expect((await fetch(`${admin}healthz`)).status).toBe(200)
})
