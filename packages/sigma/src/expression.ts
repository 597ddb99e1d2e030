/** What a rule asks of one event: tests of fields, put together by and, or, not. */
import type { ParsedPattern } from '@prexy/regex/ast'
import type { DatePart } from './date-part.ts'
import type { Network } from './network.ts'
import type { ComparisonOperator } from './numeric.ts'
import type { Pattern } from './pattern.ts'

export interface RegexFlags {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
}

export type ReferenceTest = 'equals' | 'startswith' | 'endswith' | 'contains'

/** A test of one field of an event; `field` is undefined for a keyword, which is looked for in the whole event. */
export type Predicate =
  /** The whole text matches the pattern. Without `cased` the pattern is folded already. */
  | { readonly kind: 'text'; readonly field: string | undefined; readonly pattern: Pattern; readonly cased: boolean }
  | {
      readonly kind: 'regex'
      readonly field: string | undefined
      readonly source: string
      readonly flags: RegexFlags
      readonly parsed: ParsedPattern
    }
  | {
      readonly kind: 'compare'
      readonly field: string
      /** Which part of the field's date is compared; undefined for the field's own number. */
      readonly part: DatePart | undefined
      readonly operator: ComparisonOperator
      readonly value: number
    }
  | { readonly kind: 'network'; readonly field: string; readonly network: Network }
  /** The event has the field, whatever it holds. */
  | { readonly kind: 'exists'; readonly field: string }
  /** The event lacks the field, or it holds null. */
  | { readonly kind: 'null'; readonly field: string }
  | {
      readonly kind: 'reference'
      readonly field: string
      readonly other: string
      readonly test: ReferenceTest
      readonly cased: boolean
    }

export type Expression =
  | { readonly kind: 'test'; readonly predicate: Predicate }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly part: Expression }

export function allOf(parts: readonly Expression[]): Expression {
  return parts.length === 1 ? parts[0] : { kind: 'and', parts }
}

export function anyOf(parts: readonly Expression[]): Expression {
  return parts.length === 1 ? parts[0] : { kind: 'or', parts }
}
