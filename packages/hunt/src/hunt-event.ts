/** One event of any source: what rules ask of it, and what a timeline shows. */
import type { FieldScalar, SigmaEvent } from '@prexy/sigma/event'

/**
 * Events are borrowed: a reader gives the same object for the next record, so keep what was read and not the event.
 * `time` is read when it is asked for.
 */
export interface HuntEvent extends SigmaEvent {
  /** Units of 100 ns beyond {@link SigmaEvent.time}, 0 to 9,999. */
  readonly ticks: number
  /** The computer that logged it, or the host that a request was for. */
  readonly host: string
  /** The channel of Windows, or what kind of log it is: `access-log`, `w3c`, `aws/cloudtrail`. */
  readonly channel: string
  /** Of Windows events. */
  readonly eventId: number | undefined
  /** The number that the log itself gives the event. */
  readonly recordId: string | undefined
  readonly provider: string | undefined
  /** Found in space that the log no longer counts as its own. */
  readonly isRecovered: boolean
  /** Whether it is a request, a Windows event, or anything else. */
  readonly kind: EventKind
  /** What the event says, in its order, without what stands in the columns above. */
  entries(): readonly EventEntry[]
  /** Every name that `get` has something for, once; some may have nothing. */
  fieldNames(): Iterable<string>
}

/** What stands for the time of events without one; they come last. */
export const NO_TIME: number = 8.64e15 + 1

export type EventKind = 'web' | 'windows' | 'other'

export type EventEntry = readonly [name: string, value: FieldScalar]

/** Names of the log have no blanks in rules: "strip all spaces", as the specification has it. */
export function ruleName(name: string): string {
  return name.includes(' ') ? name.replaceAll(' ', '') : name
}
