import { describe, expect, test } from 'vitest'
import { type Coding, contentCoding, outputCoding, upstreamAcceptEncoding } from '../src/content-coding.ts'
import { BASE_CODINGS } from './codings.ts'

const WITH_ZSTD: readonly Coding[] = ['zstd', ...BASE_CODINGS]

function accepting(value: string | undefined): string[] {
  return value === undefined ? [] : ['Accept-Encoding', value]
}

describe('what the upstream is asked for', () => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'br, gzip, deflate'],
    ['gzip, deflate, br, zstd', 'br, gzip, deflate'],
    ['zstd', 'identity'],
    ['compress, sdch', 'identity'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=0.000, br', 'br'],
    ['br;q=0.5, gzip', 'br;q=0.5, gzip'],
    ['deflate;q=0.9, gzip;q=0.1', 'gzip;q=0.1, deflate;q=0.9'],
    ['*', 'br, gzip, deflate'],
    ['*;q=0', '*;q=0'],
    ['br;q=0, *', 'gzip, deflate'],
    ['gzip, identity;q=0', 'gzip, identity;q=0'],
    ['gzip, *;q=0', 'gzip, identity;q=0'],
    ['zstd, identity;q=0', 'zstd, identity;q=0'],
    ['gzip;q=x', 'identity'],
    ['gzip;q=2', 'identity'],
    ['gzip;q=1.0', 'gzip'],
    ['gzip;Q=0.5', 'gzip;q=0.5'],
    ['gzip ; q=0.5', 'gzip;q=0.5'],
    [',gzip,, br ,', 'br, gzip'],
    ['gzip;, br', 'br'],
    ['gzip;q=0, gzip', 'identity'],
  ]
  test.each(cases)('%j', (accept, expected) => {
    expect(upstreamAcceptEncoding(accepting(accept), BASE_CODINGS)).toBe(expected)
  })

  test('zstd where the runtime has it, and lines are one list', () => {
    expect(upstreamAcceptEncoding(accepting('gzip, zstd'), WITH_ZSTD)).toBe('zstd, gzip')
    expect(upstreamAcceptEncoding(['accept-encoding', 'gzip', 'Accept-Encoding', 'br'], BASE_CODINGS)).toBe('br, gzip')
  })
})

describe('what Content-Encoding says', () => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['none', 'identity'],
    ['Identity, identity', 'identity'],
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['identity, gzip', 'gzip'],
    ['br', 'br'],
    ['deflate', 'deflate'],
    ['zstd', 'unknown'],
    ['compress', 'unknown'],
    ['aws-chunked', 'unknown'],
    ['gzip, gzip', 'stacked'],
    ['br, foo', 'stacked'],
  ]
  test.each(cases)('%j', (value, expected) => {
    expect(contentCoding(value === undefined ? [] : ['Content-Encoding', value], BASE_CODINGS)).toBe(expected)
  })

  test('zstd where the runtime has it; two lines are stacked', () => {
    expect(contentCoding(['content-encoding', 'zstd'], WITH_ZSTD)).toBe('zstd')
    expect(contentCoding(['content-encoding', 'gzip', 'Content-Encoding', 'br'], BASE_CODINGS)).toBe('stacked')
  })
})

describe('what the client gets', () => {
  const cases: readonly (readonly [string | undefined, Coding | 'identity', Coding | 'identity'])[] = [
    [undefined, 'identity', 'identity'],
    [undefined, 'gzip', 'identity'],
    ['gzip', 'identity', 'identity'],
    ['gzip', 'gzip', 'gzip'],
    ['gzip', 'br', 'gzip'],
    ['gzip;q=0.5, br', 'gzip', 'gzip'],
    ['br;q=0.5, deflate', 'gzip', 'deflate'],
    ['br;q=0.5, deflate;q=0.5', 'gzip', 'br'],
    ['identity', 'gzip', 'identity'],
    ['gzip;q=0', 'gzip', 'identity'],
    ['*', 'br', 'br'],
    ['*;q=0, gzip', 'identity', 'gzip'],
    ['gzip, identity;q=0', 'identity', 'gzip'],
    ['identity;q=0', 'identity', 'identity'],
    ['identity;q=0', 'gzip', 'gzip'],
    ['*;q=0', 'br', 'br'],
    ['zstd', 'br', 'identity'],
  ]
  test.each(cases)('Accept-Encoding %j, upstream %s: %s', (accept, upstream, expected) => {
    expect(outputCoding(accepting(accept), upstream, BASE_CODINGS)).toBe(expected)
  })
})
