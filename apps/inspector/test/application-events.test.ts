/** A page that sends its events through the client, and the inspector that shows them, in Debian's Chromium. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EVENTS_TOKEN, findChromium, type RunningProxy, startProxy, TOKEN } from './running-proxy.ts'
import { PAYLOADS } from './payloads.ts'

const CHROMIUM = findChromium()
const MISSING = 'chromium is not found through PATH; Debian has it as "chromium"'
const TIMEOUT_MS = 60_000
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`

/** What the page may name: the client as it was built, and what it is made of. */
const PAGE = `<!doctype html><title>a shop</title>
<script type="importmap">{"imports": {"@prexy/client/": "/client/", "@prexy/msgpack/": "/msgpack/", "@prexy/bytes/": "/bytes/"}}</script>
<script type="module">
  import { createClient } from '@prexy/client/client'
  window.createClient = createClient
</script>`

let pages: Server
let named: string
let proxy: RunningProxy
let browser: Browser

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  pages = createServer((request, response) => {
    const module = /^\/(client|msgpack|bytes)\/([\w.-]+?)(?:\.js)?$/.exec(request.url ?? '/')
    if (module === null) {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end(PAGE)
      return
    }
    const file = new URL(`../../../packages/${module[1]}/dist/${module[2]}.js`, import.meta.url)
    response.writeHead(200, { 'content-type': 'text/javascript' })
    response.end(readFileSync(file))
  })
  pages.listen(0, '127.0.0.1')
  await once(pages, 'listening')
  const address = pages.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  // A host name of its own, so that it is another site and not only another port.
  named = `http://localhost:${address.port}`
  proxy = await startProxy(() => ({ type: 'text/html', body: 'Acme' }), '  - {text: Acme, with: Zenith}', [named])
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}, TIMEOUT_MS)

afterAll(async () => {
  await browser?.close()
  await proxy?.stop()
  pages?.closeAllConnections()
  pages?.close()
}, TIMEOUT_MS)

beforeEach((task) => {
  if (CHROMIUM === undefined) task.skip(MISSING)
})

/** What the page's script put there. */
interface Shop {
  createClient(options: object): {
    send(event: object): void
    flush(): Promise<boolean>
    forRequest(request: object): { log(level: string, message: string): void }
    readonly counts: { readonly sent: number; readonly dropped: number; readonly refused: number }
  }
}

async function openShop(origin: string): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(origin)
  await page.waitForFunction(() => 'createClient' in window)
  return page
}

async function openInspector(fragment: string): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } })
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(`${proxy.admin}#token=${TOKEN}&${fragment}`)
  await page.locator('.status').getByText('live').waitFor()
  return { page, faults }
}

test('events of a page that is named stand beside the exchange of their trace', { timeout: TIMEOUT_MS }, async () => {
  await (await fetch(new URL('/traced', proxy.site), { headers: { traceparent: TRACEPARENT } })).arrayBuffer()
  const shop = await openShop(named)
  const counts = await shop.evaluate(
    async ([url, token, traceparent]) => {
      const { createClient } = window as unknown as Shop
      const events = createClient({ url, token, source: 'shop page' })
      events.forRequest({ traceparent }).log('error', 'the page is slow')
      events.send({ type: 'timing', name: 'first paint', durationMs: 250 })
      await events.flush()
      return events.counts
    },
    [proxy.admin, EVENTS_TOKEN, TRACEPARENT],
  )
  expect(counts).toMatchObject({ sent: 2, dropped: 0, refused: 0 })
  await shop.close()

  const { page, faults } = await openInspector('filter=level:error')
  await page.getByText(/^1 of/).waitFor()
  await page.getByRole('gridcell', { name: 'the page is slow' }).click()
  await page.getByRole('button', { name: 'All of this trace' }).click()
  await page.getByText(/^2 of/).waitFor()
  await page.getByRole('gridcell', { name: '/traced' }).click()
  await page.getByRole('complementary').getByText(TRACEPARENT).first().waitFor()
  await page.getByRole('button', { name: 'All of this request' }).click()
  await page.getByText(/^1 of/).waitFor()
  await page.getByRole('combobox', { name: 'filter' }).fill('source:"shop page" dur:>=250ms')
  await page.getByRole('gridcell', { name: 'first paint' }).waitFor()
  expect(faults).toEqual([])
  await page.close()
})

test('what waits when a page is left is sent', { timeout: TIMEOUT_MS }, async () => {
  const shop = await openShop(named)
  await shop.evaluate(
    ([url, token]) => {
      const { createClient } = window as unknown as Shop
      const events = createClient({ url, token, source: 'shop page', limits: { flushMs: 3_600_000 } })
      events.send({ type: 'custom', name: 'parting' })
    },
    [proxy.admin, EVENTS_TOKEN],
  )
  await shop.goto('about:blank')
  const { page } = await openInspector('filter=parting')
  await page.getByRole('gridcell', { name: 'parting' }).waitFor()
  await page.close()
  await shop.close()
})

test('a page that is not named sends nothing', { timeout: TIMEOUT_MS }, async () => {
  const stranger = await openShop(named.replace('localhost', '127.0.0.1'))
  const problem = await stranger.evaluate(
    async ([url, token]) => {
      const { createClient } = window as unknown as Shop
      const problems: string[] = []
      const onProblem = (text: string): unknown => problems.push(text)
      const events = createClient({ url, token, source: 'stranger', onProblem })
      events.send({ type: 'custom', name: 'stranger' })
      return `${String(await events.flush())} ${problems.join()}`
    },
    [proxy.admin, EVENTS_TOKEN],
  )
  expect(problem).toMatch(/^false the proxy at .* cannot be reached/)
  await stranger.close()
})

test('300 payloads in every field of an event stay text', { timeout: TIMEOUT_MS }, async () => {
  const shop = await openShop(named)
  const groups = 10
  const texts = Array.from({ length: groups }, (_, group) =>
    PAYLOADS.filter((_payload, index) => index % groups === group).join(' '),
  )
  const sent = await shop.evaluate(
    async ([url, token, list]) => {
      const { createClient } = window as unknown as Shop
      let count = 0
      for (const text of JSON.parse(list) as string[]) {
        const events = createClient({ url, token, source: text.slice(0, 200) })
        const type = ['log', 'timing', 'query', 'custom'][count % 4]
        events.send({ type, name: text, message: text, requestId: text, data: { [text.slice(0, 200)]: text, text } })
        await events.flush()
        count += events.counts.sent
      }
      return count
    },
    [proxy.admin, EVENTS_TOKEN, JSON.stringify(texts)],
  )
  expect(sent).toBe(groups)
  await shop.close()

  const { page, faults } = await openInspector('filter=kind:application%20source:*alert*')
  await page.getByText(`${groups} of`).waitFor()
  for (let index = 0; index < groups; index++) {
    await page.locator('.scroller').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.locator('.detail .facts').first().waitFor()
  }
  await page.getByRole('button', { name: 'Totals' }).click()
  await page.getByText('Why rules did not run').waitFor()
  expect(await page.locator('#app script, #app img, #app svg script, #app iframe').count()).toBe(0)
  expect(faults).toEqual([])
  await page.close()
})
