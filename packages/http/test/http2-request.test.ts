import { expect, it, test } from 'vitest'
import type { FieldList } from '../src/fields.ts'
import { readHttp2Request, readHttp2Trailers } from '../src/http2-request.ts'
import { DEFAULT_REQUEST_LIMITS } from '../src/limits.ts'

const GET: FieldList = [':method', 'GET', ':scheme', 'https', ':authority', 'a.example', ':path', '/']
const POST: FieldList = [':method', 'POST', ...GET.slice(2)]

/** The block with the value of one pseudo-header field changed, or without it. */
function withPseudo(name: string, value: string | undefined): FieldList {
  const at = GET.indexOf(name)
  return value === undefined ? [...GET.slice(0, at), ...GET.slice(at + 2)] : GET.with(at + 1, value)
}

const read = (block: FieldList, endsStream = true, limits = {}) =>
  readHttp2Request(block, endsStream, { ...DEFAULT_REQUEST_LIMITS, ...limits })

test('the head is the one that HTTP/1.1 would have had', () => {
  const block = [':method', 'GET', ':scheme', 'https', ':path', '//host/x?a=%20', ':authority', 'A.example:8443']
  const fields = ['cookie', 'a=1', 'accept', '*/*', 'cookie', 'b=2', 'te', 'trailers', 'x-empty', '']
  expect(read([...block, ...fields])).toEqual({
    kind: 'head',
    head: {
      method: 'GET',
      target: '//host/x?a=%20',
      targetForm: 'origin',
      path: '//host/x?a=%20',
      authority: 'A.example:8443',
      minorVersion: 1,
      majorVersion: 2,
      fields: ['host', 'A.example:8443', 'cookie', 'a=1; b=2', 'accept', '*/*', 'te', 'trailers', 'x-empty', ''],
      body: { kind: 'none' },
      keepAlive: true,
      expectContinue: false,
      upgrade: undefined,
    },
  })
})

it.each([
  ['no body', GET, true, { kind: 'none' }],
  ['a length', [...POST, 'content-length', '7'], false, { kind: 'length', bytes: 7 }],
  ['no length', POST, false, { kind: 'chunked' }],
  ['an empty body with a length', [...POST, 'content-length', '0'], true, { kind: 'length', bytes: 0 }],
])('framing: %s', (_name, block, endsStream, body) => {
  expect(read(block, endsStream)).toMatchObject({ kind: 'head', head: { body } })
})

it.each([
  ['an asterisk', [':method', 'OPTIONS', ...withPseudo(':path', '*').slice(2)], 'asterisk'],
  ['Host in place of :authority', [...withPseudo(':authority', undefined), 'host', 'a.example'], 'origin'],
  ['Host beside the same :authority', [...GET, 'host', 'a.example'], 'origin'],
  ['a scheme in capitals', withPseudo(':scheme', 'HTTPS'), 'origin'],
  ['octets above US-ASCII in a value', [...GET, 'x', 'caf\xe9'], 'origin'],
])('accepted: %s', (_name, block, targetForm) => {
  expect(read(block)).toMatchObject({ kind: 'head', head: { targetForm, authority: 'a.example' } })
})

it.each([
  // What would end a line, or the head.
  ['CR LF in a value', [...GET, 'x', 'a\r\ntransfer-encoding: chunked'], 'control-octet'],
  ['LF in a value', [...GET, 'x', 'a\nb'], 'control-octet'],
  ['CR in a value', [...GET, 'x', 'a\rb'], 'control-octet'],
  ['NUL in a value', [...GET, 'x', 'a\0b'], 'control-octet'],
  ['DEL in a value', [...GET, 'x', 'a\x7fb'], 'control-octet'],
  ['CR LF at the end of a value', [...GET, 'x', 'a\r\n'], 'control-octet'],
  ['CR LF in a name', [...GET, 'a\r\nb', 'x'], 'field-name'],
  ['a colon in a name', [...GET, 'a:b', 'x'], 'field-name'],
  ['a colon at the end of a name', [...GET, 'host:', 'x'], 'field-name'],
  ['a space in a name', [...GET, 'a b', 'x'], 'field-name'],
  ['a space at the end of a name', [...GET, 'transfer-encoding ', 'chunked'], 'field-name'],
  ['a NUL in a name', [...GET, 'a\0', 'x'], 'field-name'],
  ['an empty name', [...GET, '', 'x'], 'field-name'],
  ['a name in capitals', [...GET, 'X-Name', 'x'], 'field-name'],
  ['an octet above US-ASCII in a name', [...GET, 'caf\xe9', 'x'], 'field-name'],
  ['a name beyond latin-1', [...GET, 'ſ', 'x'], 'field-name'],
  ['white space before a value', [...GET, 'x', ' a'], 'field-blanks'],
  ['white space after a value', [...GET, 'x', 'a\t'], 'field-blanks'],
  // What would end the start line, or be another target.
  ['CR LF in the path', withPseudo(':path', '/ HTTP/1.1\r\nx: y'), 'target-octet'],
  ['a space in the path', withPseudo(':path', '/a b'), 'target-octet'],
  ['a NUL in the path', withPseudo(':path', '/a\0'), 'target-octet'],
  ['a tab in the path', withPseudo(':path', '/a\tb'), 'target-octet'],
  ['an octet above US-ASCII in the path', withPseudo(':path', '/caf\xe9'), 'target-octet'],
  ['a fragment', withPseudo(':path', '/a#b'), 'target-fragment'],
  ['an absolute path', withPseudo(':path', 'http://b.example/'), 'target-form'],
  ['a relative path', withPseudo(':path', 'a'), 'target-form'],
  ['an asterisk without OPTIONS', withPseudo(':path', '*'), 'target-form'],
  ['an empty path', withPseudo(':path', ''), 'pseudo-field'],
  ['no path', withPseudo(':path', undefined), 'pseudo-field'],
  ['a space in the method', withPseudo(':method', 'GET /admin HTTP/1.1\r\nx:'), 'method'],
  ['CR LF in the method', withPseudo(':method', 'GET\r\n'), 'method'],
  ['an empty method', withPseudo(':method', ''), 'pseudo-field'],
  ['no method', withPseudo(':method', undefined), 'pseudo-field'],
  ['CONNECT', withPseudo(':method', 'CONNECT'), 'method-refused'],
  ['TRACE', withPseudo(':method', 'TRACE'), 'method-refused'],
  ['an extended CONNECT', [...withPseudo(':method', 'CONNECT'), ':protocol', 'websocket'], 'pseudo-field'],
  // Who is asked.
  ['CR LF in the authority', withPseudo(':authority', 'a.example\r\nx: y'), 'host-invalid'],
  ['a space in the authority', withPseudo(':authority', 'a.example b'), 'host-invalid'],
  ['user information', withPseudo(':authority', 'u@a.example'), 'host-invalid'],
  ['a path in the authority', withPseudo(':authority', 'a.example/b'), 'host-invalid'],
  ['a list of authorities', withPseudo(':authority', 'a.example,b.example'), 'host-invalid'],
  ['an empty authority', withPseudo(':authority', ''), 'host-invalid'],
  ['no authority at all', withPseudo(':authority', undefined), 'host-missing'],
  ['Host that differs', [...GET, 'host', 'b.example'], 'authority-differs'],
  ['two Hosts', [...GET, 'host', 'a.example', 'host', 'a.example'], 'host-repeated'],
  ['another scheme', withPseudo(':scheme', 'ftp'), 'scheme'],
  ['CR LF in the scheme', withPseudo(':scheme', 'https\r\n'), 'scheme'],
  ['no scheme', withPseudo(':scheme', undefined), 'scheme'],
  // Pseudo-header fields out of order.
  ['a repeated pseudo-header field', [...GET, ':path', '/b'], 'pseudo-field'],
  ['a pseudo-header field after others', ['x', 'y', ...GET], 'pseudo-field'],
  ['one of responses', [...GET, ':status', '200'], 'pseudo-field'],
  ['an unknown one', [...GET, ':x', 'y'], 'pseudo-field'],
  // Fields of the connection, and of the framing.
  ['Transfer-Encoding', [...POST, 'transfer-encoding', 'chunked'], 'connection-field'],
  ['Connection', [...GET, 'connection', 'close'], 'connection-field'],
  ['Keep-Alive', [...GET, 'keep-alive', 'timeout=5'], 'connection-field'],
  ['Proxy-Connection', [...GET, 'proxy-connection', 'close'], 'connection-field'],
  ['Upgrade', [...GET, 'upgrade', 'websocket'], 'connection-field'],
  ['TE other than trailers', [...GET, 'te', 'trailers, chunked'], 'connection-field'],
  ['two lengths', [...POST, 'content-length', '5', 'content-length', '5'], 'content-length-repeated'],
  ['a list of lengths', [...POST, 'content-length', '5, 5'], 'content-length'],
  ['a negative length', [...POST, 'content-length', '-1'], 'content-length'],
  ['a length with a sign', [...POST, 'content-length', '+5'], 'content-length'],
  ['a length and no body', [...POST, 'content-length', '5'], 'content-length-sum'],
  ['another expectation', [...POST, 'expect', 'x'], 'expectation'],
])('refused: %s', (_name, block, code) => {
  expect(read(block)).toMatchObject({ kind: 'fault', fault: { code } })
})

it.each([
  ['maxHeaderBytes', [...GET, 'x', 'a'.repeat(90)], { maxHeaderBytes: 94 }, 431],
  ['maxHeaderCount', [...GET, 'x', '1', 'y', '2'], { maxHeaderCount: 1 }, 431],
  ['maxTargetBytes', withPseudo(':path', '/aaa'), { maxTargetBytes: 3 }, 414],
  ['maxMethodBytes', withPseudo(':method', 'LONG'), { maxMethodBytes: 3 }, 501],
  ['maxBodyBytes', [...POST, 'content-length', '9'], { maxBodyBytes: 8 }, 413],
])('limit: %s', (_name, block, limits, status) => {
  expect(read(block, false)).toMatchObject({ kind: 'head' })
  expect(read(block, false, limits)).toMatchObject({ kind: 'fault', fault: { status } })
})

it.each([
  ['a pseudo-header field', [':path', '/'], 'field-name'],
  ['a name in capitals', ['X', 'y'], 'field-name'],
  ['CR LF in a value', ['x', 'a\r\nb'], 'control-octet'],
  ['Transfer-Encoding', ['transfer-encoding', 'chunked'], 'connection-field'],
  ['Content-Length', ['content-length', '5'], 'trailer-forbidden'],
  ['Host', ['host', 'a'], 'trailer-forbidden'],
  ['more than maxTrailerCount', Array.from({ length: 65 }, (_, i) => [`x${i}`, 'y']).flat(), 'trailer-count'],
  ['more than maxTrailerBytes', ['x', 'y'.repeat(9_000)], 'trailer-bytes'],
])('trailers refused: %s', (_name, block, code) => {
  expect(readHttp2Trailers(block, DEFAULT_REQUEST_LIMITS)).toMatchObject({ code })
})

test('trailers accepted', () => {
  expect(readHttp2Trailers(['x-sum', '1'], DEFAULT_REQUEST_LIMITS)).toEqual(['x-sum', '1'])
})
