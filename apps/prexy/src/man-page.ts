/** The man page, prexy(1), from the definition of the command line; in man(7), which every system can show. */
import { allCommands, type OutlinedCommand } from './command-outline.ts'

/** When what the page says was last looked through as a whole. */
const PAGE_DATE = '2026-12-01'

export function manPage(root: OutlinedCommand, version: string): string {
  const commands = allCommands(root).filter(({ commands: below, options }) => below.length === 0 || options.length > 0)
  const lines = [
    '.\\" Made by tools/generate-docs.mjs from the definition of the command line: edit that.',
    `.TH PREXY 1 ${PAGE_DATE} "prexy ${text(version)}" "User commands"`,
    '.SH NAME',
    'prexy \\- a reverse proxy that searches and replaces in what goes through it',
    '.SH SYNOPSIS',
    ...commands.flatMap((command, index) => [...(index === 0 ? [] : ['.br']), synopsis(command)]),
    '.SH DESCRIPTION',
    ...paragraph(root.description),
    '.PP',
    ...paragraph(
      'Rules stand on the command line or in a YAML file. prexy check says everything that is wrong with a file, prexy ' +
        'serve runs it; what it may hold stands in docs/configuration.md and docs/rules.md.',
    ),
    ...options(root),
    '.SH COMMANDS',
    ...commands.filter((command) => command !== root).flatMap(commandSection),
    '.SH EXIT STATUS',
    '.TP',
    '.B 0',
    'It worked.',
    '.TP',
    '.B 1',
    'It worked, and the answer is no: the command says what that means.',
    '.TP',
    '.B 2',
    'It did not work.',
    '.SH ENVIRONMENT',
    '.TP',
    '.B NO_COLOR',
    'Set to anything, it turns colours off; they appear on a terminal only.',
    '.TP',
    '.B FORCE_COLOR',
    'Turns colours on, terminal or not.',
    '.TP',
    '.B PREXY_DEBUG',
    'Shows where in the program an unexpected error happened.',
    '.SH EXAMPLES',
    ...exampleLines(root.examples).slice(1),
    '.SH SEE ALSO',
    '.BR nginx (8),',
    '.BR sed (1)',
  ]
  return `${lines.join('\n')}\n`
}

function synopsis({ path, usage, commands }: OutlinedCommand): string {
  // Of the program itself only the address is an operand; commands have lines of their own.
  const operands = commands.length > 0 && path === 'prexy' ? '[options] URL' : usage
  return `.B ${text(path)}\n${text(operands)}`
}

function commandSection(command: OutlinedCommand): readonly string[] {
  const { path, description, arguments: operands, notes, examples } = command
  return [
    `.SS ${quoted(path)}`,
    ...paragraph(`${description}.`),
    ...operands.flatMap((one) => ['.TP', `.I ${text(one.name)}`, ...paragraph(one.description)]),
    ...options(command),
    ...(notes === undefined ? [] : ['.PP', ...paragraph(notes)]),
    ...(examples.length === 0 ? [] : exampleLines(examples)),
  ]
}

function options({ options: all }: OutlinedCommand): readonly string[] {
  return all.flatMap(({ flags, description, choices }) => [
    '.TP',
    `.B ${text(flags)}`,
    ...paragraph(choices.length === 0 ? description : `${description}: ${choices.join(', ')}`),
  ])
}

function exampleLines(examples: OutlinedCommand['examples']): readonly string[] {
  return examples.flatMap(([what, line]) => [
    '.PP',
    ...(what === '' ? [] : paragraph(what)),
    ...(what === '' ? [] : ['.PP']),
    '.RS 4',
    '.nf',
    guarded(text(line)),
    '.fi',
    '.RE',
  ])
}

/** One sentence a line, as the language wants it. */
function paragraph(value: string): readonly string[] {
  return value
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll(/([.!?]) (?=[A-Z])/g, '$1\n')
    .split('\n')
    .map((line) => guarded(text(line)))
}

function text(value: string): string {
  return value
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('"', '\\(dq')
}

function quoted(value: string): string {
  return `"${text(value)}"`
}

/** A line that begins with a dot would be a request. */
function guarded(line: string): string {
  return line.startsWith('.') ? `\\&${line}` : line
}
