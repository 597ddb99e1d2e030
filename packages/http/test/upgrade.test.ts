import { describe, expect, it } from 'vitest'
import { DEFAULT_REQUEST_LIMITS, DEFAULT_RESPONSE_LIMITS } from '../src/limits.ts'
import { RequestParser } from '../src/request-parser.ts'
import { ResponseParser } from '../src/response-parser.ts'
import { answersUpgrade, askedUpgrade } from '../src/upgrade.ts'

const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
const VERSION = 'Sec-WebSocket-Version: 13'
const HANDSHAKE = ['Connection: Upgrade', 'Upgrade: websocket', KEY, VERSION]

function asked(lines: readonly string[], startLine = 'GET /chat HTTP/1.1'): string | undefined {
  const parser = new RequestParser(DEFAULT_REQUEST_LIMITS)
  expect(parser.read(Buffer.from([startLine, 'Host: a', ...lines, '', ''].join('\r\n')), 0)).toBe('head')
  return askedUpgrade(parser.head)
}

describe('an upgrade is asked for', () => {
  it.each([
    ['by the handshake of RFC 6455', HANDSHAKE],
    ['in any case', ['connection: keep-alive, UPGRADE', 'upgrade: WebSocket', KEY, VERSION]],
    ['where Connection has two lines', ['Connection: keep-alive', ...HANDSHAKE]],
    ['among other protocols', ['Connection: Upgrade', 'Upgrade: h2c, websocket', KEY, VERSION]],
    ['in one of two lines', ['Connection: Upgrade', 'Upgrade: websocket', 'Upgrade: h2c', KEY, VERSION]],
    [
      'with a version that only the origin can judge',
      ['Connection: Upgrade', 'Upgrade: websocket', KEY, 'Sec-WebSocket-Version: 7'],
    ],
    ['with an empty body', [...HANDSHAKE, 'Content-Length: 0']],
  ])('%s', (_name, lines) => {
    expect(asked(lines)).toBe('websocket')
  })
})

describe('no upgrade is asked for', () => {
  it.each([
    ['without Connection', ['Upgrade: websocket', KEY, VERSION]],
    ['without Upgrade', ['Connection: Upgrade', KEY, VERSION]],
    ['by h2c', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']],
    ['by TLS', ['Connection: Upgrade', 'Upgrade: TLS/1.0', KEY, VERSION]],
    ['by a version of the token', ['Connection: Upgrade', 'Upgrade: websocket/13', KEY, VERSION]],
    ['without a key', ['Connection: Upgrade', 'Upgrade: websocket', VERSION]],
    ['with a key that is none', ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x', VERSION]],
    ['with two keys', [...HANDSHAKE, KEY]],
    ['without a version', ['Connection: Upgrade', 'Upgrade: websocket', KEY]],
    ['with two versions', [...HANDSHAKE, VERSION]],
    ['with a body', [...HANDSHAKE, 'Content-Length: 1']],
    ['with chunks', [...HANDSHAKE, 'Transfer-Encoding: chunked']],
  ])('%s', (_name, lines) => {
    expect(asked(lines)).toBe(undefined)
  })

  it.each([
    ['POST', 'POST /chat HTTP/1.1'],
    ['HEAD', 'HEAD /chat HTTP/1.1'],
    ['HTTP/1.0', 'GET /chat HTTP/1.0'],
  ])('by %s', (_name, startLine) => {
    expect(asked(HANDSHAKE, startLine)).toBe(undefined)
  })
})

describe('a 101 answers', () => {
  const answers = (lines: readonly string[], startLine = 'HTTP/1.1 101 Switching Protocols'): boolean => {
    const parser = new ResponseParser(DEFAULT_RESPONSE_LIMITS)
    parser.expect('GET', true)
    expect(parser.read(Buffer.from([startLine, ...lines, '', ''].join('\r\n')), 0)).toBe('head')
    return answersUpgrade(parser.head, 'websocket')
  }
  it.each([
    ['what was asked', true, ['Connection: Upgrade', 'Upgrade: websocket']],
    ['in any case', true, ['connection: keep-alive, upgrade', 'UPGRADE: WebSocket']],
    ['nothing without Upgrade', false, ['Connection: Upgrade']],
    ['nothing without Connection', false, ['Upgrade: websocket']],
    ['something else', false, ['Connection: Upgrade', 'Upgrade: h2c']],
    ['two things', false, ['Connection: Upgrade', 'Upgrade: websocket, h2c']],
    ['two things in two lines', false, ['Connection: Upgrade', 'Upgrade: websocket', 'Upgrade: h2c']],
  ])('%s', (_name, expected, lines) => {
    expect(answers(lines)).toBe(expected)
  })

  it('nothing in HTTP/1.0, and no other status does', () => {
    const lines = ['Connection: Upgrade', 'Upgrade: websocket']
    expect(answers(lines, 'HTTP/1.0 101 Switching Protocols')).toBe(false)
    expect(answers(lines, 'HTTP/1.1 200 OK')).toBe(false)
  })
})
