/**
 * A peer: what a careful programmer gets from JavaScript alone. The rules become one dense DFA by subset construction; the
 * loop walks a table of `state * 256 + byte`. Leftmost, longest, the earlier rule on a tie.
 *
 * Knows only what the bench definitions use: literals, `.`, `[...]`, `*`, `+`, `?`, groups, and the flag `i`. A rule whose
 * template has captures finds them with RegExp on the matched span.
 */
import type { BenchRule } from './definition.ts'
import { compileTemplate } from './template.ts'

type ByteSet = Uint8Array

interface NfaState {
  /** Where each byte of `on` leads; -1: nowhere. */
  readonly on: ByteSet | undefined
  readonly next: number
  /** Targets reached without a byte. */
  readonly free: readonly number[]
  readonly accepts: number
}

export interface DfaReplacer {
  /** Replaces in one whole page; the result is a view of a buffer that the next call overwrites. */
  replace(page: Uint8Array): { readonly output: Uint8Array; readonly matches: number }
}

const DEAD = 0
const START = 1

export function compileDfaReplacer(rules: readonly BenchRule[]): DfaReplacer {
  const { table, accepts } = determinize(buildNfa(rules))
  const templates = rules.map(compileTemplate)
  let out = new Uint8Array(0)

  function replace(page: Uint8Array): { output: Uint8Array; matches: number } {
    if (out.length < page.length * 2) out = new Uint8Array(page.length * 2)
    const length = page.length
    let matches = 0
    let written = 0
    let copied = 0
    let at = 0
    while (at < length) {
      let state = table[(START << 8) | page[at]]
      if (state === DEAD) {
        at++
        continue
      }
      let end = -1
      let rule = -1
      for (let i = at + 1; ; i++) {
        if (accepts[state] >= 0) {
          end = i
          rule = accepts[state]
        }
        if (i === length) break
        state = table[(state << 8) | page[i]]
        if (state === DEAD) break
      }
      if (end < 0) {
        at++
        continue
      }
      const kept = page.subarray(copied, at)
      out.set(kept, written)
      const replacement = templates[rule](page, at, end)
      out.set(replacement, written + kept.length)
      written += kept.length + replacement.length
      matches++
      copied = end
      at = end
    }
    const rest = page.subarray(copied)
    out.set(rest, written)
    return { output: out.subarray(0, written + rest.length), matches }
  }
  return { replace }
}

function buildNfa(rules: readonly BenchRule[]): readonly NfaState[] {
  const states: NfaState[] = [{ on: undefined, next: -1, free: [], accepts: -1 }]
  const starts: number[] = []
  rules.forEach((rule, index) => {
    const caseless = rule.flags?.includes('i') ?? false
    const source = 'regex' in rule ? rule.regex : rule.text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    starts.push(states.length)
    let i = 0
    while (i < source.length) {
      if (source[i] === '(' || source[i] === ')') {
        i++
        continue
      }
      const [set, after] = readSet(source, i, caseless)
      i = after
      const quantifier = source[i]
      const here = states.length
      if (quantifier === '*' || quantifier === '?') {
        i++
        states.push({ on: undefined, next: -1, free: [here + 1, here + 2], accepts: -1 })
        states.push({ on: set, next: quantifier === '*' ? here : here + 2, free: [], accepts: -1 })
      } else if (quantifier === '+') {
        i++
        states.push({ on: set, next: here + 1, free: [], accepts: -1 })
        states.push({ on: undefined, next: -1, free: [here, here + 2], accepts: -1 })
      } else {
        states.push({ on: set, next: here + 1, free: [], accepts: -1 })
      }
    }
    states.push({ on: undefined, next: -1, free: [], accepts: index })
  })
  states[0] = { on: undefined, next: -1, free: starts, accepts: -1 }
  return states
}

/** The set of bytes that the atom at `i` stands for, and where it ends. */
function readSet(source: string, i: number, caseless: boolean): [ByteSet, number] {
  const set = new Uint8Array(256)
  const add = (from: number, to: number): void => {
    set.fill(1, from, to + 1)
  }
  let end = i + 1
  if (source[i] === '[') {
    const negated = source[end] === '^'
    if (negated) end++
    while (source[end] !== ']') {
      const from = source.charCodeAt(end)
      if (source[end + 1] === '-' && source[end + 2] !== ']') {
        add(from, source.charCodeAt(end + 2))
        end += 3
      } else {
        add(from, from)
        end++
      }
    }
    end++
    if (negated) for (let byte = 0; byte < 256; byte++) set[byte] ^= 1
  } else if (source[i] === '.') {
    add(0, 255)
  } else {
    if (source[i] === '\\') end++
    const byte = source.charCodeAt(end - 1)
    add(byte, byte)
  }
  if (caseless) {
    for (let lower = 0x61; lower <= 0x7a; lower++) set[lower] = set[lower - 32] = set[lower] | set[lower - 32]
  }
  return [set, end]
}

function determinize(nfa: readonly NfaState[]): { readonly table: Uint16Array; readonly accepts: Int32Array } {
  const ids = new Map<string, number>()
  const sets: (readonly number[])[] = [[]]
  const idOf = (seeds: readonly number[]): number => {
    const set = closure(nfa, seeds)
    if (set.length === 0) return DEAD
    const key = set.join()
    const known = ids.get(key)
    if (known !== undefined) return known
    ids.set(key, sets.length)
    sets.push(set)
    return sets.length - 1
  }
  idOf([0])
  const rows: Uint16Array[] = [new Uint16Array(256)]
  for (let id = START; id < sets.length; id++) {
    const row = new Uint16Array(256)
    for (let byte = 0; byte < 256; byte++) {
      row[byte] = idOf(sets[id].flatMap((state) => (nfa[state].on?.[byte] === 1 ? [nfa[state].next] : [])))
    }
    rows.push(row)
  }
  const table = new Uint16Array(rows.length * 256)
  rows.forEach((row, id) => table.set(row, id * 256))
  const accepts = Int32Array.from(sets, (set) => {
    const rules = set.map((state) => nfa[state].accepts).filter((rule) => rule >= 0)
    return rules.length === 0 ? -1 : Math.min(...rules)
  })
  return { table, accepts }
}

function closure(nfa: readonly NfaState[], seeds: readonly number[]): readonly number[] {
  const reached = new Set<number>()
  const open = [...seeds]
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (reached.has(state)) continue
    reached.add(state)
    open.push(...nfa[state].free)
  }
  return [...reached].sort((a, b) => a - b)
}
