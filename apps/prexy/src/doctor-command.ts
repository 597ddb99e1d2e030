/** `prexy doctor`. */
import type { Command } from 'commander'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'

export function addDoctorCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'doctor', 'Look at the machine, the runtime and a configuration before they bite')
    .argument('[config]', 'a YAML file, or a folder of them; without it, the machine and the runtime alone')
    .option('--json', 'print the findings as one JSON object')
    .option('--pid-file <path>', 'that of a running server, which has its ports itself')
  addExamples(command, [
    ['', 'prexy doctor'],
    ['Before a start, in the container or under the user that is to serve:', 'prexy doctor /etc/prexy'],
  ])
  addNotes(
    command,
    'It looks at the end of life of the runtime, the C library and its allocator, limits (open files, memory, address\n' +
      'space), cores and workers, the listen queue, ephemeral ports, the clock and the user; with a configuration also\n' +
      'whether it is valid, whether its addresses are free and whether its folders can be written to. It connects to nothing\n' +
      'and changes nothing; it listens on each address for a moment.\n' +
      'Exit codes: 0 nothing is wrong, 1 there are warnings, 2 prexy would not start or not live long.',
  )
  command.action(async (file: string | undefined, flags: { json?: boolean; pidFile?: string }) => {
    const { runDoctor } = await import('./doctor.ts')
    run.code = await runDoctor(file, flags)
  })
}
