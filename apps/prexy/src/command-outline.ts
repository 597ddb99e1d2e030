/** The command line as plain data, from its one definition: for the man page and the completions. */
import type { Command, Option } from 'commander'
import { examplesOf, notesOf } from './command-parts.ts'

export interface OutlinedOption {
  /** `-L, --location`, `--listen <address>`. */
  readonly flags: string
  /** `--listen`, `-L`. */
  readonly names: readonly string[]
  readonly description: string
  readonly takesValue: boolean
  /** Empty: anything. */
  readonly choices: readonly string[]
  /** The value is the name of a file. */
  readonly isFile: boolean
}

export interface OutlinedCommand {
  /** `prexy import nginx`. */
  readonly path: string
  readonly name: string
  readonly description: string
  readonly usage: string
  readonly arguments: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly OutlinedOption[]
  readonly notes: string | undefined
  readonly examples: readonly (readonly [what: string, line: string])[]
  readonly commands: readonly OutlinedCommand[]
}

export function outlineOf(command: Command, path: string = command.name()): OutlinedCommand {
  return {
    path,
    name: command.name(),
    description: command.description(),
    usage: command.usage(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
      description: argument.description,
    })),
    options: command.options.map(outlineOption),
    notes: notesOf(command),
    examples: examplesOf(command),
    commands: command.commands.map((child) => outlineOf(child, `${path} ${child.name()}`)),
  }
}

function outlineOption(option: Option): OutlinedOption {
  return {
    flags: option.flags,
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    takesValue: option.required,
    choices: option.argChoices ?? [],
    isFile: /<(file|path|folder|dir|directory)\b/.test(option.flags),
  }
}

/** The command and all below it, each before those below. */
export function allCommands(root: OutlinedCommand): readonly OutlinedCommand[] {
  return [root, ...root.commands.flatMap(allCommands)]
}
