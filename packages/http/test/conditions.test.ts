import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Conditions,
  type FieldConditions,
  prepareConditions,
  requestFieldNames,
  rulesForFields,
  rulesForPath,
  rulesForRequest,
  rulesForStatus,
  rulesForType,
} from '../src/conditions.ts'
import { globMatches, prepareGlob } from '../src/path-glob.ts'

describe('globs', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['/a', ['/a'], ['/', '/ab', '/a/', '']],
    ['/*', ['/', '/a', '/a.html'], ['/a/', '/a/b', '']],
    ['/**', ['/', '/a', '/a/b/c'], ['']],
    ['/a/**', ['/a/', '/a/b/c'], ['/a', '/ab/']],
    ['/**/x', ['//x', '/a/x', '/a/b/x'], ['/x', '/a/xy']],
    ['**.html', ['.html', '/a/b.html'], ['/a.htm', '/a.html/']],
    ['/*.js', ['/a.js', '/.js'], ['/a/b.js', '/a.js.map']],
    ['/?.js', ['/a.js'], ['/.js', '/ab.js', '//.js']],
    ['/*/b', ['/a/b', '//b'], ['/a/c/b', '/b']],
    ['/a*b*c', ['/abc', '/axbxc', '/abbc'], ['/ac', '/ab/c']],
    ['/a***b', ['/ab', '/a/b'], ['/a']],
    ['*', ['', 'a'], ['/']],
  ]
  test.each(cases)('%s', (glob, yes, no) => {
    expect(yes.filter((path) => !globMatches(prepareGlob(glob), path))).toEqual([])
    expect(no.filter((path) => globMatches(prepareGlob(glob), path))).toEqual([])
  })

  test('agree with the same pattern as a regular expression', () => {
    const glob = fc.stringMatching(/^[ab/.*?]{0,10}$/)
    const path = fc.stringMatching(/^[ab/.]{0,12}$/)
    fc.assert(
      // The text before moves every part of the glob over the borders of the words that its positions are kept in.
      fc.property(glob, path, fc.nat({ max: 70 }), (pattern, subject, shift) => {
        const source = pattern.replace(/\*+|[.?]/g, (text) => {
          if (text === '.') return '\\.'
          if (text === '?') return '[^/]'
          return text === '*' ? '[^/]*' : '.*'
        })
        const before = 'x'.repeat(shift)
        const matches = globMatches(prepareGlob(`${before}${pattern}`), `${before}${subject}`)
        expect(matches).toBe(new RegExp(`^${source}$`, 's').test(subject))
      }),
      { numRuns: 5_000 },
    )
  })

  test('stars without end are no search', () => {
    expect(globMatches(prepareGlob(`${'*a'.repeat(60)}b`), 'a'.repeat(4_000))).toBe(false)
  })
})

describe('which rules apply', () => {
  const set = prepareConditions([
    { types: ['text/*'] },
    { types: ['Application/JSON'], paths: ['/api/**'] },
    { types: ['*'], status: [404, '5xx'] },
    { types: ['text/html'], paths: ['/*', '/api/v?/**'], status: ['2xx'] },
  ])
  const all = Uint8Array.of(1, 1, 1, 1)

  test('by path, without query and normalized', () => {
    expect(rulesForPath(set, '/')).toEqual(Uint8Array.of(1, 0, 1, 1))
    expect(rulesForPath(set, '/api/v1/x?y=/z')).toEqual(all)
    expect(rulesForPath(set, '/x/../%61pi/x')).toEqual(Uint8Array.of(1, 1, 1, 0))
    expect(rulesForPath(prepareConditions([{ types: ['*'], paths: ['/a'] }]), '/b')).toBe(undefined)
    expect(rulesForPath(prepareConditions([]), '/b')).toBe(undefined)
  })

  test('by status', () => {
    expect(rulesForStatus(set, all, 200)).toEqual(Uint8Array.of(1, 1, 0, 1))
    expect(rulesForStatus(set, all, 404)).toEqual(Uint8Array.of(1, 1, 1, 0))
    expect(rulesForStatus(set, all, 503)).toEqual(Uint8Array.of(1, 1, 1, 0))
    expect(rulesForStatus(set, Uint8Array.of(0, 0, 1, 0), 200)).toBe(undefined)
  })

  test('by type', () => {
    expect(rulesForType(set, all, 'text/css')).toEqual(Uint8Array.of(1, 0, 1, 0))
    expect(rulesForType(set, all, 'application/json')).toEqual(Uint8Array.of(0, 1, 1, 0))
    expect(rulesForType(set, all, 'textual/x')).toEqual(Uint8Array.of(0, 0, 1, 0))
    expect(rulesForType(set, all, undefined)).toEqual(Uint8Array.of(0, 0, 1, 0))
    expect(rulesForType(set, Uint8Array.of(1, 1, 0, 1), 'image/png')).toBe(undefined)
  })
})

describe('requests', () => {
  const request = { method: 'GET', path: '/a', authority: 'www.a.example:8080', fields: ['X-Beta', '1'] }
  const anything: Conditions = { types: ['*'] }

  test.each<[Partial<Conditions>, boolean]>([
    [{}, true],
    [{ hosts: ['www.a.example'] }, true],
    [{ hosts: ['b.example', 'WWW.A.Example'] }, true],
    [{ hosts: ['*.a.example'] }, true],
    [{ hosts: ['*.example'] }, true],
    [{ hosts: ['a.example'] }, false],
    [{ hosts: ['*.www.a.example'] }, false],
    [{ hosts: ['ww.a.example'] }, false],
    [{ methods: ['GET', 'POST'] }, true],
    [{ methods: ['POST'] }, false],
    [{ methods: ['HEAD'] }, false],
    [{ methods: ['get'] }, false],
    [{ paths: ['/a'] }, true],
    [{ paths: ['/b'] }, false],
    [{ requestHeaders: { 'x-beta': '1' } }, true],
    [{ requestHeaders: { 'x-beta': '2' } }, false],
  ])('%j: %s', (conditions, holds) => {
    expect(rulesForRequest(prepareConditions([{ ...anything, ...conditions }]), request)).toEqual(
      holds
        ? Uint8Array.of(1)
        : Object.keys(conditions)[0].replace(/s$/, '').replace('requestHeader', 'request-header'),
    )
  })

  test('GET is HEAD, too', () => {
    const set = prepareConditions([{ ...anything, methods: ['GET'] }])
    expect(rulesForRequest(set, { ...request, method: 'HEAD' })).toEqual(Uint8Array.of(1))
  })

  test('no host is no name', () => {
    const set = prepareConditions([{ ...anything, hosts: ['*.example'] }])
    expect(rulesForRequest(set, { ...request, authority: undefined })).toBe('host')
    expect(rulesForRequest(set, { ...request, authority: 'not a host' })).toBe('host')
    expect(rulesForRequest(prepareConditions([anything]), { ...request, authority: undefined })).toEqual(
      Uint8Array.of(1),
    )
  })

  test('each rule by itself; the reason is what the one that came furthest lacked', () => {
    const set = prepareConditions([
      { ...anything, hosts: ['b.example'] },
      { ...anything, methods: ['GET'], paths: ['/b'] },
      { ...anything, methods: ['POST'] },
    ])
    expect(rulesForRequest(set, request)).toBe('path')
    expect(rulesForRequest(set, { ...request, path: '/b' })).toEqual(Uint8Array.of(0, 1, 0))
    expect(rulesForRequest(set, { ...request, method: 'POST', authority: 'b.example' })).toEqual(Uint8Array.of(1, 0, 1))
    expect(rulesForRequest(set, { ...request, method: 'PUT' })).toBe('method')
  })
})

describe('header fields', () => {
  const fields = ['Cookie', 'a=1; session=x', 'Accept-Language', 'de', 'accept-language', 'en;q=0.5', 'X-Empty', '']
  test.each<[FieldConditions, boolean]>([
    [{}, true],
    [{ COOKIE: true }, true],
    [{ cookie: false }, false],
    [{ 'x-none': true }, false],
    [{ 'x-none': false }, true],
    [{ 'x-empty': true }, true],
    [{ 'x-empty': '' }, true],
    [{ 'x-empty': '*' }, true],
    [{ 'x-none': '*' }, false],
    [{ cookie: '*session=*' }, true],
    [{ cookie: '*SESSION=X' }, true],
    [{ cookie: 'session=*' }, false],
    [{ cookie: 'a=1; session=x' }, true],
    [{ cookie: 'a=*=*' }, true],
    [{ cookie: 'a=1*1; session=x' }, false],
    [{ cookie: 'a=1**=x' }, true],
    [{ cookie: '' }, false],
    [{ 'accept-language': 'de, en*' }, true],
    [{ 'accept-language': ['fr*', 'de*'] }, true],
    [{ 'accept-language': ['fr*', 'it*'] }, false],
    [{ cookie: true, 'accept-language': 'de*', 'x-none': false }, true],
    [{ cookie: true, 'accept-language': 'fr*' }, false],
  ])('%j: %s', (conditions, holds) => {
    const active = Uint8Array.of(1)
    const set = prepareConditions([{ types: ['*'], responseHeaders: conditions }])
    expect(rulesForFields(set, active, fields)).toEqual(holds ? active : undefined)
    const request = { method: 'GET', path: '/', fields }
    const same = prepareConditions([{ types: ['*'], requestHeaders: conditions }])
    expect(rulesForRequest(same, request)).toEqual(holds ? active : 'request-header')
  })

  test('patterns agree with the same as a regular expression', () => {
    const pattern = fc.stringMatching(/^[ab*]{0,8}$/)
    const value = fc.stringMatching(/^[abA]{0,10}$/)
    fc.assert(
      fc.property(pattern, value, (glob, text) => {
        const set = prepareConditions([{ types: ['*'], responseHeaders: { x: glob } }])
        const holds = rulesForFields(set, Uint8Array.of(1), ['X', text]) !== undefined
        expect(holds).toBe(new RegExp(`^${glob.replaceAll('*', '.*')}$`, 'i').test(text))
      }),
      { numRuns: 1_000 },
    )
  })

  test('names that caches must know', () => {
    const set = prepareConditions([
      { types: ['*'], requestHeaders: { Cookie: true, 'X-A': '1' } },
      { types: ['*'], requestHeaders: { cookie: false }, responseHeaders: { 'X-B': true } },
    ])
    expect(requestFieldNames(set)).toEqual(['cookie', 'x-a'])
  })
})
