/** A job over all its sources: pieces given to threads, and what they find gathered. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { type Batch, createRunner, type JobRunner, type JobSpec } from './job.ts'
import { isOnePiece, piecesOf, type ScanTask } from './scan.ts'
import { addReport, emptyReport, type ScanReport } from './scan-report.ts'
import type { ChosenRules } from './rule-files.ts'
import type { FromWorker, ToWorker } from './worker.ts'

export interface RunOptions {
  /** Threads, the calling one among them; undefined: as many as there are cores, and no more than pay off. */
  readonly threads: number | undefined
  /** The rules of the job, compiled. */
  readonly chosen: ChosenRules | undefined
  readonly stdin: AsyncIterable<Uint8Array> | undefined
  /** Gets everything that is found, in no order. */
  readonly onBatch: (batch: Batch) => void
  readonly onProgress: (bytes: number) => void
}

export interface JobResult {
  /** By source. */
  readonly reports: readonly ScanReport[]
  /** By source: for each piece, how many lines come before it. */
  readonly linesBefore: readonly (readonly number[])[]
  readonly threads: number
}

/** A thread costs a second or so, for the rules are compiled in it once more; below this much work it does not pay. */
const BYTES_PER_THREAD = 16_777_216
/** How much larger compressed logs are, about. */
const COMPRESSION = 8
/** Pieces that a thread has been given and not done. */
const PIECES_AHEAD = 2

/** Runs a job to its end. */
export async function runJob(spec: JobSpec, options: RunOptions): Promise<JobResult> {
  const tasks = spec.sources.flatMap((source, index) => piecesOf(source, index, spec.scan))
  const reports = new Map<ScanTask, ScanReport>()
  const queue = [...tasks]
  const threads = threadCount(spec, tasks.length, options.threads)
  const workers = Array.from({ length: threads - 1 }, () =>
    startWorker(spec, {
      next: () => takeTask(queue, (task) => spec.sources[task.source].path !== '-'),
      onBatch: options.onBatch,
      onProgress: options.onProgress,
      onDone(task, report) {
        reports.set(taskOf(tasks, task), report)
        if (!isStreamed(spec, task)) options.onProgress(report.bytes)
      },
    }),
  )
  try {
    const runner = createRunner(spec, options.chosen, {
      stdin: options.stdin,
      pause(bytes) {
        options.onProgress(bytes)
        return afterMessages()
      },
      onBatch: (batch) => options.onBatch(detached(batch)),
    })
    await Promise.race([ownWork(spec, runner, queue, reports, options), ...workers.map(({ failed }) => failed)])
    await Promise.race([Promise.all(workers.map(({ finished }) => finished)), ...workers.map(({ failed }) => failed)])
    runner.finish()
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
  }
  return gather(spec, tasks, reports, threads)
}

const parseBatch: (text: string) => Batch = JSON.parse

/**
 * A batch by itself. Texts of events are parts of the megabyte that they were read in, and would keep all of it for as long
 * as a row waits to be sorted; what other threads send was copied on its way.
 */
function detached(batch: Batch): Batch {
  return parseBatch(JSON.stringify(batch))
}

async function ownWork(
  spec: JobSpec,
  runner: JobRunner,
  queue: ScanTask[],
  reports: Map<ScanTask, ScanReport>,
  options: RunOptions,
): Promise<void> {
  for (;;) {
    // Only this thread can read standard input, and it may take long: last.
    const task = takeTask(queue, ({ source }) => spec.sources[source].path !== '-') ?? queue.shift()
    if (task === undefined) return
    const report = await runner.run(task)
    reports.set(task, report)
    if (!isStreamed(spec, task)) options.onProgress(report.bytes)
    await afterMessages()
  }
}

/** Lets what workers sent be taken. */
function afterMessages(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Of these the bytes are told while they are read. */
function isStreamed(spec: JobSpec, task: ScanTask): boolean {
  return isOnePiece(spec.sources[task.source])
}

function takeTask(queue: ScanTask[], suits: (task: ScanTask) => boolean): ScanTask | undefined {
  const at = queue.findIndex(suits)
  return at < 0 ? undefined : queue.splice(at, 1)[0]
}

/** Tasks come back as copies. */
function taskOf(tasks: readonly ScanTask[], { source, piece }: ScanTask): ScanTask {
  const found = tasks.find((task) => task.source === source && task.piece === piece)
  if (found === undefined) throw new Error('a thread did a piece that nobody gave it')
  return found
}

function threadCount({ sources }: JobSpec, pieces: number, asked: number | undefined): number {
  if (asked !== undefined) return Math.max(1, Math.min(asked, pieces))
  const bytes = sources.reduce((sum, source) => sum + source.bytes * (source.coding === undefined ? 1 : COMPRESSION), 0)
  return Math.max(1, Math.min(availableParallelism(), pieces, Math.ceil(bytes / BYTES_PER_THREAD)))
}

interface WorkerHooks {
  readonly next: () => ScanTask | undefined
  readonly onBatch: (batch: Batch) => void
  readonly onProgress: (bytes: number) => void
  readonly onDone: (task: ScanTask, report: ScanReport) => void
}

interface RunningWorker {
  /** All pieces are done, and so is what the thread kept. */
  readonly finished: Promise<void>
  /** Only ever rejected. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

/** What a thread lets pile up before it looks for garbage among what is new. The default is three times that. */
const WORKER_YOUNG_MB = 16

/** The thread runs what was built, also when this module is run from its source. */
const WORKER_FILE = new URL(import.meta.url.endsWith('.ts') ? '../dist/worker.js' : './worker.js', import.meta.url)

function startWorker(spec: JobSpec, hooks: WorkerHooks): RunningWorker {
  const worker = new Worker(WORKER_FILE, { resourceLimits: { maxYoungGenerationSizeMb: WORKER_YOUNG_MB } })
  worker.postMessage(spec)
  let isOver = false
  let open = 0
  const send = (message: ToWorker): void => worker.postMessage(message)
  const refill = (): void => {
    while (open < PIECES_AHEAD) {
      const task = hooks.next()
      if (task === undefined) break
      open++
      send({ kind: 'task', task })
    }
    if (open === 0) send({ kind: 'finish' })
  }
  let finish: () => void = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const failed = new Promise<never>((_, reject) => {
    const fail = (error: Error): void => {
      if (!isOver) reject(error)
    }
    worker.on('error', fail)
    worker.on('exit', (code) => fail(new Error(`a thread ended with ${code}`)))
    worker.on('message', (message: FromWorker) => {
      switch (message.kind) {
        case 'ready':
          refill()
          break
        case 'batch':
          hooks.onBatch(message.batch)
          send({ kind: 'taken' })
          break
        case 'progress':
          hooks.onProgress(message.bytes)
          break
        case 'done':
          open--
          hooks.onDone(message.task, message.report)
          refill()
          break
        case 'finished':
          isOver = true
          finish()
          break
        case 'failed':
          fail(new Error(message.message))
          break
      }
    })
  })
  // Whoever waits for it, hears of it.
  failed.catch(() => {})
  return {
    finished,
    failed,
    async stop() {
      isOver = true
      await worker.terminate()
    },
  }
}

function gather(
  spec: JobSpec,
  tasks: readonly ScanTask[],
  reports: ReadonlyMap<ScanTask, ScanReport>,
  threads: number,
): JobResult {
  const totals = spec.sources.map(() => emptyReport())
  const linesBefore: number[][] = spec.sources.map(() => [])
  for (const task of tasks) {
    const report = reports.get(task)
    if (report === undefined) throw new Error('a piece of a source was not read')
    const { kind } = spec.sources[task.source].format
    const before = kind === 'evtx' ? 0 : totals[task.source].records
    linesBefore[task.source][task.piece] = before
    addReport(totals[task.source], report, before)
  }
  return { reports: totals, linesBefore, threads }
}
