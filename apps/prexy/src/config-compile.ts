/** The rules of a configuration compiled, equal sets once, and what is wrong with them. */
import type { RedirectAction, RuleList, TextPatternSettings } from '@prexy/config/config'
import type { HeaderList } from '@prexy/config/header-list'
import { type Loaded, locateAt, locateFinding } from '@prexy/config/load'
import { type ConfigProblem, formatProblem } from '@prexy/config/problem'
import type { DeferredRuleSet } from '@prexy/proxy/compiled-sets'
import type { HeaderRules } from '@prexy/proxy/header-rules'
import { compileTextPattern, type TextPattern } from '@prexy/proxy/text-pattern'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { type Rule, type RuleProblem, RuleSetError } from '@prexy/rewrite/rules'
import { compileHeaderList, compileTarget, engineRulesOf, setWarnings } from './rule-source.ts'

/** What each list of a configuration compiles to. */
export interface CompiledLists {
  readonly setOf: (list: RuleList) => RuleSet | DeferredRuleSet | undefined
  readonly headersOf: (list: HeaderList) => HeaderRules | undefined
  readonly targetOf: (redirect: RedirectAction) => HeaderRules | undefined
  readonly patternOf: (pattern: TextPatternSettings) => TextPattern | undefined
  /** What takes their matches out of a body; undefined for none. */
  readonly ignoredOf: (patterns: readonly TextPatternSettings[]) => RuleSet | undefined
}

/** Sets that an earlier reading compiled, by their rules and options: what did not change is not compiled again. */
export type KnownSets = Map<string, RuleSet>

type Lists = Pick<Loaded<unknown>, 'ruleLists' | 'headerLists' | 'redirects' | 'patterns' | 'ignored'>

/**
 * Compiles what the lists hold. More than `maxSets` rule lists are left for later, each for when it is needed; `check`
 * compiles them all and keeps none. `known` is made to hold what is compiled now.
 */
export function compileLists(
  { ruleLists, headerLists, redirects, patterns: asked, ignored: askedIgnored }: Lists,
  maxSets: number | 'check',
  known: KnownSets = new Map(),
): { readonly compiled: CompiledLists; readonly problems: readonly ConfigProblem[] } {
  const headers = new Map(headerLists.map((list) => [list, compileHeaderList(list)]))
  const targets = new Map(redirects.map((redirect) => [redirect, compileTarget(redirect)]))
  const patterns = compilePatterns(asked)
  const ignored = new Map(askedIgnored.map((list) => [list, compileIgnored(list)]))
  const problems = [...headers.values(), ...targets.values(), patterns, ...ignored.values()].flatMap(
    (one) => one.problems,
  )
  const sets = new Map<RuleList, RuleSet | DeferredRuleSet>()
  if (maxSets !== 'check' && ruleLists.length > maxSets) {
    for (const list of ruleLists) sets.set(list, deferred(list))
  } else {
    problems.push(...compileNow(ruleLists, maxSets === 'check' ? undefined : sets, known))
  }
  return {
    compiled: {
      setOf: (list) => sets.get(list),
      headersOf: (list) => headers.get(list)?.rules,
      targetOf: (redirect) => targets.get(redirect)?.rules,
      patternOf: (pattern) => patterns.made.get(pattern),
      ignoredOf: (list) => ignored.get(list)?.set,
    },
    problems,
  }
}

/** Equal ones once: a request asks each at most once, however many routes have it. */
function compilePatterns(asked: readonly TextPatternSettings[]): {
  readonly made: ReadonlyMap<TextPatternSettings, TextPattern>
  readonly problems: readonly ConfigProblem[]
} {
  const made = new Map<TextPatternSettings, TextPattern>()
  const known = new Map<string, TextPattern>()
  const problems: ConfigProblem[] = []
  for (const settings of asked) {
    const { place, ...pattern } = settings
    const key = JSON.stringify([pattern.regex, pattern.flags, pattern.not ?? false])
    try {
      const compiled = known.get(key) ?? compileTextPattern(pattern)
      known.set(key, compiled)
      made.set(settings, compiled)
    } catch (error) {
      if (!(error instanceof RuleSetError)) throw error
      problems.push(...error.problems.map((problem) => locateAt(place, problem, 'error')))
    }
  }
  return { made, problems }
}

function compileIgnored(patterns: readonly TextPatternSettings[]): {
  readonly set: RuleSet | undefined
  readonly problems: readonly ConfigProblem[]
} {
  if (patterns.length === 0) return { set: undefined, problems: [] }
  const places = patterns.map(({ place }) => place)
  const rules = patterns.map(({ regex }) => ({ regex, with: '', types: ['*'] }))
  const list: RuleList = { rules, places, options: { mode: 'octet' } }
  const outcome = compile(engineRulesOf(list), list)
  if ('set' in outcome) return { set: outcome.set, problems: [] }
  return { set: undefined, problems: outcome.faults.map((fault) => locateAt(places[fault.rule], fault, 'error')) }
}

/** What one set came to, without the set itself. */
type Outcome = { readonly faults: readonly RuleProblem[] } | { readonly set: RuleSet }

/** Puts what compiles into `sets`, if there are any; returns what is wrong. */
function compileNow(
  lists: readonly RuleList[],
  sets: Map<RuleList, RuleSet | DeferredRuleSet> | undefined,
  known: KnownSets,
): ConfigProblem[] {
  const outcomes = new Map<string, Outcome>()
  const seen = new Set<string>()
  const problems: ConfigProblem[] = []
  for (const list of lists) {
    const rules = engineRulesOf(list)
    const key = keyOf(rules, list)
    let outcome = outcomes.get(key)
    if (outcome === undefined) {
      // A check keeps no sets: of thousands, the machine could not hold all.
      if (sets === undefined && seen.has(key)) continue
      const earlier = known.get(key)
      outcome = earlier === undefined ? compile(rules, list) : { set: earlier }
      if (sets === undefined && 'set' in outcome) seen.add(key)
      else outcomes.set(key, outcome)
    }
    if ('set' in outcome) {
      sets?.set(list, outcome.set)
      problems.push(...setWarnings(list, outcome.set))
    } else {
      problems.push(...outcome.faults.map((fault) => locateFinding(list, fault, 'error')))
    }
  }
  known.clear()
  for (const [key, outcome] of outcomes) if ('set' in outcome) known.set(key, outcome.set)
  return problems
}

function compile(rules: readonly Rule[], { options }: RuleList): Outcome {
  try {
    return { set: compileRuleSet(rules, options) }
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    return { faults: error.problems }
  }
}

function keyOf(rules: readonly Rule[], { options }: RuleList): string {
  return JSON.stringify([rules, options])
}

function deferred(list: RuleList): DeferredRuleSet {
  return {
    get rules() {
      return engineRulesOf(list)
    },
    get key() {
      return keyOf(engineRulesOf(list), list)
    },
    compile() {
      const outcome = compile(engineRulesOf(list), list)
      if ('set' in outcome) return outcome.set
      const problems = outcome.faults.map((fault) => locateFinding(list, fault, 'error'))
      throw new Error(problems.map(formatProblem).join('\n'))
    },
  }
}
