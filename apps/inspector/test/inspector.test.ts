/** The dashboard in Debian's Chromium, against a proxy that runs. */
import { mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { findChromium, type RunningProxy, startProxy, TOKEN } from './running-proxy.ts'
import { PAYLOADS } from './payloads.ts'
import { applicationOf, exchangeOf, segmentOf } from './segment-file.ts'

const CHROMIUM = findChromium()
const MISSING = 'chromium is not found through PATH; Debian has it as "chromium"'
const TIMEOUT_MS = 120_000
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
  page.setDefaultTimeout(TIMEOUT_MS)
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
}, TIMEOUT_MS)

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

/** By the keyboard: the first Escape may close a list of completions only, which comes when it comes. */
async function leave(field: Locator): Promise<void> {
  const press = async (): Promise<boolean> => {
    await page.keyboard.press('Escape')
    return field.evaluate((element) => element === document.activeElement)
  }
  await expect.poll(press, { timeout: TIMEOUT_MS }).toBe(false)
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
  await leave(filter)
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

test('a recorded session is listed, and a file of it opened', { timeout: TIMEOUT_MS }, async () => {
  await request('/recorded')
  await signInByAddress()
  const source = page.getByRole('combobox', { name: 'source of events' })
  await source.selectOption({ index: 1 })
  await page.locator('.status').getByText('recorded').waitFor()
  const [segment] = readdirSync(proxy.recordings, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.prexyrec'),
  )
  await page.getByLabel('a segment of a recording').setInputFiles(join(proxy.recordings, segment))
  await page.locator('.status').getByText('recorded').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  const nonsense = { name: 'x.prexyrec', mimeType: '', buffer: Buffer.from('nonsense '.repeat(100)) }
  await page.getByLabel('a segment of a recording').setInputFiles(nonsense)
  await page.getByText('the file is no recording of prexy').waitFor()
})

test('300 payloads in every displayed field stay text', { timeout: TIMEOUT_MS }, async () => {
  const events: Readonly<Record<string, unknown>>[] = []
  const groups = 6
  for (let group = 0; group < groups; group++) {
    const text = PAYLOADS.filter((_, index) => index % groups === group).join(' ')
    events.push(exchangeOf(events.length + 1, text, group % 3 === 0 ? 'application/json' : 'text/html'))
    events.push(exchangeOf(events.length + 1, text, `text/html;${text}`))
    events.push(applicationOf(events.length + 1, text))
  }
  expect(new Set(PAYLOADS).size).toBe(300)
  await signInByAddress()
  await page.getByLabel('a segment of a recording').setInputFiles({
    name: 'x.prexyrec',
    mimeType: '',
    buffer: Buffer.from(segmentOf(events)),
  })
  await page.getByText(`${events.length} of ${events.length} events`).waitFor()
  await page.getByRole('button', { name: 'Columns' }).click()
  for (const name of ['Route', 'Outcome', 'Client', 'Upstream']) await page.getByLabel(name, { exact: true }).check()
  let frames = 0
  for (let index = 0; index < events.length; index++) {
    await page.locator('.scroller').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page
      .locator('.facts')
      .getByText(`0badcafe-${events.length - index}`, { exact: true })
      .waitFor()
    for (const button of await page.locator('.body button', { hasText: 'page' }).all()) await button.click()
    frames += await page.locator('iframe.page').count()
  }
  expect(frames).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Totals' }).click()
  await page.getByText('Why rules did not run').waitFor()
  await page.getByRole('button', { name: 'Rule workbench' }).click()
  await page.getByLabel('Body', { exact: true }).fill(PAYLOADS.join('\n'))
  await page.getByLabel(/^Rules/).fill(`- text: script\n  with: '${PAYLOADS[0].replaceAll("'", "''")}'`)
  await page.getByText(/^\d+ replacements in/).waitFor()
  expect(await page.locator('#app script, #app img, #app svg script').count()).toBe(0)
})

test('the workbench shows matches, faults and costs of rules while they are written', {
  timeout: TIMEOUT_MS,
}, async () => {
  await signInByAddress('&panel=workbench')
  const rules = page.getByLabel(/^Rules/)
  await page.locator('.bench-out .diff').waitFor()
  expect(await page.locator('.bench-out ins').allTextContents()).toEqual(['Zenith', '20 euro'])
  await rules.fill("- regex: '<script.*</script>'\n  flags: s\n  with: ''")
  await page
    .locator('.warning')
    .getByText(/rule 1/)
    .waitFor()
  await rules.fill("- regex: 'a(b'\n  with: x")
  await page
    .locator('.problems')
    .getByText(/rule 1, regex, octet \d+/)
    .waitFor()
  await rules.fill('- text: [')
  await page.locator('.problems').getByText('YAML:').waitFor()
  await rules.fill('rules:\n  - text: boxes\n    with: crates')
  await page.locator('.output').getByText('Acme sells crates').waitFor()
  await page.getByText('What the rules were compiled to').click()
  await page.getByText(/prefilter:/).waitFor()
  await page.getByRole('button', { name: 'Copy as YAML' }).click()
  await page.getByText('copied').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('rules:\n  - text: boxes\n    with: crates\n')
  await picture('workbench')
})

test('a range of time is selected, and totals lead back to the list', { timeout: TIMEOUT_MS }, async () => {
  await request('/json/totals')
  await signInByAddress('&panel=totals')
  await page.getByRole('button', { name: 'application/json' }).click()
  await page.getByRole('gridcell', { name: '/json/totals' }).first().waitFor()
  await picture('list')
  const bars = page.locator('.histogram svg')
  await bars.focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url(), { timeout: TIMEOUT_MS }).toMatch(/range=\d+-\d+/)
  await bars.focus()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.url(), { timeout: TIMEOUT_MS }).not.toMatch(/range=/)
})

/** Two attacks among twelve requests. */
function attackedSegment(): Buffer {
  const events = Array.from({ length: 12 }, (_, at) => ({
    ...exchangeOf(at + 1, 'shop', 'text/html'),
    method: 'GET',
    target: at === 3 ? '/download?file=../../../../etc/passwd' : at === 7 ? '/backup.sql' : `/page/${at}`,
  }))
  return Buffer.from(segmentOf(events))
}

test('a hunt is started from the page, and what it finds is in list, filter and details', {
  timeout: TIMEOUT_MS,
}, async () => {
  await signInByAddress()
  const file = { name: 'x.prexyrec', mimeType: '', buffer: attackedSegment() }
  await page.getByLabel('a segment of a recording').setInputFiles(file)
  await page.getByText('12 of 12 events').waitFor()
  expect(await page.getByRole('columnheader', { name: 'Hits' }).count()).toBe(0)
  await page.locator('.scroller').focus()
  await page.keyboard.press('3')
  // Of the rules, each has a payload as its title; one cannot be used, and one is not YAML.
  const rules = PAYLOADS.filter((_, index) => index % 30 === 0).map(
    (payload) => `title: '${payload.replaceAll("'", "''")}'
description: '${payload.replaceAll("'", "''")}'
level: low
tags: ['${payload.replaceAll("'", "''")}']
logsource: {category: webserver}
detection:
  selection: {cs-uri-stem|endswith: .sql}
  condition: selection`,
  )
  rules.push('title: Broken\nlogsource: {category: webserver}\ndetection: {a: {c-uri|contians: x}, condition: a}')
  await page.getByLabel(/^Your own/).fill(rules.join('\n---\n'))
  await page.getByLabel('rule files').setInputFiles([
    { name: 'mine.yml', mimeType: '', buffer: Buffer.from('title: [') },
    {
      name: 'pages.yml',
      mimeType: '',
      buffer: Buffer.from(
        'title: A page\nlevel: informational\nlogsource: {category: webserver}\ndetection:\n  a: {c-uri|startswith: /page/}\n  condition: a\n',
      ),
    },
  ])
  await page.getByRole('button', { name: 'Without the 2 files' }).waitFor()
  await page.getByRole('button', { name: 'Start the hunt' }).click()
  await page.getByText('Done: hits in 12 of 12 events.').waitFor()
  const found = page.getByRole('region', { name: 'what the hunt found' })
  await found.getByText(/^2 cannot be used/).waitFor()
  await found.getByText('pasted:').first().waitFor()
  await found.getByText('mine.yml:1').first().waitFor()
  await picture('hunt')
  await page.getByRole('button', { name: PAYLOADS[0], exact: true }).click()
  await page.getByText('1 of 12 events').waitFor()
  const filter = page.getByRole('combobox', { name: 'filter' })
  await filter.fill('level:>=medium')
  await page
    .getByRole('gridcell', { name: /etc.passwd/ })
    .first()
    .click()
  const hits = page.getByRole('region', { name: 'hits of the hunt' })
  await hits.getByText('passwd').first().waitFor()
  expect(await hits.locator('.level').count()).toBeGreaterThan(0)
  await filter.fill('hit:"a page"')
  await page.getByText('10 of 12 events').waitFor()
  await filter.fill('-hit:*')
  await page.getByText('None of the 12 events fits.').waitFor()
  await filter.fill('')
  await page.getByText('12 of 12 events').waitFor()
  // By level: the highest first.
  await page.getByRole('button', { name: 'Hits', exact: true }).click()
  await page.getByRole('button', { name: /^Hits/ }).click()
  await page
    .locator('#row-0')
    .getByText(/passwd/)
    .waitFor()
  await page.locator('.scroller').focus()
  await page.keyboard.press('3')
  await page.getByRole('button', { name: 'Forget the hits' }).click()
  await found.getByText('No hunt yet.').waitFor()
  expect(await page.locator('#app script, #app img, #app iframe').count()).toBe(0)
})

test('files that are none, or were made to do harm, are refused or shown in part, and the page goes on', {
  timeout: TIMEOUT_MS,
}, async () => {
  await signInByAddress()
  const open = async (buffer: Uint8Array): Promise<void> =>
    await page
      .getByLabel('a segment of a recording')
      .setInputFiles({ name: 'x.prexyrec', mimeType: '', buffer: Buffer.from(buffer) })
  await open(gzipSync(new Uint8Array(30_000_000)))
  await page.getByText(/is no recording of prexy: open a segment.*not compressed/).waitFor()
  const text = 'x'.repeat(3_000_000)
  const large = {
    ...exchangeOf(2, 'large', 'text/html'),
    target: `/${text}`,
    request: { minorVersion: 1, fields: ['a', text] },
  }
  await open(segmentOf([exchangeOf(1, 'small', 'text/html'), Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0), large]))
  await page.getByText('6 octets of the file are damaged').waitFor()
  await page.getByText('2 of 2 events').waitFor()
  await page.locator('.rows .row').first().click()
  await page.locator('.facts').getByText('0badcafe-2', { exact: true }).waitFor()
  expect((await page.locator('.detail').textContent())?.length).toBeLessThan(200_000)
  await page.getByRole('combobox', { name: 'filter' }).fill('host:small')
  await page.getByText('1 of 2 events').waitFor()
})

test('axe finds nothing serious, in light and dark, wide and narrow', { timeout: TIMEOUT_MS }, async () => {
  await request('/axe')
  await signInByAddress()
  const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
  for (const [scheme, width] of [
    ['light', 1_280],
    ['dark', 400],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize({ width, height: 800 })
    for (const panel of ['Events', 'Totals', 'Hunt', 'Rule workbench']) {
      await page.getByRole('button', { name: panel, exact: true }).click()
      if (panel === 'Events') {
        await page.keyboard.press('Escape')
        await page.locator('.rows .row').first().click()
        await page.locator('.detail .facts').waitFor()
      }
      await picture(`${scheme}-${panel.toLowerCase().replaceAll(' ', '-')}`)
      await page.evaluate(await (await import('node:fs/promises')).readFile(axe, 'utf8'))
      const found = await page.evaluate(async () => {
        const { axe: engine } = globalThis as unknown as {
          axe: {
            run: (
              options: object,
            ) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>
          }
        }
        const { violations } = await engine.run({ resultTypes: ['violations'] })
        return violations
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
      })
      expect(found, `${scheme} ${panel}`).toEqual([])
    }
  }
})

test('another site can neither read, change, watch nor frame it', { timeout: TIMEOUT_MS }, async () => {
  await signInByAddress()
  const foreign = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<!doctype html><title>foreign</title>')
  })
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve))
  const address = foreign.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const other = await context.newPage()
  try {
    // A host name of its own, so that it is another site and not only another port.
    await other.goto(`http://localhost:${address.port}/`)
    const outcome = await other.evaluate(async (admin) => {
      const attempt = async (run: () => Promise<unknown>): Promise<string> => {
        try {
          return String(await run())
        } catch {
          return 'refused'
        }
      }
      const socket = (): Promise<string> =>
        new Promise((resolve) => {
          const live = new WebSocket(`${admin.replace('http', 'ws')}api/live`)
          live.onopen = () => resolve('open')
          live.onerror = () => resolve('refused')
        })
      const frame = document.createElement('iframe')
      frame.src = admin
      document.body.append(frame)
      await new Promise((resolve) => {
        frame.onload = resolve
      })
      return {
        read: await attempt(async () => (await fetch(`${admin}api/routes`, { credentials: 'include' })).status),
        change: await attempt(
          async () => (await fetch(`${admin}api/reload`, { method: 'POST', credentials: 'include' })).status,
        ),
        watch: await attempt(socket),
        frame: frame.contentDocument === null ? 'refused' : 'open',
      }
    }, proxy.admin)
    expect(outcome).toEqual({ read: 'refused', change: 'refused', watch: 'refused', frame: 'refused' })
  } finally {
    await other.close()
    foreign.closeAllConnections()
    foreign.close()
  }
})
