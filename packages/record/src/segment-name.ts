/** Names of segment files: they sort by time, and say whose they are. */
import type { SegmentHeader } from './segment-header.ts'

export const SEGMENT_ENDING = '.prexyrec'

const NAME = /^(\d{8}T\d{9}Z)-([0-9a-f]{8})-(\d{6})\.prexyrec$/

/** `20261201T001233123Z-4f2a9c01-000001.prexyrec`. */
export function segmentFileName({ createdAtMs, run, number }: Omit<SegmentHeader, 'salt' | 'session'>): string {
  const time = new Date(createdAtMs).toISOString().replaceAll(/[-:.]/g, '')
  return `${time}-${run}-${String(number).padStart(6, '0')}${SEGMENT_ENDING}`
}

/** Undefined for a file that is none of ours. */
export function parseSegmentName(
  name: string,
): { readonly createdAtMs: number; readonly run: string; readonly number: number } | undefined {
  const match = NAME.exec(name)
  if (match === null) return undefined
  const [, time, run, number] = match
  const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/, '$1-$2-$3T$4:$5:$6.$7Z')
  const createdAtMs = Date.parse(iso)
  return Number.isNaN(createdAtMs) ? undefined : { createdAtMs, run, number: Number(number) }
}
