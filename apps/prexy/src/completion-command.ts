/** `prexy completion`. */
import { Argument, type Command } from 'commander'
import { addExamples, addNotes, subcommand } from './command-parts.ts'
import { SHELLS, type Shell } from './completion-scripts.ts'

export function addCompletionCommand(program: Command): void {
  const command = subcommand(program, 'completion', 'Print what a shell needs to complete commands and options')
  command.addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(SHELLS))
  addExamples(command, [
    ['bash, for this session:', 'source <(prexy completion bash)'],
    ['zsh, for good:', 'prexy completion zsh > "${fpath[1]}/_prexy"'],
    ['fish, for good:', 'prexy completion fish > ~/.config/fish/completions/prexy.fish'],
  ])
  addNotes(command, 'The script knows the commands of this version; make it again after an update.')
  command.action(async (shell: Shell) => {
    const [{ completionScript }, { outlineOf }] = await Promise.all([
      import('./completion-scripts.ts'),
      import('./command-outline.ts'),
    ])
    process.stdout.write(completionScript(shell, outlineOf(program)))
  })
}
