/** The fields of one record without its XML: what an engine reads that asks for few of them, of many records. */
import type { RecordContent } from './content.ts'
import type { RenderBudget } from './render-budget.ts'
import { NOT_A_PLAIN_SLOT, Shape, type FieldSource, type ItemSource } from './shape.ts'
import { ARRAY_FLAG, NULL_TYPE, STRING_TYPE } from './value-types.ts'
import { isEmptyValue, type Scalar, type ValueReader } from './values.ts'

/**
 * Fields by their number in {@link FieldRow.shape}. Values are decoded when asked for and not kept. A row belongs to its
 * decoder and shows the record that was read last. Of a record that says one long value again and again, what goes beyond
 * `maxRenderedUnits` is as if it were absent, and counted.
 */
export class FieldRow {
  shape: Shape
  readonly #values: ValueReader
  readonly #content: RecordContent
  readonly #ownValues: readonly Scalar[]
  readonly #budget: RenderBudget
  /** Called when reading has cost more than `maxRenderedUnits`. */
  readonly #onSpent: () => void

  /** @internal */
  constructor(
    content: RecordContent,
    ownValues: readonly Scalar[],
    values: ValueReader,
    budget: RenderBudget,
    onSpent: () => void,
  ) {
    this.shape = new Shape(-1, [])
    this.#budget = budget
    this.#onSpent = onSpent
    this.#content = content
    this.#ownValues = ownValues
    this.#values = values
  }

  get length(): number {
    return this.shape.plans.length
  }

  /** The value as text, or undefined when the record has none there, or when `field` is -1. */
  text(field: number): string | undefined {
    const value = this.scalar(field)
    return value === undefined || typeof value === 'string' ? value : String(value)
  }

  /** The value: integers and booleans as such, all else as text. As `text`, undefined when there is none. */
  scalar(field: number): Scalar | undefined {
    const { shape } = this
    if (field < 0) return undefined
    const instance = shape.slotInstance[field]
    if (instance === NOT_A_PLAIN_SLOT) {
      const plan = shape.plans[field]
      const value = this.#read(plan.source)
      return value === undefined || value === '' ? (plan.isEmptyText ? '' : undefined) : value
    }
    const content = this.#content
    const slot = content.slot(instance, shape.slotIndex[field])
    if (slot >= 0) {
      const value = this.#readValue(content.slotType[slot], content.slotStart[slot], content.slotEnd[slot])
      if (value !== undefined && value !== '') return value
    }
    const { source, isEmptyText } = shape.plans[field]
    const isAbsent = source.kind === 'slot' && source.optional && this.#isNull(instance, source.index)
    return isEmptyText && !isAbsent ? '' : undefined
  }

  /**
   * Where the UTF-16LE text of a field is in {@link FieldRow.bytes}, as `start * 65,536 + end`; -1 for a field that is not
   * one string as it stands. For engines that look at the bytes before they want a string.
   */
  utf16Range(field: number): number {
    if (field < 0) return -1
    const instance = this.shape.slotInstance[field]
    if (instance === NOT_A_PLAIN_SLOT) return -1
    const content = this.#content
    const slot = content.slot(instance, this.shape.slotIndex[field])
    if (slot < 0 || content.slotType[slot] !== STRING_TYPE) return -1
    const { bytes } = this
    const start = content.slotStart[slot]
    let end = start + ((content.slotEnd[slot] - start) & ~1)
    while (end > start && bytes[end - 1] === 0 && bytes[end - 2] === 0) end -= 2
    return start * 65_536 + end
  }

  /** The chunk that the record is in; at most 64 KiB. */
  get bytes(): Uint8Array {
    const { chunk } = this.#content
    if (chunk === undefined) throw new Error('no record was read')
    return chunk.bytes
  }

  #read(source: FieldSource): Scalar | undefined {
    switch (source.kind) {
      case 'constant':
        return source.text
      case 'own':
        return this.#ownValues[source.number]
      case 'slot':
        return this.#readSlot(source.instance, source.index)
      case 'item':
        return this.#readItem(source)
      case 'joined': {
        let text: string | undefined
        for (const part of source.parts) {
          const value = this.#read(part)
          if (value !== undefined) text = (text ?? '') + String(value)
        }
        return text
      }
    }
  }

  #readItem({ instance, index, item }: ItemSource): Scalar | undefined {
    const content = this.#content
    const slot = content.slot(instance, index)
    if (slot < 0) return undefined
    const items = content.items(slot)
    if (item * 2 >= items.length) return undefined
    return this.#readValue(content.slotType[slot] & ~ARRAY_FLAG, items[item * 2], items[item * 2 + 1])
  }

  #isNull(instance: number, index: number): boolean {
    const slot = this.#content.slot(instance, index)
    return slot < 0 || this.#content.slotType[slot] === NULL_TYPE
  }

  #readSlot(instance: number, index: number): Scalar | undefined {
    const content = this.#content
    const slot = content.slot(instance, index)
    if (slot < 0) return undefined
    return this.#readValue(content.slotType[slot], content.slotStart[slot], content.slotEnd[slot])
  }

  #readValue(type: number, start: number, end: number): Scalar | undefined {
    const { bytes } = this
    if (!this.#budget.trySpend(end - start)) {
      this.#onSpent()
      return undefined
    }
    if (type === STRING_TYPE) return this.#values.utf16(bytes, start, end)
    if (isEmptyValue(bytes, type, start, end)) return undefined
    return this.#values.scalar(bytes, type, start, end)
  }
}
