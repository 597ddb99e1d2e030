/** `prexy try`. */
import { type Command, InvalidArgumentError } from 'commander'
import type { RewriteOptions } from '@prexy/config/config-schema'
import { addExamples, addNotes, type CommandRun, subcommand } from './command-parts.ts'
import { CommandError } from './exit-codes.ts'
import { addRewriteOptions, rewriteOptions } from './rewrite-options.ts'
import { addRuleOptions } from './rule-options.ts'

/** Longest body that is fetched unless `--max-bytes` says otherwise, as it comes over the wire. */
export const DEFAULT_MAX_TRY_BYTES = 16_777_216
/** Changed places that are shown unless `--max-changes` says otherwise. */
export const DEFAULT_MAX_CHANGES = 100

interface TryFlags extends RewriteOptions {
  readonly host?: string
  readonly header?: readonly string[]
  readonly location?: boolean
  readonly maxBytes?: number
  readonly maxChanges?: number
  readonly json?: boolean
}

export function addTryCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'try', 'Fetch one page and show what rules would make of it, change by change')
    .argument('<url>', 'the page, http or https')
    .option('--host <name>', 'what clients would ask for; without it, the host of the page')
    .option(
      '-H, --header <line>',
      "a field of the request, 'Cookie: a=b'; may stand more than once",
      (line, before: readonly string[] | undefined) => [...(before ?? []), line],
    )
    .option('-L, --location', 'follow redirects')
    .option('--max-bytes <bytes>', `the longest body that is fetched (${DEFAULT_MAX_TRY_BYTES})`, wholeNumber)
    .option('--max-changes <count>', `how many changed places are shown (${DEFAULT_MAX_CHANGES})`, wholeNumber)
    .option('--json', 'print the result as one JSON object')
  const rules = addRuleOptions(command)
  addRewriteOptions(command)
  addExamples(command, [
    ['', 'prexy try https://www.example.org/ --rules rules.yaml'],
    [
      'One rule, before it goes into a file:',
      'prexy try https://www.example.org/ --domain www.example.org --with www.example.com',
    ],
    [
      'As a visitor of the copy who is logged in:',
      "prexy try https://www.example.org/ --rules rules.yaml --host copy.example -H 'Cookie: sid=1'",
    ],
  ])
  addNotes(
    command,
    'The page is fetched once and given to a prexy on this machine, with its own gate, codings and header rules; nothing is\n' +
      'served and nothing is changed. Exit codes: 0 a rule changed something, 1 none did, 2 an error.',
  )
  command.action(async (url: string, flags: TryFlags) => {
    rules.finish()
    if (rules.entries.length === 0) throw new CommandError('no rules; add --text a --with b, or --rules rules.yaml')
    const { tryPage } = await import('./try-page.ts')
    run.code = await tryPage(url, rules.entries, rewriteOptions(flags), {
      host: flags.host,
      headers: flags.header ?? [],
      follow: flags.location === true,
      maxBytes: flags.maxBytes ?? DEFAULT_MAX_TRY_BYTES,
      maxChanges: flags.maxChanges ?? DEFAULT_MAX_CHANGES,
      json: flags.json === true,
    })
  })
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('It is no whole number from 1.')
  return number
}
