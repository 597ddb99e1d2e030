import { describe, expect, test } from 'vitest'
import { type ConditionRequest, prepareConditions, rulesForRequest } from '../src/conditions.ts'
import { decide } from '../src/gate.ts'
import { GateMemo } from '../src/gate-memo.ts'
import type { GateRoute } from '../src/gate-route.ts'
import type { ResponseHead } from '../src/message.ts'
import { BASE_CHARSETS, BASE_CODINGS } from './codings.ts'

const ANY = prepareConditions([{ types: ['text/html'] }, { types: ['text/html'] }])
const SOME = prepareConditions([
  { types: ['text/html'], paths: ['/a/**'] },
  { types: ['text/*'], methods: ['GET'], requestHeaders: { 'X-Beta': true }, responseHeaders: { server: 's' } },
])

function route(init: Partial<GateRoute>): GateRoute {
  return {
    conditions: ANY,
    ruleSetHash: '0123456789abcdef',
    ignoreNoTransform: false,
    lastModified: { kind: 'remove' },
    variesBy: [],
    alwaysNew: false,
    codings: BASE_CODINGS,
    charsets: BASE_CHARSETS,
    compression: undefined,
    ...init,
  }
}

const ROUTES: readonly GateRoute[] = [
  route({}),
  route({ conditions: SOME, variesBy: ['x-beta'] }),
  route({ conditions: prepareConditions([]) }),
  route({ ignoreNoTransform: true, alwaysNew: true }),
  route({
    conditions: prepareConditions([{ types: ['text/css'] }]),
    compression: { types: prepareConditions([{ types: ['text/html'] }]), minBytes: 1, codings: ['gzip'] },
  }),
]

const REQUEST_FIELDS: readonly (readonly string[])[] = [
  [],
  ['Accept-Encoding', 'gzip'],
  ['Accept-Encoding', 'gzip;q=0'],
  ['Accept-Encoding', 'br', 'Accept-Encoding', 'gzip'],
  ['Cache-Control', 'no-transform'],
  ['X-Beta', '1'],
  ['Sec-Fetch-Dest', 'video', 'Range', 'bytes=0-1'],
]
const REQUESTS: readonly ConditionRequest[] = [
  ['GET', '/a/b'],
  ['HEAD', '/a/b'],
  ['POST', '/b.mp4'],
].flatMap(([method, path]) => REQUEST_FIELDS.map((fields) => ({ method, path, fields, authority: 'a.example' })))

const RESPONSE_FIELDS: readonly (readonly string[])[] = [
  [],
  ['Content-Type', 'text/html', 'ETag', '"a"', 'Content-Length', '2000', 'Connection', 'x', 'X', '1'],
  ['Content-Type', 'text/html', 'Content-Encoding', 'gzip', 'Server', 's'],
  ['Content-Type', 'text/html', 'Cache-Control', 'no-transform'],
  ['Content-Type', 'image/png', 'Vary', 'Cookie'],
]
const HEADS: readonly ResponseHead[] = [200, 206, 304].flatMap((status) =>
  RESPONSE_FIELDS.map((fields) => ({
    status,
    minorVersion: 1,
    fields,
    isRepeated: true,
    body: { kind: 'chunked' },
    contentLength: undefined,
    keepAlive: true,
  })),
)

describe('what was decided about a head before', () => {
  test.each(ROUTES.map((one, number) => ({ number, one })))(
    'is what would be decided now: route $number',
    ({ one }) => {
      const memo = new GateMemo(one)
      const wrong: unknown[] = []
      // Each request after each other one, so that what was kept is of one that differs in anything.
      for (const head of HEADS) {
        for (const request of REQUESTS) {
          const forRequest = rulesForRequest(one.conditions, request)
          const expected = JSON.stringify(decide(request, head, one, forRequest))
          for (const before of REQUESTS) {
            memo.decide(before, head, rulesForRequest(one.conditions, before)).fields.push('Spoilt', '1')
            const decided = JSON.stringify(memo.decide(request, head, forRequest))
            if (decided !== expected) wrong.push({ before, request, head, decided, expected })
          }
        }
      }
      expect(wrong).toEqual([])
    },
  )
})
