/** Options that the commands of `prexy hunt` share. Nothing here loads what reads logs and rules: every start of prexy defines them. */
import { type Command, Option } from 'commander'
import { TIME_FORMATS, type TimeFormat } from '@prexy/hunt/event-time'
import { type Level, LEVELS, STATUSES } from '@prexy/sigma/levels'
import { CommandError } from './exit-codes.ts'

export interface InputFlags {
  readonly format?: string
  readonly map?: string
  readonly logsource?: string
  readonly recover?: boolean
  readonly checksums?: 'check' | 'ignore'
  readonly threads?: number
  readonly from?: string
  readonly to?: string
  readonly host?: readonly string[]
  readonly excludeHost?: readonly string[]
  readonly channel?: readonly string[]
  readonly excludeChannel?: readonly string[]
  readonly eventId?: readonly number[]
  readonly excludeEventId?: readonly number[]
}

export interface RuleFlags {
  readonly rules?: readonly string[]
  readonly starterRules?: boolean
  readonly minLevel?: Level
  readonly level?: readonly string[]
  readonly status?: readonly string[]
  readonly excludeStatus?: readonly string[]
  readonly tag?: readonly string[]
  readonly excludeTag?: readonly string[]
  readonly ruleId?: readonly string[]
  readonly exclude?: string
  readonly noisy?: string
  readonly includeNoisy?: boolean
  readonly levelTuning?: string
  readonly placeholders?: string
}

export interface TimeFlags {
  readonly timeZone?: string
  readonly timeFormat?: TimeFormat
}

const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  ...value.split(',').map((part) => part.trim()),
]

function collectIds(option: string): (value: string, earlier: readonly number[] | undefined) => readonly number[] {
  return (value, earlier) => [
    ...(earlier ?? []),
    ...value.split(',').map((part) => {
      const id = Number(part)
      if (part.trim() === '' || !Number.isInteger(id) || id < 0)
        throw new CommandError(`${option} ${part} is no event id`)
      return id
    }),
  ]
}

const INPUT_HEADING = 'What is read:'
const FILTER_HEADING = 'Which events:'
const RULE_HEADING = 'Which rules:'
const TIME_HEADING = 'How times are written:'

export function addInputOptions(command: Command, argument = '<paths...>'): void {
  command.argument(argument, 'files and directories, whatever they are called; - is standard input')
  const add = (heading: string, option: Option): void => {
    command.addOption(option.helpGroup(heading))
  }
  add(
    INPUT_HEADING,
    new Option(
      '--format <format>',
      'of access logs that are not common or combined: a log_format of nginx, a LogFormat of Apache, or text for lines of anything',
    ),
  )
  add(INPUT_HEADING, new Option('--map <file>', 'a YAML file that says where JSON records have what'))
  add(INPUT_HEADING, new Option('--logsource <source>', 'what the records are, like product=linux,service=auth'))
  add(INPUT_HEADING, new Option('--recover', 'also look for records in the free space of Windows event logs'))
  add(
    INPUT_HEADING,
    new Option('--checksums <how>', 'bad ones of Windows event logs are warnings, or not looked at').choices([
      'check',
      'ignore',
    ]),
  )
  add(
    INPUT_HEADING,
    new Option('--threads <count>', 'how many read at once (as many as there are cores)').argParser((value) => {
      const count = Number(value)
      if (!Number.isInteger(count) || count < 1 || count > 256)
        throw new CommandError(`--threads ${value} is no whole number from 1 to 256`)
      return count
    }),
  )
  add(
    FILTER_HEADING,
    new Option(
      '--from <time>',
      'from this time on: 2026-11-30, 2026-11-30T12:00:00Z, or how long ago, like 24h or 30d',
    ),
  )
  add(FILTER_HEADING, new Option('--to <time>', 'up to this time'))
  const texts = (flags: string, description: string): void =>
    add(FILTER_HEADING, new Option(flags, description).argParser(collect))
  texts('--host <names>', 'only of these computers or sites; * and ? stand for any text and character')
  texts('--exclude-host <names>', 'not of these')
  texts('--channel <names>', 'only of these channels of Windows, or kinds of log')
  texts('--exclude-channel <names>', 'not of these')
  add(
    FILTER_HEADING,
    new Option('--event-id <ids>', 'only these event ids of Windows').argParser(collectIds('--event-id')),
  )
  add(FILTER_HEADING, new Option('--exclude-event-id <ids>', 'not these').argParser(collectIds('--exclude-event-id')))
}

export function addRuleFlags(command: Command): void {
  const add = (option: Option): void => {
    command.addOption(option.helpGroup(RULE_HEADING))
  }
  const texts = (flags: string, description: string): void => add(new Option(flags, description).argParser(collect))
  add(
    new Option(
      '--rules <path>',
      'Sigma rules: a file, or a directory with .yml files; may stand several times',
    ).argParser((value: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), value]),
  )
  add(new Option('--starter-rules', 'the rules that come with prexy, too; without --rules they are used anyway'))
  add(new Option('--min-level <level>', 'rules of this level and above').choices(LEVELS))
  texts('--level <levels>', `rules of these levels only: ${LEVELS.join(', ')}`)
  texts('--status <statuses>', `rules of these statuses only: ${STATUSES.join(', ')}`)
  texts('--exclude-status <statuses>', 'not of these (deprecated,unsupported)')
  texts('--tag <tags>', 'rules with one of these tags, like attack.execution or T1190')
  texts('--exclude-tag <tags>', 'not with one of these')
  texts('--rule-id <ids>', 'these rules only')
  add(new Option('--exclude <file>', 'leave out the rules whose ids stand in this file, one a line'))
  add(new Option('--noisy <file>', 'as --exclude, for rules that match a lot; --include-noisy uses them after all'))
  add(new Option('--include-noisy', 'use the rules of the --noisy file'))
  add(new Option('--level-tuning <file>', 'other levels for rules: id,level a line'))
  add(new Option('--placeholders <folder>', 'values of placeholders: name.txt has those of %name%, one a line'))
}

export function addTimeOptions(command: Command): void {
  const add = (option: Option): void => {
    command.addOption(option.helpGroup(TIME_HEADING))
  }
  add(new Option('--time-zone <zone>', 'UTC, local, +02:00, or a name like Europe/Berlin (UTC)'))
  add(new Option('--time-format <format>', 'how times are written (iso)').choices(TIME_FORMATS))
}
