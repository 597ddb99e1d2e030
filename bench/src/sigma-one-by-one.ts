/**
 * The peer of the Sigma bench: every rule is tried on every event of its log source, each literal a case-insensitive
 * RegExp. What one writes first; conditions end early, nothing is shared between rules.
 */
import { type SigmaEvent, sourceHas, textOf, valuesOf } from '@prexy/sigma/event'
import { readDetection } from '@prexy/sigma/detection'
import { anyOf, type Expression } from '@prexy/sigma/expression'
import { ANY_CHARACTER, ANY_TEXT, type Pattern } from '@prexy/sigma/pattern'
import type { DetectionDocument, SigmaDocument } from '@prexy/sigma/rule'

type Test = (event: SigmaEvent) => boolean

/** Returns the number of rules that match. Throws on tests that the bench has no use for. */
export function oneByOne(documents: readonly SigmaDocument[]): (event: SigmaEvent) => number {
  const rules = documents.flatMap((document) => (document.kind === 'detection' ? [compile(document)] : []))
  return (event) => {
    let found = 0
    for (const { logsource, test } of rules) {
      if ((event.sources ?? []).some((source) => sourceHas(source, logsource)) && test(event)) found++
    }
    return found
  }
}

function compile({ detection, logsource }: DetectionDocument): {
  logsource: DetectionDocument['logsource']
  test: Test
} {
  const conditions = readDetection(detection, [], { placeholders: new Map(), warn: () => {} })
  return { logsource, test: testOf(anyOf(conditions.map(({ expression }) => expression))) }
}

function testOf(expression: Expression): Test {
  if (expression.kind === 'not') {
    const test = testOf(expression.part)
    return (event) => !test(event)
  }
  if (expression.kind !== 'test') {
    const tests = expression.parts.map(testOf)
    return expression.kind === 'and'
      ? (event) => tests.every((test) => test(event))
      : (event) => tests.some((test) => test(event))
  }
  const { predicate } = expression
  const { field } = predicate
  if (predicate.kind === 'null') return (event) => isNull(event.get(predicate.field))
  const flags = predicate.kind === 'regex' ? (predicate.flags.i ? 'iu' : 'u') : 'i'
  if (predicate.kind !== 'text' && predicate.kind !== 'regex') throw new Error(`no bench for ${predicate.kind}`)
  const regex = new RegExp(predicate.kind === 'text' ? sourceOf(predicate.pattern) : predicate.source, flags)
  return (event) => {
    const value = field === undefined ? event.text() : event.get(field)
    if (value === undefined) return false
    return valuesOf(value).some((one) => {
      const text = textOf(one)
      return text !== undefined && regex.test(text)
    })
  }
}

function isNull(value: ReturnType<SigmaEvent['get']>): boolean {
  return value === undefined || value === null
}

/** Anchors only where the pattern has no star, which is what V8 searches fastest. */
function sourceOf(pattern: Pattern): string {
  const parts = pattern.map((part, index) => {
    if (part === ANY_CHARACTER) return '[^]'
    if (part === ANY_TEXT) return index === 0 || index === pattern.length - 1 ? '' : '[^]*'
    return part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  })
  return `${pattern[0] === ANY_TEXT ? '' : '^'}${parts.join('')}${pattern.at(-1) === ANY_TEXT ? '' : '$'}`
}
