/**
 * What `prexy debug trace` shows: a body read byte by byte, with the automaton's state, the places where an open match
 * may have begun, what is held and what goes out.
 *
 * The state is worked out here, on the automaton itself; held bytes and output are those of the real rewriter, so that
 * a difference between the two would show.
 */
import {
  type Automaton,
  MATCH_KEEPS_TEXT,
  OP_COPY,
  OP_EMPTY,
  OP_GROUP,
  OP_MATCH,
  type State,
  type Step,
  type Undecided,
} from '@prexy/regex/automaton'
import { Tokenizer } from '@prexy/regex/tokenizer'
import type { RuleSet } from './rewriter.ts'
import { compileRules, tokenizerOptions, toTokenizerRule } from './rule-set.ts'

/** One row of a trace. */
export interface TraceRow {
  /** Offset in the body; its length for the row of the end. */
  readonly at: number
  /** Undefined at the start and at the end. */
  readonly byte: number | undefined
  /** The state after the byte, numbered as they are met; undefined at the end. */
  readonly state: number | undefined
  /** Where a match that is still open may have begun, and by which rules, best first; none while what follows decides. */
  readonly open: readonly { readonly at: number; readonly rules: readonly number[] }[]
  /** Matches that were completed here; a later row may take them back. */
  readonly found: readonly {
    readonly rule: number
    readonly start: number
    readonly end: number
    /** A fired once-rule that keeps its text (`compat: nginx`). */
    readonly isKept: boolean
  }[]
  readonly heldBytes: number
  readonly output: Uint8Array
}

export interface Trace {
  /** One for the start, one for each byte, one for the end. */
  readonly rows: readonly TraceRow[]
  /** The matches that were settled in the end, in order. */
  readonly matches: TraceRow['found']
}

/** Reads a body byte by byte. The rule set's limit on held bytes must not be met. */
export function traceBody(set: RuleSet, body: Uint8Array): Trace {
  const compiled = compileRules(set.rules, set.options)
  const { automaton } = new Tokenizer(compiled.map(toTokenizerRule), tokenizerOptions(set.options))
  const isMarked = set.options.mode === 'text' && BYTE_ORDER_MARK.every((byte, at) => body[at] === byte)
  // A byte order mark is no part of what rules see.
  const from = isMarked ? BYTE_ORDER_MARK.length : 0
  const walk = new SpineWalk(automaton, from)
  let output: number[] = []
  const rewriter = set.createRewriter({
    write(chunk) {
      output.push(...chunk)
      return true
    },
  })
  const rows: TraceRow[] = []
  const addRow = (at: number, byte: number | undefined, found: TraceRow['found'], isEnd: boolean): void => {
    rows.push({
      at,
      byte,
      state: isEnd ? undefined : walk.stateNumber,
      open: isEnd ? [] : walk.open(),
      found,
      heldBytes: rewriter.heldBytes,
      output: Uint8Array.from(output),
    })
    output = []
  }
  addRow(0, undefined, walk.begin(), false)
  body.forEach((byte, at) => {
    rewriter.write(body.subarray(at, at + 1))
    addRow(at, byte, at < from ? [] : walk.read(byte), false)
  })
  rewriter.end()
  addRow(body.length, undefined, walk.end(), true)
  return { rows, matches: walk.matches }
}

const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf]

type Found = TraceRow['found'][number]

/** A place where an open match may have begun, and the complete matches before it. */
interface Node {
  readonly at: number
  readonly edges: readonly Found[]
}

/** The automaton with its spine: what has been read by the way that wins if every open match fails. */
class SpineWalk {
  private readonly automaton: Automaton
  private readonly numbers = new Map<string, number>()
  private state: State | undefined = undefined
  private nodes: readonly Node[] = []
  private edges: readonly Found[] = []
  private position: number

  /** `position`: where in the body the text begins. */
  constructor(automaton: Automaton, position: number) {
    this.automaton = automaton
    this.position = position
  }

  /** Matches that are complete at the start. */
  begin(): readonly Found[] {
    const { automaton } = this
    // A limited rule that matches the empty string at once has matched one time: not spent.
    const step = automaton.enter(automaton.contexts.start, automaton.initialActive, '0')
    if ('undecided' in step) throw new Error('the start of a body depends on one decision at most')
    return this.take(step)
  }

  read(byte: number): readonly Found[] {
    this.position++
    return this.step(this.automaton.classOf[byte])
  }

  end(): readonly Found[] {
    return this.step(this.automaton.endSymbol)
  }

  /** Complete matches of the way that wins as things stand. */
  get matches(): readonly Found[] {
    return this.edges
  }

  /** States are numbered in the order in which they are met. */
  get stateNumber(): number {
    const key = this.state?.key ?? ''
    const number = this.numbers.get(key) ?? this.numbers.size
    this.numbers.set(key, number)
    return number
  }

  open(): TraceRow['open'] {
    const { program, ruleCount } = this.automaton
    // Threads beyond the program wait for what comes next, and beyond the rules a character is copied as a whole.
    const rulesOf = (threads: readonly number[]): number[] =>
      Array.from(threads, (thread) => program.ruleOf[thread] ?? ruleCount).filter((rule) => rule < ruleCount)
    return (this.state?.groups ?? []).map(({ threads }, index) => ({
      at: this.nodes[index].at,
      rules: [...new Set(rulesOf(threads))],
    }))
  }

  private step(symbol: number): readonly Found[] {
    const { state } = this
    if (state === undefined) throw new Error('the walk has not begun')
    let decisions = ''
    for (;;) {
      const step = this.automaton.step(state, symbol, decisions)
      if (!('undecided' in step)) return this.take(step)
      decisions += this.matchesAfter(step) >= this.automaton.rules[step.undecided].max ? '1' : '0'
    }
  }

  private take(step: Step): readonly Found[] {
    const ops: number[][] = []
    let kept = this.nodes.map((_, index) => index)
    for (let i = 0; i < step.ops.length; ) {
      const op = step.ops[i]
      const length = OP_LENGTHS.get(op)
      if (length === undefined) {
        kept = Array.from(step.ops.subarray(i + 2, i + 2 + step.ops[i + 1]))
        break
      }
      ops.push(Array.from(step.ops.subarray(i, i + length)))
      i += length
    }
    const { nodes, edges, found } = this.apply(ops)
    this.nodes = kept.map((group) => nodes[group])
    this.edges = edges
    this.state = step.target
    return found
  }

  /** What the nodes and the spine are after some operations; changes nothing. */
  private apply(ops: readonly (readonly number[])[]): { nodes: Node[]; edges: readonly Found[]; found: Found[] } {
    const nodes = [...this.nodes]
    let { edges } = this
    const found: Found[] = []
    const add = (edge: Found): void => {
      edges = [...edges, edge]
      found.push(edge)
    }
    for (const [op, a, b, c, d] of ops) {
      if (op === OP_GROUP) nodes.push({ at: this.position - a, edges })
      else if (op === OP_EMPTY) add({ rule: a, start: this.position - b, end: this.position - b, isKept: keepsText(c) })
      else {
        edges = nodes[a].edges
        if (op === OP_MATCH) add({ rule: b, start: nodes[a].at, end: this.position - c, isKept: keepsText(d) })
      }
    }
    return { nodes, edges, found }
  }

  /** Matches of the undecided rule once this one is added. */
  private matchesAfter({ undecided, group, ops }: Undecided): number {
    const { nodes, edges } = this.apply(ops)
    const before = group < 0 ? edges : nodes[group].edges
    return before.filter(({ rule }) => rule === undecided).length + 1
  }
}

function keepsText(flags: number): boolean {
  return (flags & MATCH_KEEPS_TEXT) !== 0
}

const OP_LENGTHS: ReadonlyMap<number, number> = new Map([
  [OP_GROUP, 3],
  [OP_MATCH, 5],
  [OP_EMPTY, 4],
  [OP_COPY, 2],
])
