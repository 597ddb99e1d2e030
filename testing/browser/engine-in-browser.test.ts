/** The engine runs unchanged in a browser: bundled by vite, in headless Chromium from Debian. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { expect, test } from 'vitest'
import { findProgram } from '../src/programs.ts'
import type { Findings } from './findings.ts'

/** Media type and content, by path. */
type ServedFiles = Readonly<Record<string, readonly [string, string] | undefined>>

const TIMEOUT_MS = 60_000
const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

// Without the flags about background work the browser looks for hosts that no test machine reaches.
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

test('known and generated cases give the same output in Chromium', { timeout: TIMEOUT_MS }, async (context) => {
  const chromium = NAMES.map(findProgram).find((path) => path !== undefined)
  if (chromium === undefined) return context.skip('chromium is not found through PATH; Debian has it as "chromium"')
  const rows = readFileSync(new URL('rows.json', import.meta.url), 'utf8')
  const files: ServedFiles = {
    '/': ['text/html', '<!doctype html><title>prexy</title><script type="module" src="/page.js"></script>'],
    '/page.js': ['text/javascript', await bundlePage()],
    '/rows.json': ['application/json', rows],
  }
  const findings = await browse(chromium, files)
  expect(findings.problems).toEqual([])
  expect(findings.rows).toBe(JSON.parse(rows).length)
  expect(findings.userAgent).toContain('Chrome/')
})

async function bundlePage(): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    root: fileURLToPath(new URL('.', import.meta.url)),
    resolve: { conditions: ['@prexy/source'] },
    build: {
      write: false,
      target: 'es2022',
      rolldownOptions: { input: fileURLToPath(new URL('page.ts', import.meta.url)) },
    },
  })
  if (Array.isArray(result) || !('output' in result)) throw new Error('vite gave no single bundle')
  return result.output[0].code
}

/** Serves the files to a browser of their own and gives what the page posts to `/findings`. */
async function browse(chromium: string, files: ServedFiles): Promise<Findings> {
  const profile = mkdtempSync(join(tmpdir(), 'prexy-chromium-'))
  let onFindings: (findings: Findings) => void = () => {}
  const posted = new Promise<Findings>((resolve) => {
    onFindings = resolve
  })
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      let body = ''
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      request.on('end', () => {
        response.end()
        onFindings(JSON.parse(body))
      })
      return
    }
    const file = files[request.url ?? '']
    if (file === undefined) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': file[0] }).end(file[1])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const browser = spawn(chromium, [...FLAGS, `--user-data-dir=${profile}`, `http://127.0.0.1:${address.port}/`], {
    stdio: 'ignore',
    detached: true,
  })
  const gone = new Promise<void>((resolve) => browser.once('exit', () => resolve()))
  try {
    return await Promise.race([
      posted,
      gone.then(() => Promise.reject(new Error('chromium ended before the page was done'))),
    ])
  } finally {
    // The whole process group, which is the browser's own: its helpers outlive a killed parent.
    if (browser.pid !== undefined) process.kill(-browser.pid, 'SIGKILL')
    await gone
    server.closeAllConnections()
    server.close()
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}
