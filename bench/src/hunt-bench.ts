/** Whole hunts over generated logs: the program from its start to its end, all cores, its output thrown away. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { generateEvents } from '@prexy/testing/evtx-events'
import { writeEvtx } from '@prexy/testing/evtx-writer'
import { processMemory } from '@prexy/testing/process-memory'
import type { HuntDefinition, HuntSubject } from './definition.ts'
import type { Runtime } from './programs.ts'
import { mulberry32 } from './random.ts'
import { currentLoad, type Result } from './record.ts'
import { sigmaRules } from './sigma-rules.ts'

const SEED = 20_261_201
const MEGABYTE = 1_000_000
const POLL_MS = 20

/** `data` is a folder of logs, and with `:FOLDER` behind it of rules, that stand in for the generated ones. */
export async function runHuntBench(
  root: string,
  definition: HuntDefinition,
  runtimes: readonly Runtime[],
  data: string | undefined,
): Promise<Result[]> {
  const folder = join(root, '.build')
  mkdirSync(folder, { recursive: true })
  const results: Result[] = []
  for (const subject of data === undefined ? definition.subjects : definition.subjects.slice(0, 1)) {
    const [named, given]: readonly (string | undefined)[] = data?.split(':', 2) ?? []
    const logs = named ?? writeLog(folder, subject)
    const rules = given ?? writeRules(folder, subject)
    const bytes = sizeOf(logs)
    for (let round = 1; round <= definition.samples; round++) {
      process.stdout.write(`bench: ${subject.name}, round ${round} of ${definition.samples}\n`)
      for (const { name, command, version } of runtimes) {
        const base = { runtime: `${name} ${version}`, load: currentLoad() }
        const { seconds, memory } = await measure(command, [
          join(root, 'apps/prexy/bin/prexy.mjs'),
          'hunt',
          logs,
          ...(rules === undefined ? [] : ['--rules', rules]),
          '--print',
          'csv',
          '--no-summary',
        ])
        results.push({ ...base, subject: subject.name, value: bytes / MEGABYTE / seconds, unit: 'MB/s' })
        results.push({ ...base, subject: `${subject.name}, memory`, value: memory, unit: 'MB' })
      }
    }
  }
  return results
}

async function measure(
  command: string,
  args: readonly string[],
): Promise<{ readonly seconds: number; readonly memory: number }> {
  const began = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  let memory = 0
  // The kernel keeps the most there was, so that only what comes behind the last look is missed.
  const look = setInterval(() => {
    try {
      if (child.pid !== undefined) memory = Math.max(memory, processMemory(child.pid, 'VmHWM') || 0)
    } catch {
      // It has just ended.
    }
  }, POLL_MS)
  const ended: unknown[] = await once(child, 'exit')
  clearInterval(look)
  if (ended[0] !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${String(ended[0])}`)
  return { seconds: (performance.now() - began) / 1_000, memory: (memory * 1_048_576) / MEGABYTE }
}

function sizeOf(path: string): number {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

/** Undefined: those that come with prexy. */
function writeRules(folder: string, { rules }: HuntSubject): string | undefined {
  if (rules === 'starter') return undefined
  const file = join(folder, `hunt-${rules}-rules.yml`)
  if (!existsSync(file)) writeFileSync(file, sigmaRules('process', rules))
  return file
}

/** Events of a piece of an event log; the log is as many of such files as it takes. */
const EVENTS_PER_FILE = 20_000

function writeLog(folder: string, { input, megabytes }: HuntSubject): string {
  if (input === 'windows') {
    const logs = join(folder, `hunt-${megabytes}-evtx`)
    if (existsSync(logs)) return logs
    mkdirSync(logs)
    for (let part = 0, bytes = 0; bytes < megabytes * MEGABYTE; part++) {
      const file = writeEvtx(generateEvents(EVENTS_PER_FILE, SEED + part))
      writeFileSync(join(logs, `${part}.evtx`), file)
      bytes += file.length
    }
    return logs
  }
  const file = join(folder, `hunt-${megabytes}.log`)
  if (existsSync(file) && statSync(file).size >= megabytes * MEGABYTE) return file
  const handle = openSync(file, 'w')
  const next = mulberry32(SEED)
  for (let bytes = 0, second = 0; bytes < megabytes * MEGABYTE; ) {
    let text = ''
    while (text.length < MEGABYTE) text += requestLine(next, second++)
    bytes += writeSync(handle, text)
  }
  closeSync(handle)
  return file
}

const AGENTS = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0',
]

/** One of 500 is an attack, one of 40 is not found. */
function requestLine(next: () => number, count: number): string {
  const time = new Date(Date.UTC(2026, 10, 1) + count * 37)
  const stamp = `${String(time.getUTCDate()).padStart(2, '0')}/Nov/2026:${time.toISOString().slice(11, 19)} +0000`
  const kind = next() % 500
  const target =
    kind === 0
      ? `/item?id=-1%20UNION%20SELECT%20${next() % 100}`
      : `/${['shop', 'item', 'cart', 'static', 'api/v1'][next() % 5]}/${(next() % 100_000).toString(36)}?page=${next() % 40}&q=${next().toString(36)}`
  const status = next() % 40 === 0 ? 404 : 200
  const client = `198.51.${next() % 200}.${next() % 250}`
  return `${client} - - [${stamp}] "GET ${target} HTTP/1.1" ${status} ${next() % 50_000} "https://shop.example/" "${AGENTS[next() % 3]}"\n`
}
