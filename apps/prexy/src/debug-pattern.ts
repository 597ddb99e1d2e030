/** `prexy debug pattern`: what rules are compiled to. */
import type { RewriteOptions } from '@prexy/config/config-schema'
import { describeRules } from '@prexy/rewrite/describe'
import type { RuleEntry } from './rule-options.ts'
import { compileRuleEntries } from './rule-source.ts'

/** The text for standard output; throws a CommandError that lists everything wrong with the rules. */
export async function describeEntries(entries: readonly RuleEntry[], options: RewriteOptions): Promise<string> {
  const set = await compileRuleEntries(entries, options)
  return `${describeRules(set.rules, set.options).join('\n')}\n`
}
