/**
 * The primary process of several workers. It serves nothing itself: it starts workers, replaces those that die, lets all
 * of them change their configuration or none, passes their lines on, and helps them to share connections evenly.
 *
 * Workers accept from the same listening sockets (SCHED_NONE): a connection goes to a worker that has nothing else to
 * do. That alone would let the one that is quicker by a little take every connection while all are idle; see
 * `handovers.ts` for what is done about it.
 */
import type { Worker } from 'node:cluster'
import { type AcceptedSocket, type BoundAddress, isAcceptedSocket, keepUnread } from '@prexy/net/intake'
import type { LiveFeed } from '@prexy/record/live-feed'
import type { ApplicationEvent } from '@prexy/record/recorder'
import { dismissEarly, startWorker, takeEarly } from './early-workers.ts'
import { CommandError } from './exit-codes.ts'
import { Handovers, Holding } from './handovers.ts'
import { copyLines } from './line-copy.ts'
import type { RunningRecording } from './record-setup.ts'
import type { Plan, Service } from './service.ts'
import { SocketFiles } from './socket-files.ts'
import type { ProcessStatistics } from './statistics.ts'
import { isReport, type Order, type Report } from './worker-messages.ts'

/** A worker that dies is replaced after this, doubled with every death within `DEATHS_MS`, … Unit: milliseconds. */
export const RESTART_MIN_MS = 100
/** … but not later than this. Unit: milliseconds. */
export const RESTART_MAX_MS = 5_000
/** After this many deaths of workers … */
export const MAX_DEATHS = 10
/** … within this time there is no use in going on. Unit: milliseconds. */
export const DEATHS_MS = 60_000
/** How long workers may take to get a configuration ready. Unit: milliseconds. */
export const PREPARE_MS = 30_000
/** How long workers may take to tell what they counted. Unit: milliseconds. */
export const MEASURE_MS = 1_000
/** A worker that is still there so long after its deadline is killed. Unit: milliseconds. */
export const STOP_GRACE_MS = 2_000

/** As node:tls takes them. */
const TICKET_KEY_BYTES = 48

interface Member {
  readonly worker: Worker
  /** The change that it was started with, or serves. */
  change: number
}

/** Starts the workers; resolves when all of them serve, or when `stopped` does. */
export async function serveWithWorkers(
  first: Plan,
  count: number,
  stopped: Promise<unknown>,
  say: (line: string) => void,
): Promise<Service> {
  // The session is of this process; its workers write what belongs to it.
  const { record } = first.config
  let onWatched = (_isWatched: boolean): void => {}
  let recording: RunningRecording | undefined
  if (record !== undefined) {
    const { startRecording } = await import('./record-setup.ts')
    recording = await startRecording(record, say, undefined, (isWatched) => onWatched(isWatched))
  }
  const sockets = new SocketFiles()
  await sockets.claim(first.config)
  sockets.keep(first.config)
  const workers = new Workers(first, count, recording, sockets, say)
  onWatched = (isWatched) => workers.watch(isWatched)
  await Promise.race([workers.allServe, workers.failure, stopped.then(() => workers.startNoMore())])
  return workers
}

class Workers implements Service {
  addresses: readonly BoundAddress[] = []
  readonly allServe: Promise<void>
  readonly failure: Promise<never>
  readonly #count: number
  readonly #recording: RunningRecording | undefined
  readonly #sockets: SocketFiles
  readonly #say: (line: string) => void
  readonly #members = new Map<number, Member>()
  /** Of those that serve. */
  readonly #holdings = new Map<number, Holding>()
  readonly #handovers: Handovers
  #plan: Plan
  #lastChange = 0
  readonly #ticketKeys = Buffer.from(crypto.getRandomValues(new Uint8Array(TICKET_KEY_BYTES))).toString('base64')
  #stopping = false
  #isWatched = false
  #lastMeasure = 0
  /** Who waits for answers to `measure`, by its number; without statistics: the worker is gone. */
  readonly #measures = new Map<number, (from: number, statistics: ProcessStatistics | undefined) => void>()
  readonly #deaths: number[] = []
  readonly #restarts = new Set<NodeJS.Timeout>()
  #onAllServe: () => void = () => {}
  #onStart: () => void = () => {}
  #fail: (error: CommandError) => void = () => {}
  #onPrepared: (id: number, fault: string | undefined) => void = () => {}
  #onCommitted: (id: number) => void = () => {}

  constructor(
    first: Plan,
    count: number,
    recording: RunningRecording | undefined,
    sockets: SocketFiles,
    say: (line: string) => void,
  ) {
    this.#plan = first
    this.#count = count
    this.#recording = recording
    this.#sockets = sockets
    this.#say = say
    this.#handovers = new Handovers(this.#holdings, (to, order) => this.#send(to, order))
    this.allServe = new Promise((resolve) => {
      this.#onAllServe = resolve
    })
    this.failure = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.failure.catch(() => {
      this.#kill()
      this.#sockets.remove()
    })
    for (let number = 0; number < count; number++) this.#start()
    dismissEarly()
  }

  get feed(): LiveFeed | undefined {
    return this.#recording?.feed
  }

  /** In this process: no worker has to be asked. */
  get recordApplication(): ((event: ApplicationEvent) => boolean) | undefined {
    const recorder = this.#recording?.recorder
    return recorder === undefined ? undefined : (event) => recorder.application(event)
  }

  reopenLogs(): void {
    for (const id of this.#members.keys()) this.#send(id, { kind: 'reopen' })
  }

  watch(isWatched: boolean): void {
    this.#isWatched = isWatched
    for (const id of this.#members.keys()) this.#send(id, { kind: 'watch', isWatched })
  }

  /** Of the workers that answer in time: one that is busy for long is left out, and counted the next time. */
  async statistics(): Promise<readonly ProcessStatistics[]> {
    const id = ++this.#lastMeasure
    const waiting = new Set(this.#holdings.keys())
    const all: ProcessStatistics[] = []
    if (waiting.size === 0) return all
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, MEASURE_MS)
      this.#measures.set(id, (from, statistics) => {
        if (!waiting.delete(from)) return
        if (statistics !== undefined) all.push(statistics)
        if (waiting.size > 0) return
        clearTimeout(late)
        resolve()
      })
      for (const worker of waiting) this.#send(worker, { kind: 'measure', id })
    })
    this.#measures.delete(id)
    return all.sort((a, b) => a.pid - b.pid)
  }

  startNoMore(): void {
    this.#stopping = true
    for (const restart of this.#restarts) clearTimeout(restart)
  }

  async change(next: Plan): Promise<void> {
    const change = this.#lastChange + 1
    await this.#sockets.claim(next.config)
    const fault = await this.#prepareAll(change, next)
    if (fault !== undefined) {
      for (const id of this.#members.keys()) this.#send(id, { kind: 'abandon', change })
      this.#sockets.abandon()
      throw new CommandError(fault)
    }
    this.#lastChange = change
    this.#plan = next
    this.#sockets.keep(next.config)
    await this.#commitAll(change)
  }

  async stop(deadlineMs: number): Promise<void> {
    this.startNoMore()
    const gone = [...this.#members.values()].map(
      ({ worker }) =>
        new Promise<void>((resolve) => {
          worker.once('exit', () => resolve())
        }),
    )
    for (const id of this.#members.keys()) this.#send(id, { kind: 'stop', deadlineMs })
    this.#sockets.remove()
    const late = setTimeout(() => this.#kill(), deadlineMs + STOP_GRACE_MS)
    await Promise.all(gone)
    clearTimeout(late)
    await this.#recording?.stop()
  }

  #kill(): void {
    this.startNoMore()
    for (const { worker } of this.#members.values()) worker.process.kill('SIGKILL')
  }

  #start(): void {
    const early = takeEarly()
    const worker = early?.worker ?? startWorker()
    this.#members.set(worker.id, { worker, change: this.#lastChange })
    worker.on('message', (message: unknown, socket: unknown) => {
      if (isReport(message)) this.#take(worker.id, message, isAcceptedSocket(socket) ? socket : undefined)
    })
    worker.on('error', () => {})
    for (const stream of [worker.process.stdout, worker.process.stderr]) {
      if (stream !== null) copyLines(stream, process.stderr)
    }
    worker.once('exit', (code: number | null, signal: string | null) => this.#onExit(worker.id, code, signal))
    for (const message of early?.said ?? []) if (isReport(message)) this.#take(worker.id, message, undefined)
  }

  #onExit(id: number, code: number | null, signal: string | null): void {
    this.#members.delete(id)
    this.#holdings.delete(id)
    this.#handovers.tellCounts()
    this.#onPrepared(id, 'a worker died while it got the configuration ready')
    this.#onCommitted(id)
    for (const take of [...this.#measures.values()]) take(id, undefined)
    if (this.#stopping) return
    // One that was told to go by a signal of its own.
    if (code === 0) {
      this.#start()
      return
    }
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`
    const deaths = this.#deaths
    const now = performance.now()
    deaths.push(now)
    while (now - deaths[0] > DEATHS_MS) deaths.shift()
    if (deaths.length >= MAX_DEATHS) {
      const seconds = Math.ceil((now - deaths[0]) / 1_000)
      this.#fail(new CommandError(`${deaths.length} workers died within ${seconds} s, the last with ${how}; giving up`))
      return
    }
    const delayMs = Math.min(RESTART_MAX_MS, RESTART_MIN_MS * 2 ** (deaths.length - 1))
    this.#say(`a worker died with ${how}; another one starts in ${delayMs / 1_000} s`)
    const restart = setTimeout(() => {
      this.#restarts.delete(restart)
      this.#start()
    }, delayMs)
    this.#restarts.add(restart)
  }

  #send(to: number, order: Order, socket?: AcceptedSocket): boolean {
    const worker = this.#members.get(to)?.worker
    if (worker?.isConnected() !== true) return false
    if (socket === undefined) worker.send(order)
    else worker.send(order, socket)
    return true
  }

  #take(from: number, report: Report, socket: AcceptedSocket | undefined): void {
    const holding = this.#holdings.get(from)
    switch (report.kind) {
      case 'here':
        this.#onHere(from)
        return
      case 'started':
        this.#onStarted(from, report.addresses)
        return
      case 'failed':
        this.#fail(new CommandError(report.message))
        return
      case 'prepared':
        this.#onPrepared(from, report.fault)
        return
      case 'committed':
        this.addresses = report.addresses
        this.#onCommitted(from)
        return
      case 'open':
        if (holding !== undefined) holding.open = report.count
        this.#handovers.tellCounts()
        return
      case 'measured':
        this.#measures.get(report.id)?.(from, report.statistics)
        return
      case 'live':
        for (const event of report.events) this.#recording?.feed.publish(Buffer.from(event, 'base64'))
        return
      case 'offer':
        this.#handovers.onOffer(from, report)
        return
      case 'free':
        this.#handovers.onFree(from, report)
        return
      case 'kept':
        this.#handovers.onKept(report)
        return
      case 'adopted':
        this.#handovers.onAdopted(from, report)
        return
      case 'handing': {
        if (socket === undefined) return
        keepUnread(socket)
        const order: Order = { kind: 'adopt', offer: report.offer, on: report.on }
        if (!this.#send(report.to, order, socket) && !this.#send(from, order, socket)) socket.destroy()
        return
      }
    }
  }

  #onHere(id: number): void {
    const member = this.#members.get(id)
    if (member === undefined) return
    // What it was sent before it listened is lost.
    if (this.#stopping) {
      this.#send(id, { kind: 'stop', deadlineMs: 0 })
      return
    }
    member.change = this.#lastChange
    const { files } = this.#plan
    const ticketKeys = this.#ticketKeys
    this.#send(id, { kind: 'start', files, workers: this.#count, session: this.#recording?.session, ticketKeys })
  }

  #onStarted(id: number, addresses: readonly BoundAddress[]): void {
    const member = this.#members.get(id)
    if (member === undefined) return
    this.addresses = addresses
    this.#holdings.set(id, new Holding())
    if (this.#isWatched) this.#send(id, { kind: 'watch', isWatched: true })
    this.#handovers.tellCounts()
    // The configuration changed while it started.
    if (member.change !== this.#lastChange) member.worker.process.kill('SIGTERM')
    if (this.#holdings.size === this.#count) this.#onAllServe()
    this.#onStart()
  }

  /** Whether a worker serves within `PREPARE_MS`: all may have died, and their successors may be about to start. */
  #someServe(): Promise<boolean> {
    return new Promise((resolve) => {
      const late = setTimeout(() => resolve(false), PREPARE_MS)
      this.#onStart = () => {
        clearTimeout(late)
        resolve(true)
      }
    })
  }

  /** Resolves with the first fault, or undefined when all that serve are ready. */
  async #prepareAll(change: number, { files }: Plan): Promise<string | undefined> {
    if (this.#holdings.size === 0 && !(await this.#someServe())) return 'no worker serves at the moment'
    const waiting = new Set(this.#holdings.keys())
    const fault = await new Promise<string | undefined>((resolve) => {
      const late = setTimeout(() => resolve(`a worker was not ready within ${PREPARE_MS / 1_000} s`), PREPARE_MS)
      this.#onPrepared = (id, reason) => {
        if (!waiting.delete(id) || (reason === undefined && waiting.size > 0)) return
        clearTimeout(late)
        resolve(reason)
      }
      for (const id of waiting) this.#send(id, { kind: 'prepare', change, files })
    })
    this.#onPrepared = () => {}
    return fault
  }

  /** Resolves when all serve it; one that dies meanwhile is replaced by one that does. */
  async #commitAll(change: number): Promise<void> {
    const waiting = new Set(this.#holdings.keys())
    if (waiting.size === 0) return
    await new Promise<void>((resolve) => {
      // One that is busy for so long serves it all the same, later.
      const late = setTimeout(resolve, PREPARE_MS)
      this.#onCommitted = (id) => {
        waiting.delete(id)
        if (waiting.size > 0) return
        clearTimeout(late)
        resolve()
      }
      for (const id of waiting) {
        const member = this.#members.get(id)
        if (member !== undefined) member.change = change
        this.#send(id, { kind: 'commit', change })
      }
    })
    this.#onCommitted = () => {}
  }
}
