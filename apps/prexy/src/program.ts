/** The command line, defined once: what `--help` prints and what `docs/cli.md` says come from here. */
import { Command, Option } from 'commander'
import type { RewriteOptions } from '@prexy/config/config-schema'
import { nearMiss } from '@prexy/config/near-miss'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'
import { addConfigCommand, addPasswordCommand } from './config-command.ts'
import { addCompletionCommand } from './completion-command.ts'
import { addDoctorCommand } from './doctor-command.ts'
import { CommandError, EXIT_ERROR } from './exit-codes.ts'
import { addImportCommand } from './import-command.ts'
import { addInitCommand } from './init-command.ts'
import { addRewriteOptions, rewriteOptions } from './rewrite-options.ts'
import { addHuntCommands } from './hunt-command.ts'
import { addRecordCommands } from './record-command.ts'
import { addLifeOptions, addReloadCommand } from './reload-command.ts'
import { addRuleOptions } from './rule-options.ts'
import type { ServeFlags } from './serve.ts'
import { stylesFor } from './terminal.ts'
import { addTryCommand } from './try-command.ts'
import { VERSION } from './version.ts'

export type LogFormat = 'text' | 'json' | 'off'

/** Builds the program; `parseAsync` runs it. Throws CommandError and CommanderError for what is wrong with the words. */
export function buildProgram(run: CommandRun): Command {
  const program = new Command('prexy')
  styleHelp(program)
  const name = stylesFor(process.stderr, process.env).red('prexy:')
  program
    .configureOutput({
      writeErr: (text) => run.complain(text),
      outputError: (text, write) => write(text.replace(/^error:/, name)),
    })
    .description('A reverse proxy that searches and replaces in what goes through it, while it streams.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .option(
      '--debug',
      'before the command: print what the run took of time and memory when it ends, and stacks of faults',
    )
    .helpCommand(false)
    .enablePositionalOptions()
    .showHelpAfterError(false)
    .showSuggestionAfterError(true)
    .exitOverride()

  addProxyCommand(program, run)
  addServeCommand(program, run)
  addReloadCommand(program, run)
  addReplaceCommand(program, run)
  addCheckCommand(program, run)
  addDoctorCommand(program, run)
  addConfigCommand(program, run)
  addPasswordCommand(program, run)
  addTryCommand(program, run)
  addInitCommand(program, run)
  addImportCommand(program, run)
  addDebugCommands(program)
  addHuntCommands(program, run)
  addRecordCommands(program, run)
  addDemoCommand(program, run)
  addCompletionCommand(program)
  addHelpCommand(program)
  program.hook('preSubcommand', (_program, command) => refuseLostOptions(program, command))
  program.hook('preAction', async () => {
    if (program.getOptionValue('debug') !== true) return
    process.env.PREXY_DEBUG ??= '1'
    const { printStatisticsAtExit } = await import('./run-statistics.ts')
    printStatisticsAtExit()
  })
  return program
}

/** Commands do not see what stands before them. */
function refuseLostOptions(program: Command, command: Command): void {
  const lost = program.options.find(
    (option) => option.long !== '--debug' && program.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (lost === undefined) return
  throw new CommandError(
    `${lost.long ?? lost.flags} stands before ${command.name()}; options of a command stand behind it: prexy ${command.name()} --help lists them`,
  )
}

function addProxyCommand(program: Command, run: CommandRun): void {
  program
    .usage('URL [--listen ADDRESS] [rules]\n       prexy COMMAND [options]')
    .argument('[url]', 'the origin to put prexy in front of, like http://127.0.0.1:9000')
    .allowExcessArguments()
  addListenOption(program)
  addLogOption(program)
  const rules = addRuleOptions(program)
  addRewriteOptions(program)
  addExamples(program, [
    [
      'Show the site on port 9000 with other names, on port 8080 (the host name in links and JSON, too):',
      "prexy http://127.0.0.1:9000 --listen 8080 --text 'Acme Corp' --with 'Zenith Ltd' --domain acme.example --with zenith.example",
    ],
    ['Patterns take groups:', "prexy http://127.0.0.1:9000 --regex 'UA-([0-9]+)-[0-9]+' --with 'UA-$1-1'"],
    ['Keep it in a file, check it, serve it:', 'prexy check prexy.yaml && prexy serve prexy.yaml'],
    ['The same engine as a filter:', "prexy replace --regex '[0-9]{16}' --with '[card]' < app.log"],
  ])
  program.action(
    async (url: string | undefined, flags: ListenFlags & RewriteOptions & { log?: LogFormat }, command: Command) => {
      rules.finish()
      if (url === undefined) {
        if (flags.listen !== undefined || rules.entries.length > 0)
          throw new CommandError('name the origin to put prexy in front of, like http://127.0.0.1:9000')
        command.outputHelp({ error: true })
        run.code = EXIT_ERROR
        return
      }
      if (!/^https?:\/\//i.test(url)) throw new CommandError(unknownCommand(url, command))
      if (command.args.length > 1) throw new CommandError(`one origin at a time; what is ${command.args[1]}?`)
      const { serveOrigin } = await import('./serve.ts')
      run.code = await serveOrigin(url, flags.listen ?? [], rules.entries, rewriteOptions(flags), flags.log)
    },
  )
}

interface ListenFlags {
  readonly listen?: readonly string[]
}

function unknownCommand(word: string, program: Command): string {
  const near = nearMiss(
    word,
    program.commands.map((command) => command.name()),
  )
  if (near !== undefined) return `there is no command ${word}; did you mean prexy ${near}?`
  if (/\.ya?ml$/i.test(word)) return `${word} is no address; to serve a file: prexy serve ${word}`
  return `${word} is no command and no address; an address begins with http://`
}

function addServeCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'serve', 'Serve what a configuration file says').argument(
    '<config>',
    'a YAML file; docs/configuration.md says what it may hold',
  )
  addListenOption(command)
  addLogOption(command)
  addLifeOptions(command)
  addExamples(command, [
    ['', 'prexy serve prexy.yaml'],
    [
      'On another port than the file says, with access lines for a program to read:',
      'prexy serve prexy.yaml --listen 127.0.0.1:9090 --log json',
    ],
  ])
  addNotes(
    command,
    'SIGTERM and SIGINT end it: no new requests, those under way are finished; a second signal ends it at once.\n' +
      'SIGHUP, and prexy reload, make it read its configuration anew. docs/operating.md says more.',
  )
  command.action(async (file: string, flags: ServeFlags) => {
    const { dismissEarly, startEarly } = await import('./early-workers.ts')
    startEarly(flags.workers, file)
    try {
      const { serveFile } = await import('./serve.ts')
      run.code = await serveFile(file, flags)
    } finally {
      dismissEarly()
    }
  })
}

function addReplaceCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'replace', 'Search and replace in files or standard input, in bounded memory')
    .argument('[files...]', 'files to read one after the other; - and none are standard input')
    .option(
      '--in-place [suffix]',
      'rewrite the files themselves; with =suffix, the old ones are kept under that ending',
    )
    .option('--count', 'print how many replacements each file has, and no text')
    .option('--fail-if-none', 'exit with 1 when nothing was replaced')
  const rules = addRuleOptions(command)
  addRewriteOptions(command)
  addExamples(command, [
    [
      'As a filter, over input of any size:',
      'zcat dump.sql.gz | prexy replace --domain a.example --with b.example | gzip > new.sql.gz',
    ],
    [
      'How much would change, then change it and keep the old files:',
      'prexy replace --text foo --with bar --count *.html && prexy replace --text foo --with bar --in-place=.bak *.html',
    ],
    ['Rules from a file:', 'prexy replace --rules rules.yaml page.html'],
  ])
  addNotes(
    command,
    'There is no request and no response: conditions of rules (types, paths, ...) do not apply, request variables are empty.\n' +
      'In place a new file takes the name of the old one: other hard links keep the old text, and unless root does it the\n' +
      'file is yours afterwards. A file without a match is left alone. Output to a standard output that is closed (>&-) is\n' +
      'lost without an error: Node puts /dev/null there.\n' +
      'Exit codes: 0 done, with or without a match; 1 nothing replaced and --fail-if-none; 2 an error.',
  )
  command.action(async (files: string[], flags: ReplaceFlags & RewriteOptions) => {
    rules.finish()
    if (rules.entries.length === 0) throw new CommandError('no rules; add --text a --with b, or --rules rules.yaml')
    const readsRules = rules.entries.some((entry) => entry.kind === 'file' && entry.path === '-')
    if (readsRules && (files.length === 0 || files.includes('-')))
      throw new CommandError('--rules - reads the rules from standard input, which has no text then; name files')
    const { compileRuleEntries } = await import('./rule-source.ts')
    const { replaceFiles } = await import('./replace.ts')
    const set = await compileRuleEntries(rules.entries, rewriteOptions(flags))
    const inPlace = flags.inPlace === true ? '' : flags.inPlace
    run.code = await replaceFiles(set, files, {
      inPlace,
      count: flags.count === true,
      failIfNone: flags.failIfNone === true,
    })
  })
}

interface ReplaceFlags {
  readonly inPlace?: string | true
  readonly count?: boolean
  readonly failIfNone?: boolean
}

function addCheckCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'check', 'Say everything that is wrong with a configuration or a rules file')
    .argument('<files...>', 'YAML files, or folders of them')
    .option('--json', 'print the result as one JSON object per file')
  addExamples(command, [['', 'prexy check prexy.yaml']])
  addNotes(
    command,
    'Every problem is one line, file:line:column: path: what is wrong; what to do. Warnings name rules that may hold text\n' +
      'for as long as a response lasts. Exit codes: 0 nothing wrong (warnings count as nothing), 2 errors.',
  )
  command.action(async (files: string[], flags: { json?: boolean }) => {
    const { checkFiles } = await import('./check.ts')
    run.code = await checkFiles(files, flags.json === true)
  })
}

function addDebugCommands(program: Command): void {
  const debug = subcommand(program, 'debug', 'Drive the engine from tests and other programs, with JSON lines')
  const match = subcommand(debug, 'match', 'First match of several patterns in a subject')
  addExamples(match, [['', `echo '{"regexes":["a(b)?"],"flags":"i","subject":"xxAb"}' | prexy debug match`]])
  addNotes(match, DRIVER_NOTES)
  match.action(async () => {
    const [{ answerMatch }, { errorAnswer }, { answerLines }] = await Promise.all([
      import('./debug-match.ts'),
      import('./debug-question.ts'),
      import('./json-lines.ts'),
    ])
    await answerLines(process.stdin, process.stdout, answerMatch, errorAnswer)
  })
  const rewrite = subcommand(debug, 'rewrite', 'What a rule set makes of a body in chunks, and what it holds meanwhile')
  addExamples(rewrite, [
    ['', `echo '{"rules":[{"regex":"a+","with":"<$&>"}],"chunks":["xa","ab"]}' | prexy debug rewrite`],
  ])
  addNotes(rewrite, DRIVER_NOTES)
  rewrite.action(async () => {
    const [{ answerRewrite }, { errorAnswer }, { answerLines }] = await Promise.all([
      import('./debug-rewrite.ts'),
      import('./debug-question.ts'),
      import('./json-lines.ts'),
    ])
    await answerLines(process.stdin, process.stdout, answerRewrite, errorAnswer)
  })
  addExplainCommands(debug)
}

/** Beside the drivers, for people: what the engine makes of rules. */
function addExplainCommands(debug: Command): void {
  const pattern = subcommand(debug, 'pattern', 'What rules are compiled to: tree, program, automaton, prefilter')
  const described = addRuleOptions(pattern, '')
  addRewriteOptions(pattern)
  addExamples(pattern, [['', "prexy debug pattern --regex '<title>([^<]*)</title>' --with '$1' --domain a.example"]])
  addNotes(pattern, 'A rule without --with deletes what it matches.')
  pattern.action(async (flags: RewriteOptions) => {
    described.finish()
    if (described.entries.length === 0) throw new CommandError("no rules; add --regex 'a+b', or --rules rules.yaml")
    const { describeEntries } = await import('./debug-pattern.ts')
    process.stdout.write(await describeEntries(described.entries, rewriteOptions(flags)))
  })
  const trace = subcommand(
    debug,
    'trace',
    'A text read byte by byte: state, open matches, held bytes, output',
  ).argument('[text]', 'the text; without it, standard input')
  const traced = addRuleOptions(trace, '')
  addRewriteOptions(trace)
  addExamples(trace, [['', "prexy debug trace --text abce --with X --text b --with Y 'abcd'"]])
  addNotes(
    trace,
    'A rule without --with deletes what it matches. States are numbered as they are met. "open 3: rule 1" is a match of\n' +
      'rule 1 that began at byte 3 and is not over, "open 3" one that only waits for what follows; "found" is a whole match,\n' +
      'which a better one may still undo.',
  )
  trace.action(async (text: string | undefined, flags: RewriteOptions) => {
    traced.finish()
    if (traced.entries.length === 0)
      throw new CommandError("no rules; add --regex 'a+b' --with c, or --rules rules.yaml")
    if (text === undefined && traced.entries.some((entry) => entry.kind === 'file' && entry.path === '-'))
      throw new CommandError('--rules - reads the rules from standard input, which has no text then; add the text')
    const { readTraced, traceEntries } = await import('./debug-trace.ts')
    const body = text === undefined ? await readTraced(process.stdin) : new TextEncoder().encode(text)
    process.stdout.write(await traceEntries(traced.entries, rewriteOptions(flags), body))
  })
}

const DRIVER_NOTES =
  'One question a line on standard input, one answer a line on standard output, in order. Texts stand for octets, one\n' +
  'character each. A question that cannot be answered is answered {"error": ..., "message": ...}; the next one is read.'

function addDemoCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'demo', 'Run a small shop and prexy in front of it, to look at').option(
    '--check',
    'look at it instead of you: fetch every page, print what was proved, and end',
  )
  command.action(async (flags: { check?: boolean }) => {
    const { runDemo } = await import('./demo/demo.ts')
    run.code = await runDemo(flags.check === true)
  })
}

/** Commander's own looks at one word only. */
function addHelpCommand(program: Command): void {
  const command = subcommand(program, 'help', 'Print the help of a command').argument(
    '[command...]',
    'its words, like debug match',
  )
  command.option('--man', 'print the man page')
  addExamples(command, [
    ['', 'prexy help import nginx'],
    ['The man page, read or installed:', 'prexy help --man | man -l -'],
  ])
  command.action(async (words: string[], flags: { man?: boolean }) => {
    if (flags.man === true) {
      const [{ manPage }, { outlineOf }] = await Promise.all([import('./man-page.ts'), import('./command-outline.ts')])
      process.stdout.write(manPage(outlineOf(program), VERSION))
      return
    }
    let target = program
    for (const [index, word] of words.entries()) {
      const child = target.commands.find((one) => one.name() === word)
      if (child === undefined) throw new CommandError(noSuchCommand(words.slice(0, index + 1), target))
      target = child
    }
    target.outputHelp()
  })
}

function noSuchCommand(words: readonly string[], parent: Command): string {
  const names = parent.commands.map((command) => command.name())
  const near = nearMiss(words.at(-1) ?? '', names)
  const before = words.slice(0, -1).map((word) => `${word} `)
  const hint = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${before.join('')}${near}?`
  return `there is no command ${words.join(' ')}; ${names.length === 0 ? `prexy ${before.join('')}has none` : hint}`
}

function addListenOption(command: Command): void {
  command.addOption(
    new Option(
      '--listen <address>',
      'port, host:port or [ip]:port to listen on; a bare port takes every address, 0 a free port; may stand twice',
    ).argParser((value: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), value]),
  )
}

function addLogOption(command: Command): void {
  command.addOption(
    new Option('--log <format>', 'one line per request on standard error').choices(['text', 'json', 'off']),
  )
}

function styleHelp(program: Command): void {
  program.configureHelp({
    styleTitle: (text) => stylesFor(process.stdout, process.env).bold(text),
  })
}

/**
 * `--in-place file` names a file, only `--in-place=.bak` a suffix; commander would take the next word for it. Values of
 * other options and what follows `--` are left alone.
 */
export function separateInPlace(args: readonly string[], program: Command): string[] {
  const replace = program.commands.find((command) => command.name() === 'replace')
  if (args[0] !== 'replace' || replace === undefined) return [...args]
  const takesValue = new Set(replace.options.filter((option) => option.required).map((option) => option.long))
  const result: string[] = []
  let isValue = false
  let onlyOperands = false
  for (const arg of args) {
    if (!isValue && arg === '--') onlyOperands = true
    result.push(!isValue && !onlyOperands && arg === '--in-place' ? '--in-place=' : arg)
    isValue = !isValue && takesValue.has(arg)
  }
  return result
}
