/**
 * What a rule asks of an event, as a condition of SQL that is true of the same events as ours: over texts that were folded
 * and numbers and addresses that were read when the events were loaded, so that no engine's own idea of them matters.
 */
import type { LogSource } from './event.ts'
import type { Expression, Predicate } from './expression.ts'
import type { Network } from './network.ts'
import { ANY_TEXT, type Pattern } from './pattern.ts'
import { literalOf } from './plan.ts'
import type { SqlDialect, ValueColumn } from './sql-dialect.ts'
import { re2OfRegex, re2OfWildcards } from './sql-regex.ts'
import { SqlRefusal } from './sql-refusal.ts'

/** A condition, and what a query needs for it. */
export interface SqlCondition {
  readonly condition: string
  /** Names of lists of {@link SqlLists}. */
  readonly lists: readonly string[]
}

/** The lists that conditions of one hunt refer to: a name for each column and field. */
export class SqlLists {
  readonly #dialect: SqlDialect
  readonly #names: Map<string, string>
  readonly #definitions: Map<string, string>

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect
    this.#names = new Map()
    this.#definitions = new Map()
  }

  nameOf(column: ValueColumn, field: string): string {
    const key = `${column} ${field}`
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const name = `l${this.#names.size}_`
    this.#names.set(key, name)
    this.#definitions.set(name, this.#dialect.valuesOf(column, field))
    return name
  }

  definition(name: string): readonly [name: string, definition: string] {
    return [name, this.#definitions.get(name) ?? '']
  }
}

/** The condition of an expression, or why there is none. */
export function sqlCondition(
  expression: Expression,
  dialect: SqlDialect,
  lists: SqlLists,
): SqlCondition | { readonly refusal: string } {
  try {
    const compiler = new ConditionCompiler(dialect, lists)
    const condition = compiler.compile(expression)
    return { condition, lists: [...compiler.used] }
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error
    return { refusal: error.message }
  }
}

/** Why rules of a log source cannot be routed in SQL; undefined: they can. */
export function routeRefusal({ category, product, service }: LogSource): string | undefined {
  return [category, product, service].some((part) => part === '' || (part !== undefined && !isWellFormed(part)))
    ? 'a part of its log source is empty or no text'
    : undefined
}

type TextPredicate = Extract<Predicate, { kind: 'text' }>

/** Tests of the texts of one list, of which one has to be true. */
interface TextTests {
  readonly equals: string[]
  readonly others: Pattern[]
}

/**
 * Patterns that are looked for as alternatives of one: what an engine takes to understand a query grows with the square
 * of its parts, and what RE2 takes for its states with the alternatives.
 */
const MAX_ALTERNATIVES = 64
/** All of them together; written as a pattern a character takes four at most. */
const MAX_ALTERNATIVE_CHARACTERS = 4_000

class ConditionCompiler {
  readonly used: Set<string>
  readonly #dialect: SqlDialect
  readonly #lists: SqlLists

  constructor(dialect: SqlDialect, lists: SqlLists) {
    this.used = new Set()
    this.#dialect = dialect
    this.#lists = lists
  }

  compile(expression: Expression): string {
    switch (expression.kind) {
      case 'not':
        return `(NOT ${this.compile(expression.part)})`
      case 'and':
        if (expression.parts.length === 0) return '(1 = 1)'
        return `(${expression.parts.map((part) => this.compile(part)).join(' AND ')})`
      case 'or':
        return this.#compileAny(expression.parts)
      case 'test':
        return this.#compileAny([expression])
    }
  }

  /** Texts that one list is tested for are tested together: a list is gone through once. */
  #compileAny(parts: readonly Expression[]): string {
    const byList = new Map<string, TextTests>()
    const keywords = { text: new Array<Pattern>(), text_folded: new Array<Pattern>() }
    const conditions: string[] = []
    const visit = (part: Expression): void => {
      if (part.kind === 'or') part.parts.forEach(visit)
      else if (part.kind !== 'test') conditions.push(this.compile(part))
      else if (part.predicate.kind === 'text' && part.predicate.field === undefined) {
        keywords[part.predicate.cased ? 'text' : 'text_folded'].push(part.predicate.pattern)
      } else if (part.predicate.kind === 'text' && part.predicate.field !== undefined) {
        const list = this.#list(part.predicate.cased ? 'texts' : 'folded', part.predicate.field)
        const tests = byList.get(list) ?? { equals: [], others: [] }
        byList.set(list, tests)
        this.#addTextTest(part.predicate, tests)
      } else conditions.push(this.#compileTest(part.predicate))
    }
    parts.forEach(visit)
    for (const [list, { equals, others }] of byList) {
      if (equals.length > 0) conditions.push(this.#dialect.hasAny(list, [...new Set(equals)]))
      if (others.length > 0) conditions.push(this.#dialect.some(list, this.#anyOf(others, 'v_').join(' OR ')))
    }
    for (const column of ['text', 'text_folded'] as const) conditions.push(...this.#anyOf(keywords[column], column))
    if (conditions.length === 0) return '(1 = 0)'
    return conditions.length === 1 ? conditions[0] : `(${conditions.join(' OR ')})`
  }

  #addTextTest(predicate: TextPredicate, { equals, others }: TextTests): void {
    const literal = literalOf(predicate.pattern)
    if (literal?.kind === 'equals') equals.push(wellFormed(literal.text))
    else others.push(predicate.pattern)
  }

  /** Tests of a text of which one has to be true. */
  #anyOf(patterns: readonly Pattern[], text: string): readonly string[] {
    const groups: Pattern[][] = []
    let size = Infinity
    for (const pattern of patterns) {
      const own = pattern.reduce<number>((sum, part) => sum + (typeof part === 'string' ? part.length : 1), 0)
      size += own
      if (size > MAX_ALTERNATIVE_CHARACTERS || groups[groups.length - 1].length >= MAX_ALTERNATIVES) {
        groups.push([])
        size = own
      }
      groups[groups.length - 1].push(pattern)
    }
    return groups.map((group) => {
      if (group.length === 1) return this.#textTest(group[0], text)
      for (const pattern of group) for (const part of pattern) if (typeof part === 'string') wellFormed(part)
      return this.#dialect.matches(text, re2OfWildcards(group))
    })
  }

  #textTest(pattern: Pattern, text: string): string {
    for (const part of pattern) if (typeof part === 'string') wellFormed(part)
    if (pattern.length === 1 && pattern[0] === ANY_TEXT) return '(1 = 1)'
    const literal = literalOf(pattern)
    if (literal === undefined) return this.#dialect.matches(text, re2OfWildcards([pattern]))
    const wanted = this.#dialect.text(literal.text)
    switch (literal.kind) {
      case 'equals':
        return `${text} = ${wanted}`
      case 'contains':
        return this.#dialect.contains(text, wanted)
      case 'startswith':
        return this.#dialect.startsWith(text, wanted)
      case 'endswith':
        return this.#dialect.endsWith(text, wanted)
    }
  }

  #compileTest(predicate: Predicate): string {
    const dialect = this.#dialect
    switch (predicate.kind) {
      case 'text':
        return this.#compileAny([{ kind: 'test', predicate }])
      case 'regex': {
        const pattern = re2OfRegex(predicate.parsed)
        if (predicate.field === undefined) return dialect.matches('text', pattern)
        return dialect.some(this.#list('texts', predicate.field), dialect.matches('v_', pattern))
      }
      case 'compare':
        return this.#compileComparison(predicate)
      case 'network':
        return dialect.some(this.#list('addresses', predicate.field), this.#networkTest(predicate.network))
      case 'exists':
        return dialect.hasAny('names', [wellFormed(predicate.field)])
      case 'null':
        return dialect.isEmpty(this.#list('folded', predicate.field))
      case 'reference':
        return this.#compileReference(predicate)
    }
  }

  #compileComparison({ field, part, operator, value }: Extract<Predicate, { kind: 'compare' }>): string {
    if (part !== undefined) throw new SqlRefusal('parts of dates are not compared in SQL')
    const sign = { lt: '<', lte: '<=', gt: '>', gte: '>=', eq: '=', neq: '<>' }[operator]
    const test = `${this.#dialect.isNumber('v_')} AND v_ ${sign} ${this.#dialect.double(value)}`
    return this.#dialect.some(this.#list('numbers', field), test)
  }

  #networkTest(network: Network): string {
    const [low, high] = networkBounds(network).map((text) => this.#dialect.text(text))
    return `length(v_) = ${network.words.length * 4} AND v_ >= ${low} AND v_ <= ${high}`
  }

  #compileReference({ field, other, test, cased }: Extract<Predicate, { kind: 'reference' }>): string {
    const dialect = this.#dialect
    const column = cased ? 'texts' : 'folded'
    const [list, wanted] = [this.#list(column, field), this.#list(column, other)]
    switch (test) {
      case 'equals':
        return dialect.meets(list, wanted)
      case 'contains':
        return dialect.somePair(list, wanted, dialect.containsValue('v_', 'w_'))
      case 'startswith':
        return dialect.somePair(list, wanted, dialect.startsWith('v_', 'w_'))
      case 'endswith':
        return dialect.somePair(list, wanted, dialect.endsWith('v_', 'w_'))
    }
  }

  #list(column: ValueColumn, field: string): string {
    const name = this.#lists.nameOf(column, wellFormed(field))
    this.used.add(name)
    return name
  }
}

/** An address as it is loaded: its words as hexadecimal digits, which are in order of the addresses. */
export function addressText(words: readonly number[]): string {
  return words.map((word) => word.toString(16).padStart(4, '0')).join('')
}

function networkBounds({ words, bits }: Network): readonly [low: string, high: string] {
  const last = words.map((word, index) => {
    const free = 16 - Math.min(16, Math.max(0, bits - index * 16))
    return word | ((1 << free) - 1)
  })
  return [addressText(words), addressText(last)]
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** Halves of pairs are in no text that was loaded, and no literal of SQL. */
function wellFormed(text: string): string {
  if (isWellFormed(text)) return text
  throw new SqlRefusal('a text of it has half of a surrogate pair')
}
