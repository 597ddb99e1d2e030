/** Staging copies: who may see them, how often, and what the others are shown; from files to sockets. */
import { createConnection } from 'node:net'
import { describe, expect, test } from 'vitest'
import { hashPassword } from '@prexy/proxy/password-check'
import { runPrexy } from './run-prexy.ts'
import { serveFiles } from './serve-files.ts'

const authorization = (pair: string): { Authorization: string } => ({
  Authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
})

describe('passwords', () => {
  test('are asked for, checked, and kept from the upstream', async () => {
    const environment = { STAGING: await hashPassword('let me in') }
    const seen: (string | undefined)[] = []
    await using served = await serveFiles(
      {
        'prexy.yaml': `upstream: $ORIGIN
access:
  basicAuth: {realm: Staging, users: {ann: '\${env:STAGING}'}}
routes: [{path: /open, access: {basicAuth: off}}]
`,
      },
      {
        environment,
        origin: (message, response) => {
          seen.push(message.headers.authorization)
          response.end('in')
        },
      },
    )
    const none = await served.ask('a.example/')
    expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Basic realm="Staging", charset="UTF-8"'])
    expect((await served.ask('a.example/', { headers: authorization('ann:wrong') })).status).toBe(401)
    expect((await served.ask('a.example/', { headers: authorization('bob:let me in') })).status).toBe(401)
    expect((await served.ask('a.example/', { headers: authorization('ann:let me in') })).body).toBe('in')
    expect((await served.ask('a.example/', { headers: authorization('ann:let me in') })).body).toBe('in')
    expect((await served.ask('a.example/open', { headers: authorization('other:kind') })).body).toBe('in')
    expect(seen).toEqual([undefined, undefined, authorization('other:kind').Authorization])
  })

  test('a body that comes meanwhile arrives whole', async () => {
    const environment = { STAGING: await hashPassword('x') }
    await using served = await serveFiles(
      { 'prexy.yaml': "upstream: $ORIGIN\naccess: {basicAuth: {users: {ann: '${env:STAGING}'}}}\n" },
      {
        environment,
        origin: (message, response) => {
          let bytes = 0
          message.on('data', (chunk: Buffer) => {
            bytes += chunk.length
          })
          message.on('end', () => response.end(String(bytes)))
        },
      },
    )
    const answer = await served.ask('a.example/', {
      method: 'POST',
      headers: authorization('ann:x'),
      body: 'b'.repeat(300_000),
    })
    expect([answer.status, answer.body]).toEqual([200, '300000'])
    expect(
      (await served.ask('a.example/', { method: 'POST', headers: authorization('ann:y'), body: 'b' })).status,
    ).toBe(401)
  })

  test('a hash that is none is an error that does not show it', async () => {
    const yaml = "upstream: $ORIGIN\naccess: {basicAuth: {users: {ann: '${env:STAGING}'}}}\n"
    const broken = serveFiles({ 'prexy.yaml': yaml }, { environment: { STAGING: 'canary' } })
    await expect(broken).rejects.toThrow('prexy.yaml:2:35: access.basicAuth.users.ann: is no hash of a password')
    await expect(broken).rejects.not.toThrow('canary')
  })

  test('prexy password hashes what it is given', async () => {
    const { code, stdout } = await runPrexy(['password'], 'geheim\n')
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^\$scrypt\$ln=15,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}\n$/),
    ])
    expect((await runPrexy(['password'], '\n')).code).toBe(2)
  })
})

describe('addresses and rates', () => {
  test('lists, inherited field by field', async () => {
    await using served = await serveFiles({
      'prexy.yaml': `upstream: $ORIGIN
access: {allow: 127.0.0.0/8, deny: 127.0.0.9}
sites:
  - {host: a.example}
  - {host: b.example, access: {allow: 192.0.2.0/24}}
  - {host: c.example, access: {deny: []}}
`.replace('deny: []', 'deny: 192.0.2.1'),
    })
    const status = async (host: string, localAddress: string): Promise<number> =>
      (await served.ask(`${host}/`, { localAddress })).status
    expect(await status('a.example', '127.0.0.1')).toBe(200)
    expect(await status('a.example', '127.0.0.9')).toBe(403)
    expect(await status('b.example', '127.0.0.1')).toBe(403)
    expect(await status('c.example', '127.0.0.9')).toBe(200)
  })

  test('the address is what a trusted proxy says, and nobody else', async () => {
    const files = (trusted: string): Record<string, string> => ({
      'prexy.yaml': `upstream: $ORIGIN\naccess: {allow: 192.0.2.0/24}\n${trusted}`,
    })
    const headers = { 'X-Forwarded-For': '192.0.2.7' }
    await using open = await serveFiles(files(''))
    expect((await open.ask('a.example/', { headers })).status).toBe(403)
    await using behind = await serveFiles(files('trustedProxies: 127.0.0.1\n'))
    expect((await behind.ask('a.example/', { headers })).status).toBe(200)
    expect((await behind.ask('a.example/', { headers: { 'X-Forwarded-For': '192.0.2.7, 198.51.100.1' } })).status).toBe(
      403,
    )
    expect((await behind.ask('a.example/')).status).toBe(403)
  })

  test('one client that asks too often is told when to come again, others are served', async () => {
    await using served = await serveFiles({
      'prexy.yaml': `upstream: $ORIGIN
access: {rateLimit: {requests: 2, seconds: 100}}
sites: [{host: a.example}, {host: b.example, access: {rateLimit: {requests: 1, seconds: 100}}}, {host: c.example, access: {rateLimit: off}}]
`,
    })
    const ask = async (host: string, localAddress = '127.0.0.1'): Promise<[number, string | undefined]> => {
      const { status, headers } = await served.ask(`${host}/`, { localAddress })
      return [status, headers['retry-after']]
    }
    expect(await ask('a.example')).toEqual([200, undefined])
    // Those that take the limit from above share it.
    expect(await ask('x.example')).toEqual([200, undefined])
    expect(await ask('a.example')).toEqual([429, '50'])
    expect(await ask('a.example', '127.0.0.2')).toEqual([200, undefined])
    expect(await ask('b.example')).toEqual([200, undefined])
    expect(await ask('b.example')).toEqual([429, '100'])
    expect(await ask('c.example')).toEqual([200, undefined])
    expect(served.events.filter(({ status }) => status === 429).map(({ detail }) => detail)).toEqual([
      'rateLimit of the file',
      'rateLimit of b.example',
    ])
  })
})

describe('what others are shown', () => {
  const files = {
    'prexy.yaml': `robots: noindex, nofollow
errorPages: {404: {body: 'none: \${status} \${reason}'}, 5xx: pages/sorry.html}
sites:
  - {host: down.example, upstream: 'http://127.0.0.1:1'}
  - {host: closed.example, upstream: $ORIGIN, maintenance: true}
  - host: moving.example
    upstream: $ORIGIN
    maintenance: {page: {body: '<p>back soon'}, retryAfterSeconds: 60, allow: 127.0.0.2}
  - {host: part.example, routes: [{path: /x, upstream: $ORIGIN}]}
  - {host: open.example, upstream: $ORIGIN, errorPages: {502: {body: own}}}
`,
    'pages/sorry.html': '<h1>${status}</h1>',
  }
  test('pages for errors, by status and class, from the file that says them', async () => {
    await using served = await serveFiles(files)
    const down = await served.ask('down.example/')
    expect([down.status, down.headers['content-type'], down.body]).toEqual([
      502,
      'text/html; charset=utf-8',
      '<h1>502</h1>',
    ])
    expect(down.headers['cache-control']).toBe('no-store')
    const none = await served.ask('part.example/y')
    expect([none.status, none.body]).toEqual([404, 'none: 404 Not Found'])
    expect((await served.ask('down.example/', { method: 'HEAD' })).body).toBe('')
  })
  test('a site that is closed, but for some', async () => {
    await using served = await serveFiles(files)
    const closed = await served.ask('closed.example/')
    expect([closed.status, closed.headers['retry-after'], closed.body]).toEqual([503, '600', '<h1>503</h1>'])
    const moving = await served.ask('moving.example/')
    expect([moving.status, moving.headers['retry-after'], moving.body]).toEqual([503, '60', '<p>back soon'])
    expect((await served.ask('moving.example/', { localAddress: '127.0.0.2' })).status).toBe(200)
  })
  test('search engines are told to stay away, with every response', async () => {
    await using served = await serveFiles(files, {
      origin: (_message, response) => {
        response.setHeader('X-Robots-Tag', 'all')
        response.end('page')
      },
    })
    for (const host of ['open.example', 'closed.example', 'down.example']) {
      expect((await served.ask(`${host}/`)).headers['x-robots-tag']).toBe('noindex, nofollow')
    }
  })
})

test('a client that goes away while its password is checked leaves nothing behind', async () => {
  const environment = { STAGING: await hashPassword('x') }
  await using served = await serveFiles(
    { 'prexy.yaml': "upstream: $ORIGIN\naccess: {basicAuth: {users: {ann: '${env:STAGING}'}}}\n" },
    { environment },
  )
  const socket = createConnection(served.port, '127.0.0.1')
  const { Authorization } = authorization('ann:x')
  await new Promise<void>((resolve) => {
    socket.write(`GET / HTTP/1.1\r\nHost: a.example\r\nAuthorization: ${Authorization}\r\n\r\n`, () => {
      socket.destroy()
      resolve()
    })
  })
  expect((await served.ask('a.example/', { headers: { Authorization } })).status).toBe(200)
})
