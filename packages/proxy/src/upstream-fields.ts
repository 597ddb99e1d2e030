/** The fields of a request on its way up, kept for the next one that a client sends with the same fields. */
import type { FieldList } from '@prexy/http/fields'
import type { RequestHead } from '@prexy/http/message'
import type { Route } from './route.ts'
import type { ProxyRuntime } from './runtime.ts'

/** Everything that the fields were made from, and what they became. Of one client, whose peer the runtime tells. */
export interface UpstreamFields {
  readonly runtime: ProxyRuntime
  readonly route: Route
  /** The request's, compared by identity. */
  readonly from: FieldList
  readonly method: string
  readonly authority: string | undefined
  /** Whether a rule might change the response. */
  readonly mayRewrite: boolean
  readonly fields: FieldList
  /** Where the value of the identifier stands that each request has of its own; -1 if there is none. */
  readonly requestIdAt: number
  readonly hostSent: string
  readonly traceparent: string | undefined
}

/** Whether the fields of this request become the same. */
export function isSameWayUp(
  known: UpstreamFields,
  { fields, method, authority }: RequestHead,
  route: Route,
  runtime: ProxyRuntime,
  mayRewrite: boolean,
): boolean {
  return (
    known.from === fields &&
    known.route === route &&
    known.runtime === runtime &&
    known.method === method &&
    known.authority === authority &&
    known.mayRewrite === mayRewrite
  )
}

/** Where the value stands in its field's only line; -1 if that has another value. */
export function placeOfValue(fields: FieldList, name: string, value: string): number {
  const at = fields.lastIndexOf(value)
  return at % 2 === 1 && fields[at - 1] === name ? at : -1
}
