/** Live events in Debian's Chromium while the proxy reloads, loses a worker, and the page is away. */
import { readFileSync } from 'node:fs'
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
})

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

test('a page that was cut off goes on where it was', { timeout: TIMEOUT_MS }, async () => {
  await request('/kept/0')
  await showsOnly('path:/kept', 1)
  await page.context().setOffline(true)
  await page.evaluate(() => undefined)
  await request('/kept/1')
  await page.context().setOffline(false)
  await request('/kept/2')
  await showsOnly('path:/kept', 3)
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
  await expect.poll(async () => await scroller.evaluate((element) => element.scrollTop)).toBe(24 * 25)
  expect(await page.locator('.row.cursor').textContent()).toContain('/read/30')

  await page.getByRole('button', { name: 'Pause' }).click()
  await request('/read/paused')
  await page.getByText(/^65 of (?!65)/).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText(/^66 of/).waitFor()
})
