/** The engine runs unchanged in a browser: bundled by vite, in headless Chromium from Debian. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { expect, test } from 'vitest'
import { browse, CHROMIUM_MISSING, findChromium } from '../src/chromium.ts'
import type { Findings } from './findings.ts'

/** Media type and content, by path. */
type ServedFiles = Readonly<Record<string, readonly [string, string] | undefined>>

const TIMEOUT_MS = 60_000

test('known and generated cases give the same output in Chromium', { timeout: TIMEOUT_MS }, async (context) => {
  const chromium = findChromium()
  if (chromium === undefined) return context.skip(CHROMIUM_MISSING)
  const rows = readFileSync(new URL('rows.json', import.meta.url), 'utf8')
  const files: ServedFiles = {
    '/': ['text/html', '<!doctype html><title>prexy</title><script type="module" src="/page.js"></script>'],
    '/page.js': ['text/javascript', await bundlePage()],
    '/rows.json': ['application/json', rows],
  }
  const findings = await findingsOf(chromium, files)
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
async function findingsOf(chromium: string, files: ServedFiles): Promise<Findings> {
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
  try {
    return await browse(chromium, `http://127.0.0.1:${address.port}/`, posted)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
