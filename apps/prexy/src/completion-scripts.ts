/** What shells complete, from the definition of the command line. */
import { allCommands, type OutlinedCommand, type OutlinedOption } from './command-outline.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function completionScript(shell: Shell, root: OutlinedCommand): string {
  const commands = allCommands(root)
  switch (shell) {
    case 'bash':
      return bashScript(commands)
    case 'zsh':
      return zshScript(commands)
    case 'fish':
      return fishScript(commands)
  }
}

/** A word of a shell in single quotes; bash, zsh. */
function quoted(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`
}

/** The lines of a `case` that follow the words to the command that they name, and skip values of options. */
function walk(commands: readonly OutlinedCommand[], at: string): readonly string[] {
  return commands.flatMap(({ path, commands: below, options }) => [
    ...below.map((child) => `      ${quoted(`${path} ${child.name}`)}) ${at}=${quoted(child.path)} ;;`),
    ...options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ names }) => names.map((name) => `      ${quoted(`${path} ${name}`)}) i=$((i + 1)) ;;`)),
  ])
}

function valueCases(
  commands: readonly OutlinedCommand[],
  answer: (option: OutlinedOption) => string,
): readonly string[] {
  return commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map((option) => {
        const patterns = option.names.map((name) => quoted(`${path} ${name}`)).join(' | ')
        return `    ${patterns}) ${answer(option)}; return ;;`
      }),
  )
}

function optionNames({ options }: OutlinedCommand): readonly string[] {
  return [...options.map(({ names }) => names.at(-1) ?? ''), '--help']
}

function bashScript(commands: readonly OutlinedCommand[]): string {
  const lines = [
    '# Completion of prexy for bash. Made by: prexy completion bash',
    '_prexy() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" at=prexy i=1',
    '  COMPREPLY=()',
    '  while [ "$i" -lt "$COMP_CWORD" ]; do',
    '    case "$at ${COMP_WORDS[i]}" in',
    ...walk(commands, 'at'),
    '    esac',
    '    i=$((i + 1))',
    '  done',
    '  case "$at $previous" in',
    ...valueCases(commands, ({ choices, isFile }) =>
      choices.length > 0
        ? `COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$current"))`
        : isFile
          ? 'COMPREPLY=($(compgen -f -- "$current"))'
          : ':',
    ),
    '  esac',
    '  case "$at" in',
    ...commands.map((command) => {
      const below = command.commands.map(({ name }) => name).join(' ')
      const files = command.arguments.some(({ name }) => /file|config/.test(name)) ? ' $(compgen -f -- "$current")' : ''
      return [
        `    ${quoted(command.path)})`,
        '      case "$current" in',
        `        -*) COMPREPLY=($(compgen -W ${quoted(optionNames(command).join(' '))} -- "$current")) ;;`,
        `        *) COMPREPLY=($(compgen -W ${quoted(below)} -- "$current")${files}) ;;`,
        '      esac ;;',
      ].join('\n')
    }),
    '  esac',
    '}',
    'complete -o filenames -F _prexy prexy',
  ]
  return `${lines.join('\n')}\n`
}

/** `_describe` takes `name:description`. */
function described(name: string, description: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${description}`)
}

function zshScript(commands: readonly OutlinedCommand[]): string {
  const lines = [
    '#compdef prexy',
    '# Completion of prexy for zsh. Made by: prexy completion zsh',
    '_prexy() {',
    '  local at=prexy i=2',
    '  local -a names',
    '  while (( i < CURRENT )); do',
    '    case "$at ${words[i]}" in',
    ...walk(commands, 'at'),
    '    esac',
    '    i=$((i + 1))',
    '  done',
    '  case "$at ${words[CURRENT-1]}" in',
    ...valueCases(commands, ({ choices, isFile }) =>
      choices.length > 0 ? `compadd -- ${choices.map(quoted).join(' ')}` : isFile ? '_files' : '_message value',
    ),
    '  esac',
    '  case "$at" in',
    ...commands.map((command) => {
      const options = [
        ...command.options.map((option) => described(option.names.at(-1) ?? '', option.description)),
        described('--help', 'print this help'),
      ]
      const below = command.commands.map(({ name, description }) => described(name, description))
      const files = command.arguments.some(({ name }) => /file|config/.test(name)) ? ' _files;' : ''
      return [
        `    ${quoted(command.path)})`,
        '      if [[ "${words[CURRENT]}" == -* ]]; then',
        `        names=(${options.join(' ')}); _describe -o option names`,
        '      else',
        `        names=(${below.join(' ')}); _describe command names;${files}`,
        '      fi ;;',
      ].join('\n')
    }),
    '  esac',
    '}',
    'compdef _prexy prexy',
  ]
  return `${lines.join('\n')}\n`
}

function fishQuoted(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function fishScript(commands: readonly OutlinedCommand[]): string {
  const lines = [
    '# Completion of prexy for fish. Made by: prexy completion fish',
    'function __prexy_at',
    '  set -l at prexy',
    '  set -l skip 0',
    '  for word in (commandline -opc)[2..-1]',
    '    if test $skip = 1',
    '      set skip 0',
    '      continue',
    '    end',
    '    switch "$at $word"',
    ...commands.flatMap(({ path, commands: below, options }) => [
      ...below.flatMap((child) => [
        `      case ${fishQuoted(`${path} ${child.name}`)}`,
        `        set at ${fishQuoted(child.path)}`,
      ]),
      ...options
        .filter(({ takesValue }) => takesValue)
        .flatMap(({ names }) => [
          `      case ${names.map((name) => fishQuoted(`${path} ${name}`)).join(' ')}`,
          '        set skip 1',
        ]),
    ]),
    '    end',
    '  end',
    '  test "$at" = "$argv[1]"',
    'end',
    'complete -c prexy -f',
    ...commands.flatMap((command) => {
      const here = `complete -c prexy -n ${fishQuoted(`__prexy_at ${fishQuoted(command.path)}`)}`
      const takesFiles = command.arguments.some(({ name }) => /file|config/.test(name))
      return [
        ...(takesFiles ? [`${here} -F`] : []),
        ...command.commands.map(({ name, description }) => `${here} -a ${name} -d ${fishQuoted(description)}`),
        `${here} -l help -s h -d 'print this help'`,
        ...command.options.map(({ names, description, takesValue, choices, isFile }) => {
          const spelled = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
          const value =
            choices.length > 0 ? ` -xa ${fishQuoted(choices.join(' '))}` : isFile ? ' -rF' : takesValue ? ' -x' : ''
          return `${here} ${spelled.join(' ')} -d ${fishQuoted(description)}${value}`
        }),
      ]
    }),
  ]
  return `${lines.join('\n')}\n`
}
