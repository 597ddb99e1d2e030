/** The commands of `prexy hunt`, for the command line and its reference. */
import { type Command, Option } from 'commander'
import { DEFAULT_ENGINE_TIMEOUT_SECONDS } from '@prexy/hunt/engine-error'
import { METRICS, type Metric } from '@prexy/hunt/metrics'
import { PROFILE_NAMES } from '@prexy/hunt/timeline-row'
import { LEVELS } from '@prexy/sigma/levels'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'
import { CommandError } from './exit-codes.ts'
import { addInputOptions, addRuleFlags, addTimeOptions, type RuleFlags } from './hunt-flags.ts'
import type { LoadFlags } from './hunt-load.ts'
import type { RulesFlags } from './hunt-rules.ts'
import type { MetricsFlags, TableFlags } from './hunt-tables.ts'
import type { HuntFlags, SearchFlags } from './hunt-timeline.ts'

const FORMATS = ['text', 'csv', 'jsonl', 'json', 'html'] as const
const TABLE_FORMATS = ['text', 'csv', 'jsonl'] as const

const OUTPUT_HEADING = 'What is written:'

const repeated = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
]

function addOutputOptions(command: Command): void {
  const add = (option: Option): void => {
    command.addOption(option.helpGroup(OUTPUT_HEADING))
  }
  add(
    new Option(
      '-o, --output <file>',
      'where the timeline goes, in the form of its ending: .csv, .jsonl, .json, .html or .txt; may stand several times',
    ).argParser(repeated),
  )
  add(new Option('--print <format>', 'the form on standard output (text, or nothing with -o)').choices(FORMATS))
  add(new Option('--force', 'overwrite the files of -o'))
  add(new Option('--remove-duplicates', 'of hits that say the same at the same time, as copies of a log do, only one'))
  add(new Option('--no-summary', 'no summary'))
}

function positive(option: string): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (!Number.isSafeInteger(number) || number < 1)
      throw new CommandError(`${option} ${value} is no whole number from 1`)
    return number
  }
}

export function addHuntCommands(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'hunt', 'Find attacks in logs and recordings, with Sigma rules')
  addInputOptions(command, '[paths...]')
  addEngineOptions(
    command,
    'where events lie that prexy hunt load put there: clickhouse://[user@]host[:port][/database][?table=NAME], or duckdb for the Parquet files that are named',
  )
  addRuleFlags(command)
  addOutputOptions(command)
  const add = (option: Option): void => {
    command.addOption(option.helpGroup(OUTPUT_HEADING))
  }
  add(new Option('--profile <name>', 'which columns there are (standard)').choices(PROFILE_NAMES))
  add(new Option('--details <file>', 'templates for details, a line each: web = %c-ip% ¦ %c-uri%'))
  add(new Option('--fail-on <level>', 'exit with 1 when a rule of this level or above matched').choices(LEVELS))
  addTimeOptions(command)
  command.option('--follow', 'go on with what is appended from now on, until SIGINT or SIGTERM')
  addExamples(command, [
    ['What the rules that come with prexy find in a log:', 'prexy hunt access.log'],
    [
      'Public rules over logs of several kinds, as a table and as a page:',
      'prexy hunt access.log.gz Security.evtx --rules sigma/rules -o timeline.csv -o timeline.html',
    ],
    ['Live, on what a proxy records:', 'prexy hunt recordings/ --rules rules --follow'],
    [
      'Rules as queries of a ClickHouse, over what was loaded into it:',
      'prexy hunt --engine clickhouse://hunter@db.example/logs --rules sigma/rules',
    ],
    [
      'A log in a format of its own:',
      'prexy hunt shop.log --format \'$remote_addr [$time_iso8601] "$request" $status $request_time\' --min-level high',
    ],
  ])
  addNotes(
    command,
    'What a file is, its content says: access logs, W3C logs of IIS, JSON of many shapes, Windows event logs, any of them\n' +
      'with gzip or zstd. A record that cannot be read is counted and reported; the rest is read. Hits are in order of time,\n' +
      'the same bytes in every run.\n' +
      'Exit codes: 0 done, with hits or without; 1 hits and --fail-on; 2 an error, or a file that was named was not read.',
  )
  command.action(async (paths: string[], flags: HuntFlags) => {
    const { hunt } = await import('./hunt-timeline.ts')
    run.code = await hunt(paths, flags)
  })
  addLoadCommand(command, run)
  addSearchCommand(command, run)
  addTableCommands(command, run)
  addRulesCommands(command, run)
}

function addEngineOptions(command: Command, description: string): void {
  const add = (option: Option): void => {
    command.addOption(option.helpGroup('Where events lie:'))
  }
  add(new Option('--engine <address>', description))
  add(
    new Option(
      '--engine-timeout <seconds>',
      `how long one statement may take (${DEFAULT_ENGINE_TIMEOUT_SECONDS})`,
    ).argParser(positive('--engine-timeout')),
  )
}

function addLoadCommand(hunt: Command, run: CommandRun): void {
  const command = subcommand(hunt, 'load', 'Put events into a query engine, or into Parquet files for one')
  addInputOptions(command, '[paths...]')
  addEngineOptions(command, 'where they go: clickhouse://[user@]host[:port][/database][?table=NAME&cluster=NAME]')
  command
    .option('-o, --output <folder>', 'a folder for Parquet files, which DuckDB and others read')
    .option('--print-schema', 'only print the statements that make the tables')
  addExamples(command, [
    ['', 'prexy hunt load access.log recordings/ --engine clickhouse://loader@db.example/logs'],
    ['For DuckDB, on this machine:', 'prexy hunt load logs/ -o events/ && prexy hunt events/ --engine duckdb'],
  ])
  addNotes(
    command,
    'CLICKHOUSE_USER and CLICKHOUSE_PASSWORD say who loads, when the address does not. What is loaded twice is there twice.',
  )
  command.action(async (paths: string[], flags: LoadFlags) => {
    const { load } = await import('./hunt-load.ts')
    run.code = await load(paths, flags)
  })
}

function addSearchCommand(hunt: Command, run: CommandRun): void {
  const command = subcommand(hunt, 'search', 'Find events by words, patterns and fields, without rules')
  addInputOptions(command)
  command
    .addOption(
      new Option('--keyword <text>', 'this text anywhere in an event; may stand several times').argParser(repeated),
    )
    .addOption(new Option('--regex <pattern>', 'this pattern anywhere in an event').argParser(repeated))
    .addOption(
      new Option('--field <name=value>', 'and this field with this value; * stands for any text').argParser(repeated),
    )
    .option('--all', 'all keywords and patterns, not one of them')
    .option('--case', 'upper and lower case are different')
  addOutputOptions(command)
  addTimeOptions(command)
  addExamples(command, [
    ['', 'prexy hunt search logs/ --keyword wp-login --field sc-status=200'],
    ['Two words in one event:', 'prexy hunt search Security.evtx --keyword mimikatz --keyword lsass --all'],
  ])
  command.action(async (paths: string[], flags: SearchFlags) => {
    const { search } = await import('./hunt-timeline.ts')
    run.code = await search(paths, flags)
  })
}

function addTableOptions(command: Command): void {
  addInputOptions(command)
  command
    .addOption(new Option('--print <format>', 'the form on standard output (text)').choices(TABLE_FORMATS))
    .addOption(
      new Option('--top <count>', 'how many rows of each table (20 as text, all otherwise)').argParser(
        positive('--top'),
      ),
    )
  addTimeOptions(command)
}

function addTableCommands(hunt: Command, run: CommandRun): void {
  const metrics = subcommand(hunt, 'metrics', 'Count what logs hold: event ids, hosts, clients, statuses, agents')
  addTableOptions(metrics)
  metrics.addOption(
    new Option('--of <tables>', `only these tables: ${METRICS.join(', ')}`).argParser((value: string) =>
      value.split(',').map((name): Metric => {
        const found = METRICS.find((metric) => metric === name.trim())
        if (found === undefined) throw new CommandError(`--of ${name}: there are ${METRICS.join(', ')}`)
        return found
      }),
    ),
  )
  addExamples(metrics, [['', 'prexy hunt metrics access.log --of clients,statuses']])
  metrics.action(async (paths: string[], flags: MetricsFlags) => {
    const tables = await import('./hunt-tables.ts')
    run.code = await tables.metrics(paths, flags)
  })

  const logons = subcommand(hunt, 'logons', 'Who logged on from where, and who failed to')
  addTableOptions(logons)
  addExamples(logons, [['', 'prexy hunt logons Security.evtx']])
  addNotes(
    logons,
    'Of Windows the events 4624, 4625, 4648, 4768, 4771 and 4776 of the Security channel, of requests the user names.',
  )
  logons.action(async (paths: string[], flags: TableFlags) => {
    const tables = await import('./hunt-tables.ts')
    run.code = await tables.logons(paths, flags)
  })

  const pivot = subcommand(hunt, 'pivot', 'Users, addresses, hosts and programs that hits are about')
  addTableOptions(pivot)
  addRuleFlags(pivot)
  addExamples(pivot, [['', 'prexy hunt pivot logs/ --rules sigma/rules --min-level high']])
  addNotes(
    pivot,
    'Without --min-level, of rules from medium on. Correlations count through the rules that they are of.',
  )
  pivot.action(async (paths: string[], flags: TableFlags & RuleFlags) => {
    const tables = await import('./hunt-tables.ts')
    run.code = await tables.pivot(paths, flags)
  })

  const base64 = subcommand(hunt, 'base64', 'Find and decode texts in Base64')
  addTableOptions(base64)
  base64.addOption(
    new Option('--min-length <count>', 'of the encoded text, at least 16 (24)').argParser(positive('--min-length')),
  )
  addExamples(base64, [['', 'prexy hunt base64 Sysmon.evtx access.log --print jsonl']])
  base64.action(async (paths: string[], flags: TableFlags & { minLength?: number }) => {
    const tables = await import('./hunt-tables.ts')
    run.code = await tables.base64(paths, flags)
  })
}

function addRulesCommands(hunt: Command, run: CommandRun): void {
  const rules = subcommand(hunt, 'rules', 'Look at Sigma rules')
  const check = subcommand(rules, 'check', 'Say everything that is wrong with rules, and how many can be used')
    .argument('[paths...]', 'files and directories; without any, the rules that come with prexy')
    .option('--json', 'print the result as one JSON object')
    .option('--placeholders <folder>', 'values of placeholders: name.txt has those of %name%')
  addExamples(check, [['', 'prexy hunt rules check sigma/rules']])
  addNotes(check, 'Exit codes: 0 all can be used (warnings count as nothing), 2 errors.')
  check.action(async (paths: string[], flags: RulesFlags) => {
    const { checkRules } = await import('./hunt-rules.ts')
    run.code = await checkRules(paths, flags)
  })
  const fields = subcommand(rules, 'fields', 'How many rules read each field, by log source')
    .argument('[paths...]', 'files and directories; without any, the rules that come with prexy')
    .option('--json', 'print a JSON object a line')
  addExamples(fields, [['', 'prexy hunt rules fields sigma/rules/web']])
  fields.action(async (paths: string[], flags: RulesFlags) => {
    const { listFields } = await import('./hunt-rules.ts')
    run.code = await listFields(paths, flags)
  })
}
