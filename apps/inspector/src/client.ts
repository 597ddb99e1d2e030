/** The page's side of a worker. */
import type { CallMessage, CallName, Calls, StoreStatus, WorkerMessage } from './protocol.ts'

export interface WorkerClient {
  call<Name extends CallName>(name: Name, args: Calls[Name]['args']): Promise<Calls[Name]['result']>
  onStatus: (status: StoreStatus) => void
  /** The worker has a fault; what it was asked last may never be answered. */
  onFault: (message: string) => void
}

export function startWorker(): WorkerClient {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let next = 1
  const client: WorkerClient = {
    onStatus: () => {},
    onFault: () => {},
    call(name, args) {
      const id = next++
      return new Promise((resolve, reject) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the worker answers with the result of the call's name
        waiting.set(id, { resolve: resolve as (result: unknown) => void, reject })
        const message: CallMessage = { id, name, args }
        worker.postMessage(message)
      })
    },
  }
  worker.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
    if (data.kind === 'status') {
      client.onStatus(data.status)
      return
    }
    const call = waiting.get(data.id)
    waiting.delete(data.id)
    if (data.kind === 'failed') call?.reject(new Error(data.message))
    else call?.resolve(data.result)
  })
  worker.addEventListener('error', ({ message }) => client.onFault(message))
  return client
}
