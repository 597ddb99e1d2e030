/** From the text of a file to plain data: every problem at once, and a way back from each rule to its place. */
import type { z } from 'zod'
import {
  configSchema,
  type Limits,
  MIN_HELD_BYTES,
  type RawConfig,
  type RawRoute,
  type RawUpstream,
  type RewriteOptions,
  type Timeouts,
} from './config-schema.ts'
import { type Explanation, explainAgainst } from './explain.ts'
import { type HeaderList, headerListsOf } from './header-list.ts'
import { type ConfigPath, type ConfigProblem, formatPath, sortProblems } from './problem.ts'
import {
  type OneOrMore,
  type RawDomainRule,
  type RawInsertRule,
  type RawRegexRule,
  type RawRule,
  type RawTextRule,
  ruleListSchema,
  ruleSchema,
} from './rule-schema.ts'
import { readYaml, type YamlSource } from './yaml-source.ts'

interface Conditions {
  readonly types?: readonly string[]
  readonly paths?: readonly string[]
  readonly status?: readonly (number | string)[]
  readonly methods?: readonly string[]
  readonly hosts?: readonly string[]
}

/** A rule as a file has it, with every condition as a list. */
export type ConfigRule = (
  | Omit<RawTextRule, keyof Conditions>
  | Omit<RawRegexRule, keyof Conditions>
  | Omit<RawDomainRule, keyof Conditions>
  | Omit<RawInsertRule, keyof Conditions>
) &
  Conditions

/** Rules that are compiled into one set. Routes that take the file's rules share one object. */
export interface RuleList {
  readonly rules: readonly ConfigRule[]
  readonly options: RewriteOptions
  /** Where each rule stands in the file. */
  readonly paths: readonly ConfigPath[]
}

/** `host` is undefined for every address of the machine. */
export interface ListenAddress {
  readonly host: string | undefined
  readonly port: number
}

export interface UpstreamAddress {
  /** Name or address; an IPv6 address without brackets. */
  readonly host: string
  readonly port: number
  readonly maxConnections?: number
  readonly maxIdleConnections?: number
  readonly maxWaiting?: number
  readonly denyPrivate?: boolean
}

export interface RouteConfig {
  /** Unique. */
  readonly name: string
  /** Lower case, exact or `*.` and a name; empty for any. */
  readonly hosts: readonly string[]
  /** Path globs; empty for any. */
  readonly paths: readonly string[]
  readonly upstream: UpstreamAddress
  readonly ruleList: RuleList
  /** At most one of each side. */
  readonly headerLists: readonly HeaderList[]
  readonly requestBodies?: boolean
  readonly requestQuery?: boolean
  readonly preserveHost?: boolean
  readonly ignoreNoTransform?: boolean
  readonly serverTiming?: boolean
  readonly lastModified?: 'remove' | 'keep'
  readonly integrity?: 'warn' | 'drop'
}

/** What a configuration file says. Where it says nothing, the parts concerned have their defaults. */
export interface Config {
  readonly listen: readonly ListenAddress[]
  /** In order; the first that fits takes the request. */
  readonly routes: readonly RouteConfig[]
  readonly timeouts: Timeouts
  readonly limits: Limits
  readonly trustedProxies?: readonly string[]
  readonly forwarded?: NonNullable<RawConfig['forwarded']>
  readonly requestId?: string
  readonly log: RawConfig['log']
}

export interface Loaded<T> {
  /** Undefined when there is any error. */
  readonly value: T | undefined
  readonly problems: readonly ConfigProblem[]
  readonly source: YamlSource
  /** Rules that are well-formed by themselves, so that their patterns can be checked beside other problems. */
  readonly ruleLists: readonly RuleList[]
  /** Header rules of a configuration that is valid so far, to be checked like the others. */
  readonly headerLists: readonly HeaderList[]
}

/** Reads a configuration. `file` is only for messages. Never throws. */
export function loadConfig(text: string, file: string): Loaded<Config> {
  const source = readYaml(text, file)
  const problems = [...source.problems]
  if (source.value === undefined) return nothing(source, problems, [])
  const parsed = configSchema.safeParse(source.value)
  if (!parsed.success) {
    problems.push(...problemsAgainst(source, configSchema))
    const ruleLists = wellFormedRuleLists(source.value)
    return nothing(source, problems, ruleLists)
  }
  const config = provision(parsed.data)
  for (const { severity, path, message, hint } of crossCheck(parsed.data)) {
    problems.push({ severity, position: source.positionOf(path), path: formatPath(path), message, hint })
  }
  const value = problems.some((problem) => problem.severity === 'error') ? undefined : config
  const ruleLists = [...new Set(config.routes.map((route) => route.ruleList))].map(withPossibleLimit)
  const headerLists = [...new Set(config.routes.flatMap((route) => route.headerLists))]
  return { value, problems: sortProblems(problems), source, ruleLists, headerLists }
}

function nothing<T>(source: YamlSource, problems: readonly ConfigProblem[], ruleLists: readonly RuleList[]): Loaded<T> {
  return { value: undefined, problems: sortProblems(problems), source, ruleLists, headerLists: [] }
}

/** The rules of a list whose limit was refused are worth checking, too. */
function withPossibleLimit(list: RuleList): RuleList {
  return holdsTooLittle(list.options) ? { ...list, options: { ...list.options, maxHeldBytes: MIN_HELD_BYTES } } : list
}

/** A configuration that was put together elsewhere, as the command line does; what is wrong has no place in a file. */
export function configFromValue(value: unknown): {
  readonly value: Config | undefined
  readonly problems: readonly Pick<ConfigProblem, 'path' | 'message' | 'hint'>[]
} {
  const parsed = configSchema.safeParse(value)
  if (parsed.success) {
    const problems = crossCheck(parsed.data)
    return { value: problems.length === 0 ? provision(parsed.data) : undefined, problems: problems.map(withoutPlace) }
  }
  return { value: undefined, problems: explainAgainst(configSchema, value).map(withoutPlace) }
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
  if (source.value === undefined) return nothing(source, problems, [])
  const parsed = ruleListSchema.safeParse(source.value)
  if (!parsed.success) problems.push(...problemsAgainst(source, ruleListSchema))
  const list = parsed.success ? ruleListOf(parsed.data, {}, []) : ruleListFrom(source.value, [])
  const value = problems.length === 0 ? list.rules : undefined
  return { value, problems: sortProblems(problems), source, ruleLists: [list], headerLists: [] }
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

/** A well-formed rule with its conditions as lists. */
function normalizeRule(raw: RawRule): ConfigRule {
  const { types, paths, status, methods, hosts, ...rest } = raw
  return {
    ...rest,
    ...(methods === undefined ? {} : { methods: listOf(methods) }),
    ...(hosts === undefined ? {} : { hosts: listOf(hosts) }),
    ...(types === undefined ? {} : { types: listOf(types) }),
    ...(paths === undefined ? {} : { paths: listOf(paths) }),
    ...(status === undefined ? {} : { status: listOf(status) }),
  }
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

/** Gives a finding its place in the file. */
export function locateFinding(
  source: YamlSource,
  list: Pick<RuleList, 'paths'>,
  finding: RuleFinding,
  severity: ConfigProblem['severity'],
): ConfigProblem {
  const path = [...list.paths[finding.rule], finding.field]
  const position = source.positionOf(path, finding.at)
  return { severity, position, path: formatPath(path), message: finding.message, hint: finding.hint }
}

function problemsAgainst(source: YamlSource, schema: z.core.$ZodType): ConfigProblem[] {
  return explainAgainst(schema, source.value).map(({ path, atKey, message, hint }) => ({
    severity: 'error' as const,
    position: atKey ? source.keyPositionOf(path) : source.positionOf(path),
    path: formatPath(path),
    message,
    hint,
  }))
}

function provision(raw: RawConfig): Config {
  const fileList = ruleListOf(raw.rules, raw.rewrite, ['rules'])
  const fileHeaders = headerListsOf(raw.headers, ['headers'])
  const routes = raw.routes.map((route, index) => provisionRoute(route, index, raw, fileList, fileHeaders))
  if (raw.upstream !== undefined) {
    routes.push({
      name: 'default',
      hosts: [],
      paths: [],
      upstream: upstreamOf(raw.upstream),
      ruleList: fileList,
      headerLists: fileHeaders,
      ...servingOf(raw),
    })
  }
  const taken = new Set<string>()
  return {
    listen: listOf(raw.listen).map(listenAddressOf),
    routes: routes.map((route) => ({ ...route, name: claimName(route.name, taken) })),
    timeouts: raw.timeouts,
    limits: raw.limits,
    ...(raw.trustedProxies === undefined ? {} : { trustedProxies: listOf(raw.trustedProxies) }),
    ...(raw.forwarded === undefined ? {} : { forwarded: raw.forwarded }),
    ...(raw.requestId === undefined ? {} : { requestId: raw.requestId }),
    log: raw.log,
  }
}

function provisionRoute(
  route: RawRoute,
  index: number,
  raw: RawConfig,
  fileList: RuleList,
  fileHeaders: readonly HeaderList[],
): RouteConfig {
  const { rules, rewrite } = route
  let ruleList = fileList
  if (rules !== undefined || rewrite !== undefined) {
    const path = rules === undefined ? ['rules'] : ['routes', index, 'rules']
    ruleList = ruleListOf(rules ?? raw.rules, { ...raw.rewrite, ...rewrite }, path)
  }
  const hosts = listOf(route.host ?? []).map((host) => host.toLowerCase())
  const paths = listOf(route.path ?? [])
  const name = route.name ?? `${hosts.join(' ') || '*'}${paths.length === 0 ? '' : ` ${paths.join(' ')}`}`
  const headerLists =
    route.headers === undefined ? fileHeaders : headerListsOf(route.headers, ['routes', index, 'headers'])
  const upstream = upstreamOf(route.upstream)
  return { name, hosts, paths, upstream, ruleList, headerLists, ...servingOf(raw), ...servingOf(route) }
}

type Serving = Pick<
  RouteConfig,
  | 'requestBodies'
  | 'requestQuery'
  | 'preserveHost'
  | 'ignoreNoTransform'
  | 'serverTiming'
  | 'lastModified'
  | 'integrity'
>

function servingOf({
  requestBodies,
  requestQuery,
  preserveHost,
  ignoreNoTransform,
  serverTiming,
  lastModified,
  integrity,
}: Serving): Serving {
  return {
    ...(requestBodies === undefined ? {} : { requestBodies }),
    ...(requestQuery === undefined ? {} : { requestQuery }),
    ...(preserveHost === undefined ? {} : { preserveHost }),
    ...(ignoreNoTransform === undefined ? {} : { ignoreNoTransform }),
    ...(serverTiming === undefined ? {} : { serverTiming }),
    ...(lastModified === undefined ? {} : { lastModified }),
    ...(integrity === undefined ? {} : { integrity }),
  }
}

function claimName(name: string, taken: Set<string>): string {
  let unique = name
  for (let number = 2; taken.has(unique); number++) unique = `${name} (${number})`
  taken.add(unique)
  return unique
}

const HTTP_PORT = 80

/** `http://127.0.0.1:9000`, as the schema lets through, or a mapping around it. */
function upstreamOf(upstream: string | RawUpstream): UpstreamAddress {
  const { url, ...limits } = typeof upstream === 'string' ? { url: upstream } : upstream
  const authority = url.slice('http://'.length).replace(/\/$/, '')
  const port = /:(\d+)$/.exec(authority)
  const host = authority.slice(0, port?.index).replace(/^\[|\]$/g, '')
  return { host, port: port === null ? HTTP_PORT : Number(port[1]), ...limits }
}

/** `8080`, `:8080`, `127.0.0.1:8080` or `[::1]:8080`, as the schema lets through. */
function listenAddressOf(address: string | number): ListenAddress {
  if (typeof address === 'number') return { host: undefined, port: address }
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '')
  return { host: host === '' || host === '*' ? undefined : host, port: Number(address.slice(colon + 1)) }
}

function ruleListOf(rules: readonly RawRule[], options: RewriteOptions, base: ConfigPath): RuleList {
  return { rules: rules.map(normalizeRule), options, paths: rules.map((_, index) => [...base, index]) }
}

/** Below the least, a limit has a meaning in `compat: nginx` only. */
function holdsTooLittle({ maxHeldBytes = MIN_HELD_BYTES, compat }: RewriteOptions): boolean {
  return maxHeldBytes < MIN_HELD_BYTES && compat !== 'nginx'
}

interface CrossProblem {
  readonly severity: ConfigProblem['severity']
  readonly path: ConfigPath
  readonly message: string
  readonly hint: string
}

/** What no single field shows. */
function crossCheck(raw: RawConfig): CrossProblem[] {
  const problems: CrossProblem[] = []
  const report = (severity: ConfigProblem['severity'], path: ConfigPath, message: string, hint: string): void => {
    problems.push({ severity, path, message, hint })
  }
  if (raw.upstream === undefined && raw.routes.length === 0) {
    report('error', [], 'says no upstream', 'add upstream: http://127.0.0.1:9000, or routes')
  }
  for (const [path, upstream] of upstreamsOf(raw)) {
    const { host, port, denyPrivate } = upstreamOf(upstream)
    if (denyPrivate === true && /^[0-9.]+$|:/.test(host)) {
      report('error', [...path, 'denyPrivate'], `is for names, and ${host} is an address`, 'remove one of the two')
    }
    const urlPath = typeof upstream === 'string' ? path : [...path, 'url']
    if (port < 1 || port > 65_535) report('error', urlPath, `there is no port ${port}`, 'ports go from 1 to 65535')
  }
  const rewrites: [ConfigPath, RewriteOptions][] = [[['rewrite'], raw.rewrite]]
  for (const [index, { rewrite }] of raw.routes.entries()) {
    if (rewrite?.maxHeldBytes !== undefined)
      rewrites.push([['routes', index, 'rewrite'], { ...raw.rewrite, ...rewrite }])
  }
  for (const [path, options] of rewrites) {
    if (!holdsTooLittle(options)) continue
    const message = `${options.maxHeldBytes} is too small`
    report('error', [...path, 'maxHeldBytes'], message, `the least is ${MIN_HELD_BYTES}`)
  }
  for (const field of ['requestBodies', 'requestQuery'] as const) {
    const inheriting = raw.routes.filter((route) => route[field] === undefined)
    const scopes: [ConfigPath, boolean | undefined, readonly RawRule[]][] = [
      [[field], raw[field], [...raw.rules, ...inheriting.flatMap((route) => route.rules ?? [])]],
      ...raw.routes.map((route, index): [ConfigPath, boolean | undefined, readonly RawRule[]] => [
        ['routes', index, field],
        route[field],
        route.rules ?? raw.rules,
      ]),
    ]
    for (const [path, asked, rules] of scopes) {
      if (asked !== true || rules.some((rule) => 'domain' in rule)) continue
      report('warning', path, 'does nothing without a domain rule', 'add one: it says which host names are meant')
    }
  }
  const seenAddresses = new Set<string>()
  for (const [index, address] of listOf(raw.listen).entries()) {
    const path = Array.isArray(raw.listen) ? ['listen', index] : ['listen']
    const { host, port } = listenAddressOf(address)
    const key = `${host ?? ''}:${port}`
    if (port > 65_535) report('error', path, `there is no port ${port}`, 'the highest is 65535')
    else if (port !== 0 && seenAddresses.has(key)) report('error', path, 'stands twice', 'keep one of the two')
    seenAddresses.add(key)
  }
  const seenRoutes = new Map<string, number>()
  for (const [index, route] of raw.routes.entries()) {
    const key = JSON.stringify([listOf(route.host ?? []), listOf(route.path ?? [])])
    const earlier = seenRoutes.get(key)
    if (earlier !== undefined) {
      report(
        'warning',
        ['routes', index],
        `never takes a request: routes[${earlier}] has the same host and path`,
        'remove one',
      )
    } else seenRoutes.set(key, index)
  }
  return problems
}

function upstreamsOf(raw: RawConfig): readonly (readonly [ConfigPath, string | RawUpstream])[] {
  const own: [ConfigPath, string | RawUpstream][] = raw.upstream === undefined ? [] : [[['upstream'], raw.upstream]]
  return [...own, ...raw.routes.map((route, index) => [['routes', index, 'upstream'], route.upstream] as const)]
}

/** The rule lists of a configuration that is not valid as a whole. */
function wellFormedRuleLists(value: unknown): RuleList[] {
  if (!isMapping(value)) return []
  const lists = [ruleListFrom(value.rules, ['rules'])]
  if (Array.isArray(value.routes)) {
    for (const [index, route] of value.routes.entries()) {
      if (isMapping(route)) lists.push(ruleListFrom(route.rules, ['routes', index, 'rules']))
    }
  }
  return lists.filter((list) => list.rules.length > 0)
}

function ruleListFrom(value: unknown, base: ConfigPath): RuleList {
  const rules: ConfigRule[] = []
  const paths: ConfigPath[] = []
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const parsed = ruleSchema.safeParse(item)
      if (!parsed.success) continue
      rules.push(normalizeRule(parsed.data))
      paths.push([...base, index])
    }
  }
  return { rules, options: {}, paths }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf<T>(value: OneOrMore<T>): readonly T[] {
  return isList(value) ? value : [value]
}

function isList<T>(value: OneOrMore<T>): value is readonly T[] {
  return Array.isArray(value)
}
