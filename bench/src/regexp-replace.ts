/**
 * A peer: the runtime's own RegExp. All rules become one alternation; the page is decoded to a string, replaced in one
 * call with a function, and encoded again. It cannot stream: it is given the whole page.
 */
import type { BenchRule } from './definition.ts'
import { expand } from './template.ts'

export interface RegExpReplacer {
  replace(page: Uint8Array): { readonly output: Uint8Array; readonly matches: number }
}

export function compileRegExpReplacer(rules: readonly BenchRule[]): RegExpReplacer {
  const sources = rules.map((rule) => {
    const source = 'regex' in rule ? rule.regex : rule.text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    // Node 20 has no flags for a part of a pattern.
    return rule.flags?.includes('i')
      ? source.replace(/[a-z]/gi, (c) => `[${c.toLowerCase()}${c.toUpperCase()}]`)
      : source
  })
  const groupCounts = sources.map((source) => (new RegExp(`${source}|`).exec('')?.length ?? 1) - 1)
  const pattern = new RegExp(sources.map((source) => `(${source})`).join('|'), 'g')
  const firstGroups = groupCounts.map((_, rule) => 1 + groupCounts.slice(0, rule).reduce((sum, n) => sum + n + 1, 0))

  function replace(page: Uint8Array): { output: Uint8Array; matches: number } {
    let matches = 0
    const text = Buffer.from(page.buffer, page.byteOffset, page.length).toString('latin1')
    const replaced = text.replace(pattern, (...groups: (string | undefined)[]) => {
      matches++
      const rule = firstGroups.findIndex((group) => groups[group] !== undefined)
      const first = firstGroups[rule]
      return 'text' in rules[rule] ? rules[rule].with : expand(rules[rule].with, groups.slice(first, first + 10))
    })
    return { output: Buffer.from(replaced, 'latin1'), matches }
  }
  return { replace }
}
