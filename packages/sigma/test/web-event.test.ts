import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeOnce, WEB_SOURCES, type WebRequest, webEvent } from '../src/web-event.ts'
import { compile, hits, titles } from './rules-of.ts'

function request(change: Partial<WebRequest>): WebRequest {
  return {
    time: Date.UTC(2026, 10, 30, 21, 5, 7),
    method: 'GET',
    target: '/',
    scheme: 'https',
    host: 'example.org:8443',
    version: 'HTTP/1.1',
    userAgent: 'curl/8.0',
    referer: undefined,
    cookie: 'a=b',
    contentType: undefined,
    username: undefined,
    clientAddress: '10.0.0.1',
    serverAddress: '192.0.2.1',
    serverPort: 443,
    status: 404,
    requestBytes: 10,
    responseBytes: 20,
    durationMs: 3,
    fields: new Map([['prexy-rule', ['r1', 'r2']]]),
    text: undefined,
    ...change,
  }
}

function rule(category: string, detection: string): string {
  return `title: T\nlogsource: {category: ${category}}\ndetection:\n  s:\n    ${detection}\n  condition: s\n`
}

function found(detection: string, change: Partial<WebRequest>, category = 'webserver'): boolean {
  const { set, problems } = compile(rule(category, detection))
  expect(problems).toEqual([])
  return titles(set, [webEvent(request(change))]).length > 0
}

describe('views of a URI', () => {
  const target = '/cgi-bin/%2e%2e/x.PHP?a=%27or+1&b=%252e'
  const cases: readonly [detection: string, expected: boolean][] = [
    // What authors write into cs-uri-query: paths, paths with queries, queries; encoded and decoded.
    ["cs-uri-query|contains: '/cgi-bin/'", true],
    ["cs-uri-query|contains: '/cgi-bin/../x.php?a='", true],
    ["cs-uri-query|startswith: 'a='", true],
    ["cs-uri-query|contains: '%27or+1'", true],
    [`cs-uri-query|contains: "'or 1"`, true],
    [`cs-uri-query|contains: "'or+1"`, true],
    ["cs-uri-query|endswith: '%252e'", true],
    ["cs-uri-query|endswith: '%2e'", true],
    ["cs-uri-query|endswith: '=.'", false],
    ["cs-uri-stem: '/cgi-bin/../x.php'", true],
    [String.raw`cs-uri-stem|contains: '\?'`, false],
    ["c-uri|startswith: 'https://example.org:8443/cgi-bin'", true],
    ["c-uri|startswith: '/cgi-bin'", true],
    ['c-uri-extension: php', true],
    ['cs-uri|contains|all: [/cgi-bin/, b=]', true],
  ]
  test.each(cases)('%s: %s', (detection, expected) => {
    expect(found(detection, { target })).toBe(expected)
    expect(found(detection, { target }, 'proxy')).toBe(expected)
  })
  test('a negation is that of all views', () => {
    const { set } = compile(
      `title: T\nlogsource: {category: proxy}\ndetection:\n  s: {cs-method: GET}\n  f: {c-uri|contains: cgi}\n  condition: s and not f\n`,
    )
    expect(titles(set, [webEvent(request({ target })), webEvent(request({ target: '/x' }))])).toEqual(['T'])
  })
  test('an absolute target has its own host', () => {
    expect(found("c-uri|startswith: 'http://other/'", { target: 'http://other/p?q' })).toBe(true)
    expect(found("cs-uri-stem: '/p'", { target: 'http://other/p?q' })).toBe(true)
  })
})

test('every part of a URI stands in one of its wholes, so that it need not be searched', () => {
  const piece = fc.constantFrom('/', 'a', '%2e', '%C3', '%a9', '%', '+', '?', '=', '%3f', '.php', '%25', '#')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom('/', 'http://h', ''), (pieces, lead) => {
      for (const field of ['c-uri', 'cs-uri-query']) {
        const views = webEvent(request({ target: lead + pieces.join('') })).get(field)
        if (typeof views !== 'object' || views === null || !('wholes' in views)) throw new Error('no views')
        const { values, wholes } = views
        const lost = values
          .slice(wholes)
          .filter((part) => !values.slice(0, wholes).some((whole) => whole.includes(part)))
        expect(lost).toEqual([])
      }
    }),
  )
})

test('correlations group by the first view, what was sent', () => {
  const yaml = `title: Base
name: base
logsource: {category: webserver}
detection: {s: {cs-method: GET}, condition: s}
---
title: Many
correlation: {type: event_count, rules: [base], group-by: [cs-host, cs-uri-stem], timespan: 1m, condition: {gte: 2}}
`
  const events = ['/%61', '/a', '/%61'].map((target) => webEvent(request({ target })))
  expect(hits(compile(yaml).set, events).map(({ correlation }) => correlation?.group)).toEqual([
    ['example.org:8443', '/%61'],
  ])
})

describe('fields', () => {
  const cases: readonly (readonly [field: string, value: unknown])[] = [
    ['cs-method', 'GET'],
    ['cs-host', { values: ['example.org:8443', 'example.org'], wholes: 1 }],
    ['r-dns', 'example.org'],
    ['cs-version', 'HTTP/1.1'],
    ['c-useragent', 'curl/8.0'],
    ['cs-user-agent', 'curl/8.0'],
    ['cs-referer', undefined],
    ['cs-cookie', 'a=b'],
    ['cs-username', '-'],
    ['c-ip', '10.0.0.1'],
    ['src_ip', '10.0.0.1'],
    ['dst_ip', '192.0.2.1'],
    ['s-port', 443],
    ['sc-status', 404],
    ['cs-bytes', 10],
    ['sc-bytes', 20],
    ['time-taken', 3],
    ['date', '2026-11-30'],
    ['time', '21:05:07'],
    ['c-uri-extension', undefined],
    ['prexy-rule', ['r1', 'r2']],
    ['nothing', undefined],
  ]
  test.each(cases)('%s is %j', (field, value) => {
    expect(webEvent(request({})).get(field)).toEqual(value)
  })
  test('keywords see the request line, the fields and the decoded target', () => {
    expect(webEvent(request({ target: '/%2e%2e/etc' })).text()).toBe(
      'GET /%2e%2e/etc HTTP/1.1\nHost: example.org:8443\nUser-Agent: curl/8.0\nCookie: a=b\nStatus: 404\n/../etc',
    )
  })
  test('both categories, and one array for all events', () => {
    expect(webEvent(request({})).sources).toBe(WEB_SOURCES)
  })
})

test.each([
  ['a%20b', 'a b'],
  ['%25%32%65', '%2e'],
  ['%252e', '%2e'],
  ['%zz%4', '%zz%4'],
  ['%ff%41', '%ffA'],
  ['%c3%a9', 'é'],
  ['%c3%41', '%c3A'],
  ['+', '+'],
])('%s decoded once is %s', (text, expected) => {
  expect(decodeOnce(text)).toBe(expected)
})
