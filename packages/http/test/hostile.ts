import { decodeLatin1 } from '@prexy/bytes/latin1'
import { endToEndTrailers, nameSet, withoutFields } from '../src/fields.ts'
import type { GateRoute } from '../src/gate-route.ts'
import { DEFAULT_REQUEST_LIMITS } from '../src/limits.ts'
import { RequestParser } from '../src/request-parser.ts'
import { CRLF, encodeChunkHead, encodeLastChunk, encodeRequestHead } from '../src/serialize.ts'
import { upstreamRequestFields } from '../src/validators.ts'

const NO_RULES: GateRoute = {
  conditions: [],
  ruleSetHash: '0123456789abcdef',
  ignoreNoTransform: false,
  lastModified: { kind: 'remove' },
  variesBy: [],
  alwaysNew: false,
  codings: [],
  charsets: 'any',
  compression: undefined,
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
