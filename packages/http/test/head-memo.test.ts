import { describe, expect, it } from 'vitest'
import { HeadMemo } from '../src/head-memo.ts'
import { DEFAULT_REQUEST_LIMITS, DEFAULT_RESPONSE_LIMITS } from '../src/limits.ts'
import type { RequestHead, ResponseHead } from '../src/message.ts'
import { type JudgedFields, RequestParser } from '../src/request-parser.ts'
import { ResponseParser } from '../src/response-parser.ts'

const octets = (text: string): Uint8Array => Buffer.from(text, 'latin1')

/** Reads one message whole; its head, or the fault. */
function readRequest(parser: RequestParser, text: string): RequestHead | string {
  const chunk = octets(text)
  let at = 0
  let head: RequestHead | undefined
  for (;;) {
    const event = parser.read(chunk, at)
    at = parser.consumed
    if (event === 'head') head = parser.head
    else if (event === 'fault') return parser.fault.code
    else if (event !== 'data') return head !== undefined && at === chunk.length ? head : `${event} at ${at}`
  }
}

function readResponse(parser: ResponseParser, text: string, method = 'GET'): ResponseHead | string {
  const chunk = octets(text)
  parser.expect(method, false)
  let at = 0
  for (;;) {
    const event = parser.read(chunk, at)
    at = parser.consumed
    if (event === 'fault') return parser.fault.code
    if (event === 'end') return at === chunk.length ? parser.head : `end at ${at}`
    if (event === 'more') return 'more'
  }
}

const FIELDS = 'Host: a.example\r\nAccept: */*\r\n\r\n'
const RESPONSE = 'HTTP/1.1 200 OK\r\nServer: s\r\nContent-Length: 2\r\n\r\nab'

describe('a request whose fields came before', () => {
  it('gets the same fields from the third time on, whatever it asks for', () => {
    const parser = new RequestParser(DEFAULT_REQUEST_LIMITS, new HeadMemo())
    const heads = ['/1', '/2', '/3', '/4'].map((path) => readRequest(parser, `GET ${path} HTTP/1.1\r\n${FIELDS}`))
    expect(heads).toMatchObject(
      ['/1', '/2', '/3', '/4'].map((path) => ({ method: 'GET', path, authority: 'a.example' })),
    )
    expect(heads.map((head) => typeof head !== 'string' && head.isRepeated)).toEqual([false, false, true, true])
    const lists = heads.map((head) => (typeof head === 'string' ? head : head.fields))
    expect(lists[2]).toBe(lists[3])
    expect(lists[3]).toEqual(lists[0])
  })

  it.each([
    ['another octet at the end', 'Host: a.example\r\nAccept: */+\r\n\r\n'],
    ['another case', 'Host: a.example\r\naccept: */*\r\n\r\n'],
    ['one line more', 'Host: a.example\r\nAccept: */*\r\nA: b\r\n\r\n'],
    ['one line less', 'Host: a.example\r\n\r\n'],
  ])('is told from one with %s', (_, other) => {
    const memo = new HeadMemo<JudgedFields>()
    for (let time = 0; time < 3; time++) {
      const parser = new RequestParser(DEFAULT_REQUEST_LIMITS, memo)
      const first = readRequest(parser, `GET / HTTP/1.1\r\n${FIELDS}`)
      const second = readRequest(parser, `GET / HTTP/1.1\r\n${other}`)
      const fresh = new RequestParser(DEFAULT_REQUEST_LIMITS)
      expect(first).toEqual({
        ...expectHead(readRequest(fresh, `GET / HTTP/1.1\r\n${FIELDS}`)),
        isRepeated: time === 2,
      })
      expect(second).toEqual({
        ...expectHead(readRequest(fresh, `GET / HTTP/1.1\r\n${other}`)),
        isRepeated: time === 2,
      })
    }
  })

  it.each([
    ['no Host', 'Accept: */*\r\n\r\n', 'host-missing'],
    ['two lengths', 'Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n', 'content-length-repeated'],
    ['no fields at all, and another request behind', '\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n', 'host-missing'],
    ['a bare LF', 'Host: a\nX: b\r\n\r\n', 'bare-lf'],
    ['an unknown expectation', 'Host: a\r\nExpect: x\r\n\r\n', 'expectation'],
  ])('is refused each time with %s', (_, fields, code) => {
    const memo = new HeadMemo<JudgedFields>()
    for (let time = 0; time < 4; time++) {
      expect(readRequest(new RequestParser(DEFAULT_REQUEST_LIMITS, memo), `GET / HTTP/1.1\r\n${fields}`)).toBe(code)
    }
  })

  it('keeps what HTTP/1.0 may say and HTTP/1.1 may not apart', () => {
    const memo = new HeadMemo<JudgedFields>()
    const parser = new RequestParser(DEFAULT_REQUEST_LIMITS, memo)
    for (let time = 0; time < 3; time++)
      expect(readRequest(parser, 'GET / HTTP/1.0\r\nA: b\r\n\r\n')).toMatchObject({ minorVersion: 0 })
    expect(readRequest(parser, 'GET / HTTP/1.1\r\nA: b\r\n\r\n')).toBe('host-missing')
  })

  it('has a body of its own', () => {
    const parser = new RequestParser(DEFAULT_REQUEST_LIMITS, new HeadMemo())
    for (const body of ['ab', 'cd', '\r\n', 'ef']) {
      const chunk = octets(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n${body}`)
      expect(parser.read(chunk, 0)).toBe('head')
      expect(parser.read(chunk, parser.consumed)).toBe('data')
      expect(Buffer.from(parser.data).toString('latin1')).toBe(body)
      expect(parser.read(chunk, parser.consumed)).toBe('end')
    }
  })

  it('is the same for whoever cuts it', () => {
    const memo = new HeadMemo<JudgedFields>()
    const message = octets(`GET / HTTP/1.1\r\n${FIELDS}`)
    for (let cut = 1; cut < message.length; cut++) {
      const parser = new RequestParser(DEFAULT_REQUEST_LIMITS, memo)
      expect(parser.read(message.subarray(0, cut), 0)).toBe('more')
      expect(parser.read(message.subarray(cut), 0)).toBe('head')
      expect(parser.head).toMatchObject({
        path: '/',
        authority: 'a.example',
        fields: ['Host', 'a.example', 'Accept', '*/*'],
      })
      expect(readRequest(new RequestParser(DEFAULT_REQUEST_LIMITS, memo), `GET / HTTP/1.1\r\n${FIELDS}`)).toMatchObject(
        { path: '/' },
      )
    }
  })
})

describe('a response whose head came before', () => {
  it('is the same object from the third time on', () => {
    const parser = new ResponseParser(DEFAULT_RESPONSE_LIMITS, new HeadMemo())
    const heads = [1, 2, 3, 4].map(() => readResponse(parser, RESPONSE))
    expect(heads[2]).toBe(heads[3])
    expect(heads[0]).toEqual({ ...expectHead(heads[3]), isRepeated: false })
  })

  it('has a body where its method has one', () => {
    const parser = new ResponseParser(DEFAULT_RESPONSE_LIMITS, new HeadMemo())
    const head = RESPONSE.slice(0, -2)
    for (let time = 0; time < 4; time++) {
      expect(readResponse(parser, head, 'HEAD')).toMatchObject({ body: { kind: 'none' } })
      expect(readResponse(parser, RESPONSE)).toMatchObject({ body: { kind: 'length', bytes: 2 } })
    }
  })

  it.each([
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n',
    'HTTP/1.1 2000 OK\r\n\r\n',
  ])('is refused each time: %j', (text) => {
    const memo = new HeadMemo<ResponseHead>()
    const codes = [1, 2, 3, 4].map(() => readResponse(new ResponseParser(DEFAULT_RESPONSE_LIMITS, memo), text))
    expect(new Set(codes).size).toBe(1)
    expect(typeof codes[0]).toBe('string')
  })

  it('comes after interim ones, of which each counts', () => {
    const parser = new ResponseParser({ ...DEFAULT_RESPONSE_LIMITS, maxInterimResponses: 2 }, new HeadMemo())
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
    for (let time = 0; time < 4; time++) {
      const chunk = octets(`${hints}${hints}${RESPONSE}`)
      parser.expect('GET', false)
      const events: string[] = []
      for (let at = 0; events.at(-1) !== 'end'; at = parser.consumed) events.push(parser.read(chunk, at))
      expect(events).toEqual(['interim', 'interim', 'head', 'data', 'end'])
    }
    expect(readResponse(parser, `${hints}${hints}${hints}${RESPONSE}`)).toBe('interim-count')
  })
})

function expectHead<Head>(head: Head | string): Head {
  if (typeof head === 'string') throw new Error(head)
  return head
}
