/** Which events are looked at. Plain data, so that every thread has it. */
import type { HuntEvent } from './hunt-event.ts'

export interface EventFilter {
  /** Milliseconds since 1970; both ends belong to it. Events without a time are left out when one is given. */
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  /** Texts with `*` and `?`, compared without case. None: all. */
  readonly hosts: readonly string[]
  readonly excludedHosts: readonly string[]
  readonly channels: readonly string[]
  readonly excludedChannels: readonly string[]
  readonly eventIds: readonly number[]
  readonly excludedEventIds: readonly number[]
}

export const EVERY_EVENT: EventFilter = {
  fromMs: undefined,
  toMs: undefined,
  hosts: [],
  excludedHosts: [],
  channels: [],
  excludedChannels: [],
  eventIds: [],
  excludedEventIds: [],
}

/** Undefined when every event passes. */
export function compileFilter(filter: EventFilter): ((event: HuntEvent) => boolean) | undefined {
  const { fromMs, toMs } = filter
  const tests: ((event: HuntEvent) => boolean)[] = []
  if (fromMs !== undefined || toMs !== undefined) {
    const [from, to] = [fromMs ?? -Infinity, toMs ?? Infinity]
    tests.push(({ time }) => time !== undefined && time >= from && time <= to)
  }
  const byText = (wanted: readonly string[], excluded: readonly string[], read: (event: HuntEvent) => string): void => {
    const [only, not] = [globOf(wanted), globOf(excluded)]
    if (only !== undefined) tests.push((event) => only(read(event)))
    if (not !== undefined) tests.push((event) => !not(read(event)))
  }
  byText(filter.hosts, filter.excludedHosts, ({ host }) => host)
  byText(filter.channels, filter.excludedChannels, ({ channel }) => channel)
  const [ids, excludedIds] = [new Set(filter.eventIds), new Set(filter.excludedEventIds)]
  if (ids.size > 0) tests.push(({ eventId }) => eventId !== undefined && ids.has(eventId))
  if (excludedIds.size > 0) tests.push(({ eventId }) => eventId === undefined || !excludedIds.has(eventId))
  return tests.length === 0 ? undefined : (event) => tests.every((test) => test(event))
}

/** Answers are remembered: logs name few hosts. */
function globOf(globs: readonly string[]): ((text: string) => boolean) | undefined {
  if (globs.length === 0) return undefined
  const parts = globs.map((glob) => glob.toLowerCase())
  const known = new Map<string, boolean>()
  return (text) => {
    let answer = known.get(text)
    if (answer === undefined) {
      const lower = text.toLowerCase()
      answer = parts.some((glob) => matchesGlob(glob, lower))
      if (known.size > 1_000) known.clear()
      known.set(text, answer)
    }
    return answer
  }
}

/** `*` is any text, `?` one UTF-16 unit. Takes time in the product of the lengths at most. */
export function matchesGlob(glob: string, text: string): boolean {
  let [at, from] = [0, 0]
  let [star, retry] = [-1, 0]
  while (from < text.length) {
    if (at < glob.length && glob[at] === '*') {
      star = at++
      retry = from
    } else if (at < glob.length && (glob[at] === '?' || glob[at] === text[from])) {
      at++
      from++
    } else if (star >= 0) {
      at = star + 1
      from = ++retry
    } else return false
  }
  while (glob[at] === '*') at++
  return at === glob.length
}
