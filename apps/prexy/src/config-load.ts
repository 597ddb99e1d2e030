/** From a path to what `serve` runs: the configuration, its compiled rules, and which files it was made of. */
import { stat } from 'node:fs/promises'
import { type Config, loadConfig, type RuleList } from '@prexy/config/load'
import type { HeaderList } from '@prexy/config/header-list'
import type { ConfigProblem } from '@prexy/config/problem'
import type { HeaderRules } from '@prexy/proxy/header-rules'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { readText } from './read-text.ts'
import { compileHeaderList, compileRuleList } from './rule-source.ts'

/** The compiled rules of each list of a configuration. */
export interface CompiledLists {
  readonly setOf: (list: RuleList) => RuleSet | undefined
  readonly headersOf: (list: HeaderList) => HeaderRules | undefined
}

export interface ConfigurationLoad {
  /** Undefined when there is an error among the problems. */
  readonly config: Config | undefined
  readonly compiled: CompiledLists
  readonly problems: readonly ConfigProblem[]
  /** Files and directories whose change may change the result; none for standard input. */
  readonly watched: readonly string[]
  /** When the newest of the files was changed. */
  readonly changedMs: number
}

/** Reads a configuration anew; nothing of an earlier one is touched. Throws a CommandError if `path` cannot be read. */
export async function loadConfiguration(path: string): Promise<ConfigurationLoad> {
  const loaded = loadConfig(await readText(path), path)
  const lists = loaded.ruleLists.map((list) => ({ list, ...compileRuleList(loaded.source, list) }))
  const headerLists = loaded.headerLists.map((list) => ({ list, ...compileHeaderList(loaded.source, list) }))
  const problems = [...loaded.problems, ...[...lists, ...headerLists].flatMap((one) => one.problems)]
  const failed = problems.some((problem) => problem.severity === 'error')
  return {
    config: failed ? undefined : loaded.value,
    compiled: {
      setOf: (list) => lists.find((one) => one.list === list)?.set,
      headersOf: (list) => headerLists.find((one) => one.list === list)?.rules,
    },
    problems,
    watched: path === '-' ? [] : [path],
    changedMs: path === '-' ? Date.now() : (await stat(path)).mtimeMs,
  }
}
