/** Windows times as text, to the last digit that they have. */
import { u16 } from './integers.hot.ts'

/** Milliseconds from 1601-01-01, where FILETIME begins, to 1970-01-01. */
export const EPOCH_MS = 11_644_473_600_000
const TICKS_PER_MS = 10_000
const DAY_SECONDS = 86_400

/**
 * Whole milliseconds since 1601 of a FILETIME, which counts 100 ns in 64 bits. Exact: the parts stay below 2^53.
 */
export function filetimeMs(low: number, high: number): number {
  // 2^32 = 429,496 * 10,000 + 7,296.
  return high * 429_496 + Math.floor((high * 7_296 + low) / TICKS_PER_MS)
}

/** What is left of a FILETIME after its whole milliseconds: 0 to 9,999 times 100 ns. */
export function filetimeTicks(low: number, high: number): number {
  return (high * 7_296 + low) % TICKS_PER_MS
}

/** Formats FILETIMEs. Times of a log come close together, so the last second is kept. */
export class FiletimeFormat {
  #second = -1
  #upToSecond = ''

  /** As `2016-07-08T18:12:51.6816408Z`. Years of five digits come as they are. */
  format(low: number, high: number): string {
    const ms = filetimeMs(low, high)
    const second = Math.floor(ms / 1_000)
    if (second !== this.#second) {
      this.#second = second
      const inDay = second % DAY_SECONDS
      const hour = Math.floor(inDay / 3_600)
      const minute = Math.floor((inDay % 3_600) / 60)
      this.#upToSecond = `${formatDay(Math.floor(second / DAY_SECONDS))}T${two(hour)}:${two(minute)}:${two(inDay % 60)}.`
    }
    const ticks = (ms % 1_000) * TICKS_PER_MS + filetimeTicks(low, high)
    return `${this.#upToSecond}${String(ticks).padStart(7, '0')}Z`
  }
}

/** As `2016-07-08T18:12:51.681Z`; a SYSTEMTIME has no more digits. Its 16 bytes are shown as they are, valid or not. */
export function formatSystemTime(bytes: Uint8Array, at: number): string {
  const day = `${String(u16(bytes, at)).padStart(4, '0')}-${two(u16(bytes, at + 2))}-${two(u16(bytes, at + 6))}`
  const time = `${two(u16(bytes, at + 8))}:${two(u16(bytes, at + 10))}:${two(u16(bytes, at + 12))}`
  return `${day}T${time}.${String(u16(bytes, at + 14)).padStart(3, '0')}Z`
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

/** The date of a day counted from 1601-01-01, which begins a cycle of 400 years. */
function formatDay(days: number): string {
  // Counted from 1 March 1600, so that the leap day ends a year.
  const shifted = days + 306
  const cycle = Math.floor(shifted / 146_097)
  const inCycle = shifted - cycle * 146_097
  const yearInCycle = Math.floor(
    (inCycle - Math.floor(inCycle / 1_460) + Math.floor(inCycle / 36_524) - Math.floor(inCycle / 146_096)) / 365,
  )
  const inYear = inCycle - (365 * yearInCycle + Math.floor(yearInCycle / 4) - Math.floor(yearInCycle / 100))
  const monthFromMarch = Math.floor((5 * inYear + 2) / 153)
  const day = inYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  const year = 1_600 + cycle * 400 + yearInCycle + (month <= 2 ? 1 : 0)
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
}
