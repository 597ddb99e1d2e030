/** From rules, wherever they were written, to a compiled set; and from a problem back to where the rule was written. */
import { decodeLatin1 } from '@prexy/bytes/latin1'
import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'
import type { RewriteOptions } from '@prexy/config/config-schema'
import {
  type ConfigRule,
  explainRule,
  loadRules,
  locateFinding,
  normalizeRule,
  type RuleFinding,
  type RuleList,
} from '@prexy/config/load'
import { type ConfigProblem, formatProblem } from '@prexy/config/problem'
import type { RawRule } from '@prexy/config/rule-schema'
import type { YamlSource } from '@prexy/config/yaml-source'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { type Rule, RuleSetError } from '@prexy/rewrite/rules'
import { CommandError } from './exit-codes.ts'
import { readText } from './read-text.ts'
import { type OptionRule, type RuleEntry, ruleFromOptions } from './rule-options.ts'
import { printable } from './terminal.ts'

export interface SourcedRules {
  readonly rules: readonly ConfigRule[]
  /** A finding as one text for a person, with the place of the rule. */
  describe(finding: RuleFinding): string
}

type Origin =
  | { readonly kind: 'option'; readonly rule: OptionRule }
  | { readonly kind: 'file'; readonly source: YamlSource; readonly list: RuleList; readonly index: number }

/** Reads the rules that the command line names; throws a CommandError that lists everything wrong with them. */
export async function readRuleEntries(entries: readonly RuleEntry[]): Promise<SourcedRules> {
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
          origins.push({ kind: 'file', source: loaded.source, list, index })
        }
      }
      continue
    }
    const raw = ruleFromOptions(entry.rule)
    const problems = explainRule(raw)
    if (problems.length > 0) {
      faults.push(...problems.map((problem) => describeOption(entry.rule, { ...problem, field: problem.path })))
    } else {
      rules.push(normalizeRule(raw as RawRule))
      origins.push({ kind: 'option', rule: entry.rule })
    }
  }
  if (faults.length > 0) throw new CommandError(faults.join('\n'))
  return {
    rules,
    describe(finding) {
      const origin = origins[finding.rule]
      if (origin.kind === 'option') return describeOption(origin.rule, finding)
      return formatProblem(locateFinding(origin.source, origin.list, { ...finding, rule: origin.index }, 'error'))
    },
  }
}

/** Compiles rules; throws a CommandError that lists everything wrong with them. */
export function compileSourcedRules(sourced: SourcedRules, options: RewriteOptions): RuleSet {
  try {
    return compileRuleSet(toEngineRules(sourced.rules, options), options)
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    throw new CommandError(error.problems.map((problem) => sourced.describe(problem)).join('\n'))
  }
}

/** The set, or undefined with the reasons in `problems`. */
export function compileRuleList(
  source: YamlSource,
  list: RuleList,
): { set: RuleSet | undefined; problems: ConfigProblem[] } {
  try {
    const set = compileRuleSet(toEngineRules(list.rules, list.options), list.options)
    const problems = set.unbounded.map(({ rule, message }) => {
      const limit = `at ${set.options.maxHeldBytes} bytes overflow: ${set.options.overflow} acts`
      const hint = `${limit}; name what may stand between, like [^<]*, to end it sooner`
      return locateFinding(source, list, { rule, field: 'regex', at: undefined, message, hint }, 'warning')
    })
    return { set, problems }
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    return { set: undefined, problems: error.problems.map((problem) => locateFinding(source, list, problem, 'error')) }
  }
}

/** In octet mode a rule stands for the octets of its UTF-8 form, as it would in a file that is read as octets. */
function toEngineRules(rules: readonly ConfigRule[], options: RewriteOptions): readonly Rule[] {
  if (options.mode !== 'octet') return rules
  return rules.map((rule) => {
    if ('text' in rule) return { ...rule, text: octets(rule.text), with: octets(rule.with) }
    if ('regex' in rule) return { ...rule, regex: octets(rule.regex), with: octets(rule.with) }
    return rule
  })
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
