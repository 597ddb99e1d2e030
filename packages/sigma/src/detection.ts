/** The `detection` part of a rule, or the `filter` part of a filter, as an expression. */
import { type Aggregation, type Condition, matchesIdentifier, parseCondition } from './condition.ts'
import { allOf, anyOf, type Expression } from './expression.ts'
import { type ItemContext, placeholdersIn, readItem } from './modifiers.ts'
import type { Placeholders } from './placeholders.ts'
import { SigmaFault } from './problem.ts'
import { entryOf, type SourceMap, type SourceNode, type SourceScalar } from './source-tree.ts'

/** Expressions inside each other, from conditions and search identifiers together; later passes recurse. */
const MAX_DETECTION_DEPTH = 64

/** One condition of a rule; a rule with several is true when one of them is. */
export interface ReadCondition {
  readonly expression: Expression
  readonly condition: Condition
  readonly aggregation: Aggregation | undefined
}

export interface DetectionContext {
  readonly placeholders: Placeholders
  warn(at: number, message: string): void
}

/** Reads the search identifiers and conditions; `others` are keys that are neither. Throws a `SigmaFault`. */
export function readDetection(
  detection: SourceMap,
  others: readonly string[],
  context: DetectionContext,
): readonly ReadCondition[] {
  const selections = new Map<string, Expression>()
  for (const { key, keyAt, value } of detection.entries) {
    if (key === 'condition' || others.includes(key)) continue
    selections.set(key, readSelection(value, keyAt, context, 0))
  }
  const entry = entryOf(detection, 'condition')
  if (entry === undefined) throw new SigmaFault(detection.at, 'there is no condition', 'add "condition: selection"')
  if (selections.size === 0) throw new SigmaFault(detection.at, 'there is no search identifier')
  const used = new Set<string>()
  const conditions = conditionTexts(entry.value).map(({ text, at }): ReadCondition => {
    const { condition, aggregation } = parseCondition(text, at)
    return { expression: resolve(condition, selections, used, at), condition, aggregation }
  })
  for (const { key, keyAt } of detection.entries) {
    if (selections.has(key) && !used.has(key) && !key.startsWith('_')) {
      context.warn(keyAt, `the condition does not use "${key}"`)
    }
  }
  return conditions
}

function conditionTexts(node: SourceNode): readonly SourceScalar[] {
  const items = node.kind === 'list' ? node.items : [node]
  const texts = items.map((item) => {
    if (item.kind !== 'text') throw new SigmaFault(item.at, 'a condition is a text, or a list of texts')
    return item
  })
  if (texts.length === 0) throw new SigmaFault(node.at, 'the list of conditions is empty')
  return texts
}

function resolve(
  condition: Condition,
  selections: ReadonlyMap<string, Expression>,
  used: Set<string>,
  at: number,
): Expression {
  switch (condition.kind) {
    case 'identifier': {
      const selection = selections.get(condition.name)
      if (selection === undefined) {
        throw new SigmaFault(at, `the condition names "${condition.name}", which is no search identifier of the rule`)
      }
      used.add(condition.name)
      return selection
    }
    case 'of': {
      const found = [...selections].filter(([name]) => matchesIdentifier(condition.pattern, name))
      if (found.length === 0) {
        throw new SigmaFault(at, `no search identifier matches "${condition.pattern}" of the condition`)
      }
      for (const [name] of found) used.add(name)
      const parts = found.map(([, selection]) => selection)
      return condition.quantifier === 'all' ? allOf(parts) : anyOf(parts)
    }
    case 'not':
      return { kind: 'not', part: resolve(condition.part, selections, used, at) }
    default:
      return { kind: condition.kind, parts: condition.parts.map((part) => resolve(part, selections, used, at)) }
  }
}

function readSelection(node: SourceNode, at: number, context: DetectionContext, depth: number): Expression {
  if (depth > MAX_DETECTION_DEPTH) throw new SigmaFault(at, `lists are nested more than ${MAX_DETECTION_DEPTH} deep`)
  switch (node.kind) {
    case 'map':
      if (node.entries.length === 0) throw new SigmaFault(at, 'a search identifier is empty')
      return allOf(node.entries.map(({ key, keyAt, value }) => readEntry(key, keyAt, value, context)))
    case 'list':
      if (node.items.length === 0) throw new SigmaFault(at, 'a search identifier is empty')
      return anyOf(node.items.map((item) => readSelection(item, item.at, context, depth + 1)))
    default:
      return readItem(undefined, [], [node], itemContext(at, context))
  }
}

function readEntry(key: string, keyAt: number, value: SourceNode, context: DetectionContext): Expression {
  const [name, ...modifiers] = key.split('|')
  const field = name === '' ? undefined : name
  return readItem(field, modifiers, valuesOf(key, keyAt, value), itemContext(keyAt, context))
}

function itemContext(keyAt: number, context: DetectionContext): ItemContext {
  return { placeholders: context.placeholders, keyAt, warn: (at, message) => context.warn(at, message) }
}

function valuesOf(key: string, keyAt: number, value: SourceNode): readonly SourceScalar[] {
  if (value.kind === 'map') {
    const keys = value.entries.map((entry) => entry.key).join(', ')
    throw new SigmaFault(value.at, `"${key}" holds a map (${keys})`, 'the specification has values and lists of values')
  }
  if (value.kind !== 'list') return [value]
  if (value.items.length === 0)
    throw new SigmaFault(keyAt, `"${key}" has an empty list`, 'write null for an absent field')
  return value.items.map((item) => {
    if (item.kind === 'map' || item.kind === 'list') {
      throw new SigmaFault(item.at, `a value of "${key}" is a ${item.kind}`, 'values are texts, numbers, true or false')
    }
    return item
  })
}

/** Names of all placeholders that a detection asks for, found without values. */
export function placeholdersOf(node: SourceNode, into: Set<string> = new Set()): Set<string> {
  if (node.kind === 'list') for (const item of node.items) placeholdersOf(item, into)
  if (node.kind !== 'map') return into
  for (const { key, value } of node.entries) {
    placeholdersOf(value, into)
    if (!key.split('|').slice(1).includes('expand')) continue
    for (const item of value.kind === 'list' ? value.items : [value]) {
      if (item.kind === 'text') for (const name of placeholdersIn(item.text)) into.add(name)
    }
  }
  return into
}
