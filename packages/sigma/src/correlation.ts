/**
 * The state of one correlation: what has been seen in each group, bounded.
 *
 * Conditions with lower bounds only (`gte`, `gt`) of counts, sums and temporal types *rise*: a window of the given
 * length ends at each event, and the correlation matches when the condition is true of it and was not at the group's
 * event before, or that one is longer ago than the window. All others (`lt`, `eq`, ranges, averages, percentiles, least and greatest values) are only known when a
 * window is over: a window begins at a group's first event and lasts the given length, the next one begins at the first
 * event after it, and the condition is tested when the window has ended.
 *
 * Events come in order of time; a late one counts as if it came at the time of the latest one before it. Both ends of a
 * window belong to it. Events without a value for each group-by field are in no group and are left out.
 */
import type { Bound, CorrelationSpec } from './correlation-spec.ts'
import { leastCount } from './correlation-spec.ts'
import { compareNumbers } from './numeric.ts'

export interface CorrelationLimits {
  /** Groups that one correlation keeps; default 10,000. The one that was quiet the longest is given up. */
  readonly maxGroups: number
  /** Times, values and numbers that one correlation keeps in all its groups; default 200,000. */
  readonly maxEntries: number
}

export const DEFAULT_CORRELATION_LIMITS: CorrelationLimits = { maxGroups: 10_000, maxEntries: 200_000 }

export interface Outcome {
  /** Values of the group-by fields, in their order. */
  readonly group: readonly string[]
  /** The count, sum, average, percentile or share; for temporal types the number of rules. */
  readonly value: number
  /** Times of the first and last event of the window that are still known, in milliseconds. */
  readonly from: number
  readonly to: number
}

/** What a correlation had to leave out. */
export interface CorrelationCounters {
  /** Groups given up because of a limit, with what they had counted. */
  evictedGroups: number
  /** Entries of a group given up because of a limit. */
  evictedEntries: number
  /** Events that came after a later one. */
  lateEvents: number
  /** Events without a value for a group-by field, or for the field that is computed with. */
  incompleteEvents: number
}

interface Group {
  readonly values: readonly string[]
  /** First event of the window, for those that close; latest event, for those that rise. */
  time: number
  /** The latest event, whether the condition is true of it, and whether it was of the one before. */
  serial: number
  isRaised: boolean
  wasRaised: boolean
  readonly window: Window
}

/** What a window holds. `entries` is how much it counts against the limit. */
interface Window {
  readonly entries: number
  add(item: Item): void
  /** Forgets what is before a time. */
  forgetBefore(time: number): void
  /** Gives up the oldest entry. */
  forgetOldest(): void
  /** Values to test the condition with: one, or for shares one for each value. */
  results(): readonly number[]
  readonly from: number
  readonly to: number
}

export interface Item {
  readonly time: number
  /** Index of the rule that matched, in the order of the correlation. */
  readonly member: number
  /** The same for all items of one event, and of no other. */
  readonly serial: number
  /** Text of the counted fields. */
  readonly text: string
  readonly number: number
}

export class CorrelationState {
  readonly spec: CorrelationSpec
  readonly rises: boolean
  readonly counters: CorrelationCounters = { evictedGroups: 0, evictedEntries: 0, lateEvents: 0, incompleteEvents: 0 }
  readonly #limits: CorrelationLimits
  readonly #memberCount: number
  /** Rising: in order of the latest event. Closing: in order of the beginning. */
  readonly #groups: Map<string, Group>
  #entries: number
  #latest: number

  constructor(spec: CorrelationSpec, memberCount: number, limits: CorrelationLimits) {
    this.spec = spec
    this.rises = isRising(spec)
    this.#limits = limits
    this.#memberCount = memberCount
    this.#groups = new Map()
    this.#entries = 0
    this.#latest = -Infinity
  }

  /** Groups and entries that are kept now. */
  get size(): { readonly groups: number; readonly entries: number } {
    return { groups: this.#groups.size, entries: this.#entries }
  }

  /** Adds what an event brings; windows that ended before it are reported through `close` first. */
  add(values: readonly string[], given: Item, close: (outcome: Outcome) => void): Outcome | undefined {
    let item = given
    if (item.time < this.#latest) {
      this.counters.lateEvents++
      item = { ...item, time: this.#latest }
    }
    this.#latest = item.time
    if (this.rises) return this.#raise(values, item)
    this.closeBefore(item.time - this.spec.spanMs, close)
    const key = keyOf(values)
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = this.#openGroup(values, item)
      this.#groups.set(key, group)
    }
    this.#addTo(group, item)
    this.#keepLimits(group)
    return undefined
  }

  /** Reports the windows that began before a time, and with Infinity all of them. */
  closeBefore(start: number, close: (outcome: Outcome) => void): void {
    if (this.rises) return
    for (const [key, group] of this.#groups) {
      if (group.time >= start) break
      this.#groups.delete(key)
      this.#entries -= group.window.entries
      const result = group.window.results().find((value) => meets(value, this.spec.bounds))
      if (result !== undefined) close(outcomeOf(group, result))
    }
  }

  #raise(values: readonly string[], item: Item): Outcome | undefined {
    const start = item.time - this.spec.spanMs
    for (const [key, group] of this.#groups) {
      if (group.time >= start) break
      this.#groups.delete(key)
      this.#entries -= group.window.entries
    }
    const key = keyOf(values)
    const group = this.#groups.get(key) ?? this.#openGroup(values, item)
    // At the end of the order again.
    this.#groups.delete(key)
    this.#groups.set(key, group)
    group.time = item.time
    // An event may bring several items; what it makes of the condition is known with the last one.
    if (group.serial !== item.serial) {
      group.serial = item.serial
      group.wasRaised = group.isRaised
      group.isRaised = false
    }
    this.#entries -= group.window.entries
    group.window.forgetBefore(start)
    this.#entries += group.window.entries
    this.#addTo(group, item)
    this.#keepLimits(group)
    const result = group.window.results().find((value) => meets(value, this.spec.bounds))
    if (result === undefined || group.isRaised) return undefined
    group.isRaised = true
    return group.wasRaised ? undefined : outcomeOf(group, result)
  }

  #openGroup(values: readonly string[], { time, serial }: Item): Group {
    const window = openWindow(this.spec, this.#memberCount)
    return { values, time, serial, isRaised: false, wasRaised: false, window }
  }

  #addTo(group: Group, item: Item): void {
    this.#entries -= group.window.entries
    group.window.add(item)
    this.#entries += group.window.entries
  }

  #keepLimits(current: Group): void {
    const { maxGroups, maxEntries } = this.#limits
    while (this.#groups.size > maxGroups || (this.#entries > maxEntries && this.#groups.size > 1)) {
      const oldest = this.#oldestBut(current)
      if (oldest === undefined) break
      this.#groups.delete(keyOf(oldest.values))
      this.#entries -= oldest.window.entries
      this.counters.evictedGroups++
    }
    while (this.#entries > maxEntries) {
      const before = current.window.entries
      current.window.forgetOldest()
      const given = before - current.window.entries
      if (given === 0) break
      this.#entries -= given
      this.counters.evictedEntries++
    }
  }

  #oldestBut(current: Group): Group | undefined {
    for (const group of this.#groups.values()) if (group !== current) return group
    return undefined
  }
}

/** Unambiguous, unlike joining by a separator that a value may hold. */
function keyOf(values: readonly string[]): string {
  return values.length === 1 ? values[0] : values.map((value) => `${value.length}:${value}`).join('')
}

function outcomeOf(group: Group, value: number): Outcome {
  return { group: group.values, value, from: group.window.from, to: group.window.to }
}

function meets(value: number, bounds: readonly Bound[]): boolean {
  return bounds.every((bound) => compareNumbers(value, bound.operator, bound.value))
}

/** Whether the condition can be tested at each event; see the top of this file. */
export function isRising({ type, bounds }: CorrelationSpec): boolean {
  const canRise = ['event_count', 'value_count', 'value_sum', 'temporal', 'temporal_ordered'].includes(type)
  return canRise && leastCount(bounds) !== undefined
}

function openWindow(spec: CorrelationSpec, memberCount: number): Window {
  const rises = isRising(spec)
  const least = leastCount(spec.bounds) ?? 1
  switch (spec.type) {
    case 'event_count':
      return rises ? new LatestEvents(least) : new Totals((totals) => totals.count)
    case 'value_count':
      return new DistinctValues(rises ? least : Infinity)
    case 'value_sum':
      return rises ? new SlidingSum() : new Totals((totals) => totals.sum)
    case 'value_avg':
      return new Totals((totals) => totals.sum / totals.count)
    case 'value_min':
      return new Totals((totals) => totals.least)
    case 'value_max':
      return new Totals((totals) => totals.greatest)
    case 'value_percentile':
      return new Numbers(spec.percentile)
    case 'value_share':
      return new Shares()
    case 'temporal':
      return new MemberTimes(memberCount)
    case 'temporal_ordered':
      return new OrderedMembers(memberCount)
  }
}

/** Times of the latest events, as many as the condition needs. */
class LatestEvents implements Window {
  readonly #most: number
  #times: number[]
  #head: number
  constructor(most: number) {
    this.#most = most
    this.#times = []
    this.#head = 0
  }
  get entries(): number {
    return this.#times.length - this.#head
  }
  get from(): number {
    return this.#times[this.#head]
  }
  get to(): number {
    return this.#times[this.#times.length - 1]
  }
  add({ time }: Item): void {
    this.#times.push(time)
    if (this.entries > this.#most) this.forgetOldest()
  }
  forgetBefore(time: number): void {
    while (this.#head < this.#times.length && this.#times[this.#head] < time) this.#head++
    this.#compact()
  }
  forgetOldest(): void {
    this.#head++
    this.#compact()
  }
  results(): readonly number[] {
    return [this.entries]
  }
  #compact(): void {
    if (this.#head < 32 || this.#head * 2 < this.#times.length) return
    this.#times = this.#times.slice(this.#head)
    this.#head = 0
  }
}

/** The latest time of each distinct value, in order of time. */
class DistinctValues implements Window {
  readonly #most: number
  readonly #times: Map<string, number>
  #to: number
  constructor(most: number) {
    this.#most = most
    this.#times = new Map()
    this.#to = 0
  }
  get entries(): number {
    return this.#times.size
  }
  get from(): number {
    const [first] = this.#times.values()
    return first
  }
  get to(): number {
    return this.#to
  }
  add({ text, time }: Item): void {
    this.#times.delete(text)
    this.#times.set(text, time)
    this.#to = time
    if (this.#times.size > this.#most) this.forgetOldest()
  }
  forgetBefore(time: number): void {
    for (const [text, latest] of this.#times) {
      if (latest >= time) break
      this.#times.delete(text)
    }
  }
  forgetOldest(): void {
    for (const text of this.#times.keys()) {
      this.#times.delete(text)
      break
    }
  }
  results(): readonly number[] {
    return [this.#times.size]
  }
}

/** Numbers with their times, and their sum. */
class SlidingSum implements Window {
  #items: Item[]
  #head: number
  #sum: number
  constructor() {
    this.#items = []
    this.#head = 0
    this.#sum = 0
  }
  get entries(): number {
    return this.#items.length - this.#head
  }
  get from(): number {
    return this.#items[this.#head].time
  }
  get to(): number {
    return this.#items[this.#items.length - 1].time
  }
  add(item: Item): void {
    this.#items.push(item)
    this.#sum += item.number
  }
  forgetBefore(time: number): void {
    while (this.#head < this.#items.length && this.#items[this.#head].time < time) this.forgetOldest()
  }
  forgetOldest(): void {
    this.#sum -= this.#items[this.#head].number
    this.#head++
    if (this.#head < 32 || this.#head * 2 < this.#items.length) {
      if (this.#head === this.#items.length) this.#sum = 0
      return
    }
    this.#items = this.#items.slice(this.#head)
    this.#head = 0
    // Once in a while, so that rounding does not add up.
    this.#sum = this.#items.reduce((sum, { number }) => sum + number, 0)
  }
  results(): readonly number[] {
    return this.entries === 0 ? [] : [this.#sum]
  }
}

/** Count, sum, least and greatest of a window that only closes. */
class Totals implements Window {
  readonly entries = 1
  readonly #result: (totals: Totals) => number
  count: number
  sum: number
  least: number
  greatest: number
  from: number
  to: number
  constructor(result: (totals: Totals) => number) {
    this.#result = result
    this.count = 0
    this.sum = 0
    this.least = Infinity
    this.greatest = -Infinity
    this.from = 0
    this.to = 0
  }
  add({ time, number }: Item): void {
    if (this.count === 0) this.from = time
    this.to = time
    this.count++
    this.sum += number
    this.least = Math.min(this.least, number)
    this.greatest = Math.max(this.greatest, number)
  }
  forgetBefore(): void {}
  forgetOldest(): void {}
  results(): readonly number[] {
    return [this.#result(this)]
  }
}

/** All numbers of a window, for a percentile (nearest rank). */
class Numbers implements Window {
  readonly #percentile: number
  readonly #numbers: number[]
  from: number
  to: number
  constructor(percentile: number) {
    this.#percentile = percentile
    this.#numbers = []
    this.from = 0
    this.to = 0
  }
  get entries(): number {
    return this.#numbers.length
  }
  add({ time, number }: Item): void {
    if (this.#numbers.length === 0) this.from = time
    this.to = time
    this.#numbers.push(number)
  }
  forgetBefore(): void {}
  forgetOldest(): void {
    this.#numbers.shift()
  }
  results(): readonly number[] {
    if (this.#numbers.length === 0) return []
    const sorted = this.#numbers.toSorted((a, b) => a - b)
    const rank = Math.ceil((this.#percentile / 100) * sorted.length)
    return [sorted[Math.max(0, rank - 1)]]
  }
}

/** How many percent of a window's events each value has. */
class Shares implements Window {
  readonly #counts: Map<string, number>
  #total: number
  from: number
  to: number
  constructor() {
    this.#counts = new Map()
    this.#total = 0
    this.from = 0
    this.to = 0
  }
  get entries(): number {
    return this.#counts.size
  }
  add({ time, text }: Item): void {
    if (this.#total === 0) this.from = time
    this.to = time
    this.#total++
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1)
  }
  forgetBefore(): void {}
  forgetOldest(): void {
    for (const text of this.#counts.keys()) {
      this.#counts.delete(text)
      break
    }
  }
  results(): readonly number[] {
    return [...this.#counts.values()].map((count) => (count * 100) / this.#total)
  }
}

/** The latest time of each rule. */
class MemberTimes implements Window {
  readonly entries: number
  readonly #times: number[]
  constructor(count: number) {
    this.entries = count
    this.#times = new Array<number>(count).fill(-Infinity)
  }
  get from(): number {
    return Math.min(...this.#times.filter((time) => time > -Infinity))
  }
  get to(): number {
    return Math.max(...this.#times)
  }
  add({ member, time }: Item): void {
    this.#times[member] = time
  }
  forgetBefore(time: number): void {
    for (const [member, latest] of this.#times.entries()) if (latest < time) this.#times[member] = -Infinity
  }
  forgetOldest(): void {}
  results(): readonly number[] {
    return [this.#times.filter((time) => time > -Infinity).length]
  }
}

/** For each rule, the latest beginning of a chain of the rules up to it, in order. One event is one link at most. */
class OrderedMembers implements Window {
  readonly entries: number
  readonly #starts: number[]
  /** What `starts` was before the event that changed it last, and which event that was. */
  readonly #earlier: number[]
  readonly #serials: number[]
  #to: number
  constructor(count: number) {
    this.entries = count
    this.#starts = new Array<number>(count).fill(-Infinity)
    this.#earlier = new Array<number>(count).fill(-Infinity)
    this.#serials = new Array<number>(count).fill(-1)
    this.#to = 0
  }
  get from(): number {
    return this.#starts[this.#starts.length - 1]
  }
  get to(): number {
    return this.#to
  }
  add({ member, time, serial }: Item): void {
    this.#to = time
    const before = member - 1
    const start = member === 0 ? time : this.#serials[before] === serial ? this.#earlier[before] : this.#starts[before]
    if (this.#serials[member] !== serial) this.#earlier[member] = this.#starts[member]
    this.#serials[member] = serial
    this.#starts[member] = Math.max(this.#starts[member], start)
  }
  forgetBefore(time: number): void {
    for (const [member, start] of this.#starts.entries()) {
      if (start < time) this.#starts[member] = -Infinity
      if (this.#earlier[member] < time) this.#earlier[member] = -Infinity
    }
  }
  forgetOldest(): void {}
  results(): readonly number[] {
    const last = this.#starts.length - 1
    return [this.#starts[last] > -Infinity ? this.#starts.length : 0]
  }
}
