import { describe, expect, test } from 'vitest'
import {
  endToEndFields,
  endToEndTrailers,
  fieldValue,
  fieldValues,
  isFieldValue,
  isNamed,
  isToken,
  joinedValue,
  listElements,
  listHasToken,
  nameSet,
  parseMediaType,
  removeField,
  setField,
  withoutFields,
} from '../src/fields.ts'

const COOKIES = ['Set-Cookie', 'a=1', 'X', 'y', 'SET-COOKIE', 'b=2, c']

test('lookups ignore the case of names and keep order', () => {
  expect(fieldValue(COOKIES, 'set-cookie')).toBe('a=1')
  expect(fieldValue(COOKIES, 'set')).toBe(undefined)
  expect(fieldValues(COOKIES, 'set-cookie')).toEqual(['a=1', 'b=2, c'])
  expect(joinedValue(['A', '1', 'a', '2'], 'a')).toBe('1, 2')
  expect(joinedValue([], 'a')).toBe(undefined)
})

test('names are compared as their lower-case copies would be, octet for octet', () => {
  for (let given = 0; given < 256; given++) {
    for (let wanted = 0; wanted < 128; wanted++) {
      const [name, lowerName] = [given, wanted].map((unit) => `x${String.fromCharCode(unit)}y`)
      if (/[A-Z]/.test(lowerName)) continue
      const inAscii = name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
      expect(isNamed(name, lowerName), `${given} ${wanted}`).toBe(inAscii === lowerName)
    }
  }
})

test('a value is never taken for a name', () => {
  expect(fieldValue(['A', 'b', 'c', 'd'], 'b')).toBe(undefined)
})

test('changes', () => {
  const set = [...COOKIES]
  setField(set, 'Set-Cookie', 'z')
  expect(set).toEqual(['Set-Cookie', 'z', 'X', 'y'])
  setField(set, 'New', '1')
  expect(set).toEqual(['Set-Cookie', 'z', 'X', 'y', 'New', '1'])
  const removed = [...COOKIES]
  removeField(removed, 'set-cookie')
  expect(removed).toEqual(['X', 'y'])
  expect(withoutFields(COOKIES, nameSet(['x']))).toEqual(['Set-Cookie', 'a=1', 'SET-COOKIE', 'b=2, c'])
})

describe('what travels on', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['nothing to remove', ['A', '1', 'Cookie', 'c'], ['A', '1', 'Cookie', 'c']],
    [
      'hop-by-hop fields, in any case',
      [
        'CONNECTION',
        'close',
        'keep-alive',
        'timeout=5',
        'Proxy-Connection',
        'x',
        'TE',
        'gzip',
        'Trailer',
        'x',
        'A',
        '1',
      ],
      ['A', '1'],
    ],
    ['framing', ['Content-Length', '5', 'Transfer-Encoding', 'chunked', 'A', '1'], ['A', '1']],
    ['upgrades, h2c settings too', ['Upgrade', 'h2c', 'HTTP2-Settings', 'AAMAAABk', 'A', '1'], ['A', '1']],
    [
      'what only the first proxy may read',
      ['Proxy-Authorization', 'x', 'Proxy-Authenticate', 'y', 'A', '1'],
      ['A', '1'],
    ],
    [
      'what Connection names, over several lines',
      ['X-A', '1', 'Connection', 'x-a, , X-B', 'x-b', '2', 'x-c', '3', 'connection', 'X-C', 'D', '4'],
      ['D', '4'],
    ],
    [
      'but not the essentials',
      [
        'Connection',
        'host, authorization, cookie, set-cookie, cache-control, via, forwarded, x-forwarded-for, x-forwarded-foo, x-real-ip, content-type, content-encoding, range, x-mine',
        ...['Host', 'a', 'Authorization', 'b', 'Cookie', 'c', 'Set-Cookie', 'd', 'Cache-Control', 'e', 'Via', 'f'],
        ...['Forwarded', 'g', 'X-Forwarded-For', 'h', 'X-Forwarded-Foo', 'i', 'X-Real-IP', 'j', 'Content-Type', 'k'],
        ...['Content-Encoding', 'l', 'Range', 'm', 'X-Mine', 'n'],
      ],
      [
        ...['Host', 'a', 'Authorization', 'b', 'Cookie', 'c', 'Set-Cookie', 'd', 'Cache-Control', 'e', 'Via', 'f'],
        ...['Forwarded', 'g', 'X-Forwarded-For', 'h', 'X-Forwarded-Foo', 'i', 'X-Real-IP', 'j', 'Content-Type', 'k'],
        ...['Content-Encoding', 'l', 'Range', 'm'],
      ],
    ],
  ]
  test.each(cases)('%s', (_, fields, expected) => {
    expect(endToEndFields(fields)).toEqual(expected)
  })

  test('of trailers', () => {
    const trailers = ['X-Sum', '1', 'Authorization', 'a', 'Set-Cookie', 'b', 'Connection', 'x', 'Grpc-Status', '0']
    expect(endToEndTrailers([...trailers, 'X-Forwarded-For', 'c', 'Content-Type', 'd', 'Server-Timing', 'e'])).toEqual([
      'X-Sum',
      '1',
      'Grpc-Status',
      '0',
      'Server-Timing',
      'e',
    ])
  })
})

test('lists', () => {
  expect(listElements('a, b')).toEqual(['a', 'b'])
  expect(listElements(' ,a ,,\tb,')).toEqual(['a', 'b'])
  expect(listElements('')).toEqual([])
  expect(listElements('"a,b", c;d="e,\\",f"')).toEqual(['"a,b"', 'c;d="e,\\",f"'])
  expect(listElements('a, "b')).toEqual(['a', '"b'])
  expect(listElements('\xa0a')).toEqual(['\xa0a'])
  expect(listHasToken('no-cache, NO-TRANSFORM', 'no-transform')).toBe(true)
  expect(listHasToken('x="no-transform, y"', 'no-transform')).toBe(false)
  expect(listHasToken('no-transform=1', 'no-transform')).toBe(false)
})

test('tokens and values', () => {
  for (const token of ['a', 'X-Y', "!#$%&'*+-.^_`|~"]) expect(isToken(token)).toBe(true)
  for (const text of ['', 'a b', 'a:', '\xe9', 'a\u0141', '"']) expect(isToken(text)).toBe(false)
  for (const value of ['', 'a', 'a b', 'a\tb', '\xff']) expect(isFieldValue(value)).toBe(true)
  for (const text of [' a', 'a ', '\ta', 'a\n', 'a\0', '\x7f', '\u0141']) expect(isFieldValue(text)).toBe(false)
})

describe('media types', () => {
  const cases: readonly (readonly [string, string | undefined, string | undefined])[] = [
    ['text/html', 'text/html', undefined],
    ['Text/HTML; Charset=UTF-8', 'text/html', 'utf-8'],
    ['text/html;charset="utf-8"', 'text/html', 'utf-8'],
    ['text/html; charset="u\\tf-8"', 'text/html', 'utf-8'],
    ['text/html ; x=";charset=a" ; charset = koi8-r', 'text/html', 'koi8-r'],
    ['text/html; charset=a; charset=b', 'text/html', 'a'],
    ['text/html; x', 'text/html', undefined],
    ['image/svg+xml', 'image/svg+xml', undefined],
    ['', undefined, undefined],
    ['text', undefined, undefined],
    ['text/', undefined, undefined],
    ['/html', undefined, undefined],
    ['text/html, text/plain', undefined, undefined],
    ['te xt/html', undefined, undefined],
  ]
  test.each(cases)('%j', (value, essence, charset) => {
    expect(parseMediaType(value)).toEqual(essence === undefined ? undefined : { essence, charset })
  })
})
