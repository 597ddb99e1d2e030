/** Domain rules on header fields, through a running proxy: what makes a cloned site work. */
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import type { Rule } from '@prexy/rewrite/rules'
import { connectRawClient } from '@prexy/testing/raw-client'
import { answering, plainResponse, type OriginConnection } from '@prexy/testing/raw-origin'
import { describe, expect, it, test } from 'vitest'
import type { RouteConfig, UpstreamConfig } from '../src/proxy-config.ts'
import { startProxy } from '../src/start-proxy.ts'
import { setUp } from './harness.ts'

const rules: readonly Rule[] = [{ domain: 'a.example', to: 'b.test', subdomains: 'keep' }]

function respond(...lines: readonly string[]): (connection: OriginConnection) => Promise<void> {
  return answering(() => Buffer.from(`HTTP/1.1 302 Found\r\n${lines.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`))
}

const get = (...lines: readonly string[]): string => `GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`

describe('a response to a client that knows the copy', () => {
  it('names the copy in its fields, whatever it is', async () => {
    await using setup = await setUp({
      rules,
      script: respond(
        'Location: https://www.a.example:8443/login?next=https%3A%2F%2Fa.example%2F',
        'Set-Cookie: s=1; Domain=.a.example; Path=/; Secure; HttpOnly',
        'Set-Cookie: t=1; Path=/',
        'Access-Control-Allow-Origin: https://a.example',
        "Content-Security-Policy: default-src 'self' *.a.example",
        'Alt-Svc: h3=":443"',
        'Link: <https://cdn.a.example/>; rel=preconnect',
        'X-Note: a.example',
      ),
    })
    const client = await setup.connect()
    await client.send(get('Host: b.test'))
    const response = await client.readResponse('GET')
    expect(response.status).toBe(302)
    expect(response.value('location')).toBe('https://www.b.test:8443/login?next=https%3A%2F%2Fb.test%2F')
    expect(response.values('set-cookie')).toEqual(['s=1; Domain=b.test; Path=/; Secure; HttpOnly', 't=1; Path=/'])
    expect(response.value('access-control-allow-origin')).toBe('https://b.test')
    expect(response.value('content-security-policy')).toBe("default-src 'self' *.b.test")
    expect(response.value('alt-svc')).toBeUndefined()
    expect(response.value('link')).toBe('<https://cdn.b.test/>; rel=preconnect')
    expect(response.value('x-note')).toBe('a.example')
    expect((await setup.event(1)).fieldEdits).toEqual({
      request: ['host'],
      response: ['location', 'set-cookie', 'access-control-allow-origin', 'content-security-policy', 'alt-svc', 'link'],
    })
  })

  it('is mapped in interim responses, 304s and answers to HEAD, too', async () => {
    const link = 'Link: <https://a.example/s.css>; rel=preload'
    await using setup = await setUp({
      rules,
      script: answering((request) =>
        Buffer.from(
          request.method === 'HEAD'
            ? `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n${link}\r\nContent-Length: 9\r\n\r\n`
            : `HTTP/1.1 103 Early Hints\r\n${link}\r\n\r\nHTTP/1.1 304 Not Modified\r\n${link}\r\n\r\n`,
        ),
      ),
    })
    const client = await setup.connect()
    await client.send('HEAD / HTTP/1.1\r\nHost: b.test\r\n\r\n')
    expect((await client.readResponse('HEAD')).value('link')).toContain('https://b.test/s.css')
    await client.send(get('Host: b.test'))
    expect((await client.readResponse('GET')).value('link')).toContain('https://b.test/s.css')
    expect((await client.readResponse('GET')).value('link')).toContain('https://b.test/s.css')
  })

  it('is left alone without domain rules', async () => {
    await using setup = await setUp({
      rules: [{ text: 'a.example', with: 'b.test' }],
      script: respond('Location: https://a.example/', 'Set-Cookie: s=1; Domain=a.example', 'Alt-Svc: h3=":443"'),
    })
    const client = await setup.connect()
    const response = await client.get('/')
    expect(response.value('location')).toBe('https://a.example/')
    expect(response.value('set-cookie')).toBe('s=1; Domain=a.example')
    expect(response.value('alt-svc')).toBe('h3=":443"')
    expect(setup.events[0]).not.toHaveProperty('fieldEdits')
  })

  test.each([
    ['/shop/x', 'https://b.test/'],
    ['/other', 'https://a.example/'],
  ])('only where the conditions of a rule hold: %s', async (path, location) => {
    await using setup = await setUp({
      rules: [
        { domain: 'a.example', to: 'b.test', paths: ['/shop/**'], types: ['text/html'], status: [200], once: true },
      ],
      script: respond('Location: https://a.example/'),
    })
    expect((await (await setup.connect()).get(path)).value('location')).toBe(location)
  })
})

describe('a request of a client that knows the copy', () => {
  /** What the origin reads of the request, in order. */
  async function seen(
    lines: readonly string[],
    route: { preserveHost?: boolean } = {},
    siteRules: readonly Rule[] = rules,
  ): Promise<{ value: (name: string) => string | undefined; authority: string; edits: unknown }> {
    await using setup = await setUp({
      rules: siteRules,
      route,
      script: answering(() => plainResponse('ok')),
    })
    const client = await setup.connect()
    await client.send(get(...lines))
    await client.readResponse('GET')
    return {
      value: (name) => setup.origin.requests[0].value(name),
      authority: `127.0.0.1:${setup.origin.port}`,
      edits: (await setup.event(1)).fieldEdits,
    }
  }

  const lines = [
    'Host: www.b.test:8080',
    'Origin: http://www.b.test:8080',
    'Referer: http://www.b.test:8080/a?u=b.test',
    'Cookie: home=b.test',
    'Destination: http://www.b.test:8080/y',
  ]

  it('names the origin, with ports as they are', async () => {
    const { value, edits } = await seen(lines)
    expect(value('host')).toBe('www.a.example:8080')
    expect(value('origin')).toBe('http://www.a.example:8080')
    expect(value('referer')).toBe('http://www.a.example:8080/a?u=a.example')
    expect(value('cookie')).toBe('home=a.example')
    expect(value('destination')).toBe('http://www.a.example:8080/y')
    expect(value('x-forwarded-host')).toBe('www.b.test:8080')
    expect(edits).toEqual({ request: ['host', 'origin', 'referer', 'cookie', 'destination'], response: [] })
  })

  it('asks an upstream by its address where no rule knows the Host, or where the route says so', async () => {
    const unknown = await seen(['Host: c.test'])
    expect(unknown.value('host')).toBe(unknown.authority)
    const told = await seen(lines, { preserveHost: false })
    expect(told.value('host')).toBe(told.authority)
    expect(told.value('origin')).toBe('http://www.a.example:8080')
  })

  it('stays as it is where the upstream is told the client’s Host', async () => {
    const { value, edits } = await seen(lines, { preserveHost: true })
    expect(value('host')).toBe('www.b.test:8080')
    expect(value('origin')).toBe('http://www.b.test:8080')
    expect(value('cookie')).toBe('home=b.test')
    expect(edits).toBeUndefined()
  })

  it.each([
    [{}, '/a.b.test/x?u=http%3A%2F%2Fb.test%2F&h=b.test'],
    [{ requestQuery: true }, '/a.b.test/x?u=http%3A%2F%2Fa.example%2F&h=a.example'],
    [{ requestQuery: true, preserveHost: true }, '/a.b.test/x?u=http%3A%2F%2Fa.example%2F&h=a.example'],
  ])('has its query mapped only if the route says so: %j', async (route, target) => {
    await using setup = await setUp({ rules, route, script: answering(() => plainResponse('ok')) })
    await (await setup.connect()).get('/a.b.test/x?u=http%3A%2F%2Fb.test%2F&h=b.test')
    expect(setup.origin.requests[0].target).toBe(target)
    expect((await setup.event(1)).target).toBe('/a.b.test/x?u=http%3A%2F%2Fb.test%2F&h=b.test')
  })

  it('is mapped by the rules whose conditions hold', async () => {
    const { value } = await seen(['Host: b.test', 'Origin: http://b.test'], {}, [
      { domain: 'x.example', to: 'b.test', methods: ['POST'] },
      { domain: 'a.example', to: 'b.test', hosts: ['b.test'] },
    ])
    expect([value('host'), value('origin')]).toEqual(['a.example', 'http://a.example'])
  })
})

describe('a cookie for all names of the copy', () => {
  const script = respond('Set-Cookie: s=1; Domain=a.example')
  const cookieFrom = async (port: number): Promise<string | undefined> => {
    const client = await connectRawClient(port)
    await client.send(get('Host: b.test'))
    return (await client.readResponse('GET')).value('set-cookie')
  }

  it.each<[what: string, more: Rule, expected: string]>([
    [
      'stays with its host when a rule of other requests',
      { domain: 'z.example', to: 'x.b.test', paths: ['/z/**'] },
      's=1',
    ],
    [
      'is for all when a rule that never decides',
      { domain: 'z.example', to: 'b.test', paths: ['/z/**'] },
      's=1; Domain=b.test',
    ],
  ])('%s leads there from another site', async (_what, more, expected) => {
    await using setup = await setUp({ rules: [...rules, more], script })
    expect(await cookieFrom(setup.proxy.address.port)).toBe(expected)
  })

  it.each<[what: string, beside: Rule, expected: string]>([
    [
      'stays with its host when another route leads there from another site',
      { domain: 'z.example', to: 'x.b.test' },
      's=1',
    ],
    ['is for all when another route says the same', { domain: 'x.a.example', to: 'x.b.test' }, 's=1; Domain=b.test'],
  ])('%s', async (_what, beside, expected) => {
    await using setup = await setUp({ script })
    const upstream = { servers: [{ host: '127.0.0.1', port: setup.origin.port }] }
    const routes = [
      { name: 'beside', hosts: ['x.b.test'], upstream, rules: compileRuleSet([beside], {}) },
      { name: 'here', upstream, rules: compileRuleSet(rules, {}) },
    ]
    await using proxy = await startProxy({ listen: [{ host: '127.0.0.1', port: 0 }], routes })
    expect(await cookieFrom(proxy.address.port)).toBe(expected)
  })

  type Beside = Partial<RouteConfig> & { readonly hostHeader?: string; readonly isSameUpstream?: true }

  it.each<[what: string, hosts: readonly string[] | undefined, beside: Beside, expected: string]>([
    ['goes to all where one route takes all', undefined, { paths: ['/api/**'] }, 's=1; Domain=b.test'],
    ['does not go to a host of another upstream', undefined, { hosts: ['x.b.test'] }, 's=1'],
    ['nor to hosts of one', undefined, { hosts: ['*.y.b.test'] }, 's=1'],
    ['nor where that one is told the host', undefined, { hosts: ['x.b.test'], preserveHost: true }, 's=1'],
    ['nor to names that no host says', ['b.test'], {}, 's=1'],
    [
      'goes to a host of the same upstream',
      undefined,
      { hosts: ['x.b.test'], isSameUpstream: true },
      's=1; Domain=b.test',
    ],
    [
      'goes to a host whose upstream it would reach at the origin',
      undefined,
      { hosts: ['x.b.test'], hostHeader: 'x.a.example:8080' },
      's=1; Domain=b.test',
    ],
    [
      'goes to a host that forwards nothing',
      undefined,
      { hosts: ['x.b.test'], answer: { kind: 'respond', status: 200, fields: [], body: new Uint8Array(0) } },
      's=1; Domain=b.test',
    ],
    ['goes to hosts of the route itself', ['b.test', '*.b.test'], {}, 's=1; Domain=b.test'],
    [
      'goes to hosts of the route that has paths for another',
      ['b.test', '*.b.test'],
      { hosts: ['b.test', '*.b.test'], paths: ['/api/**'] },
      's=1; Domain=b.test',
    ],
    ['goes beside hosts elsewhere', undefined, { hosts: ['b.example', 'xb.test'] }, 's=1; Domain=b.test'],
  ])('%s', async (_what, hosts, { hostHeader, isSameUpstream, ...beside }, expected) => {
    await using setup = await setUp({ script })
    const upstream: UpstreamConfig = { servers: [{ host: '127.0.0.1', port: setup.origin.port }] }
    const other =
      isSameUpstream === true ? upstream : { ...upstream, ...(hostHeader === undefined ? {} : { hostHeader }) }
    const another: RouteConfig = {
      name: 'beside',
      ...(beside.answer === undefined ? { upstream: other } : {}),
      ...beside,
    }
    const own: RouteConfig = {
      name: 'here',
      upstream,
      rules: compileRuleSet(rules, {}),
      ...(hosts === undefined ? {} : { hosts }),
    }
    const isLast = beside.hosts === undefined && beside.paths === undefined
    await using proxy = await startProxy({
      listen: [{ host: '127.0.0.1', port: 0 }],
      routes: isLast ? [own, another] : [another, own],
    })
    expect(await cookieFrom(proxy.address.port)).toBe(expected)
  })

  it.each<[what: string, others: readonly string[], expected: string]>([
    ['stays with its host beside a site below', ['x.b.test'], 's=1'],
    ['goes to all beside sites elsewhere', ['x.c.test', 'test'], 's=1; Domain=b.test'],
  ])('%s', async (_what, others, expected) => {
    await using setup = await setUp({ script })
    const upstream: UpstreamConfig = { servers: [{ host: '127.0.0.1', port: setup.origin.port }] }
    await using proxy = await startProxy({
      listen: [{ host: '127.0.0.1', port: 0 }],
      sites: [
        { hosts: ['b.test', '*.b.test'], routes: [{ name: 'here', upstream, rules: compileRuleSet(rules, {}) }] },
        { hosts: others, routes: [{ name: 'there', upstream: { ...upstream } }] },
      ],
      routes: [],
    })
    expect(await cookieFrom(proxy.address.port)).toBe(expected)
  })
})

describe('a log-in', () => {
  it('goes through: redirect, cookie for all names, log-in by POST with Origin and Referer, and back', async () => {
    await using setup = await setUp({
      rules,
      script: answering((request) => {
        const cookie = request.value('cookie') ?? ''
        if (request.target === '/') {
          return Buffer.from('HTTP/1.1 302 Found\r\nLocation: http://a.example/login\r\nContent-Length: 0\r\n\r\n')
        }
        if (request.method === 'POST') {
          return Buffer.from(
            'HTTP/1.1 303 See Other\r\nLocation: http://a.example/home\r\n' +
              'Set-Cookie: session=7; Domain=a.example; Path=/; HttpOnly\r\nContent-Length: 0\r\n\r\n',
          )
        }
        return plainResponse(
          cookie.includes('session=7') ? 'welcome' : '<form action="http://a.example/login" method="post">',
          'Content-Type: text/html',
        )
      }),
    })
    const client = await setup.connect()
    const jar: string[] = []
    const ask = async (method: string, url: string): Promise<{ location: string | undefined; body: string }> => {
      const { host, pathname } = new URL(url)
      const extra =
        method === 'POST' ? ['Origin: http://b.test', 'Referer: http://b.test/login', 'Content-Length: 0'] : []
      const cookies = jar.length === 0 ? [] : [`Cookie: ${jar.join('; ')}`]
      await client.send(
        `${method} ${pathname} HTTP/1.1\r\n${[`Host: ${host}`, ...extra, ...cookies].join('\r\n')}\r\n\r\n`,
      )
      const response = await client.readResponse(method)
      for (const cookie of response.values('set-cookie')) {
        const [pair, ...attributes] = cookie.split('; ')
        const domain = attributes.find((one) => one.startsWith('Domain='))?.slice(7) ?? host
        if (host === domain || host.endsWith(`.${domain}`)) jar.push(pair)
      }
      return { location: response.value('location'), body: response.body.toString() }
    }
    const start = await ask('GET', 'http://b.test/')
    const form = await ask('GET', start.location ?? '')
    expect(form.body).toBe('<form action="http://b.test/login" method="post">')
    const posted = await ask('POST', 'http://b.test/login')
    const home = await ask('GET', posted.location ?? '')
    expect(home.body).toBe('welcome')
    const post = setup.origin.requests[2]
    expect([post.value('origin'), post.value('host')]).toEqual(['http://a.example', 'a.example'])
  })
})
