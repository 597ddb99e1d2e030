import type { ConditionSet } from './conditions.ts'
import type { Coding } from './content-coding.ts'
import type { FieldList } from './fields.ts'
import type { RequestHead, ResponseHead } from './message.ts'
import type { LastModifiedPolicy } from './validators.ts'

/** What the gate needs to know of a route. Immutable, made once per configuration. */
export interface GateRoute {
  readonly conditions: ConditionSet
  /** Hash of the rule set, part of derived entity tags: lower-case hexadecimal, 16 characters. */
  readonly ruleSetHash: string
  /** Change content although a message says `no-transform`. */
  readonly ignoreNoTransform: boolean
  readonly lastModified: LastModifiedPolicy
  /** Codings the runtime can decode and make, best first. */
  readonly codings: readonly Coding[]
}

/** Why a response was passed on unchanged; a closed set, it goes into events and metrics. */
export type PassReason =
  | 'no-rules'
  | 'path'
  | 'status'
  | 'content-type'
  | 'charset'
  | 'no-content'
  | 'empty-body'
  | 'partial-content'
  | 'no-transform'
  | 'coding-unknown'
  | 'coding-stacked'
  | 'upgrade'

export type GateDecision =
  /** Decode, rewrite with the active rules, encode; the body's length is not known beforehand. */
  | {
      readonly action: 'rewrite'
      readonly decode: Coding | 'identity'
      readonly encode: Coding | 'identity'
      /** One byte per rule of the route, nonzero where it applies. */
      readonly active: Uint8Array
      /** End-to-end fields to send, edited; no framing fields. */
      readonly fields: FieldList
    }
  /** No body follows (HEAD, 304), but the head describes a changed one: send these fields, without Content-Length. */
  | { readonly action: 'edit-head'; readonly reason: 'head' | 'not-modified'; readonly fields: FieldList }
  /** Leave the body as it is. `fields` are the end-to-end fields unchanged; no framing fields. */
  | { readonly action: 'pass'; readonly reason: PassReason; readonly fields: FieldList }

/**
 * Whether and how a response body is changed. Pure; one call per final response. Does not look at the body, so a
 * caller must not start a decoder before the first octet (an empty body is no valid gzip).
 */
export declare function decide(
  request: Pick<RequestHead, 'method' | 'path' | 'fields'>,
  response: Pick<ResponseHead, 'status' | 'fields' | 'contentLength'>,
  route: GateRoute,
): GateDecision
