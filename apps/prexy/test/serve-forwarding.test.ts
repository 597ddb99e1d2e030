/** What the file says about clients and connections reaches the proxy that runs. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { collect, startPrexy, waitFor } from './run-prexy.ts'

const CONFIG = `
listen: 127.0.0.1:0
trustedProxies: 127.0.0.0/8
forwarded: both
requestId: X-Correlation-Id
serverTiming: true
log: json
limits: {maxTunnels: 0, maxConnectionsPerAddress: 1}
timeouts: {tunnelIdleMs: 1000}
`

test('keys about clients, identifiers, timing and tunnels', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-serve-'))
  const origin = createServer((request, response) => response.end(JSON.stringify(request.headers)))
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const address = origin.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  const file = join(folder, 'prexy.yaml')
  writeFileSync(file, `${CONFIG}upstream: http://127.0.0.1:${address.port}\n`)
  const child = startPrexy(['serve', file])
  try {
    const outcome = collect(child)
    const [, url] = await waitFor(child.stderr, /listening on (http:\/\/\S+)/)
    const spoof = { 'x-forwarded-for': '203.0.113.5', 'x-forwarded-proto': 'https', 'x-correlation-id': 'abc-1' }
    const response = await fetch(url, { headers: spoof })
    expect(await response.json()).toMatchObject({
      'x-forwarded-for': '203.0.113.5, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-real-ip': '203.0.113.5',
      forwarded: expect.stringMatching(/^for=127\.0\.0\.1;host="127\.0\.0\.1:\d+";proto=http$/),
      'x-correlation-id': 'abc-1',
    })
    expect(response.headers.get('server-timing')).toMatch(/^prexy;dur=[\d.]+, upstream;dur=[\d.]+$/)
    child.kill('SIGTERM')
    expect((await outcome).stderr).toContain('"requestId":"abc-1"')
  } finally {
    child.kill('SIGKILL')
    origin.closeAllConnections()
    origin.close()
    rmSync(folder, { recursive: true })
  }
})
