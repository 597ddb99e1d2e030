/**
 * Records as objects of the shape that `evtx_dump -o json` gives and that Sigma tools expect: elements are members, a leaf
 * is its value, `<Data Name="x">` in EventData and UserData is a member `x`.
 */
import { findRepeat, repeatsOf, type Repeat } from './array-repeat.ts'
import { NO_CONTENT, type RecordContent } from './content.ts'
import {
  CDATA,
  CHARACTER,
  ELEMENT,
  ENTITY,
  entityText,
  INSTANCE,
  INSTRUCTION,
  isDataContainer,
  LITERAL,
  objectLayout,
  SLOT,
  TEXT,
  type AttributeNode,
  type ElementNode,
  type Node,
  type ObjectLayout,
} from './nodes.ts'
import type { RenderBudget } from './render-budget.ts'
import { ARRAY_FLAG, STRING_TYPE } from './value-types.ts'
import { isEmptyValue, type Scalar, type ValueReader } from './values.ts'

/** `null` is an element without content, as in JSON. */
export type EventValue = Scalar | null | EventObject | readonly EventValue[]
export interface EventObject {
  readonly [member: string]: EventValue
}

/**
 * `nested`: attributes are a member `#attributes` of their element, beside its `#text`. `separate`: attributes of `X` are a
 * member `X_attributes` beside it.
 */
export type AttributeLayout = 'nested' | 'separate'

interface Members {
  [member: string]: EventValue
}

/** What is between the tags of an element. */
interface Body {
  scalar: Scalar | undefined
  members: Members | undefined
}

const NO_INSTANCE = -1

export class ObjectWriter {
  readonly #values: ValueReader
  readonly #budget: RenderBudget
  #attributes: AttributeLayout = 'nested'
  #repeat: Repeat | undefined
  #hasBigInt = false

  constructor(values: ValueReader, budget: RenderBudget) {
    this.#values = values
    this.#budget = budget
  }

  /** Whether the last object holds a bigint, which `JSON.stringify` refuses. */
  get hasBigInt(): boolean {
    return this.#hasBigInt
  }

  /** Throws a `BudgetSpent`. */
  write(content: RecordContent, attributes: AttributeLayout): EventObject {
    this.#attributes = attributes
    this.#repeat = undefined
    this.#hasBigInt = false
    const members: Members = {}
    this.#children(content, rootNodes(content), content.root > NO_CONTENT ? content.root : NO_INSTANCE, {
      into: { scalar: undefined, members },
      isContainer: false,
      isSeparate: attributes === 'separate',
      counts: undefined,
    })
    return members
  }

  #children(content: RecordContent, nodes: readonly Node[], instance: number, target: Target): void {
    for (const node of nodes) {
      this.#budget.spend(1)
      switch (node.kind) {
        case ELEMENT: {
          const repeats =
            node.slots.length === 0 || !content.hasArrays
              ? undefined
              : repeatsOf(content, node, instance, this.#repeat, this.#budget)
          if (repeats === undefined) {
            this.#element(content, node, instance, target)
            break
          }
          const outer = this.#repeat
          for (const repeat of repeats) {
            this.#repeat = repeat
            this.#element(content, node, instance, target)
          }
          this.#repeat = outer
          break
        }
        case SLOT: {
          const slot = content.slot(instance, node.index)
          if (slot < 0) break
          const what = content.slotContent[slot]
          if (what > NO_CONTENT) this.#children(content, content.templates[what].nodes, what, target)
          else if (what < NO_CONTENT) this.#children(content, fragmentNodes(content, what), NO_INSTANCE, target)
          else this.#add(target.into, this.#slotScalar(content, slot))
          break
        }
        case INSTANCE:
          this.#children(content, content.templates[node.instance].nodes, node.instance, target)
          break
        case INSTRUCTION:
          break
        default:
          this.#add(target.into, this.#literal(node))
      }
    }
  }

  /** Text beside text is one text; a single value keeps its type. */
  #add(body: Body, scalar: Scalar | undefined): void {
    if (scalar === undefined || scalar === '') return
    body.scalar = body.scalar === undefined ? scalar : String(body.scalar) + String(scalar)
  }

  #literal(node: Node): Scalar | undefined {
    switch (node.kind) {
      case TEXT:
      case CDATA:
        this.#budget.spend(node.text.length)
        return node.text
      case LITERAL:
        return this.#note(this.#values.scalar(node.bytes, node.type, 0, node.bytes.length))
      case CHARACTER:
        return String.fromCharCode(node.code)
      case ENTITY:
        return entityText(node.name) ?? `&${node.name};`
      default:
        return undefined
    }
  }

  #slotScalar(content: RecordContent, slot: number): Scalar | undefined {
    const bytes = chunkBytes(content)
    const type = content.slotType[slot]
    const start = content.slotStart[slot]
    const end = content.slotEnd[slot]
    this.#budget.spend(end - start)
    if (type === STRING_TYPE) return this.#values.utf16(bytes, start, end)
    const repeat = this.#repeat === undefined ? undefined : findRepeat(this.#repeat, slot)
    if (repeat !== undefined) {
      return this.#note(this.#values.scalar(bytes, type & ~ARRAY_FLAG, repeat.start, repeat.end))
    }
    if (isEmptyValue(bytes, type, start, end)) return undefined
    const scalar = this.#values.scalar(bytes, type, start, end)
    if (typeof scalar === 'bigint') this.#hasBigInt = true
    return scalar
  }

  #note(scalar: Scalar): Scalar {
    if (typeof scalar === 'string') this.#budget.spend(scalar.length)
    else if (typeof scalar === 'bigint') this.#hasBigInt = true
    return scalar
  }

  #element(content: RecordContent, element: ElementNode, instance: number, target: Target): void {
    const { name } = element
    if (target.isContainer && name === 'Data') {
      this.#data(content, element, instance, target)
      return
    }
    if (this.#attributes === 'nested') {
      put(membersOf(target.into), freeName(target, name), this.#nested(content, element, instance))
      return
    }
    const attributes = this.#attributesOf(content, element.attributes, instance)
    const { scalar, members } = this.#body(content, element, instance, isDataContainer(name))
    const key = freeName(target, name)
    const into = membersOf(target.into)
    if (attributes !== undefined) put(into, `${key}_attributes`, attributes)
    if (attributes === undefined || scalar !== undefined || members !== undefined) {
      put(into, key, value(scalar, members))
    }
  }

  /** The value of an element, its attributes within. */
  #nested(content: RecordContent, element: ElementNode, instance: number): EventValue {
    const { name } = element
    const attributes =
      element.attributes.length === 0 ? undefined : this.#attributesOf(content, element.attributes, instance)
    if (attributes === undefined && !content.hasArrays && element.layout !== 'none') {
      if (element.layout === 'later') element.layout = objectLayout(element) ?? 'none'
      if (element.layout !== 'none') return this.#laidOut(content, element, element.layout, instance)
    }
    const { scalar, members } = this.#body(content, element, instance, isDataContainer(name))
    if (attributes === undefined) return value(scalar, members)
    const all: Members = { '#attributes': attributes }
    if (scalar !== undefined) all['#text'] = scalar
    if (members !== undefined) for (const member of Object.keys(members)) put(all, member, members[member])
    return all
  }

  /**
   * An object whose members are known: a copy of the empty one has them in place.
   *
   * PERF: bench `evtx`, node 20, best moments of a busy machine, 2026-11-30: 61,000 records a second with copies of an
   * object that had grown member by member, 92,000 with copies of one from JSON.
   */
  #laidOut(content: RecordContent, element: ElementNode, layout: ObjectLayout, instance: number): EventValue {
    const { children } = element
    const { names, leaves, areData } = layout
    const members: Members = { ...layout.empty }
    let target: Target | undefined
    this.#budget.spend(children.length)
    for (let i = 0; i < children.length; i++) {
      const name = names[i]
      const slot = leaves[i] < 0 ? -1 : content.slot(instance, leaves[i])
      if (name !== undefined && slot >= 0 && content.slotContent[slot] === NO_CONTENT) {
        const scalar = this.#slotScalar(content, slot)
        if (scalar !== undefined && scalar !== '') members[name] = scalar
        else if (areData[i]) members[name] = ''
        continue
      }
      const child = children[i]
      if (child.kind === ELEMENT && name !== undefined) {
        members[name] = areData[i] ? this.#dataValue(content, child, instance) : this.#nested(content, child, instance)
      } else {
        const isContainer = isDataContainer(element.name)
        target ??= { into: { scalar: undefined, members }, isContainer, isSeparate: false, counts: undefined }
        this.#children(content, [child], instance, target)
      }
    }
    return target === undefined ? members : value(target.into.scalar, members)
  }

  #body(content: RecordContent, element: ElementNode, instance: number, isContainer: boolean): Body {
    const body: Body = { scalar: undefined, members: undefined }
    const { children } = element
    // What nearly every element is: one value.
    if (children.length === 1 && children[0].kind === SLOT) {
      const slot = content.slot(instance, children[0].index)
      if (slot >= 0 && content.slotContent[slot] === NO_CONTENT) {
        this.#budget.spend(1)
        this.#add(body, this.#slotScalar(content, slot))
        return body
      }
    }
    if (children.length > 0) {
      this.#children(content, children, instance, {
        into: body,
        isContainer,
        isSeparate: this.#attributes === 'separate',
        counts: undefined,
      })
    }
    return body
  }

  /** Named data are members of their own. Those without a name are a list, or the one that there is. */
  #data(content: RecordContent, element: ElementNode, instance: number, target: Target): void {
    const into = membersOf(target.into)
    const data = this.#dataValue(content, element, instance)
    const nameAttribute = element.attributes.find(({ name }) => name === 'Name')
    const name = nameAttribute === undefined ? undefined : this.#attribute(content, nameAttribute, instance)
    if (name !== undefined) {
      put(into, freeName(target, String(name)), data)
      return
    }
    if (target.unnamed === undefined) {
      target.unnamed = { '#text': data }
      put(into, freeName(target, 'Data'), target.unnamed)
    } else if (target.list === undefined) {
      target.list = [target.unnamed['#text'], data]
      target.unnamed['#text'] = target.list
    } else {
      target.list.push(data)
    }
  }

  #dataValue(content: RecordContent, element: ElementNode, instance: number): EventValue {
    const { scalar, members } = this.#body(content, element, instance, false)
    return scalar === undefined && members === undefined ? '' : value(scalar, members)
  }

  /** Those that have a value, or undefined when none has. */
  #attributesOf(content: RecordContent, attributes: readonly AttributeNode[], instance: number): Members | undefined {
    let members: Members | undefined
    for (const attribute of attributes) {
      const scalar = this.#attribute(content, attribute, instance)
      if (scalar === undefined) continue
      members ??= {}
      put(members, attribute.name, scalar)
    }
    return members
  }

  #attribute(content: RecordContent, { parts }: AttributeNode, instance: number): Scalar | undefined {
    const body: Body = { scalar: undefined, members: undefined }
    for (const part of parts) {
      this.#budget.spend(1)
      if (part.kind === SLOT) {
        const slot = content.slot(instance, part.index)
        if (slot >= 0) this.#add(body, this.#slotScalar(content, slot))
      } else {
        this.#add(body, this.#literal(part))
      }
    }
    return body.scalar
  }
}

/** Where the members of an element go. */
interface Target {
  readonly into: Body
  /** EventData and UserData, in which Data is not a member of that name. */
  readonly isContainer: boolean
  /** Attributes have members of their own. */
  readonly isSeparate: boolean
  /** How often a name was given out, for names that came twice. */
  counts: Map<string, number> | undefined
  /** The member of all Data without a name, and its list when there are more than one. */
  unnamed?: Members
  list?: EventValue[]
}

function rootNodes(content: RecordContent): readonly Node[] {
  return content.root > NO_CONTENT ? content.templates[content.root].nodes : fragmentNodes(content, content.root)
}

function fragmentNodes(content: RecordContent, what: number): readonly Node[] {
  return content.fragments[NO_CONTENT - 1 - what]
}

function chunkBytes(content: RecordContent): Uint8Array {
  if (content.chunk === undefined) throw new Error('no record was read')
  return content.chunk.bytes
}

function membersOf(body: Body): Members {
  body.members ??= {}
  return body.members
}

function value(scalar: Scalar | undefined, members: Members | undefined): EventValue {
  // oxlint-disable-next-line unicorn/no-null
  if (members === undefined) return scalar ?? null
  if (scalar !== undefined) members['#text'] = scalar
  return members
}

/** A name that comes again gets `_1`, `_2`. */
function freeName(target: Target, name: string): string {
  const members = membersOf(target.into)
  if (!Object.hasOwn(members, name) && !(target.isSeparate && Object.hasOwn(members, `${name}_attributes`))) return name
  target.counts ??= new Map()
  let count = target.counts.get(name) ?? 0
  let next: string
  do next = `${name}_${++count}`
  while (Object.hasOwn(members, next) || (target.isSeparate && Object.hasOwn(members, `${next}_attributes`)))
  target.counts.set(name, count)
  return next
}

/** A member called `__proto__` is a member like any other. */
function put(members: Members, name: string, member: EventValue): void {
  if (name !== '__proto__') members[name] = member
  else Object.defineProperty(members, name, { value: member, enumerable: true, writable: true, configurable: true })
}

/** JSON text, with integers beyond 2^53 digit by digit. */
export function stringifyEvent(event: EventValue): string {
  if (typeof event === 'bigint') return String(event)
  if (typeof event !== 'object' || event === null) return JSON.stringify(event)
  if (isList(event)) return `[${event.map(stringifyEvent).join(',')}]`
  return `{${Object.keys(event)
    .map((name) => `${JSON.stringify(name)}:${stringifyEvent(event[name])}`)
    .join(',')}}`
}

function isList(event: EventObject | readonly EventValue[]): event is readonly EventValue[] {
  return Array.isArray(event)
}
