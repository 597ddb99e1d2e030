/** Times of events: read from the texts that logs write, shown in the zone and format that a person asked for. */

/** Milliseconds since 1970, and what is beyond them in units of 100 ns, 0 to 9,999. */
export interface EventTime {
  readonly ms: number
  readonly ticks: number
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Numbers above this are milliseconds, above a thousand times this microseconds, and so on; below, seconds. */
const SECONDS_BELOW = 100_000_000_000

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?$/
const COMMON_LOG = /^(\d{1,2})\/([A-Za-z]{3})\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:\s*([+-]\d{4}|Z|UTC))?$/
const NUMBER = /^-?\d{1,19}(?:\.\d{1,9})?$/
const MICROSOFT_JSON = /^\/Date\((-?\d{1,17})(?:[+-]\d{4})?\)\/$/

/** Reads what logs write for a time; undefined when it is none. A text without a zone is UTC. */
export function parseEventTime(value: string | number): EventTime | undefined {
  if (typeof value === 'number') return fromEpoch(value, String(value))
  const text = value.trim()
  const iso = ISO.exec(text)
  if (iso !== null) {
    const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = iso
    return fromParts(Number(year), Number(month), Number(day), hour, minute, second, fraction, zone)
  }
  const common = COMMON_LOG.exec(text)
  if (common !== null) {
    const [, day, name, year, hour, minute, second, fraction = '', zone] = common
    const month = MONTHS.indexOf(name.toLowerCase()) + 1
    return month === 0 ? undefined : fromParts(Number(year), month, Number(day), hour, minute, second, fraction, zone)
  }
  if (NUMBER.test(text)) return fromEpoch(Number(text), text)
  const microsoft = MICROSOFT_JSON.exec(text)
  if (microsoft !== null) return { ms: Number(microsoft[1]), ticks: 0 }
  // RFC 9110 dates and what else the runtime reads, with a zone named.
  if (/^[A-Za-z]{3}, \d/.test(text)) {
    const ms = Date.parse(text)
    if (!Number.isNaN(ms)) return { ms, ticks: 0 }
  }
  return undefined
}

function fromParts(
  year: number,
  month: number,
  day: number,
  hour: string,
  minute: string,
  second: string,
  fraction: string,
  zone: string | undefined,
): EventTime | undefined {
  if (month < 1 || month > 12 || day < 1 || day > 31) return undefined
  const base = Date.UTC(year, month - 1, day, Number(hour), Number(minute), Number(second)) - zoneOffset(zone)
  if (Number.isNaN(base)) return undefined
  if (fraction === '') return { ms: base, ticks: 0 }
  const sevenDigits = fraction.slice(0, 7).padEnd(7, '0')
  return { ms: base + Number(sevenDigits.slice(0, 3)), ticks: Number(sevenDigits.slice(3)) }
}

function zoneOffset(zone: string | undefined): number {
  if (zone === undefined || zone.length < 5) return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000
}

function fromEpoch(value: number, text: string): EventTime | undefined {
  if (!Number.isFinite(value)) return undefined
  let [unitMs, scale] = [1_000, Math.abs(value)]
  while (scale >= SECONDS_BELOW && unitMs > 1e-6) {
    unitMs /= 1_000
    scale /= 1_000
  }
  const point = text.indexOf('.')
  if (unitMs === 1_000 && point >= 0) {
    const fraction = text.slice(point + 1, point + 8).padEnd(7, '0')
    const seconds = Math.trunc(value)
    return value < 0
      ? { ms: Math.floor(value * 1_000), ticks: 0 }
      : { ms: seconds * 1_000 + Number(fraction.slice(0, 3)), ticks: Number(fraction.slice(3)) }
  }
  const exact = value * unitMs
  const ms = Math.floor(exact)
  if (Math.abs(ms) > 8.64e15) return undefined
  return { ms, ticks: Math.min(9_999, Math.max(0, Math.floor((exact - ms) * 10_000))) }
}

/** A cache for logs in which most lines have the second of the line before. */
export function createTimeReader(): (text: string) => EventTime | undefined {
  let lastText = ''
  let last: EventTime | undefined
  return (text) => {
    if (text !== lastText) {
      lastText = text
      last = parseEventTime(text)
    }
    return last
  }
}

export const TIME_FORMATS = ['iso', 'rfc3339', 'rfc2822', 'us', 'us-military', 'european', 'unix'] as const
export type TimeFormat = (typeof TIME_FORMATS)[number]

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/**
 * Writes times in a zone: `UTC`, `local`, an offset such as `+02:00`, or a name that the runtime knows, such as
 * `Europe/Berlin`. Throws a RangeError for any other. `iso` and `rfc3339` keep all digits that a time has, up to 100 ns.
 */
export function createTimeWriter(format: TimeFormat, zone: string): (time: EventTime) => string {
  const offsetOf = zoneReader(zone)
  return (time) => {
    if (format === 'unix') return (time.ms / 1_000).toFixed(3)
    if (Math.abs(time.ms) > 8.64e15 - 86_400_000) return String(time.ms)
    const offset = offsetOf(time.ms)
    const local = new Date(time.ms + offset * 60_000)
    const iso = local.toISOString()
    const ticks = time.ticks === 0 ? '' : String(time.ticks).padStart(4, '0')
    const [year, month, day] = iso.slice(0, 10).split('-')
    const clock = iso.slice(11, 23)
    switch (format) {
      case 'iso':
        return `${iso.slice(0, 23)}${ticks}${zoneText(offset, 'Z')}`
      case 'rfc3339':
        return `${iso.slice(0, 10)} ${clock}${ticks}${zoneText(offset, '+00:00')}`
      case 'rfc2822': {
        const name = MONTHS[local.getUTCMonth()]
        const monthName = name.charAt(0).toUpperCase() + name.slice(1)
        const numeric = zoneText(offset, '+00:00').replace(':', '')
        return `${WEEKDAYS[local.getUTCDay()]}, ${day} ${monthName} ${year} ${iso.slice(11, 19)} ${numeric}`
      }
      case 'us': {
        const hour = local.getUTCHours()
        return `${month}-${day}-${year} ${String(hour % 12 === 0 ? 12 : hour % 12).padStart(2, '0')}${clock.slice(2)} ${hour < 12 ? 'AM' : 'PM'} ${zoneText(offset, '+00:00')}`
      }
      case 'us-military':
        return `${month}-${day}-${year} ${clock} ${zoneText(offset, '+00:00')}`
      case 'european':
        return `${day}-${month}-${year} ${clock} ${zoneText(offset, '+00:00')}`
    }
  }
}

function zoneText(offset: number, zero: string): string {
  if (offset === 0) return zero
  const size = Math.abs(offset)
  const [hours, minutes] = [Math.floor(size / 60), Math.round(size % 60)].map((part) => String(part).padStart(2, '0'))
  return `${offset < 0 ? '-' : '+'}${hours}:${minutes}`
}

/** Minutes east of Greenwich at a time. */
function zoneReader(zone: string): (ms: number) => number {
  if (/^(?:utc|z|gmt)$/i.test(zone)) return () => 0
  if (zone === 'local') return (ms) => -new Date(ms).getTimezoneOffset()
  const fixed = /^([+-])(\d\d):?(\d\d)$/.exec(zone)
  if (fixed !== null) {
    const minutes = (Number(fixed[2]) * 60 + Number(fixed[3])) * (fixed[1] === '-' ? -1 : 1)
    return () => minutes
  }
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  // Offsets change on whole quarters of an hour.
  const known = new Map<number, number>()
  return (ms) => {
    const quarter = Math.floor(ms / 900_000)
    let offset = known.get(quarter)
    if (offset === undefined) {
      const at = quarter * 900_000
      const found = new Map(parts.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
      const part = (type: Intl.DateTimeFormatPartTypes): number => found.get(type) ?? 0
      offset = (Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute')) - at) / 60_000
      if (known.size > 10_000) known.clear()
      known.set(quarter, offset)
    }
    return offset
  }
}

/** `2026-11-30`, `2026-11-30T12:00:00Z`, or how long ago: `30m`, `24h`, `30d`, `3w`, `1y`. Undefined when it is neither. */
export function parseTimeBound(text: string, nowMs: number): number | undefined {
  const ago = /^(\d{1,6})(m|h|d|w|y)$/.exec(text)
  if (ago === null) return parseEventTime(text)?.ms
  const unit = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_557_600_000 }[ago[2]]
  return unit === undefined ? undefined : nowMs - Number(ago[1]) * unit
}
