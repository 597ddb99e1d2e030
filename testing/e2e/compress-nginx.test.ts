/** What is compressed, and what its head says then, beside nginx's gzip module in front of the same origin. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type Nginx, startNginx } from '@prexy/testing/nginx'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { missingPrograms } from '@prexy/testing/programs'
import { connectRawClient } from '@prexy/testing/raw-client'
import { answering, plainResponse, type RawOrigin, startRawOrigin } from '@prexy/testing/raw-origin'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const page = 'A page of some length. '.repeat(40)
const RESPONSES: Readonly<Record<string, () => string | Uint8Array>> = {
  '/html': () => plainResponse(page, 'Content-Type: text/html', 'ETag: "a"', 'Accept-Ranges: bytes'),
  '/css': () => plainResponse(page, 'Content-Type: text/css; charset=utf-8', 'ETag: W/"a"'),
  '/json': () => plainResponse(page, 'Content-Type: application/json', 'Vary: Cookie'),
  '/png': () => plainResponse(page, 'Content-Type: image/png', 'ETag: "a"'),
  '/short': () => plainResponse('short', 'Content-Type: text/html', 'ETag: "a"'),
  '/coded': () => plainResponse(page, 'Content-Type: text/html', 'Content-Encoding: br'),
  '/chunked': () =>
    `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n${page.length.toString(16)}\r\n${page}\r\n0\r\n\r\n`,
  '/missing': () => plainResponse(page, 'Content-Type: text/html').toString().replace('200 OK', '404 Not Found'),
  '/forbidden': () => plainResponse(page, 'Content-Type: text/html').toString().replace('200 OK', '403 Forbidden'),
  '/broken': () => plainResponse(page, 'Content-Type: text/html').toString().replace('200 OK', '500 Broken'),
  '/part': () =>
    `HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Range: bytes 0-99/920\r\nContent-Length: 100\r\n\r\n${page.slice(0, 100)}`,
}
const ACCEPTED = ['gzip', 'gzip, deflate, br', 'gzip;q=0.5', 'gzip;q=0', 'deflate, br', 'identity', undefined]

const missing = missingPrograms('nginx')
if (missing === undefined) {
  describe('beside nginx', () => {
    let folder = ''
    let origin: RawOrigin
    let nginx: Nginx
    let prexy: PrexyServer

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'prexy-compress-'))
      origin = await startRawOrigin(answering(({ target }) => RESPONSES[target]()))
      nginx = await startNginx(
        folder,
        `gzip on; gzip_types text/css application/json; gzip_min_length 20; gzip_proxied any; gzip_vary on;
         location / { proxy_pass http://127.0.0.1:${origin.port}; proxy_http_version 1.1; proxy_set_header Connection ""; }`,
      )
      const file = join(folder, 'prexy.yaml')
      writeFileSync(
        file,
        `listen: 127.0.0.1:0
upstream: http://127.0.0.1:${origin.port}
log: off
compress: { codings: gzip, types: [text/html, text/css, application/json], minBytes: 20 }
`,
      )
      prexy = await startPrexyServer(['serve', file])
    }, 60_000)

    afterAll(async () => {
      await prexy.stop()
      await nginx.stop()
      await origin.close()
      rmSync(folder, { recursive: true })
    })

    test.each(Object.keys(RESPONSES))('%s', async (target) => {
      for (const accepted of ACCEPTED) {
        const lines = accepted === undefined ? [] : [`Accept-Encoding: ${accepted}`]
        const told = await Promise.all(
          [nginx.port, prexy.port].map(async (port) => {
            const client = await connectRawClient(port)
            const response = await client.get(target, ...lines)
            client.destroy()
            const coding = response.value('content-encoding')
            const body = coding === 'gzip' ? gunzipSync(response.body) : response.body
            const varied = response
              .values('vary')
              .join(', ')
              .split(/\s*,\s*/)
              .sort()
            const fields = ['content-type', 'etag', 'accept-ranges', 'content-range'].map((name) =>
              response.value(name),
            )
            return { status: response.status, coding, varied, fields, body: body.toString('latin1') }
          }),
        )
        expect({ accepted, ...told[1] }).toEqual({ accepted, ...told[0] })
      }
    })
  })
} else {
  test('compressing beside nginx', (context) => context.skip(missing))
}
