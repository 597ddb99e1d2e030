/**
 * A site under another name, in Chromium: redirect, log-in form with a check of Origin and of where it leads, cookie for
 * all hosts of the site, Content-Security-Policy, and a call of another host with credentials. The origin knows its own
 * names only and refuses everything else, as frameworks do.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { browse, CHROMIUM_MISSING, findChromium } from '../src/chromium.ts'
import { startPrexyServer } from '../src/prexy-server.ts'

const TIMEOUT_MS = 90_000

const LOGIN_PAGE = `<!doctype html><title>log in</title>
<form method="post" action="http://www.a.example/login">
<input name="next" value="http://www.a.example/home?from=form"><input name="user" value="me">
</form><script>document.forms[0].submit()</script>`

const HOME_PAGE = `<!doctype html><title>home</title><p id="who">http://www.a.example/</p>
<script src="http://static.a.example/app.js"></script>
<script>
const tell = (what) => fetch('/findings', { method: 'POST', body: JSON.stringify(what) })
fetch('http://api.a.example/me', { credentials: 'include' })
  .then((response) => response.json())
  .then((me) => tell({ me, app: window.app ?? 'not loaded', at: location.href, who: document.getElementById('who').textContent, cookie: document.cookie }),
    (error) => tell({ error: String(error), at: location.href }))
</script>`

function configuration(port: number): string {
  return `listen: 127.0.0.1:0
log: off
requestBodies: true
rules:
  - {domain: a.example, to: b.test, subdomains: keep}
headers:
  request:
    - {set: X-Seen-As, value: '\${host}'}
  response:
    - {replace: Set-Cookie, regex: '^(seen=)1', with: '$1\${method}'}
routes:
  - host: '*.b.test'
    upstream: http://127.0.0.1:${port}
`
}

/** Why the origin refused something; it should not. */
const refused: string[] = []

async function origin(
  request: IncomingMessage,
  response: ServerResponse,
  onFindings: (text: string) => void,
): Promise<void> {
  const { host = '', origin: from, referer = '', cookie = '' } = request.headers
  const url = request.url ?? ''
  const refuse = (why: string): void => {
    refused.push(`${request.method ?? ''} ${host}${url}: ${why}`)
    response.writeHead(403).end(why)
  }
  if (!/^(?:www|api|static)\.a\.example$/.test(host)) return refuse('this host is unknown')
  if (from !== undefined && from !== 'http://www.a.example') return refuse(`origin ${from}`)
  const seenAs = host.replace('a.example', 'b.test')
  if (request.headers['x-seen-as'] !== seenAs) return refuse(`seen as ${String(request.headers['x-seen-as'])}`)
  if (referer !== '' && !referer.startsWith('http://www.a.example/')) return refuse(`referer ${referer}`)
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk)
  const policy =
    "default-src 'none'; script-src 'unsafe-inline' http://*.a.example; connect-src 'self' http://api.a.example; form-action http://www.a.example"
  const html = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy }
  switch (`${request.method ?? ''} ${host}${url.replace(/\?.*/, '')}`) {
    case 'GET www.a.example/':
      response.writeHead(302, { Location: 'http://www.a.example/login' }).end()
      return
    case 'GET www.a.example/login':
      response.writeHead(200, html).end(LOGIN_PAGE)
      return
    case 'POST www.a.example/login': {
      const next = new URLSearchParams(body).get('next') ?? ''
      if (!next.startsWith('http://www.a.example/')) return refuse(`leads to ${next}`)
      response.writeHead(303, {
        Location: next,
        'Set-Cookie': ['session=7; Domain=a.example; Path=/; HttpOnly; SameSite=Lax', 'seen=1; Path=/'],
      })
      response.end()
      return
    }
    case 'GET www.a.example/home':
      if (!cookie.includes('session=7')) return refuse(`cookie ${cookie}`)
      response.writeHead(200, html).end(HOME_PAGE)
      return
    case 'GET static.a.example/app.js':
      response.writeHead(200, { 'Content-Type': 'text/javascript' }).end("window.app = 'http://static.a.example/'")
      return
    case 'GET api.a.example/me':
      if (from === undefined || !cookie.includes('session=7'))
        return refuse(`origin ${from ?? 'none'}, cookie ${cookie}`)
      response.writeHead(200, {
        'Content-Type': 'application/json',
        'Access-Control-Allow-Origin': from,
        'Access-Control-Allow-Credentials': 'true',
      })
      response.end(JSON.stringify({ home: 'http://www.a.example/' }))
      return
    case 'POST www.a.example/findings':
      response.end()
      onFindings(body)
      return
    default:
      response.writeHead(404).end()
  }
}

test('a cloned site works in Chromium', { timeout: TIMEOUT_MS }, async (context) => {
  const chromium = findChromium()
  if (chromium === undefined) return context.skip(CHROMIUM_MISSING)
  let onFindings: (text: string) => void = () => {}
  const posted = new Promise<string>((resolve) => {
    onFindings = resolve
  })
  const server = createServer((request, response) => {
    origin(request, response, onFindings).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const folder = mkdtempSync(join(tmpdir(), 'prexy-clone-'))
  const file = join(folder, 'prexy.yaml')
  writeFileSync(file, configuration(address.port))
  const prexy = await startPrexyServer(['serve', file])
  const resolve = `--host-resolver-rules=MAP *.b.test 127.0.0.1:${prexy.port}`
  try {
    const findings: unknown = JSON.parse(await browse(chromium, 'http://www.b.test/', posted, [resolve]))
    // The findings are a body too, so what the page knows of its own name came to the origin as the origin's.
    expect(findings).toEqual({
      me: { home: 'http://www.a.example/' },
      app: 'http://static.a.example/',
      at: 'http://www.a.example/home?from=form',
      who: 'http://www.a.example/',
      cookie: 'seen=POST',
    })
    expect(refused).toEqual([])
  } finally {
    await prexy.stop()
    rmSync(folder, { recursive: true })
    server.closeAllConnections()
    server.close()
  }
})
