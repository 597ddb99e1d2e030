import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import type { ExchangeRecord } from '@prexy/events/recorded-event'
import { curlCommand, quoted } from '@prexy/record/curl'
import { decodeBase64, encodeBase64, eventToJson, textOf } from '@prexy/record/event-json'
import { fromHar, harFrame, MAX_HAR_BODY_BYTES, toHarEntry } from '@prexy/record/har'
import { ParquetRows, ROWS_PER_GROUP } from '@prexy/record/parquet'
import fc from 'fast-check'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { describe, expect, test } from 'vitest'
import { exchange, RUN, START_MS } from './recorded.ts'

const run = promisify(execFile)
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** What a POSIX shell makes of the words of a command: each as latin-1. */
async function shellWords(command: string): Promise<string[]> {
  // `curl` is a function here that prints its words and its input.
  const script = `curl() { for word; do printf '%s\\000' "$word"; done; case "$*" in *"@-"*) cat;; esac; }\n${command}\n`
  const { stdout } = await run('sh', ['-c', script], {
    encoding: 'latin1',
    env: { LC_ALL: 'C', PATH: process.env.PATH },
  })
  return stdout.split('\0')
}

describe('a request as a command', () => {
  test.each([
    "it's",
    '$(touch /tmp/x)',
    '`id`',
    '"; rm -rf / #',
    '!history',
    '\\',
    'a\\nb',
    '%s%n',
    '-v',
    '\u00e9\u00ff\u0080',
    'two\nlines',
    'ends with one\n',
    'ends with two\n\n',
    '\u0001\u001b[31m',
    '*?[a]{b,c}~',
    '',
    'caf\u00e9\n',
  ])('keeps %j what it is', async (text) => {
    expect(await shellWords(`curl ${quoted(text)}`)).toEqual([text, ''])
  })

  test('keeps any octets what they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 255 }), { maxLength: 40 }), async (codes) => {
        const text = String.fromCharCode(...codes)
        expect(await shellWords(`curl ${quoted(text)}`)).toEqual([text, ''])
      }),
      { numRuns: 60 },
    )
  })

  test('says method, header lines, body and URL, and leaves out what curl says itself', async () => {
    const { command, notes } = curlCommand(
      exchange(1, {
        method: 'POST',
        target: "/a?b='c'&d=[1-3]",
        request: {
          minorVersion: 1,
          fields: ['Host', 'shop.example', 'X-Empty', '', 'Content-Length', '9', 'A', '@/etc/passwd'],
        },
        bodies: { request: { bytes: 9, octets: utf8('@file=$(x)') } },
      }),
    )
    expect(notes).toEqual([])
    expect(await shellWords(command)).toEqual([
      '--globoff',
      '--path-as-is',
      '--include',
      '--request',
      'POST',
      '--header',
      'Host: shop.example',
      '--header',
      'X-Empty;',
      '--header',
      'A: @/etc/passwd',
      '--data-raw',
      '@file=$(x)',
      '--url',
      "http://shop.example/a?b='c'&d=[1-3]",
      '',
    ])
  })

  test('hands on a body with NUL, and tells of one that is not whole', async () => {
    const octets = Uint8Array.from({ length: 256 }, (_, at) => at)
    const { command, notes } = curlCommand(
      exchange(1, { bodies: { request: { bytes: 999, octets, omitted: 'length' } } }),
    )
    const words = await shellWords(command)
    const input = words.slice(words.indexOf('http://shop.example/item/1') + 1).join('\0')
    expect(input).toBe(String.fromCharCode(...octets))
    expect(notes).toEqual(['the body was not recorded whole'])
  })
})

describe('HAR', () => {
  const full = exchange(3, {
    method: 'POST',
    scheme: 'https',
    target: '/a?x=1&y',
    bodies: {
      request: { bytes: 3, octets: utf8('a=b') },
      response: { bytes: 6, octets: utf8('before') },
      responseSent: { bytes: 5, octets: utf8('after') },
    },
  })

  test('has what the client sent and got, and what came from the upstream', () => {
    const entry = JSON.parse(JSON.stringify(toHarEntry(full)))
    expect(entry).toMatchObject({
      startedDateTime: new Date(full.startedAtMs).toISOString(),
      time: 9,
      request: {
        method: 'POST',
        url: 'https://shop.example/a?x=1&y',
        queryString: [
          { name: 'x', value: '1' },
          { name: 'y', value: '' },
        ],
        postData: { text: 'a=b' },
      },
      response: { status: 200, content: { text: 'after', mimeType: 'text/html', size: 5 } },
      timings: { blocked: 0.05, connect: 0.25, send: 0.1, wait: 4.6, receive: 4 },
      _prexy: { run: RUN, sequence: 3, route: 'shop', upstreamResponse: { status: 200, body: { text: 'before' } } },
    })
  })

  test('comes back as exchanges', () => {
    const [head, tail] = harFrame('1.0')
    const text = head + [full, exchange(4)].map((event) => JSON.stringify(toHarEntry(event))).join(',') + tail
    const { events, problems } = fromHar(text, 'aaaaaaaa')
    expect(problems).toEqual([])
    expect(events).toHaveLength(2)
    expect(events.map((event) => parseRecordedEvent(event))).toEqual(events)
    expect(events[0]).toMatchObject({
      run: 'aaaaaaaa',
      sequence: 1,
      startedAtMs: full.startedAtMs,
      method: 'POST',
      scheme: 'https',
      host: 'shop.example',
      target: '/a?x=1&y',
      status: 200,
      request: { fields: full.request?.fields },
      bodies: {
        request: { octets: utf8('a=b') },
        response: full.bodies?.response,
        responseSent: { octets: utf8('after') },
      },
      response: full.response,
      treatment: full.treatment,
    })
  })

  test.each([
    [{ upstreamResponse: 5 }],
    [{ upstreamResponse: { status: -1, headers: [] } }],
    [{ upstreamResponse: { status: 200, headers: 'x' } }],
    [{ upstreamResponse: { status: 200, headers: [] }, treatment: { kind: 'rewritten' } }],
    [{ upstreamResponse: { status: 200, headers: [] }, treatment: 'x' }],
  ])('is read as that of others where what is ours is damaged: %j', (own) => {
    const entry = { ...JSON.parse(JSON.stringify(toHarEntry(full))), _prexy: own }
    const { events } = fromHar(JSON.stringify({ log: { entries: [entry] } }), RUN)
    expect(events[0].treatment).toBeUndefined()
    expect(events[0].bodies?.response?.octets).toEqual(utf8('after'))
  })

  test.each([
    ['', 'is no JSON'],
    ['[]', 'is no HAR file'],
    ['{"log":{"entries":{}}}', 'is no HAR file'],
    [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'is no HAR file'],
    ['{"log":{"entries":[null,1,{"request":{}}]}}', 'log.entries[0]: has no request and response'],
    ['{"log":{"entries":[{"request":{},"response":{}}]}}', 'has no startedDateTime'],
    ['{"__proto__":{"log":{"entries":[]}}}', 'is no HAR file'],
  ])('refuses %s', (text, problem) => {
    const { events, problems } = fromHar(text, RUN)
    expect(events).toEqual([])
    expect(problems[0]).toContain(problem)
  })

  test('of whatever values is read without a throw, into events that are some', () => {
    const value = fc.oneof(
      fc.constantFrom('http://x/', 'GET', '2026-01-01T00:00:00Z', 'base64', 200, -1, 1e308, null),
      fc.jsonValue({ maxDepth: 2 }),
    )
    const head = fc.record(
      { method: value, url: value, headers: value, postData: value, content: value, status: value },
      { requiredKeys: [] },
    )
    const entry = fc.record(
      { request: head, response: head, startedDateTime: value, time: value, timings: value, __proto__: value },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(entry, value), { maxLength: 5 }), (entries) => {
        const { events } = fromHar(JSON.stringify({ log: { entries } }), RUN)
        for (const event of events) expect(parseRecordedEvent(event)).toBe(event)
      }),
      { numRuns: 1_000 },
    )
    expect(({} as Record<string, unknown>).log).toBeUndefined()
  })

  test('gives up the rest of a body beyond MAX_HAR_BODY_BYTES', () => {
    const entry = {
      startedDateTime: '2026-01-01T00:00:00Z',
      request: { method: 'GET', url: 'http://x' },
      response: { status: 200, content: { text: 'x'.repeat(MAX_HAR_BODY_BYTES + 10) } },
    }
    const { events } = fromHar(JSON.stringify({ log: { entries: [entry] } }), RUN)
    const body = events[0].bodies?.response
    expect([body?.octets?.length, body?.bytes, body?.omitted]).toEqual([
      MAX_HAR_BODY_BYTES,
      MAX_HAR_BODY_BYTES + 10,
      'length',
    ])
  })
})

describe('JSON', () => {
  test('has bodies as text where they are, else as base64', () => {
    const octets = new Uint8Array([0xff, 0, 1])
    const json = JSON.parse(
      JSON.stringify(
        eventToJson(
          exchange(1, { bodies: { request: { bytes: 3, octets }, response: { bytes: 9, omitted: 'type' } } }),
        ),
      ),
    )
    expect(json.bodies).toEqual({ request: { bytes: 3, base64: '/wAB' }, response: { bytes: 9, omitted: 'type' } })
  })

  test('of a text that is cut off within a character leaves that out', () => {
    const text = 'a\u00e9\u20ac\u{1f600}'
    const octets = utf8(text)
    for (let length = 0; length <= octets.length; length++) {
      const cut = textOf(octets.subarray(0, length))
      expect(cut === undefined ? 'none' : text.startsWith(cut)).toBe(true)
    }
    expect(textOf(utf8('\ufffd'))).toBe('\ufffd')
    expect(textOf(new Uint8Array([0x61, 0xff, 0x61]))).toBeUndefined()
  })

  test('has base64 that comes back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (octets) => {
        const text = encodeBase64(octets)
        expect(text).toBe(Buffer.from(octets).toString('base64'))
        expect(decodeBase64(text)).toEqual(octets)
      }),
    )
    expect(decodeBase64('a')).toBeUndefined()
    expect(decodeBase64('a*bc')).toBeUndefined()
  })
})

describe('Parquet', () => {
  test('holds a row for each exchange, which hyparquet reads back', async () => {
    const rows = new ParquetRows()
    const events: ExchangeRecord[] = [
      exchange(1),
      exchange(2, {
        status: undefined,
        host: undefined,
        treatment: { kind: 'passed', reason: 'no-rules' },
        target: '/p?q=1',
      }),
    ]
    for (const event of events) rows.add(event)
    rows.add({ kind: 'gap', run: RUN, sequence: 3, startedAtMs: START_MS, dropped: 5 })
    const { buffer, byteLength } = rows.take()
    expect([rows.rows, byteLength === buffer.byteLength]).toEqual([0, true])
    const read = await parquetReadObjects({ file: toArrayBuffer(buffer) })
    expect(read).toHaveLength(2)
    expect(read[0]).toMatchObject({
      run: RUN,
      sequence: 1n,
      started_at: new Date(START_MS + 10),
      status: 200,
      path: '/item/1',
      rule_hits: 2n,
      hits_by_rule: '2,0',
      body_bytes_before: 1_000n,
      body_bytes_after: 1_010n,
      total_us: 9_000,
      content_type: 'text/html',
    })
    expect(read[1]).toMatchObject({ status: null, host: null, pass_reason: 'no-rules', path: '/p', query: 'q=1' })
  })

  test('has row groups of 20,000 to 50,000', () => {
    const rows = new ParquetRows()
    const event = exchange(1)
    for (let row = 0; row < 60_000; row++) rows.add(event)
    const { row_groups } = parquetMetadata(toArrayBuffer(rows.take().buffer))
    expect(row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([ROWS_PER_GROUP, ROWS_PER_GROUP, 10_000])
  })
})

function toArrayBuffer(buffer: ArrayBufferLike): ArrayBuffer {
  if (buffer instanceof ArrayBuffer) return buffer
  throw new Error('a shared buffer')
}
