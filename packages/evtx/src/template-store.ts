/**
 * Template definitions, parsed once and known again in every chunk.
 *
 * Each chunk has its own copy of a definition. Copies differ in the offsets of names, and a name stands inside of the
 * first definition of the chunk that uses it; so a copy is compared with what is known byte by byte except for references
 * to names, which must lead to the same names. A GUID alone proves nothing in a file that somebody may have written by
 * hand.
 */
import { parseFragment, type NameSource } from './binxml.ts'
import { u32 } from './integers.hot.ts'
import type { EvtxLimits } from './limits.ts'
import { areSameNodes, countSlots, hasNamesInSlots, type Node, type Template } from './nodes.ts'
import { ContentFault } from './problems.ts'

/** The next definition with the same hash, a GUID, the size of what follows. */
export const DEFINITION_HEAD_BYTES = 24
/** A definition differs from chunk to chunk in which names stand inside of it; more forms than these come from no writer. */
const MAX_ALIKE = 16
const GUID_AT = 4
const SIZE_AT = 20

interface KnownDefinition {
  readonly template: Template
  /** From the GUID on. */
  readonly bytes: Uint8Array
  /** Where names are referred to, from the GUID on, in rising order. */
  readonly references: readonly number[]
  readonly names: readonly string[]
  /** Whether the name stands behind its reference. */
  readonly isInline: readonly boolean[]
}

export class TemplateStore {
  readonly #limits: EvtxLimits
  /** By a hash of GUID and size; what is there must be compared. */
  readonly #known = new Map<number, KnownDefinition[]>()
  /** By the begin of the GUID, which is what records call a template by. */
  readonly #byNumber = new Map<number, Template[]>()
  #keptBytes = 0
  #nextId = 0

  constructor(limits: EvtxLimits) {
    this.#limits = limits
  }

  /**
   * The template defined at `offset` of a chunk. Throws a {@link ContentFault}. `charge` is told how many bytes will be
   * compared or parsed before they are.
   */
  read(chunk: NameSource, offset: number, charge: (bytes: number) => void): Template {
    const { bytes } = chunk
    const size = u32(bytes, offset + SIZE_AT)
    const start = offset + DEFINITION_HEAD_BYTES
    if (size > bytes.length - start) throw new ContentFault(`a template of ${size} bytes goes past the chunk`)
    const key = (u32(bytes, offset + GUID_AT) ^ Math.imul(u32(bytes, offset + GUID_AT + 12), 31) ^ size) >>> 0
    charge(size)
    const candidates = this.#known.get(key)
    if (candidates !== undefined) {
      for (const known of candidates) if (isSame(known, chunk, offset, size)) return known.template
    }
    return this.#parse(chunk, offset, start + size, key)
  }

  /** The template that some chunk defined under that number, for records whose own definition was overwritten. */
  find(number: number): Template | undefined {
    return this.#byNumber.get(number)?.[0]
  }

  /** One template in two forms, which differ in where its names stand. */
  #sameAsBefore(number: number, nodes: readonly Node[]): Template | undefined {
    return this.#byNumber.get(number)?.find((template) => areSameNodes(template.nodes, nodes))
  }

  #remember(number: number, template: Template): void {
    const others = this.#byNumber.get(number)
    if (others === undefined) this.#byNumber.set(number, [template])
    else if (!others.includes(template) && others.push(template) > MAX_ALIKE) others.shift()
  }

  #parse(chunk: NameSource, offset: number, end: number, key: number): Template {
    const start = offset + DEFINITION_HEAD_BYTES
    const references: number[] = []
    const options = { instances: undefined, maxDepth: this.#limits.maxElementDepth, nameReferences: references }
    const { nodes, depth } = parseFragment(chunk, start, end, { ...options, dependencyIds: true })
    const from = offset + GUID_AT
    const number = u32(chunk.bytes, from)
    this.#keptBytes += end - from
    if (this.#keptBytes > this.#limits.maxKeptTemplateBytes) {
      this.#known.clear()
      this.#byNumber.clear()
      this.#keptBytes = end - from
    }
    const template = this.#sameAsBefore(number, nodes) ?? {
      id: this.#nextId++,
      nodes,
      depth,
      hasNamesInSlots: hasNamesInSlots(nodes),
      slotCount: countSlots(nodes),
    }
    const known: KnownDefinition = {
      template,
      bytes: chunk.bytes.slice(from, end),
      references: references.map((at) => at - from),
      names: references.map((at) => chunk.name(u32(chunk.bytes, at))),
      isInline: references.map((at) => u32(chunk.bytes, at) === at + 4),
    }
    const others = this.#known.get(key)
    if (others === undefined) this.#known.set(key, [known])
    else if (others.push(known) > MAX_ALIKE) others.shift()
    this.#remember(number, template)
    return template
  }
}

function isSame(known: KnownDefinition, chunk: NameSource, offset: number, size: number): boolean {
  const { bytes: expected, references, names, isInline } = known
  const { bytes } = chunk
  const from = offset + GUID_AT
  if (expected.length !== size + DEFINITION_HEAD_BYTES - GUID_AT) return false
  let at = 0
  for (let i = 0; i < references.length; i++) {
    const reference = references[i]
    for (; at < reference; at++) if (bytes[from + at] !== expected[at]) return false
    const name = u32(bytes, from + reference)
    if (isInline[i]) {
      if (name !== from + reference + 4) return false
      // The next name with the same hash is another in each chunk.
      at = reference + 8
    } else {
      if (name === from + reference + 4 || chunk.name(name) !== names[i]) return false
      at = reference + 4
    }
  }
  for (; at < expected.length; at++) if (bytes[from + at] !== expected[at]) return false
  return true
}
