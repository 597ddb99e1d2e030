/**
 * What a streaming rewriter has to do with a part of a body, found by trying every continuation.
 *
 * Definitions, for a prefix P of a body, n octets long, and the tokens T(c) of P followed by a continuation c:
 *
 * - *settled*: the longest run of tokens, from the start, that every T(c) begins with, the empty c included. Two
 *   matches are the same token when rule and span agree and, for the groups that the rule's replacement prints, the
 *   captures too. Settled tokens are what must have gone out; E is the end of the last one.
 * - *held*: the number of octets i with E <= i < n that some T(c) copies, or covers with a match whose replacement
 *   prints `$&` or a group, or with a token that a spent rule keeps.
 * - *pending*: the number of matches of T(empty) that are not settled, that is, that some T(c) lacks. Whether one that
 *   ends with the prefix and looks ahead is complete before its next byte is open: `waiting` counts those.
 *
 * Several unfinished ways may together cover every continuation though none does so alone (`a\z|a(?s:.)` after `a`).
 * An engine that looks at its ways one by one cannot see that, and the rules allow it to hold more there. Continuations
 * that end in an alien, a byte which no way survives, say how much more: `least` is computed without them and `most`
 * with them, and they differ nowhere else.
 */
import type { CodePointRanges, Node, PatternMode } from '@prexy/regex/ast'
import type { OverflowPolicy } from '@prexy/rewrite/rules'
import {
  ALIEN,
  type Body,
  contains,
  countHits,
  groupsUsed,
  type Reference,
  renderToken,
  SILENT_ALIEN,
  type SearchState,
  startOfBody,
  type Token,
  tokenize,
} from './reference.ts'

/**
 * What may follow a prefix: all strings of up to `length` symbols, each a few octets long; and, to see further where
 * rules are long, each of `words` before at most one symbol.
 */
export interface Continuations {
  readonly symbols: readonly Body[]
  readonly length: number
  readonly words: readonly Body[]
}

/** What is known of a prefix. */
export interface Outlook {
  readonly settled: readonly Token[]
  /** Offset of the first octet that is not settled. */
  readonly settledEnd: number
  /** For each octet of the prefix from `settledEnd` on, whether it is held. */
  readonly held: readonly boolean[]
  readonly heldBytes: number
  readonly pending: number
  readonly waiting: number
}

export interface OutlookRange {
  readonly least: Outlook
  readonly most: Outlook
}

export function lookAhead(
  reference: Reference,
  prefix: Body,
  state: SearchState,
  continuations: Continuations,
): OutlookRange {
  const now = tokenize(reference, prefix, state)
  const real = createSummary(reference, prefix, now)
  const all = createSummary(reference, prefix, now)
  const { symbols, length, words } = continuations
  const addFuture = (tail: Body): void => {
    const tokens = tokenize(reference, [...prefix, ...tail], state)
    real.add(tokens)
    all.add(tokens)
  }
  const visit = (tail: Body, symbolsLeft: number): void => {
    addFuture(tail)
    if (symbolsLeft >= length - 1) {
      for (const alien of [ALIEN, SILENT_ALIEN]) all.add(tokenize(reference, [...prefix, ...tail, alien], state))
    }
    if (symbolsLeft > 0) for (const symbol of symbols) visit([...tail, ...symbol], symbolsLeft - 1)
  }
  visit([], length)
  for (const word of words) {
    addFuture(word)
    for (const symbol of symbols) addFuture([...word, ...symbol])
  }
  return { least: real.finish(state), most: all.finish(state) }
}

/** Gathers what many futures of a prefix have in common, `now` being the one in which the body ends. */
interface Summary {
  add(tokens: readonly Token[]): void
  finish(state: SearchState): Outlook
}

function createSummary(reference: Reference, prefix: Body, now: readonly Token[]): Summary {
  let common = now.length
  const isNeeded: boolean[] = new Array(prefix.length).fill(false)
  return {
    add(tokens) {
      let same = 0
      while (same < common && isSameToken(reference, tokens[same], now[same])) same += 1
      common = same
      for (const token of tokens) {
        if (!needsItsText(reference, token)) continue
        const start = token.kind === 'copy' ? token.at : token.start
        isNeeded.fill(true, start, Math.min(tokenEnd(token), prefix.length))
      }
    },
    finish(state) {
      const settled = now.slice(0, common)
      const last = settled.at(-1)
      const settledEnd = last === undefined ? state.from : tokenEnd(last)
      const held = isNeeded.slice(settledEnd)
      const pending = now.slice(common).filter((token) => token.kind === 'match')
      const waiting = pending.filter(
        (token) => token.end === prefix.length && looksAhead(reference.rules[token.rule].root),
      )
      return {
        settled,
        settledEnd,
        held,
        heldBytes: held.filter((isHeld) => isHeld).length,
        pending: pending.length,
        waiting: waiting.length,
      }
    },
  }
}

/** Whether some assertion of a pattern depends on what follows. */
function looksAhead(node: Node): boolean {
  switch (node.kind) {
    case 'assert':
      return node.assertion !== 'textStart'
    case 'concat':
    case 'alternate':
      return node.nodes.some(looksAhead)
    case 'repeat':
    case 'capture':
      return looksAhead(node.node)
    default:
      return false
  }
}

function tokenEnd(token: Token): number {
  return token.kind === 'copy' ? token.at + 1 : token.end
}

function needsItsText(reference: Reference, token: Token): boolean {
  return token.kind === 'copy' || token.kept || groupsUsed(reference.rules[token.rule]).length > 0
}

function isSameToken(reference: Reference, one: Token | undefined, other: Token): boolean {
  if (one === undefined) return false
  if (one.kind === 'copy' || other.kind === 'copy') {
    return one.kind === 'copy' && other.kind === 'copy' && one.at === other.at
  }
  if (one.rule !== other.rule || one.start !== other.start || one.end !== other.end || one.kept !== other.kept) {
    return false
  }
  if (one.kept) return true
  return groupsUsed(reference.rules[one.rule]).every((group) => {
    const a = one.captures[group]
    const b = other.captures[group]
    return a?.[0] === b?.[0] && a?.[1] === b?.[1]
  })
}

/**
 * Octet strings that stand for everything the rules can tell apart: one character out of each set of characters that
 * no class and no assertion separates, and in text mode also the pieces of characters that end a broken-off one.
 */
export function representativeSymbols(reference: Reference): Body[] {
  const { classes, starts } = landmarksOf(reference)
  const isText = reference.options.mode === 'text'
  /** The first character of each kind; a kind is the set of classes that hold the character. */
  const kinds = new Map<string, number>()
  for (const start of starts) {
    const kind = classes.map((ranges) => (contains(ranges, start) ? '1' : '0')).join('')
    if (!kinds.has(kind)) kinds.set(kind, start)
  }
  const symbols: Body[] = [...kinds.values()].map((value) => (isText ? encodeUtf8(value) : [value]))
  if (isText) symbols.push([0xff])
  return symbols
}

/** All classes, those of assertions too, and every character at which one of them begins or has just ended. */
function landmarksOf(reference: Reference): { classes: readonly CodePointRanges[]; starts: readonly number[] } {
  const cuts = new Set<number>([0])
  const classes: CodePointRanges[] = []
  const visit = (node: Node): void => {
    if (node.kind === 'class') classes.push(node.ranges)
    else if (node.kind === 'assert') {
      const isAboutWords = node.assertion === 'wordBoundary' || node.assertion === 'notWordBoundary'
      classes.push(isAboutWords ? WORD_RANGES : [0x0a, 0x0a])
    } else if (node.kind === 'concat' || node.kind === 'alternate') for (const part of node.nodes) visit(part)
    else if (node.kind === 'repeat' || node.kind === 'capture') visit(node.node)
  }
  for (const rule of reference.rules) visit(rule.root)
  for (const ranges of classes) for (const [i, bound] of ranges.entries()) cuts.add(bound + (i % 2))

  const isText = reference.options.mode === 'text'
  const isCharacter = (value: number): boolean => value <= 0x10ffff && (value < 0xd800 || value > 0xdfff)
  const starts = [...cuts].filter((cut) => (isText ? isCharacter(cut) : cut < 256)).sort((a, b) => a - b)
  return { classes, starts }
}

const WORD_RANGES: CodePointRanges = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]

/**
 * The ways to go on after a prefix whose last character may be broken off in the middle: strings of symbols as long as
 * `budget`, the number of strings, allows, and what may be left of a match that has begun.
 */
export function continuationsOf(reference: Reference, prefix: Body, budget: number): Continuations {
  const plain = representativeSymbols(reference)
  const tails =
    reference.options.mode === 'text' ? tailsAfter(prefix, landmarksOf(reference).starts.map(encodeUtf8)) : []
  const symbols = [...plain, ...tails]
  const length = Math.max(1, Math.floor(Math.log(budget) / Math.log(Math.max(2, symbols.length))))
  const endings = endingsOf(reference, length, budget)
  return { symbols, length, words: [...endings, ...tails.flatMap((tail) => endings.map((end) => [...tail, ...end]))] }
}

/** Ends of texts that rules match, longer than `length` octets; more of each length when the budget is larger. */
function endingsOf(reference: Reference, length: number, budget: number): Body[] {
  const perLength = budget < 200 ? 1 : budget < 1_000 ? 4 : 32
  return reference.rules.flatMap((rule) => {
    const byLength = new Map<number, Map<string, Body>>()
    for (const word of wordsOf(rule.root, reference.options.mode)) {
      for (let cut = 0; cut + length < word.length; cut += 1) {
        const ending = word.slice(cut)
        const same = byLength.get(ending.length) ?? new Map<string, Body>()
        byLength.set(ending.length, same)
        if (same.size < perLength) same.set(ending.join(), ending)
      }
    }
    return [...byLength.values()].flatMap((endings) => [...endings.values()])
  })
}

const MAX_WORDS_PER_NODE = 24
const MAX_TAILS = 12

/** Some texts that a pattern matches when its assertions hold, the plainest first. */
function wordsOf(node: Node, mode: PatternMode): Body[] {
  switch (node.kind) {
    case 'empty':
    case 'assert':
      return [[]]
    case 'class': {
      // A line break or a word character may be the one member that an assertion beside the class lets pass.
      const members = new Set<number>()
      for (const candidate of [node.ranges[0], 0x0a, 0x61, 0x30]) {
        if (contains(node.ranges, candidate)) members.add(candidate)
      }
      return [...members].map((member) => (mode === 'text' ? encodeUtf8(member) : [member]))
    }
    case 'capture':
      return wordsOf(node.node, mode)
    case 'alternate':
      return takeInTurn(node.nodes.map((part) => wordsOf(part, mode)))
    case 'concat':
      return node.nodes.reduce((heads: Body[], part) => joinWords(heads, wordsOf(part, mode)), [[]])
    case 'repeat': {
      const once = wordsOf(node.node, mode)
      let least: Body[] = [[]]
      for (let count = 0; count < node.min; count += 1) least = joinWords(least, once)
      return node.max > node.min ? takeInTurn([joinWords(least, once), least]) : least
    }
  }
}

/** A few of each list, so that no list crowds the others out. */
function takeInTurn(lists: readonly (readonly Body[])[]): Body[] {
  const longest = Math.max(...lists.map((list) => list.length))
  const taken: Body[] = []
  for (let i = 0; i < longest; i += 1) taken.push(...lists.flatMap((list) => list.slice(i, i + 1)))
  return taken.slice(0, MAX_WORDS_PER_NODE)
}

function joinWords(heads: readonly Body[], tails: readonly Body[]): Body[] {
  return takeInTurn(heads.map((head) => tails.map((tail) => [...head, ...tail])))
}

/** What completes a character that the end of the prefix has begun. */
function tailsAfter(prefix: Body, symbols: readonly Body[]): Body[] {
  for (let cut = 1; cut <= 3 && cut <= prefix.length; cut += 1) {
    const open = prefix.slice(prefix.length - cut)
    if (open[0] < 0xc2 || open[0] > 0xf4) continue
    const whole = [...symbols, ...finishings(open)]
    return whole
      .filter((symbol) => symbol.length > cut && open.every((byte, i) => byte === symbol[i]))
      .map((symbol) => symbol.slice(cut))
      .slice(0, MAX_TAILS)
  }
  return []
}

/** A few well-formed characters that begin with the given octets. */
function finishings(open: Body): Body[] {
  const length = open[0] < 0xe0 ? 2 : open[0] < 0xf0 ? 3 : 4
  const found: Body[] = []
  for (const trail of [0x80, 0x90, 0x9f, 0xa0, 0xbf]) {
    const whole = [...open]
    while (whole.length < length) whole.push(whole.length === open.length ? trail : 0x80)
    found.push(whole)
  }
  return found
}

export function encodeUtf8(codePoint: number): Body {
  if (codePoint < 0x80) return [codePoint]
  if (codePoint < 0x800) return [0xc0 | (codePoint >> 6), 0x80 | (codePoint & 0x3f)]
  if (codePoint < 0x10000) {
    return [0xe0 | (codePoint >> 12), 0x80 | ((codePoint >> 6) & 0x3f), 0x80 | (codePoint & 0x3f)]
  }
  const high = [0xf0 | (codePoint >> 18), 0x80 | ((codePoint >> 12) & 0x3f)]
  return [...high, 0x80 | ((codePoint >> 6) & 0x3f), 0x80 | (codePoint & 0x3f)]
}

export interface StreamOptions {
  readonly maxHeldBytes: number
  readonly overflow: OverflowPolicy
  /** How many continuations of each prefix are tried at most; the more, the surer and the slower. */
  readonly continuations: number
}

/** What one `write` must have done, at least and at most (the two differ as {@link OutlookRange} does). */
export interface WriteRecord {
  readonly leastOutput: readonly number[]
  readonly mostOutput: readonly number[]
  readonly leastHeld: number
  readonly mostHeld: number
}

export interface StreamRecord {
  /** One entry per chunk, all output up to its end; with `abort`, up to the chunk that broke off, not included. */
  readonly writes: readonly WriteRecord[]
  /** With `abort` at most what went out: all settled text before the byte that exceeded the limit. */
  readonly output: readonly number[]
  /** The least that went out, which is `output` unless the body was aborted. */
  readonly leastOutput: readonly number[]
  readonly hits: readonly number[]
  readonly overflows: number
  readonly aborted: boolean
  /** True where `least` and `most` disagree about whether the limit is met: anything may then follow. */
  readonly isUndecided: boolean
}

/** Streams a body, cut into chunks of the given sizes, with `maxHeldBytes` looked at after every octet. */
export function streamReference(
  reference: Reference,
  body: Body,
  chunkSizes: readonly number[],
  options: StreamOptions,
): StreamRecord {
  const output: number[] = []
  const hits = reference.rules.map(() => 0)
  const writes: WriteRecord[] = []
  let state = startOfBody(reference)
  let overflows = 0
  let isUndecided = false
  let isPassing = false
  let at = 0

  const finish = (aborted: boolean, leastOutput: readonly number[]): StreamRecord => {
    return { writes, output, leastOutput, hits, overflows, aborted, isUndecided }
  }
  const render = (tokens: readonly Token[]): number[] => tokens.flatMap((token) => renderToken(reference, body, token))
  const take = (tokens: readonly Token[], from: number): void => {
    output.push(...render(tokens))
    const counts = countHits(reference, tokens)
    for (const [rule, count] of counts.entries()) hits[rule] += count
    state = { from, fired: state.fired.map((fired, rule) => fired + counts[rule]) }
  }
  /** Looks at the body up to `end` and takes what is settled, so that later searches begin behind it. */
  const outlookAt = (end: number): OutlookRange => {
    const prefix = body.slice(0, end)
    const found = lookAhead(reference, prefix, state, continuationsOf(reference, prefix, options.continuations))
    const { settled, settledEnd } = found.most
    const last = settled.at(-1)
    // A search that begins where an empty match was found would find it again.
    if (last === undefined || (last.kind === 'match' && last.start === last.end)) return found
    take(settled, settledEnd)
    return { least: withoutSettled(found.least, settled.length), most: withoutSettled(found.most, settled.length) }
  }

  for (const size of chunkSizes) {
    for (const chunkEnd = at + size; at < chunkEnd; at += 1) {
      if (isPassing) {
        output.push(body[at])
        continue
      }
      if (!mayExceed(reference, body.slice(0, at + 1), state, options.maxHeldBytes)) continue
      const before = { state, output: [...output], hits: [...hits] }
      const { least, most } = outlookAt(at + 1)
      const exceeds = least.heldBytes + least.pending - least.waiting > options.maxHeldBytes
      if (exceeds !== most.heldBytes + most.pending > options.maxHeldBytes) isUndecided = true
      if (!exceeds) continue
      // What only the byte that exceeds the limit would settle does not count: that byte is not looked at yet.
      state = before.state
      output.splice(0, output.length, ...before.output)
      hits.splice(0, hits.length, ...before.hits)
      take(settleBefore(reference, body.slice(0, at), state, options.overflow === 'skip'), at)
      overflows += 1
      if (options.overflow === 'abort') return finish(true, before.output)
      if (options.overflow === 'passthrough') {
        isPassing = true
        output.push(body[at])
      }
    }
    if (isPassing) {
      writes.push({ leastOutput: [...output], mostOutput: [...output], leastHeld: 0, mostHeld: 0 })
      continue
    }
    const { least, most } = outlookAt(at)
    writes.push({
      leastOutput: [...output, ...render(most.settled)],
      mostOutput: [...output, ...render(least.settled)],
      leastHeld: least.heldBytes,
      mostHeld: most.heldBytes,
    })
  }
  if (!isPassing) take(tokenize(reference, body, state), body.length)
  return finish(false, output)
}

function withoutSettled(outlook: Outlook, count: number): Outlook {
  return { ...outlook, settled: outlook.settled.slice(count) }
}

/** A cheap bound that spares the search through continuations: no more than all octets and all matches can count. */
function mayExceed(reference: Reference, prefix: Body, state: SearchState, limit: number): boolean {
  const octets = prefix.length - state.from
  if (octets > limit) return true
  return octets + tokenize(reference, prefix, state).filter((token) => token.kind === 'match').length > limit
}

/**
 * The tokens of a text as if a byte that no rule can match followed. An empty match at its very end is complete, and so
 * taken; but where a search starts afresh at that place, that search finds it.
 */
function settleBefore(reference: Reference, text: Body, state: SearchState, startsAfresh: boolean): Token[] {
  return tokenize(reference, [...text, ALIEN], state).filter((token) => {
    if (token.kind === 'copy') return token.at < text.length
    return token.start < text.length || (token.start === text.length && !startsAfresh)
  })
}

export interface NginxRecord {
  readonly output: readonly number[]
  readonly overflows: number
  /**
   * True where the rules do not say what happens: output beyond the cut was settled before the write ended, or an empty
   * match is pending at the cut.
   */
  readonly isUndecided: boolean
}

/**
 * The limit as replace_filter has it (`compat: nginx`): looked at when a write ends, the last one excepted, with held
 * bytes alone. If they exceed it, the text before the first octet of that write that exceeded it is settled, pending
 * matches none of whose bytes are held are replaced, and all else goes out as it came.
 */
export function streamNginxReference(
  reference: Reference,
  body: Body,
  chunkSizes: readonly number[],
  options: Pick<StreamOptions, 'maxHeldBytes' | 'continuations'>,
): NginxRecord {
  const state = startOfBody(reference)
  const outlookAt = (end: number): Outlook => {
    const prefix = body.slice(0, end)
    return lookAhead(reference, prefix, state, continuationsOf(reference, prefix, options.continuations)).least
  }
  const exceedsAt = (end: number): boolean => outlookAt(end).heldBytes > options.maxHeldBytes

  let chunkStart = 0
  for (const size of chunkSizes.slice(0, -1)) {
    const chunkEnd = chunkStart + size
    if (size > 0 && exceedsAt(chunkEnd)) {
      const exceeding: boolean[] = []
      for (let end = chunkStart + 1; end <= chunkEnd; end += 1) exceeding.push(exceedsAt(end))
      const first = exceeding.indexOf(true)
      const cut = chunkStart + first
      const { held, settledEnd, settled } = outlookAt(cut)
      const tokens = settleBefore(reference, body.slice(0, cut), state, false)
      const output = tokens.flatMap((token, i) => {
        const isOpen = i >= settled.length
        if (token.kind === 'copy' || !isOpen) return renderToken(reference, body, token)
        const isHeld = held.slice(token.start - settledEnd, token.end - settledEnd).includes(true)
        return isHeld ? body.slice(token.start, token.end) : renderToken(reference, body, token)
      })
      return {
        output: [...output, ...body.slice(cut)],
        overflows: 1,
        isUndecided:
          outlookAt(chunkEnd).settledEnd > cut || tokens.some((token) => token.kind === 'match' && token.start === cut),
      }
    }
    chunkStart = chunkEnd
  }
  return {
    output: tokenize(reference, body, state).flatMap((token) => renderToken(reference, body, token)),
    overflows: 0,
    isUndecided: false,
  }
}
