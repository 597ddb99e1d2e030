/** When a rule applies; the shape of `RuleConditions` of `@prexy/rewrite/rules`, with the default types filled in. */
export interface Conditions {
  /** `text/html`, `text/*`, or `*` for any type and for a missing one; ignoring case. */
  readonly types: readonly string[]
  /** Path globs: `*` within a segment, `**` across segments, `?` one character. Absent: every path. */
  readonly paths?: readonly string[] | undefined
  /** `200` or `'2xx'`. Absent: every status. */
  readonly status?: readonly (number | string)[] | undefined
}

/** Prepared conditions of all rules of a route, in rule order. Immutable, shared by all exchanges. */
export interface ConditionSet {
  readonly count: number
  /** Opaque; read by the functions of this file. */
  readonly rules: readonly PreparedConditions[]
}

export interface PreparedConditions {
  readonly types: readonly string[]
  /** Compiled globs, or undefined for every path. */
  readonly paths: readonly string[] | undefined
  readonly status: readonly (number | string)[] | undefined
}

export declare function prepareConditions(conditions: readonly Conditions[]): ConditionSet

/** One byte per rule, 1 where the path (without its query) satisfies the rule. Undefined if that is none. */
export declare function rulesForPath(set: ConditionSet, path: string): Uint8Array | undefined
