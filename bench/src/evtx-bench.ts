/** Readers of Windows event logs: a fresh process per sample, all readers and runtimes in turn, on one core. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateEvents } from '@prexy/testing/evtx-events'
import { writeEvtx } from '@prexy/testing/evtx-writer'
import type { EvtxDefinition } from './definition.ts'
import { ratioName } from './engine-bench.ts'
import type { EvtxSample } from './evtx-sample.ts'
import { installPeers } from './peers.ts'
import { runPinned, type Runtime } from './programs.ts'
import { currentLoad, type Result } from './record.ts'

const SAMPLE = fileURLToPath(new URL('./evtx-sample.js', import.meta.url))
const SEED = 20_261_130

/** `data` is a file or a folder of logs to measure with instead of the generated one. */
export function runEvtxBench(
  root: string,
  definition: EvtxDefinition,
  runtimes: readonly Runtime[],
  data: string | undefined,
): Result[] {
  const peers = installPeers(root, '@ts-evtx/core')
  const readers = definition.readers.filter((reader) => peers !== undefined || reader.startsWith('prexy'))
  const files = data === undefined ? [writeLog(root, definition)] : logsBelow(data)
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const { name, command, version } of runtimes) {
      const runtime = `${name} ${version}`
      const speeds = new Map<string, number>()
      for (const subject of readers) {
        const load = currentLoad()
        const args = [SAMPLE, subject, peers ?? '', String(definition.secondsPerSample), ...files]
        const { megabytesPerSecond, recordsPerSecond } = JSON.parse(runPinned(1, command, args)) as EvtxSample
        speeds.set(subject, recordsPerSecond)
        results.push({ runtime, load, subject, value: megabytesPerSecond, unit: 'MB/s' })
        results.push({ runtime, load, subject: `${subject}, records`, value: recordsPerSecond, unit: 'events/s' })
      }
      for (const goal of definition.goals) {
        const ours = speeds.get(goal.subject)
        const theirs = speeds.get(goal.against)
        if (ours === undefined || theirs === undefined) continue
        results.push({ runtime, load: currentLoad(), subject: ratioName(goal), value: ours / theirs, unit: 'x' })
      }
    }
  }
  return results
}

function writeLog(root: string, { name, events }: EvtxDefinition): string {
  const folder = join(root, '.build')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.evtx`)
  writeFileSync(file, writeEvtx(generateEvents(events, SEED)))
  return file
}

function logsBelow(path: string): readonly string[] {
  if (path.endsWith('.evtx')) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.evtx'))
    .sort()
    .map((name) => join(path, name))
}
