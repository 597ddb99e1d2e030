/**
 * Debian's nginx and prexy with the configuration that was imported from it, side by side on one origin: the same bytes
 * and the same heads, for a table of servers and pages.
 */
import { once } from 'node:events'
import { createServer, request, type RequestListener } from 'node:http'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Nginx, NGINX_HTTP, NGINX_PREAMBLE, nginxModule, startNginxFile } from '@prexy/testing/nginx'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, expect, it } from 'vitest'

const PREXY = fileURLToPath(new URL('../apps/prexy/bin/prexy.mjs', import.meta.url))

interface Page {
  readonly type?: string
  readonly body: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sizes of the pieces in which the origin sends it; without them at once. */
  readonly pieces?: number
}

const LONG = `<p>Acme and ACME, foo/bar at http://old.example/x, 12 apples</p>\n${'filler '.repeat(40)}\n`.repeat(60)

/** What the origin has; a text of latin-1 characters, an octet each. */
const PAGES: Readonly<Record<string, Page>> = {
  '/page.html': {
    type: 'text/html',
    body: '<head>\n</head>\n<body>Acme acme ACME foo foobar\nfoo old.example</body>\n',
  },
  '/long.html': { type: 'text/html; charset=utf-8', body: LONG, pieces: 1_000 },
  '/octets.html': {
    type: 'text/html',
    body: 'caf\u00e9 Acme \u00ff\u00fe foo\r\n\u00c3\u00a9 acm\u00e9\n\n\nlast foo.',
  },
  '/cut.html': { type: 'text/html', body: 'foo foo' },
  '/style.css': { type: 'text/css', body: 'a { color: Acme } /* foo foo */\n' },
  '/data.json': { type: 'application/json', body: '{"a":"Acme","u":"http:\\/\\/old.example\\/"}' },
  '/plain.txt': { type: 'text/plain', body: 'Acme foo\n' },
  '/untyped': { body: 'Acme foo\n' },
  '/empty.html': { type: 'text/html', body: '' },
  '/missing.html': { type: 'text/html', body: 'no Acme foo here', status: 404 },
  '/moved': { body: '', status: 302, headers: { location: 'http://ORIGIN/page.html?q=1' } },
  '/elsewhere': { body: '', status: 301, headers: { location: 'https://other.example/Acme' } },
  '/dated.html': { type: 'text/html', body: 'Acme', headers: { 'last-modified': 'Wed, 20 Nov 2013 05:30:35 GMT' } },
  '/cookie': { type: 'text/plain', body: 'x', headers: { 'set-cookie': 'a=b; Domain=old.example; Path=/x/y' } },
  '/seen': { type: 'text/plain', body: 'REQUEST' },
  '/api/page.html': { type: 'text/html', body: 'api Acme foo' },
  '/adm/page.html': { type: 'text/html', body: 'adm Acme foo' },
  '/adm/pic.png': { type: 'text/html', body: 'adm pic Acme foo' },
  '/pic.png': { type: 'text/html', body: 'pic Acme foo' },
  '/PIC.PNG': { type: 'text/html', body: 'PIC Acme foo' },
  '/a.php': { type: 'text/html', body: 'php Acme foo' },
}

interface Site {
  /** Inside its `server`; `ORIGIN` is the address of the origin. */
  readonly server: string
  /** Pages that are compared. Without them: all. */
  readonly pages?: readonly string[]
  /** The bodies of nginx and of prexy, where they are not the same on purpose. */
  readonly differs?: readonly [nginx: string, prexy: string]
  /** Only where the module of subs_filter is installed. */
  readonly needsSubs?: true
}

const PASS = 'proxy_pass http://ORIGIN; proxy_set_header Accept-Encoding "";'

const SITES: Readonly<Record<string, Site>> = {
  'nothing but a proxy': { server: `location / { ${PASS} }` },
  'sub_filter once, ASCII letter case ignored': { server: `location / { ${PASS} sub_filter acme Zenith; }` },
  'sub_filter off, several texts, the first in the file wins': {
    server: `sub_filter_once off; sub_filter foobar 1; sub_filter foo 2; sub_filter 'acme' ''; location / { ${PASS} }`,
    pages: Object.keys(PAGES).filter((path) => PAGES[path]?.body.endsWith('foo') !== true),
  },
  // nginx lets go what might have become a longer text when the body ends, without looking for the shorter ones in it.
  'sub_filter: a text that begins as an earlier one, at the end of a body': {
    server: `sub_filter_once off; sub_filter foobar 1; sub_filter foo 2; location / { ${PASS} }`,
    pages: ['/cut.html'],
    differs: ['2 foo', '2 2'],
  },
  'sub_filter: a shorter text first': {
    server: `sub_filter_once off; sub_filter foo 2; sub_filter foobar 1; sub_filter oo 3; location / { ${PASS} }`,
  },
  'sub_filter once, of several': {
    server: `sub_filter foo 2; sub_filter oob 3; sub_filter acme 4; sub_filter f 5; location / { ${PASS} }`,
  },
  sub_filter_types: {
    server: `sub_filter_types text/css application/json; sub_filter_once off; sub_filter acme X; location / { ${PASS} }`,
  },
  'sub_filter_types *': {
    server: `sub_filter_types *; sub_filter_once off; sub_filter acme X; location / { ${PASS} }`,
  },
  'sub_filter with quotes, escapes, a line feed and dollar signs of set': {
    server: `set $brand "Zen\\"ith"; sub_filter_once off; sub_filter "foo\\nfoo" '$brand \\'x\\''; sub_filter acme "\\t\${brand}!";
      location / { ${PASS} }`,
  },
  'sub_filter with variables of the request': {
    server: `sub_filter_once off; sub_filter acme '[$http_x_test $cookie_c $request_method $args $http_host]'; location / { ${PASS} }`,
  },
  'sub_filter that looks for non-ASCII octets': {
    server: `sub_filter_once off; sub_filter 'é acm' X; sub_filter 'foo' 'é'; location / { ${PASS} }`,
  },
  'sub_filter_last_modified off': { server: `sub_filter acme X; location / { ${PASS} }`, pages: ['/dated.html'] },
  'a location with a filter of its own has none of the server': {
    server: `sub_filter acme OUTER; sub_filter_once off; location / { ${PASS} } location /api/ { ${PASS} sub_filter foo INNER; }`,
  },
  'order of locations': {
    server: `sub_filter_once off;
      location / { ${PASS} sub_filter foo root; }
      location /adm { ${PASS} sub_filter foo adm; }
      location ^~ /api/ { ${PASS} sub_filter foo api; }
      location ~* \\.(png|jpe?g)$ { ${PASS} sub_filter foo pic; }
      location ~ \\.php$ { ${PASS} sub_filter foo php; }
      location = /page.html { ${PASS} sub_filter foo exact; }`,
  },
  return: {
    server: `location / { ${PASS} } location = /page.html { return 301 /page; } location /style.css { return 404; }
      location = /plain.txt { return 200 "hello\\n"; } location /data { return 302 https://new.example$request_uri; }
      location = /a.php { return 303 http://new.example/x; }`,
  },
  'paths that are others for the origin': {
    server: `location /api/ { ${PASS.replace('ORIGIN', 'ORIGIN/adm/')} sub_filter foo X; }
      location /x/ { ${PASS.replace('ORIGIN', 'ORIGIN/')} } location / { ${PASS.replace('ORIGIN', 'ORIGIN/')} }`,
    pages: [
      '/api/page.html',
      '/api/pic.png',
      '/x/page.html',
      '/x/',
      '/x/api/page.html',
      '/x/moved',
      '/page.html',
      '/seen',
    ],
  },
  'access lists': {
    server: `location / { ${PASS} allow 127.0.0.1; deny all; } location /api/ { ${PASS} deny 127.0.0.0/8; }
      location /adm/ { deny all; ${PASS} }`,
  },
  'header fields': {
    server: `location / { ${PASS} proxy_set_header Host shop.internal; proxy_set_header X-Custom "a $request_method"; proxy_set_header Cookie "";
      proxy_hide_header X-Secret; add_header X-Added "v 1"; add_header X-Always w always; }
      location /seen { proxy_pass http://ORIGIN; proxy_set_header Host $http_host; }`,
  },
  'redirects of the origin': { server: `location / { ${PASS} }`, pages: ['/moved', '/elsewhere'] },
  'proxy_redirect off': { server: `location / { ${PASS} proxy_redirect off; }`, pages: ['/moved', '/elsewhere'] },
  proxy_redirect: {
    server: `location / { ${PASS} proxy_redirect https://other.example/ /moved-here/; proxy_redirect ~^http://([^/]+)/page(.*)$ /p$2; }`,
    pages: ['/moved', '/elsewhere'],
  },
  cookies: {
    server: `location / { ${PASS} proxy_cookie_domain old.example new.example; proxy_cookie_path /x/ /z/; }`,
    pages: ['/cookie'],
  },
  subs_filter: {
    needsSubs: true,
    server: `location / { ${PASS} subs_filter foo bar; subs_filter acme X i; subs_filter 'a(p+)les' '[$1]' r; }`,
  },
  'subs_filter: once, and types': {
    needsSubs: true,
    server: `subs_filter_types text/css text/plain; location / { ${PASS} subs_filter foo bar o; subs_filter '^(.)cme' '<$1>' ir; }`,
  },
  'subs_filter: ends of lines': {
    needsSubs: true,
    server: `location / { ${PASS} subs_filter 'foo$' END r; subs_filter '[0-9]+ ' '#' r; }`,
  },
  'subs_filter: variables': {
    needsSubs: true,
    server: `set $x 'a&b'; location / { ${PASS} subs_filter foo '$x $http_x_test'; subs_filter 'A(c)me' '$1\${x}' r; }`,
  },
  subs_filter_bypass: {
    needsSubs: true,
    server: `location / { ${PASS} subs_filter foo bar; subs_filter_bypass $http_x_test; }`,
  },
  'sub_filter with an upstream block': {
    server: `location / { proxy_pass http://backend; proxy_set_header Accept-Encoding ""; sub_filter acme X; }`,
    pages: ['/page.html', '/long.html', '/seen'],
  },
}

const missing = missingPrograms('nginx')
const subs = missing === undefined ? nginxModule('ngx_http_subs_filter_module') : undefined

interface Answer {
  readonly status: number
  readonly body: string
  readonly fields: Readonly<Record<string, string>>
}

/** Fields that may be different: of the connection and the framing, of the moment, and validators, of which ours are made anew. */
const OWN_FIELDS =
  /^(?:connection|keep-alive|transfer-encoding|content-length|date|server|etag|via|vary|accept-ranges|retry-after|cache-control)$/

function ask(port: number, host: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { host: `${host}:${port}`, 'x-test': 'on', cookie: 'c=crumb', 'x-remove': '1' }
    const asked = request({ host: '127.0.0.1', port, path: `${path}?q=1&r=2`, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const fields: Record<string, string> = {}
        for (const [name, value] of Object.entries(response.headers)) {
          // The two listen on ports of their own.
          if (!OWN_FIELDS.test(name)) fields[name] = String(value).replaceAll(`:${port}`, ':PORT')
        }
        const body = Buffer.concat(chunks).toString('latin1').replaceAll(`:${port}`, ':PORT')
        resolve({ status: response.statusCode ?? 0, body, fields })
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

const serve: RequestListener = (asked, response) => {
  const path = (asked.url ?? '').split('?')[0]
  const page = PAGES[path]
  if (page === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page')
    return
  }
  const origin = `127.0.0.1:${asked.socket.localPort}`
  const fields: Record<string, string> = { 'x-secret': 'hidden', 'x-kept': 'Acme' }
  if (page.type !== undefined) fields['content-type'] = page.type
  for (const [name, value] of Object.entries(page.headers ?? {})) fields[name] = value.replace('ORIGIN', origin)
  const { host, cookie } = asked.headers
  const seen = `host=${host ?? ''} cookie=${cookie ?? ''} custom=${String(asked.headers['x-custom'])} forwarded=${String(asked.headers['x-forwarded-for'])}`
  const body = Buffer.from(page.body.replace('REQUEST', seen), 'latin1')
  response.writeHead(page.status ?? 200, fields)
  const { pieces = body.length + 1 } = page
  for (let at = 0; at < body.length; at += pieces) response.write(body.subarray(at, at + pieces))
  response.end()
}

if (missing !== undefined) {
  it('nginx and what is imported from it', (context) => context.skip(missing))
} else {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-import-'))
  const origin = createServer(serve)
  const chosen = Object.entries(SITES).filter(([, site]) => site.needsSubs !== true || subs !== undefined)
  const hostOf = (index: number): string => `site${index}.test`
  let nginx: Nginx
  let prexy: PrexyServer
  let told = ''

  beforeAll(async () => {
    origin.listen(0, '127.0.0.1')
    await once(origin, 'listening')
    const address = origin.address()
    const at = typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : ''
    nginx = await startNginxFile(folder, (port) => {
      const servers = chosen.map(
        ([name, { server }], index) => `  server {
    # ${name}
    listen 127.0.0.1:${port};
    server_name ${hostOf(index)};
    ${server.replaceAll('ORIGIN', at)}
  }`,
      )
      const load = subs === undefined ? '' : `load_module ${subs};\n`
      return `${load}${NGINX_PREAMBLE}http {\n  access_log off;\n${NGINX_HTTP}
  upstream backend { server ${at}; keepalive 4; }
${servers.join('\n')}
}
`
    })
    const output = join(folder, 'prexy.yaml')
    const made = spawnSync(process.execPath, [
      PREXY,
      'import',
      'nginx',
      join(folder, 'nginx/nginx.conf'),
      '--output',
      output,
    ])
    told = made.stderr.toString()
    if (made.status === 2) throw new Error(told)
    const checked = spawnSync(process.execPath, [PREXY, 'check', output])
    expect([checked.status, checked.stdout.toString()]).toEqual([0, expect.stringContaining(': ok: ')])
    prexy = await startPrexyServer(['serve', output, '--listen', '127.0.0.1:0', '--log', 'off'])
    // Three starts of a program, on a machine that does other things, too.
  }, 60_000)
  afterAll(async () => {
    await Promise.all([nginx?.stop(), prexy?.stop()])
    origin.closeAllConnections()
    origin.close()
    rmSync(folder, { recursive: true })
  })

  if (subs === undefined) {
    it('subs_filter', (context) =>
      context.skip('no module of it; on Debian: apt-get install libnginx-mod-http-subs-filter'))
  }

  it('carries everything of these servers over', () => {
    expect(told).not.toContain('not carried over')
    expect(readFileSync(join(folder, 'prexy.yaml'), 'utf8')).toContain('sites:')
  })

  it.each(chosen.map(([name, site], index) => [name, site, index] as const))('%s', async (_, site, index) => {
    for (const path of site.pages ?? Object.keys(PAGES)) {
      const [wanted, got] = await Promise.all([nginx.port, prexy.port].map((port) => ask(port, hostOf(index), path)))
      if (site.differs !== undefined) {
        expect([wanted.body, got.body]).toEqual(site.differs)
        continue
      }
      // The page of an answer that nginx gives by itself has words of its own.
      const isOwnPage = wanted.body.includes('<center>nginx')
      if (isOwnPage) expect([path, got.status]).toEqual([path, wanted.status])
      else expect({ path, ...got }).toEqual({ path, ...wanted })
    }
  })
}
