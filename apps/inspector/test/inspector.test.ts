/** The dashboard in Debian's Chromium, against a proxy that runs. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { findChromium, type RunningProxy, startProxy, TOKEN } from './running-proxy.ts'
import { PAYLOADS } from './payloads.ts'

const CHROMIUM = findChromium()
const MISSING = 'chromium is not found through PATH; Debian has it as "chromium"'
const TIMEOUT_MS = 60_000
const PICTURES = fileURLToPath(new URL('../../../.build/inspector-pictures/', import.meta.url))

const RULES = `  - {text: Acme, with: Zenith}
  - {regex: '(\\d+) EUR', with: '$1 euro'}
  - {text: never there, with: x}`

let proxy: RunningProxy
let browser: Browser
let context: BrowserContext
let page: Page
/** What the page's policy held back, and faults of the page. */
const faults: string[] = []

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  proxy = await startProxy((path) => {
    if (path.startsWith('/json'))
      return { type: 'application/json', body: '{"name":"Acme","list":[1,2,{"deep":true}]}' }
    if (path.startsWith('/gone')) return { type: 'text/html', body: 'gone', status: 404 }
    if (path.startsWith('/xss')) return { type: 'text/html', body: `${PAYLOADS.join('\n')}<p>Acme</p>` }
    return { type: 'text/html', body: '<p>Acme sells boxes for 20 EUR.</p><p>Acme again.</p>' }
  }, RULES)
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
  faults.length = 0
  context = await browser.newContext({ viewport: { width: 1_280, height: 800 } })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: proxy.admin.slice(0, -1) })
  page = await context.newPage()
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return async () => {
    await context.close()
    expect(faults).toEqual([])
  }
})

async function signInByAddress(fragment = ''): Promise<void> {
  await page.goto(`${proxy.admin}#token=${TOKEN}${fragment}`)
  await page
    .locator('.status')
    .getByText(/live|recorded/)
    .waitFor()
}

async function request(path: string, init?: RequestInit): Promise<void> {
  await (await fetch(new URL(path, proxy.site), init)).arrayBuffer()
}

const picture = (name: string): Promise<unknown> => page.screenshot({ path: join(PICTURES, `${name}.png`) })

test('a token signs in, by a form or by the address, which then no longer has it', {
  timeout: TIMEOUT_MS,
}, async () => {
  await page.goto(proxy.admin)
  await page.getByLabel('Token').fill('not the token')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('this is not the token').waitFor()
  faults.length = 0 // The browser tells that the answer was 401.
  await picture('sign-in')
  await page.getByLabel('Token').fill(TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.status').getByText('live').waitFor()
  await context.clearCookies()
  await page.goto('about:blank')
  await signInByAddress()
  expect(page.url()).toBe(proxy.admin)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token').waitFor()
})

test('what goes through the proxy appears, is filtered, and shows what rules changed in it', {
  timeout: TIMEOUT_MS,
}, async () => {
  await signInByAddress()
  await request('/live-tail')
  await page.getByRole('gridcell', { name: '/live-tail', exact: true }).waitFor()
  for (let i = 0; i < 20; i++) await request(`/page-${i}`)
  await request('/gone/1')
  await request('/json/1')

  const filter = page.getByRole('combobox', { name: 'filter' })
  await filter.fill('status:>=400')
  await page.getByText(/^1 of/).waitFor()
  await page.getByRole('gridcell', { name: '/gone/1' }).waitFor()
  await filter.fill('status:oops')
  await page.getByText(/"oops" is no number/).waitFor()
  expect(await page.locator('.problem mark').textContent()).toBe('oops')
  await filter.fill('rule:2 path:/page-1')
  await page.getByText(/^11 of/).waitFor()
  await filter.fill('body:"boxes for 20" -path:/page')
  await page.getByText(/^1 of/).waitFor()
  await filter.pressSequentially(' out')
  await page.getByRole('option', { name: /^outcome:/ }).waitFor()
  await page.keyboard.press('Tab')
  expect(await filter.inputValue()).toBe('body:"boxes for 20" -path:/page outcome:')

  await filter.fill('path:/live-tail')
  await page.getByText(/^1 of/).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  const detail = page.getByRole('complementary', { name: 'event' })
  const diff = detail.locator('.diff')
  await diff.waitFor()
  expect(await diff.locator('del').allTextContents()).toEqual(['Acme', '20 EUR', 'Acme'])
  expect(await diff.locator('ins').allTextContents()).toEqual(['Zenith', '20 euro', 'Zenith'])
  expect(await diff.locator('.change-rule').allTextContents()).toEqual(['1', '2', '1'])
  expect(await detail.getByText('With the rules of now').count()).toBe(0)
  await detail.getByRole('button', { name: 'Copy as curl' }).click()
  await detail.getByText('copied').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^curl .*\/live-tail/)
  await picture('detail')
  expect(page.url()).toMatch(/#filter=path%3A%2Flive-tail&event=[0-9a-f]+-\d+$/)
  await page.reload()
  await page.locator('.diff').waitFor()
})
