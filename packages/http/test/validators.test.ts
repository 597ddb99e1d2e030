import { describe, expect, test } from 'vitest'
import { prepareConditions } from '../src/conditions.ts'
import type { GateRoute } from '../src/gate-route.ts'
import {
  changedResponseFields,
  changedTrailers,
  deriveEntityTag,
  mayRewrite,
  resolveEntityTag,
  translateIfMatch,
  translateIfNoneMatch,
  upstreamRequestFields,
} from '../src/validators.ts'
import { BASE_CHARSETS, BASE_CODINGS } from './codings.ts'

const NOW = '0123456789abcdef'
const BEFORE = 'fedcba9876543210'
const RULES_CHANGED_MS = Date.parse('2026-06-01T12:00:00.500Z')

const ROUTE: GateRoute = {
  conditions: prepareConditions([{ types: ['text/*'], paths: ['/**'] }]),
  ruleSetHash: NOW,
  ignoreNoTransform: false,
  lastModified: { kind: 'remove' },
  variesBy: [],
  alwaysNew: false,
  codings: BASE_CODINGS,
  charsets: BASE_CHARSETS,
  compression: undefined,
}
const KEEPS_DATES: GateRoute = { ...ROUTE, lastModified: { kind: 'keep', rulesChangedMs: RULES_CHANGED_MS } }

describe('entity tags', () => {
  const tags: readonly (readonly [string, string | undefined])[] = [
    ['"abc"', `W/"abc-p${NOW}"`],
    ['W/"abc"', `W/"abc-p${NOW}"`],
    ['""', `W/"-p${NOW}"`],
    ['"a\\b, c"', `W/"a\\b, c-p${NOW}"`],
    [`W/"abc-p${BEFORE}"`, `W/"abc-p${BEFORE}-p${NOW}"`],
    ['abc', undefined],
    ['"abc', undefined],
    ['"', undefined],
    ['"a"b"', undefined],
    ['w/"abc"', undefined],
    ['W/abc', undefined],
  ]
  test.each(tags)('%s is told as %s', (origin, derived) => {
    expect(deriveEntityTag(origin, NOW)).toBe(derived)
    if (derived === undefined) return
    const strong = origin.startsWith('W/') ? origin.slice(2) : origin
    expect(resolveEntityTag(derived, NOW)).toEqual({ kind: 'current', originTag: strong })
    expect(resolveEntityTag(derived, BEFORE)).toEqual({ kind: 'stale', originTag: strong })
  })

  test.each([
    '"abc"',
    'W/"abc"',
    `"abc-p${NOW}"`,
    `W/"abc-p${NOW.slice(1)}"`,
    `W/"abc-p${NOW.toUpperCase()}"`,
    `W/"abc-q${NOW}"`,
    `W/"p${NOW}"`,
    `abc-p${NOW}`,
    '*',
    '',
  ])('%s is not one of ours', (tag) => {
    expect(resolveEntityTag(tag, NOW)).toEqual({ kind: 'foreign' })
  })
})

const CURRENT = `W/"a-p${NOW}"`
const STALE = `W/"b-p${BEFORE}"`

describe('conditions on the way up', () => {
  const ifNoneMatch: readonly (readonly [string, string | undefined, string | undefined])[] = [
    // sent by the client, to the origin for GET and HEAD, to the origin for other methods
    ['*', '*', '*'],
    [CURRENT, '"a"', '"a"'],
    [STALE, undefined, '"b"'],
    ['"c"', undefined, '"c"'],
    [`"c", ${CURRENT}, ${STALE}`, '"a"', '"c", "a", "b"'],
    [`"x, y",W/"z"`, undefined, '"x, y", W/"z"'],
    [`W/"a\\-p${NOW}", ${CURRENT}`, '"a\\", "a"', '"a\\", "a"'],
    ['junk', undefined, 'junk'],
    ['', undefined, undefined],
  ]
  test.each(ifNoneMatch)('If-None-Match: %s', (sent, safe, unsafe) => {
    expect(translateIfNoneMatch(sent, NOW, true)).toBe(safe)
    expect(translateIfNoneMatch(sent, NOW, false)).toBe(unsafe)
  })

  const ifMatch: readonly (readonly [string, string | undefined])[] = [
    ['*', '*'],
    [CURRENT, '"a"'],
    [STALE, undefined],
    ['"c"', undefined],
    [`"c", ${STALE}, ${CURRENT}`, '"a"'],
    ['', undefined],
  ]
  test.each(ifMatch)('If-Match: %s', (sent, expected) => {
    expect(translateIfMatch(sent, NOW)).toBe(expected)
  })
})

function up(method: string, path: string, fields: string[], route: GateRoute = ROUTE) {
  const request = upstreamRequestFields({ method, path, fields, minorVersion: 1 }, route)
  return request.kind === 'answer' ? request.status : request.fields
}

describe('request fields on the way up', () => {
  const cases: readonly (readonly [string, string, string, string[], GateRoute, string[] | number])[] = [
    [
      'coding is narrowed',
      'GET',
      '/',
      ['Host', 'a', 'accept-encoding', 'br, zstd'],
      ROUTE,
      ['Host', 'a', 'accept-encoding', 'br'],
    ],
    ['a coding is never asked for unasked', 'GET', '/', [], ROUTE, ['Accept-Encoding', 'identity']],
    ['ranges go', 'GET', '/', ['Range', 'bytes=0-1', 'If-Range', '"a"'], ROUTE, ['Accept-Encoding', 'identity']],
    [
      'ranges and conditions stay for media',
      'GET',
      '/a/film.MP4?x',
      ['Range', 'bytes=0-1', 'If-None-Match', '"x"', 'Accept-Encoding', 'zstd'],
      ROUTE,
      ['Range', 'bytes=0-1', 'If-None-Match', '"x"', 'Accept-Encoding', 'zstd'],
    ],
    [
      'also when the browser says so',
      'GET',
      '/stream',
      ['Range', 'bytes=0-', 'Sec-Fetch-Dest', 'video'],
      ROUTE,
      ['Range', 'bytes=0-', 'Sec-Fetch-Dest', 'video'],
    ],
    [
      'unless a rule wants them',
      'GET',
      '/a.mp4',
      ['Range', 'bytes=0-1'],
      { ...ROUTE, conditions: prepareConditions([{ types: ['video/*'] }]) },
      ['Accept-Encoding', 'identity'],
    ],
    [
      'an image may be SVG',
      'GET',
      '/logo',
      ['Range', 'bytes=0-1', 'Sec-Fetch-Dest', 'image'],
      ROUTE,
      ['Sec-Fetch-Dest', 'image', 'Accept-Encoding', 'identity'],
    ],
    [
      'nothing changes where no rule holds for the path',
      'GET',
      '/x',
      ['Range', 'bytes=0-1', 'If-Match', '"x"', 'Accept-Encoding', 'zstd', 'Connection', 'close'],
      { ...ROUTE, conditions: prepareConditions([{ types: ['text/*'], paths: ['/y'] }]) },
      ['Range', 'bytes=0-1', 'If-Match', '"x"', 'Accept-Encoding', 'zstd'],
    ],
    [
      'nor where the request forbids a change',
      'GET',
      '/',
      ['Cache-Control', 'No-Transform', 'Range', 'bytes=0-1'],
      ROUTE,
      ['Cache-Control', 'No-Transform', 'Range', 'bytes=0-1'],
    ],
    [
      'unless that is ignored',
      'GET',
      '/',
      ['Cache-Control', 'no-transform', 'Range', 'bytes=0-1'],
      { ...ROUTE, ignoreNoTransform: true },
      ['Cache-Control', 'no-transform', 'Accept-Encoding', 'identity'],
    ],
    [
      'our tag becomes the origin’s, lines are one list',
      'GET',
      '/',
      ['If-None-Match', CURRENT, 'if-none-match', '"z"', 'Accept-Encoding', 'gzip'],
      ROUTE,
      ['If-None-Match', '"a"', 'Accept-Encoding', 'gzip'],
    ],
    [
      'a condition that vouches for nothing goes',
      'HEAD',
      '/',
      ['If-None-Match', STALE],
      ROUTE,
      ['Accept-Encoding', 'identity'],
    ],
    [
      'but not when it protects from an update',
      'PUT',
      '/',
      ['If-None-Match', STALE],
      ROUTE,
      ['If-None-Match', '"b"', 'Accept-Encoding', 'identity'],
    ],
    ['If-Match of ours', 'PUT', '/', ['If-Match', CURRENT], ROUTE, ['If-Match', '"a"', 'Accept-Encoding', 'identity']],
    ['If-Match of older rules', 'PUT', '/', ['If-Match', STALE], ROUTE, 412],
    ['If-Match of others', 'DELETE', '/', ['If-Match', '"a"'], ROUTE, 412],
    [
      'dates go',
      'GET',
      '/',
      ['If-Modified-Since', 'Mon, 01 Jun 2026 12:00:01 GMT'],
      ROUTE,
      ['Accept-Encoding', 'identity'],
    ],
    [
      'dates after the rules’ may stay',
      'GET',
      '/',
      ['If-Modified-Since', 'Mon, 01 Jun 2026 12:00:01 GMT'],
      KEEPS_DATES,
      ['If-Modified-Since', 'Mon, 01 Jun 2026 12:00:01 GMT', 'Accept-Encoding', 'identity'],
    ],
    [
      'dates before do not',
      'GET',
      '/',
      ['If-Modified-Since', 'Mon, 01 Jun 2026 12:00:00 GMT'],
      KEEPS_DATES,
      ['Accept-Encoding', 'identity'],
    ],
    [
      'nor any where the content depends on the request',
      'GET',
      '/',
      ['If-Modified-Since', 'Mon, 01 Jun 2026 12:00:01 GMT'],
      { ...KEEPS_DATES, variesBy: ['cookie'] },
      ['Accept-Encoding', 'identity'],
    ],
    [
      'nor any where the content is always new',
      'GET',
      '/',
      ['If-Modified-Since', 'Mon, 01 Jun 2026 12:00:01 GMT'],
      { ...KEEPS_DATES, alwaysNew: true },
      ['Accept-Encoding', 'identity'],
    ],
    [
      'nor what is no date',
      'GET',
      '/',
      ['If-Modified-Since', 'yesterday'],
      KEEPS_DATES,
      ['Accept-Encoding', 'identity'],
    ],
  ]
  test.each(cases)('%s', (_, method, path, fields, route, expected) => {
    expect(up(method, path, fields, route)).toEqual(expected)
  })

  test('HTTP/1.0 has no Expect', () => {
    const request = { method: 'POST', path: '/a.zip', fields: ['Expect', '100-continue'] }
    expect(upstreamRequestFields({ ...request, minorVersion: 0 }, ROUTE)).toEqual({ kind: 'send', fields: [] })
    expect(upstreamRequestFields({ ...request, minorVersion: 1 }, ROUTE)).toEqual({
      kind: 'send',
      fields: ['Expect', '100-continue'],
    })
  })

  test('a request may be rewritten unless it says otherwise', () => {
    const cases: readonly (readonly [string, boolean])[] = [
      ['/', true],
      ['/a.html', true],
      ['/a.svg', true],
      ['/a.png', false],
      ['/a.ZIP', false],
      ['/a.tar.gz', false],
      ['/a.png/b', true],
      ['/a?x.png', true],
      ['/png', true],
    ]
    for (const [path, expected] of cases) {
      expect({ path, may: mayRewrite({ method: 'GET', path, fields: [] }, ROUTE) }).toEqual({ path, may: expected })
    }
  })
})

describe('response fields on the way down', () => {
  const cases: readonly (readonly [string, string[], GateRoute, string[]])[] = [
    ['Vary is added', ['Content-Type', 'text/html'], ROUTE, ['Content-Type', 'text/html', 'Vary', 'Accept-Encoding']],
    ['Vary is appended to', ['vary', 'Cookie', 'Vary', 'Origin'], ROUTE, ['vary', 'Cookie, Origin, Accept-Encoding']],
    ['Vary that says it stays', ['Vary', 'Cookie, accept-encoding'], ROUTE, ['Vary', 'Cookie, accept-encoding']],
    ['Vary: * stays', ['Vary', '*'], ROUTE, ['Vary', '*']],
    ['the tag is ours', ['ETag', '"x"'], ROUTE, ['ETag', `W/"x-p${NOW}"`, 'Vary', 'Accept-Encoding']],
    ['what is no tag goes', ['ETag', 'x'], ROUTE, ['Vary', 'Accept-Encoding']],
    [
      'digests and ranges go',
      [
        'Content-MD5',
        'a',
        'Digest',
        'b',
        'Repr-Digest',
        'c',
        'content-digest',
        'd',
        'Accept-Ranges',
        'bytes',
        'Want-Digest',
        'e',
      ],
      ROUTE,
      ['Want-Digest', 'e', 'Vary', 'Accept-Encoding'],
    ],
    ['framing goes', ['Content-Length', '5', 'Connection', 'x', 'X', '1'], ROUTE, ['Vary', 'Accept-Encoding']],
    ['the date goes', ['Last-Modified', 'Mon, 01 Jun 2026 11:00:00 GMT'], ROUTE, ['Vary', 'Accept-Encoding']],
    [
      'or is at least the rules’',
      ['Last-Modified', 'Mon, 01 Jun 2026 11:00:00 GMT'],
      KEEPS_DATES,
      ['Last-Modified', 'Mon, 01 Jun 2026 12:00:01 GMT', 'Vary', 'Accept-Encoding'],
    ],
    [
      'a later one stays',
      ['Last-Modified', 'Mon, 01 Jun 2026 13:00:00 GMT'],
      KEEPS_DATES,
      ['Last-Modified', 'Mon, 01 Jun 2026 13:00:00 GMT', 'Vary', 'Accept-Encoding'],
    ],
    ['what is no date goes', ['Last-Modified', 'yesterday'], KEEPS_DATES, ['Vary', 'Accept-Encoding']],
    [
      'cookies stay apart',
      ['Set-Cookie', 'a', 'Set-Cookie', 'b'],
      ROUTE,
      ['Set-Cookie', 'a', 'Set-Cookie', 'b', 'Vary', 'Accept-Encoding'],
    ],
  ]
  test.each(cases)('%s', (_, fields, route, expected) => {
    expect(changedResponseFields(fields, route)).toEqual(expected)
  })

  test('trailers lose digests', () => {
    expect(changedTrailers(['Repr-Digest', 'a', 'Server-Timing', 'b', 'Content-MD5', 'c'])).toEqual([
      'Server-Timing',
      'b',
    ])
  })
})

test('a page is fetched, revalidated and, after a change of rules, fetched anew', () => {
  const etag = changedResponseFields(['ETag', '"v1"'], ROUTE)[1]
  expect(up('GET', '/', ['If-None-Match', etag])).toEqual(['If-None-Match', '"v1"', 'Accept-Encoding', 'identity'])
  expect(changedResponseFields(['ETag', '"v1"'], ROUTE)[1]).toBe(etag)
  const later = { ...ROUTE, ruleSetHash: BEFORE }
  expect(up('GET', '/', ['If-None-Match', etag], later)).toEqual(['Accept-Encoding', 'identity'])
})
