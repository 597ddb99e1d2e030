/** From files to plain data: every problem at once, and a way back from each rule to its place. */
import { assemble, type Assembly, problemsAgainst } from './assemble.ts'
import type { Config, ConfigRule, RedirectAction, RuleList, TextPatternSettings } from './config.ts'
import { configSchema, MIN_HELD_BYTES } from './config-schema.ts'
import { crossCheck, holdsTooLittle } from './cross-check.ts'
import { type KnownSources, readDocuments } from './documents.ts'
import { type Explanation, explainAgainst } from './explain.ts'
import type { ConfigFiles } from './files.ts'
import type { HeaderList } from './header-list.ts'
import { type ConfigPath, type ConfigProblem, formatPath, sortProblems } from './problem.ts'
import { normalizeRule, provision } from './provision.ts'
import { ruleListSchema, ruleSchema } from './rule-schema.ts'
import type { Environment } from './secrets.ts'
import { type Place, readYaml, type YamlSource } from './yaml-source.ts'

export interface Loaded<T> {
  /** Undefined when there is any error. */
  readonly value: T | undefined
  readonly problems: readonly ConfigProblem[]
  /** Rules that are well-formed by themselves, so that their patterns can be checked beside other problems. */
  readonly ruleLists: readonly RuleList[]
  /** Header rules of a configuration that is valid so far, to be checked like the others. */
  readonly headerLists: readonly HeaderList[]
  /** Redirects, likewise. */
  readonly redirects: readonly RedirectAction[]
  /** Patterns of paths and hosts by which routes are chosen, likewise. */
  readonly patterns: readonly TextPatternSettings[]
  /** Of `compareWith`, likewise. */
  readonly ignored: readonly (readonly TextPatternSettings[])[]
}

export interface LoadedConfig extends Loaded<Config> {
  /** What all files say together; undefined if one of them is not well-formed. */
  readonly assembly: Assembly | undefined
  /** Files in the order in which they were read. */
  readonly files: readonly string[]
  /** Files and folders whose change may change the result. */
  readonly watched: readonly string[]
}

/**
 * Reads a configuration: a file, or the files of a folder, and what they include. A function of files and environment.
 * `known` makes reading once more cost only what has changed. Never throws.
 */
export function loadConfig(
  path: string,
  files: ConfigFiles,
  environment: Environment = {},
  known?: KnownSources,
): LoadedConfig {
  const { sources, problems: found, watched } = readDocuments(path, files, known)
  const problems = [...found]
  const names = sources.map(({ file }) => file)
  const { assembly, problems: ofAssembly } = assemble(sources)
  problems.push(...ofAssembly)
  if (assembly === undefined) {
    const ruleLists = sources.flatMap(wellFormedRuleLists)
    return {
      value: undefined,
      problems: sortProblems(problems, names),
      ruleLists,
      headerLists: [],
      redirects: [],
      patterns: [],
      ignored: [],
      assembly,
      files: names,
      watched,
    }
  }
  const { config, problems: ofProvision, watched: pages } = provision(assembly, files, environment)
  problems.push(...crossCheck(assembly), ...ofProvision)
  const routes = [...config.routes, ...config.sites.flatMap((site) => site.routes)]
  return {
    value: problems.some((problem) => problem.severity === 'error') ? undefined : config,
    problems: sortProblems(problems, names),
    ruleLists: [...new Set(routes.map((route) => route.ruleList))].map(withPossibleLimit),
    headerLists: [...new Set(routes.flatMap((route) => route.headerLists))],
    redirects: [...new Set(routes.flatMap(({ action }) => (action.kind === 'redirect' ? [action] : [])))],
    patterns: routes.flatMap(({ pathPatterns = [], hostPatterns = [] }) => [...pathPatterns, ...hostPatterns]),
    ignored: [...new Set(routes.flatMap(({ compareWith }) => (compareWith === undefined ? [] : [compareWith.ignore])))],
    assembly,
    files: names,
    watched: [...watched, ...pages],
  }
}

/** The rules of a list whose limit was refused are worth checking, too. */
function withPossibleLimit(list: RuleList): RuleList {
  return holdsTooLittle(list.options) ? { ...list, options: { ...list.options, maxHeldBytes: MIN_HELD_BYTES } } : list
}

const NO_FILES: ConfigFiles = { read: () => ({ reason: 'there are no files here' }), list: () => undefined }

/** One text as a file, which includes no others. */
export function textAsFile(text: string, file: string): ConfigFiles {
  return {
    ...NO_FILES,
    read: (path) => (path === file ? { bytes: new TextEncoder().encode(text) } : NO_FILES.read(path)),
  }
}

/** A configuration that was put together elsewhere, as the command line does; what is wrong has no place in a file. */
export function configFromValue(value: unknown): {
  readonly value: Config | undefined
  readonly problems: readonly Pick<ConfigProblem, 'path' | 'message' | 'hint'>[]
} {
  const wrong = explainAgainst(configSchema, value)
  if (wrong.length > 0) return { value: undefined, problems: wrong.map(withoutPlace) }
  const { assembly } = assemble([{ ...readYaml('', ''), value, problems: [] }])
  if (assembly === undefined) throw new Error('what the schema lets through can be assembled')
  const { config, problems } = provision(assembly, NO_FILES, {})
  const all = [...crossCheck(assembly), ...problems]
  return { value: all.length === 0 ? config : undefined, problems: all }
}

function withoutPlace({ path, message, hint }: Pick<Explanation, 'path' | 'message' | 'hint'>): {
  path: string
  message: string
  hint: string | undefined
} {
  return { path: formatPath(path), message, hint }
}

/** Reads a rules file: a list as `rules` takes it. `file` is only for messages. Never throws. */
export function loadRules(text: string, file: string): Loaded<readonly ConfigRule[]> {
  const source = readYaml(text, file)
  const problems = [...source.problems]
  if (source.value === undefined) {
    return {
      value: undefined,
      problems: sortProblems(problems),
      ruleLists: [],
      headerLists: [],
      redirects: [],
      patterns: [],
      ignored: [],
    }
  }
  const parsed = ruleListSchema.safeParse(source.value)
  if (!parsed.success) problems.push(...problemsAgainst(source, ruleListSchema))
  const list = ruleListFrom(source.value, { source, path: [] })
  const value = problems.length === 0 ? list.rules : undefined
  return {
    value,
    problems: sortProblems(problems),
    ruleLists: [list],
    headerLists: [],
    redirects: [],
    patterns: [],
    ignored: [],
  }
}

/** One rule that is not in any file. */
export function parseRule(
  rule: unknown,
):
  | { readonly rule: ConfigRule; readonly problems: readonly [] }
  | { readonly rule: undefined; readonly problems: readonly Pick<ConfigProblem, 'path' | 'message' | 'hint'>[] } {
  const parsed = ruleSchema.safeParse(rule)
  if (parsed.success) return { rule: normalizeRule(parsed.data), problems: [] }
  return { rule: undefined, problems: explainAgainst(ruleSchema, rule).map(withoutPlace) }
}

/** Something that compiling found wrong with, or worth knowing about, a rule of a list. */
export interface RuleFinding {
  /** Index of the rule in its list. */
  readonly rule: number
  readonly field: string
  /** Octet offset into the field's UTF-8 form. */
  readonly at: number | undefined
  readonly message: string
  readonly hint: string | undefined
}

/** A finding about a text that is a field of its own. */
export function locateAt(
  { source, path }: Place,
  { at, message, hint }: Omit<RuleFinding, 'rule' | 'field'>,
  severity: ConfigProblem['severity'],
): ConfigProblem {
  return { severity, position: source.positionOf(path, at), path: formatPath(path), message, hint }
}

/** Gives a finding its place in a file. */
export function locateFinding(
  list: Pick<RuleList, 'places'>,
  finding: RuleFinding,
  severity: ConfigProblem['severity'],
): ConfigProblem {
  const { source, path: base } = list.places[finding.rule]
  return locateAt({ source, path: [...base, finding.field] }, finding, severity)
}

/** The rule lists of a document that is not valid as a whole. */
function wellFormedRuleLists(source: YamlSource): RuleList[] {
  const lists: RuleList[] = []
  collectRuleLists(source.value, { source, path: [] }, lists)
  return lists.filter((list) => list.rules.length > 0)
}

/** Rules stand at a document's top, in its sets, in its routes and sites, and in the routes of those. */
function collectRuleLists(value: unknown, { source, path }: Place, lists: RuleList[]): void {
  if (!isMapping(value)) return
  const at = (...steps: ConfigPath): Place => ({ source, path: [...path, ...steps] })
  lists.push(ruleListFrom(value.rules, at('rules')))
  if (isMapping(value.ruleSets)) {
    for (const [name, set] of Object.entries(value.ruleSets)) lists.push(ruleListFrom(set, at('ruleSets', name)))
  }
  for (const field of ['routes', 'sites']) {
    const below = value[field]
    if (!Array.isArray(below)) continue
    for (const [index, one] of below.entries()) collectRuleLists(one, at(field, index), lists)
  }
}

function ruleListFrom(value: unknown, { source, path }: Place): RuleList {
  const rules: ConfigRule[] = []
  const places: Place[] = []
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const parsed = ruleSchema.safeParse(item)
      if (!parsed.success) continue
      rules.push(normalizeRule(parsed.data))
      places.push({ source, path: [...path, index] })
    }
  }
  return { rules, options: {}, places }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
