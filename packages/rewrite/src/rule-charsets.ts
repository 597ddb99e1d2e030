/** Which encodings of text a rule set can be applied to, and rewriters for them. */
import { type Charset, MULTI_BYTE_CHARSETS, SINGLE_BYTE_CHARSETS } from '@prexy/bytes/charset-labels'
import type { ByteSink } from '@prexy/bytes/sink'
import { canReadCharset, textFormOf } from '@prexy/bytes/text-form'
import type { ProgramNode } from '@prexy/regex/program'
import { CharsetRewriter } from './charset-rewriter.ts'
import { landingOf } from './filters.ts'
import type { Rewriter, RewriterInit, RuleSet } from './rewriter.ts'
import { compileRules } from './rule-set.ts'

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

/** Of a rule set that was asked for: whether it is the same in every encoding where ASCII octets are ASCII. */
const asciiOnly = new WeakMap<RuleSet, boolean>()

/**
 * Whether no rule can match anything but ASCII or put in anything else: then octets of any encoding of
 * {@link OCTET_CHARSETS} are as good as UTF-8.
 */
function isAsciiOnly(rules: RuleSet): boolean {
  const known = asciiOnly.get(rules)
  if (known !== undefined) return known
  const isAscii =
    rules.rules.every((rule) => !NOT_ASCII.test(JSON.stringify(rule))) &&
    compileRules(rules.rules, rules.options).every(({ source, template }) => {
      // A tree of octets finds what it finds in any encoding.
      const isOctets = source.mode === 'octet' && rules.options.mode === 'text'
      return (isOctets || matchesAsciiOnly(source.root)) && !template.fixed?.some((octet) => octet > 0x7f)
    })
  asciiOnly.set(rules, isAscii)
  return isAscii
}

const NOT_ASCII = /[^\0-\x7f]/

/** Whether a pattern matches ASCII only, and never nothing, which may be found between the octets of a character. */
function matchesAsciiOnly(root: ProgramNode): boolean {
  return !isNullable(root) && classesAreAscii(root)
}

function classesAreAscii(node: ProgramNode): boolean {
  switch (node.kind) {
    case 'class':
      return (node.ranges.at(-1) ?? 0) <= 0x7f
    case 'concat':
    case 'alternate':
    case 'sequence':
      return node.nodes.every(classesAreAscii)
    case 'repeat':
    case 'capture':
      return classesAreAscii(node.node)
    default:
      return true
  }
}

function isNullable(node: ProgramNode): boolean {
  switch (node.kind) {
    case 'class':
      return false
    case 'concat':
    case 'sequence':
      return node.nodes.every(isNullable)
    case 'alternate':
      return node.nodes.some(isNullable)
    case 'repeat':
      return node.min === 0 || isNullable(node.node)
    case 'capture':
      return isNullable(node.node)
    default:
      return true
  }
}

/** A rewriter whose replacements are in the body's encoding. */
export interface EncodedRewriter extends Rewriter {
  /** Characters of replacements that the encoding lacks. */
  readonly unencodable: number
}

/**
 * A rewriter for one body in an encoding that {@link charsetsOf} allows; undefined where the runtime turns out not to
 * have it. In octet mode the rules see the body's octets, in text mode its characters. `ahead` puts something before the
 * rules that sees what they see.
 */
export function createEncodedRewriter(
  rules: RuleSet,
  charset: Charset,
  sink: ByteSink,
  init: RewriterInit,
  ahead: (rewriter: Rewriter) => Rewriter = (rewriter) => rewriter,
): Rewriter | EncodedRewriter | undefined {
  if (charset === 'utf-8' || rules.options.mode === 'octet') return ahead(rules.createRewriter(sink, init))
  if (OCTET_CHARSETS.has(charset) && isAsciiOnly(rules) && areAscii(init.variables)) {
    return ahead(rules.createRewriter(sink, init))
  }
  const form = textFormOf(charset)
  if (form === undefined) return undefined
  return new CharsetRewriter(form, landingOf(init.mediaType) === 'markup' ? 'reference' : 'skip', sink, (target) =>
    ahead(rules.createRewriter(target, init)),
  )
}

function areAscii(variables: RewriterInit['variables']): boolean {
  for (const name in variables) if (NOT_ASCII.test(variables[name])) return false
  return true
}
