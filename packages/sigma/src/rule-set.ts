/** Rule documents made one engine: what is shared by all matchers and never changes. */
import { type Condition } from './condition.ts'
import { type CorrelationSpec, correlationOfAggregation, parseSpan } from './correlation-spec.ts'
import { isRising } from './correlation.ts'
import { placeholdersOf, readDetection } from './detection.ts'
import { type LogSource, sourceHas } from './event.ts'
import { allOf, anyOf, type Expression } from './expression.ts'
import { type IndexedLiteral, LiteralIndex } from './literal-index.hot.ts'
import { PlanBuilder, type PlanNode, type Test } from './plan.ts'
import type { Placeholders } from './placeholders.ts'
import { SigmaFault, type SigmaProblem } from './problem.ts'
import type { CorrelationDocument, DetectionDocument, FilterDocument, RuleInfo, SigmaDocument } from './rule.ts'
import { entryOf } from './source-tree.ts'

export interface CompileOptions {
  readonly placeholders: Placeholders
  /** Gets what each detector asks, in the order of the detectors; a rule set does not keep it. */
  readonly onDetector?: (expression: Expression) => void
}

/** A test of single events; when it is true it gives a signal. */
export interface Detector {
  readonly node: number
  readonly logsource: LogSource
  readonly signal: number
}

/** What detectors and correlations give: a rule matched, or a part of one. */
export interface Signal {
  /** The rule that is reported; undefined for a part of a rule. */
  readonly info: RuleInfo | undefined
  /** Correlations that listen, in the order of the documents. */
  readonly listeners: readonly Listener[]
}

export interface Listener {
  readonly correlation: number
  /** Which of the correlation's rules this is. */
  readonly member: number
}

export interface CompiledCorrelation {
  readonly spec: CorrelationSpec
  readonly signal: number
  /** For each member, which field is read for each group-by entry. */
  readonly groupFields: readonly (readonly string[])[]
}

/** A compiled set of rules. Immutable; a matcher holds what changes. */
export interface RuleSet {
  /** Rules that are evaluated, correlations included, in the order of their documents. */
  readonly rules: readonly RuleInfo[]
  /** What could not be used, and what may not be meant, in the order of the documents. */
  readonly problems: readonly SigmaProblem[]
  /** Names of all fields that rules read, undefined for keywords; positions are the field numbers of the plan. */
  readonly fields: readonly (string | undefined)[]
  /** Literals of all fields. */
  readonly literalCount: number
  readonly tests: readonly Test[]
  readonly nodes: readonly PlanNode[]
  /** By field number; undefined for fields without literals. */
  readonly indexes: readonly (LiteralIndex | undefined)[]
  readonly detectors: readonly Detector[]
  /** By detector; undefined for those that are always tried. */
  readonly witnesses: readonly (readonly number[] | undefined)[]
  readonly signals: readonly Signal[]
  readonly correlations: readonly CompiledCorrelation[]
}

/** Compiles documents. Never throws: documents that cannot be used are in `problems`, with the reason. */
export function compileRules(documents: readonly SigmaDocument[], options: CompileOptions): RuleSet {
  const problems: SigmaProblem[] = []
  const builder = new PlanBuilder()
  const detectors: Detector[] = []
  const compiled = new Map<SigmaDocument, number>()
  const drafts: SignalDraft[] = []
  const parts: { readonly signal: number; readonly target: number; readonly spec: CorrelationSpec }[] = []
  const addSignal = (info: RuleInfo | undefined): number => drafts.push({ info, isSilent: false, listeners: [] }) - 1
  const filters = readFilters(documents, options, problems)

  for (const document of documents) {
    if (document.kind !== 'detection') continue
    guarded(document, problems, (warn) => {
      const read = readRule(document, options, warn)
      const kept = filters.filter((filter) => filter.appliesTo(document)).map((filter) => filter.keeps)
      const signal = addSignal(document.info)
      const add = (expression: Expression, target: number): void => {
        const filtered = allOf([expression, ...kept])
        options.onDetector?.(filtered)
        detectors.push({ node: builder.add(filtered), logsource: document.logsource, signal: target })
      }
      if (read.plain.length > 0) add(anyOf(read.plain), signal)
      for (const { expression, spec } of read.aggregated) {
        const part = addSignal(undefined)
        add(expression, part)
        parts.push({ signal: part, target: signal, spec })
      }
      compiled.set(document, signal)
    })
  }
  const correlations: CompiledCorrelation[] = parts.map(({ signal, target, spec }, index) => {
    drafts[signal].listeners.push({ correlation: index, member: 0 })
    return { spec, signal: target, groupFields: [spec.groupBy] }
  })
  compileCorrelations(documents, { compiled, drafts, correlations, addSignal, problems })
  return {
    rules: documents.filter((document) => compiled.has(document)).map(({ info }) => info),
    problems,
    fields: builder.fields,
    literalCount: builder.literals.length,
    tests: builder.tests,
    nodes: builder.nodes,
    indexes: buildIndexes(builder),
    detectors,
    witnesses: detectors.map(({ node }) => builder.witnessOf(node)),
    signals: drafts.map(({ info, isSilent, listeners }) => ({ info: isSilent ? undefined : info, listeners })),
    correlations,
  }
}

/** The same set with some of its detectors, by their positions; signals and correlations stay what they are. */
export function restrictDetectors(set: RuleSet, detectors: readonly number[]): RuleSet {
  return {
    ...set,
    detectors: detectors.map((detector) => set.detectors[detector]),
    witnesses: detectors.map((detector) => set.witnesses[detector]),
  }
}

/** Names of the placeholders that rules ask for, sorted. */
export function listPlaceholders(documents: readonly SigmaDocument[]): readonly string[] {
  const names = new Set<string>()
  for (const document of documents) {
    if (document.kind === 'detection') placeholdersOf(document.detection, names)
    else if (document.kind === 'filter') placeholdersOf(document.filter, names)
  }
  return [...names].sort()
}

interface SignalDraft {
  readonly info: RuleInfo | undefined
  isSilent: boolean
  readonly listeners: Listener[]
}

type Warn = (at: number, message: string) => void

/** Runs what may throw a fault; returns whether it did not. */
function guarded(document: SigmaDocument, problems: SigmaProblem[], run: (warn: Warn) => void): boolean {
  const { info } = document
  const report = (severity: 'error' | 'warning', at: number, message: string, hint: string | undefined): void => {
    problems.push({ severity, file: info.file, line: document.lineOf(at), rule: info.title, message, hint })
  }
  try {
    run((at, message) => report('warning', at, message, undefined))
    return true
  } catch (error) {
    if (!(error instanceof SigmaFault)) throw error
    report('error', error.at, error.message, error.hint)
    return false
  }
}

interface ReadRule {
  readonly plain: readonly Expression[]
  readonly aggregated: readonly { readonly expression: Expression; readonly spec: CorrelationSpec }[]
}

function readRule(document: DetectionDocument, { placeholders }: CompileOptions, warn: Warn): ReadRule {
  const conditions = readDetection(document.detection, ['timeframe'], { placeholders, warn })
  const timeframe = entryOf(document.detection, 'timeframe')
  let spanMs = Infinity
  if (timeframe !== undefined) {
    const span = timeframe.value.kind === 'text' ? parseSpan(timeframe.value.text) : undefined
    if (span === undefined)
      throw new SigmaFault(timeframe.keyAt, 'the timeframe is not understood', 'write 30s, 10m, 2h, 1d')
    spanMs = span
    if (conditions.every(({ aggregation }) => aggregation === undefined)) {
      throw new SigmaFault(timeframe.keyAt, 'a timeframe needs an aggregation', 'write a correlation with a timespan')
    }
  }
  const plain: Expression[] = []
  const aggregated: { expression: Expression; spec: CorrelationSpec }[] = []
  for (const { expression, aggregation } of conditions) {
    if (aggregation === undefined) plain.push(expression)
    else aggregated.push({ expression, spec: correlationOfAggregation(aggregation, spanMs) })
  }
  return { plain, aggregated }
}

interface Filter {
  readonly keeps: Expression
  appliesTo(document: DetectionDocument): boolean
}

function readFilters(
  documents: readonly SigmaDocument[],
  { placeholders }: CompileOptions,
  problems: SigmaProblem[],
): readonly Filter[] {
  const filters: Filter[] = []
  for (const document of documents) {
    if (document.kind !== 'filter') continue
    guarded(document, problems, (warn) => {
      const conditions = readDetection(document.filter, ['rules'], { placeholders, warn })
      const keeps = conditions.map(({ expression, condition, aggregation }): Expression => {
        if (aggregation !== undefined) throw new SigmaFault(document.filter.at, 'a filter cannot aggregate')
        return isNegative(condition) ? expression : { kind: 'not', part: expression }
      })
      const appliesTo = (rule: DetectionDocument): boolean => refersTo(document, rule)
      if (!documents.some((other) => other.kind === 'detection' && appliesTo(other))) {
        warn(document.filter.at, 'the filter applies to no rule: none is called so and has its logsource')
      }
      filters.push({ keeps: allOf(keeps), appliesTo })
    })
  }
  return filters
}

function refersTo({ rules, logsource }: FilterDocument, rule: DetectionDocument): boolean {
  if (!sourceHas(rule.logsource, logsource)) return false
  return rules === undefined || rules.some((name) => name === rule.info.id || name === rule.info.name)
}

/** Whether a filter's condition says what is kept (`not selection`) rather than what is filtered out (`selection`). */
function isNegative(condition: Condition): boolean {
  if (condition.kind === 'not') return true
  return (condition.kind === 'and' || condition.kind === 'or') && condition.parts.every(isNegative)
}

interface CorrelationContext {
  readonly compiled: Map<SigmaDocument, number>
  readonly drafts: SignalDraft[]
  readonly correlations: CompiledCorrelation[]
  readonly addSignal: (info: RuleInfo) => number
  readonly problems: SigmaProblem[]
}

function compileCorrelations(documents: readonly SigmaDocument[], context: CorrelationContext): void {
  const { compiled, drafts, correlations, addSignal, problems } = context
  const byName = new Map<string, SigmaDocument>()
  for (const document of documents) {
    if (document.kind === 'filter') continue
    for (const name of [document.info.id, document.info.name]) {
      if (name !== undefined && !byName.has(name)) byName.set(name, document)
      else if (name !== undefined && byName.get(name) !== document) {
        const { file, line, title } = document.info
        const message = `another rule is called "${name}" too; correlations and filters by that name mean the first`
        problems.push({ severity: 'warning', file, line, rule: title, message, hint: undefined })
      }
    }
  }
  const reported = new Set<SigmaDocument>()
  const silenced = new Set<SigmaDocument>()
  const open = new Set<SigmaDocument>()
  const failed = new Set<SigmaDocument>()

  const compile = (document: CorrelationDocument): boolean => {
    if (compiled.has(document)) return true
    if (failed.has(document)) return false
    open.add(document)
    const succeeded = guarded(document, problems, () => {
      const { spec, at } = document
      const members = spec.rules.map((name) => {
        const member = byName.get(name)
        if (member === undefined)
          throw new SigmaFault(at, `there is no rule "${name}"`, 'load it too; rules go by id or name')
        if (open.has(member)) throw new SigmaFault(at, `the correlation refers to itself through "${name}"`)
        const usable = member.kind === 'correlation' ? compile(member) : compiled.has(member)
        if (!usable) throw new SigmaFault(at, `the rule "${name}" is not used, so neither is the correlation`)
        if (member.kind === 'correlation') checkChain(spec, member.spec, name, at)
        return member
      })
      if (new Set(members).size !== members.length) throw new SigmaFault(at, 'the correlation names a rule twice')
      const signal = addSignal(document.info)
      const groupFields = members.map(({ info }, index) =>
        spec.groupBy.map((entry) => {
          const alias = spec.aliases.get(entry)
          return alias?.get(info.name ?? '') ?? alias?.get(info.id ?? '') ?? alias?.get(spec.rules[index]) ?? entry
        }),
      )
      const correlation = correlations.push({ spec, signal, groupFields }) - 1
      members.forEach((member, index) => {
        const heard = compiled.get(member)
        if (heard !== undefined) drafts[heard].listeners.push({ correlation, member: index })
        if (spec.generate) reported.add(member)
        else silenced.add(member)
      })
      compiled.set(document, signal)
    })
    open.delete(document)
    if (!succeeded) failed.add(document)
    return succeeded
  }
  for (const document of documents) if (document.kind === 'correlation') compile(document)
  for (const document of silenced) {
    const signal = compiled.get(document)
    if (signal !== undefined && !reported.has(document)) drafts[signal].isSilent = true
  }
}

/** A correlation that matches when its window closes has no event, so only its groups can be read further up. */
function checkChain(spec: CorrelationSpec, child: CorrelationSpec, name: string, at: number): void {
  if (isRising(child)) return
  const known = (field: string): boolean => child.groupBy.includes(field)
  const fields = [...spec.fields, ...spec.groupBy.map((entry) => spec.aliases.get(entry)?.get(name) ?? entry)]
  const unknown = fields.find((field) => !known(field))
  if (unknown === undefined) return
  const hint = `add "${unknown}" to the group-by of "${name}"`
  throw new SigmaFault(at, `"${name}" matches when its window ends and has no "${unknown}" then`, hint)
}

function buildIndexes({ fields, literals, tests }: PlanBuilder): (LiteralIndex | undefined)[] {
  const targets: number[][] = literals.map(() => [])
  tests.forEach((test, id) => {
    if (test.kind === 'set') for (const literal of test.literals) targets[literal].push(id)
    else if (test.gate !== undefined) targets[test.gate].push(id)
  })
  const byField: IndexedLiteral[][] = fields.map(() => [])
  literals.forEach(({ field, kind, text }, id) => {
    if (targets[id].length > 0) byField[field].push({ kind, text, id, targets: targets[id] })
  })
  return byField.map((own) => (own.length === 0 ? undefined : new LiteralIndex(own)))
}
