/** Sorting, correlation and forms of timelines. */
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Matcher } from '@prexy/sigma/matcher.hot'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileFilter, EVERY_EVENT, type EventFilter, matchesGlob } from '../src/event-filter.ts'
import { createTimeWriter, parseEventTime, parseTimeBound, TIME_FORMATS } from '../src/event-time.ts'
import { addUp, compareSums, type Sum, SumTable } from '../src/sums.ts'
import { ExternalSort } from '../src/external-sort.ts'
import { escapeHtml, htmlReport, ReportRows } from '../src/html-report.ts'
import { createRunner, type JobSpec, type Row } from '../src/job.ts'
import { csvLine, jsonObject } from '../src/row-text.ts'
import {
  chooseRules,
  EVERY_RULE,
  levelsFrom,
  parseIdList,
  parseLevelTuning,
  type RuleChoice,
} from '../src/rule-files.ts'
import { piecesOf } from '../src/scan.ts'
import { searchRule } from '../src/search-rule.ts'
import { frequencyLine, SummaryCounter } from '../src/summary.ts'
import { Timeline } from '../src/timeline.ts'
import { groupTags, parseDetailsTemplate, PROFILES } from '../src/timeline-row.ts'
import { findBase64 } from '../src/base64.ts'
import { createJsonReader } from '../src/json-event.ts'
import { findSources } from '../src/sources.ts'
import { PLAIN, TestFolder } from './reading.ts'

describe('times', () => {
  test.each<[string | number, string | undefined, number]>([
    ['2026-11-30T12:00:01Z', '2026-11-30T12:00:01.000Z', 0],
    ['2026-11-30 12:00:01', '2026-11-30T12:00:01.000Z', 0],
    ['2026-11-30T13:00:01.1234567+01:00', '2026-11-30T12:00:01.123Z', 4_567],
    ['2026-11-30', '2026-11-30T00:00:00.000Z', 0],
    ['30/Nov/2026:12:00:01 -0130', '2026-11-30T13:30:01.000Z', 0],
    ['1796040001', '2026-11-30T12:00:01.000Z', 0],
    [1_796_040_001.25, '2026-11-30T12:00:01.250Z', 0],
    [1_796_040_001_250, '2026-11-30T12:00:01.250Z', 0],
    ['1796040001250000', '2026-11-30T12:00:01.250Z', 0],
    ['/Date(1796040001250)/', '2026-11-30T12:00:01.250Z', 0],
    ['Mon, 30 Nov 2026 12:00:01 GMT', '2026-11-30T12:00:01.000Z', 0],
    ['yesterday', undefined, 0],
    ['30/Foo/2026:12:00:01 +0000', undefined, 0],
  ])('%s', (text, iso, ticks) => {
    const time = parseEventTime(text)
    expect(time === undefined ? undefined : new Date(time.ms).toISOString()).toBe(iso)
    expect(time?.ticks ?? 0).toBe(ticks)
  })

  test('are written in every format, in zones that change', () => {
    const time = { ms: Date.UTC(2026, 10, 30, 23, 5, 7, 89), ticks: 1_234 }
    expect(TIME_FORMATS.map((format) => createTimeWriter(format, 'Europe/Berlin')(time))).toEqual([
      '2026-12-01T00:05:07.0891234+01:00',
      '2026-12-01 00:05:07.0891234+01:00',
      'Tue, 01 Dec 2026 00:05:07 +0100',
      '12-01-2026 12:05:07.089 AM +01:00',
      '12-01-2026 00:05:07.089 +01:00',
      '01-12-2026 00:05:07.089 +01:00',
      '1796079907.089',
    ])
    const summer = { ms: Date.UTC(2026, 6, 1), ticks: 0 }
    expect(createTimeWriter('iso', 'Europe/Berlin')(summer)).toBe('2026-07-01T02:00:00.000+02:00')
    expect(createTimeWriter('iso', '-03:30')(summer)).toBe('2026-06-30T20:30:00.000-03:30')
    expect(createTimeWriter('iso', 'UTC')(summer)).toBe('2026-07-01T00:00:00.000Z')
    expect(() => createTimeWriter('iso', 'Mars/Phobos')).toThrow(RangeError)
  })

  test('bounds are times, or how long ago', () => {
    const now = Date.UTC(2026, 10, 30)
    expect(parseTimeBound('24h', now)).toBe(now - 86_400_000)
    expect(parseTimeBound('2w', now)).toBe(now - 14 * 86_400_000)
    expect(parseTimeBound('2026-11-01', now)).toBe(Date.UTC(2026, 10, 1))
    expect(parseTimeBound('soon', now)).toBeUndefined()
  })
})

describe('sorting outside of memory', () => {
  const folders = (): readonly string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith('prexy-hunt-') && !name.startsWith('prexy-hunt-test'))

  test('gives the order of sorting in memory, and leaves nothing behind', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(20), fc.string()), { maxLength: 200 }), (items) => {
        const compare = (a: (typeof items)[number], b: (typeof items)[number]): number =>
          a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0)
        const sort = new ExternalSort<(typeof items)[number]>(compare, { maxMemory: 40, maxFiles: 3 })
        for (const item of items) sort.add(item, 9)
        expect([...sort.sorted()]).toEqual(items.toSorted(compare))
        sort.close()
      }),
      { numRuns: 30 },
    )
  })

  test('keeps no more than its limit, and removes its files when it is closed early', () => {
    const before = folders()
    const sort = new ExternalSort<number>((a, b) => a - b, { maxMemory: 1_000, maxFiles: 4 })
    for (let item = 5_000; item > 0; item--) sort.add(item, 5)
    expect(sort.spilledFiles).toBeGreaterThan(20)
    const sorted = sort.sorted()
    expect([sorted.next().value, sorted.next().value]).toEqual([1, 2])
    sorted.return()
    sort.close()
    expect(
      folders()
        .filter((name) => !before.includes(name))
        .filter((name) => existsSync(`${tmpdir()}/${name}`)),
    ).toEqual([])
  })
})

test('sums of any parts are the sums of the whole', () => {
  const events = fc.array(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      time: fc.option(fc.nat(100), { nil: undefined }),
      failed: fc.boolean(),
    }),
  )
  fc.assert(
    fc.property(events, fc.array(fc.nat(5)), (list, cuts) => {
      const whole: Sum[] = []
      const parts: Sum[] = []
      const one = new SumTable((sums) => whole.push(...sums))
      const many = new SumTable((sums) => parts.push(...sums))
      list.forEach(({ key, time, failed }, index) => {
        one.add(['k', key], time, failed ? [2] : [])
        many.add(['k', key], time, failed ? [2] : [])
        if (cuts.includes(index % 7)) many.flush()
      })
      one.flush()
      many.flush()
      const add = (sums: Sum[]): readonly Sum[] => [...addUp(sums.toSorted(compareSums))]
      expect(add(parts)).toEqual(add(whole))
    }),
  )
})

const RULES = `
title: Get
name: get
id: 1
level: low
logsource: {category: webserver}
detection: {s: {cs-method: GET}, condition: s}
---
title: Old count
id: 2
level: medium
logsource: {category: webserver}
detection: {s: {cs-method: GET}, condition: s | count() by c-ip > 2, timeframe: 1m}
---
title: Many
name: many
id: 3
level: high
correlation: {type: event_count, rules: [get], group-by: [c-ip], timespan: 1m, condition: {gte: 3}, generate: true}
---
title: Few
id: 4
level: high
correlation: {type: value_count, rules: [get], group-by: [c-ip], timespan: 1m, condition: {lt: 2, field: c-uri}}
---
title: Chain
id: 5
level: critical
correlation: {type: temporal_ordered, rules: [many, post], group-by: [c-ip], timespan: 5m}
---
title: Post
name: post
id: 6
logsource: {category: webserver}
detection: {s: {cs-method: POST}, condition: s}
`

async function rowsOf(
  files: readonly string[],
  choice: RuleChoice,
  limits?: { maxMemory: number; maxFiles: number },
): Promise<readonly string[]> {
  const folder = new TestFolder()
  const paths = files.map((content, index) => folder.write(`${index}.log`, content))
  const { sources } = await findSources(paths, { format: undefined, onProgress() {} })
  const texts = [{ file: 'rules.yml', text: RULES }]
  const chosen = chooseRules(texts, choice)
  expect(chosen.problems).toEqual([])
  const columns = PROFILES.minimal
  const spec: JobSpec = {
    task: { kind: 'timeline', columns, details: [], routes: true },
    sources,
    scan: PLAIN,
    filter: EVERY_EVENT,
    rules: { texts, choice },
  }
  const timeline = new Timeline(chosen.set, columns, limits)
  const runner = createRunner(spec, chosen, {
    stdin: undefined,
    pause: () => undefined,
    onBatch: (batch) => timeline.add(batch),
  })
  // In the wrong order: the order of a timeline is not that of reading.
  for (const [index, source] of [...sources.entries()].toReversed()) {
    for (const task of piecesOf(source, index, PLAIN).toReversed()) await runner.run(task)
  }
  const rows = [...timeline.rows((rule) => chosen.reported.has(rule))].map(
    ({ ms, rule }) => `${ms} ${chosen.set.rules[rule].title}`,
  )
  timeline.close()
  folder.close()
  return rows
}

test('correlations over files read in any order are those of the events in order of time', async () => {
  const requests = fc.array(fc.record({ second: fc.nat(200), ip: fc.nat(2), post: fc.boolean(), path: fc.nat(2) }), {
    maxLength: 30,
  })
  await fc.assert(
    fc.asyncProperty(requests, fc.boolean(), async (list, spills) => {
      // Events of one second would stand in the order of their lines, which differs between the two.
      const distinct = [...new Map(list.map((one) => [one.second, one])).values()]
      const lineOf = ({ second, ip, post, path }: (typeof list)[number]): string => {
        const time = new Date(second * 1_000).toISOString().slice(11, 19)
        return `192.0.2.${ip} - - [30/Nov/2026:${time} +0000] "${post ? 'POST' : 'GET'} /${path} HTTP/1.1" 200 5`
      }
      const half = Math.ceil(distinct.length / 2)
      const files = [distinct.slice(0, half), distinct.slice(half)]
        .map((part) => part.map(lineOf).join('\n'))
        .filter((text) => text !== '')
      const found = await rowsOf(files, EVERY_RULE, spills ? { maxMemory: 500, maxFiles: 2 } : undefined)

      const { set } = chooseRules([{ file: 'rules.yml', text: RULES }], EVERY_RULE)
      const matcher = new Matcher(set)
      const expected: string[] = []
      const base = Date.UTC(2026, 10, 30)
      for (const { second, ip, post, path } of distinct.toSorted((a, b) => a.second - b.second)) {
        const fields = new Map<string, string>([
          ['cs-method', post ? 'POST' : 'GET'],
          ['c-ip', `192.0.2.${ip}`],
          ['c-uri', `/${path}`],
        ])
        matcher.match(
          {
            sources: [{ category: 'webserver' }],
            time: base + second * 1_000,
            get: (field) => fields.get(field),
            text: () => '',
          },
          (hit) => {
            expected.push(`${hit.event?.time ?? hit.correlation?.to} ${hit.rule.title}`)
          },
        )
      }
      matcher.finish((hit) => expected.push(`${hit.correlation?.to} ${hit.rule.title}`))
      expect(found.toSorted()).toEqual(expected.toSorted())
      const times = found.map((row) => Number(row.split(' ')[0]))
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    }),
    { numRuns: 25 },
  )
})

describe('rules are chosen', () => {
  const titles = (choice: Partial<RuleChoice>): readonly string[] => {
    const { reported, set } = chooseRules([{ file: 'rules.yml', text: RULES }], { ...EVERY_RULE, ...choice })
    return set.rules.filter((info) => reported.has(info)).map(({ title }) => title)
  }

  test('by level, id, and by other levels for some', () => {
    expect(titles({ levels: levelsFrom('high') })).toEqual(['Many', 'Few', 'Chain'])
    expect(titles({ ids: ['5'] })).toEqual(['Chain'])
    expect(titles({ excludedIds: ['5', '4', '3', '2'] })).toEqual(['Get', 'Post'])
    expect(
      titles({
        levels: levelsFrom('critical'),
        tuning: [
          ['1', 'critical'],
          ['5', 'low'],
        ],
      }),
    ).toEqual(['Get'])
  })

  test('and what a correlation needs runs unseen', async () => {
    const line = (second: number, method: string): string =>
      `192.0.2.1 - - [30/Nov/2026:12:00:0${second} +0000] "${method} / HTTP/1.1" 200 5`
    const rows = await rowsOf([[line(1, 'GET'), line(2, 'GET'), line(3, 'GET'), line(4, 'POST')].join('\n')], {
      ...EVERY_RULE,
      ids: ['5'],
    })
    expect(rows.map((row) => row.split(' ')[1])).toEqual(['Chain'])
  })

  test('lists of ids and levels are files of lines', () => {
    expect(parseIdList('# noisy\nabc # why\n\ndef, title\n')).toEqual(['abc', 'def'])
    expect(parseLevelTuning('id,new_level\nabc,High\n#x\ndef, low, note\n')).toEqual([
      ['abc', 'high'],
      ['def', 'low'],
    ])
    expect(() => parseLevelTuning('abc,severe\n')).toThrow('line 1: "severe" is no level')
  })
})

describe('events are filtered', () => {
  const base = {
    ticks: 0,
    recordId: undefined,
    provider: undefined,
    isRecovered: false,
    kind: 'windows',
    sources: [],
    get: () => undefined,
    text: () => '',
    entries: () => [],
    fieldNames: () => [],
  } as const
  const events = [
    { ...base, time: 100, host: 'PC-1', channel: 'Security', eventId: 1 },
    { ...base, time: 200, host: 'srv.example', channel: 'System', eventId: 2 },
    { ...base, time: undefined, host: '', channel: 'text', eventId: undefined },
  ]
  test.each<[Partial<EventFilter>, readonly number[]]>([
    [{}, [0, 1, 2]],
    [{ fromMs: 100, toMs: 199 }, [0]],
    [{ toMs: 1_000 }, [0, 1]],
    [{ hosts: ['pc-*'] }, [0]],
    [{ excludedHosts: ['*.EXAMPLE', 'pc-?'] }, [2]],
    [{ channels: ['sec*', 'text'] }, [0, 2]],
    [{ excludedChannels: ['security'] }, [1, 2]],
    [{ eventIds: [2, 3] }, [1]],
    [{ excludedEventIds: [2] }, [0, 2]],
  ])('%j', (filter, expected) => {
    const passes = compileFilter({ ...EVERY_EVENT, ...filter })
    expect(events.flatMap((event, index) => ((passes?.(event) ?? true) ? [index] : []))).toEqual(expected)
  })

  test('by globs, as a regular expression would', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    const subject = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 })
    fc.assert(
      fc.property(text, subject, (glob, subjectText) => {
        const regex = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`)
        expect(matchesGlob(glob, subjectText)).toBe(regex.test(subjectText))
      }),
    )
  })
})

describe('rows are written', () => {
  test('cells that a spreadsheet would run are escaped', () => {
    expect(
      csvLine(['=cmd|calc', '+1', '-1+2', '@SUM(A1)', '\tx', ' =1', '\uff1dA1', '-', 'a,b', 'a"b', 'a\nb', 'a-b']),
    ).toBe(`'=cmd|calc,'+1,'-1+2,'@SUM(A1),'\tx,' =1,'\uff1dA1,-,"a,b","a""b","a\nb",a-b\r\n`)
    fc.assert(
      fc.property(fc.string(), (cell) => {
        const [written] = csvLine([cell]).split('\r\n', 1)
        const text = written.startsWith('"') ? written.slice(1) : written
        expect(text === '-' || !/^[=+\-@\t\r]/.test(text)).toBe(true)
      }),
    )
  })

  test('as JSON, names that come again are lists and empty cells are left out', () => {
    expect(
      jsonObject(
        ['A', 'B', 'C'],
        [
          'x',
          [
            ['n', 1],
            ['n', 2],
            ['m', true],
          ],
          '',
        ],
      ),
    ).toEqual({ A: 'x', B: { n: [1, 2], m: true } })
  })

  test('in a page, all that events say is text', () => {
    const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)>"\'&\u202e\u001b[31m'
    const rows = new ReportRows()
    rows.add({ level: 'high', cells: [hostile, [[hostile, hostile]]] })
    const page = htmlReport(
      {
        hits: 1,
        events: 1,
        levels: [
          {
            level: 'high',
            hits: 1,
            rules: 1,
            topRules: [[hostile, 1]],
            topHosts: [[hostile, 1]],
            topDay: [hostile, 1],
          },
        ],
        firstMs: 0,
        lastMs: 0,
        frequency: [1],
        duplicates: 0,
      },
      rows,
      { title: hostile, notes: [hostile], columns: ['RuleTitle', 'Details'], writeTime: () => hostile },
    )
    expect(page).not.toMatch(/<script|<img|onerror=alert\(1\)>|\u202e|\u001b/)
    expect(page).toContain("default-src 'none'")
    expect(page).not.toMatch(/<[^>]*\s(?:src|href)=/)
    expect(escapeHtml('<a b="c">')).toBe('&lt;a b=&quot;c&quot;&gt;')
  })

  test('tags of MITRE ATT&CK are told apart', () => {
    expect(
      groupTags([
        'attack.initial-access',
        'attack.t1190',
        'attack.T1059.001',
        'attack.defense_evasion',
        'cve.2021-44228',
      ]),
    ).toEqual({
      tactics: ['initial-access', 'defense-evasion'],
      techniques: ['T1190', 'T1059.001'],
      others: ['cve.2021-44228'],
    })
  })

  test('templates of details have labels and fields', () => {
    expect(parseDetailsTemplate('Cmdline: %CommandLine% ¦ %Image% ¦ Data: %Data[1]% ¦ nothing').parts).toEqual([
      { label: 'Cmdline', field: 'CommandLine' },
      { label: 'Image', field: 'Image' },
      { label: 'Data', field: 'Data' },
    ])
  })
})

test('a summary counts levels, rules, hosts and days', () => {
  const { set, reported } = chooseRules([{ file: 'rules.yml', text: RULES }], EVERY_RULE)
  const counter = new SummaryCounter(set.rules, reported)
  const day = 86_400_000
  const row = (record: number, rule: number, ms: number, host: string): Row => ({
    ms,
    ticks: 0,
    source: 0,
    host,
    piece: 0,
    record,
    rule,
    cells: [],
  })
  for (const one of [row(1, 0, 0, 'a'), row(1, 1, 0, 'a'), row(2, 0, day, 'b'), row(3, 0, day, 'b')]) counter.add(one)
  const { hits, events, levels, frequency } = counter.result()
  expect([hits, events, frequency.reduce((sum, bin) => sum + bin, 0)]).toEqual([4, 3, 4])
  expect(levels).toEqual([
    {
      level: 'medium',
      hits: 1,
      rules: 1,
      topRules: [['Old count', 1]],
      topHosts: [['a', 1]],
      topDay: ['1970-01-01', 1],
    },
    {
      level: 'low',
      hits: 3,
      rules: 1,
      topRules: [['Get', 3]],
      topHosts: [
        ['b', 2],
        ['a', 1],
      ],
      topDay: ['1970-01-02', 2],
    },
  ])
  expect(frequencyLine([0, 1, 8])).toBe(' ▁█')
})

describe('a search is a rule', () => {
  const found = (terms: Partial<Parameters<typeof searchRule>[0]>): readonly number[] => {
    const rule = searchRule({ keywords: [], patterns: [], fields: [], mode: 'any', isCased: false, ...terms })
    const { set, problems } = chooseRules([rule], EVERY_RULE)
    expect(problems).toEqual([])
    const matcher = new Matcher(set)
    const records = [
      { method: 'GET', uri: 'C:\\Temp*?' },
      { method: 'POST', uri: "it's 100%" },
      { method: 'get', uri: 'c:\\temp' },
    ]
    return records.flatMap((record, index) => {
      let isFound = false
      const event = {
        sources: undefined,
        time: 0,
        get: (field: string) => (record as Readonly<Record<string, string>>)[field],
        text: () => Object.values(record).join('\n'),
      }
      matcher.match(event, () => {
        isFound = true
      })
      return isFound ? [index] : []
    })
  }
  test.each<[Partial<Parameters<typeof searchRule>[0]>, readonly number[]]>([
    [{ keywords: ['c:\\temp'] }, [0, 2]],
    [{ keywords: ['C:\\Temp'], isCased: true }, [0]],
    [{ keywords: ['*?'] }, [0]],
    [{ keywords: ["it's", '\\'] }, [0, 1, 2]],
    [{ keywords: ['get', 'q*'], mode: 'all' }, []],
    [{ keywords: ['get', 'temp'], mode: 'all' }, [0, 2]],
    [{ patterns: ['c:.temp$'] }, [2]],
    [{ patterns: ['\\d+%'] }, [1]],
    [{ fields: [['method', 'GE*']] }, [0, 2]],
    [
      {
        keywords: ['temp'],
        fields: [
          ['method', 'GET'],
          ['uri', '*\\*\\?'],
        ],
      },
      [0],
    ],
  ])('%j', (terms, expected) => {
    expect(found(terms)).toEqual(expected)
  })
})

test('texts in Base64 are found and decoded, words and paths are not', () => {
  const event = createJsonReader({ map: undefined, logsource: undefined })({
    a: `powershell -enc ${Buffer.from('Invoke-WebRequest http://a.example', 'utf16le').toString('base64')}`,
    b: `x=${Buffer.from('<?php system($_GET[1]); ?>').toString('base64')}&y=1`,
    c: Buffer.from('MZ\u0090\u0000\u0003\u0000\u0000\u0000\u0004 this is it', 'latin1').toString('base64'),
    d: '/usr/share/applications/something/else/entirely',
    e: 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnop',
    f: 'd41d8cd98f00b204e9800998ecf8427e',
    g: 'AAAA/'.repeat(20_000),
  })
  expect([...findBase64(event, 24)].map(({ field, form, decoded }) => [field, form, decoded])).toEqual([
    ['a', 'utf-16le', 'Invoke-WebRequest http://a.example'],
    ['b', 'utf-8', '<?php system($_GET[1]); ?>'],
    ['c', 'binary', expect.stringMatching(/Windows program/)],
  ])
})
