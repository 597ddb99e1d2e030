/** A thread of a job: gets its job first, then pieces of sources, sends back batches and reports. */
import { parentPort } from 'node:worker_threads'
import { createRunner, type Batch, type JobSpec } from './job.ts'
import type { ScanTask } from './scan.ts'
import type { ScanReport } from './scan-report.ts'

export type ToWorker =
  | { readonly kind: 'task'; readonly task: ScanTask }
  | { readonly kind: 'taken' }
  | { readonly kind: 'finish' }

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'batch'; readonly batch: Batch }
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'done'; readonly task: ScanTask; readonly report: ScanReport }
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly message: string }

/** Batches on their way that the main thread has not taken; a source that is read in one piece waits then. */
const MAX_OPEN_BATCHES = 16

function serve(port: NonNullable<typeof parentPort>, spec: JobSpec): void {
  const send = (message: FromWorker): void => port.postMessage(message)
  let open = 0
  let wake: (() => void) | undefined
  const runner = createRunner(spec, undefined, {
    stdin: undefined,
    pause(bytes) {
      send({ kind: 'progress', bytes })
      if (open < MAX_OPEN_BATCHES) return undefined
      return new Promise((resolve) => {
        wake = resolve
      })
    },
    onBatch(batch) {
      open++
      send({ kind: 'batch', batch })
    },
  })
  port.on('message', (message: ToWorker) => {
    switch (message.kind) {
      case 'task':
        runner.run(message.task).then(
          (report) => send({ kind: 'done', task: message.task, report }),
          (error: unknown) =>
            send({ kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
        )
        break
      case 'taken':
        open--
        if (open < MAX_OPEN_BATCHES) {
          wake?.()
          wake = undefined
        }
        break
      case 'finish':
        runner.finish()
        send({ kind: 'finished' })
        port.close()
        break
    }
  })
  send({ kind: 'ready' })
}

// Not in a thread when a bundler or a test only looks at the module.
if (parentPort !== null) {
  const port = parentPort
  port.once('message', (spec: JobSpec) => serve(port, spec))
}
