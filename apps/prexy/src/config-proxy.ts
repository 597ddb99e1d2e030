/** From the routes of a configuration to those of a proxy. */
import type {
  AccessSettings,
  CompareSettings,
  Config,
  MaintenanceSettings,
  PasswordSettings,
  RateLimitSettings,
  RouteConfig,
  TextPatternSettings,
} from '@prexy/config/config'
import type { HeaderList } from '@prexy/config/header-list'
import { Access } from '@prexy/proxy/access'
import type { CompareConfig } from '@prexy/proxy/compare-with'
import type { HeaderRules } from '@prexy/proxy/header-rules'
import { mountOf } from '@prexy/proxy/mount'
import { Maintenance } from '@prexy/proxy/own-pages'
import { PasswordCheck } from '@prexy/proxy/password-check'
import { DEFAULT_LIMITS, type ProxyConfig, type RouteConfig as ProxyRoute } from '@prexy/proxy/proxy-config'
import { RateLimiter } from '@prexy/proxy/rate-limiter'
import type { Rollout } from '@prexy/proxy/rollout'
import type { RouteAnswer } from '@prexy/proxy/route-answer'
import type { TextPattern } from '@prexy/proxy/text-pattern'
import type { CompiledLists } from './config-compile.ts'

/** `rulesChangedMs`: when the newest file of the configuration was changed. */
export function proxyRoutes(
  {
    routes,
    sites,
    pathMatching,
    limits,
    fileErrorPages,
  }: Pick<Config, 'routes' | 'sites' | 'pathMatching' | 'limits' | 'fileErrorPages'>,
  compiled: CompiledLists,
  rulesChangedMs: number,
): Pick<ProxyConfig, 'routes' | 'sites' | 'pathMatching' | 'errorPages'> {
  const gates = new Gates(limits.maxRateLimitedClients ?? DEFAULT_LIMITS.maxRateLimitedClients)
  const comparers = new Map<CompareSettings, CompareConfig>()
  const compareWithOf = ({ compareWith }: RouteConfig): Pick<ProxyRoute, 'compareWith'> => {
    if (compareWith === undefined) return {}
    return {
      compareWith: madeOnce(comparers, compareWith, (one) => ({ ...one, ignored: compiled.ignoredOf(one.ignore) })),
    }
  }
  const make = (route: RouteConfig): ProxyRoute => ({
    ...proxyRoute(route, compiled, rulesChangedMs),
    ...gates.of(route),
    ...compareWithOf(route),
  })
  return {
    ...(fileErrorPages === undefined ? {} : { errorPages: fileErrorPages }),
    routes: routes.map(make),
    sites: sites.map(({ hosts, listeners, routes: ofSite }) => ({
      hosts,
      ...(listeners === undefined ? {} : { listeners }),
      routes: ofSite.map(make),
    })),
    ...(pathMatching === undefined ? {} : { pathMatching }),
  }
}

function proxyRoute(route: RouteConfig, compiled: CompiledLists, rulesChangedMs: number): ProxyRoute {
  const headersOf = (side: HeaderList['side']): HeaderRules | undefined => {
    const list = route.headerLists.find((one) => one.side === side)
    return list === undefined ? undefined : compiled.headersOf(list)
  }
  const rules = compiled.setOf(route.ruleList)
  const requestHeaders = headersOf('request')
  const responseHeaders = headersOf('response')
  const {
    name,
    hosts,
    paths,
    pathPatterns,
    hostPatterns,
    listeners,
    methods,
    requestHeaders: fields,
    action,
    mode,
    compress,
    requestBodies,
    requestQuery,
    preserveHost,
    ignoreNoTransform,
    serverTiming,
    lastModified,
    integrity,
    policyHashes,
  } = route
  return {
    name,
    ...(action.kind === 'forward' ? { upstream: action.upstream } : { answer: answerOf(action, compiled) }),
    ...(hosts.length === 0 ? {} : { hosts }),
    ...(paths.length === 0 ? {} : { paths }),
    ...(pathPatterns === undefined ? {} : { pathPatterns: compiledPatterns(pathPatterns, compiled) }),
    ...(hostPatterns === undefined ? {} : { hostPatterns: compiledPatterns(hostPatterns, compiled) }),
    ...(listeners === undefined ? {} : { listeners }),
    ...(methods.length === 0 ? {} : { methods }),
    ...(fields === undefined ? {} : { fields }),
    ...(rules === undefined || rules.rules.length === 0 ? {} : { rules }),
    ...(requestHeaders === undefined ? {} : { requestHeaders }),
    ...(responseHeaders === undefined ? {} : { responseHeaders }),
    ...(mode === undefined ? {} : { rollout: rolloutOf(mode) }),
    ...(compress === undefined ? {} : { compress }),
    ...(requestBodies === undefined ? {} : { requestBodies }),
    ...(requestQuery === undefined ? {} : { requestQuery }),
    ...(preserveHost === undefined ? {} : { preserveHost }),
    ...(ignoreNoTransform === undefined ? {} : { ignoreNoTransform }),
    ...(serverTiming === undefined ? {} : { serverTiming }),
    ...(integrity === undefined ? {} : { integrity }),
    ...(policyHashes === undefined ? {} : { policyHashes }),
    ...(lastModified === 'keep' ? { lastModified: { kind: 'keep', rulesChangedMs } } : {}),
  }
}

function compiledPatterns(
  patterns: readonly TextPatternSettings[],
  { patternOf }: CompiledLists,
): readonly TextPattern[] {
  return patterns.map((one) => {
    const pattern = patternOf(one)
    if (pattern === undefined) throw new Error('a pattern that does not compile is an error of the configuration')
    return pattern
  })
}

function rolloutOf(mode: NonNullable<RouteConfig['mode']>): Rollout {
  return typeof mode === 'string' ? { kind: mode } : { kind: 'percent', percent: mode.percent, cookie: mode.cookie }
}

function answerOf(
  action: Exclude<RouteConfig['action'], { readonly kind: 'forward' }>,
  compiled: CompiledLists,
): RouteAnswer {
  if (action.kind === 'respond') return action
  const target = compiled.targetOf(action)
  if (target === undefined) throw new Error('a target that does not compile is an error of the configuration')
  return { kind: 'redirect', status: action.status, target, keepQuery: action.keepQuery }
}

/** What stands before routes. Levels that take it from above have one object, and so one count and one memory. */
class Gates {
  readonly #maxClients: number
  readonly #access = new Map<AccessSettings, Access>()
  readonly #limiters = new Map<RateLimitSettings, RateLimiter>()
  readonly #passwords = new Map<PasswordSettings, PasswordCheck>()
  readonly #maintenance = new Map<MaintenanceSettings, Maintenance>()

  constructor(maxClients: number) {
    this.#maxClients = maxClients
  }

  of({
    access,
    maintenance,
    errorPages,
    robots,
    mount,
  }: RouteConfig): Pick<ProxyRoute, 'access' | 'maintenance' | 'errorPages' | 'robots' | 'mount'> {
    return {
      ...(access === undefined ? {} : { access: madeOnce(this.#access, access, (one) => this.#makeAccess(one)) }),
      ...(maintenance === undefined
        ? {}
        : {
            maintenance: madeOnce(
              this.#maintenance,
              maintenance,
              ({ page, ...rest }) => new Maintenance({ page, ...rest }),
            ),
          }),
      ...(errorPages === undefined ? {} : { errorPages }),
      ...(robots === undefined ? {} : { robots }),
      ...(mount === undefined ? {} : { mount: mountOf(mount.at, mount.to) }),
    }
  }

  #makeAccess({ allow, deny, passwords, rateLimit }: AccessSettings): Access {
    return new Access({
      allow,
      deny,
      passwords:
        passwords === undefined
          ? undefined
          : madeOnce(this.#passwords, passwords, ({ realm, users }) => new PasswordCheck(realm, users)),
      rateLimiter:
        rateLimit === undefined
          ? undefined
          : madeOnce(this.#limiters, rateLimit, (limit) => new RateLimiter(limit, this.#maxClients)),
    })
  }
}

function madeOnce<K, V>(made: Map<K, V>, key: K, make: (key: K) => V): V {
  let value = made.get(key)
  if (value === undefined) {
    value = make(key)
    made.set(key, value)
  }
  return value
}
