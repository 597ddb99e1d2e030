/** Header rules as a file has them; the descriptions are the reference documentation. */
import { z } from 'zod'
import {
  fieldName,
  headerConditions,
  hostPattern,
  mediaType,
  method,
  type OneOrMore,
  oneOrMore,
  pathGlob,
  type RawHeaderConditions,
  ruleText,
  statusCode,
} from './rule-schema.ts'

/** Exactly one of `set`, `add`, `remove` and `replace` is there, with what belongs to it. */
export interface RawHeaderRule {
  readonly set?: string
  readonly add?: string
  readonly remove?: string
  readonly replace?: string
  readonly value?: string
  readonly regex?: string
  readonly with?: string
  readonly flags?: string
  readonly paths?: OneOrMore<string>
  readonly methods?: OneOrMore<string>
  readonly hosts?: OneOrMore<string>
  readonly requestHeaders?: RawHeaderConditions
  readonly status?: OneOrMore<number | string>
  readonly types?: OneOrMore<string>
  readonly responseHeaders?: RawHeaderConditions
}

export interface RawHeaders {
  readonly request?: readonly RawHeaderRule[]
  readonly response?: readonly RawHeaderRule[]
}

const KINDS = ['set', 'add', 'remove', 'replace'] as const
const BESIDE: Readonly<Record<(typeof KINDS)[number], readonly ('value' | 'regex' | 'with' | 'flags')[]>> = {
  set: ['value'],
  add: ['value'],
  remove: [],
  replace: ['regex', 'with'],
}

const actions = {
  set: fieldName
    .exactOptional()
    .describe('Name of a field that is to have this `value` and no other, whether or not it is there already.'),
  add: fieldName.exactOptional().describe('Name of a field that gets one more line, with this `value`.'),
  remove: fieldName.exactOptional().describe('Name of a field of which all lines go.'),
  replace: fieldName
    .exactOptional()
    .describe('Name of a field in whose lines `regex` is searched and replaced by `with`.'),
  value: ruleText
    .exactOptional()
    .describe(
      'Of `set` and `add`: the value. `${host}`, `${header:NAME}` and the other variables of docs/rules.md stand for ' +
        'what they do in rules, `$$` for a dollar sign.',
    ),
  regex: ruleText.exactOptional().describe('Of `replace`: the pattern, as in a rule.'),
  with: ruleText.exactOptional().describe('Of `replace`: what to write instead, with groups and variables.'),
  flags: z
    .string()
    .regex(/^[imsx\s]*$/, 'has an unknown flag; there are i, m, s and x')
    .exactOptional()
    .describe('Of `replace`: flags of the pattern, as in a rule.'),
} as const

const ofRequest = {
  paths: oneOrMore(pathGlob).exactOptional().describe('Paths of the requests that the rule applies to, as in a rule.'),
  methods: oneOrMore(method).exactOptional().describe('Methods of the requests that the rule applies to.'),
  hosts: oneOrMore(hostPattern).exactOptional().describe('Host names that clients ask for, as in a rule.'),
  requestHeaders: headerConditions
    .exactOptional()
    .describe('Header fields of the request as the client sent it, in the form that rules have.'),
} as const

const ofResponse = {
  status: oneOrMore(statusCode).exactOptional().describe('Status codes that the rule applies to, `404` or `2xx`.'),
  types: oneOrMore(mediaType)
    .exactOptional()
    .describe('Media types of the responses that the rule applies to. Without it: any, and none.'),
  responseHeaders: headerConditions
    .exactOptional()
    .describe('Header fields of the response, as the upstream sent it, in the same form.'),
} as const

type Report = (message: string, path: readonly string[]) => void

/** What one of the fields alone does not show. */
function checkAction(rule: RawHeaderRule, report: Report): void {
  const kinds = KINDS.filter((kind) => rule[kind] !== undefined)
  if (kinds.length === 0) return report('says nothing to do; add set, add, remove or replace', [])
  if (kinds.length > 1) return report(`has ${kinds.join(' and ')} at once; make a rule of each`, [])
  const [kind] = kinds
  for (const field of BESIDE[kind]) {
    if (rule[field] === undefined) report(`has no ${field}; add it beside ${kind}`, [])
  }
  const allowed = kind === 'replace' ? [...BESIDE[kind], 'flags'] : BESIDE[kind]
  for (const field of ['value', 'regex', 'with', 'flags'] as const) {
    if (rule[field] !== undefined && !allowed.includes(field)) report(`does not go with ${kind}; remove it`, [field])
  }
}

function refined(rule: RawHeaderRule, context: z.core.$RefinementCtx<RawHeaderRule>): void {
  checkAction(rule, (message, path) => context.addIssue({ code: 'custom', message, path: [...path] }))
}

export const requestHeaderRuleSchema: z.ZodType<RawHeaderRule> = z
  .strictObject({ ...actions, ...ofRequest })
  .superRefine(refined)
  .describe('One thing done to the header of a request on its way to the upstream.')

export const responseHeaderRuleSchema: z.ZodType<RawHeaderRule> = z
  .strictObject({ ...actions, ...ofRequest, ...ofResponse })
  .superRefine(refined)
  .describe('One thing done to the header of a response on its way to the client.')

export const headersSchema: z.ZodType<RawHeaders> = z
  .strictObject({
    request: z
      .array(requestHeaderRuleSchema)
      .readonly()
      .exactOptional()
      .describe('What is done to requests, in this order, after everything that prexy itself does to them.'),
    response: z
      .array(responseHeaderRuleSchema)
      .readonly()
      .exactOptional()
      .describe('What is done to responses of upstreams, in this order, after everything else.'),
  })
  .describe(
    'Fields of requests and responses that are set, added, removed, or searched and replaced. Fields that frame a ' +
      'message or belong to one connection, and those that say how the body is coded, are not for rules.',
  )
