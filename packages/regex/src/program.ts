/**
 * From syntax trees to one byte-level program for a whole rule set.
 *
 * A program is a flat list of instructions, addressed by number. Every rule has its own instructions (an instruction
 * belongs to exactly one rule), so a thread's rule is known from where it stands. Characters of text mode are compiled
 * to UTF-8 byte automata whose nodes are shared inside one class; a node is deterministic, so a class costs one thread.
 *
 * Counted repetition is expanded by copying; `x*` whose body can be empty is compiled as `(x+)?`.
 */
import type { AssertionKind, CodePointRanges, Node, PatternMode } from './ast.ts'
import { PatternError } from './ast.ts'
import { utf8Sequences } from './utf8-ranges.ts'

/** Instructions that one rule may compile to; a counted repetition such as `(a{100}){100}` is what meets it. */
export const MAX_RULE_INSTRUCTIONS = 100_000

/** Assertions of the program: those of patterns, and the edges of host names that `domain` rules need. */
export type ProgramAssertion = AssertionKind | 'hostStart' | 'hostStartOrSubdomain'

/** A syntax tree as the compiler takes it: that of a pattern, or one built by a rule kind. */
export type ProgramNode =
  | Node
  | { readonly kind: 'hostEdge'; readonly assertion: 'hostStart' | 'hostStartOrSubdomain' }
  | { readonly kind: 'sequence'; readonly nodes: readonly ProgramNode[] }

export interface RuleSource {
  readonly root: ProgramNode
  readonly mode: PatternMode
  /** The match must be followed by the end, a non-host byte, or a `.` that no label byte follows. */
  readonly hostEnd: boolean
}

/** `bytes`: disjoint byte ranges, each with its own target, as triples `[low, high, next, ...]`. */
export type Instruction =
  | { readonly op: 'bytes'; readonly arcs: readonly number[] }
  | { readonly op: 'split'; readonly next: number[] }
  | { readonly op: 'assert'; readonly assertion: ProgramAssertion; next: number }
  | { readonly op: 'save'; readonly slot: number; next: number }
  | { readonly op: 'hostEnd'; readonly rule: number }
  | { readonly op: 'match'; readonly rule: number }

/** The byte ranges of arcs, `[low, high, ...]`, by where they go. */
export function rangesByTarget(arcs: readonly number[]): Map<number, number[]> {
  const byTarget = new Map<number, number[]>()
  for (let i = 0; i < arcs.length; i += 3) {
    const ranges = byTarget.get(arcs[i + 2]) ?? []
    ranges.push(arcs[i], arcs[i + 1])
    byTarget.set(arcs[i + 2], ranges)
  }
  return byTarget
}

/** Whether arcs are one, for a single byte: a piece of a literal. */
export function takesOneByte(arcs: readonly number[]): boolean {
  return arcs.length === 3 && arcs[0] === arcs[1]
}

export interface Program {
  readonly instructions: readonly Instruction[]
  /** Entry instruction per rule. */
  readonly starts: readonly number[]
  /** Rule of each instruction. */
  readonly ruleOf: Int32Array
}

/** What the compiler emits beside the bare recognizer. */
export interface CompileOptions {
  /** Emit `save` instructions for groups (slots 2k and 2k+1 for group k); the automaton's program has none. */
  readonly saves: boolean
}

/** Compiles rules in order. Throws {@link PatternError} `E_PATTERN_LIMIT` when one rule expands too far. */
export function compileProgram(rules: readonly RuleSource[], options: CompileOptions): Program {
  const instructions: Instruction[] = []
  const starts: number[] = []
  const ruleOf: number[] = []
  rules.forEach((rule, index) => {
    const budget = instructions.length + MAX_RULE_INSTRUCTIONS
    const emit = (instruction: Instruction): number => {
      if (instructions.length >= budget) {
        throw new PatternError(
          'E_PATTERN_LIMIT',
          0,
          `the pattern expands to more than ${MAX_RULE_INSTRUCTIONS} instructions`,
          'lower the counts of its repetitions',
        )
      }
      instructions.push(instruction)
      ruleOf.push(index)
      return instructions.length - 1
    }
    const last = emit(rule.hostEnd ? { op: 'hostEnd', rule: index } : { op: 'match', rule: index })
    starts.push(compileNode(rule.root, last, { emit, instructions, mode: rule.mode, saves: options.saves }))
  })
  return { instructions, starts, ruleOf: Int32Array.from(ruleOf) }
}

interface Emitter {
  readonly emit: (instruction: Instruction) => number
  readonly instructions: readonly Instruction[]
  readonly mode: PatternMode
  readonly saves: boolean
}

/** Emits `node` so that it continues at `next`; returns its entry. Trees are built back to front. */
function compileNode(node: ProgramNode, next: number, out: Emitter): number {
  switch (node.kind) {
    case 'empty':
      return next
    case 'class':
      return compileClass(node.ranges, next, out)
    case 'assert':
    case 'hostEdge':
      return out.emit({ op: 'assert', assertion: node.assertion, next })
    case 'concat':
    case 'sequence': {
      let entry = next
      for (let i = node.nodes.length - 1; i >= 0; i--) entry = compileNode(node.nodes[i], entry, out)
      return entry
    }
    case 'alternate':
      return out.emit({ op: 'split', next: node.nodes.map((branch) => compileNode(branch, next, out)) })
    case 'capture': {
      if (!out.saves) return compileNode(node.node, next, out)
      const close = out.emit({ op: 'save', slot: node.index * 2 + 1, next })
      const body = compileNode(node.node, close, out)
      return out.emit({ op: 'save', slot: node.index * 2, next: body })
    }
    case 'repeat':
      return compileRepeat(node, next, out)
  }
}

function compileRepeat(node: Extract<Node, { kind: 'repeat' }>, next: number, out: Emitter): number {
  const { min, max, greedy } = node
  if (max === 0) return next
  const choice = (body: number, skip: number): number =>
    out.emit({ op: 'split', next: greedy ? [body, skip] : [skip, body] })
  let entry = next
  let copies = min
  if (max === Infinity) {
    // The loop is the last of the mandatory copies where there is one: x{2,} is x x+.
    const split: number[] = []
    const loop = out.emit({ op: 'split', next: split })
    const body = compileNode(node.node, loop, out)
    split.push(...(greedy ? [body, next] : [next, body]))
    if (min > 0) {
      entry = body
      copies = min - 1
    } else {
      entry = canBeEmpty(node.node) ? choice(body, next) : loop
    }
  } else {
    for (let i = min; i < max; i++) entry = choice(compileNode(node.node, entry, out), next)
  }
  for (let i = 0; i < copies; i++) entry = compileNode(node.node, entry, out)
  return entry
}

/** No less than the instructions that a node compiles to, found without compiling it; saves included. */
export function instructionBound(node: ProgramNode, mode: PatternMode): number {
  switch (node.kind) {
    case 'empty':
      return 0
    case 'assert':
    case 'hostEdge':
      return 1
    case 'class':
      return mode === 'octet' || isAscii(node.ranges) ? 1 : (node.ranges.length / 2) * MAX_INSTRUCTIONS_PER_RANGE
    case 'concat':
    case 'sequence':
    case 'alternate':
      return node.nodes.reduce((sum, each) => sum + instructionBound(each, mode), 1)
    case 'capture':
      return instructionBound(node.node, mode) + 2
    case 'repeat': {
      const copies = node.max === Infinity ? node.min + 1 : node.max
      return copies * (instructionBound(node.node, mode) + 1) + 1
    }
  }
}

/**
 * A range of code points splits into 1, 3, 10 (with the surrogates left out) and 7 sequences of one to four bytes at
 * most, none of which has more than four instructions of its own.
 */
const MAX_INSTRUCTIONS_PER_RANGE = 21 * 4

function isAscii(ranges: CodePointRanges): boolean {
  return ranges.length === 0 || ranges[ranges.length - 1] < 0x80
}

/** Whether a node can match without consuming; assertions count as empty. */
export function canBeEmpty(node: Node): boolean {
  switch (node.kind) {
    case 'empty':
    case 'assert':
      return true
    case 'class':
      return false
    case 'concat':
      return node.nodes.every(canBeEmpty)
    case 'alternate':
      return node.nodes.some(canBeEmpty)
    case 'capture':
      return canBeEmpty(node.node)
    case 'repeat':
      return node.min === 0 || canBeEmpty(node.node)
  }
}

function compileClass(ranges: CodePointRanges, next: number, out: Emitter): number {
  if (out.mode === 'octet' || isAscii(ranges)) {
    const arcs: number[] = []
    for (let i = 0; i < ranges.length; i += 2) arcs.push(ranges[i], ranges[i + 1], next)
    return out.emit({ op: 'bytes', arcs })
  }
  const base: number[] = []
  for (const shape of classShape(ranges)) {
    const arcs: number[] = []
    for (let i = 0; i < shape.length; i += 3) {
      arcs.push(shape[i], shape[i + 1], shape[i + 2] === SHAPE_NEXT ? next : base[shape[i + 2]])
    }
    base.push(out.emit({ op: 'bytes', arcs }))
  }
  return base[base.length - 1]
}

/** The arcs of each node of a class's automaton, the entry last; targets are nodes before, or what follows the class. */
type ClassShape = readonly (readonly number[])[]
const SHAPE_NEXT = -1

/** Of classes that were compiled: a counted repetition compiles the same one again and again. */
const classShapes = new WeakMap<CodePointRanges, ClassShape>()

function classShape(ranges: CodePointRanges): ClassShape {
  const known = classShapes.get(ranges)
  if (known !== undefined) return known
  const tails: ByteRangeList[] = []
  for (let i = 0; i < ranges.length; i += 2) {
    for (const sequence of utf8Sequences(ranges[i], ranges[i + 1])) tails.push(sequence)
  }
  const nodes: number[][] = []
  addSequences(tails, nodes, new Map())
  classShapes.set(ranges, nodes)
  return nodes
}

type ByteRangeList = readonly (readonly [number, number])[]

/**
 * Builds the byte automaton of a set of UTF-8 sequences. First ranges of well-formed sequences of disjoint code point
 * ranges are equal or disjoint, so grouping by first range gives a deterministic node; equal tails share a node.
 */
function addSequences(sequences: readonly ByteRangeList[], nodes: number[][], shared: Map<string, number>): number {
  const key = sequences.map((sequence) => sequence.map(([low, high]) => `${low}-${high}`).join(' ')).join('|')
  const known = shared.get(key)
  if (known !== undefined) return known
  const groups = new Map<number, { low: number; high: number; tails: ByteRangeList[] }>()
  for (const sequence of sequences) {
    const [low, high] = sequence[0]
    const id = low * 256 + high
    const group = groups.get(id) ?? { low, high, tails: [] }
    group.tails.push(sequence.slice(1))
    groups.set(id, group)
  }
  const arcs: number[] = []
  for (const group of [...groups.values()].sort((a, b) => a.low - b.low)) {
    const target = group.tails[0].length === 0 ? SHAPE_NEXT : addSequences(group.tails, nodes, shared)
    arcs.push(group.low, group.high, target)
  }
  shared.set(key, nodes.length)
  nodes.push(arcs)
  return nodes.length - 1
}
