import { encodeLatin1 } from '@prexy/bytes/latin1'
import { describe, expect, test } from 'vitest'
import { DEFAULT_RESPONSE_LIMITS } from '../src/limits.ts'
import { ResponseParser } from '../src/response-parser.ts'
import { differences, responseLog, splits } from './event-log.ts'
import { RESPONSES } from './response-corpus.ts'

describe('each response of the corpus is read as it should be, however it is cut', () => {
  test.each(RESPONSES)('$name', ({ raw, asked, expected }) => {
    const octets = encodeLatin1(raw)
    expect(responseLog(octets, asked)).toEqual(expected)
    expect(differences(octets, expected, (whole, cuts) => responseLog(whole, asked, cuts))).toEqual([])
  })

  test('names are unique', () => {
    expect(new Set(RESPONSES.map(({ name }) => name)).size).toBe(RESPONSES.length)
  })
})

test('a response cut off at any octet never looks whole, unless only the close could end it', () => {
  const bodies = [
    'HTTP/1.1 200 OK\r\nContent-Length: 300\r\nX: 1\r\n\r\n' + 'x'.repeat(300),
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc8\r\n' +
      'y'.repeat(200) +
      '\r\n3;e=1\r\nabc\r\n0\r\nT: 1\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Gone\r\nContent-Length: 1\r\n\r\nx',
  ]
  for (const body of bodies) {
    const octets = encodeLatin1(body)
    const ends = Array.from(octets, (_, at) =>
      responseLog(octets.subarray(0, at))
        .at(-1)
        ?.replace(/ @\d+$/, ''),
    )
    expect(new Set(ends.slice(1))).toEqual(new Set(['close 502 truncated']))
    expect(responseLog(octets).at(-1)).toBe('close')
  }
})

describe('limits hold to the octet', () => {
  const head = 'HTTP/1.1 200 OK\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n'
  const trailers = 'A: 1\r\nB: 2\r\n\r\n'
  const octets = encodeLatin1(`HTTP/1.1 103 Hi\r\n\r\n${head}3;ex\r\nabc\r\n2\r\nde\r\n0\r\n${trailers}`)
  const cases = [
    ['maxHeaderBytes', head.length, 'header-bytes'],
    ['maxHeaderCount', 2, 'header-count'],
    ['maxBodyBytes', 5, 'body-bytes'],
    ['maxChunkExtensionBytes', 3, 'chunk-extension-bytes'],
    ['maxTrailerBytes', trailers.length, 'trailer-bytes'],
    ['maxTrailerCount', 2, 'trailer-count'],
    ['maxInterimResponses', 1, 'interim-count'],
  ] as const

  test.each(cases)('%s', (name, least, code) => {
    for (const cuts of splits(octets.length)) {
      const allowed = responseLog(octets, {}, cuts, { ...DEFAULT_RESPONSE_LIMITS, [name]: least })
      expect({ cuts, last: allowed.at(-1) }).toEqual({ cuts, last: 'close' })
      const refused = responseLog(octets, {}, cuts, { ...DEFAULT_RESPONSE_LIMITS, [name]: least - 1 })
      expect({ cuts, last: refused.at(-1)?.replace(/ @\d+$/, '') }).toEqual({ cuts, last: `502 ${code}` })
    }
  })

  test('maxBodyBytes holds for a body until close, whose octets up to it arrive', () => {
    const endless = encodeLatin1('HTTP/1.1 200 OK\r\n\r\nabcdef')
    const limits = { ...DEFAULT_RESPONSE_LIMITS, maxBodyBytes: 4 }
    const expected = ['head 200 1.1 until-close', 'data "abcd"', '502 body-bytes @23']
    expect(differences(endless, expected, (whole, cuts) => responseLog(whole, {}, cuts, limits))).toEqual([])
  })
})

describe('the life of a parser', () => {
  test('one connection carries one response after the other', () => {
    const parser = new ResponseParser(DEFAULT_RESPONSE_LIMITS)
    const octets = encodeLatin1('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
    for (const method of ['GET', 'POST']) {
      expect(parser.idle).toBe(true)
      parser.expect(method, false)
      expect(parser.idle).toBe(false)
      expect(parser.read(octets, 0)).toBe('head')
      expect(parser.read(octets, parser.consumed)).toBe('data')
      expect(parser.read(octets, parser.consumed)).toBe('end')
    }
    parser.expect('HEAD', false)
    expect(parser.read(octets.subarray(0, octets.length - 2), 0)).toBe('head')
    expect(parser.read(octets, octets.length)).toBe('end')
    expect(parser.close()).toBe(undefined)
  })

  test('octets between responses kill the connection, also if a response is asked for afterwards', () => {
    const parser = new ResponseParser(DEFAULT_RESPONSE_LIMITS)
    const octets = encodeLatin1('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    expect(parser.read(octets, 0)).toBe('fault')
    parser.expect('GET', false)
    expect(parser.read(octets, 0)).toBe('fault')
    expect(parser.fault.code).toBe('response-unasked')
  })
})
