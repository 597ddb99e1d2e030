/**
 * Hashes of inline scripts and styles in Content-Security-Policy (CSP Level 3 §2.3.1). A changed page no longer fits
 * them, and the policy goes out before the page is read.
 */
import { isNamed } from '@prexy/http/fields'

/** Fields that hold policies, in lower case. */
export const POLICY_NAMES: readonly string[] = ['content-security-policy', 'content-security-policy-report-only']

/** Directives that say which scripts and styles of a page apply. */
const DIRECTIVES: readonly string[] = ['script-src', 'style-src', 'default-src'].flatMap((name) =>
  name === 'default-src' ? [name] : [name, `${name}-elem`, `${name}-attr`],
)

const HASH = /^'sha(?:256|384|512)-[A-Za-z0-9+/_-]+={0,2}'$/i
const NONCE = /^'nonce-/i
const UNSAFE_INLINE = "'unsafe-inline'"
const STRICT_DYNAMIC = "'strict-dynamic'"

/**
 * Makes policies that allow inline scripts or styles by hashes allow all of them: the hashes go, since beside one
 * 'unsafe-inline' has no effect, and so does 'strict-dynamic', for the same reason. A directive with a nonce stays as it
 * is: its page needs no hash, and beside a nonce neither would have an effect. Changes `fields`; returns the names of
 * those that changed, in lower case.
 *
 * SECURITY: that widens the policy, to what it was before hashes; only for those who asked for it by this name.
 */
export function allowInline(fields: string[]): readonly string[] {
  const changed = new Set<string>()
  for (let at = 0; at < fields.length; at += 2) {
    const name = POLICY_NAMES.find((policy) => isNamed(fields[at], policy))
    if (name === undefined) continue
    const value = withInline(fields[at + 1])
    if (value === fields[at + 1]) continue
    fields[at + 1] = value
    changed.add(name)
  }
  return [...changed]
}

/** Of all policies of a value, directives without hashes octet for octet. */
function withInline(value: string): string {
  return value
    .split(',')
    .map((policy) => policy.split(';').map(directiveWithInline).join(';'))
    .join(',')
}

function directiveWithInline(directive: string): string {
  const [name = '', ...sources] = directive.split(/[\t\n\f\r ]+/).filter((token) => token !== '')
  if (!DIRECTIVES.includes(name.toLowerCase())) return directive
  if (!sources.some((source) => HASH.test(source)) || sources.some((source) => NONCE.test(source))) return directive
  const kept = sources.filter((source) => !HASH.test(source) && !isAnyOf(source, [STRICT_DYNAMIC, UNSAFE_INLINE]))
  const blanks = directive.slice(0, directive.indexOf(name))
  return `${blanks}${[name, ...kept, UNSAFE_INLINE].join(' ')}`
}

function isAnyOf(source: string, keywords: readonly string[]): boolean {
  return keywords.includes(source.toLowerCase())
}
