import { encodeLatin1 } from '@prexy/bytes/latin1'
import { hostile } from '@prexy/testing/hostile-octets'
import { REQUESTS } from '@prexy/testing/request-corpus'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { prepareConditions } from '../src/conditions.ts'
import { endToEndFields, trimBlanks } from '../src/fields.ts'
import { decide } from '../src/gate.ts'
import type { GateRoute } from '../src/gate-route.ts'
import { DEFAULT_RESPONSE_LIMITS } from '../src/limits.ts'
import { ResponseParser } from '../src/response-parser.ts'
import { encodeResponseHead } from '../src/serialize.ts'
import { upstreamRequestFields } from '../src/validators.ts'
import { type Cuts, requestLog, responseLog } from './event-log.ts'
import { forward, readRequests } from './hostile.ts'
import { RESPONSES } from './response-corpus.ts'
import { BASE_CHARSETS, BASE_CODINGS } from './codings.ts'

const long = process.env['PREXY_LONG'] !== undefined
/** Runs per property; `npm run test:long` makes 60,000, the figure a change of the parsers should be tried with. */
const RUNS = long ? 60_000 : 1_500
vi.setConfig({ testTimeout: long ? 600_000 : 30_000 })

/** Cuts at any places, given as shares of the length. */
const shares = fc.array(fc.nat(999), { maxLength: 12 })

function cutsAt(length: number, places: readonly number[]): Cuts {
  return places.map((place) => Math.floor((place * length) / 1_000)).sort((a, b) => a - b)
}

describe(`requests, whatever they hold (${RUNS} each)`, () => {
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

describe(`responses, whatever they hold (${RUNS} each)`, () => {
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

describe(`what the gate makes of any fields (${RUNS} each)`, () => {
  const route: GateRoute = {
    conditions: prepareConditions([{ types: ['*'] }]),
    ruleSetHash: '0123456789abcdef',
    ignoreNoTransform: false,
    lastModified: { kind: 'keep', rulesChangedMs: 1_000 },
    variesBy: [],
    alwaysNew: false,
    codings: BASE_CODINGS,
    charsets: BASE_CHARSETS,
    compression: undefined,
  }
  const value = fc.array(
    fc.constantFrom(
      ...[
        '"a"',
        'W/',
        `"a-p0123456789abcdef"`,
        ',',
        ';',
        '=',
        '*',
        'q=0',
        'q=0.5',
        'gzip',
        'br',
        'identity',
        ' ',
        '\t',
        '"',
        '\\',
      ],
      ...[
        'text/html',
        'charset',
        'utf-8',
        'no-transform',
        'Accept-Encoding',
        'Mon, 01 Jun 2026 12:00:00 GMT',
        'x',
        '\xe9',
      ],
    ),
    { maxLength: 6 },
  )
  const name = fc.constantFrom(
    ...['Accept-Encoding', 'If-None-Match', 'If-Match', 'If-Modified-Since', 'Cache-Control', 'Connection', 'Range'],
    ...['ETag', 'Vary', 'Last-Modified', 'Content-Type', 'Content-Encoding', 'Content-Range', 'Content-Length'],
  )
  // As a parser gives them: without white space around.
  const fieldList = fc
    .array(fc.tuple(name, value), { maxLength: 6 })
    .map((lines) => lines.flatMap(([fieldName, pieces]) => [fieldName, trimBlanks(pieces.join(''))]))
  const framing = new Set(['connection', 'content-length', 'transfer-encoding'])

  test('can be sent, and frames nothing', () => {
    fc.assert(
      fc.property(fieldList, fieldList, fc.constantFrom('GET', 'HEAD', 'PUT'), (asked, answered, method) => {
        const request = { method, path: '/', fields: asked, minorVersion: 1 }
        const up = upstreamRequestFields(request, route)
        const down = decide(request, { status: 200, fields: answered }, route)
        for (const fields of [up.kind === 'send' ? up.fields : [], down.fields]) {
          expect(encodeResponseHead(200, fields).length).toBeGreaterThan(0)
          expect(fields.filter((text, at) => at % 2 === 0 && framing.has(text.toLowerCase()))).toEqual([])
        }
      }),
      { numRuns: RUNS },
    )
  })
})
