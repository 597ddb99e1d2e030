/**
 * `npm run bench -- --quick`: some of each kind within five minutes, as one table and a picture. Figures are rougher than
 * those of the definitions themselves: one sample each, shorter warm-ups, one runtime.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { barChart, type Panel } from './chart.ts'
import type { Definition, EngineDefinition } from './definition.ts'
import { runEngineBench } from './engine-bench.ts'
import { median } from './figures.ts'
import { runLibcBench } from './libc-bench.ts'
import { findRuntime } from './programs.ts'
import { runProxyBench } from './proxy-bench.ts'
import { currentLoad, describeMachine, type Result, summarize } from './record.ts'
import { runStartBench } from './start-bench.ts'

const ENGINES = ['engine-5-rules', 'engine-no-match', 'engine-101-literals']
const QUICK = { samples: 1, secondsPerSample: 1 }
const WARM_UP_SECONDS = 4

/** The results, and the picture in `picture`. */
export async function runQuick(
  root: string,
  definitions: ReadonlyMap<string, Definition>,
  picture: string,
): Promise<readonly Result[]> {
  const begun = performance.now()
  const runtime = findRuntime(root, 'node24') ?? findRuntime(root, 'node')
  const runtimes = runtime === undefined ? [] : [runtime]
  const results: Result[] = []
  const panels: Panel[] = []
  for (const name of ENGINES) {
    const definition = definitions.get(name)
    if (definition?.model !== 'engine') continue
    const measured = runEngineBench(root, join(root, 'bench/definitions'), { ...definition, ...QUICK }, runtimes)
    results.push(...measured.map((one) => ({ ...one, subject: `${name}: ${one.subject}` })))
    panels.push(enginePanel(definition, measured))
  }
  const peers = definitions.get('proxy-peers')
  if (peers?.model === 'proxy') {
    const measured = await runProxyBench(root, { ...peers, samples: 1, secondsPerSample: 2 }, runtimes, WARM_UP_SECONDS)
    results.push(...measured)
    for (const bytes of peers.bodies) panels.push(proxyPanel(bytes, measured))
  }
  const start = definitions.get('start')
  if (start?.model === 'start') results.push(...(await runStartBench(root, { ...start, samples: 1 }, runtimes)))
  const libc = definitions.get('libc')
  if (libc?.model === 'libc') {
    results.push(...runLibcBench(root, { ...libc, samples: 1, secondsPerSample: 0.2, threads: [2] }))
  }
  const seconds = (performance.now() - begun) / 1_000
  const caption = `${describeMachine()}, ${new Date().toISOString().slice(0, 10)}, load ${currentLoad().toFixed(1)}; npm run bench -- --quick; read bench/BIAS.md`
  mkdirSync(dirname(picture), { recursive: true })
  writeFileSync(
    picture,
    barChart(
      panels.filter(({ bars }) => bars.length > 0),
      caption,
      'prexy',
    ),
  )
  process.stdout.write(`\n${summarize(results)}\nbench: ${seconds.toFixed(0)} s; the picture is ${picture}\n`)
  return results
}

function enginePanel({ name, what }: EngineDefinition, results: readonly Result[]): Panel {
  return { title: `${name}: ${what.split(/[,.]/, 1)[0]}`, better: 'more', bars: bars(results, 'MB/s', '') }
}

function proxyPanel(bytes: number, results: readonly Result[]): Panel {
  const suffix = ` ${bytes} B`
  const title = `CPU time of a proxy per response of ${bytes / 1_024} KB, five rules`
  return { title, better: 'less', bars: bars(results, 'us/request', suffix) }
}

/** Medians by subject, the best first. */
function bars(results: readonly Result[], unit: Result['unit'], suffix: string): Panel['bars'] {
  const of = results.filter((one) => one.unit === unit && one.subject.endsWith(suffix))
  const subjects = [...new Set(of.map(({ subject }) => subject))]
  const made = subjects.map((subject) => ({
    label: suffix === '' ? subject : subject.slice(0, -suffix.length),
    value: median(of.filter((one) => one.subject === subject).map(({ value }) => value)),
    unit: unit === 'us/request' ? 'us' : unit,
  }))
  return made.toSorted((a, b) => (unit === 'MB/s' ? b.value - a.value : a.value - b.value))
}
