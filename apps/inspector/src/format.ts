/** Numbers and times for people. */

export function durationText(us: number | undefined): string | undefined {
  if (us === undefined) return undefined
  if (us < 1_000) return `${Math.round(us)} µs`
  if (us < 1_000_000) return `${(us / 1_000).toFixed(us < 10_000 ? 1 : 0)} ms`
  return `${(us / 1_000_000).toFixed(2)} s`
}

export function bytesText(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Local time of day with milliseconds. */
export function timeText(ms: number): string {
  const time = new Date(ms)
  if (Number.isNaN(time.getTime())) return ''
  const two = (value: number): string => String(value).padStart(2, '0')
  const millis = String(time.getMilliseconds()).padStart(3, '0')
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${millis}`
}

export function countText(count: number): string {
  return count.toLocaleString('en')
}

/** The begin of a text that is longer than so many UTF-16 units. */
export function cutText<T extends string | undefined>(text: T, units: number): T | string {
  return text === undefined || text.length <= units ? text : `${text.slice(0, units)} …`
}
