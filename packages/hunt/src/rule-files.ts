/** Rule files found, read, and chosen from: by level, status, tag, id, and by files that name rules. */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Expression } from '@prexy/sigma/expression'
import { parsePlaceholderFile, type Placeholders } from '@prexy/sigma/placeholders'
import type { SigmaProblem } from '@prexy/sigma/problem'
import { type Level, LEVELS, type Status } from '@prexy/sigma/levels'
import { readRuleFile, type RuleInfo, type SigmaDocument } from '@prexy/sigma/rule'
import { compileRules, type RuleSet } from '@prexy/sigma/rule-set'
import type { SourceMap, SourceNode } from '@prexy/sigma/source-tree'
import { reasonOf } from './sources.ts'
import { STARTER_RULES } from './starter-rules.ts'

/** A rule file as it was read, so that every thread compiles the same. */
export interface RuleText {
  readonly file: string
  readonly text: string
}

/** Which rules are reported, and how. Plain data. */
export interface RuleChoice {
  readonly levels: readonly Level[] | undefined
  readonly statuses: readonly Status[] | undefined
  readonly excludedStatuses: readonly Status[]
  /** A rule needs one of them; none: any. Compared without case; `attack.t1190` is also `T1190`. */
  readonly tags: readonly string[]
  readonly excludedTags: readonly string[]
  /** Ids of rules that are left out. */
  readonly excludedIds: readonly string[]
  /** Only these; none: all. */
  readonly ids: readonly string[]
  /** Levels by id, instead of what rules say. */
  readonly tuning: readonly (readonly [id: string, level: Level])[]
  readonly placeholders: readonly (readonly [name: string, values: readonly string[]])[]
}

export const EVERY_RULE: RuleChoice = {
  levels: undefined,
  statuses: undefined,
  excludedStatuses: [],
  tags: [],
  excludedTags: [],
  excludedIds: [],
  ids: [],
  tuning: [],
  placeholders: [],
}

export interface FoundRules {
  readonly texts: readonly RuleText[]
  /** What could not be read, with the reason. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[]
}

/** Rule files are `.yml` and `.yaml` below a directory, in order of their names; a file that is named is read whatever its name. */
export function findRules(paths: readonly string[]): FoundRules {
  const texts: RuleText[] = []
  const unreadable: { path: string; reason: string }[] = []
  const add = (path: string, file: string): void => {
    try {
      texts.push({ file, text: readFileSync(path, 'utf8') })
    } catch (error) {
      unreadable.push({ path, reason: reasonOf(error) })
    }
  }
  for (const path of paths) {
    try {
      if (!statSync(path).isDirectory()) add(path, path)
      else {
        const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
        for (const name of names.filter((each) => /\.ya?ml$/i.test(each)).sort()) {
          // The same name wherever prexy is installed.
          add(join(path, name), path === STARTER_RULES ? `starter/${name}` : join(path, name))
        }
      }
    } catch (error) {
      unreadable.push({ path, reason: reasonOf(error) })
    }
  }
  return { texts, unreadable }
}

export interface ChosenRules {
  readonly set: RuleSet
  readonly problems: readonly SigmaProblem[]
  /** By rule info: whether its hits are reported, and its level. */
  readonly reported: ReadonlyMap<RuleInfo, Level | undefined>
  /** Documents left out by the choice. */
  readonly leftOut: number
}

/** All documents of rule files, filters included, and what is wrong with those that are not there. */
export function readRules(texts: readonly RuleText[]): {
  readonly documents: readonly SigmaDocument[]
  readonly problems: readonly SigmaProblem[]
} {
  const documents: SigmaDocument[] = []
  const problems: SigmaProblem[] = []
  for (const { file, text } of texts) {
    const read = readRuleFile(text, file)
    documents.push(...read.documents)
    problems.push(...read.problems)
  }
  return { documents, problems }
}

/**
 * Reads, chooses and compiles. The same texts and choice give the same set, in every thread. Documents are not kept: they
 * take several times what the compiled rules do; `onDetector` sees what they ask.
 */
export function chooseRules(
  texts: readonly RuleText[],
  choice: RuleChoice,
  onDetector?: (expression: Expression) => void,
): ChosenRules {
  const { documents, problems } = readRules(texts)
  const tuning = new Map(choice.tuning)
  const levelOf = ({ id, level }: RuleInfo): Level | undefined => (id === undefined ? level : (tuning.get(id) ?? level))
  const isWanted = isWantedBy(choice, levelOf)
  const wanted = documents.filter(({ kind, info }) => kind !== 'filter' && isWanted(info))
  const needed = new Set<SigmaDocument>(wanted)
  // Correlations need their rules, whatever those are called or however low their level is.
  const byName = new Map<string, SigmaDocument>()
  for (const document of documents) {
    for (const name of [document.info.id, document.info.name]) {
      if (name !== undefined && document.kind !== 'filter' && !byName.has(name)) byName.set(name, document)
    }
  }
  const need = (document: SigmaDocument): void => {
    if (document.kind !== 'correlation') return
    for (const name of document.spec.rules) {
      const member = byName.get(name)
      if (member === undefined || needed.has(member)) continue
      needed.add(member)
      need(member)
    }
  }
  for (const document of wanted) need(document)
  const used = documents.filter((document) => document.kind === 'filter' || needed.has(document))
  const placeholders: Placeholders = new Map(choice.placeholders)
  const set = compileRules(used, onDetector === undefined ? { placeholders } : { placeholders, onDetector })
  const reported = new Map(wanted.map(({ info }) => [info, levelOf(info)]))
  const leftOut = documents.filter(({ kind }) => kind !== 'filter').length - wanted.length
  return { set, problems: [...problems, ...set.problems], reported, leftOut }
}

function isWantedBy(choice: RuleChoice, levelOf: (info: RuleInfo) => Level | undefined): (info: RuleInfo) => boolean {
  const { levels, statuses, excludedStatuses } = choice
  const excluded = new Set(choice.excludedIds.map((id) => id.toLowerCase()))
  const only = new Set(choice.ids.map((id) => id.toLowerCase()))
  const [tags, excludedTags] = [choice.tags, choice.excludedTags].map((list) => list.map((tag) => tag.toLowerCase()))
  const hasTag = (info: RuleInfo, asked: readonly string[]): boolean =>
    info.tags.some((tag) => asked.some((one) => tag.toLowerCase() === one || tag.toLowerCase() === `attack.${one}`))
  return (info) => {
    const level = levelOf(info)
    const id = info.id?.toLowerCase() ?? ''
    return (
      (levels === undefined || (level !== undefined && levels.includes(level))) &&
      (statuses === undefined || (info.status !== undefined && statuses.includes(info.status))) &&
      (info.status === undefined || !excludedStatuses.includes(info.status)) &&
      (tags.length === 0 || hasTag(info, tags)) &&
      !hasTag(info, excludedTags) &&
      !excluded.has(id) &&
      (only.size === 0 || only.has(id))
    )
  }
}

/** Names of the fields that a detection reads, `(keywords)` for the whole event. */
export function fieldsOf(detection: SourceMap): ReadonlySet<string> {
  const fields = new Set<string>()
  const visit = (node: SourceNode): void => {
    if (node.kind === 'list') for (const item of node.items) visit(item)
    else if (node.kind === 'map') {
      for (const { key } of node.entries) {
        const [name] = key.split('|', 1)
        fields.add(name === '' ? '(keywords)' : name)
      }
    } else fields.add('(keywords)')
  }
  for (const { key, value } of detection.entries) if (key !== 'condition' && key !== 'timeframe') visit(value)
  return fields
}

/** Levels from one on. */
export function levelsFrom(least: Level): readonly Level[] {
  return LEVELS.slice(LEVELS.indexOf(least))
}

/** Ids of rules, one at the begin of a line; `#` begins a comment. */
export function parseIdList(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/[\s,;]/, 1)[0])
}

/** `id,level` a line, further columns ignored; a first line that names the columns is. Throws a RangeError with the line. */
export function parseLevelTuning(text: string): readonly (readonly [string, Level])[] {
  return text.split('\n').flatMap((line, index): (readonly [string, Level])[] => {
    const cells = line
      .replace(/#.*/, '')
      .split(',')
      .map((cell) => cell.trim())
    if (cells[0] === '' || (index === 0 && cells[0].toLowerCase() === 'id')) return []
    const level = LEVELS.find((known) => known === cells[1]?.toLowerCase())
    if (level === undefined) {
      throw new RangeError(`line ${index + 1}: "${cells[1] ?? ''}" is no level; there are ${LEVELS.join(', ')}`)
    }
    return [[cells[0], level]]
  })
}

/** Placeholder files of a folder: `name.txt` has the values of `%name%`. */
export function readPlaceholders(folder: string): readonly (readonly [string, readonly string[]])[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.txt'))
    .sort()
    .map((name) => [name.slice(0, -4), parsePlaceholderFile(readFileSync(join(folder, name), 'utf8'))])
}
