/**
 * The slow, obviously right reading of docs/rules.md that the engine is compared with.
 *
 * It has the whole body in hand and starts an ordered-thread simulation afresh at every position, so it can neither
 * know about chunks nor share a fault of the streaming engine. Nothing here is tuned: clarity is the only aim.
 *
 * A body is an array of numbers: octets, and two symbols that no body contains. {@link ALIEN} is a byte that no rule
 * can match; {@link SILENT_ALIEN} moreover satisfies no assertion that looks at what follows.
 */
import type { AssertionKind, CodePointRanges, Node, PatternMode } from '@prexy/regex/ast'
import type { Priority } from '@prexy/rewrite/rules'

/** A byte that no rule can match: neither the end of the body nor `\n` nor a word character. */
export const ALIEN = 256
/** Like {@link ALIEN}, and every assertion that depends on the byte after its position fails before it. */
export const SILENT_ALIEN = 257

export type Body = readonly number[]

/** Literal octets, or the number of a group (0 for `$&`). */
export type ReplacementPart = readonly number[] | number

export interface ReferenceRule {
  readonly root: Node
  readonly groupCount: number
  readonly replacement: readonly ReplacementPart[]
  /** Matches per body after which the rule is spent, `Infinity` for no limit. */
  readonly max: number
  /** Octets of an opening and a closing marker; a match begins only between them. */
  readonly between?: readonly [open: Body, close: Body] | undefined
}

export interface ReferenceOptions {
  readonly priority: Priority
  readonly mode: PatternMode
  readonly compat: 'nginx' | undefined
}

/** Half-open spans by group number, 0 for the whole match; `undefined` for a group that took no part. */
export type Captures = readonly (readonly [start: number, end: number] | undefined)[]

export interface CopyToken {
  readonly kind: 'copy'
  readonly at: number
}

export interface MatchToken {
  readonly kind: 'match'
  readonly rule: number
  readonly start: number
  readonly end: number
  readonly captures: Captures
  /** True where a spent rule keeps its token and the text goes out unchanged (`compat: nginx`). */
  readonly kept: boolean
}

export type Token = CopyToken | MatchToken

type Instruction =
  | { readonly op: 'class'; readonly ranges: CodePointRanges; readonly next: number }
  | { readonly op: 'assert'; readonly assertion: AssertionKind; readonly next: number }
  | { readonly op: 'split'; readonly first: number; readonly second: number }
  | { readonly op: 'save'; readonly slot: number; readonly next: number }
  | { readonly op: 'accept' }

interface Program {
  readonly instructions: readonly Instruction[]
  readonly entry: number
  readonly slotCount: number
}

/** Rules ready to be simulated, one program each. */
export interface Reference {
  readonly rules: readonly ReferenceRule[]
  readonly options: ReferenceOptions
  readonly programs: readonly Program[]
}

export function createReference(rules: readonly ReferenceRule[], options: ReferenceOptions): Reference {
  return { rules, options, programs: rules.map((rule) => compile(rule.root, rule.groupCount)) }
}

const MAX_PROGRAM_LENGTH = 1_000_000

function compile(root: Node, groupCount: number): Program {
  const instructions: Instruction[] = []
  const add = (instruction: Instruction): number => instructions.push(instruction) - 1
  const addSplit = (greedy: boolean, into: number, past: number): number =>
    add({ op: 'split', first: greedy ? into : past, second: greedy ? past : into })

  /** Instructions that match `node` and go on at `next`; returns where they begin. */
  const emit = (node: Node, next: number): number => {
    switch (node.kind) {
      case 'empty':
        return next
      case 'class':
        return add({ op: 'class', ranges: node.ranges, next })
      case 'assert':
        return add({ op: 'assert', assertion: node.assertion, next })
      case 'concat':
        return node.nodes.reduceRight((after, part) => emit(part, after), next)
      case 'alternate': {
        const entries = node.nodes.map((alternative) => emit(alternative, next))
        return entries.reduceRight((second, first) => add({ op: 'split', first, second }))
      }
      case 'capture': {
        const close = add({ op: 'save', slot: 2 * node.index + 1, next })
        return add({ op: 'save', slot: 2 * node.index, next: emit(node.node, close) })
      }
      case 'repeat':
        return emitRepeat(node, next)
    }
  }

  /**
   * `x{n}` is n copies; `x{n,}` ends in `x+`; `x*` begins at its loop, or is `(?:x+)?` when x can be empty; `x{n,m}` ends in
   * `(?:x(?:x)?)?`.
   */
  const emitRepeat = (node: Extract<Node, { kind: 'repeat' }>, next: number): number => {
    let entry = next
    let copies = node.min
    if (node.max === Infinity) {
      const again = instructions.length
      add({ op: 'accept' })
      const body = emit(node.node, again)
      instructions[again] = { op: 'split', first: node.greedy ? body : next, second: node.greedy ? next : body }
      entry = body
      if (node.min === 0) entry = matchesEmpty(node.node) ? addSplit(node.greedy, body, next) : again
      copies = Math.max(0, node.min - 1)
    } else {
      for (let optional = node.min; optional < node.max; optional += 1) {
        entry = addSplit(node.greedy, emit(node.node, entry), next)
      }
    }
    for (let copy = 0; copy < copies; copy += 1) entry = emit(node.node, entry)
    return entry
  }

  const accept = add({ op: 'accept' })
  const entry = emit(root, accept)
  return { instructions, entry, slotCount: 2 * (groupCount + 1) }
}

/** Whether some match of a node is empty, assertions taken as passed. */
function matchesEmpty(node: Node): boolean {
  switch (node.kind) {
    case 'class':
      return false
    case 'empty':
    case 'assert':
      return true
    case 'concat':
      return node.nodes.every(matchesEmpty)
    case 'alternate':
      return node.nodes.some(matchesEmpty)
    case 'capture':
      return matchesEmpty(node.node)
    case 'repeat':
      return node.min === 0 || matchesEmpty(node.node)
  }
}

/** One step of a body: a character, or a byte that is part of none (`codePoint` is then -1 and no class holds it). */
interface Unit {
  readonly length: number
  readonly codePoint: number
}

/** The unit that begins at a boundary. In text mode: RFC 3629, table in section 4. */
function unitAt(body: Body, at: number, mode: PatternMode): Unit {
  const lead = body[at]
  if (mode === 'octet' || lead < 0x80) return { length: 1, codePoint: lead < 256 ? lead : -1 }
  const broken = { length: 1, codePoint: -1 }
  const length =
    lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 1
  if (length === 1 || at + length > body.length) return broken
  let codePoint = lead & (0xff >> (length + 1))
  for (let i = 1; i < length; i += 1) {
    const trail = body[at + i]
    if (trail < 0x80 || trail > 0xbf) return broken
    codePoint = (codePoint << 6) | (trail & 0x3f)
  }
  const least = [0, 0, 0x80, 0x800, 0x10000][length]
  if (codePoint < least || codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff)) return broken
  return { length, codePoint }
}

/** For every offset of the body and its end: whether a match may begin or end there. */
function findBoundaries(body: Body, mode: PatternMode): boolean[] {
  const boundaries: boolean[] = new Array(body.length + 1).fill(false)
  let at = 0
  while (at < body.length) {
    boundaries[at] = true
    at += unitAt(body, at, mode).length
  }
  boundaries[body.length] = true
  return boundaries
}

function isWord(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return (
    (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x5f
  )
}

const NEWLINE = 0x0a

function holds(assertion: AssertionKind, body: Body, at: number): boolean {
  const end = body.length
  const after = body[at]
  if (assertion === 'textStart') return at === 0
  if (assertion === 'lineStart' && at === 0) return true
  if (assertion === 'lineStart' && body[at - 1] !== NEWLINE) return false
  if (after === SILENT_ALIEN) return false
  switch (assertion) {
    case 'lineStart':
      return at !== end
    case 'textEnd':
      return at === end
    case 'textEndOrFinalNewline':
      return at === end || (at === end - 1 && after === NEWLINE)
    case 'lineEnd':
      return at === end || after === NEWLINE
    case 'wordBoundary':
      return isWord(body[at - 1]) !== isWord(after)
    case 'notWordBoundary':
      return isWord(body[at - 1]) === isWord(after)
  }
}

/** Whether sorted inclusive ranges hold a code point. */
export function contains(ranges: CodePointRanges, codePoint: number): boolean {
  for (let i = 0; i < ranges.length; i += 2) {
    if (codePoint >= ranges[i] && codePoint <= ranges[i + 1]) return true
  }
  return false
}

interface Thread {
  readonly rule: number
  readonly at: number
  readonly slots: readonly number[]
}

/**
 * The match that begins exactly at `start`, if any. Threads run in priority order; one that reaches an instruction
 * which a thread before it has reached at the same position is dropped.
 */
function matchAt(reference: Reference, active: readonly boolean[], body: Body, start: number): MatchToken | undefined {
  const { options, programs } = reference
  let best: { rule: number; end: number; slots: readonly number[] } | undefined
  let position = start
  let threads: Thread[] = []
  let seen = new Set<number>()
  /** Whether the position's winner is known, so that threads behind it are cut (`priority: first`). */
  let cut = false

  const follow = (rule: number, at: number, slots: readonly number[]): void => {
    const key = rule * MAX_PROGRAM_LENGTH + at
    if (cut || seen.has(key)) return
    seen.add(key)
    const instruction = programs[rule].instructions[at]
    switch (instruction.op) {
      case 'class':
        threads.push({ rule, at, slots })
        return
      case 'assert':
        if (holds(instruction.assertion, body, position)) follow(rule, instruction.next, slots)
        return
      case 'split':
        follow(rule, instruction.first, slots)
        follow(rule, instruction.second, slots)
        return
      case 'save': {
        const saved = [...slots]
        saved[instruction.slot] = position
        follow(rule, instruction.next, saved)
        return
      }
      case 'accept':
        if (options.priority === 'first') {
          best = { rule, end: position, slots }
          cut = true
        } else if (best === undefined || best.end < position) {
          // Rules are in order in the thread list, so the first to end here is the earliest by its first path.
          best = { rule, end: position, slots }
        }
    }
  }

  for (const [rule, program] of programs.entries()) {
    if (active[rule]) follow(rule, program.entry, new Array(program.slotCount).fill(-1))
  }
  while (threads.length > 0 && position < body.length) {
    const unit = unitAt(body, position, options.mode)
    const stepping = threads
    threads = []
    seen = new Set()
    cut = false
    position += unit.length
    for (const thread of stepping) {
      const instruction = programs[thread.rule].instructions[thread.at]
      if (instruction.op === 'class' && contains(instruction.ranges, unit.codePoint)) {
        follow(thread.rule, instruction.next, thread.slots)
      }
    }
  }
  if (best === undefined) return undefined
  const captures: ([number, number] | undefined)[] = [[start, best.end]]
  for (let group = 1; group < best.slots.length / 2; group += 1) {
    const from = best.slots[2 * group]
    const to = best.slots[2 * group + 1]
    captures.push(from >= 0 && to >= 0 ? [from, to] : undefined)
  }
  return { kind: 'match', rule: best.rule, start, end: best.end, captures, kept: false }
}

/** For every offset of the body and its end: whether it lies between two markers. */
function findOpen(body: Body, [open, close]: readonly [Body, Body]): boolean[] {
  const lower = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte)
  const standsAt = (marker: Body, at: number): boolean =>
    marker.every((byte, i) => at + i < body.length && lower(body[at + i]) === lower(byte))
  const result: boolean[] = []
  let isOpen = false
  let at = 0
  while (at < body.length) {
    const marker = isOpen ? close : open
    const found = standsAt(marker, at)
    const length = found ? marker.length : 1
    for (let i = 0; i < length; i += 1) result.push(isOpen)
    at += length
    if (found) isOpen = !isOpen
  }
  return [...result, isOpen]
}

/** Where a search begins: an offset, and how often each rule has matched before it. */
export interface SearchState {
  readonly from: number
  readonly fired: readonly number[]
}

export function startOfBody(reference: Reference): SearchState {
  return { from: 0, fired: reference.rules.map(() => 0) }
}

/** Every token from `state.from` to the end of the body, in order; assertions see the whole body. */
export function tokenize(reference: Reference, body: Body, state: SearchState): Token[] {
  const { rules, options } = reference
  const boundaries = findBoundaries(body, options.mode)
  const open = rules.map(({ between }) => (between === undefined ? undefined : findOpen(body, between)))
  const fired = [...state.fired]
  const tokens: Token[] = []
  const isSpent = (rule: number): boolean => fired[rule] >= rules[rule].max
  let at = state.from

  const copyToNextBoundary = (): void => {
    do {
      tokens.push({ kind: 'copy', at })
      at += 1
    } while (!boundaries[at])
  }

  while (at < body.length && !boundaries[at]) copyToNextBoundary()
  while (at <= body.length) {
    const allSpent = rules.every((_, rule) => isSpent(rule))
    const active = rules.map(
      (_, rule) => !allSpent && (options.compat === 'nginx' || !isSpent(rule)) && open[rule]?.[at] !== false,
    )
    const match = matchAt(reference, active, body, at)
    if (match !== undefined) {
      const kept = isSpent(match.rule)
      tokens.push({ ...match, kept })
      if (!kept) fired[match.rule] += 1
      if (match.end > match.start) {
        at = match.end
        continue
      }
    }
    if (at === body.length) break
    copyToNextBoundary()
  }
  return tokens
}

/** The octets that a token sends out. */
export function renderToken(reference: Reference, body: Body, token: Token): readonly number[] {
  if (token.kind === 'copy') return [body[token.at]]
  if (token.kept) return body.slice(token.start, token.end)
  return reference.rules[token.rule].replacement.flatMap((part) => {
    if (typeof part !== 'number') return part
    const span = token.captures[part]
    return span === undefined ? [] : body.slice(span[0], span[1])
  })
}

/** Groups that a rule's replacement prints; a rule without any never needs the text that it matched. */
export function groupsUsed(rule: ReferenceRule): readonly number[] {
  return rule.replacement.filter((part) => typeof part === 'number')
}

/** The whole output for a whole body without any limit, and the replacements per rule. */
export function rewriteWhole(reference: Reference, body: Body): { output: readonly number[]; hits: readonly number[] } {
  const tokens = tokenize(reference, body, startOfBody(reference))
  return { output: tokens.flatMap((token) => renderToken(reference, body, token)), hits: countHits(reference, tokens) }
}

export function countHits(reference: Reference, tokens: readonly Token[]): readonly number[] {
  return reference.rules.map(
    (_, rule) => tokens.filter((token) => token.kind === 'match' && !token.kept && token.rule === rule).length,
  )
}

/** The first match of a body, for `prexy debug match`. */
export function findFirst(reference: Reference, body: Body): MatchToken | undefined {
  return tokenize(reference, body, startOfBody(reference)).find((token) => token.kind === 'match')
}

/** The text between `with:` quotes as parts. `variables` are put in as literals. */
export function parseReplacement(
  template: string,
  encode: (text: string) => readonly number[],
  variables: Readonly<Record<string, string>> = {},
): ReplacementPart[] {
  const parts: ReplacementPart[] = []
  const pattern =
    /\$(?:(?<special>[&$])|(?<digits>[0-9]+)|\{(?<braced>[0-9]+)\}|(?<name>[A-Za-z_][A-Za-z0-9_]*)|\{(?<bracedName>[A-Za-z_][A-Za-z0-9_]*)\})|[^$]+/g
  for (const found of template.matchAll(pattern)) {
    const { special, digits, braced, name, bracedName } = found.groups ?? {}
    const number = digits ?? braced
    const variable = name ?? bracedName
    if (special === '&') parts.push(0)
    else if (special === '$') parts.push(encode('$'))
    else if (number !== undefined) parts.push(Number(number))
    else if (variable !== undefined) parts.push(encode(variables[variable] ?? ''))
    else parts.push(encode(found[0]))
  }
  return parts
}
