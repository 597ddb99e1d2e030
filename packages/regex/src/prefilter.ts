/**
 * Where no thread is live, most bytes cannot begin a match: a prefilter skips them. It knows, for every rule, the first
 * one to three bytes that a match can begin with (assertions are taken as passed, so it may stop too often, never too
 * rarely). The markers of regions count as matches: whether a rule may begin depends on them.
 */
import { asciiLowerCase, type Region } from './context.ts'
import type { Instruction, Program } from './program.ts'

/** Byte sequences of three sets each that a prefilter may tell apart; beyond it only first bytes are used. */
const MAX_FINGERPRINTS = 256
/** A first-byte set larger than this stops so often that the table loop is as fast. */
const MAX_FIRST_BYTES = 80
const FINGERPRINT_BYTES = 3
const BUCKETS = 8

export type PrefilterKind = 'none' | 'bytes' | 'fingerprints'

export interface Prefilter {
  readonly kind: PrefilterKind
  /** Why this kind; for `debug pattern`. */
  readonly reason: string
  /** Bytes that a match can begin with. */
  readonly firstBytes: Uint8Array
  /** The block that the kernel reads: see `skip` there. Empty for `none`. */
  readonly block: Uint8Array
}

type ByteSet256 = Uint8Array
type Fingerprint = readonly ByteSet256[]

/** What a prefilter has to know of an automaton. */
export interface Beginnings {
  readonly program: Program
  readonly ruleCount: number
  readonly nullable: boolean
  readonly regions: readonly Region[]
}

export function buildPrefilter({ program, ruleCount, nullable, regions }: Beginnings): Prefilter {
  const firstBytes = new Uint8Array(256)
  if (nullable) return { kind: 'none', reason: 'a rule can match the empty string', firstBytes, block: NO_BLOCK }
  const markers = regions.flatMap(({ open, close }) => [open, close].map(markerSets))
  const fingerprints = collectFingerprints(program, ruleCount, markers)
  for (const [first] of markers) first.forEach((flag, byte) => (firstBytes[byte] |= flag))
  for (let rule = 0; rule < ruleCount; rule++) {
    for (const leaf of leavesOf(program, program.starts[rule])) addArcs(firstBytes, leaf.arcs)
  }
  const firstCount = firstBytes.reduce((sum, flag) => sum + flag, 0)
  if (fingerprints !== undefined) {
    return {
      kind: 'fingerprints',
      reason: `${fingerprints.length} beginnings of up to ${FINGERPRINT_BYTES} bytes`,
      firstBytes,
      block: fingerprintBlock(firstBytes, fingerprints),
    }
  }
  if (firstCount > MAX_FIRST_BYTES) {
    return { kind: 'none', reason: `a match can begin with ${firstCount} different bytes`, firstBytes, block: NO_BLOCK }
  }
  return {
    kind: 'bytes',
    reason: `a match begins with one of ${firstCount} bytes`,
    firstBytes,
    block: byteSetBlock(firstBytes),
  }
}

const NO_BLOCK = new Uint8Array(0)
const HEADER_BYTES = 16
const TABLES_AT = HEADER_BYTES + 256
const BLOCK_BYTES = TABLES_AT + 6 * 16

function newBlock(kind: number, firstBytes: Uint8Array): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES)
  block[0] = kind
  block.set(firstBytes, HEADER_BYTES)
  return block
}

/** For each low nibble, the high nibbles it appears with: 0 to 7 in the first table, 8 to 15 in the second. */
function byteSetBlock(firstBytes: Uint8Array): Uint8Array {
  const block = newBlock(1, firstBytes)
  for (let byte = 0; byte < 256; byte++) {
    if (firstBytes[byte] === 1) block[TABLES_AT + (byte < 128 ? 0 : 16) + (byte & 15)] |= 1 << ((byte >> 4) & 7)
  }
  for (let bit = 0; bit < 8; bit++) block[TABLES_AT + 32 + bit] = 1 << bit
  return block
}

/** Per byte of the fingerprint, buckets by low nibble and by high nibble; their conjunction over all bytes is a hit. */
function fingerprintBlock(firstBytes: Uint8Array, fingerprints: readonly Fingerprint[]): Uint8Array {
  const block = newBlock(2, firstBytes)
  fingerprints.forEach((fingerprint, index) => {
    const bucket = 1 << Math.floor((index * BUCKETS) / Math.max(BUCKETS, fingerprints.length))
    for (let at = 0; at < FINGERPRINT_BYTES; at++) {
      for (let byte = 0; byte < 256; byte++) {
        if (fingerprint[at][byte] === 0) continue
        block[TABLES_AT + at * 32 + (byte & 15)] |= bucket
        block[TABLES_AT + at * 32 + 16 + (byte >> 4)] |= bucket
      }
    }
  })
  return block
}

/** The first bytes of a marker, as sets. */
function markerSets(marker: Uint8Array): ByteSet256[] {
  return Array.from(marker.subarray(0, FINGERPRINT_BYTES), (octet) => {
    const set = new Uint8Array(256)
    for (let byte = 0; byte < 256; byte++) set[byte] = Number(asciiLowerCase(byte) === asciiLowerCase(octet))
    return set
  })
}

function collectFingerprints(
  program: Program,
  ruleCount: number,
  markers: readonly (readonly ByteSet256[])[],
): Fingerprint[] | undefined {
  const found = new Map<string, Fingerprint>()
  markers.forEach((sets, index) => {
    const missing = FINGERPRINT_BYTES - sets.length
    found.set(`marker ${index}`, [...sets, ...new Array<ByteSet256>(missing).fill(ANY_BYTE)])
  })
  const sets = new Map<string, ByteSet256>()
  let fits = true
  const walk = (pcs: readonly number[], key: string, before: readonly ByteSet256[]): void => {
    if (before.length === FINGERPRINT_BYTES || pcs.length === 0) {
      const whole = [...before]
      while (whole.length < FINGERPRINT_BYTES) whole.push(ANY_BYTE)
      found.set(key, whole)
      if (found.size > MAX_FINGERPRINTS) fits = false
      return
    }
    for (const pc of pcs) {
      for (const { ranges, next } of arcGroups(program.instructions[pc])) {
        const name = ranges.join(',')
        let set = sets.get(name)
        if (set === undefined) {
          set = new Uint8Array(256)
          for (let i = 0; i < ranges.length; i += 2) set.fill(1, ranges[i], ranges[i + 1] + 1)
          sets.set(name, set)
        }
        walk(leafPcs(program, next) ?? [], `${key}/${name}`, [...before, set])
        if (!fits) return
      }
    }
  }
  for (let rule = 0; rule < ruleCount && fits; rule++) walk(leafPcs(program, program.starts[rule]) ?? [], '', [])
  if (!fits) return undefined
  // Neighbours in order share nibbles, which keeps a bucket's superset small.
  return [...found.entries()].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, fingerprint]) => fingerprint)
}

const ANY_BYTE = new Uint8Array(256).fill(1)

function addArcs(set: ByteSet256, arcs: readonly number[]): void {
  for (let i = 0; i < arcs.length; i += 3) set.fill(1, arcs[i], arcs[i + 1] + 1)
}

/** The bytes that an instruction takes, by where it goes. */
function arcGroups(instruction: Instruction): { ranges: number[]; next: number }[] {
  if (instruction.op !== 'bytes') return []
  const { arcs } = instruction
  if (arcs.length === 3) return [{ ranges: [arcs[0], arcs[1]], next: arcs[2] }]
  const groups = new Map<number, { ranges: number[]; next: number }>()
  for (let i = 0; i < arcs.length; i += 3) {
    const group = groups.get(arcs[i + 2]) ?? { ranges: [], next: arcs[i + 2] }
    group.ranges.push(arcs[i], arcs[i + 1])
    groups.set(group.next, group)
  }
  return [...groups.values()]
}

function leavesOf(program: Program, start: number): { arcs: readonly number[] }[] {
  const pcs = reach(program, start).leaves
  return pcs.flatMap((pc) => {
    const instruction = program.instructions[pc]
    return instruction.op === 'bytes' ? [{ arcs: instruction.arcs }] : []
  })
}

/** Consuming instructions that come next; undefined when the rule may end here, so that nothing follows for sure. */
function leafPcs(program: Program, start: number): number[] | undefined {
  const { leaves, ends } = reach(program, start)
  return ends ? undefined : leaves
}

function reach(program: Program, start: number): { leaves: number[]; ends: boolean } {
  const leaves: number[] = []
  let ends = false
  const seen = new Set<number>()
  const stack = [start]
  for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
    if (seen.has(pc)) continue
    seen.add(pc)
    const instruction = program.instructions[pc]
    if (instruction.op === 'bytes') leaves.push(pc)
    else if (instruction.op === 'split') stack.push(...instruction.next)
    else if (instruction.op === 'match' || instruction.op === 'hostEnd') ends = true
    else stack.push(instruction.next)
  }
  return { leaves, ends }
}
