import type { Charset } from '@prexy/bytes/charset-labels'
import type { CompressionRoute } from './compression.ts'
import type { ConditionSet } from './conditions.ts'
import type { Coding } from './content-coding.ts'

/**
 * `remove`: Last-Modified and If-Modified-Since do not cross a changed route, since the origin's date says nothing
 * about our rules. `keep`: the date is at least that of the rules (milliseconds since the epoch).
 */
export type LastModifiedPolicy =
  | { readonly kind: 'remove' }
  | { readonly kind: 'keep'; readonly rulesChangedMs: number }

/** What the gate needs to know of a route. Immutable, made once per configuration. */
export interface GateRoute {
  readonly conditions: ConditionSet
  /** Hash of the rule set, part of derived entity tags: lower-case hexadecimal, 16 characters. */
  readonly ruleSetHash: string
  /** Change content although a message says `no-transform`. */
  readonly ignoreNoTransform: boolean
  readonly lastModified: LastModifiedPolicy
  /**
   * Request fields that decide about the content, in lower case: those of conditions and templates. They go into Vary,
   * and no validator of the origin can vouch for such content.
   */
  readonly variesBy: readonly string[]
  /** The content is another one each time (a template tells the time): no validators. */
  readonly alwaysNew: boolean
  /** Codings the runtime can decode and make, best first. */
  readonly codings: readonly Coding[]
  /** Encodings of text that the rules can be applied to; `any` where rules are about octets whatever they stand for. */
  readonly charsets: ReadonlySet<Charset> | 'any'
  /** Undefined: what came uncompressed stays so. */
  readonly compression: CompressionRoute | undefined
}
