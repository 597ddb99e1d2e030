/** A search as a rule, so that it runs on the engine of rules. */
import type { RuleText } from './rule-files.ts'

export interface SearchTerms {
  /** Texts that stand anywhere in an event. */
  readonly keywords: readonly string[]
  /** Regular expressions over the whole event. */
  readonly patterns: readonly string[]
  /** `field=value`, with `*` and `?` in the value. */
  readonly fields: readonly (readonly [field: string, value: string])[]
  /** All of them must be there, or one is enough. Fields must be in any case. */
  readonly mode: 'all' | 'any'
  readonly isCased: boolean
}

/** The rule file of a search. */
export function searchRule(terms: SearchTerms): RuleText {
  const { keywords, patterns, fields, mode, isCased } = terms
  const lines = ['title: search', 'logsource: {category: search}', 'detection:']
  const names: string[] = []
  const add = (key: string, value: string): void => {
    const name = `term${names.length}`
    names.push(name)
    lines.push(`  ${name}:`, `    ${quote(key)}: ${quote(value)}`)
  }
  for (const keyword of keywords) add(isCased ? '|contains|cased' : '|contains', escapeWildcards(keyword))
  for (const pattern of patterns) add(isCased ? '|re' : '|re|i', pattern)
  const anywhere = names.join(mode === 'all' ? ' and ' : ' or ')
  const before = names.length
  for (const [field, value] of fields) add(isCased ? `${field}|cased` : field, value)
  const inFields = names.slice(before).join(' and ')
  const condition = [anywhere === '' ? '' : `(${anywhere})`, inFields].filter((part) => part !== '').join(' and ')
  lines.push(`  condition: ${condition}`)
  return { file: 'search', text: `${lines.join('\n')}\n` }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A keyword is looked for as it is written: what means something in rules loses its meaning. */
function escapeWildcards(text: string): string {
  return text.replace(/[\\*?]/g, '\\$&')
}
