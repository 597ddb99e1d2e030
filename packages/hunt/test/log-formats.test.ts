/** Access logs in every format: what is read, and what is said of lines that are not of it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileLogFormat, unescapeLogText } from '../src/log-format.ts'
import { createLineReader, createW3cReader } from '../src/web-log.ts'

/** The first view, where a field has several. */
function plain(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'values' in value && Array.isArray(value.values)
    ? (value.values as readonly unknown[])[0]
    : value
}

function read(format: string, line: string, fields: readonly string[]): Readonly<Record<string, unknown>> | undefined {
  const event = createLineReader(compileLogFormat(format), 'access-log')(line)
  if (event === undefined) return undefined
  const time = event.time === undefined ? undefined : new Date(event.time).toISOString()
  return { time, ...Object.fromEntries(fields.map((field) => [field, plain(event.get(field))])) }
}

const FIELDS = ['c-ip', 'cs-username', 'cs-method', 'cs-uri-stem', 'sc-status', 'sc-bytes', 'cs-user-agent']
const TIME = '2026-11-30T12:00:01.000Z'

describe('formats', () => {
  test.each<[string, string, string, readonly string[], Readonly<Record<string, unknown>>]>([
    [
      'common',
      'common',
      '192.0.2.7 - bob [30/Nov/2026:13:00:01 +0100] "GET /a?b=1 HTTP/1.1" 200 512',
      FIELDS,
      {
        time: TIME,
        'c-ip': '192.0.2.7',
        'cs-username': 'bob',
        'cs-method': 'GET',
        'cs-uri-stem': '/a',
        'sc-status': 200,
        'sc-bytes': 512,
      },
    ],
    [
      'combined, with quotes that the server escaped',
      'combined',
      '2001:db8::1 - - [30/Nov/2026:12:00:01 +0000] "POST /a\\"b HTTP/1.0" 404 - "-" "x\\x22y \\\\"',
      [...FIELDS, 'c-uri'],
      {
        time: TIME,
        'c-ip': '2001:db8::1',
        'cs-username': '-',
        'cs-method': 'POST',
        'cs-uri-stem': '/a"b',
        'sc-status': 404,
        'sc-bytes': undefined,
        'cs-user-agent': 'x"y \\',
        'c-uri': '/a"b',
      },
    ],
    [
      'combined, with more behind it',
      'combined',
      '192.0.2.7 - - [30/Nov/2026:12:00:01 +0000] "GET / HTTP/1.1" 200 5 "-" "a" "198.51.100.9" 0.123',
      ['extra', 'cs-user-agent'],
      { time: TIME, extra: '"198.51.100.9" 0.123', 'cs-user-agent': 'a' },
    ],
    [
      'vhost_combined',
      'vhost_combined',
      'www.example.org:443 192.0.2.7 - - [30/Nov/2026:12:00:01 +0000] "GET / HTTP/1.1" 200 5 "-" "a"',
      ['cs-host', 's-port'],
      { time: TIME, 'cs-host': 'www.example.org', 's-port': 443 },
    ],
    [
      'a log_format of nginx',
      '$remote_addr|$host|$time_iso8601|$request_method|$request_uri|$status|$request_time|${http_x_id}',
      '192.0.2.7|a.example|2026-11-30T13:00:01+01:00|GET|/x?y=1|500|0.250|abc',
      ['c-ip', 'cs-host', 'cs-method', 'cs-uri-stem', 'sc-status', 'time-taken', 'http_x_id'],
      {
        time: TIME,
        'c-ip': '192.0.2.7',
        'cs-host': 'a.example',
        'cs-method': 'GET',
        'cs-uri-stem': '/x',
        'sc-status': 500,
        'time-taken': 250,
        http_x_id: 'abc',
      },
    ],
    [
      'a path and a query of nginx, and a time in seconds',
      '$msec $request_method $uri?$args $status',
      '1796040001.250 GET /x?a=../ 200',
      ['c-uri', 'cs-uri-stem'],
      { time: '2026-11-30T12:00:01.250Z', 'c-uri': '/x?a=../', 'cs-uri-stem': '/x' },
    ],
    [
      'a LogFormat of Apache with modifiers and header fields',
      '%{X-Forwarded-For}i %a %u %t "%m %U%%q" %>s %O %D "%{User-Agent}i" %{ms}T',
      '198.51.100.9 192.0.2.7 - [30/Nov/2026:12:00:01 +0000] "GET /a%q" 302 99 1500 "agent" 2',
      ['X-Forwarded-For', 'c-ip', 'cs-method', 'cs-uri-stem', 'sc-status', 'sc-bytes', 'cs-user-agent', 'time-taken'],
      {
        time: TIME,
        'X-Forwarded-For': '198.51.100.9',
        'c-ip': '192.0.2.7',
        'cs-method': 'GET',
        'cs-uri-stem': '/a',
        'sc-status': 302,
        'sc-bytes': 99,
        'cs-user-agent': 'agent',
        'time-taken': 2,
      },
    ],
    [
      'a LogFormat as it stands in a configuration, quotes escaped',
      '%h %l %u %t \\"%r\\" %>s %b',
      '192.0.2.7 - - [30/Nov/2026:12:00:01 +0000] "GET / HTTP/1.1" 200 5',
      ['cs-method', 'sc-status'],
      { time: TIME, 'cs-method': 'GET', 'sc-status': 200 },
    ],
    [
      'a request that is none is the target',
      'combined',
      '192.0.2.7 - - [30/Nov/2026:12:00:01 +0000] "\\x16\\x03\\x01" 400 150 "-" "-"',
      ['cs-method', 'c-uri', 'sc-status', 'cs-user-agent'],
      { time: TIME, 'cs-method': '', 'c-uri': '\u0016\u0003\u0001', 'sc-status': 400, 'cs-user-agent': undefined },
    ],
  ])('%s', (_, format, line, fields, expected) => {
    expect(read(format, line, fields)).toEqual(expected)
  })

  test.each([
    ['no time', 'combined', '192.0.2.7 - - [yesterday] "GET / HTTP/1.1" 200 5 "-" "a"'],
    ['too few fields', 'combined', '192.0.2.7 - - [30/Nov/2026:12:00:01 +0000] "GET / HTTP/1.1" 200'],
    ['another log', 'common', 'Nov 30 12:00:01 host sshd[1]: Failed password'],
    ['nothing', 'common', ''],
  ])('a line with %s is not read', (_, format, line) => {
    expect(read(format, line, [])).toBeUndefined()
  })

  test.each([
    ['fields with nothing between them', '$remote_addr$status'],
    ['no fields', 'hello'],
    ['an unknown name', 'clf'],
  ])('a format with %s is refused with the reason', (_, format) => {
    expect(() => compileLogFormat(format)).toThrow(/format/)
  })
})

test('what nginx and Apache escape comes back', () => {
  expect(unescapeLogText('a\\x0d\\x0aSet-Cookie \\"x\\" \\\\ \\n \\t')).toBe('a\r\nSet-Cookie "x" \\ \n \t')
})

describe('W3C logs', () => {
  test('directives say what the fields are, and may change', () => {
    const reader = createW3cReader()
    const lines = [
      '#Software: Microsoft Internet Information Services 10.0',
      '#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken',
      '2026-11-30 12:00:01 10.0.0.1 GET /a.aspx id=1 443 - 192.0.2.7 Mozilla/5.0+(Windows+NT) - 200 0 0 15',
      '2026-11-30 12:00:02 10.0.0.1 GET /b',
      '#Fields: time c-ip cs-method cs-uri-stem sc-status',
      '#Date: 2026-12-01 00:00:00',
      '00:00:03 192.0.2.8 POST /c 500',
    ]
    const found = lines.map((line) => {
      const event = reader.read(line)
      if (typeof event === 'string') return event
      const time = new Date(event.time ?? 0).toISOString()
      return [
        time,
        plain(event.get('c-uri')),
        event.get('cs-user-agent'),
        event.get('sc-status'),
        event.get('time-taken'),
        event.get('sc-substatus'),
      ]
    })
    expect(found).toEqual([
      'directive',
      'directive',
      ['2026-11-30T12:00:01.000Z', '/a.aspx?id=1', 'Mozilla/5.0 (Windows NT)', 200, 15, '0'],
      'bad',
      'directive',
      'directive',
      ['2026-12-01T00:00:03.000Z', '/c', undefined, 500, undefined, undefined],
    ])
  })
})

test('any line and any format end, and never throw while reading', () => {
  const formats = ['common', 'combined', '$a "$request" [$time_local] $b', '%h "%{X}i" %{Y}o %t'].map(compileLogFormat)
  const text = fc.string({ unit: fc.constantFrom(...'ab"\\[] -/?%x0:\n'), maxLength: 60 })
  fc.assert(
    fc.property(text, (line) => {
      for (const format of formats) createLineReader(format, '')(line)
      createW3cReader().read(line)
    }),
  )
})
