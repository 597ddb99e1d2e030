/**
 * `npm run bench -- NAME [--record] [--runtimes node,bun] [--samples N] [--data FILE]`; without a name, what there is. A
 * name that ends in `-` stands for all that begin with it. `--docs` writes the figures of the pages in docs anew;
 * `--quick` measures some of each kind in five minutes and draws a picture.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runBesideBench } from './beside-bench.ts'
import { runCompileBench } from './compile-bench.ts'
import { runConnectionsBench } from './connections-bench.ts'
import { runCorpusBench } from './corpus-bench.ts'
import { readDefinitions, RUNTIMES, type Definition } from './definition.ts'
import { runEngineBench } from './engine-bench.ts'
import { runEvtxBench } from './evtx-bench.ts'
import { goalTable } from './goals.ts'
import { runInspectorBench } from './inspector-bench.ts'
import { describeRatios, runMsgpackBench } from './msgpack-bench.ts'
import { runLibcBench } from './libc-bench.ts'
import { Figures } from './figures.ts'
import { fleetReport } from './fleet-report.ts'
import { writeFigures } from './pages.ts'
import { runQuick } from './quick.ts'
import { findRuntime, type Runtime } from './programs.ts'
import { runProxyBench } from './proxy-bench.ts'
import { runSigmaBench } from './sigma-bench.ts'
import { runSitesBench } from './sites-bench.ts'
import { runStartBench } from './start-bench.ts'
import { runTechniquesBench } from './techniques-bench.ts'
import { runWorkersBench } from './workers-bench.ts'
import { runHuntBench } from './hunt-bench.ts'
import { appendRecord, describeMachine, loadWarning, summarize, type Result } from './record.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DEFINITIONS = join(ROOT, 'bench/definitions')

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      record: { type: 'boolean' },
      runtimes: { type: 'string' },
      samples: { type: 'string' },
      data: { type: 'string' },
      docs: { type: 'boolean' },
      quick: { type: 'boolean' },
    },
  })
  const definitions = readDefinitions(DEFINITIONS)
  if (values.docs === true) {
    for (const page of writeFigures(ROOT, definitions)) process.stdout.write(`bench: wrote the figures of ${page}\n`)
    return 0
  }
  if (values.quick === true) {
    await runQuick(ROOT, definitions, join(ROOT, 'docs/images/bench.svg'))
    return 0
  }
  if (positionals.length === 0) {
    process.stdout.write('npm run bench -- NAME, where NAME is one of these, or the beginning of several up to a -\n')
    for (const { name, what } of definitions.values()) process.stdout.write(`  ${name.padEnd(20)} ${what}\n`)
    return 0
  }
  const names = positionals.flatMap((name) =>
    name.endsWith('-') ? [...definitions.keys()].filter((each) => each.startsWith(name)) : [name],
  )
  for (const name of names) {
    const found = definitions.get(name)
    if (found === undefined) {
      process.stderr.write(
        `bench: no definition is called "${name}"; there are ${[...definitions.keys()].join(', ')}\n`,
      )
      return 2
    }
    const samples = values.samples === undefined ? found.samples : Number(values.samples)
    if (!Number.isInteger(samples) || samples < 1) {
      process.stderr.write('bench: --samples is a whole number, 1 or more\n')
      return 2
    }
    await run({ ...found, samples }, values)
  }
  return 0
}

interface Choices {
  readonly runtimes?: string | undefined
  readonly record?: boolean | undefined
  readonly data?: string | undefined
}

async function run(definition: Definition, choices: Choices): Promise<void> {
  const only = choices.runtimes?.split(',')
  if (choices.data !== undefined && !['msgpack', 'sigma', 'evtx', 'hunt'].includes(definition.model))
    throw new Error('--data: only for MessagePack, Sigma, EVTX and hunt benches')
  const unknown = only?.find((name) => !RUNTIMES.some((runtime) => runtime === name))
  if (unknown !== undefined) throw new Error(`--runtimes: "${unknown}" is none of ${RUNTIMES.join(', ')}`)
  const runtimes = definition.runtimes
    .filter((name) => only === undefined || only.includes(name))
    .flatMap((name) => findRuntime(ROOT, name) ?? [])
  process.stdout.write(
    `bench: ${definition.name}: ${definition.what}\nbench: on ${describeMachine()}\n${loadWarning()}`,
  )
  const results = await measure(definition, runtimes, choices.data)
  if (results.length === 0) return
  process.stdout.write(`\n${summarize(results)}`)
  process.stdout.write(definition.model === 'msgpack' ? describeRatios(results) : goalTable(definition, results))
  if (choices.record === true) {
    const name = choices.data === undefined ? definition.name : `${definition.name}-given`
    process.stdout.write(`bench: kept in ${appendRecord(join(ROOT, 'bench/record'), name, results)}\n`)
  }
}

async function measure(
  definition: Definition,
  runtimes: readonly Runtime[],
  data: string | undefined,
): Promise<Result[]> {
  switch (definition.model) {
    case 'engine':
      return runEngineBench(ROOT, DEFINITIONS, definition, runtimes)
    case 'corpus':
      return runCorpusBench(DEFINITIONS, definition, runtimes)
    case 'compile':
      return runCompileBench(DEFINITIONS, definition, runtimes)
    case 'proxy':
      return await runProxyBench(ROOT, definition, runtimes)
    case 'beside':
      return await runBesideBench(ROOT, definition, runtimes)
    case 'connections':
      return await runConnectionsBench(ROOT, definition, runtimes)
    case 'hunt':
      return await runHuntBench(ROOT, definition, runtimes, data)
    case 'inspector':
      return await runInspectorBench(ROOT, definition)
    case 'sites':
      return await runSitesBench(ROOT, definition, runtimes)
    case 'workers':
      return await runWorkersBench(ROOT, definition, runtimes)
    case 'libc':
      return runLibcBench(ROOT, definition)
    case 'start':
      return await runStartBench(ROOT, definition, runtimes)
    case 'techniques':
      return runTechniquesBench(definition, runtimes)
    case 'fleet':
      process.stdout.write(`\n${fleetReport(new Figures(join(ROOT, 'bench/record')), definition)}\n`)
      return []
    case 'msgpack':
      return runMsgpackBench(ROOT, definition, runtimes, data)
    case 'sigma':
      return runSigmaBench(definition, runtimes, data)
    case 'evtx':
      return runEvtxBench(ROOT, definition, runtimes, data)
  }
}

process.exitCode = await main()
