// Takes the README's picture: the demo's shop from its origin and through prexy, side by side, in headless Chromium.
// `node tools/take-picture.mjs`, after a build; run by hand when the demo looks different.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PICTURE = join(ROOT, 'docs/images/demo.png')

const demo = spawn(process.execPath, [join(ROOT, 'apps/prexy/bin/prexy.mjs'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const folder = mkdtempSync(join(tmpdir(), 'prexy-picture-'))
try {
  const [origin, proxy] = await addresses()
  const page = join(folder, 'page.html')
  writeFileSync(page, sideBySide(origin, proxy))
  const { status } = spawnSync(
    'chromium',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--hide-scrollbars',
      '--force-device-scale-factor=1',
      '--window-size=1400,760',
      '--virtual-time-budget=4000',
      `--user-data-dir=${join(folder, 'profile')}`,
      `--screenshot=${PICTURE}`,
      `file://${page}`,
    ],
    { stdio: 'inherit' },
  )
  if (status !== 0) throw new Error('chromium took no picture; Debian has it as "chromium"')
} finally {
  demo.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

/** @returns {Promise<[origin: string, proxy: string]>} the first two addresses that the demo prints */
async function addresses() {
  let text = ''
  for await (const chunk of demo.stdout.setEncoding('utf8')) {
    text += chunk
    const found = [...new Set(text.match(/http:\/\/127\.0\.0\.1:\d+\//g))]
    if (found.length >= 2) return [found[0], found[1]]
  }
  throw new Error('the demo ended without addresses')
}

/**
 * @param {string} origin
 * @param {string} proxy
 */
function sideBySide(origin, proxy) {
  const half = (/** @type {string} */ title, /** @type {string} */ address) =>
    `<figure><figcaption>${title}</figcaption><iframe src="${address}"></iframe></figure>`
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; display: flex; gap: 16px; padding: 16px; background: #d8dbe0; font: 16px/1.4 sans-serif; }
    figure { margin: 0; flex: 1; display: flex; flex-direction: column; height: 728px; }
    figcaption { padding: 0 0 8px; color: #222; }
    iframe { flex: 1; border: 0; border-radius: 6px; background: #fff; }
  </style>${half('The shop as its origin serves it', origin)}${half('The same shop through prexy', proxy)}`
}
