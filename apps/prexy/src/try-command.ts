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
  readonly har?: string
  readonly secrets?: boolean
}

export function addTryCommand(program: Command, run: CommandRun): void {
  const command = subcommand(program, 'try', 'Fetch one page and show what rules would make of it, change by change')
    .argument('[url]', 'the page, http or https; not with --har')
    .option('--har <path>', 'instead of a page the responses of a HAR file, a recording or one of its segments')
    .option('--host <name>', 'what clients would ask for; without it, the host of the page')
    .option(
      '-H, --header <line>',
      "a field of the request, 'Cookie: a=b'; may stand more than once",
      (line, before: readonly string[] | undefined) => [...(before ?? []), line],
    )
    .option('-L, --location', 'follow redirects')
    .option('--max-bytes <bytes>', `the longest body that is fetched (${DEFAULT_MAX_TRY_BYTES})`, wholeNumber)
    .option('--max-changes <count>', `how many changed places are shown (${DEFAULT_MAX_CHANGES})`, wholeNumber)
    .option('--secrets', 'with --har: as recorded, without taking secrets out again')
    .option('--json', 'print the result as one JSON object; with --har one a line, and the counts in the last')
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
    ['On everything that was recorded:', 'prexy try --har recordings --rules rules.yaml'],
  ])
  addNotes(
    command,
    'The page is fetched once and given to a prexy on this machine, with its own gate, codings and header rules; nothing is\n' +
      'served and nothing is changed. With --har nothing leaves this machine; what has no recorded body is counted and passed over.\n' +
      'Exit codes: 0 a rule changed something, 1 none did, 2 an error.',
  )
  command.action(async (url: string | undefined, flags: TryFlags) => {
    rules.finish()
    if (rules.entries.length === 0) throw new CommandError('no rules; add --text a --with b, or --rules rules.yaml')
    const maxChanges = flags.maxChanges ?? DEFAULT_MAX_CHANGES
    if (flags.har !== undefined) {
      refuseWithHar(url, flags)
      const { tryRecorded } = await import('./try-recorded.ts')
      run.code = await tryRecorded(flags.har, rules.entries, rewriteOptions(flags), {
        host: flags.host,
        maxChanges,
        json: flags.json === true,
        secrets: flags.secrets === true,
      })
      return
    }
    if (url === undefined) throw new CommandError('which page? give its address, or --har and what was recorded')
    if (flags.secrets === true) throw new CommandError('--secrets goes with --har')
    const { tryPage } = await import('./try-page.ts')
    run.code = await tryPage(url, rules.entries, rewriteOptions(flags), {
      host: flags.host,
      headers: flags.header ?? [],
      follow: flags.location === true,
      maxBytes: flags.maxBytes ?? DEFAULT_MAX_TRY_BYTES,
      maxChanges,
      json: flags.json === true,
    })
  })
}

/** What is about fetching a page says nothing about recorded ones. */
function refuseWithHar(url: string | undefined, { header, location, maxBytes }: TryFlags): void {
  if (url !== undefined) throw new CommandError('--har takes the place of the address; give one of them')
  const fetching = [
    header === undefined ? undefined : '--header',
    location === undefined ? undefined : '--location',
    maxBytes === undefined ? undefined : '--max-bytes',
  ].filter((option) => option !== undefined)
  if (fetching.length > 0) throw new CommandError(`${fetching.join(', ')}: for a page that is fetched, not with --har`)
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('It is no whole number from 1.')
  return number
}
