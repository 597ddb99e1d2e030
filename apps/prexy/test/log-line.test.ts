import type { ExchangeEvent } from '@prexy/events/exchange'
import { LOG_VARIABLES, parseLogFormat } from '@prexy/config/log-schema'
import type { RequestHead } from '@prexy/http/message'
import { compileLogFormat } from '@prexy/hunt/log-format'
import { expect, test } from 'vitest'
import { logLine } from '../src/log-line.ts'

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const event: ExchangeEvent = {
  version: 2,
  exchangeId: 7,
  connectionId: 3,
  requestNumber: 2,
  startedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  timings: { requestHeadUs: 1_000, upstreamConnectedUs: 3_000, responseHeadUs: 8_000, endUs: 12_345 },
  client: '10.0.0.1',
  scheme: 'https',
  method: 'GET',
  host: 'A.example:8443',
  target: '/page?token=x',
  status: 200,
  route: 'default',
  upstream: 'app',
  upstreamAddress: '127.0.0.1:9000',
  requestId: 'id-7',
  traceparent: TRACE,
  clientInBytes: 100,
  clientOutBytes: 320,
  upstreamOutBytes: 0,
  upstreamInBytes: 20,
  outcome: 'completed',
  detail: undefined,
  treatment: {
    kind: 'rewritten',
    decode: 'gzip',
    encode: 'gzip',
    stats: { hits: [2, 1], overflows: 0, peakHeldBytes: 0, inBytes: 20, outBytes: 20 },
  },
}
const head: RequestHead = {
  method: 'GET',
  target: '/page?token=x',
  targetForm: 'origin',
  path: '/page?token=x',
  authority: 'A.example:8443',
  minorVersion: 1,
  fields: [
    'Referer',
    'https://b.example/"x"',
    'User-Agent',
    'curl/8\x1b[2J',
    'Authorization',
    `Basic ${Buffer.from('ann:secret').toString('base64')}`,
    'X-Tag',
    'caf\xc3\xa9',
  ],
  body: { kind: 'none' },
  keepAlive: true,
  expectContinue: false,
  upgrade: undefined,
}
const seen = { head, clientAddress: '192.0.2.9', bodyBytes: 220 }
const fields = ({ exchangeId }: ExchangeEvent): object => ({ exchange: exchangeId })
const TIME = /\[\d\d\/Jan\/2026:\d\d:\d\d:05 [+-]\d{4}\]/

test.each([
  ['$remote_addr $realip_remote_addr $remote_user', '192.0.2.9 10.0.0.1 ann'],
  [
    '"$request" $request_method $request_uri $uri $args',
    '"GET /page?token=x HTTP/1.1" GET /page?token=x /page token=x',
  ],
  ['$server_protocol $scheme $host', 'HTTP/1.1 https a.example'],
  ['$status $bytes_sent $body_bytes_sent $request_length', '200 320 220 100'],
  ['$request_time $upstream_connect_time $upstream_header_time $msec', '0.012 0.002 0.005 1767323045.012'],
  ['$request_id $exchange $connection/$connection_requests', 'id-7 7 3/2'],
  [
    '$upstream_addr $upstream $route $outcome $detail $treatment $replaced',
    '127.0.0.1:9000 app default completed - rewritten 3',
  ],
  ['$traceparent ${trace_id}x', `${TRACE} 0af7651916cd43dd8448eb211c80319cx`],
  ['$http_x_tag $http_none', 'caf\\xC3\\xA9 -'],
  ['"$http_referer" "$http_user_agent"', '"https://b.example/\\x22x\\x22" "curl/8\\x1B[2J"'],
])('%s', (format, line) => {
  expect(logLine(format, fields)(event, seen)).toBe(line)
})

test.each(['common', 'combined'] as const)('prexy hunt reads %s', (name) => {
  const line = logLine(name, fields)(event, seen)
  expect(line).toMatch(TIME)
  expect(line.startsWith('192.0.2.9 - ann [')).toBe(true)
  const texts = compileLogFormat(name).split(line)
  expect(texts).toContain('GET /page?token=x HTTP/1.1')
  expect(texts).toContain('200')
  expect(texts).toContain('220')
})

test('json: what events tell, and what they do not keep', () => {
  expect(JSON.parse(logLine('json', fields)(event, seen))).toEqual({
    time: '2026-01-02T03:04:05.000Z',
    client: '192.0.2.9',
    scheme: 'https',
    protocol: 'HTTP/1.1',
    exchange: 7,
    bodyBytes: 220,
    referer: 'https://b.example/"x"',
    userAgent: 'curl/8\u001b[2J',
    pid: process.pid,
  })
})

test.each([
  ['https://u:p@b.example/x?token=s#y', 'https://b.example/x'],
  ['//u:p@b.example/x', '//b.example/x'],
  ['/x#access_token=s', '/x'],
])('json leaves out what may be secret in %s', (referer, expected) => {
  if (seen.head === undefined) throw new Error('it has a head')
  const head = { ...seen.head, fields: ['Referer', referer] }
  expect(JSON.parse(logLine('json', fields)(event, { ...seen, head }))).toMatchObject({ referer: expected })
})

test('a request whose head could not be read has a line, too', () => {
  const unread: ExchangeEvent = { ...event, method: '', host: undefined, target: '', client: undefined, status: 400 }
  const line = logLine('combined', fields)(unread, { bodyBytes: 0 })
  expect(line).toMatch(/^- - - \[[^\]]+\] "-" 400 0 "-" "-"$/)
})

test('every variable that is documented has a value or none, and never more than one line', () => {
  for (const name of LOG_VARIABLES) {
    expect(logLine(`$${name}`, fields)(event, seen)).toMatch(/^[\x20-\x7e]+$/)
  }
})

test.each([
  ['$remote_adr', 'there is no variable $remote_adr; did you mean $remote_addr?'],
  ['$', 'there is no variable $'],
  ['${status', 'there is no variable $'],
])('%s is refused', (format, message) => {
  expect(parseLogFormat(format)).toBe(message)
})
