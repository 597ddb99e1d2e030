import type { ExchangeEvent } from '@prexy/events/exchange'
import { expect, test } from 'vitest'
import { formatExchange } from '../src/access-log.ts'
import { stylesFor } from '../src/terminal.ts'

const event: ExchangeEvent = {
  version: 2,
  exchangeId: 1,
  connectionId: 1,
  requestNumber: 1,
  startedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  timings: { requestHeadUs: 100, upstreamConnectedUs: 200, responseHeadUs: 300, endUs: 12_345 },
  method: 'GET',
  host: 'a.example',
  target: '/page',
  status: 200,
  route: 'default',
  upstream: '127.0.0.1:9000',
  clientInBytes: 10,
  clientOutBytes: 20,
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

test.each<[what: string, changes: Partial<ExchangeEvent>, line: string]>([
  ['rewritten', {}, '03:04:05 200 GET a.example/page 12.3 ms, 3 replaced'],
  [
    'the query may hold secrets',
    { target: '/page?token=x' },
    '03:04:05 200 GET a.example/page?... 12.3 ms, 3 replaced',
  ],
  [
    'passed, with the reason',
    { treatment: { kind: 'passed', reason: 'content-type' } },
    '03:04:05 200 GET a.example/page 12.3 ms, unchanged: content-type',
  ],
  [
    'no body',
    { status: 304, treatment: { kind: 'head-only', reason: 'not-modified' } },
    '03:04:05 304 GET a.example/page 12.3 ms, no body: not-modified',
  ],
  [
    'broken off',
    { status: undefined, outcome: 'client-aborted', detail: 'gone' },
    '03:04:05 --- GET a.example/page 12.3 ms, client-aborted: gone',
  ],
  [
    'nothing that a client sends makes a second line or moves the cursor',
    { host: 'a\u001b[2J', target: '/\n\u009b', outcome: 'answered', detail: 'x\ny' },
    '03:04:05 200 GET a\\u001b[2J/\\u000a\\u009b 12.3 ms, answered: x\\u000ay',
  ],
])('%s', (_what, changes, line) => {
  expect(formatExchange({ ...event, ...changes }, stylesFor({ isTTY: false }, {}))).toBe(line)
})

test('overflows are shown', () => {
  const { treatment } = event
  if (treatment?.kind !== 'rewritten') throw new Error('the sample is a rewritten one')
  const overflowed = { ...event, treatment: { ...treatment, stats: { ...treatment.stats, overflows: 2 } } }
  expect(formatExchange(overflowed, stylesFor({ isTTY: false }, {}))).toMatch(/3 replaced, 2 overflows$/)
})
