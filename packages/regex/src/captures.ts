/**
 * Where the groups of one known match lie: an ordered-thread simulation over the matched text alone, anchored at both
 * ends. Linear in the text times the size of the rule's program. The automaton has already decided that the rule
 * matches exactly this text; the first thread in order that ends there is the path that won.
 */
import type { RuleSource } from './program.ts'
import { compileProgram, type Program, type ProgramAssertion } from './program.ts'
import { LOOK_END, LOOK_FINAL_NEWLINE, LOOK_UNKNOWN } from './automaton.ts'
import { byteKind, KIND_NEWLINE, KIND_NONE, KIND_WORD, NEWLINE } from './context.ts'

export interface CaptureProgram {
  readonly program: Program
  readonly groupCount: number
  /** Number of each `split` among the splits, -1 for other instructions. */
  readonly splitIndex: Int32Array
  readonly splitCount: number
  /** Target per byte (-1 for none) of each `bytes` instruction, built when first met. */
  readonly targets: (Int32Array | undefined)[]
}

/** What the bytes around a match say to assertions at its edges; see `Match` in tokenizer.ts. */
export interface MatchEdges {
  readonly kindBefore: number
  readonly look: number
}

export function compileCaptures(rule: RuleSource, groupCount: number): CaptureProgram {
  const program = compileProgram([rule], { saves: true })
  let splitCount = 0
  const splitIndex = Int32Array.from(program.instructions, (each) => (each.op === 'split' ? splitCount++ : -1))
  return { program, groupCount, splitIndex, splitCount, targets: [] }
}

/** Bits of (split, offset) pairs up to which ways are tried one after the other, each pair once. */
const MAX_VISITED_BITS = 1 << 18

interface ThreadList {
  count: number
  readonly pcs: Int32Array
  readonly slots: Int32Array
}

/**
 * Offsets into `text`, start and end per group: slots 0 and 1 are the whole match, 2k and 2k+1 group k, -1 where a
 * group took no part. `maxVisitedBits` bounds the memory of trying ways one after the other.
 */
export function findCaptures(
  captures: CaptureProgram,
  text: Uint8Array,
  edges: MatchEdges,
  maxVisitedBits: number = MAX_VISITED_BITS,
): Int32Array {
  const { groupCount } = captures
  const width = 2 * (groupCount + 1)
  const result = new Int32Array(width).fill(-1)
  result[0] = 0
  result[1] = text.length
  if (groupCount === 0) return result
  if (captures.splitCount * (text.length + 1) <= maxVisitedBits) {
    backtrack(captures, text, edges, result)
    return result
  }
  return simulate(captures, text, edges, result)
}

/**
 * Tries ways in order of priority; a pair of split and offset that failed once is not tried again, so the cost is
 * bounded as that of the simulation is, and the common match takes its first way. Fills `result`.
 */
function backtrack(captures: CaptureProgram, text: Uint8Array, edges: MatchEdges, result: Int32Array): void {
  const { program, splitIndex, splitCount } = captures
  const width = text.length + 1
  const visited = new Uint32Array(((splitCount * width) >> 5) + 1)
  // Ways left to try, as (instruction, offset); a complement restores a slot: (~slot, value).
  const stack: number[] = [program.starts[0], 0]
  while (stack.length > 0) {
    let at = stack.pop() as number
    let pc = stack.pop() as number
    if (pc < 0) {
      result[~pc] = at
      continue
    }
    for (;;) {
      const instruction = program.instructions[pc]
      if (instruction.op === 'bytes') {
        const next = at < text.length ? targetsOf(captures, pc, instruction.arcs)[text[at]] : -1
        if (next < 0) break
        pc = next
        at++
      } else if (instruction.op === 'split') {
        const bit = splitIndex[pc] * width + at
        if ((visited[bit >> 5] & (1 << (bit & 31))) !== 0) break
        visited[bit >> 5] |= 1 << (bit & 31)
        const { next } = instruction
        for (let i = next.length - 1; i > 0; i--) stack.push(next[i], at)
        pc = next[0]
      } else if (instruction.op === 'save') {
        stack.push(~instruction.slot, result[instruction.slot])
        result[instruction.slot] = at
        pc = instruction.next
      } else if (instruction.op === 'assert') {
        if (!holds(instruction.assertion, text, at, edges)) break
        pc = instruction.next
      } else {
        if (at === text.length) return
        break
      }
    }
  }
}

function targetsOf(captures: CaptureProgram, pc: number, arcs: readonly number[]): Int32Array {
  const known = captures.targets[pc]
  if (known !== undefined) return known
  const targets = new Int32Array(256).fill(-1)
  for (let i = 0; i < arcs.length; i += 3) targets.fill(arcs[i + 2], arcs[i], arcs[i + 1] + 1)
  captures.targets[pc] = targets
  return targets
}

/** All ways at once, one byte after the other; for long matches of large programs. */
function simulate(captures: CaptureProgram, text: Uint8Array, edges: MatchEdges, result: Int32Array): Int32Array {
  const { program, groupCount } = captures
  const width = 2 * (groupCount + 1)
  const size = program.instructions.length
  let now = newList(size, width)
  let next = newList(size, width)
  const seen = new Int32Array(size).fill(-1)
  const add = (list: ThreadList, start: number, at: number, slots: Int32Array): void => {
    // Entries are instructions to visit; a negative one restores a slot when its branch is done.
    const stack: number[] = [start]
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      if (top < 0) {
        slots[~top] = stack.pop() as number
        continue
      }
      if (seen[top] === at) continue
      seen[top] = at
      const instruction = program.instructions[top]
      switch (instruction.op) {
        case 'split':
          for (let i = instruction.next.length - 1; i >= 0; i--) stack.push(instruction.next[i])
          break
        case 'save':
          stack.push(slots[instruction.slot], ~instruction.slot, instruction.next)
          slots[instruction.slot] = at
          break
        case 'assert':
          if (holds(instruction.assertion, text, at, edges)) stack.push(instruction.next)
          break
        default:
          list.pcs[list.count] = top
          list.slots.set(slots, list.count * width)
          list.count++
      }
    }
  }
  add(now, program.starts[0], 0, new Int32Array(width).fill(-1))
  const slots = new Int32Array(width)
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    next.count = 0
    for (let i = 0; i < now.count; i++) {
      const instruction = program.instructions[now.pcs[i]]
      if (instruction.op !== 'bytes') continue
      const { arcs } = instruction
      for (let arc = 0; arc < arcs.length; arc += 3) {
        if (byte < arcs[arc] || byte > arcs[arc + 1]) continue
        slots.set(now.slots.subarray(i * width, (i + 1) * width))
        add(next, arcs[arc + 2], at + 1, slots)
        break
      }
    }
    const swap = now
    now = next
    next = swap
  }
  for (let i = 0; i < now.count; i++) {
    if (program.instructions[now.pcs[i]].op === 'bytes') continue
    result.set(now.slots.subarray(i * width + 2, (i + 1) * width), 2)
    break
  }
  return result
}

function newList(size: number, width: number): ThreadList {
  return { count: 0, pcs: new Int32Array(size), slots: new Int32Array(size * width) }
}

function holds(assertion: ProgramAssertion, text: Uint8Array, at: number, edges: MatchEdges): boolean {
  const before = at === 0 ? edges.kindBefore : byteKind(text[at - 1])
  const atEnd = at === text.length
  // A look that is unknown was not needed by the path that won: any assertion that needs it has failed.
  const { look } = edges
  switch (assertion) {
    case 'textStart':
      return before === KIND_NONE
    case 'lineStart':
      if (before !== KIND_NEWLINE) return before === KIND_NONE
      return !atEnd || (look !== LOOK_END && look !== LOOK_UNKNOWN)
    case 'textEnd':
      return atEnd && look === LOOK_END
    case 'textEndOrFinalNewline':
      if (atEnd) return look === LOOK_END || look === LOOK_FINAL_NEWLINE
      return at === text.length - 1 && text[at] === NEWLINE && look === LOOK_END
    case 'lineEnd':
      if (!atEnd) return text[at] === NEWLINE
      return look === LOOK_END || look === LOOK_FINAL_NEWLINE || look === KIND_NEWLINE
    case 'wordBoundary':
    case 'notWordBoundary': {
      if (atEnd && look === LOOK_UNKNOWN) return false
      const after = atEnd ? look : byteKind(text[at])
      return ((before === KIND_WORD) !== (after === KIND_WORD)) === (assertion === 'wordBoundary')
    }
    default:
      // Edges of host names: the rules that have them use no groups.
      return true
  }
}
