/** `prexy reload`, and what `prexy serve` is told about its life. */
import { type Command, Option } from 'commander'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'
import { CommandError } from './exit-codes.ts'
import { DEFAULT_RELOAD_SECONDS, type ReloadFlags } from './reload-settings.ts'
import type { WorkerCount } from './source.ts'

/** Most processes that `--workers` takes. */
const MAX_WORKERS = 256

export function addLifeOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--workers <count>',
        'processes that share the work, auto for one per core; instead of what the file says',
      ).argParser(parseWorkers),
    )
    .option('--watch', 'serve a changed configuration as soon as its files change')
    .option('--pid-file <path>', 'where the process id is written; without it, where prexy reload looks')
}

function parseWorkers(text: string): WorkerCount {
  if (text === 'auto') return text
  const count = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= MAX_WORKERS) return count
  throw new CommandError(`--workers ${text} is no number from 1 to ${MAX_WORKERS}; auto takes one per core`)
}

/** Longest wait, an hour. */
const MAX_SECONDS = 3_600

function parseSeconds(text: string): number {
  const seconds = /^[0-9]{1,4}$/.test(text) ? Number(text) : Number.NaN
  if (seconds <= MAX_SECONDS) return seconds
  throw new CommandError(`--timeout ${text} is no number of seconds from 0 to ${MAX_SECONDS}`)
}

export function addReloadCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'reload', 'Make a running prexy serve read its configuration anew')
    .argument('<config>', 'the file or folder that it was started with')
    .option('--pid-file <path>', 'that of the server, if it was started with one')
    .addOption(
      new Option('--timeout <seconds>', 'how long to wait until it is served; 0 only tells the server')
        .argParser(parseSeconds)
        .default(DEFAULT_RELOAD_SECONDS),
    )
  addExamples(command, [['', 'prexy reload prexy.yaml']])
  addNotes(
    command,
    'The configuration is checked first; one with errors is not sent. Then it waits until the server, all its workers\n' +
      'included, serves it. Exit codes: 0 it is served, 1 the server refused it, ended or took too long, 2 it was not told.',
  )
  command.action(async (file: string, flags: ReloadFlags) => {
    const { reload } = await import('./reload.ts')
    run.code = await reload(file, flags)
  })
}
