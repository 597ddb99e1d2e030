/** From rules, wherever they were written, to a compiled set; and from a problem back to where the rule was written. */
import { decodeLatin1 } from '@prexy/bytes/latin1'
import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'
import type { RewriteOptions } from '@prexy/config/config-schema'
import type { ConfigRule, RedirectAction, RuleList } from '@prexy/config/config'
import { loadRules, locateAt, locateFinding, parseRule, type RuleFinding } from '@prexy/config/load'
import { type ConfigProblem, formatProblem } from '@prexy/config/problem'
import type { HeaderList } from '@prexy/config/header-list'
import { compileHeaderRules, HeaderRuleError, type HeaderRules } from '@prexy/proxy/header-rules'
import { compileRedirectTarget } from '@prexy/proxy/route-answer'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { compileRuleSet, resolveOptions } from '@prexy/rewrite/rule-set'
import { type Rule, type RuleProblem, RuleSetError } from '@prexy/rewrite/rules'
import { CommandError } from './exit-codes.ts'
import { readText } from './read-text.ts'
import { type OptionRule, type RuleEntry, ruleFromOptions } from './rule-options.ts'
import { printable } from './terminal.ts'

type Origin =
  | { readonly kind: 'option'; readonly rule: OptionRule }
  | { readonly kind: 'file'; readonly list: RuleList; readonly index: number }

/** Compiles the rules that the command line names; throws a CommandError that lists everything wrong with them. */
export async function compileRuleEntries(entries: readonly RuleEntry[], options: RewriteOptions): Promise<RuleSet> {
  const rules: ConfigRule[] = []
  const origins: Origin[] = []
  const faults: string[] = []
  for (const entry of entries) {
    if (entry.kind === 'file') {
      const loaded = loadRules(await readText(entry.path), entry.path)
      faults.push(...loaded.problems.map(formatProblem))
      for (const list of loaded.ruleLists) {
        for (const [index, rule] of list.rules.entries()) {
          rules.push(rule)
          origins.push({ kind: 'file', list, index })
        }
      }
      continue
    }
    const parsed = parseRule(ruleFromOptions(entry.rule))
    if (parsed.rule === undefined) {
      faults.push(...parsed.problems.map((problem) => describeOption(entry.rule, { ...problem, field: problem.path })))
    } else {
      rules.push(parsed.rule)
      origins.push({ kind: 'option', rule: entry.rule })
    }
  }
  const describe = (problem: RuleProblem): string => {
    const origin = origins[problem.rule]
    if (origin.kind === 'option') return describeOption(origin.rule, problem)
    return formatProblem(locateFinding(origin.list, { ...problem, rule: origin.index }, 'error'))
  }
  try {
    const set = compileRuleSet(toEngineRules(rules, options), options)
    if (faults.length === 0) return set
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    faults.push(...error.problems.map(describe))
  }
  throw new CommandError(faults.join('\n'))
}

/** The rules of a list as the engine takes them. */
export function engineRulesOf({ rules, options }: RuleList): readonly Rule[] {
  return toEngineRules(rules, options)
}

/** What of a compiled set its author should know, each at its place in a list that it was made of. */
export function setWarnings(list: RuleList, { unbounded, options }: RuleSet): readonly ConfigProblem[] {
  return unbounded.map(({ rule, message }) => {
    const limit = `overflow: ${options.overflow} at ${options.maxHeldBytes} bytes`
    const hint = `give its repeats an upper bound, like [0-9]{1,12}, or expect ${limit}`
    return locateFinding(list, { rule, field: 'regex', at: undefined, message, hint }, 'warning')
  })
}

/** What is wrong with a rule on its own, for the engine; undefined if nothing is. */
export function refusalOfRule(rule: unknown, options: RewriteOptions): string | undefined {
  const { rule: parsed, problems: malformed } = parseRule(rule)
  if (parsed === undefined) return malformed[0]?.message
  try {
    compileRuleSet(toEngineRules([parsed], options), options)
    return undefined
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    const [{ message, hint }] = error.problems
    return hint === undefined ? message : `${message}; ${hint}`
  }
}

/** The rules, or undefined with the reasons in `problems`. */
export function compileHeaderList(list: HeaderList): { rules: HeaderRules | undefined; problems: ConfigProblem[] } {
  try {
    return { rules: compileHeaderRules(list.rules, list.side), problems: [] }
  } catch (error) {
    if (!(error instanceof HeaderRuleError)) throw error
    return {
      rules: undefined,
      problems: error.problems.map((problem) => locateFinding(list, problem, 'error')),
    }
  }
}

/** What a redirect's target compiles to, or undefined with the reasons in `problems`. */
export function compileTarget({ to, place }: RedirectAction): {
  rules: HeaderRules | undefined
  problems: ConfigProblem[]
} {
  try {
    return { rules: compileRedirectTarget(to), problems: [] }
  } catch (error) {
    if (!(error instanceof HeaderRuleError)) throw error
    return { rules: undefined, problems: error.problems.map((problem) => locateAt(place, problem, 'error')) }
  }
}

/**
 * In octet mode a rule stands for the octets of its UTF-8 form, as it would in a file that is read as octets. The
 * configuration has no flag `g`: `once` says how often, in every mode.
 */
function toEngineRules(rules: readonly ConfigRule[], options: RewriteOptions): readonly Rule[] {
  const explicit = options.compat === 'nginx' ? rules.map(withoutDefaultOnce) : rules
  if (resolveOptions(options).mode !== 'octet') return explicit
  return explicit.map((rule) => {
    if ('text' in rule) return { ...rule, text: octets(rule.text), with: octets(rule.with) }
    if ('regex' in rule) return { ...rule, regex: octets(rule.regex), with: octets(rule.with) }
    if ('insert' in rule) return { ...rule, at: octets(rule.at), with: octets(rule.with) }
    return rule
  })
}

/** Insert rules are no matter of replace_filter and keep their default. */
function withoutDefaultOnce(rule: ConfigRule): ConfigRule {
  return 'insert' in rule ? rule : { once: false, ...rule }
}

function octets(text: string): string {
  return decodeLatin1(encodeUtf8(text))
}

/** The option and, where the finding has an offset, the pattern with a mark below the place. */
function describeOption(
  rule: OptionRule,
  finding: Pick<RuleFinding, 'message' | 'hint'> & Partial<RuleFinding>,
): string {
  const field = finding.field ?? rule.kind
  const option = field === 'to' ? 'with' : field
  const text = option === 'with' ? (rule.with ?? '') : rule.pattern
  const hint = finding.hint === undefined ? '' : `; ${finding.hint}`
  const head = `--${option}: ${finding.message}${hint}`
  if (finding.at === undefined || (option !== 'with' && option !== rule.kind)) return head
  const before = printable(decodeUtf8(encodeUtf8(text), 0, finding.at))
  return `${head}\n  ${printable(text)}\n  ${' '.repeat(before.length)}^`
}
