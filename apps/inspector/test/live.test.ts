/** Live events in Debian's Chromium while the proxy reloads, loses a worker, and the page is away. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { findChromium, type RunningProxy, startProxy, TOKEN } from './running-proxy.ts'

const CHROMIUM = findChromium()
const MISSING = 'chromium is not found through PATH; Debian has it as "chromium"'
const TIMEOUT_MS = 90_000

let proxy: RunningProxy
let browser: Browser
let page: Page

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  const rules = '  - {text: Acme, with: Zenith}'
  proxy = await startProxy(() => ({ type: 'text/html', body: 'Acme' }), rules, [], 'workers: 2')
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}, TIMEOUT_MS)

afterAll(async () => {
  await browser?.close()
  await proxy?.stop()
}, TIMEOUT_MS)

beforeEach(async (task) => {
  if (CHROMIUM === undefined) return task.skip(MISSING)
  page = await browser.newPage({ viewport: { width: 1_280, height: 800 } })
  page.setDefaultTimeout(TIMEOUT_MS)
  await page.goto(`${proxy.admin}#token=${TOKEN}`)
  await page.locator('.status').getByText('live').waitFor()
  return async () => await page.close()
}, TIMEOUT_MS)

/** On connections of their own; again until one is answered: a worker that dies takes its connections along. */
async function request(path: string): Promise<void> {
  for (;;) {
    try {
      const response = await fetch(new URL(path, proxy.site), { headers: { connection: 'close' } })
      await response.arrayBuffer()
      return
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  }
}

async function showsOnly(filter: string, events: number): Promise<void> {
  await page.getByRole('combobox', { name: 'filter' }).fill(filter)
  await page.getByText(new RegExp(`^${events} of`)).waitFor()
}

test('a reload and the death of a worker lose no event and show none twice', { timeout: TIMEOUT_MS }, async () => {
  for (let i = 0; i < 10; i++) await request(`/before/${i}`)
  await showsOnly('path:/before', 10)
  const headers = { authorization: `Bearer ${TOKEN}` }
  expect((await fetch(new URL('api/reload', proxy.admin), { method: 'POST', headers })).status).toBe(200)
  for (let i = 0; i < 10; i++) await request(`/reloaded/${i}`)
  await showsOnly('path:/reloaded', 10)
  const [worker] = readFileSync(`/proc/${proxy.pid}/task/${proxy.pid}/children`, 'utf8').trim().split(' ').map(Number)
  process.kill(worker, 'SIGKILL')
  for (let i = 0; i < 10; i++) await request(`/killed/${i}`)
  await page.getByRole('combobox', { name: 'filter' }).fill('path:/killed/9')
  await page.getByRole('gridcell', { name: '/killed/9', exact: true }).waitFor()
  await showsOnly('path:/before', 10)
  await showsOnly('path:/reloaded', 10)
  expect(await page.locator('.status').textContent()).toContain('live')
})

/** Passes connections on to the admin listener, until they are cut. */
async function startWire(): Promise<{ address: string; cut(): void; mend(): void; stop(): void }> {
  const { hostname, port } = new URL(proxy.admin)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) {
      client.destroy()
      return
    }
    const admin = connect(Number(port), hostname)
    for (const socket of [client, admin]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        admin.destroy()
      })
    }
    client.pipe(admin).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    address: `http://127.0.0.1:${address.port}/`,
    cut,
    mend() {
      isCut = false
    },
    stop() {
      cut()
      server.close()
    },
  }
}

test('a page that was cut off goes on where it was', { timeout: TIMEOUT_MS }, async () => {
  const wire = await startWire()
  try {
    await page.goto(`${wire.address}#token=${TOKEN}`)
    await page.locator('.status').getByText('live').waitFor()
    await request('/kept/0')
    await showsOnly('path:/kept', 1)
    for (let round = 1; round <= 2; round++) {
      wire.cut()
      await page.locator('.status').getByText('connection lost').waitFor()
      await request(`/kept/${2 * round - 1}`)
      wire.mend()
      await page.locator('.status').getByText('live').waitFor()
      await request(`/kept/${2 * round}`)
      await showsOnly('path:/kept', 1 + 2 * round)
    }
  } finally {
    wire.stop()
  }
})

test('a list that is paused stands still, and one that is read stays where it is', {
  timeout: TIMEOUT_MS,
}, async () => {
  for (let i = 0; i < 60; i++) await request(`/read/${i}`)
  await showsOnly('path:/read', 60)
  await page.getByRole('gridcell', { name: '/read/59', exact: true }).waitFor()
  const scroller = page.locator('.scroller')
  await scroller.evaluate((element) => {
    element.scrollTop = 24 * 20
  })
  await page.getByRole('gridcell', { name: '/read/30', exact: true }).waitFor()
  await page.getByRole('gridcell', { name: '/read/30', exact: true }).click()
  await page.locator('.facts').waitFor()
  for (let i = 0; i < 5; i++) await request(`/read/new-${i}`)
  await page.getByText(/^65 of/).waitFor()
  await expect
    .poll(async () => await scroller.evaluate((element) => element.scrollTop), { timeout: TIMEOUT_MS })
    .toBe(24 * 25)
  expect(await page.locator('.row.cursor').textContent()).toContain('/read/30')

  const all = /of (\d+)/.exec((await page.locator('.counts').textContent()) ?? '')?.[1]
  await page.getByRole('button', { name: 'Pause' }).click()
  await request('/read/paused')
  await page.getByText(new RegExp(`^65 of ${Number(all) + 1} `)).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText(/^66 of/).waitFor()
})
