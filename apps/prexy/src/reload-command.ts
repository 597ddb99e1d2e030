/** `prexy reload`, and what `prexy serve` is told about its life. */
import { type Command, Option } from 'commander'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'
import { CommandError } from './exit-codes.ts'
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

export function addReloadCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'reload', 'Make a running prexy serve read its configuration anew')
    .argument('<config>', 'the file or folder that it was started with')
    .option('--pid-file <path>', 'that of the server, if it was started with one')
  addExamples(command, [['', 'prexy reload prexy.yaml']])
  addNotes(
    command,
    'The configuration is checked first; one with errors is not sent. The server checks it once more, and says on its\n' +
      'standard error what became of it. Exit codes: 0 the server was told, 2 it was not.',
  )
  command.action(async (file: string, flags: { pidFile?: string }) => {
    const { reload } = await import('./reload.ts')
    run.code = reload(file, flags.pidFile)
  })
}
