import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CRLF,
  encodeChunkHead,
  encodeLastChunk,
  encodeRequestHead,
  encodeResponseHead,
  UnsafeHeadError,
} from '../src/serialize.ts'
import { requestLog } from './event-log.ts'

test('heads stand as they are read: names, values and order unchanged, octets above US-ASCII too', () => {
  expect(decodeLatin1(encodeRequestHead('GET', '/a?b', ['hOST', 'a', 'X', '\xe9', 'x', '']))).toBe(
    'GET /a?b HTTP/1.1\r\nhOST: a\r\nX: \xe9\r\nx: \r\n\r\n',
  )
  expect(decodeLatin1(encodeResponseHead(404, ['A', '1']))).toBe('HTTP/1.1 404 Not Found\r\nA: 1\r\n\r\n')
  expect(decodeLatin1(encodeResponseHead(999, []))).toBe('HTTP/1.1 999 \r\n\r\n')
})

test('chunks', () => {
  expect(decodeLatin1(encodeChunkHead(1))).toBe('1\r\n')
  expect(decodeLatin1(encodeChunkHead(16))).toBe('10\r\n')
  expect(decodeLatin1(encodeChunkHead(65_535))).toBe('ffff\r\n')
  expect(decodeLatin1(encodeChunkHead(2 ** 40))).toBe('10000000000\r\n')
  expect(decodeLatin1(encodeLastChunk([]))).toBe('0\r\n\r\n')
  expect(decodeLatin1(encodeLastChunk(['A', '1']))).toBe('0\r\nA: 1\r\n\r\n')
  expect(decodeLatin1(CRLF)).toBe('\r\n')
})

test('a head is its own, whatever heads of the same length came before', () => {
  // Few letters, so that heads meet others of their length that differ in one line, in where lines end, or in nothing.
  const name = fc.string({ unit: fc.constantFrom('a', 'A'), minLength: 1, maxLength: 3 })
  const value = fc.string({ unit: fc.constantFrom('a', 'b', '\xe9'), maxLength: 3 })
  const fields = fc.array(fc.tuple(name, value), { maxLength: 4 }).map((lines) => lines.flat())
  fc.assert(
    fc.property(fc.array(fields, { minLength: 2, maxLength: 12 }), (heads) => {
      for (const head of heads) {
        const lines = head.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
        expect(decodeLatin1(encodeRequestHead('GET', '/', head))).toBe(`GET / HTTP/1.1\r\n${lines}\r\n`)
        expect(decodeLatin1(encodeResponseHead(200, head))).toBe(`HTTP/1.1 200 OK\r\n${lines}\r\n`)
      }
    }),
    { seed: 20_261_201, numRuns: 300 },
  )
})

describe('nothing that ends a line or begins another is written', () => {
  const evil = ['\r', '\n', '\r\nX: 1', '\0', '\x01', '\x0b', '\x7f', '\u0100', '\u{1f600}', 'a\u010ab']
  test.each(evil)('%j', (text) => {
    expect(() => encodeRequestHead(`G${text}`, '/', [])).toThrow(UnsafeHeadError)
    expect(() => encodeRequestHead('GET', `/${text}`, [])).toThrow(UnsafeHeadError)
    expect(() => encodeRequestHead('GET', '/', [`X${text}`, ''])).toThrow(UnsafeHeadError)
    expect(() => encodeRequestHead('GET', '/', ['X', text])).toThrow(UnsafeHeadError)
    expect(() => encodeResponseHead(200, ['X', text])).toThrow(UnsafeHeadError)
    expect(() => encodeLastChunk(['X', text])).toThrow(UnsafeHeadError)
  })

  test('separators in names, spaces in targets, empty parts, odd statuses', () => {
    for (const name of ['', 'a b', 'a:', 'a\t', '\xe9', '(']) {
      expect(() => encodeResponseHead(200, [name, ''])).toThrow(UnsafeHeadError)
    }
    for (const target of ['', '/a b', '/\xe9', '/\t']) {
      expect(() => encodeRequestHead('GET', target, [])).toThrow(UnsafeHeadError)
    }
    expect(() => encodeRequestHead('', '/', [])).toThrow(UnsafeHeadError)
    for (const status of [0, 99, 1000, 200.5, Number.NaN]) {
      expect(() => encodeResponseHead(status, [])).toThrow(UnsafeHeadError)
    }
  })
})

test('any body in any chunks reads back as it was', () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 })
  fc.assert(
    fc.property(bodies, (pieces) => {
      const parts = [
        encodeRequestHead('POST', '/', ['Host', 'a', 'Transfer-Encoding', 'chunked']),
        ...pieces.flatMap((piece) => [encodeChunkHead(piece.length), piece, CRLF]),
        encodeLastChunk(['T', '1']),
      ]
      const whole = encodeLatin1(parts.map((part) => decodeLatin1(part)).join(''))
      const body = pieces.map((piece) => decodeLatin1(piece)).join('')
      expect(requestLog(whole)).toEqual([
        'POST / 1.1 origin / a chunked keep ["Host","a","Transfer-Encoding","chunked"]',
        ...(body === '' ? [] : [`data ${JSON.stringify(body)}`]),
        'end ["T","1"]',
        'close',
      ])
    }),
    { numRuns: 200 },
  )
})
