/** From a path to what `serve` runs: the configuration, its compiled rules, and which files it was made of. */
import type { Config, RedirectAction, RuleList } from '@prexy/config/config'
import type { ConfigFiles } from '@prexy/config/files'
import type { HeaderList } from '@prexy/config/header-list'
import { type Loaded, loadConfig } from '@prexy/config/load'
import { type ConfigProblem, formatProblem, sortProblems } from '@prexy/config/problem'
import type { HeaderRules } from '@prexy/proxy/header-rules'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { FILE_SYSTEM, newestChangeMs } from './config-files.ts'
import { compileHeaderList, compileRuleList, compileTarget } from './rule-source.ts'

/** The compiled rules of each list of a configuration. */
export interface CompiledLists {
  readonly setOf: (list: RuleList) => RuleSet | undefined
  readonly headersOf: (list: HeaderList) => HeaderRules | undefined
  readonly targetOf: (redirect: RedirectAction) => HeaderRules | undefined
}

export interface ConfigurationLoad {
  /** Undefined when there is an error among the problems. */
  readonly config: Config | undefined
  readonly compiled: CompiledLists
  readonly problems: readonly ConfigProblem[]
  /** Rules in all files, each counted once. */
  readonly ruleCount: number
  readonly routeCount: number
  /** Files and directories whose change may change the result; none for standard input. */
  readonly watched: readonly string[]
  /** When the newest of the files was changed. */
  readonly changedMs: number
}

/** Reads a configuration anew: a file or a directory. Nothing of an earlier one is touched; what is wrong is returned. */
export function loadConfiguration(
  path: string,
  environment: NodeJS.ProcessEnv = process.env,
  files: ConfigFiles = FILE_SYSTEM,
): ConfigurationLoad {
  const loaded = loadConfig(path, files, environment)
  const { compiled, problems } = compileLists(loaded)
  const all = withoutEchoes([...loaded.problems, ...problems])
  const failed = all.some((problem) => problem.severity === 'error')
  const { watched } = loaded
  return {
    config: failed ? undefined : loaded.value,
    compiled,
    problems: sortProblems(all, loaded.files),
    ruleCount: countRules(loaded.ruleLists),
    routeCount: countRoutes(loaded.value),
    watched,
    changedMs: newestChangeMs(watched),
  }
}

/** Everything that the lists of a configuration hold, compiled, and what is wrong with it. */
export function compileLists({
  ruleLists,
  headerLists,
  redirects,
}: Pick<Loaded<unknown>, 'ruleLists' | 'headerLists' | 'redirects'>): {
  readonly compiled: CompiledLists
  readonly problems: readonly ConfigProblem[]
} {
  const sets = new Map(ruleLists.map((list) => [list, compileRuleList(list)]))
  const headers = new Map(headerLists.map((list) => [list, compileHeaderList(list)]))
  const targets = new Map(redirects.map((redirect) => [redirect, compileTarget(redirect)]))
  return {
    compiled: {
      setOf: (list) => sets.get(list)?.set,
      headersOf: (list) => headers.get(list)?.rules,
      targetOf: (redirect) => targets.get(redirect)?.rules,
    },
    problems: [...sets.values(), ...headers.values(), ...targets.values()].flatMap((one) => one.problems),
  }
}

/** Lists that share rules find the same problems again. */
export function withoutEchoes(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return [...new Map(problems.map((problem) => [formatProblem(problem), problem])).values()]
}

/** Rules of shared lists count once. */
export function countRules(lists: readonly RuleList[]): number {
  return new Set(lists.flatMap(({ places }) => places.map(({ source, path }) => `${source.file}:${path.join('/')}`)))
    .size
}

function countRoutes(config: Config | undefined): number {
  return config === undefined ? 0 : [config, ...config.sites].reduce((count, { routes }) => count + routes.length, 0)
}
