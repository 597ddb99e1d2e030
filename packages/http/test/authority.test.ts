import { describe, expect, test } from 'vitest'
import { parseAuthority } from '../src/authority.ts'
import { matchingPath } from '../src/request-target.ts'

describe('host and port', () => {
  const good: readonly (readonly [string, string, number | undefined])[] = [
    ['a', 'a', undefined],
    ['WWW.Example.ORG', 'www.example.org', undefined],
    ['a:', 'a', undefined],
    ['a:0', 'a', 0],
    ['a:080', 'a', 80],
    ['a:65535', 'a', 65_535],
    ['a_b-c.d~', 'a_b-c.d~', undefined],
    ['%41', '%41', undefined],
    ['127.0.0.1:80', '127.0.0.1', 80],
    ['[::1]', '[::1]', undefined],
    ['[::]:8', '[::]', 8],
    ['[2001:DB8:0:0:8:800:200C:417A]', '[2001:db8:0:0:8:800:200c:417a]', undefined],
    ['[::ffff:1.2.3.4]:80', '[::ffff:1.2.3.4]', 80],
    ['[1::]', '[1::]', undefined],
    ['[1:2:3:4:5:6:7::]', '[1:2:3:4:5:6:7::]', undefined],
  ]
  test.each(good)('%s', (text, host, port) => {
    expect(parseAuthority(text)).toEqual({ host, port })
  })

  const bad = [
    ...[
      '',
      ':80',
      'a:b',
      'a:-1',
      'a:65536',
      'a:99999999999',
      'a:80:80',
      'a:8 0',
      'a b',
      ' a',
      'a,b',
      'a/b',
      'u@a',
      'a?b',
    ],
    ...['a#b', 'a\\b', '"a"', '<a>', '%4', '%zz', '%', '\xe9', 'a\0', '[', ']', '[]', '[:]', '[:::]', '[::1', '::1'],
    ...['[::1]x', '[::1]:x', '[::1%25eth0]', '[v1.a]', '[1:2:3:4:5:6:7]', '[1:2:3:4:5:6:7:8:9]', '[12345::]', '[g::]'],
    ...['[1::2::3]', '[1:2:3:4:5:6:7:8::]', '[::1.2.3]', '[::1.2.3.256]', '[::01.2.3.4]', '[1.2.3.4]', '[::1.2.3.4:5]'],
    ...['[:1::]', '[1::1:]'],
  ]
  test.each(bad)('%j is none', (text) => {
    expect(parseAuthority(text)).toBe(undefined)
  })
})

describe('the path to match on', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['/', '/'],
    ['/a?b=/../c', '/a'],
    ['/%61%2e%2E/b', '/a../b'],
    ['/a/%2e%2e/b', '/b'],
    ['/a/./b/.', '/a/b/'],
    ['/a/..', '/'],
    ['/../../a', '/a'],
    ['/a//b', '/a//b'],
    ['/a//../b', '/a/b'],
    ['//evil/x', '//evil/x'],
    ['/a%2fb%2F', '/a%2Fb%2F'],
    ['/%', '/%'],
    ['/%zz%4', '/%zz%4'],
    ['/%e9', '/%E9'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a.b/..c/d..', '/a.b/..c/d..'],
    ['/%252e', '/%252e'],
    ['*', '*'],
  ]
  test.each(cases)('%s', (path, expected) => {
    expect(matchingPath(path)).toBe(expected)
    expect(matchingPath(expected)).toBe(expected)
  })
})
