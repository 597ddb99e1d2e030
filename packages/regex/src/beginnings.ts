/**
 * What a match can begin with: for every rule, a few sequences of byte sets, one of which every match of it passes
 * through. Assertions are taken as passed, so a beginning may promise too much, never too little.
 */
import { type Program, rangesByTarget, takesOneByte } from './program.ts'

/** Bytes of a beginning that are looked at. */
export const MAX_BEGINNING_BYTES = 16
/** Ways to begin that are told apart in one rule, and up to which byte; beyond it, sets are united. */
const MAX_RULE_BEGINNINGS = 64
const MAX_SPLIT_BYTES = 4
const MAX_UNITED_BYTES = 8
/** A beginning that has so many bytes ends where a wide set comes. */
const TELLING_BYTES = 6
/** Instructions that one step follows; a rule that can be at more places at once says no more. */
const MAX_PLACES = 1_024

export interface ByteSet {
  /** A flag per byte. */
  readonly flags: Uint8Array
  readonly bytes: readonly number[]
}

/** One set per byte that every match of this kind has at least. */
export type Beginning = readonly ByteSet[]

const singles = new Map<number, ByteSet>()

/** The set of one byte; shared. */
export function singleByte(byte: number): ByteSet {
  let set = singles.get(byte)
  if (set === undefined) {
    set = { flags: new Uint8Array(256), bytes: [byte] }
    set.flags[byte] = 1
    singles.set(byte, set)
  }
  return set
}

export function byteSet(bytes: Iterable<number>): ByteSet {
  const flags = new Uint8Array(256)
  for (const byte of bytes) flags[byte] = 1
  const members: number[] = []
  for (let byte = 0; byte < 256; byte++) if (flags[byte] === 1) members.push(byte)
  return members.length === 1 ? singleByte(members[0]) : { flags, bytes: members }
}

interface Path {
  readonly sets: ByteSet[]
  /** Consuming instructions that come next. */
  readonly places: readonly number[]
}

interface Reached {
  readonly places: readonly number[]
  /** The rule may end here, so that nothing follows for sure. */
  readonly ends: boolean
}

/** The beginnings of each rule of a program in which none matches the empty string. */
export function beginningsByRule(program: Program, ruleCount: number): Beginning[][] {
  return Array.from({ length: ruleCount }, (_, rule) => beginningsOf(program, rule))
}

/** None when the rule matches nothing at all. */
function beginningsOf(program: Program, rule: number): Beginning[] {
  const found: Beginning[] = []
  const literal: ByteSet[] = []
  let at = program.starts[rule]
  // Thousands of literals are common: they need none of what follows.
  for (;;) {
    const instruction = program.instructions[at]
    if (instruction.op !== 'bytes' || !takesOneByte(instruction.arcs)) break
    literal.push(singleByte(instruction.arcs[0]))
    if (literal.length === MAX_BEGINNING_BYTES) return [literal]
    at = instruction.arcs[2]
  }
  const { places, ends } = reach(program, [at])
  if (ends) return [literal]
  const sets = new Map<string, ByteSet>()
  let open: Path[] = [{ sets: literal, places }]
  let next: Path[] = []
  const follow = (own: ByteSet[], targets: readonly number[], depth: number): void => {
    const reached = reach(program, targets)
    const isWide = reached.places.length > MAX_PLACES
    if (reached.ends || isWide || depth === MAX_BEGINNING_BYTES) found.push(own)
    else next.push({ sets: own, places: reached.places })
  }
  for (let depth = literal.length + 1; open.length > 0; depth++) {
    next = []
    for (const path of open) {
      const [only] = path.places
      const single = path.places.length === 1 ? program.instructions[only] : undefined
      if (single?.op === 'bytes' && takesOneByte(single.arcs)) {
        path.sets.push(singleByte(single.arcs[0]))
        follow(path.sets, [single.arcs[2]], depth)
        continue
      }
      const ways = waysOn(program, path.places, sets)
      const splits = depth <= MAX_SPLIT_BYTES && ways.length + next.length + found.length <= MAX_RULE_BEGINNINGS
      // What is wide tells little; but every beginning has a first byte.
      const isWide = ways.some(({ set }) => set.bytes.length > MAX_UNITED_BYTES)
      if (isWide && (path.sets.length >= TELLING_BYTES || (!splits && path.sets.length > 0))) {
        found.push(path.sets)
        continue
      }
      const chosen = splits || ways.length <= 1 ? ways : unite(ways)
      for (const { set, targets } of chosen) {
        if (chosen.length === 1) path.sets.push(set)
        const own = chosen.length === 1 ? path.sets : [...path.sets, set]
        follow(own, targets, depth)
      }
    }
    open = next
  }
  return found
}

/** The bytes of a rule that matches nothing but these, undefined for any other rule. */
export function literalOf(program: Program, rule: number): Uint8Array | undefined {
  const bytes: number[] = []
  let at = program.starts[rule]
  for (;;) {
    const instruction = program.instructions[at]
    if (instruction.op === 'match') return Uint8Array.from(bytes)
    if (instruction.op !== 'bytes' || !takesOneByte(instruction.arcs)) return undefined
    bytes.push(instruction.arcs[0])
    at = instruction.arcs[2]
  }
}

interface Way {
  readonly set: ByteSet
  readonly targets: readonly number[]
}

/** The bytes that can come next, by where they lead; ways on the same bytes are one. `sets` are those met before. */
function waysOn(program: Program, places: readonly number[], sets: Map<string, ByteSet>): Way[] {
  const ways = new Map<string, { ranges: readonly number[]; targets: number[] }>()
  for (const place of places) {
    const instruction = program.instructions[place]
    if (instruction.op !== 'bytes') continue
    for (const [target, ranges] of rangesByTarget(instruction.arcs)) {
      const key = ranges.join()
      const way = ways.get(key)
      if (way === undefined) ways.set(key, { ranges, targets: [target] })
      else if (!way.targets.includes(target)) way.targets.push(target)
    }
  }
  return Array.from(ways, ([key, { ranges, targets }]) => {
    let set = sets.get(key)
    if (set === undefined) {
      set = byteSet(bytesIn(ranges))
      sets.set(key, set)
    }
    return { set, targets }
  })
}

function* bytesIn(ranges: readonly number[]): Generator<number> {
  for (let i = 0; i < ranges.length; i += 2) for (let byte = ranges[i]; byte <= ranges[i + 1]; byte++) yield byte
}

/** One way for all. */
function unite(ways: readonly Way[]): readonly Way[] {
  const targets = [...new Set(ways.flatMap((way) => way.targets))]
  return [{ set: byteSet(ways.flatMap(({ set }) => set.bytes)), targets }]
}

function reach(program: Program, targets: readonly number[]): Reached {
  if (targets.length === 1 && program.instructions[targets[0]].op === 'bytes') return { places: targets, ends: false }
  const places: number[] = []
  let ends = false
  const seen = new Set<number>()
  const stack = [...targets]
  for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
    if (seen.has(pc)) continue
    seen.add(pc)
    const instruction = program.instructions[pc]
    if (instruction.op === 'bytes') places.push(pc)
    else if (instruction.op === 'split') stack.push(...instruction.next)
    else if (instruction.op === 'match' || instruction.op === 'hostEnd') ends = true
    else stack.push(instruction.next)
  }
  return { places, ends }
}

/** Different texts that sets in a row may stand for; with more, a gram counts as any. */
const MAX_GRAM_TEXTS = 4_096

/** Calls back with each text that the sets from `at` on stand for, as a little-endian number. False when too many. */
export function forEachText(beginning: Beginning, at: number, count: number, take: (text: number) => void): boolean {
  let texts = 1
  let first = 0
  for (let i = 0; i < count; i++) {
    const { bytes } = beginning[at + i]
    texts *= bytes.length
    first |= bytes[0] << (8 * i)
  }
  if (texts === 1) {
    take(first)
    return true
  }
  if (texts > MAX_GRAM_TEXTS) return false
  const walk = (i: number, text: number): void => {
    if (i === count) take(text)
    else for (const byte of beginning[at + i].bytes) walk(i + 1, text | (byte << (8 * i)))
  }
  walk(0, 0)
  return true
}
