/** A fragment of binary XML as a tree. Trees of templates live as long as the decoder and are never changed. */

export const ELEMENT = 0
export const TEXT = 1
export const CDATA = 2
/** A value of another type than text, written into the fragment itself. */
export const LITERAL = 3
export const SLOT = 4
export const CHARACTER = 5
export const ENTITY = 6
export const INSTRUCTION = 7
/** A template with its values. Not in templates themselves. */
export const INSTANCE = 8

export interface ElementNode {
  readonly kind: typeof ELEMENT
  readonly name: string
  readonly attributes: readonly AttributeNode[]
  readonly children: readonly Node[]
  /** Slots that stand in the element itself, in an attribute or between its children. */
  readonly slots: readonly SlotNode[]
  /** Of elements in templates whose members in an object are known beforehand; made when it is first wanted. @internal */
  layout: ObjectLayout | 'later' | 'none'
}

/** What an element is as an object, as far as its template says. */
export interface ObjectLayout {
  /** By child; undefined for slots. */
  readonly names: readonly (string | undefined)[]
  /** By child: the index of the slot that is all of its content, or -1. Such a child has no attributes that count. */
  readonly leaves: Int32Array
  /** By child: whether it is a Data that is named by its attribute, whose nothing is an empty text. */
  readonly areData: readonly boolean[]
  /** Has all names, in their order. */
  readonly empty: { readonly [name: string]: null }
}

export interface AttributeNode {
  readonly name: string
  readonly parts: readonly Node[]
}

export interface TextNode {
  readonly kind: typeof TEXT | typeof CDATA
  readonly text: string
}

export interface LiteralNode {
  readonly kind: typeof LITERAL
  readonly type: number
  readonly bytes: Uint8Array
}

export interface SlotNode {
  readonly kind: typeof SLOT
  readonly index: number
  /** Without a value, the element or attribute around it is left out. */
  readonly optional: boolean
}

export interface CharacterNode {
  readonly kind: typeof CHARACTER
  readonly code: number
}

export interface EntityNode {
  readonly kind: typeof ENTITY
  readonly name: string
}

export interface InstructionNode {
  readonly kind: typeof INSTRUCTION
  readonly target: string
  readonly data: string
}

export interface InstanceNode {
  readonly kind: typeof INSTANCE
  /** Its number among the instances of the record. */
  readonly instance: number
}

export type Node =
  | ElementNode
  | TextNode
  | LiteralNode
  | SlotNode
  | CharacterNode
  | EntityNode
  | InstructionNode
  | InstanceNode

/** A definition that records of all chunks refer to. */
export interface Template {
  /** Never given twice by a decoder. */
  readonly id: number
  readonly nodes: readonly Node[]
  /** Elements inside each other. */
  readonly depth: number
  /** A `<Data>` is named by a value, so that the names of fields differ from record to record. */
  readonly hasNamesInSlots: boolean
  /** One more than the highest index of a slot. */
  readonly slotCount: number
}

/** Whether some `<Data>` takes its name from a value. */
export function hasNamesInSlots(nodes: readonly Node[]): boolean {
  return nodes.some(
    (node) =>
      node.kind === ELEMENT &&
      ((node.name === 'Data' &&
        node.attributes.some(({ name, parts }) => name === 'Name' && parts.some(({ kind }) => kind === SLOT))) ||
        hasNamesInSlots(node.children)),
  )
}

/** Whether an element's children named Data are named by their attribute. */
export function isDataContainer(name: string): boolean {
  return name === 'EventData' || name === 'UserData'
}

/**
 * The layout of an element all of whose children are slots, and elements that have different names or, in a container,
 * are data of different names. Undefined for all others.
 */
export function objectLayout({ name, children }: ElementNode): ObjectLayout | undefined {
  const names: (string | undefined)[] = []
  const areData: boolean[] = []
  const leaves = new Int32Array(children.length).fill(-1)
  const empty: { [name: string]: null } = {}
  for (const child of children) {
    if (child.kind === SLOT) {
      names.push(undefined)
      areData.push(false)
      continue
    }
    if (child.kind !== ELEMENT) return undefined
    const isData = isDataContainer(name) && child.name === 'Data'
    const member = isData ? literalName(child) : child.name
    if (member === undefined || member === '__proto__' || Object.hasOwn(empty, member)) return undefined
    const [content] = child.children
    if (child.children.length === 1 && content.kind === SLOT && (isData || child.attributes.length === 0)) {
      leaves[names.length] = content.index
    }
    names.push(member)
    areData.push(isData)
    // oxlint-disable-next-line unicorn/no-null -- as in JSON
    empty[member] = null
  }
  if (Object.keys(empty).length === 0) return undefined
  // An object that grew member by member is a hash table in V8, and so are its copies; one from JSON is not.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is what went in
  const copied = JSON.parse(JSON.stringify(empty)) as ObjectLayout['empty']
  return { names, leaves, areData, empty: copied }
}

function literalName({ attributes }: ElementNode): string | undefined {
  const parts = attributes.find(({ name }) => name === 'Name')?.parts
  return parts?.length === 1 && parts[0].kind === TEXT && parts[0].text !== '' ? parts[0].text : undefined
}

export function countSlots(nodes: readonly Node[]): number {
  let count = 0
  for (const node of nodes) {
    if (node.kind === SLOT) count = Math.max(count, node.index + 1)
    if (node.kind !== ELEMENT) continue
    for (const { parts } of node.attributes) count = Math.max(count, countSlots(parts))
    count = Math.max(count, countSlots(node.children))
  }
  return count
}

export function areSameNodes(some: readonly Node[], others: readonly Node[]): boolean {
  return some.length === others.length && some.every((node, i) => isSameNode(node, others[i]))
}

function isSameNode(some: Node, other: Node): boolean {
  switch (some.kind) {
    case ELEMENT:
      return (
        other.kind === ELEMENT &&
        other.name === some.name &&
        other.attributes.length === some.attributes.length &&
        some.attributes.every(
          ({ name, parts }, i) => name === other.attributes[i].name && areSameNodes(parts, other.attributes[i].parts),
        ) &&
        areSameNodes(some.children, other.children)
      )
    case TEXT:
    case CDATA:
      return other.kind === some.kind && other.text === some.text
    case LITERAL:
      return (
        other.kind === LITERAL &&
        other.type === some.type &&
        other.bytes.length === some.bytes.length &&
        some.bytes.every((byte, i) => byte === other.bytes[i])
      )
    case SLOT:
      return other.kind === SLOT && other.index === some.index && other.optional === some.optional
    case CHARACTER:
      return other.kind === CHARACTER && other.code === some.code
    case ENTITY:
      return other.kind === ENTITY && other.name === some.name
    case INSTRUCTION:
      return other.kind === INSTRUCTION && other.target === some.target && other.data === some.data
    case INSTANCE:
      return other.kind === INSTANCE && other.instance === some.instance
  }
}

/** What the five names of XML stand for; others are not defined in an event. */
export function entityText(name: string): string | undefined {
  switch (name) {
    case 'amp':
      return '&'
    case 'lt':
      return '<'
    case 'gt':
      return '>'
    case 'quot':
      return '"'
    case 'apos':
      return "'"
    default:
      return undefined
  }
}
