import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { endToEndFields, endToEndTrailers, withoutFields } from '../src/fields.ts'
import type { GateRoute } from '../src/gate-route.ts'
import { DEFAULT_REQUEST_LIMITS, DEFAULT_RESPONSE_LIMITS } from '../src/limits.ts'
import { RequestParser } from '../src/request-parser.ts'
import { ResponseParser } from '../src/response-parser.ts'
import { encodeChunk, encodeLastChunk, encodeRequestHead, encodeResponseHead } from '../src/serialize.ts'
import { upstreamRequestFields } from '../src/validators.ts'
import { type Cuts, requestLog, responseLog } from './event-log.ts'
import { REQUESTS } from './request-corpus.ts'
import { RESPONSES } from './response-corpus.ts'

/** Runs per property, well below a second each. */
const RUNS = 3_000

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
function hostile(rows: readonly { readonly raw: string }[]): fc.Arbitrary<string> {
  const short = rows.map(({ raw }) => raw).filter((raw) => raw.length < 1_000)
  return fc.oneof(
    fc.tuple(fc.constantFrom(...short), mutations).map(([raw, changes]) => mutate(raw, changes)),
    fc.tuple(fc.constantFrom(...short), fc.constantFrom(...short)).map(([first, second]) => first + second),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join('')),
  )
}

/** Cuts at any places, given as shares of the length. */
const shares = fc.array(fc.nat(999), { maxLength: 12 })

function cutsAt(length: number, places: readonly number[]): Cuts {
  return places.map((place) => Math.floor((place * length) / 1_000)).sort((a, b) => a - b)
}

interface ReadRequest {
  readonly method: string
  readonly path: string
  readonly fields: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

/** The requests that were read whole before the first fault or the end. */
function readRequests(octets: Uint8Array): ReadRequest[] {
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
      fields: ['Host', authority, ...withoutFields(upstream.fields, new Set(['host']))],
      body,
      trailers: endToEndTrailers(parser.trailers),
    })
    body = ''
  }
}

/** As a proxy sends them on: heads written and bodies framed anew. */
function forward(request: ReadRequest): string {
  const { method, path, fields, body, trailers } = request
  const head = encodeRequestHead(method, path, [...fields, 'Transfer-Encoding', 'chunked'])
  const data = body === '' ? '' : decodeLatin1(encodeChunk(encodeLatin1(body)))
  return decodeLatin1(head) + data + decodeLatin1(encodeLastChunk(trailers))
}

describe('requests, whatever they hold', () => {
  test('are read or refused, the same at every cut, and nothing is thrown', () => {
    fc.assert(
      fc.property(hostile(REQUESTS), shares, (raw, places) => {
        const octets = encodeLatin1(raw)
        const log = requestLog(octets)
        expect(requestLog(octets, cutsAt(octets.length, places))).toEqual(log)
        const single = Array.from({ length: Math.max(0, octets.length - 1) }, (_, at) => at + 1)
        expect(requestLog(octets, single)).toEqual(log)
      }),
      { numRuns: RUNS },
    )
  })

  test('arrive as exactly as many as were read when they are sent on, with the same contents', () => {
    fc.assert(
      fc.property(hostile(REQUESTS), (raw) => {
        const requests = readRequests(encodeLatin1(raw))
        const sent = requests.map(forward).join('')
        expect(readRequests(encodeLatin1(sent))).toEqual(requests)
      }),
      { numRuns: RUNS },
    )
  })
})

describe('responses, whatever they hold', () => {
  const asked = fc.record({ method: fc.constantFrom('GET', 'HEAD'), upgrade: fc.boolean() })

  test('are read or refused, the same at every cut, and nothing is thrown', () => {
    fc.assert(
      fc.property(hostile(RESPONSES), asked, shares, (raw, request, places) => {
        const octets = encodeLatin1(raw)
        const log = responseLog(octets, request)
        expect(responseLog(octets, request, cutsAt(octets.length, places))).toEqual(log)
        const single = Array.from({ length: Math.max(0, octets.length - 1) }, (_, at) => at + 1)
        expect(responseLog(octets, request, single)).toEqual(log)
      }),
      { numRuns: RUNS },
    )
  })

  test('give one final head at most, and one that reads the same when it is sent on', () => {
    fc.assert(
      fc.property(hostile(RESPONSES), (raw) => {
        const octets = encodeLatin1(raw)
        const parser = new ResponseParser(DEFAULT_RESPONSE_LIMITS)
        parser.expect('GET', false)
        let heads = 0
        for (let at = 0; ; at = parser.consumed) {
          const event = parser.read(octets, at)
          if (event === 'more' || event === 'fault') break
          if (event === 'head') heads++
          if (event !== 'head' && event !== 'interim') continue
          const { status, fields } = parser.head
          const travelling = endToEndFields(fields)
          const sent = new ResponseParser(DEFAULT_RESPONSE_LIMITS)
          sent.expect('HEAD', false)
          const head = encodeResponseHead(status, travelling)
          expect(sent.read(head, 0)).toBe(event)
          expect(sent.consumed).toBe(head.length)
          expect({ status: sent.head.status, fields: sent.head.fields }).toEqual({ status, fields: travelling })
        }
        expect(heads).toBeLessThan(2)
      }),
      { numRuns: RUNS },
    )
  })
})
