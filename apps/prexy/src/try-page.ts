/** `prexy try`: what rules would make of one page, without serving anything. */
import type { RewriteOptions } from '@prexy/config/config-schema'
import { CommandError, EXIT_ERROR, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import type { RuleEntry } from './rule-options.ts'
import { compileRuleEntries } from './rule-source.ts'
import { writeStandardOutput } from './standard-output.ts'
import { stylesFor } from './terminal.ts'
import { type Hunk, hunksOf } from './try-diff.ts'
import { fetchPage, redirectOf } from './try-fetch.ts'
import { formatReport, reportAsJson, type TryReport } from './try-report.ts'
import { startTrial, type TryResult } from './try-run.ts'

export interface TryOptions {
  readonly maxBytes: number
  readonly maxChanges: number
  readonly follow: boolean
  readonly json: boolean
  readonly host: string | undefined
  /** `Name: value`. */
  readonly headers: readonly string[]
}

/** Runs the command: 0 when a rule changed something, 1 when none did. */
export async function tryPage(
  address: string,
  entries: readonly RuleEntry[],
  rewrite: RewriteOptions,
  options: TryOptions,
): Promise<number> {
  const url = pageAddress(address)
  const fields = options.headers.flatMap(parseField)
  const set = await compileRuleEntries(entries, rewrite)
  const fetched = await fetchPage(url, { maxBytes: options.maxBytes, fields, follow: options.follow })
  const { page } = fetched
  await using trial = await startTrial(set)
  const result = await trial.run(page, { host: options.host ?? page.url.host, fields })
  const hunks = hunksIn(result)
  const report: TryReport = { fetched, set, result, hunks, next: redirectOf(page) }
  await writeStandardOutput(
    options.json
      ? `${JSON.stringify(reportAsJson(report, options.maxChanges))}\n`
      : formatReport(report, stylesFor(process.stdout, process.env), options.maxChanges),
  )
  if (result.fault !== undefined) return EXIT_ERROR
  return hunks.length > 0 ? EXIT_OK : EXIT_NONE
}

function pageAddress(address: string): URL {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    throw new CommandError(`${address} is no address; write it like https://www.example.org/`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new CommandError(`${address} is no address of a page; it begins with http:// or https://`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new CommandError("an address has no user name here; add --header 'Authorization: Basic ...'")
  }
  return url
}

/** Fields that the try itself says. */
const OWN_FIELDS = /^(?:host|connection|content-length|transfer-encoding|accept-encoding|expect|upgrade|te)$/i

function parseField(line: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\u0020-\u007e\u00a0-\u00ff]*)$/.exec(line) ?? []
  if (name === undefined) throw new CommandError(`--header ${line} is no header line; write it like 'Cookie: a=b'`)
  if (OWN_FIELDS.test(name)) throw new CommandError(`--header ${name} is said by prexy itself; see --host`)
  return [name, value]
}

/** What the rules changed. */
export function hunksIn(result: TryResult): readonly Hunk[] {
  const { body } = result
  return body === undefined ? [] : hunksOf(body, decoderFor(result, body.input))
}

/** The text of what the rules saw: UTF-8, or the body's own encoding where the rules could be applied to its octets. */
function decoderFor({ treatment }: TryResult, input: Uint8Array): (octets: Uint8Array) => string {
  const charset = treatment?.kind === 'rewritten' ? treatment.notes?.charset : undefined
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  if (charset === undefined || charset === 'utf-8' || isUtf8(input)) return (octets) => utf8.decode(octets)
  const decoder = new TextDecoder(charset)
  return (octets) => decoder.decode(octets)
}

function isUtf8(octets: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(octets)
    return true
  } catch {
    return false
  }
}
