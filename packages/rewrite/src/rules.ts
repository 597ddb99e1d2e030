/** What a rule set says, as plain data: the configuration, the command line and the library all build these. */

/** Which of several matches at the leftmost position wins; see docs/rules.md. */
export type Priority = 'first' | 'longest'

/** What happens when a body would hold more than `maxHeldBytes`. */
export type OverflowPolicy = 'skip' | 'passthrough' | 'abort'

/** Decided by the proxy, once per response, before its body. An absent condition holds for every response. */
export interface RuleConditions {
  /**
   * Media types without parameters, compared caseless: `text/html`, `text/*`, or `*` for any and for a missing type.
   * Absent means {@link DEFAULT_TYPES}.
   */
  readonly types?: readonly string[]
  /** Path globs (`*` within a segment, `**` across segments, `?` one character); any may match. */
  readonly paths?: readonly string[]
  /** Status codes, `200`, or classes, `'2xx'`; any may match. */
  readonly status?: readonly (number | string)[]
  /** `GET` stands for HEAD, too. */
  readonly methods?: readonly string[]
  /** Names that clients ask for, without port, exact or `*.example.org` for every name below; ignoring case. */
  readonly hosts?: readonly string[]
  /** By field name, ignoring case; all must hold. */
  readonly requestHeaders?: HeaderConditions
  /** Of the response as the upstream sent it. */
  readonly responseHeaders?: HeaderConditions
}

/**
 * `true`: the field is there; `false`: it is not; text: its value is that, ignoring case, where `*` stands for any
 * characters; a list: one of them.
 */
export type HeaderConditions = Readonly<Record<string, boolean | string | readonly string[]>>

/** Where in a body a rule may match, and how often. */
export interface RuleLimits {
  /**
   * An opening and a closing marker, literals found in any (ASCII) letter case and not taking part in matches: a match
   * may begin from the end of the first up to, not including, the end of the next second one. Another opening marker
   * opens again. Absent: anywhere.
   */
  readonly between?: readonly [open: string, close: string]
  /** Matches per body after which the rule is spent. `once: true` is `max: 1`. */
  readonly max?: number
  readonly once?: boolean
}

/** A literal for a literal: no pattern characters in `text`, no `$` in `with`. */
export interface TextRule extends RuleConditions, RuleLimits {
  readonly text: string
  readonly with: string
  /** Only `i` is meaningful for a literal. */
  readonly flags?: string
  /**
   * The text is found in any letter case, and what replaces it is written in the case that was found: `Acme ACME acme`
   * becomes `Zenith ZENITH zenith`.
   */
  readonly keepCase?: boolean
}

/** A pattern for a template. */
export interface RegexRule extends RuleConditions, RuleLimits {
  readonly regex: string
  readonly with: string
  /** Any of `i m s x`. */
  readonly flags?: string
}

/** One host name for another, in whatever form a page writes it. */
export interface DomainRule extends RuleConditions, RuleLimits {
  /** Characters in both modes; a name with letters beyond ASCII in either of its forms. */
  readonly domain: string
  readonly to: string
  /**
   * What a name below `domain` becomes. `ignore` (the default) leaves `x.a.example` alone, `keep` gives
   * `x.b.example`, `map` gives `b.example`.
   */
  readonly subdomains?: 'ignore' | 'keep' | 'map'
}

/** A snippet at a tag, once unless `once: false` or `max` say otherwise. */
export interface InsertRule extends RuleConditions, RuleLimits {
  /** Before the tag's `<`, after its `>`, or in its place. */
  readonly insert: 'before' | 'after' | 'replace'
  /** A start or end tag without attributes, `<body>` or `</head>`; it is found with any, in any letter case. */
  readonly at: string
  /** Nothing in it is special. */
  readonly with: string
}

export type Rule = TextRule | RegexRule | DomainRule | InsertRule

export interface RuleSetOptions {
  /** Default `first`. */
  readonly priority?: Priority
  /** Default `text`; `octet` with `compat: nginx`. */
  readonly mode?: 'text' | 'octet'
  /** `nginx` follows OpenResty's replace_filter where it differs; see docs/rules.md. Absent: our own semantics. */
  readonly compat?: 'nginx'
  /** Default 65,536 bytes, at least 4 (0 with `compat: nginx`), at most 16,777,216. */
  readonly maxHeldBytes?: number
  /** Default `skip`. */
  readonly overflow?: OverflowPolicy
}

/** Response types that rules without `types` apply to; the bodies that browsers and feeds read as text. */
export const DEFAULT_TYPES: readonly string[] = [
  'text/*',
  'application/json',
  'application/ld+json',
  'application/javascript',
  'application/x-javascript',
  'application/ecmascript',
  'application/xml',
  'application/xhtml+xml',
  'application/rss+xml',
  'application/atom+xml',
  'application/manifest+json',
  'image/svg+xml',
]

/** Response types that `insert` rules without `types` apply to. */
export const MARKUP_TYPES: readonly string[] = ['text/html', 'application/xhtml+xml']

/** The types that a rule applies to, its own or those of its kind. */
export function typesOf(rule: Rule): readonly string[] {
  return rule.types ?? ('insert' in rule ? MARKUP_TYPES : DEFAULT_TYPES)
}

export const DEFAULT_MAX_HELD_BYTES = 65_536
export const MIN_MAX_HELD_BYTES = 4
/** 16 MiB: pending matches take 16 bytes each beside the held text, and all bodies of a rule set share 4 GiB. */
export const MAX_MAX_HELD_BYTES = 16_777_216

/** Everything wrong with a rule: which rule, where in its pattern or template, why, and what to do. */
export interface RuleProblem {
  readonly code: 'E_PATTERN_SYNTAX' | 'E_PATTERN_UNSUPPORTED' | 'E_PATTERN_LIMIT' | 'E_TEMPLATE' | 'E_RULE'
  /** Index of the rule in the set. */
  readonly rule: number
  /** The field of the rule that is at fault: `regex`, `with`, `flags`, ... */
  readonly field: string
  /** Octet offset into that field's text, where there is one. */
  readonly at: number | undefined
  readonly message: string
  readonly hint: string | undefined
}

/** Thrown by `compileRuleSet`; lists every problem at once. */
export class RuleSetError extends Error {
  readonly problems: readonly RuleProblem[]
  constructor(problems: readonly RuleProblem[]) {
    super(problems.map((problem) => `rule ${problem.rule + 1}: ${problem.field}: ${problem.message}`).join('\n'))
    this.name = 'RuleSetError'
    this.problems = problems
  }
}
