/**
 * Conditions over search identifiers: `or` binds least, then `and`, `not`, `1 of`, parentheses.
 *
 * Words of the grammar may be written in lower or upper case. The obsolete `| count() by x > 5` behind a condition is
 * read too.
 */
import type { ComparisonOperator } from './numeric.ts'
import { SigmaFault } from './problem.ts'

/** Parentheses and negations inside each other. */
export const MAX_CONDITION_DEPTH = 100
/** Length of a condition in UTF-16 code units. */
export const MAX_CONDITION_CHARACTERS = 20_000

export type Condition =
  | { readonly kind: 'identifier'; readonly name: string }
  /** One or all of the search identifiers that match a pattern; `them` is `*`. */
  | { readonly kind: 'of'; readonly quantifier: 'one' | 'all'; readonly pattern: string }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }

export const AGGREGATES = ['count', 'sum', 'avg', 'min', 'max'] as const
export type Aggregate = (typeof AGGREGATES)[number]

/** The obsolete aggregation behind a pipe. */
export interface Aggregation {
  readonly aggregate: Aggregate
  /** Undefined for `count()`. */
  readonly field: string | undefined
  readonly groupBy: readonly string[]
  readonly operator: ComparisonOperator
  readonly value: number
}

export interface ParsedCondition {
  readonly condition: Condition
  readonly aggregation: Aggregation | undefined
}

/** Throws a `SigmaFault` at `at`, where the condition stands in its file. */
export function parseCondition(text: string, at: number): ParsedCondition {
  if (text.length > MAX_CONDITION_CHARACTERS) {
    throw new SigmaFault(at, `the condition is longer than ${MAX_CONDITION_CHARACTERS} characters`)
  }
  const pipe = text.indexOf('|')
  const tokens = (pipe < 0 ? text : text.slice(0, pipe)).match(/[()]|[^\s()]+/g) ?? []
  const reader: Reader = { tokens, next: 0, at, depth: 0 }
  const condition = readOr(reader)
  if (reader.next < tokens.length) {
    throw new SigmaFault(at, `the condition goes on with "${tokens[reader.next]}" where it should end`)
  }
  return { condition, aggregation: pipe < 0 ? undefined : parseAggregation(text.slice(pipe + 1), at) }
}

interface Reader {
  readonly tokens: readonly string[]
  next: number
  readonly at: number
  depth: number
}

function acceptWord(reader: Reader, word: string): boolean {
  const token = reader.tokens[reader.next]
  if (token !== word && token !== word.toUpperCase()) return false
  reader.next++
  return true
}

function readOr(reader: Reader): Condition {
  const parts = [readAnd(reader)]
  while (acceptWord(reader, 'or')) parts.push(readAnd(reader))
  return parts.length === 1 ? parts[0] : { kind: 'or', parts }
}

function readAnd(reader: Reader): Condition {
  const parts = [readNot(reader)]
  while (acceptWord(reader, 'and')) parts.push(readNot(reader))
  return parts.length === 1 ? parts[0] : { kind: 'and', parts }
}

function readNot(reader: Reader): Condition {
  if (!acceptWord(reader, 'not')) return readOperand(reader)
  return { kind: 'not', part: deeper(reader, readNot) }
}

function deeper(reader: Reader, read: (reader: Reader) => Condition): Condition {
  if (reader.depth >= MAX_CONDITION_DEPTH) {
    throw new SigmaFault(reader.at, `the condition is nested more than ${MAX_CONDITION_DEPTH} deep`)
  }
  reader.depth++
  const condition = read(reader)
  reader.depth--
  return condition
}

const GRAMMAR_WORDS = /^(?:and|or|not|of|AND|OR|NOT|OF|\))$/

function readOperand(reader: Reader): Condition {
  const token = reader.tokens[reader.next]
  if (token === undefined) throw new SigmaFault(reader.at, 'the condition ends where a search identifier should stand')
  if (GRAMMAR_WORDS.test(token)) {
    throw new SigmaFault(reader.at, `the condition has "${token}" where a search identifier should stand`)
  }
  reader.next++
  if (token === '(') {
    const inner = deeper(reader, readOr)
    if (reader.tokens[reader.next] !== ')') throw new SigmaFault(reader.at, 'the condition lacks a closing parenthesis')
    reader.next++
    return inner
  }
  if (!acceptWord(reader, 'of')) {
    if (token.includes('*')) {
      throw new SigmaFault(reader.at, `"${token}" is a pattern`, `write "1 of ${token}" or "all of ${token}"`)
    }
    return { kind: 'identifier', name: token }
  }
  return readSelector(reader, token)
}

function readSelector(reader: Reader, quantifier: string): Condition {
  const word = quantifier.toLowerCase()
  if (word !== '1' && word !== 'any' && word !== 'all') {
    throw new SigmaFault(reader.at, `"${quantifier} of" is not in the specification`, 'there are "1 of" and "all of"')
  }
  const pattern = reader.tokens[reader.next]
  if (pattern === undefined || pattern === '(' || GRAMMAR_WORDS.test(pattern)) {
    throw new SigmaFault(reader.at, `"${quantifier} of" needs a pattern or "them"`)
  }
  reader.next++
  const isThem = pattern === 'them' || pattern === 'THEM'
  return { kind: 'of', quantifier: word === 'all' ? 'all' : 'one', pattern: isThem ? '*' : pattern }
}

/** Characters behind the pipe. */
const MAX_AGGREGATION_CHARACTERS = 1_000
const AGGREGATION =
  /^\s*(\w+)\s*\(\s*([^\s()]*)\s*\)\s*(?:by\s+([^<>=!]+?)\s*)?(<=|>=|==|=|!=|<|>)\s*(-?\d+(?:\.\d+)?)\s*$/i

const SIGNS: ReadonlyMap<string, ComparisonOperator> = new Map([
  ['<', 'lt'],
  ['<=', 'lte'],
  ['>', 'gt'],
  ['>=', 'gte'],
  ['=', 'eq'],
  ['==', 'eq'],
  ['!=', 'neq'],
])

function parseAggregation(text: string, at: number): Aggregation {
  if (text.length > MAX_AGGREGATION_CHARACTERS) {
    throw new SigmaFault(at, `the aggregation is longer than ${MAX_AGGREGATION_CHARACTERS} characters`)
  }
  if (/^\s*near\b/i.test(text)) {
    throw new SigmaFault(at, '"near" is obsolete and not evaluated', 'write a correlation of the type temporal')
  }
  const match = AGGREGATION.exec(text)
  const hint = 'such as "| count(User) by Computer > 5"; correlations are the modern form'
  if (match === null) throw new SigmaFault(at, 'the aggregation behind "|" is not understood', hint)
  const aggregate = AGGREGATES.find((name) => name === match[1].toLowerCase())
  const operator = SIGNS.get(match[4])
  if (aggregate === undefined || operator === undefined) {
    throw new SigmaFault(at, `there is no aggregation "${match[1]}"`, hint)
  }
  const field = match[2] === '' || match[2] === '*' ? undefined : match[2]
  if (field === undefined && aggregate !== 'count') throw new SigmaFault(at, `"${aggregate}" needs a field`, hint)
  const groupBy = (match[3] ?? '').split(/[\s,]+/).filter((name) => name !== '')
  return { aggregate, field, groupBy, operator, value: Number(match[5]) }
}

/** Whether a search identifier matches a pattern with `*` anywhere. Names with a leading `_` need a pattern with one. */
export function matchesIdentifier(pattern: string, name: string): boolean {
  if (name.startsWith('_') && !pattern.startsWith('_')) return false
  const pieces = pattern.split('*')
  if (pieces.length === 1) return pattern === name
  const last = pieces[pieces.length - 1]
  if (!name.startsWith(pieces[0])) return false
  let from = pieces[0].length
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, from)
    if (found < 0) return false
    from = found + piece.length
  }
  return name.length - from >= last.length && name.endsWith(last)
}
