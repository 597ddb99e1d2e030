/** `prexy init`. */
import type { Command } from 'commander'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'

export function addInitCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'init', 'Write a first configuration: one site shown under another name')
    .argument('<old>', 'the host name of the site there is, or its address: www.example.org, http://10.0.0.5:8080')
    .argument('<new>', 'the host name under which it is to be seen')
    .option('--output <file>', 'write it there, where nothing may be yet; without it, to standard output')
  addExamples(command, [
    [
      '',
      'prexy init www.example.org www.example.com --output prexy.yaml && prexy check prexy.yaml && prexy serve prexy.yaml',
    ],
  ])
  addNotes(command, 'Nothing is asked of the network, and a file that is there already is left alone.')
  command.action(async (from: string, to: string, flags: { output?: string }) => {
    const { writeFirstConfiguration } = await import('./init-configuration.ts')
    run.code = await writeFirstConfiguration(from, to, flags.output)
  })
}
