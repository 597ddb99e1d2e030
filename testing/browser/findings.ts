import type { Rule, RuleSetOptions } from '@prexy/rewrite/rules'

/** Rules, a body and what must come of it, whatever the cuts; texts are Unicode. */
export interface KnownRow {
  readonly name: string
  readonly rules: readonly Rule[]
  readonly options: RuleSetOptions
  readonly body: string
  readonly output: string
}

/** What the page found out. */
export interface Findings {
  readonly userAgent: string
  readonly rows: number
  readonly problems: readonly string[]
}
