/** What commands are made of, wherever they are defined. */
import type { Command } from 'commander'
import { stylesFor } from './terminal.ts'

/** What a command is run with: where it leaves its exit code, and how it says what is wrong with its words. */
export interface CommandRun {
  code: number
  complain(text: string): void
}

export function subcommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).helpCommand(false).allowExcessArguments(false)
}

type Example = readonly [what: string, command: string]

/** Examples by command, for the reference. */
const EXAMPLES = new WeakMap<Command, readonly Example[]>()
const NOTES = new WeakMap<Command, string>()

export function examplesOf(command: Command): readonly Example[] {
  return EXAMPLES.get(command) ?? []
}

export function notesOf(command: Command): string | undefined {
  return NOTES.get(command)
}

export function addExamples(command: Command, examples: readonly Example[]): void {
  EXAMPLES.set(command, examples)
  command.addHelpText('after', (context) => {
    const style = stylesFor(context.error ? process.stderr : process.stdout, process.env)
    const lines = examples.map(([what, line]) => `${what === '' ? '' : `  ${style.dim(`# ${what}`)}\n`}  $ ${line}\n`)
    return `\n${style.bold('Examples:')}\n${lines.join('\n')}`
  })
}

export function addNotes(command: Command, text: string): void {
  NOTES.set(command, text)
  command.addHelpText('after', text)
}
