/**
 * The content of one record: its template instances with their values, where they are and of which type. Nothing is
 * decoded here, and nothing allocated for a record whose templates are known: the tables are used again for each.
 */
import {
  FRAGMENT_HEADER,
  FRAGMENT_HEADER_BYTES,
  parseFragment,
  TEMPLATE_INSTANCE,
  type InstanceReader,
} from './binxml.ts'
import type { Chunk } from './chunk.ts'
import { CHUNK_BYTES } from './chunk.ts'
import { u16, u32 } from './integers.hot.ts'
import type { EvtxLimits } from './limits.ts'
import { INSTANCE, type Node, type Template } from './nodes.ts'
import { ContentFault } from './problems.ts'
import { DEFINITION_HEAD_BYTES } from './template-store.ts'
import { ARRAY_FLAG, BINXML_TYPE } from './value-types.ts'
import { arrayItems } from './values.ts'

/** Version, number of the template, offset of its definition. */
const INSTANCE_HEAD_BYTES = 9
const SLOT_BYTES = 4
/**
 * INVARIANT: the descriptors of all slots of a record are different bytes of its chunk, four for each, because what is
 * nested lies inside of a value, definitions hold no instances, and nothing is read twice.
 */
const MAX_SLOTS = CHUNK_BYTES / SLOT_BYTES

/** No binary XML. From 0 up are instances, from `NO_CONTENT - 1` down fragments. */
export const NO_CONTENT = -1

export class RecordContent implements InstanceReader {
  /** @internal */ chunk: Chunk | undefined
  /** What the record consists of, see `NO_CONTENT`. */
  root: number = NO_CONTENT
  instances = 0
  readonly templates: Template[] = []
  /** Number of the first slot, and of slots, by instance. */
  readonly firstSlot: Int32Array = new Int32Array(MAX_SLOTS)
  readonly slotCount: Int32Array = new Int32Array(MAX_SLOTS)
  readonly slotType: Uint8Array = new Uint8Array(MAX_SLOTS)
  /** Where the values are in the chunk. */
  readonly slotStart: Int32Array = new Int32Array(MAX_SLOTS)
  readonly slotEnd: Int32Array = new Int32Array(MAX_SLOTS)
  /** The slot that an instance stands in; -1 for those of the record itself and of fragments. */
  readonly instanceSlot: Int32Array = new Int32Array(MAX_SLOTS)
  /** What the binary XML in a slot is, see `NO_CONTENT`. */
  readonly slotContent: Int32Array = new Int32Array(MAX_SLOTS)
  readonly fragments: (readonly Node[])[] = []
  hasArrays = false
  /** Slots whose values are arrays. */
  readonly arraySlots: number[] = []
  /** Some template names fields by values. */
  hasNamesInSlots = false

  readonly #items = new Map<number, readonly number[]>()
  #slots = 0
  #fragmentDepth = 0
  readonly #limits: EvtxLimits
  /** Of the elements of what was read last. */
  #depth = 0
  /** Where what was read last ends. */
  #next = 0

  constructor(limits: EvtxLimits) {
    this.#limits = limits
  }

  /** Reads the content between two offsets of the chunk. Throws a {@link ContentFault}. */
  read(chunk: Chunk, start: number, end: number): void {
    this.chunk = chunk
    this.instances = 0
    this.#slots = 0
    this.#fragmentDepth = 0
    this.fragments.length = 0
    this.hasArrays = false
    this.arraySlots.length = 0
    this.#items.clear()
    this.hasNamesInSlots = false
    this.root = this.#readContent(start, end)
  }

  /** Begins and ends of the items of an array in a slot, in pairs. */
  items(slot: number): readonly number[] {
    let items = this.#items.get(slot)
    if (items === undefined) {
      items = arrayItems(this.#chunk().bytes, this.slotType[slot], this.slotStart[slot], this.slotEnd[slot])
      this.#items.set(slot, items)
    }
    return items
  }

  lacksValues(): boolean {
    for (let i = 0; i < this.instances; i++) if (this.slotCount[i] < this.templates[i].slotCount) return true
    return false
  }

  /** The slot that a template means by an index, or -1: it may name more than a record brings. */
  slot(instance: number, index: number): number {
    return index < this.slotCount[instance] ? this.firstSlot[instance] + index : -1
  }

  readInstance(at: number, end: number): { readonly instance: number; readonly next: number; readonly depth: number } {
    const instance = this.#readInstance(at, end)
    return { instance, next: this.#next, depth: this.#depth }
  }

  /**
   * What all records but a few are is one instance and the end. Everything else becomes a tree. Leaves the depth of
   * elements in `#depth`.
   */
  #readContent(start: number, end: number): number {
    const chunk = this.#chunk()
    const { bytes } = chunk
    let at = start
    let first: number | undefined
    let firstDepth = 0
    if (at < end && bytes[at] === FRAGMENT_HEADER) at += FRAGMENT_HEADER_BYTES
    if (at < end && bytes[at] === TEMPLATE_INSTANCE) {
      first = this.#readInstance(at + 1, end)
      at = this.#next
      if (at >= end || bytes[at] === 0) return first
      firstDepth = this.#depth
    }
    const { nodes, depth } = parseFragment(chunk, Math.min(at, end), end, {
      dependencyIds: false,
      instances: this,
      maxDepth: this.#limits.maxElementDepth,
      nameReferences: undefined,
    })
    this.#depth = Math.max(firstDepth, depth)
    this.fragments.push(first === undefined ? nodes : [{ kind: INSTANCE, instance: first }, ...nodes])
    return NO_CONTENT - this.fragments.length
  }

  /** The instance after its token, which ended at `at`. Leaves where it ends in `#next`. */
  #readInstance(at: number, end: number): number {
    const chunk = this.#chunk()
    const { bytes } = chunk
    if (INSTANCE_HEAD_BYTES > end - at) throw new ContentFault('the content ends inside of a template instance')
    const id = u32(bytes, at + 1)
    const offset = u32(bytes, at + 5)
    const template = chunk.template(offset, id)
    let from = at + INSTANCE_HEAD_BYTES
    if (offset === from) from += DEFINITION_HEAD_BYTES + u32(bytes, offset + 20)
    if (SLOT_BYTES > end - from) throw new ContentFault('the content ends inside of a template instance')
    const count = u32(bytes, from)
    const descriptors = from + SLOT_BYTES
    if (count > (end - descriptors) / SLOT_BYTES || count > MAX_SLOTS - this.#slots) {
      throw new ContentFault(`a template instance with ${count} values`)
    }
    const instance = this.instances++
    if (instance >= MAX_SLOTS) throw new ContentFault(`more than ${MAX_SLOTS} template instances`)
    const first = this.#slots
    this.#slots += count
    this.templates[instance] = template
    this.instanceSlot[instance] = -1
    if (template.hasNamesInSlots) this.hasNamesInSlots = true
    this.firstSlot[instance] = first
    this.slotCount[instance] = count
    const { slotType, slotStart, slotEnd, slotContent } = this
    let value = descriptors + count * SLOT_BYTES
    let nested = false
    for (let slot = first, descriptor = descriptors; slot < first + count; slot++, descriptor += SLOT_BYTES) {
      const type = bytes[descriptor + 2]
      slotType[slot] = type
      slotStart[slot] = value
      value += u16(bytes, descriptor)
      slotEnd[slot] = value
      slotContent[slot] = NO_CONTENT
      if (type === BINXML_TYPE) nested = true
      if (type >= ARRAY_FLAG) {
        this.hasArrays = true
        this.arraySlots.push(slot)
      }
    }
    if (value > end) throw new ContentFault(`the values of a template go ${value - end} bytes past their record`)
    const depth = nested ? this.#readNested(first, count) : 0
    this.#depth = template.depth + depth
    this.#checkDepth(this.#depth)
    this.#next = value
    return instance
  }

  /** Reads the slots that hold binary XML, and gives the depth of the deepest. */
  #readNested(first: number, count: number): number {
    if (++this.#fragmentDepth > this.#limits.maxFragmentDepth) {
      throw new ContentFault(`fragments nested deeper than ${this.#limits.maxFragmentDepth} (maxFragmentDepth)`)
    }
    let depth = 0
    for (let slot = first; slot < first + count; slot++) {
      if (this.slotType[slot] !== BINXML_TYPE || this.slotStart[slot] === this.slotEnd[slot]) continue
      const content = this.#readContent(this.slotStart[slot], this.slotEnd[slot])
      this.slotContent[slot] = content
      if (content > NO_CONTENT) this.instanceSlot[content] = slot
      if (this.#depth > depth) depth = this.#depth
    }
    this.#fragmentDepth--
    return depth
  }

  #checkDepth(depth: number): void {
    if (depth > this.#limits.maxElementDepth) {
      throw new ContentFault(`elements nested deeper than ${this.#limits.maxElementDepth} (maxElementDepth)`)
    }
  }

  #chunk(): Chunk {
    if (this.chunk === undefined) throw new Error('no record was read')
    return this.chunk
  }
}
