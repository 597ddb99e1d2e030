/**
 * Two real nginx behind one upstream, one of which is killed, stopped in an orderly way, held up and started again
 * while clients go on asking. Only what was under way on a server that is killed may fail.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExchangeEvent } from '@prexy/events/exchange'
import type { UpstreamEvent } from '@prexy/events/upstream'
import { DEFAULT_TICK_MS } from '@prexy/net/timer-wheel'
import type { ProxyTimeouts, UpstreamConfig } from '@prexy/proxy/proxy-config'
import { type RunningProxy, startProxy } from '@prexy/proxy/start-proxy'
import { type Nginx, startNginx } from '@prexy/testing/nginx'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const CLIENTS = 12
const BASE_MS = 1_000
/** What a loaded machine may add to a time that the wheel keeps to two ticks. */
const SLACK_MS = 2 * DEFAULT_TICK_MS + 2_000

const missing = missingPrograms('nginx')
let folder = ''
let stable: Nginx

/** An upstream whose first server is tampered with. */
interface Stage extends AsyncDisposable {
  readonly events: readonly ExchangeEvent[]
  readonly changes: readonly UpstreamEvent[]
  readonly proxy: RunningProxy
  readonly tampered: { nginx: Nginx }
  /** Starts the tampered one again, on its port. */
  restart(): Promise<void>
  /** Resolves once so many more responses came whose body is this letter. */
  answers(letter: 'a' | 'b', count: number): Promise<void>
  change(kind: UpstreamEvent['kind']): Promise<UpstreamEvent>
  /** Ends the load; resolves when the last response is there. */
  end(): Promise<void>
}

async function setStage(upstream: Partial<UpstreamConfig>, timeouts: Partial<ProxyTimeouts> = {}): Promise<Stage> {
  const server = 'location / { return 200 a; }\nlocation = /health { return 204; }'
  const place = mkdtempSync(join(folder, 'tampered-'))
  chmodSync(place, 0o755)
  const tampered = { nginx: await startNginx(place, server) }
  const { port } = tampered.nginx
  const events: ExchangeEvent[] = []
  const changes: UpstreamEvent[] = []
  const proxy = await startProxy({
    listen: [{ host: '127.0.0.1', port: 0 }],
    routes: [
      {
        name: 'all',
        upstream: {
          servers: [
            { host: '127.0.0.1', port },
            { host: '127.0.0.1', port: stable.port },
          ],
          ejection: { baseMs: BASE_MS },
          ...upstream,
        },
      },
    ],
    timeouts,
    onExchange: (event) => events.push(event),
    onUpstream: (change) => changes.push(change),
    onError: (error) => {
      throw error
    },
  })
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const seen = { a: 0, b: 0 }
  let going = true
  const ask = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = get({ agent, host: '127.0.0.1', port: proxy.address.port }, (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text
        })
        response.on('end', () => resolve(body))
        response.on('error', reject)
      })
      request.on('error', reject)
    })
  const load = Array.from({ length: CLIENTS }, async () => {
    while (going) {
      const body = await ask()
      if (body === 'a' || body === 'b') seen[body]++
      await new Promise(setImmediate)
    }
  })
  const until = async <T>(probe: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = probe()
      if (found !== undefined) return found
      await new Promise(setImmediate)
    }
  }
  const end = async (): Promise<void> => {
    going = false
    await Promise.all(load)
  }
  return {
    events,
    changes,
    proxy,
    tampered,
    restart: async () => {
      tampered.nginx = await startNginx(place, server, port)
    },
    answers: async (letter, count) => {
      const from = seen[letter]
      await until(() => (seen[letter] >= from + count ? true : undefined))
    },
    change: (kind) => until(() => changes.findLast((change) => change.kind === kind)),
    end,
    async [Symbol.asyncDispose]() {
      await end()
      agent.destroy()
      await proxy.stop(0)
      tampered.nginx.resume()
      await tampered.nginx.end('SIGKILL')
    },
  }
}

/** Exchanges that did not end well. */
function failures(events: readonly ExchangeEvent[]): readonly ExchangeEvent[] {
  return events.filter(({ outcome, status }) => outcome !== 'completed' || status !== 200)
}

if (missing === undefined) {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'prexy-upstreams-'))
    chmodSync(folder, 0o755)
    stable = await startNginx(folder, 'location / { return 200 b; }\nlocation = /health { return 204; }')
  })

  afterAll(async () => {
    await stable.stop()
    rmSync(folder, { recursive: true })
  })
}

describe.skipIf(missing !== undefined)(`a server under load${missing === undefined ? '' : ` (${missing})`}`, () => {
  test('that is killed costs at most what was under way on it, is ejected, and serves again after its time', async () => {
    await using stage = await setStage({})
    const name = `127.0.0.1:${stage.tampered.nginx.port}`
    await stage.answers('a', 100)
    const killedAtMs = Date.now()
    await stage.tampered.nginx.end('SIGKILL')
    const ejected = await stage.change('ejected')
    expect([ejected.server, ejected.kind === 'ejected' && ejected.forMs]).toEqual([name, BASE_MS])
    await stage.restart()
    await stage.answers('b', 100)
    const returned = await stage.change('returned')
    await stage.answers('a', 100)
    await stage.end()
    for (const { upstream, startedAtMs } of failures(stage.events)) {
      expect(upstream).toBe(name)
      // Rounding of two clocks.
      expect(startedAtMs).toBeLessThanOrEqual(killedAtMs + 20)
    }
    expect(failures(stage.events).length).toBeLessThanOrEqual(CLIENTS)
    expect(ejected.atMs - killedAtMs).toBeLessThan(SLACK_MS)
    expect(returned.atMs - ejected.atMs).toBeGreaterThanOrEqual(BASE_MS - 1)
    expect(returned.atMs - ejected.atMs).toBeLessThan(BASE_MS + SLACK_MS)
    expect(stage.changes.map(({ kind }) => kind)).toEqual(['ejected', 'returned'])
  })

  test('that ends in an orderly way costs nothing, also when it stays away for long', async () => {
    await using stage = await setStage({ ejection: { baseMs: 250 } })
    await stage.answers('a', 100)
    await stage.tampered.nginx.end('SIGQUIT')
    await stage.change('returned')
    // On trial and not there: ejected again, for longer.
    while (stage.changes.filter(({ kind }) => kind === 'ejected').length < 2) await stage.answers('b', 10)
    await stage.restart()
    await stage.answers('a', 100)
    await stage.end()
    expect(failures(stage.events)).toEqual([])
    const times = stage.changes.flatMap((change) => (change.kind === 'ejected' ? [change.forMs] : []))
    expect(times.slice(0, 2)).toEqual([250, 500])
  })

  test('that is held up costs at most one request of each client', async () => {
    await using stage = await setStage({}, { upstreamHeadersMs: 500 })
    await stage.answers('a', 100)
    stage.tampered.nginx.pause()
    await stage.change('ejected')
    await stage.answers('b', 200)
    stage.tampered.nginx.resume()
    await stage.change('returned')
    await stage.answers('a', 100)
    await stage.end()
    const failed = failures(stage.events)
    expect(failed.length).toBeGreaterThan(0)
    expect(failed.length).toBeLessThanOrEqual(CLIENTS)
    expect(new Set(failed.map(({ outcome, status, detail }) => `${outcome} ${status} ${detail}`))).toEqual(
      new Set(['upstream-timeout 504 upstreamHeadersMs passed']),
    )
  })

  test('that health checks find down gets nothing more, and serves again when they find it up', async () => {
    const healthCheck = {
      path: '/health',
      intervalMs: 250,
      timeoutMs: 500,
      status: [200, 299] as const,
      rise: 2,
      fall: 2,
    }
    await using stage = await setStage({ healthCheck, ejection: { failures: 0 } })
    await stage.answers('a', 100)
    await stage.tampered.nginx.end('SIGQUIT')
    const goneAtMs = Date.now()
    const failed = await stage.change('check-failed')
    await stage.answers('b', 100)
    await stage.restart()
    await stage.change('check-passed')
    await stage.answers('a', 100)
    await stage.end()
    expect(failures(stage.events)).toEqual([])
    expect(failed.atMs - goneAtMs).toBeLessThan(2 * (healthCheck.intervalMs + healthCheck.timeoutMs) + SLACK_MS)
  })
})
