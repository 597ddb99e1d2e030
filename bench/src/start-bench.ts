/** From nothing to the first page: what a start takes, beside the runtime's own. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StartDefinition } from './definition.ts'
import { type Runtime, startPinned, stop } from './programs.ts'
import { cpuSeconds, residentBytes } from './proxy-setup.ts'
import { currentLoad, type Result } from './record.ts'

export async function runStartBench(
  root: string,
  definition: StartDefinition,
  runtimes: readonly Runtime[],
): Promise<Result[]> {
  // As it is shipped; a clone that has not packed it has many small modules instead.
  const packed = join(root, '.build/package/bin/prexy.mjs')
  if (!existsSync(packed)) {
    process.stdout.write(`bench: ${definition.name} did not run: there is no package; npm run package makes it\n`)
    return []
  }
  const folder = mkdtempSync(join(tmpdir(), 'prexy-start-bench-'))
  const origin = createServer((_, response) => response.setHeader('Content-Type', 'text/plain').end('Acme'))
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const address = origin.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const file = join(folder, 'prexy.yaml')
  writeFileSync(file, `listen: 127.0.0.1:0\nupstream: http://127.0.0.1:${port}\nrules: [{text: Acme, with: Zenith}]\n`)
  const results: Result[] = []
  try {
    for (let round = 1; round <= definition.samples; round++) {
      process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
      for (const runtime of runtimes) results.push(...(await sample(packed, file, runtime)))
    }
  } finally {
    origin.closeAllConnections()
    origin.close()
    rmSync(folder, { recursive: true })
  }
  return results
}

async function sample(packed: string, file: string, runtime: Runtime): Promise<Result[]> {
  const base = { runtime: `${runtime.name} ${runtime.version}`, load: currentLoad() }
  const bare = bareCpuMs(runtime)
  const server = startPinned(0, runtime.command, [packed, 'serve', file])
  try {
    const site = await new Promise<string>((resolve, reject) => {
      let said = ''
      server.stderr?.on('data', (text: string) => {
        said += text
        const match = /listening on (http:\/\/\S+?)\/?\s/.exec(said)
        if (match !== null) resolve(match[1])
      })
      server.once('close', () => reject(new Error(`prexy ended by itself: ${said}`)))
    })
    const page = await pageOf(site)
    if (page !== 'Zenith') throw new Error(`the first page is ${page}`)
    const { pid } = server
    if (pid === undefined) throw new Error('the server has no process')
    const cpuMs = cpuSeconds(pid) * 1_000
    return [
      { ...base, subject: 'CPU to the first page', value: cpuMs, unit: 'ms' },
      { ...base, subject: 'the runtime alone', value: bare, unit: 'ms' },
      { ...base, subject: 'CPU / runtime alone', value: cpuMs / bare, unit: 'x' },
      { ...base, subject: 'memory', value: residentBytes(pid) / 1e6, unit: 'MB' },
    ]
  } finally {
    await stop(server)
  }
}

/** Starts of a program that does nothing: the clock of `times` counts in hundredths of a second. */
const BARE_STARTS = 10

function bareCpuMs({ command }: Runtime): number {
  const script = `i=0; while [ $i -lt ${BARE_STARTS} ]; do "$0" -e 0; i=$((i+1)); done; times`
  const { stdout } = spawnSync('sh', ['-c', script, command], { encoding: 'utf8', env: {} })
  // The last line: minutes and seconds of children, in the program and in the kernel.
  const times = [...(stdout.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  const seconds = times.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0)
  return (seconds * 1_000) / BARE_STARTS
}

async function pageOf(site: string): Promise<string> {
  const asking = get(site, { agent: false })
  const [response] = (await once(asking, 'response')) as [NodeJS.ReadableStream]
  let text = ''
  for await (const piece of response) text += String(piece)
  return text
}
