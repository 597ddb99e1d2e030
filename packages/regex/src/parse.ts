import type { CodePointRanges, Node, ParsedPattern, PatternError, PatternMode } from './ast.ts'
import { readClass } from './char-class.ts'
import { negateRanges, universeOf } from './class-set.ts'
import { type Escape, readEscape } from './escapes.ts'
import {
  accept,
  caseClosure,
  END,
  errorAt,
  isAsciiLetter,
  isDigit,
  looksAt,
  openPattern,
  type PatternFlags,
  type PatternLimits,
  type PatternSource,
  skipIgnored,
  textBetween,
} from './pattern-source.ts'

/**
 * Pattern text to syntax tree: one pass over the characters with a stack of open groups, so that no pattern, however
 * deep, can exhaust the call stack. Time and memory are linear in the pattern, apart from the size of its classes.
 *
 * What is refused is refused here, with the octet offset of the part that is at fault; a tree that comes out can be
 * compiled unless it is too large.
 */

export interface ParseOptions {
  /** How to read the text: characters, or one octet (U+0000 to U+00FF) for each character of the string. */
  readonly mode: PatternMode
  readonly flags: PatternFlags
  /**
   * The leniency of the engine behind nginx's replace_filter: a brace that is no count and an unknown escape are
   * literals, `\ddd` is octal, `\C` is any octet, `\s` has no vertical tab, counts go up to 499. That `.` takes `\n`
   * and that `^ $` are per line there is up to the caller's flags.
   */
  readonly compat?: 'nginx'
  /** Replaces single defaults. */
  readonly limits?: Partial<PatternLimits>
}

const DEFAULT_PATTERN_LIMITS: PatternLimits = {
  maxPatternBytes: 65_536,
  maxNestingDepth: 250,
  maxGroups: 1_000,
  maxRepeatCount: 1_000,
  maxExpandedItems: 100_000,
  maxClassRanges: 250_000,
}

const NGINX_MAX_REPEAT_COUNT = 499

/** A piece of the tree with the number of items that it takes once its counts are written out. */
interface Term {
  readonly node: Node
  readonly items: number
}

/** An open group; the first one is the pattern itself. */
interface Frame {
  /** Index of the opening parenthesis. */
  readonly start: number
  /** 0 for a group that captures nothing. */
  readonly capture: number
  /** In force again after the group. */
  readonly outerFlags: PatternFlags
  /** Finished alternatives. */
  readonly branches: Term[]
  /** Octet offset of the first alternative. */
  readonly bodyStart: number
  /** Octet offset of the alternative being read. */
  branchStart: number
  /** The alternative being read. */
  terms: Term[]
}

interface ParserState {
  readonly source: PatternSource
  readonly frames: Frame[]
  readonly groupNames: Map<string, number>
  groupCount: number
}

interface Count {
  readonly min: number
  readonly max: number
  /** Index after it. */
  readonly end: number
}

/**
 * The syntax tree of `text`. Throws a {@link PatternError}; in octet mode a character beyond U+00FF is an error, the
 * caller encodes first.
 */
export function parsePattern(text: string, options: ParseOptions): ParsedPattern {
  const nginx = options.compat === 'nginx'
  const limits = {
    ...DEFAULT_PATTERN_LIMITS,
    ...(nginx ? { maxRepeatCount: NGINX_MAX_REPEAT_COUNT } : undefined),
    ...options.limits,
  }
  const source = openPattern(text, { mode: options.mode, nginx, flags: options.flags, limits })
  const state: ParserState = { source, frames: [], groupNames: new Map(), groupCount: 0 }
  pushFrame(state, 0, 0, source.flags)
  for (;;) {
    skipIgnored(source)
    const point = source.points[source.at]
    if (point === END) break
    readPart(state, point)
  }
  const root = state.frames[state.frames.length - 1]
  if (state.frames.length > 1) {
    throw errorAt(
      source,
      root.start,
      'E_PATTERN_SYNTAX',
      'the group has no closing parenthesis',
      'write \\( for a parenthesis',
    )
  }
  return {
    root: finishFrame(source, root).node,
    mode: options.mode,
    groupCount: state.groupCount,
    groupNames: state.groupNames,
  }
}

function readPart(state: ParserState, point: number): void {
  const { source, frames } = state
  const frame = frames[frames.length - 1]
  switch (point) {
    case 0x28: // (
      openGroup(state)
      return
    case 0x29: // )
      closeGroup(state, frame)
      return
    case 0x7c: // |
      finishBranch(source, frame)
      source.at++
      frame.branchStart = source.offsets[source.at]
      return
    case 0x2a: // *
    case 0x2b: // +
    case 0x3f: // ?
      throw nothingToRepeat(source)
    case 0x7b: // {
      if (readCount(source) !== undefined) throw nothingToRepeat(source)
      refuseBrace(source)
      appendTerm(source, frame, source.at, readLiteral(source))
      return
    default:
      appendTerm(source, frame, source.at, readAtom(source, point))
  }
}

function nothingToRepeat(source: PatternSource): PatternError {
  const sign = String.fromCharCode(source.points[source.at])
  return errorAt(
    source,
    source.at,
    'E_PATTERN_SYNTAX',
    `there is nothing to repeat before ${sign}`,
    `write \\${sign} for the character itself`,
  )
}

/** Our own syntax wants a brace that is no count escaped. */
function refuseBrace(source: PatternSource): void {
  if (source.nginx) return
  throw errorAt(
    source,
    source.at,
    'E_PATTERN_SYNTAX',
    'the brace does not begin a count',
    looksAt(source, source.at, '{,')
      ? 'write {0,n}, or \\{ for a brace'
      : 'write {n}, {n,} or {n,m}, or \\{ for a brace',
  )
}

function readAtom(source: PatternSource, point: number): Term {
  const start = source.at
  switch (point) {
    case 0x2e: // .
      source.at++
      return classTerm(
        source,
        start,
        source.flags.s ? universeOf(source.mode) : negateRanges([0x0a, 0x0a], source.mode),
      )
    case 0x5b: // [
      return classTerm(source, start, readClass(source))
    case 0x5c: // backslash
      return escapeTerm(source, start, readEscape(source, false))
    case 0x5e: // ^
      source.at++
      return item({
        kind: 'assert',
        assertion: source.flags.m ? 'lineStart' : 'textStart',
        span: spanFrom(source, start),
      })
    case 0x24: // $
      source.at++
      return item({
        kind: 'assert',
        assertion: source.flags.m ? 'lineEnd' : 'textEndOrFinalNewline',
        span: spanFrom(source, start),
      })
    default:
      return readLiteral(source)
  }
}

function readLiteral(source: PatternSource): Term {
  const start = source.at
  const point = source.points[start]
  source.at++
  return classTerm(source, start, caseClosure(source, [point, point]))
}

function escapeTerm(source: PatternSource, start: number, escape: Escape): Term {
  switch (escape.kind) {
    case 'point':
      return classTerm(source, start, caseClosure(source, [escape.point, escape.point]))
    case 'set':
      return classTerm(source, start, escape.ranges)
    case 'assert':
      return item({ kind: 'assert', assertion: escape.assertion, span: spanFrom(source, start) })
  }
}

function classTerm(source: PatternSource, start: number, ranges: CodePointRanges): Term {
  source.classRanges += ranges.length / 2
  if (source.classRanges > source.limits.maxClassRanges) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_LIMIT',
      `the classes up to here have more than ${source.limits.maxClassRanges} ranges`,
      'use fewer large classes, such as \\p{L}',
    )
  }
  return item({ kind: 'class', ranges, span: spanFrom(source, start) })
}

function item(node: Node): Term {
  return { node, items: 1 }
}

/** From the character at index `start` to the reading position. */
function spanFrom(source: PatternSource, start: number): { start: number; end: number } {
  return { start: source.offsets[start], end: source.offsets[source.at] }
}

/** Adds what was read since the index `start` to the alternative, with the quantifier that may follow it. */
function appendTerm(source: PatternSource, frame: Frame, start: number, term: Term): void {
  const quantified = readQuantifier(source, start, term)
  if (quantified.node.kind === 'concat') {
    // Sequences stay flat. Only the last term carries the items of all: they are added up anyway.
    const { nodes } = quantified.node
    nodes.forEach((node, i) => frame.terms.push({ node, items: i === nodes.length - 1 ? quantified.items : 0 }))
  } else frame.terms.push(quantified)
}

function readQuantifier(source: PatternSource, start: number, term: Term): Term {
  skipIgnored(source)
  const at = source.at
  const count = readCount(source)
  if (count === undefined) return term
  source.at = count.end
  let span = spanFrom(source, start)
  skipIgnored(source)
  const greedy = !accept(source, '?')
  if (!greedy) span = spanFrom(source, start)
  refuseSecondQuantifier(source, greedy ? textBetween(source, at, count.end) : undefined)
  const { min, max } = count
  const items = term.items * (max === Number.POSITIVE_INFINITY ? Math.max(min, 1) : Math.max(max, 1))
  if (items > source.limits.maxExpandedItems) {
    throw errorAt(
      source,
      at,
      'E_PATTERN_LIMIT',
      `written out, this repetition has more than ${source.limits.maxExpandedItems} items`,
      'lower the counts, or use * or +',
    )
  }
  if (max === 0) return { node: { kind: 'empty', span }, items: 1 }
  if (min === 1 && max === 1) return term
  return { node: { kind: 'repeat', min, max, greedy, node: term.node, span }, items }
}

/** `greedy` is the text of the first quantifier unless it is lazy. */
function refuseSecondQuantifier(source: PatternSource, greedy: string | undefined): void {
  skipIgnored(source)
  const at = source.at
  if (greedy !== undefined && source.points[at] === 0x2b) {
    throw errorAt(
      source,
      at,
      'E_PATTERN_UNSUPPORTED',
      'possessive quantifiers are not supported: giving nothing back needs a look at the rest',
      `write ${greedy} without the + after it`,
    )
  }
  if (readCount(source) !== undefined) {
    throw errorAt(
      source,
      at,
      'E_PATTERN_SYNTAX',
      'a quantifier cannot follow a quantifier',
      'write a group around the first: (?:a{2})*',
    )
  }
}

/** The quantifier at `source.at`, which stays; undefined when there is none. Checks the limit of counts. */
function readCount(source: PatternSource): Count | undefined {
  const end = source.at + 1
  switch (source.points[source.at]) {
    case 0x2a:
      return { min: 0, max: Number.POSITIVE_INFINITY, end }
    case 0x2b:
      return { min: 1, max: Number.POSITIVE_INFINITY, end }
    case 0x3f:
      return { min: 0, max: 1, end }
    case 0x7b:
      return readBraces(source)
    default:
      return undefined
  }
}

function readBraces(source: PatternSource): Count | undefined {
  const { points, limits } = source
  let at = source.at + 1
  const readNumber = (): number | undefined => {
    const from = at
    let value = 0
    for (; isDigit(points[at]); at++) value = Math.min(value * 10 + points[at] - 0x30, limits.maxRepeatCount + 1)
    return at === from ? undefined : value
  }
  const min = readNumber()
  if (min === undefined) return undefined
  let max: number = min
  if (points[at] === 0x2c) {
    at++
    max = readNumber() ?? Number.POSITIVE_INFINITY
  }
  if (points[at] !== 0x7d) return undefined
  if (min > limits.maxRepeatCount || (max > limits.maxRepeatCount && max !== Number.POSITIVE_INFINITY)) {
    throw errorAt(
      source,
      source.at,
      'E_PATTERN_LIMIT',
      `a repeat count goes up to ${limits.maxRepeatCount}`,
      'lower it, or use * or +',
    )
  }
  if (min > max) {
    throw errorAt(source, source.at, 'E_PATTERN_SYNTAX', 'the counts run backwards', 'write the smaller number first')
  }
  return { min, max, end: at + 1 }
}

function pushFrame(state: ParserState, start: number, capture: number, outerFlags: PatternFlags): void {
  const { source, frames } = state
  if (frames.length > source.limits.maxNestingDepth) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_LIMIT',
      `groups are nested more than ${source.limits.maxNestingDepth} deep`,
      'remove groups that are not needed',
    )
  }
  const bodyStart = source.offsets[source.at]
  frames.push({ start, capture, outerFlags, branches: [], bodyStart, branchStart: bodyStart, terms: [] })
}

function closeGroup(state: ParserState, frame: Frame): void {
  const { source, frames } = state
  if (frames.length === 1) {
    throw errorAt(source, source.at, 'E_PATTERN_SYNTAX', 'there is no group to close', 'write \\) for a parenthesis')
  }
  const body = finishFrame(source, frame)
  frames.pop()
  source.at++
  source.flags = frame.outerFlags
  const outer = frames[frames.length - 1]
  const span = spanFrom(source, frame.start)
  const term: Term =
    frame.capture === 0
      ? body
      : { node: { kind: 'capture', index: frame.capture, node: body.node, span }, items: body.items }
  appendTerm(source, outer, frame.start, term)
}

/** Ends the alternative being read; `source.at` is at the `|`, `)` or end after it. */
function finishBranch(source: PatternSource, frame: Frame): void {
  const span = { start: frame.branchStart, end: source.offsets[source.at] }
  const nodes = frame.terms.map((term) => term.node).filter((node) => node.kind !== 'empty')
  const items = frame.terms.reduce((sum, term) => sum + term.items, 0)
  checkItems(source, frame, items)
  frame.terms = []
  if (nodes.length === 0) frame.branches.push({ node: { kind: 'empty', span }, items: 1 })
  else if (nodes.length === 1) {
    const [node] = nodes
    // `(?:a|b)|c` is `a|b|c`; the items are counted once.
    if (node.kind === 'alternate') {
      node.nodes.forEach((inner, i) => frame.branches.push({ node: inner, items: i === 0 ? items : 0 }))
    } else frame.branches.push({ node, items })
  } else frame.branches.push({ node: { kind: 'concat', nodes, span }, items })
}

function finishFrame(source: PatternSource, frame: Frame): Term {
  finishBranch(source, frame)
  const items = frame.branches.reduce((sum, term) => sum + term.items, 0)
  checkItems(source, frame, items)
  if (frame.branches.length === 1) return { node: frame.branches[0].node, items }
  const span = { start: frame.bodyStart, end: source.offsets[source.at] }
  return { node: { kind: 'alternate', nodes: frame.branches.map((branch) => branch.node), span }, items }
}

function checkItems(source: PatternSource, frame: Frame, items: number): void {
  if (items <= source.limits.maxExpandedItems) return
  throw errorAt(
    source,
    frame.start,
    'E_PATTERN_LIMIT',
    `with its repetitions written out, the pattern has more than ${source.limits.maxExpandedItems} items here`,
    'lower the counts, or use * or +',
  )
}

/** Reads from `(` to the start of the group's body, or a whole `(?flags)`. */
function openGroup(state: ParserState): void {
  const { source } = state
  const start = source.at
  source.at++
  if (source.points[source.at] === 0x2a && isAsciiLetter(source.points[source.at + 1])) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_UNSUPPORTED',
      'control verbs are not supported',
      'write (\\* for the characters',
    )
  }
  if (!accept(source, '?')) {
    openCapture(state, start, undefined)
    return
  }
  if (accept(source, ':')) {
    pushFrame(state, start, 0, source.flags)
    return
  }
  refuseGroupKind(source, start)
  if (accept(source, '<')) {
    openCapture(state, start, readGroupName(source, start))
    return
  }
  readInlineFlags(state, start)
}

function openCapture(state: ParserState, start: number, name: string | undefined): void {
  const { source } = state
  if (state.groupCount >= source.limits.maxGroups) {
    throw errorAt(
      source,
      start,
      'E_PATTERN_LIMIT',
      `there are more than ${source.limits.maxGroups} capturing groups`,
      'write (?:...) for groups whose text is not needed',
    )
  }
  state.groupCount++
  if (name !== undefined) {
    if (state.groupNames.has(name)) {
      throw errorAt(
        source,
        start,
        'E_PATTERN_SYNTAX',
        `there are two groups named ${name}`,
        'give each group its own name',
      )
    }
    state.groupNames.set(name, state.groupCount)
  }
  pushFrame(state, start, state.groupCount, source.flags)
}

/** Kinds of groups that are refused, by what follows `(?`; longer openings first. */
const REFUSED_GROUPS: readonly (readonly [opening: string, message: string, hint: string])[] = [
  ['=', 'look-ahead is not supported on a stream', 'match the text after as well and repeat it in the replacement'],
  ['!', 'look-ahead is not supported on a stream', 'put a rule before this one that matches the exception'],
  ['<=', 'look-behind is not supported', 'match the text before in a group and repeat it in the replacement'],
  ['<!', 'look-behind is not supported', 'put a rule before this one that matches the exception'],
  ['>', 'atomic groups are not supported: giving nothing back needs a look at the rest', 'write (?:...)'],
  ['|', 'groups with shared numbers are not supported', 'write (?:...) and use the number of each group'],
  ['(', 'conditions are not supported', 'write the cases as alternatives'],
  ['#', 'comments in groups are not supported', 'remove it, or use flag x and # to the end of the line'],
  ['P<', 'this spelling of a named group is not supported', 'write (?<name>...)'],
  ["'", 'this spelling of a named group is not supported', 'write (?<name>...)'],
  ['P=', 'a back-reference cannot be matched in linear time', 'write what the group can match once more'],
  ['P>', 'recursion cannot be matched in linear time', 'write the nesting out to the depth that is needed'],
  ['R', 'recursion cannot be matched in linear time', 'write the nesting out to the depth that is needed'],
  ['&', 'recursion cannot be matched in linear time', 'write the nesting out to the depth that is needed'],
  ['+', 'recursion cannot be matched in linear time', 'write the nesting out to the depth that is needed'],
  ['{', 'code in a pattern is not supported', 'remove it'],
  ['?', 'code in a pattern is not supported', 'remove it'],
  ['^', 'flags cannot be reset', 'write (?-imsx) or the flags to turn off'],
]

function refuseGroupKind(source: PatternSource, start: number): void {
  const after = source.points[source.at]
  const recursive = isDigit(after) || (after === 0x2d && isDigit(source.points[source.at + 1]))
  const refused = REFUSED_GROUPS.find(([opening]) =>
    recursive ? opening === 'R' : looksAt(source, source.at, opening),
  )
  if (refused !== undefined) throw errorAt(source, start, 'E_PATTERN_UNSUPPORTED', refused[1], refused[2])
}

function isNamePoint(point: number): boolean {
  return isAsciiLetter(point) || point === 0x5f
}

/** Reads `name>`. */
function readGroupName(source: PatternSource, start: number): string {
  const from = source.at
  if (isNamePoint(source.points[from])) {
    while (isNamePoint(source.points[source.at]) || isDigit(source.points[source.at])) source.at++
    const to = source.at
    if (accept(source, '>')) return textBetween(source, from, to)
  }
  throw errorAt(
    source,
    start,
    'E_PATTERN_SYNTAX',
    'the group has no valid name',
    'write (?<name>...) with a name of letters, digits and _ that does not begin with a digit',
  )
}

/** Reads `flags)` or `flags:` after `(?`. */
function readInlineFlags(state: ParserState, start: number): void {
  const { source } = state
  const outer = source.flags
  const flags = { ...outer }
  let value = true
  let count = 0
  for (; ; source.at++) {
    const point = source.points[source.at]
    if (point === 0x29 || point === 0x3a) break
    if (point === 0x2d && value) {
      value = false
      count = 0
      continue
    }
    const letter = point === END ? '' : String.fromCodePoint(point)
    if (letter === 'i' || letter === 'm' || letter === 's' || letter === 'x') {
      flags[letter] = value
      count++
      continue
    }
    throw flagError(source, start, letter)
  }
  if (count === 0) throw flagError(source, start, '')
  const scoped = source.points[source.at] === 0x3a
  source.at++
  if (scoped) pushFrame(state, start, 0, outer)
  source.flags = flags
}

function flagError(source: PatternSource, start: number, letter: string): PatternError {
  if (letter === 'u' || letter === 'b') {
    return errorAt(
      source,
      source.at,
      'E_PATTERN_SYNTAX',
      `flag ${letter} cannot change inside a pattern`,
      'set it for the whole rule',
    )
  }
  if (isAsciiLetter(source.points[source.at])) {
    return errorAt(source, source.at, 'E_PATTERN_SYNTAX', `unknown flag ${letter}`, 'the flags are i, m, s and x')
  }
  return errorAt(
    source,
    start,
    'E_PATTERN_SYNTAX',
    'the characters after (? begin no known group',
    'write (?:...), (?<name>...), (?flags) or (?flags:...), or \\? for a question mark',
  )
}
