/** From a path to what `serve` runs: the configuration, its compiled rules, and which files it was made of. */
import type { Config, RuleList } from '@prexy/config/config'
import type { KnownSources } from '@prexy/config/documents'
import type { ConfigFiles } from '@prexy/config/files'
import { loadConfig } from '@prexy/config/load'
import { type ConfigProblem, formatProblem, sortProblems } from '@prexy/config/problem'
import { DEFAULT_LIMITS } from '@prexy/proxy/proxy-config'
import { type CompiledLists, compileLists, type KnownSets } from './config-compile.ts'
import { FILE_SYSTEM, newestChangeMs } from './config-files.ts'
import { certificateProblems } from './config-tls.ts'

/** What one reading leaves for the next. */
export interface KnownConfiguration {
  readonly sources: KnownSources
  readonly sets: KnownSets
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

/**
 * Reads a configuration anew: a file or a directory. Nothing of an earlier one is touched; what is wrong is returned. To
 * `serve` more rule sets than may be compiled at one time, they are compiled when they are needed; to `check` them, all
 * are, one after the other. `known`, kept between two readings, spares parsing and compiling what has not changed.
 */
export function loadConfiguration(
  path: string,
  environment: NodeJS.ProcessEnv = process.env,
  files: ConfigFiles = FILE_SYSTEM,
  purpose: 'serve' | 'check' = 'serve',
  known?: KnownConfiguration,
): ConfigurationLoad {
  const loaded = loadConfig(path, files, environment, known?.sources)
  const maxSets = loaded.value?.limits.maxCompiledRuleSets ?? DEFAULT_LIMITS.maxCompiledRuleSets
  const { compiled, problems } = compileLists(loaded, purpose === 'check' ? 'check' : maxSets, known?.sets)
  const certificates = certificateProblems(loaded.value?.listen ?? [], Date.now())
  const all = withoutEchoes([...loaded.problems, ...problems, ...certificates])
  const failed = all.some((problem) => problem.severity === 'error')
  const { watched } = loaded
  return {
    config: failed ? undefined : loaded.value,
    compiled,
    problems: sortProblems(all, loaded.files),
    get ruleCount() {
      return countRules(loaded.ruleLists)
    },
    routeCount: countRoutes(loaded.value),
    watched,
    changedMs: newestChangeMs(watched),
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
