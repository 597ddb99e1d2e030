/**
 * Random patterns, rule sets, bodies and ways to cut a body, for fast-check.
 *
 * A pattern is made as a small tree of our own, printed as pattern text for the engine, turned into a syntax tree for
 * the reference without the parser, and printed once more for JavaScript's RegExp; so three readings meet.
 */
import type { AssertionKind, CodePointRanges, Node, PatternMode } from '@prexy/regex/ast'
import type { Priority, RegexRule, RuleSetOptions, TextRule } from '@prexy/rewrite/rules'
import fc from 'fast-check'
import { createReference, parseReplacement, type Reference, type ReferenceRule } from './reference.ts'
import { encodeUtf8 } from './reference-stream.ts'

export type PatternTree =
  | { readonly kind: 'empty' }
  | { readonly kind: 'char'; readonly value: number }
  | { readonly kind: 'set'; readonly values: readonly number[]; readonly isNegated: boolean }
  | { readonly kind: 'escape'; readonly letter: 'd' | 'D' | 's' | 'S' | 'w' | 'W' }
  | { readonly kind: 'dot' }
  | { readonly kind: 'any' }
  | { readonly kind: 'assert'; readonly assertion: AssertionKind }
  | { readonly kind: 'concat'; readonly parts: readonly PatternTree[] }
  | { readonly kind: 'alternate'; readonly parts: readonly PatternTree[] }
  | { readonly kind: 'group'; readonly isCapturing: boolean; readonly part: PatternTree }
  | {
      readonly kind: 'repeat'
      readonly min: number
      readonly max: number
      readonly isGreedy: boolean
      readonly part: PatternTree
    }

/** A rule as made: its pattern is still a tree. */
export interface CaseRule {
  readonly pattern: PatternTree
  readonly with: string
  readonly isCaseless: boolean
  /** `Infinity` for no limit. */
  readonly max: number
  /** Given to the engine as `text`, not as `regex`; the pattern is then characters only. */
  readonly isLiteral: boolean
  /** Markers of the rule's region, as characters. */
  readonly between?: readonly [string, string] | undefined
}

export interface RewriteCase {
  readonly mode: PatternMode
  readonly priority: Priority
  readonly compat: 'nginx' | undefined
  readonly rules: readonly CaseRule[]
  readonly body: readonly number[]
}

/** What random patterns and bodies are made from. */
export interface Palette {
  readonly mode: PatternMode
  readonly letters: readonly number[]
  /** Pieces of bodies, as octets; repeats make a piece likelier. */
  readonly pieces: readonly (readonly number[])[]
  readonly assertions: readonly AssertionKind[]
}

const ASSERTIONS: readonly AssertionKind[] = [
  'textStart',
  'textEnd',
  'textEndOrFinalNewline',
  'lineStart',
  'lineEnd',
  'wordBoundary',
  'notWordBoundary',
]

const A = 0x61
const B = 0x62
const C = 0x63
const E_ACUTE = 0xe9
const EURO = 0x20ac
const CLEF = 0x1d11e
const ASCII_PIECES: readonly (readonly number[])[] = [[A], [A], [A], [B], [B], [C], [0x20], [0x0a]]

export const OCTETS: Palette = {
  mode: 'octet',
  letters: [A, B, C, 0x20, 0x0a, 0xe9],
  pieces: [...ASCII_PIECES, [0xe9], [0xff]],
  assertions: ASSERTIONS,
}

/** Few letters and no assertions: matches overlap often. */
export const LETTERS: Palette = { mode: 'octet', letters: [A, B, C], pieces: [[A], [A], [B], [B], [C]], assertions: [] }

export const CHARACTERS: Palette = {
  mode: 'text',
  letters: [A, B, C, 0x20, 0x0a, E_ACUTE, EURO, CLEF],
  pieces: [...ASCII_PIECES, ...[E_ACUTE, EURO, CLEF].map(encodeUtf8)],
  assertions: ASSERTIONS,
}

/** Text with pieces of characters in it, overlong forms and a surrogate. */
export const BROKEN_TEXT: Palette = {
  ...CHARACTERS,
  pieces: [
    ...CHARACTERS.pieces,
    [0x82],
    [0xac],
    [0xe2],
    [0xe2, 0x82],
    [0xf0, 0x9d],
    [0xff],
    [0xc0, 0x80],
    [0xed, 0xa0, 0x80],
  ],
}

export function patternTree(palette: Palette): fc.Arbitrary<PatternTree> {
  const letter = fc.constantFrom(...palette.letters)
  const leaf = fc.oneof(
    { weight: 12, arbitrary: letter.map((value): PatternTree => ({ kind: 'char', value })) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('set' as const),
        values: fc.uniqueArray(letter, { minLength: 1, maxLength: 3 }),
        isNegated: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom<PatternTree>({ kind: 'dot' }, { kind: 'any' }, { kind: 'empty' }) },
    ...(palette.assertions.length === 0
      ? []
      : [
          {
            weight: 2,
            arbitrary: fc
              .constantFrom(...palette.assertions)
              .map((assertion): PatternTree => ({ kind: 'assert', assertion })),
          },
          {
            weight: 1,
            arbitrary: fc
              .constantFrom('d' as const, 'D' as const, 's' as const, 'S' as const, 'w' as const, 'W' as const)
              .map((letter): PatternTree => ({ kind: 'escape', letter })),
          },
        ]),
  )
  const counts = fc.constantFrom<readonly [number, number]>(
    [0, Infinity],
    [0, Infinity],
    [1, Infinity],
    [1, Infinity],
    [0, 1],
    [0, 1],
    [2, 2],
    [1, 2],
    [0, 2],
    [2, Infinity],
    [2, 4],
  )
  return fc.letrec<{ tree: PatternTree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      { weight: 5, arbitrary: leaf },
      {
        weight: 6,
        arbitrary: fc
          .array(tie('tree'), { minLength: 2, maxLength: 4 })
          .map((parts): PatternTree => ({ kind: 'concat', parts })),
      },
      {
        weight: 3,
        arbitrary: fc
          .array(tie('tree'), { minLength: 2, maxLength: 3 })
          .map((parts): PatternTree => ({ kind: 'alternate', parts })),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('group' as const),
          isCapturing: fc.constant(true),
          part: tie('tree'),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ count: counts, isGreedy: fc.boolean(), part: tie('tree') }).map(
          ({ count, isGreedy, part }): PatternTree => ({
            kind: 'repeat',
            min: count[0],
            max: count[1],
            isGreedy,
            part,
          }),
        ),
      },
    ),
  })).tree
}

export function caseRule(palette: Palette): fc.Arbitrary<CaseRule> {
  return fc
    .record({
      pattern: patternTree(palette),
      with: fc.constantFrom('X', '', 'YY', '[$&]', '<$1>', '($2|$1)'),
      isCaseless: fc.integer({ min: 0, max: 7 }).map((dice) => dice === 7),
      max: fc.constantFrom(Infinity, Infinity, Infinity, 1, 2),
      isLiteral: fc.constant(false),
      between: region(palette),
    })
    .map((rule) => ({
      ...rule,
      with: countGroups(rule.pattern) === 0 && /[0-9]/.test(rule.with) ? 'Z' : groupsWithin(rule),
      isCaseless: rule.isCaseless && !hasWordEscape(rule.pattern),
    }))
}

/** Mostly none; otherwise two short markers, which may be equal or overlap. */
function region({ letters }: Palette): fc.Arbitrary<readonly [string, string] | undefined> {
  const marker = fc
    .array(fc.constantFrom(...letters), { minLength: 1, maxLength: 3 })
    .map((values) => String.fromCodePoint(...values))
  return fc.option(fc.tuple(marker, marker), { nil: undefined, freq: 6 })
}

/** A rule of the kind `text`, whose characters include some that a pattern would take for more. */
export function literalRule({ letters }: Palette, maxLength: number): fc.Arbitrary<CaseRule> {
  return fc.record({
    pattern: fc
      .array(fc.constantFrom(...letters, ...letters, 0x2e, 0x24), { minLength: 1, maxLength })
      .map((values): PatternTree => ({ kind: 'concat', parts: values.map((value) => ({ kind: 'char', value })) })),
    with: fc.constantFrom('X', '', 'YY', '$&'),
    isCaseless: fc.boolean(),
    max: fc.constantFrom(Infinity, Infinity, 1),
    isLiteral: fc.constant(true),
  })
}

/** The replacement with groups that the pattern does not have turned into its first. */
function groupsWithin(rule: CaseRule): string {
  return countGroups(rule.pattern) < 2 ? rule.with.replace('$2', '$1') : rule.with
}

/** Whether `\w` with `i` in text mode holds U+017F and U+212A is a question for the parser's tests, not for these. */
function hasWordEscape(tree: PatternTree): boolean {
  if (tree.kind === 'escape') return tree.letter === 'w' || tree.letter === 'W'
  if (tree.kind === 'concat' || tree.kind === 'alternate') return tree.parts.some(hasWordEscape)
  return tree.kind === 'group' || tree.kind === 'repeat' ? hasWordEscape(tree.part) : false
}

export function bodyOf(palette: Palette, maxLength: number): fc.Arbitrary<readonly number[]> {
  return fc.array(fc.constantFrom(...palette.pieces), { maxLength, size: 'max' }).map((pieces) => pieces.flat())
}

export interface CaseShape {
  readonly palette: Palette
  readonly maxRules: number
  readonly maxPieces: number
}

export function rewriteCase({ palette, maxRules, maxPieces }: CaseShape): fc.Arbitrary<RewriteCase> {
  return fc.record({
    mode: fc.constant(palette.mode),
    priority: fc.constantFrom<Priority>('first', 'first', 'longest'),
    compat:
      palette.mode === 'octet'
        ? fc.constantFrom(undefined, undefined, undefined, 'nginx' as const)
        : fc.constant(undefined),
    rules: fc.array(
      fc.oneof({ weight: 4, arbitrary: caseRule(palette) }, { weight: 1, arbitrary: literalRule(palette, 4) }),
      { minLength: 1, maxLength: maxRules },
    ),
    body: bodyOf(palette, maxPieces),
  })
}

export function countGroups(tree: PatternTree): number {
  if (tree.kind === 'concat' || tree.kind === 'alternate') {
    return tree.parts.reduce((sum, part) => sum + countGroups(part), 0)
  }
  if (tree.kind === 'group') return Number(tree.isCapturing) + countGroups(tree.part)
  return tree.kind === 'repeat' ? countGroups(tree.part) : 0
}

function escapeChar(value: number): string {
  if (value === 0x0a) return '\\n'
  const text = String.fromCodePoint(value)
  return /[\\^$.*+?()[\]{}|/-]/.test(text) ? `\\${text}` : text
}

const ASSERTION_TEXT: Readonly<Record<AssertionKind, string>> = {
  textStart: '\\A',
  textEnd: '\\z',
  textEndOrFinalNewline: '(?-m:$)',
  lineStart: '(?m:^)',
  lineEnd: '(?m:$)',
  wordBoundary: '\\b',
  notWordBoundary: '\\B',
}

/** The same conditions in JavaScript, whose own `$` and `^` mean something else around a final `\n`. */
const ASSERTION_JAVASCRIPT: Readonly<Record<AssertionKind, string>> = {
  textStart: '(?<![^])',
  textEnd: '(?![^])',
  textEndOrFinalNewline: '(?=\\n?(?![^]))',
  lineStart: '(?:(?<![^])|(?<=\\n)(?=[^]))',
  lineEnd: '(?=\\n|(?![^]))',
  wordBoundary: '\\b',
  notWordBoundary: '\\B',
}

/** How the two notations differ. */
interface Notation {
  readonly dot: string
  readonly any: string
  readonly assertions: Readonly<Record<AssertionKind, string>>
  readonly escapes: Readonly<Partial<Record<string, string>>>
}

const OURS: Notation = { dot: '(?-s:.)', any: '(?s:.)', assertions: ASSERTION_TEXT, escapes: {} }
const JAVASCRIPT: Notation = {
  dot: '[^\\n]',
  any: '[^]',
  assertions: ASSERTION_JAVASCRIPT,
  escapes: { s: '[\\t-\\r ]', S: '[^\\t-\\r ]' },
}

function print(tree: PatternTree, notation: Notation): string {
  switch (tree.kind) {
    case 'empty':
      return '(?:)'
    case 'char':
      return escapeChar(tree.value)
    case 'set':
      return `[${tree.isNegated ? '^' : ''}${tree.values.map(escapeChar).join('')}]`
    case 'escape':
      return notation.escapes[tree.letter] ?? `\\${tree.letter}`
    case 'dot':
      return notation.dot
    case 'any':
      return notation.any
    case 'assert':
      return notation.assertions[tree.assertion]
    case 'concat':
      return tree.parts.map((part) => atom(part, part.kind === 'alternate', notation)).join('')
    case 'alternate':
      return tree.parts.map((part) => atom(part, part.kind === 'alternate', notation)).join('|')
    case 'group':
      return `${tree.isCapturing ? '(' : '(?:'}${print(tree.part, notation)})`
    case 'repeat': {
      const isCompound = !['char', 'set', 'escape', 'group', 'dot', 'any'].includes(tree.part.kind)
      return `${atom(tree.part, isCompound, notation)}${quantifier(tree.min, tree.max)}${tree.isGreedy ? '' : '?'}`
    }
  }
}

function atom(tree: PatternTree, needsGroup: boolean, notation: Notation): string {
  return needsGroup ? `(?:${print(tree, notation)})` : print(tree, notation)
}

function quantifier(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  if (min === 0 && max === 1) return '?'
  return min === max ? `{${min}}` : `{${min},${max}}`
}

/** Pattern text in our syntax. In octet mode its characters are octets. */
export function printPattern(tree: PatternTree): string {
  return print(tree, OURS)
}

/** The same pattern for `new RegExp(text, 's')` over octets, or with `su` over characters. */
export function printJavaScript(tree: PatternTree): string {
  return print(tree, JAVASCRIPT)
}

const ESCAPE_RANGES: Readonly<Record<string, CodePointRanges>> = {
  d: [0x30, 0x39],
  s: [0x09, 0x0d, 0x20, 0x20],
  w: [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a],
}

function complement(ranges: CodePointRanges, mode: PatternMode): number[] {
  const holes = mode === 'octet' ? [...ranges] : unite([...ranges, 0xd800, 0xdfff])
  const found: number[] = []
  let low = 0
  for (let i = 0; i < holes.length; i += 2) {
    if (holes[i] > low) found.push(low, holes[i] - 1)
    low = holes[i + 1] + 1
  }
  const last = mode === 'octet' ? 0xff : 0x10ffff
  if (low <= last) found.push(low, last)
  return found
}

function unite(ranges: CodePointRanges): number[] {
  const pairs: [number, number][] = []
  for (let i = 0; i < ranges.length; i += 2) pairs.push([ranges[i], ranges[i + 1]])
  pairs.sort((a, b) => a[0] - b[0])
  const found: number[] = []
  for (const [low, high] of pairs) {
    if (found.length > 0 && low <= found[found.length - 1] + 1) {
      found[found.length - 1] = Math.max(found[found.length - 1], high)
    } else found.push(low, high)
  }
  return found
}

/** Other cases of the letters that palettes use; U+212A and U+017F belong to `k` and `s` in text mode. */
function caseForms(value: number, mode: PatternMode): number[] {
  const text = String.fromCodePoint(value)
  const isFolded = mode === 'text' || value < 0x80
  const forms = isFolded
    ? [value, text.toLowerCase().codePointAt(0) ?? value, text.toUpperCase().codePointAt(0) ?? value]
    : [value]
  if (mode === 'text' && /k/i.test(text)) forms.push(0x212a)
  if (mode === 'text' && /s/i.test(text)) forms.push(0x17f)
  return forms
}

/** The syntax tree that the parser should make of {@link printPattern}, spans aside. */
export function toNode(tree: PatternTree, mode: PatternMode, isCaseless: boolean): Node {
  const span = { start: 0, end: 0 }
  let groups = 0
  const setOf = (values: readonly number[]): number[] =>
    unite(values.flatMap((value) => (isCaseless ? caseForms(value, mode) : [value])).flatMap((value) => [value, value]))
  const walk = (part: PatternTree): Node => {
    switch (part.kind) {
      case 'empty':
        return { kind: 'empty', span }
      case 'char':
        return { kind: 'class', ranges: setOf([part.value]), span }
      case 'set': {
        const ranges = setOf(part.values)
        return { kind: 'class', ranges: part.isNegated ? complement(ranges, mode) : ranges, span }
      }
      case 'escape': {
        const ranges = ESCAPE_RANGES[part.letter.toLowerCase()]
        return { kind: 'class', ranges: 'DSW'.includes(part.letter) ? complement(ranges, mode) : ranges, span }
      }
      case 'dot':
        return { kind: 'class', ranges: complement([0x0a, 0x0a], mode), span }
      case 'any':
        return { kind: 'class', ranges: complement([], mode), span }
      case 'assert':
        return { kind: 'assert', assertion: part.assertion, span }
      case 'concat':
        return { kind: 'concat', nodes: part.parts.map(walk), span }
      case 'alternate':
        return { kind: 'alternate', nodes: part.parts.map(walk), span }
      case 'group': {
        if (!part.isCapturing) return walk(part.part)
        groups += 1
        const index = groups
        return { kind: 'capture', index, node: walk(part.part), span }
      }
      case 'repeat':
        return { kind: 'repeat', min: part.min, max: part.max, greedy: part.isGreedy, node: walk(part.part), span }
    }
  }
  return walk(tree)
}

/** Octets of a string whose characters are octets. */
export function latin1(text: string): number[] {
  return Array.from(text, (char) => char.charCodeAt(0))
}

export function toReference({ mode, priority, compat, rules }: Omit<RewriteCase, 'body'>): Reference {
  const encode = (text: string): readonly number[] =>
    mode === 'octet' ? latin1(text) : Array.from(text).flatMap((char) => encodeUtf8(char.codePointAt(0) ?? 0))
  return createReference(
    rules.map(
      (rule): ReferenceRule => ({
        root: toNode(rule.pattern, mode, rule.isCaseless),
        groupCount: countGroups(rule.pattern),
        replacement: rule.isLiteral ? [encode(rule.with)] : parseReplacement(rule.with, encode),
        max: rule.max,
        between: rule.between === undefined ? undefined : [encode(rule.between[0]), encode(rule.between[1])],
      }),
    ),
    { mode, priority, compat },
  )
}

export function toRule(rule: CaseRule): RegexRule | TextRule {
  const limits = {
    ...(rule.isCaseless ? { flags: 'i' } : {}),
    ...(rule.max === Infinity ? {} : { max: rule.max }),
    ...(rule.between === undefined ? {} : { between: rule.between }),
  }
  if (rule.isLiteral) return { text: plainText(rule.pattern), with: rule.with, ...limits }
  return { regex: printPattern(rule.pattern), with: rule.with, ...limits }
}

function plainText(tree: PatternTree): string {
  if (tree.kind === 'char') return String.fromCodePoint(tree.value)
  return tree.kind === 'concat' ? tree.parts.map(plainText).join('') : ''
}

export function toOptions({ mode, priority, compat }: Omit<RewriteCase, 'body' | 'rules'>): RuleSetOptions {
  return { mode, priority, ...(compat === undefined ? {} : { compat }) }
}
