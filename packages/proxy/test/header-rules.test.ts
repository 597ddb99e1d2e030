import type { RequestHead } from '@prexy/http/message'
import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it, test } from 'vitest'
import {
  applyHeaderRules,
  compileHeaderRules,
  type HeaderRule,
  HeaderRuleError,
  type HeaderRuleProblem,
  type MessageSide,
} from '../src/header-rules.ts'
import { setUp } from './harness.ts'

const request: RequestHead = {
  method: 'GET',
  target: '/shop/a?q=1',
  targetForm: 'origin',
  path: '/shop/a?q=1',
  authority: 'b.test:8080',
  minorVersion: 1,
  fields: ['Host', 'b.test:8080', 'User-Agent', 'tester', 'Cookie', 'id=7; beta=1', 'X-Odd', 'a\u00e9b'],
  body: { kind: 'none' },
  keepAlive: true,
  expectContinue: false,
  upgrade: undefined,
}

function onResponse(rules: readonly HeaderRule[], fields: readonly string[], status = 200): string[] {
  const copy = [...fields]
  applyHeaderRules(compileHeaderRules(rules, 'response'), copy, { request, response: { status, fields } })
  return copy
}

function problemsOf(rules: readonly HeaderRule[], side: MessageSide): readonly HeaderRuleProblem[] {
  try {
    compileHeaderRules(rules, side)
  } catch (error) {
    if (error instanceof HeaderRuleError) return error.problems
    throw error
  }
  return []
}

const BEFORE = ['Server', 'nginx', 'Set-Cookie', 'a=1', 'X-A', '1', 'set-cookie', 'b=2']

describe('a rule', () => {
  test.each<[what: string, rule: HeaderRule, after: readonly string[]]>([
    ['sets in place', { set: 'server', value: 'prexy' }, ['Server', 'prexy', ...BEFORE.slice(2)]],
    [
      'sets one line for all',
      { set: 'Set-Cookie', value: 'c=3' },
      ['Server', 'nginx', 'Set-Cookie', 'c=3', 'X-A', '1'],
    ],
    ['sets what is not there', { set: 'X-B', value: '2' }, [...BEFORE, 'X-B', '2']],
    ['sets to nothing', { set: 'X-B', value: '' }, [...BEFORE, 'X-B', '']],
    ['adds a line', { add: 'Set-Cookie', value: 'c=3' }, [...BEFORE, 'Set-Cookie', 'c=3']],
    ['removes all lines', { remove: 'SET-COOKIE' }, ['Server', 'nginx', 'X-A', '1']],
    ['removes what is not there', { remove: 'X-B' }, BEFORE],
    [
      'replaces in every line',
      { replace: 'Set-Cookie', regex: '=(.)$', with: '=$1$1; Secure' },
      ['Server', 'nginx', 'Set-Cookie', 'a=11; Secure', 'X-A', '1', 'set-cookie', 'b=22; Secure'],
    ],
    [
      'replaces all matches',
      { replace: 'Server', regex: 'N', with: '-', flags: 'i' },
      ['Server', '-gi-x', ...BEFORE.slice(2)],
    ],
    ['takes the value without blanks around', { set: 'X-A', value: ' \t v \t' }, BEFORE.with(5, 'v')],
    [
      'knows variables',
      { set: 'X-A', value: '${method} ${host}${path}?${query} ${status} ${cookie:id} $$' },
      BEFORE.with(5, 'GET b.test:8080/shop/a?q=1 200 7 $'),
    ],
    ['knows filters', { set: 'X-A', value: '${header:user-agent|upper|base64}' }, BEFORE.with(5, 'VEVTVEVS')],
    ['writes UTF-8', { set: 'X-A', value: 'é' }, BEFORE.with(5, '\u00c3\u00a9')],
    ['keeps the octets of a variable', { set: 'X-A', value: '${header:x-odd}' }, BEFORE.with(5, 'a\u00e9b')],
    ['finds variables in a replacement', { replace: 'X-A', regex: '1', with: '${query}' }, BEFORE.with(5, 'q=1')],
  ])('%s', (_, rule, after) => {
    expect(onResponse([rule], BEFORE)).toEqual(withVary(rule, after))
  })

  function withVary(rule: HeaderRule, after: readonly string[]): readonly string[] {
    const { variesBy } = compileHeaderRules([rule], 'response')
    return variesBy.length === 0 ? after : varied(after, variesBy.join(', '))
  }

  /** Vary is written before the rules, so that they have the last word. */
  function varied(after: readonly string[], names: string): readonly string[] {
    const known = BEFORE.length
    return [...after.slice(0, known), 'Vary', names, ...after.slice(known)]
  }

  it('sees what the one before it did', () => {
    const rules: readonly HeaderRule[] = [
      { set: 'X-B', value: 'one' },
      { replace: 'X-B', regex: 'one', with: 'two' },
      { add: 'X-B', value: 'three' },
    ]
    expect(onResponse(rules, [])).toEqual(['X-B', 'two', 'X-B', 'three'])
  })

  it('tells caches what it looks at', () => {
    const rules: readonly HeaderRule[] = [
      { set: 'X-B', value: '${header:Accept-Language}' },
      { remove: 'X-C', requestHeaders: { Cookie: true } },
    ]
    expect(onResponse(rules, ['Vary', 'Origin'])).toEqual(['Vary', 'Origin, cookie, accept-language', 'X-B', ''])
  })

  test.each<[what: string, conditions: Omit<Extract<HeaderRule, { remove: string }>, 'remove'>, holds: boolean]>([
    ['path', { paths: ['/shop/**'] }, true],
    ['path', { paths: ['/x/**'] }, false],
    ['method', { methods: ['POST'] }, false],
    ['host', { hosts: ['b.test'] }, true],
    ['host', { hosts: ['*.b.test'] }, false],
    ['request field', { requestHeaders: { Cookie: '*beta=1*' } }, true],
    ['request field', { requestHeaders: { Cookie: false } }, false],
    ['status', { status: ['3xx'] }, true],
    ['status', { status: [200] }, false],
    ['type', { types: ['text/html'] }, true],
    ['type', { types: ['application/json'] }, false],
    ['response field', { responseHeaders: { Server: 'nginx' } }, true],
    ['response field', { responseHeaders: { Server: false } }, false],
  ])('holds by its %s: %j', (_, conditions, holds) => {
    const fields = ['Server', 'nginx', 'Content-Type', 'text/html; charset=utf-8', 'X-A', '1']
    const after = onResponse([{ remove: 'X-A', ...conditions }], fields, 302)
    expect(after.includes('X-A')).toBe(!holds)
  })
})

describe('no value can end its line', () => {
  const hostile: RequestHead = { ...request, fields: ['X-Odd', 'a\tb'], authority: 'evil"<>', path: '/%0d%0aX: y' }
  test.each<[what: string, rule: HeaderRule, value: string | undefined]>([
    ['an escape stays one', { set: 'X-B', value: '${path}' }, '/%0d%0aX: y'],
    ['a tab is allowed', { set: 'X-B', value: '${header:x-odd}' }, 'a\tb'],
    ['quotes are not special', { set: 'X-B', value: '${host}' }, 'evil"<>'],
    ['raw is checked, too', { set: 'X-B', value: '${host|raw}' }, 'evil"<>'],
    ['a line break by a rule', { replace: 'X-A', regex: '1', with: 'a\r\nX-C: b' }, undefined],
    ['a NUL by a rule', { replace: 'X-A', regex: '1', with: '\0' }, undefined],
  ])('%s', (_, rule, value) => {
    const fields = ['X-A', '1']
    const rules = compileHeaderRules([rule], 'response')
    applyHeaderRules(rules, fields, { request: hostile, response: { status: 200, fields } })
    expect(fields[fields.indexOf('X-B') + 1]).toBe(value ?? 'X-A')
    expect(fields.some((text) => /[\r\n\0]/.test(text))).toBe(false)
  })

  test.each(['a.test/x', 'a.test, b.test', 'me@a.test', ''])('Host stays a host: %j', (value) => {
    const fields = ['Host', 'origin']
    applyHeaderRules(compileHeaderRules([{ set: 'Host', value: `\${header:x-h}` }], 'request'), fields, {
      request: { ...request, fields: ['X-H', value] },
    })
    expect(fields).toEqual(['Host', 'origin'])
  })
})

describe('refused, with the reason', () => {
  test.each<[side: MessageSide, rule: HeaderRule, field: string, message: RegExp, at?: number]>([
    ...['Content-Length', 'Transfer-Encoding', 'Trailer'].map((set): [MessageSide, HeaderRule, string, RegExp] => [
      'response',
      { set, value: '1' },
      'set',
      /where the message ends/,
    ]),
    ...['Connection', 'Keep-Alive', 'TE', 'Upgrade', 'Proxy-Connection', 'Proxy-Authorization', 'HTTP2-Settings'].map(
      (remove): [MessageSide, HeaderRule, string, RegExp] => ['request', { remove }, 'remove', /one connection/],
    ),
    ['response', { remove: 'content-encoding' }, 'remove', /how the body is coded/],
    ['request', { set: 'Content-Encoding', value: 'gzip' }, 'set', /how the body is coded/],
    ['response', { replace: 'Content-Range', regex: 'a', with: 'b' }, 'replace', /which part the body is/],
    ['request', { remove: 'Host' }, 'remove', /exactly one/],
    ['request', { add: 'host', value: 'x' }, 'add', /exactly one/],
    ['request', { remove: 'Via' }, 'remove', /loops/],
    ['request', { set: 'Expect', value: '' }, 'set', /waits/],
    ['request', { set: 'X A', value: '1' }, 'set', /no name/],
    ['request', { set: '', value: '1' }, 'set', /no name/],
    ['response', { set: 'X-A', value: 'a\r\nX-B: b' }, 'value', /line break/],
    ['response', { set: 'X-A', value: 'a\0' }, 'value', /control/],
    ['response', { set: 'X-A', value: 'é ${nope}' }, 'value', /no variable 'nope'|nope/, 3],
    ['response', { add: 'X-A', value: '$1' }, 'value', /no group/, 0],
    ['response', { replace: 'X-A', regex: 'a(', with: '' }, 'regex', /./],
    ['response', { replace: 'X-A', regex: 'a', with: 'x$9' }, 'with', /no group 9/, 1],
    ['request', { set: 'X-A', value: '${status}' }, 'value', /no status/],
    ['request', { replace: 'X-A', regex: 'a', with: '${status}' }, 'with', /no status/],
  ])('in a %s: %j', (side, rule, field, message, at) => {
    const [problem] = problemsOf([{ remove: 'X-Fine' }, rule], side)
    expect(problem).toMatchObject({ rule: 1, field, message: expect.stringMatching(message) })
    if (at !== undefined) expect(problem.at).toBe(at)
  })

  it('all at once', () => {
    expect(problemsOf([{ remove: 'TE' }, { remove: 'X-A' }, { set: 'X-B', value: '$' }], 'request')).toHaveLength(2)
  })

  it('not what is the other side’s', () => {
    expect(problemsOf([{ remove: 'Via' }, { set: 'Host', value: 'x' }], 'response')).toEqual([])
    expect(problemsOf([{ set: 'Host', value: 'www.a.example' }], 'request')).toEqual([])
  })
})

describe('through a proxy', () => {
  it('rules are the last to touch a head, and the event names the fields', async () => {
    await using setup = await setUp({
      rules: [{ domain: 'a.example', to: 'b.test' }],
      route: {
        requestHeaders: compileHeaderRules(
          [
            { set: 'Host', value: 'www.a.example' },
            { set: 'X-Forwarded-Proto', value: 'https' },
            { set: 'Accept-Encoding', value: 'identity' },
            { remove: 'User-Agent' },
          ],
          'request',
        ),
        responseHeaders: compileHeaderRules(
          [
            { replace: 'Location', regex: '^http://b\\.test/', with: 'https://${host}/' },
            { set: 'Strict-Transport-Security', value: 'max-age=0' },
            { remove: 'Server' },
          ],
          'response',
        ),
      },
      script: answering(() =>
        Buffer.from(
          'HTTP/1.1 302 Found\r\nServer: nginx\r\nLocation: http://a.example/x\r\nContent-Length: 2\r\n\r\nok',
        ),
      ),
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: b.test:8443\r\nUser-Agent: t\r\nAccept-Encoding: gzip\r\n\r\n')
    const response = await client.readResponse('GET')
    expect(response.value('location')).toBe('https://b.test:8443/x')
    expect(response.value('strict-transport-security')).toBe('max-age=0')
    expect(response.value('server')).toBeUndefined()
    expect(response.body.toString()).toBe('ok')
    const [seen] = setup.origin.requests
    expect(seen.values('host')).toEqual(['www.a.example'])
    expect(seen.values('x-forwarded-proto')).toEqual(['https'])
    expect(seen.value('accept-encoding')).toBe('identity')
    expect(seen.value('user-agent')).toBeUndefined()
    expect((await setup.event(1)).fieldEdits).toEqual({
      request: ['host', 'x-forwarded-proto', 'accept-encoding', 'user-agent'],
      response: ['location', 'strict-transport-security', 'server'],
    })
  })

  it('answers of its own are left alone', async () => {
    await using setup = await setUp({
      route: { responseHeaders: compileHeaderRules([{ set: 'X-A', value: '1' }], 'response'), hosts: ['b.test'] },
      script: answering(() => plainResponse('ok')),
    })
    const response = await (await setup.connect()).get('/')
    expect([response.status, response.value('x-a')]).toEqual([421, undefined])
  })
})
