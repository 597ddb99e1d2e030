/** Which fields a record has and where their values are. Records of the same templates share one shape. */

/** Text that is the same for all records of the shape; or undefined, when each record has its own. */
export interface Field {
  /** Names from the outside in, attributes as in `Event.System.Provider_attributes.Name`. Not always unique. */
  readonly path: string
  /** The last name, as Sigma rules use it: `CommandLine`, `EventID`, `Provider_Name`. */
  readonly key: string
  readonly constant: string | undefined
}

/** The value in a slot. */
export interface SlotSource {
  readonly kind: 'slot'
  readonly instance: number
  readonly index: number
  readonly optional: boolean
}

/** An item of the array in a slot. */
export interface ItemSource {
  readonly kind: 'item'
  readonly instance: number
  readonly index: number
  readonly item: number
}

/** A value that was read when the shape was looked for: text of a record without a template. */
export interface OwnSource {
  readonly kind: 'own'
  readonly number: number
}

export interface ConstantSource {
  readonly kind: 'constant'
  readonly text: string
}

export interface JoinedSource {
  readonly kind: 'joined'
  readonly parts: readonly FieldSource[]
}

export type FieldSource = SlotSource | ItemSource | OwnSource | ConstantSource | JoinedSource

export interface FieldPlan extends Field {
  readonly source: FieldSource
  /** `<Data>` without characters is the empty text; other elements and attributes are absent. */
  readonly isEmptyText: boolean
}

/** Numbers in {@link Shape.slotInstance}. */
export const NOT_A_PLAIN_SLOT = -1

export class Shape {
  /** Never given twice by a decoder; good as an index into tables of one's own. */
  readonly id: number
  readonly fields: readonly Field[]
  /** @internal */ readonly plans: readonly FieldPlan[]
  /** @internal Instance of fields that are a whole slot, for the fast way to them. */
  readonly slotInstance: Int32Array
  /** @internal */ readonly slotIndex: Int32Array

  constructor(id: number, plans: readonly FieldPlan[]) {
    this.id = id
    this.fields = plans
    this.plans = plans
    this.slotInstance = new Int32Array(plans.length).fill(NOT_A_PLAIN_SLOT)
    this.slotIndex = new Int32Array(plans.length)
    plans.forEach(({ source }, i) => {
      if (source.kind !== 'slot') return
      this.slotInstance[i] = source.instance
      this.slotIndex[i] = source.index
    })
  }

  /** The first field of that path, or -1. Keep it with the shape: this is a search. */
  indexOf(path: string): number {
    return this.fields.findIndex((field) => field.path === path)
  }
}
