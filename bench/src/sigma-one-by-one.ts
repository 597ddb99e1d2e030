/**
 * The peer of the Sigma bench: every rule is tried on every event of its log source, each literal a case-insensitive
 * RegExp. What one writes first; conditions end early, nothing is shared between rules.
 */
import { type SigmaEvent, sourceHas, textOf, valuesOf } from '@prexy/sigma/event'
import { readDetection } from '@prexy/sigma/detection'
import { anyOf, type Expression, type Predicate } from '@prexy/sigma/expression'
import { ANY_CHARACTER, ANY_TEXT, type Pattern } from '@prexy/sigma/pattern'
import type { DetectionDocument, SigmaDocument } from '@prexy/sigma/rule'
import { compareTexts, valueTest } from '@prexy/sigma/run-test'

type Test = (event: SigmaEvent) => boolean

/** Returns the number of rules that match. */
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
  return predicateTest(expression.predicate)
}

function predicateTest(predicate: Predicate): Test {
  switch (predicate.kind) {
    case 'null':
      return (event) => valuesOf(event.get(predicate.field)).every((value) => value === null)
    case 'exists':
      return (event) => valuesOf(event.get(predicate.field)).length > 0
    case 'reference':
      return (event) => {
        const others = valuesOf(event.get(predicate.other))
        return valuesOf(event.get(predicate.field)).some((value) =>
          others.some((other) => compareTexts(value, other, predicate.test, predicate.cased)),
        )
      }
    case 'compare':
    case 'network': {
      const test = valueTest(predicate)
      return (event) => valuesOf(event.get(predicate.field)).some(test)
    }
    case 'text':
    case 'regex': {
      const { field } = predicate
      const regex = predicate.kind === 'text' ? new RegExp(sourceOf(predicate.pattern), 'i') : regexOf(predicate)
      return (event) => {
        return valuesOf(field === undefined ? event.text() : event.get(field)).some((value) => {
          const text = textOf(value)
          return text !== undefined && regex.test(text)
        })
      }
    }
  }
}

const LEADING_FLAG = '(?i)'

function regexOf({ source, flags }: Extract<Predicate, { kind: 'regex' }>): RegExp {
  const isCaseless = flags.i || source.startsWith(LEADING_FLAG)
  return new RegExp(source.startsWith(LEADING_FLAG) ? source.slice(LEADING_FLAG.length) : source, isCaseless ? 'i' : '')
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
