import { describe, expect, test } from 'vitest'
import { type Charset, SINGLE_BYTE_CHARSETS } from '@prexy/bytes/charset-labels'
import { type ConditionRequest, prepareConditions } from '../src/conditions.ts'
import { joinedValue } from '../src/fields.ts'
import { decide } from '../src/gate.ts'
import type { GateRoute } from '../src/gate-route.ts'
import { upstreamRequestFields } from '../src/validators.ts'
import { BASE_CHARSETS, BASE_CODINGS } from './codings.ts'
import { REQUESTS, RESPONSES } from './gate-table.ts'

const HASH = '0123456789abcdef'

/** Encodings in which an ASCII octet is always that character. */
const OCTET_CHARSETS: ReadonlySet<Charset> = new Set<Charset>(['utf-8', 'euc-jp', ...SINGLE_BYTE_CHARSETS])

const ROUTE: GateRoute = {
  conditions: prepareConditions([
    { types: ['text/html'], paths: ['/**'], status: ['2xx', 404] },
    { types: ['application/json'], paths: ['/api/**'] },
  ]),
  ruleSetHash: HASH,
  ignoreNoTransform: false,
  lastModified: { kind: 'remove' },
  variesBy: [],
  alwaysNew: false,
  codings: BASE_CODINGS,
  charsets: BASE_CHARSETS,
  compression: undefined,
}

const ALL_CONDITIONS = prepareConditions([
  {
    types: ['text/*'],
    hosts: ['a.example', '*.a.example'],
    methods: ['GET'],
    paths: ['/'],
    status: [200],
    requestHeaders: { 'X-Beta': true },
    responseHeaders: { 'x-powered-by': 'php*' },
  },
])

type Fields = readonly string[]

/** `Name: value & Name: value`, with the shorthand of the table. */
function readFields(texts: readonly string[]): Fields {
  return texts.flatMap((text) => {
    const line = text === 'html' ? 'Content-Type: text/html' : text
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
}

interface Row {
  readonly name: string
  readonly request: ConditionRequest & { readonly minorVersion: number }
  readonly response: { readonly status: number; readonly fields: Fields }
  readonly route: GateRoute
  readonly decision: string
  /** `Name: value` or `!Name`. */
  readonly sent: readonly string[]
}

/** The variations that the table's route column names. */
function routeOf(words: readonly string[]): GateRoute {
  let route = ROUTE
  for (const word of words) {
    const [name, value = ''] = word.split('=')
    if (name === 'host') continue
    const change = VARIATIONS[name]
    if (change === undefined) throw new Error(`no such route: ${word}`)
    route = { ...route, ...change(value) }
  }
  return route
}

const VARIATIONS: Readonly<Record<string, (value: string) => Partial<GateRoute>>> = {
  'no-rules': () => ({ conditions: [] }),
  any: () => ({ conditions: prepareConditions([{ types: ['*'] }]) }),
  'y-only': () => ({ conditions: prepareConditions([{ types: ['*'], paths: ['/y'] }]) }),
  all: () => ({ conditions: ALL_CONDITIONS }),
  ignore: () => ({ ignoreNoTransform: true }),
  zstd: () => ({ codings: ['zstd', ...BASE_CODINGS] }),
  keep: () => ({ lastModified: { kind: 'keep', rulesChangedMs: Date.parse('2026-06-01T12:00:00Z') } }),
  new: () => ({ alwaysNew: true }),
  varies: (value) => ({ variesBy: value.split(',') }),
  octets: () => ({ charsets: OCTET_CHARSETS }),
  'any-charset': () => ({ charsets: 'any' }),
  gz: () => ({
    compression: {
      codings: ['br', 'gzip'],
      types: prepareConditions([{ types: ['text/*', 'application/json'] }]),
      minBytes: 100,
    },
  }),
}

const split = (text: string, separator: string): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Reads one of the tables; `width` is its number of columns. */
function readTable(table: string, width: 4 | 5): Row[] {
  let heading = ''
  return table.split('\n').flatMap((line, index) => {
    if (line === '') return []
    if (line.startsWith('--')) {
      heading = line.slice(3)
      return []
    }
    const columns = line.replaceAll('#', HASH).split('|')
    if (columns.length !== width) throw new Error(`row ${index}: ${columns.length} columns`)
    const [requestText, responseText, routeText, decision, sentText] =
      width === 5 ? columns : [columns[0], '0', ...columns.slice(1)]
    const [target, ...requestFields] = split(requestText, ' & ')
    const [method, path] = target.split(' ')
    const [status, ...responseFields] = split(responseText, ' & ')
    const words = split(routeText, ' ')
    const host = words.find((word) => word.startsWith('host='))
    return [
      {
        name: `${heading}: ${line}`,
        request: {
          method,
          path,
          authority: host?.slice('host='.length),
          fields: readFields(requestFields),
          minorVersion: 1,
        },
        response: { status: Number(status), fields: readFields(responseFields) },
        route: routeOf(words),
        decision: decision.trim(),
        sent: split(sentText, ' & '),
      },
    ]
  })
}

function expectFields(fields: Fields, sent: readonly string[]): void {
  const named = (name: string): string | undefined => joinedValue(fields, name.toLowerCase())
  const told = sent.map((line) => {
    if (line.startsWith('!'))
      return named(line.slice(1)) === undefined ? line : `${line.slice(1)}: ${named(line.slice(1))}`
    const name = line.slice(0, line.indexOf(':'))
    return `${name}: ${named(name)}`
  })
  expect(told).toEqual(sent)
}

const RESPONSE_ROWS = readTable(RESPONSES, 5)
const REQUEST_ROWS = readTable(REQUESTS, 4)

describe('the truth table', () => {
  test.each(RESPONSE_ROWS)('$name', ({ request, response, route, decision, sent }) => {
    const made = decide(request, response, route)
    expect(
      made.action === 'rewrite'
        ? `rewrite ${made.decode}>${made.encode} ${made.active.join('')}`
        : `${made.action} ${made.reason}${made.action === 'compress' ? ` ${made.encode}` : ''}`,
    ).toBe(decision)
    expectFields(made.fields, sent)
    // Whoever sends them frames anew.
    expectFields(made.fields, ['!Content-Length', '!Transfer-Encoding', '!Connection'])
  })

  test.each(REQUEST_ROWS)('$name', ({ request, route, decision, sent }) => {
    const made = upstreamRequestFields(request, route)
    expect(made.kind === 'send' ? 'send' : String(made.status)).toBe(decision)
    if (made.kind === 'send') expectFields(made.fields, sent)
  })

  test('has 300 rows, each once, and covers every reason', () => {
    const rows = [...RESPONSE_ROWS, ...REQUEST_ROWS]
    expect(rows.length).toBeGreaterThanOrEqual(300)
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
    const reasons = new Set(RESPONSE_ROWS.map(({ decision }) => /^pass (.*)/.exec(decision)?.[1]))
    expect([...reasons].filter((reason) => reason !== undefined).sort()).toEqual([
      'charset',
      'coding-stacked',
      'coding-unknown',
      'content-type',
      'host',
      'method',
      'no-content',
      'no-rules',
      'no-transform',
      'partial-content',
      'path',
      'request-header',
      'response-header',
      'status',
      'upgrade',
    ])
  })
})

describe('the fields to send, in order', () => {
  const validators = 'ETag: "v1" & Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT & Content-Length: 9'
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [
      'rewritten and coded anew',
      `GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: br & ${validators} | | |`,
      ['Content-Type', 'text/html', 'Content-Encoding', 'gzip', 'ETag', `W/"v1-p${HASH}"`, 'Vary', 'Accept-Encoding'],
    ],
    [
      'HEAD says what GET would, without the length',
      `HEAD / & Accept-Encoding: gzip | 200 & html & Content-Encoding: br & ${validators} | | |`,
      ['Content-Type', 'text/html', 'Content-Encoding', 'gzip', 'ETag', `W/"v1-p${HASH}"`, 'Vary', 'Accept-Encoding'],
    ],
    [
      'passed on unchanged but for the connection’s',
      `GET / | 200 & Content-Type: image/png & ${validators} & Connection: x & X: 1 & Accept-Ranges: bytes | | |`,
      [
        'Content-Type',
        'image/png',
        'ETag',
        '"v1"',
        'Last-Modified',
        'Mon, 01 Jun 2026 11:00:00 GMT',
        'Accept-Ranges',
        'bytes',
      ],
    ],
  ]
  test.each(cases)('%s', (_, row, expected) => {
    const [{ request, response, route }] = readTable(row, 5)
    expect(decide(request, response, route).fields).toEqual(expected)
  })
})
