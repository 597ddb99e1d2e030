/** Rule documents: detection rules, correlations and filters, with what the engine and its reports need of them. */
import { type CorrelationSpec, readCorrelation } from './correlation-spec.ts'
import type { LogSource } from './event.ts'
import { type Level, LEVELS, type Status, STATUSES } from './levels.ts'
import { SigmaFault, type SigmaProblem } from './problem.ts'
import { entryOf, readSourceFile, type SourceEntry, type SourceMap } from './source-tree.ts'

/** What a document says about itself. */
export interface RuleInfo {
  readonly title: string
  readonly id: string | undefined
  readonly name: string | undefined
  readonly status: Status | undefined
  readonly level: Level | undefined
  readonly description: string | undefined
  readonly author: string | undefined
  readonly date: string | undefined
  readonly modified: string | undefined
  readonly references: readonly string[]
  readonly tags: readonly string[]
  readonly fields: readonly string[]
  readonly falsepositives: readonly string[]
  /** Other keys that hold a single value, such as Hayabusa's `details`. */
  readonly custom: ReadonlyMap<string, string>
  readonly file: string
  /** Where the document begins. */
  readonly line: number
}

interface DocumentBase {
  readonly info: RuleInfo
  lineOf(at: number): number
}

export interface DetectionDocument extends DocumentBase {
  readonly kind: 'detection'
  readonly logsource: LogSource
  readonly detection: SourceMap
}

export interface CorrelationDocument extends DocumentBase {
  readonly kind: 'correlation'
  readonly spec: CorrelationSpec
  /** Where the correlation stands. */
  readonly at: number
}

export interface FilterDocument extends DocumentBase {
  readonly kind: 'filter'
  readonly logsource: LogSource
  /** Ids or names; undefined for `any`. */
  readonly rules: readonly string[] | undefined
  readonly filter: SourceMap
}

export type SigmaDocument = DetectionDocument | CorrelationDocument | FilterDocument

export interface RuleFile {
  readonly documents: readonly SigmaDocument[]
  readonly problems: readonly SigmaProblem[]
}

/** Reads a rule file with one or more documents. Never throws: what cannot be used is in `problems`. */
export function readRuleFile(text: string, file: string): RuleFile {
  const source = readSourceFile(text, file)
  const problems = [...source.problems]
  const documents: SigmaDocument[] = []
  // The old collections share keys between documents: a part of one means nothing alone.
  const isCollection = source.documents.some((node) => node.kind === 'map' && entryOf(node, 'action') !== undefined)
  for (const node of source.documents) {
    let rule: string | undefined
    const report = (severity: 'error' | 'warning', at: number, message: string, hint: string | undefined): void => {
      problems.push({ severity, file, line: source.lineOf(at), rule, message, hint })
    }
    try {
      if (node.kind !== 'map') throw new SigmaFault(node.at, 'this document is no rule', 'a rule is a map of keys')
      rule = textAt(node, 'title') ?? textAt(node, 'id')
      if (isCollection) {
        throw new SigmaFault(node.at, 'the file is an obsolete collection ("action")', 'write each rule out')
      }
      const warn = (at: number, message: string): void => report('warning', at, message, undefined)
      documents.push(readDocument(node, readInfo(node, file, source.lineOf(node.at), warn), (at) => source.lineOf(at)))
    } catch (error) {
      if (!(error instanceof SigmaFault)) throw error
      report('error', error.at, error.message, error.hint)
    }
  }
  return { documents, problems }
}

function readDocument(node: SourceMap, info: RuleInfo, lineOf: (at: number) => number): SigmaDocument {
  const [detection, correlation, filter] = ['detection', 'correlation', 'filter'].map((key) => entryOf(node, key))
  if ([detection, correlation, filter].filter((entry) => entry !== undefined).length > 1) {
    throw new SigmaFault(node.at, 'a document has one of detection, correlation and filter')
  }
  if (correlation !== undefined) {
    return { kind: 'correlation', info, lineOf, spec: readCorrelation(mapOf(correlation)), at: correlation.keyAt }
  }
  if (filter !== undefined) {
    const map = mapOf(filter)
    return { kind: 'filter', info, lineOf, logsource: readLogSource(node), rules: filteredRules(map), filter: map }
  }
  if (detection === undefined) throw new SigmaFault(node.at, 'there is no detection, correlation or filter')
  return { kind: 'detection', info, lineOf, logsource: readLogSource(node), detection: mapOf(detection) }
}

function mapOf({ key, keyAt, value }: SourceEntry): SourceMap {
  if (value.kind !== 'map') throw new SigmaFault(keyAt, `"${key}" is no map`)
  return value
}

function filteredRules(filter: SourceMap): readonly string[] | undefined {
  const entry = entryOf(filter, 'rules')
  const rules = entry === undefined ? [] : textsOf(entry)
  if (entry === undefined || rules.length === 0) {
    throw new SigmaFault(filter.at, 'the filter names no rules', 'add "rules:" with ids or names, or "rules: any"')
  }
  return entry.value.kind !== 'list' && rules[0].toLowerCase() === 'any' ? undefined : rules
}

const SOURCE_KEYS = ['category', 'product', 'service'] as const

function readLogSource(node: SourceMap): LogSource {
  const entry = entryOf(node, 'logsource')
  if (entry === undefined) throw new SigmaFault(node.at, 'there is no logsource', 'add category, product or service')
  const map = mapOf(entry)
  const [category, product, service] = SOURCE_KEYS.map((key) => {
    const found = entryOf(map, key)
    if (found === undefined || found.value.kind === 'null') return undefined
    if (found.value.kind !== 'text' || found.value.text === '') {
      throw new SigmaFault(found.keyAt, `the ${key} of the logsource is no text`)
    }
    return found.value.text.toLowerCase()
  })
  if (category === undefined && product === undefined && service === undefined) {
    throw new SigmaFault(entry.keyAt, 'the logsource is empty', 'add category, product or service')
  }
  return { category, product, service }
}

const INFO_KEYS = new Set([
  'title',
  'id',
  'name',
  'status',
  'level',
  'description',
  'author',
  'date',
  'modified',
  'references',
  'tags',
  'fields',
  'falsepositives',
])

/** Longest title in the specification. */
const MAX_TITLE_CHARACTERS = 256

function readInfo(node: SourceMap, file: string, line: number, warn: (at: number, message: string) => void): RuleInfo {
  const title = textAt(node, 'title')
  if (title === undefined || title.trim() === '') throw new SigmaFault(node.at, 'the rule has no title', 'add "title:"')
  if (title.length > MAX_TITLE_CHARACTERS) warn(node.at, `the title is longer than ${MAX_TITLE_CHARACTERS} characters`)
  const taxonomy = entryOf(node, 'taxonomy')
  if (taxonomy !== undefined && textAt(node, 'taxonomy') !== 'sigma') {
    warn(taxonomy.keyAt, 'another taxonomy than "sigma": its field names are used as they stand')
  }
  const oneOf = <T extends string>(key: string, known: readonly T[]): T | undefined => {
    const entry = entryOf(node, key)
    const text = textAt(node, key)?.toLowerCase()
    const found = known.find((candidate) => candidate === text)
    if (entry !== undefined && entry.value.kind !== 'null' && found === undefined) {
      warn(entry.keyAt, `"${text ?? 'a list'}" is no ${key}: there are ${known.join(', ')}`)
    }
    return found
  }
  const list = (key: string): readonly string[] => {
    const entry = entryOf(node, key)
    return entry === undefined ? [] : textsOf(entry)
  }
  const custom = new Map<string, string>()
  for (const { key } of node.entries) {
    const text = INFO_KEYS.has(key) ? undefined : textAt(node, key)
    if (text !== undefined) custom.set(key, text)
  }
  return {
    title,
    id: textAt(node, 'id'),
    name: textAt(node, 'name'),
    status: oneOf('status', STATUSES),
    level: oneOf('level', LEVELS),
    description: textAt(node, 'description'),
    author: textAt(node, 'author'),
    date: textAt(node, 'date'),
    modified: textAt(node, 'modified'),
    references: list('references'),
    tags: list('tags'),
    fields: list('fields'),
    falsepositives: list('falsepositives'),
    custom,
    file,
    line,
  }
}

function textAt(node: SourceMap, key: string): string | undefined {
  const value = entryOf(node, key)?.value
  return value === undefined || value.kind === 'map' || value.kind === 'list' || value.kind === 'null'
    ? undefined
    : value.text
}

/** The texts of a list, or a text alone; what is no text is left out. */
function textsOf({ value }: SourceEntry): readonly string[] {
  const items = value.kind === 'list' ? value.items : [value]
  return items.flatMap((item) =>
    item.kind === 'map' || item.kind === 'list' || item.kind === 'null' ? [] : [item.text],
  )
}
