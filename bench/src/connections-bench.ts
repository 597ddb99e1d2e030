/** Very many connections to a proxy: what an idle one takes, or what requests on some cost beside the others. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadCommand, LoadReport } from './connection-load.ts'
import type { ConnectionsDefinition } from './definition.ts'
import type { Runtime } from './programs.ts'
import {
  cpuSeconds,
  pagePath,
  residentBytes,
  type RunningServer,
  runtimesOf,
  type Setup,
  startOrigin,
  startServer,
} from './proxy-setup.ts'
import { currentLoad, type Result } from './record.ts'

const LOAD = fileURLToPath(new URL('./connection-load.js', import.meta.url))
/** Time for a runtime to collect what opening the connections left behind. */
const SETTLE_SECONDS = 3

export async function runConnectionsBench(
  root: string,
  definition: ConnectionsDefinition,
  runtimes: readonly Runtime[],
): Promise<Result[]> {
  const setup = await startOrigin(definition, [])
  if (setup === undefined) return []
  const results: Result[] = []
  try {
    for (let round = 1; round <= definition.samples; round++) {
      process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
      for (const proxy of definition.proxies) {
        for (const runtime of runtimesOf(proxy, runtimes)) {
          const server = await startServer(root, setup, proxy, runtime)
          try {
            results.push(await sample(setup, definition, server))
          } finally {
            await server.close()
          }
        }
      }
    }
  } finally {
    await setup.close()
  }
  return results
}

async function sample(setup: Setup, definition: ConnectionsDefinition, server: RunningServer): Promise<Result> {
  const { name, runtime, pid, port } = server
  const load = currentLoad()
  const client = fork(LOAD, [String(port), pagePath(setup.definition, definition.body)])
  const tell = (command: LoadCommand): Promise<LoadReport> =>
    new Promise((resolve, reject) => {
      client.once('exit', () => reject(new Error(`the load against ${name} ended by itself`)))
      client.once('message', (report: LoadReport) => {
        if (report.failures > 0) reject(new Error(`${name}: ${report.failures} connections or answers failed`))
        else resolve(report)
      })
      client.send(command)
    })
  try {
    if (definition.active === 0) {
      const few = definition.connections / 5
      await tell({ kind: 'open', connections: few })
      await settle()
      const before = residentBytes(pid)
      await tell({ kind: 'open', connections: definition.connections })
      await settle()
      const value = (residentBytes(pid) - before) / (definition.connections - few) / 1_000
      await tell({ kind: 'touch' })
      return { subject: name, runtime, value, unit: 'KB', load }
    }
    await tell({ kind: 'open', connections: definition.connections })
    await tell({ kind: 'load', active: definition.active, seconds: definition.secondsPerSample })
    const before = cpuSeconds(pid)
    const { requests } = await tell({
      kind: 'load',
      active: definition.active,
      seconds: definition.secondsPerSample,
    })
    const value = ((cpuSeconds(pid) - before) / requests) * 1_000_000
    await tell({ kind: 'touch' })
    return { subject: name, runtime, value, unit: 'us/request', load }
  } finally {
    client.removeAllListeners('exit')
    client.kill()
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_SECONDS * 1_000))
}
