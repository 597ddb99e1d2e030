/**
 * Object shapes: which keys follow each other in maps, learnt from the input, so that a map of a known shape is recognised
 * by comparing bytes and built by code that knows its keys.
 *
 * A trie with one node per key, one tree per number of keys. A node keeps the key's token (its head byte and UTF-8) as
 * little-endian words; a reader compares it with the input and needs no string. A leaf counts how often it was met and
 * then gets a maker from the pool of constructors.
 *
 * INVARIANT: the keys on a path are distinct and none is `__proto__` or an array index; maps that break this are built
 * key by key.
 *
 * SECURITY: a node has at most {@link MAX_ALTERNATIVES} successors and the trie at most {@link MAX_NODES} nodes. Maps of
 * random keys cost eight word comparisons more than without the trie. A full trie is thrown away, since it may be full of
 * an attacker's shapes; makers are found again by their keys.
 */
import { claimConstructor } from './constructor-pool.ts'

/** Longer maps are built key by key. */
export const MAX_SHAPE_KEYS = 32
/** Longer keys are read one by one. */
export const MAX_TOKEN_BYTES = 64
const MAX_ALTERNATIVES = 8
const MAX_NODES = 4096
/** Maps of one shape before a maker is spent on it. */
const USES_BEFORE_MAKER = 16

/** How many strings of a key may be new, one after the other, before the cache is no longer asked. */
const REPEATS_AT_FIRST = 512

/** An object with its keys' values from `values[base]` on. Must not keep `values`. */
export type ObjectMaker = (values: readonly unknown[], base: number) => object

/** A shape known when the program is written, with an object literal for it. */
export interface KnownShape {
  readonly keys: readonly string[]
  readonly make: ObjectMaker
}

/** @internal */
export class ShapeNode {
  readonly key: string
  readonly parent: ShapeNode | undefined
  /** Keys on the path to here. */
  readonly depth: number
  /** Bytes of the key's token. */
  readonly size: number
  readonly mask: number
  readonly first: number
  readonly last: number
  /** The token's words except the last, if it has more than eight bytes. */
  readonly words: Int32Array
  /** The successor that was met last. */
  next: ShapeNode | undefined = undefined
  readonly alternatives: ShapeNode[] = []
  uses = 0
  maker: ObjectMaker | undefined = undefined
  /** Strings under this key that may still be new before they are kept out of the cache; below 0 they are. */
  repeats: number = REPEATS_AT_FIRST

  constructor(key: string, token: Uint8Array, parent: ShapeNode | undefined) {
    const view = new DataView(new ArrayBuffer(Math.max(4, token.length)))
    for (let i = 0; i < token.length; i++) view.setUint8(i, token[i])
    this.key = key
    this.parent = parent
    this.depth = parent === undefined ? 0 : parent.depth + 1
    this.size = token.length
    this.mask = token.length < 4 ? (1 << (token.length * 8)) - 1 : -1
    this.first = view.getInt32(0, true)
    this.last = token.length < 4 ? 0 : view.getInt32(token.length - 4, true)
    this.words = new Int32Array(token.length > 8 ? (token.length - 1) >> 2 : 0)
    for (let word = 0; word < this.words.length; word++) this.words[word] = view.getInt32(word * 4, true)
  }
}

/** Whether the token of `node` is at `at`. Requires that four bytes, and its size, are there. */
export function isTokenAt(node: ShapeNode, view: DataView, at: number): boolean {
  if ((view.getInt32(at, true) & node.mask) !== node.first) return false
  const size = node.size
  if (size <= 4) return true
  if (view.getInt32(at + size - 4, true) !== node.last) return false
  const words = node.words
  for (let word = 1; word < words.length; word++) {
    if (view.getInt32(at + word * 4, true) !== words[word]) return false
  }
  return true
}

const NO_TOKEN = new Uint8Array(0)

/** @internal */
export class ShapeTrie {
  /** By number of keys. */
  readonly roots: ShapeNode[] = []
  readonly #known = new Map<string, ObjectMaker>()
  #nodes = 0

  constructor(shapes: readonly KnownShape[]) {
    for (const { keys, make } of shapes) this.#known.set(JSON.stringify(keys), make)
    this.#clear()
  }

  #clear(): void {
    this.#nodes = 0
    for (let count = 0; count <= MAX_SHAPE_KEYS; count++) this.roots[count] = new ShapeNode('', NO_TOKEN, undefined)
  }

  /** The successor of `node` whose token is at `at`; undefined if none is known. `node.next` was looked at before. */
  findAlternative(node: ShapeNode, view: DataView, at: number, end: number): ShapeNode | undefined {
    for (const candidate of node.alternatives) {
      if (at + candidate.size <= end && isTokenAt(candidate, view, at)) {
        node.next = candidate
        return candidate
      }
    }
    return undefined
  }

  /** Learns that the key with this token may follow `node`; undefined if it is not to be learnt. */
  learn(node: ShapeNode, key: string, token: Uint8Array): ShapeNode | undefined {
    if (node.alternatives.length >= MAX_ALTERNATIVES || token.length > MAX_TOKEN_BYTES || !isOrdinaryKey(key)) {
      return undefined
    }
    for (let above: ShapeNode | undefined = node; above?.parent !== undefined; above = above.parent) {
      if (above.key === key) return undefined
    }
    if (this.#nodes >= MAX_NODES) this.#clear()
    this.#nodes++
    const learnt = new ShapeNode(internalize(key), token, node)
    node.alternatives.push(learnt)
    node.next = learnt
    return learnt
  }

  /** Counts a map of the shape that ends at `leaf`; its maker once it has one. */
  makerOf(leaf: ShapeNode): ObjectMaker | undefined {
    leaf.uses++
    if (leaf.uses === 1) leaf.maker = this.#known.get(JSON.stringify(keysTo(leaf)))
    else if (leaf.uses === USES_BEFORE_MAKER && leaf.maker === undefined) leaf.maker = claimConstructor(keysTo(leaf))
    return leaf.maker
  }
}

/** The keys on the path to `node`, first to last. */
export function keysTo(node: ShapeNode): string[] {
  const keys: string[] = []
  for (let at: ShapeNode | undefined = node; at?.parent !== undefined; at = at.parent) keys.push(at.key)
  return keys.reverse()
}

function isOrdinaryKey(key: string): boolean {
  return key !== '__proto__' && !/^\d/.test(key)
}

/**
 * PERF: the same string as the engine's own copy of a property name. Stores under any other copy are megamorphic: an
 * object of 24 fields 450 to 900 ns instead of 70 to 130 (2026-11-30, Node 20.20 and 24.22).
 */
function internalize(key: string): string {
  return Object.keys({ [key]: 0 })[0]
}
