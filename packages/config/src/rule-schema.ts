/** What one rule looks like in a file; the descriptions are the reference documentation. */
import { z } from 'zod'

/** What rules of every kind may say; see the schema for the meaning of each field. */
interface RawConditions {
  readonly types?: OneOrMore<string>
  readonly paths?: OneOrMore<string>
  readonly status?: OneOrMore<number | string>
  readonly methods?: OneOrMore<string>
  readonly hosts?: OneOrMore<string>
  readonly requestHeaders?: RawHeaderConditions
  readonly responseHeaders?: RawHeaderConditions
  readonly between?: readonly [string, string]
  readonly once?: boolean
  readonly max?: number
}

export type RawHeaderConditions = Readonly<Record<string, boolean | OneOrMore<string>>>

export interface RawTextRule extends RawConditions {
  readonly text: string
  readonly with: string
  readonly flags?: string
  readonly keepCase?: boolean
}

export interface RawRegexRule extends RawConditions {
  readonly regex: string
  readonly with: string
  readonly flags?: string
}

export interface RawDomainRule extends RawConditions {
  readonly domain: string
  readonly to: string
  readonly subdomains?: 'ignore' | 'keep' | 'map'
}

export interface RawInsertRule extends RawConditions {
  readonly insert: 'before' | 'after' | 'replace'
  readonly at: string
  readonly with: string
}

export type RawRule = RawTextRule | RawRegexRule | RawDomainRule | RawInsertRule

export type OneOrMore<T> = T | readonly T[]

/** Longest pattern, text or replacement that a rule may have, in UTF-16 code units. */
export const MAX_RULE_TEXT_CHARACTERS: number = 1_048_576

export const ruleText: z.ZodString = z
  .string()
  .max(MAX_RULE_TEXT_CHARACTERS)
  .regex(/^\P{Surrogate}*$/u, 'has half of a surrogate pair; write the character itself or \\U and eight digits')

export const mediaType: z.ZodType<string> = z
  .string()
  .regex(/^(\*|[\w!#$&^.+-]+\/(\*|[\w!#$&^.+-]+))$/, 'is no media type; write it like text/html, text/*, or *')

/** `/shop/**` and the like; shared with the routes. */
export const pathGlob: z.ZodType<string> = z.string().regex(/^[/*]/, 'is no path; it begins with /, like /shop/**')

export const statusCode: z.ZodType<number | string> = z.union([
  z.int().min(200).max(599),
  z.string().regex(/^[2-5]xx$/, 'is no status; write it like 200 or 2xx'),
])

/** One value or a list of them. */
export function oneOrMore<T>(item: z.ZodType<T>): z.ZodType<OneOrMore<T>> {
  return z.union([item, z.array(item).min(1).readonly()])
}

export const method: z.ZodType<string> = z
  .string()
  .regex(/^[A-Z]+(-[A-Z]+)*$/, 'is no method; write it in capitals, like GET')

/** `*.example.org` and the like; shared with the routes. */
export const hostPattern: z.ZodType<string> = z
  .string()
  .regex(
    /^(\*\.)?[A-Za-z0-9_.-]+$/,
    'is no host name; write it like www.example.org or *.example.org, without scheme and port, and ü as xn--',
  )

export const fieldName: z.ZodString = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is no name of a header field; write it like Cookie or X-Beta')

export const headerConditions: z.ZodType<RawHeaderConditions> = z.record(
  fieldName,
  z.union([z.boolean(), z.string(), z.array(z.string()).min(1).readonly()]),
)

const conditionsAndLimits = {
  types: oneOrMore(mediaType)
    .exactOptional()
    .describe(
      'Media types of the responses that the rule applies to, compared without letter case and parameters; ' +
        '`text/*` takes a whole family, `*` everything, also a response without a type. ' +
        'Without it: `text/*`, JSON, JavaScript, XML, SVG, feeds and web app manifests.',
    ),
  paths: oneOrMore(pathGlob)
    .exactOptional()
    .describe(
      'Paths of the requests that the rule applies to, without the query: `*` stands for any characters within a ' +
        'segment, `**` across segments, `?` for one character.',
    ),
  status: oneOrMore(statusCode)
    .exactOptional()
    .describe('Status codes that the rule applies to, `404`, or classes of them, `2xx`.'),
  methods: oneOrMore(method)
    .exactOptional()
    .describe('Methods of the requests that the rule applies to; `GET` stands for HEAD, too.'),
  hosts: oneOrMore(hostPattern)
    .exactOptional()
    .describe(
      'Host names that clients ask for, without port: `www.example.org`, or `*.example.org` for every name below it.',
    ),
  requestHeaders: headerConditions
    .exactOptional()
    .describe(
      'Header fields of the request, by name; all must hold. `true` says that the field is there, `false` that it is ' +
        'not; a text is what its value must be, in any letter case, `*` for any characters; a list is one of them. ' +
        'Caches are told of them in Vary, and such responses lose their ETag and Last-Modified.',
    ),
  responseHeaders: headerConditions
    .exactOptional()
    .describe('Header fields of the response, as the upstream sent it, in the same form.'),
  between: z
    .tuple([ruleText.min(1), ruleText.min(1)])
    .readonly()
    .exactOptional()
    .describe(
      'An opening and a closing marker, `[<head>, </head>]`: the rule may begin a match only after the first and before ' +
        'the end of the second. Markers are plain texts, found in any letter case, wherever they stand.',
    ),
  once: z
    .boolean()
    .exactOptional()
    .describe('`true` replaces the first match of a response only; the same as `max: 1`.'),
  max: z.int().min(1).exactOptional().describe('How many matches the rule replaces in one response at most.'),
} as const

const onceOrMax = {
  error: 'the rule says both once and max; keep one of the two',
  path: ['max'],
}

const hostName = z
  .string()
  .max(253)
  .regex(/^[^\s/:*?#@]+$/, 'is no host name; write the bare name, like www.example.org, without scheme, port and path')

const textRuleSchema: z.ZodType<RawTextRule> = z
  .strictObject({
    text: ruleText.min(1).describe('The text to look for. No character in it is special.'),
    with: ruleText.describe("What to write instead. No character in it is special; `''` deletes the text."),
    flags: z
      .string()
      .regex(/^[i\s]*$/, 'has a flag that text rules do not know; they know i only')
      .exactOptional()
      .describe('`i` finds the text in any letter case.'),
    keepCase: z
      .boolean()
      .exactOptional()
      .describe(
        '`true` finds the text in any letter case and writes the new one in the same: under `text: acme`, ' +
          '`with: zenith`, `Acme ACME acme` becomes `Zenith ZENITH zenith`.',
      ),
    ...conditionsAndLimits,
  })
  .refine((rule) => rule.once === undefined || rule.max === undefined, onceOrMax)
  .describe('A text for a text.')

const regexRuleSchema: z.ZodType<RawRegexRule> = z
  .strictObject({
    regex: ruleText.describe(
      'The pattern to look for, in the usual syntax without back-references and look-around; see docs/rules.md.',
    ),
    with: ruleText.describe(
      'What to write instead: `$1` or `${1}` is what the first group matched, `${name}` a named group or a variable, ' +
        '`$&` the whole match, `$$` a dollar sign; filters follow a bar, `${1|upper}`.',
    ),
    flags: z
      .string()
      .regex(/^[imsx\s]*$/, 'has an unknown flag; there are i, m, s and x')
      .exactOptional()
      .describe(
        '`i` any letter case, `m` `^` and `$` at every line, `s` `.` takes a newline too, `x` blanks and comments in ' +
          'the pattern are ignored.',
      ),
    ...conditionsAndLimits,
  })
  .refine((rule) => rule.once === undefined || rule.max === undefined, onceOrMax)
  .describe('A pattern for a template.')

const domainRuleSchema: z.ZodType<RawDomainRule> = z
  .strictObject({
    domain: hostName.describe(
      'A host name to look for in every form that pages write: bare, in URLs with any scheme or none, with JSON and ' +
        'percent encoding, in any letter case, with letters beyond ASCII and as xn--; whole labels only.',
    ),
    to: hostName.describe('The host name to write instead, in the same form.'),
    subdomains: z
      .enum(['ignore', 'keep', 'map'])
      .exactOptional()
      .describe(
        'What `x.a.example` becomes under `domain: a.example`, `to: b.example`: `ignore` leaves it alone, `keep` gives ' +
          '`x.b.example`, `map` gives `b.example`. Without it: `ignore`.',
      ),
    ...conditionsAndLimits,
  })
  .refine((rule) => rule.once === undefined || rule.max === undefined, onceOrMax)
  .describe('One host name for another.')

const insertRuleSchema: z.ZodType<RawInsertRule> = z
  .strictObject({
    insert: z
      .enum(['before', 'after', 'replace'])
      .describe('Where the snippet goes: before the tag, after it, or in its place.'),
    at: z
      .string()
      .regex(
        /^<\/?[A-Za-z][^\t\n\f\r />]*[\t\n\f\r ]*>$/,
        'is no tag; write it without attributes, like </head> or <body>',
      )
      .describe(
        'The tag, `<body>` or `</head>`; it is found with any attributes and in any letter case, in comments and ' +
          'scripts, too.',
      ),
    with: ruleText.describe('The snippet. No character in it is special.'),
    ...conditionsAndLimits,
  })
  .refine((rule) => rule.once === undefined || rule.max === undefined, onceOrMax)
  .describe(
    'A snippet at a tag, once unless `once: false` or `max` say otherwise. Without `types` it applies to HTML and XHTML.',
  )

/** The field that tells a rule's kind, and what the rest then looks like. */
export const RULE_KINDS: Readonly<Record<'text' | 'regex' | 'domain' | 'insert', z.ZodType<RawRule>>> = {
  text: textRuleSchema,
  regex: regexRuleSchema,
  domain: domainRuleSchema,
  insert: insertRuleSchema,
}

export const ruleSchema: z.ZodType<RawRule> = z.union([
  textRuleSchema,
  regexRuleSchema,
  domainRuleSchema,
  insertRuleSchema,
])

/** A rules file: the list that `rules` takes. */
export const ruleListSchema: z.ZodType<readonly RawRule[]> = z
  .array(ruleSchema)
  .readonly()
  .describe('Rules, in order of priority: where two match at the same place, the earlier one wins.')

/** A place in a list of rules where those of a set stand. */
export interface RawUse {
  readonly use: string
}

export type RawRuleEntry = RawRule | RawUse

export const ruleSetName: z.ZodString = z
  .string()
  .regex(/^[A-Za-z0-9_][\w.-]{0,99}$/, 'is no name of a rule set; write it like standard or shop-2')

const useSchema: z.ZodType<RawUse> = z
  .strictObject({ use: ruleSetName.describe('The name of a set in `ruleSets`, whose rules stand here.') })
  .describe('The rules of a set that has a name.')

/** What a list of rules in a configuration may hold. */
export const ENTRY_KINDS: Readonly<Record<keyof typeof RULE_KINDS | 'use', z.ZodType<RawRuleEntry>>> = {
  ...RULE_KINDS,
  use: useSchema,
}

export const ruleEntrySchema: z.ZodType<RawRuleEntry> = z.union([
  textRuleSchema,
  regexRuleSchema,
  domainRuleSchema,
  insertRuleSchema,
  useSchema,
])

/** Rules of a configuration. */
export const ruleEntryListSchema: z.ZodType<readonly RawRuleEntry[]> = z
  .array(ruleEntrySchema)
  .readonly()
  .describe('Rules, in order of priority: where two match at the same place, the earlier one wins.')
