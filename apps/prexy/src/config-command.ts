/** `prexy config`: what a configuration comes to, and what one may hold. */
import { type Command, InvalidArgumentError } from 'commander'
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
  addPush(config, run)
  addPull(config, run)
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

function addPush(config: Command, run: CommandRun): void {
  const command = subcommand(config, 'push', 'Write a configuration to the bucket that a fleet reads it from')
    .argument('<source>', 'nats://HOST:4222/BUCKET/KEY, or the file of a replica that says source')
    .argument('<file>', 'what is written: a YAML file')
    .option('--revision <number>', 'the revision that it replaces; another one since is not overwritten', wholeNumber)
    .option('--create [replicas]', 'make the bucket where there is none, kept by so many servers', wholeNumber)
  addExamples(command, [
    ['The first one, in a bucket that three servers keep:', 'prexy config push replica.yaml fleet.yaml --create 3'],
    ['In the place of revision 7:', 'prexy config push replica.yaml fleet.yaml --revision 7'],
  ])
  addNotes(
    command,
    'It is checked first, with the file of the replica as that replica reads it. Exit codes: 0 it was written, 1 it is stale:\n' +
      'another revision was written since, and stays; 2 it has errors, or the cluster cannot be asked.',
  )
  command.action(async (source: string, file: string, flags: { revision?: number; create?: number | true }) => {
    const { pushConfiguration } = await import('./config-push.ts')
    const { revision, create } = flags
    run.code = await pushConfiguration(source, file, {
      ...(revision === undefined ? {} : { revision }),
      ...(create === undefined ? {} : { create: create === true ? 1 : create }),
    })
  })
}

function addPull(config: Command, run: CommandRun): void {
  const command = subcommand(config, 'pull', 'Print the configuration that a fleet reads, and its revision')
    .argument('<source>', 'nats://HOST:4222/BUCKET/KEY, or the file of a replica that says source')
    .option('-o, --output <file>', 'where to; without it, standard output')
  addExamples(command, [['', 'prexy config pull replica.yaml -o fleet.yaml']])
  command.action(async (source: string, flags: { output?: string }) => {
    const { pullConfiguration } = await import('./config-push.ts')
    run.code = await pullConfiguration(source, flags.output)
  })
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It is no whole number.')
  return Number(text)
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
