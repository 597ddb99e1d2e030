/** Holds the events and answers the page's questions about them. One for the list, one more for the rule workbench. */
import { cutText } from './format.ts'
import type { RecordedEvent } from '@prexy/events/recorded-event'
import { DecodeError } from '@prexy/msgpack/errors'
import { parseFilter, type Term } from './filter.ts'
import { Hunt, levelRank } from './hunt.ts'
import { NO_HUNT } from './hunt-protocol.ts'
import { listenLive } from './live.ts'
import { PAGE_ROWS } from './protocol.ts'
import type {
  CallMessage,
  CallName,
  Calls,
  Query,
  QueryReply,
  Row,
  Source,
  StoreStatus,
  WorkerMessage,
} from './protocol.ts'
import { findEvents, histogramOf, sortEvents, sum, totalsOf, valuesOf } from './query.ts'
import { attributeChanges, runBench } from './rule-bench.ts'
import { type Progress, readEventStream, readSegment } from './sources.ts'
import { type Block, detailOf, detailsOf, EventStore, type TextColumnName, timingsOf } from './store.ts'

const STATUS_MS = 100
const HISTOGRAM_BARS = 120
const TURN_MS = 8
const MAX_VALUES = 200
/** Rows between two of which a question is answered. */
const AHEAD_ROWS = 1_024
/** UTF-16 units of a cell of the list: an event of a file can have a target of megabytes. */
const MAX_CELL_UNITS = 2_000

const store = new EventStore()
const hunt = new Hunt(store, () => setStatus({}))
let stopSource: () => void = () => {}
let status: StoreStatus = {
  events: 0,
  bytes: 0,
  evicted: 0,
  dropped: 0,
  connection: 'none',
  progress: undefined,
  hunt: NO_HUNT,
}
let statusTimer: ReturnType<typeof setTimeout> | undefined

function tell(message: WorkerMessage): void {
  self.postMessage(message)
}

function setStatus(change: Partial<StoreStatus>): void {
  status = { ...status, ...change }
  statusTimer ??= setTimeout(() => {
    statusTimer = undefined
    hunt.go()
    status = {
      ...status,
      events: store.count,
      bytes: store.bytes,
      evicted: store.evicted,
      hunt: { ...hunt.status, events: store.count },
    }
    tell({ kind: 'status', status })
  }, STATUS_MS)
}

async function open(source: Source): Promise<{ note: string | undefined }> {
  stopSource()
  hunt.clear()
  store.clear()
  found = { ...found, events: new Uint32Array(0), count: 0, seen: store.next }
  setStatus({ dropped: 0, progress: undefined, connection: source.kind === 'live' ? 'connecting' : 'loading' })
  if (source.kind === 'live') {
    stopSource = listenLive({
      events(octets) {
        store.append(octets)
        setStatus({})
      },
      dropped: (events) => setStatus({ dropped: status.dropped + events }),
      state(connection) {
        if (connection !== status.connection) setStatus({ connection })
      },
    })
    return { note: undefined }
  }
  let isWanted = true
  stopSource = () => {
    isWanted = false
  }
  const sink = {
    append(octets: Uint8Array): void {
      if (!isWanted) throw new Error('something else was opened')
      store.append(octets)
    },
    progress({ loaded, total }: Progress): void {
      setStatus({ progress: total === undefined ? undefined : loaded / total })
    },
  }
  try {
    let note: string | undefined
    if (source.kind === 'file') {
      const { damagedBytes } = await readSegment(source.file, sink)
      if (damagedBytes > 0)
        note = `${damagedBytes} octets of the file are damaged or cut off; the events around them are shown.`
    } else {
      const response = await fetch(`/api/recordings/${encodeURIComponent(source.id)}/events`)
      if (!response.ok || response.body === null) throw new Error(`the proxy answered ${response.status}`)
      await readEventStream(response.body, sink)
    }
    setStatus({ connection: 'loaded', progress: undefined })
    readDetailsAhead()
    return { note }
  } catch (error) {
    if (isWanted) setStatus({ connection: 'loaded', progress: undefined })
    if (error instanceof DecodeError) throw new Error(`the events cannot be read: ${error.message}`)
    throw error
  }
}

/** What lists do not need at once is read while nothing else is to be done. */
function readDetailsAhead(): void {
  const block = store.blocks.find((each) => each.details.rows < each.rows)
  if (block === undefined) return
  detailsOf(block, block.details.rows + AHEAD_ROWS)
  setTimeout(readDetailsAhead, 0)
}

interface Found {
  readonly query: Query
  readonly terms: readonly Term[]
  /** Numbers of events in the order of the list; by `sequence` always ascending. The first `count` count. */
  readonly events: Uint32Array
  readonly count: number
  /** Events before this number were looked at. */
  readonly seen: number
  readonly version: number
  /** Version of the hunt whose hits it knows. */
  readonly hunted: number
  /** Rows that came above those that were found at first. */
  readonly above: number
}

let found: Found = {
  query: { filter: '', range: undefined, sort: { column: 'sequence', descending: true } },
  terms: [],
  events: new Uint32Array(0),
  count: 0,
  seen: 0,
  version: 0,
  hunted: 0,
  above: 0,
}
let latest = 0

const channel = new MessageChannel()
const turns: (() => void)[] = []
channel.port1.onmessage = () => turns.shift()?.()

/** Lets messages in that came meanwhile; a timer would take 4 ms. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    turns.push(resolve)
    channel.port2.postMessage(undefined)
  })
}

/** Whether the question is still the last one: looked up so often that a later one does not wait for long. */
function turnsWhile(mine: number): () => Promise<boolean> {
  let last = performance.now()
  return async () => {
    if (performance.now() - last > TURN_MS) {
      await nextTurn()
      last = performance.now()
    }
    return mine === latest
  }
}

async function query(asked: Query): Promise<QueryReply> {
  const parsed = parseFilter(asked.filter)
  if (parsed.kind === 'problem') return parsed
  const { terms } = parsed
  const mine = ++latest
  const seen = store.next
  const events = await findEvents(store, { terms, range: asked.range }, { from: 0, to: seen }, turnsWhile(mine))
  if (events === undefined || mine !== latest) return { kind: 'stopped' }
  if (asked.sort.column !== 'sequence') sortEvents(store, events, asked.sort)
  const { version: hunted } = hunt
  found = { query: asked, terms, events, count: events.length, seen, version: found.version + 1, hunted, above: 0 }
  return answer()
}

function answer(): QueryReply {
  const histogram = histogramOf(store, found.events.subarray(0, found.count), HISTOGRAM_BARS)
  return {
    kind: 'found',
    count: found.count,
    version: found.version,
    above: found.above,
    histogram,
    first: rows(0, PAGE_ROWS),
  }
}

async function refresh(): Promise<QueryReply> {
  const isAboutHits = found.terms.some(({ tests }) => tests.some(({ kind }) => kind === 'hit' || kind === 'level'))
  if (found.query.sort.column !== 'sequence' || (isAboutHits && found.hunted !== hunt.version))
    return await query(found.query)
  const mine = latest
  const seen = store.next
  const { terms, query: asked } = found
  const part = { from: found.seen, to: seen }
  const added = await findEvents(store, { terms, range: asked.range }, part, turnsWhile(mine))
  if (added === undefined || mine !== latest) return { kind: 'stopped' }
  // Numbers only rise, so what is gone stands at the begin.
  let gone = 0
  while (gone < found.count && found.events[gone] < store.first) gone++
  const count = found.count - gone + added.length
  let { events } = found
  if (gone > 0 || count > events.length) {
    const room = count > events.length ? new Uint32Array(Math.ceil(count * 1.5)) : events
    room.set(events.subarray(gone, found.count))
    events = room
  }
  events.set(added, found.count - gone)
  const { version: hunted } = hunt
  const changed = gone > 0 || added.length > 0 || hunted !== found.hunted
  const above = found.above + (asked.sort.descending ? added.length : 0)
  found = { ...found, events, count, seen, version: found.version + (changed ? 1 : 0), hunted, above }
  return answer()
}

function eventAt(index: number): number {
  const { column, descending } = found.query.sort
  return found.events[column === 'sequence' && descending ? found.count - 1 - index : index]
}

function rows(start: number, count: number): readonly Row[] {
  const list: Row[] = []
  for (let index = start; index < Math.min(found.count, start + count); index++) {
    const row = rowOf(eventAt(index))
    if (row !== undefined) list.push(row)
  }
  return list
}

function rowOf(event: number): Row | undefined {
  const block = store.blockOf(event)
  if (block === undefined) return undefined
  const row = event - block.first
  const { numbers } = block
  const text = (name: TextColumnName): string | undefined => cutText(textAt(block, name, row), MAX_CELL_UNITS)
  const number = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value)
  const { type, hits } = detailOf(block, row)
  const kind = text('kind') ?? 'unknown'
  return {
    event: `${text('run')}-${numbers.sequence[row]}`,
    startedAtMs: numbers.startedAtMs[row],
    kind,
    method: text('method') ?? text('level') ?? text('eventType'),
    host: text('host') ?? text('source'),
    target: text('target') ?? text('name') ?? (kind === 'gap' ? 'events were not recorded here' : undefined),
    route: text('route'),
    upstream: text('upstream'),
    client: text('client'),
    status: number(numbers.status[row]),
    type: cutText(type, MAX_CELL_UNITS),
    outcome: text('outcome'),
    treatment: text('treatment'),
    reason: text('reason'),
    hits: sum(hits),
    endUs: number(numbers.endUs[row]),
    ...timingsOf(block, row),
    outBytes: number(numbers.outBytes[row]),
    found: foundIn(block, row),
  }
}

function foundIn(block: Block, row: number): Row['found'] {
  const rules = (block.found?.get(row) ?? []).map((rule) => store.huntRules[rule])
  if (rules.length === 0) return undefined
  const { title, level } = rules.reduce((most, rule) => (levelRank(rule) > levelRank(most) ? rule : most))
  return { title: cutText(title, MAX_CELL_UNITS) ?? '', level, rules: rules.length }
}

function textAt(block: Block, name: TextColumnName, row: number): string | undefined {
  const { codes, values } = block.texts[name]
  return values[codes[row]]
}

/** Number of the event of that name; undefined if there is none, or none any more. */
function numberOf(name: string): number | undefined {
  const [, run, digits] = /^(.*)-(\d{1,15})$/.exec(name) ?? []
  const sequence = Number(digits)
  for (const block of store.blocks) {
    const { codes, values } = block.texts.run
    const code = values.indexOf(run)
    if (code <= 0) continue
    const sequences = block.numbers.sequence
    for (let row = 0; row < block.rows; row++) {
      if (sequences[row] === sequence && codes[row] === code) return block.first + row
    }
  }
  return undefined
}

function eventNamed(name: string): RecordedEvent | undefined {
  const number = numberOf(name)
  return number === undefined ? undefined : store.event(number)
}

type Handlers = {
  readonly [Name in CallName]: (args: Calls[Name]['args']) => Calls[Name]['result'] | Promise<Calls[Name]['result']>
}

const HANDLERS: Handlers = {
  open,
  query,
  refresh,
  rows: ({ start, count }) => rows(start, count),
  event: eventNamed,
  totals() {
    const totals = totalsOf(store, found.events.subarray(0, found.count))
    return { totals, slowest: totals.slowest.map(rowOf).filter((row) => row !== undefined) }
  },
  values: (field) => valuesOf(store, field, MAX_VALUES),
  attribute({ event, rules, options }) {
    const record = eventNamed(event)
    if (record === undefined || record.kind === 'gap' || record.kind === 'application')
      return { problem: 'The event is not there any more.' }
    return attributeChanges(record, rules, options)
  },
  hunt(request) {
    if (request === undefined) hunt.clear()
    else hunt.start(request)
  },
  stopHunt() {
    hunt.stop()
  },
  huntReport: () => hunt.report(),
  explain(name) {
    const number = numberOf(name)
    return number === undefined ? [] : hunt.explain(number)
  },
  bench: ({ rules, body, mediaType }) => runBench(rules, body, mediaType),
}

async function handle<Name extends CallName>(id: number, name: Name, args: Calls[Name]['args']): Promise<void> {
  try {
    tell({ kind: 'result', id, result: await HANDLERS[name](args) })
  } catch (error) {
    tell({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) })
  }
}

self.addEventListener('message', ({ data }: MessageEvent<CallMessage>) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the page sends each call with the arguments of its name
  void handle(data.id, data.name, data.args as never)
})
