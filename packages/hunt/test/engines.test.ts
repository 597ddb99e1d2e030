/** Query engines find the same rows as ours: in version 18 of ClickHouse, as a cluster, and in a current one. */
import { join } from 'node:path'
import { Matcher } from '@prexy/sigma/matcher.hot'
import type { Expression } from '@prexy/sigma/expression'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ClickHouse, ClickHouseSink, parseClickHouseUrl } from '../src/clickhouse.ts'
import { findEventFiles, openDuckDb } from '../src/duckdb.ts'
import { EVERY_EVENT, type EventFilter } from '../src/event-filter.ts'
import { loadEvents, type RowSink } from '../src/event-load.ts'
import { ParquetSink } from '../src/event-parquet.ts'
import { storedRow } from '../src/event-store.ts'
import type { JobSpec } from '../src/job.ts'
import { cellsOf, cellText } from '../src/row-text.ts'
import { chooseRules, type ChosenRules, EVERY_RULE, findRules, type RuleText } from '../src/rule-files.ts'
import { runJob } from '../src/run-job.ts'
import { findSources } from '../src/sources.ts'
import { STARTER_RULES } from '../src/starter-rules.ts'
import { type EventStore, huntInStore, type StoreHuntResult } from '../src/store-hunt.ts'
import { Timeline } from '../src/timeline.ts'
import { PROFILES } from '../src/timeline-row.ts'
import { chanceEvents, chanceRules, huntEvent, ruleFile } from './chance-rules.ts'
import {
  missingClickHouse,
  missingOracle,
  ORACLE_REQUIRE_FROM,
  type RunningEngine,
  startChdb,
  startClickHouseCluster,
} from './engine-servers.ts'
import { PLAIN, TestFolder } from './reading.ts'

/** Something that events are loaded into, and hunted in. */
interface Engine {
  readonly name: string
  readonly missing: string | undefined
  start(): Promise<void>
  stop(): Promise<void>
  /** A table of its own: what loads it, and gives it when it is loaded. */
  open(table: string): Promise<{ readonly sink: RowSink; store(): Promise<EventStore> }>
}

function clickHouse(name: string, missing: string | undefined, start: () => Promise<RunningEngine>): Engine {
  let running: RunningEngine | undefined
  return {
    name,
    missing,
    async start() {
      running = await start()
    },
    async stop() {
      await running?.stop()
    },
    async open(table) {
      if (running === undefined) throw new Error('it did not start')
      const { hosts, address } = running
      // Without ZooKeeper each shard is told by itself.
      for (const host of hosts.slice(1)) await serverAt(address(host, `table=${table}_local`)).createTable()
      const cluster = hosts.length > 1 ? '&cluster=two' : ''
      const server = serverAt(address(hosts[0], `table=${table}${cluster}`))
      await server.createTable()
      return { sink: new ClickHouseSink(server), store: async () => server }
    },
  }
}

function duckDb(): Engine {
  let folder: TestFolder | undefined
  const open: EventStore[] = []
  return {
    name: 'DuckDB',
    missing: missingOracle('@duckdb/node-api'),
    async start() {
      folder = new TestFolder()
    },
    async stop() {
      for (const store of open) store.close()
      folder?.close()
    },
    async open(table) {
      const path = join(folder?.path ?? '', table)
      return {
        sink: new ParquetSink(path, 1),
        async store() {
          const store = await openDuckDb(findEventFiles([path]), 60, ORACLE_REQUIRE_FROM)
          open.push(store)
          return store
        },
      }
    },
  }
}

function serverAt(address: string): ClickHouse {
  return new ClickHouse(parseClickHouseUrl(address, {}))
}

const ENGINES: readonly Engine[] = [
  clickHouse("a cluster of Debian's ClickHouse", missingClickHouse(), startClickHouseCluster),
  clickHouse('a current ClickHouse', missingOracle('chdb'), startChdb),
  duckDb(),
]

for (const { name, missing } of ENGINES) {
  if (missing !== undefined) process.stdout.write(`hunt: ${name} is not compared with: ${missing}\n`)
}

interface Rules {
  readonly chosen: ChosenRules
  readonly expressions: readonly Expression[]
}

function rulesOf(texts: readonly RuleText[]): Rules {
  const expressions: Expression[] = []
  const chosen = chooseRules(texts, EVERY_RULE, (expression) => expressions.push(expression))
  return { chosen, expressions }
}

/** The rows of a timeline as text, in their order. */
function rowsOf(
  timeline: Timeline,
  chosen: ChosenRules,
  paths: readonly string[],
  linesBefore: readonly (readonly number[])[],
): string[] {
  const context = {
    columns: PROFILES.verbose,
    rules: chosen.set.rules,
    levels: chosen.reported,
    paths,
    linesBefore,
    writeTime: ({ ms, ticks }: { ms: number; ticks: number }) => `${ms} ${ticks}`,
  }
  const rows = [...timeline.rows(() => true)].map((row) => cellsOf(row, context).map(cellText).join(' | '))
  timeline.close()
  return rows
}

async function rowsOfStore(
  store: EventStore,
  { chosen, expressions }: Rules,
  filter: EventFilter,
): Promise<{ readonly rows: readonly string[]; readonly result: StoreHuntResult }> {
  const timeline = new Timeline(chosen.set, PROFILES.verbose)
  const result = await huntInStore(store, {
    task: { columns: PROFILES.verbose, details: [] },
    filter,
    chosen,
    expressions,
    onBatch: (batch) => timeline.add(batch),
  })
  return {
    rows: rowsOf(
      timeline,
      chosen,
      result.sources.map(({ path }) => path),
      [],
    ),
    result,
  }
}

const SEED = process.env['PREXY_LONG'] === undefined ? 20_261_201 : Math.floor(Math.random() * 2 ** 31)

describe.each(ENGINES.filter(({ missing }) => missing === undefined))('$name', (engine) => {
  const folder = new TestFolder()

  beforeAll(() => engine.start(), 200_000)
  afterAll(async () => {
    folder.close()
    await engine.stop()
  })

  test('rules and events by chance: the same rules match the same events', { timeout: 300_000 }, async () => {
    process.stdout.write(`hunt: ${engine.name}: seed ${SEED}\n`)
    const drafts = fc.sample(chanceRules, { numRuns: 100, seed: SEED })
    const given = fc.sample(chanceEvents, { numRuns: 200, seed: SEED })
    const events = given.map(huntEvent)
    const { sink, store } = await engine.open('chance')
    events.forEach((event, record) => sink.add(storedRow(event, { loadedMs: 1, sourceNumber: 0, source: 's', record })))
    await sink.finish()
    const rules = rulesOf([{ file: 'rules.yml', text: ruleFile(drafts) }])
    const { set } = rules.chosen
    expect(rules.chosen.problems.filter(({ severity }) => severity === 'error')).toEqual([])
    const found = new Set<string>()
    let rows = 0
    const result = await huntInStore(await store(), {
      task: { columns: PROFILES.minimal, details: [] },
      filter: EVERY_EVENT,
      ...rules,
      onBatch(batch) {
        for (const { rule, record } of batch.rows) found.add(`${set.rules[rule].title} ${record}`)
        rows += batch.rows.length
      },
    })
    const expected = new Set<string>()
    const matcher = new Matcher(set)
    events.forEach((event, record) =>
      matcher.detect(event, (signal) => expected.add(`${set.signals[signal].info?.title} ${record}`)),
    )
    const differences = [
      ...[...expected].filter((key) => !found.has(key)).map((key) => `missed ${key}`),
      ...[...found].filter((key) => !expected.has(key)).map((key) => `false ${key}`),
    ]
    const shown = differences.slice(0, 3).map((line) => {
      const [what, rule, event] = line.split(' ')
      return { what, rule: drafts[Number(rule)], event: given[Number(event)] }
    })
    expect(shown).toEqual([])
    expect(rows).toBe(found.size)
    expect(expected.size).toBeGreaterThan(1_000)
    // Nearly all of them are SQL; what is not is named with its reason.
    expect(result.compiled / set.detectors.length).toBeGreaterThan(0.8)
    const reasons = [
      'parts of dates are not compared in SQL',
      'a pattern has an end or begin of a line that RE2 sees otherwise',
    ]
    expect(result.own.filter(({ reason }) => !reasons.includes(reason))).toEqual([])
  })

  test('logs of several kinds, rules with correlations and filters: the same rows in the same order', {
    timeout: 300_000,
  }, async () => {
    const paths = [
      folder.write('a/access.log', accessLog()),
      folder.write('b/events.jsonl', windowsEvents()),
      folder.write(
        'c/other.jsonl',
        '{"when":"2026-11-30T12:00:00Z","n":9007199254740993,"list":[1,null,"x"],"o":{"p":true}}\n',
      ),
    ]
    const rules = rulesOf([...findRules([STARTER_RULES]).texts, { file: 'own.yml', text: OWN_RULES }])
    const { sources } = await findSources(paths, { format: undefined, onProgress() {} })
    const spec: JobSpec = {
      task: { kind: 'timeline', columns: PROFILES.verbose, details: [], routes: true },
      sources,
      scan: { ...PLAIN, logsource: undefined },
      filter: EVERY_EVENT,
      rules: undefined,
    }
    for (const filter of [
      EVERY_EVENT,
      { ...EVERY_EVENT, fromMs: Date.UTC(2026, 10, 30, 12, 0, 20), excludedHosts: ['pc-1*'] },
    ]) {
      const timeline = new Timeline(rules.chosen.set, PROFILES.verbose)
      const job = await runJob(
        { ...spec, filter },
        {
          threads: 1,
          chosen: rules.chosen,
          stdin: undefined,
          onBatch: (batch) => timeline.add(batch),
          onProgress() {},
        },
      )
      const expected = rowsOf(
        timeline,
        rules.chosen,
        sources.map(({ path }) => path),
        job.linesBefore,
      )
      const table = filter === EVERY_EVENT ? 'logs' : 'filtered'
      const { sink, store } = await engine.open(table)
      await loadEvents(
        { sources, scan: spec.scan, filter: EVERY_EVENT, stdin: undefined, loadedMs: 5, onProgress() {} },
        sink,
      )
      const { rows, result } = await rowsOfStore(await store(), rules, filter)
      expect(rows).toEqual(expected)
      expect(rows.length).toBeGreaterThan(20)
      expect(result.own.map(({ rule }) => rule?.title)).toEqual(['At night'])
      expect(result.sources.map(({ events }) => events)).toEqual([60, 40, 1])
    }
  })
})

const OWN_RULES = `title: Encoded command
id: encoded
logsource: { category: process_creation, product: windows }
detection:
  selection:
    CommandLine|base64offset|contains: 'Invoke-'
  other:
    Image|endswith: ['\\powershell.exe', '\\pwsh.exe']
    CommandLine|windash|contains: ' -enc'
  condition: 1 of *
---
title: Many of one user
correlation:
  type: event_count
  rules: encoded
  group-by: [User]
  timespan: 1m
  condition: { gte: 3 }
  generate: true
---
title: At night
logsource: { product: windows }
detection:
  selection: { UtcTime|hour: 12, Image|contains: calc }
  condition: selection
---
title: Not of the administrator
filter:
  rules: [encoded]
  selection: { User: 'CORP\\Admin' }
  condition: selection
`

function accessLog(): string {
  const targets = [
    '/',
    '/.git/config',
    '/item?id=-1%20UNION%20SELECT%201',
    '/../../etc/passwd',
    '/a?x=%24%7Bjndi:ldap://h/a%7D',
    '/wp-login.php',
  ]
  return Array.from({ length: 60 }, (_, index) => {
    const target = targets[index % targets.length]
    const status = index % 7 === 0 ? 500 : 200
    const time = `30/Nov/2026:12:00:${String(index % 60).padStart(2, '0')} +0000`
    return `203.0.113.${index % 3} - - [${time}] "POST ${target} HTTP/1.1" ${status} ${index * 7} "-" "sqlmap/1.7 \\"x\\""\n`
  }).join('')
}

function windowsEvents(): string {
  return Array.from({ length: 40 }, (_, index) => {
    const program = ['powershell.exe', 'calc.exe', 'pwsh.exe', "it's.exe"][index % 4]
    const line = [`-enc ${index}`, 'SQBuAHYAbwBrAGUALQA= SW52b2tlLQ==', '/enc x', '\u2013enc \u0000 é'][(index * 3) % 4]
    return `${JSON.stringify({
      Event: {
        System: {
          Channel: 'Microsoft-Windows-Sysmon/Operational',
          EventID: 1,
          Computer: `pc-${index % 5}`,
          EventRecordID: index,
          TimeCreated: { '#attributes': { SystemTime: `2026-11-30T12:00:${String(index).padStart(2, '0')}.1234567Z` } },
        },
        EventData: {
          Image: `C:\\Windows\\${program}`,
          CommandLine: `${program} ${line}`,
          User: ['CORP\\Admin', 'CORP\\Bob', 'CORP\\Eve'][index % 3],
          UtcTime: `2026-11-30 12:00:${String(index).padStart(2, '0')}.123`,
        },
      },
    })}\n`
  }).join('')
}
