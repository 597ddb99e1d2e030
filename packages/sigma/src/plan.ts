/**
 * Expressions of all rules, made one graph: negations pushed to the tests, equal parts shared, tests numbered.
 *
 * A *set* is the test that most rules are made of: a field has one of several literals. Its literals go to the field's
 * `LiteralIndex`, which marks the set; so is a *gated* test (a wildcard, a regular expression, a cased text) marked when
 * a literal that it needs is there, and only then run. Every other test is run when it is asked for.
 *
 * A *witness* of an expression is a number of marked tests of which one at least is marked whenever the expression is
 * true. Rules are tried only when their witness is there; the one that is likely to be rarest is chosen.
 */
import type { Expression, Predicate } from './expression.ts'
import { foldCase } from './fold.ts'
import type { LiteralKind } from './literal-index.hot.ts'
import { ANY_TEXT, type Pattern, plainText } from './pattern.ts'
import { requiredLiteral } from './required-literal.ts'

export interface Literal {
  readonly kind: LiteralKind
  readonly text: string
}

/** A literal of one field, once for all tests that look for it. */
export interface PlanLiteral extends Literal {
  readonly field: number
  /** How often rules ask for it. */
  uses: number
}

export type Test =
  /** Marked when it is true: one of the literals (by number, ascending) is there. */
  | { readonly kind: 'set'; readonly field: number; readonly literals: readonly number[] }
  /** Marked when it may be true; without a gate it always may. */
  | {
      readonly kind: 'run'
      readonly field: number
      /** The second field of a reference; -1 for all others. */
      readonly other: number
      readonly predicate: Predicate
      readonly gate: number | undefined
    }

export type PlanNode =
  | { readonly kind: 'test'; readonly test: number; readonly negated: boolean }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly number[] }
  | { readonly kind: 'constant'; readonly value: boolean }

/** An expression before it is numbered. */
type Draft =
  | { readonly kind: 'test'; readonly test: Test; readonly negated: boolean }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Draft[] }
  | { readonly kind: 'constant'; readonly value: boolean }

/** Rules that are imagined beside the given ones, so that few rules do not make every literal look popular. */
const PRIOR_RULES = 500

/** The graph while rules are added to it. */
export class PlanBuilder {
  readonly fields: (string | undefined)[]
  readonly literals: PlanLiteral[]
  readonly tests: Test[]
  readonly nodes: PlanNode[]
  readonly #fieldIds: Map<string | undefined, number>
  readonly #testIds: Map<string, number>
  readonly #nodeIds: Map<string, number>
  /** By field, then by kind and text. */
  readonly #literalIds: Map<string, number>[]
  #expressions: number

  constructor() {
    this.fields = []
    this.literals = []
    this.tests = []
    this.nodes = []
    this.#fieldIds = new Map()
    this.#testIds = new Map()
    this.#nodeIds = new Map()
    this.#literalIds = []
    this.#expressions = 0
  }

  /** Adds an expression and returns its node. */
  add(expression: Expression): number {
    this.#expressions++
    return this.#intern(this.#draft(expression, false))
  }

  fieldId(name: string | undefined): number {
    const known = this.#fieldIds.get(name)
    if (known !== undefined) return known
    const id = this.fields.length
    this.fields.push(name)
    this.#fieldIds.set(name, id)
    this.#literalIds.push(new Map())
    return id
  }

  /** The witness of a node, or undefined when it can be true without any mark. Ask when all rules are added. */
  witnessOf(node: number): readonly number[] | undefined {
    return this.#witness(node)?.tests
  }

  #draft(expression: Expression, negated: boolean): Draft {
    switch (expression.kind) {
      case 'not':
        return this.#draft(expression.part, !negated)
      case 'test':
        return this.#draftTest(expression.predicate, negated)
      default: {
        const kind = (expression.kind === 'and') === negated ? 'or' : 'and'
        return joinDrafts(
          kind,
          expression.parts.map((part) => this.#draft(part, negated)),
        )
      }
    }
  }

  #draftTest(predicate: Predicate, negated: boolean): Draft {
    const field = this.fieldId(predicate.field)
    const other = predicate.kind === 'reference' ? this.fieldId(predicate.other) : -1
    const literal = predicate.kind === 'text' && !predicate.cased ? literalOf(predicate.pattern) : undefined
    if (literal !== undefined) {
      return { kind: 'test', test: { kind: 'set', field, literals: [this.#literalId(field, literal)] }, negated }
    }
    const needed = gateOf(predicate)
    const gate = needed === undefined ? undefined : this.#literalId(field, needed)
    return { kind: 'test', test: { kind: 'run', field, other, predicate, gate }, negated }
  }

  #literalId(field: number, literal: Literal): number {
    const key = KIND_MARKS[literal.kind] + literal.text
    const known = this.#literalIds[field].get(key)
    if (known !== undefined) {
      this.literals[known].uses++
      return known
    }
    const id = this.literals.length
    this.literals.push({ ...literal, field, uses: 1 })
    this.#literalIds[field].set(key, id)
    return id
  }

  #intern(draft: Draft): number {
    switch (draft.kind) {
      case 'constant':
        return this.#internNode(String(draft.value), draft)
      case 'test': {
        const test = this.#internTest(draft.test)
        return this.#internNode(`${draft.negated ? '!' : ''}${test}`, { kind: 'test', test, negated: draft.negated })
      }
      default: {
        const parts = [...new Set(draft.parts.map((part) => this.#intern(part)))].sort((a, b) => a - b)
        if (parts.length === 1) return parts[0]
        return this.#internNode(`${draft.kind}${parts.join(',')}`, { kind: draft.kind, parts })
      }
    }
  }

  #internNode(key: string, node: PlanNode): number {
    const known = this.#nodeIds.get(key)
    if (known !== undefined) return known
    const id = this.nodes.length
    this.nodes.push(node)
    this.#nodeIds.set(key, id)
    return id
  }

  #internTest(test: Test): number {
    const key = testKey(test)
    const known = this.#testIds.get(key)
    if (known !== undefined) return known
    const id = this.tests.length
    this.tests.push(test)
    this.#testIds.set(key, id)
    return id
  }

  #witness(id: number): { readonly cost: number; readonly tests: readonly number[] } | undefined {
    const node = this.nodes[id]
    switch (node.kind) {
      case 'constant':
        return node.value ? undefined : { cost: 0, tests: [] }
      case 'test': {
        const cost = node.negated ? undefined : this.#cost(this.tests[node.test])
        return cost === undefined ? undefined : { cost, tests: [node.test] }
      }
      case 'and': {
        const found = node.parts.flatMap((part) => this.#witness(part) ?? [])
        return found.length === 0 ? undefined : found.reduce((best, next) => (next.cost < best.cost ? next : best))
      }
      case 'or': {
        const found = node.parts.map((part) => this.#witness(part))
        const tests = new Set<number>()
        let cost = 0
        for (const part of found) {
          if (part === undefined) return undefined
          cost += part.cost
          for (const test of part.tests) tests.add(test)
        }
        return { cost, tests: [...tests] }
      }
    }
  }

  /**
   * A guess at how often the test is marked: what many rules ask for (a channel, an event id, a popular program) is often
   * there, and so are short texts.
   */
  #cost(test: Test): number | undefined {
    const literals = test.kind === 'set' ? test.literals : test.gate === undefined ? undefined : [test.gate]
    return literals?.reduce((sum, id) => {
      const { text, uses } = this.literals[id]
      return sum + 0.5 ** Math.min(text.length, 24) + uses / (this.#expressions + PRIOR_RULES)
    }, 0)
  }
}

/** Flattens, and in a disjunction puts sets of one field together. */
function joinDrafts(kind: 'and' | 'or', parts: readonly Draft[]): Draft {
  const flat = parts.flatMap((part) => (part.kind === kind ? part.parts : [part]))
  const absorbing = kind === 'or'
  if (flat.some((part) => part.kind === 'constant' && part.value === absorbing))
    return { kind: 'constant', value: absorbing }
  const sets = new Map<number, number[]>()
  const rest: Draft[] = []
  for (const part of flat) {
    if (part.kind === 'constant') continue
    // Of negated sets, a conjunction is the negation of their union.
    if (part.kind === 'test' && part.test.kind === 'set' && part.negated === (kind === 'and')) {
      const literals = sets.get(part.test.field) ?? []
      for (const literal of part.test.literals) literals.push(literal)
      sets.set(part.test.field, literals)
    } else rest.push(part)
  }
  for (const [field, literals] of sets) {
    rest.push({ kind: 'test', test: { kind: 'set', field, literals: distinct(literals) }, negated: kind === 'and' })
  }
  if (rest.length === 0) return { kind: 'constant', value: !absorbing }
  return rest.length === 1 ? rest[0] : { kind, parts: rest }
}

function distinct(literals: readonly number[]): readonly number[] {
  return literals.length === 1 ? literals : [...new Set(literals)].sort((a, b) => a - b)
}

const KIND_MARKS = { equals: '=', startswith: '<', endswith: '>', contains: '~' } as const

function testKey(test: Test): string {
  if (test.kind === 'set') {
    return test.literals.join(',')
  }
  const { predicate } = test
  // The parsed pattern follows from source and flags.
  return `r${test.field}:${JSON.stringify(predicate.kind === 'regex' ? { ...predicate, parsed: 0 } : predicate)}`
}

/** A pattern that is one text at a place; undefined for those that need more than finding it. */
export function literalOf(pattern: Pattern): Literal | undefined {
  const plain = plainText(pattern)
  if (plain !== undefined) return { kind: 'equals', text: plain }
  const [first, second, third] = pattern
  if (pattern.length === 2 && typeof first === 'string' && second === ANY_TEXT)
    return { kind: 'startswith', text: first }
  if (pattern.length === 2 && first === ANY_TEXT && typeof second === 'string')
    return { kind: 'endswith', text: second }
  if (pattern.length === 3 && first === ANY_TEXT && typeof second === 'string' && third === ANY_TEXT) {
    return { kind: 'contains', text: second }
  }
  return undefined
}

/** A literal without which the test is false. */
function gateOf(predicate: Predicate): Literal | undefined {
  if (predicate.kind === 'regex') {
    const text = requiredLiteral(predicate.parsed.root)
    return text === '' ? undefined : { kind: 'contains', text }
  }
  if (predicate.kind !== 'text') return undefined
  const folded = predicate.pattern.map((part) => (typeof part === 'string' ? foldCase(part) : part))
  const whole = literalOf(folded)
  if (whole !== undefined) return whole
  let longest = ''
  for (const part of folded) if (typeof part === 'string' && part.length > longest.length) longest = part
  return longest === '' ? undefined : { kind: 'contains', text: longest }
}
