/**
 * All literals that rules look for in one field, found in one pass over a value.
 *
 * What a value is equal to, begins or ends with is found by a trie that is walked from that end, what it contains by an
 * automaton (Aho and Corasick). Literals with characters beyond ASCII are rare, and would make the tables wide: they are
 * found by their first such character, which is looked up for each one in the value, so that values in ASCII pay
 * nothing for them.
 *
 * Tries hold each literal only so far as it differs from all others ({@link MIN_DEPTH} characters at least); the rest is
 * compared where that much was found. A table never takes more than {@link MAX_TABLE_CELLS}: beyond, tries are cut
 * lower and more is compared.
 *
 * INVARIANT: a literal's targets are marked if and only if the value has it in the asked way; targets of values that
 * are scanned one after another, elements of a list, add up.
 */

import { foldCase } from './fold.ts'

/** 4 bytes each; 64 MiB. */
export const MAX_TABLE_CELLS: number = 16 * 1024 * 1024

/** A trie is not cut above this depth, or each `\` in a path would be compared with all that begins with one. */
const MIN_DEPTH = 5

export type LiteralKind = 'equals' | 'startswith' | 'endswith' | 'contains'

export interface IndexedLiteral {
  readonly kind: LiteralKind
  /** Folded, not empty unless `equals`. */
  readonly text: string
  /** Its number among the literals of all fields. */
  readonly id: number
  /** Tests that are marked. */
  readonly targets: readonly number[]
}

/** Which tests were marked for the current event. */
export interface Marks {
  /** The epoch a test was last marked in. */
  readonly epochOf: Int32Array
  /** The epoch a literal was last found in. */
  readonly foundIn: Int32Array
  epoch: number
  /** Tests marked in this epoch, in the order of marking. */
  readonly fired: Int32Array
  firedCount: number
}

const NON_ASCII = /[^\0-\x7f]/

interface Table {
  readonly next: Int32Array
  readonly symbols: Uint8Array
  readonly width: number
  /** States from here on have entries or a link to one that has. */
  readonly firstEnding: number
  /** Range of `entries` by state number (not multiplied). */
  readonly entryStarts: Int32Array
  readonly entries: Int32Array
  /** The longest proper suffix that has entries, by state number; -1 for none. Contains only. */
  readonly links: Int32Array
  readonly depths: Int32Array
}

export class LiteralIndex {
  readonly #literals: readonly IndexedLiteral[]
  readonly #targetStarts: Int32Array
  readonly #targets: Int32Array
  /** Texts that a value is equal to or begins with. */
  readonly #begin: Table | undefined
  readonly #end: Table | undefined
  readonly #inside: Table | undefined
  /** Literals by their first character beyond ASCII. */
  readonly #wide: Map<number, { literal: number; before: number }[]>
  /** Literals that the empty text is equal to. */
  readonly #empty: number
  /** The value that is scanned, folded; undefined until something is to be compared with it. */
  #folded: string | undefined
  /** Bytes of the tables. */
  readonly tableBytes: number

  constructor(literals: readonly IndexedLiteral[], maxCells: number = MAX_TABLE_CELLS) {
    this.#literals = literals
    this.#targetStarts = new Int32Array(literals.length + 1)
    const targets: number[] = []
    this.#wide = new Map()
    this.#empty = literals.findIndex(({ text }) => text === '')
    this.#folded = undefined
    const narrow: Record<LiteralKind, number[]> = { equals: [], startswith: [], endswith: [], contains: [] }
    literals.forEach(({ kind, text, targets: own }, literal) => {
      for (const target of own) targets.push(target)
      this.#targetStarts[literal + 1] = targets.length
      const at = text.search(NON_ASCII)
      if (at >= 0) {
        const point = text.codePointAt(at)!
        const entries = this.#wide.get(point) ?? []
        entries.push({ literal, before: at })
        this.#wide.set(point, entries)
      } else if (text !== '') narrow[kind].push(literal)
    })
    this.#targets = Int32Array.from(targets)
    const textOf = (literal: number): string => literals[literal].text
    this.#begin = buildTable([...narrow.equals, ...narrow.startswith], textOf, false, maxCells)
    this.#end = buildTable(narrow.endswith, (literal) => reverse(textOf(literal)), false, maxCells)
    this.#inside = buildTable(narrow.contains, textOf, true, maxCells)
    this.tableBytes = [this.#begin, this.#end, this.#inside].reduce(
      (sum, table) => sum + (table?.next.byteLength ?? 0),
      0,
    )
  }

  /**
   * Marks all that a value has. O(length + what is found).
   *
   * PERF: the tables fold ASCII themselves, so that most values are never folded: a walk from either end stops after a
   * few characters. Only when a character beyond ASCII is met is the value folded and scanned again.
   */
  scan(value: string, marks: Marks): void {
    if (value === '') {
      if (this.#empty >= 0) this.#mark(this.#empty, marks)
      return
    }
    this.#folded = undefined
    if (this.#wide.size > 0 && NON_ASCII.test(value)) {
      const folded = foldCase(value)
      this.#folded = folded
      this.#scanTables(folded, true, marks)
      this.#scanWide(folded, marks)
    } else if (!this.#scanTables(value, false, marks)) {
      const folded = foldCase(value)
      this.#folded = folded
      this.#scanTables(folded, true, marks)
    }
  }

  /** Marks what a value is equal to, begins or ends with; what it contains was found in a value that holds it. */
  scanEnds(value: string, marks: Marks): void {
    this.#folded = undefined
    const isPlain =
      value !== '' &&
      this.#wide.size === 0 &&
      (this.#begin === undefined || this.#scanBegin(this.#begin, value, false, marks)) &&
      (this.#end === undefined || this.#scanEnd(this.#end, value, false, marks))
    if (!isPlain) this.scan(value, marks)
  }

  /** Returns false where a text that is not folded has a character beyond ASCII. */
  #scanTables(text: string, isFolded: boolean, marks: Marks): boolean {
    return (
      (this.#begin === undefined || this.#scanBegin(this.#begin, text, isFolded, marks)) &&
      (this.#end === undefined || this.#scanEnd(this.#end, text, isFolded, marks)) &&
      (this.#inside === undefined || this.#scanInside(this.#inside, text, isFolded, marks))
    )
  }

  #scanBegin(table: Table, text: string, isFolded: boolean, marks: Marks): boolean {
    const { next, symbols, width, firstEnding, entryStarts, entries } = table
    let state = 0
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit >= 128) return isFolded
      state = next[state + symbols[unit]]
      if (state === 0) return true
      if (state < firstEnding) continue
      const number = state / width
      const folded = (this.#folded ??= foldCase(text))
      for (let entry = entryStarts[number]; entry < entryStarts[number + 1]; entry++) {
        const { kind, text: wanted } = this.#literals[entries[entry]]
        if (kind === 'equals' ? folded === wanted : folded.startsWith(wanted)) this.#mark(entries[entry], marks)
      }
    }
    return true
  }

  #scanEnd(table: Table, text: string, isFolded: boolean, marks: Marks): boolean {
    const { next, symbols, width, firstEnding, entryStarts, entries } = table
    let state = 0
    for (let at = text.length - 1; at >= 0; at--) {
      const unit = text.charCodeAt(at)
      if (unit >= 128) return isFolded
      state = next[state + symbols[unit]]
      if (state === 0) return true
      if (state < firstEnding) continue
      const number = state / width
      const folded = (this.#folded ??= foldCase(text))
      for (let entry = entryStarts[number]; entry < entryStarts[number + 1]; entry++) {
        if (folded.endsWith(this.#literals[entries[entry]].text)) this.#mark(entries[entry], marks)
      }
    }
    return true
  }

  #scanInside(table: Table, text: string, isFolded: boolean, marks: Marks): boolean {
    const { next, symbols, firstEnding } = table
    const length = text.length
    let state = 0
    for (let at = 0; at < length; at++) {
      const unit = text.charCodeAt(at)
      if (unit < 128) state = next[state + symbols[unit]]
      else if (isFolded) state = 0
      else return false
      if (state >= firstEnding) this.#endInside(table, state, text, at + 1, marks)
    }
    return true
  }

  #endInside(table: Table, state: number, text: string, end: number, marks: Marks): void {
    const { entryStarts, entries, links, depths } = table
    for (let number = state / table.width; number >= 0; number = links[number]) {
      const depth = depths[number]
      for (let entry = entryStarts[number]; entry < entryStarts[number + 1]; entry++) {
        const { text: wanted, id } = this.#literals[entries[entry]]
        if (marks.foundIn[id] === marks.epoch) continue
        if (wanted.length === depth || (this.#folded ??= foldCase(text)).startsWith(wanted, end - depth)) {
          this.#mark(entries[entry], marks)
        }
      }
    }
  }

  #scanWide(folded: string, marks: Marks): void {
    for (let at = 0; at < folded.length; at++) {
      const unit = folded.charCodeAt(at)
      if (unit < 128) continue
      const point = folded.codePointAt(at)!
      const found = this.#wide.get(point)
      if (found !== undefined) {
        for (const { literal, before } of found) {
          const { kind, text } = this.#literals[literal]
          const begin = at - before
          if (begin < 0 || !folded.startsWith(text, begin)) continue
          if ((kind === 'startswith' || kind === 'equals') && begin !== 0) continue
          if ((kind === 'endswith' || kind === 'equals') && begin + text.length !== folded.length) continue
          this.#mark(literal, marks)
        }
      }
      if (point > 0xffff) at++
    }
  }

  #mark(literal: number, marks: Marks): void {
    const { epochOf, foundIn, epoch, fired } = marks
    const { id } = this.#literals[literal]
    if (foundIn[id] === epoch) return
    foundIn[id] = epoch
    for (let index = this.#targetStarts[literal]; index < this.#targetStarts[literal + 1]; index++) {
      const target = this.#targets[index]
      if (epochOf[target] === epoch) continue
      epochOf[target] = epoch
      fired[marks.firedCount++] = target
    }
  }
}

function reverse(text: string): string {
  let reversed = ''
  for (let at = text.length - 1; at >= 0; at--) reversed += text[at]
  return reversed
}

/** A trie over ASCII texts, as a table; with `anywhere` made an automaton that finds them at every position. */
function buildTable(
  literals: readonly number[],
  textOf: (literal: number) => string,
  anywhere: boolean,
  maxCells: number,
): Table | undefined {
  if (literals.length === 0) return undefined
  const sorted = literals.map((literal) => ({ literal, text: textOf(literal) })).sort((a, b) => compare(a.text, b.text))
  const depthOf = sorted.map(({ text }, index) => {
    const shared = Math.max(
      index === 0 ? 0 : sharedLength(text, sorted[index - 1].text),
      index === sorted.length - 1 ? 0 : sharedLength(text, sorted[index + 1].text),
    )
    return Math.min(text.length, Math.max(MIN_DEPTH, shared + 1))
  })
  const symbols = new Uint8Array(128)
  let width = 1
  sorted.forEach(({ text }, index) => {
    for (let at = 0; at < depthOf[index]; at++) {
      const unit = text.charCodeAt(at)
      if (symbols[unit] === 0) symbols[unit] = width++
    }
  })
  for (let unit = 65; unit <= 90; unit++) symbols[unit] = symbols[unit + 32]
  let deepest = depthOf.reduce((most, depth) => Math.max(most, depth), 0)
  let nodes = countNodes(sorted, depthOf, deepest)
  while (nodes * width > maxCells && deepest > 1) {
    deepest = Math.max(1, Math.floor(deepest * 0.8))
    nodes = countNodes(sorted, depthOf, deepest)
  }

  const children = new Int32Array(nodes * width)
  const depths = new Int32Array(nodes)
  const own: number[][] = Array.from({ length: nodes }, () => [])
  let count = 1
  sorted.forEach(({ literal, text }, index) => {
    let node = 0
    for (let at = 0; at < Math.min(depthOf[index], deepest); at++) {
      const cell = node * width + symbols[text.charCodeAt(at)]
      if (children[cell] === 0) {
        depths[count] = at + 1
        children[cell] = count++
      }
      node = children[cell]
    }
    own[node].push(literal)
  })
  const links = anywhere ? addFailures(children, width, nodes, own) : new Int32Array(nodes).fill(-1)
  return renumber({ children, width, symbols, own, links, depths })
}

/** Turns a trie into an automaton in place, breadth first. Returns the links to suffixes with entries. */
function addFailures(children: Int32Array, width: number, nodes: number, own: readonly number[][]): Int32Array {
  const failures = new Int32Array(nodes)
  const links = new Int32Array(nodes).fill(-1)
  const queue: number[] = []
  for (let symbol = 1; symbol < width; symbol++) if (children[symbol] !== 0) queue.push(children[symbol])
  for (let head = 0; head < queue.length; head++) {
    const node = queue[head]
    const failure = failures[node]
    links[node] = own[failure].length > 0 ? failure : links[failure]
    for (let symbol = 1; symbol < width; symbol++) {
      const cell = node * width + symbol
      const fallback = children[failure * width + symbol]
      if (children[cell] === 0) children[cell] = fallback
      else {
        failures[children[cell]] = fallback
        queue.push(children[cell])
      }
    }
  }
  return links
}

interface Trie {
  readonly children: Int32Array
  readonly width: number
  readonly symbols: Uint8Array
  readonly own: readonly (readonly number[])[]
  readonly links: Int32Array
  readonly depths: Int32Array
}

/** States with entries go last, so that one comparison tells them, and numbers are multiplied by the width. */
function renumber({ children, width, symbols, own, links, depths }: Trie): Table {
  const count = own.length
  const numbers = new Int32Array(count)
  const order: number[] = []
  const hasEntries = (node: number): boolean => own[node].length > 0 || links[node] >= 0
  for (let node = 0; node < count; node++) if (!hasEntries(node)) order.push(node)
  const firstEnding = order.length * width
  for (let node = 0; node < count; node++) if (hasEntries(node)) order.push(node)
  order.forEach((node, number) => {
    numbers[node] = number
  })
  const next = new Int32Array(count * width)
  const entryStarts = new Int32Array(count + 1)
  const entries: number[] = []
  const newLinks = new Int32Array(count)
  const newDepths = new Int32Array(count)
  order.forEach((node, number) => {
    for (let symbol = 0; symbol < width; symbol++) {
      next[number * width + symbol] = numbers[children[node * width + symbol]] * width
    }
    for (const literal of own[node]) entries.push(literal)
    entryStarts[number + 1] = entries.length
    newLinks[number] = links[node] < 0 ? -1 : numbers[links[node]]
    newDepths[number] = depths[node]
  })
  return {
    next,
    symbols,
    width,
    firstEnding,
    entryStarts,
    entries: Int32Array.from(entries),
    links: newLinks,
    depths: newDepths,
  }
}

function countNodes(sorted: readonly { text: string }[], depthOf: readonly number[], deepest: number): number {
  let nodes = 1
  sorted.forEach(({ text }, index) => {
    const depth = Math.min(depthOf[index], deepest)
    const shared = index === 0 ? 0 : sharedLength(text, sorted[index - 1].text)
    const before = index === 0 ? 0 : Math.min(depthOf[index - 1], deepest)
    nodes += depth - Math.min(depth, shared, before)
  })
  return nodes
}

function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
