/** A hit as a row of a timeline: which columns there are, and what stands in them. */
import type { FieldScalar, FieldValue } from '@prexy/sigma/event'
import type { Level } from '@prexy/sigma/levels'
import type { RuleInfo } from '@prexy/sigma/rule'
import type { EventEntry, HuntEvent } from './hunt-event.ts'

/** Columns that come of the event; the others follow from the rule, or from where the event stands. */
const EVENT_COLUMNS = [
  'Host',
  'Channel',
  'EventID',
  'RecordID',
  'Provider',
  'Details',
  'ExtraFields',
  'AllFields',
  'Recovered',
] as const
export type EventColumn = (typeof EVENT_COLUMNS)[number]

/** `Source` and `Record` say where the event stands: a path, and a line, a value or a place in bytes. */
export type Column =
  | EventColumn
  | 'Timestamp'
  | 'Level'
  | 'RuleTitle'
  | 'Source'
  | 'Record'
  | 'RuleID'
  | 'RuleFile'
  | 'RuleAuthor'
  | 'RuleDate'
  | 'RuleModified'
  | 'Status'
  | 'Tactics'
  | 'Techniques'
  | 'OtherTags'

export const PROFILE_NAMES = ['minimal', 'standard', 'verbose', 'all-fields'] as const
export type Profile = (typeof PROFILE_NAMES)[number]

const EVENT: readonly Column[] = ['Timestamp', 'Host', 'Channel', 'EventID', 'Level', 'RecordID', 'RuleTitle']

export const PROFILES: Readonly<Record<Profile, readonly Column[]>> = {
  minimal: ['Timestamp', 'Host', 'Channel', 'EventID', 'Level', 'RuleTitle', 'Details'],
  standard: [...EVENT, 'Details', 'ExtraFields', 'Source', 'Record', 'RuleID'],
  verbose: [
    ...EVENT,
    'Details',
    'ExtraFields',
    'Tactics',
    'Techniques',
    'OtherTags',
    'Provider',
    'Status',
    'RuleAuthor',
    'RuleDate',
    'RuleModified',
    'RuleID',
    'RuleFile',
    'Source',
    'Record',
    'Recovered',
  ],
  'all-fields': [...EVENT, 'AllFields', 'Tactics', 'Techniques', 'Source', 'Record', 'RuleID'],
}

/** A cell: text, or pairs of a name and a value. */
export type Cell = string | readonly EventEntry[]

/** Longest text of one cell, or of one value of a pair; what is longer is cut and says so. Unit: characters. */
export const MAX_CELL_CHARACTERS = 16_384

function cut(text: string): string {
  return text.length > MAX_CELL_CHARACTERS
    ? `${text.slice(0, MAX_CELL_CHARACTERS)}... (${text.length} characters)`
    : text
}

/** Pairs as they may be kept when the event is gone. */
function kept(entries: readonly EventEntry[]): readonly EventEntry[] {
  return entries.map(([name, value]): EventEntry => {
    if (typeof value === 'string') return [name, cut(value)]
    // Beyond 2^53 JSON would lose digits.
    return typeof value === 'bigint' ? [name, String(value)] : [name, value]
  })
}

/** A template of details: literals, and `%Field%` between them. */
export interface DetailsTemplate {
  readonly parts: readonly { readonly label: string; readonly field: string }[]
}

/** Reads `Cmdline: %CommandLine% ¦ Proc: %Image%`, as rules have it; other characters between pairs are labels, too. */
export function parseDetailsTemplate(text: string): DetailsTemplate {
  const parts = text.split(/\s*[¦|]\s*/).flatMap((pair) => {
    const match = /%([^%\s]+)%/.exec(pair)
    if (match === null) return []
    const label = pair.slice(0, match.index).replace(/[:\s]+$/, '')
    return [{ label: label === '' ? match[1] : label, field: match[1].replace(/\[\d+\]$/, '') }]
  })
  return { parts }
}

/** What stands in details when the rule has no template of its own: by channel and event id, by channel, by kind. */
const DEFAULT_DETAILS: ReadonlyMap<string, string> = new Map([
  [
    'web',
    'Client: %c-ip% ¦ Request: %cs-method% ¦ Target: %c-uri% ¦ Status: %sc-status% ¦ Bytes: %sc-bytes% ¦ Agent: %cs-user-agent%',
  ],
  [
    'microsoft-windows-sysmon/operational/1',
    'Cmdline: %CommandLine% ¦ Proc: %Image% ¦ User: %User% ¦ ParentCmdline: %ParentCommandLine% ¦ PID: %ProcessId%',
  ],
  [
    'microsoft-windows-sysmon/operational/3',
    'Proc: %Image% ¦ SrcIP: %SourceIp% ¦ TgtIP: %DestinationIp% ¦ TgtPort: %DestinationPort% ¦ TgtHost: %DestinationHostname%',
  ],
  ['microsoft-windows-sysmon/operational/7', 'Image: %ImageLoaded% ¦ Proc: %Image% ¦ Signed: %Signed%'],
  [
    'microsoft-windows-sysmon/operational/10',
    'SrcProc: %SourceImage% ¦ TgtProc: %TargetImage% ¦ Access: %GrantedAccess%',
  ],
  ['microsoft-windows-sysmon/operational/11', 'Path: %TargetFilename% ¦ Proc: %Image%'],
  ['microsoft-windows-sysmon/operational/13', 'Key: %TargetObject% ¦ Details: %Details% ¦ Proc: %Image%'],
  ['microsoft-windows-sysmon/operational/22', 'Query: %QueryName% ¦ Result: %QueryResults% ¦ Proc: %Image%'],
  [
    'security/4688',
    'Cmdline: %CommandLine% ¦ Proc: %NewProcessName% ¦ User: %SubjectUserName% ¦ ParentProc: %ParentProcessName%',
  ],
  ['security/4624', 'Type: %LogonType% ¦ TgtUser: %TargetUserName% ¦ SrcComp: %WorkstationName% ¦ SrcIP: %IpAddress%'],
  [
    'security/4625',
    'Type: %LogonType% ¦ TgtUser: %TargetUserName% ¦ SrcComp: %WorkstationName% ¦ SrcIP: %IpAddress% ¦ Status: %SubStatus%',
  ],
  ['microsoft-windows-powershell/operational/4104', 'ScriptBlock: %ScriptBlockText%'],
])

/** Templates that a person gave: keys as in {@link DEFAULT_DETAILS}, or ids of rules. */
export type DetailsOverrides = ReadonlyMap<string, string>

export function isEventColumn(column: Column): column is EventColumn {
  return EVENT_COLUMNS.some((known) => known === column)
}

/** Those that the event itself fills. */
export function eventColumns(columns: readonly Column[]): readonly EventColumn[] {
  return EVENT_COLUMNS.filter((known) => columns.includes(known)).toSorted(
    (a, b) => columns.indexOf(a) - columns.indexOf(b),
  )
}

export interface RowMaker {
  /** Cells of the columns that come of the event, in their order. */
  cells(event: HuntEvent, rule: RuleInfo): readonly Cell[]
}

export function createRowMaker(columns: readonly Column[], overrides: DetailsOverrides): RowMaker {
  const templates = new Map<string, DetailsTemplate>()
  const wanted = eventColumns(columns)
  const compile = (text: string): DetailsTemplate => {
    const known = templates.get(text)
    if (known !== undefined) return known
    const parsed = parseDetailsTemplate(text)
    templates.set(text, parsed)
    return parsed
  }
  const templateFor = (event: HuntEvent, rule: RuleInfo): DetailsTemplate | undefined => {
    const channel = event.channel.toLowerCase()
    const keys = [`${channel}/${event.eventId ?? ''}`, channel, event.kind]
    const given = rule.id === undefined ? undefined : overrides.get(rule.id)
    const text =
      given ??
      rule.custom.get('details') ??
      keys.map((key) => overrides.get(key) ?? DEFAULT_DETAILS.get(key)).find((found) => found !== undefined)
    return text === undefined ? undefined : compile(text)
  }
  return {
    cells(event, rule) {
      const template = templateFor(event, rule)
      const details = (): readonly EventEntry[] => {
        const entries = template === undefined ? [] : detailsOf(event, template)
        return entries.length > 0 ? entries : event.entries()
      }
      return wanted.map((column) => cellOf(column, event, template, details))
    },
  }
}

function detailsOf(event: HuntEvent, { parts }: DetailsTemplate): readonly EventEntry[] {
  return parts.flatMap(({ label, field }): EventEntry[] => {
    const value = firstScalar(event.get(field))
    return value === undefined || value === null || value === '' ? [] : [[label, value]]
  })
}

function firstScalar(value: FieldValue | undefined): FieldScalar | undefined {
  if (typeof value !== 'object' || value === null) return value
  const list = 'wholes' in value ? value.values.slice(0, 1) : value
  return list.length > 1 ? list.map(String).join(', ') : list[0]
}

function cellOf(
  column: EventColumn,
  event: HuntEvent,
  template: DetailsTemplate | undefined,
  details: () => readonly EventEntry[],
): Cell {
  switch (column) {
    case 'Host':
      return event.host
    case 'Channel':
      return event.channel
    case 'EventID':
      return event.eventId === undefined ? '' : String(event.eventId)
    case 'RecordID':
      return event.recordId ?? ''
    case 'Provider':
      return event.provider ?? ''
    case 'Recovered':
      return event.isRecovered ? 'yes' : ''
    case 'AllFields':
      return kept(event.entries())
    case 'Details':
      return kept(details())
    case 'ExtraFields': {
      const shown = details()
      // Without a template details are everything.
      if (template === undefined) return []
      const fields = new Set(template.parts.map(({ field }) => field))
      const names = new Set(shown.map(([name]) => name))
      return kept(event.entries().filter(([name]) => !fields.has(name) && !names.has(name)))
    }
  }
}

const TACTICS: ReadonlySet<string> = new Set([
  'reconnaissance',
  'resource-development',
  'initial-access',
  'execution',
  'persistence',
  'privilege-escalation',
  'defense-evasion',
  'credential-access',
  'discovery',
  'lateral-movement',
  'collection',
  'command-and-control',
  'exfiltration',
  'impact',
  'stealth',
])

/** Tags of a rule by what they are: tactics and techniques of MITRE ATT&CK, and all others. */
export interface TagGroups {
  readonly tactics: readonly string[]
  readonly techniques: readonly string[]
  readonly others: readonly string[]
}

export function groupTags(tags: readonly string[]): TagGroups {
  const [tactics, techniques, others]: [string[], string[], string[]] = [[], [], []]
  for (const tag of tags) {
    const name = tag.toLowerCase().startsWith('attack.') ? tag.slice(7) : undefined
    if (name === undefined) others.push(tag)
    else if (/^[tsg]\d{4}(?:\.\d{3})?$/i.test(name)) techniques.push(name.toUpperCase())
    else if (TACTICS.has(name.toLowerCase().replaceAll('_', '-'))) tactics.push(name.toLowerCase().replaceAll('_', '-'))
    else others.push(tag)
  }
  return { tactics, techniques, others }
}

/** What a rule says in the columns that are its own. */
export function ruleCell(column: Column, rule: RuleInfo, level: Level | undefined): string {
  switch (column) {
    case 'Level':
      return level ?? ''
    case 'RuleTitle':
      return rule.title
    case 'RuleID':
      return rule.id ?? ''
    case 'RuleFile':
      return `${rule.file}:${rule.line}`
    case 'RuleAuthor':
      return rule.author ?? ''
    case 'RuleDate':
      return rule.date ?? ''
    case 'RuleModified':
      return rule.modified ?? ''
    case 'Status':
      return rule.status ?? ''
    case 'Tactics':
      return groupTags(rule.tags).tactics.join(', ')
    case 'Techniques':
      return groupTags(rule.tags).techniques.join(', ')
    case 'OtherTags':
      return groupTags(rule.tags).others.join(', ')
    default:
      return ''
  }
}
