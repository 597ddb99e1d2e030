/** Which encodings of text a rule set can be applied to, and rewriters for them. */
import { type Charset, MULTI_BYTE_CHARSETS, SINGLE_BYTE_CHARSETS } from '@prexy/bytes/charset-labels'
import type { ByteSink } from '@prexy/bytes/sink'
import { canReadCharset, textFormOf } from '@prexy/bytes/text-form'
import { CharsetRewriter } from './charset-rewriter.ts'
import type { Rewriter, RewriterInit, RuleSet } from './rewriter.ts'

/** Encodings in which an ASCII octet is always that character. */
const OCTET_CHARSETS: ReadonlySet<Charset> = new Set<Charset>(['utf-8', 'euc-jp', ...SINGLE_BYTE_CHARSETS])

const TEXT_CHARSETS: ReadonlySet<Charset> = new Set<Charset>(
  ['utf-8' as const, 'utf-16le' as const, 'utf-16be' as const, ...SINGLE_BYTE_CHARSETS, ...MULTI_BYTE_CHARSETS].filter(
    canReadCharset,
  ),
)

/**
 * Encodings of bodies that the rules can be applied to. Rules of octets leave alone what has ASCII octets inside other
 * characters; replace_filter looks at octets, whatever they stand for.
 */
export function charsetsOf(rules: RuleSet | undefined): ReadonlySet<Charset> | 'any' {
  if (rules?.options.compat === 'nginx') return 'any'
  return rules?.options.mode === 'octet' ? OCTET_CHARSETS : TEXT_CHARSETS
}

/** A rewriter whose replacements are in the body's encoding. */
export interface EncodedRewriter extends Rewriter {
  /** Characters of replacements that the encoding lacks. */
  readonly unencodable: number
}

/**
 * A rewriter for one body in an encoding that {@link charsetsOf} allows; undefined where the runtime turns out not to
 * have it. In octet mode the rules see the body's octets, in text mode its characters.
 */
export function createEncodedRewriter(
  rules: RuleSet,
  charset: Charset,
  sink: ByteSink,
  init: RewriterInit,
): Rewriter | EncodedRewriter | undefined {
  if (charset === 'utf-8' || rules.options.mode === 'octet') return rules.createRewriter(sink, init)
  const form = textFormOf(charset)
  return form === undefined ? undefined : new CharsetRewriter(rules, form, sink, init)
}
