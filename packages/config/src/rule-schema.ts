/** What one rule looks like in a file; the descriptions are the reference documentation. */
import { z } from 'zod'

/** What rules of every kind may say; see the schema for the meaning of each field. */
interface RawConditions {
  readonly types?: OneOrMore<string>
  readonly paths?: OneOrMore<string>
  readonly status?: OneOrMore<number | string>
  readonly once?: boolean
  readonly max?: number
}

export interface RawTextRule extends RawConditions {
  readonly text: string
  readonly with: string
  readonly flags?: string
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

export type RawRule = RawTextRule | RawRegexRule | RawDomainRule

export type OneOrMore<T> = T | readonly T[]

/** Longest pattern, text or replacement that a rule may have, in UTF-16 code units. */
export const MAX_RULE_TEXT_CHARACTERS: number = 1_048_576

const ruleText = z
  .string()
  .max(MAX_RULE_TEXT_CHARACTERS)
  .regex(/^\P{Surrogate}*$/u, 'has half of a surrogate pair; write the character itself or \\U and eight digits')

const mediaType = z
  .string()
  .regex(/^(\*|[\w!#$&^.+-]+\/(\*|[\w!#$&^.+-]+))$/, 'is no media type; write it like text/html, text/*, or *')

/** `/shop/**` and the like; shared with the routes. */
export const pathGlob: z.ZodType<string> = z.string().regex(/^[/*]/, 'is no path; it begins with /, like /shop/**')

const statusCode = z.union([
  z.int().min(200).max(599),
  z.string().regex(/^[2-5]xx$/, 'is no status; write it like 200 or 2xx'),
])

/** One value or a list of them. */
export function oneOrMore<T>(item: z.ZodType<T>): z.ZodType<OneOrMore<T>> {
  return z.union([item, z.array(item).min(1).readonly()])
}

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
        '`$&` the whole match, `$$` a dollar sign.',
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
        'percent encoding, in any letter case; whole labels only.',
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

/** The field that tells a rule's kind, and what the rest then looks like. */
export const RULE_KINDS: Readonly<Record<'text' | 'regex' | 'domain', z.ZodType<RawRule>>> = {
  text: textRuleSchema,
  regex: regexRuleSchema,
  domain: domainRuleSchema,
}

export const ruleSchema: z.ZodType<RawRule> = z.union([textRuleSchema, regexRuleSchema, domainRuleSchema])

/** A rules file: the list that `rules` takes. */
export const ruleListSchema: z.ZodType<readonly RawRule[]> = z
  .array(ruleSchema)
  .readonly()
  .describe('Rules, in order of priority: where two match at the same place, the earlier one wins.')
