import { decodeLatin1 } from '@prexy/bytes/latin1'
import fc from 'fast-check'
import { endToEndTrailers, nameSet, withoutFields } from '../src/fields.ts'
import type { GateRoute } from '../src/gate-route.ts'
import { DEFAULT_REQUEST_LIMITS } from '../src/limits.ts'
import { RequestParser } from '../src/request-parser.ts'
import { CRLF, encodeChunkHead, encodeLastChunk, encodeRequestHead } from '../src/serialize.ts'
import { upstreamRequestFields } from '../src/validators.ts'

const PIECES = [
  ...[
    '\r\n',
    '\r',
    '\n',
    '\r\n\r\n',
    ' ',
    '\t',
    '\0',
    ':',
    ',',
    ';',
    '0',
    '5',
    'a',
    '\xe9',
    '\x7f',
    '#',
    '*',
    '/',
    '//',
  ],
  ...[
    'GET ',
    'POST ',
    'HEAD ',
    ' HTTP/1.1\r\n',
    ' HTTP/1.0\r\n',
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
  ],
  ...[
    'Host: a\r\n',
    'Content-Length: 5\r\n',
    'Content-Length: 0\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: ',
  ],
  ...[
    'chunked',
    'close\r\n',
    'keep-alive\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: h2c\r\n',
    '0\r\n\r\n',
    '5\r\nhello\r\n',
  ],
  ...['X: 1\r\n', 'Content-Length', 'Transfer-Encoding', 'http://b/', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
]

interface Mutation {
  readonly at: number
  readonly length: number
  readonly piece: string
}

const NO_RULES: GateRoute = {
  conditions: [],
  ruleSetHash: '0123456789abcdef',
  ignoreNoTransform: false,
  lastModified: { kind: 'remove' },
  variesBy: [],
  alwaysNew: false,
  codings: [],
}

/** Replaces up to eight octets somewhere by a piece. */
function mutate(raw: string, mutations: readonly Mutation[]): string {
  let text = raw
  for (const { at, length, piece } of mutations) {
    const start = at % (text.length + 1)
    text = text.slice(0, start) + piece + text.slice(start + length)
  }
  return text
}

const mutations = fc.array(fc.record({ at: fc.nat(400), length: fc.nat(8), piece: fc.constantFrom('', ...PIECES) }), {
  maxLength: 4,
})

/** Corpus rows, changed a little; and text put together from pieces. Long rows only test limits and are left out. */
export function hostile(rows: readonly { readonly raw: string }[]): fc.Arbitrary<string> {
  const short = rows.map(({ raw }) => raw).filter((raw) => raw.length < 500)
  return fc.oneof(
    fc.tuple(fc.constantFrom(...short), mutations).map(([raw, changes]) => mutate(raw, changes)),
    fc.tuple(fc.constantFrom(...short), fc.constantFrom(...short)).map(([first, second]) => first + second),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join('')),
  )
}

export interface ReadRequest {
  readonly method: string
  readonly path: string
  readonly fields: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

/** The requests that were read whole before the first fault or the end. */
export function readRequests(octets: Uint8Array): ReadRequest[] {
  const parser = new RequestParser(DEFAULT_REQUEST_LIMITS)
  const requests: ReadRequest[] = []
  let body = ''
  for (let at = 0; ; at = parser.consumed) {
    const event = parser.read(octets, at)
    if (event === 'more' || event === 'fault') return requests
    if (event === 'data') body += decodeLatin1(parser.data)
    if (event !== 'end') continue
    const { method, path, authority = 'upstream' } = parser.head
    const upstream = upstreamRequestFields(parser.head, NO_RULES)
    if (upstream.kind === 'answer') throw new Error('a route without rules asks no conditions')
    requests.push({
      method,
      path,
      fields: ['Host', authority, ...withoutFields(upstream.fields, nameSet(['host']))],
      body,
      trailers: endToEndTrailers(parser.trailers),
    })
    body = ''
  }
}

/** As a proxy sends them on: heads written and bodies framed anew. */
export function forward(request: ReadRequest): string {
  const { method, path, fields, body, trailers } = request
  const head = encodeRequestHead(method, path, [...fields, 'Transfer-Encoding', 'chunked'])
  const data = body === '' ? '' : decodeLatin1(encodeChunkHead(body.length)) + body + decodeLatin1(CRLF)
  return decodeLatin1(head) + data + decodeLatin1(encodeLastChunk(trailers))
}
