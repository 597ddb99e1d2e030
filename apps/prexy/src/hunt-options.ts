/** What the options that the commands of `prexy hunt` share are made into. */
import { readFileSync } from 'node:fs'
import { nearMiss } from '@prexy/config/near-miss'
import { EVERY_EVENT, type EventFilter } from '@prexy/hunt/event-filter'
import { createTimeWriter, type EventTime, parseTimeBound } from '@prexy/hunt/event-time'
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
import { type Level, LEVELS, type Status, STATUSES } from '@prexy/sigma/levels'
import { CommandError } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'
import type { InputFlags, RuleFlags, TimeFlags } from './hunt-flags.ts'

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
