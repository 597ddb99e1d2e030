/** Options that the commands of `prexy hunt` share, and what they are made into. */
import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { nearMiss } from '@prexy/config/near-miss'
import { EVERY_EVENT, type EventFilter } from '@prexy/hunt/event-filter'
import { createTimeWriter, type EventTime, parseTimeBound, TIME_FORMATS, type TimeFormat } from '@prexy/hunt/event-time'
import { type FieldMap, FieldMapError, parseLogSource, readFieldMap } from '@prexy/hunt/field-map'
import { compileLogFormat, LogFormatError } from '@prexy/hunt/log-format'
import {
  findRules,
  levelsFrom,
  parseIdList,
  parseLevelTuning,
  readPlaceholders,
  type RuleChoice,
  type RuleText,
} from '@prexy/hunt/rule-files'
import type { ScanOptions } from '@prexy/hunt/scan'
import { STARTER_RULES } from '@prexy/hunt/starter-rules'
import type { LogSource } from '@prexy/sigma/event'
import { type Level, LEVELS, type Status, STATUSES } from '@prexy/sigma/rule'
import { CommandError } from './exit-codes.ts'
import { fileErrorReason } from './read-text.ts'

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

/** What the input options come to. */
export interface Input {
  readonly scan: ScanOptions
  readonly filter: EventFilter
  readonly threads: number | undefined
  readonly format: string | undefined
}

export function readInputFlags(flags: InputFlags, nowMs: number): Input {
  const { format } = flags
  if (format !== undefined && format !== 'text') {
    try {
      compileLogFormat(format)
    } catch (error) {
      if (!(error instanceof LogFormatError)) throw error
      throw new CommandError(`--format: ${error.message}`)
    }
  }
  return {
    format,
    threads: flags.threads,
    scan: {
      checksums: flags.checksums ?? 'check',
      recover: flags.recover === true,
      map: flags.map === undefined ? undefined : readMap(flags.map),
      logsource: flags.logsource === undefined ? undefined : readLogSource(flags.logsource),
    },
    filter: {
      ...EVERY_EVENT,
      fromMs: readBound('--from', flags.from, nowMs),
      toMs: readBound('--to', flags.to, nowMs),
      hosts: flags.host ?? [],
      excludedHosts: flags.excludeHost ?? [],
      channels: flags.channel ?? [],
      excludedChannels: flags.excludeChannel ?? [],
      eventIds: flags.eventId ?? [],
      excludedEventIds: flags.excludeEventId ?? [],
    },
  }
}

function readBound(option: string, text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  const bound = parseTimeBound(text, nowMs)
  if (bound === undefined) {
    throw new CommandError(`${option} ${text} is no time; write 2026-11-30, 2026-11-30T12:00:00Z or 24h`)
  }
  // A day as an end is the whole day.
  return option === '--to' && /^\d{4}-\d\d-\d\d$/.test(text) ? bound + 86_399_999 : bound
}

function readMap(file: string): FieldMap {
  try {
    return readFieldMap(readNamed(file), file)
  } catch (error) {
    if (!(error instanceof FieldMapError)) throw error
    throw new CommandError(error.message)
  }
}

function readLogSource(text: string): LogSource {
  try {
    return parseLogSource(text)
  } catch (error) {
    if (!(error instanceof FieldMapError)) throw error
    throw new CommandError(`--logsource: ${error.message}`)
  }
}

/** A file that an option names. */
export function readNamed(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file}: ${fileErrorReason(error)}`)
  }
}

function oneOf<T extends string>(
  option: string,
  texts: readonly string[] | undefined,
  known: readonly T[],
): T[] | undefined {
  return texts?.map((text) => {
    const found = known.find((one) => one === text.toLowerCase())
    if (found !== undefined) return found
    const near = nearMiss(text, known)
    throw new CommandError(
      `${option} ${text}: there is no such one; ${near === undefined ? `there are ${known.join(', ')}` : `did you mean ${near}?`}`,
    )
  })
}

/** Rule files that the options name, and what is chosen of them. */
export interface AskedRules {
  readonly texts: readonly RuleText[]
  readonly choice: RuleChoice
  readonly unreadable: readonly string[]
}

export function readRuleFlags(flags: RuleFlags): AskedRules {
  const paths = [
    ...(flags.rules ?? []),
    ...(flags.rules === undefined || flags.starterRules === true ? [STARTER_RULES] : []),
  ]
  const { texts, unreadable } = findRules(paths)
  const levels = oneOf<Level>('--level', flags.level, LEVELS)
  const least = flags.minLevel === undefined ? undefined : levelsFrom(flags.minLevel)
  const noisy = flags.noisy === undefined || flags.includeNoisy === true ? [] : parseIdList(readNamed(flags.noisy))
  return {
    texts,
    unreadable: unreadable.map(({ path, reason }) => `${path}: ${reason}`),
    choice: {
      levels: levels === undefined ? least : levels.filter((level) => least?.includes(level) ?? true),
      statuses: oneOf<Status>('--status', flags.status, STATUSES),
      excludedStatuses:
        oneOf<Status>('--exclude-status', flags.excludeStatus, STATUSES) ??
        (flags.status === undefined ? ['deprecated', 'unsupported'] : []),
      tags: flags.tag ?? [],
      excludedTags: flags.excludeTag ?? [],
      excludedIds: [...(flags.exclude === undefined ? [] : parseIdList(readNamed(flags.exclude))), ...noisy],
      ids: flags.ruleId ?? [],
      tuning: flags.levelTuning === undefined ? [] : readTuning(flags.levelTuning),
      placeholders: flags.placeholders === undefined ? [] : readFolder(flags.placeholders),
    },
  }
}

function readTuning(file: string): RuleChoice['tuning'] {
  try {
    return parseLevelTuning(readNamed(file))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new CommandError(`${file}: ${error.message}`)
  }
}

function readFolder(folder: string): RuleChoice['placeholders'] {
  try {
    return readPlaceholders(folder)
  } catch (error) {
    throw new CommandError(`${folder}: ${fileErrorReason(error)}`)
  }
}

export function readTimeFlags(flags: TimeFlags): (time: EventTime) => string {
  const zone = flags.timeZone ?? 'UTC'
  try {
    return createTimeWriter(flags.timeFormat ?? 'iso', zone)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new CommandError(`--time-zone ${zone} is not known; write UTC, local, +02:00 or a name like Europe/Berlin`)
  }
}
