/** Arrays repeat the element that they stand in, [MS-EVEN6] §3.1.4.7.5. */
import type { RecordContent } from './content.ts'
import type { ElementNode } from './nodes.ts'
import type { RenderBudget } from './render-budget.ts'
import { ARRAY_FLAG } from './value-types.ts'

/** One item in place of the array in a slot, while the element around it is written. */
export interface Repeat {
  readonly slot: number
  /** Its number in the array. */
  readonly item: number
  readonly start: number
  readonly end: number
  /** The one that this one stands inside of. */
  readonly outer: Repeat | undefined
}

/** The item that stands for the array in a slot just now. */
export function findRepeat(repeat: Repeat | undefined, slot: number): Repeat | undefined {
  let found = repeat
  while (found !== undefined && found.slot !== slot) found = found.outer
  return found
}

/**
 * The items that an element is written for, one time each; undefined when it is written once as it is. The first array of
 * more than one item counts; others in the same element are values with commas.
 */
export function repeatsOf(
  content: RecordContent,
  element: ElementNode,
  instance: number,
  outer: Repeat | undefined,
  budget: RenderBudget,
): Repeat[] | undefined {
  for (const { index } of element.slots) {
    const slot = content.slot(instance, index)
    if (slot < 0 || content.slotType[slot] < ARRAY_FLAG || findRepeat(outer, slot) !== undefined) continue
    const items = content.items(slot)
    if (items.length <= 2) continue
    budget.spend(items.length)
    const repeats: Repeat[] = []
    for (let i = 0; i < items.length; i += 2)
      repeats.push({ slot, item: i / 2, start: items[i], end: items[i + 1], outer })
    return repeats
  }
  return undefined
}
