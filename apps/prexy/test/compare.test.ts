/** A site that moves from nginx's sub_filter to prexy: what is compared, and where the operator sees it. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Nginx, startNginx } from '@prexy/testing/nginx'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { startPrexy, waitFor } from './run-prexy.ts'

const TOKEN = '0123456789abcdef'
const page = 'Acme builds. '.repeat(10_000)
const PAGES: Readonly<Record<string, string>> = {
  '/same': `<p>${page}</p>`,
  // nginx replaces without looking at the case of letters.
  '/case': '<p>Acme, ACME</p>',
  '/token': '<p>Acme</p><input value="TOKEN">',
}

const missing = missingPrograms('nginx')
if (missing === undefined)
  describe('compareWith an nginx with sub_filter', () => {
    describeComparing()
  })
else test('compareWith an nginx with sub_filter', (context) => context.skip(missing))

function describeComparing(): void {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-compare-'))
  const file = join(folder, 'prexy.yaml')
  let requests = 0
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(PAGES[url].replace('TOKEN', `t${++requests}`))
  })
  let nginx: Nginx
  let origin = ''
  let running: ChildProcessWithoutNullStreams | undefined

  beforeAll(async () => {
    origin = await openOrigin(server)
    nginx = await startNginx(
      folder,
      `location / { proxy_pass http://${origin}; sub_filter Acme Zenith; sub_filter_once off; }`,
    )
  }, 60_000)
  afterEach(() => {
    running?.kill('SIGKILL')
  })
  afterAll(async () => {
    await nginx.stop()
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['one process', ''],
    ['two workers', 'workers: 2'],
  ])('in %s: the client gets the old page, the operator the differences', { timeout: 120_000 }, async (_name, more) => {
    writeFileSync(
      file,
      `listen: 127.0.0.1:0
upstream: http://${origin}
log: json
${more}
admin: { listen: 127.0.0.1:0, token: ${TOKEN} }
mode: shadow
compareWith: { url: 'http://127.0.0.1:${nginx.port}', ignore: 'value="[^"]*"' }
rules:
  - { text: Acme, with: Zenith }
`,
    )
    const child = startPrexy(['serve', file])
    running = child
    let log = ''
    child.stderr.on('data', (text: Buffer) => {
      log += text.toString()
    })
    const [, site, admin] = await waitFor(child.stderr, /listening on (\S+)[^]*admin on (\S+)\n/)
    for (const path of Object.keys(PAGES)) {
      const body = await (await fetch(`${site.slice(0, -1)}${path}`)).text()
      expect(body).toContain('Acme')
    }
    const api = async (path: string): Promise<Response> =>
      await fetch(`${admin.slice(0, -1)}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
    // Comparisons end when they do; nothing else tells.
    let told: unknown
    do told = await (await api('/api/comparisons')).json()
    while (!/"same":2/.test(JSON.stringify(told)) || !/"different":1/.test(JSON.stringify(told)))
    expect(told).toMatchObject({
      default: {
        comparisons: { same: 2, different: 1 },
        differences: { body: 1 },
        difference: { method: 'GET', path: '/case', part: 'body', bodyAt: 11 },
      },
    })
    expect(JSON.stringify(told)).toContain('<p>Zenith, ACME</p>')
    const metrics = await (await api('/metrics')).text()
    expect(metrics).toContain('prexy_comparisons_total{route="default",result="same"} 2')
    expect(metrics).toContain('prexy_comparison_differences_total{route="default",part="body"} 1')
    while (log.split('"comparison"').length < 4) await new Promise((resolve) => child.stderr.once('data', resolve))
    expect(log).toContain('"comparison":{"kind":"different","parts":["body"],"bodyAt":11,"isExact":true}')
  })
}
