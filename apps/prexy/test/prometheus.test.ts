/** Debian's prometheus scrapes a running prexy, and answers questions about it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { startPrexy, waitFor } from './run-prexy.ts'

const TOKEN = '0123456789abcdef'
const REQUESTS = 7
/** Under load; it takes two seconds. */
const PATIENCE_MS = 60_000

const missing = missingPrograms('prometheus')
const folder = mkdtempSync(join(tmpdir(), 'prexy-prometheus-'))
const children: ChildProcess[] = []

afterAll(async () => {
  for (const child of children) {
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await ended
  }
  rmSync(folder, { recursive: true })
})

test('Prometheus scrapes what prexy counts', { timeout: PATIENCE_MS * 2 }, async (context) => {
  if (missing !== undefined) return context.skip(missing)
  const origin = await openOrigin(
    createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<p>Acme</p>')
    }),
  )
  const file = join(folder, 'prexy.yaml')
  writeFileSync(
    file,
    `listen: 127.0.0.1:0\nupstream: http://${origin}\nlog: off\nadmin: {listen: 127.0.0.1:0, token: ${TOKEN}}\nrules: [{text: Acme, with: Zenith}]\n`,
  )
  const prexy = startPrexy(['serve', file])
  children.push(prexy)
  const [, site, admin] = await waitFor(prexy.stderr, /listening on (\S+)[^]*admin on http:\/\/(\S+?)\/\n/)
  for (let count = 0; count < REQUESTS; count++) await (await fetch(site)).text()

  const config = join(folder, 'prometheus.yml')
  writeFileSync(
    config,
    `scrape_configs:\n  - job_name: prexy\n    scrape_interval: 1s\n    authorization: {credentials: ${TOKEN}}\n    static_configs: [{targets: ['${admin}']}]\n`,
  )
  const prometheus = spawn(
    'prometheus',
    [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`, '--web.listen-address=127.0.0.1:0'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  children.push(prometheus)
  const [, address] = await waitFor(prometheus.stderr, /msg="Listening on" address=(\S+)[^]*ready to receive/)

  const ask = async (
    query: string,
  ): Promise<readonly { metric: Record<string, string>; value: [number, string] }[]> => {
    const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`)
    const { data } = await response.json()
    return data.result
  }
  // Seen once Prometheus has scraped, whenever that is.
  const deadline = performance.now() + PATIENCE_MS
  let counted = ''
  while (counted !== String(REQUESTS) && performance.now() < deadline) {
    counted = (await ask('sum(prexy_requests_total{code="2xx"})'))[0]?.value[1] ?? ''
    if (counted !== String(REQUESTS)) await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(counted).toBe(String(REQUESTS))
  expect((await ask('up{job="prexy"}'))[0]?.value[1]).toBe('1')
  expect((await ask('prexy_bodies_total{treatment="rewritten"}'))[0]?.value[1]).toBe(String(REQUESTS))
  const targets = await (await fetch(`http://${address}/api/v1/targets`)).json()
  expect(targets.data.activeTargets).toMatchObject([{ health: 'up', lastError: '' }])
})
