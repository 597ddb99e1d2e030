/** From what the files say to what a proxy is given: levels merged, rule sets put in, secrets read. */
import { addressOf, listenAddressOf } from './addresses.ts'
import { type Assembly, fileLevel, type Level, levelAt, type Placed, routesOfSite } from './assemble.ts'
import { PASSWORD_HASH, type RawAccess, type RawBasicAuth, type RawRateLimit } from './access-schema.ts'
import type { RawMaintenance, RawMount, RawPage } from './action-schema.ts'
import { DEFAULT_ADMIN_LISTEN, MIN_TOKEN_LENGTH, type RawAdmin, type RawIngest } from './admin-schema.ts'
import type {
  AccessLogSettings,
  AdminSettings,
  CertificateFiles,
  Config,
  ConfigRule,
  ListenAddress,
  RecordSettings,
  RouteAction,
  RouteConfig,
  RuleList,
  SiteConfig,
  CompareSettings,
  CompressSettings,
  TextPatternSettings,
  AccessSettings,
  MaintenanceSettings,
  PageSettings,
  PasswordSettings,
  RateLimitSettings,
  IngestSettings,
} from './config.ts'
import type { RawCompareWith } from './compare-schema.ts'
import type { RawCompress } from './compress-schema.ts'
import type { RawRoute, RawServing, RawTextPattern, RewriteOptions } from './config-schema.ts'
import { besideFile, type ConfigFiles } from './files.ts'
import { type HeaderList, headerListsOf } from './header-list.ts'
import type { RawListenTls } from './listen-schema.ts'
import { DEFAULT_ACCESS_LOG_FORMAT, type RawAccessLog } from './log-schema.ts'
import { nearMiss } from './near-miss.ts'
import { type ConfigProblem, formatPath } from './problem.ts'
import type { RawRecord } from './record-schema.ts'
import type { OneOrMore, RawRule, RawRuleEntry } from './rule-schema.ts'
import { type Environment, expandSecrets } from './secrets.ts'
import type { RawUpstream } from './upstream-schema.ts'
import { isName, upstreamOf, type UpstreamSettings } from './upstream-settings.ts'
import type { Place } from './yaml-source.ts'

/** Longest body of an answer of prexy itself, in octets. */
export const MAX_PAGE_BYTES = 1_048_576

/** How many rules one list may have once the sets that it uses are put in. */
export const MAX_RULES_IN_LIST = 100_000

export const DEFAULT_REALM = 'prexy'
export const DEFAULT_COMPARE = {
  percent: 100,
  headers: ['content-type', 'location'],
  maxConcurrent: 8,
  maxBodyBytes: 16_777_216,
  timeoutMs: 10_000,
} as const
export const DEFAULT_COMPRESS: Omit<CompressSettings, 'levels'> = {
  codings: ['br', 'zstd', 'gzip'],
  types: [
    'text/html',
    'text/css',
    'text/plain',
    'text/xml',
    'text/javascript',
    'application/javascript',
    'application/json',
    'application/ld+json',
    'application/manifest+json',
    'application/xml',
    'application/xhtml+xml',
    'application/atom+xml',
    'application/rss+xml',
    'application/wasm',
    'image/svg+xml',
  ],
  minBytes: 1_024,
}
export const DEFAULT_RATE_SECONDS = 1
export const DEFAULT_RETRY_AFTER_SECONDS = 600
export const DEFAULT_REDIRECT_STATUS = 302
export const DEFAULT_RESPOND_STATUS = 200

export interface Provision {
  readonly config: Config
  readonly problems: readonly ConfigProblem[]
  /** Files besides those of the configuration. */
  readonly watched: readonly string[]
}

export function provision(assembly: Assembly, files: ConfigFiles, environment: Environment): Provision {
  const provisioner = new Provisioner(assembly, files, environment)
  const config = provisioner.run()
  return { config, problems: provisioner.problems, watched: [...provisioner.watched] }
}

type Serving = Pick<
  RouteConfig,
  | 'mode'
  | 'compareWith'
  | 'compress'
  | 'requestBodies'
  | 'requestQuery'
  | 'preserveHost'
  | 'ignoreNoTransform'
  | 'serverTiming'
  | 'lastModified'
  | 'integrity'
  | 'policyHashes'
  | 'access'
  | 'maintenance'
  | 'errorPages'
  | 'robots'
  | 'mount'
>

/** What a level says together with those above it. */
interface Scope {
  readonly rewrite: RewriteOptions
  readonly ruleList: RuleList
  readonly headerLists: readonly HeaderList[]
  readonly action: RouteAction | undefined
  readonly serving: Serving
}

interface PlacedRules {
  readonly rules: readonly ConfigRule[]
  readonly places: readonly Place[]
}

const NO_RULES: PlacedRules = { rules: [], places: [] }

class Provisioner {
  readonly problems: ConfigProblem[] = []
  readonly watched = new Set<string>()
  readonly #assembly: Assembly
  readonly #files: ConfigFiles
  readonly #environment: Environment
  /** Rules of each named set, sets that it uses put in; undefined while it is being put together. */
  readonly #sets = new Map<string, PlacedRules | undefined>()
  readonly #taken = new Set<string>()
  /** Entries of `upstreams` that something names. */
  readonly #upstreams = new Map<string, UpstreamSettings>()

  constructor(assembly: Assembly, files: ConfigFiles, environment: Environment) {
    this.#assembly = assembly
    this.#files = files
    this.#environment = environment
  }

  run(): Config {
    const { top, routes, sites, ruleSets } = this.#assembly
    for (const name of ruleSets.keys()) this.#rulesOfSet(name)
    const none: Scope = {
      rewrite: {},
      ruleList: { ...NO_RULES, options: {} },
      headerLists: [],
      action: undefined,
      serving: {},
    }
    const file = this.#below(none, fileLevel(this.#assembly), 'the file')
    const ownRoutes = this.#routes(routes, file, (route) =>
      nameOfRoute([...listOf(route.host ?? []), ...patternTexts(route.hostRegex)], pathsSaid(route)),
    )
    if (file.action !== undefined)
      ownRoutes.push({
        ...routeBase,
        ...routeOf(file, file.action),
        paths: pathsOf([], file.serving),
        name: this.#claim('default'),
      })
    const siteNames = new Set<string>()
    return {
      listen: this.#listen(top.listen, fileLevel(this.#assembly)),
      sites: sites.map((site) => this.#site(site, file, siteNames)),
      routes: ownRoutes,
      ...(top.pathMatching === undefined ? {} : { pathMatching: top.pathMatching }),
      fileRules: file.ruleList,
      fileHeaders: file.headerLists,
      ...(file.serving.errorPages === undefined ? {} : { fileErrorPages: file.serving.errorPages }),
      timeouts: top.timeouts,
      limits: top.limits,
      ...(top.trustedProxies === undefined ? {} : { trustedProxies: listOf(top.trustedProxies) }),
      ...(top.forwarded === undefined ? {} : { forwarded: top.forwarded }),
      ...(top.requestId === undefined ? {} : { requestId: top.requestId }),
      ...(top.admin === undefined ? {} : { admin: this.#admin(top.admin) }),
      ...(top.record === undefined ? {} : { record: recordSettings(top.record) }),
      ...(top.workers === undefined ? {} : { workers: top.workers }),
      log: top.log,
      ...(top.accessLog === undefined ? {} : { accessLog: this.#accessLog(top.accessLog) }),
      ...(top.trace === undefined ? {} : { trace: top.trace }),
    }
  }

  #site(site: Placed<Assembly['sites'][0]['value']>, file: Scope, siteNames: Set<string>): SiteConfig {
    const { value, place } = site
    const hosts = listOf(value.host).map((host) => host.toLowerCase())
    const name = claimName(value.name ?? hosts[0], siteNames)
    const scope = this.#below(file, levelAt(site), name)
    const routes = this.#routes(routesOfSite(site), scope, (route) => nameOfRoute([name], pathsSaid(route)))
    if (scope.action !== undefined)
      routes.push({
        ...routeBase,
        ...routeOf(scope, scope.action),
        paths: pathsOf([], scope.serving),
        name: this.#claim(name),
      })
    if (routes.length === 0) this.#report(place, ...NOTHING_TO_DO)
    return { name, hosts, ...(value.listener === undefined ? {} : { listeners: listOf(value.listener) }), routes }
  }

  #routes(routes: readonly Placed<RawRoute>[], above: Scope, nameOf: (route: RawRoute) => string): RouteConfig[] {
    return routes.flatMap((route) => {
      const { value, place } = route
      const scope = this.#below(above, levelAt(route), value.name ?? nameOf(value))
      if (scope.action === undefined) {
        this.#report(place, ...NOTHING_TO_DO)
        return []
      }
      const hosts = listOf(value.host ?? []).map((host) => host.toLowerCase())
      return [
        {
          ...routeOf(scope, scope.action),
          name: this.#claim(value.name ?? nameOf(value)),
          hosts,
          paths: pathsOf(listOf(value.path ?? []), scope.serving),
          ...(value.pathRegex === undefined ? {} : { pathPatterns: patternsOf(value.pathRegex, place, 'pathRegex') }),
          ...(value.hostRegex === undefined ? {} : { hostPatterns: patternsOf(value.hostRegex, place, 'hostRegex') }),
          ...(value.listener === undefined ? {} : { listeners: listOf(value.listener) }),
          methods: listOf(value.method ?? []),
          ...(value.header === undefined ? {} : { requestHeaders: value.header }),
        },
      ]
    })
  }

  /** `name`: what the level is called. */
  #below(above: Scope, level: Level, name: string): Scope {
    const { serving } = level
    const { inherit, rules, rewrite, headers } = serving
    const options = rewrite === undefined ? above.rewrite : { ...above.rewrite, ...rewrite }
    let { ruleList, headerLists } = above
    if (rules !== undefined) {
      const own = this.#expand(rules, level.placeOf('rules'), [])
      const all = inherit === 'add' ? joined(own, ruleList) : own
      ruleList = { ...all, options }
    } else if (rewrite !== undefined) {
      ruleList = { ...ruleList, options }
    }
    if (headers !== undefined) {
      const own = headerListsOf(headers, level.placeOf('headers'), (text, place) =>
        this.#secret(text, place, (value) => value.replaceAll('$', '$$$$')),
      )
      headerLists = inherit === 'add' ? joinedHeaders(headerLists, own) : own
    }
    return {
      rewrite: options,
      ruleList,
      headerLists,
      action: this.#action(level) ?? above.action,
      serving: { ...above.serving, ...servingOf(serving), ...this.#gates(level, above.serving, name) },
    }
  }

  #action(level: Level): RouteAction | undefined {
    const { upstream, redirect, respond } = level.serving
    if (upstream !== undefined)
      return { kind: 'forward', upstream: this.#upstream(upstream, level.placeOf('upstream')) }
    if (redirect !== undefined) {
      const {
        to,
        status = DEFAULT_REDIRECT_STATUS,
        keepQuery = true,
      } = typeof redirect === 'string' ? { to: redirect } : redirect
      const { source, path } = level.placeOf('redirect')
      const place = { source, path: typeof redirect === 'string' ? path : [...path, 'to'] }
      return { kind: 'redirect', to, status, keepQuery, place }
    }
    if (respond === undefined) return undefined
    const { status = DEFAULT_RESPOND_STATUS, headers = {} } = respond
    const { body, type } = this.#page(respond, level.placeOf('respond'))
    const named = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
    const fields = Object.entries(headers).flat()
    return {
      kind: 'respond',
      status,
      body,
      fields: named || type === undefined ? fields : [...fields, 'Content-Type', type],
    }
  }

  /** One that is named is the same object wherever it is, so that its connections are shared. */
  #upstream(upstream: string | RawUpstream, place: Place): UpstreamSettings {
    const { top, topPlaces, start } = this.#assembly
    if (typeof upstream !== 'string' || !isName(upstream)) return this.#settings(upstream, place)
    const known = this.#upstreams.get(upstream)
    if (known !== undefined) return known
    // What is not named there is reported elsewhere.
    const raw = Object.hasOwn(top.upstreams, upstream) ? top.upstreams[upstream] : { servers: [] }
    const { source, path } = topPlaces.get('upstreams') ?? start
    const settings = this.#settings(raw, { source, path: [...path, upstream] }, upstream)
    this.#upstreams.set(upstream, settings)
    return settings
  }

  #settings(upstream: string | RawUpstream, { source, path }: Place, name?: string): UpstreamSettings {
    const read = (field: string, file: string): string | undefined => {
      const found = besideFile(source.file, file)
      this.watched.add(found)
      const content = this.#files.read(found)
      if ('bytes' in content) return new TextDecoder().decode(content.bytes)
      this.#report({ source, path: [...path, 'tls', field] }, `${found}: ${content.reason}`, undefined)
      return undefined
    }
    return upstreamOf(upstream, read, name)
  }

  #listen(listen: Assembly['top']['listen'], file: Level): ListenAddress[] {
    return listOf(listen).map((entry, index) => {
      const address = listenAddressOf(addressOf(entry))
      if (typeof entry !== 'object') return address
      const { mode, owner, name, tls, http2, redirectPort, proxyProtocol } = entry
      const { source, path } = file.placeOf('listen')
      const place = { source, path: Array.isArray(listen) ? [...path, index, 'tls'] : [...path, 'tls'] }
      return {
        ...address,
        ...(mode === undefined ? {} : { mode: Number.parseInt(mode, 8) }),
        ...(owner === undefined ? {} : { owner }),
        ...(name === undefined ? {} : { name }),
        ...(tls === undefined ? {} : { tls: { ...tls, certificates: this.#certificates(tls, place) } }),
        ...(http2 === undefined ? {} : { http2 }),
        ...(redirectPort === undefined ? {} : { redirectPort }),
        ...(proxyProtocol === undefined ? {} : { proxyProtocol }),
      }
    })
  }

  #certificates({ certificates }: RawListenTls, { source, path }: Place): CertificateFiles[] {
    return certificates.flatMap((files, index) => {
      const place = { source, path: [...path, 'certificates', index] }
      const [cert, key] = (['certFile', 'keyFile'] as const).map((field) => {
        const found = besideFile(source.file, files[field])
        this.watched.add(found)
        const content = this.#files.read(found)
        if ('bytes' in content) return new TextDecoder().decode(content.bytes)
        this.#report({ source, path: [...place.path, field] }, `${found}: ${content.reason}`, undefined)
        return undefined
      })
      return cert === undefined || key === undefined ? [] : [{ cert, key, place }]
    })
  }

  /** What comes before a route does anything, and what clients see then. */
  #gates(
    { serving, placeOf }: Level,
    above: Serving,
    name: string,
  ): Pick<Serving, 'access' | 'maintenance' | 'errorPages' | 'compareWith'> {
    const { access, maintenance, errorPages, compareWith } = serving
    return {
      ...(compareWith === undefined ? {} : { compareWith: this.#compareWith(compareWith, placeOf('compareWith')) }),
      ...(access === undefined ? {} : { access: this.#access(access, above.access ?? {}, placeOf('access'), name) }),
      ...(maintenance === undefined ? {} : { maintenance: this.#maintenance(maintenance, placeOf('maintenance')) }),
      ...(errorPages === undefined
        ? {}
        : { errorPages: { ...above.errorPages, ...this.#errorPages(errorPages, placeOf('errorPages')) } }),
    }
  }

  #compareWith(raw: string | RawCompareWith, place: Place): CompareSettings | undefined {
    if (raw === 'off') return undefined
    const { url, headers, ignore = [], maxConcurrent, ...rest } = typeof raw === 'string' ? { url: raw } : raw
    const defaults = DEFAULT_COMPARE
    const connections = maxConcurrent ?? defaults.maxConcurrent
    const { source, path } = place
    return {
      // Nobody waits for a comparison.
      upstream: {
        ...this.#upstream(url, typeof raw === 'string' ? place : { source, path: [...path, 'url'] }),
        maxConnections: connections,
        maxIdleConnections: connections,
        maxWaiting: 0,
      },
      percent: defaults.percent,
      maxBodyBytes: defaults.maxBodyBytes,
      timeoutMs: defaults.timeoutMs,
      ...rest,
      headers: (headers === undefined ? defaults.headers : listOf(headers)).map((name) => name.toLowerCase()),
      ignore: patternsOf(ignore, place, 'ignore'),
    }
  }

  #access(raw: RawAccess, above: AccessSettings, place: Place, name: string): AccessSettings {
    const { allow, deny, basicAuth, rateLimit } = raw
    const { passwords: passwordsAbove, rateLimit: limitAbove, ...lists } = above
    const passwords = basicAuth === undefined ? passwordsAbove : this.#passwords(basicAuth, place)
    const limit = rateLimit === undefined ? limitAbove : rateLimitOf(rateLimit, name)
    return {
      ...lists,
      ...(allow === undefined ? {} : { allow: listOf(allow) }),
      ...(deny === undefined ? {} : { deny: listOf(deny) }),
      ...(passwords === undefined ? {} : { passwords }),
      ...(limit === undefined ? {} : { rateLimit: limit }),
    }
  }

  #passwords(raw: RawBasicAuth | 'off', { source, path }: Place): PasswordSettings | undefined {
    if (raw === 'off') return undefined
    const users = Object.entries(raw.users).map(([name, text]): [string, string] => {
      const place = { source, path: [...path, 'basicAuth', 'users', name] }
      const before = this.problems.length
      const hash = this.#secret(text, place)
      if (this.problems.length === before && !PASSWORD_HASH.test(hash)) {
        this.#report(place, 'is no hash of a password', 'put here what `prexy password` prints')
      }
      return [name, hash]
    })
    return { realm: raw.realm ?? DEFAULT_REALM, users: Object.fromEntries(users) }
  }

  #maintenance(raw: boolean | RawMaintenance, { source, path }: Place): MaintenanceSettings | undefined {
    if (raw === false) return undefined
    const { page, retryAfterSeconds = DEFAULT_RETRY_AFTER_SECONDS, allow = [] } = raw === true ? {} : raw
    return {
      ...(page === undefined ? {} : { page: this.#pageOf(page, { source, path: [...path, 'page'] }) }),
      retryAfterSeconds,
      allow: listOf(allow),
    }
  }

  #errorPages(
    pages: Readonly<Record<string, string | RawPage>>,
    { source, path }: Place,
  ): Readonly<Record<string, PageSettings>> {
    return Object.fromEntries(
      Object.entries(pages).map(([status, page]) => [status, this.#pageOf(page, { source, path: [...path, status] })]),
    )
  }

  #pageOf(page: string | RawPage, place: Place): PageSettings {
    const { body, type = FILE_TYPES.txt } = this.#page(typeof page === 'string' ? { file: page } : page, place)
    return { body, type }
  }

  #accessLog({ file, format = DEFAULT_ACCESS_LOG_FORMAT }: RawAccessLog): AccessLogSettings {
    const { source } = fileLevel(this.#assembly).placeOf('accessLog')
    return { file: file === undefined ? undefined : besideFile(source.file, file), format }
  }

  /** The octets of a page; its type if it has any. */
  #page(page: RawPage, place: Place): { readonly body: Uint8Array; readonly type: string | undefined } {
    if (page.file === undefined) {
      const body = new TextEncoder().encode(page.body ?? '')
      return { body, type: page.type ?? (body.length === 0 ? undefined : typeOfText(page.body ?? '')) }
    }
    const path = besideFile(place.source.file, page.file)
    this.watched.add(path)
    const content = this.#files.read(path)
    const at = { source: place.source, path: [...place.path, 'file'] }
    if (!('bytes' in content)) {
      this.#report(at, `${path}: ${content.reason}`, undefined)
      return { body: new Uint8Array(), type: undefined }
    }
    if (content.bytes.length > MAX_PAGE_BYTES) {
      this.#report(at, `${path} is longer than ${MAX_PAGE_BYTES} bytes`, 'let an upstream serve it')
    }
    return { body: content.bytes, type: page.type ?? typeOfFile(path) }
  }

  /** A list of rules with the sets that it uses put in. `above`: the sets on the way here. */
  #expand(entries: readonly RawRuleEntry[], base: Place, above: readonly string[]): PlacedRules {
    const rules: ConfigRule[] = []
    const places: Place[] = []
    for (const [index, entry] of entries.entries()) {
      const place = { source: base.source, path: [...base.path, index] }
      if (!('use' in entry)) {
        rules.push(normalizeRule(entry))
        places.push(place)
        continue
      }
      const used = this.#rulesOfSet(entry.use, { source: place.source, path: [...place.path, 'use'] }, above)
      if (rules.length + used.rules.length > MAX_RULES_IN_LIST) {
        this.#report(place, `the list has more than ${MAX_RULES_IN_LIST} rules with those of ${entry.use}`, 'use fewer')
        break
      }
      for (const rule of used.rules) rules.push(rule)
      for (const one of used.places) places.push(one)
    }
    return { rules, places }
  }

  #rulesOfSet(name: string, asked?: Place, above: readonly string[] = []): PlacedRules {
    const set = this.#assembly.ruleSets.get(name)
    if (set === undefined) {
      if (asked !== undefined) this.#report(asked, `there is no rule set ${name}`, this.#nearSet(name))
      return NO_RULES
    }
    if (above.includes(name)) {
      const chain = [...above.slice(above.indexOf(name)), name].join(' uses ')
      if (asked !== undefined) this.#report(asked, `a rule set uses itself: ${chain}`, 'take one of them out')
      return NO_RULES
    }
    const known = this.#sets.get(name)
    if (known !== undefined) return known
    const rules = this.#expand(set.value, set.place, [...above, name])
    this.#sets.set(name, rules)
    return rules
  }

  #nearSet(name: string): string {
    const names = [...this.#assembly.ruleSets.keys()]
    const near = nearMiss(name, names)
    if (near !== undefined) return `did you mean ${near}?`
    if (names.length === 0) return 'name it under ruleSets'
    return `there are ${names.slice(0, 10).join(', ')}${names.length > 10 ? ' and others' : ''}`
  }

  #admin({ listen = DEFAULT_ADMIN_LISTEN, token, hosts = [], openMetrics = false, ingest }: RawAdmin): AdminSettings {
    const { source, path } = fileLevel(this.#assembly).placeOf('admin')
    const { host, port } = listenAddressOf(listen)
    const own = token === undefined ? undefined : this.#adminToken(token, { source, path: [...path, 'token'] })
    return {
      // Everywhere has to be said: what is left out is this machine.
      listen: { host: host ?? (String(listen).startsWith('*') ? undefined : '127.0.0.1'), port },
      ...(own === undefined ? {} : { token: own }),
      hosts: listOf(hosts),
      openMetrics,
      ...(ingest === undefined ? {} : { ingest: this.#ingest(ingest, own, { source, path: [...path, 'ingest'] }) }),
    }
  }

  #ingest({ token, origins = [], ...limits }: RawIngest, adminToken: string | undefined, place: Place): IngestSettings {
    const { source, path } = place
    const tokenPlace = { source, path: [...path, 'token'] }
    const own = token === undefined ? undefined : this.#adminToken(token, tokenPlace)
    if (own !== undefined && own !== '' && own === adminToken)
      this.#report(tokenPlace, 'is the token of the listener', 'take another one: this one may only send events')
    if (this.#assembly.top.record === undefined)
      this.#report(place, 'takes events for recordings, and nothing is recorded', 'add record: {}')
    return {
      ...limits,
      ...(own === undefined ? {} : { token: own }),
      origins: listOf(origins).map((origin) => origin.toLowerCase()),
    }
  }

  #adminToken(text: string, place: Place): string {
    const token = this.#secret(text, place)
    if (token !== '' && token.length < MIN_TOKEN_LENGTH) {
      const hint = 'take one that nobody can guess, such as that of openssl rand -hex 16'
      this.#report(place, `has ${token.length} characters and needs ${MIN_TOKEN_LENGTH}`, hint)
    }
    return token
  }

  #secret(text: string, place: Place, escape?: (value: string) => string): string {
    const expanded = expandSecrets(text, this.#environment, escape)
    for (const { at, message, hint } of expanded.faults) this.#report(place, message, hint, at)
    return expanded.text
  }

  #report({ source, path }: Place, message: string, hint: string | undefined, at?: number): void {
    const position = source.positionOf(path, at)
    this.problems.push({ severity: 'error', position, path: formatPath(path), message, hint })
  }

  #claim(name: string): string {
    return claimName(name, this.#taken)
  }
}

const NOTHING_TO_DO = ['says nothing to do', 'add upstream, redirect or respond, here or above'] as const

/** What a route that takes everything has. */
const routeBase = { hosts: [], paths: [], methods: [] } as const

function routeOf(
  { ruleList, headerLists, serving }: Scope,
  action: RouteAction,
): Pick<RouteConfig, 'action' | 'ruleList' | 'headerLists'> & Serving {
  return { action, ruleList, headerLists, ...serving }
}

function joined(own: PlacedRules, above: PlacedRules): PlacedRules {
  return { rules: [...own.rules, ...above.rules], places: [...own.places, ...above.places] }
}

function joinedHeaders(above: readonly HeaderList[], own: readonly HeaderList[]): readonly HeaderList[] {
  return (['request', 'response'] as const).flatMap((side) => {
    const lists = [...above, ...own].filter((list) => list.side === side)
    if (lists.length === 0) return []
    return [{ side, rules: lists.flatMap((list) => list.rules), places: lists.flatMap((list) => list.places) }]
  })
}

function mountOf(raw: string | RawMount): NonNullable<RouteConfig['mount']> {
  const { at, to = '/' } = typeof raw === 'string' ? { at: raw } : raw
  return { at, to }
}

/** Those that are said, else those below the mount. */
function pathsOf(paths: readonly string[], { mount }: Serving): readonly string[] {
  const at = mount?.at.replace(/\/+$/, '') ?? ''
  return paths.length > 0 || at === '' ? paths : [at, `${at}/**`]
}

function compressOf(raw: boolean | RawCompress): CompressSettings | undefined {
  if (raw === false) return undefined
  const { codings, types, minBytes = DEFAULT_COMPRESS.minBytes, levels = {} } = raw === true ? {} : raw
  return {
    codings: codings === undefined ? DEFAULT_COMPRESS.codings : listOf(codings),
    types: types === undefined ? DEFAULT_COMPRESS.types : listOf(types),
    minBytes,
    levels,
  }
}

function rateLimitOf(raw: RawRateLimit | 'off', name: string): RateLimitSettings | undefined {
  if (raw === 'off') return undefined
  const { requests, seconds = DEFAULT_RATE_SECONDS, burst = requests } = raw
  return { name, requests, seconds, burst }
}

function servingOf({
  mode,
  requestBodies,
  requestQuery,
  preserveHost,
  ignoreNoTransform,
  serverTiming,
  lastModified,
  integrity,
  policyHashes,
  compress,
  robots,
  mount,
}: RawServing): Serving {
  return {
    ...(mode === undefined ? {} : { mode }),
    ...(requestBodies === undefined ? {} : { requestBodies }),
    ...(requestQuery === undefined ? {} : { requestQuery }),
    ...(preserveHost === undefined ? {} : { preserveHost }),
    ...(ignoreNoTransform === undefined ? {} : { ignoreNoTransform }),
    ...(serverTiming === undefined ? {} : { serverTiming }),
    ...(lastModified === undefined ? {} : { lastModified }),
    ...(integrity === undefined ? {} : { integrity }),
    ...(policyHashes === undefined ? {} : { policyHashes }),
    ...(compress === undefined ? {} : { compress: compressOf(compress) }),
    ...(robots === undefined ? {} : { robots }),
    ...(mount === undefined ? {} : { mount: mountOf(mount) }),
  }
}

function patternTexts(patterns: OneOrMore<RawTextPattern> = []): readonly string[] {
  return listOf(patterns).map((one) => {
    const { regex, flags, not = false } = typeof one === 'string' ? { regex: one } : one
    return `${not ? '!' : ''}~${flags === undefined ? '' : '*'}${regex}`
  })
}

function pathsSaid({ path = [], pathRegex }: RawRoute): readonly string[] {
  return [...listOf(path), ...patternTexts(pathRegex)]
}

function patternsOf(
  patterns: OneOrMore<RawTextPattern>,
  { source, path }: Place,
  field: string,
): readonly TextPatternSettings[] {
  return listOf(patterns).map((one, index) => ({
    ...(typeof one === 'string' ? { regex: one } : one),
    place: {
      source,
      path: [
        ...path,
        field,
        ...(Array.isArray(patterns) ? [index] : []),
        ...(typeof one === 'string' ? [] : ['regex']),
      ],
    },
  }))
}

function nameOfRoute(hosts: readonly string[], paths: readonly string[]): string {
  const host = hosts.map((name) => name.toLowerCase()).join(' ') || '*'
  return `${host}${paths.length === 0 ? '' : ` ${paths.join(' ')}`}`
}

function claimName(name: string, taken: Set<string>): string {
  let unique = name
  for (let number = 2; taken.has(unique); number++) unique = `${name} (${number})`
  taken.add(unique)
  return unique
}

/** A well-formed rule with its conditions as lists. */
export function normalizeRule(raw: RawRule): ConfigRule {
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

const FILE_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  json: 'application/json',
  xml: 'application/xml',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  ico: 'image/x-icon',
}

function typeOfFile(path: string): string {
  const ending = /\.([^./]+)$/.exec(path)?.[1].toLowerCase() ?? ''
  return FILE_TYPES[ending] ?? 'application/octet-stream'
}

function typeOfText(text: string): string {
  return text.trimStart().startsWith('<') ? FILE_TYPES.html : FILE_TYPES.txt
}

export function listOf<T>(value: OneOrMore<T>): readonly T[] {
  return isList(value) ? value : [value]
}

function isList<T>(value: OneOrMore<T>): value is readonly T[] {
  return Array.isArray(value)
}

function recordSettings({ tags, routes, secretNames, ...rest }: RawRecord): RecordSettings {
  return {
    ...rest,
    ...(tags === undefined ? {} : { tags: listOf(tags) }),
    ...(routes === undefined ? {} : { routes: listOf(routes) }),
    ...(secretNames === undefined ? {} : { secretNames: listOf(secretNames) }),
  }
}
