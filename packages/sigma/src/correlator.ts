/** What correlations make of the rules that matched: apart from the matcher, so that events can be matched in any order. */
import {
  type CorrelationCounters,
  type CorrelationLimits,
  CorrelationState,
  DEFAULT_CORRELATION_LIMITS,
  type Outcome,
} from './correlation.ts'
import { type FieldValue, type SigmaEvent, textOf, valuesOf } from './event.ts'
import { numberOf } from './numeric.ts'
import type { RuleInfo } from './rule.ts'
import type { RuleSet } from './rule-set.ts'

/** A rule that matched. */
export interface Hit {
  readonly rule: RuleInfo
  /** The event; for a correlation the one that completed it, undefined when it was the end of a window. */
  readonly event: SigmaEvent | undefined
  /** What a correlation saw; undefined for rules of single events. */
  readonly correlation: CorrelationHit | undefined
}

export interface CorrelationHit extends Outcome {
  /** Names of the group-by fields; their values are in `group`. */
  readonly groupBy: readonly string[]
}

/** Of one correlation: what it had to leave out, and what it holds. */
export type CorrelationReport = CorrelationCounters & { readonly groups: number; readonly entries: number }

/** What a correlation passes on. */
interface Passed {
  readonly hit: CorrelationHit
  readonly time: number
}

/** Takes signals in order of the times of their events, and holds the state of all correlations of a rule set. */
export class Correlator {
  /** Events that matched a correlated rule but had no time. */
  untimedEvents = 0
  readonly #set: RuleSet
  readonly #states: readonly CorrelationState[]
  /** The serial of the last window that closed: below those that callers give, and below what states begin with. */
  #closed: number

  constructor(set: RuleSet, limits: CorrelationLimits = DEFAULT_CORRELATION_LIMITS) {
    this.#set = set
    this.#states = set.correlations.map(
      ({ spec, groupFields }) => new CorrelationState(spec, groupFields.length, limits),
    )
    this.#closed = -1
  }

  /** In the order of `correlations` of the rule set. */
  report(): readonly CorrelationReport[] {
    return this.#states.map((state) => ({ ...state.counters, ...state.size }))
  }

  /**
   * A signal of an event: reports its rule and what correlations make of it. `serial` is from 1, the same for all signals
   * of one event and of no other. Of the event its time is read, and the fields that {@link signalFields} names.
   */
  give(signal: number, event: SigmaEvent, serial: number, report: (hit: Hit) => void): void {
    this.#give(signal, event, undefined, serial, report)
  }

  /** Reports the windows that are over at a time; for streams in which nothing happens for long. */
  advance(time: number, report: (hit: Hit) => void): void {
    this.#states.forEach((state, index) => {
      state.closeBefore(time - state.spec.spanMs, (outcome) => this.#closeWindow(index, outcome, report))
    })
  }

  /** The stream is over: reports what open windows have. */
  finish(report: (hit: Hit) => void): void {
    this.#states.forEach((state, index) => {
      state.closeBefore(Infinity, (outcome) => this.#closeWindow(index, outcome, report))
    })
  }

  #give(
    id: number,
    event: SigmaEvent | undefined,
    from: Passed | undefined,
    serial: number,
    report: (hit: Hit) => void,
  ): void {
    const { info, listeners } = this.#set.signals[id]
    if (info !== undefined) report({ rule: info, event, correlation: from?.hit })
    for (const { correlation, member } of listeners) this.#correlate(correlation, member, event, from, serial, report)
  }

  #correlate(
    index: number,
    member: number,
    event: SigmaEvent | undefined,
    from: Passed | undefined,
    serial: number,
    report: (hit: Hit) => void,
  ): void {
    const { spec, signal, groupFields } = this.#set.correlations[index]
    const state = this.#states[index]
    const time = from?.time ?? event?.time
    if (time === undefined || Number.isNaN(time)) {
      this.untimedEvents++
      return
    }
    const read = (field: string): FieldValue | undefined => {
      const at = from?.hit.groupBy.indexOf(field) ?? -1
      return at < 0 ? event?.get(field) : from?.hit.group[at]
    }
    const group = textsOf(groupFields[member], read)
    const counted = textsOf(spec.fields, read)
    if (group === undefined || counted === undefined) {
      state.counters.incompleteEvents++
      return
    }
    let number = 0
    if (needsNumber(spec.type)) {
      const value = valuesOf(read(spec.fields[0]))
        .map(numberOf)
        .find((candidate) => candidate !== undefined)
      if (value === undefined) {
        state.counters.incompleteEvents++
        return
      }
      number = value
    }
    const text = counted.length === 1 ? counted[0] : JSON.stringify(counted)
    const item = { time, member, serial, text, number }
    const outcome = state.add(group, item, (closed) => this.#closeWindow(index, closed, report))
    if (outcome === undefined) return
    this.#give(signal, event, { hit: { ...outcome, groupBy: spec.groupBy }, time }, serial, report)
  }

  #closeWindow(index: number, outcome: Outcome, report: (hit: Hit) => void): void {
    const { spec, signal } = this.#set.correlations[index]
    const passed = { hit: { ...outcome, groupBy: spec.groupBy }, time: outcome.to }
    this.#give(signal, undefined, passed, --this.#closed, report)
  }
}

/**
 * Names of the fields that correlations read of an event that gave a signal, those that build on correlations included;
 * undefined when no correlation listens.
 */
export function signalFields(set: RuleSet, signal: number): readonly string[] | undefined {
  const fields = new Set<string>()
  const seen = new Set<number>()
  const visit = (id: number): void => {
    for (const { correlation, member } of set.signals[id].listeners) {
      const { spec, signal: next, groupFields } = set.correlations[correlation]
      for (const field of groupFields[member]) fields.add(field)
      for (const field of spec.fields) fields.add(field)
      if (seen.has(correlation)) continue
      seen.add(correlation)
      visit(next)
    }
  }
  if (set.signals[signal].listeners.length === 0) return undefined
  visit(signal)
  return [...fields]
}

/** The text of each field, a list's elements in one, of views the first; undefined when one is absent or null. */
function textsOf(fields: readonly string[], read: (field: string) => FieldValue | undefined): string[] | undefined {
  const texts: string[] = []
  for (const field of fields) {
    const value = read(field)
    const isViews = typeof value === 'object' && value !== null && 'wholes' in value
    const values: string[] = []
    for (const one of isViews ? value.values.slice(0, 1) : valuesOf(value)) {
      const text = textOf(one)
      if (text === undefined) return undefined
      values.push(text)
    }
    if (values.length === 0) return undefined
    texts.push(values.length === 1 ? values[0] : JSON.stringify(values))
  }
  return texts
}

function needsNumber(type: string): boolean {
  return ['value_sum', 'value_avg', 'value_percentile', 'value_min', 'value_max'].includes(type)
}
