/** What a field of an event can hold. `null` is what JSON has; other texts are compared as they stand. */
export type FieldScalar = string | number | bigint | boolean | null

/**
 * Several ways to see one value: a list whose elements from `wholes` on each stand somewhere in one of those before.
 * Correlations group by the first.
 */
export interface FieldViews {
  readonly values: readonly string[]
  readonly wholes: number
}

/** With a list, a test is true when it is true of one of its elements; an empty list is an absent field. */
export type FieldValue = FieldScalar | readonly FieldScalar[] | FieldViews

/** Where an event comes from, or what a rule asks for. */
export interface LogSource {
  readonly category?: string | undefined
  readonly product?: string | undefined
  readonly service?: string | undefined
}

/** One event as rules see it. The matcher asks for each field once. */
export interface SigmaEvent {
  /**
   * Log sources that the event belongs to; a rule is tried when one of them has all that the rule names. The same
   * array object for all events of one kind makes routing a lookup. Undefined: every rule is tried.
   */
  readonly sources: readonly LogSource[] | undefined
  /** Milliseconds since 1970; undefined keeps the event out of correlations. */
  readonly time: number | undefined
  /** Undefined when the event has no such field. Names are compared exactly. */
  get(field: string): FieldValue | undefined
  /** The whole event as text, for keywords; asked for only when a rule with keywords may match. */
  text(): string
}

const NO_VALUES: readonly FieldScalar[] = []

/** The value or values of a field. */
export function valuesOf(value: FieldValue | undefined): readonly FieldScalar[] {
  if (value === undefined) return NO_VALUES
  if (typeof value !== 'object' || value === null) return [value]
  return 'wholes' in value ? value.values : value
}

/** The text that text tests see; undefined for null. */
export function textOf(value: FieldScalar): string | undefined {
  return typeof value === 'string' ? value : value === null ? undefined : String(value)
}

/** Whether a log source has all that is asked for. */
export function sourceHas(source: LogSource, asked: LogSource): boolean {
  return (
    (asked.category === undefined || asked.category === source.category) &&
    (asked.product === undefined || asked.product === source.product) &&
    (asked.service === undefined || asked.service === source.service)
  )
}
