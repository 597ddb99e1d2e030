/**
 * Parts of dates, read off as they are written: no time zone is applied, as the specification says.
 *
 * A text is `YYYY-MM-DD`, optionally with `T` or a blank and `hh:mm[:ss[.fraction]]` and a zone, which is not looked
 * at. A number is seconds since 1970, or milliseconds from 10¹¹ on, in UTC.
 */
import type { FieldScalar } from './event.ts'

export const DATE_PARTS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const
export type DatePart = (typeof DATE_PARTS)[number]

const DATE =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d(?::?\d\d)?))?)?$/

/** From here on a number counts milliseconds; as seconds it would be the year 5138. */
const FIRST_MILLISECONDS = 1e11
const LAST_MILLISECONDS = 8.64e15
const DAY_MS = 86_400_000

/** Undefined when the value is no date, or a date without a time is asked for its hour. */
export function datePartOf(value: FieldScalar, part: DatePart): number | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return partOfInstant(Number(value), part)
  if (typeof value !== 'string') return undefined
  const match = DATE.exec(value)
  if (match === null) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const date = new Date(Date.UTC(year, month - 1, day))
  // Date.UTC carries the 31st of February over, and reads years below 100 as 19xx.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || date.getUTCFullYear() !== year) return undefined
  if (part !== 'hour' && part !== 'minute') return partOfDate(date, part)
  if (match[4] === undefined) return undefined
  const [hour, minute] = [Number(match[4]), Number(match[5])]
  if (hour > 23 || minute > 59) return undefined
  return part === 'hour' ? hour : minute
}

function partOfInstant(value: number, part: DatePart): number | undefined {
  const milliseconds = Math.abs(value) < FIRST_MILLISECONDS ? value * 1000 : value
  if (!(Math.abs(milliseconds) <= LAST_MILLISECONDS)) return undefined
  const date = new Date(milliseconds)
  if (part === 'hour') return date.getUTCHours()
  return part === 'minute' ? date.getUTCMinutes() : partOfDate(date, part)
}

function partOfDate(date: Date, part: 'day' | 'week' | 'month' | 'year'): number {
  switch (part) {
    case 'day':
      return date.getUTCDate()
    case 'month':
      return date.getUTCMonth() + 1
    case 'year':
      return date.getUTCFullYear()
    case 'week':
      return isoWeek(date)
  }
}

/** ISO 8601: the week that holds the year's first Thursday is week 1. */
function isoWeek(date: Date): number {
  const midnight = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate())
  const weekday = (date.getUTCDay() + 6) % 7
  const thursday = new Date(midnight + (3 - weekday) * DAY_MS)
  const firstDay = Date.UTC(thursday.getUTCFullYear(), 0, 1)
  return Math.floor((thursday.getTime() - firstDay) / DAY_MS / 7) + 1
}
