/** The first match of several patterns in a text, with its groups; what `prexy debug match` answers. */
import { compileCaptures, findCaptures } from '@prexy/regex/captures'
import { type Match, Tokenizer } from '@prexy/regex/tokenizer'
import { compileRules, resolveOptions } from './rule-set.ts'
import type { RegexRule } from './rules.ts'

export interface FirstMatchOptions {
  readonly flags?: string
  /** Flags of each pattern; given, they replace `flags` but for its `m` and `s`. */
  readonly flagsPerRegex?: readonly (string | undefined)[]
  readonly mode?: 'text' | 'octet'
  readonly compat?: 'nginx'
}

export type FirstMatch =
  | { readonly matched: false }
  /** Byte offsets of the match and of each group of the winning pattern; undefined for a group that took no part. */
  | { readonly matched: true; readonly rule: number; readonly captures: readonly ([number, number] | undefined)[] }

/** Throws `RuleSetError` for a pattern that is refused. The text is given as chunks; how it is cut does not matter. */
export function firstMatch(
  regexes: readonly string[],
  options: FirstMatchOptions,
  chunks: readonly Uint8Array[],
): FirstMatch {
  const { flags = '', flagsPerRegex, mode, compat } = options
  const lineFlags = [...flags].filter((flag) => flag === 'm' || flag === 's').join('')
  const rules = regexes.map((regex, index): RegexRule => {
    const own = flagsPerRegex === undefined ? flags : `${flagsPerRegex[index] ?? ''}${lineFlags}`
    return { regex, with: '$&', flags: own }
  })
  const settings = resolveOptions({
    ...(mode === undefined ? {} : { mode }),
    ...(compat === undefined ? {} : { compat }),
  })
  const compiled = compileRules(rules, settings)
  const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  const tokenizer = new Tokenizer(
    compiled.map(({ source }) => ({
      ...source,
      usesSpan: true,
      usesGroups: true,
      max: Infinity,
      replacement: undefined,
    })),
    { priority: 'first', nginx: false, maxHeldBytes: 2 * size + 4, overflow: 'skip' },
  )
  let found: FirstMatch = { matched: false }
  const stream = tokenizer.open({
    output: () => !found.matched,
    replace(match: Match): Uint8Array {
      if (found.matched) return match.text
      const { source, groupCount } = compiled[match.rule]
      const slots = findCaptures(compileCaptures(source, groupCount), match.text, match)
      const captures = Array.from({ length: groupCount + 1 }, (_, group): [number, number] | undefined => {
        const start = slots[group * 2]
        return start < 0 ? undefined : [match.start + start, match.start + slots[group * 2 + 1]]
      })
      found = { matched: true, rule: match.rule, captures }
      return match.text
    },
  })
  for (const chunk of chunks) {
    if (found.matched) break
    stream.write(chunk)
  }
  if (!found.matched) stream.end()
  else stream.close()
  return found
}
