/** What `prexy debug pattern` says: what rules were compiled to, and why a body will cost what it costs. */
import type { CodePointRanges, Node } from '@prexy/regex/ast'
import type { Automaton, State } from '@prexy/regex/automaton'
import { compileProgram, type Instruction, type ProgramNode, rangesByTarget } from '@prexy/regex/program'
import { MAX_TABLE_BYTES, Tokenizer } from '@prexy/regex/tokenizer'
import { findUnbounded } from '@prexy/regex/unbounded'
import type { RuleSet } from './rewriter.ts'
import { type CompiledRule, compileRules, tokenizerOptions, toTokenizerRule } from './rule-set.ts'
import type { Rule } from './rules.ts'

/** Instructions of one rule that are written out. */
const MAX_LISTED_INSTRUCTIONS = 48
/** Lines of one rule's tree that are written out. */
const MAX_TREE_LINES = 400
/** States that are looked for; a rule set may have more than memory has room for. */
const MAX_COUNTED_STATES = 10_000
const MAX_COUNTED_STEPS = 200_000

/** Lines for people. Throws `RuleSetError`. */
export function describeRules(rules: readonly Rule[], settings: RuleSet['options']): readonly string[] {
  const compiled = compileRules(rules, settings)
  const lines = compiled.flatMap((rule, index) => describeRule(rules[index], rule, index))
  const tokenizer = new Tokenizer(compiled.map(toTokenizerRule), tokenizerOptions(settings))
  return [...lines, 'all rules together', ...describeAutomaton(tokenizer)]
}

function describeRule(rule: Rule, compiled: CompiledRule, index: number): readonly string[] {
  const { instructions, starts } = compileProgram([compiled.source], { saves: false })
  const unbounded = findUnbounded(toTokenizerRule(compiled))
  const tree = treeLines(compiled.source.root)
  const listing = instructions.map((instruction, pc) => `${String(pc).padStart(5)}  ${instructionText(instruction)}`)
  return [
    `rule ${index + 1}: ${headline(rule)}`,
    '  tree',
    ...cut(tree, MAX_TREE_LINES).map((line) => `    ${line}`),
    `  program: ${counted(instructions.length, 'instruction')}, begins at ${starts[0]}`,
    ...cut(listing, MAX_LISTED_INSTRUCTIONS),
    `  replacement: ${replacementText(compiled)}`,
    `  held: ${unbounded === undefined ? 'never without bound' : `without bound: ${unbounded}`}`,
    '',
  ]
}

function headline(rule: Rule): string {
  if ('text' in rule) return `text ${rule.text}`
  if ('regex' in rule) return `regex ${rule.regex}`
  if ('domain' in rule) return `domain ${rule.domain}`
  return `insert ${rule.insert} ${rule.at}`
}

function replacementText({ template, captures }: CompiledRule): string {
  if (template.fixed !== undefined) return `fixed, ${counted(template.fixed.length, 'byte')}: made inside the kernel`
  if (captures !== undefined) return 'uses groups: each match is read again, and held'
  return template.usesSpan ? 'uses the match: held' : 'uses variables: made once per body'
}

function cut(lines: readonly string[], most: number): readonly string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most), `... and ${lines.length - most} more`]
}

function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`
}

/** A tree, a node a line; characters in a row share one. */
export function treeLines(node: ProgramNode): string[] {
  switch (node.kind) {
    case 'empty':
      return ['nothing']
    case 'class':
      return [classText(node.ranges)]
    case 'assert':
    case 'hostEdge':
      return [node.assertion]
    case 'concat':
    case 'sequence':
      return sequenceLines(node.nodes)
    case 'alternate':
      return ['one of', ...node.nodes.flatMap((each) => branch(treeLines(each)))]
    case 'capture':
      return [`group ${node.index}`, ...indented(treeLines(node.node))]
    case 'repeat':
      return [repeatText(node), ...indented(treeLines(node.node))]
  }
}

function sequenceLines(nodes: readonly ProgramNode[]): string[] {
  const lines: string[] = []
  let run = ''
  const flush = (): void => {
    if (run !== '') lines.push(run)
    run = ''
  }
  for (const node of nodes) {
    if (node.kind === 'class') run += classText(node.ranges)
    else {
      flush()
      lines.push(...treeLines(node))
    }
  }
  flush()
  return lines.length === 0 ? ['nothing'] : lines
}

function branch(lines: readonly string[]): string[] {
  return lines.map((line, index) => (index === 0 ? `- ${line}` : `  ${line}`))
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}

function repeatText({ min, max, greedy }: Extract<Node, { kind: 'repeat' }>): string {
  const count = max === Infinity ? `${min} or more` : min === max ? String(min) : `${min} to ${max}`
  return `${count} times${greedy ? '' : ', as few as possible'}`
}

const MAX_SHOWN_RANGES = 12

/** `a`, `[A-Za]`, `[]` for a class that nothing is in. */
function classText(ranges: CodePointRanges): string {
  if (ranges.length === 2 && ranges[0] === ranges[1]) return characterText(ranges[0])
  const parts: string[] = []
  for (let i = 0; i < ranges.length && parts.length < MAX_SHOWN_RANGES; i += 2) {
    const [low, high] = [ranges[i], ranges[i + 1]].map(characterText)
    parts.push(low === high ? low : `${low}-${high}`)
  }
  const rest = ranges.length / 2 - parts.length
  return `[${parts.join('')}${rest > 0 ? ` and ${rest} more` : ''}]`
}

function characterText(point: number): string {
  const character = String.fromCodePoint(point)
  if ('\\[]-'.includes(character)) return `\\${character}`
  if (point === 0x0a) return '\\n'
  if (point > 0x20 && point < 0x7f) return character
  return point < 0x100 ? `\\x${hex(point, 2)}` : `\\x{${hex(point, 4)}}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

function instructionText(instruction: Instruction): string {
  switch (instruction.op) {
    case 'bytes': {
      const arcs = [...rangesByTarget(instruction.arcs)].map(([target, ranges]) => `${classText(ranges)} -> ${target}`)
      return arcs.length === 0 ? 'no byte' : `byte ${arcs.join(', ')}`
    }
    case 'split':
      return `split ${instruction.next.join(', ')}`
    case 'assert':
      return `assert ${instruction.assertion} -> ${instruction.next}`
    case 'save':
      return `save ${instruction.slot} -> ${instruction.next}`
    case 'hostEnd':
      return 'match where a host name ends'
    case 'match':
      return 'match'
  }
}

function describeAutomaton(tokenizer: Tokenizer): readonly string[] {
  const { automaton, prefilter } = tokenizer
  const size = countStates(automaton)
  const most = size.complete ? '' : 'more than '
  const firstBytes: number[] = []
  prefilter.firstBytes.forEach((flag, byte) => {
    if (flag === 0) return
    if (firstBytes.at(-1) === byte - 1) firstBytes[firstBytes.length - 1] = byte
    else firstBytes.push(byte, byte)
  })
  return [
    `  program: ${counted(automaton.program.instructions.length, 'instruction')}`,
    `  bytes: ${counted(automaton.classCount, 'class', 'classes')}, ${counted(automaton.contexts.count, 'way', 'ways')} to look back`,
    `  automaton: ${most}${counted(size.states, 'state')} and ${counted(size.steps, 'step')}, ` +
      `${size.effects} of them with effects; at most ${counted(size.groups, 'start')} open at a time`,
    `  cache: filled while bodies are read, ${MAX_TABLE_BYTES / 2 ** 20} MiB at most`,
    `  prefilter: ${prefilter.kind}, since ${prefilter.reason}`,
    ...(prefilter.kind === 'none' ? [] : [`  a match begins with: ${classText(firstBytes)}`]),
  ]
}

interface Size {
  readonly states: number
  readonly steps: number
  /** Steps that begin or settle something. */
  readonly effects: number
  /** Most places at which an open match may have begun, in one state. */
  readonly groups: number
  readonly complete: boolean
}

/** Walks all states that some body leads to. */
function countStates(automaton: Automaton): Size {
  const seen = new Set<string>()
  const pending: State[] = []
  let effects = 0
  let steps = 0
  let groups = 0
  const visit = (state: State): void => {
    if (seen.has(state.key)) return
    seen.add(state.key)
    groups = Math.max(groups, state.groups.length)
    pending.push(state)
  }
  /** Takes a step in each way that limits on how often a rule fires leave open. */
  const takeAll = (take: (decisions: string) => ReturnType<Automaton['enter']>, decisions: string): void => {
    const step = take(decisions)
    if ('undecided' in step) {
      for (const answer of '01') takeAll(take, decisions + answer)
      return
    }
    steps++
    if (step.ops.length > 0) effects++
    visit(step.target)
  }
  const { contexts, initialActive } = automaton
  takeAll((decisions) => automaton.enter(contexts.start, initialActive, decisions), '')
  steps = 0
  effects = 0
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (seen.size > MAX_COUNTED_STATES || steps > MAX_COUNTED_STEPS) break
    const from = state
    for (let symbol = 0; symbol < automaton.classCount; symbol++) {
      takeAll((decisions) => automaton.step(from, symbol, decisions), '')
    }
  }
  const complete = seen.size <= MAX_COUNTED_STATES && steps <= MAX_COUNTED_STEPS
  return { states: complete ? seen.size : MAX_COUNTED_STATES, steps, effects, groups, complete }
}
