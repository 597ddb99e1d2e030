/** How times, sizes and statuses are written on the command line. */
import { CommandError } from './exit-codes.ts'

export interface SelectFlags {
  readonly session?: string
  readonly from?: number
  readonly to?: number
  readonly status?: StatusRange
  readonly host?: string
  readonly route?: string
  readonly limit?: number
  readonly secrets?: boolean
}

export interface StatusRange {
  readonly least: number
  readonly most: number
}

/** `404`, `5xx`, `400-499`. */
export function statusRange(text: string): StatusRange {
  const family = /^([1-9])xx$/i.exec(text)
  if (family !== null) return { least: Number(family[1]) * 100, most: Number(family[1]) * 100 + 99 }
  const range = /^(\d{3})(?:-(\d{3}))?$/.exec(text)
  if (range === null) throw new CommandError(`${text} is no status; write it like 404, 5xx or 400-499`)
  return { least: Number(range[1]), most: Number(range[2] ?? range[1]) }
}

/** `2026-12-01`, `2026-12-01T12:00:00Z`, or how long ago: `30m`. In milliseconds since the epoch. */
export function pointInTime(text: string): number {
  if (/^\d+(?:ms|s|m|h|d)$/.test(text)) return Date.now() - duration(text)
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw new CommandError(`${text} is no time; write it like 2026-12-01T12:00:00Z, or 30m for ago`)
  return at
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90s`, `30m`, `7d`, in milliseconds. */
export function duration(text: string): number {
  const parts = /^(\d+)(ms|s|m|h|d)$/.exec(text)
  if (parts === null) throw new CommandError(`${text} is no time; write it like 90s, 30m, 12h or 7d`)
  return Number(parts[1]) * UNITS[parts[2]]
}

const SIZES: Readonly<Record<string, number>> = { '': 1, k: 1_000, m: 1_000_000, g: 1_000_000_000 }

/** `500000`, `64MB`, `2GB`, in bytes. */
export function size(text: string): number {
  const parts = /^(\d+(?:\.\d+)?)\s?(k|m|g|)b?$/i.exec(text)
  if (parts === null) throw new CommandError(`${text} is no size; write it like 500000, 64MB or 2GB`)
  return Math.round(Number(parts[1]) * SIZES[parts[2].toLowerCase()])
}
