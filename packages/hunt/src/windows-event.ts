/** Records of EVTX files as events: fields are looked up once for each shape of record, not for each record. */
import type { FieldRow } from '@prexy/evtx/field-row'
import type { EvtxRecord } from '@prexy/evtx/record'
import type { Shape } from '@prexy/evtx/shape'
import type { FieldScalar, FieldValue, LogSource } from '@prexy/sigma/event'
import { windowsAliases, windowsSources } from '@prexy/sigma/windows-sources'
import { type EventTime, parseEventTime } from './event-time.ts'
import { type EventEntry, type HuntEvent, ruleName } from './hunt-event.ts'

/** Where the records of a shape have what rules ask for. */
interface ShapePlan {
  /** By name: positions in the row, those of data before those of the system. */
  readonly positions: ReadonlyMap<string, readonly number[]>
  readonly channel: number
  readonly eventId: number
  readonly computer: number
  readonly provider: number
  readonly recordId: number
  readonly time: number
  readonly eventType: number
  /** Data, in their order. */
  readonly data: readonly { readonly name: string; readonly position: number }[]
}

const SYSTEM = 'Event.System.'

function planOf(shape: Shape): ShapePlan {
  const data = new Map<string, number[]>()
  const system = new Map<string, number[]>()
  const entries: { name: string; position: number }[] = []
  shape.fields.forEach(({ path, key }, position) => {
    const isSystem = path.startsWith(SYSTEM)
    if (!isSystem && path.includes('_attributes.')) return
    const name = ruleName(key)
    const target = isSystem ? system : data
    const known = target.get(name)
    if (known === undefined) target.set(name, [position])
    else known.push(position)
    if (!isSystem) entries.push({ name: key, position })
  })
  const positions = new Map<string, readonly number[]>([...system, ...data])
  const at = (path: string): number => shape.indexOf(`${SYSTEM}${path}`)
  return {
    positions,
    channel: at('Channel'),
    eventId: at('EventID'),
    computer: at('Computer'),
    provider: at('Provider_attributes.Name'),
    recordId: at('EventRecordID'),
    time: at('TimeCreated_attributes.SystemTime'),
    eventType: data.get('EventType')?.[0] ?? -1,
    data: entries,
  }
}

const NO_PLAN: ShapePlan = {
  positions: new Map(),
  channel: -1,
  eventId: -1,
  computer: -1,
  provider: -1,
  recordId: -1,
  time: -1,
  eventType: -1,
  data: [],
}

/** The one event object of a decoder: `show` makes it the next record. */
export class WindowsEvent implements HuntEvent {
  readonly kind = 'windows'
  sources: readonly LogSource[]
  channel: string
  eventId: number | undefined
  isRecovered: boolean
  readonly #plans: (ShapePlan | undefined)[]
  #plan: ShapePlan
  #row: FieldRow | undefined
  #record: EvtxRecord | undefined
  #aliases: ReadonlyMap<string, string>
  #time: EventTime | undefined
  readonly #given: readonly LogSource[] | undefined

  /** `given`: what a person says the records are. */
  constructor(given: readonly LogSource[] | undefined) {
    this.sources = []
    this.channel = ''
    this.eventId = undefined
    this.isRecovered = false
    this.#plans = []
    this.#plan = NO_PLAN
    this.#row = undefined
    this.#record = undefined
    this.#aliases = new Map()
    this.#time = undefined
    this.#given = given
  }

  /** False when the record has no fields that can be read; the decoder has counted it. */
  show(record: EvtxRecord): boolean {
    const row = record.fields()
    if (row === undefined) return false
    const { id } = row.shape
    const plan = (this.#plans[id] ??= planOf(row.shape))
    this.#plan = plan
    this.#row = row
    this.#record = record
    this.#time = undefined
    this.isRecovered = record.isRecovered
    this.channel = row.text(plan.channel) ?? ''
    const number = Number(row.scalar(plan.eventId))
    this.eventId = Number.isInteger(number) ? number : undefined
    const type = plan.eventType < 0 ? undefined : row.text(plan.eventType)
    this.sources = this.#given ?? windowsSources(this.channel, this.eventId ?? -1, type)
    this.#aliases = windowsAliases(this.channel, this.eventId ?? -1)
    return true
  }

  get time(): number | undefined {
    return this.#readTime().ms
  }

  get ticks(): number {
    return this.#readTime().ticks
  }

  get host(): string {
    return this.#row?.text(this.#plan.computer) ?? ''
  }

  get provider(): string | undefined {
    return this.#row?.text(this.#plan.provider)
  }

  get recordId(): string | undefined {
    return this.#row?.text(this.#plan.recordId)
  }

  get(field: string): FieldValue | undefined {
    const found = this.#read(field)
    if (found !== undefined) return found
    const alias = this.#aliases.get(field)
    return alias === undefined ? undefined : this.#read(alias)
  }

  text(): string {
    const row = this.#row
    if (row === undefined) return ''
    const lines: string[] = []
    row.shape.fields.forEach(({ key }, position) => {
      const value = row.text(position)
      if (value !== undefined) lines.push(`${key}: ${value}`)
    })
    return lines.join('\n')
  }

  entries(): readonly EventEntry[] {
    const row = this.#row
    if (row === undefined) return []
    return this.#plan.data.flatMap(({ name, position }): EventEntry[] => {
      const value = row.scalar(position)
      return value === undefined ? [] : [[name, value]]
    })
  }

  fieldNames(): Iterable<string> {
    return new Set([...this.#plan.positions.keys(), ...this.#aliases.keys(), 'Provider_Name'])
  }

  #read(field: string): FieldValue | undefined {
    if (field === 'Provider_Name') return this.provider
    const positions = this.#plan.positions.get(field)
    const row = this.#row
    if (positions === undefined || row === undefined) return undefined
    if (positions.length === 1) return row.scalar(positions[0])
    const values: FieldScalar[] = []
    for (const position of positions) {
      const value = row.scalar(position)
      if (value !== undefined) values.push(value)
    }
    return values.length === 0 ? undefined : values
  }

  /** When it happened; a record of a log that collects others was written later. */
  #readTime(): EventTime {
    if (this.#time !== undefined) return this.#time
    const text = this.#row?.text(this.#plan.time)
    const created = text === undefined ? undefined : parseEventTime(text)
    const record = this.#record
    this.#time = created ?? { ms: record?.timeMs ?? NaN, ticks: record?.timeTicks ?? 0 }
    return this.#time
  }
}
