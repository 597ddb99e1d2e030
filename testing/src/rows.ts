/** Cases as JSON: what a failure prints and what `testing/regressions/*.json` holds. */
import type { PatternMode } from '@prexy/regex/ast'
import { parsePattern } from '@prexy/regex/parse'
import type { PatternFlags } from '@prexy/regex/pattern-source'
import type { RegexRule, RuleSetOptions, TextRule } from '@prexy/rewrite/rules'
import { latin1 } from './arbitraries.ts'
import { createReference, parseReplacement, type Reference, type ReferenceRule } from './reference.ts'
import { encodeUtf8 } from './reference-stream.ts'
import type { Split } from './splits.ts'

/** `rules` and `options` are what `compileRuleSet` takes; `body` carries one octet per character. */
export interface CaseRow {
  readonly name: string
  readonly rules: readonly (TextRule | RegexRule)[]
  readonly options: RuleSetOptions
  readonly body: string
  readonly split: Split
}

/** One line, ready to be put into a file of regressions. */
export function printRow(row: CaseRow): string {
  const ascii = JSON.stringify(row).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return ascii
}

export function encodeOf(mode: PatternMode): (text: string) => readonly number[] {
  return (text) =>
    mode === 'octet' ? latin1(text) : Array.from(text).flatMap((char) => encodeUtf8(char.codePointAt(0) ?? 0))
}

/** The reference for rules as text; it trusts the parser, which the properties over trees do not. */
export function referenceOfRules(
  rules: readonly (TextRule | RegexRule)[],
  options: RuleSetOptions,
  variables: Readonly<Record<string, string>> = {},
): Reference {
  const mode = options.mode ?? 'text'
  return createReference(
    rules.map((rule) => referenceRule(rule, options, variables)),
    { mode, priority: options.priority ?? 'first', compat: options.compat },
  )
}

export function toPatternFlags(flags: string): PatternFlags {
  return { i: flags.includes('i'), m: flags.includes('m'), s: flags.includes('s'), x: flags.includes('x') }
}

function referenceRule(
  rule: TextRule | RegexRule,
  { mode = 'text', compat }: RuleSetOptions,
  variables: Readonly<Record<string, string>>,
): ReferenceRule {
  const encode = encodeOf(mode)
  const max = rule.max ?? (rule.once === true ? 1 : Infinity)
  const flags = toPatternFlags(compat === 'nginx' ? `ms${rule.flags ?? ''}` : (rule.flags ?? ''))
  if ('regex' in rule) {
    const syntax = compat === undefined ? {} : { compat }
    const { root, groupCount } = parsePattern(rule.regex, { mode, flags, ...syntax })
    return { root, groupCount, max, replacement: parseReplacement(rule.with, encode, variables) }
  }
  const quoted = Array.from(rule.text, (char) => `\\x{${(char.codePointAt(0) ?? 0).toString(16)}}`).join('')
  return { root: parsePattern(quoted, { mode, flags }).root, groupCount: 0, max, replacement: [encode(rule.with)] }
}
