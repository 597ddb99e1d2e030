/**
 * Events through a rule set.
 *
 * For each event: the route of its log sources gives the rules that may apply; the fields that hold their witnesses are
 * scanned; the rules whose witness was marked, and those without one, are evaluated. Fields are fetched, folded and
 * scanned at most once per event, tests and shared parts of conditions are evaluated at most once. What was worked out
 * for an event is stamped with its epoch, so that nothing is cleared between events.
 */
import { type CorrelationLimits, DEFAULT_CORRELATION_LIMITS } from './correlation.ts'
import { type CorrelationReport, Correlator, type Hit } from './correlator.ts'
import {
  type FieldScalar,
  type FieldValue,
  type LogSource,
  type SigmaEvent,
  sourceHas,
  textOf,
  valuesOf,
} from './event.ts'
import type { Marks } from './literal-index.hot.ts'
import type { Detector, RuleSet } from './rule-set.ts'
import { compareTexts, valueTest } from './run-test.ts'

/** Kinds of log sources that a matcher remembers the rules of; beyond, it forgets all and begins again. */
export const MAX_ROUTES = 1_000

const LAST_EPOCH = 0x7fffffff

export interface MatcherCounters {
  events: number
  /** Conditions evaluated, after routing and witnesses. */
  evaluations: number
  /** Events that matched a correlated rule but had no time. */
  untimedEvents: number
}

interface Route {
  /** 1 for detectors that may apply. */
  readonly allowed: Uint8Array
  /** Detectors that are tried for every event. */
  readonly always: Int32Array
  /** Fields with witnesses of the others. */
  readonly fields: Int32Array
}

const AND = 0
const OR = 1
const TEST = 2
const NOT_TEST = 3
const TRUE = 4
const FALSE = 5

/** Evaluates events of one stream, in order; holds the state of correlations. */
export class Matcher {
  readonly counters: MatcherCounters = { events: 0, evaluations: 0, untimedEvents: 0 }
  readonly #set: RuleSet
  readonly #marks: Marks
  /** By field. */
  readonly #values: (FieldValue | undefined)[]
  readonly #fetchedIn: Int32Array
  readonly #scannedIn: Int32Array
  /** By test: run tests that were asked for, and their answer. */
  readonly #ranIn: Int32Array
  readonly #ranTrue: Uint8Array
  readonly #testRuns: ((value: FieldScalar) => boolean)[]
  /** By node. */
  readonly #ops: Uint8Array
  readonly #testOf: Int32Array
  readonly #partStarts: Int32Array
  readonly #parts: Int32Array
  readonly #knownIn: Int32Array
  readonly #knownTrue: Uint8Array
  /** Detectors by test that is their witness. */
  readonly #witnessStarts: Int32Array
  readonly #witnessed: Int32Array
  readonly #triedIn: Int32Array
  readonly #routes: Map<string, Route>
  #routeOfSources: WeakMap<readonly LogSource[], Route>
  readonly #correlator: Correlator
  readonly #matched: number[]
  #epoch: number
  /** Counts events and closed windows, for correlations. */
  #serial: number
  #event: SigmaEvent

  constructor(set: RuleSet, limits: CorrelationLimits = DEFAULT_CORRELATION_LIMITS) {
    const { tests, nodes, fields, detectors } = set
    this.#set = set
    this.#marks = {
      epochOf: new Int32Array(tests.length),
      foundIn: new Int32Array(set.literalCount),
      epoch: 0,
      fired: new Int32Array(tests.length),
      firedCount: 0,
    }
    this.#values = fields.map(() => undefined)
    this.#fetchedIn = new Int32Array(fields.length)
    this.#scannedIn = new Int32Array(fields.length)
    this.#ranIn = new Int32Array(tests.length)
    this.#ranTrue = new Uint8Array(tests.length)
    this.#testRuns = tests.map((test) => {
      if (test.kind === 'set') return () => false
      const { predicate } = test
      const { kind } = predicate
      return kind === 'exists' || kind === 'null' || kind === 'reference' ? () => false : valueTest(predicate)
    })
    const flat = flatten(nodes)
    this.#ops = flat.ops
    this.#testOf = flat.testOf
    this.#partStarts = flat.partStarts
    this.#parts = flat.parts
    this.#knownIn = new Int32Array(nodes.length)
    this.#knownTrue = new Uint8Array(nodes.length)
    const inverted = invertWitnesses(set)
    this.#witnessStarts = inverted.starts
    this.#witnessed = inverted.detectors
    this.#triedIn = new Int32Array(detectors.length)
    this.#routes = new Map()
    this.#routeOfSources = new WeakMap()
    this.#correlator = new Correlator(set, limits)
    this.#matched = []
    this.#epoch = 0
    this.#serial = 0
    this.#event = NO_EVENT
  }

  /** What correlations had to leave out, and what they hold; in the order of `correlations` of the rule set. */
  correlationCounters(): readonly CorrelationReport[] {
    return this.#correlator.report()
  }

  /**
   * Reports each rule that matches, in the order of the rules, correlations behind what completed them. `report` may not
   * call the matcher.
   */
  match(event: SigmaEvent, report: (hit: Hit) => void): void {
    const serial = ++this.#serial
    this.detect(event, (signal) => this.#correlator.give(signal, event, serial, report))
    this.counters.untimedEvents = this.#correlator.untimedEvents
  }

  /**
   * Only what the event says by itself, in the order of the rules: signals, as positions in `signals` of the rule set. What
   * correlations make of them is a {@link Correlator}'s, perhaps in another thread and another order.
   */
  detect(event: SigmaEvent, give: (signal: number) => void): void {
    this.counters.events++
    this.#nextEpoch()
    this.#event = event
    const route = this.#routeFor(event.sources)
    const { allowed, always, fields } = route
    const marks = this.#marks
    for (let index = 0; index < fields.length; index++) this.#scan(fields[index])
    const matched = this.#matched
    matched.length = 0
    const marked = marks.firedCount
    for (let index = 0; index < marked; index++) {
      const test = marks.fired[index]
      for (let at = this.#witnessStarts[test]; at < this.#witnessStarts[test + 1]; at++) {
        const detector = this.#witnessed[at]
        if (allowed[detector] === 1 && this.#triedIn[detector] !== this.#epoch) this.#try(detector)
      }
    }
    for (let index = 0; index < always.length; index++) this.#try(always[index])
    if (matched.length > 1) matched.sort((a, b) => a - b)
    for (let index = 0; index < matched.length; index++) give(this.#set.detectors[matched[index]].signal)
    this.#event = NO_EVENT
  }

  /** Reports the windows of correlations that are over at a time; for streams in which nothing happens for long. */
  advance(time: number, report: (hit: Hit) => void): void {
    this.#correlator.advance(time, report)
  }

  /** The stream is over: reports what open windows of correlations have. */
  finish(report: (hit: Hit) => void): void {
    this.#correlator.finish(report)
  }

  #nextEpoch(): void {
    if (this.#epoch === LAST_EPOCH) {
      for (const stamps of [
        this.#fetchedIn,
        this.#scannedIn,
        this.#ranIn,
        this.#knownIn,
        this.#triedIn,
        this.#marks.epochOf,
        this.#marks.foundIn,
      ]) {
        stamps.fill(0)
      }
      this.#epoch = 0
    }
    this.#epoch++
    this.#marks.epoch = this.#epoch
    this.#marks.firedCount = 0
  }

  #try(detector: number): void {
    this.#triedIn[detector] = this.#epoch
    this.counters.evaluations++
    if (this.#evaluate(this.#set.detectors[detector].node)) this.#matched.push(detector)
  }

  #evaluate(node: number): boolean {
    const op = this.#ops[node]
    switch (op) {
      case TEST:
        return this.#test(this.#testOf[node])
      case NOT_TEST:
        return !this.#test(this.#testOf[node])
      case TRUE:
        return true
      case FALSE:
        return false
    }
    if (this.#knownIn[node] === this.#epoch) return this.#knownTrue[node] === 1
    const end = this.#partStarts[node + 1]
    let result = op === AND
    for (let at = this.#partStarts[node]; at < end; at++) {
      if (this.#evaluate(this.#parts[at]) !== result) {
        result = !result
        break
      }
    }
    this.#knownIn[node] = this.#epoch
    this.#knownTrue[node] = result ? 1 : 0
    return result
  }

  #test(id: number): boolean {
    const test = this.#set.tests[id]
    if (test.kind === 'set' || test.gate !== undefined) {
      if (this.#scannedIn[test.field] !== this.#epoch) this.#scan(test.field)
      const isMarked = this.#marks.epochOf[id] === this.#epoch
      if (test.kind === 'set' || !isMarked) return isMarked
    }
    if (this.#ranIn[id] === this.#epoch) return this.#ranTrue[id] === 1
    const result = this.#run(id)
    this.#ranIn[id] = this.#epoch
    this.#ranTrue[id] = result ? 1 : 0
    return result
  }

  #run(id: number): boolean {
    const test = this.#set.tests[id]
    if (test.kind === 'set') return false
    const { predicate } = test
    const values = valuesOf(this.#fetch(test.field))
    switch (predicate.kind) {
      case 'exists':
        return values.length > 0
      case 'null':
        return values.every((value) => value === null)
      case 'reference': {
        const others = valuesOf(this.#fetch(test.other))
        for (const value of values) {
          for (const other of others) if (compareTexts(value, other, predicate.test, predicate.cased)) return true
        }
        return false
      }
      default: {
        const run = this.#testRuns[id]
        for (let index = 0; index < values.length; index++) if (run(values[index])) return true
        return false
      }
    }
  }

  #fetch(field: number): FieldValue | undefined {
    if (this.#fetchedIn[field] === this.#epoch) return this.#values[field]
    const name = this.#set.fields[field]
    const value = name === undefined ? this.#event.text() : this.#event.get(name)
    this.#fetchedIn[field] = this.#epoch
    this.#values[field] = value
    return value
  }

  #scan(field: number): void {
    this.#scannedIn[field] = this.#epoch
    const index = this.#set.indexes[field]
    if (index === undefined) return
    const value = this.#fetch(field)
    if (typeof value === 'string') {
      index.scan(value, this.#marks)
      return
    }
    const values = valuesOf(value)
    const wholes = typeof value === 'object' && value !== null && 'wholes' in value ? value.wholes : values.length
    for (let at = 0; at < values.length; at++) {
      const text = textOf(values[at])
      if (text === undefined) continue
      if (at < wholes) index.scan(text, this.#marks)
      else index.scanEnds(text, this.#marks)
    }
  }

  #routeFor(sources: readonly LogSource[] | undefined): Route {
    const key = sources ?? ALL_SOURCES
    const known = this.#routeOfSources.get(key)
    if (known !== undefined) return known
    const text = sources === undefined ? '' : JSON.stringify(sources.map((s) => [s.category, s.product, s.service]))
    let route = this.#routes.get(text)
    if (route === undefined) {
      if (this.#routes.size >= MAX_ROUTES) this.#routes.clear()
      route = this.#buildRoute(sources)
      this.#routes.set(text, route)
    }
    this.#routeOfSources.set(key, route)
    return route
  }

  #buildRoute(sources: readonly LogSource[] | undefined): Route {
    const { detectors, witnesses, tests } = this.#set
    const allowed = new Uint8Array(detectors.length)
    const always: number[] = []
    const fields = new Set<number>()
    detectors.forEach(({ logsource }: Detector, index) => {
      if (sources !== undefined && !sources.some((source) => sourceHas(source, logsource))) return
      allowed[index] = 1
      const witness = witnesses[index]
      if (witness === undefined) always.push(index)
      else for (const test of witness) fields.add(tests[test].field)
    })
    return { allowed, always: Int32Array.from(always), fields: Int32Array.from(fields).sort() }
  }
}

const ALL_SOURCES: readonly LogSource[] = []

const NO_EVENT: SigmaEvent = { sources: [], time: undefined, get: () => undefined, text: () => '' }

function flatten(nodes: RuleSet['nodes']): {
  ops: Uint8Array
  testOf: Int32Array
  partStarts: Int32Array
  parts: Int32Array
} {
  const ops = new Uint8Array(nodes.length)
  const testOf = new Int32Array(nodes.length)
  const partStarts = new Int32Array(nodes.length + 1)
  const parts: number[] = []
  nodes.forEach((node, id) => {
    switch (node.kind) {
      case 'and':
      case 'or':
        ops[id] = node.kind === 'and' ? AND : OR
        for (const part of node.parts) parts.push(part)
        break
      case 'test':
        ops[id] = node.negated ? NOT_TEST : TEST
        testOf[id] = node.test
        break
      case 'constant':
        ops[id] = node.value ? TRUE : FALSE
        break
    }
    partStarts[id + 1] = parts.length
  })
  return { ops, testOf, partStarts, parts: Int32Array.from(parts) }
}

function invertWitnesses({ tests, witnesses }: RuleSet): { starts: Int32Array; detectors: Int32Array } {
  const lists: number[][] = tests.map(() => [])
  witnesses.forEach((witness, detector) => {
    for (const test of witness ?? []) lists[test].push(detector)
  })
  const starts = new Int32Array(tests.length + 1)
  lists.forEach((list, test) => {
    starts[test + 1] = starts[test] + list.length
  })
  return { starts, detectors: Int32Array.from(lists.flat()) }
}
