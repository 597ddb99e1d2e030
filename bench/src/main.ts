/** `npm run bench -- NAME [--record] [--runtimes node,bun] [--samples N] [--data FILE]`; without a name, what there is. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readDefinitions, RUNTIMES, type Definition } from './definition.ts'
import { runEngineBench } from './engine-bench.ts'
import { describeRatios, runMsgpackBench } from './msgpack-bench.ts'
import { findRuntime } from './programs.ts'
import { runProxyBench } from './proxy-bench.ts'
import { appendRecord, describeMachine, loadWarning, summarize } from './record.ts'

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
    },
  })
  const definitions = readDefinitions(DEFINITIONS)
  if (positionals.length === 0) {
    process.stdout.write('npm run bench -- NAME, where NAME is one of\n')
    for (const { name, what } of definitions.values()) process.stdout.write(`  ${name.padEnd(20)} ${what}\n`)
    return 0
  }
  for (const name of positionals) {
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
  if (choices.data !== undefined && definition.model !== 'msgpack')
    throw new Error('--data: only for MessagePack benches')
  const unknown = only?.find((name) => !RUNTIMES.some((runtime) => runtime === name))
  if (unknown !== undefined) throw new Error(`--runtimes: "${unknown}" is none of ${RUNTIMES.join(', ')}`)
  const runtimes = definition.runtimes
    .filter((name) => only === undefined || only.includes(name))
    .flatMap((name) => findRuntime(ROOT, name) ?? [])
  process.stdout.write(
    `bench: ${definition.name}: ${definition.what}\nbench: on ${describeMachine()}\n${loadWarning()}`,
  )
  const results =
    definition.model === 'engine'
      ? runEngineBench(DEFINITIONS, definition, runtimes)
      : definition.model === 'proxy'
        ? await runProxyBench(ROOT, definition, runtimes)
        : runMsgpackBench(ROOT, definition, runtimes, choices.data)
  if (results.length === 0) return
  process.stdout.write(`\n${summarize(results)}`)
  if (definition.model === 'msgpack') process.stdout.write(describeRatios(results))
  if (choices.record === true) {
    const name = choices.data === undefined ? definition.name : `${definition.name}-given`
    process.stdout.write(`bench: kept in ${appendRecord(join(ROOT, 'bench/record'), name, results)}\n`)
  }
}

process.exitCode = await main()
