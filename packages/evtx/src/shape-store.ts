/**
 * Makes shapes and finds them again. A record's shape follows from its templates, where they stand in each other, and how
 * many items its arrays have; except when a value is a name, or when there is no template.
 */
import { findRepeat, repeatsOf, type Repeat } from './array-repeat.ts'
import { NO_CONTENT, type RecordContent } from './content.ts'
import type { EvtxLimits } from './limits.ts'
import {
  CDATA,
  CHARACTER,
  ELEMENT,
  ENTITY,
  entityText,
  INSTANCE,
  INSTRUCTION,
  LITERAL,
  SLOT,
  TEXT,
  type ElementNode,
  type Node,
  type SlotNode,
} from './nodes.ts'
import { BudgetSpent, type RenderBudget } from './render-budget.ts'
import { Shape, type FieldPlan, type FieldSource } from './shape.ts'
import type { Scalar, ValueReader } from './values.ts'

const NO_INSTANCE = -1
/** Above the slots of a record, so that a template and a slot make one number. */
const SLOT_SPACE = 65_536

interface ShapeNode {
  readonly next: Map<number, ShapeNode>
  shape: Shape | undefined
}

export class ShapeStore {
  readonly #limits: EvtxLimits
  readonly #values: ValueReader
  readonly #budget: RenderBudget
  #byTemplates: ShapeNode = { next: new Map(), shape: undefined }
  readonly #byFields = new Map<string, Shape>()
  #kept = 0
  #nextId = 0

  constructor(limits: EvtxLimits, values: ValueReader, budget: RenderBudget) {
    this.#limits = limits
    this.#values = values
    this.#budget = budget
  }

  /** Values that only this record has go into `ownValues`. Throws a `BudgetSpent`. */
  shapeOf(content: RecordContent, ownValues: Scalar[]): Shape {
    this.#makeRoom()
    if (content.hasNamesInSlots || content.fragments.length > 0) return this.#findByFields(content, ownValues)
    let node = this.#byTemplates
    for (let instance = 0; instance < content.instances; instance++) {
      node = this.#step(node, content.templates[instance].id * SLOT_SPACE + content.instanceSlot[instance] + 1)
    }
    if (content.hasArrays) {
      for (const slot of content.arraySlots) {
        node = this.#step(node, -1 - slot * SLOT_SPACE - content.items(slot).length)
      }
    }
    if (node.shape !== undefined) return node.shape
    const shape = new Shape(this.#nextId++, this.#collect(content, ownValues))
    node.shape = shape
    this.#count(shape)
    return shape
  }

  #step(node: ShapeNode, key: number): ShapeNode {
    let next = node.next.get(key)
    if (next === undefined) {
      next = { next: new Map(), shape: undefined }
      node.next.set(key, next)
      this.#kept++
    }
    return next
  }

  #findByFields(content: RecordContent, ownValues: Scalar[]): Shape {
    const plans = this.#collect(content, ownValues)
    let key = ''
    for (const { path, source, isEmptyText } of plans) {
      const from = source.kind === 'own' ? 'own' : JSON.stringify(source)
      key += `${path}\n${from}${isEmptyText ? '"' : ''}\n`
    }
    const known = this.#byFields.get(key)
    if (known !== undefined) return known
    const shape = new Shape(this.#nextId++, plans)
    this.#byFields.set(key, shape)
    this.#count(shape)
    return shape
  }

  #collect(content: RecordContent, ownValues: Scalar[]): readonly FieldPlan[] {
    return new FieldCollector(content, this.#values, this.#budget, ownValues, this.#limits.maxFields).collect()
  }

  #count({ plans }: Shape): void {
    let chars = 0
    for (const { path } of plans) chars += path.length
    // Paths as long as a page count as several fields.
    this.#kept += plans.length + Math.floor(chars / 64)
  }

  #makeRoom(): void {
    if (this.#kept <= this.#limits.maxKeptFields) return
    this.#byTemplates = { next: new Map(), shape: undefined }
    this.#byFields.clear()
    this.#kept = 0
  }
}

class FieldCollector {
  readonly #content: RecordContent
  readonly #values: ValueReader
  readonly #budget: RenderBudget
  readonly #ownValues: Scalar[]
  readonly #maxFields: number
  readonly #plans: FieldPlan[] = []
  #repeat: Repeat | undefined

  constructor(
    content: RecordContent,
    values: ValueReader,
    budget: RenderBudget,
    ownValues: Scalar[],
    maxFields: number,
  ) {
    this.#maxFields = maxFields
    this.#content = content
    this.#values = values
    this.#budget = budget
    this.#ownValues = ownValues
  }

  collect(): readonly FieldPlan[] {
    this.#what(this.#content.root, '', '', [])
    return this.#plans
  }

  /** Elements become fields; sources of text go into `sources`. */
  #what(what: number, path: string, parent: string, sources: FieldSource[]): boolean {
    return what > NO_CONTENT
      ? this.#nodes(this.#content.templates[what].nodes, what, path, parent, sources)
      : this.#nodes(this.#content.fragments[NO_CONTENT - 1 - what], NO_INSTANCE, path, parent, sources)
  }

  /** Says whether there was an element. */
  #nodes(nodes: readonly Node[], instance: number, path: string, parent: string, sources: FieldSource[]): boolean {
    let hasElements = false
    for (const node of nodes) {
      this.#budget.spend(1)
      switch (node.kind) {
        case ELEMENT:
          hasElements = true
          this.#elements(node, instance, path, parent)
          break
        case INSTANCE:
          if (this.#what(node.instance, path, parent, sources)) hasElements = true
          break
        case SLOT: {
          const slot = this.#content.slot(instance, node.index)
          const what = slot < 0 ? NO_CONTENT : this.#content.slotContent[slot]
          if (what !== NO_CONTENT) {
            if (this.#what(what, path, parent, sources)) hasElements = true
          } else {
            const repeat = findRepeat(this.#repeat, slot)
            sources.push(
              repeat !== undefined
                ? { kind: 'item', instance, index: node.index, item: repeat.item }
                : { kind: 'slot', instance, index: node.index, optional: node.optional },
            )
          }
          break
        }
        case INSTRUCTION:
          break
        default:
          sources.push(this.#text(node, instance))
      }
    }
    return hasElements
  }

  #text(node: Node, instance: number): FieldSource {
    const text = this.#literal(node)
    return instance === NO_INSTANCE ? this.#own(text) : { kind: 'constant', text }
  }

  #own(value: Scalar): FieldSource {
    if (typeof value === 'string') this.#budget.spend(value.length)
    this.#ownValues.push(value)
    return { kind: 'own', number: this.#ownValues.length - 1 }
  }

  #literal(node: Node): string {
    switch (node.kind) {
      case TEXT:
      case CDATA:
        return node.text
      case LITERAL:
        return this.#values.text(node.bytes, node.type, 0, node.bytes.length, 'bare')
      case CHARACTER:
        return String.fromCharCode(node.code)
      case ENTITY:
        return entityText(node.name) ?? `&${node.name};`
      default:
        return ''
    }
  }

  #elements(element: ElementNode, instance: number, path: string, parent: string): void {
    const content = this.#content
    const repeats = content.hasArrays ? repeatsOf(content, element, instance, this.#repeat, this.#budget) : undefined
    if (repeats === undefined) {
      this.#element(element, instance, path, parent)
      return
    }
    const outer = this.#repeat
    for (const repeat of repeats) {
      this.#repeat = repeat
      this.#element(element, instance, path, parent)
    }
    this.#repeat = outer
  }

  #element(element: ElementNode, instance: number, path: string, parent: string): void {
    const isData = element.name === 'Data' && (parent === 'EventData' || parent === 'UserData')
    let { name } = element
    if (isData) name = this.#dataName(element, instance) ?? name
    const inside = path === '' ? name : `${path}.${name}`
    this.#budget.spend(inside.length)
    if (!isData) this.#attributes(element, instance, inside)
    const sources: FieldSource[] = []
    const hasElements = this.#nodes(element.children, instance, inside, element.name, sources)
    if (sources.length > 0) this.#field(inside, name, sources, isData && !hasElements)
    else if (isData && !hasElements) this.#field(inside, name, [{ kind: 'constant', text: '' }], true)
  }

  #attributes(element: ElementNode, instance: number, inside: string): void {
    for (const { name, parts } of element.attributes) {
      // A declaration is no fact about the event.
      if (name === 'xmlns' || name.startsWith('xmlns:')) continue
      const sources: FieldSource[] = []
      this.#nodes(parts, instance, inside, '', sources)
      if (sources.length > 0) this.#field(`${inside}_attributes.${name}`, `${element.name}_${name}`, sources, false)
    }
  }

  /** Of `<Data Name="x">`. */
  #dataName(element: ElementNode, instance: number): string | undefined {
    const attribute = element.attributes.find(({ name }) => name === 'Name')
    if (attribute === undefined) return undefined
    let name = ''
    for (const part of attribute.parts)
      name += part.kind === SLOT ? this.#slotText(instance, part) : this.#literal(part)
    return name === '' ? undefined : name
  }

  #slotText(instance: number, { index }: SlotNode): string {
    const content = this.#content
    const slot = content.slot(instance, index)
    if (slot < 0 || content.chunk === undefined) return ''
    const { bytes } = content.chunk
    return this.#values.text(bytes, content.slotType[slot], content.slotStart[slot], content.slotEnd[slot], 'bare')
  }

  #field(path: string, key: string, sources: readonly FieldSource[], isEmptyText: boolean): void {
    if (this.#plans.length >= this.#maxFields) {
      throw new BudgetSpent(`the record has more than ${this.#maxFields} fields (maxFields)`)
    }
    const source: FieldSource = sources.length === 1 ? sources[0] : { kind: 'joined', parts: sources }
    const constant = source.kind === 'constant' && (source.text !== '' || isEmptyText) ? source.text : undefined
    this.#plans.push({ path, key, constant, source, isEmptyText })
  }
}
