import { describe, expect, test } from 'vitest'
import { prepareConditions } from '../src/conditions.ts'
import { decide, type GateDecision } from '../src/gate.ts'
import type { GateRoute } from '../src/gate-route.ts'
import { BASE_CODINGS } from './codings.ts'

const HASH = '0123456789abcdef'

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

/** A request and a response that is rewritten, but for what a row changes. */
interface Row {
  readonly name: string
  readonly method?: string
  readonly path?: string
  readonly authority?: string
  readonly accept?: string
  readonly request?: readonly string[]
  readonly status?: number
  readonly type?: string
  readonly coding?: string
  readonly response?: readonly string[]
  readonly route?: Partial<GateRoute>
  /** `pass reason`, `edit-head reason`, or `rewrite decode>encode active rules`. */
  readonly expected: string
}

const TABLE: readonly Row[] = [
  // What is rewritten.
  { name: 'a page', expected: 'rewrite identity>identity 10' },
  { name: 'a page with a charset', type: 'Text/HTML; charset=ISO-8859-1', expected: 'rewrite identity>identity 10' },
  { name: 'an error page that a rule wants', status: 404, expected: 'rewrite identity>identity 10' },
  { name: 'what two rules want', path: '/api/x', type: 'application/json', expected: 'rewrite identity>identity 01' },
  { name: 'the answer to a POST', method: 'POST', expected: 'rewrite identity>identity 10' },
  { name: 'gzip in, gzip out', coding: 'gzip', accept: 'gzip', expected: 'rewrite gzip>gzip 10' },
  { name: 'gzip in, identity out', coding: 'gzip', expected: 'rewrite gzip>identity 10' },
  { name: 'br in, gzip out', coding: 'br', accept: 'gzip', expected: 'rewrite br>gzip 10' },
  { name: 'gzip refused by the client', coding: 'gzip', accept: 'gzip;q=0', expected: 'rewrite gzip>identity 10' },
  { name: 'identity refused by the client', accept: 'gzip, identity;q=0', expected: 'rewrite identity>gzip 10' },
  { name: 'x-gzip', coding: 'x-gzip', accept: 'gzip', expected: 'rewrite gzip>gzip 10' },
  { name: 'upper case', coding: 'GZIP', accept: 'gzip', expected: 'rewrite gzip>gzip 10' },
  { name: 'deflate', coding: 'deflate', accept: 'deflate', expected: 'rewrite deflate>deflate 10' },
  { name: 'identity said', coding: 'identity', expected: 'rewrite identity>identity 10' },
  { name: 'none said', coding: 'none', expected: 'rewrite identity>identity 10' },
  {
    name: 'zstd where the runtime has it',
    coding: 'zstd',
    accept: 'zstd',
    route: { codings: ['zstd', ...BASE_CODINGS] },
    expected: 'rewrite zstd>zstd 10',
  },
  {
    name: 'no-transform ignored',
    request: ['Cache-Control', 'no-transform'],
    response: ['Cache-Control', 'no-transform'],
    route: { ignoreNoTransform: true },
    expected: 'rewrite identity>identity 10',
  },
  {
    name: 'no type, where a rule takes any',
    type: '',
    route: { conditions: prepareConditions([{ types: ['*'] }]) },
    expected: 'rewrite identity>identity 1',
  },
  { name: 'UTF-8', type: 'text/html; charset="utf-8"', expected: 'rewrite identity>identity 10' },
  {
    name: 'what every kind of condition lets through',
    authority: 'www.A.example:8080',
    request: ['X-Beta', '1'],
    response: ['X-Powered-By', 'PHP/8'],
    route: { conditions: ALL_CONDITIONS },
    expected: 'rewrite identity>identity 1',
  },

  // What has no body but describes one.
  { name: 'HEAD', method: 'HEAD', expected: 'edit-head head' },
  { name: 'HEAD of gzip', method: 'HEAD', coding: 'gzip', accept: 'gzip', expected: 'edit-head head' },
  { name: '304', status: 304, type: '', expected: 'edit-head not-modified' },
  { name: '304 to HEAD', method: 'HEAD', status: 304, type: '', expected: 'edit-head not-modified' },

  // What is passed on.
  { name: 'no rules', route: { conditions: [] }, expected: 'pass no-rules' },
  { name: '101', status: 101, expected: 'pass upgrade' },
  { name: '103', status: 103, expected: 'pass no-content' },
  { name: '204', status: 204, expected: 'pass no-content' },
  { name: '205', status: 205, expected: 'pass no-content' },
  {
    name: 'a path without rules',
    path: '/x',
    route: { conditions: prepareConditions([{ types: ['*'], paths: ['/y'] }]) },
    expected: 'pass path',
  },
  {
    name: 'a host without rules',
    authority: 'b.example',
    route: { conditions: ALL_CONDITIONS },
    expected: 'pass host',
  },
  {
    name: 'a method without rules',
    authority: 'a.example',
    method: 'POST',
    route: { conditions: ALL_CONDITIONS },
    expected: 'pass method',
  },
  {
    name: 'a request field that no rule wants',
    authority: 'a.example',
    route: { conditions: ALL_CONDITIONS },
    expected: 'pass request-header',
  },
  {
    name: 'a response field that no rule wants',
    authority: 'a.example',
    request: ['X-Beta', '1'],
    route: { conditions: ALL_CONDITIONS },
    expected: 'pass response-header',
  },
  { name: 'a status no rule wants', status: 500, expected: 'pass status' },
  { name: 'a redirect', status: 302, expected: 'pass status' },
  { name: 'another type', type: 'image/png', expected: 'pass content-type' },
  { name: 'a type that another path’s rule wants', type: 'application/json', expected: 'pass content-type' },
  { name: 'no type', type: '', expected: 'pass content-type' },
  { name: 'a type that does not parse', type: 'html', expected: 'pass content-type' },
  { name: '206', status: 206, expected: 'pass partial-content' },
  { name: '416', status: 416, expected: 'pass partial-content' },
  { name: 'Content-Range on 200', response: ['Content-Range', 'bytes 0-1/2'], expected: 'pass partial-content' },
  { name: 'multipart/byteranges', type: 'multipart/byteranges; boundary=x', expected: 'pass partial-content' },
  {
    name: 'no-transform in the response',
    response: ['Cache-Control', 'public, No-Transform'],
    expected: 'pass no-transform',
  },
  { name: 'no-transform in the request', request: ['Cache-Control', 'no-transform'], expected: 'pass no-transform' },
  {
    name: 'no-transform and HEAD',
    method: 'HEAD',
    response: ['Cache-Control', 'no-transform'],
    expected: 'pass no-transform',
  },
  {
    name: 'no-transform and 304',
    status: 304,
    request: ['Cache-Control', 'no-transform'],
    expected: 'pass no-transform',
  },
  { name: '304 of media', status: 304, path: '/a.mp4', type: '', expected: 'pass content-type' },
  { name: 'zstd where the runtime lacks it', coding: 'zstd', accept: 'zstd', expected: 'pass coding-unknown' },
  { name: 'compress', coding: 'compress', expected: 'pass coding-unknown' },
  { name: 'two codings', coding: 'gzip, br', expected: 'pass coding-stacked' },
  { name: 'two codings and HEAD', method: 'HEAD', coding: 'gzip, br', expected: 'pass coding-stacked' },
  { name: 'UTF-16', type: 'text/html; charset=UTF-16LE', expected: 'pass charset' },
  { name: 'Shift_JIS', type: 'text/html; charset=Shift_JIS', expected: 'pass charset' },
  { name: 'ISO-2022-JP', type: 'text/html; charset=iso-2022-jp', expected: 'pass charset' },
  { name: 'GB18030', type: 'text/html; charset=gb18030', expected: 'pass charset' },

  // Which reason is told when several hold.
  { name: 'partial before type', status: 206, type: 'image/png', expected: 'pass partial-content' },
  {
    name: 'no-transform before status',
    status: 500,
    response: ['Cache-Control', 'no-transform'],
    expected: 'pass no-transform',
  },
  { name: 'status before type', status: 500, type: 'image/png', expected: 'pass status' },
  { name: 'type before coding', type: 'image/png', coding: 'foo', expected: 'pass content-type' },
]

function decideRow(row: Row): GateDecision {
  const { method = 'GET', path = '/', accept, status = 200, type = 'text/html', coding } = row
  return decide(
    {
      method,
      path,
      authority: row.authority,
      fields: [...(accept === undefined ? [] : ['Accept-Encoding', accept]), ...(row.request ?? [])],
    },
    {
      status,
      fields: [
        ...(type === '' ? [] : ['Content-Type', type]),
        ...(coding === undefined ? [] : ['Content-Encoding', coding]),
        ...(row.response ?? []),
      ],
    },
    { ...ROUTE, ...row.route },
  )
}

describe('the truth table', () => {
  test.each(TABLE)('$name', (row) => {
    const decision = decideRow(row)
    expect(
      decision.action === 'rewrite'
        ? `rewrite ${decision.decode}>${decision.encode} ${decision.active.join('')}`
        : `${decision.action} ${decision.reason}`,
    ).toBe(row.expected)
  })

  test('covers every reason', () => {
    const reasons = new Set(TABLE.map(({ expected }) => /^pass (.*)/.exec(expected)?.[1]))
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

describe('the fields to send', () => {
  const validators = ['ETag', '"v1"', 'Last-Modified', 'Mon, 01 Jun 2026 11:00:00 GMT', 'Content-Length', '9']
  const cases: readonly (readonly [string, Row, readonly string[]])[] = [
    [
      'rewritten and coded anew',
      { name: '', coding: 'br', accept: 'gzip', response: validators, expected: '' },
      ['Content-Type', 'text/html', 'Content-Encoding', 'gzip', 'ETag', `W/"v1-p${HASH}"`, 'Vary', 'Accept-Encoding'],
    ],
    [
      'rewritten and no longer coded',
      { name: '', coding: 'gzip', response: validators, expected: '' },
      ['Content-Type', 'text/html', 'ETag', `W/"v1-p${HASH}"`, 'Vary', 'Accept-Encoding'],
    ],
    [
      'HEAD says what GET would, without the length',
      { name: '', method: 'HEAD', coding: 'br', accept: 'gzip', response: validators, expected: '' },
      ['Content-Type', 'text/html', 'Content-Encoding', 'gzip', 'ETag', `W/"v1-p${HASH}"`, 'Vary', 'Accept-Encoding'],
    ],
    [
      '304 carries our tag, and no word on coding that the origin did not say',
      { name: '', status: 304, type: '', accept: 'gzip, identity;q=0', response: validators, expected: '' },
      ['ETag', `W/"v1-p${HASH}"`, 'Vary', 'Accept-Encoding'],
    ],
    [
      'passed on unchanged but for the connection’s',
      {
        name: '',
        type: 'image/png',
        response: [...validators, 'Connection', 'x', 'X', '1', 'Accept-Ranges', 'bytes'],
        expected: '',
      },
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
    [
      'what a request field decides about has no validator, and caches are told',
      {
        name: '',
        route: { variesBy: ['x-beta', 'cookie'] },
        response: [...validators, 'Vary', 'Cookie'],
        expected: '',
      },
      ['Content-Type', 'text/html', 'Vary', 'Cookie, Accept-Encoding, x-beta'],
    ],
    [
      'also when it was passed on: the next one may not be',
      { name: '', status: 500, route: { variesBy: ['x-beta'] }, response: ['ETag', '"v1"'], expected: '' },
      ['Content-Type', 'text/html', 'ETag', '"v1"', 'Vary', 'x-beta'],
    ],
    [
      'Vary: * says it all',
      { name: '', status: 500, route: { variesBy: ['x-beta'] }, response: ['Vary', '*'], expected: '' },
      ['Content-Type', 'text/html', 'Vary', '*'],
    ],
    [
      'what tells the time has no validator',
      { name: '', route: { alwaysNew: true }, response: validators, expected: '' },
      ['Content-Type', 'text/html', 'Vary', 'Accept-Encoding'],
    ],
  ]
  test.each(cases)('%s', (_, row, expected) => {
    expect(decideRow(row).fields).toEqual(expected)
  })
})
