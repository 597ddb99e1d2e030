/** What the page asks of its worker, and what it is told. Plain data, copied. */
import type { RecordedEvent } from '@prexy/events/recorded-event'
import type { Rule, RuleSetOptions } from '@prexy/rewrite/rules'
import type { FilterProblem } from './filter.ts'
import type { ExplainedHit, HuntReport, HuntRequest, HuntStatus } from './hunt-protocol.ts'
import type { Histogram, Range, Sort, Totals } from './query.ts'

export type Source =
  | { readonly kind: 'live' }
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'file'; readonly file: File }

/** Rows that are asked for at a time. */
export const PAGE_ROWS = 64

export interface Query {
  readonly filter: string
  readonly range: Range | undefined
  readonly sort: Sort
}

export type QueryReply =
  | {
      readonly kind: 'found'
      readonly count: number
      readonly version: number
      /** Rows that came before the first ones since the question was asked. */
      readonly above: number
      readonly histogram: Histogram
      /** The first rows, as many as a page of them has. */
      readonly first: readonly Row[]
    }
  | { readonly kind: 'problem'; readonly problem: FilterProblem }
  /** A later question came. */
  | { readonly kind: 'stopped' }

/** A row of the list; what an event does not have is undefined. */
export interface Row {
  /** `run-sequence`, which names it for ever. */
  readonly event: string
  readonly startedAtMs: number
  readonly kind: string
  readonly method: string | undefined
  readonly host: string | undefined
  readonly target: string | undefined
  readonly route: string | undefined
  readonly upstream: string | undefined
  readonly client: string | undefined
  readonly status: number | undefined
  readonly type: string | undefined
  readonly outcome: string | undefined
  readonly treatment: string | undefined
  readonly reason: string | undefined
  readonly hits: number | undefined
  readonly endUs: number | undefined
  readonly requestHeadUs?: number
  readonly upstreamConnectedUs?: number
  readonly responseHeadUs?: number
  readonly outBytes: number | undefined
  /** Of the rule with the highest level that hit it, and how many did. */
  readonly found: { readonly title: string; readonly level: string | undefined; readonly rules: number } | undefined
}

/** One replacement; `start` and `end` are offsets into the body before. */
export interface ShownChange {
  readonly rule: number
  readonly start: number
  readonly end: number
  readonly replacement: Uint8Array
}

export interface Attribution {
  readonly changes: readonly ShownChange[]
  /** Whether the rules gave what was recorded. */
  readonly isAsRecorded: boolean
}

export interface BenchProblem {
  /** Index; undefined where it is not about one rule. */
  readonly rule: number | undefined
  readonly field: string
  readonly message: string
  readonly hint: string | undefined
}

export type BenchReply =
  | { readonly kind: 'problems'; readonly problems: readonly BenchProblem[] }
  | {
      readonly kind: 'done'
      readonly changes: readonly ShownChange[]
      readonly input: Uint8Array
      readonly output: Uint8Array
      readonly hits: readonly number[]
      readonly warnings: readonly string[]
      readonly description: readonly string[]
      readonly yaml: string
      readonly milliseconds: number
    }

export interface Calls {
  readonly open: { readonly args: Source; readonly result: { readonly note: string | undefined } }
  readonly query: { readonly args: Query; readonly result: QueryReply }
  /** The last question again, for what came since. */
  readonly refresh: { readonly args: undefined; readonly result: QueryReply }
  readonly rows: { readonly args: { readonly start: number; readonly count: number }; readonly result: readonly Row[] }
  readonly event: { readonly args: string; readonly result: RecordedEvent | undefined }
  readonly hunt: { readonly args: HuntRequest | undefined; readonly result: undefined }
  readonly stopHunt: { readonly args: undefined; readonly result: undefined }
  readonly huntReport: { readonly args: undefined; readonly result: HuntReport }
  /** What the hunt found in the event of that name. */
  readonly explain: { readonly args: string; readonly result: readonly ExplainedHit[] }
  readonly totals: {
    readonly args: undefined
    readonly result: { readonly totals: Totals; readonly slowest: readonly Row[] }
  }
  readonly values: { readonly args: string; readonly result: readonly string[] }
  readonly attribute: {
    readonly args: { readonly event: string; readonly rules: readonly Rule[]; readonly options: RuleSetOptions }
    readonly result: Attribution | { readonly problem: string }
  }
  readonly bench: {
    readonly args: { readonly rules: string; readonly body: Uint8Array; readonly mediaType: string }
    readonly result: BenchReply
  }
}

export type CallName = keyof Calls

export interface CallMessage {
  readonly id: number
  readonly name: CallName
  readonly args: unknown
}

export type WorkerMessage =
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  | { readonly kind: 'status'; readonly status: StoreStatus }

export interface StoreStatus {
  readonly events: number
  readonly bytes: number
  /** Events that made room for newer ones. */
  readonly evicted: number
  /** Events that this page missed because it read too slowly. */
  readonly dropped: number
  readonly connection: 'none' | 'loading' | 'connecting' | 'live' | 'lost' | 'refused' | 'loaded'
  /** From 0 to 1, while a file is read whose size is known. */
  readonly progress: number | undefined
  readonly hunt: HuntStatus
}
