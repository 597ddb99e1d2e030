/** What `prexy try` says, for people and for programs. */
import type { PassReason } from '@prexy/http/gate'
import type { Rule } from '@prexy/rewrite/rules'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { formatBytes, printable, type Styles } from './terminal.ts'
import type { DiffPart, Hunk } from './try-diff.ts'
import type { Fetched } from './try-fetch.ts'
import type { TryResult } from './try-run.ts'

/** Why nothing was rewritten, and what to do about it. */
const REASONS: Readonly<Record<PassReason, string>> = {
  'no-rules': 'there are no rules',
  host: 'no rule is for this host; see hosts',
  method: 'no rule is for this method; see methods',
  path: 'no rule is for this path; see paths',
  'request-header': 'no rule is for these request fields; see requestHeaders',
  status: 'no rule is for this status; see status',
  'content-type': 'no rule is for this media type; see types',
  'response-header': 'no rule is for these response fields; see responseHeaders',
  charset: 'the text is in an encoding that the rules cannot be applied to',
  'no-content': 'a response of this status has no content',
  'partial-content': 'it is a part of something; prexy asks for the whole where rules may apply',
  'no-transform': 'Cache-Control: no-transform forbids it; ignoreNoTransform: true rewrites it all the same',
  'coding-unknown': 'its Content-Encoding is none that can be taken off',
  'coding-stacked': 'it has several content codings',
  upgrade: 'it is no HTTP any more',
  'nothing-found': 'no rule found anything in it before',
}

export interface FieldChange {
  readonly name: string
  /** Undefined: the field is new, or gone. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Lines that are on one side only, by name. */
export function fieldChanges(before: readonly string[], after: readonly string[]): readonly FieldChange[] {
  const left = linesByName(before)
  const right = linesByName(after)
  const changes: FieldChange[] = []
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    // Of this machine, or about the coding that was asked for here.
    if (name === 'date' || name === 'via') continue
    const [was, is] = [left.get(name), right.get(name)]
    const gone = (was?.values ?? []).filter((value) => is?.values.includes(value) !== true)
    const come = (is?.values ?? []).filter((value) => was?.values.includes(value) !== true)
    const shown = is?.shown ?? was?.shown ?? name
    for (let at = 0; at < Math.max(gone.length, come.length); at++) {
      changes.push({ name: shown, before: gone.at(at), after: come.at(at) })
    }
  }
  return changes
}

function linesByName(fields: readonly string[]): ReadonlyMap<string, { shown: string; values: string[] }> {
  const lines = new Map<string, { shown: string; values: string[] }>()
  for (let at = 0; at < fields.length; at += 2) {
    const lower = fields[at].toLowerCase()
    const known = lines.get(lower)
    if (known === undefined) lines.set(lower, { shown: fields[at], values: [fields[at + 1]] })
    else known.values.push(fields[at + 1])
  }
  return lines
}

/** `text "Acme"`, short enough for a line. */
export function describeRule(rule: Rule): string {
  const [kind, text] =
    'text' in rule
      ? ['text', rule.text]
      : 'regex' in rule
        ? ['regex', rule.regex]
        : 'domain' in rule
          ? ['domain', rule.domain]
          : ['insert', `${rule.insert} ${rule.at}`]
  const shown = text.length > 50 ? `${text.slice(0, 49)}…` : text
  return `${kind} ${JSON.stringify(shown)}`
}

export interface TryReport {
  readonly fetched: Fetched
  readonly set: RuleSet
  readonly result: TryResult
  readonly hunks: readonly Hunk[]
  readonly next: URL | undefined
}

export function formatReport(report: TryReport, style: Styles, maxChanges: number): string {
  const { fetched, set, result, hunks, next } = report
  const { page, redirects } = fetched
  const lines = redirects.map(({ status, from, to }) => style.dim(`${from}: ${status} to ${to}`))
  lines.push(`${style.bold(page.url.href)}: ${page.status}, ${formatBytes(page.body.length)} as it came`)
  if (next !== undefined) lines.push(style.yellow(`it leads to ${next.href}, which -L follows`))
  if (result.fault !== undefined) lines.push(style.red(`it could not be served: ${result.fault}`))
  lines.push(...hunks.slice(0, maxChanges).flatMap((hunk) => ['', ...formatHunk(hunk, set, style)]))
  if (hunks.length > maxChanges) {
    lines.push('', style.dim(`${hunks.length - maxChanges} more places; --max-changes shows more than ${maxChanges}`))
  }
  const fields = fieldChanges(result.before, result.after)
  if (fields.length > 0)
    lines.push('', style.bold('Header fields:'), ...fields.flatMap((one) => fieldLines(one, style)))
  lines.push('', ...verdictLines(report, style))
  return `${lines.join('\n')}\n`
}

function formatHunk(hunk: Hunk, set: RuleSet, style: Styles): readonly string[] {
  const rules = hunk.rules.map((rule) => `rule ${rule + 1}, ${describeRule(set.rules[rule])}`).join('; ')
  return [
    style.cyan(`@@ line ${hunk.beforeLine} @@ ${rules}`),
    ...sideLines(hunk.before, '-', style.red, style),
    ...sideLines(hunk.after, '+', style.green, style),
  ]
}

/** Control characters of a page must not reach a terminal. */
function sideLines(
  parts: readonly DiffPart[],
  sign: string,
  colour: (text: string) => string,
  style: Styles,
): readonly string[] {
  const lines: string[] = ['']
  for (const { text, isChanged } of parts) {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) lines.push('')
      const safe = printable(piece.replaceAll('\t', '  '))
      if (safe === '') continue
      lines[lines.length - 1] += isChanged ? style.bold(colour(safe)) : colour(safe)
    }
  }
  return lines.map((line) => `${colour(sign)}${line}`)
}

function fieldLines({ name, before, after }: FieldChange, style: Styles): readonly string[] {
  return [
    ...(before === undefined ? [] : [style.red(`-${printable(`${name}: ${before}`)}`)]),
    ...(after === undefined ? [] : [style.green(`+${printable(`${name}: ${after}`)}`)]),
  ]
}

/** Why nothing was changed. */
export function reasonOf({ treatment }: TryResult): string {
  if (treatment?.kind === 'rewritten') return 'nothing was found'
  return treatment?.kind === 'passed' ? REASONS[treatment.reason] : 'it has no body'
}

function verdictLines({ set, result, hunks }: TryReport, style: Styles): readonly string[] {
  const { treatment, body } = result
  if (treatment?.kind !== 'rewritten') return [style.yellow(`Not rewritten: ${reasonOf(result)}.`)]
  const { hits, overflows } = treatment.stats
  const lines = [style.bold('Rules:')]
  for (const [index, rule] of set.rules.entries()) {
    const isActive = body?.active === undefined || body.active[index] !== 0
    const count = isActive ? String(hits[index] ?? 0) : 'not for this response'
    const line = `${String(index + 1).padStart(3)}  ${describeRule(rule)}: ${count}`
    lines.push(isActive && (hits[index] ?? 0) > 0 ? line : style.dim(line))
  }
  if (overflows > 0) {
    lines.push(style.yellow(`maxHeldBytes was met ${overflows} times: text was let go as it was; see docs/rules.md`))
  }
  const { charset, unencodable, droppedIntegrity, keptIntegrity, hashedPolicy } = treatment.notes ?? {}
  if (charset !== undefined && charset !== 'utf-8') lines.push(`The text is in ${charset}.`)
  if (unencodable !== undefined)
    lines.push(style.yellow(`${unencodable} characters of replacements are not in ${charset}.`))
  if (droppedIntegrity !== undefined) lines.push(`${droppedIntegrity} tags lost their integrity attribute.`)
  if (keptIntegrity === true) {
    lines.push(
      style.yellow('It has integrity attributes, and rules may change what they are about; see integrity: drop.'),
    )
  }
  if (hashedPolicy === true)
    lines.push(style.yellow('Its Content-Security-Policy names hashes, which may not fit any more.'))
  if (hunks.length === 0 && hits.every((count) => count === 0)) lines.push('Nothing was found.')
  return lines
}

export function reportAsJson({ fetched, set, result, hunks, next }: TryReport, maxChanges: number): object {
  const { page, redirects } = fetched
  const { treatment, body } = result
  const isRewritten = treatment?.kind === 'rewritten'
  const sideText = (parts: readonly DiffPart[]): string => parts.map(({ text }) => text).join('')
  return {
    url: page.url.href,
    status: page.status,
    redirects,
    ...(next === undefined ? {} : { leadsTo: next.href }),
    bytes: page.body.length,
    ...(result.fault === undefined ? {} : { fault: result.fault }),
    ...(isRewritten
      ? { rewritten: true, overflows: treatment.stats.overflows, notes: treatment.notes ?? {} }
      : {
          rewritten: false,
          reason: treatment?.kind === 'passed' ? treatment.reason : 'no-body',
        }),
    rules: set.rules.map((rule, index) => ({
      rule: index + 1,
      about: describeRule(rule),
      active: isRewritten && (body?.active === undefined || body.active[index] !== 0),
      hits: isRewritten ? (treatment.stats.hits[index] ?? 0) : 0,
    })),
    fields: fieldChanges(result.before, result.after),
    places: hunks.length,
    changes: hunks.slice(0, maxChanges).map((hunk) => ({
      line: hunk.beforeLine,
      rules: hunk.rules.map((rule) => rule + 1),
      before: sideText(hunk.before),
      after: sideText(hunk.after),
    })),
  }
}
