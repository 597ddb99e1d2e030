/** docs/cli.md and docs/configuration.md, made from the definitions that the program itself runs on. */
import type { Command, Option } from 'commander'
import {
  DEFAULT_COMPARE,
  DEFAULT_COMPRESS,
  DEFAULT_RATE_SECONDS,
  DEFAULT_REALM,
  DEFAULT_REDIRECT_STATUS,
  DEFAULT_RESPOND_STATUS,
  DEFAULT_RETRY_AFTER_SECONDS,
} from '@prexy/config/provision'
import { configurationSections, type FieldReference } from '@prexy/config/reference'
import { ENCODER_LEVELS } from '@prexy/net/content-encoder'
import { DEFAULT_REQUEST_LIMITS, DEFAULT_RESPONSE_LIMITS } from '@prexy/http/limits'
import {
  DEFAULT_FORWARDED,
  DEFAULT_LIMITS,
  DEFAULT_REQUEST_ID_FIELD,
  DEFAULT_TIMEOUTS,
  DEFAULT_BALANCE,
  DEFAULT_HEALTH_CHECK,
  DEFAULT_UPSTREAM_ATTEMPTS,
  DEFAULT_UPSTREAM_CONNECTIONS,
  DEFAULT_UPSTREAM_HTTP2,
  DEFAULT_UPSTREAM_IDLE_CONNECTIONS,
  DEFAULT_UPSTREAM_STREAMS,
  DEFAULT_UPSTREAM_WAITING,
} from '@prexy/proxy/proxy-config'
import { DEFAULT_LIVE_FEED_LIMITS } from '@prexy/record/live-feed'
import { DEFAULT_BODY_LIMITS } from '@prexy/record/recorder'
import { DEFAULT_RETENTION } from '@prexy/record/retention'
import { DEFAULT_WRITER_LIMITS } from '@prexy/record/segment-writer'
import { DEFAULT_EJECTION } from '@prexy/proxy/upstream-ejection'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { examplesOf, notesOf } from './command-parts.ts'
import { outlineOf } from './command-outline.ts'
import { manPage } from './man-page.ts'
import { buildProgram } from './program.ts'
import { DEFAULT_DRAIN_MS } from './source.ts'
import { VERSION } from './version.ts'

const GENERATED = '<!-- Made by tools/generate-docs.mjs from the definitions in the code: edit those. -->'

/** Defaults that the parts themselves have, by path; the schema does not repeat them. */
function defaultsByPath(): ReadonlyMap<string, unknown> {
  const { priority, mode, maxHeldBytes, overflow } = compileRuleSet([], {}).options
  const upstream = {
    maxConnections: DEFAULT_UPSTREAM_CONNECTIONS,
    maxIdleConnections: DEFAULT_UPSTREAM_IDLE_CONNECTIONS,
    maxWaiting: DEFAULT_UPSTREAM_WAITING,
    maxAttempts: DEFAULT_UPSTREAM_ATTEMPTS,
    http2: DEFAULT_UPSTREAM_HTTP2,
    maxStreams: DEFAULT_UPSTREAM_STREAMS,
    balance: DEFAULT_BALANCE,
  }
  return new Map([
    ...entriesUnder('rewrite', { priority, mode, maxHeldBytes, overflow }),
    ...entriesUnder('upstream', upstream),
    ['upstream.servers[].weight', 1],
    ...entriesUnder('upstream.ejection', DEFAULT_EJECTION),
    ...entriesUnder('upstream.healthCheck', { ...DEFAULT_HEALTH_CHECK, status: DEFAULT_HEALTH_CHECK.status.join('-') }),
    ['redirect.status', DEFAULT_REDIRECT_STATUS],
    ['respond.status', DEFAULT_RESPOND_STATUS],
    ['access.basicAuth.realm', DEFAULT_REALM],
    ['access.rateLimit.seconds', DEFAULT_RATE_SECONDS],
    ...entriesUnder('compareWith', DEFAULT_COMPARE),
    ...entriesUnder('compress', DEFAULT_COMPRESS),
    ...entriesUnder('compress.levels', ENCODER_LEVELS),
    ['mount.to', '/'],
    ['maintenance.retryAfterSeconds', DEFAULT_RETRY_AFTER_SECONDS],
    ['forwarded', DEFAULT_FORWARDED],
    ['requestId', DEFAULT_REQUEST_ID_FIELD],
    ...entriesUnder('timeouts', { ...DEFAULT_TIMEOUTS, drainMs: DEFAULT_DRAIN_MS }),
    ...entriesUnder('limits', DEFAULT_LIMITS),
    ...entriesUnder('limits.request', DEFAULT_REQUEST_LIMITS),
    ...entriesUnder('limits.response', DEFAULT_RESPONSE_LIMITS),
    ...entriesUnder('record', { ...DEFAULT_WRITER_LIMITS, ...DEFAULT_RETENTION, samplePercent: 100 }),
    ...entriesUnder('record', {
      maxLiveEvents: DEFAULT_LIVE_FEED_LIMITS.maxEvents,
      maxLiveBytes: DEFAULT_LIVE_FEED_LIMITS.maxBytes,
      maxViewers: DEFAULT_LIVE_FEED_LIMITS.maxViewers,
    }),
    ...entriesUnder('record.bodies', { ...DEFAULT_BODY_LIMITS, samplePercent: 100 }),
  ])
}

function entriesUnder(path: string, values: object): [string, unknown][] {
  return Object.entries(values).map(([key, value]) => [`${path}.${key}`, value])
}

/** The text of docs/configuration.md. `example` is a whole file that is shown at the top. */
export function configurationReference(example: string): string {
  const defaults = defaultsByPath()
  const parts = [
    GENERATED,
    '# Configuration',
    [
      'A YAML file, or a folder of them, says what prexy does. `prexy check FILE` says everything that is wrong with it,',
      '`prexy config show FILE` what it comes to, `prexy serve FILE` runs it. For more than one site see',
      '[many-sites.md](many-sites.md); for completion in an editor, `prexy config schema`.',
    ].join('\n'),
    `\`\`\`yaml\n${example.trimEnd()}\n\`\`\``,
    [
      'The file is YAML 1.2: `on`, `yes` and `no` are texts. Keys that stand twice, merge keys, unknown keys and unknown tags',
      "are refused. Patterns are best put in single quotes, where only `'` itself is special (written twice).",
    ].join('\n'),
    [
      'Secrets may stand in variables of the environment: `${env:NAME}` in values of header rules, in hashes of passwords and in',
      'the token of the admin listener.',
      'A variable that is not set, or empty, is an error.',
    ].join('\n'),
    'A rules file, as `--rules` takes it, is the list below `rules` on its own.',
  ]
  for (const { title, description, fields } of configurationSections()) {
    parts.push(`## ${title}`, ...(description === `${title}.` ? [] : [description]), fieldTable(fields, defaults))
  }
  return `${parts.join('\n\n')}\n`
}

function fieldTable(fields: readonly FieldReference[], defaults: ReadonlyMap<string, unknown>): string {
  const rows = fields.map((field) => {
    const value = field.default ?? defaults.get(field.path)
    const fallback = field.required ? 'required' : value === undefined ? '' : formatDefault(value)
    return `| \`${field.path}\` | ${cell(field.type)} | ${fallback} | ${cell(field.description)} |`
  })
  return ['| field | value | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function formatDefault(value: unknown): string {
  if (value === Number.POSITIVE_INFINITY) return 'no limit'
  return typeof value === 'string' || typeof value === 'number' ? `\`${value}\`` : ''
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

/** The text of docs/prexy.1. */
export function manualPage(): string {
  return manPage(outlineOf(buildProgram({ code: 0, complain() {} })), VERSION)
}

/** The text of docs/cli.md. */
export function commandLineReference(): string {
  const program = buildProgram({ code: 0, complain() {} })
  const parts = [
    GENERATED,
    '# Command line',
    [
      'From a clone: `npx --no prexy ...`. npx takes options that stand right behind `prexy` for itself, so begin with the',
      'address or the command (`npx --no prexy help`), or write `npx --no -- prexy`.',
      'npx does not hand signals on: to end a prexy that it began, press Ctrl-C, or `kill` the node process below it.',
      'Options stand anywhere behind their command; `--` ends them.',
    ].join('\n'),
    'Exit codes: 0 it worked; 1 it worked and the answer is no (`replace --fail-if-none`); 2 it did not work.',
    'Colours and progress bars appear on a terminal only; `NO_COLOR` turns colours off, `FORCE_COLOR` on.',
    ...commandSections(program, 'prexy', true),
  ]
  return `${parts.join('\n\n')}\n`
}

function commandSections(command: Command, name: string, isRoot: boolean): string[] {
  const children = command.commands.flatMap((child) => commandSections(child, `${name} ${child.name()}`, false))
  // A command that only groups others has nothing to say.
  if (!isRoot && command.commands.length > 0 && command.options.length === 0) return children
  const usage = isRoot ? 'prexy URL [options]' : `${name} ${command.usage()}`
  const parts = [`## ${isRoot ? 'prexy URL' : name}`, `${command.description()}`, `\`\`\`\n${usage}\n\`\`\``]
  const rows = [
    ...command.registeredArguments.map(
      (argument) =>
        `| \`${argument.required ? argument.name() : `[${argument.name()}]`}\` | ${cell(argument.description)} |`,
    ),
    ...command.options.map((option) => `| \`${option.flags}\` | ${cell(optionText(option))} |`),
  ]
  if (rows.length > 0) parts.push(['| option | meaning |', '|---|---|', ...rows].join('\n'))
  const notes = notesOf(command)
  if (notes !== undefined) parts.push(notes)
  const examples = examplesOf(command).map(([what, line]) => `${what === '' ? '' : `# ${what}\n`}${line}`)
  if (examples.length > 0) parts.push(`\`\`\`sh\n${examples.join('\n\n')}\n\`\`\``)
  return [...parts, ...children]
}

function optionText(option: Option): string {
  const choices =
    option.argChoices === undefined ? '' : `: ${option.argChoices.map((choice) => `\`${choice}\``).join(', ')}`
  return `${option.description}${choices}`
}
