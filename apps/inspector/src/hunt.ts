/** A hunt over the events of a store: gives them to the thread that tries the rules, batch by batch, and keeps what it finds. */
import { LEVELS } from '@prexy/sigma/levels'
import {
  type ExplainedHit,
  type HuntAnswer,
  type HuntCommand,
  type HuntReport,
  type HuntRequest,
  type HuntRule,
  type HuntStatus,
  NO_HUNT,
} from './hunt-protocol.ts'
import type { Block, EventStore } from './store.ts'

/** Events of one batch: between two of them it can be stopped, and progress is told. */
const BATCH_EVENTS = 2_048
/** Hits that are kept; a rule that matches everything would fill the memory. */
export const MAX_HUNT_HITS = 200_000
/** UTF-16 units of rules. */
export const MAX_HUNT_RULES_UNITS: number = 8 * 1024 * 1024

interface Batch {
  readonly block: Block
  /** The first row and the one behind the last. */
  readonly row: number
  readonly end: number
}

export class Hunt {
  status: HuntStatus = NO_HUNT
  /** Raised with each batch that found something, and when a hunt begins. */
  version = 0
  readonly #store: EventStore
  readonly #onChange: () => void
  #worker: Worker | undefined
  #rules: readonly HuntRule[] = []
  #problems: HuntReport['problems'] = []
  #counts: number[] = []
  /** Number of the next event to be tried. */
  #next = 0
  #tried = 0
  #hits = 0
  #kept = 0
  /** What is being tried. */
  #batch: Batch | undefined
  #waiting = new Map<number, (hits: readonly ExplainedHit[]) => void>()
  #lastId = 0

  constructor(store: EventStore, onChange: () => void) {
    this.#store = store
    this.#onChange = onChange
  }

  /** Begins anew; what an earlier hunt found is gone. */
  start(request: HuntRequest): void {
    this.clear()
    const units = request.own.reduce((sum, { text }) => sum + text.length, 0)
    if (units > MAX_HUNT_RULES_UNITS) {
      this.#set({ state: 'failed', message: `the rules are longer than ${MAX_HUNT_RULES_UNITS} characters` })
      return
    }
    const worker = new Worker(new URL('./hunt-worker.ts', import.meta.url), { type: 'module' })
    this.#worker = worker
    worker.addEventListener('message', ({ data }: MessageEvent<HuntAnswer>) => {
      if (worker === this.#worker) this.#take(data)
    })
    worker.addEventListener('error', (event) => {
      if (worker !== this.#worker) return
      this.#end('failed', `the rules cannot be tried: ${event.message || 'the thread ended'}`)
    })
    this.#set({ state: 'compiling' })
    this.#send({ kind: 'rules', request })
  }

  /** What was found stays. */
  stop(): void {
    if (this.#isRunning) this.#end('stopped', undefined)
  }

  /** Forgets everything; for when other events are opened, too. */
  clear(): void {
    this.#worker?.terminate()
    this.#worker = undefined
    for (const block of this.#store.blocks) block.found = undefined
    this.#store.huntRules = []
    this.#rules = []
    this.#problems = []
    this.#counts = []
    this.#next = 0
    this.#tried = 0
    this.#hits = 0
    this.#kept = 0
    this.#batch = undefined
    this.#answerAll()
    this.version++
    this.status = NO_HUNT
    this.#onChange()
  }

  /** There may be events that no rule was tried on. */
  go(): void {
    if (!this.#isRunning || this.status.state === 'compiling' || this.#batch !== undefined) return
    this.#next = Math.max(this.#next, this.#store.first)
    const block = this.#store.blockOf(this.#next)
    if (block === undefined) {
      if (this.status.state !== 'waiting') this.#set({ state: 'waiting' })
      return
    }
    const row = this.#next - block.first
    const end = Math.min(block.rows, row + BATCH_EVENTS)
    const from = block.offsets[row]
    const octets = block.bytes.slice(from, block.offsets[end])
    const offsets = block.offsets.slice(row, end + 1).map((offset) => offset - from)
    this.#batch = { block, row, end }
    this.#set({ state: 'running' })
    this.#send({ kind: 'events', octets, offsets }, [octets.buffer, offsets.buffer])
  }

  report(): HuntReport {
    const rules = this.#rules.map((rule, index) => ({ ...rule, hits: this.#counts[index] ?? 0 }))
    return { rules: rules.filter(({ hits }) => hits > 0).sort(byLevelAndHits), problems: this.#problems }
  }

  /** Rules that hit an event, and which of their conditions hold for it. */
  explain(event: number): Promise<readonly ExplainedHit[]> {
    const block = this.#store.blockOf(event)
    const rules = block?.found?.get(event - block.first) ?? []
    const octets = this.#store.octets(event)?.slice()
    if (octets === undefined || rules.length === 0) return Promise.resolve([])
    if (this.#worker === undefined)
      return Promise.resolve(rules.map((rule) => ({ rule: this.#rules[rule], fields: [] })))
    const id = ++this.#lastId
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#send({ kind: 'explain', id, octets, rules }, [octets.buffer])
    })
  }

  get #isRunning(): boolean {
    return ['compiling', 'running', 'waiting'].includes(this.status.state)
  }

  #take(answer: HuntAnswer): void {
    if (answer.kind === 'explained') {
      this.#waiting.get(answer.id)?.(answer.hits)
      this.#waiting.delete(answer.id)
      return
    }
    if (answer.kind === 'ready') {
      this.#rules = answer.rules
      this.#problems = answer.problems
      this.#counts = answer.rules.map(() => 0)
      this.#store.huntRules = answer.rules
      this.version++
      if (answer.rules.length === 0) this.#end('failed', 'no rule can be used; the list says why')
      else this.#set({ state: 'waiting' })
    } else if (this.#batch !== undefined) {
      const batch = this.#batch
      this.#batch = undefined
      this.#keep(batch, answer.pairs)
    }
    this.go()
  }

  #keep({ block, row: first, end }: Batch, pairs: Uint32Array): void {
    this.#next = block.first + end
    this.#tried += end - first
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      const row = first + pairs[at]
      const rule = pairs[at + 1]
      block.found ??= new Map()
      const rules = block.found.get(row) ?? []
      if (rules.length === 0) this.#hits++
      if (rules.includes(rule)) continue
      block.found.set(row, [...rules, rule])
      this.#counts[rule]++
      this.#kept++
    }
    if (pairs.length > 0) this.version++
    this.#set({})
    if (this.#kept > MAX_HUNT_HITS)
      this.#end('stopped', `there are more than ${MAX_HUNT_HITS} hits: leave out the rules that match everything`)
  }

  #send(command: HuntCommand, transfer: Transferable[] = []): void {
    this.#worker?.postMessage(command, transfer)
  }

  #end(state: HuntStatus['state'], message: string | undefined): void {
    // The thread may be deep in a batch: it is not asked, it is ended. What it knows of matched fields goes with it.
    if (this.#batch !== undefined || state === 'failed') {
      this.#worker?.terminate()
      this.#worker = undefined
      this.#answerAll()
    }
    this.#batch = undefined
    this.#set({ state, message })
  }

  #answerAll(): void {
    for (const resolve of this.#waiting.values()) resolve([])
    this.#waiting.clear()
  }

  #set(change: Partial<HuntStatus>): void {
    const counts = { tried: this.#tried, events: this.#store.count, hits: this.#hits }
    this.status = { ...this.status, ...counts, ...change }
    this.#onChange()
  }
}

function byLevelAndHits(a: HuntReport['rules'][number], b: HuntReport['rules'][number]): number {
  return levelRank(b) - levelRank(a) || b.hits - a.hits || (a.title < b.title ? -1 : 1)
}

/** -1 for a rule without a level. */
export function levelRank({ level }: Pick<HuntRule, 'level'>): number {
  return level === undefined ? -1 : LEVELS.indexOf(level)
}
