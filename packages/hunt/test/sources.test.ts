/** Sources of every kind: told by their content, read whatever their names, with what is wrong counted. */
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as zlib from 'node:zlib'
import { encode } from '@prexy/msgpack/encode'
import { encodeFrame } from '@prexy/record/frames'
import { encodeHeader } from '@prexy/record/segment-header'
import { generateEvents } from '@prexy/testing/evtx-events'
import { writeEvtx } from '@prexy/testing/evtx-writer'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { readFieldMap } from '../src/field-map.ts'
import { MAX_JSON_RECORD_BYTES } from '../src/json-records.ts'
import { LineSplitter, MAX_LINE_BYTES } from '../src/line-splitter.hot.ts'
import { createScanner, piecesOf } from '../src/scan.ts'
import { findSources } from '../src/sources.ts'
import { PLAIN, readAll, TestFolder } from './reading.ts'

const folder = new TestFolder()
afterAll(() => folder.close())

const LINE = '192.0.2.7 - - [30/Nov/2026:12:00:01 +0000] "GET /a HTTP/1.1" 200 512 "-" "agent"'
const IIS = '#Fields: date time cs-method cs-uri-stem sc-status c-ip\n2026-11-30 12:00:01 GET /a 200 192.0.2.7\n'
const evtx = writeEvtx(generateEvents(300, 8))

describe('content decides what a file is', () => {
  const json = '{"time":"2026-11-30T12:00:01Z","method":"GET","uri":"/a","status":200}'
  test.each<[string, string | Uint8Array, string, number]>([
    ['an access log called .evtx', `${LINE}\n${LINE}\n`, 'access-log', 2],
    ['an access log that begins with rubbish', `\u0016\u0003 rubbish\n${LINE}\n`, 'access-log', 1],
    ['a common log', `${LINE.slice(0, LINE.indexOf(' "-"'))}\n`, 'access-log', 1],
    ['a W3C log', IIS, 'w3c', 1],
    ['lines of JSON', `${json}\n\n${json}\n`, 'json-lines', 2],
    ['JSON over several lines', JSON.stringify(JSON.parse(json), undefined, 2).repeat(2), 'json', 2],
    ['an array of JSON', `[\n${json},\n${json}]`, 'json', 2],
    ['an array on one line', `[${json},${json}]`, 'json', 2],
    ['a Windows event log', evtx, 'evtx', 300],
    ['a Windows event log without its header', evtx.subarray(4_096), 'evtx', 300],
    ['JSON in UTF-16, as PowerShell writes it', Buffer.from(`\ufeff${json}\r\n`, 'utf16le'), 'json-lines', 1],
  ])('%s', async (name, content, kind, events) => {
    for (const compress of [false, true]) {
      const path = folder.write(`${name.replaceAll(' ', '-')}.evtx`, compress ? gzipSync(content) : content)
      const reading = await readAll([path])
      expect([reading.kinds, reading.events.length, reading.skipped]).toEqual([[kind], events, []])
    }
  })

  test.each<[string, string | Uint8Array, RegExp]>([
    ['an empty file', '', /it is empty/],
    ['blanks', '\n \n', /only blanks/],
    ['a picture', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]), /binary/],
    ['a letter', 'Dear Sir,\nthank you.\n', /no format that is known here.*--format/],
    ['damaged gzip', gzipSync(LINE).fill(0xff, 10), /damaged/],
  ])('%s is skipped with the reason', async (name, content, reason) => {
    const { events, skipped } = await readAll([folder.write(name, content)])
    expect(events).toEqual([])
    expect(skipped[0].reason).toMatch(reason)
  })

  test('zstd is read where the runtime has it, and refused with the reason where not', async () => {
    const frame = Buffer.from('KLUv/QRYcQAAMTkyLjAuMi43IC0gLSBbMzAvTm92', 'base64')
    const compress: unknown = Reflect.get(zlib, 'zstdCompressSync')
    const path = folder.write('log.zst', typeof compress === 'function' ? (compress(LINE) as Uint8Array) : frame)
    const { events, skipped } = await readAll([path])
    if (typeof compress === 'function') expect(events).toHaveLength(1)
    else expect(skipped[0].reason).toMatch(/zstd, which this runtime does not have; Node has it since/)
  })

  test('lines of anything are events for keywords when asked', async () => {
    const path = folder.write('auth.log', 'Nov 30 host sshd[1]: Failed password for root\nb\n')
    const { events } = await readAll([path], { format: 'text', logsource: { product: 'linux', service: 'sshd' } })
    expect(events.map(({ text, sources }) => [text, sources?.[0]?.service])).toEqual([
      ['Nov 30 host sshd[1]: Failed password for root', 'sshd'],
      ['b', 'sshd'],
    ])
  })

  test('a format of its own', async () => {
    const path = folder.write('own.log', 'GET|/a|2026-11-30T12:00:01Z|200\nbad\n')
    const { events, reports } = await readAll([path], { format: '$request_method|$request_uri|$time_iso8601|$status' })
    expect(events.map(({ time, get }) => [time, get('cs-method'), get('sc-status')])).toEqual([
      ['2026-11-30T12:00:01.000Z', 'GET', 200],
    ])
    expect(reports[0]).toMatchObject({ records: 2, badRecords: 1 })
  })
})

test('directories are walked in order of names, without following links', async () => {
  const own = new TestFolder()
  own.write('b/2.log', LINE)
  own.write('a.log', LINE)
  own.write('b/1.bin', new Uint8Array(100))
  const { events, skipped } = await readAll([own.path, `${own.path}/missing`])
  expect(events.map(({ path }) => path.slice(own.path.length))).toEqual(['/a.log', '/b/2.log'])
  expect(skipped.map(({ path, isNamed }) => [path.slice(own.path.length), isNamed])).toEqual([
    ['/b/1.bin', false],
    ['/missing', true],
  ])
  own.close()
})

describe('one bad record is counted and reported, never the end of a file', () => {
  test('in an access log', async () => {
    const { events, reports } = await readAll([folder.write('bad.log', `${LINE}\ngarbage\n${LINE}\n`)])
    expect(events.map(({ record }) => record)).toEqual([1, 3])
    expect(reports[0].problems).toMatchObject([{ at: 2, unit: 'line', isLoss: true }])
  })

  test('in lines of JSON', async () => {
    const content = '{"method":"GET","url":"/a"}\n{"method":"GET","url"\n42\n{"method":"GET","url":"/b"}\n'
    const { events, reports } = await readAll([folder.write('bad.jsonl', content)])
    expect(events.map(({ record }) => record)).toEqual([1, 4])
    expect(reports[0].problems.map(({ at, reason }) => [at, reason])).toEqual([
      [2, 'this is not JSON'],
      [3, 'no record in this value'],
    ])
  })

  test('in an array of JSON, and where it ends too early', async () => {
    const { events, reports } = await readAll([
      folder.write('bad.json', '[\n{"method":"GET","url":"/a"},{"x":nope},{"method":"GET","url":"/b"},{"method"'),
    ])
    expect(events).toHaveLength(2)
    expect(reports[0].problems.map(({ at, reason }) => [at, reason])).toEqual([
      [2, 'this is not JSON'],
      [4, 'the file ends inside of a value'],
    ])
  })

  test('in a Windows event log, whose bad checksums are warnings', async () => {
    const damaged = evtx.slice()
    damaged[4_096 + 512 + 200] ^= 0xff
    const { events, reports } = await readAll([folder.write('bad.evtx', damaged)])
    expect(events.length).toBeGreaterThanOrEqual(299)
    expect(reports[0].warnings).toBeGreaterThan(0)
    expect(reports[0].problems.map(({ reason }) => reason).join()).toContain('checksum')
    const ignored = await readAll([folder.write('bad.evtx', damaged)], { checksums: 'ignore' })
    expect(ignored.reports[0].problems.map(({ reason }) => reason).join()).not.toContain('checksum')
  })

  test('in a compressed file that was cut off: what came before is read', async () => {
    const whole = gzipSync(`${LINE}\n`.repeat(5_000), { level: 1 })
    const { events, reports } = await readAll([folder.write('cut.gz', whole.subarray(0, whole.length - 20))])
    expect(events.length).toBeGreaterThan(100)
    expect(reports[0].problems.map(({ reason }) => reason)).toContain('the compressed data ends too early')
  })

  test('a line and a value beyond their limits', async () => {
    const long = 'x'.repeat(MAX_LINE_BYTES + 1)
    const lines = await readAll([folder.write('long.log', `${LINE}\n${long}\n${LINE}\n`)])
    expect([lines.events.length, lines.reports[0].problems[0]?.reason]).toEqual([
      2,
      `a line of more than ${MAX_LINE_BYTES} bytes (MAX_LINE_BYTES)`,
    ])
    const text = 'y'.repeat(MAX_JSON_RECORD_BYTES)
    const values = await readAll([
      folder.write('long.json', `{\n"method":"GET","url":"/a"}{"x":"${text}"}{"method":"GET","url":"/b"}`),
    ])
    expect([values.events.length, values.reports[0].problems[0]?.reason]).toEqual([
      2,
      `a value of more than ${MAX_JSON_RECORD_BYTES} bytes (MAX_JSON_RECORD_BYTES)`,
    ])
  })
})

test('overwritten records come with --recover only', async () => {
  const file = writeEvtx(generateEvents(100, 3))
  // Free space begins in the middle: the records behind it belong to nobody.
  const records = [...(await readAll([folder.write('full.evtx', file)])).events]
  const cut = file.slice()
  const view = new DataView(cut.buffer)
  view.setUint32(4_096 + 48, records[50].record - 4_096, true)
  view.setUint32(4_096 + 120, 0, true)
  const path = folder.write('cut.evtx', cut)
  const plain = await readAll([path], { checksums: 'ignore' })
  const recovered = await readAll([path], { checksums: 'ignore', recover: true })
  expect(plain.events.length).toBeLessThan(records.length)
  expect(recovered.events.length).toBe(records.length)
  expect(recovered.reports[0].recovered).toBe(records.length - plain.events.length)
})

describe('pieces of a file', () => {
  test('lines split anywhere are the same lines', () => {
    const text = fc.array(fc.string({ maxLength: 12 }), { maxLength: 12 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(text, fc.array(fc.nat(40), { maxLength: 8 }), (content, cuts) => {
        const bytes = Buffer.from(content)
        const found: string[] = []
        const splitter = new LineSplitter({ onLine: (line) => found.push(line), onLongLine() {} })
        let at = 0
        for (const cut of [...cuts, bytes.length]) {
          splitter.write(bytes.subarray(at, at + cut))
          at += cut
        }
        splitter.end()
        const expected = content.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
        if (expected.at(-1) === '') expected.pop()
        expect(found).toEqual(expected)
      }),
    )
  })

  test('a large log in pieces has each line once, with its number', async () => {
    const lines = Array.from(
      { length: 12_000 },
      (_, index) =>
        `192.0.2.7 - - [30/Nov/2026:12:00:01 +0000] "GET /${index} HTTP/1.1" 200 5 "-" "${'a'.repeat(900 + (index % 50))}"`,
    )
    const path = folder.write('large.log', `${lines.join('\n')}\n`)
    const { sources } = await findSources([path], { format: undefined, onProgress() {} })
    const scanner = createScanner(sources, PLAIN, { stdin: undefined, pause: () => undefined })
    const pieces = piecesOf(sources[0], 0, PLAIN)
    expect(pieces.length).toBeGreaterThan(2)
    const found: string[] = []
    let before = 0
    for (const piece of pieces) {
      const report = await scanner.scan(piece, (event, record) => {
        found.push(`${before + record} ${event.text().split(' ', 2)[1]}`)
      })
      before += report.records
    }
    expect(found).toEqual(lines.map((_, index) => `${index + 1} /${index}`))
  })

  test('are whole chunks of a Windows event log', () => {
    const source = {
      path: 'x',
      bytes: 10_000_000,
      coding: undefined,
      encoding: 'utf-8',
      format: { kind: 'evtx' },
    } as const
    const pieces = piecesOf(source, 0, PLAIN)
    expect(pieces.length).toBe(5)
    for (const { start } of pieces.slice(1)) expect((start - 4_096) % 65_536).toBe(0)
    expect(piecesOf(source, 0, { ...PLAIN, recover: true })).toHaveLength(1)
  })
})

describe('JSON of others', () => {
  const webFields = ['cs-method', 'sc-status', 'c-ip', 'cs-user-agent', 'cs-host']
  test.each<[string, unknown, readonly unknown[]]>([
    [
      'nginx',
      {
        time_local: '30/Nov/2026:12:00:01 +0000',
        request: 'GET /a HTTP/1.1',
        status: '200',
        remote_addr: '192.0.2.7',
        http_user_agent: 'u',
        http_host: 'h',
      },
      ['GET', 200, '192.0.2.7', 'u', 'h'],
    ],
    [
      'Caddy',
      {
        ts: 1796040001.5,
        request: { remote_ip: '192.0.2.7', method: 'GET', host: 'h', uri: '/a', headers: { 'User-Agent': ['u'] } },
        status: 200,
      },
      ['GET', 200, '192.0.2.7', 'u', 'h'],
    ],
    [
      'Traefik',
      {
        StartUTC: '2026-11-30T12:00:01Z',
        RequestMethod: 'GET',
        RequestPath: '/a',
        DownstreamStatus: 200,
        ClientHost: '192.0.2.7',
        RequestHost: 'h',
        'request_User-Agent': 'u',
      },
      ['GET', 200, '192.0.2.7', 'u', 'h'],
    ],
    [
      'the Elastic Common Schema',
      {
        _source: {
          '@timestamp': '2026-11-30T12:00:01Z',
          http: { request: { method: 'GET' }, response: { status_code: 200 } },
          url: { original: '/a', domain: 'h' },
          source: { ip: '192.0.2.7' },
          user_agent: { original: 'u' },
        },
      },
      ['GET', 200, '192.0.2.7', 'u', 'h'],
    ],
    [
      'Splunk',
      {
        preview: false,
        result: {
          _time: '2026-11-30T12:00:01Z',
          method: 'GET',
          uri: '/a',
          status: '200',
          clientip: '192.0.2.7',
          http_user_agent: 'u',
          host: 'h',
        },
      },
      ['GET', 200, '192.0.2.7', 'u', 'h'],
    ],
    [
      'prexy',
      {
        level: 30,
        time: '2026-11-30T12:00:01.000Z',
        exchange: 1,
        method: 'GET',
        host: 'h',
        path: '/a',
        status: 200,
        bytesOut: 5,
        totalMs: 1.5,
        msg: 'exchange',
      },
      ['GET', 200, undefined, undefined, 'h'],
    ],
  ])('%s', async (name, record, expected) => {
    const { events } = await readAll([folder.write(`${name}.jsonl`, JSON.stringify(record))])
    expect(events[0].time?.slice(0, 19)).toBe('2026-11-30T12:00:01')
    expect(
      webFields.map((field) => {
        const value = events[0].get(field)
        return typeof value === 'object' && value !== null && 'values' in value
          ? (value.values as readonly unknown[])[0]
          : value
      }),
    ).toEqual(expected)
    expect(events[0].sources).toEqual([{ category: 'webserver' }, { category: 'proxy' }])
  })

  const windows = { product: 'windows', service: 'sysmon' }
  test.each<[string, unknown]>([
    [
      'evtx_dump',
      {
        Event: {
          System: {
            Provider: { '#attributes': { Name: 'P' } },
            EventID: { '#attributes': { Qualifiers: 0 }, '#text': 1 },
            Channel: 'Microsoft-Windows-Sysmon/Operational',
            Computer: 'PC',
            TimeCreated: { '#attributes': { SystemTime: '2026-11-30T12:00:01.1234567Z' } },
          },
          EventData: { CommandLine: 'c', Image: 'i', 'Threat Name': 't' },
        },
      },
    ],
    [
      'Winlogbeat',
      {
        '@timestamp': '2026-11-30T12:00:01Z',
        winlog: {
          channel: 'Microsoft-Windows-Sysmon/Operational',
          event_id: 1,
          computer_name: 'PC',
          provider_name: 'P',
          event_data: { CommandLine: 'c', Image: 'i', 'Threat Name': 't' },
        },
      },
    ],
    [
      'flat records',
      {
        '@timestamp': '2026-11-30T12:00:01Z',
        Channel: 'Microsoft-Windows-Sysmon/Operational',
        EventID: 1,
        Hostname: 'PC',
        SourceName: 'P',
        CommandLine: 'c',
        Image: 'i',
        'Threat Name': 't',
      },
    ],
    [
      'Splunk',
      {
        result: {
          _time: '2026-11-30T12:00:01Z',
          LogName: 'Microsoft-Windows-Sysmon/Operational',
          EventCode: '1',
          ComputerName: 'PC',
          SourceName: 'P',
          CommandLine: 'c',
          Image: 'i',
          'Threat Name': 't',
        },
      },
    ],
  ])('of Windows: %s', async (name, record) => {
    const { events } = await readAll([folder.write(`windows-${name}.jsonl`, JSON.stringify(record))])
    const [event] = events
    expect(
      ['CommandLine', 'Image', 'ThreatName', 'EventID', 'Computer', 'Provider_Name'].map((field) => event.get(field)),
    ).toEqual(['c', 'i', 't', 1, 'PC', 'P'])
    expect([event.host, event.eventId, event.sources]).toEqual([
      'PC',
      1,
      [windows, { ...windows, category: 'process_creation' }],
    ])
  })

  test('wrappers of many records, and records of no known source', async () => {
    const content = JSON.stringify({ results: [{ method: 'GET', url: '/a' }, { method: 'GET', url: '/b' }, { x: 1 }] })
    const { events, reports } = await readAll([folder.write('wrapped.json', content)])
    expect(events.map(({ record }) => Math.floor(record))).toEqual([1, 1, 1])
    expect(new Set(events.map(({ record }) => record)).size).toBe(3)
    expect(events[2].sources).toEqual([])
    expect(reports[0].unrouted).toBe(1)
  })

  test('a mapping says where records have what', async () => {
    const map = readFieldMap(
      'record: log.entry\ntime: when\nhost: site\nfields:\n  cs-method: verb.name\n  c-uri: addr\n  c-ip: from\nlogsource: {category: webserver}\n',
      'map.yaml',
    )
    const record = {
      log: { entry: { when: 1796040001, site: 'h', verb: { name: 'GET' }, addr: '/a?x=1', from: '192.0.2.7' } },
    }
    const { events } = await readAll([folder.write('mapped.jsonl', JSON.stringify(record))], { map })
    expect([events[0].time, events[0].host, events[0].get('cs-method'), events[0].get('c-ip')]).toEqual([
      '2026-11-30T12:00:01.000Z',
      'h',
      'GET',
      '192.0.2.7',
    ])
    expect(() => readFieldMap('feilds: {}\n', 'map.yaml')).toThrow('map.yaml: feilds: there is no such key')
    expect(() => readFieldMap('a: [\n', 'map.yaml')).toThrow(/^map\.yaml:2: /)
  })

  test('nesting of any depth is read or left out, never a fault', async () => {
    const deep = (open: string, close: string, inside: string): string =>
      open.repeat(50_000) + inside + close.repeat(50_000)
    const lines = [
      `{"method":"GET","url":"/a","x":${deep('[', ']', '1')}}`,
      `{"method":"GET","url":"/b","x":${deep('{"y":', '}', '1')}}`,
      `{"hits":${deep('{"hits":', '}', '[]')}}`,
      `{"results":${deep('[', ']', '{}')}}`,
    ]
    const { events, reports } = await readAll([folder.write('deep.jsonl', lines.join('\n'))])
    expect(events.length + reports[0].badRecords).toBeGreaterThanOrEqual(4)
    expect(events.slice(0, 2).map(({ get }) => get('cs-method'))).toEqual(['GET', 'GET'])
    const whole = await readAll([folder.write('deep.json', `[\n${deep('[', ']', '{"method":"GET","url":"/a"}')}]`)])
    expect(whole.reports[0].badRecords + whole.events.length).toBe(1)
  })

  test('keys of prototypes are members like all others', async () => {
    const content = '{"__proto__":{"method":"GET"},"constructor":"x","method":"GET","url":"/a"}\n'
    const { events } = await readAll([folder.write('proto.jsonl', content)])
    expect(events[0].entries.map(([name]) => name)).toContain('constructor')
    expect(Object.hasOwn(Object.prototype, 'method')).toBe(false)
  })
})

describe('recordings', () => {
  const header = { run: '4f2a9c01', number: 1, session: 's', createdAtMs: 0, salt: 7 }
  const exchange = {
    kind: 'exchange',
    version: 2,
    run: '4f2a9c01',
    sequence: 3,
    startedAtMs: Date.UTC(2026, 10, 30, 12, 0, 1),
    exchangeId: 3,
    connectionId: 1,
    requestNumber: 1,
    client: '192.0.2.7',
    timings: { requestHeadUs: 1, upstreamConnectedUs: 2, responseHeadUs: 3, endUs: 9_000 },
    method: 'GET',
    host: 'shop.example',
    target: '/a?b=%2e%2e/',
    status: 200,
    route: 'shop',
    upstream: '127.0.0.1:9000',
    clientInBytes: 80,
    clientOutBytes: 1_200,
    upstreamOutBytes: 0,
    upstreamInBytes: 1_000,
    outcome: 'completed',
    request: { minorVersion: 1, fields: ['Host', 'shop.example', 'User-Agent', 'agent'] },
    response: { status: 200, fields: ['Content-Type', 'text/plain'] },
    bodies: { response: { bytes: 6, octets: new TextEncoder().encode('secret') } },
  }
  const head = encodeHeader(header)
  const frame = encodeFrame('events', 1, encode(exchange), head.length, header.salt)

  test('are requests with heads and bodies', async () => {
    const { events, kinds } = await readAll([folder.write('a.prexyrec', Buffer.concat([head, frame]))])
    expect(kinds).toEqual(['recording'])
    const [event] = events
    expect([event.time, event.host, event.recordId]).toEqual(['2026-11-30T12:00:01.000Z', 'shop.example', '4f2a9c01-3'])
    expect(
      ['c-ip', 'cs-user-agent', 'sc-status', 'sc-body', 'prexy-route', 's-port'].map((field) => event.get(field)),
    ).toEqual(['192.0.2.7', 'agent', 200, 'secret', 'shop', 9_000])
    expect(event.text).toContain('User-Agent: agent')
    expect(event.sources).toEqual([{ category: 'webserver' }, { category: 'proxy' }])
  })

  test('that were cut off or damaged give what is whole', async () => {
    const second = encodeFrame(
      'events',
      1,
      encode({ ...exchange, sequence: 4 }),
      head.length + frame.length,
      header.salt,
    )
    const bytes = Buffer.concat([head, frame, second])
    const cut = await readAll([folder.write('cut.prexyrec', bytes.subarray(0, bytes.length - 3))])
    expect([cut.events.length, cut.reports[0].badRecords]).toEqual([1, 1])
    bytes[head.length + 40] ^= 0xff
    const damaged = await readAll([folder.write('damaged.prexyrec', bytes)])
    expect([damaged.events.length, damaged.events[0]?.recordId, damaged.reports[0].badRecords]).toEqual([
      1,
      '4f2a9c01-4',
      1,
    ])
  })
})

test('what a recording says of itself is no source', async () => {
  const recordings = new TestFolder()
  recordings.write('20261201T034500123Z-0a1b2c3d.session.json', '{"id":"x"}')
  const log = recordings.write('access.log', `${LINE}\n`)
  const found = await findSources([dirname(log)], { format: undefined, onProgress() {} })
  expect([found.sources.map(({ path }) => path), found.skipped]).toEqual([[log], []])
  recordings.close()
})
