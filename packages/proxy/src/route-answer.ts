/** Routes that prexy answers itself: redirects and fixed responses. */
import { fieldValue, removeField } from '@prexy/http/fields'
import type { RequestHead } from '@prexy/http/message'
import type { AnswerInit } from './answer.ts'
import { applyHeaderRules, compileHeaderRules, type HeaderRules } from './header-rules.ts'

export type RouteAnswer =
  | {
      readonly kind: 'redirect'
      readonly status: number
      /** Made by {@link compileRedirectTarget}. */
      readonly target: HeaderRules
      /** Whether the query of the request goes on behind that of the target. */
      readonly keepQuery: boolean
    }
  | { readonly kind: 'respond'; readonly status: number; readonly fields: readonly string[]; readonly body: Uint8Array }

/** A target with variables of the request, as header rules have them. Throws HeaderRuleError about `value`. */
export function compileRedirectTarget(to: string): HeaderRules {
  return compileHeaderRules([{ set: 'Location', value: to }], 'response')
}

/** What the client is answered; undefined if the target becomes no value of a header field. */
export function answerFor(
  answer: RouteAnswer,
  request: RequestHead,
): Pick<AnswerInit, 'status' | 'text' | 'fields' | 'body'> | undefined {
  if (answer.kind === 'respond') {
    return { status: answer.status, text: '', fields: answer.fields, body: answer.body }
  }
  const fields: string[] = []
  applyHeaderRules(answer.target, fields, { request, response: { status: answer.status, fields: [] } })
  const location = fieldValue(fields, 'location')
  if (location === undefined || location === '') return undefined
  const query = request.path.indexOf('?')
  const target = answer.keepQuery && query >= 0 ? withQuery(location, request.path.slice(query + 1)) : location
  return { status: answer.status, text: 'It is at another address.', fields: setField(fields, target) }
}

function setField(fields: readonly string[], location: string): readonly string[] {
  const other = fields.slice()
  removeField(other, 'location')
  return [...other, 'Location', location]
}

function withQuery(location: string, query: string): string {
  const hash = location.indexOf('#')
  const [before, fragment] = hash < 0 ? [location, ''] : [location.slice(0, hash), location.slice(hash)]
  return `${before}${before.includes('?') ? '&' : '?'}${query}${fragment}`
}
