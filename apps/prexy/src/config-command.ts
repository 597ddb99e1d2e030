/** `prexy config`: what a configuration comes to, and what one may hold. */
import type { Command } from 'commander'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'

export function addConfigCommand(program: Command, run: CommandRun): void {
  const config = subcommand(program, 'config', 'What a configuration comes to, and what one may hold')
  const show = subcommand(
    config,
    'show',
    'A configuration as prexy understands it: all files in one, each value with its origin',
  )
    .argument('<file>', 'a YAML file, or a folder of them')
    .option(
      '--site <name>',
      'only the site of that name or host; may stand more than once',
      (name: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), name],
    )
  addExamples(show, [
    ['', 'prexy config show prexy.yaml'],
    ['What holds for one of many sites, and which file says so:', 'prexy config show /etc/prexy --site shop.example'],
  ])
  addNotes(
    show,
    'What it prints is a configuration itself, with file:line behind each value; what no file says is `default`, or left out\n' +
      'where docs/configuration.md has the default. Secrets are masked: of variables of the environment the names are shown.\n' +
      'Exit codes: 0 it is valid, 2 it is not, and standard error says why.',
  )
  show.action(async (file: string, flags: { site?: readonly string[] }) => {
    const { showConfiguration } = await import('./config-show.ts')
    run.code = await showConfiguration(file, flags.site ?? [])
  })
  const schema = subcommand(config, 'schema', 'The JSON Schema of configuration files, for editors')
  addExamples(schema, [['', 'prexy config schema > prexy.schema.json']])
  addNotes(
    schema,
    'An editor with a YAML language server takes it by a line at the top of a file:\n' +
      '# yaml-language-server: $schema=prexy.schema.json',
  )
  schema.action(async () => {
    const { printSchema } = await import('./config-show.ts')
    run.code = await printSchema()
  })
}

export function addPasswordCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'password', 'Hash a password for `access.basicAuth` of a configuration')
  addExamples(command, [
    ['It is asked for, and not shown:', 'prexy password'],
    ['From another program, one line:', 'printf \'%s\' "$SECRET" | prexy password'],
  ])
  addNotes(
    command,
    'It prints a line of scrypt (RFC 7914) with a salt of its own, other every time, which does not give the password away.',
  )
  command.action(async () => {
    const { printPasswordHash } = await import('./password.ts')
    run.code = await printPasswordHash()
  })
}
