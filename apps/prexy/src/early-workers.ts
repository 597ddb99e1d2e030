/**
 * Workers that start while the primary process still loads its own program: that takes each of them most of a start, and
 * none of them needs to know yet what is to be served.
 */
import cluster, { type Worker } from 'node:cluster'
import { readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { WorkerCount } from './source.ts'

interface EarlyWorker {
  readonly worker: Worker
  readonly said: unknown[]
  readonly listen: (message: unknown) => void
}

const waiting: EarlyWorker[] = []

export function startWorker(): Worker {
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ silent: true })
  const isColoured = process.stderr.isTTY === true && process.env.NO_COLOR === undefined
  return cluster.fork(isColoured ? { FORCE_COLOR: '1' } : {})
}

/** `wanted`: as the command line says; undefined where it leaves it to the file. */
export function startEarly(wanted: WorkerCount | undefined, file: string): void {
  if (!cluster.isPrimary) return
  const count = wanted ?? likelyCount(file)
  const workers = count === 'auto' ? availableParallelism() : count
  if (workers === 1) return
  for (let number = 0; number < workers; number++) {
    const worker = startWorker()
    const said: unknown[] = []
    const listen = (message: unknown): void => {
      said.push(message)
    }
    worker.on('message', listen)
    worker.on('error', () => {})
    waiting.push({ worker, said, listen })
  }
}

/** One that is there already, and what it has said so far; undefined if there is none. */
export function takeEarly(): { readonly worker: Worker; readonly said: readonly unknown[] } | undefined {
  for (;;) {
    const early = waiting.shift()
    if (early === undefined) return undefined
    const { worker, said, listen } = early
    worker.off('message', listen)
    if (!worker.isDead() && worker.isConnected()) return { worker, said }
  }
}

/** Ends those that nobody took: fewer are wanted than was thought, or there is nothing to serve. */
export function dismissEarly(): void {
  for (const { worker } of waiting.splice(0)) worker.process.kill('SIGKILL')
}

/** What the file says without being read as a whole. It may be wrong, which costs some processes that are ended again. */
function likelyCount(file: string): WorkerCount {
  try {
    // What is no file can be read but once.
    if (!statSync(file).isFile()) return 1
    const [, said] = /^workers:\s+(auto|[0-9]{1,3})\s*(?:#.*)?$/m.exec(readFileSync(file, 'utf8')) ?? []
    if (said === 'auto') return said
    const count = Number(said ?? 1)
    return count >= 1 && count <= MAX_EARLY ? count : 1
  } catch {
    // Standard input, or what is not there.
    return 1
  }
}

/** Of a guess. */
const MAX_EARLY = 64
