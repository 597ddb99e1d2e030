/** Tests that are run on a value, not found by an index. */
import { compileWildcards, matchesWildcards } from './pattern.ts'
import { datePartOf } from './date-part.ts'
import { type FieldScalar, textOf } from './event.ts'
import type { Predicate, ReferenceTest } from './expression.ts'
import { foldCase } from './fold.ts'
import { isInNetwork, parseAddress } from './network.ts'
import { compareNumbers, numberOf } from './numeric.ts'
import { Recognizer } from './recognizer.ts'

/** Predicates that look at one value alone. */
export type ValuePredicate = Extract<Predicate, { kind: 'text' | 'regex' | 'compare' | 'network' }>

/** The test of a single value, with whatever it needs compiled. */
export function valueTest(predicate: ValuePredicate): (value: FieldScalar) => boolean {
  switch (predicate.kind) {
    case 'text': {
      const wildcards = compileWildcards(predicate.pattern)
      const { cased } = predicate
      return (value) => {
        const text = textOf(value)
        return text !== undefined && matchesWildcards(wildcards, cased ? text : foldCase(text))
      }
    }
    case 'regex': {
      // Most are never run: the literal that they need is not there.
      let recognizer: Recognizer | undefined
      return (value) => {
        const text = textOf(value)
        if (text === undefined) return false
        recognizer ??= new Recognizer(predicate.parsed)
        return recognizer.test(text)
      }
    }
    case 'compare': {
      const { part, operator, value: wanted } = predicate
      return (value) => {
        const number = part === undefined ? numberOf(value) : datePartOf(value, part)
        return number !== undefined && compareNumbers(number, operator, wanted)
      }
    }
    case 'network': {
      const { network } = predicate
      return (value) => {
        const address = typeof value === 'string' ? parseAddress(value) : undefined
        return address !== undefined && isInNetwork(address, network)
      }
    }
  }
}

/** Compares a value with that of another field. Null has no text and is equal to nothing. */
export function compareTexts(value: FieldScalar, other: FieldScalar, test: ReferenceTest, cased: boolean): boolean {
  const [left, right] = [textOf(value), textOf(other)]
  if (left === undefined || right === undefined) return false
  const [text, wanted] = cased ? [left, right] : [foldCase(left), foldCase(right)]
  switch (test) {
    case 'equals':
      return text === wanted
    case 'contains':
      return text.includes(wanted)
    case 'startswith':
      return text.startsWith(wanted)
    case 'endswith':
      return text.endsWith(wanted)
  }
}
