/** The `correlation` part of a document: specification "Sigma Correlation Rules" 2.1.0. */
import type { Aggregation } from './condition.ts'
import type { ComparisonOperator } from './numeric.ts'
import { SigmaFault } from './problem.ts'
import { entryOf, type SourceEntry, type SourceMap } from './source-tree.ts'

/** `value_median` is the reference implementation's. */
const TYPES = [
  'event_count',
  'value_count',
  'value_sum',
  'value_avg',
  'value_percentile',
  'value_median',
  'temporal',
  'temporal_ordered',
] as const

/** What is computed of the events in a window; `share` is `value_percentile` without a percentile. */
export type CorrelationType =
  | Exclude<(typeof TYPES)[number], 'value_median'>
  | 'value_share'
  | 'value_min'
  | 'value_max'

/** The condition is a conjunction of these. */
export interface Bound {
  readonly operator: ComparisonOperator
  readonly value: number
}

export interface CorrelationSpec {
  readonly type: CorrelationType
  /** Ids or names, in the order of the document. */
  readonly rules: readonly string[]
  readonly groupBy: readonly string[]
  /** Field by rule (id or name), by alias. */
  readonly aliases: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Length of the window in milliseconds; Infinity for an obsolete aggregation without a timeframe. */
  readonly spanMs: number
  /** Fields whose values are counted or computed with. */
  readonly fields: readonly string[]
  /** For `value_percentile`, from 0 to 100. */
  readonly percentile: number
  readonly bounds: readonly Bound[]
  /** The rules that are referred to report their own matches too. */
  readonly generate: boolean
}

/** Most distinct rules of one correlation. */
export const MAX_CORRELATED_RULES = 1_000

/** Throws a `SigmaFault`. */
export function readCorrelation(map: SourceMap): CorrelationSpec {
  const typeText = textOf(map, 'type')
  const type = TYPES.find((candidate) => candidate === typeText)
  if (type === undefined) {
    const what = typeText === undefined ? 'the correlation has no type' : `there is no correlation type "${typeText}"`
    throw new SigmaFault(entryOf(map, 'type')?.keyAt ?? map.at, what, `the types are ${TYPES.join(', ')}`)
  }
  const rules = textsOf(map, 'rules')
  if (rules.length === 0)
    throw new SigmaFault(map.at, 'the correlation names no rules', 'add "rules:" with ids or names')
  if (rules.length > MAX_CORRELATED_RULES) {
    throw new SigmaFault(map.at, `a correlation takes up to ${MAX_CORRELATED_RULES} rules`)
  }
  const condition = readCondition(entryOf(map, 'condition'), type, map.at, rules.length)
  const generate = entryOf(map, 'generate')
  if (generate !== undefined && generate.value.kind !== 'boolean') {
    throw new SigmaFault(generate.keyAt, '"generate" is true or false')
  }
  return {
    type: typeOf(type, condition.percentile),
    rules,
    groupBy: textsOf(map, 'group-by'),
    aliases: readAliases(entryOf(map, 'aliases')),
    spanMs: readSpan(map),
    fields: condition.fields,
    percentile: type === 'value_median' ? 50 : (condition.percentile ?? 0),
    bounds: condition.bounds,
    generate:
      generate !== undefined && generate.value.kind === 'boolean' && generate.value.text.toLowerCase() === 'true',
  }
}

function typeOf(type: (typeof TYPES)[number], percentile: number | undefined): CorrelationType {
  if (type === 'value_median') return 'value_percentile'
  return type === 'value_percentile' && percentile === undefined ? 'value_share' : type
}

interface ReadCondition {
  readonly fields: readonly string[]
  readonly percentile: number | undefined
  readonly bounds: readonly Bound[]
}

const OPERATORS: readonly ComparisonOperator[] = ['gt', 'gte', 'lt', 'lte', 'eq', 'neq']

function readCondition(
  entry: SourceEntry | undefined,
  type: (typeof TYPES)[number],
  at: number,
  ruleCount: number,
): ReadCondition {
  const isTemporal = type === 'temporal' || type === 'temporal_ordered'
  if (entry === undefined) {
    if (!isTemporal) throw new SigmaFault(at, `"${type}" needs a condition`, 'such as "condition:" with "gte: 10"')
    return { fields: [], percentile: undefined, bounds: [{ operator: 'gte', value: ruleCount }] }
  }
  if (entry.value.kind !== 'map') {
    throw new SigmaFault(entry.keyAt, 'the condition of a correlation is a map', 'such as "gte: 10"')
  }
  const bounds: Bound[] = []
  let fields: readonly string[] = []
  let percentile: number | undefined
  for (const { key, keyAt, value } of entry.value.entries) {
    const operator = OPERATORS.find((candidate) => candidate === key)
    const number = value.kind === 'number' || value.kind === 'text' ? Number(value.text) : Number.NaN
    if (operator !== undefined) {
      if (!Number.isFinite(number)) throw new SigmaFault(keyAt, `"${key}" needs a number`)
      bounds.push({ operator, value: number })
    } else if (key === 'percentile') {
      if (!(number >= 0 && number <= 100)) throw new SigmaFault(keyAt, '"percentile" is a number from 0 to 100')
      percentile = number
    } else if (key === 'field') fields = textsOf(entry.value, 'field')
    else
      throw new SigmaFault(
        keyAt,
        `the condition of a correlation has no "${key}"`,
        `there are ${OPERATORS.join(', ')}, field`,
      )
  }
  if (bounds.length === 0)
    throw new SigmaFault(entry.keyAt, 'the condition compares nothing', `add ${OPERATORS.join(' or ')}`)
  const isValue = type.startsWith('value_')
  if (isValue && fields.length === 0) throw new SigmaFault(entry.keyAt, `"${type}" needs a field in its condition`)
  if (!isValue && fields.length > 0) throw new SigmaFault(entry.keyAt, `"${type}" has no field`)
  if (isValue && type !== 'value_count' && fields.length > 1) {
    throw new SigmaFault(entry.keyAt, `"${type}" takes one field`)
  }
  if (percentile !== undefined && type !== 'value_percentile') {
    throw new SigmaFault(entry.keyAt, `"${type}" has no percentile`)
  }
  if (isTemporal) checkTemporal(bounds, type, ruleCount, entry.keyAt)
  return { fields, percentile, bounds }
}

function checkTemporal(bounds: readonly Bound[], type: string, ruleCount: number, at: number): void {
  const least = leastCount(bounds)
  if (least === undefined) {
    throw new SigmaFault(
      at,
      `"${type}" takes gte or gt`,
      'that a rule did not match is not known before the window ends',
    )
  }
  if (least > ruleCount)
    throw new SigmaFault(at, `the correlation has ${ruleCount} rules and can never meet its condition`)
  if (type === 'temporal_ordered' && least !== ruleCount) {
    throw new SigmaFault(at, '"temporal_ordered" needs all of its rules', 'leave the condition out')
  }
}

/** The least whole number that meets all bounds when they are only lower ones; undefined when others are among them. */
export function leastCount(bounds: readonly Bound[]): number | undefined {
  let least = 1
  for (const { operator, value } of bounds) {
    if (operator === 'gte') least = Math.max(least, Math.ceil(value))
    else if (operator === 'gt') least = Math.max(least, Math.floor(value) + 1)
    else return undefined
  }
  return least
}

/** A fixed table: a month has 30.44 days, as in the reference implementation. */
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
  ['M', 2_629_746_000],
])

/** `90m` in milliseconds; undefined when the text is no time span. */
export function parseSpan(text: string): number | undefined {
  const match = /^(\d{1,9})([smhdwM])$/.exec(text)
  const unit = match === null ? undefined : UNIT_MS.get(match[2])
  const span = match === null || unit === undefined ? 0 : Number(match[1]) * unit
  return span > 0 ? span : undefined
}

function readSpan(map: SourceMap): number {
  const entry = entryOf(map, 'timespan') ?? entryOf(map, 'timeframe')
  if (entry === undefined) throw new SigmaFault(map.at, 'the correlation has no timespan', 'such as "timespan: 10m"')
  const span = entry.value.kind === 'text' ? parseSpan(entry.value.text) : undefined
  if (span === undefined)
    throw new SigmaFault(entry.keyAt, 'the timespan is not understood', 'write 30s, 10m, 2h or 1d')
  return span
}

function readAliases(entry: SourceEntry | undefined): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const aliases = new Map<string, ReadonlyMap<string, string>>()
  if (entry === undefined) return aliases
  const hint = 'an alias maps rules to fields: "alias: {rule: field}"'
  if (entry.value.kind !== 'map') throw new SigmaFault(entry.keyAt, 'the aliases are no map', hint)
  for (const { key, keyAt, value } of entry.value.entries) {
    if (value.kind !== 'map') throw new SigmaFault(keyAt, `the alias "${key}" is no map`, hint)
    const fields = value.entries.map((field): [string, string] => {
      if (field.value.kind !== 'text') throw new SigmaFault(field.keyAt, `the alias "${key}" has no field`, hint)
      return [field.key, field.value.text]
    })
    aliases.set(key, new Map(fields))
  }
  return aliases
}

function textOf(map: SourceMap, key: string): string | undefined {
  const value = entryOf(map, key)?.value
  return value?.kind === 'text' ? value.text : undefined
}

function textsOf(map: SourceMap, key: string): readonly string[] {
  const entry = entryOf(map, key)
  if (entry === undefined || entry.value.kind === 'null') return []
  const items = entry.value.kind === 'list' ? entry.value.items : [entry.value]
  return items.map((item) => {
    if (item.kind !== 'text' && item.kind !== 'number')
      throw new SigmaFault(entry.keyAt, `"${key}" is a text or a list of texts`)
    return item.text
  })
}

const AGGREGATE_TYPES = {
  sum: 'value_sum',
  avg: 'value_avg',
  min: 'value_min',
  max: 'value_max',
} as const

/** An obsolete aggregation as a correlation over its own rule. */
export function correlationOfAggregation(aggregation: Aggregation, spanMs: number): CorrelationSpec {
  const { aggregate, field, groupBy, operator, value } = aggregation
  const type = aggregate !== 'count' ? AGGREGATE_TYPES[aggregate] : field === undefined ? 'event_count' : 'value_count'
  return {
    type,
    rules: [],
    groupBy,
    aliases: new Map(),
    spanMs,
    fields: field === undefined ? [] : [field],
    percentile: 0,
    bounds: [{ operator, value }],
    generate: false,
  }
}
