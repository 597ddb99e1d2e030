/** What is asked of a hunt, and what it tells. Plain data, copied between page, store and the thread that tries the rules. */
import type { Level } from '@prexy/sigma/levels'
import type { SigmaProblem } from '@prexy/sigma/problem'

export interface RuleText {
  readonly file: string
  readonly text: string
}

export interface HuntRequest {
  /** With the rules that come with prexy. */
  readonly isStarter: boolean
  readonly own: readonly RuleText[]
}

/** What is shown of a rule; all of it was written by strangers. */
export interface HuntRule {
  readonly title: string
  readonly id: string | undefined
  readonly level: Level | undefined
  readonly tags: readonly string[]
  readonly description: string | undefined
  readonly references: readonly string[]
  readonly file: string
  readonly line: number
}

export interface HuntStatus {
  readonly state: 'none' | 'compiling' | 'running' | 'waiting' | 'stopped' | 'failed'
  /** Events that rules were tried on, and those that there were when this was told. */
  readonly tried: number
  readonly events: number
  /** Events with a hit. */
  readonly hits: number
  /** Why it stopped. */
  readonly message: string | undefined
}

export const NO_HUNT: HuntStatus = { state: 'none', tried: 0, events: 0, hits: 0, message: undefined }

export interface HuntReport {
  readonly rules: readonly (HuntRule & { readonly hits: number })[]
  readonly problems: readonly SigmaProblem[]
}

/** A condition of a rule that holds for an event. */
export interface MatchedField {
  readonly selection: string
  /** As the rule has it, modifiers included; `keywords` where it is about the whole event. */
  readonly field: string
  /** What the event has there, cut. */
  readonly value: string
}

export interface ExplainedHit {
  readonly rule: HuntRule
  readonly fields: readonly MatchedField[]
}

export type HuntCommand =
  | { readonly kind: 'rules'; readonly request: HuntRequest }
  /** Events one after the other; where each begins, and where the last one ends. */
  | { readonly kind: 'events'; readonly octets: Uint8Array; readonly offsets: Uint32Array }
  | { readonly kind: 'explain'; readonly id: number; readonly octets: Uint8Array; readonly rules: readonly number[] }

export type HuntAnswer =
  | { readonly kind: 'ready'; readonly rules: readonly HuntRule[]; readonly problems: readonly SigmaProblem[] }
  /** Pairs: the number of the event in the batch, the number of the rule. */
  | { readonly kind: 'tried'; readonly pairs: Uint32Array }
  | { readonly kind: 'explained'; readonly id: number; readonly hits: readonly ExplainedHit[] }
