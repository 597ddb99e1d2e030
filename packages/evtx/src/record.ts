/** One record, and the ways to look at it. */
import type { Chunk } from './chunk.ts'
import { RecordContent } from './content.ts'
import { FieldRow } from './field-row.ts'
import { u32 } from './integers.hot.ts'
import type { EvtxLimits } from './limits.ts'
import { ContentFault, type EvtxReport } from './problems.ts'
import { BudgetSpent, RenderBudget } from './render-budget.ts'
import { ObjectWriter, stringifyEvent, type AttributeLayout, type EventObject } from './render-object.ts'
import { XmlWriter, type XmlLayout } from './render-xml.ts'
import { ShapeStore } from './shape-store.ts'
import { EPOCH_MS, filetimeMs, filetimeTicks } from './times.ts'
import { ValueReader, type Scalar } from './values.ts'

/** Magic, size, number, time. Content follows, and the size again. */
export const RECORD_HEADER_BYTES = 24
export const RECORD_TAIL_BYTES = 4
export const SMALLEST_RECORD_BYTES: number = RECORD_HEADER_BYTES + RECORD_TAIL_BYTES

/**
 * The record that was read last: an iteration gives the same object again and again, so keep what you read from it and not
 * the record. Methods give undefined for a record that renders to more than `maxRenderedUnits`, which is counted.
 */
export class EvtxRecord {
  /** The record's number in its log, exact below 2^53. */
  id = 0
  /** Of the record, in bytes from the begin of the file. */
  offset = 0
  /** Of the record with its header. */
  size = 0
  /** The halves of the FILETIME at which it was written. */
  timeLow = 0
  timeHigh = 0
  /** Found in space that its chunk no longer counts as its own. */
  isRecovered = false

  readonly #report: EvtxReport
  readonly #values: ValueReader
  readonly #content: RecordContent
  readonly #budget: RenderBudget
  readonly #xml: XmlWriter
  readonly #objects: ObjectWriter
  readonly #shapes: ShapeStore
  readonly #row: FieldRow
  readonly #ownValues: Scalar[] = []
  #isSpentCounted = false

  /** @internal */
  constructor(limits: EvtxLimits, report: EvtxReport) {
    const values = new ValueReader()
    this.#values = values
    this.#report = report
    this.#content = new RecordContent(limits)
    this.#budget = new RenderBudget(limits)
    this.#xml = new XmlWriter(values, this.#budget)
    this.#objects = new ObjectWriter(values, this.#budget)
    this.#shapes = new ShapeStore(limits, values, this.#budget)
    this.#row = new FieldRow(this.#content, this.#ownValues, values, this.#budget, () => {
      if (this.#isSpentCounted) return
      this.#isSpentCounted = true
      const reason = `its fields are more than ${limits.maxRenderedUnits} units (maxRenderedUnits)`
      report.add('record-too-large', this.offset, reason, this.id)
    })
  }

  /** Milliseconds since 1970 at which it was written, rounded down. */
  get timeMs(): number {
    return filetimeMs(this.timeLow, this.timeHigh) - EPOCH_MS
  }

  /** What `timeMs` leaves out: 0 to 9,999 times 100 ns. */
  get timeTicks(): number {
    return filetimeTicks(this.timeLow, this.timeHigh)
  }

  /** As `2016-07-08T18:12:51.6816408Z`. */
  get time(): string {
    return this.#values.times.format(this.timeLow, this.timeHigh)
  }

  /** Element by element as it was written. What has no root element, or several, gets one called Event. */
  toXml(layout: XmlLayout = 'compact'): string | undefined {
    return this.#rendered(() => this.#xml.write(this.#content, layout))
  }

  /** As `evtx_dump -o json`: `{"Event":{"System":{...},"EventData":{...}}}`. Integers beyond 2^53 are bigint. */
  toObject(attributes: AttributeLayout = 'nested'): EventObject | undefined {
    return this.#rendered(() => this.#objects.write(this.#content, attributes))
  }

  /** {@link EvtxRecord.toObject} as JSON text on one line, with every digit of every integer. */
  toJson(attributes: AttributeLayout = 'nested'): string | undefined {
    const event = this.toObject(attributes)
    if (event === undefined) return undefined
    return this.#objects.hasBigInt ? stringifyEvent(event) : JSON.stringify(event)
  }

  /** The fields without XML around them. The row is the same object each time. */
  fields(): FieldRow | undefined {
    this.#ownValues.length = 0
    this.#isSpentCounted = false
    const shape = this.#rendered(() => this.#shapes.shapeOf(this.#content, this.#ownValues))
    if (shape === undefined) return undefined
    this.#row.shape = shape
    return this.#row
  }

  /**
   * Reads the record at an offset of a chunk, whose header was checked. Says why when its content cannot be read.
   *
   * @internal
   */
  read(chunk: Chunk, at: number, size: number): string | undefined {
    const { bytes } = chunk
    this.id = u32(bytes, at + 12) * 4_294_967_296 + u32(bytes, at + 8)
    this.timeLow = u32(bytes, at + 16)
    this.timeHigh = u32(bytes, at + 20)
    this.offset = chunk.offset + at
    this.size = size
    this.isRecovered = false
    try {
      this.#content.read(chunk, at + RECORD_HEADER_BYTES, at + size - RECORD_TAIL_BYTES)
      return undefined
    } catch (error) {
      if (error instanceof ContentFault) return error.message
      throw error
    }
  }

  /** Some template names values that the record does not bring; one that was overwritten would. @internal */
  get lacksValues(): boolean {
    return this.#content.lacksValues()
  }

  #rendered<T>(render: () => T): T | undefined {
    this.#budget.refill()
    try {
      return render()
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error
      this.#report.add('record-too-large', this.offset, error.message, this.id)
      return undefined
    }
  }
}
