import { encodeLatin1 } from '@prexy/bytes/latin1'
import { REQUESTS } from '@prexy/testing/request-corpus'
import { describe, expect, test } from 'vitest'
import { HeadSection } from '../src/head-section.ts'
import { DEFAULT_REQUEST_LIMITS } from '../src/limits.ts'
import { RequestParser } from '../src/request-parser.ts'
import { differences, requestLog, splits, verdict } from './event-log.ts'

describe('each request of the corpus is read as it should be', () => {
  test.each(REQUESTS)('$name', ({ raw, expected }) => {
    expect(verdict(requestLog(encodeLatin1(raw)))).toBe(expected)
  })

  test('names are unique', () => {
    expect(new Set(REQUESTS.map(({ name }) => name)).size).toBe(REQUESTS.length)
  })
})

describe('how the octets are cut changes nothing', () => {
  test.each(REQUESTS)('$name', ({ raw }) => {
    const octets = encodeLatin1(raw)
    expect(differences(octets, requestLog(octets), requestLog)).toEqual([])
  })
})

describe('what the events say', () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [
      'order, case and repetition of fields stay, white space around values goes',
      'GET /a?b HTTP/1.1\r\nhOsT: a.example\r\nX: 1\r\nx:\t 2 \r\nSet-Cookie: a\r\nX-Empty:\r\n\r\n',
      [
        'GET /a?b 1.1 origin /a?b a.example none keep ["hOsT","a.example","X","1","x","2","Set-Cookie","a","X-Empty",""]',
        'end',
        'close',
      ],
    ],
    [
      'octets above US-ASCII are one character each',
      'GET / HTTP/1.1\r\nHost: a\r\nX: \xe9\x80\xff\r\n\r\n',
      ['GET / 1.1 origin / a none keep ["Host","a","X","\xe9\x80\xff"]', 'end', 'close'],
    ],
    [
      'a pipeline gives one request after the other',
      'POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n',
      [
        'POST /1 1.1 origin /1 a length=2 keep ["Host","a","Content-Length","2"]',
        'data "hi"',
        'end',
        'GET /2 1.1 origin /2 a none keep ["Host","a"]',
        'end',
        'GET /3 1.1 origin /3 a none keep ["Host","a"]',
        'end',
        'close',
      ],
    ],
    [
      'chunks are joined, extensions dropped, trailers kept',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: 1\r\nb:2\r\n\r\n',
      [
        'POST / 1.1 origin / a chunked keep ["Host","a","Transfer-Encoding","chunked"]',
        'data "abcde"',
        'end ["A","1","b","2"]',
        'close',
      ],
    ],
    [
      'the authority of an absolute target overrules Host',
      'GET HTTP://B.example:81?q HTTP/1.1\r\nHost: a\r\n\r\n',
      ['GET HTTP://B.example:81?q 1.1 absolute /?q B.example:81 none keep ["Host","a"]', 'end', 'close'],
    ],
    [
      'OPTIONS for a whole server',
      'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\nOPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n',
      [
        'OPTIONS * 1.1 asterisk * a none keep ["Host","a"]',
        'end',
        'OPTIONS http://b 1.1 absolute * b none keep ["Host","a"]',
        'end',
        'close',
      ],
    ],
    [
      'a path that looks like an authority stays a path',
      'GET //evil/x HTTP/1.1\r\nHost: a\r\n\r\n',
      ['GET //evil/x 1.1 origin //evil/x a none keep ["Host","a"]', 'end', 'close'],
    ],
    [
      'Connection: close',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: foo , CLOSE\r\n\r\n',
      ['GET / 1.1 origin / a none ["Host","a","Connection","foo , CLOSE"]', 'end', 'close'],
    ],
    [
      'HTTP/1.0 closes unless asked not to, and knows no 100 and no upgrade',
      'GET / HTTP/1.0\r\nExpect: 100-continue\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
      [
        'GET / 1.0 origin / - none ["Expect","100-continue","Upgrade","x","Connection","upgrade"]',
        'end',
        'GET / 1.0 origin / - none keep ["Connection","keep-alive"]',
        'end',
        'close',
      ],
    ],
    [
      'Expect and Upgrade',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n',
      [
        'GET / 1.1 origin / a length=0 keep expect upgrade=websocket ["Host","a","Connection","Upgrade","Upgrade","websocket","Expect","100-continue","Content-Length","0"]',
        'end',
        'close',
      ],
    ],
    [
      'nobody waits for a 100 without a body',
      'GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n',
      ['GET / 1.1 origin / a none keep ["Host","a","Expect","100-continue"]', 'end', 'close'],
    ],
    [
      'Upgrade that Connection does not name is none',
      'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n',
      ['GET / 1.1 origin / a none keep ["Host","a","Upgrade","websocket"]', 'end', 'close'],
    ],
    ['the end between messages is no fault', '', ['close']],
    ['nor after an empty line', '\r\n', ['close']],
    ['the end inside a start line', 'GET', ['close 400 truncated @3']],
    ['the end inside a head', 'GET / HTTP/1.1\r\nHost', ['close 400 truncated @20']],
    [
      'the end inside a body',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel',
      [
        'POST / 1.1 origin / a length=5 keep ["Host","a","Content-Length","5"]',
        'data "hel"',
        'close 400 truncated @50',
      ],
    ],
    [
      'the end inside a trailer section',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: 1\r\n',
      ['POST / 1.1 origin / a chunked keep ["Host","a","Transfer-Encoding","chunked"]', 'close 400 truncated @65'],
    ],
    ['the position of a bad octet', 'GET / HTTP/1.1\r\nHost: a\r\nX: b\0\r\n\r\n', ['400 control-octet @29']],
    ['the position of a bad line', 'GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n', ['400 space-before-colon @25']],
    ['the position of a bad field', 'GET / HTTP/1.1\r\nHost: a b\r\nX: b\r\n\r\n', ['400 host-invalid @16']],
    [
      'the position of a bad trailer',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: 1\r\nHost: b\r\n\r\n',
      [
        'POST / 1.1 origin / a chunked keep ["Host","a","Transfer-Encoding","chunked"]',
        'data "x"',
        '400 trailer-forbidden @71',
      ],
    ],
  ]

  test.each(cases)('%s', (_, raw, expected) => {
    const octets = encodeLatin1(raw)
    expect(requestLog(octets)).toEqual(expected)
    expect(differences(octets, expected, requestLog)).toEqual([])
  })
})

describe('limits hold to the octet', () => {
  const start = 'POST /12345 HTTP/1.1\r\n'
  const fields = 'Host: a\r\nTransfer-Encoding: chunked\r\n\r\n'
  const body = '3;ex\r\nabc\r\n2\r\nde\r\n0\r\n'
  const trailers = 'A: 1\r\nB: 2\r\n\r\n'
  const raw = start + fields + body + trailers
  const cases = [
    ['maxTargetBytes', 6, '414 target-long'],
    ['maxMethodBytes', 4, '501 method-long'],
    ['maxHeaderBytes', fields.length, '431 header-bytes'],
    ['maxHeaderCount', 2, '431 header-count'],
    ['maxBodyBytes', 5, '413 body-bytes'],
    ['maxChunkExtensionBytes', 3, '413 chunk-extension-bytes'],
    ['maxTrailerBytes', trailers.length, '431 trailer-bytes'],
    ['maxTrailerCount', 2, '431 trailer-count'],
  ] as const

  test.each(cases)('%s', (name, least, fault) => {
    const octets = encodeLatin1(raw)
    for (const cuts of splits(octets.length)) {
      const allowed = requestLog(octets, cuts, { ...DEFAULT_REQUEST_LIMITS, [name]: least })
      expect({ cuts, verdict: verdict(allowed) }).toEqual({ cuts, verdict: 'accepted' })
      const refused = requestLog(octets, cuts, { ...DEFAULT_REQUEST_LIMITS, [name]: least - 1 })
      expect({ cuts, verdict: verdict(refused) }).toEqual({ cuts, verdict: fault })
    }
  })

  test('maxBodyBytes is compared with Content-Length before the body', () => {
    const long = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n'
    expect(requestLog(encodeLatin1(long), [], { ...DEFAULT_REQUEST_LIMITS, maxBodyBytes: 5 })).toEqual([
      '413 body-bytes @26',
    ])
  })

  test('an endless start line and an endless head are refused without their end', () => {
    expect(verdict(requestLog(encodeLatin1(`GET /${'a'.repeat(20_000)}`)))).toBe('414 target-long')
    expect(verdict(requestLog(encodeLatin1('A'.repeat(20_000))))).toBe('501 method-long')
    expect(verdict(requestLog(encodeLatin1(`GET / HTTP/1.1\r\nX: ${'a'.repeat(40_000)}`)))).toBe('431 header-bytes')
  })
})

describe('the life of a parser', () => {
  test('idle is true between messages only', () => {
    const parser = new RequestParser(DEFAULT_REQUEST_LIMITS)
    const raw = encodeLatin1('\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const states: boolean[] = [parser.idle]
    for (let at = 0; at < raw.length; at++) {
      parser.read(raw.slice(at, at + 1), 0)
      states.push(parser.idle)
    }
    expect(parser.read(raw, raw.length)).toBe('end')
    states.push(parser.idle)
    const during = Array.from({ length: raw.length - 2 }, () => false)
    expect(states).toEqual([true, false, true, ...during, true])
  })

  test('a refused connection stays refused', () => {
    const parser = new RequestParser(DEFAULT_REQUEST_LIMITS)
    const bad = encodeLatin1('GET / HTTP/1.1\n')
    const good = encodeLatin1('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(parser.read(bad, 0)).toBe('fault')
    expect(parser.read(good, 0)).toBe('fault')
    expect(parser.close()?.code).toBe('bare-lf')
  })

  test('body octets are views of the chunk, whole chunks the chunk itself', () => {
    const parser = new RequestParser(DEFAULT_REQUEST_LIMITS)
    const head = encodeLatin1('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nab')
    expect(parser.read(head, 0)).toBe('head')
    expect(parser.read(head, parser.consumed)).toBe('data')
    expect(parser.data.buffer).toBe(head.buffer)
    expect(parser.read(head, parser.consumed)).toBe('more')
    const rest = encodeLatin1('cdef')
    expect(parser.read(rest, 0)).toBe('data')
    expect(parser.data).toBe(rest)
  })

  test('no octet of a head is checked twice, however small the chunks', () => {
    const line = encodeLatin1(`X: ${'a'.repeat(30_000)}`)
    const section = new HeadSection()
    section.begin(40_000, 40_000)
    const checked: number[] = []
    for (let at = 0; at < line.length; at++) {
      section.feed(line.subarray(at, at + 1), 0)
      section.nextLine()
      section.keep()
      checked.push(section.scan)
    }
    expect(checked).toEqual(Array.from(line, (_, at) => at + 1))
  })
})
