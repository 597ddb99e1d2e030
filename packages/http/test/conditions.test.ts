import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { globMatches, prepareConditions, rulesForPath, rulesForStatus, rulesForType } from '../src/conditions.ts'

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
    expect(yes.filter((path) => !globMatches(glob, path))).toEqual([])
    expect(no.filter((path) => globMatches(glob, path))).toEqual([])
  })

  test('agree with the same pattern as a regular expression', () => {
    const glob = fc.stringMatching(/^[ab/.*?]{0,10}$/)
    const path = fc.stringMatching(/^[ab/.]{0,12}$/)
    fc.assert(
      fc.property(glob, path, (pattern, subject) => {
        const source = pattern.replace(/\*+|[.?]/g, (text) => {
          if (text === '.') return '\\.'
          if (text === '?') return '[^/]'
          return text === '*' ? '[^/]*' : '.*'
        })
        expect(globMatches(pattern, subject)).toBe(new RegExp(`^${source}$`, 's').test(subject))
      }),
      { numRuns: 2_000 },
    )
  })

  test('stars without end are no search', () => {
    expect(globMatches(`${'*a'.repeat(60)}b`, 'a'.repeat(4_000))).toBe(false)
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
