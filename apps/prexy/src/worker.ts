/**
 * One of several workers: serves what the primary process tells it to. It accepts from sockets that all workers share,
 * so that only one that has nothing else to do takes a connection, and gives away what is beyond its share.
 */
import cluster from 'node:cluster'
import { ProxyMetrics } from '@prexy/admin/metrics'
import { type AcceptedSocket, type BoundAddress, isAcceptedSocket } from '@prexy/net/intake'
import type { Session } from '@prexy/record/sessions'
import type { ProxyConfig } from '@prexy/proxy/proxy-config'
import { type PreparedConfig, type RunningProxy, startProxy } from '@prexy/proxy/start-proxy'
import { type AccessLog, createAccessLog } from './access-log.ts'
import { EXIT_OK } from './exit-codes.ts'
import { type FileSnapshot, filesOf } from './file-snapshot.ts'
import { HandoverBudget, mayKeep } from './intake-share.ts'
import { LogFiles } from './log-file.ts'
import { listenError } from './listen-error.ts'
import { drainMsOf, type Source } from './source.ts'
import type { Plan } from './service.ts'
import type { RunningRecording } from './record-setup.ts'
import { type LiveRelay, relayLive } from './live-relay.ts'
import { countedConfig, measureProcess } from './statistics.ts'
import { isOrder, type Order, type Report } from './worker-messages.ts'

/** How long an accepted connection waits for a worker that has fewer; then it is served here. Unit: milliseconds. */
export const OFFER_MS = 100
/** So long an answer to an offer counts as a connection, unless that comes first. Unit: milliseconds. */
const PROMISE_MS = 10
/** The number of connections is told at once, then again at most this often. Unit: milliseconds. */
const COUNT_MS = 5

/** Serves until the primary says stop, or a signal does. */
export async function runWorker(source: Source): Promise<number> {
  const report = (message: Report, socket?: AcceptedSocket): void => {
    if (process.connected !== true) return
    if (socket === undefined) process.send?.(message)
    else process.send?.(message, socket)
  }
  const worker = new Worker(source, report)
  process.on('message', (message: unknown, socket: unknown) => {
    if (isOrder(message)) worker.take(message, isAcceptedSocket(socket) ? socket : undefined)
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => worker.onSignal())
  // The primary gets it as well and says what to do.
  process.on('SIGHUP', () => {})
  process.on('SIGUSR1', () => {})
  report({ kind: 'here' })
  await worker.stopped
  cluster.worker?.disconnect()
  return EXIT_OK
}

interface Offer {
  readonly socket: AcceptedSocket
  readonly on: BoundAddress
  readonly timer: NodeJS.Timeout
}

interface Prepared {
  readonly change: number
  readonly config: PreparedConfig
  readonly log: AccessLog
  readonly logFile: string | undefined
}

class Worker {
  readonly stopped: Promise<void>
  readonly #source: Source
  readonly #report: (message: Report, socket?: AcceptedSocket) => void
  #end: () => void = () => {}
  #server: RunningProxy | undefined = undefined
  #log: AccessLog | undefined = undefined
  readonly #logFiles = new LogFiles(say)
  #ticketKeys: Uint8Array = new Uint8Array(0)
  #recording: RunningRecording | undefined = undefined
  readonly #metrics = new ProxyMetrics()
  #isCounted = false
  #relay: LiveRelay | undefined = undefined
  #drainMs = 0
  #prepared: Prepared | undefined = undefined
  #workers = 1
  #open = 0
  #others = 0
  #reportedOpen = 0
  #countTimer: NodeJS.Timeout | undefined = undefined
  readonly #budget = new HandoverBudget(performance.now())
  readonly #offers = new Map<number, Offer>()
  #lastOffer = 0
  /** Offers of others that were answered, and may bring a connection. */
  readonly #promised = new Set<number>()
  #stopping = false

  constructor(source: Source, report: (message: Report, socket?: AcceptedSocket) => void) {
    this.#source = source
    this.#report = report
    this.stopped = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  take(order: Order, socket: AcceptedSocket | undefined): void {
    switch (order.kind) {
      case 'start':
        this.#workers = order.workers
        this.#ticketKeys = Buffer.from(order.ticketKeys, 'base64')
        void this.#start(order.files, order.session)
        return
      case 'prepare':
        void this.#prepare(order.change, order.files)
        return
      case 'commit':
        this.#commit(order.change)
        return
      case 'abandon':
        if (this.#prepared?.change === order.change) this.#dropPrepared()
        return
      case 'stop':
        void this.#stop(order.deadlineMs)
        return
      case 'measure': {
        const statistics = measureProcess(this.#metrics, this.#open, this.#recording)
        this.#report({ kind: 'measured', id: order.id, statistics })
        return
      }
      case 'reopen':
        this.#logFiles.reopen()
        return
      case 'watch':
        this.#relay?.watch(order.isWatched)
        return
      case 'others':
        this.#others = order.open
        return
      case 'ask':
        if (!this.#stopping) this.#answer(order.offer)
        return
      case 'give': {
        const offer = this.#takeOffer(order.id)
        if (offer === undefined) return this.#report({ kind: 'kept', offer: order.offer, to: order.to })
        this.#report({ kind: 'handing', offer: order.offer, to: order.to, on: offer.on }, offer.socket)
        return
      }
      case 'keep': {
        const offer = this.#takeOffer(order.id)
        if (offer !== undefined) this.#keep(offer)
        return
      }
      case 'adopt':
        // A client that has left meanwhile takes its socket with it.
        this.#promised.delete(order.offer)
        if (socket !== undefined) this.#server?.adopt(socket, order.on)
        this.#report({ kind: 'adopted', offer: order.offer, open: this.#open })
        return
    }
  }

  /** The first one drains, the second ends at once. */
  onSignal(): void {
    if (this.#stopping) process.exit(EXIT_OK)
    void this.#stop(this.#drainMs)
  }

  #plan(files: FileSnapshot): Omit<Plan, 'files'> {
    const { config, compiled } = this.#source.read(filesOf(files))
    if (config === undefined) throw new Error('the configuration that the primary process read has errors here')
    return { config, compiled, changedMs: files.changedMs }
  }

  #proxyConfig({ config, compiled, changedMs }: Omit<Plan, 'files'>, log: AccessLog): ProxyConfig {
    const made = countedConfig(
      this.#source.proxyConfig(config, compiled, changedMs, log, this.#recording?.recorder),
      this.#isCounted ? this.#metrics : undefined,
    )
    const ticketKeys = this.#ticketKeys
    const listen = made.listen.map((one) => (one.tls === undefined ? one : { ...one, tls: { ticketKeys, ...one.tls } }))
    return { ...made, listen }
  }

  async #start(files: FileSnapshot, session: Session | undefined): Promise<void> {
    try {
      const plan = this.#plan(files)
      const { record } = plan.config
      this.#log = await createAccessLog(plan.config, this.#logFiles, cluster.worker?.id)
      if (record !== undefined && session !== undefined) {
        const { startRecording } = await import('./record-setup.ts')
        this.#recording = await startRecording(record, say, session)
        this.#relay = relayLive(this.#recording.feed, (events) => this.#report({ kind: 'live', events }))
      }
      this.#isCounted = plan.config.admin !== undefined
      this.#drainMs = drainMsOf(plan.config)
      const server = await startProxy(this.#proxyConfig(plan, this.#log), {
        onConnections: (open) => this.#onConnections(open),
        handOver: (accepted, on) => this.#handOver(accepted, on),
      })
      this.#server = server
      if (this.#stopping) await server.stop(0)
      else this.#report({ kind: 'started', addresses: server.addresses })
    } catch (error) {
      this.#report({ kind: 'failed', message: faultOf(error) })
    }
  }

  async #prepare(change: number, files: FileSnapshot): Promise<void> {
    this.#dropPrepared()
    try {
      if (this.#server === undefined) throw new Error('the worker has not started')
      const plan = this.#plan(files)
      const log = await createAccessLog(plan.config, this.#logFiles, cluster.worker?.id)
      const prepared = await this.#server.prepare(this.#proxyConfig(plan, log))
      this.#prepared = { change, config: prepared, log, logFile: plan.config.accessLog?.file }
      this.#drainMs = drainMsOf(plan.config)
      this.#report({ kind: 'prepared', change, fault: undefined })
    } catch (error) {
      this.#report({ kind: 'prepared', change, fault: faultOf(error) })
    }
  }

  #commit(change: number): void {
    const prepared = this.#prepared
    if (prepared?.change !== change) return
    this.#prepared = undefined
    prepared.config.commit()
    this.#log?.flush()
    this.#log = prepared.log
    this.#logFiles.keep(prepared.logFile)
    this.#report({ kind: 'committed', change, addresses: this.#server?.addresses ?? [] })
  }

  #dropPrepared(): void {
    this.#prepared?.config.abandon()
    this.#prepared = undefined
  }

  async #stop(deadlineMs: number): Promise<void> {
    this.#stopping = true
    this.#dropPrepared()
    for (const id of [...this.#offers.keys()]) {
      const offer = this.#takeOffer(id)
      if (offer !== undefined) this.#keep(offer)
    }
    await this.#server?.stop(deadlineMs)
    await this.#recording?.stop()
    this.#log?.flush()
    this.#logFiles.flush()
    clearTimeout(this.#countTimer)
    this.#end()
  }

  #onConnections(open: number): void {
    this.#open = open
    if (this.#countTimer === undefined) this.#reportOpen()
  }

  #reportOpen(): void {
    this.#countTimer = undefined
    if (this.#open === this.#reportedOpen) return
    this.#reportedOpen = this.#open
    this.#report({ kind: 'open', count: this.#open })
    this.#countTimer = setTimeout(() => this.#reportOpen(), COUNT_MS)
  }

  #answer(offer: number): void {
    this.#report({ kind: 'free', offer, open: this.#open })
    this.#promised.add(offer)
    setTimeout(() => this.#promised.delete(offer), PROMISE_MS)
  }

  /** A connection beyond the share is offered to the other workers. */
  #handOver(socket: AcceptedSocket, on: BoundAddress): boolean {
    if (this.#stopping || mayKeep(this.#open + this.#offers.size + this.#promised.size, this.#others, this.#workers))
      return false
    if (!this.#budget.take(performance.now())) return false
    const id = ++this.#lastOffer
    const timer = setTimeout(() => {
      const offer = this.#takeOffer(id)
      if (offer !== undefined) this.#keep(offer)
    }, OFFER_MS)
    this.#offers.set(id, { socket, on, timer })
    this.#report({ kind: 'offer', id, open: this.#open })
    return true
  }

  #takeOffer(id: number): Offer | undefined {
    const offer = this.#offers.get(id)
    if (offer === undefined) return undefined
    this.#offers.delete(id)
    clearTimeout(offer.timer)
    return offer
  }

  #keep({ socket, on }: Offer): void {
    this.#server?.adopt(socket, on)
  }
}

function say(line: string): void {
  process.stderr.write(`prexy: ${line}\n`)
}

/** Why something cannot be served, for the user. */
function faultOf(error: unknown): string {
  const said = listenError(error)
  return said instanceof Error ? said.message : String(said)
}
