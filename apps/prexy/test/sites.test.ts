/** Which site and which route takes a request, redirects and answers of prexy itself, from files to sockets. */
import { describe, expect, test } from 'vitest'
import { serveFiles } from './serve-files.ts'

const FILES = {
  'prexy.yaml': `include: sites/*.yaml
upstream: $ORIGIN
rules: [{text: GET, with: default, types: '*'}]
routes:
  - {host: api.example, path: /v1/**, respond: {body: 'file route'}}
`,
  'sites/exact.yaml': `host: www.a.example
rules: [{text: GET, with: exact, types: '*'}]
`,
  'sites/long.yaml': `host: '*.b.a.example'
rules: [{text: GET, with: long, types: '*'}]
`,
  'sites/short.yaml': `host: ['*.a.example', c.example]
rules: [{text: GET, with: short, types: '*'}]
routes:
  - {path: /post, method: POST, respond: {status: 201, body: made, headers: {X-Own: 'yes'}}}
  - {path: /get, method: GET, respond: {body: got}}
  - {path: /beta, header: {X-Beta: '1*'}, respond: {body: beta}}
  - {path: /old/**, redirect: 'https://new.example\${path}'}
  - {path: /temp, redirect: {to: '/here?a=1#top', status: 307}}
  - {path: /bare, redirect: {to: '\${scheme}://\${host}/x', keepQuery: false, status: 301}}
  - {path: /file, respond: {file: ../page.html, status: 200}}
  - {path: /none, respond: {status: 204}}
  - {path: /json, respond: {body: '{"a":1}', type: application/json, headers: {Cache-Control: max-age=60}}}
`,
  'sites/closed.yaml': `host: closed.example
routes: [{path: /open, upstream: $ORIGIN}]
`,
  'page.html': '<p>ä</p>',
}

test('a name goes before a pattern, a longer pattern before a shorter one, and both before the rest', async () => {
  await using served = await serveFiles(FILES)
  const word = async (host: string): Promise<string> => (await served.ask(`${host}/`)).body.split(' ')[0]
  expect(await word('www.a.example')).toBe('exact')
  expect(await word('WWW.A.example:8080')).toBe('exact')
  expect(await word('www.a.example.')).toBe('exact')
  expect(await word('x.b.a.example')).toBe('long')
  expect(await word('y.x.b.a.example')).toBe('long')
  expect(await word('b.a.example')).toBe('short')
  expect(await word('other.a.example')).toBe('short')
  expect(await word('c.example')).toBe('short')
  expect(await word('a.example')).toBe('default')
  expect(await word('xa.example')).toBe('default')
  expect((await served.ask('api.example/v1/x')).body).toBe('file route')
  expect(await word('api.example')).toBe('default')
})

describe('within a site the first route that fits takes the request', () => {
  test.each([
    ['GET', '/post', {}, 200, /^short \/post$/],
    ['POST', '/post', {}, 201, /^made$/],
    ['HEAD', '/get', {}, 200, /^$/],
    ['GET', '/get', {}, 200, /^got$/],
    ['GET', '/beta', { 'X-Beta': '12' }, 200, /^beta$/],
    ['GET', '/beta', { 'X-Beta': '2' }, 200, /^short/],
    ['GET', '/beta', {}, 200, /^short/],
  ])('%s %s %j', async (method, path, headers, status, body) => {
    await using served = await serveFiles(FILES)
    const answer = await served.ask(`c.example${path}`, { method, headers })
    expect([answer.status, answer.body]).toEqual([status, expect.stringMatching(body)])
  })

  test('caches are told of the fields by which routes are told apart', async () => {
    await using served = await serveFiles(FILES)
    expect((await served.ask('c.example/beta')).headers.vary?.toLowerCase()).toContain('x-beta')
  })
})

describe('redirects', () => {
  test.each([
    ['/old/a%20b?q=1', 302, 'https://new.example/old/a%20b?q=1'],
    ['/old/', 302, 'https://new.example/old/'],
    ['/temp?b=2', 307, '/here?a=1&b=2#top'],
    ['/temp', 307, '/here?a=1#top'],
    ['/bare?q=1', 301, 'http://c.example/x'],
  ])('%s', async (path, status, location) => {
    await using served = await serveFiles(FILES)
    const answer = await served.ask(`c.example${path}`)
    expect([answer.status, answer.headers.location]).toEqual([status, location])
  })
})

describe('answers of prexy itself', () => {
  test('a file, its length and its type', async () => {
    await using served = await serveFiles(FILES)
    const { status, headers, body } = await served.ask('c.example/file')
    expect([status, headers['content-type'], headers['content-length']]).toEqual([200, 'text/html; charset=utf-8', '9'])
    expect(Buffer.from(body, 'latin1').toString()).toBe('<p>ä</p>')
  })
  test('a status without a body', async () => {
    await using served = await serveFiles(FILES)
    const { status, headers } = await served.ask('c.example/none')
    expect([status, headers['content-length'], headers['content-type']]).toEqual([204, undefined, undefined])
  })
  test('fields of its own, also those about caches', async () => {
    await using served = await serveFiles(FILES)
    const { headers, body } = await served.ask('c.example/json')
    expect([headers['content-type'], headers['cache-control'], body]).toEqual([
      'application/json',
      'max-age=60',
      '{"a":1}',
    ])
  })
  test('the event names the route', async () => {
    await using served = await serveFiles(FILES)
    await served.ask('c.example/none')
    expect(served.events.map(({ route, outcome }) => [route, outcome])).toEqual([['*.a.example /none', 'answered']])
  })
})

test('a site without anything for a path answers 404, an unknown host 421', async () => {
  await using served = await serveFiles({ ...FILES, 'prexy.yaml': 'include: sites/closed.yaml\n' })
  expect((await served.ask('closed.example/open')).status).toBe(200)
  expect((await served.ask('closed.example/other')).status).toBe(404)
  expect((await served.ask('other.example/open')).status).toBe(421)
})

test('more sets than may be compiled at one time are compiled when they are needed, equal ones once', async () => {
  const sites = Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [
      `sites/${n}.yaml`,
      `host: s${n}.example\nrules: [{text: GET, with: 'n${n % 6}', types: '*'}]\n`,
    ]),
  )
  const broken = { 'sites/broken.yaml': "host: broken.example\nrules: [{regex: '(', with: ''}]\n" }
  await using served = await serveFiles({
    ...sites,
    ...broken,
    'prexy.yaml': 'include: sites/*.yaml\nupstream: $ORIGIN\nlimits: {maxCompiledRuleSets: 2}\n',
  })
  for (const round of [1, 2]) {
    for (let n = 0; n < 12; n++) {
      const { body } = await served.ask(`s${n}.example/${round}`)
      expect(body).toBe(`n${n % 6} /${round}`)
    }
  }
  // A rule that does not compile fails its own site only.
  expect((await served.ask('broken.example/')).status).toBe(500)
  expect((await served.ask('s0.example/')).status).toBe(200)
})

test('a site is mounted under a path, both ways', async () => {
  const seen: unknown[] = []
  await using served = await serveFiles(
    {
      'prexy.yaml': `sites:
  - host: a.example
    upstream: $ORIGIN
    routes:
      - {mount: /shop}
      - {mount: {at: /blog, to: /wp}, headers: {response: [{remove: X-Robots-Tag}]}}
      - {path: /never, mount: /elsewhere}
`,
    },
    {
      origin: (message, response) => {
        seen.push([message.url, message.headers['x-forwarded-prefix']])
        response.setHeader('Location', '/wp/next?x')
        response.setHeader('Set-Cookie', ['a=1; Path=/', 'b=2; Path=/wp/x'])
        response.end('ok')
      },
    },
  )
  const shop = await served.ask('a.example/shop/a%20b?q=1', { headers: { 'X-Forwarded-Prefix': '/evil' } })
  expect([shop.headers.location, shop.headers['set-cookie']]).toEqual([
    '/shop/wp/next?x',
    ['a=1; Path=/shop', 'b=2; Path=/shop/wp/x'],
  ])
  const blog = await served.ask('a.example/blog')
  expect([blog.headers.location, blog.headers['set-cookie']]).toEqual([
    '/blog/next?x',
    ['a=1; Path=/blog', 'b=2; Path=/blog/x'],
  ])
  await served.ask('a.example/other')
  expect((await served.ask('a.example/never')).status).toBe(404)
  expect(seen).toEqual([
    ['/a%20b?q=1', '/shop'],
    ['/wp', '/blog'],
    ['/other', undefined],
  ])
  expect(served.events.map(({ fieldEdits }) => fieldEdits?.response)).toEqual([
    ['location', 'set-cookie'],
    ['location', 'set-cookie'],
    undefined,
    undefined,
  ])
})
