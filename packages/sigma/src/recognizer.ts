/**
 * Whether a regular expression matches somewhere in a text, in time linear in the text whatever the pattern.
 *
 * The pattern is compiled by packages/regex to instructions over UTF-8 bytes; here they are run as a deterministic
 * automaton whose states are built when they are first needed. A state is the set of instructions that may come next,
 * not yet followed through their assertions, and the kind of the byte before; what an assertion needs to know of the
 * byte behind is the symbol of the step. A search is unanchored by starting the pattern again at every character.
 *
 * The states of one recognizer are bounded by {@link MAX_RECOGNIZER_STATES}; beyond, they are thrown away and built
 * again, so that memory stays bounded and a step costs at most the size of the pattern.
 */
import { byteKind, KIND_NEWLINE, KIND_NONE, KIND_WORD, NEWLINE } from '@prexy/regex/context'
import type { ParsedPattern } from '@prexy/regex/ast'
import { compileProgram, type Program, type ProgramAssertion } from '@prexy/regex/program'
import { leastLength } from './least-length.ts'

/** States kept by one recognizer. */
export const MAX_RECOGNIZER_STATES = 1_000

const DEAD = -1
const MATCHED = -2
const UNKNOWN = -3

/** Symbols behind the byte classes. */
const END_OFFSET = 0
const FINAL_NEWLINE_OFFSET = 1

interface State {
  /** Instructions that come next, sorted. */
  readonly next: readonly number[]
  /** Kind of the byte before. */
  readonly before: number
  /** Target by symbol: an index into the states, or DEAD, MATCHED, UNKNOWN. */
  readonly targets: Int32Array
}

/** A compiled pattern and its cached states; used by one thread at a time, like everything in JavaScript. */
export class Recognizer {
  readonly #program: Program
  /** Characters that a text needs for a match. */
  readonly #least: number
  readonly #classOf: Uint8Array
  readonly #classCount: number
  #states: State[]
  readonly #ids: Map<string, number>

  /** Throws a `PatternError` when the pattern expands too far. */
  constructor(pattern: ParsedPattern) {
    this.#program = compileProgram([{ root: pattern.root, mode: pattern.mode, hostEnd: false }], { saves: false })
    this.#least = leastLength(pattern.root)
    const { classOf, count } = classifyBytes(this.#program)
    this.#classOf = classOf
    this.#classCount = count
    this.#states = []
    this.#ids = new Map()
    this.#stateOf([], KIND_NONE)
  }

  /** Whether the pattern matches in `text`. A lone surrogate is read as U+FFFD. */
  test(text: string): boolean {
    // Patterns that count (`.{1000,}`) have a state for each number: most texts are too short to need any.
    if (text.length < this.#least) return false
    const classOf = this.#classOf
    let state = 0
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit < 0x80) {
        const symbol =
          unit === NEWLINE && at === text.length - 1 ? this.#classCount + FINAL_NEWLINE_OFFSET : classOf[unit]
        state = this.#step(state, symbol, unit)
      } else {
        const point = text.codePointAt(at) ?? 0
        if (point > 0xffff) at++
        state = this.#stepWide(state, point >= 0xd800 && point <= 0xdfff ? 0xfffd : point)
      }
      if (state < 0) return state === MATCHED
    }
    return this.#step(state, this.#classCount + END_OFFSET, -1) === MATCHED
  }

  #stepWide(state: number, point: number): number {
    const bytes =
      point < 0x800
        ? [0xc0 | (point >> 6), 0x80 | (point & 63)]
        : point < 0x10000
          ? [0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63)]
          : [0xf0 | (point >> 18), 0x80 | ((point >> 12) & 63), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63)]
    for (const byte of bytes) {
      state = this.#step(state, this.#classOf[byte], byte)
      if (state < 0) return state
    }
    return state
  }

  #step(state: number, symbol: number, byte: number): number {
    const known = this.#states[state].targets[symbol]
    return known === UNKNOWN ? this.#buildStep(state, symbol, byte) : known
  }

  /** `byte` is -1 at the end. */
  #buildStep(id: number, symbol: number, byte: number): number {
    const state = this.#states[id]
    const { instructions, starts } = this.#program
    const isFinalNewline = symbol === this.#classCount + FINAL_NEWLINE_OFFSET
    const after = byte < 0 ? KIND_NONE : byteKind(byte)
    const seen = new Set<number>()
    const next = new Set<number>()
    const stack = [...state.next]
    // No match begins inside a character.
    if (!isContinuation(byte)) stack.push(starts[0])
    let matched = false
    for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
      if (seen.has(pc)) continue
      seen.add(pc)
      const instruction = instructions[pc]
      switch (instruction.op) {
        case 'match':
        case 'hostEnd':
          matched = true
          break
        case 'split':
          stack.push(...instruction.next)
          break
        case 'save':
          stack.push(instruction.next)
          break
        case 'assert':
          if (holds(instruction.assertion, state.before, after, isFinalNewline)) stack.push(instruction.next)
          break
        case 'bytes': {
          const { arcs } = instruction
          for (let arc = 0; arc < arcs.length; arc += 3) {
            if (byte >= arcs[arc] && byte <= arcs[arc + 1]) next.add(arcs[arc + 2])
          }
          break
        }
      }
    }
    let target: number
    if (matched) target = MATCHED
    else if (byte < 0) target = DEAD
    else {
      if (this.#states.length >= MAX_RECOGNIZER_STATES) {
        this.#states = []
        this.#ids.clear()
        this.#stateOf([], KIND_NONE)
        return this.#stateOf([...next], after)
      }
      target = this.#stateOf([...next], after)
    }
    state.targets[symbol] = target
    return target
  }

  #stateOf(next: number[], before: number): number {
    next.sort((a, b) => a - b)
    const key = `${before}:${next.join(',')}`
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = this.#states.length
    this.#states.push({ next, before, targets: new Int32Array(this.#classCount + 2).fill(UNKNOWN) })
    this.#ids.set(key, id)
    return id
  }
}

function holds(assertion: ProgramAssertion, before: number, after: number, isFinalNewline: boolean): boolean {
  switch (assertion) {
    case 'textStart':
      return before === KIND_NONE
    case 'textEnd':
      return after === KIND_NONE
    case 'textEndOrFinalNewline':
      return after === KIND_NONE || isFinalNewline
    case 'lineStart':
      return before === KIND_NONE || (before === KIND_NEWLINE && after !== KIND_NONE)
    case 'lineEnd':
      return after === KIND_NONE || after === KIND_NEWLINE
    case 'wordBoundary':
      return (before === KIND_WORD) !== (after === KIND_WORD)
    case 'notWordBoundary':
      return (before === KIND_WORD) === (after === KIND_WORD)
    case 'hostStart':
    case 'hostStartOrSubdomain':
      return false
  }
}

/** A byte of UTF-8 that is not the first one of its character. */
function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf
}

/** Bytes that no instruction and no assertion tells apart share a class. */
function classifyBytes(program: Program): { classOf: Uint8Array; count: number } {
  const cuts = new Uint8Array(257)
  const cut = (low: number, high: number): void => {
    cuts[low] = 1
    cuts[high + 1] = 1
  }
  for (const instruction of program.instructions) {
    if (instruction.op !== 'bytes') continue
    for (let arc = 0; arc < instruction.arcs.length; arc += 3) cut(instruction.arcs[arc], instruction.arcs[arc + 1])
  }
  cut(NEWLINE, NEWLINE)
  cut(0x80, 0xbf)
  for (const [low, high] of ['09', 'AZ', 'az', '__']) cut(low.charCodeAt(0), high.charCodeAt(0))
  const classOf = new Uint8Array(256)
  let last = 0
  for (let byte = 0; byte < 256; byte++) {
    if (byte > 0 && cuts[byte] === 1) last++
    classOf[byte] = last
  }
  return { classOf, count: last + 1 }
}
