import { type Charset, SINGLE_BYTE_CHARSETS } from '@prexy/bytes/charset-labels'
import type { RuleSet } from './rewriter.ts'

/** Encodings in which an ASCII octet is always that character. */
const OCTET_CHARSETS: ReadonlySet<Charset> = new Set<Charset>(['utf-8', 'euc-jp', ...SINGLE_BYTE_CHARSETS])

/** Encodings of bodies that the rules can be applied to. replace_filter looks at octets, whatever they stand for. */
export function charsetsOf(rules: RuleSet | undefined): ReadonlySet<Charset> | 'any' {
  return rules?.options.compat === 'nginx' ? 'any' : OCTET_CHARSETS
}
