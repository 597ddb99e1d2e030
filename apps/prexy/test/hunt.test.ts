/** `prexy hunt` as a person runs it: forms, order, threads, filters, exit codes. */
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { generateEvents } from '@prexy/testing/evtx-events'
import { writeEvtx } from '@prexy/testing/evtx-writer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-hunt-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

function line(second: number, target: string, status = 200, agent = 'Mozilla/5.0', client = '192.0.2.7'): string {
  const time = new Date(second * 1_000).toISOString().slice(11, 19)
  return `${client} - - [30/Nov/2026:${time} +0000] "GET ${target} HTTP/1.1" ${status} 512 "-" "${agent}"\n`
}

const ATTACKS =
  line(1, '/index.html') +
  line(3, '/../../etc/passwd') +
  line(2, '/.env') +
  line(4, '/x', 200, 'sqlmap/1.7') +
  'rubbish\n'
let log = ''
let rules = ''

beforeAll(() => {
  log = file('access.log', ATTACKS)
  rules = file(
    'rules.yml',
    [
      'title: Everything\nid: 11111111-1111-1111-1111-111111111111\nlevel: low\nstatus: test\nlogsource: {product: windows}\ndetection: {s: {EventID|gte: 0}, condition: s}\ntags: [attack.t1059]',
      'title: Pages\nid: 22222222-2222-2222-2222-222222222222\nlevel: high\nstatus: experimental\nlogsource: {category: webserver}\ndetection: {s: {c-uri|contains: "7"}, condition: s}',
      'title: Many\nid: 33333333-3333-3333-3333-333333333333\nlevel: critical\ncorrelation: {type: event_count, rules: [22222222-2222-2222-2222-222222222222], group-by: [c-ip], timespan: 1h, condition: {gte: 20}, generate: true}',
      'title: Old\nid: 44444444-4444-4444-4444-444444444444\nlevel: high\nstatus: deprecated\nlogsource: {category: webserver}\ndetection: {s: {cs-method: GET}, condition: s}',
    ].join('\n---\n'),
  )
})

describe('a hunt', () => {
  test('prints hits in order of time, and a summary that says what was not read', async () => {
    const { code, stdout, stderr } = await runPrexy(['hunt', log])
    expect(code).toBe(0)
    const hits = stdout.trimEnd().split('\n')
    const times = hits.map((hit) => hit.slice(0, 24))
    expect(times).toEqual(times.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(hits[0]).toMatch(/^2026-11-30T00:00:02\.000Z {2}critical {2}Secret file delivered .*access\.log:3$/)
    expect(stderr).toMatch(/^4 hits in 3 events\n/)
    expect(stderr).toContain('critical: 1 hit of 1 rule')
    expect(stderr).toContain('line 5: not of the format "combined"')
    expect(stderr).toContain('1 record could not be read')
    expect(stderr).toMatch(/50 rules used/)
  })

  test('reads standard input, compressed too', async () => {
    const plain = await runPrexy(['hunt', '-', '--print', 'jsonl', '--no-summary'], ATTACKS)
    const coded = await runPrexy(['hunt', '-', '--print', 'jsonl', '--no-summary'], gzipSync(ATTACKS))
    expect(plain.stdout.split('\n')).toHaveLength(5)
    expect([coded.stdout, coded.stderr]).toEqual([plain.stdout, ''])
  })

  test('writes several forms at once, for their owner only, and overwrites only when told', async () => {
    const names = ['t.csv', 't.jsonl', 't.json', 't.html', 't.txt'].map((name) => join(folder, name))
    const args = ['hunt', log, ...names.flatMap((name) => ['-o', name])]
    const { code, stdout, stderr } = await runPrexy(args)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('4 rows written to')
    const [csv, jsonl, json, html, text] = names.map((name) => readFileSync(name, 'utf8'))
    expect(csv.split('\r\n')[0]).toBe(
      'Timestamp,Host,Channel,EventID,Level,RecordID,RuleTitle,Details,ExtraFields,Source,Record,RuleID',
    )
    expect(csv.split('\r\n')).toHaveLength(6)
    const rows: unknown = JSON.parse(json)
    expect(
      jsonl
        .trimEnd()
        .split('\n')
        .map((row): unknown => JSON.parse(row)),
    ).toEqual(rows)
    expect(rows).toMatchObject([
      { Level: 'critical', Details: { Client: '192.0.2.7', Target: '/.env' }, Record: '3' },
      {},
      {},
      {},
    ])
    expect(html).toMatch(/^<!doctype html>.*<\/html>\n$/s)
    expect(text.split('\n')).toHaveLength(5)
    for (const name of names) expect(statSync(name).mode & 0o777).toBe(0o600)
    const again = await runPrexy(args)
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/t\.csv: it exists already; --force/)])
    expect((await runPrexy([...args, '--force', '--no-summary'])).code).toBe(0)
    expect(readFileSync(names[0], 'utf8')).toBe(csv)
  })

  test('a CSV cell that a spreadsheet would run is escaped', async () => {
    const evil = file('evil.jsonl', `${JSON.stringify({ method: 'GET', url: '/.env', status: 200, host: '=cmd|x' })}\n`)
    const { stdout } = await runPrexy(['hunt', evil, '--print', 'csv', '--no-summary'])
    expect(stdout).toContain(",'=cmd|x,")
  })

  test('says the same bytes in every run and with any number of threads', async () => {
    const logs = Array.from({ length: 3 }, (_, part) =>
      file(
        `large-${part}.log`,
        Array.from({ length: part === 0 ? 18_000 : 2_000 }, (_value, index) =>
          line(
            (index * 7 + part) % 80_000,
            `/${index % 97}/${'x'.repeat(300)}`,
            200,
            `a${part}`,
            `192.0.2.${index % 40}`,
          ),
        ).join(''),
      ),
    )
    const evtx = file('large.evtx', writeEvtx(generateEvents(3_000, 5)))
    const hunt = async (threads: string): Promise<string> => {
      const args = [
        'hunt',
        ...logs,
        evtx,
        '--rules',
        rules,
        '--threads',
        threads,
        '--print',
        'csv',
        '--profile',
        'verbose',
      ]
      const { code, stdout, stderr } = await runPrexy([...args, '--no-summary'])
      expect([code, stderr]).toEqual([0, ''])
      return stdout
    }
    const one = await hunt('1')
    expect(one.split('\r\n').length).toBeGreaterThan(5_000)
    expect(one).toContain(',critical,')
    expect((await hunt('3')) === one).toBe(true)
    expect((await hunt('2')) === one).toBe(true)
  })

  test('ends with a code that says what happened', async () => {
    const run = async (...args: string[]): Promise<number | null> => (await runPrexy(['hunt', ...args])).code
    expect(await run(log, '--fail-on', 'critical')).toBe(1)
    expect(await run(log, '--fail-on', 'critical', '--level', 'medium')).toBe(0)
    expect(await run(log, join(folder, 'missing.log'))).toBe(2)
    expect(await run(log, '--rules', join(folder, 'missing'))).toBe(2)
  })

  test.each<[readonly string[], RegExp]>([
    [['--from', 'soon'], /--from soon is no time; write/],
    [['--time-zone', 'Mars'], /--time-zone Mars is not known; write UTC/],
    [['--format', 'clf'], /--format: "clf" is no format of an access log; there are common/],
    [['--logsource', 'windows'], /--logsource: "windows" is no part of a log source; write category=/],
    [['--status', 'stabel'], /--status stabel: there is no such one; did you mean stable\?/],
    [['-o', 'x.doc'], /-o x\.doc: the form is told by the ending/],
    [['--threads', '0'], /--threads 0 is no whole number/],
    [['--map', 'missing.yaml'], /missing\.yaml: there is no such file/],
  ])('refuses %j with what to do', async (args, message) => {
    const { code, stderr } = await runPrexy(['hunt', log, ...args])
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  })

  test('says why there is nothing to read', async () => {
    const { code, stderr } = await runPrexy(['hunt', file('letter.txt', 'Dear Sir\n')])
    expect([code, stderr]).toEqual([2, expect.stringMatching(/nothing to read\n.*letter\.txt: it is of no format/)])
  })
})

describe('a hunt that follows', () => {
  test('tells of what is appended, of new files, and of files that were rotated, but not of what was there', async () => {
    const own = mkdtempSync(join(folder, 'follow-'))
    const growing = join(own, 'growing.log')
    writeFileSync(growing, line(1, '/old/.env'))
    const child = startPrexy(['hunt', own, '--follow', '--print', 'jsonl', '--profile', 'minimal'])
    const output = collect(child)
    await waitFor(child.stderr, /following/)
    const [first, second, third] = [/\/first\/\.env/, /\/second\/\.env/, /\/third\/\.env/].map((pattern) =>
      waitFor(child.stdout, pattern),
    )
    appendFileSync(growing, line(2, '/a'))
    const half = line(3, '/first/.env')
    appendFileSync(growing, half.slice(0, 40))
    appendFileSync(growing, half.slice(40))
    await first
    writeFileSync(join(own, 'new.log'), line(4, '/second/.env'))
    await second
    writeFileSync(growing, line(5, '/third/.env'))
    await third
    child.kill('SIGTERM')
    const { code, stdout, stderr } = await output
    expect(code).toBe(0)
    expect(stdout).not.toContain('/old/')
    expect(stdout.trimEnd().split('\n')).toHaveLength(3)
    expect(stderr).toMatch(/3 hits in \d+ events, 0 records not read/)
  })

  test('refuses forms that have an end', async () => {
    const { code, stderr } = await runPrexy(['hunt', log, '--follow', '--print', 'html'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('use jsonl with --follow')])
  })
})

describe('what is looked at', () => {
  const titles = async (...args: string[]): Promise<readonly string[]> => {
    const { stdout } = await runPrexy(['hunt', log, ...args, '--print', 'jsonl', '--no-summary'])
    const rows = stdout.split('\n').filter((row) => row !== '')
    return rows.map((row) => /"RuleTitle":"([^"]*)"/.exec(row)?.[1] ?? '')
  }
  const tuning = (): string => file('tuning.csv', 'id,new_level\n22222222-2222-2222-2222-222222222222,informational\n')

  test('by time, level, tag and id', async () => {
    expect(await titles('--from', '2026-11-30T00:00:04Z')).toEqual(['User agent of a scanner'])
    expect(await titles('--to', '2026-11-30T00:00:02Z')).toEqual(['Secret file delivered'])
    expect(await titles('--min-level', 'critical')).toEqual(['Secret file delivered'])
    expect(await titles('--tag', 'T1595')).toEqual(['User agent of a scanner'])
    expect(await titles('--exclude-tag', 't1190,t1595')).toEqual(['Secret file delivered'])
  })

  test('by files that name rules, and other levels', async () => {
    const only = ['--rules', rules]
    const excluded = file('exclude.txt', '22222222-2222-2222-2222-222222222222 # Pages\n')
    const pages = file('pages.log', line(1, '/7') + line(2, '/8'))
    const hunt = async (...args: string[]): Promise<string> =>
      (await runPrexy(['hunt', pages, ...only, ...args, '--print', 'jsonl', '--no-summary'])).stdout
    expect(await hunt()).toContain('"Level":"high","RuleTitle":"Pages"')
    expect(await hunt('--level-tuning', tuning())).toContain('"Level":"informational","RuleTitle":"Pages"')
    expect(await hunt('--exclude', excluded)).toBe('')
    expect(await hunt('--noisy', excluded)).toBe('')
    expect(await hunt('--noisy', excluded, '--include-noisy')).toContain('Pages')
    expect(await hunt('--status', 'deprecated')).toContain('Old')
    expect(await hunt('--starter-rules', '--rule-id', '44444444-4444-4444-4444-444444444444')).toBe('')
  })

  test('copies of a hit are removed on request', async () => {
    const copy = file('copy.log', ATTACKS)
    const { stdout } = await runPrexy(['hunt', log, copy, '--print', 'jsonl', '--no-summary', '--remove-duplicates'])
    const both = await runPrexy(['hunt', log, copy, '--print', 'jsonl', '--no-summary'])
    expect([stdout.split('\n').length, both.stdout.split('\n').length]).toEqual([5, 9])
  })

  test('details come from templates of rules, of a file, and of the kind of event', async () => {
    const details = file('details.txt', '# ours\nweb = From %c-ip% ¦ %cs-user-agent%\n')
    const { stdout } = await runPrexy([
      'hunt',
      log,
      '--details',
      details,
      '--print',
      'jsonl',
      '--profile',
      'minimal',
      '--no-summary',
    ])
    expect(stdout).toContain('"Details":{"From":"192.0.2.7","cs-user-agent":"sqlmap/1.7"}')
  })

  test('times are written in the zone and format asked for', async () => {
    const { stdout } = await runPrexy([
      'hunt',
      log,
      '--time-zone',
      '+02:00',
      '--time-format',
      'european',
      '--no-summary',
    ])
    expect(stdout).toMatch(/^30-11-2026 02:00:02\.000 \+02:00/)
  })
})

describe('without rules', () => {
  test('search finds words, patterns and fields', async () => {
    const search = async (...args: string[]): Promise<number> => {
      const { stdout } = await runPrexy(['hunt', 'search', log, ...args, '--print', 'jsonl', '--no-summary'])
      return stdout.split('\n').length - 1
    }
    expect(await search('--keyword', 'PASSWD')).toBe(1)
    expect(await search('--keyword', 'PASSWD', '--case')).toBe(0)
    expect(await search('--keyword', 'passwd', '--keyword', 'sqlmap')).toBe(2)
    expect(await search('--keyword', 'passwd', '--keyword', 'sqlmap', '--all')).toBe(0)
    expect(await search('--regex', 'sql[a-z]+/\\d')).toBe(1)
    expect(await search('--field', 'cs-uri-stem=/.e*')).toBe(1)
    const none = await runPrexy(['hunt', 'search', log])
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('add --keyword, --regex or --field')])
  })

  test('metrics, logons, pivot and base64 are tables', async () => {
    const metrics = await runPrexy(['hunt', 'metrics', log, '--print', 'jsonl', '--of', 'clients,statuses'])
    expect(
      metrics.stdout
        .trimEnd()
        .split('\n')
        .map((row): unknown => JSON.parse(row)),
    ).toEqual([
      {
        table: 'clients',
        Client: '192.0.2.7',
        Requests: 4,
        '4xx': 0,
        '5xx': 0,
        Agents: 2,
        First: '2026-11-30T00:00:01.000Z',
        Last: '2026-11-30T00:00:04.000Z',
      },
      {
        table: 'statuses',
        Status: '200',
        Events: 4,
        First: '2026-11-30T00:00:01.000Z',
        Last: '2026-11-30T00:00:04.000Z',
      },
    ])
    const windows = JSON.stringify({
      Channel: 'Security',
      EventID: 4625,
      Hostname: 'PC',
      '@timestamp': '2026-11-30T00:00:01Z',
      TargetUserName: 'bob',
      TargetDomainName: 'CORP',
      IpAddress: '192.0.2.9',
      LogonType: 3,
    })
    const logons = await runPrexy(
      ['hunt', 'logons', '-', '--print', 'csv'],
      `${windows}\n${windows.replace('4625', '4624')}\n`,
    )
    expect(logons.stdout).toContain(
      'logons,CORP\\bob,PC,192.0.2.9,3 network,1,1,2026-11-30T00:00:01.000Z,2026-11-30T00:00:01.000Z',
    )
    const pivot = await runPrexy(['hunt', 'pivot', log, '--print', 'csv'])
    expect(pivot.stdout).toContain('addresses,192.0.2.7,4,')
    const encoded = Buffer.from('<?php system("id"); ?>').toString('base64')
    const base64 = await runPrexy(
      ['hunt', 'base64', '-', '--print', 'jsonl'],
      line(1, `/a?x=${encodeURIComponent(encoded)}`),
    )
    expect(base64.stdout).toContain('"Decoded":"<?php system(\\"id\\"); ?>"')
  })

  test('sums are the same with any number of threads', async () => {
    const path = file(
      'clients.log',
      Array.from({ length: 60_000 }, (_, index) =>
        line(
          index,
          `/${'y'.repeat(200)}`,
          index % 9 === 0 ? 404 : 200,
          `agent ${index % 300}`,
          `10.0.${index % 200}.${index % 7}`,
        ),
      ).join(''),
    )
    const run = async (threads: string): Promise<string> =>
      (await runPrexy(['hunt', 'metrics', path, '--threads', threads, '--print', 'csv'])).stdout
    const one = await run('1')
    expect(one.split('\r\n').length).toBeGreaterThan(1_000)
    expect((await run('3')) === one).toBe(true)
  })
})

describe('rules', () => {
  test('check lists what cannot be used with its place and reason', async () => {
    const broken = file(
      'broken.yml',
      'title: A\nlogsource: {product: windows}\ndetection: {s: {x|re: "(?=a)"}, condition: s}\n---\ntitle: B\nlogsource: {product: windows}\ndetection: {s: {x|expand: "%users%"}, condition: s}\n',
    )
    const { code, stdout } = await runPrexy(['hunt', 'rules', 'check', broken])
    expect(code).toBe(2)
    expect(stdout).toMatch(/broken\.yml:3: A: /)
    expect(stdout).toMatch(/broken\.yml:7: B: the placeholder %users% has no values/)
    expect(stdout).toContain('0 rules of 2 documents in 1 file can be used, 2 errors')
    expect(stdout).toContain('placeholders: users')
    file('users.txt', 'alice\n')
    const valued = await runPrexy(['hunt', 'rules', 'check', broken, '--placeholders', folder, '--json'])
    expect(JSON.parse(valued.stdout)).toMatchObject({ used: 1, errors: 1 })
    expect((await runPrexy(['hunt', 'rules', 'check'])).stdout).toContain('50 rules of 50 documents')
  })

  test('fields counts what rules read', async () => {
    const { stdout } = await runPrexy(['hunt', 'rules', 'fields', rules])
    expect(
      stdout
        .split('\n')
        .map((row) => row.trim())
        .filter((row) => row !== ''),
    ).toEqual(['1  c-uri  webserver', '1  cs-method  webserver', '1  EventID  windows'])
  })
})

test('a signal leaves nothing in the temporary directory', async () => {
  const own = mkdtempSync(join(folder, 'signal-'))
  const everything = file(
    'everything.yml',
    'title: All\nlevel: low\nlogsource: {category: webserver}\ndetection: {s: {cs-method: GET}, condition: s}\n',
  )
  const many = file('many.log', line(1, `/${'x'.repeat(500)}`).repeat(30_000))
  const logs = Array.from({ length: 20 }, () => many)
  const child = startPrexy(['hunt', ...logs, '--rules', everything, '--threads', '1'], { TMPDIR: own })
  const output = collect(child)
  const watcher = watch(own)
  await once(watcher, 'change')
  watcher.close()
  child.kill('SIGTERM')
  expect((await output).code).toBe(143)
  expect(readdirSync(own)).toEqual([])
})

test('nothing is left in the temporary directory', async () => {
  const own = join(folder, 'tmp')
  await runPrexy(['hunt', log], '', { TMPDIR: own })
  expect(existsSync(own)).toBe(false)
})
