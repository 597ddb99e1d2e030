/**
 * The checked syntax tree of one pattern: what the parser promises and every matcher reads.
 *
 * All flags are resolved: a caseless literal is a class that already holds every case form, `.` is a class, `^` is
 * one of two assertions. A matcher therefore never sees a flag. Characters are Unicode code points in text mode
 * (surrogates never appear) and octets (0 to 255) in octet mode.
 */

/** Half-open range of octet offsets into the pattern's source (its UTF-8 form in text mode). */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Text mode matches UTF-8 characters, octet mode single bytes. */
export type PatternMode = 'text' | 'octet'

/**
 * Zero-width conditions. Words are ASCII `[0-9A-Za-z_]` in both modes, the only line break is `\n`.
 *
 * `textStart`: `\A`, and `^` without `m`. `textEnd`: `\z`. `textEndOrFinalNewline`: `$` without `m`, at the end or
 * before a `\n` that is the last byte. `lineStart`: `^` with `m`, at the start or after a `\n` that is not the last
 * byte. `lineEnd`: `$` with `m`, at the end or before a `\n`.
 */
export type AssertionKind =
  | 'textStart'
  | 'textEnd'
  | 'textEndOrFinalNewline'
  | 'lineStart'
  | 'lineEnd'
  | 'wordBoundary'
  | 'notWordBoundary'

/** Sorted, non-overlapping, non-adjacent inclusive ranges, flattened: `[low0, high0, low1, high1, ...]`. */
export type CodePointRanges = readonly number[]

export type Node =
  | { readonly kind: 'empty'; readonly span: Span }
  /** One character out of the ranges; empty ranges match nothing. */
  | { readonly kind: 'class'; readonly ranges: CodePointRanges; readonly span: Span }
  | { readonly kind: 'assert'; readonly assertion: AssertionKind; readonly span: Span }
  | { readonly kind: 'concat'; readonly nodes: readonly Node[]; readonly span: Span }
  /** Earlier alternatives are preferred. */
  | { readonly kind: 'alternate'; readonly nodes: readonly Node[]; readonly span: Span }
  /** `max` is `Infinity` for an open count. */
  | {
      readonly kind: 'repeat'
      readonly min: number
      readonly max: number
      readonly greedy: boolean
      readonly node: Node
      readonly span: Span
    }
  /** A capturing group; `index` counts from 1 in the order of opening parentheses. Other groups leave no node. */
  | { readonly kind: 'capture'; readonly index: number; readonly node: Node; readonly span: Span }

export interface ParsedPattern {
  readonly root: Node
  readonly mode: PatternMode
  /** Number of capturing groups, the whole match not counted. */
  readonly groupCount: number
  /** Group index by name. */
  readonly groupNames: ReadonlyMap<string, number>
}

export type PatternErrorCode = 'E_PATTERN_SYNTAX' | 'E_PATTERN_UNSUPPORTED' | 'E_PATTERN_LIMIT'

/** Why a pattern was refused. `at` is an octet offset into the pattern; `hint` says what to write instead. */
export class PatternError extends Error {
  readonly code: PatternErrorCode
  readonly at: number
  readonly hint: string | undefined
  constructor(code: PatternErrorCode, at: number, message: string, hint?: string) {
    super(message)
    this.name = 'PatternError'
    this.code = code
    this.at = at
    this.hint = hint
  }
}
