/**
 * Header rules: fields set, added, removed, or searched and replaced, as the configuration says, in its order.
 *
 * They are the last to touch a head: after the domain rules, after what prexy itself adds, before it is written. So they
 * cannot know of everything that stands in a head, and may not touch what others rely on: see {@link refusalOf}.
 *
 * SECURITY: a template may hold what a client sent. Whatever comes out of one is checked to be a field value (no control
 * character but HTAB, nothing beyond one octet); if it is not, the rule does nothing to that message.
 */
import { parseAuthority } from '@prexy/http/authority'
import {
  type ConditionSet,
  prepareConditions,
  requestFieldNames,
  rulesForFields,
  rulesForRequest,
  rulesForStatus,
  rulesForType,
} from '@prexy/http/conditions'
import {
  CONNECTION_NAMES,
  FRAMING_NAMES,
  type FieldList,
  fieldValue,
  isFieldValue,
  isNamed,
  isToken,
  parseMediaType,
  removeField,
  setField,
  trimBlanks,
} from '@prexy/http/fields'
import type { RequestHead } from '@prexy/http/message'
import { appendVary } from '@prexy/http/validators'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { type RuleConditions, RuleSetError } from '@prexy/rewrite/rules'
import {
  bindVariables,
  parseTemplate,
  type Template,
  TemplateError,
  variablesOf,
  variableValues,
} from '@prexy/rewrite/template'
import { requestFieldsOf, requestVariables } from './request-variables.ts'

/** `types`, `status` and `responseHeaders` hold in rules of responses only; without `types` every response counts. */
export type HeaderConditions = Omit<RuleConditions, 'between'>

/** All lines of the field give way to one. */
export interface SetHeaderRule extends HeaderConditions {
  readonly set: string
  /** A template: variables, no groups. */
  readonly value: string
}

/** One more line. */
export interface AddHeaderRule extends HeaderConditions {
  readonly add: string
  readonly value: string
}

export interface RemoveHeaderRule extends HeaderConditions {
  readonly remove: string
}

/** In each line of the field, as a `regex` rule does it in a body. */
export interface ReplaceHeaderRule extends HeaderConditions {
  readonly replace: string
  readonly regex: string
  readonly with: string
  readonly flags?: string
}

export type HeaderRule = SetHeaderRule | AddHeaderRule | RemoveHeaderRule | ReplaceHeaderRule

export type MessageSide = 'request' | 'response'

/** What is wrong with a header rule; `at` is an octet offset into the field's text in UTF-8. */
export interface HeaderRuleProblem {
  readonly rule: number
  readonly field: string
  readonly at: number | undefined
  readonly message: string
  readonly hint: string | undefined
}

/** Thrown by {@link compileHeaderRules}; lists every problem at once. */
export class HeaderRuleError extends Error {
  readonly problems: readonly HeaderRuleProblem[]
  constructor(problems: readonly HeaderRuleProblem[]) {
    super(problems.map((problem) => `header rule ${problem.rule + 1}: ${problem.field}: ${problem.message}`).join('\n'))
    this.name = 'HeaderRuleError'
    this.problems = problems
  }
}

/** Header rules of one side of a route. Immutable, shared by all exchanges. */
export interface HeaderRules {
  readonly side: MessageSide
  readonly actions: readonly Action[]
  /** Undefined if every rule always holds. */
  readonly conditions: ConditionSet | undefined
  /** Request fields that the rules look at, in lower case. */
  readonly variesBy: readonly string[]
}

type Action =
  | { readonly kind: 'set' | 'add'; readonly name: string; readonly template: Template }
  | { readonly kind: 'remove'; readonly lowerName: string }
  | { readonly kind: 'replace'; readonly lowerName: string; readonly set: RuleSet }

/** Throws {@link HeaderRuleError}. */
export function compileHeaderRules(rules: readonly HeaderRule[], side: MessageSide): HeaderRules {
  const problems: HeaderRuleProblem[] = []
  const actions = rules.flatMap((rule, index) => {
    try {
      return [compileAction(rule, side)]
    } catch (error) {
      if (!(error instanceof ActionProblem)) throw error
      problems.push({ rule: index, ...error.problem })
      return []
    }
  })
  if (problems.length > 0) throw new HeaderRuleError(problems)
  const conditions = rules.some(hasCondition) ? prepareConditions(rules.map(withTypes)) : undefined
  const variables = actions.flatMap(variablesOfAction)
  return {
    side,
    actions,
    conditions,
    variesBy: [...new Set([...requestFieldNames(conditions ?? []), ...requestFieldsOf(variables)])],
  }
}

function hasCondition(rule: HeaderRule): boolean {
  const { types, paths, status, methods, hosts, requestHeaders, responseHeaders } = rule
  return [types, paths, status, methods, hosts, requestHeaders, responseHeaders].some((one) => one !== undefined)
}

function withTypes(rule: HeaderRule): Parameters<typeof prepareConditions>[0][0] {
  return { ...rule, types: rule.types ?? ['*'] }
}

function variablesOfAction(action: Action): readonly string[] {
  if (action.kind === 'remove') return []
  return action.kind === 'replace' ? action.set.variables : variablesOf(action.template)
}

class ActionProblem extends Error {
  readonly problem: Omit<HeaderRuleProblem, 'rule'>
  constructor(field: string, message: string, hint: string | undefined, at?: number) {
    super(message)
    this.problem = { field, at, message, hint }
  }
}

function compileAction(rule: HeaderRule, side: MessageSide): Action {
  const [kind, name] = actionOf(rule)
  if (!isToken(name)) throw new ActionProblem(kind, `'${name}' is no name of a header field`, 'write it like X-Beta')
  const refusal = refusalOf(name.toLowerCase(), kind, side)
  if (refusal !== undefined) throw new ActionProblem(kind, `${name}: ${refusal.reason}`, refusal.hint)
  const action = 'replace' in rule ? replaceAction(rule) : 'remove' in rule ? removeAction(rule) : valueAction(rule)
  if (side === 'request' && variablesOfAction(action).includes('status')) {
    const field = 'replace' in rule ? 'with' : 'value'
    throw new ActionProblem(field, 'a request has no status', 'use ${status} in rules of responses')
  }
  return action
}

function actionOf(rule: HeaderRule): [kind: Action['kind'], name: string] {
  if ('set' in rule) return ['set', rule.set]
  if ('add' in rule) return ['add', rule.add]
  return 'remove' in rule ? ['remove', rule.remove] : ['replace', rule.replace]
}

function removeAction({ remove }: RemoveHeaderRule): Action {
  return { kind: 'remove', lowerName: remove.toLowerCase() }
}

function valueAction(rule: SetHeaderRule | AddHeaderRule): Action {
  try {
    const template = parseTemplate(octets(rule.value), {
      mode: 'octet',
      nginx: false,
      groupCount: 0,
      groupNames: new Map(),
    })
    if (template.fixed !== undefined && fieldValueOf(template.fixed) === undefined) {
      throw new ActionProblem(
        'value',
        'a header field cannot hold a line break or another control character',
        undefined,
      )
    }
    return 'set' in rule ? { kind: 'set', name: rule.set, template } : { kind: 'add', name: rule.add, template }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new ActionProblem('value', error.message, error.hint, error.at)
  }
}

function replaceAction({ replace, regex, with: replacement, flags }: ReplaceHeaderRule): Action {
  try {
    const rule = { regex: octets(regex), with: octets(replacement), ...(flags === undefined ? {} : { flags }) }
    return { kind: 'replace', lowerName: replace.toLowerCase(), set: compileRuleSet([rule], { mode: 'octet' }) }
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    const { field, message, hint, at } = error.problems[0]
    throw new ActionProblem(field, message, hint, at)
  }
}

/** A rule's text stands for the octets of its UTF-8 form. */
function octets(text: string): string {
  return Buffer.from(text).toString('latin1')
}

const OF_THE_CONNECTION = new Set(CONNECTION_NAMES)
const OF_THE_FRAMING = new Set(FRAMING_NAMES)

/** Why a rule may not do that to a field; undefined if it may. */
function refusalOf(
  lowerName: string,
  kind: Action['kind'],
  side: MessageSide,
): { readonly reason: string; readonly hint: string } | undefined {
  if (OF_THE_CONNECTION.has(lowerName)) {
    return { reason: 'it belongs to one connection and is made anew on the other', hint: 'remove the rule' }
  }
  if (OF_THE_FRAMING.has(lowerName)) {
    return { reason: 'it says where the message ends, which prexy works out itself', hint: 'remove the rule' }
  }
  if (lowerName === 'content-encoding') {
    return {
      reason: 'it says how the body is coded, which a rule does not change',
      hint: 'set Accept-Encoding in a rule of requests to choose what the upstream sends',
    }
  }
  if (side === 'response') {
    if (lowerName !== 'content-range') return undefined
    return { reason: 'it says which part the body is, which a rule does not change', hint: 'remove the rule' }
  }
  if (lowerName === 'host' && (kind === 'add' || kind === 'remove')) {
    return { reason: 'a request has exactly one', hint: 'set it, or use preserveHost' }
  }
  if (lowerName === 'via') return { reason: 'it is what loops are found by', hint: 'remove the rule' }
  if (lowerName !== 'expect') return undefined
  return { reason: 'the client waits for what it asks for', hint: 'remove the rule' }
}

/** What a message is judged and templates are filled by. */
export interface HeaderRuleContext {
  readonly request: RequestHead
  /** Absent on the way to the upstream. */
  readonly response?: { readonly status: number; readonly fields: FieldList }
}

/** Applies the rules; returns the names of changed fields in lower case, each once. Changes `fields`. */
export function applyHeaderRules(rules: HeaderRules, fields: string[], context: HeaderRuleContext): readonly string[] {
  if (rules.side === 'response') appendVary(fields, rules.variesBy)
  const active = activeRules(rules, context)
  if (active === 'none') return []
  const changed = new Set<string>()
  for (const [index, action] of rules.actions.entries()) {
    if (active !== 'all' && active[index] === 0) continue
    if (applyAction(action, fields, context)) changed.add(lowerNameOf(action))
  }
  return [...changed]
}

function lowerNameOf(action: Action): string {
  return 'name' in action ? action.name.toLowerCase() : action.lowerName
}

function activeRules(
  { conditions }: HeaderRules,
  { request, response }: HeaderRuleContext,
): Uint8Array | 'all' | 'none' {
  if (conditions === undefined) return 'all'
  const forRequest = rulesForRequest(conditions, request)
  if (typeof forRequest === 'string') return 'none'
  if (response === undefined) return forRequest
  const forStatus = rulesForStatus(conditions, forRequest, response.status)
  if (forStatus === undefined) return 'none'
  const contentType = fieldValue(response.fields, 'content-type')
  const essence = contentType === undefined ? undefined : parseMediaType(contentType)?.essence
  const forType = rulesForType(conditions, forStatus, essence)
  if (forType === undefined) return 'none'
  return rulesForFields(conditions, forType, response.fields) ?? 'none'
}

/** Whether anything changed. */
function applyAction(action: Action, fields: string[], context: HeaderRuleContext): boolean {
  switch (action.kind) {
    case 'remove': {
      const before = fields.length
      removeField(fields, action.lowerName)
      return fields.length < before
    }
    case 'set':
    case 'add': {
      const value = render(action.template, context)
      if (value === undefined || !isAllowed(action.name, value)) return false
      if (action.kind === 'set') setField(fields, action.name, value)
      else fields.push(action.name, value)
      return true
    }
    case 'replace':
      return replaceIn(fields, action, context)
  }
}

/** The upstream must be able to read its Host, whatever a client made of a template. */
function isAllowed(name: string, value: string): boolean {
  return !isNamed(name, 'host') || parseAuthority(value) !== undefined
}

function render(template: Template, context: HeaderRuleContext): string | undefined {
  if (template.fixed !== undefined) return fieldValueOf(template.fixed)
  const values = variableValues(variables(variablesOf(template), context))
  const bound = bindVariables(template, values, { mode: 'octet', landing: 'plain' }, false)
  return bound.fixed === undefined ? undefined : fieldValueOf(bound.fixed)
}

function variables(
  names: readonly string[],
  { request, response }: HeaderRuleContext,
): Readonly<Record<string, string>> {
  return requestVariables(names, request, response?.status ?? 0, 'octet')
}

function fieldValueOf(value: Uint8Array): string | undefined {
  const text = trimBlanks(Buffer.from(value.buffer, value.byteOffset, value.length).toString('latin1'))
  return isFieldValue(text) ? text : undefined
}

function replaceIn(
  fields: string[],
  { lowerName, set }: Extract<Action, { kind: 'replace' }>,
  context: HeaderRuleContext,
): boolean {
  let changed = false
  for (let at = 0; at < fields.length; at += 2) {
    if (!isNamed(fields[at], lowerName)) continue
    const pieces: Uint8Array[] = []
    const sink = {
      write(chunk: Uint8Array): boolean {
        pieces.push(chunk.slice())
        return true
      },
    }
    const rewriter = set.createRewriter(sink, {
      variables: variables(set.variables, context),
      mediaType: 'text/plain',
    })
    rewriter.write(Buffer.from(fields[at + 1], 'latin1'))
    rewriter.end()
    const value = fieldValueOf(Buffer.concat(pieces))
    if (value === undefined || value === fields[at + 1] || !isAllowed(fields[at], value)) continue
    fields[at + 1] = value
    changed = true
  }
  return changed
}
