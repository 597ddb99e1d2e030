/**
 * The cases handed down with the project's design, when the folder is there: what another engine made of patterns and
 * of bodies. The reference reads them too, so that both are held to something outside this repository.
 */
import { firstMatch } from '@prexy/rewrite/first-match'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { RuleSetError } from '@prexy/rewrite/rules'
import type { RegexRule, RuleSetOptions } from '@prexy/rewrite/rules'
import { describe, expect, it } from 'vitest'
import { latin1 } from './src/arbitraries.ts'
import { octetString } from './src/compare.ts'
import { drive } from './src/drive.ts'
import { NO_OUTSIDE_CASES, readOutsideCases, type ReplaceFilterCase } from './src/outside-cases.ts'
import { rewriteWhole } from './src/reference.ts'
import { streamNginxReference } from './src/reference-stream.ts'
import { referenceOfRules } from './src/rows.ts'
import { cutBody, forEachSplit } from './src/splits.ts'

interface PatternCase {
  readonly name: string
  readonly regexes: readonly string[]
  readonly flags: string | null
  readonly flags_per_regex: readonly (string | null)[] | null
  readonly subject: string
  readonly expected: {
    readonly error?: boolean
    readonly matched?: boolean
    readonly match_id?: number
    readonly captures?: readonly (readonly [number, number])[]
    /** A pattern that the captures, printed as `(0, 2) (-1, -1)`, match. */
    readonly captures_regex?: string
  }
}

/** Pattern cases in which we differ, by name, each with the reason. */
const PATTERN_EXCEPTIONS: ReadonlyMap<string, string> = new Map([])

type Span = readonly [number, number]

type PatternAnswer =
  | { readonly error: true }
  | { readonly matched: false }
  | { readonly matched: true; readonly rule: number; readonly captures: readonly Span[] }

function withoutUnsetTail(spans: readonly Span[]): readonly Span[] {
  const lastSet = spans.findLastIndex(([start]) => start >= 0)
  return spans.slice(0, lastSet + 1)
}

function runPatternCase(
  { regexes, flags, flags_per_regex, subject }: PatternCase,
  chunkSizes: readonly number[],
): PatternAnswer {
  const chunks = cutBody(latin1(subject), chunkSizes)
  const perRegex = flags_per_regex?.map((own) => own ?? undefined)
  try {
    const found = firstMatch(
      regexes,
      {
        mode: 'octet',
        compat: 'nginx',
        flags: perRegex === undefined ? `${flags ?? ''}ms` : 'ms',
        ...(perRegex === undefined ? {} : { flagsPerRegex: perRegex }),
      },
      chunks,
    )
    if (!found.matched) return { matched: false }
    const captures = withoutUnsetTail(found.captures.map((span): Span => span ?? [-1, -1]))
    return { matched: true, rule: found.rule, captures }
  } catch (error) {
    if (error instanceof RuleSetError) return { error: true }
    throw error
  }
}

/** What the case says, as an answer; where it gives a pattern for the captures only, `got` is judged by it. */
function wantedOf({ expected, regexes }: PatternCase, got: PatternAnswer): PatternAnswer | string {
  if (expected.error === true) return { error: true }
  if (expected.matched !== true) return { matched: false }
  const answer = 'captures' in got ? got : { rule: -1, captures: [] }
  const rule = expected.match_id ?? (regexes.length === 1 ? 0 : answer.rule)
  if (expected.captures !== undefined) return { matched: true, rule, captures: withoutUnsetTail(expected.captures) }
  const printed = answer.captures.map(([start, end]) => `(${start}, ${end})`).join(' ')
  const pattern = new RegExp((expected.captures_regex ?? '').replace(/^\(\?\^[a-z]*:/, '(?:'))
  return pattern.test(printed) ? { matched: true, rule, captures: answer.captures } : `captures that match ${pattern}`
}

/**
 * Why a body case is not for the engine: the import from nginx and the gate decide about types and `skip`, the import
 * turns nginx variables into ours, and header fields are edited by the proxy.
 */
function whyNotDriven(row: ReplaceFilterCase): string | undefined {
  if (!row.types.includes(row.content_type)) return 'types: the response has another content type'
  if (row.types.length > 1) return 'types: only the gate knows them'
  if (row.skip !== null) return 'skip: only the gate knows it'
  if (Object.keys(row.vars).length > 0) return 'variables: of nginx, turned into ours by the import'
  if (Object.keys(row.upstream_headers).length > 0) return 'header fields: only the proxy has them'
  return undefined
}

function rulesOf(row: ReplaceFilterCase): { rules: RegexRule[]; options: RuleSetOptions } {
  const rules = row.config_rules.map(({ regex, replacement, flags }): RegexRule => {
    const caseless = flags.includes('i') ? 'i' : ''
    return { regex, with: replacement, flags: caseless, ...(flags.includes('g') ? {} : { once: true }) }
  })
  return { rules, options: { mode: 'octet', compat: 'nginx' } }
}

if (NO_OUTSIDE_CASES !== undefined) {
  it('cases from outside', (context) => context.skip(NO_OUTSIDE_CASES))
} else {
  describe('patterns', () => {
    const rows = readOutsideCases<PatternCase>('regex-perl.jsonl')
    it.each(rows.map((row, i) => [`${i + 1} ${row.name}`, row] as const))('%s', (_, row) => {
      const reason = PATTERN_EXCEPTIONS.get(row.name)
      const whole = runPatternCase(row, [row.subject.length])
      if (reason !== undefined) {
        expect(whole, `no exception any more: ${reason}`).not.toEqual(wantedOf(row, whole))
        return
      }
      expect(whole).toEqual(wantedOf(row, whole))
      const single = runPatternCase(
        row,
        latin1(row.subject).map(() => 1),
      )
      expect(single).toEqual(whole)
    })
  })

  describe('bodies', () => {
    const rows = readOutsideCases<ReplaceFilterCase>('replace-filter.jsonl')
    const driven = rows.filter((row) => whyNotDriven(row) === undefined)
    const others = rows.flatMap((row) => {
      const reason = whyNotDriven(row)
      return reason === undefined ? [] : [`${row.name}: ${reason}`]
    })
    it(`leaves ${others.length} cases to the import and the gate`, () => {
      console.log(`conformance: not driven here\n  ${others.join('\n  ')}`)
      expect(driven.length + others.length).toBe(rows.length)
    })

    it.each(driven.map((row) => [row.name, row] as const))('%s', (_, row) => {
      const { rules, options } = rulesOf(row)
      const body = latin1(row.upstream_body_chunks.join(''))
      const sizes = row.upstream_body_chunks.map((chunk) => chunk.length)
      const maxHeldBytes = row.max_buffered
      const reference = referenceOfRules(rules, options)

      const wanted = streamNginxReference(reference, body, sizes, { maxHeldBytes, continuations: 20 })
      expect([octetString(wanted.output), wanted.overflows > 0]).toEqual([row.expected_body, row.overflow_expected])
      const own = drive(compileRuleSet(rules, { ...options, maxHeldBytes }), body, sizes)
      expect([octetString(own.output), own.overflows]).toEqual([row.expected_body, row.overflow_expected ? 1 : 0])

      if (row.overflow_expected) return
      expect(octetString(rewriteWhole(reference, body).output)).toBe(row.expected_body)
      const ruleSet = compileRuleSet(rules, options)
      forEachSplit(body, (split) => {
        expect([octetString(drive(ruleSet, body, split).output), split]).toEqual([row.expected_body, split])
      })
    })
  })
}
